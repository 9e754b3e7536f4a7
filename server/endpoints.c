/* One function an endpoint. */
#include "endpoints.h"

#include "metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SAMPLES = 16,
    NAMES_LISTED = 1000, /* unless the request says how many */
    CODE_ROWS_MOST = 512,
    JSON_TREE = 20,  /* bytes that the parser of JSON takes for one of the body, where numbers are short */
    JSON_NUMBER = 14 /* bytes of a number in an answer */
};

/* ---- what they share */

bool budget_take(struct request *r, size_t bytes)
{
    if (atomic_fetch_add(&r->budget->held, bytes) + bytes > r->budget->most) {
        atomic_fetch_sub(&r->budget->held, bytes);
        return false;
    }
    r->held += bytes;
    return true;
}

void budget_give_back(struct request *r)
{
    atomic_fetch_sub(&r->budget->held, r->held);
    r->held = 0;
}

static bpcn_status hold(struct request *r, size_t bytes)
{
    if (bytes > r->budget->most)
        return http_fail(413, "rows",
                         "this takes more memory than the server has for all requests: ask for fewer rows "
                         "at once, or send octets");
    return budget_take(r, bytes) ? BPCN_OK : http_fail(503, "", "too many long requests are being answered; try again");
}

/* What an answer with so many rows takes. */
static bpcn_status hold_rows(struct request *r, size_t rows, size_t arrays)
{
    size_t each = sizeof(float) + (r->wanted == CONTENT_JSON || r->wanted == CONTENT_CSV ? JSON_NUMBER : sizeof(float));
    return hold(r, rows * arrays * r->memory->schema.dim * each);
}

/* What went wrong with a job. Sentences about files name them: those stay on this machine's side, in the log. */
static bpcn_status job_failure(const struct request *r, const struct job *job)
{
    static const unsigned codes[] = {
        [BPCN_INVALID] = 422, [BPCN_NO_MEMORY] = 503, [BPCN_NUMERIC] = 422, [BPCN_REFUSED] = 409,
        [BPCN_IO] = 500,      [BPCN_FORMAT] = 500,    [BPCN_NEWER] = 500,   [BPCN_CORRUPT] = 500,
        [BPCN_BUSY] = 500,    [BPCN_READ_ONLY] = 403, [BPCN_FULL] = 507,    [BPCN_NO_SPACE] = 507,
        [BPCN_GONE] = 500,    [BPCN_NOT_HELD] = 409};
    unsigned code = job->status < sizeof codes / sizeof *codes ? codes[job->status] : 500;
    char where[64] = "";
    if (job->kind >= JOB_WRITE && job->rows > 1)
        snprintf(where, sizeof where, job->x != NULL ? "rows[%zu]" : "names[%zu]", job->wrong);
    if (job->kind == JOB_DELETE && job->status == BPCN_INVALID && job->names != NULL)
        return http_fail(404, where, "no row named '%s' is kept%s", job->names + job->wrong * NAME_ROOM,
                         job->done > 0 ? "; those before it are deleted" : "");
    const char *before = job->done == 0            ? ""
                         : job->kind == JOB_WRITE  ? "; the rows before it are written"
                         : job->kind == JOB_DELETE ? "; those before it are deleted"
                         : job->kind == JOB_UNDO   ? "; the rows after it are deleted"
                                                   : "";
    bool of_file = code == 500 || job->status == BPCN_READ_ONLY;
    if (of_file && job->kind < JOB_WRITE)
        console_error(r->memory->file.console, "%s: %s", r->endpoint->path, job->why);
    if (job->status == BPCN_NO_SPACE)
        return http_fail(507, where, "the disk is full%s", before);
    if (job->status == BPCN_GONE)
        return http_fail(
            500, where,
            "the memory's file was moved, removed or replaced, and takes no more changes; the server's log says "
            "where its rows are");
    if (of_file || job->why[0] == '\0')
        return http_fail(code, where, "the memory's file failed; the server's log says why%s",
                         job->done > 0 ? ", and rows before this one may be in it" : "");
    return http_fail(code, where, "%.400s%s", job->why, before);
}

static bpcn_status run_job(struct request *r, struct job *job)
{
    enum worker_answer answer = worker_do(r->memory->worker, job);
    if (answer == WORKER_FULL)
        return http_fail(503, "", "too many requests wait already; try again");
    if (answer == WORKER_STOPPED)
        return http_fail(503, "", "the server is stopping");
    return job->status == BPCN_OK ? BPCN_OK : job_failure(r, job);
}

