/*
 * The layout of a memory file: numbers as bytes, checksums, seals, the header, and the sections behind it. Everything
 * about the sections follows from the header; docs/FORMAT.md has every byte.
 */
#ifndef BPCN_FORMAT_H
#define BPCN_FORMAT_H

#include "bayespcn.h"
#include "index.h"
#include "symbols.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- numbers as little-endian bytes, whatever the machine; compilers turn each into one move */

static inline void put32(unsigned char *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(x >> 8 * i);
}

static inline void put64(unsigned char *p, uint64_t x)
{
    for (int i = 0; i < 8; i++)
        p[i] = (unsigned char)(x >> 8 * i);
}

static inline uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get64(const unsigned char *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static inline void put_double(unsigned char *p, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put64(p, bits);
}

static inline double get_double(const unsigned char *p)
{
    uint64_t bits = get64(p);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* n floats (size 4) or doubles (size 8), out to bytes and back; `in` and `out` may be the same. */
static inline void put_reals(unsigned char *out, const void *in, size_t n, size_t size)
{
    const unsigned char *from = in;
    for (size_t i = 0; size == 4 && i < n; i++) {
        uint32_t bits;
        memcpy(&bits, from + 4 * i, 4);
        put32(out + 4 * i, bits);
    }
    for (size_t i = 0; size == 8 && i < n; i++) {
        uint64_t bits;
        memcpy(&bits, from + 8 * i, 8);
        put64(out + 8 * i, bits);
    }
}

static inline void get_reals(void *out, const unsigned char *in, size_t n, size_t size)
{
    unsigned char *to = out;
    for (size_t i = 0; size == 4 && i < n; i++) {
        uint32_t bits = get32(in + 4 * i);
        memcpy(to + 4 * i, &bits, 4);
    }
    for (size_t i = 0; size == 8 && i < n; i++) {
        uint64_t bits = get64(in + 8 * i);
        memcpy(to + 8 * i, &bits, 8);
    }
}

/* ---- checksums: CRC-32C (Castagnoli) */

/* The checksum of bytes that follow others with checksum `crc`; start with 0. By the processor's
   own instruction where there is one. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* The same by a table, which the fast one is tested against. */
uint32_t crc32c_plain(uint32_t crc, const void *bytes, size_t n);

/* Which single bit of n bytes, flipped, changes their checksum by this difference (an exclusive or): its number from
   the first byte's lowest on, or UINT64_MAX when there is none. */
uint64_t crc32c_flipped(uint32_t difference, size_t n);

/* ---- seals: two slots behind the header, written in turn */

enum {
    SEAL_BYTES = 512, /* of a slot: a sector of its own, so that a torn write of one spoils nothing else */
    SEALS = 2,
    FIRST_EPOCH = 2 /* of the seal that a file is made with */
};

struct seal {
    uint64_t epoch;   /* how often a slot was written: slot epoch % SEALS is the one that counts */
    int open;         /* 1: not closed; the fields below say nothing */
    int doubtful;     /* the other slot is no seal: a crash tore it, or it was the newer one and is damaged */
    uint64_t length;  /* of the file */
    uint64_t records; /* of its log */
    uint32_t sum;     /* over their checksums: see log_sum */
};

/* The slot of this seal. */
void seal_encode(const struct seal *seal, uint32_t salt, unsigned char out[SEAL_BYTES]);
uint64_t seal_offset(const struct seal *seal);

/* Of a new file: closed at `length` with an empty log. */
struct seal seal_first(uint64_t length);
void seals_encode(const struct seal *first, uint32_t salt, unsigned char out[SEALS * SEAL_BYTES]);

/* The seal that counts; -1 when neither slot is one. */
int seals_decode(const unsigned char in[SEALS * SEAL_BYTES], uint32_t salt, struct seal *seal);

/* ---- header and sections */

#define STORE_MAGIC                                                                                                    \
    "\x89"                                                                                                             \
    "BPCN\r\n\x1a" /* no text file begins so, and a transfer as text breaks it */

enum {
    STORE_VERSION = 3,  /* versions 1 and 2 were never released */
    FEATURE_NAMES = 1,  /* required-feature bits that are known: names are kept */
    FEATURE_TABLE = 2,  /* the memory is a table's */
    FEATURE_INDEX = 4,  /* there is an index of the rows */
    MAGIC_BYTES = 8,
    HEADER_BYTES = 512,
    SECTIONS_AT = HEADER_BYTES + SEALS * SEAL_BYTES, /* where the sections begin */
    SECTION_BYTES = 64,   /* of a section's own header */
    BLOCK_BYTES = 1 << 16 /* payload that one checksum covers */
};

struct header {
    bpcn_options options; /* threads is not kept */
    uint64_t snapshot;    /* bytes of header and sections: where the log begins */
    uint64_t generation;  /* how many snapshots went before */
    uint64_t writes, forgets, deletes;
    size_t shards; /* that have begun */
    size_t note_bytes;
    size_t surprises; /* that are kept, see surprise.h */
    size_t names;     /* likewise, see names.h */
    enum index_form index_form; /* of the index of rows, and its rows or groups */
    size_t index_count;
    size_t held;      /* rows that can be taken back, see held.h */
    size_t pairs;     /* of centre and scale, see scale.h */
    size_t first_rows; /* that are kept until the scale is settled */
    int settled;      /* the scale is */
    uint32_t salt;    /* the header's checksum: ties sections and records to this header */
};

enum section_tag {
    SECTION_NOTE = 0x45544f4e,      /* "NOTE": bytes of the user */
    SECTION_SHARDS = 0x44524853,    /* "SHRD": of each shard SHARD_WORDS counts; only where there may be several */
    SECTION_SURPRISES = 0x50525553, /* "SURP": of each row NOVELTY_NUMBERS; only where they are kept */
    SECTION_NAMES = 0x454d414e,     /* "NAME": of each row name_bytes; only where they are kept */
    SECTION_HELD = 0x444c4548,      /* "HELD": of each row held_bytes; only where they are kept */
    SECTION_SCALE = 0x4c414353,     /* "SCAL": centre and scale of each pair; only where there are some */
    SECTION_FIRST = 0x54535246,     /* "FRST": of each first row scale_row_bytes; only where they are kept */
    SECTION_FOREST = 0x45455254,    /* "TREE": the state of a table's forest; it has none of those below */
    SECTION_INDEX = 0x58444e49,     /* "INDX": the index of rows, see index.h; only where there is one */
    SECTION_WEIGHTS = 0x54484757,   /* "WGHT": log weights [particles] */
    SECTION_TOP = 0x20504f54,       /* "TOP ": origin, variance, mean [width of the top] */
    SECTION_MEAN = 0x4e41454d,      /* "MEAN": [above x below], in the memory's precision */
    SECTION_ROOT = 0x544f4f52       /* "ROOT": packed upper triangle [above (above + 1) / 2] */
};

enum { SHARD_WORDS = 5 }; /* rows, rows before it began, writes, forgets, deletes */

struct section {
    enum section_tag tag;
    size_t shard, particle, layer; /* 0 where there is none */
    uint64_t offset;               /* where the section begins in the file */
    uint64_t bytes;                /* of the payload before it is padded */
};

/* Sets snapshot and salt too. */
void header_encode(struct header *header, unsigned char out[HEADER_BYTES]);

/* Decodes the `got` bytes that a file of `length` begins with, and refuses whatever does not make
   sense or does not fit the length. */
bpcn_status header_decode(const unsigned char *bytes, size_t got, uint64_t length, struct header *header);

/* Bytes of header and sections when all shards have begun and the note is as long as can be: UINT64_MAX when no file
   holds them. */
uint64_t snapshot_most(const struct header *header);

/* How many sections there are; section number `index` (its offset is left alone). */
uint64_t section_count(const struct header *header);
uint64_t sections_of_shard(const struct header *header);
void section_describe(const struct header *header, uint64_t index, struct section *section);

/* Sizes in the file: of the padded payload, of its checksums (padded), of all. */
uint64_t section_blocks(const struct section *section);
uint64_t section_payload(const struct section *section);
uint64_t section_table(const struct section *section);
uint64_t section_length(const struct section *section);

/* The largest table of any section. */
uint64_t section_largest_table(const struct header *header);

/* Whether shards matter to the memory. If not, the header has no fields for them. */
static inline int has_shards(const bpcn_options *options)
{
    return options->shards > 1 || options->when_full != BPCN_BLUR || options->first_shard > 0 ||
           options->shard_step > 1;
}

/* "the mean of particle 0, layer 2 (section at byte 1536)" into text; without the place when the
   offset is 0. */
void section_name(const struct section *section, char *text, size_t room);

#endif
