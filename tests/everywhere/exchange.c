/* Says what is in memory files, for machines to compare: exchange FILE... Each line is the file's last name, its counts,
   and of its answers to three queries the sum, the sum of the squares and the energies. */
#include "bayespcn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 3 };

static int tell(const char *path)
{
    bpcn_memory *memory;
    bpcn_options o = {.size = sizeof o};
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_read_info info[QUERIES];
    if (bpcn_memory_load(path, &memory) != BPCN_OK || bpcn_memory_get_options(memory, &o) != BPCN_OK ||
        bpcn_memory_get_stats(memory, &stats) != BPCN_OK) {
        fprintf(stderr, "%s: %s\n", path, bpcn_error());
        return 1;
    }
    float *x = calloc(2 * QUERIES * o.dim, sizeof *x), *out = x + QUERIES * o.dim;
    for (size_t j = 0; x != NULL && j < QUERIES * o.dim; j++)
        x[j] = (float)((j * 7919) % 101) / 101 - 0.5f;
    unsigned char *known = malloc(QUERIES * o.dim);
    for (size_t j = 0; x != NULL && known != NULL && j < QUERIES * o.dim; j++)
        known[j] = 2 * (j % o.dim) <= o.dim; /* the first half, which the rest is recalled from */
    if (x == NULL || known == NULL || bpcn_memory_read(memory, x, known, QUERIES, NULL, out, info) != BPCN_OK) {
        fprintf(stderr, "%s: %s\n", path, bpcn_error());
        return 1;
    }
    const char *name = strrchr(path, '/');
    printf("%s %llu %llu %llu", name != NULL ? name + 1 : path, (unsigned long long)stats.writes,
           (unsigned long long)stats.forgets, (unsigned long long)stats.deletes);
    for (size_t i = 0; i < QUERIES; i++) {
        double sum = 0, squares = 0;
        for (size_t j = 0; j < o.dim; j++) {
            sum += (double)out[i * o.dim + j];
            squares += (double)out[i * o.dim + j] * (double)out[i * o.dim + j];
        }
        printf(" %.6g %.6g %.6g", sum, squares, info[i].energy);
    }
    printf("\n");
    free(x);
    free(known);
    bpcn_memory_free(memory);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= tell(argv[i]);
    return failed;
}
