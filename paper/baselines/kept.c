/* The list of observations and the distance between two of them. */
#include "kept.h"

#include "error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bpcn_status grow(struct kept *s, size_t rows)
{
    size_t room = s->room ? s->room : 16, entry = s->bytes ? 1 : sizeof(float);
    while (room < rows)
        room *= 2;
    if (s->capacity > 0 && room > s->capacity)
        room = s->capacity;
    if (room <= s->room)
        return BPCN_OK;
    if (room > SIZE_MAX / entry / s->dim)
        return bpcn_fail(BPCN_NO_MEMORY, "%zu observations of %zu entries are too many to store", room, s->dim);
    void *old = s->bytes ? (void *)s->levels : (void *)s->values;
    void *larger = realloc(old, room * s->dim * entry);
    if (larger == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory for %zu observations", room);
    s->levels = s->bytes ? larger : NULL;
    s->values = s->bytes ? NULL : larger;
    s->room = room;
    return BPCN_OK;
}

static unsigned char level_of(float x)
{
    float scaled = (x + 1) * 127.5f + 0.5f;
    return scaled <= 0 ? 0 : scaled >= 255 ? 255 : (unsigned char)scaled;
}

static void put(struct kept *s, size_t at, const float *x)
{
    if (!s->bytes) {
        memcpy(s->values + at * s->dim, x, s->dim * sizeof *x);
        return;
    }
    for (size_t j = 0; j < s->dim; j++)
        s->levels[at * s->dim + j] = level_of(x[j]);
}

bpcn_status kept_append(struct kept *s, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = s->count;
        if (s->capacity > 0 && s->count == s->capacity) {
            at = s->next;
            s->next = (s->next + 1) % s->capacity;
        } else {
            bpcn_status status = grow(s, s->count + 1);
            if (status != BPCN_OK)
                return status;
            s->count++;
        }
        put(s, at, x + i * s->dim);
    }
    return BPCN_OK;
}

void kept_free(struct kept *s)
{
    free(s->values);
    free(s->levels);
}

size_t kept_bytes(const struct kept *s)
{
    return s->count * s->dim * (s->bytes ? 1 : sizeof(float));
}

const float *kept_row(const struct kept *s, size_t i, float *buffer)
{
    if (!s->bytes)
        return s->values + i * s->dim;
    for (size_t j = 0; j < s->dim; j++)
        buffer[j] = (float)s->levels[i * s->dim + j] / 127.5f - 1;
    return buffer;
}

/* Sixteen partial sums, so that the compiler may use vector registers without reordering ours. */
enum { LANES = 16, PIECE = 512 };

static float piece_distance(size_t n, const float *weight, const float *a, const float *b)
{
    float part[LANES] = {0}, sum = 0;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t k = 0; k < LANES; k++) {
            float d = a[j + k] - b[j + k];
            part[k] += weight[j + k] * d * d;
        }
    for (; j < n; j++)
        sum += weight[j] * (a[j] - b[j]) * (a[j] - b[j]);
    for (size_t k = 0; k < LANES; k++)
        sum += part[k];
    return sum;
}

double weighted_distance(size_t dim, const float *weight, const float *a, const float *b, double enough)
{
    double sum = 0;
    for (size_t j = 0; j < dim && sum <= enough; j += PIECE)
        sum += (double)piece_distance(dim - j < PIECE ? dim - j : PIECE, weight + j, a + j, b + j);
    return sum;
}
