/* The steps of inference (compiled per precision): smooth activations take some, kinked ones others. */
#include "schedule.h"

#include "activation.h"

#define STEPS(array) ((struct steps){sizeof(array) / sizeof *(array), (array)})

/* clang-format off */
static const struct step smooth_read[] = {
    {0.03, 0, {40, 1}, 0}, {0.001, 0, {40, 0.1}, 0}, {0, 0, {400, 0}, 0}};

/* Linear first, where the sensory layer is a ridge regression whose minimum is near the code
   sought; then bent while much variance is left. */
static const struct step kinked_read[] = {
    {0.03, 1, {40, 1}, 0},    {0.03, 0.3, {40, 0.1}, 0}, {0.03, 0, {40, 0.1}, 0},
    {0.001, 0, {400, 0.1}, 0}, {0, 0, {400, 0}, 0}};

static const struct step kinked_flip[] = {{0, 0, {60, 0}, 0}, {0, 0, {400, 0}, 1e-4}};

static const struct step smooth_write[] = {
    {0.3, 0, {10, 1}, 0}, {0.1, 0, {10, 1}, 0}, {0.03, 0, {10, 1}, 0}, {0.01, 0, {10, 1}, 0},
    {0, 0, {500, 0}, 0}};

static const struct step kinked_write[] = {
    {0.3, 1, {10, 1}, 0}, {0.1, 0.5, {10, 1}, 0}, {0.03, 0.2, {10, 1}, 0}, {0, 0.1, {10, 1}, 0},
    {0, 0, {500, 1e-2}, 0}};

/* With the noise of a query known. */
static const struct step noisy[] = {{0, 0, {400, 0}, 0}};
/* clang-format on */

struct steps read_steps(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? STEPS(kinked_read) : STEPS(smooth_read);
}

struct steps flip_steps(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? STEPS(kinked_flip) : (struct steps){0, NULL};
}

struct steps write_steps(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? STEPS(kinked_write) : STEPS(smooth_write);
}

struct steps noisy_steps(void)
{
    return STEPS(noisy);
}

double density_tolerance(const struct model *model)
{
    return 5e-7 * (double)(model->width[0] + model->code_dim);
}

double recall_tolerance(const struct model *model)
{
    return 1e-5 * (double)(model->width[0] + model->code_dim);
}

struct stage stage_of(const struct step *step, double last)
{
    struct stage stage = step->stage;
    if (stage.tolerance == 0)
        stage.tolerance = last;
    return stage;
}

double first_leak(bpcn_activation activation)
{
    return activation_of(activation)->kinked ? 1 : 0;
}
