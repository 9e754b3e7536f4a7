/* Shared by the tests of the memory file. */
#define _XOPEN_SOURCE 700
#include "store_common.h"

#include "shard.h"
#include "cholesky.h"
#include "format.h"
#include "store.h"

#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];
static pid_t owner;

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(void)
{
    if (getpid() == owner)
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_folder(void)
{
    if (folder[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/bpcn-store-XXXXXX", base != NULL ? base : "/tmp");
        REQUIRE(mkdtemp(folder) != NULL);
        owner = getpid();
        atexit(remove_folder);
    }
    return folder;
}

const char *scratch(const char *name)
{
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder(), name);
    return path;
}

bpcn_options small_options(void)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = 5;
    o.layers = 2;
    o.hidden[0] = 4;
    o.hidden[1] = 3;
    o.sigma_x = 0.1;
    o.seed = 7;
    o.threads = 1;
    o.surprises = 0; /* as before there were any */
    o.deletable = 8;
    return o;
}

void shard(bpcn_options *options)
{
    options->shards = 3;
    options->shard_rows = 2;
    options->when_full = BPCN_RECYCLE;
}

void make_row(uint64_t i, size_t dim, float *row)
{
    uint64_t state = i;
    for (size_t j = 0; j < dim; j++)
        row[j] = (float)((double)(next_random(&state) >> 11) * 0x1p-52 - 1);
}

bpcn_status write_row(bpcn_memory *memory, uint64_t i)
{
    float row[64];
    REQUIRE(memory->contents.shard[0]->width[0] <= 64);
    make_row(i, memory->contents.shard[0]->width[0], row);
    return bpcn_memory_write(memory, row, NULL, 1, NULL);
}

bpcn_status write_named(bpcn_memory *memory, uint64_t i)
{
    float row[64];
    char name[32];
    const char *names[] = {name};
    bpcn_write_info info;
    REQUIRE(memory->contents.options.dim <= 64);
    make_row(i, memory->contents.options.dim, row);
    snprintf(name, sizeof name, "row %llu", (unsigned long long)i);
    bpcn_write_info_default(&info, sizeof info);
    info.names = names;
    return bpcn_memory_write(memory, row, NULL, 1, &info);
}

bpcn_status write_holes(bpcn_memory *memory, uint64_t i)
{
    float row[64];
    unsigned char known[64];
    size_t dim = memory->contents.shard[0]->width[0];
    REQUIRE(dim <= 64);
    make_row(i, dim, row);
    for (size_t j = 0; j < dim; j++)
        known[j] = (i + j) % 3 != 0 || dim == 1;
    return bpcn_memory_write(memory, row, known, 1, NULL);
}

/* n numbers as the model's reals; freed by the caller. */
static void *as_reals(const struct model *model, const float *from, size_t n)
{
    size_t size = real_size(model);
    void *reals = malloc(n * size + 1);
    REQUIRE(reals != NULL);
    for (size_t j = 0; j < n; j++)
        if (size == 8)
            ((double *)reals)[j] = (double)from[j];
        else
            ((float *)reals)[j] = from[j];
    return reals;
}

bpcn_status change_memory(bpcn_memory *memory, const struct change *change)
{
    struct transaction edit;
    bpcn_status status = transaction_begin(&edit, memory, change->kind);
    return status == BPCN_OK ? transaction_end(&edit, transaction_apply(&edit, change), NULL) : status;
}

bpcn_status write_together(bpcn_memory *memory, const float *rows, size_t n)
{
    size_t shard = contents_open(&memory->contents);
    struct model *m = memory->contents.shard[shard];
    size_t codes = n * m->options.particles * m->code_dim;
    float *code = malloc((codes + 1) * sizeof *code);
    double *weights = malloc(m->options.particles * sizeof *weights);
    REQUIRE(code != NULL && weights != NULL);
    make_row(m->writes, codes, code);
    memcpy(weights, m->log_weights, m->options.particles * sizeof *weights);
    void *x = as_reals(m, rows, n * m->width[0]), *h = as_reals(m, code, codes);
    struct change change = {
        .kind = CHANGE_WRITE, .shard = shard, .rows = n, .x = x, .codes = h, .log_weights = weights};
    bpcn_status status = change_memory(memory, &change);
    free(code);
    free(weights);
    free(x);
    free(h);
    return status;
}

