/* Sequences: episodes are played exactly, found from spoiled cues, deleted, recycled, and there after a crash. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "support.h"

#include "bayespcn_sequence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIM = 784, FRAMES = 256 };

/* n frames [n x 784] of -1 .. 1: Fashion-MNIST, or where it is not, smooth random pictures of 256 values. */
static float *film(size_t n)
{
    float *x = room(n * DIM, sizeof *x);
    FILE *f = popen("gzip -dc /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz 2>/dev/null", "r");
    unsigned char head[16], *bytes = room(n * DIM, 1);
    if (f == NULL || fread(head, 1, sizeof head, f) != sizeof head || fread(bytes, DIM, n, f) != n) {
        printf("skipped: Fashion-MNIST is not here, random pictures take its place\n");
        struct dice dice = {7};
        for (size_t i = 0; i < n; i++) {
            double a[6];
            for (size_t k = 0; k < 6; k++)
                a[k] = 6 * dice_uniform(&dice);
            for (size_t j = 0; j < DIM; j++) {
                double row = (double)(j / 28) / 28, column = (double)(j % 28) / 28;
                bytes[i * DIM + j] = (unsigned char)(127 + 60 * sin(a[0] + a[1] * row + a[2] * column) + 60 * sin(a[3] + a[4] * row * column + a[5] * row));
            }
        }
    }
    if (f != NULL)
        pclose(f);
    for (size_t j = 0; j < n * DIM; j++)
        x[j] = (float)(bytes[j] / 255.0 * 2 - 1);
    free(bytes);
    return x;
}

static bpcn_sequence_options shape(size_t dim, uint64_t capacity)
{
    bpcn_sequence_options o;
    bpcn_sequence_options_default(&o, sizeof o);
    o.dim = dim;
    o.capacity = capacity;
    return o;
}

static bpcn_sequence *sequence_of(const float *x, size_t dim, size_t n)
{
    bpcn_sequence_options o = shape(dim, n);
    bpcn_sequence *s;
    assert_ok(bpcn_sequence_create(&o, &s));
    assert_ok(bpcn_sequence_append(s, "film", 0, x, n, NULL));
    return s;
}

/* Mean square error on pixels scaled to [0, 1]. */
static double error_of(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]) / 4;
    return sum / (double)n;
}

static void spoil(struct dice *dice, const float *x, size_t n, double noise, float *out)
{
    for (size_t j = 0; j < n; j++)
        out[j] = x[j] + (float)(noise * dice_normal(dice));
}

/* ---- play */

static void a_film_plays_forward_backward_and_from_anywhere(void **state)
{
    (void)state;
    float *x = film(FRAMES), *y = room(FRAMES * DIM, sizeof *y), *spread = room(FRAMES * DIM, sizeof *spread);
    bpcn_sequence *s = sequence_of(x, DIM, FRAMES);
    /* 1e-6: a tenth of a step of 1/255 */
    assert_ok(bpcn_sequence_play(s, 0, 0, 1, FRAMES, y, spread));
    assert_true(error_of(x, y, FRAMES * DIM) < 1e-6);
    for (size_t j = 0; j < FRAMES * DIM; j++)
        assert_true(spread[j] > 0 && spread[j] < 0.1f);
    assert_ok(bpcn_sequence_play(s, 0, FRAMES - 1, -1, FRAMES, y, NULL));
    for (size_t i = 0; i < FRAMES; i++)
        assert_true(error_of(x + i * DIM, y + (FRAMES - 1 - i) * DIM, DIM) < 1e-4);
    assert_ok(bpcn_sequence_play(s, 0, 3, 50, 6, y, NULL));
    for (size_t i = 0; i < 6; i++)
        assert_true(error_of(x + (3 + 50 * i) * DIM, y + i * DIM, DIM) < 1e-4);
    assert_ok(bpcn_sequence_close(s));
    free(x);
    free(y);
    free(spread);
}

