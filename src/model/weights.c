/* Matrices made ready for batches (compiled per precision). */
#include "weights.h"

#include "alloc.h"
#include "dense.h"

#include <stdlib.h>

struct weights {
    struct {
        struct panels down, up, spread, back;
    } layer[BPCN_MAX_LAYERS];
    real *data;
    size_t entries;
};

/* A matrix of a layer that is to be cut. */
struct cut {
    struct panels *panels;
    size_t rows, columns;
    const real *matrix;
    int transposed;
    enum panel_shape shape;
    real *data;
};

enum { CUTS = 4 }; /* of each layer */

struct cut_job {
    size_t count;
    struct cut cut[CUTS * BPCN_MAX_LAYERS];
};

static void cut_part(void *context, size_t part, size_t parts)
{
    const struct cut_job *job = context;
    for (size_t i = part; i < job->count; i += parts) {
        const struct cut *c = &job->cut[i];
        *c->panels = panels_fill(c->rows, c->columns, c->matrix, c->transposed, c->shape, c->data);
    }
}

struct weights *weights_create(const struct model *model, const struct particle *particle, struct team *team)
{
    struct weights *w = alloc_zeroed(1, sizeof *w);
    struct cut_job job = {0};
    size_t entries = 0;
    for (size_t l = 0; w != NULL && l < model->options.layers; l++) {
        const struct layer *layer = &particle->layer[l];
        size_t above = layer->above, below = layer->below;
        struct cut *c = &job.cut[job.count];
        c[0] = (struct cut){&w->layer[l].down, above, below, layer->mean, 0, PANEL_FULL, NULL};
        c[1] = (struct cut){&w->layer[l].up, below, above, layer->mean, 1, PANEL_FULL, NULL};
        c[2] = (struct cut){&w->layer[l].spread, above, above, layer->root_real, 1, PANEL_LOWER, NULL};
        c[3] = (struct cut){&w->layer[l].back, above, above, layer->root_real, 0, PANEL_UPPER, NULL};
        for (size_t i = 0; i < CUTS; i++)
            entries += panels_entries(c[i].rows, c[i].columns, sizeof(real));
        job.count += CUTS;
    }
    real *data = alloc_zeroed(entries, sizeof *data);
    if (w == NULL || data == NULL) {
        free(w);
        free(data);
        return NULL;
    }
    w->data = data;
    w->entries = entries;
    for (size_t i = 0; i < job.count; i++) {
        job.cut[i].data = data;
        data += panels_entries(job.cut[i].rows, job.cut[i].columns, sizeof(real));
    }
    team_run(team, cut_part, &job);
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
    dense_multiply(team, &w->layer[l].down, n, z, out);
}

void weights_up(const struct weights *w, struct team *team, size_t l, size_t n, const real *e, real *out)
{
    dense_multiply(team, &w->layer[l].up, n, e, out);
}

void weights_spread(const struct weights *w, struct team *team, size_t l, size_t n, const real *z, real *out)
{
    dense_multiply(team, &w->layer[l].spread, n, z, out);
}

void weights_back(const struct weights *w, struct team *team, size_t l, size_t n, const real *f, real *out)
{
    dense_multiply(team, &w->layer[l].back, n, f, out);
}
