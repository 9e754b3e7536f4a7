/* Errors, notes and results; JSON strings; colours. */
#include "console.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct console console_default(const char *command)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;
    bool unwanted = no_color != NULL && no_color[0] != '\0';
    return (struct console){.command = command, .colour = isatty(STDOUT_FILENO) && !dumb && !unwanted};
}

static void prefix(const struct console *console)
{
    fflush(stdout);
    if (console->command != NULL)
        fprintf(stderr, "%s %s: ", program_name, console->command);
    else
        fprintf(stderr, "%s: ", program_name);
}

int console_error(const struct console *console, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flockfile(stderr); /* the server's threads print one line at a time */
    prefix(console);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(args);
    return EXIT_FAILED;
}

int console_usage(const struct console *console, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    prefix(console);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n(see: %s help%s%s)\n", program_name, console->command ? " " : "",
            console->command ? console->command : "");
    va_end(args);
    return EXIT_USAGE;
}

void console_note(const struct console *console, const char *format, ...)
{
    va_list args;
    if (console->quiet)
        return;
    va_start(args, format);
    prefix(console);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void console_warn(const struct console *console, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    prefix(console);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void console_print(const struct console *console, const char *format, ...)
{
    va_list args;
    if (console->quiet || console->json)
        return;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

const char *console_colour(const struct console *console, enum colour which)
{
    static const char *const codes[] = {"\033[0m", "\033[32m", "\033[33m", "\033[2m", "\033[1m"};
    return console->colour ? codes[which] : "";
}

size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80                   ? 1
               : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
               : s[0] >= 0xE0 && s[0] < 0xF0 ? 3
               : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

void json_write_string(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', out);
    while (*s != '\0') {
        size_t n = utf8_length(s);
        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7F)
            fprintf(out, "\\u%04x", *s);
        else if (n == 0)
            fputs("\\ufffd", out);
        else
            fwrite(s, 1, n, out);
        s += n > 0 ? n : 1;
    }
    fputc('"', out);
}

void json_write_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "%.9g", value);
    else
        fputs("null", out);
}

const char *console_bytes(uint64_t bytes)
{
    static char text[4][32];
    static unsigned next;
    char *out = text[next++ % 4];
    if (bytes < 100000)
        snprintf(out, sizeof text[0], "%.1f kB", (double)bytes / 1e3);
    else if (bytes >= 10000000000)
        snprintf(out, sizeof text[0], "%.1f GB", (double)bytes / 1e9);
    else
        snprintf(out, sizeof text[0], "%.1f MB", (double)bytes / 1e6);
    return out;
}

int console_flush(const struct console *console, int status)
{
    bool well = status == EXIT_DONE || status == EXIT_REFUSED;
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || !well)
        return status;
    return console_error(console, "standard output: %s", errno ? strerror(errno) : "write error");
}

/* ---- Texts that are to be names, made to fit. */

/* Bytes of the character at p, in a string that ends with a zero; 0: not UTF-8, or a control character. */
static size_t character(const unsigned char *p)
{
    size_t n = utf8_length(p);
    bool control = p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
    return control ? 0 : n;
}

void name_of_text(const char *text, size_t size, char out[NAME_ROOM])
{
    unsigned char end[NAME_ROOM] = {0}; /* of the text, cut to what fits */
    size_t most = size > BPCN_MAX_NAME ? BPCN_MAX_NAME - 3 : size, at = 0, used = size > most ? 3 : 0;
    memcpy(end, text + (size - most), most);
    memset(out, 0, NAME_ROOM);
    memcpy(out, "...", used);
    while (used > 0 && at < most && end[at] >> 6 == 2) /* from the beginning of a character on */
        at++;
    while (at < most) {
        size_t n = character(end + at);
        if (n > 0)
            memcpy(out + used, end + at, n);
        else
            out[used] = '?';
        used += n > 0 ? n : 1;
        at += n > 0 ? n : 1;
    }
}

void name_of_path(const char *path, char out[NAME_ROOM])
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    name_of_text(name, strlen(name), out);
}
