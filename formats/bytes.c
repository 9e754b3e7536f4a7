/* bytes.c: files as bytes, the numbers in them, and deflate. */
#include "internal.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* ---- whole files */

/* No format spends more than 32 bytes on a value (a long number of a CSV), except on headers and small pictures. */
size_t fmti_file_limit(const fmt_options *options)
{
    size_t limit;
    if (!fmti_multiply(options->max_values, 32, &limit) || limit > SIZE_MAX / 4)
        return SIZE_MAX / 4;
    return limit + ((size_t)64 << 20);
}

/* Reads to the end; `hint` is the expected size, or 0. */
static bpcn_status slurp(FILE *stream, const char *name, size_t hint, size_t limit, fmti_bytes *bytes)
{
    size_t room = hint + 1, got = 1;
    *bytes = (fmti_bytes){malloc(room), 0};
    while (bytes->data != NULL && got > 0 && bytes->size <= limit) {
        if (bytes->size == room) {
            room = room < 32768 ? 65536 : room * 2;
            uint8_t *more = realloc(bytes->data, room);
            if (more == NULL)
                free(bytes->data);
            bytes->data = more;
            continue;
        }
        got = fread(bytes->data + bytes->size, 1, room - bytes->size, stream);
        bytes->size += got;
    }
    if (bytes->data != NULL && bytes->size <= limit && !ferror(stream))
        return BPCN_OK;
    bpcn_status status = bytes->data == NULL ? fmti_no_memory(name, room)
                         : bytes->size <= limit
                             ? fmti_fail_errno(name, "read", errno)
                             : fmti_fail(BPCN_REFUSED, name, "is longer than the limit of %zu bytes", limit);
    free(bytes->data);
    *bytes = (fmti_bytes){0};
    return status;
}

bpcn_status fmti_slurp_stream(FILE *stream, const char *name, size_t limit, fmti_bytes *bytes)
{
    return slurp(stream, name, 0, limit, bytes);
}

bpcn_status fmti_slurp(const char *path, size_t limit, fmti_bytes *bytes)
{
    struct stat info;
    size_t hint = 0;
    *bytes = (fmti_bytes){0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fmti_fail_errno(path, "open", errno);
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
        hint = (uintmax_t)info.st_size < limit ? (size_t)info.st_size : limit;
    bpcn_status status = slurp(file, path, hint, limit, bytes);
    fclose(file);
    return status;
}

/* ---- numbers */

size_t fmti_number_size(fmti_number number)
{
    static const uint8_t sizes[] = {
        [FMTI_BOOL] = 1, [FMTI_U8] = 1,  [FMTI_I8] = 1,  [FMTI_U16] = 2, [FMTI_I16] = 2, [FMTI_U32] = 4,
        [FMTI_I32] = 4,  [FMTI_U64] = 8, [FMTI_I64] = 8, [FMTI_F16] = 2, [FMTI_F32] = 4, [FMTI_F64] = 8};
    return sizes[number];
}

static uint64_t load_bits(const uint8_t *bytes, size_t size, bool big_endian)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits = bits << 8 | bytes[big_endian ? i : size - 1 - i];
    return bits;
}

static double from_f16(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023), value;
    if (exponent == 31)
        value = fraction != 0.0 ? (double)NAN : (double)INFINITY;
    else
        value = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024.0, exponent - 25);
    return bits >> 15 & 1 ? -value : value;
}

