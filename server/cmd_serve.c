/* bpcn serve: a memory over HTTP, until it is told to stop. */
#include "args.h"
#include "commands.h"
#include "http.h"
#include "read_rows.h"
#include "progress.h"
#include "fullness.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_LISTEN = 500,
    OPT_TOKEN,
    OPT_TOKEN_FILE,
    OPT_HOST,
    OPT_ORIGIN,
    OPT_READ_ONLY,
    OPT_EXAMPLES,
    OPT_BODY,
    OPT_ROWS,
    OPT_CONNECTIONS,
    OPT_QUEUE,
    OPT_BATCH,
    OPT_GATHER,
    OPT_TIMEOUT,
    EXAMPLES_MOST = 256
};

static const struct option own[] = {{"listen", required_argument, NULL, OPT_LISTEN},
                                    {"token", required_argument, NULL, OPT_TOKEN},
                                    {"token-file", required_argument, NULL, OPT_TOKEN_FILE},
                                    {"allow-host", required_argument, NULL, OPT_HOST},
                                    {"allow-origin", required_argument, NULL, OPT_ORIGIN},
                                    {"read-only", no_argument, NULL, OPT_READ_ONLY},
                                    {"examples", required_argument, NULL, OPT_EXAMPLES},
                                    {"max-body", required_argument, NULL, OPT_BODY},
                                    {"max-rows", required_argument, NULL, OPT_ROWS},
                                    {"max-connections", required_argument, NULL, OPT_CONNECTIONS},
                                    {"queue", required_argument, NULL, OPT_QUEUE},
                                    {"batch", required_argument, NULL, OPT_BATCH},
                                    {"gather", required_argument, NULL, OPT_GATHER},
                                    {"timeout", required_argument, NULL, OPT_TIMEOUT},
                                    {NULL, 0, NULL, 0}};

struct serving {
    struct settings settings;
    char *examples; /* a file or folder, or NULL */
    struct memfile file;
    struct house house;
};

/* ---- arguments */

static void add_name(struct args *a, struct names *names, const char *option, const char *name)
{
    if (names->count == NAMES_MOST)
        a->status = say_usage(&a->say, "%s: at most %d of them", option, NAMES_MOST);
    else
        names->name[names->count++] = name;
}

static void set_token(struct args *a, char *token, const char *option, const char *text)
{
    size_t length = strlen(text);
    bool good = length >= 8 && length < TOKEN_MOST;
    for (size_t i = 0; i < length; i++)
        good = good && text[i] > ' ' && text[i] < 127;
    if (good)
        memcpy(token, text, length + 1);
    else
        a->status =
            say_usage(&a->say, "%s: a token is 8 to %d visible characters without spaces", option, TOKEN_MOST - 1);
}

static void read_token(struct args *a, char *token, const char *path)
{
    char line[2 * TOKEN_MOST] = "";
    FILE *in = fopen(path, "r");
    if (in == NULL || fgets(line, sizeof line, in) == NULL)
        a->status = say_error(&a->say, "%s: holds no token", path);
    if (in != NULL)
        fclose(in);
    line[strcspn(line, "\r\n")] = '\0';
    if (a->status < 0)
        set_token(a, token, "--token-file", line);
}

static void take_limit(struct args *a, struct settings *s, int c)
{
    if (c == OPT_BODY)
        s->most_body = args_whole(a, "--max-body", optarg, 1024, (uint64_t)1 << 32);
    else if (c == OPT_ROWS)
        s->most_rows = args_whole(a, "--max-rows", optarg, 1, 1000000);
    else if (c == OPT_CONNECTIONS)
        s->most_connections = args_whole(a, "--max-connections", optarg, 1, 10000);
    else if (c == OPT_QUEUE)
        s->most_waiting = args_whole(a, "--queue", optarg, 1, 100000);
    else if (c == OPT_BATCH)
        s->batch = args_whole(a, "--batch", optarg, 1, 1024);
    else if (c == OPT_GATHER)
        s->gather = args_number(a, "--gather", optarg, 0, 60000) / 1000;
    else
        s->timeout = (double)args_whole(a, "--timeout", optarg, 1, 3600);
}

static void take_option(struct args *a, struct serving *v, int c)
{
    struct settings *s = &v->settings;
    switch (c) {
    case OPT_LISTEN:
        s->listen = optarg;
        break;
    case OPT_TOKEN:
        set_token(a, s->token, "--token", optarg);
        break;
    case OPT_TOKEN_FILE:
        read_token(a, s->token, optarg);
        break;
    case OPT_HOST:
        add_name(a, &s->hosts, "--allow-host", optarg);
        break;
    case OPT_ORIGIN:
        add_name(a, &s->origins, "--allow-origin", optarg);
        break;
    case OPT_READ_ONLY:
        s->read_only = true;
        break;
    case OPT_EXAMPLES:
        v->examples = optarg;
        break;
    default:
        take_limit(a, s, c);
    }
}