static void frames_of_any_scale_play_as_well(void **state)
{
    (void)state;
    struct dice dice = {3};
    float *x = room(100 * 20, sizeof *x), *y = room(100 * 20, sizeof *y);
    for (size_t j = 0; j < 100 * 20; j++)
        x[j] = (float)(50000 + 2000 * dice_normal(&dice));
    bpcn_sequence *s = sequence_of(x, 20, 100);
    assert_ok(bpcn_sequence_play(s, 0, 0, 1, 100, y, NULL));
    /* a thousandth of the scale: the variance of recall is 1e-4 of its square */
    assert_true(sqrt(4 * error_of(x, y, 100 * 20)) < 0.01 * 2000);
    bpcn_place place;
    size_t found;
    for (size_t j = 0; j < 20; j++)
        y[j] = x[37 * 20 + j] + (float)(400 * dice_normal(&dice));
    assert_ok(bpcn_sequence_locate(s, y, NULL, 1, NULL, &place, 1, &found));
    assert_true(found == 1 && place.place == 37 && place.residual > 100 && place.residual < 800);
    assert_ok(bpcn_sequence_close(s));
    free(x);
    free(y);
}

/* ---- find the place */

/* How many of `trials` places are right after n cues. */
static size_t located(const bpcn_sequence *s, const float *x, size_t frames, size_t n, double noise, int half, size_t trials)
{
    struct dice dice = {n + 100 * (uint64_t)(10 * noise)};
    float *cue = room(n * DIM, sizeof *cue);
    unsigned char *known = half ? room(n * DIM, 1) : NULL;
    size_t right = 0;
    for (size_t j = 0; half && j < n * DIM; j++)
        known[j] = j % 28 < 14;
    for (size_t t = 0; t < trials; t++) {
        size_t at = (t * 61 + 5) % (frames - n + 1), found;
        bpcn_place place = {.probability = 0};
        spoil(&dice, x + at * DIM, n * DIM, noise, cue);
        assert_ok(bpcn_sequence_locate(s, cue, known, n, NULL, &place, 1, &found));
        right += found == 1 && place.place == at + n - 1;
    }
    free(cue);
    free(known);
    return right;
}

static void a_noisy_or_partial_frame_says_where_it_is(void **state)
{
    (void)state;
    float *x = film(FRAMES);
    bpcn_sequence *s = sequence_of(x, DIM, FRAMES);
    /* of 256 pictures none is as near to another as this noise is to it */
    assert_int_equal(located(s, x, FRAMES, 1, 0.2, 0, 20), 20);
    assert_int_equal(located(s, x, FRAMES, 1, 0.5, 0, 20), 20);
    assert_int_equal(located(s, x, FRAMES, 3, 0.2, 1, 10), 10);
    assert_ok(bpcn_sequence_close(s));
    free(x);
}

static void frames_shown_many_times_are_told_apart_after_three_cues(void **state)
{
    (void)state;
    enum { DISTINCT = 16 };
    float *base = film(DISTINCT), *x = room(FRAMES * DIM, sizeof *x);
    struct dice dice = {11};
    for (size_t i = 0; i < FRAMES; i++)
        memcpy(x + i * DIM, base + (size_t)(DISTINCT * dice_uniform(&dice)) * DIM, DIM * sizeof *x);
    bpcn_sequence *s = sequence_of(x, DIM, FRAMES);
    /* 16^4 runs of four frames, 253 of them written: two places share one with probability 253 / 16^4 = 0.4 % */
    assert_true(located(s, x, FRAMES, 4, 0.5, 0, 20) >= 19);
    assert_true(located(s, x, FRAMES, 5, 0.2, 1, 10) >= 9);
    assert_ok(bpcn_sequence_close(s));
    free(base);
    free(x);
}

static void a_follower_survives_missing_frames_and_jumps_and_cleans(void **state)
{
    (void)state;
    float *x = film(FRAMES), *cue = room(DIM, sizeof *cue), *clean = room(DIM, sizeof *clean), *next = room(DIM, sizeof *next);
    float *spread = room(DIM, sizeof *spread);
    unsigned char *nothing = room(DIM, 1);
    struct dice dice = {5};
    bpcn_sequence *s = sequence_of(x, DIM, FRAMES);
    bpcn_follower *f;
    assert_ok(bpcn_follower_create(s, NULL, &f));
    for (size_t t = 0; t < 30; t++) {
        size_t at = t < 15 ? 20 + t : 150 + t; /* a jump at 15 */
        bpcn_step step;
        spoil(&dice, x + at * DIM, DIM, 0.5, cue);
        int missing = t % 3 == 2;
        assert_ok(bpcn_follower_step(f, cue, missing ? nothing : NULL, &step, clean, next, spread));
        assert_int_equal(step.place.place, at);
        assert_int_equal(step.known, !missing);
        assert_true(step.place.probability > 0.9);
        assert_true(error_of(clean, x + at * DIM, DIM) < 1e-4);
        assert_true(error_of(next, x + (at + 1) * DIM, DIM) < 1e-4);
        if (missing)
            continue;
        assert_near(step.noise, 0.5, 0.1); /* 784 entries: +- 0.013 */
        /* log(256 / 0.01) = 10.2 for the jump, and noise of some nats by the frame that was expected */
        assert_true(t == 0 || t == 15 || step.surprise < 1);
        assert_true(t != 15 || (step.surprise > 9 && step.surprise < 11));
        assert_true(step.misfit < 6); /* one deviation is its own, another that of the usual noise */
    }
    bpcn_step step;
    float *other = film(FRAMES + 20);
    assert_ok(bpcn_follower_step(f, other + (FRAMES + 5) * DIM, NULL, &step, NULL, NULL, NULL)); /* never written */
    assert_true(step.verdict != BPCN_KNOWN);
    free(other);
    bpcn_follower_free(f);
    assert_ok(bpcn_sequence_close(s));
    free(x);
    free(cue);
    free(clean);
    free(next);
    free(spread);
    free(nothing);
}

