/*
 * Near copies.
 *
 * A query q is explained by a row a as
 *
 *   q_j = b_0 + b_1 a_j + b_2 a_(j-1) + b_3 a_(j+1) + b_4 a_(j-w) + b_5 a_(j+w) + e_j,
 *
 * with w the width of a picture, found from the row itself: brightness and contrast, and any small blur, sharpening or
 * shift. b is the least squares solution, and r = |e|^2 / |q - mean(q)|^2. A copy is told by comparison: with r_1 <= r_2
 * <= ... of the rows that are nearest, x = r_1 / r_2 of a query that is no copy is near 1, because many rows are about as
 * unlike it. Where the data have m dimensions near the query, P(r_1 / r_2 < x) = x^(m/2), and m/2 is estimated as one
 * over the mean of log(r_k / r_i), i = 2 .. k - 1 (Hill's estimator): rows of few dimensions need a smaller x. The same
 * with the fifth of the entries that is explained worst left out tells copies of which a part was replaced.
 */
#include "copies.h"

#include <math.h>
#include <string.h>

/* All chosen on Tiny ImageNet: copies of 150 to 200 of 1,000 stored photos, and 280 unseen ones (docs/MODEL.md,
   Familiarity). */

/* x, a ratio, at which the familiarity is 0.5: over all entries, and over the four fifths. Larger: copies that differ more
   are known, and more unseen rows pass for copies. */
static const double border_all = 0.7, border_most = 0.22;
/* The steepness of the familiarity round the border. */
static const double border_power = 6;
/* -log P(r_1 / r_2 < x) from which on a ratio is no accident. Larger: data of few dimensions need nearer copies. */
static const double least_surprise = 5;
/* Share of the entries that may be anything, and the rounds of leaving out. */
static const double trimmed_share = 0.2;
enum { TRIM_ROUNDS = 2, TERMS = 6, WHOLE_TERMS = 256, STRIDE_LEAST = 8, STRIDE_MOST = 512 };
/* Ridge of the least squares, as a share of the entries; entries are about 1. */
static const double ridge = 1e-6;

size_t copy_stride(const float *row, size_t dim)
{
    size_t best = 1, most = dim / 4 < STRIDE_MOST ? dim / 4 : STRIDE_MOST;
    double least = INFINITY;
    for (size_t lag = STRIDE_LEAST; lag <= most; lag++) {
        double sum = 0;
        for (size_t j = 0; j + lag < dim; j += 3) { /* a third of the entries tells enough */
            double difference = (double)row[j] - (double)row[j + lag];
            sum += difference * difference;
        }
        sum /= (double)(dim - lag);
        if (sum < least) {
            least = sum;
            best = lag;
        }
    }
    return best;
}

/* The entries of a that explain entry j. */
static inline void terms_at(const float *a, size_t j, size_t dim, size_t stride, double *t)
{
    t[0] = 1;
    t[1] = (double)a[j];
    t[2] = (double)a[j > 0 ? j - 1 : dim - 1];
    t[3] = (double)a[j + 1 < dim ? j + 1 : 0];
    t[4] = (double)a[j >= stride ? j - stride : j + dim - stride];
    t[5] = (double)a[j + stride < dim ? j + stride : j + stride - dim];
}

/* Least squares over the entries whose square is at most `limit`; the squares of all entries are new afterwards. */
static void fit_terms(const float *q, const float *a, size_t dim, size_t stride, size_t terms, float limit, float *squares)
{
    double gram[TERMS][TERMS + 1] = {{0}}, t[TERMS], b[TERMS];
    for (size_t j = 0; j < dim; j++) {
        if (squares[j] > limit)
            continue;
        terms_at(a, j, dim, stride, t);
        for (size_t r = 0; r < terms; r++) {
            for (size_t c = 0; c <= r; c++)
                gram[r][c] += t[r] * t[c];
            gram[r][TERMS] += t[r] * (double)q[j];
        }
    }
    for (size_t r = 0; r < terms; r++) {
        gram[r][r] += ridge * (double)dim;
        for (size_t c = r + 1; c < terms; c++)
            gram[r][c] = gram[c][r];
    }
    for (size_t p = 0; p < terms; p++) /* Gaussian elimination: the matrix is positive definite */
        for (size_t r = p + 1; r < terms; r++) {
            double factor = gram[r][p] / gram[p][p];
            for (size_t c = p; c < terms; c++)
                gram[r][c] -= factor * gram[p][c];
            gram[r][TERMS] -= factor * gram[p][TERMS];
        }
    for (size_t p = terms; p-- > 0;) {
        b[p] = gram[p][TERMS];
        for (size_t c = p + 1; c < terms; c++)
            b[p] -= gram[p][c] * b[c];
        b[p] /= gram[p][p];
    }
    for (size_t j = 0; j < dim; j++) {
        double e = (double)q[j];
        terms_at(a, j, dim, stride, t);
        for (size_t r = 0; r < terms; r++)
            e -= b[r] * t[r];
        squares[j] = (float)(e * e);
    }
}

