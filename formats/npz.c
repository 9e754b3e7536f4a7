/* npz.c: .npz files: zip archives of .npy files, stored or deflated. The directory is read from the file's end, as zip
 * demands; sizes come from it alone, and a member's checksum must be right. Without zip64 and encryption. Written files
 * are dated 1980, so that equal arrays make equal files. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct zip_directory {
    size_t count, start, end, cursor; /* entries; the directory's place; the next entry */
} zip_directory;

typedef struct zip_entry {
    const char *name; /* not NUL-terminated */
    size_t name_size;
    unsigned method, flags;
    uint32_t crc;
    size_t packed, size, offset;
} zip_entry;

enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, MAX_COMMENT = 65535 };

static bpcn_status damaged(const fmti_source *source, const char *what)
{
    return fmti_fail(BPCN_FORMAT, source->name, "%s", what);
}

static bpcn_status zip64(const fmti_source *source)
{
    return fmti_fail(BPCN_FORMAT, source->name, "is a zip64 archive (over 4 GiB), which is not read");
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
        if (memcmp(p, "PK\5\6", 4) == 0 && fmti_le16(p + 20) == source->size - END_SIZE - at)
            return p;
    }
    return NULL;
}

static bpcn_status zip_open(const fmti_source *source, zip_directory *zip)
{
    const uint8_t *end = find_end(source);
    if (end == NULL)
        return damaged(source, "is not a zip archive, or is cut short");
    size_t place = (size_t)(end - source->data);
    size_t size = fmti_le32(end + 12), start = fmti_le32(end + 16);
    if (fmti_le16(end + 10) == 0xFFFF || size == 0xFFFFFFFF || start == 0xFFFFFFFF)
        return zip64(source);
    if (fmti_le16(end + 4) != 0 || fmti_le16(end + 6) != 0 || fmti_le16(end + 8) != fmti_le16(end + 10))
        return damaged(source, "is one part of a split zip archive");
    if (start > place || size != place - start)
        return damaged(source, "has a zip directory that is not where it should be");
    *zip = (zip_directory){fmti_le16(end + 10), start, place, start};
    return BPCN_OK;
}

static bpcn_status zip_next(const fmti_source *source, zip_directory *zip, zip_entry *entry)
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
    size_t whole = (size_t)ENTRY_SIZE + entry->name_size + fmti_le16(p + 30) + fmti_le16(p + 32);
    if (whole > left)
        return damaged(source, "has a damaged zip directory");
    if (entry->packed == 0xFFFFFFFF || entry->size == 0xFFFFFFFF || entry->offset == 0xFFFFFFFF)
        return zip64(source);
    zip->cursor += whole;
    return BPCN_OK;
}

/* Where the member's packed bytes begin; NULL when they are not in the file.
 * The local header's sizes are not looked at: NumPy leaves them in a zip64
 * field there even for small members. */
static const uint8_t *packed_bytes(const fmti_source *source, const zip_entry *entry)
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

static bpcn_status zip_extract(const fmti_source *source, const zip_entry *entry, const uint8_t **bytes,
                               uint8_t **owned)
{
    *owned = NULL;
    if (entry->flags & 1)
        return fmti_fail(BPCN_FORMAT, source->name, "is encrypted, which is not read");
    if (entry->method != 0 && entry->method != 8)
        return fmti_fail(BPCN_FORMAT, source->name, "is compressed by zip method %u; stored and deflate are read",
                         entry->method);
    const uint8_t *packed = packed_bytes(source, entry);
    if (packed == NULL || (entry->method == 0 && entry->packed != entry->size))
        return damaged(source, "has a zip member that is not where its directory says");
    *bytes = packed;
    if (entry->method == 8) {
        bpcn_status status = fmti_inflate(source, packed, entry->packed, -15, entry->size, owned);
        if (status != BPCN_OK)
            return status;
        *bytes = *owned;
    }
    if (crc_of(*bytes, entry->size) == entry->crc)
        return BPCN_OK;
    free(*owned);
    *owned = NULL;
    return damaged(source, "has a zip member whose checksum is wrong");
}

/* ---- the arrays in it */

/* The length of an array's name without ".npy"; false when it is no array. */
static bool array_name(const zip_entry *entry, size_t *length)
{
    if (entry->name_size < 4 || memcmp(entry->name + entry->name_size - 4, ".npy", 4) != 0)
        return false;
    *length = entry->name_size - 4;
    return true;
}

