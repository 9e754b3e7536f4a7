/* What rounding does to the paper's method (compiled per precision; `make precision`). Three hidden layers, GELU, one
   particle, by the formulas of docs/MODEL.md alone: covariances stand as they are, and everything is kept in one
   precision, inner products of energies, which are added in double, once they are added. Matrix products, activations
   and Adam are the library's.
     precision32 DATA WIDTH SIGMA_W SIGMA_X SEED QUERIES LENGTH:TASKS ...
   Writes images up to each length and reads some of them back, such as cifar10 1024 5 0.01 0 16 1024:white0.2,drop0.25.
   Prints the errors, of noise also after the first round, and how many variances were not positive. */
#include "activation.h"
#include "alloc.h"
#include "matmul.h"
#include "cholesky.h"
#include "minimize.h"
#include "random.h"
#include "task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, STEPS = 500, ROUNDS = 30, QUERIES_MOST = 64 };

struct layer {
    size_t below;
    real *mean;                     /* [width x below] */
    real *covariance;               /* [width x width] */
    struct panels down, up, spread; /* mean, its transpose, the covariance: for reads of many rows */
};

struct network {
    size_t dim, width, code; /* entries of an image, of a layer and of all hidden layers */
    real sigma_x, top_variance, *top_mean;
    uint64_t seed, draws;
    struct layer layer[LAYERS];
    size_t not_positive;             /* variances */
    real *z, *slope, *spread, *pull; /* [QUERIES_MOST x width] */
    real *error;                     /* [QUERIES_MOST x the wider of dim and width] */
};

