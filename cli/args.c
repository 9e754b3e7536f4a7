/* Options, numbers, and what an unknown word was probably meant to be. */
#include "args.h"

#include "help.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256 };

const char *const when_full_words[] = {"blur", "recycle", "refuse", NULL};

static const struct option common[] = {{"quiet", no_argument, NULL, 'q'},
                                       {"json", no_argument, NULL, OPT_JSON},
                                       {"help", no_argument, NULL, 'h'},
                                       {NULL, 0, NULL, 0}};

void args_add(struct args *a, const struct option *more)
{
    size_t letters = strlen(a->shorts);
    for (; more->name != NULL && a->count + 1 < ARGS_MOST; more++) {
        a->all[a->count++] = *more;
        if (more->val >= 128)
            continue;
        a->shorts[letters++] = (char)more->val;
        if (more->has_arg == required_argument)
            a->shorts[letters++] = ':';
    }
}

void args_begin(struct args *a, int argc, char **argv, const struct option *own)
{
    *a = (struct args){.console = console_default(argv[0]), .argc = argc, .argv = argv, .status = -1};
    a->shorts[0] = ':'; /* missing arguments are told apart from unknown options */
    args_add(a, own);
    args_add(a, common);
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
    const char *names[ARGS_MOST], *nearest = NULL;
    char word[64] = "";
    size_t count = 0;
    if (strncmp(given, "--", 2) == 0) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(given + 2, "="), given + 2);
        while (count < ARGS_MOST && a->all[count].name != NULL) {
            names[count] = a->all[count].name;
            count++;
        }
        nearest = nearest_word(word, names, count);
        if (nearest != NULL)
            a->status = console_usage(&a->console, "unknown option --%s; did you mean --%s?", word, nearest);
        else
            a->status = console_usage(&a->console, "unknown option --%s", word);
    } else {
        a->status = console_usage(&a->console, "unknown option -%c", optopt);
    }
}

int args_next(struct args *a)
{
    while (a->status < 0) {
        int c = getopt_long(a->argc, a->argv, a->shorts, a->all, NULL);
        if (c == '?')
            unknown_option(a, a->argv[optind > 0 ? optind - 1 : 0]);
        else if (c == ':')
            a->status = console_usage(&a->console, "%s needs a value", a->argv[optind - 1]);
        else if (c == 'h')
            a->status = help_command(stdout, a->argv[0]) == 0 ? console_flush(&a->console, EXIT_DONE) : EXIT_USAGE;
        else if (c == 'q')
            a->console.quiet = true;
        else if (c == OPT_JSON)
            a->console.json = true;
        else
            return c;
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

bool args_expect(struct args *a, int least, int most, const char *usage)
{
    int n = args_count(a);
    if (a->status >= 0)
        return false;
    if (n < least || n > most)
        a->status = console_usage(&a->console, "%s; usage: bpcn %s %s",
                                  n < least ? "something is missing" : "too many arguments", a->argv[0], usage);
    return a->status < 0;
}

double args_number(struct args *a, const char *what, const char *text, double least, double most)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && isfinite(value) && value >= least && value <= most)
        return value;
    if (most >= 1e30)
        a->status = console_usage(&a->console, "%s: '%s' is not a number of %g or more", what, text, least);
    else
        a->status = console_usage(&a->console, "%s: '%s' is not a number from %g to %g", what, text, least, most);
    return 0;
}

uint64_t args_whole(struct args *a, const char *what, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value >= least && value <= most)
        return value;
    if (most == UINT64_MAX)
        a->status = console_usage(&a->console, "%s: '%s' is not a whole number of %llu or more", what, text,
                                  (unsigned long long)least);
    else
        a->status = console_usage(&a->console, "%s: '%s' is not a whole number from %llu to %llu", what, text,
                                  (unsigned long long)least, (unsigned long long)most);
    return 0;
}

int word_place(const char *word, const char *const *list)
{
    for (int k = 0; list[k] != NULL; k++)
        if (strcmp(word, list[k]) == 0)
            return k;
    return -1;
}

const char *const *activation_words(void)
{
    enum { MOST = 32 };
    static const char *words[MOST + 1];
    for (int k = 0; k < MOST; k++)
        words[k] = bpcn_activation_name((bpcn_activation)k);
    return words;
}
