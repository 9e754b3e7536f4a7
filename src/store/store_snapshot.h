/* Header and sections of a memory file: writing them, and reading them without trust. */
#ifndef BPCN_STORE_SNAPSHOT_H
#define BPCN_STORE_SNAPSHOT_H

#include "file.h"
#include "contents.h"
#include "seal.h"
#include "store_format.h"

/* Writes the memory from the file's first byte on, and tells the header. Fails with a sentence. */
bpcn_status snapshot_write(const struct contents *contents, uint64_t generation, const struct file *file,
                           const char *path, struct header *header);

/* Reads and checks the header of a file of the given length. */
bpcn_status snapshot_header(const struct file *file, const char *path, uint64_t length, struct header *header);

/* The seal that counts; in a file of version 1 or 2, which has none, one that says "open". */
bpcn_status snapshot_seal(const struct file *file, const char *path, const struct header *header, struct seal *seal);

/* Fills contents->model and contents->note from the file; after a failure they may be half filled,
   and are the caller's to free. */
bpcn_status snapshot_read(const struct file *file, const char *path, const struct header *header,
                          struct contents *contents);

/* The same of a damaged file: every section that cannot be read is told, with the reason in bpcn_error, and left as it
   may be. With bad = NULL the first one is a failure. */
bpcn_status snapshot_salvage(const struct file *file, const char *path, const struct header *header,
                             struct contents *contents, void (*bad)(void *user, const struct section *section),
                             void *user);

/* BPCN_IO, or BPCN_NO_SPACE, with "cannot <what> <path>: <errno in words>". */
bpcn_status fail_io(const char *what, const char *path);

/* BPCN_IO for a file that gave less than it has: no reason to believe that there is no more. */
bpcn_status fail_early_end(const char *path, uint64_t at);

#endif
