/* Means over seeds, the comparison with the paper, and how it all was made. */
#include "summary.h"

#include "paper_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *task_word(const struct task *task)
{
    return task->kind == TASK_WHITE ? "white" : task->kind == TASK_DROP ? "drop" : "mask";
}

/* Rounded as the paper rounds. */
static double four_digits(double x)
{
    return round(x * 1e4) / 1e4;
}

static void compare(const struct plan *plan, const struct table *t, size_t row, size_t column, const char *measure,
                    struct figure *f)
{
    const struct row *r = &t->row[row];
    f->paper = f->paper_deviation = NAN;
    if (r->paper_row[0] == '\0' || strcmp(measure, "mse") != 0 || plan->tier != TIER_PAPER)
        return;
    paper_figure(r->paper_table, t->dataset, task_word(&t->task), r->paper_row, t->lengths[column], &f->paper,
                 &f->paper_deviation);
    double spread = isnan(f->paper_deviation) ? 0 : f->paper_deviation;
    f->worse = f->seeds > 0 && four_digits(f->mean) > 1.1 * f->paper + spread + 1e-9;
}

struct figure figure_of(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                        size_t column, const char *measure)
{
    struct figure f = {.mean = NAN, .deviation = NAN};
    double sum = 0, squares = 0;
    for (size_t seed = 0; seed < plan->seeds; seed++) {
        struct cell cell;
        struct record record;
        if (!plan_cell(plan, t, row, column, seed, &cell) || !cell_load(list, &cell, &record))
            continue;
        double value = record_get(&record, measure);
        sum += value;
        squares += value * value;
        f.seeds++;
    }
    if (f.seeds > 0)
        f.mean = sum / (double)f.seeds;
    if (f.seeds > 1)
        f.deviation = sqrt(fmax(0, (squares - sum * f.mean) / (double)(f.seeds - 1)));
    compare(plan, t, row, column, measure, &f);
    return f;
}

int table_there(const struct job_list *list, const struct plan *plan, const struct table *t)
{
    struct cell cell;
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->columns; c++)
            for (size_t seed = 0; seed < plan->seeds; seed++)
                if (plan_cell(plan, t, r, c, seed, &cell) && cell_load(list, &cell, NULL))
                    return 1;
    return 0;
}

double experiment_seconds(const struct job_list *list, const struct plan *plan, const char *experiment)
{
    double seconds = 0;
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        int first = k == 0 || strcmp(plan->table[k - 1].experiment, t->experiment) != 0 ||
                    strcmp(plan->table[k - 1].dataset, t->dataset) != 0; /* tasks share their writes */
        if (strcmp(t->experiment, experiment) != 0)
            continue;
        for (size_t r = 0; r < t->rows; r++)
            for (size_t seed = 0; seed < plan->seeds; seed++) {
                double written = 0;
                for (size_t c = 0; c < t->columns; c++) {
                    struct cell cell;
                    struct record record;
                    if (!plan_cell(plan, t, r, c, seed, &cell) || !cell_load(list, &cell, &record))
                        continue;
                    written = fmax(written, record_get(&record, "write_seconds"));
                    double read = record_get(&record, "read_seconds");
                    seconds += isnan(read) ? 0 : read;
                }
                seconds += first && t->row[r].objective != BPCN_OBJECTIVE_PAPER ? written : 0;
            }
    }
    return seconds;
}

const char *why_worse(const struct table *t, const struct row *r, double missed)
{
    switch (r->spec.kind) {
    case METHOD_MHN:
        return r->spec.metric == MHN_DOT
                   ? "The paper's row is reproduced by the Euclidean metric; by dot product, bright images win "
                     "whatever the query."
                   : "The paper does not say for how long it recalls, and its two tables fit different rates.";
    case METHOD_GPCN_OFFLINE:
    case METHOD_GPCN_ONLINE:
        return "The paper shows the best of several widths and activations; here the network has one width and GELU.";
    case METHOD_BAYESPCN:
        if (missed > 0.01)
            return "More than one read in a hundred ends above the energy of the code that was written: the search "
                   "misses it.";
        if (t->task.kind == TASK_WHITE && strcmp(r->paper_table, "recall") == 0)
            return "The paper shows the best of several activations, widths and particle counts, for white noise "
                   "ReLU at the shorter lengths; here it is GELU with one particle throughout.";
        return r->objective == BPCN_OBJECTIVE_PAPER
                   ? "The optimum of the paper's objective is not its smallest error: the paper's Adam stops halfway, "
                     "nearer to the stored image; here the optimum is reached."
                   : "Here the optimum of the objective is reached, which is not always the smallest error.";
    default:
        return "The corruptions are drawn anew.";
    }
}

/* "model name : ..." of the first processor, without repeated blanks. */
static void processor_name(char *name, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, room, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, room, "%.100s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file != NULL)
        fclose(file);
}

void provenance_fill(struct provenance *p, const char *command)
{
    char processor[128];
    time_t now = time(NULL);
    struct tm day;
    processor_name(processor, sizeof processor);
    snprintf(p->command, sizeof p->command, "%s", command);
    snprintf(p->machine, sizeof p->machine, "%ld cores, %s", sysconf(_SC_NPROCESSORS_ONLN), processor);
    if (gmtime_r(&now, &day) == NULL || strftime(p->date, sizeof p->date, "%Y-%m-%d", &day) == 0)
        p->date[0] = '\0';
}
