/* A copy of the memory that has forgotten something: what reads would be like, before anything is forgotten. */
#ifndef BPCN_SERVER_PREVIEW_H
#define BPCN_SERVER_PREVIEW_H

#include "memory_file.h"

enum { PREVIEW_BYTES_MOST = 512 << 20 };

struct preview {
    struct memfile copy;
    bool there;
    double beta;      /* that it has forgotten */
    uint64_t changes; /* of the memory, when it was copied */
};

/* The copy for that beta, made anew if the memory has changed since; NULL with a status and a sentence. */
const struct memfile *preview_of(struct preview *preview, const struct memfile *file, double beta, uint64_t changes,
                                 bpcn_status *status, char *why, size_t room);
void preview_drop(struct preview *preview);

#endif
