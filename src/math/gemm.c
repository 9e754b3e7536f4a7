/*
 * Products with panels (see gemm.h). A tile of the kernels (kernels.h) runs down k; k is cut into stretches so
 * that a panel's stretch stays in the first cache while all rows pass over it. A stretch of the rows is first put
 * into the order in which the tiles read it, once for all panels; it stays in the second cache.
 */
#include "gemm.h"

#include "kernels.h"

#include <string.h>

enum { STRETCH = 256, CHUNK = 132 }; /* of k; rows at a time: a multiple of every set's tile */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t panels_entries(size_t rows, size_t columns, size_t size)
{
    size_t line = LINE_BYTES / size;
    return (columns + line - 1) / line * line * rows;
}

/* The rows of the panels at columns j .. j + width that are not all zero by shape: [*first, *last). */
static void panel_range(const struct panels *p, size_t width, size_t j, size_t *first, size_t *last)
{
    *first = p->shape == PANEL_LOWER && j < p->rows ? j : 0;
    *last = p->shape == PANEL_UPPER && j + width < p->rows ? j + width : p->rows;
}

#define real float
#define OF(name) name##_f32
#include "gemm_body.h"
#undef real
#undef OF

#define real double
#define OF(name) name##_f64
#include "gemm_body.h"
#undef real
#undef OF
