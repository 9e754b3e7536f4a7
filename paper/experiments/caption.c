/* How rows were made, in words. */
#include "caption.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends to a text that may be full. */
static void say(char *text, size_t room, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

static void widen(size_t value, size_t *least, size_t *most)
{
    *least = *most == 0 || value < *least ? value : *least;
    *most = value > *most ? value : *most;
}

static void add_facts(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                      size_t column, struct facts *facts)
{
    size_t seeds = 0;
    for (size_t seed = 0; seed < plan->seeds; seed++) {
        struct cell cell;
        struct record record;
        if (!plan_cell(plan, t, row, column, seed, &cell) || !cell_load(list, &cell, &record))
            continue;
        enum freshness fresh = cell_freshness(list, &cell, NULL);
        double queries = record_get(&record, "queries");
        facts->vouched += fresh == VOUCHED;
        facts->stale += fresh == STALE;
        facts->untold += fresh == UNTOLD;
        facts->cells++;
        seeds++;
        if (queries > 0)
            widen((size_t)queries, &facts->least_queries, &facts->most_queries);
    }
    if (seeds > 0)
        widen(seeds, &facts->least_seeds, &facts->most_seeds);
}

struct facts facts_of(const struct job_list *list, const struct plan *plan, const char *experiment, const char *dataset,
                      const char *label)
{
    struct facts facts = {0};
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        if (strcmp(t->experiment, experiment) != 0 || (dataset != NULL && strcmp(t->dataset, dataset) != 0))
            continue;
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->columns && (label == NULL || strcmp(t->row[r].label, label) == 0); c++)
                add_facts(list, plan, t, r, c, &facts);
    }
    return facts;
}

int first_of_label(const struct plan *plan, size_t table, size_t row)
{
    for (size_t k = 0; k <= table; k++)
        for (size_t r = 0; r < (k < table ? plan->table[k].rows : row); r++)
            if (strcmp(plan->table[k].experiment, plan->table[table].experiment) == 0 &&
                strcmp(plan->table[k].row[r].label, plan->table[table].row[row].label) == 0)
                return 0;
    return 1;
}

/* ---- the method */

static void say_network(const struct method_spec *s, char *text, size_t room)
{
    say(text, room, "%zux%zu %s", s->hidden[0], s->layers, bpcn_activation_name(s->activation));
    if (s->kind == METHOD_BAYESPCN)
        say(text, room, ", N %zu", s->particles);
    if (s->shards > 1)
        say(text, room, ", %zu shards of %zu rows", s->shards, s->shard_rows ? s->shard_rows : s->hidden[0]);
    if (s->sigma_w != 1 || s->sigma_x != 0.01)
        say(text, room, ", sigma_w %g, sigma_x %g", s->sigma_w, s->sigma_x);
    if (s->beta > 0)
        say(text, room, ", %s %.3g every %zu", s->discount ? "discount" : "forget", s->beta, s->forget_every);
    if (s->kind == METHOD_GPCN_OFFLINE)
        say(text, room, ", %zu weight steps%s", s->iterations, s->momentum > 0 ? " with momentum" : "");
    say(text, room, ", %s", s->minimizer == BPCN_ADAM ? "Adam" : "L-BFGS");
}

static void say_method(const struct row *r, char *text, size_t room)
{
    const struct method_spec *s = &r->spec;
    if (s->kind == METHOD_BAYESPCN || s->kind == METHOD_GPCN_OFFLINE || s->kind == METHOD_GPCN_ONLINE)
        say_network(s, text, room);
    else if (s->kind == METHOD_MHN)
        say(text, room, "%s, beta %g, rate %g",
            s->metric == MHN_DOT         ? "dot product"
            : s->metric == MHN_PAPER_DOT ? "the paper's dot product"
                                         : "Euclidean metric",
            mhn_options_default(1).beta, s->rate);
    else if (s->kind == METHOD_NEAREST)
        say(text, room, s->budget > 0 ? "the latest that fit" : "every image kept");
    else
        say(text, room, "the query itself");
    if (s->kind == METHOD_BAYESPCN)
        say(text, room, ", %s objective", r->objective == BPCN_OBJECTIVE_PAPER ? "the paper's" : "our");
}

static void say_range(char *text, size_t room, size_t least, size_t most, const char *one, const char *many)
{
    if (most == 0)
        return;
    say(text, room, ", %zu", least);
    if (most > least)
        say(text, room, " to %zu", most);
    say(text, room, " %s", most == 1 ? one : many);
}

void facts_text(const struct facts *f, char *text, size_t room)
{
    *text = '\0';
    say_range(text, room, f->least_queries, f->most_queries, "query", "queries");
    say_range(text, room, f->least_seeds, f->most_seeds, "seed", "seeds");
}

void row_caption(const struct row *row, const struct facts *f, char *text, size_t room)
{
    char facts[128];
    *text = '\0';
    say_method(row, text, room);
    facts_text(f, facts, sizeof facts);
    say(text, room, "%s", facts);
}