/* ---- the filter itself */

/* a_t of all places by the recursion over all of them, with the frames as they were written. */
static void exact_filter(const float *x, size_t dim, const size_t *begins, size_t episodes, size_t places, const float *cue,
                         const unsigned char *known, size_t cues, double noise, double eps, double *a)
{
    double *next = room(places, sizeof *next);
    for (size_t t = 0; t < cues; t++) {
        double restart = eps, all = 0, top = -INFINITY;
        for (size_t p = 0; t > 0 && p < places; p++)
            for (size_t e = 1; e <= episodes; e++)
                restart += p + 1 == begins[e] ? (1 - eps) * a[p] : 0;
        for (size_t p = 0; p < places; p++) {
            int first = 0;
            double rss = 0;
            for (size_t e = 0; e < episodes; e++)
                first |= p == begins[e];
            double prior = t == 0 ? 1.0 / (double)places : (first ? 0 : (1 - eps) * a[p - 1]) + restart / (double)places;
            for (size_t j = 0; j < dim; j++)
                rss += known[t * dim + j] ? pow((double)cue[t * dim + j] - (double)x[p * dim + j], 2) : 0;
            next[p] = log(prior) - rss / (2 * noise * noise);
            top = fmax(top, next[p]);
        }
        for (size_t p = 0; p < places; p++)
            all += exp(next[p] - top);
        for (size_t p = 0; p < places; p++)
            a[p] = exp(next[p] - top) / all;
    }
    free(next);
}

static void the_filter_is_the_exact_one_where_all_places_are_proposed(void **state)
{
    (void)state;
    enum { N = 20, PLACES = 48, CUES = 12, DISTINCT = 6 };
    const size_t begins[] = {0, 20, PLACES};
    struct dice dice = {23};
    float base[DISTINCT * N], x[PLACES * N], cue[CUES * N];
    unsigned char known[CUES * N];
    double exact[PLACES];
    dice_normals_f32(&dice, DISTINCT * N, 1, base);
    for (size_t i = 0; i < PLACES; i++)
        memcpy(x + i * N, base + (size_t)(DISTINCT * dice_uniform(&dice)) * N, N * sizeof *x);
    bpcn_sequence_options o = shape(N, PLACES);
    bpcn_sequence *s;
    assert_ok(bpcn_sequence_create(&o, &s));
    assert_ok(bpcn_sequence_append(s, "first", 0, x, 20, NULL));
    assert_ok(bpcn_sequence_append(s, NULL, 0, x + 20 * N, PLACES - 20, NULL));
    for (size_t start = 0; start < PLACES; start += 5) {
        memset(known, 1, sizeof known);
        for (size_t t = 0; t < CUES; t++) { /* on from `start`, then from elsewhere; one cue partial, one missing */
            size_t at = (start + t + (t > 7 ? 13 : 0)) % PLACES;
            spoil(&dice, x + at * N, N, 1.5, cue + t * N);
        }
        memset(known + 3 * N, 0, N / 2);
        bpcn_follow_options p;
        bpcn_follow_options_default(&p, sizeof p);
        p.noise = 1.5;
        p.restart = 0.05;
        p.proposals = PLACES;
        bpcn_follower *f;
        assert_ok(bpcn_follower_create(s, &p, &f));
        for (size_t t = 0; t < CUES; t++) {
            bpcn_place place[PLACES];
            size_t found;
            double total = 0;
            assert_ok(bpcn_follower_step(f, cue + t * N, known + t * N, NULL, NULL, NULL, NULL));
            assert_ok(bpcn_follower_places(f, place, PLACES, &found));
            exact_filter(x, N, begins, 2, PLACES, cue, known, t + 1, 1.5, 0.05, exact);
            for (size_t i = 0; i < found; i++) {
                /* recall is exact to .01 of the scale, and its variance adds as much to 1.5^2: log densities differ by 0.05 */
                assert_near(place[i].probability, exact[begins[place[i].episode] + place[i].place], 0.03);
                total += place[i].probability;
                assert_true(i == 0 || place[i].probability <= place[i - 1].probability);
            }
            assert_near(total, 1, 1e-6);
        }
        bpcn_follower_free(f);
    }
    assert_ok(bpcn_sequence_close(s));
}

