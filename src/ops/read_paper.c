/*
 * Reading as the paper does (compiled per precision): Adam from random starts, under the mixture. An auto-associative
 * read goes in rounds of { best code for x0; best x0 for the code }. A hetero-associative read is one long descent over
 * the code and the unknown entries together.
 *
 * Both evaluate the same rows thousands of times, which pays for G = M M' (gram.h) over the entries that all rows know.
 * The unknown entries move, so M over those is multiplied directly.
 */
#include "read.h"

#include "alloc.h"
#include "random.h"
#include "search.h"

#include <stdlib.h>
#include <string.h>

static void paper_draw_starts(struct read *r, size_t round, real *points, size_t stride)
{
    for (size_t i = 0; i < r->request->n; i++) {
        real *code = points + i * stride;
        search_start_random(r->model, random_stream(STREAM_START, UINT64_MAX - i, round), code);
        for (size_t j = 0; r->request->starts != NULL && j < r->model->code_dim; j++)
            code[j] = (real)r->request->starts[i * r->model->code_dim + j];
    }
}

/* ---- rows through each particle's G */

struct paper_grams {
    size_t particles;
    struct gram **gram;            /* [particles] */
    struct projection *projection; /* [particles] */
};

static void paper_grams_free(struct paper_grams *in)
{
    for (size_t k = 0; in->gram != NULL && in->projection != NULL && k < in->particles; k++) {
        gram_free(in->gram[k]);
        projection_free(&in->projection[k]);
    }
    free(in->gram);
    free(in->projection);
}

