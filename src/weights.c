/* Matrices made ready for batches (compiled per precision). */
#include "weights.h"

#include "alloc.h"
#include "gemm.h"
#include "linalg.h"

#include <stdlib.h>
#include <string.h>

#if BPCN_REAL_BITS == 32

struct weights {
    struct {
        struct panels down, up, spread, back;
    } layer[BPCN_MAX_LAYERS];
    float *data;
};

static size_t layer_entries(const struct layer *layer)
{
    size_t above = layer->above, below = layer->below;
    return panels_entries(above, below) + panels_entries(below, above) + 2 * panels_entries(above, above);
}

struct weights *weights_create(const struct model *model, const struct particle *particle)
{
    size_t entries = 0;
    for (size_t l = 0; l < model->options.layers; l++)
        entries += layer_entries(&particle->layer[l]);
    struct weights *w = alloc_zeroed(1, sizeof *w);
    float *data = alloc_zeroed(entries, sizeof *data);
    if (w == NULL || data == NULL) {
        free(w);
        free(data);
        return NULL;
    }
    w->data = data;
    for (size_t l = 0; l < model->options.layers; l++) {
        const struct layer *layer = &particle->layer[l];
        size_t above = layer->above, below = layer->below;
        w->layer[l].down = panels_fill(above, below, layer->mean, 0, PANEL_FULL, data);
        data += panels_entries(above, below);
        w->layer[l].up = panels_fill(below, above, layer->mean, 1, PANEL_FULL, data);
        data += panels_entries(below, above);
        w->layer[l].spread = panels_fill(above, above, layer->root_real, 1, PANEL_LOWER, data);
        data += panels_entries(above, above);
        w->layer[l].back = panels_fill(above, above, layer->root_real, 0, PANEL_UPPER, data);
        data += panels_entries(above, above);
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

void weights_down(const struct weights *w, size_t l, size_t n, const real *z, real *out)
{
    panels_multiply(&w->layer[l].down, n, z, out);
}

void weights_up(const struct weights *w, size_t l, size_t n, const real *e, real *out)
{
    panels_multiply(&w->layer[l].up, n, e, out);
}

void weights_spread(const struct weights *w, size_t l, size_t n, const real *z, real *out)
{
    panels_multiply(&w->layer[l].spread, n, z, out);
}

void weights_back(const struct weights *w, size_t l, size_t n, const real *f, real *out)
{
    panels_multiply(&w->layer[l].back, n, f, out);
}

#else

struct weights {
    const struct particle *particle;
};

struct weights *weights_create(const struct model *model, const struct particle *particle)
{
    struct weights *w = alloc_zeroed(1, sizeof *w);
    (void)model;
    if (w != NULL)
        w->particle = particle;
    return w;
}

void weights_free(struct weights *w)
{
    free(w);
}

void weights_down(const struct weights *w, size_t l, size_t n, const real *z, real *out)
{
    const struct layer *layer = &w->particle->layer[l];
    matmul(n, layer->above, layer->below, z, layer->mean, out);
}

void weights_up(const struct weights *w, size_t l, size_t n, const real *e, real *out)
{
    const struct layer *layer = &w->particle->layer[l];
    matmul_transposed(n, layer->above, layer->below, e, layer->mean, out);
}

void weights_spread(const struct weights *w, size_t l, size_t n, const real *z, real *out)
{
    const struct layer *layer = &w->particle->layer[l];
    memcpy(out, z, n * layer->above * sizeof *out);
    triangle_apply(n, layer->above, layer->root_real, out);
}

void weights_back(const struct weights *w, size_t l, size_t n, const real *f, real *out)
{
    const struct layer *layer = &w->particle->layer[l];
    memcpy(out, f, n * layer->above * sizeof *out);
    triangle_apply_back(n, layer->above, layer->root_real, out);
}

#endif
