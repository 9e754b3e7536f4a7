/* The figures that are pictures. */
#include "pictures.h"

#include "formats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { UNSEEN = 16, UNSEEN_FROM = 1024, SAMPLES = 16, SHOWN = 4 }; /* unseen: images that no experiment writes */

/* The queries of the one-shot figure, left to right. */
static const char *const oneshot_tasks[] = {"white0",  "white0.2", "white0.4", "white0.8", "drop0.25",
                                            "drop0.5", "drop0.75", "mask0.25", "mask0.5",  "mask0.75"};
enum { ONESHOT = sizeof oneshot_tasks / sizeof oneshot_tasks[0] };

size_t pictures_images(const struct cell *cell)
{
    if (cell->kind == CELL_GENERALIZATION)
        return UNSEEN_FROM + UNSEEN;
    return cell->kind == CELL_ONESHOT && cell->length <= ONESHOT ? ONESHOT + 1 : cell->length;
}

void pictures_path(const struct job_list *list, const struct cell *cell, char *path, size_t room)
{
    char key[KEY_ROOM];
    cell_key(cell, key, sizeof key);
    snprintf(path, room, "%s/pictures/%s.png", list->out, key);
}

int pictures_there(const struct job_list *list, const struct cell *cell)
{
    char path[2048];
    struct stat status;
    pictures_path(list, cell, path, sizeof path);
    return stat(path, &status) == 0;
}

/* Draws rows x columns images [rows * columns x dim] as one picture. */
static int draw(const struct job_list *list, const struct cell *cell, const struct dataset *d, size_t rows,
                size_t columns, const float *images, struct failure *failure)
{
    char path[2048], folder[1200];
    fmt_grid grid;
    snprintf(folder, sizeof folder, "%s/pictures", list->out);
    pictures_path(list, cell, path, sizeof path);
    if (make_folder(folder, failure) != 0)
        return -1;
    if (fmt_grid_create(rows, columns, d->height, d->width, d->channels, 1, 1, &grid) != BPCN_OK)
        return failed(failure, "%s", bpcn_error());
    int status = 0;
    for (size_t i = 0; status == 0 && i < rows * columns; i++)
        status = fmt_grid_put(&grid, i / columns, i % columns, images + i * d->dim) != BPCN_OK;
    if (status == 0)
        status = fmt_write_image(path, FMT_PNG, grid.data, grid.height, grid.width, grid.channels) != BPCN_OK;
    fmt_grid_free(&grid);
    return status == 0 ? 0 : failed(failure, "%s", bpcn_error());
}

/* ---- one-shot recall */

/* Reads the ten queries of image 0 into a row of the picture, and their errors into the record. */
static int read_queries(struct stream *s, bpcn_objective objective, const float *queries, const unsigned char *known,
                        const char *when, float *answers, struct record *record, struct failure *failure)
{
    const struct dataset *d = s->dataset;
    for (size_t k = 0; k < ONESHOT; k++) {
        char name[RECORD_NAME];
        struct task task;
        struct read_report unused = {0};
        const unsigned char *mask = known + k * d->dim;
        if (task_parse(oneshot_tasks[k], &task, failure) != 0 ||
            method_read(&s->method, objective, queries + k * d->dim, task_has_mask(&task) ? mask : NULL, 1, NULL, NULL,
                        answers + k * d->dim, &unused, failure) != 0)
            return -1;
        snprintf(name, sizeof name, "%s_%s", when, oneshot_tasks[k]);
        record_set(record, name, task_error(&task, d->dim, mask, d->pixels, answers + k * d->dim));
    }
    return 0;
}

/* The ten queries of image 0. */
static int make_queries(const struct dataset *d, uint64_t seed, float *queries, unsigned char *known,
                        struct failure *failure)
{
    for (size_t k = 0; k < ONESHOT; k++) {
        struct task task;
        if (task_parse(oneshot_tasks[k], &task, failure) != 0)
            return -1;
        task_corrupt(&task, d, 0, seed, queries + k * d->dim, known + k * d->dim);
    }
    return 0;
}

