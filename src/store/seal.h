/*
 * The seals of a memory file: two slots after its header, which are written in turn. The newer one says whether the
 * file is open (somebody writes it, or died while he did) or was closed, and then how much of it there was.
 * docs/FORMAT.md has the protocol, and why no crash can make a file look damaged.
 */
#ifndef BPCN_SEAL_H
#define BPCN_SEAL_H

#include <stdint.h>

enum {
    SEAL_BYTES = 512, /* of a slot: a sector of its own, so that a torn write of one spoils nothing else */
    SEALS = 2,
    FIRST_EPOCH = 2 /* of the seal that a file is made with */
};

struct seal {
    uint64_t epoch;   /* how often a slot was written: slot epoch % SEALS is the one that counts */
    int open;         /* 1: not closed; the fields below say nothing */
    int doubtful;     /* the other slot is no seal: a crash tore it, or it was the newer one and is damaged */
    uint64_t length;  /* of the file */
    uint64_t records; /* of its log */
    uint32_t sum;     /* over their checksums: see log_sum */
};

/* The slot of this seal. */
void seal_encode(const struct seal *seal, uint32_t salt, unsigned char out[SEAL_BYTES]);
uint64_t seal_offset(const struct seal *seal);

/* Of a new file: closed at `length` with an empty log. */
struct seal seal_first(uint64_t length);
void seals_encode(const struct seal *first, uint32_t salt, unsigned char out[SEALS * SEAL_BYTES]);

/* The seal that counts; -1 when neither slot is one. */
int seals_decode(const unsigned char in[SEALS * SEAL_BYTES], uint32_t salt, struct seal *seal);

#endif
