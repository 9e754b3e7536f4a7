/* write.c: tables, arrays and pictures to files and streams. A file is written beside its target, which it replaces
 * when every byte is on the disk. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- outputs */

/* A new file beside the target, with the rights of the file that it will replace. Not mkstemp, whose files nobody but
 * their owner can read. */
static int open_beside(const char *target, char *temporary, size_t size, const struct stat *old)
{
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        snprintf(temporary, size, "%s.%ld-%u.tmp", target, (long)getpid(), attempt);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 && old != NULL && fchmod(fd, old->st_mode & 0777) != 0) {
            int number = errno;
            close(fd);
            unlink(temporary);
            errno = number;
            return -1;
        }
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bpcn_status open_temporary(const char *path, const struct stat *old, fmt_output *out)
{
    /* A link stays a link: the file that it points at is replaced. */
    out->target = old != NULL ? realpath(path, NULL) : NULL;
    if (out->target == NULL)
        out->target = strdup(path);
    size_t size = (out->target != NULL ? strlen(out->target) : 0) + 64;
    out->temporary = malloc(size);
    if (out->target == NULL || out->temporary == NULL)
        return fmti_no_memory(path, size);
    int fd = open_beside(out->target, out->temporary, size, old), number = errno;
    if (fd < 0) {
        free(out->temporary); /* nothing to remove */
        out->temporary = NULL;
        return fmti_fail_errno(path, "make a new file beside it", number);
    }
    out->file = fdopen(fd, "wb");
    if (out->file == NULL) {
        number = errno;
        close(fd);
        return fmti_fail_errno(path, "open for writing", number);
    }
    return BPCN_OK;
}

/* Names of streams that the process has open, and of the one that takes everything. */
static bool names_stream(const char *path)
{
    return strcmp(path, "/dev/null") == 0 || strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0 ||
           strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
}

bpcn_status fmt_check_output(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || names_stream(path))
        return BPCN_OK;
    if (S_ISDIR(info.st_mode))
        return fmti_fail_errno(path, "write", EISDIR);
    return fmti_fail(BPCN_IO, path, "is a device, which is neither written to nor replaced");
}

bpcn_status fmti_output_stream(FILE *stream, const char *name, fmt_output **out)
{
    *out = fmti_alloc(1, sizeof **out);
    if (*out == NULL)
        return fmti_no_memory(name, sizeof **out);
    **out = (fmt_output){.file = stream, .name = name};
    return BPCN_OK;
}

bpcn_status fmt_output_open(const char *path, fmt_output **to)
{
    struct stat info;
    bool exists = stat(path, &info) == 0, standard = strcmp(path, "-") == 0;
    bpcn_status status = fmti_output_stream(standard ? stdout : NULL, standard ? "standard output" : path, to);
    if (standard || status != BPCN_OK)
        return status;
    fmt_output *out = *to;
    out->owned = true;
    status = fmt_check_output(path);
    if (status == BPCN_OK && (names_stream(path) || (exists && !S_ISREG(info.st_mode)))) {
        out->file = fopen(path, "ab"); /* "wb" would cut off what a redirected stream has */
        if (out->file == NULL)
            status = fmti_fail_errno(path, "open for writing", errno);
    } else if (status == BPCN_OK) {
        status = open_temporary(path, exists ? &info : NULL, out);
    }
    if (status != BPCN_OK) {
        fmt_output_close(out, status);
        *to = NULL;
    }
    return status;
}

bpcn_status fmt_output_put(fmt_output *out, const void *data, size_t size)
{
    errno = 0;
    if (size > 0 && fwrite(data, 1, size, out->file) != size)
        return fmti_fail_errno(out->name, "write", errno);
    return BPCN_OK;
}

bpcn_status fmt_output_flush(fmt_output *out)
{
    errno = 0;
    return fflush(out->file) == 0 ? BPCN_OK : fmti_fail_errno(out->name, "write", errno);
}

bpcn_status fmt_output_close(fmt_output *out, bpcn_status status)
{
    if (out == NULL)
        return status;
    if (status == BPCN_OK && (fflush(out->file) != 0 || (out->temporary != NULL && fsync(fileno(out->file)) != 0)))
        status = fmti_fail_errno(out->name, "write", errno);
    if (out->owned && out->file != NULL && fclose(out->file) != 0 && status == BPCN_OK)
        status = fmti_fail_errno(out->name, "write", errno);
    if (status == BPCN_OK && out->temporary != NULL && rename(out->temporary, out->target) != 0)
        status = fmti_fail_errno(out->name, "put the new file in place", errno);
    if (status != BPCN_OK && out->temporary != NULL)
        unlink(out->temporary);
    free(out->temporary);
    free(out->target);
    free(out);
    return status;
}

/* ---- tables and pictures */

