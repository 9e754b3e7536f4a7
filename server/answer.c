/* Answers in JSON and in the formats that rows have. */
#include "answer.h"

#include "table_schema.h"
#include "recall.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- rows in JSON */

static void put_list(FILE *out, const float *x, size_t count)
{
    putc('[', out);
    for (size_t j = 0; j < count; j++) {
        fputs(j ? "," : "", out);
        json_write_number(out, (double)x[j]);
    }
    putc(']', out);
}

/* A column's value, or how unsure it is. */
static void put_value(FILE *out, const fmt_column *c, const float *x, const float *spread)
{
    if (spread != NULL && fmt_column_in_table(c))
        json_write_number(out, recall_cell_spread(c, x + c->offset, spread + c->offset));
    else if (fmt_column_is_date(c)) {
        char text[FMT_CELL_ROOM];
        fmt_decode_text(c, x + c->offset, &(fmt_style){.decimal = '.'}, text, sizeof text);
        json_write_string(out, text);
    } else if (c->kind == FMT_NUMBER)
        json_write_number(out, fmt_decode_value(c, x + c->offset));
    else if (fmt_column_has_words(c))
        json_write_string(out, c->words.word[(size_t)fmt_decode_value(c, x + c->offset)]);
    else
        put_list(out, (spread ? spread : x) + c->offset, c->size);
}

static void put_named(FILE *out, const fmt_schema *schema, const float *x, const float *spread)
{
    putc('{', out);
    for (size_t k = 0; k < schema->count; k++) {
        fputs(k ? "," : "", out);
        json_write_string(out, schema->column[k].name);
        putc(':', out);
        put_value(out, &schema->column[k], x, spread);
    }
    putc('}', out);
}

/* The rows, or their spreads. */
static void put_rows(FILE *out, const fmt_schema *schema, const float *x, const float *spread, size_t rows, bool named)
{
    for (size_t i = 0; i < rows; i++) {
        size_t at = i * schema->dim;
        fputs(i ? ",\n" : "[", out);
        if (named)
            put_named(out, schema, x + at, spread ? spread + at : NULL);
        else
            put_list(out, (spread ? spread : x) + at, schema->dim);
    }
    fputs(rows ? "]" : "[]", out);
}

/* ---- what is known of them */

static void put(FILE *out, const char *name, double value)
{
    fprintf(out, "\"%s\":", name);
    json_write_number(out, value);
    putc(',', out);
}

/* The name of a row, or null. */
static void put_name(FILE *out, const char *name)
{
    if (name[0] != '\0')
        json_write_string(out, name);
    else
        fputs("null", out);
}

static void put_read(FILE *out, const bpcn_read_info *info, const double *typicality, const char *name,
                     const char *blame)
{
    putc('{', out);
    if (name != NULL && name[0] != '\0') {
        fputs("\"name\":", out);
        put_name(out, name);
        putc(',', out);
    }
    put(out, "familiarity", info->familiarity);
    fprintf(out, "\"verdict\":\"%s\",", bpcn_verdict_name(info->verdict));
    put(out, "energy", info->energy);
    put(out, "log_density", info->log_density);
    if (typicality != NULL && *typicality >= 0)
        put(out, "typicality", *typicality);
    if (blame != NULL)
        fprintf(out, "\"blame\":%s,", blame);
    put(out, "noise", info->noise);
    put(out, "residual", info->residual);
    put(out, "variance", info->variance);
    fprintf(out, "\"known\":%" PRIu64 ",\"evaluations\":%" PRIu64 ",\"shard\":%" PRIu64 ",\"converged\":%s}",
            info->known, info->evaluations, info->shard, info->converged ? "true" : "false");
}

static void put_write(FILE *out, const bpcn_write_row *row)
{
    putc('{', out);
    put(out, "familiarity", row->familiarity);
    fprintf(out, "\"verdict\":\"%s\",", bpcn_verdict_name(row->verdict));
    put(out, "energy", row->energy);
    if (row->typicality >= 0)
        put(out, "typicality", row->typicality);
    fprintf(out, "\"evaluations\":%" PRIu64 ",\"shard\":%" PRIu64 "}", row->evaluations, row->shard);
}

