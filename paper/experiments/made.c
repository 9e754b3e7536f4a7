/* How a cell was made, and whether that is still how it would be. */
#include "made.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *const made_names[MADE_FIELDS] = {"commit", "kernels", "date", "cpu"};

const char *made_field(const struct made *m, size_t field)
{
    const char *const fields[MADE_FIELDS] = {m->commit, m->kernels, m->date, m->cpu};
    return fields[field];
}

static const char *take_field(const char *text, char *field, size_t room)
{
    size_t length = strcspn(text, ",");
    snprintf(field, room, "%.*s", (int)length, text);
    return text + length + (text[length] == ',');
}

void made_parse(const char *text, struct made *m)
{
    text = take_field(text, m->commit, sizeof m->commit);
    text = take_field(text, m->kernels, sizeof m->kernels);
    text = take_field(text, m->date, sizeof m->date);
    take_field(text, m->cpu, sizeof m->cpu);
}

void processor_name(char *name, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, room, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, room, "%.90s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file != NULL)
        fclose(file);
}

/* The kernels that a memory would have. */
static void kernels_name(char *name, size_t room)
{
    bpcn_options o;
    bpcn_memory *memory = NULL;
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_options_default(&o, sizeof o);
    o.dim = o.layers = o.hidden[0] = 1;
    if (bpcn_memory_create(&o, &memory) == BPCN_OK && bpcn_memory_get_stats(memory, &stats) == BPCN_OK)
        snprintf(name, room, "%s", stats.kernels);
    bpcn_memory_free(memory);
}

void made_here(const char *commit, struct made *m)
{
    time_t now = time(NULL);
    struct tm day;
    *m = (struct made){0};
    snprintf(m->commit, sizeof m->commit, "%s", commit);
    kernels_name(m->kernels, sizeof m->kernels);
    if (gmtime_r(&now, &day) == NULL || strftime(m->date, sizeof m->date, "%Y-%m-%d", &day) == 0)
        m->date[0] = '\0';
    processor_name(m->cpu, sizeof m->cpu);
    for (char *c = m->cpu; *c != '\0'; c++)
        *c = *c == ',' || *c == '"' ? ' ' : *c;
}

/* ---- freshness */

/* The protocol, of every method: */
#define PROTOCOL                                                                                                       \
    ":/paper/experiments/method.c", ":/paper/experiments/stream.c", ":/paper/experiments/task.c", ":/paper/experiments/scramble.h",            \
        ":/paper/experiments/dataset.c", ":/paper/experiments/tiny_order.c"

const char *const *method_paths(const struct method_spec *spec)
{
    static const char *const identity[] = {PROTOCOL, ":/paper/baselines/identity.c", NULL};
    static const char *const nearest[] = {PROTOCOL, ":/paper/baselines/nearest.c", ":/paper/baselines/kept.c", NULL};
    static const char *const mhn[] = {PROTOCOL, ":/paper/baselines/mhn.c", ":/paper/baselines/kept.c", NULL};
    /* a network of its own, searched by the library's minimisers; as the paper does it, it is read by a memory */
    static const char *const gpcn[] = {PROTOCOL, ":(top,glob)paper/baselines/gpcn*", ":/src/math", ":/src/infer", NULL};
    static const char *const gpcn_by_adam[] = {
        PROTOCOL, ":(top,glob)paper/baselines/gpcn*", ":/src/math", ":/src/model", ":/src/infer", ":/src/ops", ":/src/api",
        NULL};
    static const char *const bayespcn[] = {PROTOCOL,
                                           ":/paper/experiments/rounds.c",
                                           ":/paper/baselines/memory.c",
                                           ":/src/math",
                                           ":/src/model",
                                           ":/src/infer",
                                           ":/src/ops",
                                           ":/src/api",
                                           NULL};
    switch (spec->kind) {
    case METHOD_IDENTITY:
        return identity;
    case METHOD_NEAREST:
        return nearest;
    case METHOD_MHN:
        return mhn;
    case METHOD_GPCN_OFFLINE:
    case METHOD_GPCN_ONLINE:
        return spec->minimizer == BPCN_ADAM ? gpcn_by_adam : gpcn;
    default:
        return bayespcn;
    }
}

/* git rev-list -1 COMMIT..HEAD -- PATHS: whether anything is listed. */
static enum freshness ask_git(const char *commit, const char *const *paths, const char *folder)
{
    char range[64], line[8];
    const char *arguments[24] = {"git", "-C", folder, "rev-list", "-1", range, "--"};
    size_t count = 7;
    int ends[2], result = -1;
    snprintf(range, sizeof range, "%s..HEAD", commit);
    for (const char *const *path = paths; *path != NULL; path++)
        arguments[count++] = *path;
    if (pipe(ends) != 0)
        return UNTOLD;
    pid_t child = fork();
    if (child == 0) {
        if (dup2(ends[1], STDOUT_FILENO) >= 0 && freopen("/dev/null", "w", stderr) != NULL)
            execvp("git", (char *const *)arguments);
        _exit(127);
    }
    close(ends[1]);
    ssize_t listed = read(ends[0], line, sizeof line);
    close(ends[0]);
    if (child < 0 || waitpid(child, &result, 0) != child || !WIFEXITED(result) || WEXITSTATUS(result) != 0)
        return UNTOLD;
    return listed > 0 ? STALE : FRESH;
}

enum freshness freshness_of(const struct made *m, const char *const *paths, const char *folder, const char *own,
                            struct freshness_cache *cache)
{
    size_t digits = strspn(m->commit, "0123456789abcdef");
    if (digits < 7 || m->commit[digits] != '\0')
        return UNTOLD;
    if (strcmp(m->commit, own) == 0)
        return FRESH;
    for (size_t k = 0; k < cache->count; k++)
        if (cache->known[k].paths == paths && strcmp(cache->known[k].commit, m->commit) == 0)
            return cache->known[k].answer;
    enum freshness answer = ask_git(m->commit, paths, folder);
    if (cache->count < sizeof cache->known / sizeof cache->known[0]) {
        size_t at = cache->count++;
        snprintf(cache->known[at].commit, sizeof cache->known[at].commit, "%s", m->commit);
        cache->known[at].paths = paths;
        cache->known[at].answer = answer;
    }
    return answer;
}
