/* Options, their values, and the nearest known word to an unknown one. */
#include "args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void args_begin(struct args *a, int argc, char **argv)
{
    *a = (struct args){.console = console_default(argv[0]),
                       .argc = argc,
                       .argv = argv,
                       .command = find_command(argv[0]),
                       .status = -1};
    size_t letters = 0;
    a->letters[letters++] = ':'; /* missing arguments are told apart from unknown options */
    for (size_t i = 0; i < option_count && a->count + 1 < ARGS_MOST; i++) {
        const struct option_entry *o = &option_entries[i];
        int argument = o->argument != NULL ? required_argument : no_argument;
        if (!command_has(a->command, o))
            continue;
        a->own[a->count] = o;
        a->all[a->count++] = (struct option){o->name, argument, NULL, (int)o->id};
        if (o->letter != 0)
            a->letters[letters++] = o->letter;
        if (o->letter != 0 && argument == required_argument)
            a->letters[letters++] = ':';
    }
    opterr = 0;
    optind = 0; /* glibc: start over, whatever was parsed before */
}

/* Edits (insert, delete, replace, swap neighbours) between two words. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t d[MOST + 1][MOST + 1], n = strlen(a), m = strlen(b);
    if (n > MOST || m > MOST)
        return MOST;
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *nearest_word(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 2;
    for (size_t i = 0; i < count; i++) {
        size_t edits = distance(word, candidates[i]);
        if (strlen(word) >= 2 && strncmp(word, candidates[i], strlen(word)) == 0)
            edits = edits > 1 ? 1 : edits; /* an unfinished word */
        if (edits < least) {
            least = edits;
            best = candidates[i];
        }
    }
    return best;
}

static void unknown_option(struct args *a, const char *given)
{
    const char *names[ARGS_MOST];
    if (strncmp(given, "--", 2) != 0) {
        a->status = console_usage(&a->console, "unknown option -%c", optopt);
        return;
    }
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(given + 2, "="), given + 2);
    for (size_t i = 0; i < a->count; i++)
        names[i] = a->own[i]->name;
    const char *nearest = nearest_word(word, names, a->count);
    a->status = console_usage(&a->console, "unknown option --%s%s%s%s", word, nearest ? "; did you mean --" : "",
                              nearest ? nearest : "", nearest ? "?" : "");
}

static void find_option(struct args *a, int c)
{
    for (size_t i = 0; i < a->count; i++)
        if (c == (int)a->own[i]->id || c == a->own[i]->letter)
            a->option = a->own[i];
}

int args_next(struct args *a)
{
    while (a->status < 0) {
        int c = getopt_long(a->argc, a->argv, a->letters, a->all, NULL);
        if (c < 0)
            return -1;
        if (c == '?') {
            unknown_option(a, a->argv[optind > 0 ? optind - 1 : 0]);
            continue;
        }
        if (c == ':') {
            a->status = console_usage(&a->console, "%s needs a value", a->argv[optind - 1]);
            continue;
        }
        find_option(a, c);
        if (a->option->id == OPT_HELP) {
            help_command(stdout, a->command);
            a->status = console_flush(&a->console, EXIT_DONE);
        } else if (a->option->id == OPT_QUIET) {
            a->console.quiet = true;
        } else if (a->option->id == OPT_JSON) {
            a->console.json = true;
        } else {
            return (int)a->option->id;
        }
    }
    return -1;
}

int args_count(const struct args *a)
{
    return a->argc - optind;
}

char **args_rest(const struct args *a)
{
    return a->argv + optind;
}

bool args_expect(struct args *a, int least, int most)
{
    int n = args_count(a);
    if (a->status >= 0)
        return false;
    if (n < least || n > most)
        a->status = console_usage(&a->console, "too %s arguments; usage: %s %s %s", n < least ? "few" : "many",
                                  program_name, a->command->name, a->command->usage);
    return a->status < 0;
}

bool args_only(struct args *a, int argc, char **argv, int least, int most)
{
    args_begin(a, argc, argv);
    while (args_next(a) >= 0)
        ;
    return args_expect(a, least, most);
}

double args_number(struct args *a, const char *text, double least, double most)
{
    const char *name = a->option->name;
    char *end;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && isfinite(value) && value >= least && value <= most)
        return value;
    if (most >= 1e30)
        a->status = console_usage(&a->console, "--%s: '%s' is not a number of %g or more", name, text, least);
    else
        a->status = console_usage(&a->console, "--%s: '%s' is not a number from %g to %g", name, text, least, most);
    return 0;
}

uint64_t args_whole(struct args *a, const char *text, uint64_t least, uint64_t most)
{
    const char *name = a->option->name;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value >= least && value <= most)
        return value;
    if (most == UINT64_MAX)
        a->status = console_usage(&a->console, "--%s: '%s' is not a whole number of %llu or more", name, text,
                                  (unsigned long long)least);
    else
        a->status = console_usage(&a->console, "--%s: '%s' is not a whole number from %llu to %llu", name, text,
                                  (unsigned long long)least, (unsigned long long)most);
    return 0;
}

int word_place(const char *word, size_t length, const char *words)
{
    for (int k = 0; *words != '\0'; k++) {
        size_t here = strcspn(words, " ");
        if (here == length && strncmp(words, word, length) == 0)
            return k;
        words += here + strspn(words + here, " ");
    }
    return -1;
}

int args_word(struct args *a)
{
    int place = word_place(optarg, strlen(optarg), a->option->words);
    if (place >= 0)
        return place;
    a->status = console_usage(&a->console, "--%s: '%s' is none of %s", a->option->name, optarg, a->option->words);
    return 0;
}
