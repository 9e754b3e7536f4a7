/* What the paper says of forgetting, held against the cells. */
#include "forgetting.h"

#include <math.h>
#include <string.h>

enum { AGE_GROUPS = 16 };

static struct figure age_of(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row,
                            size_t age)
{
    char name[16];
    snprintf(name, sizeof name, "age_%zu", age);
    return figure_of(list, plan, t, row, 0, name);
}

static double flatness(const struct job_list *list, const struct plan *plan, const struct table *t, size_t row)
{
    double least = INFINITY, most = 0;
    for (size_t a = 0; a < AGE_GROUPS; a++) {
        double error = age_of(list, plan, t, row, a).mean;
        least = fmin(least, error);
        most = fmax(most, error);
    }
    return most / least;
}

struct forgetting forgetting_of(const struct job_list *list, const struct plan *plan, const struct table *t,
                                enum role role)
{
    struct forgetting f = {0};
    double before = NAN, least = INFINITY; /* the latest group of the strength before; over all ages */
    for (size_t r = 0; r < t->rows; r++) { /* by rising strength */
        if (role_of(&t->row[r]) != role)
            continue;
        double all = figure_of(list, plan, t, r, 0, "mse").mean, latest = age_of(list, plan, t, r, AGE_GROUPS - 1).mean;
        f.planned++;
        f.there += (size_t)!isnan(latest);
        if (t->row[r].spec.beta == 0)
            f.flat = flatness(list, plan, t, r);
        else {
            f.forgetting++;
            f.newer += latest < age_of(list, plan, t, r, 0).mean;
        }
        if (before <= latest && f.rises++ == 0)
            f.rise = r;
        if (all < least) {
            least = all;
            f.best = r;
        }
        before = latest;
    }
    return f;
}

static void put_rise(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                     const struct forgetting *f)
{
    if (f->rises == 0) {
        fputs(" at every step |", file);
        return;
    }
    struct figure latest = age_of(list, plan, t, f->rise, AGE_GROUPS - 1);
    fprintf(file, " not at %zu of %zu steps, first to beta %g (%.5f", f->rises, f->planned - 1,
            t->row[f->rise].spec.beta, latest.mean);
    if (!isnan(latest.deviation))
        fprintf(file, " ± %.5f", latest.deviation);
    fputs(") |", file);
}

void forget_markdown(FILE *file, const struct job_list *list, const struct plan *plan)
{
    static const enum role roles[] = {ROLE_PAPER, ROLE_OURS};
    static const char *const names[] = {"as the paper does it", "ours"};
    fputs(
        "\n## What the paper says of it\n\nThe paper: without forgetting all ages are recalled alike; with it the "
        "newer "
        "are recalled better; the stronger it is, the lower the error of the latest group, for all tasks and all "
        "strengths; and some of it improves the whole. Measured, by means over the seeds:\n\n"
        "| task | method | beta 0: worst group over best | latest better than oldest | the latest group's error falls "
        "with beta | least error of all |\n|---|---|---|---|---|---|\n",
        file);
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t m = 0; strcmp(plan->table[k].experiment, "forget") == 0 && m < 2; m++) {
            const struct table *t = &plan->table[k];
            struct forgetting f = forgetting_of(list, plan, t, roles[m]);
            fprintf(file, "| %s | %s |", t->title, names[m]);
            if (f.there < f.planned) {
                fprintf(file, " not all computed: %zu of %zu rows | | | |\n", f.there, f.planned);
                continue;
            }
            fprintf(file, " %.2f | %zu of %zu strengths |", f.flat, f.newer, f.forgetting);
            put_rise(file, list, plan, t, &f);
            fprintf(file, " beta %g |\n", t->row[f.best].spec.beta);
        }
}
