/* Every few rows some columns are hidden, filled in and compared. The sums stay in the file's remark. */
#include "trials.h"

#include "filling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY = 8, FIRST = 16, ENOUGH = 50, REMEMBERED = 20000 }; /* rows, rows, entries, entries */
static const double hidden_share = 0.3;
static const double usual_factor = 1.4; /* the median of the tables in results/tables.md */

static double chance(uint64_t row, size_t column)
{
    uint64_t x = (row + 1) * 0x9e3779b97f4a7c15u + (column + 1) * 0xd1b54a32d192ed03u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* known [dim] loses whole columns; how many of its entries are left. */
static size_t hide(const fmt_schema *fields, uint64_t row, unsigned char *known)
{
    size_t left = 0;
    for (size_t i = 0; i < fields->count; i++)
        if (chance(row, i) < hidden_share)
            memset(known + fields->column[i].offset, 0, fields->column[i].size);
    for (size_t j = 0; j < fields->dim; j++)
        left += known[j];
    return left;
}

static void count(struct trials *t, size_t dim, const float *x, const unsigned char *known, const float *answer,
                  const unsigned char *shown, const float *spread)
{
    for (size_t j = 0; j < dim; j++)
        if ((known == NULL || known[j]) && !shown[j]) {
            t->errors += pow((double)(answer[j] - x[j]), 2);
            t->spreads += pow((double)spread[j], 2);
            t->plain += pow((double)x[j], 2);
            t->entries++;
        }
    if (t->entries > REMEMBERED) { /* what was long ago counts less */
        t->errors /= 2;
        t->spreads /= 2;
        t->plain /= 2;
        t->entries /= 2;
    }
}

static void try_row(struct memfile *file, uint64_t row, const float *x, const unsigned char *known)
{
    const fmt_schema *fields = &file->remark.fields;
    size_t dim = fields->dim;
    float *answer = malloc(2 * dim * sizeof *answer), *spread = answer + dim;
    unsigned char *shown = malloc(dim);
    if (answer != NULL && shown != NULL) {
        memcpy(answer, x, dim * sizeof *x);
        memset(shown, 1, dim);
        if (known != NULL)
            memcpy(shown, known, dim);
        if (hide(fields, row, shown) > 0 && fill_raw(file, answer, shown, 1, spread) == BPCN_OK)
            count(&file->remark.trials, dim, x, known, answer, shown, spread);
    }
    free(answer);
    free(shown);
}

bpcn_status trials_write(struct memfile *file, const float *x, const unsigned char *known, size_t n, const char *names,
                         bpcn_write_row *info, size_t *written)
{
    bpcn_stats stats = {.size = sizeof stats};
    size_t dim = file->remark.fields.dim;
    if (fmt_schema_is_table(&file->remark.fields) && memfile_stats(file, &stats) == BPCN_OK)
        for (size_t i = 0; i < n; i++)
            if (stats.writes + i >= FIRST && (stats.writes + i) % EVERY == 0)
                try_row(file, stats.writes + i, x + i * dim, known ? known + i * dim : NULL);
    return memfile_write(file, x, known, n, names, info, written);
}

double trials_factor(const struct trials *t)
{
    return t->entries >= ENOUGH && t->spreads > 0 ? sqrt(t->errors / t->spreads) : usual_factor;
}

void trials_describe(const struct trials *t, char *text, size_t room)
{
    text[0] = '\0';
    if (t->entries >= ENOUGH)
        snprintf(text, room,
                 "hidden cells of coming rows were filled to within %.2f of their column's scale (its centre: %.2f)",
                 sqrt(t->errors / (double)t->entries), sqrt(t->plain / (double)t->entries));
}
