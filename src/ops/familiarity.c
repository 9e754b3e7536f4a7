/*
 * Familiarity: whether a row was written before.
 *
 * With D directions of layer 1 written to and n known entries, the code fits D of the entries whatever they are, so
 *
 *   r = |e_0|^2 / (n - D)
 *
 * is the residual per entry that counts. Of a written row r is a small part of s_0; of one never seen the search leaves
 * about a s_0. The misfit x of a row is r in units of that, and
 *
 *   fits = 1 / (1 + (x / 0.55)^2).
 *
 * An answer may fit and still be a mean of several written rows, a blend. Of a code that combines the written ones with
 * weights a_i, q / sx^2 = sum a_i^2: 1 for a single row, 1/k for k of them in equal parts. With u that number in units
 * of its mean over the written rows,
 *
 *   single = 1 / (1 + (0.3 / u)^4)        familiarity = fits * single.
 */
#include "familiarity.h"

#include <math.h>

/* All constants were chosen on CIFAR-10 and Fashion-MNIST, rows 0 to 255, and checked on others and on Tiny ImageNet
   (docs/MODEL.md, Familiarity). Entries of the data are about 1. */

/* Misfit x, a ratio, at which fits is 0.5. Larger: more rows count as known, written and unseen ones. */
static const double border_misfit = 0.55;
/* Mean square error per entry up to which an answer counts as recalled, whatever s_0 is. Larger: worse answers of faded
   memories count as known. */
static const double recalled_error = 0.01;
/* Standard deviations of the noise's mean square that weigh as much as a misfit of 1; so 0.55 of them, 3.5, are even
   odds. Larger: noisy copies stay known for longer, and more unseen rows pass for noisy copies. */
static const double noise_deviations = 6.4;
/* Share of the D directions that a noisy row leaves unused, because noise drives its code towards the prior. Larger:
   fewer entries count as unexplained. */
static const double noise_unused_share = 0.1;
/* Deviations from white noise (familiarity_pattern) that residuals may show without counting, and how many standard
   deviations of the noise's mean square each one beyond that weighs. Larger tolerance or smaller weight: patterned
   residuals, which a new row leaves, pass for noise. */
static const double pattern_tolerance = 4, pattern_weight = 0.7;
/* u, a ratio, below which an answer counts as a blend. Larger: more answers do, also of rows written several times. */
static const double blend_border = 0.3;
/* Share of f, the variance that forgetting gave back in all directions, by which a row's own directions may differ from
   the others and still count as faded alike. Larger: the residual counts for less after forgetting. */
static const double fade_spread = 0.02;
/* Lags of the test for white noise. */
enum { PATTERN_LAGS = 64 };

/* D. */
static double familiarity_directions(const struct model *model, double written)
{
    return written * (model->options.layers > 0 ? (double)model->width[1] : 1);
}

int familiarity_needs_faded(const struct model *model, double variance)
{
    return variance > 2 * noise_variance(model, 0);
}

/* u is q / sx^2 over its mean, D / rows or 1. */
static double familiarity_single(const struct model *model, const struct evidence *e)
{
    double noise = noise_variance(model, 0), rows = fmax(1, (double)model->writes - (double)model->deletes);
    double mean = fmin(1, familiarity_directions(model, e->written) / rows);
    double u = fmax(0, e->variance - noise) / noise / mean;
    return 1 / (1 + pow(blend_border / fmax(u, 1e-9), 4));
}

/*
 * The misfit x of residuals with this sum of squares and pattern, `spare` being n - D:
 *
 *   x = o * (|r - t| + pattern) / (min(a s_0, 2 a sx^2 + 0.01 / 0.55) + 6.4 t sqrt(2 / (n - D)))
 *
 * t is the noise variance that was given, plus what a written row itself leaves where q < sx^2. o >= 1 says how much
 * more open the row's own directions are than those of one written row: (q - f) / (sx^2 + 0.02 f).
 */
static double familiarity_misfit(const struct model *model, const struct evidence *e, double squares, double pattern,
                                 double spare)
{
    double own = noise_variance(model, 0), t = e->noise + fmax(0, 2 * own - e->variance);
    double deviation = sqrt(2 / spare) * t, each = squares / spare;
    double unseen = fmin(e->sensory * e->variance, 2 * e->sensory * own + recalled_error / border_misfit);
    double openness = fmax(1, (e->variance - own - e->faded) / (own + fade_spread * e->faded));
    double excess = fmax(0, each - t) + fmax(0, e->noise - each); /* short of the given noise counts too */
    if (e->noise > 0)
        excess += pattern_weight * fmax(0, pattern - pattern_tolerance) * deviation;
    return excess * openness / (unseen + noise_deviations * deviation);
}

struct judgement familiarity_judge(const struct model *model, const struct evidence *e)
{
    double directions = familiarity_directions(model, e->written);
    double spare = e->known - (e->noise > 0 ? 1 - noise_unused_share : 1) * directions;
    struct judgement j = {0, BPCN_CANNOT_TELL};
    if (directions < 0.5 || e->known < 1)
        return j;
    double single = familiarity_single(model, e);
    if (e->known <= directions) { /* any row can be explained */
        j.verdict = single < 0.5 ? BPCN_BLEND : BPCN_CANNOT_TELL;
        return j;
    }
    double x = familiarity_misfit(model, e, e->squares, e->pattern, spare);
    double fits = 1 / (1 + pow(x / border_misfit, 2));
    /* a row that fits without any code says nothing */
    if (familiarity_misfit(model, e, e->power, 0, spare) < border_misfit)
        return j;
    /* less is left than the noise that was given: that noise is not there, and what is cannot be told through it */
    if (fits < 0.5 && e->squares / spare < e->noise * (1 - border_misfit * noise_deviations * sqrt(2 / spare)))
        return j;
    j.familiarity = fits * (e->whole ? 1 : single);
    j.verdict = j.familiarity >= 0.5 ? BPCN_KNOWN : fits >= 0.5 ? BPCN_BLEND : BPCN_NEW;
    return j;
}

/* Q = n^2 sum_k rho_k^2 / (n - k), about chi-squared with as many degrees of freedom as lags. */
double familiarity_pattern(size_t n, const double *series)
{
    size_t lags = n / 4 < PATTERN_LAGS ? n / 4 : PATTERN_LAGS;
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
    static const char *const names[] = {"cannot tell", "new", "known", "blend", "near copy"};
    return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : NULL;
}
