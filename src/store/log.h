/*
 * The log at the end of a memory file: one record for every change since the snapshot, with what
 * repeats it. A record counts once it is synced; docs/FORMAT.md says how a torn end is told from
 * damage.
 */
#ifndef BPCN_LOG_H
#define BPCN_LOG_H

#include "change.h"
#include "contents.h"
#include "file.h"
#include "seal.h"

enum { RECORD_BYTES = 48, RECORD_END_BYTES = 8 }; /* before and after a record's payload */

struct log {
    struct file file;
    const char *path;      /* for sentences */
    uint32_t version;      /* of the file */
    uint32_t salt;         /* of its header */
    uint64_t start, end;   /* in the file */
    uint64_t last;         /* where the last record begins */
    uint64_t records;      /* from start to end */
    uint64_t synced;       /* how many of them are known to be durable */
    uint32_t sum;          /* over the checksums of their payloads */
    struct seal seal;      /* of the file, as last written or read */
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
struct editing;
bpcn_status log_repeat(struct editing *editing, const struct change *change);

/* Repeats all records of a file of the given length, found after log->seal was read. A torn end stays in the file, its
   size in log->dropped. */
bpcn_status log_replay(struct log *log, uint64_t length, struct contents *contents);

#endif
