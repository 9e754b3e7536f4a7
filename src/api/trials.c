/* Every few rows some columns are hidden, filled in and compared: the sums of it. */
#include "bayespcn.h"

#include "random.h"

#include <math.h>

enum { EVERY = 8, FIRST = 16, REMEMBERED = 20000 }; /* rows, rows, entries */
static const double hidden_share = 0.3;
static const double usual_factor = 1.4; /* the median of 23 tables, with 32 networks a view */

_Static_assert(sizeof(bpcn_trials) == 32, "bpcn_trials has 32 bytes");

static double chance(uint64_t row, size_t column)
{
    uint64_t x = (row + 1) * RANDOM_SCRAMBLE_STEP + (column + 1) * UINT64_C(0xd1b54a32d192ed03);
    return (double)(random_scramble(x) >> 11) * 0x1p-53;
}

size_t bpcn_trials_hide(uint64_t row, const size_t *column, const unsigned char *known, size_t dim,
                        unsigned char *shown)
{
    size_t left = 0;
    if (row < FIRST || row % EVERY != 0)
        return 0;
    for (size_t j = 0; j < dim; j++) {
        shown[j] = (known == NULL || known[j]) && chance(row, column ? column[j] : j) >= hidden_share;
        left += shown[j];
    }
    return left;
}

void bpcn_trials_count(bpcn_trials *trials, const float *x, const unsigned char *known, size_t dim, const float *answer,
                       const float *spread, const unsigned char *shown)
{
    for (size_t j = 0; j < dim; j++)
        if ((known == NULL || known[j]) && !shown[j]) {
            trials->errors += pow((double)(answer[j] - x[j]), 2);
            trials->spreads += pow((double)spread[j], 2);
            trials->plain += pow((double)x[j], 2);
            trials->entries++;
        }
    if (trials->entries > REMEMBERED) { /* what was long ago counts less */
        trials->errors /= 2;
        trials->spreads /= 2;
        trials->plain /= 2;
        trials->entries /= 2;
    }
}

double bpcn_trials_factor(const bpcn_trials *trials)
{
    int tells = trials->entries >= BPCN_ENOUGH_TRIALS && trials->spreads > 0;
    return tells ? sqrt(trials->errors / trials->spreads) : usual_factor;
}
