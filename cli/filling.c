/* The one place that decides how gaps are filled. */
#include "filling.h"

#include <math.h>
#include <stdlib.h>

/* The answer's variance, the same for every entry that was not known. */
static void spread_of(const bpcn_read_info *info, const unsigned char *known, size_t dim, float *spread)
{
    for (size_t j = 0; j < dim; j++)
        spread[j] = known[j] ? 0 : (float)sqrt(info->variance);
}

int fill_rows(const struct memfile *file, float *x, const unsigned char *known, size_t n, float *spread)
{
    size_t dim = file->remark.fields.dim;
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.objective = BPCN_OBJECTIVE_MARGINAL;
    o.noise = 0;
    bpcn_read_info *info = malloc(n * sizeof *info + 1);
    if (info == NULL)
        return say_error(file->say, "out of memory");
    bpcn_status status = n > 0 ? memfile_read(file, x, known, n, &o, x, info) : BPCN_OK;
    for (size_t i = 0; i < n && spread != NULL && status == BPCN_OK; i++)
        spread_of(&info[i], known + i * dim, dim, spread + i * dim);
    free(info);
    return status == BPCN_OK ? 0 : memfile_error(file);
}

double cell_spread(const fmt_column *column, const float *x, const float *spread)
{
    double best = 0, all = 0;
    if (column->kind != FMT_CATEGORY)
        return (double)spread[0] * column->scale;
    for (size_t k = 0; k < column->size; k++) { /* a mean of ones and zeros estimates a chance */
        double chance = fmin(fmax((double)x[k] * column->scale + column->centre, 0), 1);
        best = fmax(best, chance);
        all += chance;
    }
    return all > 0 ? 1 - best / all : 1 - 1 / (double)column->size;
}