/* ---- window, delete */

static void recycled_frames_are_refused_and_never_known(void **state)
{
    (void)state;
    enum { LONG = 448, HELD = 180 };
    float *x = film(LONG), *y = room(LONG * DIM, sizeof *y);
    bpcn_sequence_options o = shape(DIM, HELD);
    bpcn_sequence *s;
    bpcn_follower *f;
    bpcn_episode episode[4];
    size_t count;
    o.when_full = BPCN_RECYCLE;
    assert_ok(bpcn_sequence_create(&o, &s));
    assert_ok(bpcn_sequence_append(s, "old", 0, x, 100, NULL));
    for (size_t i = 100; i < LONG; i += 87)
        assert_ok(bpcn_sequence_append(s, i == 100 ? "stream" : NULL, i > 100, x + i * DIM, i + 87 < LONG ? 87 : LONG - i, NULL));
    assert_ok(bpcn_sequence_episodes(s, episode, 4, &count));
    assert_string_equal(episode[count - 1].name, "stream");
    size_t dropped = (size_t)episode[count - 1].dropped, frames = (size_t)episode[count - 1].frames;
    assert_int_equal(frames, LONG - 100);
    assert_true(frames - dropped <= HELD && frames - dropped > HELD - 60);
    assert_ok(bpcn_sequence_play(s, count - 1, dropped, 1, frames - dropped, y, NULL));
    assert_true(error_of(x + (100 + dropped) * DIM, y, (frames - dropped) * DIM) < 1e-6);
    assert_status(bpcn_sequence_play(s, count - 1, dropped - 1, 1, 2, y, NULL), BPCN_NOT_HELD);
    for (size_t i = 0; i < 100 + dropped; i += 7) {
        bpcn_step step;
        assert_ok(bpcn_follower_create(s, NULL, &f));
        assert_ok(bpcn_follower_step(f, x + i * DIM, NULL, &step, NULL, NULL, NULL));
        assert_int_not_equal(step.verdict, BPCN_KNOWN);
        bpcn_follower_free(f);
    }
    assert_ok(bpcn_sequence_close(s));
    free(x);
    free(y);
}

