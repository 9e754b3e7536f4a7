/*
 * The layout of a memory file: header, then sections in a fixed order, then the log. Everything
 * about the sections follows from the header; docs/FORMAT.md has the whole of it.
 */
#ifndef BPCN_STORE_FORMAT_H
#define BPCN_STORE_FORMAT_H

#include "bayespcn.h"

#define STORE_MAGIC                                                                                                    \
    "\x89"                                                                                                             \
    "BPCN\r\n\x1a" /* no text file begins so, and a transfer as text breaks it */

enum {
    STORE_VERSION = 3,  /* the one that is written; see sections_at */
    VERSION_HOLES = 3,  /* the first whose log may hold rows with holes, and that keeps surprises */
    FEATURE_NAMES = 1,  /* required-feature bits that are known: names are kept */
    MAGIC_BYTES = 8,
    HEADER_BYTES = 512,
    SECTION_BYTES = 64,   /* of a section's own header */
    BLOCK_BYTES = 1 << 16 /* payload that one checksum covers */
};

struct header {
    uint32_t version;     /* of the format */
    bpcn_options options; /* threads is not kept */
    uint64_t snapshot;    /* bytes of header and sections: where the log begins */
    uint64_t generation;  /* how many snapshots went before */
    uint64_t writes, forgets, deletes;
    size_t shards; /* that have begun */
    size_t note_bytes;
    size_t surprises; /* that are kept, see surprise.h */
    size_t names;     /* likewise, see names.h */
    uint32_t salt;    /* the header's checksum: ties sections and records to this header */
};

enum section_tag {
    SECTION_NOTE = 0x45544f4e,      /* "NOTE": bytes of the user */
    SECTION_SHARDS = 0x44524853,    /* "SHRD": of each shard SHARD_WORDS counts; only where there may be several */
    SECTION_SURPRISES = 0x50525553, /* "SURP": of each row SURPRISE_NUMBERS; only where they are kept */
    SECTION_NAMES = 0x454d414e,     /* "NAME": of each row name_bytes; only where they are kept */
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

/* As of STORE_VERSION. Sets version, snapshot and salt too. */
void header_encode(struct header *header, unsigned char out[HEADER_BYTES]);

/* Decodes the `got` bytes that a file of `length` begins with, and refuses whatever does not make
   sense or does not fit the length. */
bpcn_status header_decode(const unsigned char *bytes, size_t got, uint64_t length, struct header *header);

/* Where the sections begin: in version 3 there are two seals before them (seal.h). */
uint64_t sections_at(const struct header *header);

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

/* Whether shards matter to the memory. If not, its file may be of version 1. */
static inline int has_shards(const bpcn_options *options)
{
    return options->shards > 1 || options->when_full != BPCN_BLUR || options->first_shard > 0 ||
           options->shard_step > 1;
}

/* "the mean of particle 0, layer 2 (section at byte 1536)" into text; without the place when the
   offset is 0. */
void section_name(const struct section *section, char *text, size_t room);

#endif
