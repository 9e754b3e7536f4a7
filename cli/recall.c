/* Reads of whole rows, rows with gaps, and scores. */
#include "recall.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are not known as noisy copies may be known exactly; then the exact read is the answer. If the noise was
   given, the rows with less noise are read again. */
static bpcn_status ask_again(const struct memory_file *file, const struct recall *how, const float *queries,
                             size_t rows, float *answers, bpcn_read_info *info)
{
    size_t dim = file->note.fields.dim, bytes = dim * sizeof *answers, count = 0, at[RECALL_MOST];
    bpcn_read_info exact[RECALL_MOST];
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    o.shards = how->shards;
    for (size_t i = 0; i < rows; i++)
        if (info[i].verdict == BPCN_CANNOT_TELL || (how->noise < 0 && info[i].verdict != BPCN_KNOWN))
            at[count++] = i;
    if (count == 0)
        return BPCN_OK;
    float *x = malloc(count * bytes);
    unsigned char *known = malloc(count * dim);
    for (size_t i = 0; x != NULL && i < count; i++)
        memcpy(x + i * dim, queries + at[i] * dim, bytes);
    if (known != NULL)
        memset(known, 1, count * dim);
    bpcn_status status = x && known ? memory_file_read(file, x, known, count, &o, x, exact) : BPCN_NO_MEMORY;
    for (size_t i = 0; i < count && status == BPCN_OK; i++) {
        if (exact[i].verdict != BPCN_KNOWN)
            continue;
        if (exact[i].name == 0 && info[at[i]].verdict == BPCN_NEAR_COPY && exact[i].shard == info[at[i]].shard)
            exact[i].name = info[at[i]].name;
        info[at[i]] = exact[i];
        if (answers != NULL)
            memcpy(answers + at[i] * dim, x + i * dim, bytes);
        if (how->spread != NULL)
            memset(how->spread + at[i] * dim, 0, bytes);
    }
    free(x);
    free(known);
    return status;
}

static bpcn_status ask_some(const struct memory_file *file, const struct recall *how, const float *x,
                            const unsigned char *known, size_t n, float *answers, bpcn_read_info *info)
{
    size_t dim = file->note.fields.dim;
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.shards = how->shards;
    o.spread = how->spread;
    o.trace = how->trace;
    o.trace_room = how->trace != NULL ? TRACE_MOST : 0;
    /* score takes a complete row as exact; read allows for noise */
    bool masked = known != NULL || (how->score && how->noise < 0);
    unsigned char *all = masked && known == NULL ? malloc(n * dim) : NULL;
    if (masked && known == NULL) {
        if (all == NULL)
            return BPCN_NO_MEMORY;
        known = memset(all, 1, n * dim);
    }
    if (masked && file->options.kind == BPCN_NETWORKS && fmt_schema_is_table(&file->note.fields))
        o.objective = BPCN_OBJECTIVE_MARGINAL;           /* queries are unseen rows more often than written ones */
    o.noise = masked ? fmax(0, how->noise) : how->noise; /* given entries are exact */
    bpcn_status status = memory_file_read(file, x, known, n, &o, answers, info);
    free(all);
    if (status == BPCN_OK && !masked && how->noise != 0)
        status = ask_again(file, how, x, n, answers, info);
    return status;
}

bpcn_status recall_rows(const struct memory_file *file, const struct recall *how, const float *x,
                        const unsigned char *known, size_t n, float *answers, bpcn_read_info *info)
{
    size_t dim = file->note.fields.dim;
    bpcn_status status = BPCN_OK;
    for (size_t at = 0; at < n && status == BPCN_OK; at += RECALL_MOST) {
        struct recall some = *how;
        some.trace = how->trace != NULL ? how->trace + at * TRACE_MOST : NULL;
        some.spread = how->spread != NULL ? how->spread + at * dim : NULL;
        status = ask_some(file, &some, x + at * dim, known ? known + at * dim : NULL,
                          n - at < RECALL_MOST ? n - at : RECALL_MOST, answers ? answers + at * dim : NULL, info + at);
    }
    return status;
}

/* ---- The one place that decides how gaps are filled. */

bpcn_status recall_fill(const struct memory_file *file, float *x, const unsigned char *known, size_t n, float *spread)
{
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    o.objective = file->options.kind == BPCN_NETWORKS ? BPCN_OBJECTIVE_MARGINAL : BPCN_OBJECTIVE_DEFAULT;
    o.spread = spread;
    return n > 0 ? memory_file_read(file, x, known, n, &o, x, NULL) : BPCN_OK;
}

