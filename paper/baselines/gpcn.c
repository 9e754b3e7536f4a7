/* GPCN's state, its reads, and the common interface. */
#include "gpcn_seam.h"
#include "gpcn_state.h"

#include "alloc.h"
#include "error.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gpcn_options gpcn_options_default(void)
{
    struct gpcn_options o = {.layers = 3,
                             .activation = BPCN_GELU,
                             .sigma_x = 0.01,
                             .rate = 1e-4,
                             .learning = GPCN_ONLINE,
                             .iterations = 4000,
                             .warm = 12,
                             .precision = BPCN_FLOAT32,
                             .minimizer = BPCN_LBFGS,
                             .adam_rate = 0.01,
                             .adam_stop = 1e-3,
                             .adam_steps = 500,
                             .rounds = 30};
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++)
        o.hidden[l] = 256;
    return o;
}

/* The prior is bayespcn's: taken from an empty memory of the same shape and seed. */
bpcn_status gpcn_reset(struct gpcn *g)
{
    bpcn_options o;
    bpcn_memory *memory;
    double variance;
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = g->options.dim;
    o.layers = g->options.layers;
    memcpy(o.hidden, g->options.hidden, sizeof o.hidden);
    o.seed = g->options.seed;
    o.precision = BPCN_FLOAT64;
    bpcn_status status = bpcn_memory_create(&o, &memory);
    for (size_t l = 0; status == BPCN_OK && l < o.layers; l++)
        status = bpcn_memory_get_layer(memory, 0, 0, l, g->weights[l], NULL);
    if (status == BPCN_OK)
        status = bpcn_memory_get_top(memory, 0, 0, g->weights[o.layers], &variance);
    bpcn_memory_free(memory);
    return status;
}

static bpcn_status check(const struct gpcn_options *o)
{
    if (o->dim == 0 || o->layers == 0 || o->layers > BPCN_MAX_LAYERS)
        return bpcn_fail(BPCN_INVALID, "a GPCN wants entries and 1 to %d hidden layers", BPCN_MAX_LAYERS);
    if (!(o->sigma_x > 0) || !(o->rate >= 0) || o->rounds == 0)
        return bpcn_fail(BPCN_INVALID, "a GPCN wants a positive sigma_x, a rate and at least one round");
    if (!(o->momentum >= 0 && o->momentum < 1))
        return bpcn_fail(BPCN_INVALID, "a GPCN wants a momentum from 0 to below 1, not %g", o->momentum);
    return BPCN_OK;
}

