/* The table of results: read whole, appended to row by row. */
#include "ledger.h"

#include "append.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger {
    char path[1200];
    size_t count, room;
    char **row; /* [count] lines of the table by rising key, each key once */
    struct made here;
};

/* Recalls first, then what only figures have. */
static const char *const columns[] = {
    "length", "queries", "mse", "mse_max", "mse_std", "accuracy", "identity_mse", "evaluations", "above_stored",
    "right", "write_seconds", "learn_seconds", "read_seconds", "again_seconds", "bytes", "prepared_bytes", "age_0",
    "age_1", "age_2", "age_3", "age_4", "age_5", "age_6", "age_7", "age_8", "age_9", "age_10", "age_11", "age_12",
    "age_13", "age_14", "age_15", "exact_0", "exact_1", "exact_2", "exact_3", "exact_4", "exact_5", "exact_6",
    "exact_7", "exact_8", "exact_9", "exact_10", "exact_11", "exact_12", "exact_13", "exact_14", "exact_15",
    /* one-shot recall, samples, generalisation */
    "before_white0", "before_white0.2", "before_white0.4", "before_white0.8", "before_drop0.25", "before_drop0.5",
    "before_drop0.75", "before_mask0.25", "before_mask0.5", "before_mask0.75", "after_white0", "after_white0.2",
    "after_white0.4", "after_white0.8", "after_drop0.25", "after_drop0.5", "after_drop0.75", "after_mask0.25",
    "after_mask0.5", "after_mask0.75", "later_white0", "later_white0.2", "later_white0.4", "later_white0.8",
    "later_drop0.25", "later_drop0.5", "later_drop0.75", "later_mask0.25", "later_mask0.5", "later_mask0.75",
    "mean_square", "nearest_mse", "clean_mse", "clean_identity", "noisy_mse", "noisy_identity"};
enum { COLUMNS = sizeof columns / sizeof columns[0], RECALL_COLUMNS = 48 };
enum { ROW_ROOM = 4096 }; /* a key, 25 characters for every column, and how it was made */

/* ---- rows in memory */

/* Both begin with a key, which a comma or the end of the text ends. */
static int by_key(const char *a, const char *b)
{
    size_t first = strcspn(a, ","), second = strcspn(b, ",");
    int order = memcmp(a, b, first < second ? first : second);
    return order != 0 ? order : (first > second) - (first < second);
}