static bpcn_status parse_body(struct request *r)
{
    struct shape shape = {&r->memory->schema, r->server->settings->most_rows};
    size_t before = r->held, tree = r->content == CONTENT_JSON ? JSON_TREE * r->size : 0;
    bpcn_status status = hold(r, tree);
    if (status == BPCN_OK)
        status = body_parse(&r->body, &shape, r->content, r->bytes, r->size);
    atomic_fetch_sub(&r->budget->held, r->held - before);
    r->held = before;
    return status;
}

/* Names are one for each of so many rows, where the memory keeps any. */
static bpcn_status check_names(struct request *r, size_t rows)
{
    if (r->body.names == 0)
        return BPCN_OK;
    if (!r->endpoint->changes)
        return http_fail(400, "names", "only rows that are written or deleted have names");
    if (r->memory->options.names == 0)
        return http_fail(409, "names", "this memory keeps no names (bpcn create --names N makes one that does)");
    return r->body.names == rows ? BPCN_OK
                                 : http_fail(400, "names", "there are %zu names for %zu rows", r->body.names, rows);
}

/* Parses the body, which must have rows. */
static bpcn_status take_rows(struct request *r)
{
    bpcn_status status = parse_body(r);
    if (status != BPCN_OK)
        return status;
    return r->body.rows > 0 ? check_names(r, r->body.rows) : http_fail(400, "rows", "there are none");
}

/* A whole row may be noisy, except in a table: there it says that every entry is known. */
static struct job job_of(const struct request *r, enum job_kind kind)
{
    const struct body *b = &r->body;
    bool noisy = b->whole && r->memory->options.kind != BPCN_TABLE;
    return (struct job){.kind = kind,
                        .rows = b->rows,
                        .x = b->x,
                        .known = noisy ? NULL : b->known,
                        .names = b->name,
                        .noise = b->noise,
                        .forgotten = b->forgotten,
                        .beta = b->beta,
                        .draw = b->draw,
                        .step = b->step,
                        .shards = b->shards,
                        .snapshot = -1};
}

static bpcn_status no_memory(void)
{
    return http_fail(503, "", "out of memory");
}

static void count_reads(const struct request *r, const struct job *job)
{
    uint64_t evaluations = 0;
    for (size_t i = 0; i < job->rows; i++)
        evaluations += job->info[i].evaluations;
    metrics_rows(r->endpoint->path, job->rows, evaluations);
}

/* ---- rows */

static bpcn_status endpoint_read(struct request *r)
{
    bpcn_status status = take_rows(r);
    if (status == BPCN_OK)
        status = hold_rows(r, r->body.rows, r->body.spread ? 2 : 1);
    if (status != BPCN_OK)
        return status;
    size_t dim = r->memory->schema.dim;
    struct job job = job_of(r, JOB_READ);
    bool says_names = r->wanted == CONTENT_JSON, traces = r->body.trace && !memory_file_is_folder(r->memory->path);
    job.answers = malloc(job.rows * dim * sizeof *job.answers);
    job.spread = r->body.spread ? malloc(job.rows * dim * sizeof *job.spread) : NULL;
    job.info = malloc(job.rows * sizeof *job.info);
    job.answered = says_names ? calloc(job.rows, NAME_ROOM) : NULL;
    job.trace = traces ? malloc(job.rows * TRACE_MOST * sizeof *job.trace) : NULL;
    bool capacity = job.answers && job.info && (job.answered || !says_names) && (job.spread || !r->body.spread) &&
                    (job.trace || !traces);
    status = capacity ? run_job(r, &job) : no_memory();
    if (status == BPCN_OK) {
        count_reads(r, &job);
        worker_record(r->memory->worker, JOB_READ, job.info[0].familiarity, job.info[0].verdict, job.answered);
        answer_rows(&r->answer, &r->memory->schema, &job, r->body.named, NULL, r->wanted);
    }
    free(job.answers);
    free(job.spread);
    free(job.trace);
    free(job.answered);
    free(job.info);
    return status;
}

static bpcn_status endpoint_score(struct request *r)
{
    bpcn_status status = take_rows(r);
    if (status != BPCN_OK)
        return status;
    struct job job = job_of(r, JOB_SCORE);
    job.info = malloc(job.rows * sizeof *job.info);
    job.typicality = malloc(job.rows * sizeof *job.typicality);
    job.blame = calloc(job.rows + 1, sizeof *job.blame);
    status = job.info && job.typicality && job.blame ? run_job(r, &job) : no_memory();
    if (status == BPCN_OK) {
        count_reads(r, &job);
        answer_scores(&r->answer, &job);
    }
    free(job.info);
    free(job.typicality);
    for (size_t k = 0; job.blame != NULL && k < job.rows; k++)
        free(job.blame[k]);
    free(job.blame);
    return status;
}

