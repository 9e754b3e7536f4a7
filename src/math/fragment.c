/* One row's own part of the preconditioner: see fragment.h. */
#include "fragment.h"

#include "alloc.h"
#include "dense.h"
#include "linalg.h"

#include <stdlib.h>
#include <string.h>

struct fragment {
    size_t count;
    size_t *entry; /* [count]: the entries known */
    float *root;   /* rows 0 .. count - 1 of L, the matrix being LL', one after the other; 1 / L_ii on the diagonal */
    float *room;   /* [count] */
};

static struct fragment *allocate(size_t count)
{
    size_t triangle = count * (count + 1) / 2, head = sizeof(struct fragment) + count * sizeof(size_t);
    struct fragment *f = alloc_zeroed(1, head + (triangle + count) * sizeof(float));
    if (f == NULL)
        return NULL;
    f->count = count;
    f->entry = (size_t *)(f + 1);
    f->root = (float *)(f->entry + count);
    f->room = f->root + triangle;
    return f;
}

/* The lower triangle of the known part of products, ridge added, factored in place; -1 when it cannot be. */
static int factor(const struct fragment *f, size_t dim, const float *products, float ridge, float *matrix)
{
    size_t n = f->count;
    for (size_t i = 0; i < n; i++) {
        const float *row = products + f->entry[i] * dim;
        for (size_t j = 0; j <= i; j++)
            matrix[i * n + j] = row[f->entry[j]];
        matrix[i * n + i] += ridge;
    }
    return dense_cholesky(n, matrix);
}

struct fragment *fragment_create(size_t dim, const float *products, float ridge, const unsigned char *known)
{
    size_t n = 0, at = 0;
    for (size_t j = 0; j < dim; j++)
        n += known[j] != 0;
    struct fragment *f = allocate(n);
    float *matrix = alloc_zeroed(n * n, sizeof *matrix);
    for (size_t j = 0; f != NULL && j < dim; j++)
        if (known[j])
            f->entry[at++] = j;
    if (f == NULL || matrix == NULL || factor(f, dim, products, ridge, matrix) != 0) {
        free(matrix);
        free(f);
        return NULL;
    }
    float *row = f->root;
    for (size_t i = 0; i < n; row += ++i) {
        memcpy(row, matrix + i * n, i * sizeof *row);
        row[i] = 1 / matrix[i * n + i];
    }
    free(matrix);
    return f;
}

void fragment_solve(const struct fragment *f, size_t dim, float *row)
{
    size_t n = f->count;
    float *x = f->room;
    const float *l = f->root;
    for (size_t i = 0; i < n; l += ++i)
        x[i] = (row[f->entry[i]] - (float)dot_f32(i, l, x)) * l[i];
    for (size_t i = n; i-- > 0;) {
        l -= i + 1;
        x[i] *= l[i];
        axpy_f32(i, -(double)x[i], l, x);
    }
    memset(row, 0, dim * sizeof *row);
    for (size_t i = 0; i < n; i++)
        row[f->entry[i]] = x[i];
}
