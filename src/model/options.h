/* Checks of what callers ask for. */
#ifndef BPCN_OPTIONS_H
#define BPCN_OPTIONS_H

#include "bayespcn.h"
#include "symbols.h"

/* Whether BPCN_KERNELS and BPCN_THREADS can be honoured. */
bpcn_status environment_check(void);

/* Copies the options with what is left open filled in; fails with a sentence, also when the environment is wrong. */
bpcn_status options_check(const bpcn_options *given, bpcn_options *checked);

/* The same for a read's; given may be NULL. */
bpcn_status read_options_check(bpcn_minimizer minimizer, const bpcn_read_options *given, bpcn_read_options *checked);

#endif