/* The sum of the squares that are at most `limit`, over the variance of the query's entries there. */
static double unexplained(const float *q, const unsigned char *known, size_t dim, const float *squares, float limit)
{
    double sum = 0, square = 0, left = 0, count = 0;
    for (size_t j = 0; j < dim; j++)
        if ((known == NULL || known[j]) && squares[j] <= limit) {
            sum += (double)q[j];
            square += (double)q[j] * (double)q[j];
            left += (double)squares[j];
            count++;
        }
    double power = square - sum * sum / fmax(1, count);
    return power > 1e-9 * square ? left / power : 1;
}

/* The value that all but this share of them do not exceed, to a hundredth of an octave. */
static float limit_of(const float *squares, size_t dim, double share)
{
    enum { BINS = 4096 };
    unsigned count[BINS] = {0};
    size_t left = (size_t)(share * (double)dim), bin = BINS;
    for (size_t j = 0; j < dim; j++) {
        unsigned bits;
        memcpy(&bits, &squares[j], sizeof bits); /* of positive floats in their order */
        count[bits >> 19 & (BINS - 1)]++;
    }
    while (bin > 1 && count[bin - 1] <= left)
        left -= count[--bin];
    unsigned bits = (unsigned)(bin == BINS ? BINS - 1 : bin) << 19;
    float limit;
    memcpy(&limit, &bits, sizeof limit);
    return limit;
}

void copy_fit(const float *query, const unsigned char *known, size_t dim, size_t stride, size_t count, struct copy *copy,
              float *squares)
{
    size_t terms = dim >= WHOLE_TERMS ? TERMS : 2;
    for (size_t i = 0; i < count; i++) {
        const float *a = copy[i].row;
        copy[i].most = 1;
        if (known != NULL) {
            for (size_t j = 0; j < dim; j++)
                squares[j] = known[j] ? (query[j] - a[j]) * (query[j] - a[j]) : 0;
            copy[i].all = unexplained(query, known, dim, squares, INFINITY);
            continue;
        }
        memset(squares, 0, dim * sizeof *squares);
        fit_terms(query, a, dim, stride, terms, INFINITY, squares);
        copy[i].all = unexplained(query, NULL, dim, squares, INFINITY);
        for (int round = 0; round < TRIM_ROUNDS && terms == TERMS; round++)
            fit_terms(query, a, dim, stride, terms, limit_of(squares, dim, trimmed_share), squares);
        if (terms == TERMS)
            copy[i].most = unexplained(query, NULL, dim, squares, limit_of(squares, dim, trimmed_share));
    }
}

/* The candidate with the least share, and the familiarity that the shares give it. */
static size_t decide_by(size_t count, const double *share, double border, double *familiarity)
{
    double sorted[COPY_CANDIDATES], spacing = 0;
    size_t best = 0;
    *familiarity = 0;
    if (count < 3)
        return count;
    for (size_t i = 0; i < count; i++) {
        size_t j = i;
        best = share[i] < share[best] ? i : best;
        for (; j > 0 && sorted[j - 1] > share[i]; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = share[i];
    }
    for (size_t i = 1; i + 1 < count; i++)
        spacing += log(sorted[count - 1] / fmax(1e-12, sorted[i])) / (double)(count - 2);
    double x = fmax(1e-12, sorted[0]) / fmax(1e-12, sorted[1]), surprise = -log(x) / fmax(1e-6, spacing);
    *familiarity = 1 / (1 + pow(x / border, border_power));
    if (surprise < least_surprise)
        *familiarity = fmin(*familiarity, 0.49);
    return best;
}

size_t copy_decide(size_t count, const struct copy *copy, double *familiarity)
{
    double all[COPY_CANDIDATES], most[COPY_CANDIDATES], by_most;
    for (size_t i = 0; i < count; i++) {
        all[i] = copy[i].all;
        most[i] = copy[i].most;
    }
    size_t best = decide_by(count, all, border_all, familiarity);
    size_t other = decide_by(count, most, border_most, &by_most);
    if (by_most > *familiarity) {
        *familiarity = by_most;
        best = other;
    }
    return *familiarity >= 0.5 ? best : count;
}