/* ---- examples */

static int add_examples(const struct say *say, struct examples *e, const struct batch *batch, size_t dim)
{
    size_t rows = batch->rows < EXAMPLES_MOST - e->rows ? batch->rows : EXAMPLES_MOST - e->rows;
    float *more = realloc(e->x, (e->rows + rows) * dim * sizeof *more + 1);
    e->x = more != NULL ? more : e->x;
    char *names = realloc(e->names, (e->rows + rows) * NAME_ROOM + 1);
    e->names = names != NULL ? names : e->names;
    if (more == NULL || names == NULL)
        return say_error(say, "out of memory");
    memcpy(more + e->rows * dim, batch->x, rows * dim * sizeof *more);
    memset(names + e->rows * NAME_ROOM, 0, rows * NAME_ROOM);
    if (batch->names != NULL)
        memcpy(names + e->rows * NAME_ROOM, batch->names, rows * NAME_ROOM);
    e->rows += rows;
    return 0;
}

static int load_examples(const struct say *say, struct serving *v)
{
    struct input_options options = {.count = EXAMPLES_MOST, .resize = true};
    struct batch batch;
    int status = 0, more;
    if (v->examples == NULL)
        return 0;
    struct input *input = input_open(say, &v->file.remark.fields, &options, &v->examples, 1);
    if (input == NULL)
        return EXIT_FAILED;
    while (status == 0 && v->house.examples.rows < EXAMPLES_MOST && (more = input_next(input, &batch)) != 0) {
        status = more < 0 ? EXIT_FAILED : add_examples(say, &v->house.examples, &batch, v->file.remark.fields.dim);
        if (more > 0)
            batch_free(&batch);
    }
    input_close(input);
    return status;
}

/* ---- from here to the signal that ends it */

static void wait_for_signal(void)
{
    sigset_t set;
    int which;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigwait(&set, &which);
}

/* Before any thread is made, so that all leave the signals to wait_for_signal. */
static void hold_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int serve(const struct say *say, struct serving *v, struct place *place)
{
    v->house.settings = &v->settings;
    v->house.file = &v->file;
    v->house.engine = engine_start(&v->file, &v->settings);
    if (v->house.engine == NULL)
        return say_error(say, "out of memory");
    struct http *http = http_start(&v->house, place);
    if (http != NULL) {
        say_result(say, "http://%s:%u/\n", place->address, place->port);
        say_flush(say, EXIT_DONE);
        wait_for_signal();
        http_stop(http);
    }
    engine_stop(v->house.engine);
    return http != NULL ? 0 : say_error(say, "the server could not start");
}

/* Remembers how full the memory is now. */
static int leave(struct serving *v)
{
    return v->settings.read_only ? 0 : measure_fullness(&v->file, NULL) ? EXIT_FAILED : memfile_commit(&v->file);
}

static int open_and_serve(const struct say *say, struct serving *v, const char *path)
{
    struct place place;
    int status = listen_find(say, v->settings.listen, &place);
    if (status != 0)
        return status;
    if (!place.loopback && v->settings.token[0] == '\0')
        return say_usage(say, "--listen: %s can be reached by others; that wants --token or --token-file",
                         place.address);
    status = memfile_open(say, path, v->settings.read_only ? TO_LOOK : TO_CHANGE, &v->file);
    if (status != 0)
        return status;
    status = load_examples(say, v);
    if (status == 0)
        status = listen_open(say, &place);
    if (status == 0)
        status = serve(say, v, &place);
    if (status == 0)
        status = leave(v);
    free(v->house.examples.x);
    free(v->house.examples.names);
    memfile_close(&v->file);
    return status;
}

int cmd_serve(int argc, char **argv)
{
    struct args a;
    struct serving v = {.settings = {.listen = "127.0.0.1:8765",
                                     .most_body = 64 << 20,
                                     .most_rows = 4096,
                                     .most_connections = 128,
                                     .most_waiting = 256,
                                     .batch = 256,
                                     .gather = 0.001,
                                     .timeout = 30}};
    args_begin(&a, argc, argv, own);
    for (int c; (c = args_next(&a)) >= 0;)
        take_option(&a, &v, c);
    if (!args_expect(&a, 1, 1, "MEM [--listen ADDRESS:PORT] [OPTIONS]"))
        return a.status;
    hold_signals();
    return open_and_serve(&a.say, &v, args_rest(&a)[0]);
}
