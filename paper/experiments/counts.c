/* What there is and how much of it agrees with the paper. */
#include "counts.h"

#include "caption.h"
#include "paper_figures.h"
#include "results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AS_GOOD_AS_ZERO 1.5e-4 /* the paper has 0.0000 or 0.0001 below it */

int agrees(double ours, double paper, double paper_deviation)
{
    const double half_digit = 0.5e-4, slack = 1e-12;
    double low = fmax(0, paper - half_digit), high = paper + half_digit; /* what the paper rounded lies between */
    double nearest = fmin(fmax(ours, low), high), apart = fabs(ours - nearest);
    return apart <= 0.1 * nearest + slack || apart <= 2 * paper_deviation + slack; /* false of NaN */
}

static int is_of(const struct table *t, const char *experiment, const char *dataset)
{
    return strcmp(t->experiment, experiment) == 0 && strcmp(t->dataset, dataset) == 0;
}

/* ---- what there is */

static void count_place(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                        size_t column, struct tally *n)
{
    size_t planned = 0, there = 0;
    for (size_t seed = 0; seed < plan->seeds; seed++) {
        struct cell cell;
        if (!plan_cell(plan, t, row, column, seed, &cell))
            continue;
        planned++;
        there += (size_t)cell_load(list, &cell, NULL);
    }
    n->cells_planned += planned;
    n->cells += there;
    n->figures_planned += planned > 0;
    n->figures += there > 0;
}

struct tally tally_of(const struct job_list *list, const struct plan *plan, const char *experiment, const char *dataset)
{
    struct tally n = {0};
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; is_of(&plan->table[k], experiment, dataset) && r < plan->table[k].rows; r++)
            for (size_t c = 0; c < plan->table[k].columns; c++)
                count_place(list, plan, &plan->table[k], r, c, &n);
    return n;
}

/* ---- how much agrees */

/* Whose method a row has as the paper does it; PAPER_METHODS: nobody's. Our minimiser and the true dot product are
   ours, and the search is no figure of the paper. */
static enum method_of_paper method_of(const struct table *t, const struct row *r)
{
    if (r->paper_row[0] == '\0' || strcmp(t->experiment, "search") == 0)
        return PAPER_METHODS;
    if (role_of(r) == ROLE_PAPER)
        return PAPER_BAYESPCN;
    if (r->spec.kind == METHOD_GPCN_OFFLINE)
        return PAPER_GPCN_OFFLINE;
    if (r->spec.kind == METHOD_GPCN_ONLINE && r->spec.minimizer == BPCN_ADAM)
        return PAPER_GPCN_ONLINE;
    return r->spec.kind == METHOD_MHN && r->spec.metric == MHN_PAPER_DOT ? PAPER_MHN : PAPER_METHODS;
}

static int same_figure(const struct row *a, const struct row *b)
{
    return strcmp(a->paper_table, b->paper_table) == 0 && strcmp(a->paper_row, b->paper_row) == 0;
}

/* The row that counts for the paper's figure beside row r: of those with the same, the one with the least error.
   t->rows when an earlier row has counted for it, or the paper's figure is not compared. */
static size_t row_that_counts(const struct job_list *list, const struct plan *plan, const struct table *t, size_t r,
                              size_t column, enum method_of_paper method, struct figure *best)
{
    size_t at = r;
    *best = figure_of(list, plan, t, r, column, "mse");
    if (isnan(best->paper) ||
        paper_slip(t->row[r].paper_table, t->dataset, task_word(&t->task), t->row[r].paper_row) != NULL)
        return t->rows;
    for (size_t other = 0; other < t->rows; other++) {
        struct figure f;
        if (other == r || method_of(t, &t->row[other]) != method || !same_figure(&t->row[other], &t->row[r]))
            continue;
        if (other < r)
            return t->rows;
        f = figure_of(list, plan, t, other, column, "mse");
        if (f.seeds > 0 && (best->seeds == 0 || f.mean < best->mean)) {
            *best = f;
            at = other;
        }
    }
    return at;
}

/* Where the paper gives no deviation: within two of ours over three seeds or more, which estimates the same. */
static int within_our_seeds(const struct figure *f)
{
    return isnan(f->paper_deviation) && f->seeds >= 3 && fabs(f->mean - f->paper) <= 2 * f->deviation;
}

static void put_exception(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                          size_t row, size_t column, const struct figure *f)
{
    char ours[64], paper[64], reason[1024];
    figure_text(f, ours, sizeof ours);
    paper_text(f, paper, sizeof paper);
    reason_text(list, plan, t, row, column, reason, sizeof reason);
    fprintf(file, "| %s, %s, %s | %zu | %s | %s |", t->experiment, t->title, t->row[row].label, t->lengths[column],
            ours, paper);
    if (f->paper > 0)
        fprintf(file, " %+.0f %%", 100 * (f->mean - f->paper) / f->paper);
    fputs(" |", file);
    if (f->spread > 0)
        fprintf(file, " %.1f", fabs(f->mean - f->paper) / f->spread);
    fputs(" |", file);
    if (within_our_seeds(f))
        fputs(" Within two deviations of our seeds.", file);
    fprintf(file, "%s%s |\n", reason[0] != '\0' ? " " : "", reason);
}

