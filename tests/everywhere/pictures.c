/* In place of formats/png.c and jpeg.c, for targets that Debian has no libpng and libjpeg for. */
#include "internal.h"

static bpcn_status none(void)
{
    return bpcn_fail(BPCN_INVALID, "this build reads no pictures");
}

bpcn_status fmti_png_read(const fmti_source *source, fmti_picture *picture)
{
    (void)source;
    (void)picture;
    return none();
}

bpcn_status fmti_jpeg_read(const fmti_source *source, fmti_picture *picture)
{
    (void)source;
    (void)picture;
    return none();
}

bpcn_status fmti_png_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels)
{
    (void)out;
    (void)data;
    (void)height;
    (void)width;
    (void)channels;
    return none();
}

bpcn_status fmti_jpeg_write(fmt_output *out, const float *data, size_t height, size_t width, size_t channels)
{
    return fmti_png_write(out, data, height, width, channels);
}