/* G of every particle over the entries that the mask knows; NULL: all. */
static bpcn_status paper_grams_create(struct paper_grams *in, const struct read *r, const unsigned char *mask)
{
    size_t particles = r->model->options.particles;
    *in = (struct paper_grams){particles, alloc_zeroed(particles, sizeof *in->gram),
                               alloc_zeroed(particles, sizeof *in->projection)};
    if (in->gram == NULL || in->projection == NULL)
        return BPCN_NO_MEMORY;
    for (size_t k = 0; k < particles; k++) {
        in->gram[k] = gram_create(&r->model->particles[k].layer[0], mask, NULL, r->team);
        if (in->gram[k] == NULL || gram_pack(in->gram[k]) != 0)
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

/* Aims at the rows as the search sees them; `open`: their unknown entries move. */
static bpcn_status paper_grams_project(struct paper_grams *in, const struct read *r, int open)
{
    for (size_t k = 0; k < in->particles; k++) {
        const struct layer *layer = &r->model->particles[k].layer[0];
        projection_free(&in->projection[k]);
        if (projection_create(&in->projection[k], in->gram[k], layer, r->request->n, r->rows->x0, r->team) != 0 ||
            (open && projection_open(&in->projection[k], layer) != 0))
            return BPCN_NO_MEMORY;
    }
    return BPCN_OK;
}

/* ---- auto-associative */

static bpcn_status paper_auto_rounds(struct read *r, struct paper_grams *inner, struct outcome *outcome)
{
    const bpcn_options *o = &r->model->options;
    struct adam_options how = {o->adam_rate, o->adam_stop, o->adam_steps};
    struct energy energy = r->search_energy;
    energy.projection = inner->projection;
    for (size_t round = 0; round < o->rounds; round++) {
        paper_draw_starts(r, round, r->codes, r->model->code_dim);
        bpcn_status status = inner->projection != NULL ? paper_grams_project(inner, r, 0) : BPCN_OK;
        if (status == BPCN_OK)
            status = search_codes_adam(r->rows, &energy, &how, r->codes, outcome, r->request->losses);
        if (status != BPCN_OK)
            return status;
        for (size_t i = 0; i < r->request->n; i++) {
            outcome[i].evaluations += r->outcome[i].evaluations;
            r->outcome[i] = outcome[i];
        }
        if (r->answers == NULL)
            break; /* only the codes are asked for */
        answer_fill(r, 1);
        read_see_answers(r);
    }
    return BPCN_OK;
}

static bpcn_status paper_auto(struct read *r)
{
    size_t layers = r->model->options.layers, dim = r->model->width[0];
    int pays = layers > 0 && (r->request->n > 1 ? gram_pays_batch : gram_pays)(r->model->width[1], dim);
    struct outcome *outcome = alloc_zeroed(r->request->n, sizeof *outcome);
    struct paper_grams inner = {0};
    bpcn_status status = outcome == NULL ? BPCN_NO_MEMORY : pays ? paper_grams_create(&inner, r, NULL) : BPCN_OK;
    if (status == BPCN_OK)
        status = paper_auto_rounds(r, &inner, outcome);
    paper_grams_free(&inner);
    free(outcome);
    return status;
}

/* ---- hetero-associative: a point is a code followed by the open entries of x0 */

struct paper_joint {
    struct read *reading;
    struct energy energy;
    struct workspace *work; /* with x0's gradient */
    size_t open;            /* number of open entries */
    size_t *column;         /* [open]: which */
    int through; /* 1: G covers the known entries. 0: all entries are open, and the gradient of the known ones is set to
                    0 */
    real *codes, *grad, *grad_x0;
    const real *x0[BATCH];
    double count[BATCH], extra[BATCH];
};

static void paper_evaluate_batch(struct paper_joint *j, size_t n, const size_t *rows, const real *points,
                                 double *energy, real *grad)
{
    const struct model *model = j->reading->model;
    size_t code = model->code_dim, open = j->open, both = code + open;
    struct batch batch = {.n = n, .x0 = j->x0, .count = j->count, .extra = j->extra, .h = j->codes, .rows = rows};
    for (size_t i = 0; i < n; i++) {
        memcpy(j->codes + i * code, points + i * both, code * sizeof *points);
        j->x0[i] = points + i * both + code;
        j->count[i] = (double)model->width[0];
    }
    energy_evaluate_mixture(&j->energy, &batch, j->work, energy, j->grad, j->grad_x0, NULL);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *known = j->reading->request->known + rows[i] * open;
        memcpy(grad + i * both, j->grad + i * code, code * sizeof *grad);
        memcpy(grad + i * both + code, j->grad_x0 + i * open, open * sizeof *grad);
        for (size_t k = 0; !j->through && k < open; k++)
            grad[i * both + code + k] *= (real)(known[k] == 0);
    }
}

static void paper_evaluate(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    struct paper_joint *j = context;
    size_t both = j->reading->model->code_dim + j->open;
    for (size_t first = 0; first < n; first += BATCH) {
        size_t count = n - first < BATCH ? n - first : BATCH;
        paper_evaluate_batch(j, count, rows + first, points + first * both, energy + first, grad + first * both);
    }
}

/* points [n x (code_dim + open)]: starts in, minima out. */
static bpcn_status paper_minimize(struct read *r, struct paper_joint *j, real *points)
{
    const bpcn_options *o = &r->model->options;
    size_t code = r->model->code_dim, dim = r->model->width[0], both = code + j->open;
    struct objective objective = {.context = j, .dim = both, .evaluate = paper_evaluate, .enter = adam_first_stage};
    struct adam_options how = {o->adam_rate, o->adam_stop, o->rounds * o->adam_steps};
    paper_draw_starts(r, 0, points, both);
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

/* Chooses the open entries: the unknown ones, where all rows know the same and enough of them for G to pay; else all.
   -1 when out of memory. */
static int paper_choose_open(struct paper_joint *j, const struct masks *masks)
{
    const struct model *model = j->reading->model;
    size_t dim = model->width[0], known = masks->mask != NULL ? masks_count_known(dim, masks->mask) : dim;
    j->through = masks->same && known < dim && j->reading->request->n > 1 && model->options.layers > 0 &&
                 gram_pays_batch(model->width[1], known);
    j->column = alloc_zeroed(dim, sizeof *j->column);
    for (size_t k = 0; j->column != NULL && k < dim; k++)
        if (!j->through || !masks->mask[k])
            j->column[j->open++] = k;
    return j->column != NULL ? 0 : -1;
}

static bpcn_status paper_descend(struct read *r, struct paper_joint *j)
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
        status = paper_minimize(r, j, points);
    }
    workspace_free(j->work);
    free(buffers);
    free(points);
    return status;
}

static bpcn_status paper_hetero(struct read *r)
{
    struct masks masks = masks_of_rows(r->model->width[0], r->request->n, r->request->known);
    struct paper_joint *j = alloc_zeroed(1, sizeof *j);
    struct paper_grams inner = {0};
    if (j == NULL)
        return BPCN_NO_MEMORY;
    *j = (struct paper_joint){.reading = r, .energy = r->density};
    bpcn_status status = paper_choose_open(j, &masks) == 0 ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK && j->through)
        status = paper_grams_create(&inner, r, masks.mask);
    if (status == BPCN_OK && j->through)
        status = paper_grams_project(&inner, r, 1);
    j->energy.projection = inner.projection;
    if (status == BPCN_OK)
        status = paper_descend(r, j);
    paper_grams_free(&inner);
    free(j->column);
    free(j);
    return status;
}

bpcn_status read_paper(struct read *r)
{
    bpcn_status status = r->request->n > 1 ? read_load_weights(r) : BPCN_OK; /* for a single row they do not pay */
    if (status != BPCN_OK)
        return status;
    memset(r->decided, r->model->options.particles == 1, r->request->n);
    return r->request->known != NULL ? paper_hetero(r) : paper_auto(r);
}
