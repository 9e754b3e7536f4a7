/* How familiar a row is, and in a word. */
#include "familiarity.h"

#include <math.h>

enum { LAGS = 64 };
static const double border = 0.45;    /* residual over what the search leaves of a row never seen: even odds */
static const double chance = 10;      /* deviations of noise that count as much as such a residual */
static const double of_pattern = 0.6; /* a deviation from white, in deviations of its size */
static const double one_of = 0.3;     /* leverage over that of one row, below which an answer is a blend */

/* The directions that the code of a row can use to explain it: those of layer 1 that were written to. */
static double directions(const struct model *model, double written)
{
    return written * (model->options.layers > 0 ? (double)model->width[1] : 1);
}

/* z U z' is sigma^2 times the sum of the squares of the weights of the rows that the code is made of. One row as it was
   written has `mean` of that on average; k of them evenly a k-th. */
static double oneness(const struct model *model, const struct evidence *e)
{
    double noise = noise_variance(model, 0), rows = fmax(1, (double)model->writes - (double)model->deletes);
    double mean = fmin(1, directions(model, e->written) / rows);
    double share = fmax(0, e->variance - noise) / noise / mean;
    return 1 / (1 + pow(one_of / fmax(share, 1e-9), 4));
}

/* What the code leaves unexplained, per entry that it could not have fitted anyway; beyond the noise that was said to
   be there, or short of it, or unlike it. In units of what is left of rows never seen. */
static double doubt(const struct model *model, const struct evidence *e, double left)
{
    double each = e->squares / left, own = fmax(0, 2 * noise_variance(model, 0) - e->variance);
    double noise = e->noise + own, deviation = sqrt(2 / left) * noise;
    double odd = fmax(0, each - noise) + fmax(0, e->noise - each);
    if (e->noise > 0)
        odd += of_pattern * fmax(0, e->pattern) * deviation;
    return odd / (e->sensory * e->variance + chance * deviation);
}

struct judgement judge(const struct model *model, const struct evidence *e)
{
    double used = directions(model, e->written), left = e->known - used;
    struct judgement j = {0, BPCN_CANNOT_TELL};
    if (used < 0.5 || e->known < 1)
        return j;
    double one = oneness(model, e), open = e->whole ? 1 : one;
    if (left <= 0) {
        j.verdict = one < 0.5 ? BPCN_BLEND : BPCN_CANNOT_TELL;
        return j;
    }
    double fits = 1 / (1 + pow(doubt(model, e, left) / border, 2));
    if (fits < 0.5 && e->squares / left < e->noise * (1 - border * chance * sqrt(2 / left)))
        return j; /* there is less noise than was said: what else is true cannot be seen through it */
    j.familiarity = fits * open;
    j.verdict = j.familiarity >= 0.5 ? BPCN_KNOWN : fits >= 0.5 ? BPCN_BLEND : BPCN_NEW;
    return j;
}

double serial_pattern(size_t n, const double *series)
{
    size_t lags = n / 4 < LAGS ? n / 4 : LAGS;
    double power = 0, sum = 0;
    for (size_t j = 0; j < n; j++)
        power += series[j] * series[j];
    if (lags == 0 || power == 0)
        return 0;
    for (size_t k = 1; k <= lags; k++) {
        double product = 0;
        for (size_t j = k; j < n; j++)
            product += series[j] * series[j - k];
        sum += product * product / (double)(n - k);
    }
    double scale = (double)n / power;
    return (sum * scale * scale - (double)lags) / sqrt(2 * (double)lags);
}

const char *bpcn_verdict_name(bpcn_verdict verdict)
{
    static const char *const names[] = {"cannot tell", "new", "known", "blend"};
    return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : NULL;
}