/* ---- where a figure is above the paper's */

/* The errors of the seeds, where there are several. */
static void say_seeds(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                      size_t column, char *text, size_t room)
{
    size_t said = 0;
    if (figure_of(list, plan, t, row, column, "mse").seeds < 2)
        return;
    for (size_t seed = 0; seed < plan->seeds; seed++) {
        struct cell cell;
        struct record record;
        if (plan_cell(plan, t, row, column, seed, &cell) && cell_load(list, &cell, &record))
            say(text, room, "%s%.4f", said++ == 0 ? "By seed: " : ", ", record_get(&record, "mse"));
    }
    say(text, room, ".");
}

/* Whether a few reads are lost or all are off: the share of the worst, on average over the seeds. */
static void say_worst(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                      size_t column, char *text, size_t room)
{
    double error = figure_of(list, plan, t, row, column, "mse").mean,
           worst = figure_of(list, plan, t, row, column, "mse_max").mean,
           queries = figure_of(list, plan, t, row, column, "queries").mean;
    if (queries > 1 && error > 0 && worst > 0)
        say(text, room, "%sThe worst of its %.0f reads has %.0f %% of the error.", *text != '\0' ? " " : "", queries,
            100 * worst / (queries * error));
}

/* Which of the rows for the same figure of the paper has the least error, if that is not above the figure. */
static void say_better(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                       size_t column, char *text, size_t room)
{
    size_t best = row;
    double least = INFINITY;
    for (size_t r = 0; r < t->rows; r++) {
        struct figure f = figure_of(list, plan, t, r, column, "mse");
        int beside = r != row && strcmp(t->row[r].paper_row, t->row[row].paper_row) == 0 &&
                     strcmp(t->row[r].paper_table, t->row[row].paper_table) == 0;
        if (beside && (f.relation == SAME || f.relation == BELOW) && f.mean < least) {
            best = r;
            least = f.mean;
        }
    }
    if (best != row)
        say(text, room, "%sThe row %s has %.4f.", *text != '\0' ? " " : "", t->row[best].label, least);
}

void reason_text(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row, size_t column,
                 char *text, size_t room)
{
    double above = figure_of(list, plan, t, row, column, "above_stored").mean,
           query = figure_of(list, plan, t, row, column, "identity_mse").mean;
    *text = '\0';
    say_seeds(list, plan, t, row, column, text, room);
    if (figure_of(list, plan, t, row, column, "mse").mean > query)
        say(text, room, "%sWorse than the queries themselves, which were off by %.4f.", *text != '\0' ? " " : "",
            query);
    else if (above > 0)
        say(text, room, "%s%.1f %% of its reads end above the energy of the code that was written.",
            *text != '\0' ? " " : "", 100 * above);
    say_worst(list, plan, t, row, column, text, room);
    say_better(list, plan, t, row, column, text, room);
}

/* ---- who made them */

void stale_text(const struct facts *f, char *text, size_t room)
{
    *text = '\0';
    if (f->stale + f->untold == 0)
        say(text, room, "%zu of %zu cells are by today's code, or code that differs in nothing they depend on.",
            f->cells - f->vouched, f->cells);
    else
        say(text, room, "%zu of %zu cells are stale (°):", f->stale + f->untold, f->cells);
    if (f->untold > 0)
        say(text, room, " %zu of an unknown commit%s", f->untold, f->stale > 0 ? "," : ".");
    if (f->stale > 0)
        say(text, room, " %zu older than the last change of what they depend on.", f->stale);
    if (f->vouched > 0)
        say(text, room,
            " %zu are older than the code or of an unknown commit and vouched for: at least %d of their kind have "
            "come out the same since (checked.csv).",
            f->vouched, ENOUGH_CHECKED);
}

static void add_maker(struct maker *maker, size_t room, size_t *count, const struct made *made)
{
    size_t at = 0;
    while (at < *count && memcmp(&maker[at].made, made, sizeof *made) != 0)
        at++;
    if (at == *count && *count < room)
        maker[(*count)++] = (struct maker){.made = *made};
    if (at < *count)
        maker[at].cells++;
}

size_t makers_of(const struct job_list *list, const struct plan *plan, const char *experiment, struct maker *maker,
                 size_t room)
{
    size_t count = 0;
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; strcmp(plan->table[k].experiment, experiment) == 0 && r < plan->table[k].rows; r++)
            for (size_t c = 0; c < plan->table[k].columns; c++)
                for (size_t seed = 0; seed < plan->seeds; seed++) {
                    struct cell cell;
                    struct made made = {0};
                    if (!plan_cell(plan, &plan->table[k], r, c, seed, &cell) || !cell_load(list, &cell, NULL))
                        continue;
                    cell_freshness(list, &cell, &made);
                    add_maker(maker, room, &count, &made);
                }
    return count;
}
