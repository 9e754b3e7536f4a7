/*
 * The operations of a shard, once per precision (real.h): callers reach the right copy through a table. Rows of
 * observations come in the model's own precision.
 *
 * A change is found first, which leaves the model alone, then logged by whoever keeps a log, then made. A log repeats
 * it by making it again.
 */
#ifndef BPCN_CORE_H
#define BPCN_CORE_H

#include "change.h"
#include "masks.h"
#include "threads.h"

struct prepared;

/* A mixture of particles that saw the same rows, and what is prepared of it for reading; NULL: nothing. */
struct shard {
    struct model *model;
    struct prepared *prepared;
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
    float *spread;        /* [n x dim] or NULL: of views, the deviation of each entry of the answers */
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

/* A quick look at n rows, or a closer one at some of them. */
struct screen_request {
    const void *rows;           /* real [n x dim], 0 where not known */
    const unsigned char *known; /* [n x dim] or NULL */
    struct masks masks;         /* of all n */
    size_t n;
    const size_t *picked; /* [count] or NULL: all, quickly */
    size_t count;
    double *residual; /* [n]; those that are looked at */
};

struct core {
    struct prepared *(*prepare)(const struct model *model); /* NULL: out of memory */
    void (*unprepare)(struct prepared *prepared);
    void (*outdate)(struct prepared *prepared, const struct model *model); /* the parameters are others, or another's */
    size_t (*prepared_bytes)(struct prepared *prepared);

    /* Finds and makes changes. With `replaying`, what only inference needs is made when the editor is freed. NULL: out
       of memory. */
    struct editor *(*edit)(const struct shard *shard, struct team *team, int replaying);
    void (*done)(struct editor *editor);
    /* To another shard of the same shape; for changes of all shards, not for rows. */
    void (*turn)(struct editor *editor, const struct shard *shard);
    /* known [dim]: as in struct change. starts [particles x code_dim] or NULL: where Adam starts. What the change
       points to is the caller's, or the editor's until the next is found. */
    bpcn_status (*find_write)(struct editor *editor, const void *x, const unsigned char *known, const double *starts,
                              struct change *change, bpcn_write_row *row);
    bpcn_status (*find_delete)(struct editor *editor, const void *x, struct change *change);
    /* Room for making a change of this kind; once there is, making it cannot fail. */
    bpcn_status (*ready)(struct editor *editor, enum change_kind kind);
    void (*make)(struct editor *editor, const struct change *change);

    /* What of rows the shard leaves unexplained at a quick look. By the caller alone. */
    bpcn_status (*screen)(const struct shard *shard, const struct screen_request *request);
    bpcn_status (*read)(const struct shard *shard, struct team *team, const struct read_request *request);
    bpcn_status (*energy)(const struct shard *shard, struct team *team, const struct energy_request *request);
    bpcn_status (*sample)(const struct model *model, size_t n, uint64_t draw, void *out);
    void (*get_mean)(const struct layer *layer, double *mean);
    void (*set_mean)(struct layer *layer, const double *mean);
    void (*refresh_root)(struct layer *layer); /* root_real from root */
};

extern const struct core bpcn_core_f32, bpcn_core_f64;

static inline const struct core *core_for(const struct model *model)
{
    return model->options.precision == BPCN_FLOAT64 ? &bpcn_core_f64 : &bpcn_core_f32;
}

#endif
