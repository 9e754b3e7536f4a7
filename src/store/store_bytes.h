/* Numbers as little-endian bytes, whatever the machine. Compilers turn each into one move. */
#ifndef BPCN_STORE_BYTES_H
#define BPCN_STORE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void put32(unsigned char *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(x >> 8 * i);
}

static inline void put64(unsigned char *p, uint64_t x)
{
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(x >> 8 * i);
}

static inline uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get64(const unsigned char *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static inline void put_double(unsigned char *p, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put64(p, bits);
}

static inline double get_double(const unsigned char *p)
{
    uint64_t bits = get64(p);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* n floats (size 4) or doubles (size 8), out to bytes and back; `in` and `out` may be the same. */
static inline void put_reals(unsigned char *out, const void *in, size_t n, size_t size)
{
    const unsigned char *from = in;
    for (size_t i = 0; size == 4 && i < n; i++) {
        uint32_t bits;
        memcpy(&bits, from + 4 * i, 4);
        put32(out + 4 * i, bits);
    }
    for (size_t i = 0; size == 8 && i < n; i++) {
        uint64_t bits;
        memcpy(&bits, from + 8 * i, 8);
        put64(out + 8 * i, bits);
    }
}

static inline void get_reals(void *out, const unsigned char *in, size_t n, size_t size)
{
    unsigned char *to = out;
    for (size_t i = 0; size == 4 && i < n; i++) {
        uint32_t bits = get32(in + 4 * i);
        memcpy(to + 4 * i, &bits, 4);
    }
    for (size_t i = 0; size == 8 && i < n; i++) {
        uint64_t bits = get64(in + 8 * i);
        memcpy(to + 8 * i, &bits, 8);
    }
}

#endif