static bool same_name(const zip_entry *entry, const char *wanted)
{
    size_t length, wanted_length = strlen(wanted);
    if (!array_name(entry, &length))
        return false;
    if (wanted_length == entry->name_size)
        length = entry->name_size;
    return wanted_length == length && memcmp(entry->name, wanted, length) == 0;
}

/* Appends ", name" to a list that may already be full. */
static void list_name(char *list, size_t size, const zip_entry *entry, size_t length)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%.*s", used == 0 ? "" : ", ", length > 60 ? 60 : (int)length, entry->name);
}

static bpcn_status choose_failed(const fmti_source *source, const char *wanted, size_t arrays, const char *list)
{
    if (arrays == 0)
        return fmti_fail(BPCN_FORMAT, source->name, "holds no arrays");
    if (wanted == NULL)
        return fmti_fail(BPCN_INVALID, source->name, "holds %zu arrays (%s); name the one to read", arrays, list);
    return fmti_fail(BPCN_INVALID, source->name, "holds no array '%.60s', only %s", wanted, list);
}

/* The entry named wanted, or the only one when wanted is NULL. */
static bpcn_status choose(const fmti_source *source, const char *wanted, zip_entry *chosen)
{
    zip_directory zip;
    char list[160] = "";
    size_t arrays = 0, length;
    bpcn_status status = zip_open(source, &zip);
    if (status != BPCN_OK)
        return status;
    for (size_t i = 0; i < zip.count; i++) {
        zip_entry entry = {0};
        status = zip_next(source, &zip, &entry);
        if (status != BPCN_OK)
            return status;
        if (!array_name(&entry, &length))
            continue;
        if (wanted != NULL && same_name(&entry, wanted)) {
            *chosen = entry;
            return BPCN_OK;
        }
        if (arrays++ == 0)
            *chosen = entry;
        list_name(list, sizeof list, &entry, length);
    }
    if (wanted == NULL && arrays == 1)
        return BPCN_OK;
    return choose_failed(source, wanted, arrays, list);
}

/* A member's bytes may be no more than its numbers could need. */
static bpcn_status check_member_size(const fmti_source *source, const zip_entry *entry)
{
    if (entry->size / 8 > source->options->max_values + 8192)
        return fmti_fail(BPCN_REFUSED, source->name, "unpacks to %zu bytes, more than the limit of %zu values",
                         entry->size, source->options->max_values);
    return BPCN_OK;
}

/* Reads one member, as a table or as an array (the other being NULL). */
static bpcn_status read_member(const fmti_source *source, const char *member, fmt_table *table, fmt_array *array)
{
    zip_entry entry = {0};
    const uint8_t *bytes = NULL;
    uint8_t *owned;
    bpcn_status status = choose(source, member, &entry);
    if (status != BPCN_OK)
        return status;
    char name[512]; /* "file.npz[member]", the file's end when it is long */
    size_t length = strlen(source->name);
    int kept = entry.name_size > 100 ? 100 : (int)entry.name_size;
    snprintf(name, sizeof name, "%s[%.*s]", source->name + (length > 380 ? length - 380 : 0), kept, entry.name);
    fmti_source inner = *source;
    inner.name = name;
    status = check_member_size(&inner, &entry);
    if (status == BPCN_OK)
        status = zip_extract(&inner, &entry, &bytes, &owned);
    if (status != BPCN_OK)
        return status;
    inner.data = bytes;
    inner.size = entry.size;
    status = table != NULL ? fmti_npy_read(&inner, table) : fmti_npy_array(&inner, array);
    free(owned);
    return status;
}

bpcn_status fmti_npz_read(const fmti_source *source, fmt_table *table)
{
    return read_member(source, source->options->member, table, NULL);
}

bpcn_status fmt_npz_parse_f64(const uint8_t *data, size_t size, const char *name, const char *member, fmt_array *array)
{
    fmt_options options = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size, &options};
    *array = (fmt_array){0};
    return read_member(&source, member, NULL, array);
}

bpcn_status fmt_npz_read_f64(const char *path, const char *member, fmt_array *array)
{
    fmt_options options = fmt_options_default();
    fmti_bytes bytes;
    *array = (fmt_array){0};
    bpcn_status status = fmti_slurp(path, fmti_file_limit(&options), &bytes);
    if (status != BPCN_OK)
        return status;
    status = fmt_npz_parse_f64(bytes.data, bytes.size, path, member, array);
    free(bytes.data);
    return status;
}

