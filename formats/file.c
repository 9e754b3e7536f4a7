/* file.c: whole files in, whole files out. Reading takes a file to its end;
 * writing goes to a new file beside the target, which replaces the target only
 * when every byte is on disk. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No format spends more than 32 bytes on a value (a long CSV number), save for
 * headers and pictures of few pixels. */
size_t fmti_file_limit(const fmt_options *options)
{
    size_t limit;
    if (!fmti_multiply(options->max_values, 32, &limit) ||
        limit > SIZE_MAX / 4)
        return SIZE_MAX / 4;
    return limit + ((size_t)64 << 20);
}

static fmt_status grow(fmti_bytes *bytes, size_t *capacity, const char *name,
                       fmt_error *error)
{
    size_t wanted = *capacity < 32768 ? 65536 : *capacity * 2;
    uint8_t *larger = realloc(bytes->data, wanted);
    if (larger == NULL)
        return fmti_no_memory(error, name, wanted);
    bytes->data = larger;
    *capacity = wanted;
    return FMT_OK;
}

/* Reads to the end; hint is the size expected, 0 when unknown. */
static fmt_status slurp(FILE *stream, const char *name, size_t hint,
                        size_t limit, fmti_bytes *bytes, fmt_error *error)
{
    size_t capacity = hint + 1;
    bytes->size = 0;
    bytes->data = malloc(capacity);
    if (bytes->data == NULL)
        return fmti_no_memory(error, name, capacity);
    for (;;) {
        if (bytes->size == capacity) {
            fmt_status status = grow(bytes, &capacity, name, error);
            if (status != FMT_OK)
                return status;
        }
        size_t got = fread(bytes->data + bytes->size, 1,
                           capacity - bytes->size, stream);
        bytes->size += got;
        if (bytes->size > limit)
            return fmti_fail(error, FMT_ERR_LIMIT, name,
                             "is longer than the limit of %zu bytes", limit);
        if (got == 0)
            break;
    }
    if (ferror(stream))
        return fmti_fail_errno(error, name, "read", errno);
    return FMT_OK;
}

fmt_status fmti_slurp_stream(FILE *stream, const char *name, size_t limit,
                             fmti_bytes *bytes, fmt_error *error)
{
    fmt_status status = slurp(stream, name, 0, limit, bytes, error);
    if (status != FMT_OK) {
        free(bytes->data);
        *bytes = (fmti_bytes){0};
    }
    return status;
}

fmt_status fmti_slurp(const char *path, size_t limit, fmti_bytes *bytes,
                      fmt_error *error)
{
    *bytes = (fmti_bytes){0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fmti_fail_errno(error, path, "open", errno);
    struct stat info;
    size_t hint = 0;
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size > 0)
        hint = (uintmax_t)info.st_size < limit ? (size_t)info.st_size : limit;
    fmt_status status = slurp(file, path, hint, limit, bytes, error);
    if (status != FMT_OK) {
        free(bytes->data);
        *bytes = (fmti_bytes){0};
    }
    fclose(file);
    return status;
}

/* A new file beside target, with the rights of the file it will replace. Not
 * mkstemp: that would leave every file readable by its owner alone. */
static int open_beside(const char *target, char *temporary, size_t size,
                       const struct stat *old)
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

static fmt_status open_direct(const char *path, fmti_output *out)
{
    out->file = fopen(path, "ab"); /* of a stream nothing is cut off */
    if (out->file == NULL)
        return fmti_fail_errno(out->error, path, "open for writing", errno);
    return FMT_OK;
}

static fmt_status open_temporary(const char *path, const struct stat *old,
                                 fmti_output *out)
{
    /* A link stays a link: what it points at is replaced. */
    out->target = old != NULL ? realpath(path, NULL) : NULL;
    if (out->target == NULL)
        out->target = strdup(path);
    size_t size = (out->target != NULL ? strlen(out->target) : 0) + 64;
    out->temporary = malloc(size);
    if (out->target == NULL || out->temporary == NULL)
        return fmti_no_memory(out->error, path, size);
    int fd = open_beside(out->target, out->temporary, size, old);
    if (fd < 0) {
        int number = errno;
        free(out->temporary); /* nothing to remove */
        out->temporary = NULL;
        return fmti_fail_errno(out->error, path, "make a new file beside it", number);
    }
    out->file = fdopen(fd, "wb");
    if (out->file == NULL) {
        int number = errno;
        close(fd);
        return fmti_fail_errno(out->error, path, "open for writing", number);
    }
    return FMT_OK;
}

/* Names of what the process has open, and of nothing. */
static bool names_stream(const char *path)
{
    static const char *const names[] = {"/dev/null", "/dev/stdout", "/dev/stderr"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/proc/self/fd/", 14) == 0;
}

fmt_status fmt_check_output(const char *path, fmt_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0 || S_ISREG(info.st_mode) ||
        S_ISFIFO(info.st_mode) || names_stream(path))
        return FMT_OK;
    if (S_ISDIR(info.st_mode))
        return fmti_fail_errno(error, path, "write", EISDIR);
    return fmti_fail(error, FMT_ERR_IO, path,
                     "not a file: it is neither written to nor replaced");
}

fmt_status fmti_output_open(const char *path, fmti_output *out, fmt_error *error)
{
    *out = (fmti_output){.name = path, .owned = true, .error = error};
    struct stat info;
    bool exists = stat(path, &info) == 0;
    fmt_status status = fmt_check_output(path, error);
    if (status == FMT_OK &&
        (names_stream(path) || (exists && !S_ISREG(info.st_mode))))
        status = open_direct(path, out);
    else if (status == FMT_OK)
        status = open_temporary(path, exists ? &info : NULL, out);
    return status == FMT_OK ? FMT_OK : fmti_output_close(out, status);
}

void fmti_output_stream(FILE *stream, const char *name, fmti_output *out,
                        fmt_error *error)
{
    *out = (fmti_output){.file = stream, .error = error};
    out->name = name != NULL ? name : "(stream)";
}

fmt_status fmti_put(fmti_output *out, const void *data, size_t size)
{
    if (size == 0)
        return FMT_OK;
    errno = 0;
    if (fwrite(data, 1, size, out->file) != size)
        return fmti_fail_errno(out->error, out->name, "write", errno);
    return FMT_OK;
}

/* Every byte through to the disk, then the name. */
static fmt_status finish(fmti_output *out)
{
    if (fflush(out->file) != 0)
        return fmti_fail_errno(out->error, out->name, "write", errno);
    if (out->temporary == NULL)
        return FMT_OK;
    if (fsync(fileno(out->file)) != 0)
        return fmti_fail_errno(out->error, out->name, "write", errno);
    int failed = fclose(out->file);
    out->file = NULL;
    if (failed != 0)
        return fmti_fail_errno(out->error, out->name, "write", errno);
    if (rename(out->temporary, out->target) != 0)
        return fmti_fail_errno(out->error, out->name, "put the new file in place", errno);
    free(out->temporary);
    out->temporary = NULL;
    return FMT_OK;
}

fmt_status fmti_output_close(fmti_output *out, fmt_status status)
{
    if (status == FMT_OK)
        status = finish(out);
    if (out->owned && out->file != NULL && fclose(out->file) != 0 &&
        status == FMT_OK)
        status = fmti_fail_errno(out->error, out->name, "write", errno);
    if (out->temporary != NULL)
        unlink(out->temporary);
    free(out->temporary);
    free(out->target);
    *out = (fmti_output){0};
    return status;
}
