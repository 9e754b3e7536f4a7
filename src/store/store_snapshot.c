/* Sections go out and come in block by block through one buffer, so that a memory is never held
   twice. */
#include "store_snapshot.h"

#include "alloc.h"
#include "shard.h"
#include "error.h"
#include "seal.h"
#include "store_bytes.h"
#include "store_crc.h"
#include "store_state.h"

#include <errno.h>
#include <stdlib.h>

/* Where the fields of a section's header are; its payload's length and place are redundant. */
enum { AT_TAG = 0, AT_PARTICLE = 4, AT_LAYER = 8, AT_SHARD = 12, AT_BYTES = 16, AT_OFFSET = 24, AT_CHECKSUM = 60 };

/* The disk, the quota or the limit on the size of files. */
static int is_no_space(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

bpcn_status fail_io(const char *what, const char *path)
{
    char reason[128] = "";
    strerror_r(errno, reason, sizeof reason);
    return fail(is_no_space(errno) ? BPCN_NO_SPACE : BPCN_IO, "cannot %s %s: %s", what, path, reason);
}

bpcn_status fail_early_end(const char *path, uint64_t at)
{
    return fail(BPCN_IO, "cannot read %s: it ended at byte %llu, before its end", path, (unsigned long long)at);
}

/* One pass over a file's sections. */
struct pass {
    const struct file *file;
    const char *path;
    const struct header *header;
    unsigned char *head;  /* a section's header and table [SECTION_BYTES + largest table] */
    unsigned char *block; /* [BLOCK_BYTES] */
};

static int pass_create(struct pass *pass)
{
    pass->head = alloc_zeroed(1, SECTION_BYTES + (size_t)section_largest_table(pass->header));
    pass->block = alloc_zeroed(1, BLOCK_BYTES);
    return pass->head != NULL && pass->block != NULL ? 0 : -1;
}

static void pass_free(struct pass *pass)
{
    free(pass->head);
    free(pass->block);
}

static size_t head_bytes(const struct section *section)
{
    return SECTION_BYTES + (size_t)section_table(section);
}

static uint32_t head_checksum(const struct pass *pass, const struct section *section)
{
    unsigned char salt[4];
    put32(salt, pass->header->salt);
    uint32_t crc = crc32c(crc32c(0, salt, sizeof salt), pass->head, AT_CHECKSUM);
    return crc32c(crc, pass->head + SECTION_BYTES, (size_t)section_table(section));
}

/* What a section's header must be, but for its checksum. */
static void head_encode(const struct section *section, unsigned char *head)
{
    memset(head, 0, SECTION_BYTES);
    put32(head + AT_TAG, (uint32_t)section->tag);
    put32(head + AT_PARTICLE, (uint32_t)section->particle);
    put32(head + AT_LAYER, (uint32_t)section->layer);
    put32(head + AT_SHARD, (uint32_t)section->shard);
    put64(head + AT_BYTES, section->bytes);
    put64(head + AT_OFFSET, section->offset);
}

/* How much of the padded payload is in block b, and how much of that is not padding. */
static size_t block_bytes(const struct section *section, uint64_t b, size_t *used)
{
    uint64_t left = section->bytes - b * BLOCK_BYTES, all = section_payload(section) - b * BLOCK_BYTES;
    *used = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
    return all < BLOCK_BYTES ? (size_t)all : BLOCK_BYTES;
}

/* ---- writing */

static size_t block_encode(struct pass *pass, const struct contents *contents, const struct section *section,
                           uint64_t b)
{
    size_t used, all = block_bytes(section, b, &used);
    state_encode(contents, section, b * BLOCK_BYTES, used, pass->block);
    memset(pass->block + used, 0, all - used);
    return all;
}

static bpcn_status section_write(struct pass *pass, const struct contents *contents, const struct section *section)
{
    uint64_t at = section->offset + head_bytes(section);
    memset(pass->head, 0, head_bytes(section));
    head_encode(section, pass->head);
    for (uint64_t b = 0; b < section_blocks(section); b++) {
        size_t n = block_encode(pass, contents, section, b);
        put32(pass->head + SECTION_BYTES + 4 * b, crc32c(0, pass->block, n));
    }
    put32(pass->head + AT_CHECKSUM, head_checksum(pass, section));
    if (file_write(pass->file, pass->head, head_bytes(section), section->offset) != 0)
        return fail_io("write", pass->path);
    for (uint64_t b = 0; b < section_blocks(section); b++) {
        size_t n = block_encode(pass, contents, section, b);
        if (file_write(pass->file, pass->block, n, at + b * BLOCK_BYTES) != 0)
            return fail_io("write", pass->path);
    }
    return BPCN_OK;
}

static int write_seals(const struct file *file, const struct header *header)
{
    unsigned char bytes[SEALS * SEAL_BYTES];
    struct seal first = seal_first(header->snapshot);
    seals_encode(&first, header->salt, bytes);
    return file_write(file, bytes, sizeof bytes, HEADER_BYTES);
}

bpcn_status snapshot_write(const struct contents *contents, uint64_t generation, const struct file *file,
                           const char *path, struct header *header)
{
    unsigned char bytes[HEADER_BYTES];
    struct pass pass = {.file = file, .path = path, .header = header};
    state_header(contents, generation, header);
    header_encode(header, bytes);
    bpcn_status status = pass_create(&pass) == 0 ? BPCN_OK : fail(BPCN_NO_MEMORY, "out of memory");
    if (status == BPCN_OK && (file_write(file, bytes, sizeof bytes, 0) != 0 || write_seals(file, header) != 0))
        status = fail_io("write", path);
    struct section section = {.offset = sections_at(header)};
    for (uint64_t i = 0; status == BPCN_OK && i < section_count(header); i++) {
        section_describe(header, i, &section);
        status = section_write(&pass, contents, &section);
        section.offset += section_length(&section);
    }
    pass_free(&pass);
    return status;
}

/* ---- reading */

/* Reads what the file's length promised. */
static bpcn_status read_exactly(const struct file *file, const char *path, void *bytes, size_t n, uint64_t offset)
{
    size_t got;
    if (file_read(file, bytes, n, offset, &got) != 0)
        return fail_io("read", path);
    return got == n ? BPCN_OK : fail_early_end(path, offset + got);
}

static bpcn_status head_read(struct pass *pass, const struct section *section)
{
    unsigned char expected[SECTION_BYTES];
    char name[128];
    bpcn_status status = read_exactly(pass->file, pass->path, pass->head, head_bytes(section), section->offset);
    if (status != BPCN_OK)
        return status;
    section_name(section, name, sizeof name);
    if (head_checksum(pass, section) != get32(pass->head + AT_CHECKSUM))
        return fail(BPCN_CORRUPT, "%s: its header or its checksums are damaged", name);
    head_encode(section, expected);
    for (size_t i = 0; i < AT_CHECKSUM; i++)
        if (pass->head[i] != expected[i])
            return fail(BPCN_CORRUPT, "%s: byte %zu of its header does not agree with the file's header", name, i);
    for (uint64_t i = 4 * section_blocks(section); i < section_table(section); i++)
        if (pass->head[SECTION_BYTES + i] != 0)
            return fail(BPCN_CORRUPT, "%s: the padding of its checksums is not zero", name);
    return BPCN_OK;
}

static bpcn_status block_read(struct pass *pass, struct contents *contents, const struct section *section, uint64_t b)
{
    size_t used, all = block_bytes(section, b, &used);
    uint64_t at = section->offset + head_bytes(section) + b * BLOCK_BYTES;
    char name[128];
    bpcn_status status = read_exactly(pass->file, pass->path, pass->block, all, at);
    if (status != BPCN_OK)
        return status;
    section_name(section, name, sizeof name);
    if (crc32c(0, pass->block, all) != get32(pass->head + SECTION_BYTES + 4 * b))
        return fail(BPCN_CORRUPT, "%s: the block at byte %llu is damaged, its checksum does not fit", name,
                    (unsigned long long)at);
    for (size_t i = used; i < all; i++)
        if (pass->block[i] != 0)
            return fail(BPCN_CORRUPT, "%s: its padding is not zero", name);
    state_decode(contents, section, b * BLOCK_BYTES, used, pass->block);
    return state_check_part(contents, section, b * BLOCK_BYTES, used);
}

static void refresh(struct model *model, const struct section *section)
{
    shard_ops_for(model)->refresh_root(&model->particles[section->particle].layer[section->layer]);
}

static bpcn_status section_read(struct pass *pass, struct contents *contents, const struct section *section)
{
    bpcn_status status = head_read(pass, section);
    for (uint64_t b = 0; status == BPCN_OK && b < section_blocks(section); b++)
        status = block_read(pass, contents, section, b);
    if (status == BPCN_OK)
        status = state_check_section(contents, section);
    if (status == BPCN_OK && section->tag == SECTION_ROOT)
        refresh(contents->shard[section->shard], section);
    return status;
}

bpcn_status snapshot_seal(const struct file *file, const char *path, const struct header *header, struct seal *seal)
{
    unsigned char bytes[SEALS * SEAL_BYTES];
    *seal = (struct seal){.open = 1};
    if (header->version < 3)
        return BPCN_OK;
    bpcn_status status = read_exactly(file, path, bytes, sizeof bytes, HEADER_BYTES);
    if (status == BPCN_OK && seals_decode(bytes, header->salt, seal) != 0)
        return fail(BPCN_CORRUPT, "both seals (at bytes %d and %d) are damaged", HEADER_BYTES,
                    HEADER_BYTES + SEAL_BYTES);
    return status;
}

bpcn_status snapshot_header(const struct file *file, const char *path, uint64_t length, struct header *header)
{
    unsigned char bytes[HEADER_BYTES];
    size_t there = length < sizeof bytes ? (size_t)length : sizeof bytes;
    bpcn_status status = read_exactly(file, path, bytes, there, 0);
    return status == BPCN_OK ? header_decode(bytes, there, length, header) : status;
}

/* Room for what the header announces. */
static int allocate(struct contents *contents, const struct header *header)
{
    if (contents_create(contents, &header->options) != 0)
        return -1;
    for (; contents->count < header->shards; contents->count++) {
        bpcn_options options = shard_options(&header->options, contents->count);
        contents->shard[contents->count] = model_allocate(&options);
        if (contents->shard[contents->count] == NULL)
            return -1;
    }
    contents->surprises.count = header->surprises;
    if (names_reserve(&contents->names, header->names) != 0)
        return -1;
    contents->names.count = header->names;
    contents->note = header->note_bytes > 0 ? alloc_zeroed(1, header->note_bytes) : NULL;
    contents->note_bytes = contents->note != NULL ? header->note_bytes : 0;
    return contents->note_bytes == header->note_bytes ? 0 : -1;
}

bpcn_status snapshot_read(const struct file *file, const char *path, const struct header *header,
                          struct contents *contents)
{
    return snapshot_salvage(file, path, header, contents, NULL, NULL);
}

bpcn_status snapshot_salvage(const struct file *file, const char *path, const struct header *header,
                             struct contents *contents, void (*bad)(void *user, const struct section *section),
                             void *user)
{
    struct pass pass = {.file = file, .path = path, .header = header};
    bpcn_status status =
        allocate(contents, header) == 0 && pass_create(&pass) == 0 ? BPCN_OK : fail(BPCN_NO_MEMORY, "out of memory");
    contents->writes = header->writes;
    contents->forgets = header->forgets;
    contents->deletes = header->deletes;
    struct section section = {.offset = sections_at(header)};
    for (uint64_t i = 0; status == BPCN_OK && i < section_count(header); i++) {
        section_describe(header, i, &section);
        status = section_read(&pass, contents, &section);
        if (status != BPCN_OK && bad != NULL) {
            bad(user, &section);
            status = BPCN_OK;
        }
        section.offset += section_length(&section);
    }
    if (status == BPCN_OK && !has_shards(&header->options)) { /* the one shard's are the memory's */
        contents->rows[0] = header->writes;
        contents->shard[0]->writes = header->writes;
        contents->shard[0]->forgets = header->forgets;
        contents->shard[0]->deletes = header->deletes;
    }
    pass_free(&pass);
    return status;
}
