/* Options: their defaults, and one sentence for every way in which they can be wrong. */
#include "options.h"

#include "error.h"
#include "abi.h"
#include "kernels.h"
#include "threads.h"

#include <math.h>
#include <string.h>

void bpcn_options_default(bpcn_options *options, size_t size)
{
    bpcn_options o = {.size = sizeof o,
                      .layers = 3,
                      .activation = BPCN_GELU,
                      .particles = 1,
                      .sigma_w = 1,
                      .sigma_x = 0.01,
                      .minimizer = BPCN_LBFGS,
                      .precision = BPCN_FLOAT32,
                      .adam_rate = 0.01,
                      .adam_stop = 1e-3,
                      .adam_steps = 500,
                      .rounds = 30,
                      .shards = 1,
                      .surprises = 1024,
                      .scale = BPCN_SCALE_AUTO,
                      .deletable = 1024};
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++)
        o.hidden[l] = 256;
    abi_give(&abi_options, &o, options, size);
}

void bpcn_read_options_default(bpcn_read_options *options, size_t size)
{
    bpcn_read_options o = {.size = sizeof o, .noise = -1};
    abi_give(&abi_read_options, &o, options, size);
}

void bpcn_write_info_default(bpcn_write_info *info, size_t size)
{
    bpcn_write_info none = {.size = sizeof none};
    abi_give(&abi_write_info, &none, info, size);
}

void bpcn_open_options_default(bpcn_open_options *options, size_t size)
{
    bpcn_open_options o = {.size = sizeof o};
    abi_give(&abi_open_options, &o, options, size);
}

/* Scales from the centre beyond which an entry is not written. Larger: more is taken for data, and a wrong number spoils
   more of what was written before. */
static const double far_scales = 100, far_as_given = 1e15;

static bpcn_status check_shape(const bpcn_options *o)
{
    if (o->dim < 1 || o->dim > BPCN_MAX_WIDTH)
        return bpcn_fail(BPCN_INVALID, "dim is %zu, but must be 1 to %u", o->dim, BPCN_MAX_WIDTH);
    if (o->layers > BPCN_MAX_LAYERS)
        return bpcn_fail(BPCN_INVALID, "layers is %zu, but at most %d are possible", o->layers, BPCN_MAX_LAYERS);
    for (size_t l = 0; l < o->layers; l++)
        if (o->hidden[l] < 1 || o->hidden[l] > BPCN_MAX_WIDTH)
            return bpcn_fail(BPCN_INVALID, "hidden[%zu] is %zu, but must be 1 to %u", l, o->hidden[l], BPCN_MAX_WIDTH);
    if (o->particles < 1 || o->particles > BPCN_MAX_PARTICLES)
        return bpcn_fail(BPCN_INVALID, "particles is %zu, but must be 1 to %u", o->particles, BPCN_MAX_PARTICLES);
    return BPCN_OK;
}

/* Below 1e-18 a variance is subnormal in float32, above 1e18 its square overflows. */
static bpcn_status check_sigma(const char *name, double sigma)
{
    if (!(sigma >= 1e-18 && sigma <= 1e18))
        return bpcn_fail(BPCN_INVALID, "%s is %g, but must be a number from 1e-18 to 1e18", name, sigma);
    return BPCN_OK;
}

static bpcn_status check_choices(const bpcn_options *o)
{
    if (bpcn_activation_name(o->activation) == NULL)
        return bpcn_fail(BPCN_INVALID, "activation %d does not exist", (int)o->activation);
    if ((unsigned)o->minimizer > BPCN_ADAM)
        return bpcn_fail(BPCN_INVALID, "minimizer %d does not exist", (int)o->minimizer);
    if ((unsigned)o->precision > BPCN_FLOAT64)
        return bpcn_fail(BPCN_INVALID, "precision %d does not exist", (int)o->precision);
    if (o->resample != 0 && o->resample != 1)
        return bpcn_fail(BPCN_INVALID, "resample is %d, but must be 0 or 1", o->resample);
    if (!(o->adam_rate > 0 && o->adam_rate < INFINITY))
        return bpcn_fail(BPCN_INVALID, "adam_rate is %g, but must be above 0", o->adam_rate);
    if (!(o->adam_stop >= 0 && o->adam_stop < INFINITY))
        return bpcn_fail(BPCN_INVALID, "adam_stop is %g, but must be 0 or more", o->adam_stop);
    if (o->adam_steps < 1 || o->rounds < 1)
        return bpcn_fail(BPCN_INVALID, "adam_steps and rounds must be at least 1");
    if (o->adam_steps > 1000000000 || o->rounds > 1000000000)
        return bpcn_fail(BPCN_INVALID, "adam_steps and rounds must be at most 1000000000");
    if (o->threads < 0 || o->threads > 1024)
        return bpcn_fail(BPCN_INVALID, "threads is %d, but must be 0 to 1024", o->threads);
    if (o->shards < 1 || o->shards > BPCN_MAX_SHARDS)
        return bpcn_fail(BPCN_INVALID, "shards is %zu, but must be 1 to %u", o->shards, BPCN_MAX_SHARDS);
    if (o->shard_rows > UINT32_MAX)
        return bpcn_fail(BPCN_INVALID, "shard_rows is %zu, but must be at most 4294967295", o->shard_rows);
    if (o->first_shard > UINT32_MAX || o->shard_step > UINT32_MAX ||
        (o->shards - 1) * (uint64_t)o->shard_step > UINT32_MAX - o->first_shard)
        return bpcn_fail(BPCN_INVALID,
                    "first_shard is %zu and shard_step %zu, but no shard's number may be above 4294967295",
                    o->first_shard, o->shard_step);
    if (o->surprises > BPCN_MAX_SURPRISES)
        return bpcn_fail(BPCN_INVALID, "surprises is %zu, but must be at most %d", o->surprises, BPCN_MAX_SURPRISES);
    if (o->names > BPCN_MAX_NAMES)
        return bpcn_fail(BPCN_INVALID, "names is %zu, but must be at most %d", o->names, BPCN_MAX_NAMES);
    if (o->deletable > BPCN_MAX_DELETABLE)
        return bpcn_fail(BPCN_INVALID, "deletable is %zu, but must be at most %d", o->deletable, BPCN_MAX_DELETABLE);
    if ((unsigned)o->scale > BPCN_SCALE_AS_GIVEN)
        return bpcn_fail(BPCN_INVALID, "scale %d does not exist", (int)o->scale);
    if (o->clip != 0 && o->clip != 1)
        return bpcn_fail(BPCN_INVALID, "clip is %d, but must be 0 or 1", o->clip);
    if (!(o->far >= 0 && o->far <= 1e15))
        return bpcn_fail(BPCN_INVALID, "far is %g, but must be a number from 0 to 1e15", o->far);
    if ((unsigned)o->when_full > BPCN_REFUSE)
        return bpcn_fail(BPCN_INVALID, "when_full %d does not exist", (int)o->when_full);
    return BPCN_OK;
}

