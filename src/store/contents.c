/* Notes, and letting go. */
#include "contents.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

void contents_free(struct contents *c)
{
    model_free(c->model);
    free(c->note);
    *c = (struct contents){NULL, NULL, 0};
}

int contents_keep_note(struct contents *c, const void *note, size_t bytes)
{
    void *copy = bytes > 0 ? alloc_zeroed(1, bytes) : NULL;
    if (bytes > 0 && copy == NULL)
        return -1;
    if (bytes > 0)
        memcpy(copy, note, bytes);
    free(c->note);
    c->note = copy;
    c->note_bytes = bytes;
    return 0;
}
