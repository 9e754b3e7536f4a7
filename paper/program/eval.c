/* bpcn-paper eval: writes images into a method, reads them back corrupted, prints one line per task. */
#include "program.h"

#include "stream.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: bpcn-paper eval [options]\n"
    "\n"
    "Writes the first images of a dataset in order and reads them all back corrupted.\n"
    "\n"
    "  --data NAME            cifar10 (default), tiny-imagenet, mnist, fashion-mnist, or a path:\n"
    "                         a folder of PNG or JPEG images, an IDX file, a .npy array\n"
    "  --data-dir DIR         where datasets are; default $BPCN_DATA_DIR, else the user's data folder,\n"
    "                         ~/.local/share/bayespcn\n"
    "  --model NAME           bayespcn (default), identity, nearest, mhn, gpcn-offline, gpcn-online\n"
    "  --hidden W,W,...       widths of the hidden layers from the bottom; default 256,256,256\n"
    "  --activation NAME      gelu (default) or relu, tanh, linear\n"
    "  --particles N          default 1\n"
    "  --sigma-w S            prior standard deviation of the weights; default 1\n"
    "  --sigma-x S            noise of every layer; default 0.01\n"
    "  --shards K             networks of that shape that share the images out among them; default 1\n"
    "  --shard-rows R         images after which the next of them begins; default the lowest width\n"
    "  --length T             images to write; default 128\n"
    "  --tasks LIST           default white0.2,drop0.25,mask0.25\n"
    "  --seed N               draws the prior and the corruptions; default 0\n"
    "  --forget-every K --beta B   forget by B before writes K+1, 2K+1, ...; default never\n"
    "  --objective NAME       of a read: recall (default), marginal, or paper\n"
    "  --minimizer NAME       default, or adam: the paper's minimiser and schedule\n"
    "  --metric NAME          mhn: euclidean (default), dot, or paper: what the paper calls dot\n"
    "  --recall NAME          mhn: gradient (default, the paper's) or step\n"
    "  --rate R               mhn: of the gradient recall; default 1. The paper's high-noise table\n"
    "                         comes out with 0.005\n"
    "  --iterations N         gpcn-offline: weight steps; default 4000\n"
    "  --momentum M           gpcn-offline: of the steps after the first 50; default 0. With 0.9 it\n"
    "                         learns several times faster\n"
    "  --budget BYTES [--uint8]   nearest: keep only the latest images that fit\n"
    "  --limit-queries N      read back only N of the images, spread evenly\n"
    "  --threads N            threads of the matrix products; default one per core\n"
    "  --json                 one JSON object per task and line\n"
    "\n"
    "Columns: mse and mse_max (mean and largest error of an image on the scale [-1, 1]), accuracy\n"
    "(share of errors below 0.01), identity_mse (of the queries themselves), evaluations (of the\n"
    "energy, per query), above_stored (share of queries that ended more than 1 nat above the energy\n"
    "of the code the image was written with: the minimiser missed it), right (share of queries answered by\n"
    "the shard that the image was written to), seconds (learn: of gpcn-offline, which learns from all\n"
    "images together), bytes of the memory.\n";

struct request {
    const char *data, *data_dir;
    struct method_spec spec;
    size_t length, limit, task_count;
    struct task tasks[TASKS_MOST];
    bpcn_objective objective;
    int json;
};

enum {
    OPT_DATA = 256,
    OPT_DATA_DIR,
    OPT_MODEL,
    OPT_HIDDEN,
    OPT_ACTIVATION,
    OPT_PARTICLES,
    OPT_SIGMA_W,
    OPT_SIGMA_X,
    OPT_SHARDS,
    OPT_SHARD_ROWS,
    OPT_LENGTH,
    OPT_TASKS,
    OPT_SEED,
    OPT_FORGET_EVERY,
    OPT_BETA,
    OPT_OBJECTIVE,
    OPT_MINIMIZER,
    OPT_METRIC,
    OPT_RECALL,
    OPT_RATE,
    OPT_ITERATIONS,
    OPT_MOMENTUM,
    OPT_BUDGET,
    OPT_UINT8,
    OPT_LIMIT,
    OPT_THREADS,
    OPT_JSON,
    OPT_HELP
};

