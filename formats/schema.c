/* schema.c: columns put together, found, and freed. */
#include "schema.h"

#include "internal.h"

#include <stdlib.h>
#include <string.h>

void fmt_words_free(fmt_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->word[i]);
    free(words->word);
    *words = (fmt_words){0};
}

/* Room for one more: lists grow when their number is a power of two, or 0. */
static bool grow(void **list, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return true;
    void *more = realloc(*list, (count ? 2 * count : 1) * size);
    *list = more ? more : *list;
    return more != NULL;
}

bool fmt_words_add(fmt_words *words, const char *word, size_t size)
{
    void *list = words->word;
    bool good = grow(&list, words->count, sizeof *words->word);
    words->word = list;
    char *copy = good ? malloc(size + 1) : NULL;
    if (copy == NULL)
        return false;
    memcpy(copy, word, size);
    copy[size] = '\0';
    words->word[words->count++] = copy;
    return true;
}

static void free_column(fmt_column *column)
{
    free(column->name);
    fmt_words_free(&column->words);
}

void fmt_schema_free(fmt_schema *schema)
{
    if (schema == NULL)
        return;
    for (size_t i = 0; i < schema->count; i++)
        free_column(&schema->column[i]);
    for (size_t i = 0; i < schema->ignored_count; i++)
        free(schema->ignored[i].name);
    free(schema->column);
    free(schema->ignored);
    fmt_words_free(&schema->missing);
    *schema = (fmt_schema){0};
}

bool fmt_column_in_table(const fmt_column *column)
{
    return column->kind == FMT_NUMBER || column->kind == FMT_CATEGORY;
}

bool fmt_schema_is_table(const fmt_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++)
        if (fmt_column_in_table(&schema->column[i]))
            return true;
    return false;
}

const fmt_column *fmt_schema_find(const fmt_schema *schema, const char *name, size_t length)
{
    for (size_t i = 0; i < schema->count; i++)
        if (strlen(schema->column[i].name) == length && memcmp(schema->column[i].name, name, length) == 0)
            return &schema->column[i];
    return NULL;
}

const fmt_column *fmt_schema_picture(const fmt_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++)
        if (schema->column[i].kind == FMT_PICTURE)
            return &schema->column[i];
    return NULL;
}

static bool copy_column(const fmt_column *from, fmt_column *to)
{
    *to = *from;
    to->words = (fmt_words){0};
    to->name = strdup(from->name);
    bool good = to->name != NULL;
    for (size_t i = 0; good && i < from->words.count; i++)
        good = fmt_words_add(&to->words, from->words.word[i], strlen(from->words.word[i]));
    return good;
}

static void set_sizes(fmt_column *c)
{
    if (c->kind == FMT_NUMBER)
        c->size = 1;
    else if (c->kind == FMT_CATEGORY)
        c->size = c->words.count;
    else if (c->kind == FMT_PICTURE)
        c->size = c->width * c->height * c->channels;
    if (!fmt_column_in_table(c)) {
        c->centre = 0;
        c->scale = 1;
    }
    c->cells = fmt_column_in_table(c) ? 1 : c->size;
}

fmt_status fmt_schema_add(fmt_schema *schema, const fmt_column *column, fmt_error *error)
{
    if (fmt_schema_find(schema, column->name, strlen(column->name)) != NULL)
        return fmti_fail(error, FMT_ERR_VALUE, NULL, "two %s are called '%s'",
                         fmt_column_in_table(column) ? "columns" : "fields", column->name);
    void *list = schema->column;
    bool good = grow(&list, schema->count, sizeof *column);
    schema->column = list;
    fmt_column *c = good ? &schema->column[schema->count] : NULL;
    if (!good || !copy_column(column, c)) {
        if (good)
            free_column(c);
        return fmti_no_memory(error, column->name, sizeof *c);
    }
    set_sizes(c);
    if (c->size == 0 || c->size > FMT_MAX_ENTRIES - schema->dim) {
        free_column(c);
        return fmti_fail(error, FMT_ERR_LIMIT, column->name, "with it a row has %s entries",
                         c->size == 0 ? "no" : "more than 16777216");
    }
    c->offset = schema->dim;
    c->cell = schema->cells;
    schema->dim += c->size;
    schema->cells += c->cells;
    schema->count++;
    return FMT_OK;
}

fmt_status fmt_schema_ignore(fmt_schema *schema, const char *name, fmt_error *error)
{
    void *list = schema->ignored;
    bool good = grow(&list, schema->ignored_count, sizeof *schema->ignored);
    schema->ignored = list;
    char *copy = good ? strdup(name) : NULL;
    if (copy == NULL)
        return fmti_no_memory(error, name, strlen(name));
    schema->ignored[schema->ignored_count++] = (fmt_ignored){copy, schema->cells};
    return FMT_OK;
}

fmt_status fmt_schema_add_missing(fmt_schema *schema, const char *word, fmt_error *error)
{
    return fmt_words_add(&schema->missing, word, strlen(word)) ? FMT_OK : fmti_no_memory(error, word, strlen(word));
}
