/* Grouping cells into jobs, and running them. */
#include "job.h"

#include "pictures.h"
#include "stream.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int make_folder(const char *path, struct failure *failure)
{
    char part[2048];
    for (size_t n = 1; n <= strlen(path) && n < sizeof part; n++) {
        if (path[n] != '/' && path[n] != '\0')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return failed(failure, "cannot make the folder %s: %s", part, strerror(errno));
    }
    return 0;
}

/* ---- cells in the table of results */

int cell_load(const struct job_list *list, const struct cell *cell, struct record *record)
{
    char key[KEY_ROOM];
    cell_key(cell, key, sizeof key);
    return results_find(list->results, key, record);
}

int cell_save(const struct job_list *list, const struct cell *cell, const struct record *record,
              struct failure *failure)
{
    char key[KEY_ROOM];
    struct provenance here;
    cell_key(cell, key, sizeof key);
    provenance_here(&cell->spec, &here);
    return results_add(list->results, key, record, &here, failure);
}

enum freshness cell_freshness(const struct job_list *list, const struct cell *cell)
{
    char key[KEY_ROOM];
    struct provenance found;
    cell_key(cell, key, sizeof key);
    if (results_provenance(list->results, key, &found) && strcmp(found.code, provenance_code(&cell->spec)) == 0)
        return FRESH;
    return rechecks_same(list->rechecks, cell, list->results) >= RECHECKS_ENOUGH ? VOUCHED : STALE;
}

/* What cells must share to be filled by one stream of writes. */
static void stream_key(const struct cell *c, char *key, size_t room)
{
    char method[320];
    method_key(&c->spec, method, sizeof method);
    snprintf(key, room, "%d-%s-%s", (int)c->kind, c->dataset, method);
}

static int by_stream(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    char first[KEY_ROOM], second[KEY_ROOM];
    stream_key(a, first, sizeof first);
    stream_key(b, second, sizeof second);
    int order = strcmp(first, second);
    if (order == 0)
        order = (a->length > b->length) - (a->length < b->length);
    if (order == 0) {
        cell_key(a, first, sizeof first);
        cell_key(b, second, sizeof second);
        order = strcmp(first, second);
    }
    return order;
}

/* Sorts, and drops what was named twice. */
static void sort_cells(struct job_list *list)
{
    size_t kept = 0;
    qsort(list->cell, list->cells, sizeof *list->cell, by_stream);
    for (size_t i = 0; i < list->cells; i++)
        if (kept == 0 || by_stream(&list->cell[kept - 1], &list->cell[i]) != 0)
            list->cell[kept++] = list->cell[i];
    list->cells = kept;
}

static int task_wanted(const struct plan *p, const struct table *t)
{
    return p->tasks == NULL || fnmatch(p->tasks, t->task.name, 0) == 0;
}

static int row_wanted(const struct plan *p, const struct table *t, const struct row *row)
{
    return task_wanted(p, t) && (p->rows == NULL || fnmatch(p->rows, row->label, 0) == 0);
}

static int no_tasks(const struct plan *p, struct failure *failure)
{
    char names[sizeof failure->text] = "";
    for (size_t k = 0; k < p->tables; k++) {
        size_t used = strlen(names);
        const char *name = p->table[k].task.name;
        if (name[0] != '\0' && strstr(names, name) == NULL && used + 200 < sizeof names)
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? "; " : "", name);
    }
    return failed(failure, "no task is called %s; there are: %s", p->tasks, names);
}

static int no_rows(const struct plan *p, struct failure *failure)
{
    char names[sizeof failure->text] = "";
    for (size_t k = 0; k < p->tables; k++)
        for (size_t r = 0; r < p->table[k].rows; r++) {
            size_t used = strlen(names);
            int seen = 0;
            for (size_t before = 0; before < k; before++)
                for (size_t other = 0; other < p->table[before].rows; other++)
                    seen |= strcmp(p->table[before].row[other].label, p->table[k].row[r].label) == 0;
            if (!seen && used + 200 < sizeof names)
                snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? "; " : "", p->table[k].row[r].label);
        }
    return failed(failure, "no row is called %s; there are: %s", p->rows, names);
}