static void a_deleted_episode_is_gone_and_the_others_stay(void **state)
{
    (void)state;
    float *x = film(FRAMES), *y = room(FRAMES * DIM, sizeof *y);
    bpcn_sequence_options o = shape(DIM, FRAMES);
    bpcn_sequence *s;
    size_t episode, count, found;
    bpcn_place place[8];
    assert_ok(bpcn_sequence_create(&o, &s));
    assert_ok(bpcn_sequence_append(s, "a", 0, x, 70, NULL));
    assert_ok(bpcn_sequence_append(s, "b", 0, x + 70 * DIM, 30, NULL));
    assert_ok(bpcn_sequence_append(s, NULL, 1, x + 100 * DIM, 20, NULL));
    assert_ok(bpcn_sequence_append(s, "c", 0, x + 120 * DIM, 80, NULL));
    assert_ok(bpcn_sequence_find(s, "b", &episode));
    /* others than were written: nothing changes */
    assert_status(bpcn_sequence_delete(s, episode, x), BPCN_NOT_HELD);
    assert_ok(bpcn_sequence_play(s, episode, 0, 1, 50, y, NULL));
    assert_true(error_of(x + 70 * DIM, y, 50 * DIM) < 1e-6);
    assert_ok(bpcn_sequence_delete(s, episode, NULL)); /* pictures: played back exactly */
    assert_status(bpcn_sequence_find(s, "b", &episode), BPCN_INVALID);
    assert_ok(bpcn_sequence_episodes(s, NULL, 0, &count));
    assert_int_equal(count, 2);
    bpcn_stats stats = {.size = sizeof stats};
    assert_ok(bpcn_memory_get_stats(bpcn_sequence_memory(s), &stats));
    assert_int_equal(stats.deletes, 50);
    assert_ok(bpcn_sequence_play(s, 0, 0, 1, 70, y, NULL));
    assert_true(error_of(x, y, 70 * DIM) < 1e-6);
    assert_ok(bpcn_sequence_play(s, 1, 0, 1, 80, y, NULL));
    assert_true(error_of(x + 120 * DIM, y, 80 * DIM) < 1e-6);
    assert_ok(bpcn_sequence_locate(s, x + 80 * DIM, NULL, 1, NULL, place, 8, &found));
    for (size_t i = 0; i < found; i++)
        assert_true(place[i].episode < 2 && place[i].residual > 0.05);
    assert_ok(bpcn_sequence_delete(s, 0, x)); /* and with the frames given */
    assert_ok(bpcn_sequence_append(s, NULL, 1, x, 10, NULL)); /* c goes on */
    assert_ok(bpcn_sequence_play(s, 0, 75, 1, 15, y, NULL));
    assert_true(error_of(x, y + 5 * DIM, 10 * DIM) < 1e-6);
    assert_ok(bpcn_sequence_close(s));
    free(x);
    free(y);
}

/* ---- files */

static void in_a_child(void (*body)(const char *, const float *), const char *path, const float *x)
{
    fflush(NULL);
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
        body(path, x);
        _exit(0); /* the file is not closed */
    }
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void write_and_die(const char *path, const float *x)
{
    bpcn_sequence_options o = shape(DIM, FRAMES);
    bpcn_sequence *s;
    if (bpcn_sequence_open(path, NULL, &o, &s) != BPCN_OK || bpcn_sequence_append(s, "one", 0, x, 30, NULL) != BPCN_OK ||
        bpcn_sequence_append(s, "two", 0, x + 30 * DIM, 20, NULL) != BPCN_OK)
        _exit(1);
}

/* As if it died after it named the episode, before its first frame. */
static void name_and_die(const char *path, const float *x)
{
    char note[4096];
    size_t bytes;
    bpcn_sequence *s;
    (void)x;
    if (bpcn_sequence_open(path, NULL, NULL, &s) != BPCN_OK ||
        bpcn_memory_get_note(bpcn_sequence_memory(s), note, sizeof note, &bytes) != BPCN_OK)
        _exit(1);
    note[bytes] = '\0';
    char *open = strstr(note, " - two");
    if (open == NULL)
        _exit(1);
    bytes = (size_t)(open - note);
    bytes += (size_t)snprintf(note + bytes, sizeof note - bytes, " 20 two\nepisode=50 - ghost\n");
    if (bpcn_memory_set_note(bpcn_sequence_memory(s), note, bytes) != BPCN_OK)
        _exit(1);
}

static void a_sequence_survives_crashes_and_closing(void **state)
{
    (void)state;
    char folder[] = "/tmp/sequenceXXXXXX", path[64];
    float *x = film(FRAMES), *y = room(FRAMES * DIM, sizeof *y);
    bpcn_episode episode[4];
    bpcn_sequence *s;
    size_t count;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ep.mem", folder);
    in_a_child(write_and_die, path, x);
    in_a_child(name_and_die, path, x);
    assert_ok(bpcn_sequence_open(path, NULL, NULL, &s));
    assert_ok(bpcn_sequence_episodes(s, episode, 4, &count));
    assert_int_equal(count, 2);
    assert_string_equal(episode[1].name, "two");
    assert_int_equal(episode[1].frames, 20);
    assert_ok(bpcn_sequence_append(s, "three", 0, x + 50 * DIM, 100, NULL));
    assert_ok(bpcn_sequence_close(s));
    assert_ok(bpcn_sequence_open(path, NULL, NULL, &s));
    assert_ok(bpcn_sequence_append(s, NULL, 1, x + 150 * DIM, 40, NULL));
    assert_ok(bpcn_sequence_delete(s, 2, NULL)); /* also what was written after it was opened again */
    assert_ok(bpcn_sequence_append(s, "four", 0, x + 60 * DIM, 50, NULL));
    assert_ok(bpcn_sequence_close(s));
    bpcn_open_options open;
    bpcn_open_options_default(&open, sizeof open);
    open.read_only = 1;
    assert_ok(bpcn_sequence_open(path, &open, NULL, &s));
    assert_ok(bpcn_sequence_episodes(s, episode, 4, &count));
    assert_int_equal(count, 3);
    for (size_t e = 0, from[] = {0, 30, 60}; e < 3; e++) {
        assert_ok(bpcn_sequence_play(s, e, 0, 1, (size_t)episode[e].frames, y, NULL));
        assert_true(error_of(x + from[e] * DIM, y, (size_t)episode[e].frames * DIM) < 1e-6);
    }
    assert_status(bpcn_sequence_append(s, "five", 0, x, 1, NULL), BPCN_READ_ONLY);
    assert_ok(bpcn_sequence_close(s));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(x);
    free(y);
}