static bpcn_status list_arrays(const fmti_source *source, zip_directory *zip, fmt_names *names)
{
    names->name = fmti_alloc(zip->count, sizeof(char *));
    if (names->name == NULL)
        return fmti_no_memory(source->name, zip->count);
    for (size_t i = 0; i < zip->count; i++) {
        zip_entry entry = {0};
        size_t length;
        bpcn_status status = zip_next(source, zip, &entry);
        if (status != BPCN_OK)
            return status;
        if (!array_name(&entry, &length))
            continue;
        char *copy = strndup(entry.name, length);
        if (copy == NULL)
            return fmti_no_memory(source->name, length);
        names->name[names->count++] = copy;
    }
    return BPCN_OK;
}

bpcn_status fmt_npz_parse_list(const uint8_t *data, size_t size, const char *name, fmt_names *names)
{
    fmt_options options = fmt_options_default();
    fmti_source source = {name != NULL ? name : "(memory)", data, size, &options};
    zip_directory zip;
    *names = (fmt_names){0};
    bpcn_status status = zip_open(&source, &zip);
    if (status == BPCN_OK)
        status = list_arrays(&source, &zip, names);
    if (status != BPCN_OK)
        fmt_names_free(names);
    return status;
}

bpcn_status fmt_npz_list(const char *path, fmt_names *names)
{
    fmt_options options = fmt_options_default();
    fmti_bytes bytes;
    *names = (fmt_names){0};
    bpcn_status status = fmti_slurp(path, fmti_file_limit(&options), &bytes);
    if (status != BPCN_OK)
        return status;
    status = fmt_npz_parse_list(bytes.data, bytes.size, path, names);
    free(bytes.data);
    return status;
}

void fmt_names_free(fmt_names *names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    *names = (fmt_names){0};
}

/* ---- writing */

enum { MAX_NAME = 1000 };

/* A member as it is written: header and data, packed or not. */
typedef struct packed_member {
    char name[MAX_NAME + 5];
    uint8_t header[FMTI_NPY_HEADER];
    size_t header_size, data_size;
    const void *data;
    bool deflated;
    uint8_t *packed; /* NULL when stored */
    size_t packed_size, offset;
    uint32_t crc;
} packed_member;

static void put16(uint8_t *p, size_t value)
{
    p[0] = (uint8_t)(value & 255);
    p[1] = (uint8_t)(value >> 8 & 255);
}

static void put32(uint8_t *p, size_t value)
{
    put16(p, value & 0xFFFF);
    put16(p + 2, value >> 16 & 0xFFFF);
}

/* The 26 bytes that a local header and a directory entry have in common. */
static void put_common(uint8_t *p, const packed_member *m)
{
    put16(p, 20);                      /* version 2.0 */
    put16(p + 4, m->deflated ? 8 : 0); /* method; flags stay 0 */
    put16(p + 8, 0x0021);              /* 1 January 1980; time 0 */
    put32(p + 10, m->crc);
    put32(p + 14, m->packed_size);
    put32(p + 18, m->header_size + m->data_size);
    put16(p + 22, strlen(m->name));
}

/* Bare deflate of header and data into one buffer. Counts fit zlib's 32 bits
 * because members are below 4 GiB. */
static bpcn_status pack(fmt_output *out, packed_member *m)
{
    z_stream z = {0};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return fmti_no_memory(out->name, 262144);
    size_t bound = deflateBound(&z, (uLong)(m->header_size + m->data_size));
    if (bound > 0xFFFFFFFE)
        bound = 0xFFFFFFFE;
    m->packed = malloc(bound);
    if (m->packed == NULL) {
        deflateEnd(&z);
        return fmti_no_memory(out->name, bound);
    }
    z.next_out = m->packed;
    z.avail_out = (uInt)bound;
    z.next_in = m->header;
    z.avail_in = (uInt)m->header_size;
    int code = deflate(&z, Z_NO_FLUSH);
    z.next_in = (z_const Bytef *)m->data;
    z.avail_in = (uInt)m->data_size;
    if (code == Z_OK)
        code = deflate(&z, Z_FINISH);
    m->packed_size = bound - z.avail_out;
    deflateEnd(&z);
    if (code != Z_STREAM_END)
        return fmti_fail(BPCN_REFUSED, out->name, "array '%s' is too large for an .npz", m->name);
    return BPCN_OK;
}

