/* The best of the search. */
#include "search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int is_search(const struct table *t, const char *dataset)
{
    return strcmp(t->experiment, "search") == 0 && strcmp(t->dataset, dataset) == 0;
}

/* The sum of a row's logarithms; infinite when one of its cells is missing or has no error. All tables of the search
   have the same rows. */
static double sum_of_logarithms(const struct job_list *list, const struct plan *plan, const char *dataset, size_t row)
{
    double sum = 0;
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t c = 0; is_search(&plan->table[k], dataset) && c < plan->table[k].columns; c++) {
            double mean = 0, cells = 0;
            struct cell cell;
            struct record record;
            for (size_t seed = 0; plan_cell(plan, &plan->table[k], row, c, seed, &cell); seed++) {
                mean += cell_load(list, &cell, &record) ? record_get(&record, "mse") : NAN;
                cells++;
            }
            sum += isnan(mean) ? INFINITY : log(fmax(mean / cells, SEARCH_LEAST));
        }
    return sum;
}

struct best_rows search_best_rows(const struct job_list *list, const struct plan *plan)
{
    static const enum role roles[] = {ROLE_PAPER, ROLE_OURS};
    struct best_rows found = {0};
    for (size_t k = 0; k < 2 * PLAN_DATASETS; k++) {
        const char *dataset = plan_datasets[k / 2];
        const struct table *first = plan->table;
        double least = INFINITY;
        size_t best = 0;
        int complete = 1;
        while (first < plan->table + plan->tables && !is_search(first, dataset))
            first++;
        if (first == plan->table + plan->tables)
            continue;
        for (size_t r = 0; r < first->rows; r++) {
            if (row_role(&first->row[r]) != roles[k % 2])
                continue;
            double sum = sum_of_logarithms(list, plan, dataset, r);
            complete &= isfinite(sum);
            if (sum < least) {
                least = sum;
                best = r;
            }
        }
        if (!complete)
            continue;
        snprintf(found.item[found.count].dataset, sizeof found.item[0].dataset, "%s", dataset);
        found.item[found.count++].row = first->row[best];
    }
    return found;
}