static void put_reads(FILE *out, const struct job *job)
{
    fputs("\"info\":[", out);
    for (size_t i = 0; i < job->rows; i++) {
        fputs(i ? ",\n" : "", out);
        put_read(out, &job->info[i], job->typicality ? &job->typicality[i] : NULL,
                 job->answered ? job->answered + i * NAME_ROOM : NULL, job->blame ? job->blame[i] : NULL);
    }
    putc(']', out);
}

static void put_trace(FILE *out, const double *trace)
{
    putc('[', out);
    for (size_t k = 0; k < TRACE_MOST && !isnan(trace[k]); k++)
        fprintf(out, "%s%.7g", k ? "," : "", trace[k]);
    putc(']', out);
}

/* ---- whole answers */

static FILE *answer_begin(struct answer *a, const char *type)
{
    *a = (struct answer){.status = 200, .type = type, .file = -1};
    return open_memstream(&a->bytes, &a->size);
}

static void answer_end(struct answer *a, FILE *out, bool good)
{
    if (out != NULL && (fclose(out) != 0 || !good)) {
        free(a->bytes);
        a->bytes = NULL;
    }
}

static void rows_as_json(struct answer *a, const fmt_schema *schema, const struct job *job, bool named,
                         const bool *seen)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fputs("{\"rows\":", out);
    put_rows(out, schema, job->answers, NULL, job->rows, named);
    if (job->spread != NULL) {
        fputs(",\n\"spread\":", out);
        put_rows(out, schema, job->answers, job->spread, job->rows, named);
    }
    for (size_t i = 0; job->trace != NULL && i < job->rows; i++) {
        fputs(i ? "," : ",\n\"trace\":[", out);
        put_trace(out, job->trace + i * TRACE_MOST);
        fputs(i + 1 == job->rows ? "]" : "", out);
    }
    for (size_t i = 0; job->names != NULL && i < job->rows; i++) {
        fputs(i ? "," : ",\n\"names\":[", out);
        put_name(out, job->names + i * NAME_ROOM);
        fputs(i + 1 == job->rows ? "]" : "", out);
    }
    for (size_t i = 0; seen != NULL && i < job->rows; i++)
        fprintf(out, "%s%s%s", i ? "," : ",\n\"seen\":[", seen[i] ? "true" : "false", i + 1 == job->rows ? "]" : "");
    if (job->info != NULL) {
        fputs(",\n", out);
        put_reads(out, job);
    }
    fputs("}\n", out);
    answer_end(a, out, true);
}

static void tell_familiarity(struct answer *a, const struct job *job)
{
    size_t used = 0;
    for (size_t i = 0; job->info != NULL && i < job->rows && used + 16 < sizeof a->familiarity; i++)
        used += (size_t)snprintf(a->familiarity + used, sizeof a->familiarity - used, "%s%.4f", i ? "," : "",
                                 job->info[i].familiarity);
}

/* A cell of CSV: quoted where it must be. */
static void put_csv_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

/* One line of names, then one a row; a vector or picture has a cell for each entry. */
static void rows_as_csv(struct answer *a, const fmt_schema *schema, const struct job *job)
{
    char text[FMT_CELL_ROOM];
    FILE *out = answer_begin(a, "text/csv; charset=utf-8; header=present");
    if (out == NULL)
        return;
    for (size_t k = 0; k < schema->count; k++) {
        const fmt_column *c = &schema->column[k];
        bool one = fmt_column_in_table(c) || c->size == 1;
        for (size_t j = 0; j < (one ? 1 : c->size); j++) {
            fputs(k + j > 0 ? "," : "", out);
            put_csv_text(out, c->name);
            if (!one)
                fprintf(out, "_%zu", j);
        }
    }
    fputs("\r\n", out);
    for (size_t i = 0; i < job->rows; i++) {
        const float *x = job->answers + i * schema->dim;
        for (size_t k = 0; k < schema->count; k++) {
            const fmt_column *c = &schema->column[k];
            fputs(k > 0 ? "," : "", out);
            if (fmt_column_has_words(c))
                put_csv_text(out, c->words.word[(size_t)fmt_decode_value(c, x + c->offset)]);
            else if (c->kind == FMT_NUMBER && c->notation.places == 0 && !fmt_column_is_date(c))
                fprintf(out, "%.9g", fmt_decode_value(c, x + c->offset));
            else if (c->kind == FMT_NUMBER) {
                fmt_decode_text(c, x + c->offset, &(fmt_style){.separator = ',', .decimal = '.'}, text, sizeof text);
                fputs(text, out);
            }
            for (size_t j = 0; !fmt_column_in_table(c) && j < c->size; j++)
                fprintf(out, "%s%.9g", j > 0 ? "," : "", (double)x[c->offset + j]);
        }
        fputs("\r\n", out);
    }
    answer_end(a, out, true);
    tell_familiarity(a, job);
}