static bpcn_status prepare(fmt_output *out, const fmt_member *array, bool deflated, packed_member *m)
{
    *m = (packed_member){.data = array->data, .deflated = deflated};
    if (array->name == NULL || array->name[0] == '\0' || strlen(array->name) > MAX_NAME)
        return fmti_fail(BPCN_INVALID, out->name, "an array of an .npz needs a name of 1 to %d bytes", MAX_NAME);
    snprintf(m->name, sizeof m->name, "%s.npy", array->name);
    bpcn_status status = fmti_npy_header(out->name, array, m->header, &m->header_size, &m->data_size);
    if (status != BPCN_OK)
        return status;
    if (m->data_size > 0xFFFFFFFE - m->header_size)
        return fmti_fail(BPCN_REFUSED, out->name, "array '%s' is too large for an .npz", array->name);
    uLong crc = crc32(0L, m->header, (uInt)m->header_size);
    if (m->data_size != 0)
        crc = crc32(crc, array->data, (uInt)m->data_size);
    m->crc = (uint32_t)crc;
    m->packed_size = m->header_size + m->data_size;
    return deflated ? pack(out, m) : BPCN_OK;
}

static bpcn_status put_member(fmt_output *out, packed_member *m, size_t *place)
{
    uint8_t local[LOCAL_SIZE] = {'P', 'K', 3, 4};
    size_t name_size = strlen(m->name);
    put_common(local + 4, m);
    m->offset = *place;
    *place += LOCAL_SIZE + name_size + m->packed_size;
    if (*place > 0xFFFFFFFE)
        return fmti_fail(BPCN_REFUSED, out->name, "an .npz is written up to 4 GiB; these arrays need more");
    bpcn_status status = fmt_output_put(out, local, sizeof local);
    if (status == BPCN_OK)
        status = fmt_output_put(out, m->name, name_size);
    if (status == BPCN_OK && m->deflated)
        return fmt_output_put(out, m->packed, m->packed_size);
    if (status == BPCN_OK)
        status = fmt_output_put(out, m->header, m->header_size);
    if (status == BPCN_OK)
        status = fmt_output_put(out, m->data, m->data_size);
    return status;
}

static bpcn_status put_entry(fmt_output *out, const packed_member *m, size_t *place)
{
    uint8_t entry[ENTRY_SIZE] = {'P', 'K', 1, 2};
    size_t name_size = strlen(m->name);
    put16(entry + 4, 20);
    put_common(entry + 6, m);
    put32(entry + 42, m->offset);
    *place += ENTRY_SIZE + name_size;
    bpcn_status status = fmt_output_put(out, entry, sizeof entry);
    return status == BPCN_OK ? fmt_output_put(out, m->name, name_size) : status;
}

static bpcn_status put_directory(fmt_output *out, const packed_member *members, size_t count, size_t start)
{
    uint8_t end[END_SIZE] = {'P', 'K', 5, 6};
    size_t place = start;
    for (size_t i = 0; i < count; i++) {
        bpcn_status status = put_entry(out, &members[i], &place);
        if (status != BPCN_OK)
            return status;
    }
    if (place > 0xFFFFFFFE)
        return fmti_fail(BPCN_REFUSED, out->name, "an .npz is written up to 4 GiB; these arrays need more");
    put16(end + 8, count);
    put16(end + 10, count);
    put32(end + 12, place - start);
    put32(end + 16, start);
    return fmt_output_put(out, end, sizeof end);
}

bpcn_status fmti_npz_write(fmt_output *out, const fmt_member *members, size_t count, bool deflated)
{
    if (count >= 0xFFFF)
        return fmti_fail(BPCN_REFUSED, out->name, "an .npz is written with at most 65534 arrays");
    packed_member *packed = fmti_alloc(count, sizeof *packed);
    if (packed == NULL)
        return fmti_no_memory(out->name, count * sizeof *packed);
    bpcn_status status = BPCN_OK;
    size_t place = 0;
    for (size_t i = 0; i < count && status == BPCN_OK; i++) {
        status = prepare(out, &members[i], deflated, &packed[i]);
        if (status == BPCN_OK)
            status = put_member(out, &packed[i], &place);
        free(packed[i].packed);
        packed[i].packed = NULL;
    }
    if (status == BPCN_OK)
        status = put_directory(out, packed, count, place);
    free(packed);
    return status;
}

bpcn_status fmt_write_npz(const char *path, const fmt_member *members, size_t count, bool deflated)
{
    fmt_output *out;
    bpcn_status status = fmt_output_open(path, &out);
    return status == BPCN_OK ? fmt_output_close(out, fmti_npz_write(out, members, count, deflated)) : status;
}
