/* The sections of a memory file: what a state of the memory must be, writing it, and reading it without trust. */
#ifndef BPCN_SNAPSHOT_H
#define BPCN_SNAPSHOT_H

#include "contents.h"
#include "file.h"
#include "format.h"
#include "symbols.h"

/* Writes the memory from the file's first byte on, and tells the header. Fails with a sentence. */
bpcn_status snapshot_write(const struct contents *contents, uint64_t generation, const struct file *file,
                           const char *path, struct header *header);

/* Reads and checks the header of a file of the given length. */
bpcn_status snapshot_header(const struct file *file, const char *path, uint64_t length, struct header *header);

/* The seal that counts. */
bpcn_status snapshot_seal(const struct file *file, const char *path, const struct header *header, struct seal *seal);

/* Fills contents->model and contents->note from the file; after a failure they may be half filled,
   and are the caller's to free. */
bpcn_status snapshot_read(const struct file *file, const char *path, const struct header *header,
                          struct contents *contents);

/* The same of a damaged file: every section that cannot be read is told, with the reason in bpcn_error, and left as it
   may be. With bad = NULL the first one is a failure. */
bpcn_status snapshot_recover(const struct file *file, const char *path, const struct header *header,
                             struct contents *contents, void (*bad)(void *user, const struct section *section),
                             void *user);

/* What the header says about a memory. */
void snapshot_describe(const struct contents *contents, uint64_t generation, struct header *header);

/* Bytes first .. first + n of the section's payload, n > 0; both are multiples of 8 except at a
   note's end. */
void state_encode(const struct contents *contents, const struct section *section, uint64_t first, size_t n,
                  unsigned char *out);
void state_decode(struct contents *contents, const struct section *section, uint64_t first, size_t n,
                  const unsigned char *in);

/* Numbers are finite and in range, covariances positive definite, weights normalised. Of one part
   of a section's payload, of what only a whole section shows, and of all; BPCN_CORRUPT and a
   sentence otherwise. */
bpcn_status state_check_part(const struct contents *contents, const struct section *section, uint64_t first, size_t n);
bpcn_status state_check_section(const struct contents *contents, const struct section *section);
bpcn_status snapshot_check(const struct contents *contents);
bpcn_status snapshot_check_shard(const struct contents *contents, size_t shard); /* of one */

/* Whether these can be the log weights of n particles: normalised, no NaN. */
int snapshot_weights_sound(size_t n, const double *log_weights);

/* The first of n floats (size 4) or doubles (size 8) that is NaN or infinite or, for doubles,
   beyond `most`; n when all are fine. */
size_t snapshot_first_unsound(const void *values, size_t n, size_t size, double most);

#endif
