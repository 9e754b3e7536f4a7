/* npz.c: .npz files, which are zip archives of .npy files: listing the arrays
 * and reading one by name. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* The length of an array's name without ".npy"; false when it is no array. */
static bool array_name(const fmti_zip_entry *entry, size_t *length)
{
    if (entry->name_size < 4 ||
        memcmp(entry->name + entry->name_size - 4, ".npy", 4) != 0)
        return false;
    *length = entry->name_size - 4;
    return true;
}

static bool same_name(const fmti_zip_entry *entry, const char *wanted)
{
    size_t length, wanted_length = strlen(wanted);
    if (!array_name(entry, &length))
        return false;
    if (wanted_length == entry->name_size)
        length = entry->name_size;
    return wanted_length == length && memcmp(entry->name, wanted, length) == 0;
}

/* Appends ", name" to a list that may already be full. */
static void list_name(char *list, size_t size, const fmti_zip_entry *entry,
                      size_t length)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%.*s", used == 0 ? "" : ", ",
             length > 60 ? 60 : (int)length, entry->name);
}

static fmt_status choose_failed(const fmti_source *source, const char *wanted,
                                size_t arrays, const char *list)
{
    if (arrays == 0)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "holds no arrays");
    if (wanted == NULL)
        return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                         "holds %zu arrays (%s); name the one to read", arrays, list);
    return fmti_fail(source->error, FMT_ERR_VALUE, source->name,
                     "holds no array '%.60s', only %s", wanted, list);
}

/* The entry named wanted, or the only one when wanted is NULL. */
static fmt_status choose(const fmti_source *source, const char *wanted,
                         fmti_zip_entry *chosen)
{
    fmti_zip zip;
    char list[160] = "";
    size_t arrays = 0, length;
    fmt_status status = fmti_zip_open(source, &zip);
    if (status != FMT_OK)
        return status;
    for (size_t i = 0; i < zip.count; i++) {
        fmti_zip_entry entry;
        status = fmti_zip_next(source, &zip, &entry);
        if (status != FMT_OK)
            return status;
        if (!array_name(&entry, &length))
            continue;
        if (wanted != NULL && same_name(&entry, wanted)) {
            *chosen = entry;
            return FMT_OK;
        }
        if (arrays++ == 0)
            *chosen = entry;
        list_name(list, sizeof list, &entry, length);
    }
    if (wanted == NULL && arrays == 1)
        return FMT_OK;
    return choose_failed(source, wanted, arrays, list);
}

/* A member's bytes may be no more than its numbers could need. */
static fmt_status check_member_size(const fmti_source *source,
                                    const fmti_zip_entry *entry)
{
    if (entry->size / 8 > source->options->max_values + 8192)
        return fmti_fail(source->error, FMT_ERR_LIMIT, source->name,
                         "unpacks to %zu bytes, more than the limit of %zu values",
                         entry->size, source->options->max_values);
    return FMT_OK;
}

/* Reads one member, as a table or as an array (the other being NULL). */
static fmt_status read_member(const fmti_source *source, const char *member,
                              fmt_table *table, fmt_array *array)
{
    fmti_zip_entry entry;
    const uint8_t *bytes;
    uint8_t *owned;
    fmt_status status = choose(source, member, &entry);
    if (status != FMT_OK)
        return status;
    char name[512]; /* "file.npz[member]", the file's end when it is long */
    size_t length = strlen(source->name);
    int kept = entry.name_size > 100 ? 100 : (int)entry.name_size;
    snprintf(name, sizeof name, "%s[%.*s]",
             source->name + (length > 380 ? length - 380 : 0), kept, entry.name);
    fmti_source inner = *source;
    inner.name = name;
    status = check_member_size(&inner, &entry);
    if (status == FMT_OK)
        status = fmti_zip_extract(&inner, &entry, &bytes, &owned);
    if (status != FMT_OK)
        return status;
    inner.data = bytes;
    inner.size = entry.size;
    status = table != NULL ? fmti_npy_read(&inner, table)
                           : fmti_npy_array(&inner, array);
    free(owned);
    return status;
}

fmt_status fmti_npz_read(const fmti_source *source, fmt_table *table)
{
    return read_member(source, source->options->member, table, NULL);
}

fmt_status fmt_npz_parse_f64(const uint8_t *data, size_t size, const char *name,
                             const char *member, fmt_array *array,
                             fmt_error *error)
{
    fmt_options options = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size, &options,
                          error};
    *array = (fmt_array){0};
    return read_member(&source, member, NULL, array);
}

fmt_status fmt_npz_read_f64(const char *path, const char *member,
                            fmt_array *array, fmt_error *error)
{
    fmt_options options = fmt_options_default();
    fmti_bytes bytes;
    *array = (fmt_array){0};
    fmt_status status = fmti_slurp(path, fmti_file_limit(&options), &bytes, error);
    if (status != FMT_OK)
        return status;
    status = fmt_npz_parse_f64(bytes.data, bytes.size, path, member, array, error);
    free(bytes.data);
    return status;
}

static fmt_status list_arrays(const fmti_source *source, fmti_zip *zip,
                              fmt_names *names)
{
    names->name = fmti_alloc(zip->count, sizeof(char *));
    if (names->name == NULL)
        return fmti_no_memory(source->error, source->name, zip->count);
    for (size_t i = 0; i < zip->count; i++) {
        fmti_zip_entry entry;
        size_t length;
        fmt_status status = fmti_zip_next(source, zip, &entry);
        if (status != FMT_OK)
            return status;
        if (!array_name(&entry, &length))
            continue;
        char *copy = strndup(entry.name, length);
        if (copy == NULL)
            return fmti_no_memory(source->error, source->name, length);
        names->name[names->count++] = copy;
    }
    return FMT_OK;
}

fmt_status fmt_npz_parse_list(const uint8_t *data, size_t size, const char *name,
                              fmt_names *names, fmt_error *error)
{
    fmt_options options = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size, &options,
                          error};
    fmti_zip zip;
    *names = (fmt_names){0};
    fmt_status status = fmti_zip_open(&source, &zip);
    if (status == FMT_OK)
        status = list_arrays(&source, &zip, names);
    if (status != FMT_OK)
        fmt_names_free(names);
    return status;
}

fmt_status fmt_npz_list(const char *path, fmt_names *names, fmt_error *error)
{
    fmt_options options = fmt_options_default();
    fmti_bytes bytes;
    *names = (fmt_names){0};
    fmt_status status = fmti_slurp(path, fmti_file_limit(&options), &bytes, error);
    if (status != FMT_OK)
        return status;
    status = fmt_npz_parse_list(bytes.data, bytes.size, path, names, error);
    free(bytes.data);
    return status;
}

void fmt_names_free(fmt_names *names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    *names = (fmt_names){0};
}
