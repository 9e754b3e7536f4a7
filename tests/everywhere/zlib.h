/* In place of zlib, for targets that Debian has no zlib for: nothing is packed or unpacked. */
#ifndef EVERYWHERE_ZLIB_H
#define EVERYWHERE_ZLIB_H

#include <stddef.h>

#define z_const const
#define Z_NULL NULL
enum { Z_OK, Z_STREAM_END, Z_NO_FLUSH = 0, Z_FINISH = 4, Z_DEFLATED = 8, Z_DEFAULT_STRATEGY = 0, Z_BUF_ERROR = -5, Z_STREAM_ERROR = -2, Z_BEST_SPEED = 1, Z_DEFAULT_COMPRESSION = -1 };
typedef unsigned char Bytef;
typedef unsigned uInt;
typedef unsigned long uLong;
typedef struct {
    const Bytef *next_in;
    Bytef *next_out;
    uInt avail_in, avail_out;
    uLong total_in, total_out;
} z_stream;

#define inflateInit2(z, bits) ((void)(z), (void)(bits), Z_STREAM_ERROR)
#define inflate(z, how) ((void)(z), Z_STREAM_ERROR)
#define inflateEnd(z) ((void)(z))
#define deflateInit2(z, level, method, bits, memory, strategy) ((void)(z), (void)(level), (void)(bits), Z_STREAM_ERROR)
#define deflate(z, how) ((void)(z), Z_STREAM_ERROR)
#define deflateEnd(z) ((void)(z))
#define deflateBound(z, n) ((void)(z), (uLong)(n))
static inline uLong crc32(uLong crc, const Bytef *data, uInt n)
{
    (void)data;
    return crc + n;
}

#endif
