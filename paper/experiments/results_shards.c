/* The page of the shards: what they recall, cost and hold, side by side. */
#include "results.h"

#include <math.h>
#include <string.h>

static double value(const struct job_list *list, const struct plan *plan, const struct table *t, size_t r,
                    const char *measure)
{
    return r < t->rows ? figure_of(list, plan, t, r, 0, measure).mean : NAN;
}

static void put(FILE *file, const char *format, double number)
{
    if (isnan(number))
        fputs(" – |", file);
    else
        fprintf(file, format, number);
}

static size_t row_of(const struct table *t, const char *label)
{
    size_t r = 0;
    while (r < t->rows && strcmp(t->row[r].label, label) != 0)
        r++;
    return r;
}

/* The tables of one dataset that are recalls: one for each task, the first with all rows. */
struct group {
    const struct job_list *list;
    const struct plan *plan;
    const struct table *table[PLAN_COLUMNS];
    size_t tables;
};

static struct group group_of(const struct job_list *list, const struct plan *plan, const char *dataset)
{
    struct group g = {.list = list, .plan = plan};
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        if (strcmp(t->experiment, "shards") == 0 && strcmp(t->dataset, dataset) == 0 && t->kind == CELL_RECALL &&
            table_there(list, plan, t))
            g.table[g.tables++] = t;
    }
    return g;
}

static void heading(FILE *file, const struct group *g, const char *first)
{
    fprintf(file, "\n| %s |", first);
    for (size_t k = 0; k < g->tables; k++)
        fprintf(file, " %s |", g->table[k]->task.name);
    fputs("\n|", file);
    for (const char *c = first; *c != '\0'; c++)
        if (*c == '|')
            fputs("---|", file);
    for (size_t k = 0; k <= g->tables; k++)
        fputs("---|", file);
    fputc('\n', file);
}

/* ---- by width */

/* The first table that has a number for the row. */
static double any(const struct group *g, const char *label, const char *measure)
{
    double found = NAN;
    for (size_t k = 0; isnan(found) && k < g->tables; k++)
        found = value(g->list, g->plan, g->table[k], row_of(g->table[k], label), measure);
    return found;
}

static void errors(FILE *file, const struct group *g)
{
    const struct table *first = g->table[0];
    heading(file, g, "error | MB | write, ms an image");
    for (size_t r = 0; r < first->rows; r++) {
        const char *label = first->row[r].label;
        fprintf(file, "| %s |", label);
        put(file, " %.1f |", any(g, label, "bytes") / 1e6);
        put(file, " %.2f |", 1e3 * any(g, label, "write_seconds") / any(g, label, "length"));
        for (size_t k = 0; k < g->tables; k++)
            put(file, " %.5f |", value(g->list, g->plan, g->table[k], row_of(g->table[k], label), "mse"));
        fputc('\n', file);
    }
}

static void rights(FILE *file, const struct group *g)
{
    const struct table *first = g->table[0];
    heading(file, g, "right shard");
    for (size_t r = 0; r < first->rows; r++) {
        const char *label = first->row[r].label;
        if (first->row[r].spec.kind != METHOD_BAYESPCN || first->row[r].spec.shards < 2)
            continue;
        fprintf(file, "| %s |", label);
        for (size_t k = 0; k < g->tables; k++)
            put(file, " %.3f |", value(g->list, g->plan, g->table[k], row_of(g->table[k], label), "right"));
        fputc('\n', file);
    }
}

static void costs(FILE *file, const struct group *g)
{
    const struct table *first = g->table[0];
    heading(file, g, "read, ms a query (evaluations)");
    for (size_t r = 0; r < first->rows; r++) {
        const char *label = first->row[r].label;
        if (first->row[r].spec.kind != METHOD_BAYESPCN)
            continue;
        fprintf(file, "| %s |", label);
        for (size_t k = 0; k < g->tables; k++) {
            const struct table *t = g->table[k];
            size_t at = row_of(t, label);
            double seconds = value(g->list, g->plan, t, at, "again_seconds");
            double queries = value(g->list, g->plan, t, at, "queries");
            if (isnan(seconds))
                fputs(" – |", file);
            else
                fprintf(file, " %.1f (%.0f) |", 1e3 * seconds / queries, value(g->list, g->plan, t, at, "evaluations"));
        }
        fputc('\n', file);
    }
}

