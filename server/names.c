/* Both sorted, and walked along side by side. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

struct given {
    const char *name;
    size_t place;
};

static int given_order(const void *a, const void *b)
{
    const struct given *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

static int kept_order(const void *a, const void *b)
{
    return strcmp(((const bpcn_name *)a)->name, ((const bpcn_name *)b)->name);
}

/* The least place of a given name that finds none of the kept ones left; `count` for none. */
static size_t first_missing(const struct given *given, size_t count, const bpcn_name *kept, size_t there)
{
    size_t least = count, k = 0;
    for (size_t i = 0; i < count; i++) {
        while (k < there && strcmp(kept[k].name, given[i].name) < 0)
            k++;
        if (k < there && strcmp(kept[k].name, given[i].name) == 0)
            k++;
        else if (given[i].place < least)
            least = given[i].place;
    }
    return least;
}

bpcn_status names_check(const struct memfile *file, const char *names, size_t count, size_t *missing)
{
    size_t there = 0;
    bpcn_name *kept = memfile_names(file, &there);
    struct given *given = malloc((count + 1) * sizeof *given);
    *missing = count;
    if (kept != NULL && given != NULL) {
        for (size_t i = 0; i < count; i++)
            given[i] = (struct given){names + i * NAME_ROOM, i};
        qsort(given, count, sizeof *given, given_order);
        qsort(kept, there, sizeof *kept, kept_order);
        *missing = first_missing(given, count, kept, there);
    }
    bpcn_status status = kept == NULL || given == NULL ? BPCN_NO_MEMORY : *missing < count ? BPCN_INVALID : BPCN_OK;
    free(kept);
    free(given);
    return status;
}
