/* The table of operations of one precision (compiled per precision). */
#include "editor.h"
#include "read.h"
#include "screen.h"

static void make(struct editor *e, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_WRITE:
        make_write(e, change);
        return; /* it looks after what is prepared */
    case CHANGE_DELETE:
        make_delete(e, change);
        break;
    case CHANGE_FORGET:
        forget(e->model, change->beta, e->room);
        break;
    case CHANGE_DISCOUNT:
        discount(e->model, change->beta, e->room);
        break;
    case CHANGE_MINIMIZER:
        e->model->options.minimizer = change->minimizer;
        return;
    case CHANGE_NOTE:
        return;
    }
    if (e->prepared != NULL)
        prepared_drop(e->prepared, e->model);
}

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

#if BPCN_REAL_BITS == 32
const struct core bpcn_core_f32 = {
#else
const struct core bpcn_core_f64 = {
#endif
    .prepare = prepared_create,
    .unprepare = prepared_free,
    .outdate = prepared_drop,
    .prepared_bytes = prepared_bytes,
    .edit = editor_create,
    .done = editor_free,
    .find_write = find_write,
    .find_delete = find_delete,
    .ready = editor_ready,
    .make = make,
    .screen = screen,
    .read = read_rows,
    .energy = read_energy,
    .sample = sample,
    .get_mean = get_mean,
    .set_mean = set_mean,
    .refresh_root = layer_refresh,
};
