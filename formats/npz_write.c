/* npz_write.c: .npz files as NumPy reads them: a zip archive of .npy files,
 * stored or deflated, dated 1980 so that equal arrays make equal files. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LOCAL_SIZE = 30, ENTRY_SIZE = 46, END_SIZE = 22, MAX_NAME = 1000 };

/* A member as it is written: header and data, packed or not. */
typedef struct packed_member {
    char name[MAX_NAME + 5];
    uint8_t header[FMTI_NPY_HEADER];
    size_t header_size, data_size;
    const void *data;
    bool deflated;
    uint8_t *packed;     /* NULL when stored */
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
    put16(p, 20);                              /* version 2.0 */
    put16(p + 4, m->deflated ? 8 : 0);         /* method; flags stay 0 */
    put16(p + 8, 0x0021);                      /* 1 January 1980; time 0 */
    put32(p + 10, m->crc);
    put32(p + 14, m->packed_size);
    put32(p + 18, m->header_size + m->data_size);
    put16(p + 22, strlen(m->name));
}

/* Bare deflate of header and data into one buffer. Counts fit zlib's 32 bits
 * because members are below 4 GiB. */
static fmt_status pack(fmti_output *out, packed_member *m)
{
    z_stream z = {0};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return fmti_no_memory(out->error, out->name, 262144);
    size_t bound = deflateBound(&z, (uLong)(m->header_size + m->data_size));
    if (bound > 0xFFFFFFFE)
        bound = 0xFFFFFFFE;
    m->packed = malloc(bound);
    if (m->packed == NULL) {
        deflateEnd(&z);
        return fmti_no_memory(out->error, out->name, bound);
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
        return fmti_fail(out->error, FMT_ERR_LIMIT, out->name,
                         "array '%s' is too large for an .npz", m->name);
    return FMT_OK;
}

static fmt_status prepare(fmti_output *out, const fmt_member *array,
                          bool deflated, packed_member *m)
{
    *m = (packed_member){.data = array->data, .deflated = deflated};
    if (array->name == NULL || array->name[0] == '\0' ||
        strlen(array->name) > MAX_NAME)
        return fmti_fail(out->error, FMT_ERR_ARGUMENT, out->name,
                         "an array of an .npz needs a name of 1 to %d bytes", MAX_NAME);
    snprintf(m->name, sizeof m->name, "%s.npy", array->name);
    fmt_status status = fmti_npy_header(out->error, out->name, array, m->header,
                                        &m->header_size, &m->data_size);
    if (status != FMT_OK)
        return status;
    if (m->data_size > 0xFFFFFFFE - m->header_size)
        return fmti_fail(out->error, FMT_ERR_LIMIT, out->name,
                         "array '%s' is too large for an .npz", array->name);
    uLong crc = crc32(0L, m->header, (uInt)m->header_size);
    if (m->data_size != 0)
        crc = crc32(crc, array->data, (uInt)m->data_size);
    m->crc = (uint32_t)crc;
    m->packed_size = m->header_size + m->data_size;
    return deflated ? pack(out, m) : FMT_OK;
}

static fmt_status put_member(fmti_output *out, packed_member *m, size_t *place)
{
    uint8_t local[LOCAL_SIZE] = {'P', 'K', 3, 4};
    size_t name_size = strlen(m->name);
    put_common(local + 4, m);
    m->offset = *place;
    *place += LOCAL_SIZE + name_size + m->packed_size;
    if (*place > 0xFFFFFFFE)
        return fmti_fail(out->error, FMT_ERR_LIMIT, out->name,
                         "an .npz is written up to 4 GiB; these arrays need more");
    fmt_status status = fmti_put(out, local, sizeof local);
    if (status == FMT_OK)
        status = fmti_put(out, m->name, name_size);
    if (status == FMT_OK && m->deflated)
        return fmti_put(out, m->packed, m->packed_size);
    if (status == FMT_OK)
        status = fmti_put(out, m->header, m->header_size);
    if (status == FMT_OK)
        status = fmti_put(out, m->data, m->data_size);
    return status;
}

static fmt_status put_entry(fmti_output *out, const packed_member *m,
                            size_t *place)
{
    uint8_t entry[ENTRY_SIZE] = {'P', 'K', 1, 2};
    size_t name_size = strlen(m->name);
    put16(entry + 4, 20);
    put_common(entry + 6, m);
    put32(entry + 42, m->offset);
    *place += ENTRY_SIZE + name_size;
    fmt_status status = fmti_put(out, entry, sizeof entry);
    return status == FMT_OK ? fmti_put(out, m->name, name_size) : status;
}

static fmt_status put_directory(fmti_output *out, const packed_member *members,
                                size_t count, size_t start)
{
    uint8_t end[END_SIZE] = {'P', 'K', 5, 6};
    size_t place = start;
    for (size_t i = 0; i < count; i++) {
        fmt_status status = put_entry(out, &members[i], &place);
        if (status != FMT_OK)
            return status;
    }
    if (place > 0xFFFFFFFE)
        return fmti_fail(out->error, FMT_ERR_LIMIT, out->name,
                         "an .npz is written up to 4 GiB; these arrays need more");
    put16(end + 8, count);
    put16(end + 10, count);
    put32(end + 12, place - start);
    put32(end + 16, start);
    return fmti_put(out, end, sizeof end);
}

fmt_status fmti_npz_write(fmti_output *out, const fmt_member *members,
                          size_t count, bool deflated)
{
    if (count >= 0xFFFF)
        return fmti_fail(out->error, FMT_ERR_LIMIT, out->name,
                         "an .npz is written with at most 65534 arrays");
    packed_member *packed = fmti_alloc(count, sizeof *packed);
    if (packed == NULL)
        return fmti_no_memory(out->error, out->name, count * sizeof *packed);
    fmt_status status = FMT_OK;
    size_t place = 0;
    for (size_t i = 0; i < count && status == FMT_OK; i++) {
        status = prepare(out, &members[i], deflated, &packed[i]);
        if (status == FMT_OK)
            status = put_member(out, &packed[i], &place);
        free(packed[i].packed);
        packed[i].packed = NULL;
    }
    if (status == FMT_OK)
        status = put_directory(out, packed, count, place);
    free(packed);
    return status;
}

fmt_status fmt_write_npz(const char *path, const fmt_member *members,
                         size_t count, bool deflated, fmt_error *error)
{
    fmti_output out;
    fmt_status status = fmti_output_open(path, &out, error);
    if (status != FMT_OK)
        return status;
    return fmti_output_close(&out,
                             fmti_npz_write(&out, members, count, deflated));
}
