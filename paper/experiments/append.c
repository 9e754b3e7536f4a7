/* One line more, under a lock. */
#include "append.h"

#include "formats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_ROOM = 8192 }; /* a heading and a line */

/* Where the last whole line ends; -1 when that cannot be told. */
static off_t end_of_lines(int file)
{
    struct stat about;
    char last = '\0';
    off_t end = fstat(file, &about) == 0 ? about.st_size : -1;
    while (end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n')
        end--;
    return end > 0 && last != '\n' ? -1 : end;
}

/* One write, and it is undone when it stops half-way. */
static int append(int file, const char *heading, const char *line)
{
    char text[TEXT_ROOM];
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fcntl(file, F_SETLKW, &whole) != 0)
        if (errno != EINTR)
            return -1;
    off_t end = end_of_lines(file);
    if (end < 0 || ftruncate(file, end) != 0)
        return -1;
    int length = snprintf(text, sizeof text, "%s%s%s\n", end == 0 ? heading : "", end == 0 ? "\n" : "", line);
    if (length < 0 || (size_t)length >= sizeof text) {
        errno = EOVERFLOW;
        return -1;
    }
    ssize_t done = write(file, text, (size_t)length);
    if (done == length && fsync(file) == 0)
        return 0;
    int reason = done < 0 || done == length ? errno : ENOSPC;
    if (ftruncate(file, end) == 0)
        errno = reason;
    return -1;
}

int append_line(const char *path, const char *heading, const char *line, struct failure *failure)
{
    if (fmt_check_output(path) != BPCN_OK)
        return failed(failure, "%s", bpcn_error());
    int file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int status = file >= 0 && append(file, heading, line) == 0 ? 0 : -1;
    if (status != 0)
        failed(failure, "cannot add a row to %s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return status;
}