static uint32_t sum_double(uint32_t sum, double x)
{
    return crc32c(sum, &x, sizeof x);
}

static uint32_t shard_sum(uint32_t sum, const struct model *m)
{
    size_t size = real_size(m);
    uint64_t counts[] = {m->writes, m->forgets, m->deletes, (uint64_t)m->options.minimizer, m->options.seed};
    sum = crc32c(sum, counts, sizeof counts);
    sum = crc32c(sum, m->log_weights, m->options.particles * sizeof *m->log_weights);
    for (size_t n = 0; n < m->options.particles; n++) {
        const struct particle *p = &m->particles[n];
        for (size_t l = 0; l < m->options.layers; l++) {
            const struct layer *layer = &p->layer[l];
            sum = crc32c(sum, layer->mean, layer->above * layer->below * size);
            sum = crc32c(sum, layer->root, cholesky_entries(layer->above) * sizeof(double));
            for (size_t j = 0; j < layer->above; j++) /* what lies below the diagonal is not state */
                sum = crc32c(sum, (const char *)layer->root_real + (j * layer->above + j) * size,
                             (layer->above - j) * size);
        }
        sum = crc32c(sum, p->top_mean, top_width(m) * sizeof(double));
        sum = sum_double(sum, p->top_variance);
        sum = sum_double(sum, (double)p->origin);
    }
    return sum;
}

uint32_t state_sum(const bpcn_memory *memory)
{
    const struct contents *c = &memory->contents;
    uint64_t counts[] = {c->writes, c->forgets, c->deletes, (uint64_t)c->options.minimizer, c->note_bytes, c->count};
    uint32_t sum = crc32c(0, counts, sizeof counts);
    sum = crc32c(sum, c->note, c->note_bytes);
    sum = crc32c(sum, c->rows, c->count * sizeof *c->rows);
    sum = crc32c(sum, c->begun, c->count * sizeof *c->begun);
    sum = crc32c(sum, c->surprises.row, c->surprises.count * sizeof *c->surprises.row);
    if (c->names.count > 0)
        sum = crc32c(sum, c->names.slot, c->names.count * c->names.each);
    for (size_t k = 0; k < c->count; k++)
        sum = shard_sum(sum, c->shard[k]);
    return sum;
}

int same_state(const bpcn_memory *a, const bpcn_memory *b)
{
    return state_sum(a) == state_sum(b);
}

unsigned char *read_whole(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *all = malloc(*bytes > 0 ? *bytes : 1);
    REQUIRE(all != NULL && fread(all, 1, *bytes, file) == *bytes);
    fclose(file);
    return all;
}

void write_whole(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

void leave_open(unsigned char *bytes)
{
    struct seal seal, open = {.open = 1};
    uint32_t salt = get32(bytes + HEADER_BYTES - 4);
    REQUIRE(seals_decode(bytes + HEADER_BYTES, salt, &seal) == 0 && !seal.open);
    open.epoch = seal.epoch + 1;
    seal_encode(&open, salt, bytes + seal_offset(&open));
}

unsigned long count_argument(int argc, char **argv, unsigned long usual)
{
    return argc > 1 ? strtoul(argv[1], NULL, 10) : usual;
}

bpcn_file_info empty_info(void)
{
    return (bpcn_file_info){.size = sizeof(bpcn_file_info)};
}

bpcn_memory *create_plain(const bpcn_options *o)
{
    bpcn_memory *m;
    REQUIRE(bpcn_memory_create(o, &m) == BPCN_OK);
    return m;
}

bpcn_memory *create_file(const char *path, const bpcn_options *o, bpcn_sync sync)
{
    bpcn_open_options how;
    bpcn_memory *m;
    bpcn_open_options_default(&how, sizeof how);
    how.create = o;
    how.threads = 1; /* the same bits want the same number of threads */
    how.sync = sync;
    unlink(path);
    REQUIRE(bpcn_memory_open(path, &how, &m) == BPCN_OK);
    return m;
}

bpcn_memory *reopen(const char *path)
{
    bpcn_open_options how;
    bpcn_memory *m;
    bpcn_open_options_default(&how, sizeof how);
    how.threads = 1;
    REQUIRE(bpcn_memory_open(path, &how, &m) == BPCN_OK);
    return m;
}
