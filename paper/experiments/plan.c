/* The list of the experiments, and their cells. */
#include "plan_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int is_recall(enum cell_kind kind)
{
    return kind == CELL_RECALL || kind == CELL_STREAM;
}

enum role row_role(const struct row *r)
{
    if (r->spec.kind != METHOD_BAYESPCN)
        return ROLE_OPPONENT;
    if (r->spec.minimizer == BPCN_ADAM)
        return ROLE_PAPER;
    return r->objective == BPCN_OBJECTIVE_PAPER ? ROLE_OBJECTIVE : ROLE_OURS;
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
                   {"search", plan_search, "cifar10"},
                   {"forget", plan_forget, "cifar10"},
                   {"scaling", plan_scaling, "cifar10,tiny-imagenet"},
                   {"oneshot", plan_oneshot, "tiny-imagenet,cifar10,fashion-mnist"},
                   {"recalled", plan_recalled, "cifar10,fashion-mnist"},
                   {"metric", plan_metric, "cifar10,fashion-mnist"},
                   {"samples", plan_samples, "cifar10"},
                   {"generalization", plan_generalization, "cifar10"},
                   {"equal-memory", plan_equal_memory, "cifar10"},
                   {"shards", plan_shards, "cifar10,tiny-imagenet,fashion-mnist"}};
enum { EXPERIMENTS = sizeof experiments / sizeof experiments[0] };

const char *const plan_datasets[PLAN_DATASETS] = {"cifar10", "tiny-imagenet", "fashion-mnist"};

const char *const *plan_experiments(void)
{
    static const char *names[EXPERIMENTS + 1];
    for (size_t e = 0; e < EXPERIMENTS; e++)
        names[e] = experiments[e].name;
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
    int status = 0;
    for (size_t d = 0; status == 0 && d < PLAN_DATASETS; d++)
        if (listed(experiments[e].datasets, plan_datasets[d]) &&
            (datasets == NULL || listed(datasets, plan_datasets[d])))
            status = experiments[e].add(p, plan_datasets[d]);
    return status;
}

/* Leaves out the columns of lengths that are not asked for; longest 0: there is no limit. */
static void keep_lengths(struct plan *p, size_t shortest, size_t longest)
{
    for (size_t k = 0; k < p->tables; k++) {
        struct table *t = &p->table[k];
        size_t kept = 0;
        for (size_t c = 0; c < t->columns; c++)
            if (t->lengths[c] >= shortest && (longest == 0 || t->lengths[c] <= longest))
                t->lengths[kept++] = t->lengths[c];
        t->columns = kept;
    }
}

size_t plan_seeds(enum tier tier)
{
    return sizes_of[tier].seeds;
}

int plan_create(const struct plan_request *r, struct plan *p, struct failure *failure)
{
    int found = 0, status = 0;
    *p = (struct plan){.tier = r->tier,
                       .seeds = r->seeds ? r->seeds : plan_seeds(r->tier),
                       .limit = r->limit,
                       .rows = r->rows,
                       .tasks = r->tasks,
                       .best = r->best};
    for (size_t e = 0; status == 0 && e < EXPERIMENTS; e++)
        if (strcmp(r->experiment, "all") == 0 || strcmp(r->experiment, experiments[e].name) == 0) {
            found = 1;
            status = add_experiment(p, e, r->datasets);
        }
    if (!found)
        return failed(
            failure,
            "there is no experiment called %s: give recall, high-noise, depth, sigma, search, forget, scaling, "
            "oneshot, recalled, metric, samples, generalization, equal-memory, shards or all",
            r->experiment);
    if (status == 0 && p->tables == 0)
        status = failed(failure, "%s is not run on %s", r->experiment, r->datasets);
    else if (status != 0)
        status = failed(failure, "out of memory for the plan");
    if (status == 0)
        keep_lengths(p, r->shortest, r->longest);
    else
        plan_free(p);
    return status;
}

void plan_free(struct plan *p)
{
    free(p->table);
    *p = (struct plan){0};
}

/* By the paper's minimiser: all images of the short sequences of high-noise, which are few, and of GPCN's shortest;
   else some, and fewest where the strength of writes is varied, in 168 places. */
static size_t adam_queries(const struct plan *p, const struct table *t, const struct row *r, size_t length)
{
    const struct method_spec usual = method_spec_default();
    if (strcmp(t->experiment, "high-noise") == 0 || (r->spec.kind == METHOD_GPCN_ONLINE && length <= COMPARED_QUERIES))
        return 0;
    if (r->spec.sigma_w != usual.sigma_w || r->spec.sigma_x != usual.sigma_x)
        return ADAM_QUERIES / 2;
    return r->spec.hidden[0] > sizes_of[p->tier].narrow ? ADAM_QUERIES : COMPARED_QUERIES / 2;
}

/* The paper's objective reads in thirty rounds, and so does GPCN: at the paper's sizes some of the images must do,
   unless a limit was asked for. GPCN online by our minimiser reads them all. */
static size_t queries_of(const struct plan *p, const struct table *t, const struct row *r, size_t length)
{
    int slow = r->objective == BPCN_OBJECTIVE_PAPER || r->spec.kind == METHOD_GPCN_OFFLINE;
    if (p->limit > 0 || t->queries > 0)
        return p->limit > 0 ? p->limit : t->queries;
    if (p->tier == TIER_PAPER && r->spec.minimizer == BPCN_ADAM)
        return adam_queries(p, t, r, length);
    return slow && p->tier == TIER_PAPER ? COMPARED_QUERIES : 0;
}

/* GPCN offline alone would take hours for each further seed. */
static size_t seeds_of(const struct plan *p, const struct table *t, const struct row *r)
{
    if (p->tier == TIER_PAPER && r->spec.kind == METHOD_GPCN_OFFLINE)
        return 1;
    return t->seeds > 0 && t->seeds < p->seeds ? t->seeds : p->seeds;
}

int plan_cell(const struct plan *p, const struct table *t, size_t row, size_t column, size_t seed, struct cell *cell)
{
    const struct row *r = &t->row[row];
    size_t length = t->lengths[column];
    if (length < r->least || (r->most > 0 && length > r->most) || seed >= seeds_of(p, t, r))
        return 0;
    *cell = (struct cell){.kind = t->kind,
                          .spec = r->spec,
                          .length = length,
                          .task = t->task,
                          .objective = r->objective,
                          .latest = t->latest,
                          .twice = t->twice,
                          .limit = is_recall(t->kind) ? queries_of(p, t, r, length) : 0};
    cell->spec.seed = seed;
    snprintf(cell->dataset, sizeof cell->dataset, "%s", t->dataset);
    return 1;
}

void cell_key(const struct cell *c, char *key, size_t room)
{
    static const char *const kinds[] = {"",        "oneshot-",  "samples-", "generalization-",
                                        "stream-", "recalled-", "metric-"};
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
