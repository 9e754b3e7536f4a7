/*
 * What a shard can do, compiled once per precision (real.h): callers reach the right copy through a table of
 * functions. Rows of observations come in the model's own precision.
 *
 * A change of a shard has three steps. find_write computes it, can_delete checks it, and both leave the model alone; whoever keeps
 * a log appends it there; apply carries it out. Replaying a log applies its changes again without finding them.
 */
#ifndef BPCN_SHARD_H
#define BPCN_SHARD_H

#include "change.h"
#include "network.h"
#include "symbols.h"
#include "threads.h"

struct cache;

/* A mixture of particles that saw the same rows, and the cache of what reads derive from its parameters (or NULL). */
struct shard {
    struct model *model;
    struct cache *cache;
};

/* A read, or an inference of codes. */
struct read_request {
    const void *query;          /* real [n x dim] */
    const unsigned char *known; /* [n x dim] or NULL */
    size_t n;
    bpcn_read_options options;
    const double *starts; /* [n x code_dim] or NULL: where the paper's minimiser starts */
    double *losses;       /* [adam_steps] or NULL: its mean energies in the last round */
    void *answers;        /* real [n x dim] or NULL; may be the query */
    void *codes;          /* real [n x code_dim] or NULL */
    bpcn_read_info *info; /* [n] or NULL */
    float *spread;        /* [n x dim] or NULL: of a table, the standard deviation of each entry of the answers */
};

/* Energies (and gradients) of given codes. */
struct energy_request {
    const void *x;              /* real [n x dim] */
    const unsigned char *known; /* [n x dim] or NULL */
    const void *codes;          /* real [n x code_dim] */
    size_t n;
    bpcn_read_options options;
    double *energy; /* [n] */
    void *grad;     /* real [n x code_dim] or NULL */
    void *grad_x;   /* real [n x dim] or NULL; only together with grad */
};

/* What a shard leaves unexplained of rows, without a search for their codes. */
struct shortlist_request {
    const void *rows;           /* real [n x dim], 0 where not known */
    const unsigned char *known; /* [n x dim] or NULL */
    struct masks masks;         /* of all n */
    size_t n;
    const size_t *subset; /* [count] rows to solve accurately; NULL: all n, roughly */
    size_t count;
    double *residual; /* [n]: squared, written for the rows that are looked at */
};

struct shard_ops {
    struct cache *(*create_cache)(const struct model *model); /* NULL: out of memory */
    void (*free_cache)(struct cache *cache);
    /* The parameters changed, or are those of another model of the same shape. */
    void (*reset_cache)(struct cache *cache, const struct model *model);
    size_t (*count_cache_bytes)(struct cache *cache);

    /* A writer finds and applies changes. With `replaying` it updates what only inference needs when it is freed, not
       after each change. NULL: out of memory. */
    struct writer *(*create_writer)(const struct shard *shard, struct team *team, int replaying);
    void (*free_writer)(struct writer *writer);
    /* Moves the writer to another shard of the same shape: for changes of all shards, not for rows. */
    void (*attach_writer)(struct writer *writer, const struct shard *shard);
    /* Allocates what a change of this kind needs; after that, apply cannot fail. */
    bpcn_status (*reserve_writer)(struct writer *writer, enum change_kind kind);
    /* known [dim]: as in struct change. starts [particles x code_dim] or NULL: where Adam starts. The change points to
       memory of the caller's, and to the writer's, which is valid until the writer finds the next. */
    bpcn_status (*find_write)(struct writer *writer, const void *x, const unsigned char *known, const double *starts,
                              struct change *change, bpcn_write_row *row);
    /* Whether n rows can be taken back, one after the other: x[i] real [dim], with codes[i] real [particles x code_dim].
       BPCN_REFUSED if not. */
    bpcn_status (*can_delete)(struct writer *writer, const void *const *x, const void *const *codes, size_t n);
    void (*apply)(struct writer *writer, const struct change *change);

    /* Runs in the calling thread alone. */
    bpcn_status (*residuals)(const struct shard *shard, const struct shortlist_request *request);
    bpcn_status (*read)(const struct shard *shard, struct team *team, const struct read_request *request);
    bpcn_status (*energy)(const struct shard *shard, struct team *team, const struct energy_request *request);
    /* rows real [n x dim], as the heaviest particle predicts them from codes real [n x code_dim]. */
    bpcn_status (*predict)(const struct shard *shard, size_t n, const void *codes, void *rows);
    /* like [n]: the cosine between a row real [dim], 0 where not known, and what each code predicts, but for how long a
       prediction is for its code. */
    bpcn_status (*liken)(const struct shard *shard, size_t n, const void *codes, const void *row, double *like);
    bpcn_status (*sample)(const struct model *model, size_t n, uint64_t draw, void *out);
    void (*get_mean)(const struct layer *layer, double *mean);
    void (*set_mean)(struct layer *layer, const double *mean);
    void (*refresh_root)(struct layer *layer); /* root_real from root */
};

/* Of a table, and of a mixture of networks in each precision: network_ops of shard.c, by its names in symbols.h. */
extern const struct shard_ops table_ops, bpcn_internal_network_ops_f32, bpcn_internal_network_ops_f64;

static inline const struct shard_ops *shard_ops_for(const struct model *model)
{
    if (model->options.kind == BPCN_TABLE)
        return &table_ops;
    return model->options.precision == BPCN_FLOAT64 ? &bpcn_internal_network_ops_f64 : &bpcn_internal_network_ops_f32;
}

#endif
