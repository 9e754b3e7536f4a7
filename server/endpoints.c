/* One function an endpoint. */
#include "endpoints.h"

#include "metrics.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 16, NAMES_LISTED = 1000 }; /* unless the request says how many */

/* The two files that are in the program (see the Makefile). */
extern const char _binary_server_page_html_start[], _binary_server_page_html_end[];
extern const char _binary_server_openapi_json_start[], _binary_server_openapi_json_end[];

/* ---- what they share */

/* What went wrong with a job. Sentences about files name them: those stay on this machine's side, in the log. */
static int job_refusal(const struct request *r, const struct job *job, struct refusal *why)
{
    static const unsigned codes[] = {
        [BPCN_INVALID] = 400, [BPCN_NO_MEMORY] = 503, [BPCN_NUMERIC] = 422, [BPCN_REFUSED] = 409,
        [BPCN_IO] = 500,      [BPCN_FORMAT] = 500,    [BPCN_NEWER] = 500,   [BPCN_CORRUPT] = 500,
        [BPCN_BUSY] = 500,    [BPCN_READ_ONLY] = 403, [BPCN_FULL] = 507,
        [BPCN_NO_SPACE] = 500, [BPCN_GONE] = 500, [BPCN_NOT_HELD] = 409};
    unsigned code = codes[job->status];
    char where[64] = "";
    if (job->kind >= JOB_WRITE && job->rows > 1)
        snprintf(where, sizeof where, job->x != NULL ? "rows[%zu]" : "names[%zu]", job->wrong);
    if (job->kind == JOB_DELETE && job->status == BPCN_INVALID && job->names != NULL)
        return refuse(why, 404, where, "no row named '%s' is kept%s", job->names + job->wrong * NAME_ROOM,
                      job->done > 0 ? "; those before it are taken back" : "");
    bool of_file = code == 500 || job->status == BPCN_READ_ONLY;
    if (of_file)
        say_error(r->house->file->say, "%s: %s", r->endpoint->path, job->why);
    if (job->status == BPCN_NO_SPACE)
        return refuse(why, 507, where, "the disk has no room for it%s",
                      job->done > 0 ? ", and rows before this one may be in it" : "");
    if (of_file || job->why[0] == '\0')
        return refuse(why, code, where, "the memory's file failed; the server's log says why%s",
                      job->done > 0 ? ", and rows before this one may be in it" : "");
    return refuse(why, code, where, "%.300s%s", job->why,
                  job->done == 0            ? ""
                  : job->kind == JOB_WRITE  ? "; the rows before it are written"
                  : job->kind == JOB_DELETE ? "; those before it are taken back"
                                            : "");
}

static int run_job(struct request *r, struct job *job)
{
    enum engine_answer answer = engine_do(r->house->engine, job);
    if (answer == ENGINE_FULL)
        return refuse(&r->refusal, 503, "", "too much is waiting already; try again");
    if (answer == ENGINE_STOPPED)
        return refuse(&r->refusal, 503, "", "the server is stopping");
    return job->status == BPCN_OK ? 0 : job_refusal(r, job, &r->refusal);
}

static int parse(struct request *r)
{
    struct shape shape = {&r->house->file->remark.fields, r->house->settings->most_rows};
    return body_parse(&r->body, &shape, r->content, r->bytes, r->size, &r->refusal);
}

/* Names are one for each of so many rows, where the memory keeps any. */
static int check_names(struct request *r, size_t rows)
{
    bpcn_options options;
    memfile_options(r->house->file, &options);
    if (r->body.names == 0)
        return 0;
    if (!r->endpoint->changes)
        return refuse(&r->refusal, 400, "names", "only rows that are written or deleted have names");
    if (options.names == 0)
        return refuse(&r->refusal, 409, "names",
                      "this memory keeps no names (bpcn create --names N makes one that does)");
    return r->body.names == rows
               ? 0
               : refuse(&r->refusal, 400, "names", "there are %zu names for %zu rows", r->body.names, rows);
}

/* Parses the body; rows are a must. */
static int take_rows(struct request *r)
{
    if (parse(r) != 0)
        return -1;
    return r->body.rows > 0 ? check_names(r, r->body.rows) : refuse(&r->refusal, 400, "rows", "there are none");
}

static struct job job_of(const struct request *r, enum job_kind kind)
{
    const struct body *b = &r->body;
    return (struct job){.kind = kind,
                        .rows = b->rows,
                        .x = b->x,
                        .known = b->whole ? NULL : b->known,
                        .names = b->name,
                        .noise = b->noise,
                        .forgotten = b->forgotten,
                        .beta = b->beta,
                        .draw = b->draw,
                        .shards = b->shards};
}

static int no_room(struct request *r)
{
    return refuse(&r->refusal, 503, "", "out of memory");
}