static void *room(size_t count, size_t size)
{
    void *p = alloc_zeroed(count, size);
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* Normal numbers of variance 1 / entries, each call others. */
static void draw(struct network *net, size_t n, size_t entries, real *out)
{
    uint64_t stream = random_stream(STREAM_START, 0, net->draws++);
    for (size_t j = 0; j < n; j++) {
        double normal;
        random_normals(net->seed, stream, j, 1, &normal);
        out[j] = (real)(normal / sqrt((double)entries));
    }
}

static void create(struct network *net, size_t dim, size_t width, double sigma_w, double sigma_x, uint64_t seed)
{
    real variance = (real)(sigma_w * sigma_w);
    *net = (struct network){.dim = dim,
                            .width = width,
                            .code = LAYERS * width,
                            .sigma_x = (real)sigma_x,
                            .top_variance = variance,
                            .seed = seed};
    for (size_t l = 0; l < LAYERS; l++) {
        struct layer *layer = &net->layer[l];
        layer->below = l == 0 ? dim : width;
        layer->mean = room(width * layer->below, sizeof(real));
        layer->covariance = room(width * width, sizeof(real));
        draw(net, width * layer->below, layer->below, layer->mean);
        for (size_t j = 0; j < width; j++)
            layer->covariance[j * width + j] = variance;
    }
    net->top_mean = room(width, sizeof(real));
    draw(net, width, width, net->top_mean);
    net->z = room(QUERIES_MOST * width, 4 * sizeof(real));
    net->slope = net->z + QUERIES_MOST * width;
    net->spread = net->slope + QUERIES_MOST * width;
    net->pull = net->spread + QUERIES_MOST * width;
    net->error = room(QUERIES_MOST * (dim > width ? dim : width), sizeof(real));
}

static struct panels panels_of(size_t rows, size_t columns, const real *m, int transposed)
{
    real *data = room(matmul_packed_entries(rows, columns, sizeof *data), sizeof *data);
    return matmul_pack(rows, columns, m, transposed, PANEL_FULL, data);
}

static void prepare(struct network *net)
{
    size_t width = net->width;
    for (size_t l = 0; l < LAYERS; l++) {
        struct layer *layer = &net->layer[l];
        layer->down = panels_of(width, layer->below, layer->mean, 0);
        layer->up = panels_of(layer->below, width, layer->mean, 1);
        layer->spread = panels_of(width, width, layer->covariance, 0);
    }
}

static void unprepare(struct network *net)
{
    for (size_t l = 0; l < LAYERS; l++) {
        free(net->layer[l].down.data);
        free(net->layer[l].up.data);
        free(net->layer[l].spread.data);
    }
}

/* ---- the energy */

/* What is minimised: points are codes, or codes and observations of which the unknown entries move. */
struct descent {
    struct network *net;
    const real *x0;             /* [n x dim]; NULL: they are in the points */
    const unsigned char *known; /* [n x dim] with them */
};

static size_t point_dim(const struct descent *d)
{
    return d->net->code + (d->x0 == NULL ? d->net->dim : 0);
}

static const real *target_of(const struct descent *d, size_t l, size_t i, const real *points)
{
    const real *point = points + i * point_dim(d);
    if (l > 0)
        return point + (l - 1) * d->net->width;
    return d->x0 != NULL ? d->x0 + i * d->net->dim : point + d->net->code;
}

/* z, f'(x), z U, the errors and e M' of layer l. */
static void products(const struct descent *d, size_t l, size_t n, const real *points)
{
    struct network *net = d->net;
    struct layer *layer = &net->layer[l];
    size_t width = net->width;
    for (size_t i = 0; i < n; i++)
        activation_apply(BPCN_GELU, 0, width, points + i * point_dim(d) + l * width, net->z + i * width,
                         net->slope + i * width);
    if (n == 1) {
        matmul_row(width, width, layer->covariance, net->z, net->spread);
        matmul_residual(NULL, width, layer->below, layer->mean, net->z, target_of(d, l, 0, points), NULL, net->error,
                        net->pull);
        return;
    }
    matmul(NULL, &layer->spread, n, net->z, net->spread);
    matmul(NULL, &layer->down, n, net->z, net->error);
    for (size_t i = 0; i < n; i++) {
        const real *target = target_of(d, l, i, points);
        for (size_t j = 0; j < layer->below; j++)
            net->error[i * layer->below + j] = target[j] - net->error[i * layer->below + j];
    }
    matmul(NULL, &layer->up, n, net->error, net->pull);
}

static real gaussian(size_t count, real squares, real s)
{
    return (real)0.5 * ((real)count * (real)log(6.283185307179586 * (double)s) + squares / s);
}

static void layer_terms(const struct descent *d, size_t l, size_t n, double *energy, real *grad)
{
    struct network *net = d->net;
    size_t width = net->width, below = net->layer[l].below;
    for (size_t i = 0; i < n; i++) {
        const real *z = net->z + i * width, *spread = net->spread + i * width, *e = net->error + i * below;
        real *up = grad + i * point_dim(d) + l * width, *down = NULL;
        real squares = (real)sum_of_squares(below, e);
        real s = net->sigma_x * net->sigma_x + (real)dot_wide(width, z, spread), weight = (real)below - squares / s;
        net->not_positive += !(s > 0);
        energy[i] = (double)((real)energy[i] + gaussian(below, squares, s));
        for (size_t j = 0; j < width; j++)
            up[j] = net->slope[i * width + j] * (weight * spread[j] - net->pull[i * width + j]) / s;
        if (l > 0)
            down = grad + i * point_dim(d) + (l - 1) * width;
        else if (d->x0 == NULL)
            down = grad + i * point_dim(d) + net->code;
        for (size_t j = 0; down != NULL && j < below; j++)
            down[j] = (l > 0 ? down[j] : 0) + (l > 0 || !d->known[i * below + j] ? e[j] / s : 0);
    }
}

static void evaluate(void *context, size_t n, const size_t *rows, const real *points, double *energy, real *grad)
{
    const struct descent *d = context;
    struct network *net = d->net;
    size_t width = net->width, top = net->code - width;
    real s = net->sigma_x * net->sigma_x + net->top_variance;
    (void)rows; /* Adam asks for all of them */
    memset(energy, 0, n * sizeof *energy);
    for (size_t l = 0; l < LAYERS; l++) {
        products(d, l, n, points);
        layer_terms(d, l, n, energy, grad);
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = i * point_dim(d) + top;
        real squares = 0;
        for (size_t j = 0; j < width; j++) {
            real e = points[at + j] - net->top_mean[j];
            squares += e * e;
            grad[at + j] += e / s;
        }
        energy[i] = (double)((real)energy[i] + gaussian(width, squares, s));
    }
}

static void descend(struct descent *d, size_t n, size_t steps, real *points)
{
    struct objective objective = {.context = d, .dim = point_dim(d), .evaluate = evaluate, .enter = adam_first_stage};
    struct adam_options how = {.rate = 0.01, .stop = 1e-3, .steps = steps};
    struct outcome outcome[QUERIES_MOST];
    for (size_t i = 0; i < n; i++)
        draw(d->net, d->net->code, d->net->width, points + i * point_dim(d));
    if (adam_minimize(&objective, n, &how, points, outcome, NULL) != BPCN_OK)
        exit(1);
}

/* ---- write and read */

static void update_layer(struct network *net, size_t l, const real *target)
{
    struct layer *layer = &net->layer[l];
    size_t width = net->width;
    real *gain = net->pull, s = net->sigma_x * net->sigma_x;
    matmul_row(width, width, layer->covariance, net->z, net->spread);
    s += (real)dot_wide(width, net->z, net->spread);
    for (size_t j = 0; j < width; j++)
        gain[j] = (real)dot_wide(width, layer->covariance + j * width, net->z) / s;
    matmul_residual(NULL, width, layer->below, layer->mean, net->z, target, NULL, net->error, NULL);
    matmul_add_outer(NULL, width, layer->below, gain, net->error, layer->mean);
    for (size_t j = 0; j < width; j++)
        axpy(width, -gain[j], net->spread, layer->covariance + j * width);
}

static void write_row(struct network *net, const real *x0)
{
    size_t width = net->width, top = net->code - width;
    real *code = room(net->code, sizeof *code);
    real noise = net->sigma_x * net->sigma_x, variance = 1 / (1 / net->top_variance + 1 / noise);
    struct descent d = {.net = net, .x0 = x0};
    descend(&d, 1, STEPS, code);
    for (size_t l = 0; l < LAYERS; l++) {
        activation_apply(BPCN_GELU, 0, width, code + l * width, net->z, net->slope);
        update_layer(net, l, target_of(&d, l, 0, code));
    }
    for (size_t j = 0; j < width; j++)
        net->top_mean[j] = variance * (net->top_mean[j] / net->top_variance + code[top + j] / noise);
    net->top_variance = variance;
    free(code);
}

/* x [n x dim]: queries in, answers out; first [n x dim] gets the answers after one round. */
static void read_noisy(struct network *net, size_t n, real *x, real *first)
{
    struct descent d = {.net = net, .x0 = x};
    size_t width = net->width;
    real *codes = room(n, net->code * sizeof *codes);
    for (size_t round = 0; round < ROUNDS; round++) {
        descend(&d, n, STEPS, codes);
        for (size_t i = 0; i < n; i++)
            activation_apply(BPCN_GELU, 0, width, codes + i * net->code, net->z + i * width, net->slope + i * width);
        matmul(NULL, &net->layer[0].down, n, net->z, x);
        if (round == 0)
            memcpy(first, x, n * net->dim * sizeof *x);
    }
    free(codes);
}

/* The same with what is known held, in one descent. */
static void read_masked(struct network *net, size_t n, const unsigned char *known, real *x)
{
    struct descent d = {.net = net, .known = known};
    size_t dim = net->dim, both = point_dim(&d);
    real *points = room(n, both * sizeof *points);
    for (size_t i = 0; i < n; i++)
        memcpy(points + i * both + net->code, x + i * dim, dim * sizeof *x);
    descend(&d, n, ROUNDS * STEPS, points);
    for (size_t i = 0; i < n; i++)
        memcpy(x + i * dim, points + i * both + net->code, dim * sizeof *x);
    free(points);
}

static double mean_error(const struct task *task, const struct dataset *data, size_t length, size_t n,
                         const unsigned char *known, const real *x)
{
    double sum = 0;
    float *answer = room(data->dim, sizeof *answer);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < data->dim; j++)
            answer[j] = (float)x[i * data->dim + j];
        sum += task_error(task, data->dim, known + i * data->dim, data->pixels + i * length / n * data->dim, answer);
    }
    free(answer);
    return sum / (double)n;
}