/* Counts; and where there is a file, writes those that do not agree. */
static struct agreement count_agreement(FILE *file, const struct job_list *list, const struct plan *plan,
                                        const char *experiment, const char *dataset, enum method_of_paper method)
{
    struct agreement n = {0};
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; is_of(&plan->table[k], experiment, dataset) && r < plan->table[k].rows; r++)
            for (size_t c = 0; c < plan->table[k].columns; c++) {
                const struct table *t = &plan->table[k];
                struct figure f;
                size_t at =
                    method_of(t, &t->row[r]) == method ? row_that_counts(list, plan, t, r, c, method, &f) : t->rows;
                if (at == t->rows)
                    continue;
                int agree = f.seeds > 0 && agrees(f.mean, f.paper, f.paper_deviation);
                n.planned++;
                n.there += f.seeds > 0;
                n.agree += (size_t)agree;
                n.above_zero += f.seeds > 0 && f.paper > AS_GOOD_AS_ZERO;
                n.above_zero_agree += agree && f.paper > AS_GOOD_AS_ZERO;
                n.told += f.seeds > 0 && !isnan(f.paper_deviation);
                n.told_agree += agree && !isnan(f.paper_deviation);
                n.agree_one_seed += agree && f.seeds == 1;
                n.agree_marked += agree && f.relation != SAME;
                if (f.seeds == 0 || agree)
                    continue;
                n.other[f.relation]++;
                n.by_seeds += (size_t)within_our_seeds(&f);
                if (file != NULL)
                    put_exception(file, list, plan, t, at, c, &f);
            }
    return n;
}

struct agreement agreement_of(const struct job_list *list, const struct plan *plan, const char *experiment,
                              const char *dataset, enum method_of_paper method)
{
    return count_agreement(NULL, list, plan, experiment, dataset, method);
}

/* ---- in words */

static const char *const methods[] = {"BayesPCN as the paper does it", "GPCN offline, our minimiser", "GPCN online",
                                      "MHN with the paper's dot"};

static void put_agreement(FILE *file, struct agreement n)
{
    if (n.there > 0)
        fprintf(file, " %zu of %zu", n.agree, n.there);
    if (n.planned > n.there)
        fprintf(file, "%s %zu missing", n.there > 0 ? "," : "", n.planned - n.there);
    fputs(" |", file);
}

static double percent(size_t part, size_t whole)
{
    return 100 * (double)part / (double)whole;
}

static void put_sum(FILE *file, struct agreement n)
{
    if (n.there > 0)
        fprintf(file, " **%.0f %%**:", percent(n.agree, n.there));
    put_agreement(file, n);
}

static void add_agreement(struct agreement *sum, const struct agreement *n)
{
    sum->planned += n->planned;
    sum->there += n->there;
    sum->agree += n->agree;
    sum->told += n->told;
    sum->told_agree += n->told_agree;
    sum->by_seeds += n->by_seeds;
    sum->above_zero += n->above_zero;
    sum->above_zero_agree += n->above_zero_agree;
    sum->agree_one_seed += n->agree_one_seed;
    sum->agree_marked += n->agree_marked;
    for (enum relation k = NOT_COMPARED; k <= ABOVE; k++)
        sum->other[k] += n->other[k];
}

/* Two deviations are the paper's, or, where it gives none, those of our seeds. */
static void put_by_deviation(FILE *file, const struct agreement *own)
{
    size_t untold = own->there - own->told, untold_agree = own->agree - own->told_agree;
    if (own->told > 0)
        fprintf(file, "\nThe paper gives %zu of BayesPCN's figures with a deviation: %zu of them agree, %.0f %%.\n",
                own->told, own->told_agree, percent(own->told_agree, own->told));
    if (untold > 0)
        fprintf(file,
                "\nIt gives %zu without: %zu are within 10 %%, and %zu, %.0f %%, are within that or two deviations of "
                "our own three seeds. By that rule %zu of all %zu agree, %.0f %%.\n",
                untold, untold_agree, untold_agree + own->by_seeds, percent(untold_agree + own->by_seeds, untold),
                own->agree + own->by_seeds, own->there, percent(own->agree + own->by_seeds, own->there));
}

/* What stands behind the sums, and how those that do not agree lie. */
static void put_others(FILE *file, const struct agreement *sum)
{
    struct agreement all = {0};
    for (size_t m = 0; m < PAPER_METHODS; m++)
        add_agreement(&all, &sum[m]);
    const struct agreement *own = &sum[PAPER_BAYESPCN];
    fprintf(
        file,
        "\nOf BayesPCN's figures that are above 0.0001 in the paper %zu of %zu agree. Of all %zu that agree %zu are "
        "of one seed.\n",
        own->above_zero_agree, own->above_zero, own->agree, own->agree_one_seed);
    fprintf(file,
            "\n%zu do not agree: %zu are no further from the paper's figure than the spread of both, %zu are below "
            "it and %zu above. The marks of the tables go by that spread: %zu figures that agree have one.\n",
            all.there - all.agree, all.other[SAME], all.other[BELOW], all.other[ABOVE], all.agree_marked);
    put_by_deviation(file, own);
}