double recall_cell_spread(const fmt_column *column, const float *x, const float *spread)
{
    double best = 0, all = 0;
    const fmt_notation *n = &column->notation;
    if (column->kind == FMT_NUMBER && n->period > 0 && !n->trend) {
        /* across the radius r of the answer; at most that of a time of which nothing is known */
        double r = hypot((double)x[0], (double)x[1]), c = (double)x[0] / r, s = (double)x[1] / r;
        double across = sqrt(pow((double)spread[0] * s, 2) + pow((double)spread[1] * c, 2)) / r;
        return n->period * (across < 1.8138 ? across / 6.283185307179586 : 0.28868);
    }
    if (column->kind != FMT_CATEGORY)
        return (double)spread[0] * column->scale;
    for (size_t k = 0; k < column->size; k++) { /* a mean of ones and zeros estimates a probability */
        double chance = fmin(fmax((double)x[k] * column->scale + column->centre, 0), 1);
        best = fmax(best, chance);
        all += chance;
    }
    return all > 0 ? 1 - best / all : 1 - 1 / (double)column->size;
}

/* ---- Which columns of a row of a table are to blame for its being odd. */

static int by_blame(const void *a, const void *b)
{
    double x = ((const struct blame *)a)->nats, y = ((const struct blame *)b)->nats;
    return (x < y) - (x > y);
}

/* Chances of a category's words from what is expected of their entries. */
static void blame_word(const fmt_column *c, const float *x, const double *expected, struct blame *blame)
{
    double all = 0, best = 0, own = 0;
    size_t word = 0;
    for (size_t k = 1; k < c->size; k++)
        word = x[k] > x[word] ? k : word;
    for (size_t k = 0; k < c->size; k++) {
        double chance = fmin(fmax(expected[k] * c->scale + c->centre, 0), 1) + 1e-3; /* none is impossible */
        all += chance;
        best = fmax(best, chance);
        own = k == word ? chance : own;
    }
    blame->deviation = best / all;
    blame->chance = own / all;
    blame->nats = log(best / own);
}

int recall_explain(const struct memory_file *file, const float *x, const unsigned char *known, struct blame *blames,
                   float *expected)
{
    const fmt_schema *fields = &file->note.fields;
    const bpcn_memory *memory = memory_file_memory(file);
    size_t dim = fields->dim;
    int count = 0;
    double *mean = malloc(3 * dim * sizeof *mean), *deviation = mean + dim, *nats = mean + 2 * dim;
    if (mean == NULL || memory == NULL ||
        bpcn_memory_explain(memory, x, known, 1, mean, deviation, nats) != BPCN_OK) {
        if (memory != NULL)
            console_error(file->console, "%s", mean != NULL ? bpcn_error() : "out of memory");
        free(mean);
        return -1;
    }
    for (size_t j = 0; j < dim; j++)
        expected[j] = (float)mean[j];
    for (size_t k = 0; k < fields->count; k++) {
        const fmt_column *c = &fields->column[k];
        struct blame blame = {.column = c, .nats = 0};
        if (known != NULL && !known[c->offset])
            continue;
        if (c->kind == FMT_CATEGORY) {
            blame_word(c, x + c->offset, mean + c->offset, &blame);
        } else {
            float spread[2] = {(float)deviation[c->offset], c->size > 1 ? (float)deviation[c->offset + 1] : 0};
            blame.deviation = recall_cell_spread(c, expected + c->offset, spread);
            for (size_t j = 0; j < c->size && c->size <= 2; j++) { /* a period has two entries, which say each other */
                size_t at = c->offset + j;
                blame.nats = fmax(blame.nats, c->size == 1 ? nats[at] : .5 * pow(((double)x[at] - mean[at]) / deviation[at], 2));
            }
        }
        blames[count++] = blame;
    }
    free(mean);
    qsort(blames, (size_t)count, sizeof *blames, by_blame);
    return count;
}

int recall_blame_json(const struct memory_file *file, const float *x, const unsigned char *known, FILE *out)
{
    const fmt_schema *fields = &file->note.fields;
    fmt_style plain = {.separator = ' ', .decimal = '.'}, given = {.separator = ' ', .decimal = '.', .beyond = true};
    struct blame *blames = calloc(fields->count, sizeof *blames);
    float *expected = calloc(fields->dim, sizeof *expected);
    int count = blames && expected ? recall_explain(file, x, known, blames, expected) : -1;
    putc('[', out);
    for (int i = 0; i < count && i < BLAMED_MOST && blames[i].nats >= recall_blamed_least; i++) {
        const fmt_column *c = blames[i].column;
        char value[FMT_CELL_ROOM], wanted[FMT_CELL_ROOM];
        fmt_decode_text(c, x + c->offset, &given, value, sizeof value);
        fmt_decode_text(c, expected + c->offset, &plain, wanted, sizeof wanted);
        fputs(i ? ",{\"column\":" : "{\"column\":", out);
        json_write_string(out, c->name);
        fputs(",\"value\":", out);
        json_write_string(out, value);
        fputs(",\"expected\":", out);
        json_write_string(out, wanted);
        fprintf(out, ",\"%s\":%.6g,\"nats\":%.6g}", c->kind == FMT_CATEGORY ? "probability" : "deviation",
                blames[i].deviation, blames[i].nats);
    }
    putc(']', out);
    free(blames);
    free(expected);
    return count < 0 ? -1 : 0;
}
