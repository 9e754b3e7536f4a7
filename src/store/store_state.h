/* The state of a memory as the payloads of sections, and what a state must be to be believed. */
#ifndef BPCN_STORE_STATE_H
#define BPCN_STORE_STATE_H

#include "contents.h"
#include "store_format.h"

/* What the header says about a memory. */
void state_header(const struct contents *contents, uint64_t generation, struct header *header);

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
bpcn_status state_check(const struct contents *contents);
bpcn_status state_check_shard(const struct contents *contents, size_t shard); /* of one */

/* Whether these can be the log weights of n particles: normalised, no NaN. */
int weights_sound(size_t n, const double *log_weights);

/* The first of n floats (size 4) or doubles (size 8) that is NaN or infinite or, for doubles,
   beyond `most`; n when all are fine. */
size_t first_unsound(const void *values, size_t n, size_t size, double most);

#endif
