/*
 * A method under test: the memory or one of its opponents, made from a description that also
 * names its cells. To add a method, give it a kind, a name, and a constructor in method.c.
 */
#ifndef EXPERIMENTS_METHOD_H
#define EXPERIMENTS_METHOD_H

#include "baselines.h"
#include "bayespcn.h"
#include "failure.h"

enum method_kind {
    METHOD_BAYESPCN,
    METHOD_IDENTITY,
    METHOD_NEAREST,
    METHOD_MHN,
    METHOD_GPCN_OFFLINE,
    METHOD_GPCN_ONLINE,
    METHOD_KINDS
};

struct method_spec {
    enum method_kind kind;
    size_t layers, hidden[BPCN_MAX_LAYERS]; /* bayespcn, gpcn */
    bpcn_activation activation;
    size_t particles;
    double sigma_w, sigma_x;
    bpcn_minimizer minimizer;
    size_t forget_every; /* bayespcn: forget before every so many writes but the first; 0: never */
    double beta;         /* how much */
    int discount;        /* by bpcn_memory_discount instead of bpcn_memory_forget */
    size_t rounds;       /* bayespcn, our minimiser: rounds after the answer to a noisy query; 0: none */
    size_t shards;       /* bayespcn: networks that share the rows out; 0 or 1: one */
    size_t shard_rows;   /* rows of each; 0: the width of layer 1 */
    bpcn_when_full when_full;
    enum mhn_metric metric; /* mhn */
    enum mhn_recall recall;
    double rate;       /* mhn: of the gradient recall; 1, or 0.005 to 0.01 for the paper's high-noise table */
    size_t iterations; /* gpcn-offline: weight steps */
    double momentum;   /* gpcn-offline: of the weight steps; 0: none, as in the paper */
    size_t checkpoint; /* gpcn-offline: the best of every so many of them answers; 0: the last */
    size_t budget;     /* nearest: bytes to stay within, keeping the latest; 0: keep all */
    int store_bytes;   /* nearest: one byte per entry */
    int products;      /* nearest: all distances of a batch by matrix products; not part of the results */
    uint64_t seed;
    int threads; /* of the matrix products; 0: one per core. Not part of the key */
};

struct method_spec method_spec_default(void);
const char *method_name(enum method_kind kind);
int method_parse(const char *name, enum method_kind *kind, struct failure *failure);

/* A name for files, unique for whatever changes the result, such as
   "bayespcn-h256x3-gelu-n1-w1-x0.01-s0". */
void method_key(const struct method_spec *spec, char *key, size_t room);

/* "256,256,256" */
int hidden_parse(const char *text, struct method_spec *spec, struct failure *failure);

struct method {
    struct method_spec spec;
    size_t dim;
    size_t written;
    bpcn_model model;
    bpcn_memory *memory; /* bayespcn only */
    float *codes;        /* bayespcn, one shard: [written x particles x code_dim], as written */
    uint64_t *homes;     /* bayespcn, several shards: [written], where each row is */
    size_t room;         /* rows of either allocated */
    size_t code_dim;
};

/* What a read cost and how it ended. */
struct read_report {
    double evaluations; /* energy evaluations, or steps, of all queries together */
    double above;       /* queries that ended more than ABOVE_NATS above the stored code's energy */
    int has_above;      /* not with several shards, whose codes are each other's strangers */
    double right;       /* queries that the shard with the row answered */
    int has_right;
    double seconds; /* spent reading */
    int twice;      /* in: read once more, with everything prepared */
    double again;   /* and the seconds of that */
};
#define ABOVE_NATS 1.0

double clock_seconds(void);

/* Of the clock, or, for a method with one thread, of the processor: what else runs beside it does not count. */
double method_seconds(const struct method *method);

int method_create(const struct method_spec *spec, size_t dim, struct method *method, struct failure *failure);
void method_free(struct method *method);

/* Writes n rows and forgets when it is time. */
int method_write(struct method *method, const float *x, size_t n, struct failure *failure);

/* Recalls n queries of the stored rows images[i] (used only to find their codes; NULL: not stored). truth
   [n x dim]: the originals. Adds to the report. */
int method_read(struct method *method, bpcn_objective objective, const float *query, const unsigned char *known,
                size_t n, const size_t *images, const float *truth, float *out, struct read_report *report,
                struct failure *failure);

/* out [n x dim]: our answers to noisy queries, after the rounds of the spec. */
bpcn_status read_rounds(struct method *method, const bpcn_read_info *info, size_t n, float *out);

/* How many versions of itself the method could answer as, at least one, and which one does. */
int method_versions(struct method *method, size_t *count, struct failure *failure);
void method_use_version(struct method *method, size_t version);

/* Draws n samples; only bayespcn and the GPCNs can. */
int method_sample(struct method *method, size_t n, uint64_t draw, float *out, struct failure *failure);

size_t method_bytes(const struct method *method);
size_t method_prepared_bytes(const struct method *method);

#endif
