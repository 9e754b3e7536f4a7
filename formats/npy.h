/* npy.h: an .npy file whose header has been parsed and checked against the
 * file's length; between npy_header.c and npy.c. */
#ifndef BAYESPCN_FORMATS_NPY_H
#define BAYESPCN_FORMATS_NPY_H

#include "internal.h"

typedef struct fmti_npy {
    fmti_number number;
    bool big_endian, fortran;
    size_t ndim, shape[FMT_MAX_AXES], count;
    const uint8_t *data; /* count numbers, all within the source */
} fmti_npy;

fmt_status fmti_npy_open(const fmti_source *source, fmti_npy *npy);

#endif
