/* Computing committed cells again. */
#include "check.h"

#include "scramble.h"

#include <math.h>
#include <stdlib.h>

static double gone_elsewhere(const struct record *r)
{
    return 1 + floor(record_get(r, "queries") / 50);
}

double may_move(const struct record *r)
{
    double mse = record_get(r, "mse"), elsewhere = gone_elsewhere(r) * record_get(r, "mse_max");
    return mse / 1000 + 1e-6 + fmin(elsewhere / record_get(r, "queries"), mse / 4);
}

static double moved_by(const struct record *before, const struct record *again, const char *name)
{
    return fabs(record_get(again, name) - record_get(before, name));
}

/* What is no number at all has moved, unless it was none before: comparisons with it are false. */
enum verdict verdict_of(const struct record *before, const struct record *again)
{
    double identity = record_get(before, "identity_mse"), queries = record_get(before, "queries");
    if (!(moved_by(before, again, "identity_mse") <= 1e-6 * identity) || record_get(again, "queries") != queries)
        return OTHER_DATA;
    if (moved_by(before, again, "mse") == 0)
        return UNMOVED;
    return moved_by(before, again, "mse") <= may_move(before) &&
                   moved_by(before, again, "accuracy") <= gone_elsewhere(before) / queries + 1e-12
               ? ROUNDED
               : MOVED;
}

/* Puts `sample` of the numbers in front, each as likely as the others. */
static void choose(size_t *number, size_t count, size_t sample, uint64_t seed)
{
    for (size_t i = 0; i < sample; i++) {
        size_t j = i + (size_t)(scrambled(seed += SCRAMBLE_STEP) % (count - i)), other = number[i];
        number[i] = number[j];
        number[j] = other;
    }
}

static int check_cell(const struct job_list *list, const struct cell *cell, int record, FILE *out, size_t *moved,
                      struct failure *failure)
{
    static const char *const words[] = {"unmoved", "rounded", "MOVED", "OTHER DATA"};
    char key[KEY_ROOM];
    struct record before, again;
    cell_key(cell, key, sizeof key);
    cell_load(list, cell, &before);
    if (cell_compute(list, cell, &again, failure) != 0)
        return -1;
    enum verdict verdict = verdict_of(&before, &again);
    double old = record_get(&before, "mse"), new = record_get(&again, "mse");
    fprintf(out, "%-10s %s: %.6f, now %.6f (%+.2g of at most %.2g)%s\n", words[verdict], key, old, new, new - old,
            may_move(&before), cell_freshness(list, cell, NULL) <= VOUCHED ? "" : ", stale");
    fflush(out);
    *moved += verdict == MOVED || verdict == OTHER_DATA;
    return record ? checked_add(list->checked, cell, old, new, words[verdict], ledger_here(list->ledger), failure) : 0;
}

int check_cells(const struct job_list *list, size_t sample, uint64_t seed, int record, FILE *out, size_t *moved,
                struct failure *failure)
{
    size_t count = 0, *number = calloc(list->cells + 1, sizeof *number);
    int status = number != NULL ? 0 : failed(failure, "out of memory");
    *moved = 0;
    for (size_t i = 0; status == 0 && i < list->cells; i++)
        if (is_recall(list->cell[i].kind) && cell_load(list, &list->cell[i], NULL))
            number[count++] = i;
    if (status == 0 && count == 0)
        status = failed(failure, "%s/cells.csv has none of these cells", list->out);
    sample = sample < count ? sample : count;
    if (status == 0)
        choose(number, count, sample, seed);
    for (size_t k = 0; status == 0 && k < sample; k++)
        status = check_cell(list, &list->cell[number[k]], record, out, moved, failure);
    if (status == 0)
        fprintf(out, "%zu of %zu cells computed again, %zu moved\n", sample, count, *moved);
    free(number);
    return status;
}
