/* Sizes, rows and tables. */
#include "plan_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sizes sizes_of[] = {
    [TIER_QUICK] = {.wide = 96,
                    .middle = 64,
                    .narrow = 48,
                    .lengths = {16, 32},
                    .short_lengths = {8, 16},
                    .columns = 2,
                    .sequence = 32,
                    .forget_every = 2,
                    .offline_most = 16,
                    .offline_iterations = 100,
                    .few_steps = 60, /* ten of them with momentum */
                    .many_steps = 90,
                    .best_every = 30,
                    .seeds = 1},
    [TIER_PAPER] = {.wide = 1024,
                    .middle = 512,
                    .narrow = 256,
                    .lengths = {128, 256, 512, 1024},
                    .short_lengths = {16, 32, 64, 128},
                    .columns = 4,
                    .sequence = 1024,
                    .forget_every = 64,
                    .offline_most = 256,
                    .offline_iterations = 4000,
                    .few_steps = 200, /* more do harm to recall from white noise (results/notes.md) */
                    .many_steps = 1200,
                    .best_every = 50,
                    .seeds = 3},
};

const char *const moderate_tasks[] = {"white0.2", "drop0.25", "mask0.25"};
const char *const severe_tasks[] = {"white0.8", "drop0.75", "mask0.75"};

struct method_spec network_of(enum method_kind kind, size_t width, size_t layers)
{
    struct method_spec s = method_spec_default();
    s.kind = kind;
    s.layers = layers;
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++)
        s.hidden[l] = width;
    return s;
}

struct method_spec forgetting(struct method_spec s, const struct sizes *z, double beta)
{
    s.forget_every = z->forget_every;
    s.beta = beta;
    return s;
}

struct row *add_row(struct table *t, const char *label, struct method_spec spec, const char *paper_table,
                    const char *paper_row)
{
    struct row *r = &t->row[t->rows < PLAN_ROWS ? t->rows++ : PLAN_ROWS - 1];
    *r = (struct row){.spec = spec};
    snprintf(r->label, sizeof r->label, "%s", label);
    snprintf(r->paper_table, sizeof r->paper_table, "%s", paper_table);
    snprintf(r->paper_row, sizeof r->paper_row, "%s", paper_row);
    return r;
}

void add_as_paper(struct table *t, const char *label, struct method_spec spec, const char *paper_table,
                  const char *paper_row)
{
    char longer[64];
    spec.minimizer = BPCN_ADAM;
    snprintf(longer, sizeof longer, "%.40s, as the paper does it", label);
    add_row(t, longer, spec, paper_table, paper_row)->objective = BPCN_OBJECTIVE_PAPER;
}

void add_both(struct table *t, const char *label, struct method_spec spec, const char *paper_table,
              const char *paper_row)
{
    add_as_paper(t, label, spec, paper_table, paper_row);
    add_row(t, label, spec, paper_table, paper_row);
}

void add_all_three(struct table *t, const char *label, struct method_spec spec, const char *paper_table,
                   const char *paper_row)
{
    char longer[64];
    add_as_paper(t, label, spec, paper_table, paper_row);
    snprintf(longer, sizeof longer, "%.40s (paper objective)", label);
    add_row(t, longer, spec, paper_table, paper_row)->objective = BPCN_OBJECTIVE_PAPER;
    add_row(t, label, spec, paper_table, paper_row);
}

struct table *add_table(struct plan *p, const char *experiment, const char *dataset, const char *task, size_t columns,
                        const size_t *lengths)
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
