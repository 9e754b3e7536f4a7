/* An empty memory: the prior. */
#ifndef BPCN_EMPTY_H
#define BPCN_EMPTY_H

#include "model.h"

struct model *model_create(const bpcn_options *options); /* NULL: out of memory */

#endif
