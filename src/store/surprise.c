/* The latest surprises, their standings, and ranks among them. */
#include "surprise.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PEERS = 64, FEWEST = 8 }; /* rows that one is compared with: at most, and at least */

int surprises_create(struct surprises *s, size_t most)
{
    *s = (struct surprises){.most = most, .row = most > 0 ? alloc_zeroed(most, sizeof *s->row) : NULL};
    return most == 0 || s->row != NULL ? 0 : -1;
}

void surprises_free(struct surprises *s)
{
    free(s->row);
    *s = (struct surprises){.most = 0};
}

size_t surprises_bytes(const struct surprises *s)
{
    return s->most * sizeof *s->row;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* sorted [PEERS]: surprises of the latest rows that met at most twice, and at least half as many rows. How many. */
static size_t peers(const struct surprises *s, double before, double *sorted)
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
static double standing(const struct surprises *s, double surprise, double before)
{
    double sorted[PEERS];
    size_t n = peers(s, before, sorted);
    if (n < FEWEST)
        return -SURPRISE_MOST;
    double median = quantile(n, sorted, 0.5), spread = quantile(n, sorted, 0.75) - quantile(n, sorted, 0.25);
    spread = fmax(spread, 1e-9 * (1 + fabs(median))); /* rows that are all the same have none */
    return fmax(-0.5 * SURPRISE_MOST, fmin(0.5 * SURPRISE_MOST, (surprise - median) / spread));
}

double surprises_typicality(const struct surprises *s, double surprise, double before)
{
    size_t all = 0, as_surprising = 0;
    double mine = standing(s, surprise, before);
    if (mine == -SURPRISE_MOST)
        return 1;
    for (size_t i = 0; i < s->count; i++) {
        all += s->row[i].standing > -SURPRISE_MOST;
        as_surprising += s->row[i].standing >= mine;
    }
    return (double)(1 + as_surprising) / (double)(1 + all);
}

void surprises_keep(struct surprises *s, double surprise, double before)
{
    if (s->most == 0)
        return;
    struct surprised row = {surprise, before, standing(s, surprise, before)};
    if (s->count == s->most)
        memmove(s->row, s->row + 1, --s->count * sizeof *s->row);
    s->row[s->count++] = row;
}

double *surprises_number(const struct surprises *s, size_t i, size_t j)
{
    struct surprised *row = &s->row[i];
    return j == 0 ? &row->surprise : j == 1 ? &row->before : &row->standing;
}

int surprised_sound(const struct surprised *row)
{
    return fabs(row->surprise) <= SURPRISE_MOST && row->before >= 0 && row->before <= SURPRISE_MOST &&
           fabs(row->standing) <= SURPRISE_MOST;
}
