/* How familiar a row is, and in a word. */
#include "familiarity.h"

#include <math.h>

enum { LAGS = 64 };
static const double border = 0.55;   /* residual over what the search leaves of a row never seen: even odds */
static const double recalled = 0.01; /* mean square error up to which a row counts as recalled, entries being about 1 */
static const double chance = 6.4;    /* deviations of noise that count as much as such a residual */
static const double drowned = 0.1;   /* of the directions: noise leaves them to the prior */
static const double by_chance = 4;   /* deviations from white that a fit to noise may leave; */
static const double of_pattern = 0.7; /* one beyond, in deviations of the size */
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

int much_open(const struct model *model, double variance)
{
    return variance > 2 * noise_variance(model, 0);
}

/* How much more the row's own directions are open than one written row leaves them, in units of that; at least 1. */
static double openness(const struct model *model, const struct evidence *e)
{
    double noise = noise_variance(model, 0);
    return fmax(1,
                (e->variance - noise - e->faded) / (noise + 0.02 * e->faded)); /* all fade alike, but for that much */
}

/* What is left of the row, per entry that the code could not have fitted anyway: beyond the noise that was said to be
   there, or short of it, or unlike it. In units of what the search leaves of rows never seen, or of an answer that is
   recalled no more. */
static double doubt(const struct model *model, const struct evidence *e, double squares, double pattern, double left)
{
    double own = noise_variance(model, 0), each = squares / left;
    double noise = e->noise + fmax(0, 2 * own - e->variance), deviation = sqrt(2 / left) * noise;
    double unseen = fmin(e->sensory * e->variance, 2 * e->sensory * own + recalled / border);
    double odd = fmax(0, each - noise) + fmax(0, e->noise - each);
    if (e->noise > 0)
        odd += of_pattern * fmax(0, pattern - by_chance) * deviation;
    return odd * openness(model, e) / (unseen + chance * deviation);
}

/* Less is left than the noise that was said to be there: what else is true cannot be seen through it. */
static int too_quiet(const struct evidence *e, double left)
{
    return e->squares / left < e->noise * (1 - border * chance * sqrt(2 / left));
}

struct judgement judge(const struct model *model, const struct evidence *e)
{
    double used = directions(model, e->written), left = e->known - (e->noise > 0 ? 1 - drowned : 1) * used;
    struct judgement j = {0, BPCN_CANNOT_TELL};
    if (used < 0.5 || e->known < 1)
        return j;
    double one = oneness(model, e);
    if (e->known <= used) {
        j.verdict = one < 0.5 ? BPCN_BLEND : BPCN_CANNOT_TELL;
        return j;
    }
    double fits = 1 / (1 + pow(doubt(model, e, e->squares, e->pattern, left) / border, 2));
    int nothing_fits = doubt(model, e, e->power, 0, left) < border;
    if (nothing_fits || (fits < 0.5 && too_quiet(e, left)))
        return j;
    j.familiarity = fits * (e->whole ? 1 : one);
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