static const struct option options[] = {{"data", required_argument, NULL, OPT_DATA},
                                        {"data-dir", required_argument, NULL, OPT_DATA_DIR},
                                        {"model", required_argument, NULL, OPT_MODEL},
                                        {"hidden", required_argument, NULL, OPT_HIDDEN},
                                        {"activation", required_argument, NULL, OPT_ACTIVATION},
                                        {"particles", required_argument, NULL, OPT_PARTICLES},
                                        {"sigma-w", required_argument, NULL, OPT_SIGMA_W},
                                        {"sigma-x", required_argument, NULL, OPT_SIGMA_X},
                                        {"shards", required_argument, NULL, OPT_SHARDS},
                                        {"shard-rows", required_argument, NULL, OPT_SHARD_ROWS},
                                        {"length", required_argument, NULL, OPT_LENGTH},
                                        {"tasks", required_argument, NULL, OPT_TASKS},
                                        {"seed", required_argument, NULL, OPT_SEED},
                                        {"forget-every", required_argument, NULL, OPT_FORGET_EVERY},
                                        {"beta", required_argument, NULL, OPT_BETA},
                                        {"objective", required_argument, NULL, OPT_OBJECTIVE},
                                        {"minimizer", required_argument, NULL, OPT_MINIMIZER},
                                        {"metric", required_argument, NULL, OPT_METRIC},
                                        {"recall", required_argument, NULL, OPT_RECALL},
                                        {"rate", required_argument, NULL, OPT_RATE},
                                        {"iterations", required_argument, NULL, OPT_ITERATIONS},
                                        {"momentum", required_argument, NULL, OPT_MOMENTUM},
                                        {"budget", required_argument, NULL, OPT_BUDGET},
                                        {"uint8", no_argument, NULL, OPT_UINT8},
                                        {"limit-queries", required_argument, NULL, OPT_LIMIT},
                                        {"threads", required_argument, NULL, OPT_THREADS},
                                        {"json", no_argument, NULL, OPT_JSON},
                                        {"help", no_argument, NULL, OPT_HELP},
                                        {NULL, 0, NULL, 0}};

static int count_of(const char *text, const char *what, size_t *value, struct failure *failure)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-')
        return failed(failure, "%s must be a whole number, but is %s", what, text);
    *value = (size_t)number;
    return 0;
}

static int number_of(const char *text, const char *what, double *value, struct failure *failure)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*value))
        return failed(failure, "%s must be a number, but is %s", what, text);
    return 0;
}

/* The place of text among the words. */
static int word_of(const char *text, const char *what, const char *const *words, int *value, struct failure *failure)
{
    for (*value = 0; words[*value] != NULL; (*value)++)
        if (strcmp(words[*value], text) == 0)
            return 0;
    return failed(failure, "%s cannot be %s; see bpcn-paper eval --help", what, text);
}

static int take_word(struct request *r, int option, const char *text, struct failure *failure)
{
    static const char *const objectives[] = {"default", "marginal", "paper", "recall", NULL};
    static const char *const minimizers[] = {"default", "adam", NULL};
    static const char *const metrics[] = {"dot", "euclidean", "paper", NULL};
    static const char *const recalls[] = {"step", "gradient", NULL};
    const char *activations[32] = {NULL};
    int value = 0, status = 0;
    for (int k = 0; k < 31; k++)
        activations[k] = bpcn_activation_name((bpcn_activation)k);
    switch (option) {
    case OPT_ACTIVATION:
        status = word_of(text, "--activation", activations, &value, failure);
        r->spec.activation = (bpcn_activation)value;
        break;
    case OPT_OBJECTIVE:
        status = word_of(text, "--objective", objectives, &value, failure);
        r->objective = (bpcn_objective)value;
        break;
    case OPT_MINIMIZER:
        status = word_of(text, "--minimizer", minimizers, &value, failure);
        r->spec.minimizer = (bpcn_minimizer)value;
        break;
    case OPT_METRIC:
        status = word_of(text, "--metric", metrics, &value, failure);
        r->spec.metric = (enum mhn_metric)value;
        break;
    default:
        status = word_of(text, "--recall", recalls, &value, failure);
        r->spec.recall = (enum mhn_recall)value;
    }
    return status;
}

static int take_number(struct request *r, int option, const char *text, struct failure *failure)
{
    size_t count = 0;
    int status;
    switch (option) {
    case OPT_SIGMA_W:
        return number_of(text, "--sigma-w", &r->spec.sigma_w, failure);
    case OPT_SIGMA_X:
        return number_of(text, "--sigma-x", &r->spec.sigma_x, failure);
    case OPT_RATE:
        return number_of(text, "--rate", &r->spec.rate, failure);
    case OPT_BETA:
        return number_of(text, "--beta", &r->spec.beta, failure);
    case OPT_MOMENTUM:
        return number_of(text, "--momentum", &r->spec.momentum, failure);
    case OPT_PARTICLES:
        return count_of(text, "--particles", &r->spec.particles, failure);
    case OPT_SHARDS:
        return count_of(text, "--shards", &r->spec.shards, failure);
    case OPT_SHARD_ROWS:
        return count_of(text, "--shard-rows", &r->spec.shard_rows, failure);
    case OPT_LENGTH:
        return count_of(text, "--length", &r->length, failure);
    case OPT_FORGET_EVERY:
        return count_of(text, "--forget-every", &r->spec.forget_every, failure);
    case OPT_ITERATIONS:
        return count_of(text, "--iterations", &r->spec.iterations, failure);
    case OPT_BUDGET:
        return count_of(text, "--budget", &r->spec.budget, failure);
    case OPT_LIMIT:
        return count_of(text, "--limit-queries", &r->limit, failure);
    case OPT_SEED:
        status = count_of(text, "--seed", &count, failure);
        r->spec.seed = count;
        return status;
    default:
        status = count_of(text, "--threads", &count, failure);
        r->spec.threads = (int)(count < 4096 ? count : 4096);
        return status;
    }
}

