/* Matrices made ready for batches (compiled per precision). */
#include "weights.h"

#include "alloc.h"
#include "matmul.h"

#include <stdlib.h>

struct weights {
    struct {
        struct panels down, up, spread, back;
    } layer[BPCN_MAX_LAYERS];
    real *data;
    size_t entries;
};

struct weights *weights_create(const struct model *model, const struct particle *particle)
{
    struct weights *w = alloc_zeroed(1, sizeof *w);
    size_t size = sizeof(real);
    for (size_t l = 0; w != NULL && l < model->options.layers; l++) {
        size_t above = model->width[l + 1], below = model->width[l];
        w->entries += matmul_packed_entries(above, below, size) + matmul_packed_entries(below, above, size) +
                      2 * matmul_packed_entries(above, above, size);
    }
    real *data = w != NULL ? alloc_zeroed(w->entries, size) : NULL;
    if (data == NULL) {
        free(w);
        return NULL;
    }
    w->data = data;
    for (size_t l = 0; l < model->options.layers; l++) {
        const struct layer *layer = &particle->layer[l];
        size_t above = layer->above, below = layer->below;
        const real *mean = layer->mean, *root = layer->root_real;
        w->layer[l].down = matmul_pack(above, below, mean, 0, PANEL_FULL, data);
        data += matmul_packed_entries(above, below, size);
        w->layer[l].up = matmul_pack(below, above, mean, 1, PANEL_FULL, data);
        data += matmul_packed_entries(below, above, size);
        w->layer[l].spread = matmul_pack(above, above, root, 1, PANEL_LOWER, data);
        data += matmul_packed_entries(above, above, size);
        w->layer[l].back = matmul_pack(above, above, root, 0, PANEL_UPPER, data);
        data += matmul_packed_entries(above, above, size);
    }
    return w;
}

void weights_free(struct weights *w)
{
    if (w == NULL)
        return;
    free(w->data);
    free(w);
}

size_t weights_bytes(const struct weights *w)
{
    return w == NULL ? 0 : sizeof *w + w->entries * sizeof *w->data;
}

void weights_down(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out)
{
    matmul(team, &w->layer[l].down, n, z, out);
}

void weights_up(const struct weights *w, struct team *team, size_t l, size_t n, const real *e, real *out)
{
    matmul(team, &w->layer[l].up, n, e, out);
}

void weights_spread(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out)
{
    matmul(team, &w->layer[l].spread, n, z, out);
}

void weights_back(const struct weights *w, struct team *team, size_t l, size_t n, const real *f, real *out)
{
    matmul(team, &w->layer[l].back, n, f, out);
}