void answer_rows(struct answer *a, const fmt_schema *schema, const struct job *job, bool named, const bool *seen,
                 enum content content)
{
    static const char *const types[] = {"", "application/octet-stream", "application/x-npy", "image/png"};
    static const fmt_kind kinds[] = {FMT_ANY, FMT_RAW, FMT_NPY, FMT_PNG};
    const fmt_column *picture = fmt_schema_picture(schema);
    if (content == CONTENT_CSV) {
        rows_as_csv(a, schema, job);
        return;
    }
    if (content == CONTENT_JSON || content > CONTENT_PNG || (content == CONTENT_PNG && picture == NULL)) {
        rows_as_json(a, schema, job, named, seen);
        return;
    }
    fmt_table t = {.rows = job->rows, .dim = schema->dim, .data = job->answers};
    if (content == CONTENT_PNG)
        t = (fmt_table){
            1, picture->size, picture->height, picture->width, picture->channels, job->answers + picture->offset, NULL};
    FILE *out = answer_begin(a, types[content]);
    if (out == NULL)
        return;
    bool good = fmt_write_stream(out, "the answer", kinds[content], &t) == BPCN_OK;
    answer_end(a, out, good);
    tell_familiarity(a, job);
}

void answer_scores(struct answer *a, const struct job *job)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    putc('{', out);
    put_reads(out, job);
    fputs("}\n", out);
    answer_end(a, out, true);
}

void answer_writes(struct answer *a, const struct job *job)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fprintf(out, "{\"written\":%zu,\"step\":", job->done);
    if (job->step != 0)
        fprintf(out, "%" PRIu64, job->step);
    else
        fputs("null", out);
    fputs(",\"info\":[", out);
    for (size_t i = 0; i < job->done; i++) {
        fputs(i ? ",\n" : "", out);
        put_write(out, &job->became[i]);
    }
    fputs("]}\n", out);
    answer_end(a, out, true);
}

void answer_names(struct answer *a, const struct job *job, size_t first, size_t number, size_t most)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fputs("{\"names\":[", out);
    for (size_t i = first; i < job->listed && i - first < number; i++) {
        fputs(i > first ? ",\n{\"name\":" : "{\"name\":", out);
        json_write_string(out, job->list[i].name);
        fprintf(out, ",\"shard\":%" PRIu64 "}", job->list[i].shard);
    }
    fprintf(out, "],\n\"first\":%zu,\"kept\":%zu,\"most\":%zu}\n", first, job->listed, most);
    answer_end(a, out, true);
}

void answer_count(struct answer *a, const char *name, uint64_t count)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fprintf(out, "{\"%s\":%" PRIu64 "}\n", name, count);
    answer_end(a, out, true);
}

void answer_matches(struct answer *a, const struct job *job, size_t dim)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fputs("{\"matches\":[", out);
    for (size_t i = 0; i < job->rows; i++) {
        fputs(i ? ",\n[" : "[", out);
        for (size_t j = i * job->k; j < i * job->k + job->found[i]; j++) {
            fputs(j > i * job->k ? ",\n{\"name\":" : "{\"name\":", out);
            put_name(out, job->answered + j * NAME_ROOM);
            putc(',', out);
            put(out, "distance", job->matches[j].distance);
            put(out, "log_density", job->matches[j].log_density);
            put(out, "noise", job->matches[j].noise);
            fprintf(out, "\"shard\":%" PRIu64 ",\"row\":", job->matches[j].shard);
            put_list(out, job->answers + j * dim, dim);
            putc('}', out);
        }
        putc(']', out);
    }
    fputs("]}\n", out);
    answer_end(a, out, true);
}

static const char *event_word(enum job_kind kind)
{
    return kind == JOB_WRITE    ? "write"
           : kind == JOB_DELETE ? "delete"
           : kind == JOB_FORGET ? "forget"
           : kind == JOB_UNDO   ? "undo"
                                : "read";
}