enum { MATCHES_USUAL = 5 };

static bpcn_status endpoint_search(struct request *r)
{
    bpcn_status status = take_rows(r);
    size_t k = r->body.number > 0 ? (size_t)r->body.number : MATCHES_USUAL, dim = r->memory->schema.dim;
    if (status == BPCN_OK && k > BPCN_MAX_MATCHES)
        return http_fail(400, "n", "is %zu; a search gives 1 to %d answers", k, BPCN_MAX_MATCHES);
    if (status == BPCN_OK)
        status = hold_rows(r, r->body.rows * k, 1);
    if (status != BPCN_OK)
        return status;
    struct job job = job_of(r, JOB_SEARCH);
    job.k = k;
    job.answers = malloc(job.rows * k * dim * sizeof *job.answers);
    job.matches = malloc(job.rows * k * sizeof *job.matches);
    job.found = malloc(job.rows * sizeof *job.found);
    job.answered = calloc(job.rows * k, NAME_ROOM);
    status = job.answers && job.matches && job.found && job.answered ? run_job(r, &job) : no_memory();
    if (status == BPCN_OK) {
        metrics_rows(r->endpoint->path, job.rows, 0);
        answer_matches(&r->answer, &job, dim);
    }
    free(job.answers);
    free(job.matches);
    free(job.found);
    free(job.answered);
    return status;
}

static bpcn_status endpoint_codes(struct request *r)
{
    bpcn_status status = take_rows(r);
    if (status == BPCN_OK && r->body.rows > CODE_ROWS_MOST)
        status =
            http_fail(413, "rows", "%zu rows; this server gives the codes of %d at once", r->body.rows, CODE_ROWS_MOST);
    if (status != BPCN_OK)
        return status;
    struct job job = job_of(r, JOB_CODES);
    size_t code_dim = 0;
    for (size_t l = 0; l < r->memory->options.layers; l++)
        code_dim += r->memory->options.hidden[l];
    status = hold(r, job.rows * code_dim * (sizeof(float) + JSON_NUMBER));
    if (status != BPCN_OK)
        return status;
    job.answers = malloc(job.rows * code_dim * sizeof *job.answers + 1);
    job.info = malloc(job.rows * sizeof *job.info);
    status = job.answers && job.info ? run_job(r, &job) : no_memory();
    if (status == BPCN_OK) {
        count_reads(r, &job);
        answer_codes(&r->answer, &job, code_dim);
    }
    free(job.answers);
    free(job.info);
    return status;
}

static bpcn_status endpoint_write(struct request *r)
{
    uint64_t evaluations = 0;
    bpcn_status status = take_rows(r);
    if (status != BPCN_OK)
        return status;
    struct job job = job_of(r, JOB_WRITE);
    job.became = calloc(job.rows, sizeof *job.became);
    status = job.became ? run_job(r, &job) : no_memory();
    for (size_t i = 0; i < job.done; i++)
        evaluations += job.became[i].evaluations;
    metrics_rows(r->endpoint->path, job.done, evaluations);
    if (status == BPCN_OK) {
        worker_record(r->memory->worker, JOB_WRITE, job.became[0].familiarity, job.became[0].verdict, job.names);
        answer_writes(&r->answer, &job);
    }
    free(job.became);
    return status;
}

/* Rows, or names of rows. */
static bpcn_status take_deletes(struct request *r)
{
    const struct body *b = &r->body;
    char where[64];
    bpcn_status status = parse_body(r);
    if (status != BPCN_OK)
        return status;
    if (b->rows > 0 && b->names > 0)
        return http_fail(400, "names", "rows are deleted by their values or by their names, not by both");
    if (b->rows + b->names == 0)
        return http_fail(400, "rows", "the request has neither rows nor names");
    if (!b->whole)
        return http_fail(400, "rows", "only whole rows can be deleted");
    for (size_t i = 0; i < b->names; i++)
        if (b->name[i * NAME_ROOM] == '\0') {
            snprintf(where, sizeof where, "names[%zu]", i);
            return http_fail(400, where, "is not a name");
        }
    return check_names(r, b->names);
}

