/* Corruptions and score. */
#include "task.h"

#include "scramble.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    enum task_kind kind;
} words[] = {{"white", TASK_WHITE}, {"drop", TASK_DROP}, {"mask", TASK_MASK}};

int task_parse(const char *text, struct task *task, struct failure *failure)
{
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        size_t length = strlen(words[k].word);
        if (strncmp(text, words[k].word, length) != 0)
            continue;
        char *end;
        double amount = strtod(text + length, &end);
        if (end == text + length || *end != '\0' || !(amount >= 0) || (words[k].kind != TASK_WHITE && amount > 1) ||
            !isfinite(amount) || strlen(text) >= sizeof task->name)
            break;
        *task = (struct task){.kind = words[k].kind, .amount = amount};
        snprintf(task->name, sizeof task->name, "%s", text);
        return 0;
    }
    return failed(failure, "%s is no task: give white, drop or mask and an amount, such as white0.2 or mask0.75", text);
}

int tasks_parse(const char *text, struct task *tasks, size_t *count, struct failure *failure)
{
    *count = 0;
    while (*text != '\0') {
        char one[64];
        size_t length = strcspn(text, ",");
        if (*count == TASKS_MOST)
            return failed(failure, "at most %d tasks can be given at once", TASKS_MOST);
        snprintf(one, sizeof one, "%.*s", length < sizeof one ? (int)length : (int)sizeof one - 1, text);
        if (task_parse(one, &tasks[*count], failure) != 0)
            return -1;
        (*count)++;
        text += length + (text[length] == ',');
    }
    return *count > 0 ? 0 : failed(failure, "no task was given");
}

/* ---- random numbers: splitmix64, one stream per image and task */

static uint64_t next_bits(uint64_t *state)
{
    return scrambled(*state += SCRAMBLE_STEP);
}

static double next_uniform(uint64_t *state)
{
    return (double)(next_bits(state) >> 11) * 0x1p-53;
}

static double next_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(1 - next_uniform(state)));
    return radius * cos(6.283185307179586477 * next_uniform(state));
}

static uint64_t stream_of(const struct task *task, size_t image, uint64_t seed)
{
    uint64_t state = seed, amount;
    memcpy(&amount, &task->amount, sizeof amount);
    state = next_bits(&state) ^ (uint64_t)image;
    state = next_bits(&state) ^ (uint64_t)task->kind;
    state = next_bits(&state) ^ amount;
    return next_bits(&state);
}

/* ---- the corruptions */

static const float black = -1;

static void add_noise(const struct task *task, size_t dim, uint64_t state, float *query)
{
    for (size_t j = 0; j < dim; j++)
        query[j] += (float)(2 * task->amount * next_normal(&state)); /* [0, 1] is half as long as [-1, 1] */
}

static void hide_pixel(const struct dataset *d, size_t y, size_t x, float *query, unsigned char *known)
{
    for (size_t c = 0; c < d->channels; c++) {
        size_t at = (c * d->height + y) * d->width + x;
        query[at] = black;
        known[at] = 0;
    }
}

void task_corrupt(const struct task *task, const struct dataset *d, size_t image, uint64_t seed, float *query,
                  unsigned char *known)
{
    uint64_t state = stream_of(task, image, seed);
    size_t masked = (size_t)(task->amount * (double)d->width);
    memcpy(query, d->pixels + image * d->dim, d->dim * sizeof *query);
    if (task->kind == TASK_WHITE) {
        add_noise(task, d->dim, state, query);
        return;
    }
    memset(known, 1, d->dim);
    for (size_t y = 0; y < d->height; y++)
        for (size_t x = 0; x < d->width; x++)
            if (task->kind == TASK_DROP ? next_uniform(&state) < task->amount : x >= d->width - masked)
                hide_pixel(d, y, x, query, known);
}

int task_has_mask(const struct task *task)
{
    return task->kind != TASK_WHITE;
}

double task_error(const struct task *task, size_t dim, const unsigned char *known, const float *truth,
                  const float *answer)
{
    double sum = 0;
    size_t count = 0;
    for (size_t j = 0; j < dim; j++)
        if (!task_has_mask(task) || !known[j]) {
            double e = (double)answer[j] - (double)truth[j];
            sum += e * e;
            count++;
        }
    return count ? sum / (double)count : 0;
}
