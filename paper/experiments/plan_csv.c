/* The plan as a table. */
#include "plan_csv.h"

#include "baselines.h"
#include "formats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char heading[] =
    "tier,experiment,dataset,title,kind,task,measure,table_queries,latest,row,role,method,layers,"
    "width,activation,particles,sigma_w,sigma_x,minimizer,objective,forget_every,beta,discount,"
    "shards,shard_rows,metric,mhn_beta,rate,iterations,momentum,budget,paper_table,paper_row,"
    "length,seeds,cell,code,vouched";

static void put_table(FILE *file, const struct plan *plan, const struct table *t)
{
    static const char *const kinds[] = {[CELL_RECALL] = "recall",   [CELL_ONESHOT] = "oneshot",
                                        [CELL_SAMPLES] = "samples", [CELL_GENERALIZATION] = "generalization",
                                        [CELL_STREAM] = "stream",   [CELL_RECALLED] = "recalled",
                                        [CELL_METRIC] = "metric"};
    fprintf(file, "%s,%s,%s,\"%s\",%s,%s,%s,%zu,%zu,", plan->tier == TIER_PAPER ? "paper" : "quick", t->experiment,
            t->dataset, t->title, kinds[t->kind], t->task.name, t->measure, t->queries, t->latest);
}

/* The quick tier has no figures of the paper beside it. */
static void put_row(FILE *file, const struct plan *plan, const struct row *r)
{
    static const char *const roles[] = {
        [ROLE_OURS] = "ours", [ROLE_OBJECTIVE] = "objective", [ROLE_PAPER] = "paper", [ROLE_OPPONENT] = "opponent"};
    static const char *const metrics[] = {
        [MHN_DOT] = "dot", [MHN_EUCLIDEAN] = "euclidean", [MHN_PAPER_DOT] = "paper dot"};
    const struct method_spec *s = &r->spec;
    int papers = plan->tier == TIER_PAPER;
    fprintf(file, "\"%s\",%s,%s,%zu,%zu,%s,%zu,%g,%g,%s,%s,%zu,%.9g,%d,%zu,%zu,%s,%g,%g,%zu,%g,%zu,%s,%s,", r->label,
            roles[row_role(r)], method_name(s->kind), s->layers, s->hidden[0], bpcn_activation_name(s->activation),
            s->particles, s->sigma_w, s->sigma_x, s->minimizer == BPCN_ADAM ? "Adam" : "L-BFGS",
            r->objective == BPCN_OBJECTIVE_PAPER ? "paper" : "ours", s->forget_every, s->beta, s->discount, s->shards,
            s->shard_rows ? s->shard_rows : s->hidden[0], metrics[s->metric], mhn_options_default(1).beta, s->rate,
            s->iterations, s->momentum, s->budget, papers ? r->paper_table : "", papers ? r->paper_row : "");
}

/* The key of the cells of a place, with {seed} where the seed stands. */
static void put_key(FILE *file, const struct cell *cell)
{
    char key[KEY_ROOM];
    cell_key(cell, key, sizeof key);
    const char *seed = strstr(key, "-s0-T");
    fprintf(file, "%.*s-s{seed}%s", (int)(seed - key), key, seed + strlen("-s0"));
}

static void put_place(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t, size_t r,
                      size_t c)
{
    struct cell cell, first;
    size_t seeds = 0;
    while (seeds < plan->seeds && plan_cell(plan, t, r, c, seeds, &cell))
        seeds++;
    if (!plan_cell(plan, t, r, c, 0, &first)) /* the place stays empty */
        first = (struct cell){.spec = t->row[r].spec};
    put_table(file, plan, t);
    put_row(file, plan, &t->row[r]);
    fprintf(file, "%zu,%zu,", t->lengths[c], seeds);
    if (seeds > 0)
        put_key(file, &first);
    fprintf(file, ",%s,%d\n", provenance_code(&first.spec),
            seeds > 0 && rechecks_same(list->rechecks, &first, list->results) >= RECHECKS_ENOUGH);
}

int plan_csv_write(const struct job_list *list, const struct plan *plan, struct failure *failure)
{
    char path[2048], fresh[2100];
    snprintf(path, sizeof path, "%s/plan.csv", list->out);
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid()); /* another process may write it too */
    if (fmt_check_output(path) != BPCN_OK)
        return failed(failure, "%s", bpcn_error());
    FILE *file = fopen(fresh, "w");
    if (file == NULL)
        return failed(failure, "cannot write %s: %s", fresh, strerror(errno));
    fprintf(file, "%s\n", heading);
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++)
            for (size_t c = 0; c < plan->table[k].columns; c++)
                put_place(file, list, plan, &plan->table[k], r, c);
    int bad = ferror(file);
    bad |= fclose(file);
    if (bad != 0 || rename(fresh, path) != 0) {
        failed(failure, "cannot write %s: %s", path, strerror(errno));
        unlink(fresh);
        return -1;
    }
    return 0;
}
