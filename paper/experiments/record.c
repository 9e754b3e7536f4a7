/* Named numbers. */
#include "record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void record_set(struct record *r, const char *name, double value)
{
    size_t at = 0;
    while (at < r->count && strcmp(r->item[at].name, name) != 0)
        at++;
    if (at == RECORD_ITEMS)
        return;
    snprintf(r->item[at].name, sizeof r->item[at].name, "%.*s", RECORD_NAME - 1, name);
    r->item[at].value = value;
    r->count += at == r->count;
}

double record_get(const struct record *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->item[i].name, name) == 0)
            return r->item[i].value;
    return NAN;
}
