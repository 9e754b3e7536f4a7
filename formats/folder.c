/* folder.c: a folder of pictures as one table, a row each, sorted by name. */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool fmt_is_picture_name(const char *name)
{
    static const char *const suffixes[] = {".png", ".jpg", ".jpeg", ".pgm",  ".ppm",  ".pnm", ".bmp",
                                           ".gif", ".tif", ".tiff", ".webp", ".heic", ".avif"};
    if (name[0] == '.')
        return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (fmti_has_suffix(name, suffixes[i]))
            return true;
    return false;
}

static bpcn_status add_name(fmt_names *names, size_t *room, const char *name, const fmti_source *source)
{
    if (names->count == *room) {
        size_t wanted = *room == 0 ? 64 : *room * 2;
        char **larger = realloc(names->name, wanted * sizeof *larger);
        if (larger == NULL)
            return fmti_no_memory(source->name, wanted);
        names->name = larger;
        *room = wanted;
    }
    char *copy = strdup(name);
    if (copy == NULL)
        return fmti_no_memory(source->name, strlen(name));
    names->name[names->count++] = copy;
    return BPCN_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bpcn_status list_pictures(const fmti_source *source, fmt_names *names)
{
    bpcn_status status = BPCN_OK;
    size_t room = 0;
    DIR *folder = opendir(source->name);
    if (folder == NULL)
        return fmti_fail_errno(source->name, "open", errno);
    while (status == BPCN_OK) {
        errno = 0;
        struct dirent *entry = readdir(folder);
        if (entry == NULL) {
            if (errno != 0)
                status = fmti_fail_errno(source->name, "read", errno);
            break;
        }
        if (fmt_is_picture_name(entry->d_name))
            status = add_name(names, &room, entry->d_name, source);
    }
    closedir(folder);
    if (status == BPCN_OK && names->count == 0)
        return fmti_fail(BPCN_FORMAT, source->name, "is a folder with no pictures (png, jpg, jpeg, pgm, ppm, pnm)");
    if (status == BPCN_OK)
        qsort(names->name, names->count, sizeof names->name[0], compare);
    return status;
}

static bpcn_status read_picture(const fmti_source *folder, const char *path, fmti_picture *picture)
{
    fmti_source source = *folder;
    fmti_bytes bytes;
    source.name = path;
    bpcn_status status = fmti_slurp(path, fmti_file_limit(folder->options), &bytes);
    if (status != BPCN_OK)
        return status;
    source.data = bytes.data;
    source.size = bytes.size;
    fmt_kind kind = fmt_recognise(path, bytes.data, bytes.size);
    const char *foreign = fmti_foreign_picture(bytes.data, bytes.size);
    if (foreign != NULL)
        status = fmti_refuse_picture(&source, foreign);
    else if (kind == FMT_PNG || kind == FMT_JPEG || kind == FMT_PNM)
        status = fmti_picture_read(&source, kind, picture);
    else
        status = fmti_fail(BPCN_FORMAT, path, "is named like a picture but is none");
    free(bytes.data);
    return status;
}

/* Row i of the table; the first picture fixes the shape of all. */
static bpcn_status keep_picture(const fmti_source *source, const char *path, const fmti_picture *p, size_t i,
                                size_t rows, fmt_table *table)
{
    if (i == 0) {
        bpcn_status status = fmti_table_alloc(source, rows, p->height * p->width * p->channels, table);
        if (status != BPCN_OK)
            return status;
        table->height = p->height;
        table->width = p->width;
        table->channels = p->channels;
    }
    if (p->height != table->height || p->width != table->width || p->channels != table->channels) {
        char is[64], wanted[64];
        fmti_describe(p->height, p->width, p->channels, is);
        fmti_describe(table->height, table->width, table->channels, wanted);
        return fmti_fail(BPCN_INVALID, path, "%s, but the pictures before it are %s", is, wanted);
    }
    memcpy(table->data + i * table->dim, p->data, table->dim * sizeof(float));
    return BPCN_OK;
}

static bpcn_status read_row(const fmti_source *source, const char *name, size_t i, size_t rows, fmt_table *table)
{
    fmti_picture picture = {0};
    size_t size = strlen(source->name) + strlen(name) + 2;
    char *path = malloc(size);
    if (path == NULL)
        return fmti_no_memory(source->name, size);
    snprintf(path, size, "%s/%s", source->name, name);
    bpcn_status status = read_picture(source, path, &picture);
    if (status == BPCN_OK)
        status = keep_picture(source, path, &picture, i, rows, table);
    fmti_picture_free(&picture);
    free(path);
    return status;
}

bpcn_status fmti_folder_read(const fmti_source *source, fmt_table *table)
{
    fmt_names names = {0};
    size_t first = 0, rows = 0;
    bpcn_status status = list_pictures(source, &names);
    if (status == BPCN_OK)
        status = fmti_select_rows(source, names.count, &first, &rows);
    if (status == BPCN_OK && rows == 0)
        status =
            fmti_fail(BPCN_INVALID, source->name, "has %zu pictures, so none from number %zu on", names.count, first);
    for (size_t i = 0; i < rows && status == BPCN_OK; i++)
        status = read_row(source, names.name[first + i], i, rows, table);
    fmt_names_free(&names);
    return status;
}
