/* pnm.c: PGM and PPM pictures, text (P2, P3) or binary (P5, P6), 8 or 16 bits. One picture per file; bitmaps (P1, P4)
 * and PAM (P7) are refused by name. */
#include "internal.h"

#include <stdlib.h>

typedef struct pnm {
    const fmti_source *source;
    size_t at; /* the next byte */
    bool binary;
    size_t height, width, channels;
    unsigned maximum;
} pnm;

static bpcn_status damaged(const pnm *n, const char *what)
{
    return fmti_fail(BPCN_FORMAT, n->source->name, "%s at byte %zu", what, n->at);
}

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Spaces, and comments from # to the end of the line. */
static void skip_space(pnm *n)
{
    const fmti_source *s = n->source;
    bool comment = false;
    for (; n->at < s->size; n->at++) {
        uint8_t c = s->data[n->at];
        if (comment)
            comment = c != '\n' && c != '\r';
        else if (c == '#')
            comment = true;
        else if (!is_space(c))
            return;
    }
}

/* A whole number up to limit, after any space. */
static bool take_number(pnm *n, unsigned limit, unsigned *value)
{
    const fmti_source *s = n->source;
    skip_space(n);
    size_t start = n->at;
    *value = 0;
    while (n->at < s->size && s->data[n->at] >= '0' && s->data[n->at] <= '9') {
        *value = *value * 10 + (unsigned)(s->data[n->at] - '0');
        if (*value > limit)
            return false;
        n->at++;
    }
    return n->at > start;
}

static bpcn_status take_magic(pnm *n)
{
    const fmti_source *s = n->source;
    if (s->size < 3 || s->data[0] != 'P')
        return fmti_fail(BPCN_FORMAT, s->name, "is not a PNM picture");
    char kind = (char)s->data[1];
    if (kind == '1' || kind == '4' || kind == '7')
        return fmti_fail(BPCN_FORMAT, s->name, "is a P%c picture; P2, P3, P5 and P6 are read", kind);
    if (kind != '2' && kind != '3' && kind != '5' && kind != '6')
        return fmti_fail(BPCN_FORMAT, s->name, "is not a PNM picture");
    n->binary = kind >= '5';
    n->channels = kind == '3' || kind == '6' ? 3 : 1;
    n->at = 2;
    return BPCN_OK;
}

static bpcn_status take_header(pnm *n)
{
    const fmti_source *s = n->source;
    unsigned width, height;
    bpcn_status status = take_magic(n);
    if (status != BPCN_OK)
        return status;
    if (!take_number(n, 100000000, &width) || !take_number(n, 100000000, &height))
        return damaged(n, "its PNM header has no width and height");
    if (!take_number(n, 65535, &n->maximum) || n->maximum == 0)
        return damaged(n, "its PNM header has no maximum of 1 to 65535");
    if (n->at >= s->size || !is_space(s->data[n->at]))
        return damaged(n, "its PNM header does not end in a space");
    n->at++;
    n->width = width;
    n->height = height;
    return BPCN_OK;
}

/* What the pixels need at the very least against what the file has; text needs
 * a digit each and a space between. Sides are below 2^27, so nothing wraps. */
static bpcn_status check_length(const pnm *n)
{
    const fmti_source *s = n->source;
    uint64_t values = (uint64_t)n->width * n->height * n->channels;
    uint64_t there = s->size - n->at;
    uint64_t needed = n->binary ? values * (n->maximum > 255 ? 2 : 1) : (values > 0 ? values * 2 - 1 : 0);
    if (there < needed)
        return fmti_fail(BPCN_FORMAT, s->name, "%zux%zu pixels need %llu bytes or more, but the file has %llu",
                         n->width, n->height, (unsigned long long)needed, (unsigned long long)there);
    return BPCN_OK;
}

static bool take_value(pnm *n, unsigned *value)
{
    const fmti_source *s = n->source;
    if (!n->binary)
        return take_number(n, n->maximum, value);
    *value = s->data[n->at++]; /* check_length was here before */
    if (n->maximum > 255)
        *value = *value << 8 | s->data[n->at++];
    return *value <= n->maximum;
}

static bpcn_status take_pixels(pnm *n, fmti_picture *picture)
{
    size_t plane = n->height * n->width;
    for (size_t i = 0; i < plane; i++) {
        for (size_t c = 0; c < n->channels; c++) {
            unsigned value;
            if (!take_value(n, &value))
                return damaged(n, "a pixel is missing, or above the maximum,");
            picture->data[c * plane + i] = fmti_pixel(value, n->maximum);
        }
    }
    while (n->at < n->source->size && is_space(n->source->data[n->at]))
        n->at++;
    if (n->at != n->source->size)
        return damaged(n, "something follows the picture");
    return BPCN_OK;
}

bpcn_status fmti_pnm_read(const fmti_source *source, fmti_picture *picture)
{
    pnm n = {.source = source};
    bpcn_status status = take_header(&n);
    if (status == BPCN_OK)
        status = check_length(&n);
    if (status == BPCN_OK)
        status = fmti_picture_alloc(source, n.height, n.width, n.channels, picture);
    if (status == BPCN_OK)
        status = take_pixels(&n, picture);
    return status;
}

bpcn_status fmti_pnm_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels)
{
    char header[64];
    int used = snprintf(header, sizeof header, "P%c\n%zu %zu\n255\n", channels == 3 ? '6' : '5', width, height);
    uint8_t *row = malloc(width * channels);
    if (row == NULL)
        return fmti_no_memory(out->name, width * channels);
    bpcn_status status = fmt_output_put(out, header, (size_t)used);
    for (size_t y = 0; y < height && status == BPCN_OK; y++) {
        fmti_interleave_row(data, height, width, channels, y, row);
        status = fmt_output_put(out, row, width * channels);
    }
    free(row);
    return status;
}