/* ---- refusals */

static void what_cannot_be_is_refused_in_a_sentence(void **state)
{
    (void)state;
    float x[61 * 4] = {0}, y[4];
    size_t written, found;
    bpcn_place place;
    bpcn_follower *f;
    bpcn_sequence *s;
    bpcn_sequence_options o = shape(0, 60);
    assert_status(bpcn_sequence_create(&o, &s), BPCN_INVALID);
    o.dim = 4;
    o.height = 3;
    assert_status(bpcn_sequence_create(&o, &s), BPCN_INVALID);
    o.height = 0;
    o.when_full = BPCN_BLUR;
    assert_status(bpcn_sequence_create(&o, &s), BPCN_INVALID);
    o.when_full = BPCN_REFUSE;
    o.restart = 0;
    assert_status(bpcn_sequence_create(&o, &s), BPCN_INVALID);
    o.restart = 0.01;
    assert_ok(bpcn_sequence_create(&o, &s));
    for (size_t j = 0; j < 61 * 4; j++)
        x[j] = (float)sin((double)j);
    assert_status(bpcn_sequence_locate(s, x, NULL, 1, NULL, &place, 1, &found), BPCN_INVALID); /* no frames */
    assert_status(bpcn_sequence_append(s, NULL, 1, x, 1, &written), BPCN_INVALID); /* nothing to go on with */
    assert_status(bpcn_sequence_append(s, "a\nb", 0, x, 1, &written), BPCN_INVALID);
    assert_ok(bpcn_sequence_append(s, "a", 0, x, 58, &written));
    assert_int_equal(written, 58);
    assert_status(bpcn_sequence_append(s, "b", 0, x, 3, &written), BPCN_FULL);
    assert_int_equal(written, 0);
    x[5] = NAN;
    assert_status(bpcn_sequence_append(s, "b", 0, x, 2, &written), BPCN_INVALID);
    x[5] = 0;
    assert_status(bpcn_sequence_play(s, 1, 0, 1, 1, y, NULL), BPCN_INVALID);
    assert_status(bpcn_sequence_play(s, 0, 60, 1, 1, y, NULL), BPCN_INVALID);
    assert_status(bpcn_sequence_play(s, 0, 0, -1, 2, y, NULL), BPCN_INVALID);
    assert_status(bpcn_sequence_find(s, "b", &found), BPCN_INVALID);
    bpcn_follow_options p;
    bpcn_follow_options_default(&p, sizeof p);
    p.restart = 1;
    assert_status(bpcn_follower_create(s, &p, &f), BPCN_INVALID);
    assert_ok(bpcn_sequence_close(s));
    assert_ok(bpcn_sequence_close(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_film_plays_forward_backward_and_from_anywhere),
        cmocka_unit_test(frames_of_any_scale_play_as_well),
        cmocka_unit_test(a_noisy_or_partial_frame_says_where_it_is),
        cmocka_unit_test(frames_shown_many_times_are_told_apart_after_three_cues),
        cmocka_unit_test(a_follower_survives_missing_frames_and_jumps_and_cleans),
        cmocka_unit_test(the_filter_is_the_exact_one_where_all_places_are_proposed),
        cmocka_unit_test(recycled_frames_are_refused_and_never_known),
        cmocka_unit_test(a_deleted_episode_is_gone_and_the_others_stay),
        cmocka_unit_test(a_sequence_survives_crashes_and_closing),
        cmocka_unit_test(what_cannot_be_is_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
