/*
 * A memory of many rows beside nearest neighbours by brute force, in float32 and in bytes, in one run on one thread: who
 * finds the row that a query is of, and at what processor time. Rows are the pictures of a file of 28 x 28 bytes each
 * (a Fashion-MNIST idx file, unpacked) and shifted, mirrored and brightened copies of them.
 *
 * Usage: scale PICTURES [ROWS ...] > results.csv
 *
 * Times are milliseconds of a query: of a batch, of one query alone, and of one scan of all rows in float32 and in bytes.
 * `right` is the share of all queries answered by the shard that has the row; the last three columns are of the queries
 * that were scanned.
 */
#define _POSIX_C_SOURCE 200809L
#include "bayespcn.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { SIDE = 28, DIM = SIDE * SIDE, IDX_HEADER = 16, WIDTH = 64, BLOCK = 256, QUERIES = 256, LONE = 64, LANES = 16 };

/* ---- rows */

static unsigned char *pictures; /* [count x DIM] */
static size_t pictures_count;

static int pictures_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return -1;
    size_t bytes = (size_t)ftell(file) - IDX_HEADER;
    pictures_count = bytes / DIM;
    pictures = malloc(bytes);
    int failed = pictures == NULL || fseek(file, IDX_HEADER, SEEK_SET) != 0 || fread(pictures, 1, bytes, file) != bytes;
    fclose(file);
    return failed ? -1 : 0;
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Row i: picture i, or the copy number i / count of picture i mod count. */
static void row_bytes(size_t i, unsigned char *row)
{
    const unsigned char *from = pictures + i % pictures_count * DIM;
    uint64_t copy = i / pictures_count, h = mixed(i + 1);
    int dx = copy ? (int)(h % 5) - 2 : 0, dy = copy ? (int)(h >> 8 & 3) - 1 : 0;
    double bright = copy ? 0.8 + 0.4 * (double)(h >> 16 & 1023) / 1023 : 1;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            int sx = copy & 1 ? SIDE - 1 - x + dx : x + dx, sy = y + dy;
            int inside = sx >= 0 && sx < SIDE && sy >= 0 && sy < SIDE;
            double value = inside ? bright * from[sy * SIDE + sx] : 0;
            row[y * SIDE + x] = (unsigned char)(value > 255 ? 255 : value + 0.5);
        }
}

static float entry_of(unsigned char byte)
{
    return (float)(2.0 * byte / 255 - 1);
}

/* ---- brute force: the item of least squared distance, or least sum of absolute differences, over the known entries */

typedef float floats __attribute__((vector_size(4 * LANES), aligned(4)));

__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"))) static size_t
nearest_float(const float *rows, size_t n, const float *query, const float *known)
{
    size_t best = 0;
    float least = INFINITY;
    for (size_t i = 0; i < n; i++, rows += DIM) {
        floats sum = {0};
        float total = 0;
        for (size_t j = 0; j < DIM; j += LANES) {
            floats d = (*(const floats *)(rows + j) - *(const floats *)(query + j)) * *(const floats *)(known + j);
            sum += d * d;
        }
        for (size_t j = 0; j < LANES; j++)
            total += sum[j];
        if (total < least) {
            least = total;
            best = i;
        }
    }
    return best;
}

