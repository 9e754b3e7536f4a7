/* bpcn serve: memories over HTTP, until a signal ends it. */
#include "args.h"
#include "http.h"
#include "read_rows.h"
#include "metrics.h"
#include "progress.h"
#include "fullness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXAMPLES_MOST = 256 };
static const double stop_seconds = 3; /* that requests which have begun are waited for at the end */

/* What a file was when it was opened, to see that it has changed. */
struct file_mark {
    dev_t device;
    ino_t inode;
    off_t size;
    time_t seconds;
    long nanoseconds;
};

struct serve {
    const struct console *console;
    struct settings settings;
    struct name_list examples; /* files or folders, each perhaps NAME=INPUT */
    struct server server;
    struct file_mark mark[MEMORIES_MOST];
    struct http *http;
};

/* ---- arguments */

static void add_to_list(struct args *a, struct name_list *list, const char *name)
{
    if (list->count == NAMES_MOST)
        a->status = console_usage(&a->console, "--%s: at most %d of them", a->option->name, NAMES_MOST);
    else
        list->name[list->count++] = name;
}

static void take_limit(struct args *a, struct settings *s, int c)
{
    if (c == OPT_MAX_BODY)
        s->most_body = args_whole(a, optarg, 1024, (uint64_t)1 << 32);
    else if (c == OPT_MAX_ROWS)
        s->most_rows = args_whole(a, optarg, 1, 1000000);
    else if (c == OPT_MAX_CONNECTIONS)
        s->most_connections = args_whole(a, optarg, 1, 10000);
    else if (c == OPT_QUEUE)
        s->most_waiting = args_whole(a, optarg, 1, 100000);
    else if (c == OPT_MAX_HELD)
        s->most_held = args_whole(a, optarg, 1 << 20, (uint64_t)1 << 40);
    else if (c == OPT_BATCH)
        s->batch = args_whole(a, optarg, 1, 1024);
    else if (c == OPT_GATHER)
        s->gather = args_number(a, optarg, 0, 60000) / 1000;
    else
        s->timeout = (double)args_whole(a, optarg, 1, 3600);
}

static void take_option(struct args *a, struct serve *v, int c)
{
    struct settings *s = &v->settings;
    switch (c) {
    case OPT_LISTEN:
        s->listen = optarg;
        break;
    case OPT_TOKEN_FILE:
        s->token_file = optarg;
        break;
    case OPT_ALLOW_HOST:
        add_to_list(a, &s->hosts, optarg);
        break;
    case OPT_ALLOW_ORIGIN:
        add_to_list(a, &s->origins, optarg);
        break;
    case OPT_READ_ONLY:
        s->read_only = true;
        break;
    case OPT_FOLLOW:
        s->follow = args_number(a, optarg, 0, 86400);
        break;
    case OPT_EXAMPLES:
        add_to_list(a, &v->examples, optarg);
        break;
    case OPT_LOG:
        s->log = optarg;
        break;
    default:
        take_limit(a, s, c);
    }
}

static bool is_memory_name(const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return length > 0 && length < MEMORY_NAME_ROOM && strspn(text, letters) >= length && text[0] != '.';
}

/* NAME=FILE, or a file whose name without its folder and its end is the memory's; -1 after a message. */
static int name_memory(const struct serve *v, struct served *m, const char *argument)
{
    const char *equals = strchr(argument, '='), *name = strrchr(argument, '/');
    name = name != NULL && name[1] != '\0' ? name + 1 : argument;
    size_t length = strcspn(name, ".");
    m->path = argument;
    if (equals != NULL && is_memory_name(argument, (size_t)(equals - argument))) {
        m->path = equals + 1;
        name = argument;
        length = (size_t)(equals - argument);
    }
    length = length > 0 && length < MEMORY_NAME_ROOM ? length : strlen("memory");
    if (is_memory_name(name, length))
        snprintf(m->name, sizeof m->name, "%.*s", (int)length, name);
    else
        snprintf(m->name, sizeof m->name, "memory");
    for (size_t i = 0; i < v->server.memories; i++)
        if (strcmp(v->server.memory[i].name, m->name) == 0)
            return console_usage(v->console, "two memories have the name '%s': give one as NAME=FILE", m->name);
    return 0;
}

/* ---- memories */

static bool mark_file(const char *path, struct file_mark *mark)
{
    struct stat there;
    if (stat(path, &there) != 0)
        return false;
    *mark = (struct file_mark){there.st_dev, there.st_ino, there.st_size, there.st_mtim.tv_sec, there.st_mtim.tv_nsec};
    return true;
}

