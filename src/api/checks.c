/* Checks of rows that callers give. */
#include "checks.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* Comparisons are quiet: a program may have made its processor trap on NaN. */
bpcn_status check_input(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(x, "the pointer to the rows");
    if (status != BPCN_OK)
        return status;
    size_t dim = shape_of(memory)->width[0];
    if (n > SIZE_MAX / sizeof(double) / dim || n > INT32_MAX)
        return bpcn_fail(BPCN_INVALID, "%zu rows of %zu entries are too many", n, dim);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dim; j++) {
            float value = x[i * dim + j];
            if (islessequal(fabsf(value), LARGEST) || (known != NULL && !known[i * dim + j]))
                continue;
            return bpcn_fail(BPCN_INVALID, "row %zu, entry %zu is %s", i, j,
                             isnan(value)   ? "NaN"
                             : isinf(value) ? "infinite"
                                            : "too large");
        }
    return BPCN_OK;
}

bpcn_status check_far(const struct scale *scale, double most, const float *x, const unsigned char *known, size_t n)
{
    char place[64];
    for (size_t i = 0; i < n * scale->dim; i++) {
        size_t j = i % scale->dim;
        if ((known != NULL && !known[i]) || fabs(scale_in(scale, j, (double)x[i])) <= most)
            continue;
        snprintf(place, sizeof place, "row %zu, entry %zu", i / scale->dim, j);
        return bpcn_fail_at(BPCN_INVALID, place, "row %zu, entry %zu is %g, more than %g scales (of %.3g) from the centre, %.3g",
                            i / scale->dim, j, (double)x[i], most, scale_scale_of(scale, j), scale_centre_of(scale, j));
    }
    return BPCN_OK;
}

static double machine_bytes(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

bpcn_status check_fits(const bpcn_options *checked)
{
    double wanted = (double)contents_options_bytes(checked, 1), there = machine_bytes();
    if (!(wanted > there && there > 0))
        return BPCN_OK;
    return bpcn_fail(BPCN_NO_MEMORY, "the memory would take %.1f GB, but this machine has %.1f GB", wanted / 1e9, there / 1e9);
}
