/* The table of results: read whole, appended to row by row. */
#include "results_csv.h"

#include "formats.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct results {
    char path[1200];
    size_t count, room;
    char **row; /* [count] lines of the table by rising key, each key once */
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
enum { ROW_ROOM = 4096 };  /* a key, 25 characters for every column, and the provenance */
enum { TEXT_ROOM = 8192 }; /* a heading and a row */

/* ---- rows in memory */

/* Both begin with a key, which a comma or the end of the text ends. */
static int by_key(const char *a, const char *b)
{
    size_t first = strcspn(a, ","), second = strcspn(b, ",");
    int order = memcmp(a, b, first < second ? first : second);
    return order != 0 ? order : (first > second) - (first < second);
}

/* The first row whose key is not below. */
static size_t place_of(const struct results *r, const char *key)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key(r->row[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int has_at(const struct results *r, size_t at, const char *key)
{
    return at < r->count && by_key(r->row[at], key) == 0;
}

/* Puts a copy of the line in its place. */
static int keep(struct results *r, const char *line, struct failure *failure)
{
    size_t at = place_of(r, line);
    char *copy = strdup(line);
    if (r->count == r->room) {
        size_t room = 2 * r->room + 64;
        char **larger = realloc(r->row, room * sizeof *larger);
        if (larger != NULL) {
            r->row = larger;
            r->room = room;
        }
    }
    if (copy == NULL || r->count == r->room) {
        free(copy);
        return failed(failure, "out of memory for the rows of %s", r->path);
    }
    if (has_at(r, at, line)) {
        free(r->row[at]);
    } else {
        memmove(r->row + at + 1, r->row + at, (r->count - at) * sizeof *r->row);
        r->count++;
    }
    r->row[at] = copy;
    return 0;
}

static void drop_rows(struct results *r)
{
    while (r->count > 0)
        free(r->row[--r->count]);
}

/* A figure's own numbers come first in its record, as they do in its table. */
int results_find(const struct results *r, const char *key, struct record *record)
{
    size_t at = place_of(r, key);
    const char *field[COLUMNS];
    if (!has_at(r, at, key))
        return 0;
    if (record == NULL)
        return 1;
    *record = (struct record){0};
    const char *text = r->row[at];
    for (size_t k = 0; k < COLUMNS; k++)
        field[k] = text = strchr(text, ',') + 1;
    for (size_t k = 0; k < COLUMNS; k++) {
        size_t c = (k + RECALL_COLUMNS) % COLUMNS;
        if (*field[c] != ',' && *field[c] != '\0')
            record_set(record, columns[c], strtod(field[c], NULL));
    }
    return 1;
}

int results_provenance(const struct results *r, const char *key, struct provenance *provenance)
{
    size_t at = place_of(r, key);
    *provenance = (struct provenance){0};
    if (!has_at(r, at, key))
        return 0;
    const char *text = r->row[at];
    for (size_t k = 0; k <= COLUMNS && text != NULL; k++)
        text = strchr(text + (k > 0), ',');
    if (text != NULL)
        provenance_parse(text + 1, provenance);
    return 1;
}

/* ---- reading */

static void heading(char *line, size_t room)
{
    size_t used = (size_t)snprintf(line, room, "cell");
    for (size_t k = 0; k < COLUMNS; k++)
        used += (size_t)snprintf(line + used, room - used, ",%s", columns[k]);
    for (size_t k = 0; k < PROVENANCE_FIELDS; k++)
        used += (size_t)snprintf(line + used, room - used, ",%s", provenance_names[k]);
}

static int take_line(struct results *r, const char *line, size_t number, struct failure *failure)
{
    char first[ROW_ROOM];
    size_t commas = 0;
    heading(first, sizeof first);
    if (number == 1)
        return strcmp(line, first) == 0 ? 0
                                        : failed(failure, "the columns of %s are not those of this version", r->path);
    for (const char *c = line; *c != '\0'; c++)
        commas += *c == ',';
    if (commas < COLUMNS || commas > COLUMNS + PROVENANCE_FIELDS) /* older rows end before the provenance or its code */
        return failed(failure, "line %zu of %s has %zu columns instead of %d", number, r->path, commas + 1,
                      COLUMNS + PROVENANCE_FIELDS + 1);
    return keep(r, line, failure);
}

int results_read(struct results *r, struct failure *failure)
{
    FILE *file = fopen(r->path, "r");
    char *line = NULL;
    size_t room = 0, number = 0;
    ssize_t length;
    int status = 0;
    drop_rows(r);
    if (file == NULL)
        return errno == ENOENT ? 0 : failed(failure, "cannot read %s: %s", r->path, strerror(errno));
    while (status == 0 && (length = getline(&line, &room, file)) > 0 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        status = take_line(r, line, ++number, failure);
    }
    if (status == 0 && ferror(file))
        status = failed(failure, "cannot read %s to its end", r->path);
    free(line);
    fclose(file);
    return status;
}

int results_open(const char *folder, struct results **results, struct failure *failure)
{
    struct results *r = calloc(1, sizeof *r);
    *results = r;
    if (r == NULL)
        return failed(failure, "out of memory for the results");
    snprintf(r->path, sizeof r->path, "%s/cells.csv", folder);
    return results_read(r, failure);
}

void results_free(struct results *r)
{
    if (r == NULL)
        return;
    drop_rows(r);
    free(r->row);
    free(r);
}

/* ---- appending: one line more, under a lock */

/* Where the last whole line ends; -1 when that cannot be told. */
static off_t end_of_lines(int file)
{
    struct stat about;
    char last = '\0';
    off_t end = fstat(file, &about) == 0 ? about.st_size : -1;
    while (end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n')
        end--;
    return end > 0 && last != '\n' ? -1 : end;
}

/* One write, and it is undone when it stops half-way. */
static int append_locked(int file, const char *heading, const char *line)
{
    char text[TEXT_ROOM];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fcntl(file, F_SETLKW, &whole) != 0)
        if (errno != EINTR)
            return -1;
    off_t end = end_of_lines(file);
    if (end < 0 || ftruncate(file, end) != 0)
        return -1;
    int length = snprintf(text, sizeof text, "%s%s%s\n", end == 0 ? heading : "", end == 0 ? "\n" : "", line);
    if (length < 0 || (size_t)length >= sizeof text) {
        errno = EOVERFLOW;
        return -1;
    }
    ssize_t done = write(file, text, (size_t)length);
    if (done == length && fsync(file) == 0)
        return 0;
    int reason = done < 0 || done == length ? errno : ENOSPC;
    if (ftruncate(file, end) == 0)
        errno = reason;
    return -1;
}

int csv_append(const char *path, const char *heading, const char *line, struct failure *failure)
{
    if (fmt_check_output(path) != BPCN_OK)
        return failed(failure, "%s", bpcn_error());
    int file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int status = file >= 0 && append_locked(file, heading, line) == 0 ? 0 : -1;
    if (status != 0)
        failed(failure, "cannot add a row to %s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return status;
}

static int make_row(const char *key, const struct record *record, const struct provenance *provenance, char *line,
                    struct failure *failure)
{
    size_t used = (size_t)snprintf(line, ROW_ROOM, "%s", key), known = 0;
    for (size_t k = 0; k < COLUMNS; k++) {
        double value = record_get(record, columns[k]);
        used += (size_t)snprintf(line + used, ROW_ROOM - used, isnan(value) ? "," : ",%.17g", value);
    }
    for (size_t k = 0; k < PROVENANCE_FIELDS; k++)
        used += (size_t)snprintf(line + used, ROW_ROOM - used, ",%s", provenance_field(provenance, k));
    for (size_t i = 0; i < record->count; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            known += strcmp(record->item[i].name, columns[k]) == 0;
    return known == record->count ? 0 : failed(failure, "the table of results lacks a column for a number of %s", key);
}

int results_add(struct results *r, const char *key, const struct record *record, const struct provenance *provenance,
                struct failure *failure)
{
    char first[ROW_ROOM], line[ROW_ROOM];
    heading(first, sizeof first);
    if (make_row(key, record, provenance, line, failure) != 0 || csv_append(r->path, first, line, failure) != 0)
        return -1;
    return keep(r, line, failure);
}
