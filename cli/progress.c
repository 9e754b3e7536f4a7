/* The progress bar, the clock, and Ctrl-C. */
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24 };
static const double redraw_seconds = 0.1;

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(struct progress *p, const struct console *console, const char *verb, const char *unit)
{
    bool shown = isatty(STDERR_FILENO) && !console->quiet;
    *p = (struct progress){.shown = shown, .verb = verb, .unit = unit, .start = seconds_now()};
}

double progress_rate(const struct progress *p)
{
    double passed = seconds_now() - p->start;
    return passed > 0 ? (double)p->done / passed : 0;
}

static void draw_bar(double share)
{
    char bar[BAR + 1];
    int full = (int)(share * BAR);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "[%s] %3.0f%% ", bar, 100 * share);
}

static void draw(struct progress *p)
{
    double rate = progress_rate(p);
    fprintf(stderr, "\r%s ", p->verb);
    if (p->total > 0) {
        draw_bar((double)p->done / (double)p->total);
        fprintf(stderr, "%zu/%zu %s", p->done, p->total, p->unit);
    } else {
        fprintf(stderr, "%zu %s", p->done, p->unit);
    }
    if (p->done > 0)
        fprintf(stderr, ", %.3g/s", rate);
    if (p->done > 0 && p->total > 0) {
        double left = ceil((double)(p->total - p->done) / rate);
        fprintf(stderr, ", %.0f:%02.0f left", floor(left / 60), fmod(left, 60));
    }
    fputs("\033[K", stderr);
    fflush(stderr);
}

void progress_update(struct progress *p, size_t done, size_t total)
{
    double now = seconds_now();
    p->done = done;
    p->total = total;
    if (!p->shown || (now - p->drawn < redraw_seconds && done < total))
        return;
    p->drawn = now;
    draw(p);
}

void progress_clear(struct progress *p)
{
    if (p->shown && p->drawn > 0)
        fputs("\r\033[K", stderr);
    p->drawn = 0;
}

/* The only state that the signal handler sets. */
static volatile sig_atomic_t caught; /* the signal's number; 0: none */

static void on_signal(int number)
{
    if (caught) {
        signal(number, SIG_DFL);
        raise(number);
    }
    caught = number;
}

void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: a signal also ends a wait for a pipe */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupted(void)
{
    return caught != 0;
}

const char *interruption(void)
{
    return caught == SIGTERM ? "terminated" : "interrupted";
}

int exit_status(int status)
{
    return status == EXIT_INTERRUPTED && caught ? 128 + caught : status;
}