bpcn_status gpcn_create(const struct gpcn_options *options, struct gpcn **gpcn)
{
    *gpcn = NULL;
    bpcn_status status = check(options);
    if (status != BPCN_OK)
        return status;
    struct gpcn *g = alloc_zeroed(1, sizeof *g);
    if (g == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    g->options = *options;
    g->width[0] = options->dim;
    for (size_t l = 1; l <= options->layers; l++) {
        g->width[l] = options->hidden[l - 1];
        g->offset[l] = g->code_dim;
        g->code_dim += g->width[l];
    }
    for (size_t l = 0; status == BPCN_OK && l <= options->layers; l++) {
        g->weights[l] = alloc_zeroed(g->width[l], (l < options->layers ? g->width[l + 1] : 1) * sizeof(double));
        status = g->weights[l] ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    }
    if (status == BPCN_OK)
        status = gpcn_reset(g);
    if (status != BPCN_OK)
        gpcn_free(g);
    else
        *gpcn = g;
    return status;
}

void gpcn_free(struct gpcn *g)
{
    for (size_t l = 0; g != NULL && l <= g->options.layers; l++)
        free(g->weights[l]);
    if (g != NULL) {
        bpcn_memory_free(g->network);
        free(g->items);
        free(g->saved);
    }
    free(g);
}

size_t gpcn_code_dim(const struct gpcn *g)
{
    return g->code_dim;
}

double *gpcn_weights(struct gpcn *g, size_t l)
{
    return l <= g->options.layers ? g->weights[l] : NULL;
}

bpcn_status gpcn_predict(const struct gpcn *g, const double *codes, size_t n, double *out)
{
    size_t d1 = g->width[1];
    double *z = alloc_zeroed(n + 1, d1 * sizeof *z);
    if (z == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++)
        gpcn_activate(g->options.activation, d1, codes + i * g->code_dim, z + i * d1, z + n * d1);
    gpcn_matmul(n, d1, g->width[0], z, g->weights[0], out);
    free(z);
    return BPCN_OK;
}

/* ---- reads: x [n x dim] holds the queries and gets the answers */

double gpcn_take(size_t dim, size_t units, const double *prediction, double *most, double *x)
{
    double moved = 0, square = 0;
    for (size_t j = 0; j < dim; j++) {
        moved = fmax(moved, fabs(x[j] - prediction[j]));
        square += (x[j] - prediction[j]) * (x[j] - prediction[j]);
    }
    if (square > *most)
        return INFINITY;
    if (isinf(*most))
        *most = square * fmin(1, (double)units / (double)dim);
    memcpy(x, prediction, dim * sizeof *x);
    return moved;
}

/* Where nothing is known for sure: rounds of best code, best observation, until neither moves. Where starts are drawn,
   codes begin anew in every round, as the paper's do. */
static bpcn_status answer_in_rounds(const struct gpcn *g, size_t n, double *codes, double *energy, double *prediction,
                                    double *most, double *x, size_t *evaluations)
{
    size_t dim = g->width[0];
    int anew = gpcn_draws_starts(g);
    bpcn_status status = BPCN_OK;
    double moved = INFINITY;
    for (size_t i = 0; i < n; i++)
        most[i] = INFINITY;
    for (size_t round = 0; status == BPCN_OK && round < g->options.rounds && moved > 1e-4; round++) {
        struct gpcn_asked asked = {
            .x = x, .n = n, .started = round > 0 && !anew, .draw = round * n, .iterations = GPCN_MOST_ITERATIONS};
        status = gpcn_infer_asked(g, &asked, codes, energy, evaluations);
        if (status == BPCN_OK)
            status = gpcn_predict(g, codes, n, prediction);
        moved = 0;
        for (size_t i = 0; status == BPCN_OK && i < n; i++) {
            double any = INFINITY;
            moved = fmax(moved, gpcn_take(dim, g->width[1], prediction + i * dim, anew ? most + i : &any, x + i * dim));
        }
    }
    return status;
}

/* Unknown entries are their predictions at the minimum, so one inference over the known ones answers. */
static bpcn_status answer_known(const struct gpcn *g, const unsigned char *known, size_t n, double *codes,
                                double *prediction, double *x, size_t *evaluations)
{
    bpcn_status status = gpcn_infer(g, x, known, n, 0, codes, NULL, evaluations);
    if (status == BPCN_OK)
        status = gpcn_predict(g, codes, n, prediction);
    for (size_t j = 0; status == BPCN_OK && j < n * g->width[0]; j++)
        x[j] = known[j] ? x[j] : prediction[j];
    return status;
}

static bpcn_status answer(const struct gpcn *g, const unsigned char *known, size_t n, double *x, size_t *evaluations)
{
    double *codes = alloc_zeroed(n, g->code_dim * sizeof *codes), *energy = alloc_zeroed(n, 2 * sizeof *energy);
    double *prediction = alloc_zeroed(n, g->width[0] * sizeof *prediction);
    bpcn_status status = codes && energy && prediction ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (status == BPCN_OK)
        status = known ? answer_known(g, known, n, codes, prediction, x, evaluations)
                       : answer_in_rounds(g, n, codes, energy, prediction, energy + n, x, evaluations);
    free(codes);
    free(energy);
    free(prediction);
    return status;
}

static bpcn_status keep(struct gpcn *g, const float *x, size_t n)
{
    size_t dim = g->width[0], wanted = g->count + n;
    if (wanted > g->room) {
        double *larger = realloc(g->items, 2 * wanted * dim * sizeof *larger);
        if (larger == NULL)
            return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
        g->items = larger;
        g->room = 2 * wanted;
    }
    for (size_t j = 0; j < n * dim; j++)
        g->items[g->count * dim + j] = (double)x[j];
    g->count = wanted;
    return BPCN_OK;
}

static bpcn_status write_rows(void *self, const float *x, size_t n)
{
    struct gpcn *g = self;
    size_t dim = g->width[0];
    if (g->options.learning == GPCN_OFFLINE) {
        bpcn_status kept = keep(g, x, n);
        return kept;
    }
    double *row = alloc_zeroed(dim, sizeof *row);
    bpcn_status status = row ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        for (size_t j = 0; j < dim; j++)
            row[j] = (double)x[i * dim + j];
        status = gpcn_step(g, row, 1, NULL);
    }
    free(row);
    return status;
}

