/* Checks of what callers ask for. */
#ifndef BPCN_OPTIONS_H
#define BPCN_OPTIONS_H

#include "bayespcn.h"

/* Copies the options with what is left open filled in; fails with a sentence. */
bpcn_status options_check(const bpcn_options *given, bpcn_options *checked);

/* The same for a read's; given may be NULL. */
bpcn_status read_options_check(bpcn_minimizer minimizer, const bpcn_read_options *given, bpcn_read_options *checked);

#endif
