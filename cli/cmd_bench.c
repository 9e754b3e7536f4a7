/*
 * bpcn bench: what reads and writes cost on this machine, against what it can do at most and
 * against the paper's schedule, and how the cost grows.
 */
#include "args.h"
#include "bayespcn.h"
#include "bench/machine.h"
#include "bench/workload.h"
#include "formats.h"

#include <math.h>
#include <stdlib.h>

struct bench_run {
    struct console console;
    double gflops, stream;
    const char *path; /* of rows to measure with, or NULL */
};

static void put(const struct bench_run *b, const char *name, double value)
{
    if (b->console.json) {
        printf(", \"%s\": ", name);
        json_write_number(stdout, value);
    } else {
        printf("  %-32s %10.4g\n", name, value);
    }
}

static void print_timings(const struct bench_run *b, const char *data, const struct workload *w,
                          const struct timings *t)
{
    if (b->console.json)
        printf("{\"bench\": \"cost\", \"data\": \"%s\", \"dim\": %zu, \"hidden\": %zu, \"particles\": %zu", data,
               w->dim, w->hidden, w->particles);
    else
        printf("%s, hidden %zux3, %zu particle%s\n", data, w->hidden, w->particles, w->particles > 1 ? "s" : "");
    put(b, "peak_gflops", b->gflops);
    put(b, "stream_gbs", b->stream);
    put(b, "write_ms", t->write_ms);
    put(b, "write_evals", t->write_evals);
    put(b, "write_fraction_of_bandwidth", 1e-6 * t->write_bytes / t->write_ms / b->stream);
    put(b, "read_ms_per_query", t->batch_ms);
    put(b, "read_evals", t->batch_evals);
    put(b, "read_fraction_of_peak", 1e-9 * t->read_flops / (1e-3 * t->batch_ms) / b->gflops);
    put(b, "read_arithmetic_saved", 1 - t->read_flops / t->read_flops_plain);
    put(b, "auto_read_ms_per_query", t->auto_ms);
    put(b, "auto_read_evals", t->auto_evals);
    put(b, "single_read_ms", t->single_ms);
    put(b, "single_read_evals", t->single_evals);
    put(b, "speedup_over_paper_schedule_write", t->paper_write_ms / t->write_ms);
    put(b, "speedup_over_paper_schedule_hetero", t->paper_hetero_ms / t->batch_ms);
    put(b, "speedup_over_paper_schedule_auto", t->paper_auto_ms / t->auto_ms);
    put(b, "bytes", (double)t->bytes);
    printf(b->console.json ? "}\n" : "\n");
    fflush(stdout);
}

