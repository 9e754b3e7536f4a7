/* npy_header.c: the header of an .npy file, versions 1 to 3: a Python dict with
 * three keys, parsed as strictly as NumPy writes it and as loosely as the
 * format's text allows (any key order, either quote, spaces, trailing commas). */
#include "npy.h"

#include <string.h>

typedef struct text {
    const char *p, *end;
} text;

static void skip_space(text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' ||
                             *t->p == '\r'))
        t->p++;
}

static bool take(text *t, char wanted)
{
    skip_space(t);
    if (t->p == t->end || *t->p != wanted)
        return false;
    t->p++;
    return true;
}

static bool take_word(text *t, const char *word)
{
    size_t length = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->p) < length || memcmp(t->p, word, length) != 0)
        return false;
    t->p += length;
    return true;
}

static bool take_string(text *t, char *out, size_t size)
{
    skip_space(t);
    if (t->p == t->end || (*t->p != '\'' && *t->p != '"'))
        return false;
    char quote = *t->p++;
    size_t used = 0;
    while (t->p < t->end && *t->p != quote && used + 1 < size)
        out[used++] = *t->p++;
    out[used] = '\0';
    return t->p < t->end && *t->p++ == quote;
}

static bool take_size(text *t, size_t *value)
{
    skip_space(t);
    if (t->p == t->end || *t->p < '0' || *t->p > '9')
        return false;
    *value = 0;
    while (t->p < t->end && *t->p >= '0' && *t->p <= '9') {
        size_t digit = (size_t)(*t->p++ - '0');
        if (*value > (SIZE_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    if (t->p < t->end && *t->p == 'L') /* Python 2 wrote 3L */
        t->p++;
    return true;
}

static fmt_status bad(const fmti_source *source, const char *what)
{
    return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                     "its .npy header %s", what);
}

static fmt_status take_shape(const fmti_source *source, text *t, fmti_npy *npy)
{
    npy->ndim = 0;
    if (!take(t, '('))
        return bad(source, "has no shape in brackets");
    while (!take(t, ')')) {
        size_t length;
        if (!take_size(t, &length))
            return bad(source, "has a shape that is not whole numbers");
        if (npy->ndim == FMT_MAX_AXES)
            return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                             "has more than %d axes", FMT_MAX_AXES);
        npy->shape[npy->ndim++] = length;
        if (!take(t, ',') && (t->p == t->end || *t->p != ')'))
            return bad(source, "has a shape that does not end");
    }
    return FMT_OK;
}

typedef struct number_name {
    const char *name;
    fmti_number number;
} number_name;

static fmt_status set_type(const fmti_source *source, const char *descr,
                           fmti_npy *npy)
{
    static const number_name known[] = {
        {"f4", FMTI_F32}, {"f8", FMTI_F64}, {"u1", FMTI_U8},  {"f2", FMTI_F16},
        {"b1", FMTI_BOOL}, {"i1", FMTI_I8}, {"u2", FMTI_U16}, {"i2", FMTI_I16},
        {"u4", FMTI_U32}, {"i4", FMTI_I32}, {"u8", FMTI_U64}, {"i8", FMTI_I64},
    };
    char order = descr[0];
    if (order == '<' || order == '>' || order == '=' || order == '|') {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strcmp(descr + 1, known[i].name) != 0)
                continue;
            npy->number = known[i].number;
            npy->big_endian = order == '>' ||
                              (order == '=' && fmti_host_is_big_endian());
            return FMT_OK;
        }
    }
    if (strchr(descr, 'O') != NULL)
        return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                         "holds Python objects, which are not read");
    return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                     "holds values of type '%s'; floats, integers and bool are read",
                     descr);
}

static fmt_status take_descr(const fmti_source *source, text *t, fmti_npy *npy)
{
    char descr[32];
    skip_space(t);
    if (t->p < t->end && *t->p == '[')
        return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                         "holds records with named fields, which are not read");
    if (!take_string(t, descr, sizeof descr))
        return bad(source, "has no type");
    return set_type(source, descr, npy);
}

enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

static fmt_status take_pair(const fmti_source *source, text *t, fmti_npy *npy,
                            unsigned *seen)
{
    char key[32];
    if (!take_string(t, key, sizeof key) || !take(t, ':'))
        return bad(source, "is not a dictionary");
    if (strcmp(key, "descr") == 0) {
        *seen |= SEEN_DESCR;
        return take_descr(source, t, npy);
    }
    if (strcmp(key, "shape") == 0) {
        *seen |= SEEN_SHAPE;
        return take_shape(source, t, npy);
    }
    if (strcmp(key, "fortran_order") != 0)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "its .npy header has an unknown key '%s'", key);
    *seen |= SEEN_ORDER;
    npy->fortran = take_word(t, "True");
    if (!npy->fortran && !take_word(t, "False"))
        return bad(source, "has a fortran_order that is neither True nor False");
    return FMT_OK;
}

static fmt_status parse_dict(const fmti_source *source, text *t, fmti_npy *npy)
{
    unsigned seen = 0;
    if (!take(t, '{'))
        return bad(source, "is not a dictionary");
    while (!take(t, '}')) {
        fmt_status status = take_pair(source, t, npy, &seen);
        if (status != FMT_OK)
            return status;
        if (!take(t, ',') && (t->p == t->end || *t->p != '}'))
            return bad(source, "does not end");
    }
    skip_space(t);
    if (t->p != t->end)
        return bad(source, "has something after its dictionary");
    if (seen != SEEN_ALL)
        return bad(source, "lacks descr, fortran_order or shape");
    return FMT_OK;
}

/* The data that shape and type promise must be exactly what follows. */
static fmt_status check_size(const fmti_source *source, fmti_npy *npy)
{
    size_t there = source->size - (size_t)(npy->data - source->data);
    size_t bytes;
    bool fits = true;
    npy->count = 1;
    for (size_t i = 0; i < npy->ndim && fits; i++)
        fits = fmti_multiply(npy->count, npy->shape[i], &npy->count);
    fits = fits && fmti_multiply(npy->count, fmti_number_size(npy->number), &bytes);
    if (!fits)
        return bad(source, "has a shape too large for any file");
    if (bytes != there)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "header says %zu bytes of data but the file has %zu",
                         bytes, there);
    return FMT_OK;
}

fmt_status fmti_npy_open(const fmti_source *source, fmti_npy *npy)
{
    const uint8_t *d = source->data;
    *npy = (fmti_npy){0};
    if (source->size < 10 || memcmp(d, "\x93NUMPY", 6) != 0)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "is not an .npy file, or is cut short");
    if (d[6] < 1 || d[6] > 3)
        return fmti_fail(source->error, FMT_ERR_UNSUPPORTED, source->name,
                         "is .npy version %u; versions 1 to 3 are read", d[6]);
    size_t start = d[6] == 1 ? 10 : 12;
    if (source->size < start)
        return bad(source, "is cut short");
    size_t length = d[6] == 1 ? fmti_le16(d + 8) : fmti_le32(d + 8);
    if (length > source->size - start)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "its header should be %zu bytes, but only %zu follow",
                         length, source->size - start);
    text t = {(const char *)d + start, (const char *)d + start + length};
    fmt_status status = parse_dict(source, &t, npy);
    if (status != FMT_OK)
        return status;
    npy->data = d + start + length;
    return check_size(source, npy);
}
