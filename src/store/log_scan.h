/* Records as they are found in a file that may be torn or damaged. */
#ifndef BPCN_LOG_SCAN_H
#define BPCN_LOG_SCAN_H

#include "log_record.h"

enum found {
    FOUND_NONE,   /* no whole record is there */
    FOUND_WHOLE,  /* header and payload have the right checksums */
    FOUND_FLIPPED /* they have once a single bit is put right, which they are now: a crash tears whole sectors */
};

/* Looks for a record at log->end of a file of this length. The payload, NULL when there is none, is the caller's to
   free. BPCN_CORRUPT: its checksum is right, but it can be no record. */
bpcn_status scan_record(const struct log *log, uint64_t length, struct record *record, unsigned char **payload,
                        enum found *found);

/* Shows every header of a record from byte `from` on, until `visit` returns 1. */
bpcn_status scan_headers(const struct log *log, uint64_t length, uint64_t from,
                         int (*visit)(void *user, const struct record *record), void *user);

/* BPCN_CORRUPT with "record n of the log (at byte m): what". */
bpcn_status fail_record(const struct log *log, const char *what);

#endif
