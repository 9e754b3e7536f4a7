/*
 * Reading as the paper does (compiled per precision): Adam from random starts, under the mixture.
 * Auto-associative: rounds of { best code for x0; best x0 for the code }. Hetero-associative: one
 * long descent over the code and the unknown entries together.
 *
 * Thousands of evaluations of the same rows pay for G (gram.h) over what all of them know. Unknown entries
 * move by themselves: M over those is multiplied as it is.
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
        start_random(r->model, random_stream(STREAM_START, UINT64_MAX - i, round), code);
        for (size_t j = 0; r->request->starts != NULL && j < r->model->code_dim; j++)
            code[j] = (real)r->request->starts[i * r->model->code_dim + j];
    }
}

/* ---- rows through the particles' G */

struct inner {
    size_t particles;
    struct gram **gram; /* [particles] */
    struct aim *aim;    /* [particles] */
};

static void inner_free(struct inner *in)
{
    for (size_t k = 0; in->gram != NULL && in->aim != NULL && k < in->particles; k++) {
        gram_free(in->gram[k]);
        aim_free(&in->aim[k]);
    }
    free(in->gram);
    free(in->aim);
}

/* G of every particle over what the mask knows. */
static bpcn_status inner_create(struct inner *in, const struct reading *r, const unsigned char *mask)
{
    size_t particles = r->model->options.particles;
    *in =
        (struct inner){particles, alloc_zeroed(particles, sizeof *in->gram), alloc_zeroed(particles, sizeof *in->aim)};
    if (in->gram == NULL || in->aim == NULL)
        return BPCN_NO_MEMORY;
    for (size_t k = 0; k < particles; k++) {
        in->gram[k] = gram_create(&r->model->particles[k].layer[0], mask, NULL, r->team);
        if (in->gram[k] == NULL || gram_cut(in->gram[k]) != 0)
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

/* The rows as they stand. */
static bpcn_status inner_look(struct inner *in, const struct reading *r, int open)
{
    for (size_t k = 0; k < in->particles; k++) {
        const struct layer *layer = &r->model->particles[k].layer[0];
        aim_free(&in->aim[k]);
        if (aim_create(&in->aim[k], in->gram[k], layer, r->request->n, r->rows->x0, r->team) != 0 ||
            (open && aim_open(&in->aim[k], layer) != 0))
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

/* ---- auto-associative */

static bpcn_status auto_read(struct reading *r, struct inner *inner, struct outcome *outcome)
{
    const bpcn_options *o = &r->model->options;
    struct adam_options how = {o->adam_rate, o->adam_stop, o->adam_steps};
    struct energy energy = r->mixture;
    energy.aim = inner->aim;
    for (size_t round = 0; round < o->rounds; round++) {
        draw_starts(r, round, r->codes, r->model->code_dim);
        bpcn_status status = inner->aim != NULL ? inner_look(inner, r, 0) : BPCN_OK;
        if (status == BPCN_OK)
            status = infer_adam(r->rows, &energy, &how, r->codes, outcome, r->request->losses);
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

static bpcn_status auto_paper(struct reading *r)
{
    size_t layers = r->model->options.layers, dim = r->model->width[0];
    int pays = layers > 0 && (r->request->n > 1 ? gram_pays_batch : gram_pays)(r->model->width[1], dim);
    struct outcome *outcome = alloc_zeroed(r->request->n, sizeof *outcome);
    struct inner inner = {0};
    bpcn_status status = outcome == NULL ? BPCN_NO_MEMORY : pays ? inner_create(&inner, r, NULL) : BPCN_OK;
    if (status == BPCN_OK)
        status = auto_read(r, &inner, outcome);
    inner_free(&inner);
    free(outcome);
    return status;
}

/* ---- hetero-associative: points are [code, x0], of x0 only the open entries where G has the others */

struct joint {
    struct reading *reading;
    struct energy energy;
    struct workspace *work; /* with room for x0's gradient */
    size_t open;            /* entries of x0 in a point */
    size_t *column;         /* [open]: which */
    int through;            /* G has those that are known; else all are open and the known are held */
    real *codes, *grad, *grad_x0;
    const real *x0[BATCH];
    double count[BATCH], extra[BATCH];
};

static void evaluate_joint_batch(struct joint *j, size_t n, const size_t *rows, const real *points, double *energy,
                                 real *grad)
{
    const struct model *model = j->reading->model;
    size_t code = model->code_dim, open = j->open, both = code + open;
    struct batch batch = {.n = n, .x0 = j->x0, .count = j->count, .extra = j->extra, .h = j->codes, .rows = rows};
    for (size_t i = 0; i < n; i++) {
        memcpy(j->codes + i * code, points + i * both, code * sizeof *points);
        j->x0[i] = points + i * both + code;
        j->count[i] = (double)model->width[0];
    }
    mixture_evaluate(&j->energy, &batch, j->work, energy, j->grad, j->grad_x0, NULL);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *known = j->reading->request->known + rows[i] * open;
        memcpy(grad + i * both, j->grad + i * code, code * sizeof *grad);
        memcpy(grad + i * both + code, j->grad_x0 + i * open, open * sizeof *grad);
        for (size_t k = 0; !j->through && k < open; k++)
            grad[i * both + code + k] *= (real)(known[k] == 0);
    }
}

static void evaluate_joint(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct joint *j = context;
    size_t both = j->reading->model->code_dim + j->open;
    for (size_t first = 0; first < n; first += BATCH) {
        size_t count = n - first < BATCH ? n - first : BATCH;
        evaluate_joint_batch(j, count, rows + first, points + first * both, energy + first, grad + first * both);
    }
}

/* points [n x (code_dim + open)]: starts in, minima out. */
static bpcn_status descend_joint(struct reading *r, struct joint *j, real *points)
{
    const bpcn_options *o = &r->model->options;
    size_t code = r->model->code_dim, dim = r->model->width[0], both = code + j->open;
    struct objective objective = {.context = j, .dim = both, .evaluate = evaluate_joint, .enter = first_stage};
    struct adam_options how = {o->adam_rate, o->adam_stop, o->rounds * o->adam_steps};
    draw_starts(r, 0, points, both);
    for (size_t i = 0; i < r->request->n; i++)
        for (size_t k = 0; k < j->open; k++)
            points[i * both + code + k] = r->x[i * dim + j->column[k]];
    bpcn_status status = adam_minimize(&objective, r->request->n, &how, points, r->outcome, NULL);
    for (size_t i = 0; status == BPCN_OK && i < r->request->n; i++) {
        memcpy(r->codes + i * code, points + i * both, code * sizeof *points);
        if (r->answers == NULL)
            continue;
        memcpy(r->answers + i * dim, r->x + i * dim, dim * sizeof *points);
        for (size_t k = 0; k < j->open; k++)
            r->answers[i * dim + j->column[k]] = points[i * both + code + k];
    }
    return status;
}

/* Which entries move: those that no row knows, where all know the same and enough for G to pay. -1: out of memory. */
static int choose_open(struct joint *j, const struct masks *masks)
{
    const struct model *model = j->reading->model;
    size_t dim = model->width[0], known = masks->mask != NULL ? known_entries(dim, masks->mask) : dim;
    j->through = masks->same && known < dim && j->reading->request->n > 1 && model->options.layers > 0 &&
                 gram_pays_batch(model->width[1], known);
    j->column = alloc_zeroed(dim, sizeof *j->column);
    for (size_t k = 0; j->column != NULL && k < dim; k++)
        if (!j->through || !masks->mask[k])
            j->column[j->open++] = k;
    return j->column != NULL ? 0 : -1;
}

static bpcn_status descend_with_room(struct reading *r, struct joint *j)
{
    size_t code = r->model->code_dim, rows = r->request->n < BATCH ? r->request->n : BATCH;
    real *points = alloc_zeroed(r->request->n, (code + j->open) * sizeof *points);
    real *buffers = alloc_zeroed(rows, (2 * code + j->open) * sizeof *buffers);
    bpcn_status status = BPCN_NO_MEMORY;
    j->work = workspace_create(r->model, rows, 1, r->team);
    if (points != NULL && buffers != NULL && j->work != NULL) {
        j->codes = buffers;
        j->grad = buffers + rows * code;
        j->grad_x0 = buffers + 2 * rows * code;
        status = descend_joint(r, j, points);
    }
    workspace_free(j->work);
    free(buffers);
    free(points);
    return status;
}

static bpcn_status hetero_paper(struct reading *r)
{
    struct masks masks = masks_of_rows(r->model->width[0], r->request->n, r->request->known);
    struct joint *j = alloc_zeroed(1, sizeof *j);
    struct inner inner = {0};
    if (j == NULL)
        return BPCN_NO_MEMORY;
    *j = (struct joint){.reading = r, .energy = r->density};
    bpcn_status status = choose_open(j, &masks) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK && j->through)
        status = inner_create(&inner, r, masks.mask);
    if (status == BPCN_OK && j->through)
        status = inner_look(&inner, r, 1);
    j->energy.aim = inner.aim;
    if (status == BPCN_OK)
        status = descend_with_room(r, j);
    inner_free(&inner);
    free(j->column);
    free(j);
    return status;
}

bpcn_status paper_read(struct reading *r)
{
    bpcn_status status = r->request->n > 1 ? ready_mixture(r) : BPCN_OK; /* a lone row is swept */
    if (status != BPCN_OK)
        return status;
    memset(r->decided, r->model->options.particles == 1, r->request->n);
    return r->request->known != NULL ? hetero_paper(r) : auto_paper(r);
}
