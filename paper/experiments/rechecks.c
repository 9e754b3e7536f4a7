/* Computing committed cells again, and the table of what that found. */
#include "rechecks.h"

#include "job.h"
#include "scramble.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table: read whole, appended to row by row */

enum { KIND_ROOM = 32, ROW_ROOM = 1024, FIELDS = 5 };

static const char heading[] = "cell,kind,mse,again,word,commit,kernels,date,cpu,code";

struct check_row {
    char key[KEY_ROOM], kind[KIND_ROOM], word[16];
    struct provenance provenance;
};

struct rechecks {
    char path[1200];
    size_t count, room;
    struct check_row *row;
};

/* What cells must share to vouch for each other. Samples are no reads, and reads say nothing about them. */
static void kind_of(const struct cell *c, char *kind)
{
    snprintf(kind, KIND_ROOM, "%s%s%s%s%s", method_name(c->spec.kind), c->spec.minimizer == BPCN_ADAM ? " adam" : "",
             c->objective == BPCN_OBJECTIVE_PAPER ? " paper" : "", c->spec.shards > 1 ? " shards" : "",
             c->kind == CELL_SAMPLES ? " samples" : "");
}

static int keep(struct rechecks *c, const char *line, size_t number, struct failure *failure)
{
    struct check_row row = {.key = ""};
    const char *field[FIELDS + 1] = {line};
    for (size_t k = 1; k <= FIELDS; k++) {
        field[k] = strchr(field[k - 1], ',');
        if (field[k]++ == NULL)
            return failed(failure, "line %zu of %s is no row of checks", number, c->path);
    }
    snprintf(row.key, sizeof row.key, "%.*s", (int)(field[1] - field[0] - 1), field[0]);
    snprintf(row.kind, sizeof row.kind, "%.*s", (int)(field[2] - field[1] - 1), field[1]);
    snprintf(row.word, sizeof row.word, "%.*s", (int)(field[5] - field[4] - 1), field[4]);
    provenance_parse(field[5], &row.provenance);
    if (c->count == c->room) {
        size_t room = 2 * c->room + 16;
        struct check_row *larger = realloc(c->row, room * sizeof *larger);
        if (larger == NULL)
            return failed(failure, "out of memory for the rows of %s", c->path);
        c->row = larger;
        c->room = room;
    }
    c->row[c->count++] = row;
    return 0;
}

static int read_rows(struct rechecks *c, FILE *file, struct failure *failure)
{
    char line[ROW_ROOM];
    int status = 0;
    for (size_t number = 1; status == 0 && fgets(line, sizeof line, file) != NULL; number++) {
        char *end = strchr(line, '\n');
        if (end == NULL)
            break; /* what a killed process left of a row */
        *end = '\0';
        if (number > 1)
            status = keep(c, line, number, failure);
        else if (strcmp(line, heading) != 0)
            status = failed(failure, "the columns of %s are not those of this version", c->path);
    }
    return status;
}

int rechecks_open(const char *folder, struct rechecks **rechecks, struct failure *failure)
{
    struct rechecks *c = calloc(1, sizeof *c);
    *rechecks = c;
    if (c == NULL)
        return failed(failure, "out of memory for the checks");
    snprintf(c->path, sizeof c->path, "%s/checked.csv", folder);
    FILE *file = fopen(c->path, "r");
    if (file == NULL)
        return errno == ENOENT ? 0 : failed(failure, "cannot read %s: %s", c->path, strerror(errno));
    int status = read_rows(c, file, failure);
    fclose(file);
    return status;
}

void rechecks_free(struct rechecks *c)
{
    if (c != NULL)
        free(c->row);
    free(c);
}

int rechecks_add(struct rechecks *c, const struct cell *cell, double before, double again, const char *word,
                 const struct provenance *provenance, struct failure *failure)
{
    char key[KEY_ROOM], kind[KIND_ROOM], line[ROW_ROOM];
    cell_key(cell, key, sizeof key);
    kind_of(cell, kind);
    int used = snprintf(line, sizeof line, "%s,%s,%.17g,%.17g,%s", key, kind, before, again, word);
    for (size_t k = 0; k < PROVENANCE_FIELDS; k++)
        used += snprintf(line + used, sizeof line - (size_t)used, ",%s", provenance_field(provenance, k));
    return csv_append(c->path, heading, line, failure) == 0 ? keep(c, line, c->count + 2, failure) : -1;
}

size_t rechecks_same(const struct rechecks *c, const struct cell *cell, const struct results *results)
{
    const char *code = provenance_code(&cell->spec);
    char kind[KIND_ROOM];
    size_t same = 0;
    kind_of(cell, kind);
    for (size_t i = 0; i < c->count; i++) {
        const struct check_row *row = &c->row[i];
        struct provenance now;
        if (strcmp(row->kind, kind) != 0 || strcmp(row->provenance.code, code) != 0)
            continue;
        if (strcmp(row->word, "unmoved") == 0 || strcmp(row->word, "rounded") == 0)
            same++;
        else if (!results_provenance(results, row->key, &now) || strcmp(now.code, code) != 0)
            return 0;
    }
    return same;
}

/* ---- computing again */

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

static int recheck_cell(const struct job_list *list, const struct cell *cell, int record, FILE *out, size_t *moved,
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
            may_move(&before), cell_freshness(list, cell) <= VOUCHED ? "" : ", stale");
    fflush(out);
    *moved += verdict == MOVED || verdict == OTHER_DATA;
    if (!record)
        return 0;
    struct provenance here;
    provenance_here(&cell->spec, &here);
    return rechecks_add(list->rechecks, cell, old, new, words[verdict], &here, failure);
}

int recheck_cells(const struct job_list *list, size_t sample, uint64_t seed, int record, FILE *out, size_t *moved,
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
        status = recheck_cell(list, &list->cell[number[k]], record, out, moved, failure);
    if (status == 0)
        fprintf(out, "%zu of %zu cells computed again, %zu moved\n", sample, count, *moved);
    free(number);
    return status;
}
