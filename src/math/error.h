/* Failures are reported by bpcn_fail, which is part of the public header: it serves programs and bindings too. */
#ifndef BPCN_ERROR_H
#define BPCN_ERROR_H

#include "bayespcn.h"
#include "symbols.h"

#endif
