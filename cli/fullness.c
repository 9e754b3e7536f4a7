/* Verdicts in colour, fullness by leverage and by recall of probes. */
#include "fullness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fullness below which probes that are not recalled say more about the rows than about the memory. */
static const double nearly_full = 0.9, half_full = 0.5;

/* Root mean squares of values between which all rows that fit are recalled; far outside, few or none
   (docs/CHOOSING.md). */
static const double scale_least = 0.05, scale_most = 5;

enum colour verdict_colour(bpcn_verdict verdict)
{
    return verdict == BPCN_KNOWN || verdict == BPCN_NEAR_COPY ? COLOUR_GOOD : verdict == BPCN_NEW ? COLOUR_BAD : COLOUR_PLAIN;
}

static size_t heaviest_particle(const bpcn_memory *memory, size_t shard, size_t particles)
{
    size_t best = 0;
    double *weights = calloc(particles, sizeof *weights);
    if (weights != NULL && bpcn_memory_get_weights(memory, shard, weights) == BPCN_OK)
        for (size_t k = 1; k < particles; k++)
            best = weights[k] > weights[best] ? k : best;
    free(weights);
    return best;
}

/* The share of the weights' uncertainty that is used up, in the fullest layer of the heaviest particle. */
static double shard_fullness(const bpcn_memory *memory, const bpcn_options *o, size_t shard)
{
    double fullest = 0;
    size_t particle = heaviest_particle(memory, shard, o->particles);
    for (size_t l = 0; l < o->layers; l++) {
        size_t width = o->hidden[l];
        double *u = malloc(width * width * sizeof *u), trace = 0;
        if (u == NULL || bpcn_memory_get_layer(memory, shard, particle, l, NULL, u) != BPCN_OK) {
            free(u);
            return -1;
        }
        for (size_t i = 0; i < width; i++)
            trace += u[i * width + i];
        free(u);
        fullest = fmax(fullest, 1 - trace / ((double)width * o->sigma_w * o->sigma_w));
    }
    return fmin(1, fullest);
}

/* With several shards: the share of their rows that is written or, once a shard has more, the mean over shards. */
static double shards_fullness(const bpcn_memory *memory, const bpcn_options *o, const uint64_t *rows, size_t count)
{
    double sum = 0;
    bool overfull = false;
    for (size_t k = 0; k < count; k++) {
        sum += (double)rows[k];
        overfull = overfull || rows[k] > o->shard_rows;
    }
    if (!overfull)
        return sum / ((double)o->shards * (double)o->shard_rows);
    sum = 0;
    for (size_t k = 0; k < count; k++) {
        double one = shard_fullness(memory, o, k);
        if (one < 0)
            return -1;
        sum += one;
    }
    return sum / (double)o->shards;
}

double memory_fullness(const bpcn_memory *memory)
{
    bpcn_options o = {.size = sizeof o};
    size_t count = 0;
    double full = -1;
    if (bpcn_memory_get_options(memory, &o) != BPCN_OK || bpcn_memory_get_shards(memory, NULL, 0, &count) != BPCN_OK)
        return -1;
    if (o.shards == 1 && o.shard_step <= 1) /* and is not a part of a folder */
        return shard_fullness(memory, &o, 0);
    uint64_t *rows = calloc(count, sizeof *rows);
    if (rows != NULL && bpcn_memory_get_shards(memory, rows, count, &count) == BPCN_OK)
        full = shards_fullness(memory, &o, rows, count);
    free(rows);
    return full;
}

/* ---- probes */

int probes_begin(struct probes *p, const bpcn_options *o, bool auto_forget)
{
    *p = (struct probes){.rows = malloc(PROBES * o->dim * sizeof *p->rows), .dim = o->dim, .most = PROBES, .state = 1};
    p->latest = auto_forget || o->when_full == BPCN_RECYCLE;
    uint64_t kept = (uint64_t)(o->shards - 1) * o->shard_rows; /* at least: a shard may just have been emptied */
    if (o->when_full == BPCN_RECYCLE && kept < PROBES)
        p->most = kept > 0 ? (size_t)kept : 1;
    return p->rows == NULL ? -1 : 0;
}

void probes_free(struct probes *p)
{
    free(p->rows);
    *p = (struct probes){0};
}

/* Every row seen so far is among them with the same chance (reservoir sampling). */
void probes_add(struct probes *p, const float *row)
{
    size_t at = p->seen++;
    if (p->held < p->most) {
        p->held++;
    } else if (p->latest) {
        at %= p->most;
    } else {
        p->state = p->state * 6364136223846793005u + 1442695040888963407u;
        at = (size_t)((p->state >> 33) % p->seen);
    }
    if (at < p->most)
        memcpy(p->rows + at * p->dim, row, p->dim * sizeof *row);
}

