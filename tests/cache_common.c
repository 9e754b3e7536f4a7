/* See prepared_common.h. */
#include "cache_common.h"

#include "store_common.h"

#include <stdlib.h>
#include <string.h>

const size_t first_width[SHAPES] = {48, 104, 200};

bpcn_options options_of(int shape, bpcn_activation activation, bpcn_precision precision, size_t particles)
{
    bpcn_options o = network(PICTURE, 2, (size_t[]){first_width[shape], SECOND});
    o.activation = activation;
    o.precision = precision;
    o.particles = particles;
    o.seed = 5;
    return o;
}

void mask_number(size_t number, size_t n, unsigned char *known)
{
    for (size_t j = 0; j < n * PICTURE; j++)
        known[j] = (j % PICTURE + 16 * number) % PICTURE < 110;
}

struct says say(const bpcn_memory *m, const float *x, const unsigned char *known, size_t n, size_t most,
                const bpcn_read_options *o)
{
    size_t code = m->contents.shard[0]->code_dim, count;
    struct says s = {.out = room(n * PICTURE, sizeof *s.out),
                     .codes = room(n * code, sizeof *s.codes),
                     .info = room(n, sizeof *s.info),
                     .code_info = room(n, sizeof *s.code_info),
                     .n = n,
                     .code = code};
    for (size_t i = 0; i < n; i += count) {
        const float *row = x + i * PICTURE;
        const unsigned char *mask = known ? known + i * PICTURE : NULL;
        count = n - i < most ? n - i : most;
        assert_ok(bpcn_memory_read(m, row, mask, count, o, s.out + i * PICTURE, s.info + i));
        assert_ok(bpcn_memory_infer(m, row, mask, count, o, s.codes + i * code, s.code_info + i));
    }
    return s;
}

void says_free(struct says *s)
{
    free(s->out);
    free(s->codes);
    free(s->info);
    free(s->code_info);
}

int same_words(const struct says *a, const struct says *b)
{
    return memcmp(a->out, b->out, a->n * PICTURE * sizeof *a->out) == 0 &&
           memcmp(a->codes, b->codes, a->n * a->code * sizeof *a->codes) == 0 &&
           memcmp(a->info, b->info, a->n * sizeof *a->info) == 0 &&
           memcmp(a->code_info, b->code_info, a->n * sizeof *a->code_info) == 0;
}

struct view view_of(const bpcn_memory *m, const float *x)
{
    struct view v;
    unsigned char known[2][STORED * PICTURE];
    left_half(STORED, known[0]);
    for (size_t i = 0; i < STORED; i++)
        mask_number(i, 1, known[1] + i * PICTURE);
    for (size_t k = 0; k < KINDS - 1; k++)
        v.kind[k] = say(m, x, k == 0 ? NULL : known[k - 1], STORED, STORED, NULL);
    assert_ok(bpcn_memory_score(m, x, NULL, STORED, v.score));
    return v;
}

int same_view(const struct view *a, const struct view *b)
{
    int same = memcmp(a->score, b->score, sizeof a->score) == 0;
    for (size_t k = 0; k < KINDS - 1; k++)
        same = same && same_words(&a->kind[k], &b->kind[k]);
    return same;
}

void view_free(struct view *v)
{
    for (size_t k = 0; k < KINDS - 1; k++)
        says_free(&v->kind[k]);
}

bpcn_memory *fresh_copy(const bpcn_memory *m, int threads)
{
    bpcn_memory *copy;
    bpcn_open_options how;
    bpcn_open_options_default(&how, sizeof how);
    how.read_only = 1;
    how.threads = threads;
    assert_ok(bpcn_memory_save(m, scratch("copy")));
    assert_ok(bpcn_memory_open(scratch("copy"), &how, &copy));
    return copy;
}

void *read_masks(void *argument)
{
    struct reader *r = argument;
    for (size_t k = 0; r->status == BPCN_OK && k < MASKS; k++) {
        size_t mask = (r->first + k) % MASKS;
        const float *x = r->scene->x + mask % STORED / EACH * EACH * PICTURE;
        unsigned char known[EACH * PICTURE];
        mask_number(mask, EACH, known);
        r->status = bpcn_memory_read(r->memory, x, known, mask % 3 == 0 ? 1 : EACH, NULL, r->out[mask], r->info[mask]);
        if (r->status == BPCN_OK)
            r->status = bpcn_memory_score(r->memory, x, known, 1, &r->score[mask]);
    }
    return NULL;
}

void check_same_reading(const struct reader *a, const struct reader *b)
{
    assert_ok(a->status);
    assert_memory_equal(a->out, b->out, sizeof a->out);
    assert_memory_equal(a->info, b->info, sizeof a->info);
    assert_memory_equal(a->score, b->score, sizeof a->score);
}
