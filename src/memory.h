/* What is behind the public handle. */
#ifndef BPCN_MEMORY_H
#define BPCN_MEMORY_H

#include "model.h"

struct bpcn_memory {
    struct model *model;
};

#endif
