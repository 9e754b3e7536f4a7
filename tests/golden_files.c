/* JSON and tensors: see golden_files.h. */
#include "golden_files.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- JSON: recursive descent, at most MOST_DEEP levels */

enum { MOST_DEEP = 64 };

struct parser {
    const char *start, *at;
    const char *problem; /* set once something is wrong */
};

static struct json *parse_value(struct parser *p, int deep);

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
}

static int take(struct parser *p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0)
        return 0;
    p->at += n;
    return 1;
}

static struct json *make(struct parser *p, enum json_kind kind)
{
    struct json *value = calloc(1, sizeof *value);
    if (value == NULL)
        p->problem = "no memory";
    else
        value->kind = kind;
    return value;
}

/* \uXXXX below 128 only: the manifest's names are plain. */
static int unescape(struct parser *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *p->at++;
    const char *found = c == '\0' ? NULL : strchr(from, c);
    if (found != NULL)
        return to[found - from];
    unsigned code = 0;
    int used = 0;
    if (c == 'u' && sscanf(p->at, "%4x%n", &code, &used) == 1 && used == 4 && code > 0 && code < 128) {
        p->at += 4;
        return (int)code;
    }
    p->problem = "an escape that is not understood";
    p->at--;
    return -1;
}

static char *parse_text(struct parser *p)
{
    char *text = malloc(strlen(p->at) + 1);
    size_t n = 0;
    if (text == NULL || *p->at != '"') {
        p->problem = "a string was expected";
        free(text);
        return NULL;
    }
    p->at++;
    while (p->problem == NULL && *p->at != '"') {
        if ((unsigned char)*p->at < 0x20)
            p->problem = "a string has no end";
        else if (*p->at == '\\' && p->at++)
            text[n++] = (char)unescape(p);
        else
            text[n++] = *p->at++;
    }
    if (p->problem == NULL)
        p->at++;
    text[n] = '\0';
    return text;
}

/* The members after '{' or the elements after '['. */
static void parse_children(struct parser *p, struct json *parent, char end, int deep)
{
    struct json **tail = &parent->first;
    skip_space(p);
    if (*p->at == end && p->at++)
        return;
    while (p->problem == NULL) {
        char *key = NULL;
        skip_space(p);
        if (end == '}') {
            key = parse_text(p);
            skip_space(p);
            if (p->problem == NULL && !take(p, ":"))
                p->problem = "a colon was expected";
        }
        struct json *child = p->problem == NULL ? parse_value(p, deep + 1) : NULL;
        if (child == NULL) {
            free(key);
            return;
        }
        child->key = key;
        *tail = child;
        tail = &child->next;
        skip_space(p);
        if (*p->at == end && p->at++)
            return;
        if (p->problem == NULL && !take(p, ","))
            p->problem = "a comma was expected";
    }
}

static struct json *parse_number(struct parser *p)
{
    char *end = NULL;
    struct json *value = make(p, JSON_NUMBER);
    if (value == NULL)
        return NULL;
    value->number = strtod(p->at, &end);
    if (end == p->at || (*p->at != '-' && !isdigit((unsigned char)*p->at)))
        p->problem = "a value was expected";
    else
        p->at = end;
    return value;
}

static struct json *parse_value(struct parser *p, int deep)
{
    struct json *value = NULL;
    skip_space(p);
    if (deep > MOST_DEEP) {
        p->problem = "too deep";
        return NULL;
    }
    if (*p->at == '{' || *p->at == '[') {
        char open = *p->at++;
        value = make(p, open == '{' ? JSON_OBJECT : JSON_ARRAY);
        if (value != NULL)
            parse_children(p, value, open == '{' ? '}' : ']', deep);
    } else if (*p->at == '"') {
        value = make(p, JSON_STRING);
        if (value != NULL)
            value->text = parse_text(p);
    } else if (take(p, "null")) {
        value = make(p, JSON_NULL);
    } else if (strncmp(p->at, "true", 4) == 0 || strncmp(p->at, "false", 5) == 0) {
        value = make(p, JSON_BOOL);
        if (value != NULL)
            value->number = take(p, "true") ? 1 : (take(p, "false"), 0);
    } else {
        value = parse_number(p);
    }
    return value;
}

