/* What the parts of store_corrupt share: a good file, and a copy of it that is made wrong by hand, its checksums put
   right, and refused. */
#ifndef CORRUPT_COMMON_H
#define CORRUPT_COMMON_H

#include "store_common.h"

#include "format.h"

/* ---- the good file */

enum { STEPS = 6 };

extern unsigned char *good; /* whose writer died after the last record, until it is said to be sealed */
extern size_t good_bytes;
extern uint64_t log_start, record_at[STEPS + 1]; /* where each record begins; the last: the end */
extern uint32_t sums[STEPS + 1];                 /* of the state after so many records */
extern struct header header;
extern unsigned char sealed[SEALS * SEAL_BYTES]; /* the seals of the file, had it been closed */

/* A file with a note, two particles and six records of every kind. Of the session with shards: with two of them in the
   snapshot, and a third that begins in the log. Of the one with surprises: five are in the snapshot, of twelve rows.
   With holes: they are in the first record's row. With names: those of three rows are in the snapshot. */
void make_good(unsigned long session, int holes);

/* Loads a file of these bytes. *sum is the state's when that succeeds. */
bpcn_status load_image(unsigned char *bytes, size_t n, uint32_t *sum);

/* Where section number i begins, and its payload. */
size_t section_at(uint64_t index, size_t *payload);

/* The bytes of a file with one delete in its log, to be freed: the numbers need not be true to be read. */
unsigned char *file_with_delete(const char *name, size_t *n, size_t *record);

/* ---- the file made by hand */

extern unsigned char *file;
extern size_t file_bytes;
extern unsigned long made; /* so many were refused, each with a sentence of its own */

/* Makes it the good one. */
void start(void);

/* Puts every checksum right that can be found by the layout of the good file. */
void repair(void);

/* The file must be refused so; its sentence must hold `words` and be like no other's. */
void refuse(bpcn_status expected, const char *words);

/* The good file with this value there. */
void refuse32(size_t at, uint32_t value, bpcn_status expected, const char *words);
void refuse64(size_t at, uint64_t value, bpcn_status expected, const char *words);
void refuse_double(size_t at, double value, const char *words);

/* Bytes of the first record, put there and repaired, that make it refused: its sentences are those of other records. */
void refuse_bytes(size_t at, const void *bytes, size_t n, const char *words);

/* ---- what is tried by hand, each of its good file */

void try_network(void); /* corrupt_network.c */
void try_holes(void);   /* corrupt_more.c, and those below */
void try_surprises(void);
void try_names(void);
void try_shards(void);

#endif
