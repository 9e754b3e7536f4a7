/* What is behind the public handle. */
#ifndef BPCN_MEMORY_H
#define BPCN_MEMORY_H

#include "model.h"

struct bpcn_memory {
    struct model *model;
    void *note; /* [note_bytes] the caller's own words, kept with the memory; NULL when there are none */
    size_t note_bytes;
    struct store *store; /* the file that the memory lives in, or NULL */
};

#endif