static bpcn_status choose_kind(const char *name, fmt_kind *kind)
{
    if (*kind == FMT_ANY)
        *kind = fmti_kind_by_suffix(name, true);
    if (*kind == FMT_ANY)
        return fmti_fail(BPCN_FORMAT, name,
                         "its suffix does not say what to write (.npy .npz .csv .raw .png .jpg .ppm .pgm)");
    if (*kind == FMT_IDX || *kind == FMT_CIFAR || *kind == FMT_FOLDER)
        return fmti_fail(BPCN_FORMAT, name, "%s is not written here", fmt_kind_name(*kind));
    return BPCN_OK;
}

static bool is_picture_kind(fmt_kind kind)
{
    return kind == FMT_PNG || kind == FMT_JPEG || kind == FMT_PNM;
}

static bpcn_status check_picture(const char *name, fmt_kind kind, size_t height, size_t width, size_t channels)
{
    if (!is_picture_kind(kind))
        return fmti_fail(BPCN_INVALID, name, "a picture is not written as %s", fmt_kind_name(kind));
    if (height == 0 || width == 0 || height > FMT_MAX_SIDE || width > FMT_MAX_SIDE || height * width > FMT_MAX_PIXELS)
        return fmti_fail(BPCN_REFUSED, name, "cannot write a picture of %zux%zu pixels", width, height);
    if (channels != 1 && channels != 3)
        return fmti_fail(BPCN_INVALID, name, "a picture has 1 or 3 channels, not %zu", channels);
    if ((fmti_has_suffix(name, ".pgm") && channels != 1) || (fmti_has_suffix(name, ".ppm") && channels != 3))
        return fmti_fail(BPCN_INVALID, name, "%s is for %s pictures", channels == 3 ? ".pgm" : ".ppm",
                         channels == 3 ? "grey" : "RGB");
    return BPCN_OK;
}

static bpcn_status check_writable(const char *name, fmt_kind *kind, const fmt_table *table)
{
    bpcn_status status = choose_kind(name, kind);
    if (status != BPCN_OK || !is_picture_kind(*kind))
        return status;
    if (table->rows != 1)
        return fmti_fail(BPCN_INVALID, name, "one picture can be written as %s, not %zu; use a grid or an array",
                         fmt_kind_name(*kind), table->rows);
    if (table->height * table->width * table->channels != table->dim)
        return fmti_fail(BPCN_INVALID, name, "a row of %zu values is not a picture", table->dim);
    return check_picture(name, *kind, table->height, table->width, table->channels);
}

static bpcn_status put_picture(fmt_output *out, fmt_kind kind, const float *data, size_t height, size_t width,
                               size_t channels)
{
    return kind == FMT_PNG    ? fmti_png_write(out, data, height, width, channels)
           : kind == FMT_JPEG ? fmti_jpeg_write(out, data, height, width, channels)
                              : fmti_pnm_write(out, data, height, width, channels);
}

static bpcn_status put_table(fmt_output *out, fmt_kind kind, const fmt_table *table)
{
    const fmt_member members[2] = {
        {"data", FMT_F32, 2, {table->rows, table->dim}, table->data},
        {"labels", FMT_U8, 1, {table->rows}, table->labels},
    };
    if (kind == FMT_NPY)
        return fmti_npy_write(out, &members[0]);
    if (kind == FMT_NPZ)
        return fmti_npz_write(out, members, table->labels != NULL ? 2 : 1, true);
    if (kind == FMT_CSV)
        return fmti_csv_write(out, table);
    if (kind == FMT_RAW)
        return fmti_raw_write(out, table->data, table->rows * table->dim);
    return put_picture(out, kind, table->data, table->height, table->width, table->channels);
}

bpcn_status fmt_write(const char *path, fmt_kind kind, const fmt_table *table)
{
    fmt_output *out = NULL;
    bpcn_status status = check_writable(path, &kind, table);
    if (status == BPCN_OK)
        status = fmt_output_open(path, &out);
    if (status == BPCN_OK)
        status = put_table(out, kind, table);
    return fmt_output_close(out, status);
}

bpcn_status fmt_write_stream(FILE *stream, const char *name, fmt_kind kind, const fmt_table *table)
{
    fmt_output *out = NULL;
    name = name != NULL ? name : "(stream)";
    bpcn_status status = check_writable(name, &kind, table);
    if (status == BPCN_OK)
        status = fmti_output_stream(stream, name, &out);
    if (status == BPCN_OK)
        status = put_table(out, kind, table);
    return fmt_output_close(out, status);
}

bpcn_status fmt_write_image(const char *path, fmt_kind kind, const float *data, size_t height, size_t width,
                            size_t channels)
{
    fmt_output *out = NULL;
    bpcn_status status = choose_kind(path, &kind);
    if (status == BPCN_OK)
        status = check_picture(path, kind, height, width, channels);
    if (status == BPCN_OK)
        status = fmt_output_open(path, &out);
    if (status == BPCN_OK)
        status = put_picture(out, kind, data, height, width, channels);
    return fmt_output_close(out, status);
}
