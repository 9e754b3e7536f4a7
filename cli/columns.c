/* Lists of columns. */
#include "columns.h"

#include <string.h>

enum { NAME_LEAST = 6, NAME_MOST = 32, WORDS_TOLD = 8 };

/* Characters, not bytes, of UTF-8. */
static int letters(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static int widest(const fmt_schema *s)
{
    int width = NAME_LEAST;
    for (size_t i = 0; i < s->count; i++)
        width = letters(s->column[i].name) > width ? letters(s->column[i].name) : width;
    for (size_t i = 0; i < s->ignored_count; i++)
        width = letters(s->ignored[i].name) > width ? letters(s->ignored[i].name) : width;
    return width < NAME_MOST ? width : NAME_MOST;
}

/* A name or word on one line. */
static const char *one_line(const char *text, char out[200])
{
    snprintf(out, 200, "%.199s", text);
    for (char *c = out; *c != '\0'; c++)
        *c = (unsigned char)*c < 0x20 || *c == 0x7F ? ' ' : *c;
    return out;
}

static void tell_name(const struct say *say, const char *name, int width)
{
    char line[200];
    int pad = width - letters(name[0] ? name : "(none)");
    say_result(say, "  %s%*s", name[0] ? one_line(name, line) : "(none)", pad > 0 ? pad : 0, "");
}

static void tell_column(const struct say *say, const fmt_column *c, int width)
{
    char shape[64], line[200];
    tell_name(say, c->name, width);
    fmt_column_shape(c, shape);
    if (c->kind == FMT_NUMBER)
        say_result(say, "  number    centre %g, scale %g", c->centre, c->scale);
    else if (c->kind == FMT_CATEGORY)
        say_result(say, "  category ");
    else
        say_result(say, "  %s  %s", c->kind == FMT_PICTURE ? "picture " : "vector  ", shape);
    for (size_t k = 0; k < c->words.count && k < WORDS_TOLD; k++)
        say_result(say, "%s %s", k ? "," : "", one_line(c->words.word[k], line));
    if (c->words.count > WORDS_TOLD)
        say_result(say, " and %zu more", c->words.count - WORDS_TOLD);
    say_result(say, "\n");
}

void columns_tell(const struct say *say, const fmt_schema *s, const fmt_words *reasons)
{
    int width = widest(s);
    for (size_t i = 0, ignored = 0; i <= s->count; i++) {
        size_t place = i < s->count ? s->column[i].cell : s->cells;
        for (; ignored < s->ignored_count && s->ignored[ignored].place <= place; ignored++) {
            tell_name(say, s->ignored[ignored].name, width);
            say_result(say, "  ignored  %s%s\n", reasons ? " " : "", reasons ? reasons->word[ignored] : "");
        }
        if (i < s->count)
            tell_column(say, &s->column[i], width);
    }
}

static void json_column(FILE *out, const fmt_column *c)
{
    static const char *const kinds[] = {"number", "category", "picture", "vector"};
    fputs("{\"name\":", out);
    json_string(out, c->name);
    fprintf(out, ",\"kind\":\"%s\",\"entries\":%zu", kinds[c->kind], c->size);
    if (fmt_column_in_table(c))
        fprintf(out, ",\"centre\":%.15g,\"scale\":%.15g", c->centre, c->scale);
    if (c->kind == FMT_PICTURE)
        fprintf(out, ",\"width\":%zu,\"height\":%zu,\"channels\":%zu", c->width, c->height, c->channels);
    for (size_t k = 0; k < c->words.count; k++) {
        fputs(k ? "," : ",\"words\":[", out);
        json_string(out, c->words.word[k]);
    }
    fputs(c->words.count ? "]}" : "}", out);
}

void columns_json(FILE *out, const fmt_schema *s, const fmt_words *reasons)
{
    fputs("\"columns\":[", out);
    for (size_t i = 0; i < s->count; i++) {
        fputs(i ? "," : "", out);
        json_column(out, &s->column[i]);
    }
    fputs("],\"ignored\":[", out);
    for (size_t i = 0; i < s->ignored_count; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        json_string(out, s->ignored[i].name);
        if (reasons != NULL) {
            fputs(",\"reason\":", out);
            json_string(out, reasons->word[i]);
        }
        putc('}', out);
    }
    putc(']', out);
}
