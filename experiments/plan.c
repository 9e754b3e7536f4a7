/* The experiments as tables of cells: the paper's, equal memory, shards. */
#include "plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes */

/* The quick tier keeps the shape of every experiment and shrinks it. */
struct sizes {
    size_t wide, middle, narrow; /* the paper's 1024, 512, 256 */
    size_t lengths[4];           /* 128 .. 1024 */
    size_t short_lengths[4];     /* 16 .. 128 */
    size_t columns;              /* of them in use */
    size_t sequence;             /* 1024: of the forget and equal-memory figures */
    size_t forget_every;
    size_t offline_most, offline_iterations;
    size_t seeds;
};

static const struct sizes sizes_of[] = {
    [TIER_QUICK] = {96, 64, 48, {16, 32, 0, 0}, {8, 16, 0, 0}, 2, 32, 2, 16, 100, 1},
    [TIER_PAPER] = {1024, 512, 256, {128, 256, 512, 1024}, {16, 32, 64, 128}, 4, 1024, 64, 256, 4000, 3},
};

int is_recall(enum cell_kind kind)
{
    return kind == CELL_RECALL || kind == CELL_STREAM;
}

/* ---- building blocks */

static struct method_spec network(enum method_kind kind, size_t width, size_t layers)
{
    struct method_spec s = method_spec_default();
    s.kind = kind;
    s.layers = layers;
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++)
        s.hidden[l] = width;
    return s;
}

static struct method_spec forgetting(struct method_spec s, const struct sizes *z, double beta)
{
    s.forget_every = z->forget_every;
    s.beta = beta;
    return s;
}

static struct row *add_row(struct table *t, const char *label, struct method_spec spec, const char *paper_table,
                           const char *paper_row)
{
    struct row *r = &t->row[t->rows < PLAN_ROWS ? t->rows++ : PLAN_ROWS - 1];
    *r = (struct row){.spec = spec};
    snprintf(r->label, sizeof r->label, "%s", label);
    snprintf(r->paper_table, sizeof r->paper_table, "%s", paper_table);
    snprintf(r->paper_row, sizeof r->paper_row, "%s", paper_row);
    return r;
}

/* The memory twice: with the paper's objective and with ours. */
static void add_both(struct table *t, const char *label, struct method_spec spec, const char *paper_table,
                     const char *paper_row)
{
    char longer[64];
    snprintf(longer, sizeof longer, "%.40s (paper objective)", label);
    add_row(t, longer, spec, paper_table, paper_row)->objective = BPCN_OBJECTIVE_PAPER;
    add_row(t, label, spec, paper_table, paper_row);
}

/* rate: of the Hopfield network; the paper's two tables used different ones, see baselines.h */
static void add_simple(struct table *t, const char *paper_table, double rate)
{
    struct method_spec euclidean = network(METHOD_MHN, 1, 1), dot;
    euclidean.rate = rate;
    dot = euclidean;
    dot.metric = MHN_DOT;
    add_row(t, "identity", network(METHOD_IDENTITY, 1, 1), paper_table, "Identity");
    add_row(t, "nearest", network(METHOD_NEAREST, 1, 1), "", "");
    add_row(t, "mhn", euclidean, paper_table, "MHN");
    add_row(t, "mhn (dot product)", dot, paper_table, "MHN");
}

static struct table *add_table(struct plan *p, const char *experiment, const char *dataset, const char *task,
                               size_t columns, const size_t *lengths)
{
    struct failure unused;
    if (p->tables == p->room) {
        size_t room = p->room ? 2 * p->room : 8;
        struct table *larger = realloc(p->table, room * sizeof *larger);
        if (larger == NULL)
            return NULL;
        p->table = larger;
        p->room = room;
    }
    struct table *t = &p->table[p->tables++];
    *t = (struct table){.measure = "mse", .columns = columns};
    snprintf(t->experiment, sizeof t->experiment, "%s", experiment);
    snprintf(t->dataset, sizeof t->dataset, "%s", dataset);
    task_parse(task, &t->task, &unused);
    snprintf(t->title, sizeof t->title, "%s, %s", dataset, task);
    memcpy(t->lengths, lengths, columns * sizeof *lengths);
    return t;
}