static void measure(struct network *net, const struct dataset *data, const struct task *task, size_t length, size_t n)
{
    size_t dim = data->dim;
    real *x = room(2 * n, dim * sizeof *x);
    float *query = room(dim, sizeof *query);
    unsigned char *known = room(n, dim);
    for (size_t i = 0; i < n; i++) {
        task_corrupt(task, data, i * length / n, net->seed, query, known + i * dim);
        for (size_t j = 0; j < dim; j++)
            x[i * dim + j] = (real)query[j];
    }
    if (task_has_mask(task))
        read_masked(net, n, known, x);
    else
        read_noisy(net, n, x, x + n * dim);
    printf("%zu images, %s: error %.6f", length, task->name, mean_error(task, data, length, n, known, x));
    if (!task_has_mask(task))
        printf(", after the first round %.6f", mean_error(task, data, length, n, known, x + n * dim));
    printf("; %zu variances not positive\n", net->not_positive);
    fflush(stdout);
    free(x);
    free(query);
    free(known);
}

static void write_until(struct network *net, const struct dataset *data, size_t *written, size_t length)
{
    real *x0 = room(data->dim, sizeof *x0);
    for (; *written < length; ++*written) {
        for (size_t j = 0; j < data->dim; j++)
            x0[j] = (real)data->pixels[*written * data->dim + j];
        write_row(net, x0);
    }
    free(x0);
}

int main(int argc, char **argv)
{
    struct dataset data;
    struct network net;
    struct failure failure;
    size_t written = 0, width = argc > 7 ? strtoul(argv[2], NULL, 10) : 0;
    size_t queries = argc > 7 ? strtoul(argv[6], NULL, 10) : 0;
    if (width == 0 || queries < 2 || queries > QUERIES_MOST) {
        fprintf(stderr, "usage: %s DATA WIDTH SIGMA_W SIGMA_X SEED QUERIES LENGTH:TASKS ...; 2 to %d queries\n",
                argv[0], QUERIES_MOST);
        return 2;
    }
    if (dataset_load(argv[1], NULL, 2048, &data, &failure) != 0) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    create(&net, data.dim, width, strtod(argv[3], NULL), strtod(argv[4], NULL), strtoul(argv[5], NULL, 10));
    for (int a = 7; a < argc; a++) {
        struct task tasks[TASKS_MOST];
        size_t count = 0;
        char *end;
        size_t length = strtoul(argv[a], &end, 10);
        if (*end != ':' || length < queries || length > data.count ||
            tasks_parse(end + 1, tasks, &count, &failure) != 0) {
            fprintf(stderr, "%s is no LENGTH:TASKS of %zu to %zu images\n", argv[a], queries, data.count);
            return 2;
        }
        write_until(&net, &data, &written, length);
        prepare(&net);
        for (size_t k = 0; k < count; k++)
            measure(&net, &data, &tasks[k], length, queries);
        unprepare(&net);
    }
    dataset_free(&data);
    return 0;
}
