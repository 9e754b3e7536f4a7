/* inflate.c: deflate and gzip streams into buffers of a size known beforehand,
 * so that no compressed file can make us hold more than its header promised. */
#include "internal.h"

#include <stdlib.h>
#include <zlib.h>

typedef struct packed_stream {
    z_stream z;
    const uint8_t *rest; /* input not yet given to zlib, whose counts are 32 bits */
    size_t rest_size;
} packed_stream;

static void feed(packed_stream *s)
{
    enum { PIECE = 1 << 30 };
    if (s->z.avail_in != 0 || s->rest_size == 0)
        return;
    size_t piece = s->rest_size < PIECE ? s->rest_size : PIECE;
    s->z.next_in = (z_const Bytef *)s->rest;
    s->z.avail_in = (uInt)piece;
    s->rest += piece;
    s->rest_size -= piece;
}

/* Inflates until out is full or nothing more comes; *ended tells whether the
 * stream's own end was reached. */
static size_t run(packed_stream *s, uint8_t *out, size_t out_size, bool *ended)
{
    enum { PIECE = 1 << 30 };
    size_t made = 0;
    *ended = false;
    while (made < out_size) {
        size_t piece = out_size - made < PIECE ? out_size - made : PIECE;
        feed(s);
        s->z.next_out = out + made;
        s->z.avail_out = (uInt)piece;
        int code = inflate(&s->z, Z_NO_FLUSH);
        made += piece - s->z.avail_out;
        if (code == Z_STREAM_END)
            *ended = true;
        if (code != Z_OK)
            break;
    }
    return made;
}

static bool start(packed_stream *s, const uint8_t *packed, size_t packed_size,
                  int window_bits)
{
    *s = (packed_stream){.rest = packed, .rest_size = packed_size};
    return inflateInit2(&s->z, window_bits) == Z_OK;
}

size_t fmti_inflate_prefix(const uint8_t *packed, size_t packed_size,
                           int window_bits, uint8_t *out, size_t out_size)
{
    packed_stream s;
    bool ended;
    if (!start(&s, packed, packed_size, window_bits))
        return 0;
    size_t made = run(&s, out, out_size, &ended);
    inflateEnd(&s.z);
    return made;
}

/* The whole of out, then the end of the stream, then the end of the input. */
static bool run_whole(packed_stream *s, uint8_t *out, size_t size)
{
    bool ended = false;
    uint8_t spare;
    if (run(s, out, size, &ended) != size)
        return false;
    if (!ended && run(s, &spare, 1, &ended) != 0)
        return false;
    return ended && s->z.avail_in == 0 && s->rest_size == 0;
}

fmt_status fmti_inflate(const fmti_source *source, const uint8_t *packed,
                        size_t packed_size, int window_bits, size_t size,
                        uint8_t **out)
{
    *out = NULL;
    if (size / FMTI_DEFLATE_RATIO > packed_size)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "promises %zu bytes, more than its %zu compressed bytes can hold",
                         size, packed_size);
    packed_stream s;
    uint8_t *buffer = fmti_alloc(size, 1);
    if (buffer == NULL)
        return fmti_no_memory(source->error, source->name, size);
    if (!start(&s, packed, packed_size, window_bits)) {
        free(buffer);
        return fmti_no_memory(source->error, source->name, 65536);
    }
    bool whole = run_whole(&s, buffer, size);
    inflateEnd(&s.z);
    if (!whole) {
        free(buffer);
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "its compressed data is damaged, or is not the %zu bytes promised",
                         size);
    }
    *out = buffer;
    return FMT_OK;
}