static const char *const moderate[] = {"white0.2", "drop0.25", "mask0.25"};
static const char *const severe[] = {"white0.8", "drop0.75", "mask0.75"};

/* ---- the experiments: each adds its tables for one dataset, -1 when out of memory */

static int plan_recall(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "recall", dataset, moderate[k], z->columns, z->lengths);
        if (t == NULL)
            return -1;
        struct method_spec memory = network(METHOD_BAYESPCN, z->wide, 3);
        struct method_spec offline = network(METHOD_GPCN_OFFLINE, z->narrow, 3);
        offline.iterations = z->offline_iterations;
        add_simple(t, "recall", 1);
        add_row(t, "gpcn (offline)", offline, "recall", "GPCN (offline)")->most = z->offline_most;
        add_row(t, "gpcn (online)", network(METHOD_GPCN_ONLINE, z->narrow, 3), "recall", "GPCN (online)");
        add_both(t, "bayespcn", memory, "recall", "BayesPCN");
        if (k == 0)
            add_row(t, "bayespcn, against paper L4 GELU", memory, "depth", "BayesPCN L4");
        add_both(t, "bayespcn+forget", forgetting(memory, z, 0.001), "recall", "BayesPCN (forget)");
    }
    return 0;
}

static int plan_high_noise(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "high-noise", dataset, severe[k], z->columns, z->short_lengths);
        if (t == NULL)
            return -1;
        add_simple(t, "high-noise", 0.005);
        add_both(t, "bayespcn", network(METHOD_BAYESPCN, z->narrow, 3), "high-noise", "BayesPCN");
    }
    return 0;
}

static const struct {
    const char *label, *paper;
    size_t layers;
} depths[] = {{"L2", "BayesPCN L2", 1}, {"L4", "BayesPCN L4", 3}, {"L8", "BayesPCN L8", 7}};

static int plan_depth(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "depth", dataset, moderate[k], z->columns, z->lengths);
        if (t == NULL)
            return -1;
        for (size_t d = 0; d < 3; d++) {
            char label[40];
            snprintf(label, sizeof label, "bayespcn %s", depths[d].label);
            add_both(t, label, network(METHOD_BAYESPCN, z->wide, depths[d].layers), "depth", depths[d].paper);
        }
    }
    return 0;
}

static int plan_sigma(struct plan *p, const char *dataset)
{
    static const double weights[] = {0.5, 1, 5}, noises[] = {0.05, 0.01, 0.005};
    const struct sizes *z = &sizes_of[p->tier];
    size_t columns = p->tier == TIER_PAPER ? 7 : 2, lengths[7];
    for (size_t c = 0; c < 7; c++)
        lengths[c] = (p->tier == TIER_PAPER ? 16u : 8u) << c;
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "sigma", dataset, moderate[k], columns, lengths);
        if (t == NULL)
            return -1;
        for (size_t at = 0; at < 9; at++) {
            char label[64], paper[32];
            struct method_spec s = network(METHOD_BAYESPCN, z->wide, 3);
            s.sigma_w = weights[at / 3];
            s.sigma_x = noises[at % 3];
            snprintf(label, sizeof label, "sigma_w %g, sigma_x %g", s.sigma_w, s.sigma_x);
            snprintf(paper, sizeof paper, "%.1f %g", s.sigma_w, s.sigma_x);
            add_row(t, label, s, "sigma", paper);
        }
    }
    return 0;
}

static int plan_forget(struct plan *p, const char *dataset)
{
    static const double betas[] = {0, 0.001, 0.002, 0.005, 0.01, 0.02};
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "forget", dataset, moderate[k], 1, &z->sequence);
        if (t == NULL)
            return -1;
        for (size_t b = 0; b < 6; b++) {
            char label[40];
            struct method_spec s = network(METHOD_BAYESPCN, z->wide, 3);
            snprintf(label, sizeof label, "beta %g", betas[b]);
            add_row(t, label, betas[b] > 0 ? forgetting(s, z, betas[b]) : s, "", "");
        }
    }
    return 0;
}

