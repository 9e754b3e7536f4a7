/*
 * The log at the end of a memory file: one record for every change since the snapshot, with all that repeats it. A
 * record counts once it is synced; docs/FORMAT.md says how a torn end is told from damage.
 */
#ifndef BPCN_LOG_H
#define BPCN_LOG_H

#include "change.h"
#include "contents.h"
#include "file.h"
#include "format.h"
#include "symbols.h"

enum { RECORD_BYTES = 48, RECORD_END_BYTES = 8 }; /* before and after a record's payload */

struct log {
    struct file file;
    const char *path;      /* for sentences */
    uint32_t salt;         /* of its header */
    uint64_t start, end;   /* in the file */
    uint64_t last;         /* where the last record begins */
    uint64_t records;      /* from start to end */
    uint64_t synced;       /* how many of them are known to be durable */
    uint32_t sum;          /* over the checksums of their payloads */
    struct seal seal;      /* of the file, as last written or read */
    uint64_t tail_most;    /* bytes that a crash may leave behind the last whole record, 0: any */
    uint64_t dropped;      /* bytes of a torn end that replay found */
    uint64_t dropped_rows; /* in it, at most */
    int torn_seal;         /* one of the two was none when the file was read */
    unsigned char *buffer; /* [LOG_BUFFER_BYTES]: records go out through it */
};

enum { LOG_BUFFER_BYTES = 1 << 16 };

/* Appends one record. On failure the file is cut back to what it was; *broken is set when even
   that failed and nothing may be appended any more. */
bpcn_status log_append(struct log *log, const struct model *model, const struct change *change, int *broken);

/* Says in the file that it is open, which a sync makes durable: the first record since it was closed does so. */
int log_unseal(struct log *log);

/* Says in the file that it is closed, if it was opened, and makes that durable. Everything before must be. */
bpcn_status log_seal(struct log *log);

/* Makes all records durable. */
bpcn_status log_sync(struct log *log);

/* Cuts the file to `end` and makes that durable: what was there must not come back. */
int log_cut(struct log *log, uint64_t end);

/* Makes a change as it was made before: by the same call, of what its record holds. BPCN_NO_MEMORY without a sentence.
 */
struct writers;
bpcn_status log_repeat(struct writers *writers, const struct change *change);

/* Repeats all records of a file of the given length, found after log->seal was read. A torn end stays in the file, its
   size in log->dropped. */
bpcn_status log_replay(struct log *log, uint64_t length, struct contents *contents);

/* ---- records as bytes */

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

/* Networks that a row is in: the particles of a shard; a table has none. */
static inline size_t log_row_networks(const bpcn_options *options)
{
    if (options->kind == BPCN_TABLE)
        return 0;
    return options->particles;
}

/* Bytes of the payload that a change has. */
uint64_t log_change_bytes(const struct model *model, const struct change *change);

/* Bytes that no record of such a memory exceeds, if it is of one row. */
uint64_t log_record_most(const bpcn_options *options);

/* A record's payload (as read, checksum right; overwritten) as a change that points into it.
   BPCN_CORRUPT, with the reason in *what, when it cannot be one. */
bpcn_status log_change_decode(const struct model *model, const struct record *record, unsigned char *payload,
                          struct change *change, const char **what);

/* Whether a change that is about to be logged is one that log_change_decode would take. */
int log_change_sound(const struct model *model, const struct change *change);

/* ---- finding records in a file that may be torn or damaged */

enum found {
    FOUND_NONE,   /* no whole record is there */
    FOUND_WHOLE,  /* header and payload have the right checksums */
    FOUND_FLIPPED /* they have once a single bit is put right, which they are now: a crash tears whole sectors */
};

/* Looks for a record at log->end of a file of this length. The payload, NULL when there is none, is the caller's to
   free. BPCN_CORRUPT: its checksum is right, but it can be no record. */
bpcn_status log_scan_record(const struct log *log, uint64_t length, struct record *record, unsigned char **payload,
                        enum found *found);

/* Shows every header of a record from byte `from` on, until `visit` returns 1. */
bpcn_status log_scan_headers(const struct log *log, uint64_t length, uint64_t from,
                         int (*visit)(void *user, const struct record *record), void *user);

/* BPCN_CORRUPT with "record n of the log (at byte m): what". */
bpcn_status log_fail_record(const struct log *log, const char *what);

#endif