/* Slope of log y against log x by least squares. */
static double exponent(size_t n, const double *x, const double *y)
{
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (size_t i = 0; i < n; i++) {
        mx += log(x[i]) / (double)n;
        my += log(y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
    }
    return xy / xx;
}

/* One law of growth: what changes from run to run, and the exponents that follow. */
struct growth {
    const char *name;
    size_t count;
    size_t value[5];
    struct workload base;
    size_t offset; /* of the field of struct workload that takes the values */
};

static int print_growth(const struct bench_run *b, const struct growth *g)
{
    double x[5], write[5], read[5], bytes[5];
    for (size_t i = 0; i < g->count; i++) {
        struct workload w = g->base;
        struct timings t;
        *(size_t *)((char *)&w + g->offset) = g->value[i];
        const char *wrong = workload_run(&w, NULL, 0, &t);
        if (wrong != NULL)
            return console_error(&b->console, "%s", wrong);
        x[i] = (double)g->value[i];
        write[i] = t.write_ms / t.write_evals;
        read[i] = t.batch_ms;
        bytes[i] = (double)t.bytes;
        if (b->console.json)
            printf("{\"bench\": \"growth\", \"of\": \"%s\", \"value\": %zu, \"write_ms\": %.6g, "
                   "\"write_ms_per_evaluation\": %.6g, "
                   "\"read_ms_per_query\": %.6g, \"bytes\": %zu}\n",
                   g->name, g->value[i], t.write_ms, write[i], read[i], t.bytes);
        else
            printf("  %-10s %6zu  write %9.3f ms (%.4f ms per evaluation)  read %9.3f ms  %zu bytes\n", g->name,
                   g->value[i], t.write_ms, write[i], read[i], t.bytes);
        fflush(stdout);
    }
    double of_write = exponent(g->count, x, write), of_read = exponent(g->count, x, read);
    double of_bytes = exponent(g->count, x, bytes);
    if (b->console.json)
        printf("{\"bench\": \"exponents\", \"of\": \"%s\", \"write\": %.4g, \"read\": %.4g, \"bytes\": %.4g}\n",
               g->name, of_write, of_read, of_bytes);
    else
        printf("  %-10s exponents: an evaluation of a write %.2f, a read %.2f, bytes %.2f\n\n", g->name, of_write,
               of_read, of_bytes);
    return EXIT_DONE;
}

static int measure_growth(const struct bench_run *b)
{
    const struct growth growth[] = {
        {"writes", 5, {4, 16, 64, 256, 1024}, {3072, 128, 1, 0, 64, 0}, offsetof(struct workload, writes)},
        {"dim", 4, {768, 1536, 3072, 6144}, {0, 256, 1, 16, 64, 0}, offsetof(struct workload, dim)},
        {"hidden", 4, {128, 256, 512, 1024}, {3072, 0, 1, 16, 64, 0}, offsetof(struct workload, hidden)},
        {"particles", 3, {1, 2, 4}, {3072, 128, 0, 16, 64, 0}, offsetof(struct workload, particles)},
    };
    int status = EXIT_DONE;
    if (!b->console.json)
        printf("How the cost grows\n");
    for (size_t i = 0; status == EXIT_DONE && i < sizeof growth / sizeof *growth; i++)
        status = print_growth(b, &growth[i]);
    return status;
}

/* Measures one configuration, on the given rows if any. The machine's limits are measured before and after, because
   on a shared machine they change within minutes. */
static int measure_cost(struct bench_run *b, const char *data, const struct workload *w, const fmt_table *rows)
{
    struct timings t;
    double gflops = machine_peak_gflops(), stream = machine_stream_gbs();
    const char *wrong = workload_run(w, rows->data, rows->rows, &t);
    b->gflops = (gflops + machine_peak_gflops()) / 2;
    b->stream = (stream + machine_stream_gbs()) / 2;
    if (wrong != NULL)
        return console_error(&b->console, "%s", wrong);
    print_timings(b, data, w, &t);
    return EXIT_DONE;
}

static int measure_shapes(struct bench_run *b, const char *data, size_t dim, const fmt_table *rows)
{
    static const size_t hidden[] = {256, 1024}, particles[] = {1, 4};
    int status = EXIT_DONE;
    for (size_t h = 0; h < 2; h++)
        for (size_t n = 0; status == EXIT_DONE && n < 2; n++) {
            struct workload w = {dim, hidden[h], particles[n], 64, 256, 1};
            status = measure_cost(b, data, &w, rows);
        }
    return status;
}

/* Smooth random rows of the sizes of CIFAR-10 and Tiny ImageNet, or the rows of a file or folder. */
static int measure_costs(struct bench_run *b)
{
    fmt_table rows = {0};
    if (b->path == NULL) {
        int status = measure_shapes(b, "32x32x3", 3072, &rows);
        return status == EXIT_DONE ? measure_shapes(b, "64x64x3", 12288, &rows) : status;
    }
    fmt_options options = fmt_options_default();
    options.max_rows = 64 + 16;
    options.scale_bytes = true;
    if (fmt_read(b->path, &options, &rows) != BPCN_OK)
        return console_error(&b->console, "%s", bpcn_error());
    int status = rows.rows == options.max_rows ? measure_shapes(b, b->path, rows.dim, &rows)
                                               : console_error(&b->console, "%s has %zu rows; bench needs %zu", b->path,
                                                               rows.rows, options.max_rows);
    fmt_table_free(&rows);
    return status;
}

static int measure_machine(struct bench_run *b)
{
    bpcn_options o;
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_memory *memory;
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = 1;
    o.layers = 0;
    if (bpcn_memory_create(&o, &memory) || bpcn_memory_get_stats(memory, &stats))
        return console_error(&b->console, "%s", bpcn_error());
    bpcn_memory_free(memory);
    b->gflops = machine_peak_gflops();
    b->stream = machine_stream_gbs();
    if (b->gflops == 0 || b->stream == 0)
        return console_error(&b->console, "out of memory");
    if (b->console.json)
        printf("{\"bench\": \"machine\", \"peak_gflops\": %.5g, \"stream_gbs\": %.5g, \"kernels\": \"%s\"}\n",
               b->gflops, b->stream, stats.kernels);
    else
        printf("peak_gflops %.1f   stream_gbs %.1f   kernels: %s\n\n", b->gflops, b->stream, stats.kernels);
    return EXIT_DONE;
}

int cmd_bench(int argc, char **argv)
{
    struct args a;
    const char *path = NULL;
    args_begin(&a, argc, argv);
    for (int option; (option = args_next(&a)) != -1;)
        if (option == OPT_DATA)
            path = optarg;
    if (a.status != -1)
        return a.status;
    if (!args_expect(&a, 0, 0))
        return a.status;
    struct bench_run b = {.console = a.console, .path = path};
    int status = measure_machine(&b);
    if (status == EXIT_DONE)
        status = measure_costs(&b);
    if (status == EXIT_DONE)
        status = measure_growth(&b);
    return console_flush(&b.console, status);
}
