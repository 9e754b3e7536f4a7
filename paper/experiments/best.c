/* The best of the search. */
#include "best.h"

#include <math.h>
#include <string.h>

/* The n-th table of the search on a dataset, or NULL. */
static const struct table *search_table(const struct plan *plan, const char *dataset, size_t n)
{
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        if (strcmp(t->experiment, "search") == 0 && strcmp(t->dataset, dataset) == 0 && n-- == 0)
            return t;
    }
    return NULL;
}

/* Adds a place of the table to a row's sum of logarithms, and its cells to those counted. */
static void add_place(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                      size_t column, double *sum, size_t *places, struct best *best)
{
    struct figure f = figure_of(list, plan, t, row, column, "mse");
    struct cell cell;
    for (size_t seed = 0; seed < plan->seeds; seed++)
        best->planned += (size_t)plan_cell(plan, t, row, column, seed, &cell);
    best->there += f.seeds;
    *sum += isnan(f.mean) ? INFINITY : log(fmax(f.mean, BEST_LEAST));
    (*places)++;
}

struct best search_best(const struct job_list *list, const struct plan *plan, const char *dataset, enum role role,
                        size_t table, size_t column)
{
    struct best best = {.error = INFINITY};
    const struct table *first = search_table(plan, dataset, 0), *t;
    for (size_t r = 0; first != NULL && r < first->rows; r++) {
        double sum = 0;
        size_t places = 0;
        for (size_t k = 0; role_of(&first->row[r]) == role && (t = search_table(plan, dataset, k)) != NULL; k++)
            for (size_t c = 0; (table == ALL || table == k) && c < t->columns; c++)
                if (column == ALL || column == c)
                    add_place(list, plan, t, r, c, &sum, &places, &best);
        double error = places > 0 ? exp(sum / (double)places) : INFINITY;
        if (error < best.error) {
            best.error = error;
            best.row = r;
        }
    }
    return best;
}

static int is_known(const struct best *b)
{
    return b->planned > 0 && b->there == b->planned;
}

struct best_rows search_best_rows(const struct job_list *list, const struct plan *plan)
{
    static const enum role roles[] = {ROLE_PAPER, ROLE_OURS};
    struct best_rows found = {0};
    for (size_t k = 0; k < 2 * PLAN_DATASETS; k++) {
        const char *dataset = plan_datasets[k / 2];
        struct best b = search_best(list, plan, dataset, roles[k % 2], ALL, ALL);
        if (!is_known(&b))
            continue;
        snprintf(found.item[found.count].dataset, sizeof found.item[0].dataset, "%s", dataset);
        found.item[found.count++].row = search_table(plan, dataset, 0)->row[b.row];
    }
    return found;
}

/* ---- in words */

static void put_best(FILE *file, const struct table *first, struct best b, int mean)
{
    const struct method_spec *s = &first->row[b.row].spec;
    fprintf(file, " %zux%zu %s, N = %zu: %s%.4f |", s->hidden[0], s->layers, bpcn_activation_name(s->activation),
            s->particles, mean ? "mean " : "", b.error);
}

static void best_table(FILE *file, const struct job_list *list, const struct plan *plan, const char *dataset,
                       enum role role)
{
    const struct table *first = search_table(plan, dataset, 0), *t;
    fputs("\n| images written |", file);
    for (size_t c = 0; c < first->columns; c++)
        fprintf(file, " %zu |", first->lengths[c]);
    fputs(" both |\n|---|", file);
    for (size_t c = 0; c <= first->columns; c++)
        fputs("---|", file);
    fputc('\n', file);
    for (size_t k = 0; (t = search_table(plan, dataset, k)) != NULL; k++) {
        fprintf(file, "| %s |", t->task.name);
        for (size_t c = 0; c < t->columns; c++)
            put_best(file, first, search_best(list, plan, dataset, role, k, c), 0);
        put_best(file, first, search_best(list, plan, dataset, role, k, ALL), 1);
        fputc('\n', file);
    }
    fputs("| all of them |", file);
    for (size_t c = 0; c < first->columns; c++)
        put_best(file, first, search_best(list, plan, dataset, role, ALL, c), 1);
    put_best(file, first, search_best(list, plan, dataset, role, ALL, ALL), 1);
    fputc('\n', file);
}

void best_markdown(FILE *file, const struct job_list *list, const struct plan *plan)
{
    static const enum role roles[] = {ROLE_PAPER, ROLE_OURS};
    static const char *const names[] = {"as the paper does it", "ours"};
    fprintf(file,
            "\n## The best of the search\n\nThe row with the least mean logarithm of its errors over the places asked "
            "for; errors below %.5f, which the paper's tables show as 0.0000, count as that. The mean is the geometric "
            "one. The best of all, at the lower right, is computed in full in recall.\n",
            BEST_LEAST);
    for (size_t k = 0; k < 2 * PLAN_DATASETS; k++) {
        const char *dataset = plan_datasets[k / 2];
        struct best all = search_best(list, plan, dataset, roles[k % 2], ALL, ALL);
        if (all.planned == 0)
            continue;
        fprintf(file, "\n%s, %s: ", dataset, names[k % 2]);
        if (!is_known(&all)) {
            fprintf(file, "not all computed: %zu of %zu cells.\n", all.there, all.planned);
            continue;
        }
        const struct method_spec *s = &search_table(plan, dataset, 0)->row[all.row].spec;
        fprintf(file, "**%zux%zu %s, N = %zu**, with a mean error of %.4f.\n", s->hidden[0], s->layers,
                bpcn_activation_name(s->activation), s->particles, all.error);
        best_table(file, list, plan, dataset, roles[k % 2]);
    }
}