double fmti_load(const uint8_t *bytes, fmti_number number, bool big_endian)
{
    size_t size = fmti_number_size(number);
    uint64_t bits = load_bits(bytes, size, big_endian);
    uint32_t low = (uint32_t)bits;
    float single;
    double value;
    if (number == FMTI_BOOL)
        return bits != 0;
    if (number == FMTI_F16)
        return from_f16(bits);
    if (number == FMTI_F32) {
        memcpy(&single, &low, sizeof single);
        return (double)single;
    }
    if (number == FMTI_F64) {
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    bool is_signed = number == FMTI_I8 || number == FMTI_I16 || number == FMTI_I32 || number == FMTI_I64;
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    return is_signed && (bits & sign) ? -(double)((~bits & (sign | (sign - 1))) + 1) : (double)bits;
}

float fmti_narrow(double value)
{
    if (fabs(value) > (double)FLT_MAX)
        return value > 0 ? INFINITY : -INFINITY;
    return (float)value;
}

uint32_t fmti_le32(const uint8_t *bytes)
{
    return (uint32_t)load_bits(bytes, 4, false);
}

unsigned fmti_le16(const uint8_t *bytes)
{
    return (unsigned)load_bits(bytes, 2, false);
}

uint32_t fmti_be32(const uint8_t *bytes)
{
    return (uint32_t)load_bits(bytes, 4, true);
}

bool fmti_host_is_big_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* ---- deflate, into buffers of a size known beforehand: no file makes us hold more than its header promises */

typedef struct packed_stream {
    z_stream z;
    const uint8_t *rest; /* input not yet given to zlib, whose counts have 32 bits */
    size_t rest_size;
} packed_stream;

/* Inflates until `out` is full or nothing more comes; *ended: the stream's own end was reached. */
static size_t inflate_some(packed_stream *s, uint8_t *out, size_t out_size, bool *ended)
{
    enum { PIECE = 1 << 30 };
    size_t done = 0;
    *ended = false;
    while (done < out_size) {
        size_t piece = out_size - done < PIECE ? out_size - done : PIECE;
        if (s->z.avail_in == 0 && s->rest_size > 0) {
            size_t more = s->rest_size < PIECE ? s->rest_size : PIECE;
            s->z.next_in = (z_const Bytef *)s->rest;
            s->z.avail_in = (uInt)more;
            s->rest += more;
            s->rest_size -= more;
        }
        s->z.next_out = out + done;
        s->z.avail_out = (uInt)piece;
        int code = inflate(&s->z, Z_NO_FLUSH);
        done += piece - s->z.avail_out;
        *ended = code == Z_STREAM_END;
        if (code != Z_OK)
            break;
    }
    return done;
}

size_t fmti_inflate_prefix(const uint8_t *packed, size_t packed_size, int window_bits, uint8_t *out, size_t out_size)
{
    packed_stream s = {.rest = packed, .rest_size = packed_size};
    bool ended;
    if (inflateInit2(&s.z, window_bits) != Z_OK)
        return 0;
    size_t done = inflate_some(&s, out, out_size, &ended);
    inflateEnd(&s.z);
    return done;
}

bpcn_status fmti_inflate(const fmti_source *source, const uint8_t *packed, size_t packed_size, int window_bits,
                         size_t size, uint8_t **out)
{
    packed_stream s = {.rest = packed, .rest_size = packed_size};
    bool ended = false;
    uint8_t spare;
    *out = NULL;
    if (size / FMTI_DEFLATE_RATIO > packed_size)
        return fmti_fail(BPCN_FORMAT, source->name, "promises %zu bytes, more than its %zu compressed bytes can hold",
                         size, packed_size);
    uint8_t *buffer = fmti_alloc(size, 1);
    if (buffer == NULL || inflateInit2(&s.z, window_bits) != Z_OK) {
        free(buffer);
        return fmti_no_memory(source->name, size);
    }
    bool whole = inflate_some(&s, buffer, size, &ended) == size &&
                 (ended || inflate_some(&s, &spare, 1, &ended) == 0) && ended && s.z.avail_in == 0 && s.rest_size == 0;
    inflateEnd(&s.z);
    if (!whole) {
        free(buffer);
        return fmti_fail(BPCN_FORMAT, source->name, "its compressed data is damaged, or is not the %zu bytes promised",
                         size);
    }
    *out = buffer;
    return BPCN_OK;
}