/* When a pattern is of no task, or of no row of those: says what there would be. */
static int check_patterns(const struct plan *p, struct failure *failure)
{
    int tasks = 0, rows = 0;
    for (size_t k = 0; k < p->tables; k++) {
        tasks |= task_wanted(p, &p->table[k]);
        for (size_t r = 0; r < p->table[k].rows; r++)
            rows |= row_wanted(p, &p->table[k], &p->table[k].row[r]);
    }
    if (!tasks)
        return no_tasks(p, failure);
    return rows ? 0 : no_rows(p, failure);
}

static int collect(const struct plan *p, struct job_list *list)
{
    size_t most = p->tables * PLAN_ROWS * PLAN_COLUMNS * p->seeds;
    list->cell = calloc(most ? most : 1, sizeof *list->cell);
    list->job = calloc(most ? most : 1, sizeof *list->job);
    if (list->cell == NULL || list->job == NULL)
        return -1;
    for (size_t k = 0; k < p->tables; k++)
        for (size_t r = 0; r < p->table[k].rows; r++)
            for (size_t c = 0; row_wanted(p, &p->table[k], &p->table[k].row[r]) && c < p->table[k].columns; c++)
                for (size_t seed = 0; seed < p->seeds; seed++)
                    list->cells += (size_t)plan_cell(p, &p->table[k], r, c, seed, &list->cell[list->cells]);
    return 0;
}

/* How long a job is likely to take, to begin with the longest. */
static double burden(const struct job_list *list, const struct job *job)
{
    const struct cell *last = &list->cell[job->first + job->count - 1];
    double width =
        last->spec.kind == METHOD_BAYESPCN || last->spec.kind >= METHOD_GPCN_OFFLINE ? (double)last->spec.hidden[0] : 1;
    return width * (double)last->length * (strcmp(last->dataset, "tiny-imagenet") == 0 ? 4 : 1);
}

static void sort_jobs(struct job_list *list)
{
    for (size_t i = 1; i < list->jobs; i++)
        for (size_t j = i; j > 0 && burden(list, &list->job[j]) > burden(list, &list->job[j - 1]); j--) {
            struct job other = list->job[j];
            list->job[j] = list->job[j - 1];
            list->job[j - 1] = other;
        }
}

int job_list_create(const struct plan *plan, const char *out, const char *data_dir, struct job_list *list,
                    struct failure *failure)
{
    char before[KEY_ROOM] = "", key[KEY_ROOM];
    *list = (struct job_list){.data_dir = data_dir};
    if (check_patterns(plan, failure) != 0)
        return -1;
    snprintf(list->out, sizeof list->out, "%s", out);
    if (make_folder(list->out, failure) != 0)
        return -1;
    if (results_open(list->out, &list->results, failure) != 0 ||
        rechecks_open(list->out, &list->rechecks, failure) != 0) {
        job_list_free(list);
        return -1;
    }
    if (collect(plan, list) != 0) {
        job_list_free(list);
        return failed(failure, "out of memory for the cells");
    }
    sort_cells(list);
    for (size_t i = 0; i < list->cells; i++) {
        stream_key(&list->cell[i], key, sizeof key);
        if (strcmp(key, before) != 0)
            list->job[list->jobs++] = (struct job){.first = i, .done = 1};
        list->job[list->jobs - 1].count++;
        list->job[list->jobs - 1].done &= cell_load(list, &list->cell[i], NULL);
        snprintf(before, sizeof before, "%s", key);
    }
    sort_jobs(list);
    return 0;
}

void job_list_free(struct job_list *list)
{
    results_free(list->results);
    rechecks_free(list->rechecks);
    free(list->cell);
    free(list->job);
    *list = (struct job_list){0};
}

/* ---- running */

static void announce(const struct job_list *list, const struct cell *cell, const struct record *record)
{
    char key[KEY_ROOM], error[32] = "";
    double mse = record_get(record, "mse");
    cell_key(cell, key, sizeof key);
    if (!isnan(mse)) /* some figures have none */
        snprintf(error, sizeof error, "mse %.6f, ", mse);
    if (list->verbose)
        fprintf(stderr, "%s: %s%.0f s written, %.0f s read\n", key, error, record_get(record, "write_seconds"),
                record_get(record, "read_seconds"));
}

/* A figure needs its pictures as well as its numbers, when they are wanted. */
static int is_there(const struct job_list *list, const struct cell *cell)
{
    return cell_load(list, cell, NULL) && (is_recall(cell->kind) || !list->pictures || pictures_there(list, cell)) &&
           (!list->again || cell_freshness(list, cell) <= VOUCHED);
}