static void count_reads(const struct request *r, const struct job *job)
{
    uint64_t evaluations = 0;
    for (size_t i = 0; i < job->rows; i++)
        evaluations += job->info[i].evaluations;
    metrics_rows(r->endpoint->path, job->rows, evaluations);
}

/* ---- rows */

static int run_read(struct request *r)
{
    if (take_rows(r) != 0)
        return -1;
    size_t dim = r->house->file->remark.fields.dim;
    struct job job = job_of(r, JOB_READ);
    job.answers = malloc(job.rows * dim * sizeof *job.answers);
    job.spread = r->body.spread ? malloc(job.rows * dim * sizeof *job.spread) : NULL;
    job.info = malloc(job.rows * sizeof *job.info);
    bool says_names = r->wanted == CONTENT_JSON;
    job.answered = says_names ? calloc(job.rows, NAME_ROOM) : NULL;
    bool traces = r->body.trace && !memfile_is_folder(r->house->file->path);
    job.trace = traces ? malloc(job.rows * TRACE_MOST * sizeof *job.trace) : NULL;
    bool room = job.answers && job.info && (job.answered || !says_names) && (job.spread || !r->body.spread) &&
                (job.trace || !traces);
    int failed = room ? run_job(r, &job) : no_room(r);
    if (!failed) {
        count_reads(r, &job);
        answer_rows(&r->answer, &r->house->file->remark.fields, &job, r->body.named, r->wanted);
    }
    free(job.answers);
    free(job.spread);
    free(job.trace);
    free(job.answered);
    free(job.info);
    return failed;
}

static int run_score(struct request *r)
{
    if (take_rows(r) != 0)
        return -1;
    struct job job = job_of(r, JOB_SCORE);
    job.info = malloc(job.rows * sizeof *job.info);
    job.typicality = malloc(job.rows * sizeof *job.typicality);
    int failed = job.info && job.typicality ? run_job(r, &job) : no_room(r);
    if (!failed) {
        count_reads(r, &job);
        answer_scores(&r->answer, &job);
    }
    free(job.info);
    free(job.typicality);
    return failed;
}

static int run_write(struct request *r)
{
    uint64_t evaluations = 0;
    if (take_rows(r) != 0)
        return -1;
    struct job job = job_of(r, JOB_WRITE);
    job.became = malloc(job.rows * sizeof *job.became);
    int failed = job.became ? run_job(r, &job) : no_room(r);
    for (size_t i = 0; i < job.done; i++)
        evaluations += job.became[i].evaluations;
    metrics_rows(r->endpoint->path, job.done, evaluations);
    if (!failed)
        answer_writes(&r->answer, &job);
    free(job.became);
    return failed;
}

/* Rows, or names of rows. */
static int take_deletes(struct request *r)
{
    const struct body *b = &r->body;
    char where[64];
    if (parse(r) != 0)
        return -1;
    if (b->rows > 0 && b->names > 0)
        return refuse(&r->refusal, 400, "names", "rows are taken back by their values or by their names, not by both");
    if (b->rows + b->names == 0)
        return refuse(&r->refusal, 400, "rows", "there are none, nor names");
    if (!b->whole)
        return refuse(&r->refusal, 400, "rows", "only whole rows can be taken back");
    for (size_t i = 0; i < b->names; i++)
        if (b->name[i * NAME_ROOM] == '\0') {
            snprintf(where, sizeof where, "names[%zu]", i);
            return refuse(&r->refusal, 400, where, "is no name");
        }
    return check_names(r, b->names);
}

static int run_delete(struct request *r)
{
    if (take_deletes(r) != 0)
        return -1;
    struct job job = job_of(r, JOB_DELETE);
    job.rows = r->body.rows + r->body.names;
    int failed = run_job(r, &job);
    metrics_rows(r->endpoint->path, job.done, 0);
    if (!failed)
        answer_count(&r->answer, "deleted", job.done);
    return failed;
}

/* ---- without rows */

/* Parses the options of a body that has no rows. */
static int take_options(struct request *r)
{
    if (r->content != CONTENT_JSON)
        return refuse(&r->refusal, 415, "Content-Type", "the body here is application/json");
    if (parse(r) != 0)
        return -1;
    return r->body.rows + r->body.names == 0
               ? 0
               : refuse(&r->refusal, 400, r->body.rows ? "rows" : "names", "there is nothing to do with them here");
}

static int run_forget(struct request *r)
{
    if (take_options(r) != 0)
        return -1;
    struct job job = job_of(r, JOB_FORGET);
    job.rows = 1;
    if (r->body.beta < 0)
        return refuse(&r->refusal, 400, "beta", "is missing: from 0, nothing, to 1, everything");
    int failed = run_job(r, &job);
    if (!failed)
        answer_count(&r->answer, "forgotten", 1);
    return failed;
}