/* The first row whose key is not below. */
static size_t place_of(const struct ledger *l, const char *key)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key(l->row[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int has_at(const struct ledger *l, size_t at, const char *key)
{
    return at < l->count && by_key(l->row[at], key) == 0;
}

/* Puts a copy of the line in its place. */
static int keep(struct ledger *l, const char *line, struct failure *failure)
{
    size_t at = place_of(l, line);
    char *copy = strdup(line);
    if (l->count == l->room) {
        size_t room = 2 * l->room + 64;
        char **larger = realloc(l->row, room * sizeof *larger);
        if (larger != NULL) {
            l->row = larger;
            l->room = room;
        }
    }
    if (copy == NULL || l->count == l->room) {
        free(copy);
        return failed(failure, "out of memory for the rows of %s", l->path);
    }
    if (has_at(l, at, line)) {
        free(l->row[at]);
    } else {
        memmove(l->row + at + 1, l->row + at, (l->count - at) * sizeof *l->row);
        l->count++;
    }
    l->row[at] = copy;
    return 0;
}

static void drop_rows(struct ledger *l)
{
    while (l->count > 0)
        free(l->row[--l->count]);
}

/* A figure's own numbers come first in its record, as they do in its table. */
int ledger_find(const struct ledger *l, const char *key, struct record *record)
{
    size_t at = place_of(l, key);
    const char *field[COLUMNS];
    if (!has_at(l, at, key))
        return 0;
    if (record == NULL)
        return 1;
    *record = (struct record){0};
    const char *text = l->row[at];
    for (size_t k = 0; k < COLUMNS; k++)
        field[k] = text = strchr(text, ',') + 1;
    for (size_t k = 0; k < COLUMNS; k++) {
        size_t c = (k + RECALL_COLUMNS) % COLUMNS;
        if (*field[c] != ',' && *field[c] != '\0')
            record_set(record, columns[c], strtod(field[c], NULL));
    }
    return 1;
}

int ledger_made(const struct ledger *l, const char *key, struct made *made)
{
    size_t at = place_of(l, key);
    *made = (struct made){0};
    if (!has_at(l, at, key))
        return 0;
    const char *text = l->row[at];
    for (size_t k = 0; k <= COLUMNS && text != NULL; k++)
        text = strchr(text + (k > 0), ',');
    if (text != NULL)
        made_parse(text + 1, made);
    return 1;
}

void ledger_made_by(struct ledger *l, const char *commit)
{
    made_here(commit, &l->here);
}

const struct made *ledger_here(const struct ledger *l)
{
    return &l->here;
}

/* ---- reading */

static void heading(char *line, size_t room)
{
    size_t used = (size_t)snprintf(line, room, "cell");
    for (size_t k = 0; k < COLUMNS; k++)
        used += (size_t)snprintf(line + used, room - used, ",%s", columns[k]);
    for (size_t k = 0; k < MADE_FIELDS; k++)
        used += (size_t)snprintf(line + used, room - used, ",%s", made_names[k]);
}

static int take_line(struct ledger *l, const char *line, size_t number, struct failure *failure)
{
    char first[ROW_ROOM];
    size_t commas = 0;
    heading(first, sizeof first);
    if (number == 1)
        return strcmp(line, first) == 0 ? 0
                                        : failed(failure, "the columns of %s are not those of this version", l->path);
    for (const char *c = line; *c != '\0'; c++)
        commas += *c == ',';
    if (commas != COLUMNS && commas != COLUMNS + MADE_FIELDS) /* older rows do not say how they were made */
        return failed(failure, "line %zu of %s has %zu columns instead of %d", number, l->path, commas + 1,
                      COLUMNS + MADE_FIELDS + 1);
    return keep(l, line, failure);
}

int ledger_read(struct ledger *l, struct failure *failure)
{
    FILE *file = fopen(l->path, "r");
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length;
    int status = 0;
    drop_rows(l);
    if (file == NULL)
        return errno == ENOENT ? 0 : failed(failure, "cannot read %s: %s", l->path, strerror(errno));
    while (status == 0 && (length = getline(&line, &room, file)) > 0 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        status = take_line(l, line, ++number, failure);
    }
    if (status == 0 && ferror(file))
        status = failed(failure, "cannot read %s to its end", l->path);
    free(line);
    fclose(file);
    return status;
}

int ledger_open(const char *folder, struct ledger **ledger, struct failure *failure)
{
    struct ledger *l = calloc(1, sizeof *l);
    *ledger = l;
    if (l == NULL)
        return failed(failure, "out of memory for the results");
    snprintf(l->path, sizeof l->path, "%s/cells.csv", folder);
    return ledger_read(l, failure);
}

void ledger_free(struct ledger *l)
{
    if (l == NULL)
        return;
    drop_rows(l);
    free(l->row);
    free(l);
}

/* ---- appending */

static int make_row(const char *key, const struct record *record, const struct made *made, char *line,
                    struct failure *failure)
{
    size_t used = (size_t)snprintf(line, ROW_ROOM, "%s", key), known = 0;
    for (size_t k = 0; k < COLUMNS; k++) {
        double value = record_get(record, columns[k]);
        used += (size_t)snprintf(line + used, ROW_ROOM - used, isnan(value) ? "," : ",%.17g", value);
    }
    for (size_t k = 0; k < MADE_FIELDS; k++)
        used += (size_t)snprintf(line + used, ROW_ROOM - used, ",%s", made_field(made, k));
    for (size_t i = 0; i < record->count; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            known += strcmp(record->item[i].name, columns[k]) == 0;
    return known == record->count ? 0 : failed(failure, "the table of results lacks a column for a number of %s", key);
}

int ledger_add(struct ledger *l, const char *key, const struct record *record, struct failure *failure)
{
    char first[ROW_ROOM], line[ROW_ROOM];
    heading(first, sizeof first);
    if (make_row(key, record, &l->here, line, failure) != 0 || append_line(l->path, first, line, failure) != 0)
        return -1;
    return keep(l, line, failure);
}