struct json *json_parse(const char *text, char *error, size_t room)
{
    struct parser p = {text, text, NULL};
    struct json *value = parse_value(&p, 0);
    skip_space(&p);
    if (p.problem == NULL && *p.at != '\0')
        p.problem = "something follows the value";
    if (p.problem == NULL)
        return value;
    snprintf(error, room, "%s at byte %zu", p.problem, (size_t)(p.at - p.start));
    json_free(value);
    return NULL;
}

void json_free(struct json *value)
{
    while (value != NULL) {
        struct json *next = value->next;
        json_free(value->first);
        free(value->text);
        free(value->key);
        free(value);
        value = next;
    }
}

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    long size = -1;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        data = malloc((size_t)size + 1);
    if (data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size) {
        data[size] = '\0';
        *bytes = (size_t)size;
    } else {
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

struct json *json_read(const char *path, char *error, size_t room)
{
    size_t bytes = 0;
    char *text = read_file(path, &bytes), reason[160];
    if (text == NULL) {
        snprintf(error, room, "%s cannot be read", path);
        return NULL;
    }
    struct json *value = json_parse(text, reason, sizeof reason);
    if (value == NULL)
        snprintf(error, room, "%s: %s", path, reason);
    free(text);
    return value;
}

const struct json *json_member(const struct json *object, const char *key)
{
    const struct json *child = object != NULL && object->kind == JSON_OBJECT ? object->first : NULL;
    while (child != NULL && strcmp(child->key, key) != 0)
        child = child->next;
    return child;
}

double json_number(const struct json *object, const char *key, double otherwise)
{
    const struct json *value = json_member(object, key);
    return value != NULL && value->kind == JSON_NUMBER ? value->number : otherwise;
}

const char *json_string(const struct json *object, const char *key, const char *otherwise)
{
    const struct json *value = json_member(object, key);
    return value != NULL && value->kind == JSON_STRING ? value->text : otherwise;
}

/* ---- tensors */

static int archive_of(const char *folder, const char *name, char *path, size_t room)
{
    snprintf(path, room, "%s/%s.npz", folder, name);
    return access(path, R_OK) == 0;
}

/* The TENSOR of a file called NAME.TENSOR.npy; 0: it is called otherwise. */
static size_t tensor_of(const char *file, const char *name, const char **tensor)
{
    size_t prefix = strlen(name) + 1, length = strlen(file);
    if (length <= prefix + 4 || strncmp(file, name, prefix - 1) != 0 || file[prefix - 1] != '.' ||
        strcmp(file + length - 4, ".npy") != 0)
        return 0;
    *tensor = file + prefix;
    return length - prefix - 4;
}

static bpcn_status loose_names(DIR *folder, const char *name, fmt_names *names)
{
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *tensor;
        size_t length = tensor_of(entry->d_name, name, &tensor);
        char **larger = length ? realloc(names->name, (names->count + 1) * sizeof *larger) : NULL;
        if (length == 0)
            continue;
        if (larger == NULL)
            return BPCN_NO_MEMORY;
        names->name = larger;
        names->name[names->count++] = strndup(tensor, length);
    }
    return BPCN_OK;
}

bpcn_status golden_names(const char *folder, const char *name, fmt_names *names)
{
    char path[1024];
    if (archive_of(folder, name, path, sizeof path))
        return fmt_npz_list(path, names);
    DIR *place = opendir(folder);
    *names = (fmt_names){0};
    bpcn_status status = place == NULL ? BPCN_IO : loose_names(place, name, names);
    if (status != BPCN_OK)
        bpcn_fail(BPCN_IO, "%s cannot be listed", folder);
    if (place != NULL)
        closedir(place);
    return status;
}

bpcn_status golden_tensor(const char *folder, const char *name, const char *tensor, fmt_array *array)
{
    char path[1024];
    if (archive_of(folder, name, path, sizeof path))
        return fmt_npz_read_f64(path, tensor, array);
    snprintf(path, sizeof path, "%s/%s.%s.npy", folder, name, tensor);
    return fmt_npy_read_f64(path, array);
}
