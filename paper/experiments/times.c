/* What whole schedules took. */
#include "times.h"

#include "caption.h"
#include "paper_figures.h"

#include <math.h>
#include <string.h>

static int is_of(const struct table *t, const char *experiment, const char *dataset)
{
    return strcmp(t->experiment, experiment) == 0 && strcmp(t->dataset, dataset) == 0;
}

static const struct row *row_of(const struct table *t, const char *label)
{
    for (size_t r = 0; r < t->rows; r++)
        if (strcmp(t->row[r].label, label) == 0)
            return &t->row[r];
    return NULL;
}

static void note_cpu(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                     size_t column, struct times *times)
{
    for (size_t seed = 0; seed < plan->seeds; seed++) {
        struct cell cell;
        struct made made;
        if (!plan_cell(plan, t, row, column, seed, &cell) || !cell_load(list, &cell, NULL))
            continue;
        cell_freshness(list, &cell, &made);
        const char *cpu = made.cpu[0] != '\0' ? made.cpu : "not told";
        int other = times->cpu[0] != '\0' && strcmp(times->cpu, cpu) != 0;
        snprintf(times->cpu, sizeof times->cpu, "%s", other ? "several" : cpu);
    }
}

/* The row's cells of one length, of all tasks; images is 0 when a task has none. */
static struct times times_at(const struct job_list *list, const struct plan *plan, const char *experiment,
                             const char *dataset, const char *label, size_t length)
{
    struct times sum = {.images = length};
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        const struct row *row = is_of(t, experiment, dataset) ? row_of(t, label) : NULL;
        for (size_t c = 0; row != NULL && c < t->columns; c++) {
            size_t r = (size_t)(row - t->row);
            if (t->lengths[c] != length)
                continue;
            struct figure read = figure_of(list, plan, t, r, c, "read_seconds");
            if (read.seeds == 0)
                return (struct times){0};
            sum.write = figure_of(list, plan, t, r, c, "write_seconds").mean;
            if (row->spec.kind == METHOD_GPCN_OFFLINE)
                sum.write += figure_of(list, plan, t, r, c, "learn_seconds").mean;
            sum.read += read.mean;
            sum.queries += figure_of(list, plan, t, r, c, "queries").mean;
            sum.tasks++;
            note_cpu(list, plan, t, r, c, &sum);
        }
    }
    return sum.tasks > 0 ? sum : (struct times){0};
}

struct times times_of(const struct job_list *list, const struct plan *plan, const char *experiment, const char *dataset,
                      const char *label)
{
    struct times found = {0};
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t c = 0; is_of(&plan->table[k], experiment, dataset) && c < plan->table[k].columns; c++)
            if (plan->table[k].lengths[c] > found.images) {
                struct times longer = times_at(list, plan, experiment, dataset, label, plan->table[k].lengths[c]);
                if (longer.images > 0)
                    found = longer;
            }
    return found;
}

/* ---- in words */

static void paper_rows(FILE *file)
{
    const struct paper_cost *cost;
    for (size_t k = 0; (cost = paper_cost(k)) != NULL; k++)
        fprintf(file, "| the paper's %s | not told | %zu | %.3g | %.3g | not told | %.3g | | | %s |\n", cost->model,
                cost->images, cost->write_hours, 3600 * cost->write_hours / (double)cost->images, cost->read_hours,
                cost->machine);
}

static void put(FILE *file, double number)
{
    if (isnan(number))
        fputs(" not timed |", file);
    else
        fprintf(file, number < 0.001 ? " < 0.001 |" : " %.3g |", number);
}

static void our_row(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                    const struct row *row)
{
    struct times s = times_of(list, plan, t->experiment, t->dataset, row->label);
    char made[256];
    double every = s.read / s.queries;
    if (s.images == 0)
        return;
    row_caption(row, &(struct facts){0}, made, sizeof made);
    fprintf(file, "| %s: %s | %s | %zu |", row->label, made, t->dataset, s.images);
    put(file, s.write / 3600);
    put(file, s.write / (double)s.images);
    fprintf(file, " %.0f |", s.queries);
    put(file, s.read / 3600);
    put(file, every);
    put(file, every * (double)(s.tasks * s.images) / 3600);
    fprintf(file, " %s |\n", s.cpu);
}

/* Rows of recall, and of the search those that are as large as the paper's. */
static int is_told(const struct table *t, const struct row *r)
{
    if (strcmp(t->experiment, "search") == 0)
        return r->spec.hidden[0] == t->row[t->rows - 1].spec.hidden[0] && r->spec.particles > 1;
    return strcmp(t->experiment, "recall") == 0 && r->spec.kind != METHOD_IDENTITY &&
           strcmp(r->paper_table, "depth") != 0; /* a row that is there already */
}

static int first_of_dataset(const struct plan *plan, size_t table, const struct row *row)
{
    for (size_t k = 0; k < table; k++)
        if (is_of(&plan->table[k], plan->table[table].experiment, plan->table[table].dataset) &&
            row_of(&plan->table[k], row->label) != NULL)
            return 0;
    return 1;
}

void times_markdown(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment)
{
    fputs("\nWhole schedules: all images written one after the other, then the queries of all tasks read, from the "
          "cells of the longest length that a row has (the mean of its seeds). What a network learns from all images "
          "together counts as writing; the reads by which it chooses the best version do not count. **All queries** is "
          "the seconds a query "
          "times the images and the tasks, where fewer were read; nothing else is scaled. Seconds are of the clock, or "
          "of the processor where a cell had one thread. Of the paper's there is no more than its hours, \"on all "
          "tasks\".\n\n"
          "| row | dataset | images | writing, h | s an image | queries | reading, h | s a query | all queries, h | "
          "measured on |\n|---|---|---|---|---|---|---|---|---|---|\n",
          file);
    if (plan->tier == TIER_PAPER)
        paper_rows(file);
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++) {
            const struct table *t = &plan->table[k];
            if ((experiment == NULL || strcmp(t->experiment, experiment) == 0) && is_told(t, &t->row[r]) &&
                first_of_dataset(plan, k, &t->row[r]))
                our_row(file, list, plan, t, &t->row[r]);
        }
}
