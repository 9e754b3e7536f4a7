/* A table as the model of a memory's rows. */
#include "like.h"

#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_LIKE = 440, OPT_COLUMN, OPT_IGNORE, OPT_MISSING, ROWS_LOOKED_AT = 10000 };

const struct option like_option_list[] = {{"like", required_argument, NULL, OPT_LIKE},
                                          {"column", required_argument, NULL, OPT_COLUMN},
                                          {"ignore", required_argument, NULL, OPT_IGNORE},
                                          {"missing", required_argument, NULL, OPT_MISSING},
                                          {NULL, 0, NULL, 0}};

static void add_wish(struct args *a, struct like *like, const char *name, size_t length, fmt_wish wish)
{
    fmt_wish *wishes = realloc(like->wishes, (like->wish_count + 1) * sizeof *wishes);
    like->wishes = wishes ? wishes : like->wishes;
    char **names = realloc(like->names, (like->wish_count + 1) * sizeof *names);
    like->names = names ? names : like->names;
    char *copy = strndup(name, length);
    if (wishes == NULL || names == NULL || copy == NULL) {
        free(copy);
        a->status = say_error(&a->say, "out of memory");
        return;
    }
    wish.name = names[like->wish_count] = copy;
    wishes[like->wish_count++] = wish;
}

/* The last : before `end` of text, or NULL. */
static const char *colon_before(const char *text, const char *end)
{
    while (end > text && end[-1] != ':')
        end--;
    return end > text ? end - 1 : NULL;
}

/* Two numbers that end the text after a colon each, as in NAME:number:37:12; *kind_end is then what is left. */
static bool parse_scaling(const char *text, const char **kind_end, fmt_wish *wish)
{
    const char *end = text + strlen(text), *second = colon_before(text, end);
    const char *first = second ? colon_before(text, second) : NULL;
    if (first == NULL || !fmt_parse_number(second + 1, (size_t)(end - second - 1), '.', &wish->scale) ||
        !fmt_parse_number(first + 1, (size_t)(second - first - 1), '.', &wish->centre))
        return false;
    *kind_end = first;
    return true;
}

/* NAME:KIND[:CENTRE:SCALE]; a name may have colons. */
static void parse_column(struct args *a, struct like *like)
{
    static const char *const kinds[] = {"number", "category", "ignored", NULL};
    static const fmt_column_kind meant[] = {FMT_NUMBER, FMT_CATEGORY, FMT_IGNORED};
    fmt_wish wish = {0};
    char word[16];
    const char *end = optarg + strlen(optarg);
    bool scaled = parse_scaling(optarg, &end, &wish);
    const char *colon = colon_before(optarg, end);
    size_t length = colon ? (size_t)(end - colon - 1) : 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), colon ? colon + 1 : "");
    int place = word_place(word, kinds);
    if (colon == NULL || place < 0 || (scaled && (place != 0 || !(wish.scale > 0)))) {
        a->status = say_usage(
            &a->say, "--column: '%s' is not NAME:number, NAME:number:CENTRE:SCALE, NAME:category or NAME:ignored",
            optarg);
        return;
    }
    wish.kind = meant[place];
    add_wish(a, like, optarg, (size_t)(colon - optarg), wish);
}

bool like_option(struct args *a, int c, struct like *like)
{
    switch (c) {
    case OPT_LIKE:
        like->path = optarg;
        return true;
    case OPT_COLUMN:
        parse_column(a, like);
        return true;
    case OPT_IGNORE:
        add_wish(a, like, optarg, strlen(optarg), (fmt_wish){.kind = FMT_IGNORED});
        return true;
    case OPT_MISSING:
        if (!fmt_words_add(&like->missing, optarg, strlen(optarg)))
            a->status = say_error(&a->say, "out of memory");
        return true;
    default:
        return false;
    }
}

int like_infer(const struct say *say, struct like *like)
{
    fmt_error error;
    bool standard = strcmp(like->path, "-") == 0;
    FILE *stream = standard ? stdin : fopen(like->path, "rb");
    if (stream == NULL)
        return say_error(say, "%s: cannot open: %s", like->path, strerror(errno));
    fmt_status status = fmt_infer(stream, standard ? "standard input" : like->path, like->wishes, like->wish_count,
                                  &like->missing, ROWS_LOOKED_AT, &like->found, &error);
    if (!standard)
        fclose(stream);
    return status == FMT_OK ? 0 : say_error(say, "%s", error.message);
}

void like_tell(const struct say *say, const struct like *like)
{
    const fmt_inference *f = &like->found;
    if (say->json) {
        printf(",\"rows_seen\":%zu,\"header\":%s,", f->rows, f->header ? "true" : "false");
        columns_json(stdout, &f->schema, &f->reason);
        return;
    }
    say_result(say, "columns of %s, by its first %zu row%s%s:\n", like->path, f->rows, f->rows == 1 ? "" : "s",
               f->header ? "" : " (it has no header)");
    columns_tell(say, &f->schema, &f->reason);
    if (f->far > 0)
        say_note(say,
                 "%zu of these values lie more than %g scales from their column's centre: rows with them are refused "
                 "unless written "
                 "with --clip",
                 f->far, FMT_FAR);
    else if (f->wide > 0)
        say_note(say,
                 "%zu of these values lie more than %g scales from their column's centre; --clip brings such to %g",
                 f->wide, FMT_CLIP, FMT_CLIP);
}

void like_free(struct like *like)
{
    for (size_t i = 0; i < like->wish_count; i++)
        free(like->names[i]);
    free(like->names);
    free(like->wishes);
    fmt_words_free(&like->missing);
    fmt_inference_free(&like->found);
    *like = (struct like){0};
}
