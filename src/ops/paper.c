/*
 * Reading as the paper does (compiled per precision): Adam from random starts, under the mixture.
 * Auto-associative: rounds of { best code for x0; best x0 for the code }. Hetero-associative: one
 * long descent over the code and the unknown entries together.
 */
#include "read.h"

#include "alloc.h"
#include "random.h"
#include "start.h"

#include <stdlib.h>
#include <string.h>

static void draw_starts(struct reading *r, size_t round, real *points, size_t stride)
{
    for (size_t i = 0; i < r->request->n; i++) {
        real *code = points + i * stride;
        start_random(r->model, stream_id(STREAM_START, UINT64_MAX - i, round), code);
        for (size_t j = 0; r->request->starts != NULL && j < r->model->code_dim; j++)
            code[j] = (real)r->request->starts[i * r->model->code_dim + j];
    }
}

/* ---- auto-associative */

static bpcn_status auto_read(struct reading *r, struct outcome *outcome)
{
    const bpcn_options *o = &r->model->options;
    struct adam_options how = {o->adam_rate, o->adam_stop, o->adam_steps};
    for (size_t round = 0; round < o->rounds; round++) {
        draw_starts(r, round, r->codes, r->model->code_dim);
        bpcn_status status = infer_adam(r->rows, &r->mixture, &how, r->codes, outcome, r->request->losses);
        if (status != BPCN_OK)
            return status;
        for (size_t i = 0; i < r->request->n; i++) {
            outcome[i].evaluations += r->outcome[i].evaluations;
            r->outcome[i] = outcome[i];
        }
        if (r->answers == NULL)
            break; /* only the codes are wanted */
        answer(r, 1);
        look_at_answers(r);
    }
    return BPCN_OK;
}

/* ---- hetero-associative: points are [code, x0] */

struct joint {
    struct reading *reading;
    struct workspace *work; /* with room for x0's gradient */
    real *codes, *grad, *grad_x0;
    const real *x0[BATCH];
    double count[BATCH], extra[BATCH];
    double energy[BATCH];
};

static void evaluate_joint_batch(struct joint *j, size_t n, const size_t *rows, const real *points, double *energy,
                                 real *grad)
{
    const struct model *model = j->reading->model;
    size_t code = model->code_dim, dim = model->width[0], both = code + dim;
    struct batch batch = {.n = n, .x0 = j->x0, .count = j->count, .extra = j->extra, .h = j->codes};
    for (size_t i = 0; i < n; i++) {
        memcpy(j->codes + i * code, points + i * both, code * sizeof *points);
        j->x0[i] = points + i * both + code;
        j->count[i] = (double)dim;
    }
    mixture_evaluate(&j->reading->density, &batch, j->work, energy, j->grad, j->grad_x0, NULL);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *known = j->reading->request->known + rows[i] * dim;
        memcpy(grad + i * both, j->grad + i * code, code * sizeof *grad);
        for (size_t k = 0; k < dim; k++)
            grad[i * both + code + k] = known[k] ? 0 : j->grad_x0[i * dim + k];
    }
}

static void evaluate_joint(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct joint *j = context;
    size_t both = j->reading->model->code_dim + j->reading->model->width[0];
    for (size_t first = 0; first < n; first += BATCH) {
        size_t count = n - first < BATCH ? n - first : BATCH;
        evaluate_joint_batch(j, count, rows + first, points + first * both, energy + first, grad + first * both);
    }
}

/* points [n x (code_dim + dim)]: starts in, minima out. */
static bpcn_status descend_joint(struct reading *r, struct joint *j, real *points)
{
    const bpcn_options *o = &r->model->options;
    size_t code = r->model->code_dim, dim = r->model->width[0], both = code + dim;
    struct objective objective = {.context = j, .dim = both, .evaluate = evaluate_joint, .enter = first_stage};
    struct adam_options how = {o->adam_rate, o->adam_stop, o->rounds * o->adam_steps};
    draw_starts(r, 0, points, both);
    for (size_t i = 0; i < r->request->n; i++)
        memcpy(points + i * both + code, r->x + i * dim, dim * sizeof *points);
    bpcn_status status = adam_minimize(&objective, r->request->n, &how, points, r->outcome, NULL);
    for (size_t i = 0; status == BPCN_OK && i < r->request->n; i++) {
        memcpy(r->codes + i * code, points + i * both, code * sizeof *points);
        if (r->answers != NULL)
            memcpy(r->answers + i * dim, points + i * both + code, dim * sizeof *points);
    }
    return status;
}

static bpcn_status hetero_read(struct reading *r)
{
    size_t code = r->model->code_dim, dim = r->model->width[0], rows = r->request->n < BATCH ? r->request->n : BATCH;
    struct joint *j = alloc_zeroed(1, sizeof *j);
    real *points = alloc_zeroed(r->request->n, (code + dim) * sizeof *points);
    real *buffers = alloc_zeroed(rows, (2 * code + dim) * sizeof *buffers);
    struct workspace *work = workspace_create(r->model, rows, 1, r->team);
    bpcn_status status = BPCN_NO_MEMORY;
    if (j != NULL && points != NULL && buffers != NULL && work != NULL) {
        j->reading = r;
        j->work = work;
        j->codes = buffers;
        j->grad = buffers + rows * code;
        j->grad_x0 = buffers + 2 * rows * code;
        status = descend_joint(r, j, points);
    }
    workspace_free(work);
    free(buffers);
    free(points);
    free(j);
    return status;
}

bpcn_status paper_read(struct reading *r)
{
    bpcn_status status = ready_mixture(r);
    if (status != BPCN_OK)
        return status;
    memset(r->decided, r->model->options.particles == 1, r->request->n);
    if (r->request->known != NULL)
        return hetero_read(r);
    struct outcome *outcome = alloc_zeroed(r->request->n, sizeof *outcome);
    if (outcome == NULL)
        return BPCN_NO_MEMORY;
    status = auto_read(r, outcome);
    free(outcome);
    return status;
}
