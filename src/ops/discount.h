/* Discounting what was learnt; the log of a memory file repeats it too. */
#ifndef BPCN_DISCOUNT_H
#define BPCN_DISCOUNT_H

#include "model.h"

bpcn_status model_discount(struct model *model, double beta);

#endif