static int plan_scaling(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    const size_t widths[] = {z->narrow, z->middle, z->wide};
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "scaling", dataset, moderate[k], z->columns, z->lengths);
        if (t == NULL)
            return -1;
        t->measure = "accuracy";
        for (size_t w = 0; w < 5; w++) { /* three widths at depth 4, then the other two depths at the greatest */
            char label[40];
            size_t width = w < 3 ? widths[w] : z->wide, layers = w < 3 ? 3 : w == 3 ? 1 : 7;
            snprintf(label, sizeof label, "width %zu, L%zu", width, layers + 1);
            add_row(t, label, network(METHOD_BAYESPCN, width, layers), "", "");
        }
    }
    return 0;
}

/* Bytes of a memory of that width, from one that is made for the purpose. */
static size_t bytes_of(size_t width, size_t dim)
{
    struct method m;
    struct failure unused;
    struct method_spec s = network(METHOD_BAYESPCN, width, 3);
    size_t bytes = 0;
    if (method_create(&s, dim, &m, &unused) == 0)
        bytes = method_bytes(&m);
    method_free(&m);
    return bytes;
}

static int plan_equal_memory(struct plan *p, const char *dataset)
{
    static const size_t widths[][6] = {[TIER_QUICK] = {16, 32, 48}, [TIER_PAPER] = {32, 64, 128, 256, 512, 1024}};
    const struct sizes *z = &sizes_of[p->tier];
    size_t count = p->tier == TIER_PAPER ? 6 : 3, dim = strcmp(dataset, "tiny-imagenet") == 0 ? 12288 : 3072;
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "equal-memory", dataset, moderate[k], 1, &z->sequence);
        if (t == NULL)
            return -1;
        for (size_t w = 0; w < count; w++) {
            char label[64];
            struct method_spec nearest = network(METHOD_NEAREST, 1, 1);
            nearest.budget = bytes_of(widths[p->tier][w], dim);
            snprintf(label, sizeof label, "bayespcn, width %zu", widths[p->tier][w]);
            add_row(t, label, network(METHOD_BAYESPCN, widths[p->tier][w], 3), "", "");
            snprintf(label, sizeof label, "nearest, float32, %.1f MB", (double)nearest.budget / 1e6);
            add_row(t, label, nearest, "", "");
            nearest.store_bytes = 1;
            snprintf(label, sizeof label, "nearest, uint8, %.1f MB", (double)nearest.budget / 1e6);
            add_row(t, label, nearest, "", "");
        }
    }
    return 0;
}

/* The figures with pictures: a table of one column whose cells hold several numbers. */
static int plan_picture(struct plan *p, const char *experiment, const char *dataset, enum cell_kind kind,
                        size_t columns, const size_t *lengths)
{
    const struct sizes *z = &sizes_of[p->tier];
    struct table *t = add_table(p, experiment, dataset, "white0.2", columns, lengths);
    if (t == NULL)
        return -1;
    t->kind = kind;
    snprintf(t->title, sizeof t->title, "%s", dataset);
    add_row(t, "bayespcn", network(METHOD_BAYESPCN, z->wide, 3), "", "");
    if (kind == CELL_SAMPLES) {
        struct method_spec gpcn = network(METHOD_GPCN_OFFLINE, z->narrow, 3);
        gpcn.iterations = z->offline_iterations;
        add_row(t, "gpcn (offline)", gpcn, "", "")->most = z->offline_most;
    }
    return 0;
}

static int plan_oneshot(struct plan *p, const char *dataset)
{
    size_t length = p->tier == TIER_PAPER ? 193 : 25; /* the image itself and what comes after */
    return plan_picture(p, "oneshot", dataset, CELL_ONESHOT, 1, &length);
}

