/* Descriptions of methods, and what reads and writes of the memory need beyond the interface. */
#include "method.h"

#include "gpcn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[METHOD_KINDS] = {"bayespcn", "identity",     "nearest",
                                                "mhn",      "gpcn-offline", "gpcn-online"};

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double method_seconds(const struct method *m)
{
    struct timespec used;
    if (m->spec.threads != 1 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return clock_seconds();
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

struct method_spec method_spec_default(void)
{
    struct method_spec s = {.kind = METHOD_BAYESPCN,
                            .layers = 3,
                            .activation = BPCN_GELU,
                            .particles = 1,
                            .sigma_w = 1,
                            .sigma_x = 0.01,
                            .minimizer = BPCN_LBFGS,
                            .metric = MHN_EUCLIDEAN,
                            .recall = MHN_GRADIENT,
                            .rate = 1,
                            .iterations = 4000,
                            .shards = 1};
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++)
        s.hidden[l] = 256;
    return s;
}

const char *method_name(enum method_kind kind)
{
    return names[kind];
}

int method_parse(const char *name, enum method_kind *kind, struct failure *failure)
{
    for (int k = 0; k < METHOD_KINDS; k++)
        if (strcmp(name, names[k]) == 0) {
            *kind = (enum method_kind)k;
            return 0;
        }
    return failed(failure,
                  "there is no model called %s: give bayespcn, identity, nearest, mhn, gpcn-offline or gpcn-online",
                  name);
}

int hidden_parse(const char *text, struct method_spec *spec, struct failure *failure)
{
    const char *at = text;
    for (spec->layers = 0; *at != '\0'; spec->layers++) {
        char *end;
        unsigned long width = strtoul(at, &end, 10);
        if (end == at || (*end != '\0' && *end != ',') || width == 0 || spec->layers == BPCN_MAX_LAYERS)
            return failed(failure, "%s are no widths: give up to %d numbers such as 256,256,256", text,
                          BPCN_MAX_LAYERS);
        spec->hidden[spec->layers] = width;
        at = end + (*end == ',');
    }
    return spec->layers > 0 ? 0 : failed(failure, "no hidden layer was given");
}

/* "h256x3", or "h512_256" for unequal widths. */
static void shape_key(const struct method_spec *s, char *key, size_t room)
{
    int equal = 1;
    for (size_t l = 1; l < s->layers; l++)
        equal = equal && s->hidden[l] == s->hidden[0];
    if (equal) {
        snprintf(key, room, "h%zux%zu", s->hidden[0], s->layers);
        return;
    }
    size_t used = (size_t)snprintf(key, room, "h%zu", s->hidden[0]);
    for (size_t l = 1; l < s->layers && used < room; l++)
        used += (size_t)snprintf(key + used, room - used, "_%zu", s->hidden[l]);
}

/* "-k16r64": sixteen shards of 64 rows; nothing for one network. */
static void shards_key(const struct method_spec *s, char *key, size_t room)
{
    static const char *const full[] = {"", "-recycle", "-refuse"};
    *key = '\0';
    if (s->shards > 1)
        snprintf(key, room, "-k%zur%zu%s", s->shards, s->shard_rows ? s->shard_rows : s->hidden[0], full[s->when_full]);
}

void method_key(const struct method_spec *s, char *key, size_t room)
{
    static const char *const metrics[] = {
        [MHN_DOT] = "dot", [MHN_EUCLIDEAN] = "euclidean", [MHN_PAPER_DOT] = "paperdot"};
    char shape[256], shards[64], rounds[32] = "", momentum[32] = "", more[96] = "";
    unsigned long long seed = (unsigned long long)s->seed;
    shape_key(s, shape, sizeof shape);
    switch (s->kind) {
    case METHOD_BAYESPCN:
        if (s->forget_every > 0 && s->beta > 0)
            snprintf(more, sizeof more, "-%s%g_before%zu", s->discount ? "discount" : "forget", s->beta,
                     s->forget_every);
        shards_key(s, shards, sizeof shards);
        if (s->rounds > 0)
            snprintf(rounds, sizeof rounds, "-rounds%zu", s->rounds);
        snprintf(key, room, "bayespcn-%s%s-%s-n%zu-w%g-x%g%s%s%s-s%llu", shape, shards,
                 bpcn_activation_name(s->activation), s->particles, s->sigma_w, s->sigma_x,
                 s->minimizer == BPCN_ADAM ? "-adam" : "", rounds, more, seed);
        break;
    case METHOD_NEAREST:
        if (s->budget > 0)
            snprintf(more, sizeof more, "-%zuB", s->budget);
        snprintf(key, room, "nearest%s%s%s-s%llu", more, s->store_bytes ? "-uint8" : "", s->products ? "-products" : "",
                 seed);
        break;
    case METHOD_MHN:
        if (s->recall == MHN_GRADIENT)
            snprintf(more, sizeof more, "%g", s->rate);
        snprintf(key, room, "mhn-%s-%s%s-s%llu", metrics[s->metric], s->recall == MHN_ONE_STEP ? "step" : "gradient",
                 more, seed);
        break;
    case METHOD_GPCN_OFFLINE:
        if (s->momentum > 0)
            snprintf(momentum, sizeof momentum, "-m%g", s->momentum);
        snprintf(more, sizeof more, s->checkpoint > 0 ? "-i%zu%s-best%zu" : "-i%zu%s", s->iterations, momentum,
                 s->checkpoint);
        /* fall through */
    case METHOD_GPCN_ONLINE:
        snprintf(key, room, "%s-%s-%s-x%g%s%s-s%llu", names[s->kind], shape, bpcn_activation_name(s->activation),
                 s->sigma_x, s->minimizer == BPCN_ADAM ? "-adam" : "", more, seed);
        break;
    default:
        snprintf(key, room, "%s-s%llu", names[s->kind], seed);
    }
}

/* ---- constructors */

static bpcn_status create_bayespcn(const struct method_spec *s, size_t dim, struct method *m)
{
    bpcn_options o;
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.deletable = 0; /* the paper deletes nothing, and codes kept for it would count as bytes */
    o.surprises = 0; /* the paper's memory keeps none, and bytes are compared */
    o.dim = dim;
    o.layers = s->layers;
    memcpy(o.hidden, s->hidden, sizeof o.hidden);
    o.activation = s->activation;
    o.particles = s->particles;
    o.sigma_w = s->sigma_w;
    o.sigma_x = s->sigma_x;
    o.minimizer = s->minimizer;
    if (s->rounds > 0) {
        o.rounds = s->rounds;
        o.adam_steps = 150; /* enough to be at rest: more change nothing */
    }
    o.seed = s->seed;
    o.threads = s->threads;
    o.shards = s->shards;
    o.shard_rows = s->shard_rows;
    o.when_full = s->when_full;
    bpcn_status status = bpcn_memory_create(&o, &m->memory);
    if (status == BPCN_OK)
        status = bpcn_memory_get_stats(m->memory, &stats);
    if (status == BPCN_OK) {
        m->code_dim = stats.code_dim;
        m->model = memory_model(m->memory);
    }
    return status;
}

static bpcn_status create_gpcn(const struct method_spec *s, size_t dim, struct method *m)
{
    struct gpcn_options o = gpcn_options_default();
    struct gpcn *gpcn;
    o.dim = dim;
    o.layers = s->layers;
    memcpy(o.hidden, s->hidden, sizeof o.hidden);
    o.activation = s->activation;
    o.sigma_x = s->sigma_x;
    o.learning = s->kind == METHOD_GPCN_OFFLINE ? GPCN_OFFLINE : GPCN_ONLINE;
    o.iterations = s->iterations;
    o.momentum = s->momentum;
    o.checkpoint = s->checkpoint;
    o.minimizer = s->minimizer;
    o.threads = s->threads;
    o.seed = s->seed;
    bpcn_status status = gpcn_create(&o, &gpcn);
    if (status == BPCN_OK)
        m->model = gpcn_model(gpcn);
    return status;
}

static bpcn_status create_other(const struct method_spec *s, size_t dim, struct method *m)
{
    size_t row = dim * (s->store_bytes ? 1 : sizeof(float));
    struct nearest_options nearest = {.dim = dim, .store_bytes = s->store_bytes, .products = s->products};
    struct mhn_options mhn = mhn_options_default(dim);
    switch (s->kind) {
    case METHOD_IDENTITY:
        return identity_create(dim, &m->model);
    case METHOD_NEAREST:
        nearest.capacity = s->budget / row;
        nearest.capacity += s->budget > 0 && nearest.capacity == 0; /* even the smallest keeps one */
        return nearest_create(&nearest, &m->model);
    default:
        mhn.metric = s->metric;
        mhn.recall = s->recall;
        mhn.rate = s->rate;
        mhn.steps = s->rate < 0.1 ? 30 * mhn.steps : mhn.steps; /* what moves slowly needs the paper's 30 rounds */
        return mhn_create(&mhn, &m->model);
    }
}

int method_create(const struct method_spec *spec, size_t dim, struct method *m, struct failure *failure)
{
    bpcn_status status;
    *m = (struct method){.spec = *spec, .dim = dim};
    if (spec->kind == METHOD_BAYESPCN)
        status = create_bayespcn(spec, dim, m);
    else if (spec->kind == METHOD_GPCN_OFFLINE || spec->kind == METHOD_GPCN_ONLINE)
        status = create_gpcn(spec, dim, m);
    else
        status = create_other(spec, dim, m);
    return status == BPCN_OK ? 0 : failed(failure, "%s: %s", names[spec->kind], bpcn_error());
}

void method_free(struct method *m)
{
    if (m->model.free != NULL)
        m->model.free(m->model.self);
    free(m->codes);
    free(m->homes);
    *m = (struct method){0};
}

size_t method_bytes(const struct method *m)
{
    return m->model.bytes(m->model.self);
}

size_t method_prepared_bytes(const struct method *m)
{
    bpcn_stats stats = {.size = sizeof stats};
    return m->memory != NULL && bpcn_memory_get_stats(m->memory, &stats) == BPCN_OK ? stats.prepared_bytes : 0;
}

/* ---- write */

static int model_failed(const struct method *m, struct failure *failure)
{
    return failed(failure, "%s: %s", names[m->spec.kind], bpcn_error());
}

/* Makes room for the codes of n rows more, or for their homes. */
static int make_room(struct method *m, size_t n, struct failure *failure)
{
    size_t wanted = m->written + n, row = m->spec.particles * m->code_dim * sizeof *m->codes;
    int many = m->spec.shards > 1;
    if (wanted <= m->room)
        return 0;
    void *larger = realloc(many ? (void *)m->homes : m->codes, 2 * wanted * (many ? sizeof *m->homes : row));
    if (larger == NULL)
        return failed(failure, "out of memory for the codes of %zu rows", 2 * wanted);
    if (many)
        m->homes = larger;
    else
        m->codes = larger;
    m->room = 2 * wanted;
    return 0;
}

static int write_shards(struct method *m, const float *x, size_t n, bpcn_write_info *info, struct failure *failure)
{
    info->rows = calloc(n, sizeof *info->rows);
    if (info->rows == NULL)
        return failed(failure, "out of memory");
    bpcn_status status = bpcn_memory_write(m->memory, x, NULL, n, info);
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        m->homes[m->written + i] = info->rows[i].shard;
    free(info->rows);
    return status == BPCN_OK ? 0 : model_failed(m, failure);
}

static int write_piece(struct method *m, const float *x, size_t n, struct failure *failure)
{
    if (m->memory == NULL)
        return m->model.write(m->model.self, x, n) == BPCN_OK ? 0 : model_failed(m, failure);
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    if (make_room(m, n, failure) != 0)
        return -1;
    if (m->homes != NULL)
        return write_shards(m, x, n, &info, failure);
    info.codes = m->codes + m->written * m->spec.particles * m->code_dim;
    return bpcn_memory_write(m->memory, x, NULL, n, &info) == BPCN_OK ? 0 : model_failed(m, failure);
}

static bpcn_status fade(struct method *m)
{
    return (m->spec.discount ? bpcn_memory_discount : bpcn_memory_forget)(m->memory, m->spec.beta);
}

int method_write(struct method *m, const float *x, size_t n, struct failure *failure)
{
    size_t every = m->memory != NULL ? m->spec.forget_every : 0;
    for (size_t done = 0; done < n;) {
        size_t piece = n - done, until = every ? every - m->written % every : piece;
        piece = piece < until ? piece : until;
        if (every > 0 && m->written > 0 && m->written % every == 0 && fade(m) != BPCN_OK)
            return model_failed(m, failure);
        if (write_piece(m, x + done * m->dim, piece, failure) != 0)
            return -1;
        m->written += piece;
        done += piece;
    }
    return 0;
}

/* ---- read */

/* The least energy that the codes stored for an image have as an answer to the query. For a noisy query under
   the paper's objective, whose rounds leave the query behind, the answer is the image itself. */
static int stored_energy(const struct method *m, bpcn_objective objective, const float *query,
                         const unsigned char *known, double noise, size_t image, const float *truth, double *least)
{
    bpcn_read_options options;
    int paper = objective == BPCN_OBJECTIVE_PAPER || m->spec.minimizer == BPCN_ADAM;
    bpcn_read_options_default(&options, sizeof options);
    options.objective = objective;
    options.noise = paper ? 0 : noise;
    for (size_t k = 0; k < m->spec.particles; k++) {
        const float *code = m->codes + (image * m->spec.particles + k) * m->code_dim;
        double energy;
        if (bpcn_memory_energy(m->memory, paper && known == NULL ? truth : query, known, code, 1, &options, &energy,
                               NULL) != BPCN_OK)
            return -1;
        *least = k == 0 || energy < *least ? energy : *least;
    }
    return 0;
}

static int read_memory(struct method *m, bpcn_objective objective, const float *query, const unsigned char *known,
                       size_t n, const size_t *images, const float *truth, float *out, struct read_report *report,
                       struct failure *failure)
{
    bpcn_read_options options;
    bpcn_read_info *info = calloc(n, sizeof *info);
    bpcn_read_options_default(&options, sizeof options);
    if (info == NULL)
        return failed(failure, "out of memory");
    options.objective = objective;
    double start = method_seconds(m);
    int status = bpcn_memory_read(m->memory, query, known, n, &options, out, info) == BPCN_OK ? 0 : -1;
    if (status == 0 && m->spec.rounds > 0 && known == NULL)
        status = read_rounds(m, info, n, out) == BPCN_OK ? 0 : -1;
    double end = method_seconds(m);
    report->seconds += end - start;
    if (status == 0 && report->twice) {
        status = bpcn_memory_read(m->memory, query, known, n, &options, out, info) == BPCN_OK ? 0 : -1;
        report->again += method_seconds(m) - end;
    }
    for (size_t i = 0; status == 0 && i < n; i++) {
        double least = 0;
        report->evaluations += (double)info[i].evaluations;
        if (images == NULL)
            continue;
        if (m->homes != NULL) {
            report->right += info[i].shard == m->homes[images[i]];
            report->has_right = 1;
            continue;
        }
        status = stored_energy(m, objective, query + i * m->dim, known ? known + i * m->dim : NULL, info[i].noise,
                               images[i], truth + i * m->dim, &least);
        report->above += info[i].energy > least + ABOVE_NATS;
        report->has_above = 1;
    }
    free(info);
    return status == 0 ? 0 : model_failed(m, failure);
}

int method_read(struct method *m, bpcn_objective objective, const float *query, const unsigned char *known, size_t n,
                const size_t *images, const float *truth, float *out, struct read_report *report,
                struct failure *failure)
{
    if (m->memory != NULL)
        return read_memory(m, objective, query, known, n, images, truth, out, report, failure);
    double start = method_seconds(m);
    if (m->model.read(m->model.self, query, known, n, out) != BPCN_OK)
        return model_failed(m, failure);
    report->seconds += method_seconds(m) - start;
    if (m->spec.kind == METHOD_MHN)
        report->evaluations += (double)mhn_last_steps(&m->model) * (double)n;
    if (m->spec.kind == METHOD_GPCN_OFFLINE || m->spec.kind == METHOD_GPCN_ONLINE)
        report->evaluations += gpcn_last_evaluations(m->model.self) * (double)n;
    return 0;
}

int method_versions(struct method *m, size_t *count, struct failure *failure)
{
    *count = 1;
    if (m->spec.kind != METHOD_GPCN_OFFLINE || m->spec.checkpoint == 0)
        return 0;
    return gpcn_versions(m->model.self, count) == BPCN_OK ? 0 : model_failed(m, failure);
}

void method_use_version(struct method *m, size_t version)
{
    if (m->spec.kind == METHOD_GPCN_OFFLINE)
        gpcn_use_version(m->model.self, version);
}

int method_sample(struct method *m, size_t n, uint64_t draw, float *out, struct failure *failure)
{
    bpcn_status status;
    if (m->memory != NULL)
        status = bpcn_memory_sample(m->memory, n, draw, out);
    else if (m->spec.kind == METHOD_GPCN_OFFLINE || m->spec.kind == METHOD_GPCN_ONLINE)
        status = gpcn_sample(m->model.self, n, draw, out);
    else
        return failed(failure, "%s draws no samples", names[m->spec.kind]);
    return status == BPCN_OK ? 0 : model_failed(m, failure);
}

/*
 * Rounds after our answer to a noisy query (docs/SOLVER.md): from a start drawn anew Adam finds a code for the answer,
 * and the answer becomes what that code predicts. A start of a ReLU network says which units are on, so every round
 * projects onto another span, and what is not in all of them, noise, gets less.
 */

/* The noise left in an answer is at most that of the query in as many directions as there are of what was written: an
   answer that moves further has gone elsewhere, and ours stays. */
static void take_near(const struct method *m, const bpcn_read_info *info, size_t n, const float *moved, float *out)
{
    double spanned = (double)(m->written < m->spec.hidden[0] ? m->written : m->spec.hidden[0]);
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (size_t j = i * m->dim; j < (i + 1) * m->dim; j++)
            square += ((double)moved[j] - (double)out[j]) * ((double)moved[j] - (double)out[j]);
        for (size_t j = i * m->dim; square <= info[i].noise * info[i].noise * spanned && j < (i + 1) * m->dim; j++)
            out[j] = moved[j];
    }
}

bpcn_status read_rounds(struct method *m, const bpcn_read_info *info, size_t n, float *out)
{
    float *moved = calloc(n, m->dim * sizeof *moved);
    bpcn_status status = moved != NULL ? bpcn_memory_set_minimizer(m->memory, BPCN_ADAM) : BPCN_NO_MEMORY;
    if (status == BPCN_OK) {
        status = bpcn_memory_read(m->memory, out, NULL, n, NULL, moved, NULL);
        bpcn_status back = bpcn_memory_set_minimizer(m->memory, BPCN_LBFGS);
        status = status == BPCN_OK ? back : status;
    }
    if (status == BPCN_OK)
        take_near(m, info, n, moved, out);
    free(moved);
    return status;
}
