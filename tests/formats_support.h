/*
 * What the tests of formats/ share: a folder of their own, bytes built by hand, readings that must
 * succeed or fail with a given sentence, and small sound files of several kinds.
 */
#ifndef BPCN_TESTS_FORMATS_SUPPORT_H
#define BPCN_TESTS_FORMATS_SUPPORT_H

/* cmocka wants these first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>

#include "../formats/formats.h"

typedef struct bytes {
    uint8_t data[8192];
    size_t size;
} bytes;

/* The folder of a test program: made before its tests, removed after them. */
char *folder_of(void **state);
void path_in(void **state, const char *name, char out[256]);
int make_test_folder(void **state);
int remove_test_folder(void **state);
void load(void **state, const char *name, bytes *b);
void store(void **state, const char *name, const void *data, size_t size);

/* What is appended must fit. */
void add(bytes *b, const void *data, size_t size);
void add_text(bytes *b, const char *text);
void add_le(bytes *b, uint64_t value, size_t size);
void add_be(bytes *b, uint64_t value, size_t size);

void expect_ok(bpcn_status status);
void read_ok(const bytes *b, const char *name, const fmt_options *o, fmt_table *t);
/* The status and the whole sentence; and nothing left in the table. */
void read_fails(const bytes *b, const char *name, const fmt_options *o, bpcn_status status, const char *sentence);
void text_fails(const char *text, const char *name, bpcn_status status, const char *sentence);

float pixel(unsigned v);
void same_bits(const float *a, const float *b, size_t count);

/* Floats that are hard to print, and hard to copy wrong. */
extern const float odd_floats[6];
fmt_table odd_table(void);

void write_sample_npz(void **state, const char *name, bool deflated);
void add_idx(bytes *b, unsigned type, size_t ndim, const uint32_t *shape);
void add_idx_images(bytes *b);
void gzip(const bytes *plain, bytes *packed);
void add_cifar(bytes *b, uint8_t label);
/* A PNG of any make, straight from libpng: samples as they stand in rows. */
void make_png(bytes *b, unsigned width, unsigned height, int bits, int colour, bool interlaced, const uint8_t *rows,
              size_t stride);

#define LAW(name) cmocka_unit_test(name)

#endif
