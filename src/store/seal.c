/* Seals in bytes and back. */
#include "seal.h"

#include "store_bytes.h"
#include "store_crc.h"
#include "store_format.h"

/* Where the fields of a slot are; what is left of it is zero. */
enum { AT_MARK = 0, AT_OPEN = 4, AT_EPOCH = 8, AT_LENGTH = 16, AT_RECORDS = 24, AT_SUM = 32, AT_CHECKSUM = 60 };

static const uint32_t seal_mark = 0x4c414553; /* "SEAL" */

static const uint64_t most_epoch = UINT64_C(1) << 62; /* far from overflowing */

static uint32_t checksum(const unsigned char *slot, uint32_t salt)
{
    unsigned char salted[4];
    put32(salted, salt);
    return crc32c(crc32c(0, salted, sizeof salted), slot, AT_CHECKSUM);
}

uint64_t seal_offset(const struct seal *seal)
{
    return HEADER_BYTES + seal->epoch % SEALS * SEAL_BYTES;
}

void seal_encode(const struct seal *seal, uint32_t salt, unsigned char out[SEAL_BYTES])
{
    memset(out, 0, SEAL_BYTES);
    put32(out + AT_MARK, seal_mark);
    put32(out + AT_OPEN, seal->open != 0);
    put64(out + AT_EPOCH, seal->epoch);
    put64(out + AT_LENGTH, seal->open ? 0 : seal->length);
    put64(out + AT_RECORDS, seal->open ? 0 : seal->records);
    put32(out + AT_SUM, seal->open ? 0 : seal->sum);
    put32(out + AT_CHECKSUM, checksum(out, salt));
}

struct seal seal_first(uint64_t length)
{
    return (struct seal){.epoch = FIRST_EPOCH, .length = length};
}

void seals_encode(const struct seal *first, uint32_t salt, unsigned char out[SEALS * SEAL_BYTES])
{
    struct seal before = {.epoch = first->epoch - 1, .open = 1};
    seal_encode(first, salt, out + first->epoch % SEALS * SEAL_BYTES);
    seal_encode(&before, salt, out + before.epoch % SEALS * SEAL_BYTES);
}

/* -1 when slot number i holds no seal: every byte of it follows from what it says. */
static int decode_slot(const unsigned char *slot, uint64_t i, uint32_t salt, struct seal *seal)
{
    unsigned char again[SEAL_BYTES];
    *seal = (struct seal){.epoch = get64(slot + AT_EPOCH),
                          .open = get32(slot + AT_OPEN) != 0,
                          .length = get64(slot + AT_LENGTH),
                          .records = get64(slot + AT_RECORDS),
                          .sum = get32(slot + AT_SUM)};
    seal_encode(seal, salt, again);
    return seal->epoch % SEALS == i && seal->epoch <= most_epoch && memcmp(slot, again, sizeof again) == 0 ? 0 : -1;
}

int seals_decode(const unsigned char in[SEALS * SEAL_BYTES], uint32_t salt, struct seal *seal)
{
    struct seal slot[SEALS];
    int there[SEALS];
    for (uint64_t i = 0; i < SEALS; i++)
        there[i] = decode_slot(in + i * SEAL_BYTES, i, salt, &slot[i]) == 0;
    if (!there[0] && !there[1])
        return -1;
    *seal = there[0] && (!there[1] || slot[0].epoch > slot[1].epoch) ? slot[0] : slot[1];
    seal->doubtful = !there[0] || !there[1];
    return 0;
}