/* known: 255 where known. */
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3"))) static size_t
nearest_bytes(const unsigned char *rows, size_t n, const unsigned char *query, const unsigned char *known)
{
    size_t best = 0;
    int least = INT32_MAX;
    for (size_t i = 0; i < n; i++, rows += DIM) {
        int sum = 0;
        for (size_t j = 0; j < DIM; j++)
            sum += abs((rows[j] & known[j]) - query[j]);
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

/* ---- queries */

enum kind { WHOLE, RIGHT_HIDDEN, RANDOM_HALF, RANDOM_QUARTER, UPPER_QUARTER, NOISE_2, NOISE_4, NOISE_8, KINDS };
static const char *const kind_name[KINDS] = {"whole",         "right half hidden", "random half",
                                             "random quarter", "upper quarter",     "noise 0.2",
                                             "noise 0.4",      "noise 0.8"};
static const double noise_of[KINDS] = {[NOISE_2] = 0.2, [NOISE_4] = 0.4, [NOISE_8] = 0.8};

static uint64_t drawn;

static double uniform(void)
{
    return (double)(mixed(drawn += UINT64_C(0x9e3779b97f4a7c15)) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    double radius = sqrt(-2 * log(1 - uniform()));
    return radius * cos(6.283185307179586 * uniform());
}

static float query[QUERIES][DIM], answer[QUERIES][DIM], known_float[QUERIES][DIM];
static unsigned char known[QUERIES][DIM], query_bytes[QUERIES][DIM], known_bytes[QUERIES][DIM];
static size_t wanted[QUERIES];

static void draw_queries(size_t rows, enum kind kind)
{
    for (size_t q = 0; q < QUERIES; q++) {
        unsigned char row[DIM];
        wanted[q] = (size_t)(uniform() * (double)rows);
        row_bytes(wanted[q], row);
        for (size_t j = 0; j < DIM; j++) {
            int is_known = kind == RIGHT_HIDDEN     ? j % SIDE < SIDE / 2
                           : kind == RANDOM_HALF    ? uniform() < 0.5
                           : kind == RANDOM_QUARTER ? uniform() < 0.25
                           : kind == UPPER_QUARTER  ? j < DIM / 4
                                                    : 1;
            double value = (double)entry_of(row[j]) + (noise_of[kind] > 0 ? noise_of[kind] * normal() : 0);
            double byte = rint(255 * (value + 1) / 2);
            known[q][j] = (unsigned char)is_known;
            known_float[q][j] = (float)is_known;
            known_bytes[q][j] = is_known ? 255 : 0;
            query[q][j] = is_known ? (float)value : 0;
            query_bytes[q][j] = is_known ? (unsigned char)fmin(255, fmax(0, byte)) : 0;
        }
    }
}

/* ---- one size */

static double processor_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "scale: %s\n", what);
    exit(1);
}

static bpcn_memory *write_memory(size_t rows, const float *all)
{
    bpcn_options o;
    bpcn_memory *m;
    bpcn_options_default(&o, sizeof o);
    o.dim = DIM;
    o.layers = 3;
    o.hidden[0] = o.hidden[1] = o.hidden[2] = WIDTH;
    o.shards = (rows + WIDTH - 1) / WIDTH + 1;
    o.threads = 1;
    if (bpcn_memory_create(&o, &m) != BPCN_OK)
        fail(bpcn_error());
    for (size_t i = 0; i < rows; i += BLOCK)
        if (bpcn_memory_write(m, all + i * DIM, NULL, rows - i < BLOCK ? rows - i : BLOCK, NULL) != BPCN_OK)
            fail(bpcn_error());
    return m;
}

static void measure(const bpcn_memory *m, size_t rows, const float *floats_of, const unsigned char *bytes_of, enum kind kind)
{
    static bpcn_read_info info[QUERIES];
    const unsigned char *mask = kind == WHOLE || noise_of[kind] > 0 ? NULL : known[0];
    size_t right[3] = {0}, same = 0, scans = rows > 100000 ? LONE / 4 : LONE;
    draw_queries(rows, kind);
    double start = processor_ms();
    if (bpcn_memory_read(m, query[0], mask, QUERIES, NULL, answer[0], info) != BPCN_OK)
        fail(bpcn_error());
    double batch = (processor_ms() - start) / QUERIES;
    for (size_t q = 0; q < QUERIES; q++)
        right[0] += info[q].shard == wanted[q] / WIDTH;
    for (size_t q = 0; q < scans; q++)
        same += info[q].shard == wanted[q] / WIDTH;
    start = processor_ms();
    for (size_t q = 0; q < LONE; q++)
        if (bpcn_memory_read(m, query[q], mask ? known[q] : NULL, 1, NULL, answer[q], &info[q]) != BPCN_OK)
            fail(bpcn_error());
    double alone = (processor_ms() - start) / LONE;
    start = processor_ms();
    for (size_t q = 0; q < scans; q++)
        right[1] += nearest_float(floats_of, rows, query[q], known_float[q]) == wanted[q];
    double in_floats = (processor_ms() - start) / (double)scans;
    start = processor_ms();
    for (size_t q = 0; q < scans; q++)
        right[2] += nearest_bytes(bytes_of, rows, query_bytes[q], known_bytes[q]) == wanted[q];
    double in_bytes = (processor_ms() - start) / (double)scans;
    printf("%zu,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", rows, kind_name[kind], batch, alone, in_floats, in_bytes,
           (double)right[0] / QUERIES, (double)same / (double)scans, (double)right[1] / (double)scans, (double)right[2] / (double)scans);
    fflush(stdout);
}

static void measure_size(size_t rows)
{
    float *floats_of = malloc(rows * DIM * sizeof *floats_of);
    unsigned char *bytes_of = malloc(rows * DIM);
    struct rusage usage;
    bpcn_stats stats = {.size = sizeof stats};
    if (floats_of == NULL || bytes_of == NULL)
        fail("out of memory");
    for (size_t i = 0; i < rows; i++)
        row_bytes(i, bytes_of + i * DIM);
    for (size_t j = 0; j < rows * DIM; j++)
        floats_of[j] = entry_of(bytes_of[j]);
    getrusage(RUSAGE_SELF, &usage);
    double start = processor_ms(), before = 1024.0 * (double)usage.ru_maxrss;
    bpcn_memory *m = write_memory(rows, floats_of);
    double write = (processor_ms() - start) / (double)rows;
    getrusage(RUSAGE_SELF, &usage);
    if (bpcn_memory_get_stats(m, &stats) != BPCN_OK)
        fail(bpcn_error());
    printf("# %zu rows: %.3f ms a write, %.0f bytes an item, resident %.2f times that\n", rows, write,
           (double)stats.bytes / (double)rows, (1024.0 * (double)usage.ru_maxrss - before) / (double)stats.bytes);
    for (enum kind kind = 0; kind < KINDS; kind++)
        measure(m, rows, floats_of, bytes_of, kind);
    bpcn_memory_free(m);
    free(floats_of);
    free(bytes_of);
}

int main(int argc, char **argv)
{
    if (argc < 2 || pictures_read(argv[1]) != 0)
        fail(argc < 2 ? "usage: scale PICTURES [ROWS ...]" : "cannot read the pictures");
    printf("rows,query,batch_ms,alone_ms,float32_ms,bytes_ms,right,scanned_right,float32_right,bytes_right\n");
    for (int i = 2; i < argc; i++)
        measure_size((size_t)strtoull(argv[i], NULL, 10));
    if (argc == 2)
        for (size_t rows = 1000; rows <= 64000; rows *= 4)
            measure_size(rows);
    return 0;
}
