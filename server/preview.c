/* Copies by way of a file that nobody sees: it is gone as soon as it is open. */
#include "preview.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void preview_drop(struct preview *p)
{
    if (p->there)
        memfile_close(&p->copy);
    p->there = false;
}

static bpcn_status copy_and_forget(struct preview *p, const struct memfile *file, double beta)
{
    static const char *const name = "copy.mem";
    const char *place = getenv("TMPDIR");
    char folder[256], path[300];
    const bpcn_memory *memory = memfile_memory(file);
    if (memory == NULL ||
        snprintf(folder, sizeof folder, "%s/bpcn-XXXXXX", place ? place : "/tmp") >= (int)sizeof folder ||
        mkdtemp(folder) == NULL)
        return BPCN_IO;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    bpcn_status status = bpcn_memory_save(memory, path);
    if (status == BPCN_OK)
        p->there = memfile_open(file->say, path, TO_CHANGE, &p->copy) == 0;
    if (status == BPCN_OK)
        status = p->there ? memfile_forget(&p->copy, beta) : BPCN_IO;
    unlink(path);
    rmdir(folder);
    return status;
}

const struct memfile *preview_of(struct preview *p, const struct memfile *file, double beta, uint64_t changes,
                                 bpcn_status *status, char *why, size_t room)
{
    bpcn_stats stats = {.size = sizeof stats};
    if (p->there && p->beta == beta && p->changes == changes)
        return &p->copy;
    preview_drop(p);
    *status = BPCN_REFUSED;
    if (memfile_is_folder(file->path))
        snprintf(why, room, "a folder of files cannot be read as if it had forgotten");
    else if (memfile_stats(file, &stats) != BPCN_OK || stats.bytes > PREVIEW_BYTES_MOST)
        snprintf(why, room, "the memory is too large for a copy that has forgotten");
    else if ((*status = copy_and_forget(p, file, beta)) != BPCN_OK)
        snprintf(why, room, "there is no room for a copy that has forgotten");
    if (*status != BPCN_OK) {
        preview_drop(p);
        return NULL;
    }
    p->beta = beta;
    p->changes = changes;
    return &p->copy;
}
