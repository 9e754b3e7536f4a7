/* Everything that is in a memory file, and what is to be told about it. */
#ifndef BPCN_STORE_READ_H
#define BPCN_STORE_READ_H

#include "contents.h"
#include "log.h"
#include "store_format.h"

/* Fills contents, log (its buffer is the caller's to free) and header from the file that log->file has open; after a
   failure the contents may be half filled, and are the caller's to free. */
bpcn_status read_all(struct log *log, const char *path, struct contents *contents, struct header *header);

/* The same of a file that others may be writing, opened and closed again. */
bpcn_status read_unlocked(const struct file_ops *ops, const char *path, struct log *log, struct contents *contents,
                          struct header *header);

/* Bytes of log after which it is folded into a snapshot of this length; `asked` by the caller, 0: as is usual. */
uint64_t log_limit(uint64_t snapshot, uint64_t asked);

void fill_info(const struct header *header, uint64_t length, const struct log *log, uint64_t asked,
               bpcn_file_info *info);

#endif
