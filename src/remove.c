/* placeholder */
#include "core_real.h"
bpcn_status core_remove(struct model *model, const void *x)
{
    (void)model;
    (void)x;
    return BPCN_REFUSED;
}
