/* Means over seeds, the comparison with the paper, and how it all was made. */
#include "summary.h"

#include "paper_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *task_word(const struct task *task)
{
    return task->kind == TASK_WHITE ? "white" : task->kind == TASK_DROP ? "drop" : "mask";
}

enum relation relation_of(double ours, double spread, double paper, double paper_deviation)
{
    if (isnan(ours) || isnan(paper))
        return NOT_COMPARED;
    /* half a unit of the last digit for the paper's figure, and for its deviation */
    double apart = 0.5e-4 + 1e-12;
    apart += isnan(spread) ? 0 : spread;
    apart += isnan(paper_deviation) ? 0 : paper_deviation + 0.5e-4;
    return fabs(ours - paper) <= apart ? SAME : ours < paper ? BELOW : ABOVE;
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
    if (paper_slip(r->paper_table, t->dataset, task_word(&t->task), r->paper_row) == NULL)
        f->relation = relation_of(f->mean, f->spread, f->paper, f->paper_deviation);
}

/* The standard error of a mean over the queries of a cell; NaN when the cell does not tell, as of all but the error. */
static double query_error(const struct record *record, const char *measure)
{
    return strcmp(measure, "mse") == 0 ? record_get(record, "mse_std") / sqrt(record_get(record, "queries")) : NAN;
}

struct figure figure_of(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                        size_t column, const char *measure)
{
    struct figure f = {.mean = NAN, .deviation = NAN, .spread = NAN};
    double mean = 0, squares = 0; /* of the distances from the mean, both so far */
    double errors = 0;            /* of the means over queries */
    int sampled = 0;              /* whether some images were not read */
    for (size_t seed = 0; seed < plan->seeds; seed++) {
        struct cell cell;
        struct record record;
        if (!plan_cell(plan, t, row, column, seed, &cell))
            continue;
        f.planned++;
        if (!cell_load(list, &cell, &record))
            continue;
        double value = record_get(&record, measure), step = value - mean;
        mean += step / (double)++f.seeds;
        squares += step * (value - mean);
        errors += query_error(&record, measure);
        sampled |= record_get(&record, "queries") < (double)t->lengths[column];
        f.stale += cell_freshness(list, &cell, NULL) > VOUCHED;
    }
    if (f.seeds > 0)
        f.mean = mean;
    if (f.seeds > 1)
        f.deviation = f.spread = sqrt(squares / (double)(f.seeds - 1));
    if (f.seeds == 1 || sampled)
        f.spread = fmax(f.deviation, errors / (double)f.seeds); /* of a number and NaN: the number */
    compare(plan, t, row, column, measure, &f);
    return f;
}

enum role role_of(const struct row *r)
{
    if (r->spec.kind != METHOD_BAYESPCN)
        return ROLE_OPPONENT;
    if (r->spec.minimizer == BPCN_ADAM)
        return ROLE_PAPER;
    return r->objective == BPCN_OBJECTIVE_PAPER ? ROLE_OBJECTIVE : ROLE_OURS;
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
                double written = 0, learnt = 0;
                for (size_t c = 0; c < t->columns; c++) {
                    struct cell cell;
                    struct record record;
                    if (!plan_cell(plan, t, r, c, seed, &cell) || !cell_load(list, &cell, &record))
                        continue;
                    written = fmax(written, record_get(&record, "write_seconds"));
                    double read = record_get(&record, "read_seconds"), learn = record_get(&record, "learn_seconds");
                    seconds += isnan(read) ? 0 : read;
                    learnt += isnan(learn) ? 0 : learn; /* for each length anew */
                }
                if (first && role_of(&t->row[r]) != ROLE_OBJECTIVE) /* which has the writes of ours */
                    seconds += written + learnt;
            }
    }
    return seconds;
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
