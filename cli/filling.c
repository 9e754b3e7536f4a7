/* The one place that decides how gaps are filled. */
#include "filling.h"

#include <math.h>

bpcn_status fill_raw(const struct memfile *file, float *x, const unsigned char *known, size_t n, float *spread)
{
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.objective = BPCN_OBJECTIVE_MARGINAL;
    o.noise = 0;
    o.spread = spread;
    return n > 0 ? memfile_read(file, x, known, n, &o, x, NULL) : BPCN_OK;
}

int fill_rows(const struct memfile *file, float *x, const unsigned char *known, size_t n, float *spread)
{
    double factor = bpcn_trials_factor(&file->remark.trials);
    bpcn_status status = fill_raw(file, x, known, n, spread);
    for (size_t j = 0; spread != NULL && j < n * file->remark.fields.dim; j++)
        spread[j] = (float)(factor * (double)spread[j]);
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
