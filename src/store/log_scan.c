/* Finding records, whole ones and those that are not. */
#include "log_scan.h"

#include "alloc.h"
#include "error.h"
#include "store_bytes.h"
#include "store_crc.h"
#include "store_snapshot.h"

#include <stdlib.h>

/* A longer payload is not mended. Of random damage one in 2^32 looks like one flipped bit for every bit that there is:
   of 64 KiB one in 8192. */
enum { MOST_MENDED = 1 << 16 };

bpcn_status fail_record(const struct log *log, const char *what)
{
    return fail(BPCN_CORRUPT, "record %llu of the log (at byte %llu): %s", (unsigned long long)log->records,
                (unsigned long long)log->end, what);
}

/* Reads up to n bytes of a file that had `length`. Fewer than it should have is an error, never a
   torn end, which would be cut off; unless a writer has just cut it. */
static bpcn_status read_some(const struct log *log, uint64_t length, void *bytes, size_t n, uint64_t at, size_t *got)
{
    struct file_status is;
    uint64_t there = length - at < n ? length - at : n;
    const struct file_ops *ops = log->file.ops;
    if (file_read(&log->file, bytes, (size_t)there, at, got) != 0)
        return fail_io("read", log->path);
    if (*got == there)
        return BPCN_OK;
    if (ops->status(ops->context, log->file.fd, &is) != 0)
        return fail_io("find", log->path);
    return is.length < at + there ? BPCN_OK : fail_early_end(log->path, at + *got);
}

bpcn_status scan_headers(const struct log *log, uint64_t length, uint64_t from,
                         int (*visit)(void *user, const struct record *record), void *user)
{
    const uint64_t step = (LOG_BUFFER_BYTES - RECORD_BYTES) / 8 * 8;
    bpcn_status status = BPCN_OK;
    int stop = 0;
    for (uint64_t at = from; status == BPCN_OK && !stop && at + RECORD_BYTES <= length; at += step) {
        size_t got = 0;
        status = read_some(log, length, log->buffer, LOG_BUFFER_BYTES, at, &got);
        for (size_t i = 0; status == BPCN_OK && !stop && i < step && i + RECORD_BYTES <= got; i += 8) {
            struct record record;
            uint32_t crc;
            stop = record_decode(log->buffer + i, log->salt, at + i, &record, &crc) == 0 && visit(user, &record);
        }
    }
    return status;
}

/* ---- one flipped bit */

static void flip(unsigned char *bytes, uint64_t bit)
{
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

/* -1 when it takes more than one bit to make a header of it. */
static int mend_header(const struct log *log, unsigned char *header, struct record *record, uint32_t *crc)
{
    for (uint64_t bit = 0; bit < 8 * RECORD_BYTES; bit++) {
        flip(header, bit);
        if (record_decode(header, log->salt, log->end, record, crc) == 0)
            return 0;
        flip(header, bit);
    }
    return -1;
}

/* Likewise of a payload of n bytes with its checksum, which is `sum` and is kept behind it. */
static int mend_payload(unsigned char *payload, size_t n, uint32_t sum)
{
    uint64_t kept = get64(payload + n), wrong = kept ^ sum;
    if ((wrong & (wrong - 1)) == 0) /* of the checksum itself */
        return 0;
    uint64_t bit = n <= MOST_MENDED && kept >> 32 == 0 ? crc32c_flipped((uint32_t)wrong, n) : UINT64_MAX;
    if (bit == UINT64_MAX)
        return -1;
    flip(payload, bit);
    return 0;
}

bpcn_status scan_record(const struct log *log, uint64_t length, struct record *record, unsigned char **payload,
                        enum found *found)
{
    unsigned char header[RECORD_BYTES];
    size_t got;
    uint32_t crc;
    *payload = NULL;
    *found = FOUND_NONE;
    bpcn_status status = read_some(log, length, header, sizeof header, log->end, &got);
    if (status != BPCN_OK || got < sizeof header)
        return status;
    int right = record_decode(header, log->salt, log->end, record, &crc) == 0;
    if (!right && mend_header(log, header, record, &crc) != 0)
        return BPCN_OK;
    if (record->bytes % 8 != 0)
        return fail_record(log, "its length is no multiple of 8");
    uint64_t room = length - log->end - RECORD_BYTES;
    if (room < RECORD_END_BYTES || record->bytes > room - RECORD_END_BYTES)
        return BPCN_OK;
    size_t n = (size_t)record->bytes, want = n + RECORD_END_BYTES;
    *payload = alloc_zeroed(1, want);
    if (*payload == NULL)
        return fail(BPCN_NO_MEMORY, "out of memory");
    status = read_some(log, length, *payload, want, log->end + RECORD_BYTES, &got);
    if (status != BPCN_OK || got < want)
        return status;
    uint32_t sum = crc32c(crc, *payload, n);
    if (get64(*payload + n) == sum)
        *found = right ? FOUND_WHOLE : FOUND_FLIPPED;
    else if (right && mend_payload(*payload, n, sum) == 0)
        *found = FOUND_FLIPPED;
    return BPCN_OK;
}