static int plan_samples(struct plan *p, const char *dataset)
{
    static const size_t lengths[][3] = {[TIER_QUICK] = {4, 16, 32}, [TIER_PAPER] = {4, 256, 1024}};
    return plan_picture(p, "samples", dataset, CELL_SAMPLES, 3, lengths[p->tier]);
}

static int plan_generalization(struct plan *p, const char *dataset)
{
    static const size_t lengths[] = {2, 8, 32, 128, 512};
    return plan_picture(p, "generalization", dataset, CELL_GENERALIZATION, p->tier == TIER_PAPER ? 5 : 3, lengths);
}

/* ---- shards: not in the paper */

static struct method_spec sharded(size_t width, size_t shards, size_t rows)
{
    struct method_spec s = network(METHOD_BAYESPCN, width, 3);
    s.shards = shards;
    s.shard_rows = rows;
    return s;
}

/* One row a unit, two, four: networks of every width, as many as it takes for all images, down to a single one. */
static void add_shards(struct table *t, enum tier tier, size_t length)
{
    static const size_t widths[][8] = {[TIER_QUICK] = {8, 16, 32}, [TIER_PAPER] = {16, 32, 64, 128, 256, 512, 1024}};
    for (size_t load = 1; load <= 4; load *= 2)
        for (size_t w = 0; widths[tier][w] > 0 && widths[tier][w] * load <= length; w++) {
            size_t width = widths[tier][w], shards = length / (width * load);
            char label[64];
            snprintf(label, sizeof label, "%zu x %zux3, %zu row%s a unit", shards, width, load, load > 1 ? "s" : "");
            if (shards != 2 || width != 512) /* between the two widest nothing new is to be seen */
                add_row(t, label, sharded(width, shards, width * load), "", "");
        }
}

/* The widest that is full four times over, as one network, and as many bytes of images. */
static void add_equal_bytes(struct table *t, size_t length, size_t dim)
{
    struct method_spec nearest = network(METHOD_NEAREST, 1, 1);
    char label[64];
    nearest.budget = bytes_of(length / 4, dim);
    snprintf(label, sizeof label, "nearest, float32, %.1f MB", (double)nearest.budget / 1e6);
    add_row(t, label, nearest, "", "");
    nearest.store_bytes = 1;
    snprintf(label, sizeof label, "nearest, uint8, %.1f MB", (double)nearest.budget / 1e6);
    add_row(t, label, nearest, "", "");
}

static int plan_shards_by_width(struct plan *p, const char *dataset)
{
    static const char *const tasks[] = {"white0.2", "drop0.25", "mask0.25", "drop0.75", "mask0.75"};
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 5; k++) {
        struct table *t = add_table(p, "shards", dataset, tasks[k], 1, &z->sequence);
        if (t == NULL)
            return -1;
        t->queries = COMPARED_QUERIES;
        t->twice = 1;
        add_row(t, "nearest", network(METHOD_NEAREST, 1, 1), "", "");
        if (k < 3) /* as in recall; what little is left of an image wants a slower rate, and hours at this length */
            add_row(t, "mhn", network(METHOD_MHN, 1, 1), "", "");
        add_equal_bytes(t, z->sequence, strcmp(dataset, "tiny-imagenet") == 0 ? 12288 : 3072);
        add_shards(t, p->tier, z->sequence);
    }
    return 0;
}

/* Every picture of a collection, once, and a search through all of them by matrix products. */
static int plan_shards_many(struct plan *p, const char *dataset)
{
    static const char *const tasks[] = {"mask0.5", "drop0.75", "white0.2"};
    size_t length = p->tier == TIER_PAPER ? 60000 : 60, width = p->tier == TIER_PAPER ? 64 : 8;
    size_t shards = (length + width - 1) / width;
    for (size_t k = 0; k < 3; k++) {
        struct method_spec nearest = network(METHOD_NEAREST, 1, 1);
        char label[64];
        struct table *t = add_table(p, "shards", dataset, tasks[k], 1, &length);
        if (t == NULL)
            return -1;
        t->queries = 512;
        t->twice = 1;
        nearest.products = 1;
        snprintf(label, sizeof label, "%zu x %zux3", shards, width);
        add_row(t, label, sharded(width, shards, width), "", "");
        add_row(t, "nearest, by matrix products", nearest, "", "");
    }
    return 0;
}