/* A table has its own shape, whatever the defaults for networks say. */
static bpcn_status check_table(bpcn_options *o)
{
    if ((unsigned)o->kind > BPCN_TABLE)
        return bpcn_fail(BPCN_INVALID, "kind %d does not exist", (int)o->kind);
    if (o->kind != BPCN_TABLE)
        return BPCN_OK;
    if (o->dim > BPCN_MAX_COLUMNS)
        return bpcn_fail(BPCN_INVALID, "dim is %zu, but a table has at most %d columns", o->dim, BPCN_MAX_COLUMNS);
    if (o->shards != 1 || o->particles != 1 || o->first_shard != 0 || o->shard_step > 1 ||
        o->when_full != BPCN_BLUR)
        return bpcn_fail(BPCN_INVALID, "a table's memory has no shards and no particles, and is never full");
    if (o->scale == BPCN_SCALE_AUTO)
        o->scale = BPCN_SCALE_AUTO_EACH;
    o->layers = 0;
    o->precision = BPCN_FLOAT64;
    o->minimizer = BPCN_LBFGS;
    return BPCN_OK;
}

bpcn_status environment_check(void)
{
    bpcn_status status = kernels_check();
    return status == BPCN_OK ? threads_check() : status;
}

bpcn_status options_check(const bpcn_options *given, bpcn_options *o)
{
    if (given == NULL)
        return bpcn_fail(BPCN_INVALID, "options is NULL");
    bpcn_options_default(o, sizeof *o);
    bpcn_status status = abi_take(&abi_options, given, o);
    if (status != BPCN_OK)
        return status;
    status = check_table(o);
    if (status != BPCN_OK)
        return status;
    if (o->sigma_data == 0)
        o->sigma_data = o->sigma_x;
    if (o->shard_rows == 0)
        o->shard_rows = o->layers > 0 && o->layers <= BPCN_MAX_LAYERS ? o->hidden[0] : o->dim;
    if (o->shard_step == 0)
        o->shard_step = 1;
    if (o->resample)
        o->deletable = 0;
    if (o->far == 0)
        o->far = o->scale == BPCN_SCALE_AS_GIVEN ? far_as_given : far_scales;
    status = environment_check();
    if (status == BPCN_OK)
        status = check_shape(o);
    if (status == BPCN_OK)
        status = check_sigma("sigma_w", o->sigma_w);
    if (status == BPCN_OK)
        status = check_sigma("sigma_x", o->sigma_x);
    if (status == BPCN_OK)
        status = check_sigma("sigma_data", o->sigma_data);
    if (status == BPCN_OK)
        status = check_choices(o);
    return status;
}

bpcn_status read_options_check(bpcn_minimizer minimizer, const bpcn_read_options *given, bpcn_read_options *o)
{
    bpcn_read_options_default(o, sizeof *o);
    if (given == NULL)
        return BPCN_OK;
    bpcn_status status = abi_take(&abi_read_options, given, o);
    if (status != BPCN_OK)
        return status;
    if ((unsigned)o->objective > BPCN_OBJECTIVE_RECALL)
        return bpcn_fail(BPCN_INVALID, "objective %d does not exist", (int)o->objective);
    if ((o->objective == BPCN_OBJECTIVE_MARGINAL || o->objective == BPCN_OBJECTIVE_RECALL) && minimizer == BPCN_ADAM)
        return bpcn_fail(BPCN_INVALID, "the marginal objective wants the L-BFGS minimiser, this memory uses Adam");
    if (!(o->noise < 1e18))
        return bpcn_fail(BPCN_INVALID, "noise is %g, but must be a number below 1e18", o->noise);
    return BPCN_OK;
}
