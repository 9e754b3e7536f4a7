/* number.c: single numbers out of bytes, of every width and byte order the
 * array formats have, on a host of either order. */
#include "internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

size_t fmti_number_size(fmti_number number)
{
    switch (number) {
    case FMTI_BOOL: case FMTI_U8: case FMTI_I8: return 1;
    case FMTI_U16: case FMTI_I16: case FMTI_F16: return 2;
    case FMTI_U32: case FMTI_I32: case FMTI_F32: return 4;
    case FMTI_U64: case FMTI_I64: case FMTI_F64: return 8;
    }
    return 1;
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
    double fraction = (double)(bits & 1023);
    double value;
    if (exponent == 31)
        value = fraction != 0.0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(fraction + 1024.0, exponent - 25);
    return bits >> 15 & 1 ? -value : value;
}

static double from_f32(uint64_t bits)
{
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return (double)value;
}

static double from_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Two's complement of the given width. */
static double from_signed(uint64_t bits, unsigned width)
{
    uint64_t sign = (uint64_t)1 << (width - 1);
    uint64_t mask = sign | (sign - 1);
    if (bits & sign)
        return -(double)((~bits & mask) + 1);
    return (double)bits;
}

double fmti_load(const uint8_t *bytes, fmti_number number, bool big_endian)
{
    uint64_t bits = load_bits(bytes, fmti_number_size(number), big_endian);
    switch (number) {
    case FMTI_BOOL: return bits != 0 ? 1.0 : 0.0;
    case FMTI_U8: case FMTI_U16: case FMTI_U32: case FMTI_U64: return (double)bits;
    case FMTI_I8: return from_signed(bits, 8);
    case FMTI_I16: return from_signed(bits, 16);
    case FMTI_I32: return from_signed(bits, 32);
    case FMTI_I64: return from_signed(bits, 64);
    case FMTI_F16: return from_f16(bits);
    case FMTI_F32: return from_f32(bits);
    case FMTI_F64: return from_f64(bits);
    }
    return 0.0;
}

float fmti_narrow(double value)
{
    if (value > (double)FLT_MAX)
        return INFINITY;
    if (value < -(double)FLT_MAX)
        return -INFINITY;
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