/* The discount of `bpcn write --forget auto`. */
static struct method_spec discounting(struct method_spec s)
{
    s.discount = 1;
    s.forget_every = 8;
    s.beta = 1 - pow(1 - 5 / (double)s.hidden[0], (double)s.forget_every);
    return s;
}

/* A stream through a window, and what of the latest is left: twice as many as the window holds. */
static int plan_shards_stream(struct plan *p, const char *dataset)
{
    size_t length = p->tier == TIER_PAPER ? 70000 : 70, width = p->tier == TIER_PAPER ? 64 : 8;
    size_t shards = p->tier == TIER_PAPER ? 32 : 3, wide = p->tier == TIER_PAPER ? 256 : 16, open = length % width;
    struct method_spec window = sharded(width, shards, width);
    char label[64];
    struct table *t = add_table(p, "shards", dataset, "mask0.5", 1, &length);
    if (t == NULL)
        return -1;
    t->kind = CELL_STREAM;
    t->latest = 2 * ((shards - 1) * width + (open > 0 ? open : width));
    snprintf(t->title, sizeof t->title, "%s, a stream, the right half from the left", dataset);
    window.when_full = BPCN_RECYCLE;
    snprintf(label, sizeof label, "%zu x %zux3, the oldest recycled", shards, width);
    add_row(t, label, window, "", "");
    snprintf(label, sizeof label, "1 x %zux3, discounted", wide);
    add_row(t, label, discounting(network(METHOD_BAYESPCN, wide, 3)), "", "");
    return 0;
}

static int plan_shards(struct plan *p, const char *dataset)
{
    if (strcmp(dataset, "fashion-mnist") != 0)
        return plan_shards_by_width(p, dataset);
    return plan_shards_many(p, dataset) == 0 ? plan_shards_stream(p, dataset) : -1;
}

/* ---- the list of them */

static const struct {
    const char *name;
    int (*add)(struct plan *plan, const char *dataset);
    const char *datasets;
} experiments[] = {{"recall", plan_recall, "cifar10,tiny-imagenet"},
                   {"high-noise", plan_high_noise, "cifar10,tiny-imagenet"},
                   {"depth", plan_depth, "cifar10,tiny-imagenet"},
                   {"sigma", plan_sigma, "cifar10"},
                   {"forget", plan_forget, "cifar10"},
                   {"scaling", plan_scaling, "cifar10,tiny-imagenet"},
                   {"oneshot", plan_oneshot, "tiny-imagenet,cifar10,fashion-mnist"},
                   {"samples", plan_samples, "cifar10"},
                   {"generalization", plan_generalization, "cifar10"},
                   {"equal-memory", plan_equal_memory, "cifar10"},
                   {"shards", plan_shards, "cifar10,tiny-imagenet,fashion-mnist"}};
enum { EXPERIMENTS = sizeof experiments / sizeof experiments[0] };

const char *const *plan_experiments(void)
{
    static const char *const names[] = {"recall",  "high-noise", "depth",          "sigma",        "forget", "scaling",
                                        "oneshot", "samples",    "generalization", "equal-memory", "shards", NULL};
    return names;
}

/* Whether the comma-separated list holds the word. */
static int listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return 1;
    return 0;
}

static int add_experiment(struct plan *p, size_t e, const char *datasets)
{
    static const char *const all[] = {"cifar10", "tiny-imagenet", "fashion-mnist"};
    int status = 0;
    for (size_t d = 0; status == 0 && d < 3; d++)
        if (listed(experiments[e].datasets, all[d]) && (datasets == NULL || listed(datasets, all[d])))
            status = experiments[e].add(p, all[d]);
    return status;
}