static void counts_table(FILE *file, const struct job_list *list, const struct plan *plan)
{
    const char *const *names = plan_experiments();
    struct agreement sum[PAPER_METHODS] = {0};
    fputs("\n| experiment | dataset | figures | dashes | cells of all seeds |", file);
    for (size_t m = 0; m < PAPER_METHODS; m++)
        fprintf(file, " %s |", methods[m]);
    fputs("\n|---|---|---|---|---|---|---|---|---|\n", file);
    for (size_t e = 0; names[e] != NULL; e++)
        for (size_t d = 0; d < PLAN_DATASETS; d++) {
            struct tally n = tally_of(list, plan, names[e], plan_datasets[d]);
            if (n.figures_planned == 0)
                continue;
            fprintf(file, "| %s | %s | %zu of %zu | %zu | %zu of %zu |", names[e], plan_datasets[d], n.figures,
                    n.figures_planned, n.figures_planned - n.figures, n.cells, n.cells_planned);
            for (size_t m = 0; m < PAPER_METHODS; m++) {
                struct agreement a = agreement_of(list, plan, names[e], plan_datasets[d], (enum method_of_paper)m);
                add_agreement(&sum[m], &a);
                put_agreement(file, a);
            }
            fputc('\n', file);
        }
    fputs("| all | | | | |", file);
    for (size_t m = 0; m < PAPER_METHODS; m++)
        put_sum(file, sum[m]);
    fputs("\n| all that agree, or are within the spread of both | | | | |", file);
    for (size_t m = 0; m < PAPER_METHODS; m++) {
        struct agreement n = sum[m];
        n.agree += n.other[SAME];
        put_sum(file, n);
    }
    fputc('\n', file);
    put_others(file, sum);
}

void counts_markdown(FILE *file, const struct job_list *list, const struct plan *plan)
{
    fputs(
        "\nA figure is a place of a table, the mean over its seeds; a dash is one that is planned and not there. Rows "
        "that do what the paper did are held against it, but for what a heading says. A figure agrees when it is "
        "within 10 % or two of the paper's deviations of a number that has the four digits printed there. Where "
        "several rows stand for one figure of the paper, which is the best of its models, the one with the least error "
        "of those that were computed counts. Some cells stand in several tables, and count in each.\n",
        file);
    counts_table(file, list, plan);
}

void exceptions_markdown(FILE *file, const struct job_list *list, const struct plan *plan)
{
    const char *const *names = plan_experiments();
    fputs(
        "\nOur spread is the deviation over the seeds, or the standard error over the queries where that is larger or "
        "there is one seed. What was measured there is not always why.\n"
        "\n| figure | images | ours | the paper's | apart | apart, in our spreads | measured there |\n"
        "|---|---|---|---|---|---|---|\n",
        file);
    for (size_t m = 0; m < PAPER_METHODS; m++)
        for (size_t e = 0; names[e] != NULL; e++)
            for (size_t d = 0; d < PLAN_DATASETS; d++)
                count_agreement(file, list, plan, names[e], plan_datasets[d], (enum method_of_paper)m);
}

/* ---- into the folder's own page */

/* Copies what is before and behind the counted part; -1 when there is none. */
static int copy_around(FILE *in, FILE *out, const struct job_list *list, const struct plan *plan)
{
    char *line = NULL;
    size_t room = 0;
    int inside = 0, found = 0;
    while (getline(&line, &room, in) > 0) {
        if (strcmp(line, "<!-- end -->\n") == 0)
            inside = 0;
        if (!inside)
            fputs(line, out);
        if (strcmp(line, "<!-- counted -->\n") == 0) {
            found = inside = 1;
            counts_markdown(out, list, plan);
            exceptions_markdown(out, list, plan);
        }
    }
    free(line);
    return found && !inside ? 0 : -1;
}

int counts_readme(const struct job_list *list, const struct plan *plan, struct failure *failure)
{
    char path[2048], fresh[2048], name[40];
    snprintf(name, sizeof name, "README.md.%ld", (long)getpid()); /* another may be at it too */
    snprintf(path, sizeof path, "%s/README.md", list->out);
    snprintf(fresh, sizeof fresh, "%s/%s", list->out, name);
    FILE *in = fopen(path, "r"), *out = in != NULL ? open_output(list, name, failure) : NULL;
    int status = in == NULL ? 0 : out == NULL ? -1 : 0;
    if (out != NULL) {
        int counted = copy_around(in, out, list, plan) == 0;
        status = close_output(out, "README.md", failure);
        if (status == 0 && counted && rename(fresh, path) != 0)
            status = failed(failure, "cannot write %s", path);
        if (!counted || status != 0)
            remove(fresh);
    }
    if (in != NULL)
        fclose(in);
    return status;
}
