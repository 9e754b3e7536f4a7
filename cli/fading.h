/* write --forget auto: a stream of any length stays recallable for its recent past. */
#ifndef BPCN_CLI_FADING_H
#define BPCN_CLI_FADING_H

#include "memfile.h"

struct fading {
    double beta;   /* discount of one step; 0: never */
    size_t period; /* writes between steps */
    size_t since;  /* writes since the last */
};

/* A fixed beta after every write, by bpcn_memory_forget. */
struct fading fading_fixed(double beta);

/* What suits the memory's narrowest layer. */
struct fading fading_auto(const bpcn_options *options);

/* To be called before every write. */
bpcn_status fading_step(struct fading *fading, struct memfile *file);

#endif
