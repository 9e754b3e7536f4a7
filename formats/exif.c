/* exif.c: the one thing of EXIF that changes a picture: which way up it is. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, HEADER = 6, ENTRY = 12 };

static unsigned load16(const uint8_t *at, bool big)
{
    return big ? (unsigned)at[0] << 8 | at[1] : fmti_le16(at);
}

static uint32_t load32(const uint8_t *at, bool big)
{
    return big ? fmti_be32(at) : fmti_le32(at);
}

/* "Exif", two zeros, then a TIFF file: byte order, 42, where the first directory
 * is; of its entries the one that is looked for. Whatever makes no sense means
 * that the picture stays as it is. */
unsigned fmti_exif_orientation(const uint8_t *data, size_t size)
{
    if (size < HEADER + 8 || memcmp(data, "Exif\0\0", HEADER) != 0)
        return 1;
    data += HEADER;
    size -= HEADER;
    bool big = data[0] == 'M';
    if (data[0] != data[1] || (data[0] != 'M' && data[0] != 'I') || load16(data + 2, big) != 42)
        return 1;
    size_t at = load32(data + 4, big);
    if (at > size || size - at < 2)
        return 1;
    size_t count = load16(data + at, big), room = (size - at - 2) / ENTRY;
    for (size_t i = 0; i < count && i < room; i++) {
        const uint8_t *entry = data + at + 2 + i * ENTRY;
        unsigned value = load16(entry + 8, big);
        if (load16(entry, big) == TAG_ORIENTATION && load16(entry + 2, big) == TYPE_SHORT)
            return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}

/* 2 to 4 mirror and turn by half; 5 to 8 do so to the picture with its axes
 * swapped. */
fmt_status fmti_picture_turn(const fmti_source *source, unsigned orientation,
                             fmti_picture *picture)
{
    bool swapped = orientation >= 5;
    bool right_left = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    bool bottom_up = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    fmti_picture turned = {0};
    if (orientation == 1)
        return FMT_OK;
    fmt_status status =
        fmti_picture_alloc(source, swapped ? picture->width : picture->height,
                           swapped ? picture->height : picture->width, picture->channels, &turned);
    if (status != FMT_OK)
        return status;
    size_t plane = picture->height * picture->width;
    for (size_t y = 0; y < turned.height; y++)
        for (size_t x = 0; x < turned.width; x++) {
            size_t v = bottom_up ? turned.height - 1 - y : y, u = right_left ? turned.width - 1 - x : x;
            size_t from = swapped ? u * picture->width + v : v * picture->width + u;
            for (size_t c = 0; c < picture->channels; c++)
                turned.data[c * plane + y * turned.width + x] = picture->data[c * plane + from];
        }
    fmti_picture_free(picture);
    *picture = turned;
    return FMT_OK;
}