static int add_examples(const struct console *console, struct examples *e, const struct batch *batch, size_t dim)
{
    size_t rows = batch->rows < EXAMPLES_MOST - e->rows ? batch->rows : EXAMPLES_MOST - e->rows;
    float *more = realloc(e->x, (e->rows + rows) * dim * sizeof *more + 1);
    e->x = more != NULL ? more : e->x;
    char *names = realloc(e->names, (e->rows + rows) * NAME_ROOM + 1);
    e->names = names != NULL ? names : e->names;
    if (more == NULL || names == NULL)
        return console_error(console, "out of memory");
    memcpy(more + e->rows * dim, batch->x, rows * dim * sizeof *more);
    memset(names + e->rows * NAME_ROOM, 0, rows * NAME_ROOM);
    if (batch->names != NULL)
        memcpy(names + e->rows * NAME_ROOM, batch->names, rows * NAME_ROOM);
    e->rows += rows;
    return 0;
}

/* "NAME=INPUT" for the memory of that name, otherwise an input for the first. */
static int load_examples(struct serve *v, const char *argument)
{
    struct input_options options = {.count = EXAMPLES_MOST, .resize = true};
    struct served *m = &v->server.memory[0];
    struct batch batch;
    int status = 0, more;
    for (size_t i = 0; i < v->server.memories; i++) {
        size_t length = strlen(v->server.memory[i].name);
        if (strncmp(argument, v->server.memory[i].name, length) == 0 && argument[length] == '=') {
            m = &v->server.memory[i];
            argument += length + 1;
            break;
        }
    }
    char *path = strdup(argument);
    struct input *input = path != NULL ? input_open(v->console, &m->schema, &options, &path, 1) : NULL;
    while (input != NULL && status == 0 && m->examples.rows < EXAMPLES_MOST &&
           (more = input_next(input, &batch)) != 0) {
        status = more < 0 ? EXIT_FAILED : add_examples(v->console, &m->examples, &batch, m->schema.dim);
        if (more > 0)
            batch_free(&batch);
    }
    if (input != NULL)
        input_close(input);
    free(path);
    return input != NULL ? status : EXIT_FAILED;
}

static int open_served(struct serve *v, const char *argument)
{
    struct served *m = &v->server.memory[v->server.memories];
    int status = name_memory(v, m, argument);
    if (status == 0) {
        mark_file(m->path, &v->mark[v->server.memories]);
        status = memory_file_open(v->console, m->path, v->settings.read_only ? TO_LOOK : TO_CHANGE, &m->file);
    }
    if (status != 0)
        return status;
    v->server.memories++;
    m->schema = m->file.note.fields;
    bpcn_status read = memory_file_options(&m->file, &m->options);
    return read == BPCN_OK ? 0 : memory_file_error(&m->file, read);
}

void server_tell_connections(const struct server *server, int more)
{
    for (size_t i = 0; i < server->memories; i++)
        worker_tell_connections(server->memory[i].worker, more);
}

/* ---- signals and what is done between them */

static int signal_pipe[2] = {-1, -1};

static void on_signal(int number)
{
    int before = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t written = write(signal_pipe[1], &byte, 1);
    (void)written;
    errno = before;
}

static bool catch_signals(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    if (pipe(signal_pipe) != 0)
        return false;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    return true;
}

/* Appends standard error to the log file, opened again because it may have been moved. */
static int open_log(const struct console *console, const char *path)
{
    int log = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640) : STDERR_FILENO;
    if (log < 0)
        return console_error(console, "%s: %s", path, strerror(errno));
    if (path != NULL && dup2(log, STDERR_FILENO) < 0)
        return console_error(console, "%s: %s", path, strerror(errno));
    if (path != NULL)
        close(log);
    return 0;
}

/* Opens a file that is only read again, and gives it to the worker. */
static void replace_memory(struct serve *v, size_t k)
{
    struct served *m = &v->server.memory[k];
    struct file_mark mark;
    struct memory_file opened;
    if (!mark_file(m->path, &mark) || memory_file_open(v->console, m->path, TO_LOOK, &opened) != 0)
        return;
    if (opened.note.fields.dim == m->schema.dim) {
        struct job job = {.kind = JOB_REPLACE, .replacement = &opened};
        if (worker_do(m->worker, &job) == WORKER_DONE)
            v->mark[k] = mark;
    } else {
        console_error(v->console, "%s: the file holds rows of another length now; the old memory is served", m->path);
        v->mark[k] = mark;
    }
    memory_file_close(&opened);
}

/* Files that are only read are followed; that the others are there is looked at. */
static void look_after_files(struct serve *v)
{
    for (size_t k = 0; k < v->server.memories; k++) {
        struct file_mark mark;
        worker_check_file(v->server.memory[k].worker);
        if (v->settings.read_only && v->settings.follow > 0 && mark_file(v->server.memory[k].path, &mark) &&
            memcmp(&mark, &v->mark[k], sizeof mark) != 0)
            replace_memory(v, k);
    }
}

