/* Every few rows some columns are hidden, filled in and compared. The sums stay in the file's remark. */
#include "trials.h"

#include "filling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void try_row(struct memfile *file, uint64_t row, const float *x, const unsigned char *known)
{
    size_t dim = file->remark.fields.dim;
    float *answer = malloc(2 * dim * sizeof *answer), *spread = answer + dim;
    size_t *column = malloc(dim * sizeof *column);
    unsigned char *shown = malloc(dim);
    if (answer != NULL && column != NULL && shown != NULL) {
        memcpy(answer, x, dim * sizeof *x);
        fields_columns(&file->remark.fields, column);
        if (bpcn_trials_hide(row, column, known, dim, shown) > 0 && fill_raw(file, answer, shown, 1, spread) == BPCN_OK)
            bpcn_trials_count(&file->remark.trials, x, known, dim, answer, spread, shown);
    }
    free(answer);
    free(column);
    free(shown);
}

bpcn_status trials_write(struct memfile *file, const float *x, const unsigned char *known, size_t n, const char *names,
                         bpcn_write_row *info, size_t *written)
{
    bpcn_stats stats = {.size = sizeof stats};
    size_t dim = file->remark.fields.dim;
    if (fmt_schema_is_table(&file->remark.fields) && memfile_stats(file, &stats) == BPCN_OK)
        for (size_t i = 0; i < n; i++)
            try_row(file, stats.writes + i, x + i * dim, known ? known + i * dim : NULL);
    return memfile_write(file, x, known, n, names, info, written);
}

void trials_describe(const bpcn_trials *t, char *text, size_t room)
{
    text[0] = '\0';
    if (t->entries >= BPCN_ENOUGH_TRIALS)
        snprintf(text, room,
                 "hidden cells of coming rows were filled to within %.2f of their column's scale (its centre: %.2f)",
                 sqrt(t->errors / (double)t->entries), sqrt(t->plain / (double)t->entries));
}
