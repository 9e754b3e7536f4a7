/* CRC-32C (Castagnoli): the checksum of every part of a memory file. */
#ifndef BPCN_STORE_CRC_H
#define BPCN_STORE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of bytes that follow others with checksum `crc`; start with 0. By the processor's
   own instruction where there is one. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* The same by a table, which the fast one is tested against. */
uint32_t crc32c_plain(uint32_t crc, const void *bytes, size_t n);

/* Which single bit of n bytes, flipped, changes their checksum by this difference (an exclusive or): its number from
   the first byte's lowest on, or UINT64_MAX when there is none. */
uint64_t crc32c_flipped(uint32_t difference, size_t n);

#endif
