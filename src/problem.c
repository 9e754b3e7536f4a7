/* The energies of a memory as objectives (compiled per precision). */
#include "problem.h"

#include "alloc.h"

#include <stdlib.h>

struct problem *problem_create(const struct model *model, size_t rows, int with_mask, int with_x0_gradient)
{
    size_t most = rows < BATCH ? rows : BATCH;
    struct problem *p = alloc_zeroed(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->model = model;
    p->rows = rows;
    p->x0 = alloc_zeroed(rows + most, sizeof *p->x0);
    p->known = with_mask ? alloc_zeroed(rows + most, sizeof *p->known) : NULL;
    p->count = alloc_zeroed(rows + most, 2 * sizeof *p->count);
    p->fit = alloc_zeroed(rows + most, sizeof *p->fit);
    p->work = workspace_create(model, most, with_x0_gradient, NULL);
    if (!p->x0 || !p->count || !p->fit || !p->work || (with_mask && !p->known)) {
        problem_free(p);
        return NULL;
    }
    p->extra = p->count + rows + most;
    p->part.x0 = p->x0 + rows;
    p->part.known = with_mask ? p->known + rows : NULL;
    p->part.count = p->count + rows;
    p->part.extra = p->extra + rows;
    p->part.fit = p->fit + rows;
    for (size_t i = 0; i < rows; i++)
        p->count[i] = (double)model->width[0];
    return p;
}

void problem_free(struct problem *p)
{
    if (p == NULL)
        return;
    free(p->x0);
    free(p->known);
    free(p->count);
    free(p->fit);
    workspace_free(p->work);
    free(p);
}

void problem_evaluate(struct problem *p, size_t n, const size_t *rows, const real *codes, double *energy, real *grad,
                      double *responsibility)
{
    struct batch batch = {n, p->part.x0, p->part.known, p->part.count, p->part.extra, codes, 0};
    for (size_t i = 0; i < n; i++) {
        p->part.x0[i] = p->x0[rows[i]];
        p->part.count[i] = p->count[rows[i]];
        p->part.extra[i] = p->extra[rows[i]];
        if (p->known != NULL)
            p->part.known[i] = p->known[rows[i]];
    }
    if (p->particle == NULL) {
        mixture_evaluate(p->model, &batch, p->work, energy, grad, NULL, responsibility);
        return;
    }
    particle_evaluate(p->model, p->particle, &batch, p->work, energy, grad, NULL, p->part.fit);
    for (size_t i = 0; i < n; i++)
        p->fit[rows[i]] = p->part.fit[i];
}