static void shorten(struct plan *p, size_t longest)
{
    for (size_t k = 0; longest > 0 && k < p->tables; k++)
        while (p->table[k].columns > 0 && p->table[k].lengths[p->table[k].columns - 1] > longest)
            p->table[k].columns--;
}

int plan_create(const struct plan_request *r, struct plan *p, struct failure *failure)
{
    int found = 0, status = 0;
    *p = (struct plan){
        .tier = r->tier, .seeds = r->seeds ? r->seeds : sizes_of[r->tier].seeds, .limit = r->limit, .rows = r->rows};
    for (size_t e = 0; status == 0 && e < EXPERIMENTS; e++)
        if (strcmp(r->experiment, "all") == 0 || strcmp(r->experiment, experiments[e].name) == 0) {
            found = 1;
            status = add_experiment(p, e, r->datasets);
        }
    if (!found)
        return failed(failure,
                      "there is no experiment called %s: give recall, high-noise, depth, sigma, forget, scaling, "
                      "oneshot, samples, generalization, equal-memory, shards or all",
                      r->experiment);
    if (status == 0 && p->tables == 0)
        status = failed(failure, "%s is not run on %s", r->experiment, r->datasets);
    else if (status != 0)
        status = failed(failure, "out of memory for the plan");
    if (status == 0)
        shorten(p, r->longest);
    else
        plan_free(p);
    return status;
}

void plan_free(struct plan *p)
{
    free(p->table);
    *p = (struct plan){0};
}

/* The paper's objective reads in thirty rounds, and so does GPCN: at the paper's sizes some of the images must do,
   unless a limit was asked for. GPCN online, the paper's opponent in continual learning, reads them all. */
static size_t queries_of(const struct plan *p, const struct table *t, const struct row *r)
{
    int slow = r->objective == BPCN_OBJECTIVE_PAPER || r->spec.kind == METHOD_GPCN_OFFLINE;
    if (p->limit > 0 || t->queries > 0)
        return p->limit > 0 ? p->limit : t->queries;
    return slow && p->tier == TIER_PAPER ? COMPARED_QUERIES : 0;
}

/* GPCN offline alone would take hours for each further seed. */
static size_t seeds_of(const struct plan *p, const struct row *r)
{
    return p->tier == TIER_PAPER && r->spec.kind == METHOD_GPCN_OFFLINE ? 1 : p->seeds;
}

int plan_cell(const struct plan *p, const struct table *t, size_t row, size_t column, size_t seed, struct cell *cell)
{
    const struct row *r = &t->row[row];
    if ((r->most > 0 && t->lengths[column] > r->most) || seed >= seeds_of(p, r))
        return 0;
    *cell = (struct cell){.kind = t->kind,
                          .spec = r->spec,
                          .length = t->lengths[column],
                          .task = t->task,
                          .objective = r->objective,
                          .latest = t->latest,
                          .twice = t->twice,
                          .limit = is_recall(t->kind) ? queries_of(p, t, r) : 0};
    cell->spec.seed = seed;
    snprintf(cell->dataset, sizeof cell->dataset, "%s", t->dataset);
    return 1;
}

void cell_key(const struct cell *c, char *key, size_t room)
{
    static const char *const kinds[] = {"", "oneshot-", "samples-", "generalization-", "stream-"};
    char method[320], limit[40] = "", latest[40] = "";
    int recall = is_recall(c->kind);
    method_key(&c->spec, method, sizeof method);
    if (c->limit > 0 && c->limit < c->length)
        snprintf(limit, sizeof limit, "-q%zu", c->limit);
    if (c->kind == CELL_STREAM)
        snprintf(latest, sizeof latest, "-latest%zu", c->latest);
    snprintf(key, room, "%s%s-%s-T%zu%s%s%s%s%s", kinds[c->kind], c->dataset, method, c->length, recall ? "-" : "",
             recall ? c->task.name : "", latest, c->objective == BPCN_OBJECTIVE_PAPER ? "-paper" : "", limit);
}