static int run_sample(struct request *r)
{
    if (take_options(r) != 0)
        return -1;
    const fmt_schema *schema = &r->house->file->remark.fields;
    struct job job = job_of(r, JOB_SAMPLE);
    job.rows = r->body.number > 0 ? (size_t)r->body.number : SAMPLES;
    if (job.rows > r->house->settings->most_rows)
        return refuse(&r->refusal, 413, "n", "%zu rows; this server gives %zu at once", job.rows,
                      r->house->settings->most_rows);
    job.answers = malloc(job.rows * schema->dim * sizeof *job.answers);
    int failed = job.answers ? run_job(r, &job) : no_room(r);
    if (!failed) {
        metrics_rows(r->endpoint->path, job.rows, 0);
        answer_rows(&r->answer, schema, &job, fmt_schema_is_table(schema), r->wanted);
    }
    free(job.answers);
    return failed;
}

static int run_examples(struct request *r)
{
    const fmt_schema *schema = &r->house->file->remark.fields;
    const struct examples *e = &r->house->examples;
    struct job job = {.rows = e->rows, .answers = e->x, .names = e->names};
    if (job.rows == 0)
        return refuse(&r->refusal, 404, "", "this server was given no examples");
    answer_rows(&r->answer, schema, &job, fmt_schema_is_table(schema), r->wanted);
    return 0;
}

static int run_names(struct request *r)
{
    struct job job = {.kind = JOB_NAMES};
    bpcn_options options;
    memfile_options(r->house->file, &options);
    int failed = run_job(r, &job);
    if (!failed)
        answer_names(&r->answer, &job, r->body.first, r->body.number > 0 ? (size_t)r->body.number : NAMES_LISTED,
                     options.names);
    free(job.list);
    return failed;
}

/* The state as it is now, or while too much waits, as it was last. */
static struct state fresh_state(const struct request *r)
{
    struct job job = {.kind = JOB_LOOK};
    engine_do(r->house->engine, &job);
    return engine_state(r->house->engine);
}

static int run_info(struct request *r)
{
    struct state state = fresh_state(r);
    answer_info(&r->answer, r->house->file, &state, r->house->settings, r->house->examples.rows);
    free(state.rows);
    return 0;
}

static int run_metrics(struct request *r)
{
    struct state state = fresh_state(r);
    r->answer = (struct answer){.status = 200, .type = "text/plain; version=0.0.4; charset=utf-8"};
    r->answer.bytes = metrics_text(&state, &r->answer.size);
    free(state.rows);
    return 0;
}

static int run_health(struct request *r)
{
    answer_count(&r->answer, "ok", 1);
    return 0;
}

/* ---- files */

static int send_file(struct request *r, const char *type, const char *from, const char *to)
{
    r->answer = (struct answer){.status = 200, .type = type, .size = (size_t)(to - from)};
    r->answer.bytes = malloc(r->answer.size + 1);
    if (r->answer.bytes != NULL)
        memcpy(r->answer.bytes, from, r->answer.size);
    return 0;
}

static int run_page(struct request *r)
{
    return send_file(r, "text/html; charset=utf-8", _binary_server_page_html_start, _binary_server_page_html_end);
}

static int run_openapi(struct request *r)
{
    return send_file(r, "application/json", _binary_server_openapi_json_start, _binary_server_openapi_json_end);
}

static const struct endpoint endpoints[] = {{"POST", "/v1/write", false, true, run_write},
                                            {"POST", "/v1/read", false, false, run_read},
                                            {"POST", "/v1/score", false, false, run_score},
                                            {"POST", "/v1/sample", false, false, run_sample},
                                            {"POST", "/v1/forget", false, true, run_forget},
                                            {"POST", "/v1/delete", false, true, run_delete},
                                            {"GET", "/v1/info", false, false, run_info},
                                            {"GET", "/v1/names", false, false, run_names},
                                            {"GET", "/v1/examples", false, false, run_examples},
                                            {"GET", "/metrics", false, false, run_metrics},
                                            {"GET", "/health", true, false, run_health},
                                            {"GET", "/openapi.json", true, false, run_openapi},
                                            {"GET", "/", true, false, run_page}};

const struct endpoint *endpoint_find(const char *method, const char *path, const char **allow, struct refusal *why)
{
    const char *asked = strcmp(method, "HEAD") == 0 ? "GET" : method;
    *allow = NULL;
    for (size_t k = 0; k < sizeof endpoints / sizeof *endpoints; k++) {
        if (strcmp(path, endpoints[k].path) != 0)
            continue;
        if (strcmp(asked, endpoints[k].method) == 0)
            return &endpoints[k];
        *allow = endpoints[k].method;
    }
    if (*allow != NULL)
        refuse(why, 405, "", "this is for %s", *allow);
    else
        refuse(why, 404, "", "there is nothing here; /openapi.json lists what there is");
    return NULL;
}