static bpcn_status endpoint_delete(struct request *r)
{
    bpcn_status status = take_deletes(r);
    if (status != BPCN_OK)
        return status;
    struct job job = job_of(r, JOB_DELETE);
    job.rows = r->body.rows + r->body.names;
    status = run_job(r, &job);
    metrics_rows(r->endpoint->path, job.done, 0);
    if (status == BPCN_OK) {
        worker_record(r->memory->worker, JOB_DELETE, 0, BPCN_CANNOT_TELL, job.names);
        answer_count(&r->answer, "deleted", job.done);
    }
    return status;
}

/* ---- without rows */

/* Parses the options of a body that has no rows. */
static bpcn_status take_options(struct request *r)
{
    if (r->content != CONTENT_JSON)
        return http_fail(415, "Content-Type", "the body here is application/json");
    bpcn_status status = parse_body(r);
    if (status != BPCN_OK)
        return status;
    return r->body.rows + r->body.names == 0
               ? BPCN_OK
               : http_fail(400, r->body.rows ? "rows" : "names", "this endpoint does not use them");
}

static bpcn_status endpoint_forget(struct request *r)
{
    bpcn_status status = take_options(r);
    if (status != BPCN_OK)
        return status;
    struct job job = job_of(r, JOB_FORGET);
    job.rows = 1;
    if (r->body.beta < 0)
        return http_fail(400, "beta", "is missing: 0 forgets nothing, 1 everything");
    status = run_job(r, &job);
    if (status == BPCN_OK) {
        worker_record(r->memory->worker, JOB_FORGET, 0, BPCN_CANNOT_TELL, NULL);
        answer_count(&r->answer, "forgotten", 1);
    }
    return status;
}

static bpcn_status endpoint_undo(struct request *r)
{
    bpcn_status status = take_options(r);
    if (status != BPCN_OK)
        return status;
    struct job job = job_of(r, JOB_UNDO);
    job.rows = 1;
    if (job.step == 0)
        return http_fail(400, "step", "is missing: the number that the write was answered with");
    status = run_job(r, &job);
    if (status == BPCN_OK) {
        worker_record(r->memory->worker, JOB_UNDO, 0, BPCN_CANNOT_TELL, NULL);
        answer_count(&r->answer, "deleted", job.done);
    }
    return status;
}

static bpcn_status endpoint_sample(struct request *r)
{
    bpcn_status status = take_options(r);
    if (status != BPCN_OK)
        return status;
    const fmt_schema *schema = &r->memory->schema;
    struct job job = job_of(r, JOB_SAMPLE);
    job.rows = r->body.number > 0 ? (size_t)r->body.number : SAMPLES;
    if (job.rows > r->server->settings->most_rows)
        return http_fail(413, "n", "%zu rows; this server gives %zu at once", job.rows, r->server->settings->most_rows);
    status = hold_rows(r, job.rows, 1);
    if (status != BPCN_OK)
        return status;
    job.answers = malloc(job.rows * schema->dim * sizeof *job.answers);
    status = job.answers ? run_job(r, &job) : no_memory();
    if (status == BPCN_OK) {
        metrics_rows(r->endpoint->path, job.rows, 0);
        answer_rows(&r->answer, schema, &job, fmt_schema_is_table(schema), NULL, r->wanted);
    }
    free(job.answers);
    return status;
}

/* Whether the memory knows each of these rows, seen [job->rows]. */
static bpcn_status find_seen(struct request *r, const struct job *job, bool *seen)
{
    struct job score = job_of(r, JOB_SCORE);
    score.rows = job->rows;
    score.x = job->answers;
    score.known = NULL;
    score.info = malloc(job->rows * sizeof *score.info);
    bpcn_status status = score.info ? run_job(r, &score) : no_memory();
    for (size_t i = 0; status == BPCN_OK && i < job->rows; i++)
        seen[i] = score.info[i].verdict == BPCN_KNOWN || score.info[i].verdict == BPCN_NEAR_COPY;
    free(score.info);
    return status;
}

