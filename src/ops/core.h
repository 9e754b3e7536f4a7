/*
 * The operations of a memory, once per precision. The files behind it are compiled twice (real.h);
 * callers reach the right copy through the table of their model. Rows of observations come in the
 * model's own precision.
 */
#ifndef BPCN_CORE_H
#define BPCN_CORE_H

#include "model.h"

/* Asks for codes, or gives starts, of one write; every pointer may be NULL. */
struct write_request {
    const double *starts; /* [particles x block x code_dim]: where Adam starts */
    float *codes;         /* [rows x particles x code_dim]: the codes found */
    bpcn_write_row *rows; /* [rows] */
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

struct core {
    /* n rows in blocks of `block`, which divides n */
    bpcn_status (*write)(struct model *model, const void *x, size_t n, size_t block,
                         const struct write_request *request, size_t *written, uint64_t *evaluations);
    bpcn_status (*remove)(struct model *model, const void *x);
    /* a write or a delete again, with the codes it had: from the log of a memory file. The write
       leaves root_real as it was, for refresh_root after the last of them */
    bpcn_status (*repeat_write)(struct model *model, const struct change *change);
    bpcn_status (*repeat_remove)(struct model *model, const struct change *change);
    bpcn_status (*read)(const struct model *model, const struct read_request *request);
    bpcn_status (*energy)(const struct model *model, const struct energy_request *request);
    bpcn_status (*forget)(struct model *model, double beta);
    bpcn_status (*sample)(const struct model *model, size_t n, uint64_t draw, void *out);
    void (*get_mean)(const struct layer *layer, double *mean);
    void (*set_mean)(struct layer *layer, const double *mean);
    void (*refresh_root)(struct layer *layer); /* root_real from root */
};

extern const struct core core_f32, core_f64;

static inline const struct core *core_for(const struct model *model)
{
    return model->options.precision == BPCN_FLOAT64 ? &core_f64 : &core_f32;
}

#endif