/* Hides a quarter: the right of a picture, or every fourth entry. */
static void hide_quarter(const fmt_schema *fields, unsigned char *known)
{
    const fmt_column *picture = fmt_schema_picture(fields);
    for (size_t j = 0; j < fields->dim; j++)
        known[j] = picture ? 1 : j % 4 != 3;
    for (size_t j = 0; picture != NULL && j < picture->size; j++)
        known[picture->offset + j] = j % picture->width < picture->width - picture->width / 4;
}

/* Error of the hidden entries, as a share of the size of pixels or of the values themselves. */
static bool came_back(const fmt_schema *fields, const unsigned char *known, const float *truth, const float *answer)
{
    double error = 0, size = 0;
    size_t hidden = 0;
    for (size_t j = 0; j < fields->dim; j++) {
        if (known[j])
            continue;
        error += pow((double)(answer[j] - truth[j]), 2);
        size += pow((double)truth[j], 2);
        hidden++;
    }
    if (hidden == 0)
        return true;
    return error < 0.01 * (fmt_schema_picture(fields) != NULL ? (double)hidden : size + 1e-12);
}

static int recall_probes(const struct memory_file *file, const struct probes *p, size_t *recalled)
{
    float *answer = malloc(PROBES * p->dim * sizeof *answer);
    unsigned char *known = malloc(PROBES * p->dim);
    bpcn_read_options o;
    int failed = answer == NULL || known == NULL ? console_error(file->console, "out of memory") : 0;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    for (size_t i = 0; i < p->held && !failed; i++)
        hide_quarter(&file->note.fields, known + i * p->dim);
    bpcn_status status = failed ? BPCN_OK : memory_file_read(file, p->rows, known, p->held, &o, answer, NULL);
    if (status != BPCN_OK)
        failed = memory_file_error(file, status);
    *recalled = 0;
    for (size_t i = 0; i < p->held && !failed; i++)
        *recalled += came_back(&file->note.fields, known, p->rows + i * p->dim, answer + i * p->dim);
    free(answer);
    free(known);
    return failed;
}

/* Root mean square of the values of the probes. */
static double probes_scale(const struct probes *p)
{
    double sum = 0;
    size_t count = p->held * p->dim;
    for (size_t j = 0; j < count; j++)
        sum += pow((double)p->rows[j], 2);
    return count ? sqrt(sum / (double)count) : 0;
}

int measure_fullness(struct memory_file *file, const struct probes *p)
{
    bpcn_stats stats = {.size = sizeof stats};
    struct memory_note *r = &file->note;
    r->fullness = memory_file_fullness(file);
    r->probes = p ? p->held : 0;
    r->recalled = 0;
    r->scale = p ? probes_scale(p) : 0;
    bpcn_status status = memory_file_stats(file, &stats);
    if (status != BPCN_OK)
        return memory_file_error(file, status);
    r->measured = stats.writes;
    return r->probes > 0 ? recall_probes(file, p, &r->recalled) : 0;
}

/* Advice for a memory that loses rows, or soon will; NULL: none. */
static const char *advice_of(const bpcn_options *o, bool lost, bool full)
{
    if (o->shards > 1 && o->when_full == BPCN_RECYCLE) /* a recycling memory is meant to be full */
        return lost ? "it no longer recalls what was written: create a memory with fewer rows per shard (--shard-rows)"
                    : NULL;
    if (lost)
        return o->shards > 1 ? "it no longer recalls what was written: create a memory with a larger --capacity, or "
                               "with --when-full recycle"
                             : "it no longer recalls what was written: let old rows fade (bpcn forget, or bpcn write "
                               "--forget auto), or create a wider memory";
    if (full)
        return o->shards > 1 ? "nearly full: create a memory with a larger --capacity, or with --when-full recycle"
                             : "nearly full: let old rows fade (bpcn forget, or bpcn write --forget auto), or create a "
                               "wider memory";
    return NULL;
}

bool fullness_recalls(const struct memory_note *r)
{
    return r->probes == 0 || (double)r->recalled >= 0.9 * (double)r->probes;
}

bool fullness_advice(const bpcn_options *o, const struct memory_note *r, char *out, size_t capacity)
{
    bool recalls = fullness_recalls(r);
    bool odd = r->scale > 0 && (r->scale < scale_least || r->scale > scale_most);
    if (o->kind == BPCN_TABLE) /* it is not meant to tell rows apart */
        return false;
    if (!recalls && odd) {
        snprintf(out, capacity,
                 "it does not recall what was written, probably because its values are about %.2g and should be about "
                 "1: scale them (bpcn create --like TABLE.csv does)",
                 r->scale);
        return true;
    }
    const char *advice = advice_of(o, !recalls && r->fullness >= half_full, r->fullness >= nearly_full);
    snprintf(out, capacity, "%s", advice ? advice : "");
    return advice != NULL;
}