static int oneshot(const struct job_list *list, const struct cell *cell, struct stream *s, struct record *record,
                   struct failure *failure)
{
    const struct dataset *d = s->dataset;
    size_t row = ONESHOT * d->dim;
    float *picture = calloc(5, row * sizeof *picture);
    unsigned char *known = calloc(1, row);
    int status = picture && known ? 0 : failed(failure, "out of memory");
    if (status == 0)
        status = make_queries(d, cell->spec.seed, picture, known, failure);
    if (status == 0)
        status = read_queries(s, cell->objective, picture, known, "before", picture + row, record, failure);
    if (status == 0)
        status = stream_advance(s, 1, failure);
    if (status == 0)
        status = read_queries(s, cell->objective, picture, known, "after", picture + 2 * row, record, failure);
    if (status == 0)
        memcpy(picture + 3 * row, d->pixels + d->dim, row * sizeof *picture);
    if (status == 0)
        status = stream_advance(s, cell->length, failure);
    if (status == 0)
        status = read_queries(s, cell->objective, picture, known, "later", picture + 4 * row, record, failure);
    if (status == 0)
        status = draw(list, cell, d, 5, ONESHOT, picture, failure);
    free(picture);
    free(known);
    return status;
}

/* ---- recall by length */

/* Rows of the picture: the queries of image 0, and what is read from them after all the writes. */
static int recalled(const struct job_list *list, const struct cell *cell, struct stream *s, struct record *record,
                    struct failure *failure)
{
    const struct dataset *d = s->dataset;
    size_t row = ONESHOT * d->dim;
    float *picture = calloc(2, row * sizeof *picture);
    unsigned char *known = calloc(1, row);
    int status =
        picture && known ? make_queries(d, cell->spec.seed, picture, known, failure) : failed(failure, "out of memory");
    if (status == 0)
        status = stream_advance(s, cell->length, failure);
    if (status == 0)
        status = read_queries(s, cell->objective, picture, known, "later", picture + row, record, failure);
    if (status == 0)
        status = draw(list, cell, d, 2, ONESHOT, picture, failure);
    free(picture);
    free(known);
    return status;
}

/* ---- what a metric makes of little */

/* Some images that are stored, spread evenly, of one task: queries, answers, and the mean error. */
static int read_shown(const struct cell *cell, struct stream *s, const struct task *task, float *queries,
                      float *answers, struct record *record, struct failure *failure)
{
    const struct dataset *d = s->dataset;
    struct read_report unused = {0};
    unsigned char *known = calloc(SHOWN, d->dim);
    char name[RECORD_NAME];
    double error = 0;
    int status = known ? 0 : failed(failure, "out of memory");
    for (size_t i = 0; status == 0 && i < SHOWN; i++)
        task_corrupt(task, d, i * cell->length / SHOWN, cell->spec.seed, queries + i * d->dim, known + i * d->dim);
    if (status == 0)
        status = method_read(&s->method, cell->objective, queries, task_has_mask(task) ? known : NULL, SHOWN, NULL,
                             NULL, answers, &unused, failure);
    for (size_t i = 0; status == 0 && i < SHOWN; i++)
        error += task_error(task, d->dim, known + i * d->dim, d->pixels + i * cell->length / SHOWN * d->dim,
                            answers + i * d->dim) /
                 SHOWN;
    snprintf(name, sizeof name, "later_%s", task->name);
    record_set(record, name, error);
    free(known);
    return status;
}

/* Rows of the picture: queries of three tasks, and what is read from them. */
static int metric(const struct job_list *list, const struct cell *cell, struct stream *s, struct record *record,
                  struct failure *failure)
{
    static const char *const tasks[] = {"white0.8", "drop0.75", "mask0.75"};
    const struct dataset *d = s->dataset;
    size_t part = SHOWN * d->dim, row = 3 * part;
    float *picture = calloc(2, row * sizeof *picture);
    int status = picture ? stream_advance(s, cell->length, failure) : failed(failure, "out of memory");
    for (size_t k = 0; status == 0 && k < 3; k++) {
        struct task task;
        status = task_parse(tasks[k], &task, failure);
        if (status == 0)
            status = read_shown(cell, s, &task, picture + k * part, picture + row + k * part, record, failure);
    }
    if (status == 0)
        status = draw(list, cell, d, 2, 3 * SHOWN, picture, failure);
    free(picture);
    return status;
}

/* ---- samples */

static double mean_square(size_t n, const float *a, const float *b)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) {
        double e = (double)a[j] - (b ? (double)b[j] : 0);
        sum += e * e;
    }
    return sum / (double)n;
}