static int run_recall(const struct cell *cell, struct stream *stream, struct record *record, struct failure *failure)
{
    stream->twice = cell->twice;
    if (stream_advance(stream, cell->length, failure) != 0 || stream_learn(stream, failure) != 0)
        return -1;
    int status =
        cell->kind == CELL_STREAM
            ? stream_measure_latest(stream, &cell->task, cell->objective, cell->latest, cell->limit, record, failure)
            : stream_measure(stream, &cell->task, cell->objective, cell->limit, record, failure);
    if (status == 0)
        note_learning(stream, record);
    return status;
}

static int run_cell(const struct job_list *list, const struct cell *cell, struct stream *stream,
                    struct failure *failure)
{
    struct record record = {0};
    int status = is_recall(cell->kind) ? run_recall(cell, stream, &record, failure)
                                       : pictures_run(list, cell, stream, &record, failure);
    if (status == 0 && (list->again || !cell_load(list, cell, NULL))) /* there: only the picture was missing */
        status = cell_save(list, cell, &record, failure);
    if (status == 0)
        announce(list, cell, &record);
    return status;
}

int cell_compute(const struct job_list *list, const struct cell *cell, struct record *record, struct failure *failure)
{
    struct method_spec spec = cell->spec;
    struct dataset dataset;
    struct stream stream;
    spec.threads = list->threads;
    if (dataset_load(cell->dataset, list->data_dir, cell->length, &dataset, failure) != 0)
        return -1;
    int status = stream_create(&stream, &dataset, &spec, failure);
    if (status == 0)
        status = run_recall(cell, &stream, record, failure);
    stream_free(&stream);
    dataset_free(&dataset);
    return status;
}

int job_run(const struct job_list *list, size_t number, struct failure *failure)
{
    const struct job *job = &list->job[number];
    const struct cell *cells = list->cell + job->first;
    struct method_spec spec = cells[0].spec;
    struct dataset dataset;
    struct stream stream;
    size_t longest = 0;
    if (results_read(list->results, failure) != 0)
        return -1;
    for (size_t i = 0; i < job->count; i++)
        if (!is_there(list, &cells[i]))
            longest = pictures_images(&cells[i]);
    if (longest == 0)
        return 0;
    spec.threads = list->threads;
    if (dataset_load(cells[0].dataset, list->data_dir, longest, &dataset, failure) != 0)
        return -1;
    int status = stream_create(&stream, &dataset, &spec, failure);
    for (size_t i = 0; status == 0 && i < job->count; i++)
        if (!is_there(list, &cells[i]))
            status = run_cell(list, &cells[i], &stream, failure);
    stream_free(&stream);
    dataset_free(&dataset);
    return status;
}

/* In a process of its own: a failure's sentence comes back through the pipe. */
static void run_apart(const struct job_list *list, size_t job, int to)
{
    struct failure failure = {""};
    if (job_run(list, job, &failure) == 0)
        _exit(0);
    ssize_t sent = write(to, failure.text, strlen(failure.text));
    _exit(sent < 0 ? 2 : 1);
}

static void take_sentence(int from, struct failure *failure)
{
    char text[sizeof failure->text];
    ssize_t n = read(from, text, sizeof text - 1);
    if (n > 0)
        failed(failure, "%.*s", (int)n, text);
    else
        failed(failure, "a process that computed cells was killed; run the same command again to go on");
}

int jobs_run(const struct job_list *list, size_t processes, struct failure *failure)
{
    size_t running = 0, next = 0;
    int status = 0, ends[2];
    if (pipe(ends) != 0)
        return failed(failure, "cannot make a pipe: %s", strerror(errno));
    while (running > 0 || (next < list->jobs && status == 0)) {
        if (running < processes && next < list->jobs && status == 0) {
            pid_t child = fork();
            if (child == 0)
                run_apart(list, next, ends[1]);
            if (child < 0)
                status = failed(failure, "cannot start a process: %s", strerror(errno));
            running += child > 0;
            next++;
            continue;
        }
        int result;
        if (wait(&result) < 0)
            break;
        running--;
        if ((!WIFEXITED(result) || WEXITSTATUS(result) != 0) && status == 0) {
            if (!WIFEXITED(result))
                status =
                    failed(failure, "a process that computed cells was killed; run the same command again to go on");
            else {
                take_sentence(ends[0], failure);
                status = -1;
            }
        }
    }
    close(ends[0]);
    close(ends[1]);
    return status;
}
