/* The table of checks: read whole, appended to row by row. */
#include "checked.h"

#include "append.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_ROOM = 32, ROW_ROOM = 1024, FIELDS = 5 };

static const char heading[] = "cell,kind,mse,again,word,commit,kernels,date,cpu";

struct check_row {
    char key[KEY_ROOM], kind[KIND_ROOM], word[16];
    struct made made;
};

struct checked {
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

static int keep(struct checked *c, const char *line, size_t number, struct failure *failure)
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
    made_parse(field[5], &row.made);
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

static int read_rows(struct checked *c, FILE *file, struct failure *failure)
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

int checked_open(const char *folder, struct checked **checked, struct failure *failure)
{
    struct checked *c = calloc(1, sizeof *c);
    *checked = c;
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

void checked_free(struct checked *c)
{
    if (c != NULL)
        free(c->row);
    free(c);
}

int checked_add(struct checked *c, const struct cell *cell, double before, double again, const char *word,
                const struct made *made, struct failure *failure)
{
    char key[KEY_ROOM], kind[KIND_ROOM], line[ROW_ROOM];
    cell_key(cell, key, sizeof key);
    kind_of(cell, kind);
    int used = snprintf(line, sizeof line, "%s,%s,%.17g,%.17g,%s", key, kind, before, again, word);
    for (size_t k = 0; k < MADE_FIELDS; k++)
        used += snprintf(line + used, sizeof line - (size_t)used, ",%s", made_field(made, k));
    return append_line(c->path, heading, line, failure) == 0 ? keep(c, line, c->count + 2, failure) : -1;
}

size_t checked_same(const struct checked *c, const struct cell *cell, const struct ledger *ledger, const char *folder,
                    struct freshness_cache *cache)
{
    const char *const *paths = method_paths(&cell->spec);
    const char *own = ledger_here(ledger)->commit;
    char kind[KIND_ROOM];
    size_t same = 0;
    kind_of(cell, kind);
    for (size_t i = 0; i < c->count; i++) {
        const struct check_row *row = &c->row[i];
        struct made now;
        if (strcmp(row->kind, kind) != 0 || freshness_of(&row->made, paths, folder, own, cache) != FRESH)
            continue;
        if (strcmp(row->word, "unmoved") == 0 || strcmp(row->word, "rounded") == 0)
            same++;
        else if (!ledger_made(ledger, row->key, &now) || freshness_of(&now, paths, folder, own, cache) != FRESH)
            return 0;
    }
    return same;
}