void answer_history(struct answer *a, const struct worker_event *events, size_t count)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fputs("{\"events\":[", out);
    for (size_t i = 0; i < count; i++) {
        const struct worker_event *e = &events[i];
        fprintf(out, "%s{\"number\":%" PRIu64 ",\"when\":%.3f,\"kind\":\"%s\"", i ? ",\n" : "", e->number, e->when,
                event_word(e->kind));
        if (e->kind == JOB_READ || e->kind == JOB_WRITE) {
            fputs(",\"familiarity\":", out);
            json_write_number(out, e->familiarity);
            fprintf(out, ",\"verdict\":\"%s\"", bpcn_verdict_name(e->verdict));
        }
        fputs(",\"name\":", out);
        put_name(out, e->name);
        putc('}', out);
    }
    fputs("]}\n", out);
    answer_end(a, out, true);
}

void answer_codes(struct answer *a, const struct job *job, size_t code_dim)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fputs("{\"codes\":", out);
    for (size_t i = 0; i < job->rows; i++) {
        fputs(i ? ",\n" : "[", out);
        put_list(out, job->answers + i * code_dim, code_dim);
    }
    fputs("],\n", out);
    put_reads(out, job);
    fputs("}\n", out);
    answer_end(a, out, true);
}

void answer_memories(struct answer *a, const struct server *server)
{
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fputs("{\"memories\":[", out);
    for (size_t i = 0; i < server->memories; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        json_write_string(out, server->memory[i].name);
        fprintf(out, ",\"path\":\"/m/%s/\"}", server->memory[i].name);
    }
    fputs("]}\n", out);
    answer_end(a, out, true);
}

void answer_free(struct answer *a)
{
    free(a->bytes);
    if (a->file >= 0)
        close(a->file);
    *a = (struct answer){.file = -1};
}

/* ---- /v1/info */

static void put_network(FILE *out, const bpcn_options *o)
{
    fputs("\"network\":{\"hidden\":[", out);
    for (size_t l = 0; l < o->layers; l++)
        fprintf(out, "%s%zu", l ? "," : "", o->hidden[l]);
    fprintf(out, "],\"activation\":\"%s\",\"particles\":%zu},\n", bpcn_activation_name(o->activation), o->particles);
}

static void put_shards(FILE *out, const bpcn_options *o, const struct worker_state *s)
{
    static const char *const words[] = {"blur", "recycle", "refuse"};
    fprintf(out,
            "\"shards\":{\"most\":%zu,\"begun\":%zu,\"open\":%zu,\"room\":%zu,\"when_full\":\"%s\","
            "\"rows\":[",
            o->shards, s->stats.shards, s->stats.open_shard, o->shard_rows, words[o->when_full]);
    for (size_t k = 0; k < s->shards; k++)
        fprintf(out, "%s%" PRIu64, k ? "," : "", s->rows[k]);
    fputs("]},\n", out);
}

void answer_info(struct answer *a, const struct served *served, const struct worker_state *s,
                 const struct settings *settings)
{
    const bpcn_options *o = &served->options;
    FILE *out = answer_begin(a, "application/json");
    if (out == NULL)
        return;
    fprintf(out, "{\"version\":\"%s\",\"memory\":", bpcn_version());
    json_write_string(out, served->name);
    fprintf(out, ",\"kind\":\"%s\",\"entries\":%zu,\n", o->kind == BPCN_TABLE ? "table" : "networks", o->dim);
    columns_json(out, &served->schema, NULL);
    fputs(",\n", out);
    put_network(out, o);
    put_shards(out, o, s);
    fprintf(out,
            "\"writes\":%" PRIu64 ",\"forgets\":%" PRIu64 ",\"deletes\":%" PRIu64 ",\"bytes\":%zu,\"bytes_most\":%zu,",
            s->stats.writes, s->stats.forgets, s->stats.deletes, s->stats.bytes, s->stats.bytes_most);
    fprintf(out, "\"names\":{\"kept\":%zu,\"most\":%zu},", s->stats.names, o->names);
    put(out, "fullness", s->fullness < 0 ? 0 : s->fullness);
    fprintf(out, "\"kernels\":\"%s\",\n\"read_only\":%s,\"examples\":%zu,\"limits\":{\"body\":%zu,\"rows\":%zu}}\n",
            s->stats.kernels ? s->stats.kernels : "", settings->read_only ? "true" : "false", served->examples.rows,
            settings->most_body, settings->most_rows);
    answer_end(a, out, true);
}
