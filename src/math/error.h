/* The sentence that goes with a failed call, one per thread. */
#ifndef BPCN_ERROR_H
#define BPCN_ERROR_H

#include "bayespcn.h"

/* Sets the sentence and returns the status, so that a check is one line. */
bpcn_status fail(bpcn_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