static bpcn_status endpoint_examples(struct request *r)
{
    const fmt_schema *schema = &r->memory->schema;
    const struct examples *e = &r->memory->examples;
    size_t first = r->body.first < e->rows ? (size_t)r->body.first : e->rows, rows = e->rows - first;
    if (r->body.number > 0 && r->body.number < rows)
        rows = (size_t)r->body.number;
    struct job job = {.rows = rows, .answers = e->x + first * schema->dim, .names = e->names + first * NAME_ROOM};
    bool *seen = NULL;
    if (e->rows == 0)
        return http_fail(404, "", "this server was given no examples");
    bpcn_status status = hold_rows(r, rows, 1);
    if (status == BPCN_OK && r->body.seen && rows > 0 && r->memory->options.kind == BPCN_NETWORKS) {
        seen = calloc(rows, sizeof *seen);
        status = seen != NULL ? find_seen(r, &job, seen) : no_memory();
    }
    if (status == BPCN_OK)
        answer_rows(&r->answer, schema, &job, fmt_schema_is_table(schema), seen, r->wanted);
    free(seen);
    return status;
}

static bpcn_status endpoint_names(struct request *r)
{
    struct job job = {.kind = JOB_NAMES};
    bpcn_status status = run_job(r, &job);
    if (status == BPCN_OK)
        answer_names(&r->answer, &job, (size_t)r->body.first,
                     r->body.number > 0 ? (size_t)r->body.number : NAMES_LISTED, r->memory->options.names);
    free(job.list);
    return status;
}

static bpcn_status endpoint_history(struct request *r)
{
    struct worker_event *events = malloc(EVENTS_MOST * sizeof *events);
    if (events == NULL)
        return no_memory();
    answer_history(&r->answer, events, worker_events(r->memory->worker, r->body.after, events));
    free(events);
    return BPCN_OK;
}

static bpcn_status endpoint_info(struct request *r)
{
    struct job job = {.kind = JOB_STATE};
    worker_do(r->memory->worker, &job); /* while too much waits, the state as it was last */
    struct worker_state state = worker_state(r->memory->worker);
    answer_info(&r->answer, r->memory, &state, r->server->settings);
    free(state.rows);
    return BPCN_OK;
}

static bpcn_status endpoint_memories(struct request *r)
{
    answer_memories(&r->answer, r->server);
    return BPCN_OK;
}

static bpcn_status endpoint_snapshot(struct request *r)
{
    struct job job = {.kind = JOB_SNAPSHOT, .snapshot = -1};
    struct stat there;
    bpcn_status status = run_job(r, &job);
    if (status == BPCN_OK && fstat(job.snapshot, &there) != 0)
        status = http_fail(500, "", "the copy cannot be read again");
    r->answer.status = 200;
    r->answer.type = "application/vnd.bayespcn.memory";
    r->answer.file = job.snapshot;
    r->answer.size = status == BPCN_OK ? (size_t)there.st_size : 0;
    return status;
}

static bpcn_status endpoint_metrics(struct request *r)
{
    for (size_t i = 0; i < r->server->memories; i++) {
        struct job job = {.kind = JOB_STATE};
        worker_do(r->server->memory[i].worker, &job);
    }
    r->answer.status = 200;
    r->answer.type = "text/plain; version=0.0.4; charset=utf-8";
    r->answer.bytes = metrics_text(r->server, &r->answer.size);
    return BPCN_OK;
}

/* ---- for probes */

/* Liveness: the process answers, and no memory's file is gone or failed. */
static bpcn_status endpoint_health(struct request *r)
{
    for (size_t i = 0; i < r->server->memories; i++) {
        struct worker_state state = worker_state(r->server->memory[i].worker);
        free(state.rows);
        if (state.error != BPCN_OK)
            return http_fail(503, r->server->memory[i].name, "the memory's file has failed: %s",
                             bpcn_status_name(state.error));
    }
    answer_count(&r->answer, "ok", 1);
    return BPCN_OK;
}

/* Readiness: it would also take a request now. */
static bpcn_status endpoint_ready(struct request *r)
{
    for (size_t i = 0; i < r->server->memories; i++) {
        struct worker_state state = worker_state(r->server->memory[i].worker);
        free(state.rows);
        if (state.waiting >= r->server->settings->most_waiting)
            return http_fail(503, r->server->memory[i].name, "too many requests wait already");
    }
    return endpoint_health(r);
}

/* ---- files */

/* The type of a file by its suffix. */
static const char *type_of_file(const char *name)
{
    const char *suffix = strrchr(name, '.');
    return strcmp(suffix, ".html") == 0  ? "text/html; charset=utf-8"
           : strcmp(suffix, ".css") == 0 ? "text/css; charset=utf-8"
           : strcmp(suffix, ".js") == 0  ? "text/javascript; charset=utf-8"
                                         : "application/json";
}