/* 0: go on; 1: help was wanted; -1: failed. */
static int parse(int argc, char **argv, struct request *r, struct failure *failure)
{
    int option, status = tasks_parse("white0.2,drop0.25,mask0.25", r->tasks, &r->task_count, failure);
    optind = 1;
    while (status == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case OPT_DATA:
            r->data = optarg;
            break;
        case OPT_DATA_DIR:
            r->data_dir = optarg;
            break;
        case OPT_MODEL:
            status = method_parse(optarg, &r->spec.kind, failure);
            break;
        case OPT_HIDDEN:
            status = hidden_parse(optarg, &r->spec, failure);
            break;
        case OPT_TASKS:
            status = tasks_parse(optarg, r->tasks, &r->task_count, failure);
            break;
        case OPT_ACTIVATION:
        case OPT_OBJECTIVE:
        case OPT_MINIMIZER:
        case OPT_METRIC:
        case OPT_RECALL:
            status = take_word(r, option, optarg, failure);
            break;
        case OPT_UINT8:
            r->spec.store_bytes = 1;
            break;
        case OPT_JSON:
            r->json = 1;
            break;
        case OPT_HELP:
            return 1;
        case '?':
            return failed(failure, "see bpcn-paper eval --help");
        default:
            status = take_number(r, option, optarg, failure);
        }
    if (status == 0 && optind < argc)
        return failed(failure, "%s is not an option; see bpcn-paper eval --help", argv[optind]);
    if (status == 0 && r->length == 0)
        return failed(failure, "--length must be at least 1");
    return status;
}

static void show_progress(void *context, const char *what, size_t done, size_t total)
{
    (void)context;
    fprintf(stderr, "\r%-10s %zu/%zu   ", what, done, total);
    if (done == total)
        fprintf(stderr, "\r%40s\r", "");
    fflush(stderr);
}

static const char *const columns[] = {"mse",           "mse_max",      "accuracy", "identity_mse",
                                      "evaluations",   "above_stored", "right",    "write_seconds",
                                      "learn_seconds", "read_seconds", "bytes"};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* One shard is the right one. */
static double column_of(const struct request *r, const struct record *record, const char *column)
{
    if (strcmp(column, "right") == 0 && r->spec.kind == METHOD_BAYESPCN && r->spec.shards == 1)
        return 1;
    return record_get(record, column);
}

static void print_json(const struct request *r, const struct task *task, const struct record *record)
{
    printf("{\"model\": \"%s\", \"data\": \"%s\", \"task\": \"%s\", \"length\": %zu, \"queries\": %.0f, \"seed\": %llu",
           method_name(r->spec.kind), r->data, task->name, r->length, record_get(record, "queries"),
           (unsigned long long)r->spec.seed);
    for (size_t k = 0; k < COLUMNS; k++) {
        double value = column_of(r, record, columns[k]);
        if (isfinite(value))
            printf(", \"%s\": %.9g", columns[k], value);
        else
            printf(", \"%s\": null", columns[k]);
    }
    puts("}");
}

static void print_text(const struct request *r, const struct task *task, const struct record *record)
{
    printf("%-12s %-9s %6zu", method_name(r->spec.kind), task->name, r->length);
    for (size_t k = 0; k < COLUMNS; k++) {
        double value = column_of(r, record, columns[k]);
        if (strcmp(columns[k], "bytes") == 0)
            printf(" %13.0f", value);
        else if (isnan(value))
            printf(" %13s", "-");
        else
            printf(" %13.*f", k < 4 ? 6 : k == 4 ? 1 : 3, value);
    }
    putchar('\n');
}

static int run(const struct request *r, struct failure *failure)
{
    struct dataset dataset;
    struct stream stream;
    if (dataset_load(r->data, r->data_dir, r->length, &dataset, failure) != 0)
        return -1;
    int status = stream_create(&stream, &dataset, &r->spec, failure);
    if (isatty(STDERR_FILENO))
        stream.progress = show_progress;
    if (status == 0)
        status = stream_advance(&stream, r->length, failure);
    if (status == 0)
        status = stream_learn(&stream, failure);
    if (status == 0 && !r->json) {
        printf("%-12s %-9s %6s", "model", "task", "length");
        for (size_t k = 0; k < COLUMNS; k++)
            printf(" %13s", columns[k]);
        putchar('\n');
    }
    for (size_t k = 0; status == 0 && k < r->task_count; k++) {
        struct record record;
        status = stream_measure(&stream, &r->tasks[k], r->objective, r->limit, &record, failure);
        if (status == 0) {
            note_learning(&stream, &record);
            (r->json ? print_json : print_text)(r, &r->tasks[k], &record);
        }
        fflush(stdout);
    }
    stream_free(&stream);
    dataset_free(&dataset);
    return status;
}

int paper_eval(int argc, char **argv)
{
    struct request request = {.data = "cifar10", .spec = method_spec_default(), .length = 128};
    struct failure failure = {""};
    int status = parse(argc, argv, &request, &failure);
    if (status > 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (status == 0)
        status = run(&request, &failure);
    if (status != 0)
        fprintf(stderr, "bpcn-paper eval: %s\n", failure.text);
    return status == 0 ? 0 : 1;
}
