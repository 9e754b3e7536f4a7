/* The bytes of a log record. */
#ifndef BPCN_LOG_RECORD_H
#define BPCN_LOG_RECORD_H

#include "log.h"

struct record {
    uint32_t kind;     /* enum change_kind */
    uint64_t offset;   /* of the record in the file */
    uint64_t sequence; /* number of records before it in this log */
    uint64_t synced;   /* how many of those were durable when it was written */
    uint64_t bytes;    /* of the payload, a multiple of 8 */
};

/* The record's header; returns its checksum, with which that of the payload goes on. */
uint32_t record_encode(const struct record *record, uint32_t salt, unsigned char out[RECORD_BYTES]);

/* -1 when the bytes are no header of a record at `offset` of a file with this salt. */
int record_decode(const unsigned char in[RECORD_BYTES], uint32_t salt, uint64_t offset, struct record *record,
                  uint32_t *crc);

/* Networks that a row is in: the particles of a shard, or of one shard in each view. */
static inline size_t row_networks(const bpcn_options *options)
{
    return options->particles * (options->views > 0 ? options->views : 1);
}

/* Bytes of the payload that a change has. */
uint64_t change_bytes(const struct model *model, const struct change *change);

/* Bytes that no record of such a memory exceeds, if it is of one row. */
uint64_t record_most(const bpcn_options *options);

/* A record's payload (as read, checksum right; overwritten) as a change that points into it.
   BPCN_CORRUPT, with the reason in *what, when it cannot be one. */
bpcn_status change_decode(const struct model *model, const struct record *record, unsigned char *payload,
                          struct change *change, const char **what);

/* Whether a change that is about to be logged is one that change_decode would take. */
int change_sound(const struct model *model, const struct change *change);

#endif