/* The file of the path's name. */
static bpcn_status run_file(struct request *r)
{
    const char *name = strcmp(r->endpoint->path, "/") == 0 ? "index.html" : r->endpoint->path + 1;
    const struct embedded *e = embedded_files;
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    while (strcmp(e->name, name) != 0)
        e++;
    for (size_t i = 0; i < e->size; i++)
        hash = (hash ^ e->bytes[i]) * 1099511628211u;
    r->answer.status = 200;
    r->answer.type = type_of_file(name);
    snprintf(r->answer.etag, sizeof r->answer.etag, "\"%016" PRIx64 "\"", hash);
    if (r->if_none_match != NULL && strstr(r->if_none_match, r->answer.etag) != NULL) {
        r->answer.status = 304;
        return BPCN_OK;
    }
    r->answer.size = e->size;
    r->answer.bytes = malloc(e->size + 1);
    if (r->answer.bytes != NULL)
        memcpy(r->answer.bytes, e->bytes, e->size);
    return BPCN_OK;
}

/* ---- the table */

static const struct endpoint endpoints[] = {{"POST", "/v1/write", false, true, false, endpoint_write},
                                            {"POST", "/v1/read", false, false, false, endpoint_read},
                                            {"POST", "/v1/score", false, false, false, endpoint_score},
                                            {"POST", "/v1/search", false, false, false, endpoint_search},
                                            {"POST", "/v1/sample", false, false, false, endpoint_sample},
                                            {"POST", "/v1/codes", false, false, false, endpoint_codes},
                                            {"POST", "/v1/forget", false, true, false, endpoint_forget},
                                            {"POST", "/v1/delete", false, true, false, endpoint_delete},
                                            {"POST", "/v1/undo", false, true, false, endpoint_undo},
                                            {"GET", "/v1/info", false, false, false, endpoint_info},
                                            {"GET", "/v1/names", false, false, false, endpoint_names},
                                            {"GET", "/v1/history", false, false, false, endpoint_history},
                                            {"GET", "/v1/examples", false, false, false, endpoint_examples},
                                            {"GET", "/v1/snapshot", false, false, false, endpoint_snapshot},
                                            {"GET", "/v1/memories", false, false, false, endpoint_memories},
                                            {"GET", "/metrics", false, false, false, endpoint_metrics},
                                            {"GET", "/health", true, false, true, endpoint_health},
                                            {"GET", "/ready", true, false, true, endpoint_ready},
                                            {"GET", "/openapi.json", true, false, false, run_file},
                                            {"GET", "/page.css", true, false, false, run_file},
                                            {"GET", "/page.js", true, false, false, run_file},
                                            {"GET", "/core.js", true, false, false, run_file},
                                            {"GET", "/picture.js", true, false, false, run_file},
                                            {"GET", "/strip.js", true, false, false, run_file},
                                            {"GET", "/table.js", true, false, false, run_file},
                                            {"GET", "/panels.js", true, false, false, run_file},
                                            {"GET", "/", true, false, false, run_file}};

/* "/m/NAME/v1/read": the memory of that name, and the rest of the path. NULL: there is none. */
static const struct served *find_memory(const struct server *server, const char **path)
{
    if (strncmp(*path, "/m/", 3) != 0)
        return &server->memory[0];
    size_t length = strcspn(*path + 3, "/");
    for (size_t i = 0; i < server->memories; i++)
        if (strlen(server->memory[i].name) == length && memcmp(server->memory[i].name, *path + 3, length) == 0) {
            *path += 3 + length;
            return &server->memory[i];
        }
    return NULL;
}

bpcn_status endpoint_find(struct request *r, const char *method, const char *path)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    r->memory = find_memory(r->server, &path);
    for (size_t k = 0; r->memory != NULL && k < sizeof endpoints / sizeof *endpoints; k++)
        if (strcmp(path, endpoints[k].path) == 0) {
            bool gets = strcmp(endpoints[k].method, "GET") == 0;
            r->answer.allow = NULL;
            if (strcmp(wanted, endpoints[k].method) == 0) {
                r->endpoint = &endpoints[k];
                return BPCN_OK;
            }
            r->answer.allow = gets ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
            if (strcmp(method, "OPTIONS") == 0)
                return BPCN_OK;
            return http_fail(405, "", "this endpoint accepts %s", endpoints[k].method);
        }
    if (strcmp(method, "OPTIONS") == 0 && strcmp(path, "*") == 0) {
        r->answer.allow = "GET, HEAD, POST, OPTIONS";
        return BPCN_OK;
    }
    return http_fail(404, "", "there is no such path; /openapi.json lists them all");
}