static void by_width(FILE *file, const struct job_list *list, const struct plan *plan, const char *dataset)
{
    struct group g = group_of(list, plan, dataset);
    if (g.tables == 0)
        return;
    fprintf(file,
            "\n## %s, %zu images\n\nMean squared error on [-1, 1], over what was missing, of at most %zu images spread "
            "evenly over those written.\n",
            dataset, g.table[0]->lengths[0], g.table[0]->queries);
    errors(file, &g);
    fputs("\nThe share of queries that were answered by the shard that holds the image.\n", file);
    rights(file, &g);
    fputs("\nReads of all queries in one call, with everything prepared that is prepared once for a memory and a mask. "
          "Times are of the clock, each cell's at another time and beside whatever else ran then, or of the processor "
          "where a cell had one thread.\n",
          file);
    costs(file, &g);
}

/* ---- a whole collection */

static void collection(FILE *file, const struct job_list *list, const struct plan *plan, const char *dataset)
{
    struct group g = group_of(list, plan, dataset);
    if (g.tables == 0)
        return;
    const struct table *first = g.table[0];
    double bytes = any(&g, first->row[0].label, "bytes"), seconds = any(&g, first->row[0].label, "write_seconds");
    fprintf(file,
            "\n## %s, %zu images, each written once\n\n%s: %.0f MB, written in %.0f s; the images themselves are %.0f "
            "MB of floats. At most %zu queries, spread evenly; *exact* is an error below 0.01. The first batch "
            "prepares what the second finds.\n\n"
            "| task | | exact | right shard | error | MB prepared | first batch, ms a query | second |\n"
            "|---|---|---|---|---|---|---|---|\n",
            dataset, first->lengths[0], first->row[0].label, bytes / 1e6, seconds,
            any(&g, first->row[1].label, "bytes") / 1e6, first->queries);
    for (size_t k = 0; k < g.tables; k++)
        for (size_t r = 0; r < g.table[k]->rows; r++) {
            const struct table *t = g.table[k];
            double queries = value(list, plan, t, r, "queries");
            fprintf(file, "| %s | %s |", t->task.name, t->row[r].label);
            put(file, " %.4f |", value(list, plan, t, r, "accuracy"));
            put(file, " %.4f |", value(list, plan, t, r, "right"));
            put(file, " %.5f |", value(list, plan, t, r, "mse"));
            put(file, " %.0f |", value(list, plan, t, r, "prepared_bytes") / 1e6);
            put(file, " %.2f |", 1e3 * value(list, plan, t, r, "read_seconds") / queries);
            put(file, " %.2f |", 1e3 * value(list, plan, t, r, "again_seconds") / queries);
            fputc('\n', file);
        }
}

/* ---- a stream */

static void ages(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t)
{
    fprintf(file,
            "\n## %s\n\n%zu images, one after the other; then the latest %zu are read back, in 16 groups by age. Twice "
            "as many as the window holds: its edge is in the middle.\n\n| age, images |",
            t->title, t->lengths[0], t->latest);
    for (size_t r = 0; r < t->rows; r++) {
        double bytes = value(list, plan, t, r, "bytes");
        fprintf(file, " %s", t->row[r].label);
        if (!isnan(bytes))
            fprintf(file, " (%.1f MB)", bytes / 1e6);
        fputs(": exact | error |", file);
    }
    fputs("\n|---|", file);
    for (size_t r = 0; r < 2 * t->rows; r++)
        fputs("---|", file);
    fputc('\n', file);
    for (size_t a = 16; a-- > 0;) {
        char exact[32], age[32];
        snprintf(exact, sizeof exact, "exact_%zu", a);
        snprintf(age, sizeof age, "age_%zu", a);
        fprintf(file, "| %zu – %zu |", t->latest * (15 - a) / 16, t->latest * (16 - a) / 16);
        for (size_t r = 0; r < t->rows; r++) {
            put(file, " %.3f |", value(list, plan, t, r, exact));
            put(file, " %.5f |", value(list, plan, t, r, age));
        }
        fputc('\n', file);
    }
}

void shards_markdown(FILE *file, const struct job_list *list, const struct plan *plan)
{
    by_width(file, list, plan, "cifar10");
    by_width(file, list, plan, "tiny-imagenet");
    collection(file, list, plan, "fashion-mnist");
    for (size_t k = 0; k < plan->tables; k++)
        if (plan->table[k].kind == CELL_STREAM && table_there(list, plan, &plan->table[k]))
            ages(file, list, plan, &plan->table[k]);
}
