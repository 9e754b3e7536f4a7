/* The model, plainly: see naive.h. */
#include "naive.h"

#include "support.h"

#include <math.h>
#include <stdlib.h>

static const double two_pi = 6.283185307179586477;

struct naive *naive_of(const bpcn_memory *memory)
{
    struct naive *m = room(1, sizeof *m);
    m->options.size = sizeof m->options;
    assert_ok(bpcn_memory_get_options(memory, &m->options));
    size_t layers = m->options.layers, particles = m->options.particles;
    m->width[0] = m->options.dim;
    for (size_t l = 1; l <= layers; l++)
        m->code_dim += m->width[l] = m->options.hidden[l - 1];
    m->particles = room(particles, sizeof *m->particles);
    m->log_weights = room(particles, sizeof *m->log_weights);
    assert_ok(bpcn_memory_get_weights(memory, 0, m->log_weights));
    for (size_t k = 0; k < particles; k++) {
        struct naive_particle *p = &m->particles[k];
        m->log_weights[k] = log(m->log_weights[k]);
        for (size_t l = 0; l < layers; l++) {
            p->mean[l] = room(m->width[l + 1] * m->width[l], sizeof(double));
            p->covariance[l] = room(m->width[l + 1] * m->width[l + 1], sizeof(double));
            assert_ok(bpcn_memory_get_layer(memory, 0, k, l, p->mean[l], p->covariance[l]));
        }
        p->top_mean = room(m->width[layers], sizeof(double));
        assert_ok(bpcn_memory_get_top(memory, 0, k, p->top_mean, &p->top_variance));
    }
    return m;
}

void naive_free(struct naive *m)
{
    for (size_t k = 0; k < m->options.particles; k++) {
        for (size_t l = 0; l < m->options.layers; l++) {
            free(m->particles[k].mean[l]);
            free(m->particles[k].covariance[l]);
        }
        free(m->particles[k].top_mean);
    }
    free(m->particles);
    free(m->log_weights);
    free(m);
}

double naive_activation(bpcn_activation kind, double x)
{
    switch (kind) {
    case BPCN_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case BPCN_RELU:
        return x > 0 ? x : 0;
    case BPCN_TANH:
        return tanh(x);
    case BPCN_LINEAR:
        return x;
    }
    return NAN;
}

double naive_noise(const struct naive *m, size_t layer)
{
    double sigma = layer == 0 && m->options.sigma_data > 0 ? m->options.sigma_data : m->options.sigma_x;
    return sigma * sigma;
}

size_t naive_offset(const struct naive *m, size_t layer)
{
    size_t at = 0;
    for (size_t l = 1; l < layer; l++)
        at += m->width[l];
    return at;
}

/* Entry j of layer l of a row. */
static double entry(const struct naive *m, const struct naive_row *row, size_t l, size_t j)
{
    return l == 0 ? row->x0[j] : row->code[naive_offset(m, l) + j];
}

static double activated(const struct naive *m, const double *code, size_t l, size_t j)
{
    return naive_activation(m->options.activation, code[naive_offset(m, l) + j]);
}

/* z_{l+1} U_l z_{l+1}', or the top's variance */
static double ignorance(const struct naive *m, const struct naive_particle *p, const double *code, size_t l)
{
    if (l == m->options.layers)
        return p->top_variance;
    size_t above = m->width[l + 1];
    double sum = 0;
    for (size_t i = 0; i < above; i++)
        for (size_t j = 0; j < above; j++)
            sum += activated(m, code, l + 1, i) * p->covariance[l][i * above + j] * activated(m, code, l + 1, j);
    return sum;
}

/* What layer l + 1 (or the top's mean) predicts for entry j of layer l. */
static double predicted(const struct naive *m, const struct naive_particle *p, const double *code, size_t l, size_t j)
{
    if (l == m->options.layers)
        return p->top_mean[j];
    double sum = 0;
    for (size_t i = 0; i < m->width[l + 1]; i++)
        sum += activated(m, code, l + 1, i) * p->mean[l][i * m->width[l] + j];
    return sum;
}

/* What the recall objective multiplies the energies above the sensory layer with: the root of the
   share of layer 1's directions that were written to, over all particles. */
static double upper_weight(const struct naive *m)
{
    double trace = 0, width = (double)m->width[1], prior = m->options.sigma_w * m->options.sigma_w;
    for (size_t k = 0; k < m->options.particles; k++)
        for (size_t i = 0; i < m->width[1]; i++)
            trace += m->particles[k].covariance[0][i * m->width[1] + i];
    return fmax(0.1, sqrt(fmax(0, 1 - trace / (width * prior * (double)m->options.particles))));
}

double naive_energy(const struct naive *m, size_t particle, const struct naive_row *row)
{
    const struct naive_particle *p = &m->particles[particle];
    int recall = row->recall && m->options.layers > 0;
    double energy = 0, sensory = recall ? 0.1 : 1, upper = recall ? upper_weight(m) : 1;
    for (size_t l = 0; l <= m->options.layers; l++) {
        double s = naive_noise(m, l) + ignorance(m, p, row->code, l), squares = 0, weight = l == 0 ? 1 : upper;
        if (l == 0)
            s = sensory * s + row->extra;
        for (size_t j = 0; j < m->width[l]; j++)
            if (l > 0 || row->known == NULL || row->known[j])
                squares += pow(entry(m, row, l, j) - predicted(m, p, row->code, l, j), 2);
        energy += weight * (0.5 * (l == 0 ? row->count : (double)m->width[l]) * log(two_pi * s) + squares / (2 * s));
    }
    return energy;
}

double naive_mixture(const struct naive *m, const struct naive_row *row, double *share)
{
    size_t n = m->options.particles;
    double *term = room(n, sizeof *term), most = -INFINITY, sum = 0;
    for (size_t k = 0; k < n; k++) {
        term[k] = m->log_weights[k] - naive_energy(m, k, row);
        most = fmax(most, term[k]);
    }
    for (size_t k = 0; k < n; k++)
        sum += exp(term[k] - most);
    for (size_t k = 0; share != NULL && k < n; k++)
        share[k] = exp(term[k] - most) / sum;
    free(term);
    return -most - log(sum);
}

double naive_leverage(const struct naive *m, size_t particle, const double *code)
{
    return m->options.layers == 0 ? 0 : ignorance(m, &m->particles[particle], code, 0);
}

void naive_predict(const struct naive *m, size_t particle, const double *code, double *out)
{
    for (size_t j = 0; j < m->width[0]; j++)
        out[j] = predicted(m, &m->particles[particle], code, 0, j);
}

void naive_solve(size_t n, size_t m, double *a, double *b)
{
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            pivot = fabs(a[i * n + k]) > fabs(a[pivot * n + k]) ? i : pivot;
        for (size_t j = 0; j < n; j++) {
            double t = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = t;
        }
        for (size_t j = 0; j < m; j++) {
            double t = b[k * m + j];
            b[k * m + j] = b[pivot * m + j];
            b[pivot * m + j] = t;
        }
        for (size_t i = 0; i < n; i++) {
            if (i == k)
                continue;
            double factor = a[i * n + k] / a[k * n + k];
            for (size_t j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
            for (size_t j = 0; j < m; j++)
                b[i * m + j] -= factor * b[k * m + j];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            b[i * m + j] /= a[i * n + i];
}