/* Offline: trains from the prior on all items, once. */
static bpcn_status be_trained(struct gpcn *g)
{
    if (g->options.learning == GPCN_ONLINE || g->trained == g->count)
        return BPCN_OK;
    bpcn_status status = gpcn_reset(g);
    if (status == BPCN_OK)
        status = gpcn_train(g, g->items, g->count, NULL);
    if (status == BPCN_OK)
        g->trained = g->count;
    return status;
}

bpcn_status gpcn_versions(struct gpcn *g, size_t *count)
{
    bpcn_status status = be_trained(g);
    *count = g->versions > 0 ? g->versions : 1;
    return status;
}

void gpcn_set_minimizer(struct gpcn *g, bpcn_minimizer minimizer)
{
    g->options.minimizer = minimizer;
}

static bpcn_status read_rows(const void *self, const float *query, const unsigned char *known, size_t n, float *out)
{
    struct gpcn *g = (struct gpcn *)(uintptr_t)self; /* offline training happens at the first read */
    size_t entries = n * g->width[0], evaluations = 0;
    bpcn_status status = be_trained(g);
    if (status == BPCN_OK && g->options.minimizer == BPCN_ADAM)
        return gpcn_paper_read(g, query, known, n, out);
    if (status != BPCN_OK)
        return status;
    double *x = alloc_zeroed(n, g->width[0] * sizeof *x);
    if (x == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t j = 0; j < entries; j++)
        x[j] = (double)query[j];
    status = answer(g, known, n, x, &evaluations);
    g->evaluations = (double)evaluations / (double)n;
    for (size_t j = 0; status == BPCN_OK && j < entries; j++)
        out[j] = (float)x[j];
    free(x);
    return status;
}

double gpcn_last_evaluations(const struct gpcn *g)
{
    return g->evaluations;
}

static size_t bytes(const void *self)
{
    const struct gpcn *g = self;
    size_t entries = g->width[g->options.layers];
    for (size_t l = 0; l < g->options.layers; l++)
        entries += g->width[l] * g->width[l + 1];
    return entries * sizeof(double);
}

static void free_self(void *self)
{
    gpcn_free(self);
}

bpcn_model gpcn_model(struct gpcn *gpcn)
{
    const char *name = gpcn->options.learning == GPCN_OFFLINE ? "gpcn-offline" : "gpcn-online";
    return (bpcn_model){gpcn, name, write_rows, read_rows, bytes, free_self};
}

/* ---- samples */

bpcn_status gpcn_sample(const struct gpcn *g, size_t n, uint64_t draw, float *out)
{
    size_t top = g->options.layers, widest = g->width[0];
    for (size_t l = 1; l <= top; l++)
        widest = g->width[l] > widest ? g->width[l] : widest;
    double *above = alloc_zeroed(widest, 4 * sizeof *above), *z = above + widest, *slope = z + widest;
    if (above == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        for (size_t l = top + 1; l-- > 0;) {
            double *noise = slope + widest;
            if (l == top)
                memcpy(above, g->weights[top], g->width[top] * sizeof *above);
            else {
                gpcn_activate(g->options.activation, g->width[l + 1], above, z, slope);
                gpcn_matmul(1, g->width[l + 1], g->width[l], z, g->weights[l], above);
            }
            random_normals(g->options.seed, random_stream(STREAM_SAMPLE, draw + i, l), 0, g->width[l], noise);
            for (size_t j = 0; j < g->width[l]; j++)
                above[j] += g->options.sigma_x * noise[j];
        }
        for (size_t j = 0; j < g->width[0]; j++)
            out[i * g->width[0] + j] = (float)above[j];
    }
    free(above);
    return BPCN_OK;
}
