/* The table of operations of one precision (compiled per precision). */
#include "core_real.h"

#include "update.h"

static void get_mean(const struct layer *layer, double *mean)
{
    const real *from = layer->mean;
    for (size_t j = 0; j < layer->above * layer->below; j++)
        mean[j] = (double)from[j];
}

static void set_mean(struct layer *layer, const double *mean)
{
    real *to = layer->mean;
    for (size_t j = 0; j < layer->above * layer->below; j++)
        to[j] = (real)mean[j];
}

const struct core core_table = {
    .write = core_write,
    .remove = core_remove,
    .repeat_write = core_repeat_write,
    .repeat_remove = core_repeat_remove,
    .read = core_read,
    .energy = core_energy,
    .forget = core_forget,
    .sample = core_sample,
    .get_mean = get_mean,
    .set_mean = set_mean,
    .refresh_root = layer_refresh,
};