/* mean_square: of the samples; nearest_mse: from a sample to the stored image nearest to it. */
static int samples(const struct job_list *list, const struct cell *cell, struct stream *s, struct record *record,
                   struct failure *failure)
{
    const struct dataset *d = s->dataset;
    struct read_report unused = {0};
    double energy = 0, distance = 0;
    float *drawn = calloc(SAMPLES + 1, d->dim * sizeof *drawn);
    int status = drawn ? stream_advance(s, cell->length, failure) : failed(failure, "out of memory");
    if (status == 0) /* an offline network trains at its first read */
        status = method_read(&s->method, BPCN_OBJECTIVE_DEFAULT, d->pixels, NULL, 1, NULL, NULL,
                             drawn + SAMPLES * d->dim, &unused, failure);
    if (status == 0)
        status = method_sample(&s->method, SAMPLES, cell->spec.seed, drawn, failure);
    for (size_t i = 0; status == 0 && i < SAMPLES; i++) {
        double least = INFINITY;
        for (size_t j = 0; j < cell->length; j++)
            least = fmin(least, mean_square(d->dim, drawn + i * d->dim, d->pixels + j * d->dim));
        energy += mean_square(d->dim, drawn + i * d->dim, NULL) / SAMPLES;
        distance += least / SAMPLES;
    }
    record_set(record, "mean_square", energy);
    record_set(record, "nearest_mse", distance);
    if (status == 0)
        status = draw(list, cell, d, 4, SAMPLES / 4, drawn, failure);
    free(drawn);
    return status;
}

/* ---- generalisation */

/* Rows of the picture: unseen images, what is read from them, the same with noise, what is read from those. */
static int generalization(const struct job_list *list, const struct cell *cell, struct stream *s, struct record *record,
                          struct failure *failure)
{
    static const char *const names[] = {"white0", "white0.2"};
    const struct dataset *d = s->dataset;
    size_t row = UNSEEN * d->dim, first = UNSEEN_FROM;
    float *picture = calloc(4, row * sizeof *picture);
    int status = picture ? stream_advance(s, cell->length, failure) : failed(failure, "out of memory");
    for (size_t k = 0; status == 0 && k < 2; k++) {
        struct task task;
        struct read_report unused = {0};
        double error = 0, identity = 0;
        float *queries = picture + 2 * k * row, *answers = queries + row;
        status = task_parse(names[k], &task, failure);
        for (size_t i = 0; status == 0 && i < UNSEEN; i++)
            task_corrupt(&task, d, first + i, cell->spec.seed, queries + i * d->dim, NULL);
        if (status == 0)
            status = method_read(&s->method, BPCN_OBJECTIVE_DEFAULT, queries, NULL, UNSEEN, NULL, NULL, answers,
                                 &unused, failure);
        for (size_t i = 0; status == 0 && i < UNSEEN; i++) {
            const float *truth = d->pixels + (first + i) * d->dim;
            error += mean_square(d->dim, truth, answers + i * d->dim) / UNSEEN;
            identity += mean_square(d->dim, truth, queries + i * d->dim) / UNSEEN;
        }
        record_set(record, k == 0 ? "clean_mse" : "noisy_mse", error);
        record_set(record, k == 0 ? "clean_identity" : "noisy_identity", identity);
    }
    if (status == 0)
        status = draw(list, cell, d, 4, UNSEEN, picture, failure);
    free(picture);
    return status;
}

int pictures_run(const struct job_list *list, const struct cell *cell, struct stream *s, struct record *record,
                 struct failure *failure)
{
    double start = clock_seconds(), before = s->write_seconds;
    static int (*const run[])(const struct job_list *, const struct cell *, struct stream *, struct record *,
                              struct failure *) = {[CELL_ONESHOT] = oneshot,
                                                   [CELL_SAMPLES] = samples,
                                                   [CELL_GENERALIZATION] = generalization,
                                                   [CELL_RECALLED] = recalled,
                                                   [CELL_METRIC] = metric};
    int status = run[cell->kind](list, cell, s, record, failure);
    record_set(record, "length", (double)cell->length);
    record_set(record, "write_seconds", s->write_seconds);
    record_set(record, "read_seconds", clock_seconds() - start - (s->write_seconds - before));
    return status;
}
