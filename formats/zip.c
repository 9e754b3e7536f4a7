/* zip.c: the directory and members of a zip file, read from its end as the
 * format demands. Sizes come from the directory alone; a member is stored or
 * deflated, and its CRC must be right. No zip64, no encryption. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, MAX_COMMENT = 65535 };

static fmt_status damaged(const fmti_source *source, const char *what)
{
    return fmti_fail(source->error, FMT_ERR_FORMAT, source->name, "%s", what);
}

static fmt_status zip64(const fmti_source *source)
{
    return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                     "is a zip64 archive (over 4 GiB), which is not read");
}

/* The end record: the last one whose comment runs exactly to the file's end. */
static const uint8_t *find_end(const fmti_source *source)
{
    if (source->size < END_SIZE)
        return NULL;
    size_t lowest = source->size - END_SIZE;
    lowest = lowest > MAX_COMMENT ? lowest - MAX_COMMENT : 0;
    for (size_t at = source->size - END_SIZE + 1; at-- > lowest;) {
        const uint8_t *p = source->data + at;
        if (memcmp(p, "PK\5\6", 4) == 0 &&
            fmti_le16(p + 20) == source->size - END_SIZE - at)
            return p;
    }
    return NULL;
}

fmt_status fmti_zip_open(const fmti_source *source, fmti_zip *zip)
{
    const uint8_t *end = find_end(source);
    if (end == NULL)
        return damaged(source, "is not a zip archive, or is cut short");
    size_t place = (size_t)(end - source->data);
    size_t size = fmti_le32(end + 12), start = fmti_le32(end + 16);
    if (fmti_le16(end + 10) == 0xFFFF || size == 0xFFFFFFFF || start == 0xFFFFFFFF)
        return zip64(source);
    if (fmti_le16(end + 4) != 0 || fmti_le16(end + 6) != 0 ||
        fmti_le16(end + 8) != fmti_le16(end + 10))
        return damaged(source, "is one part of a split zip archive");
    if (start > place || size != place - start)
        return damaged(source, "has a zip directory that is not where it should be");
    *zip = (fmti_zip){fmti_le16(end + 10), start, place, start};
    return FMT_OK;
}

fmt_status fmti_zip_next(const fmti_source *source, fmti_zip *zip,
                         fmti_zip_entry *entry)
{
    const uint8_t *p = source->data + zip->cursor;
    size_t left = zip->end - zip->cursor;
    if (left < ENTRY_SIZE || memcmp(p, "PK\1\2", 4) != 0)
        return damaged(source, "has a damaged zip directory");
    entry->flags = fmti_le16(p + 8);
    entry->method = fmti_le16(p + 10);
    entry->crc = fmti_le32(p + 16);
    entry->packed = fmti_le32(p + 20);
    entry->size = fmti_le32(p + 24);
    entry->name_size = fmti_le16(p + 28);
    entry->offset = fmti_le32(p + 42);
    entry->name = (const char *)p + ENTRY_SIZE;
    size_t whole = (size_t)ENTRY_SIZE + entry->name_size + fmti_le16(p + 30) +
                   fmti_le16(p + 32);
    if (whole > left)
        return damaged(source, "has a damaged zip directory");
    if (entry->packed == 0xFFFFFFFF || entry->size == 0xFFFFFFFF ||
        entry->offset == 0xFFFFFFFF)
        return zip64(source);
    zip->cursor += whole;
    return FMT_OK;
}

/* Where the member's packed bytes begin; NULL when they are not in the file.
 * The local header's sizes are not looked at: NumPy leaves them in a zip64
 * field there even for small members. */
static const uint8_t *packed_bytes(const fmti_source *source,
                                   const fmti_zip_entry *entry)
{
    if (source->size < LOCAL_SIZE || entry->offset > source->size - LOCAL_SIZE)
        return NULL;
    const uint8_t *p = source->data + entry->offset;
    if (memcmp(p, "PK\3\4", 4) != 0 || fmti_le16(p + 8) != entry->method)
        return NULL;
    size_t start = entry->offset + LOCAL_SIZE;
    size_t skip = (size_t)fmti_le16(p + 26) + fmti_le16(p + 28);
    if (skip > source->size - start || entry->packed > source->size - start - skip)
        return NULL;
    return source->data + start + skip;
}

static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
    uLong crc = crc32(0L, Z_NULL, 0);
    return (uint32_t)crc32(crc, bytes, (uInt)size); /* size is below 4 GiB */
}

fmt_status fmti_zip_extract(const fmti_source *source,
                            const fmti_zip_entry *entry, const uint8_t **bytes,
                            uint8_t **owned)
{
    *owned = NULL;
    if (entry->flags & 1)
        return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                         "is encrypted, which is not read");
    if (entry->method != 0 && entry->method != 8)
        return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                         "is compressed by zip method %u; stored and deflate are read",
                         entry->method);
    const uint8_t *packed = packed_bytes(source, entry);
    if (packed == NULL || (entry->method == 0 && entry->packed != entry->size))
        return damaged(source, "has a zip member that is not where its directory says");
    *bytes = packed;
    if (entry->method == 8) {
        fmt_status status = fmti_inflate(source, packed, entry->packed, -15,
                                         entry->size, owned);
        if (status != FMT_OK)
            return status;
        *bytes = *owned;
    }
    if (crc_of(*bytes, entry->size) == entry->crc)
        return FMT_OK;
    free(*owned);
    *owned = NULL;
    return damaged(source, "has a zip member whose checksum is wrong");
}