/* SIGHUP: opens the log, the tokens and the files again. */
static void reload(struct serve *v)
{
    open_log(v->console, v->settings.log);
    if (v->settings.token_file != NULL && access_load_tokens(http_access(v->http), v->settings.token_file) != BPCN_OK)
        console_error(v->console, "%s", bpcn_error());
    for (size_t k = 0; k < v->server.memories; k++) {
        struct job job = {.kind = JOB_REOPEN, .rows = 1};
        if (v->settings.read_only)
            replace_memory(v, k);
        else
            worker_do(v->server.memory[k].worker, &job);
    }
}

static void wait_for_end(struct serve *v)
{
    struct pollfd p = {.fd = signal_pipe[0], .events = POLLIN};
    double follow = v->settings.follow > 0 ? v->settings.follow : 1, next = seconds_now() + follow;
    for (;;) {
        unsigned char number = 0;
        double left = next - seconds_now();
        int got = poll(&p, 1, left > 0 ? (int)(1000 * left) + 1 : 0);
        if (got > 0 && read(signal_pipe[0], &number, 1) == 1 && number != SIGHUP)
            return;
        if (number == SIGHUP)
            reload(v);
        if (seconds_now() >= next) {
            look_after_files(v);
            next = seconds_now() + follow;
        }
    }
}

/* ---- from here to the signal that ends it */

static int run_server(struct serve *v, const struct http_address *address)
{
    int status = 0;
    size_t workers = 0;
    v->server.settings = &v->settings;
    for (; workers < v->server.memories; workers++) {
        struct served *m = &v->server.memory[workers];
        m->worker = worker_start(m, &v->settings);
        if (m->worker == NULL) {
            status = console_error(v->console, "out of memory");
            break;
        }
    }
    if (status == 0 && http_start(&v->server, address, &v->http) != BPCN_OK)
        status = console_error(v->console, "%s", bpcn_error());
    if (status == 0) {
        console_print(v->console, "http://%s:%u/\n", address->text, address->port);
        console_flush(v->console, EXIT_DONE);
        wait_for_end(v);
        http_quiesce(v->http, stop_seconds);
        for (size_t k = 0; k < workers; k++)
            worker_abandon(v->server.memory[k].worker);
        http_free(v->http);
    }
    for (size_t k = 0; k < workers; k++) {
        struct served *m = &v->server.memory[k];
        bool open = worker_stop(m->worker);
        /* remembers how full the memory is now */
        if (status == 0 && open && !v->settings.read_only &&
            (measure_fullness(&m->file, NULL) != 0 || memory_file_commit(&m->file) != 0))
            status = EXIT_FAILED;
    }
    return status;
}

static int open_and_serve(struct serve *v, char **arguments, int count)
{
    struct http_address address;
    int status = open_log(v->console, v->settings.log);
    if (status != 0)
        return status;
    if (http_find_address(v->settings.listen, &address) != BPCN_OK)
        return console_usage(v->console, "%s", bpcn_error());
    if (!address.loopback && v->settings.token_file == NULL)
        return console_usage(v->console, "--listen: other machines can reach %s, so --token-file is required",
                             address.text);
    for (int k = 0; status == 0 && k < count; k++)
        status = open_served(v, arguments[k]);
    for (size_t k = 0; status == 0 && k < v->examples.count; k++)
        status = load_examples(v, v->examples.name[k]);
    if (status == 0 && http_listen(&address) != BPCN_OK)
        status = console_error(v->console, "%s", bpcn_error());
    if (status == 0)
        status = run_server(v, &address);
    for (size_t k = 0; k < v->server.memories; k++) {
        free(v->server.memory[k].examples.x);
        free(v->server.memory[k].examples.names);
        memory_file_close(&v->server.memory[k].file);
    }
    return status;
}

int cmd_serve(int argc, char **argv)
{
    struct args a;
    metrics_begin();
    struct serve *v = calloc(1, sizeof *v);
    args_begin(&a, argc, argv);
    if (v == NULL || !catch_signals())
        return console_error(&a.console, "out of memory");
    v->settings = (struct settings){.listen = "127.0.0.1:8765",
                                    .most_body = 64 << 20,
                                    .most_rows = 4096,
                                    .most_connections = 128,
                                    .most_waiting = 256,
                                    .most_held = 512 << 20,
                                    .batch = 256,
                                    .gather = 0.001,
                                    .timeout = 30,
                                    .follow = 1};
    for (int c; (c = args_next(&a)) >= 0;)
        take_option(&a, v, c);
    v->console = &a.console;
    int status = args_expect(&a, 1, MEMORIES_MOST) ? open_and_serve(v, args_rest(&a), args_count(&a)) : a.status;
    free(v);
    return status;
}
