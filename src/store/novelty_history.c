/* The latest surprises, their standings, and ranks among them. */
#include "novelty_history.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PEERS = 64, FEWEST = 8 }; /* rows that one is compared with: at most, and at least */

int novelty_history_create(struct novelty_history *s, size_t most)
{
    *s = (struct novelty_history){.most = most, .row = most > 0 ? alloc_zeroed(most, sizeof *s->row) : NULL};
    return most == 0 || s->row != NULL ? 0 : -1;
}

void novelty_history_free(struct novelty_history *s)
{
    free(s->row);
    *s = (struct novelty_history){.most = 0};
}

size_t novelty_history_bytes(const struct novelty_history *s)
{
    return s->most * sizeof *s->row;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sorted [PEERS]: surprises of the latest rows that met at most twice, and at least half as many rows. How many. */
static size_t peers(const struct novelty_history *s, double before, double *sorted)
{
    size_t n = 0;
    for (size_t i = s->count; i-- > 0 && n < PEERS;) {
        double theirs = s->row[i].before;
        if (theirs + 1 <= 2 * (before + 1) && before + 1 <= 2 * (theirs + 1))
            sorted[n++] = s->row[i].surprise;
    }
    qsort(sorted, n, sizeof *sorted, ascending);
    return n;
}

/* The value below which this share of n sorted ones lies, between two of them as far as it takes. */
static double quantile(size_t n, const double *sorted, double share)
{
    double at = share * (double)(n - 1), low = floor(at);
    size_t i = (size_t)low;
    return i + 1 < n ? sorted[i] + (at - low) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

/* How far above the median of its peers a surprise is, in units of the distance between their quartiles. */
static double standing(const struct novelty_history *s, double surprise, double before)
{
    double sorted[PEERS];
    size_t n = peers(s, before, sorted);
    if (n < FEWEST)
        return -NOVELTY_MOST;
    double median = quantile(n, sorted, 0.5), spread = quantile(n, sorted, 0.75) - quantile(n, sorted, 0.25);
    spread = fmax(spread, 1e-9 * (1 + fabs(median))); /* rows that are all the same have none */
    return fmax(-0.5 * NOVELTY_MOST, fmin(0.5 * NOVELTY_MOST, (surprise - median) / spread));
}

double novelty_history_typicality(const struct novelty_history *s, double surprise, double before)
{
    size_t all = 0, as_surprising = 0;
    double mine = standing(s, surprise, before);
    if (mine == -NOVELTY_MOST)
        return 1;
    for (size_t i = 0; i < s->count; i++) {
        all += s->row[i].standing > -NOVELTY_MOST;
        as_surprising += s->row[i].standing >= mine;
    }
    return (double)(1 + as_surprising) / (double)(1 + all);
}

void novelty_history_keep(struct novelty_history *s, double surprise, double before)
{
    if (s->most == 0)
        return;
    struct novelty row = {surprise, before, standing(s, surprise, before)};
    if (s->count == s->most)
        memmove(s->row, s->row + 1, --s->count * sizeof *s->row);
    s->row[s->count++] = row;
}

double *novelty_history_number(const struct novelty_history *s, size_t i, size_t j)
{
    struct novelty *row = &s->row[i];
    return j == 0 ? &row->surprise : j == 1 ? &row->before : &row->standing;
}

int novelty_sound(const struct novelty *row)
{
    return fabs(row->surprise) <= NOVELTY_MOST && row->before >= 0 && row->before <= NOVELTY_MOST &&
           fabs(row->standing) <= NOVELTY_MOST;
}
