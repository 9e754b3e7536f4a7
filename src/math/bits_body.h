/*
 * Part of kernel_set.c: the loops of the bitmap index (src/ops/index.h), over a group of 512 items, one bit an item, in
 * lines of 64 bytes. Each entry of a group has two lines, high and low, which hold the two bits of every item's level.
 * line[i] says where the high line of the i-th entry of a query begins, in words; the low line is `apart` words behind it.
 */
typedef uint64_t vector_bits __attribute__((vector_size(VECTOR_BYTES), aligned(VECTOR_BYTES), may_alias));

enum {
    BITS_WORDS = LINE_BYTES / sizeof(uint64_t),
    BITS_TESTED = 4, /* entries between two tests whether any item is left */
    BITS_KEPT = 5    /* bits of a sum that stay in registers */
};

INLINED vector_bits bits_all(int set)
{
    return (vector_bits){0} - (uint64_t)(set != 0);
}

INLINED int bits_any(const vector_bits *v)
{
    uint64_t any = 0, words[BITS_WORDS];
    memcpy(words, v, sizeof words);
    for (size_t i = 0; i < BITS_WORDS; i++)
        any |= words[i];
    return any != 0;
}

/* The items whose level is not the query's. */
INLINED vector_bits bits_differ(const uint64_t *high, size_t apart, unsigned char level, size_t p)
{
    return (((const vector_bits *)high)[p] ^ bits_all(level & 2)) |
           (((const vector_bits *)(high + apart))[p] ^ bits_all(level & 1));
}

static void bits_match(size_t n, const uint32_t *line, const unsigned char *level, const uint64_t *plane, size_t apart,
                       uint64_t *alive)
{
    vector_bits left[PARTS];
    memcpy(left, alive, sizeof left);
    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < PARTS; p++)
            left[p] &= ~bits_differ(plane + line[i], apart, level[i], p);
        if (i % BITS_TESTED == BITS_TESTED - 1 && !bits_any(left))
            break;
    }
    memcpy(alive, left, sizeof left);
}

/* Two bits count the mismatches of each item; the fourth ends it. */
static void bits_near(size_t n, const uint32_t *line, const unsigned char *level, const uint64_t *plane, size_t apart,
                      uint64_t *alive)
{
    vector_bits left[PARTS], one[PARTS], two[PARTS];
    memcpy(left, alive, sizeof left);
    memset(one, 0, sizeof one);
    memset(two, 0, sizeof two);
    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < PARTS; p++) {
            vector_bits d = bits_differ(plane + line[i], apart, level[i], p), carry = one[p] & d;
            left[p] &= ~(two[p] & carry);
            two[p] |= carry;
            one[p] ^= d;
        }
        if (i % BITS_TESTED == BITS_TESTED - 1 && !bits_any(left))
            break;
    }
    memcpy(alive, left, sizeof left);
}

/* *sum becomes the sum of three bits of one weight; their carry is returned. */
INLINED vector_bits bits_add(vector_bits *sum, vector_bits a, vector_bits b)
{
    vector_bits s = *sum, carry = (s & a) | (s & b) | (a & b);
    *sum = s ^ a ^ b;
    return carry;
}

/* |level of the item - level of the query|, a number of two bits; `level` is a constant wherever this is inlined. */
INLINED void bits_apart(const uint64_t *high, size_t apart, int level, size_t p, vector_bits *ones, vector_bits *twos)
{
    vector_bits h = ((const vector_bits *)high)[p], l = ((const vector_bits *)(high + apart))[p];
    *ones = level & 1 ? ~l : l;
    if (level == 0)
        *twos = h;
    else if (level == 1)
        *twos = h & l;
    else if (level == 2)
        *twos = ~(h | l);
    else
        *twos = ~h;
}

/* Adds two entries; returns the carry to weight 8. Entries beyond `left` count as 0. */
INLINED vector_bits bits_add_two(vector_bits sum[BITS_KEPT], size_t left, const uint32_t *line, int level,
                                 const uint64_t *plane, size_t apart, size_t p)
{
    vector_bits a1 = {0}, a2 = {0}, b1 = {0}, b2 = {0};
    if (left > 0)
        bits_apart(plane + line[0], apart, level, p, &a1, &a2);
    if (left > 1)
        bits_apart(plane + line[1], apart, level, p, &b1, &b2);
    vector_bits carry2 = bits_add(&sum[0], a1, b1);
    vector_bits carry4 = bits_add(&sum[1], a2, b2), more4 = sum[1] & carry2;
    sum[1] ^= carry2;
    return bits_add(&sum[2], carry4, more4);
}

/* Adds four entries; returns the carry to weight 16. */
INLINED vector_bits bits_add_four(vector_bits sum[BITS_KEPT], size_t left, const uint32_t *line, int level,
                                  const uint64_t *plane, size_t apart, size_t p)
{
    vector_bits a = bits_add_two(sum, left, line, level, plane, apart, p), b = {0};
    if (left > 2)
        b = bits_add_two(sum, left - 2, line + 2, level, plane, apart, p);
    return bits_add(&sum[3], a, b);
}

/* Adds n entries of one level of the query, eight at a time; the carry to weight 32 ripples through the lines above. */
INLINED void bits_add_level(vector_bits sum[BITS_KEPT], size_t n, const uint32_t *line, int level, const uint64_t *plane,
                            size_t apart, size_t p, size_t lines, vector_bits *above)
{
    for (size_t i = 0; i < n; i += 8) {
        vector_bits a = bits_add_four(sum, n - i, line + i, level, plane, apart, p), b = {0};
        if (n - i > 4)
            b = bits_add_four(sum, n - i - 4, line + i + 4, level, plane, apart, p);
        vector_bits carry = bits_add(&sum[4], a, b);
        for (size_t k = 0; k < lines; k++) {
            vector_bits t = above[k * PARTS + p];
            above[k * PARTS + p] = t ^ carry;
            carry &= t;
        }
    }
}

static void bits_distance(const size_t of[4], const uint32_t *line, const uint64_t *plane, size_t apart, size_t planes,
                          uint64_t *count)
{
    vector_bits *out = (vector_bits *)count, *above = out + BITS_KEPT * PARTS;
    const uint32_t *line1 = line + of[0], *line2 = line1 + of[1], *line3 = line2 + of[2];
    memset(count, 0, planes * LINE_BYTES);
    for (size_t p = 0; p < PARTS; p++) {
        vector_bits sum[BITS_KEPT] = {{0}};
        bits_add_level(sum, of[0], line, 0, plane, apart, p, planes - BITS_KEPT, above);
        bits_add_level(sum, of[1], line1, 1, plane, apart, p, planes - BITS_KEPT, above);
        bits_add_level(sum, of[2], line2, 2, plane, apart, p, planes - BITS_KEPT, above);
        bits_add_level(sum, of[3], line3, 3, plane, apart, p, planes - BITS_KEPT, above);
        for (size_t k = 0; k < BITS_KEPT; k++)
            out[k * PARTS + p] = sum[k];
    }
}
