/* What a memory holds, and its file too. */
#ifndef BPCN_CONTENTS_H
#define BPCN_CONTENTS_H

#include "model.h"

struct contents {
    struct model *model;
    void *note; /* [note_bytes] the caller's own words; NULL when there are none */
    size_t note_bytes;
};

void contents_free(struct contents *contents);

/* The note becomes a copy of this one. -1 when out of memory. */
int contents_keep_note(struct contents *contents, const void *note, size_t bytes);

#endif
