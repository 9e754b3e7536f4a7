/* Sequences: episodes of frames in a memory, from the layout of a row to append, play and delete. */
#include "sequence.h"

#include "abi.h"
#include "alloc.h"
#include "checks.h"
#include "name_table.h"
#include "random.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct abi abi_sequence = {"bpcn_sequence_options",
                                        offsetof(bpcn_sequence_options, threads) + sizeof(int),
                                        sizeof(bpcn_sequence_options)};

enum {
    SCALE_FRAMES = 256, /* of the first append, that decide centre and scale */
    BATCH = 64          /* frames that are written or recalled in one call of the memory */
};

_Static_assert(sizeof(bpcn_episode) == 96 && sizeof(bpcn_place) == 64, "fixed for ever");

void bpcn_sequence_options_default(bpcn_sequence_options *options, size_t size)
{
    bpcn_sequence_options o = {.size = sizeof o, .capacity = 4096, .when_full = BPCN_REFUSE, .restart = 0.01};
    abi_give(&abi_sequence, &o, options, size);
}

/* ---- a row */

static void code_of(uint64_t position, float *out)
{
    for (size_t w = 0; w < SEQUENCE_CODE / 64; w++) {
        uint64_t bits = random_scramble((2 * position + w + 1) * RANDOM_SCRAMBLE_STEP);
        for (size_t j = 0; j < 64; j++)
            out[64 * w + j] = bits >> j & 1 ? 1 : -1;
    }
}

void sequence_sketch(const bpcn_sequence *s, const float *frame, const unsigned char *known, float *out,
                     unsigned char *out_known)
{
    size_t dim = s->options.dim;
    for (size_t e = 0; e < s->sketch; e++) {
        size_t first = e * dim / s->sketch, end = (e + 1) * dim / s->sketch;
        double sum = 0;
        int all = 1;
        for (size_t j = first; j < end; j++) {
            if (known != NULL && !known[j]) {
                all = 0;
                break;
            }
            double value = ((double)frame[j] - s->options.centre) / s->options.scale;
            sum += random_scramble((j + 1) * RANDOM_SCRAMBLE_STEP) >> 63 ? value : -value;
        }
        out[e] = all ? (float)(sum / sqrt((double)(end - first))) : 0;
        if (out_known != NULL)
            out_known[e] = (unsigned char)all;
    }
}

static void push_recent(bpcn_sequence *s, const float *frame)
{
    memmove(s->recent + s->sketch, s->recent, (SEQUENCE_LAGS - 1) * s->sketch * sizeof *s->recent);
    sequence_sketch(s, frame, NULL, s->recent, NULL);
}

/* ---- positions and episodes */

void sequence_held(const bpcn_sequence *s, uint64_t *first, uint64_t *end)
{
    const struct contents *c = &s->memory->contents;
    uint64_t rows = 0;
    for (size_t k = 0; k < c->count; k++)
        rows += c->rows[k];
    *end = c->writes;
    *first = c->writes - rows;
}

uint64_t sequence_episode_frames(const bpcn_sequence *s, size_t episode)
{
    if (s->open && episode + 1 == s->count)
        return s->memory->contents.writes - s->episode[episode].first;
    return s->episode[episode].frames;
}

size_t sequence_episode_at(const bpcn_sequence *s, uint64_t position)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->episode[middle].first <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || position - s->episode[low - 1].first >= sequence_episode_frames(s, low - 1))
        return s->count;
    return low - 1;
}

/* Of an episode, the first so many frames that are gone. */
static uint64_t dropped_of(const bpcn_sequence *s, size_t episode)
{
    uint64_t first, end, frames = sequence_episode_frames(s, episode), begin = s->episode[episode].first;
    sequence_held(s, &first, &end);
    return first <= begin ? 0 : first - begin < frames ? first - begin : frames;
}

uint64_t sequence_frames(const bpcn_sequence *s)
{
    uint64_t frames = 0;
    for (size_t e = 0; e < s->count; e++)
        frames += sequence_episode_frames(s, e) - dropped_of(s, e);
    return frames;
}

/* Room for one more. */
static bpcn_status reserve_episode(bpcn_sequence *s)
{
    if (s->count < s->room)
        return BPCN_OK;
    size_t room = s->room > 0 ? 2 * s->room : 16;
    struct episode *grown = realloc(s->episode, room * sizeof *grown);
    if (grown == NULL)
        return out_of_memory();
    s->episode = grown;
    s->room = room;
    return BPCN_OK;
}

/* ---- the note: lines of key=value. Of an episode "episode=FIRST FRAMES NAME", FRAMES being - for the open one */

/* Numbers stand in it by the bits of a double, in hexadecimal, because the locale decides how others are written. */
static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double parse_bits(const char *value)
{
    uint64_t bits = strtoull(value, NULL, 16);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bpcn_status store_note(bpcn_sequence *s)
{
    const bpcn_sequence_options *o = &s->options;
    char *text = alloc_zeroed(BPCN_MAX_NOTE + 128, 1);
    if (text == NULL)
        return out_of_memory();
    size_t used = (size_t)snprintf(text, BPCN_MAX_NOTE,
                                   "sequence=1\ndim=%zu\nheight=%zu\nwidth=%zu\nchannels=%zu\nstated=%d\n"
                                   "restart=%" PRIx64 "\ncentre=%" PRIx64 "\nscale=%" PRIx64 "\n",
                                   o->dim, o->height, o->width, o->channels, s->stated, bits_of(o->restart), bits_of(o->centre),
                                   bits_of(o->scale));
    for (size_t e = 0; e < s->count && used <= BPCN_MAX_NOTE; e++) {
        const struct episode *p = &s->episode[e];
        if (s->open && e + 1 == s->count)
            used += (size_t)snprintf(text + used, 128, "episode=%" PRIu64 " - %s\n", p->first, p->name);
        else
            used += (size_t)snprintf(text + used, 128, "episode=%" PRIu64 " %" PRIu64 " %s\n", p->first, p->frames, p->name);
    }
    bpcn_status status;
    if (used > BPCN_MAX_NOTE)
        status = bpcn_fail(BPCN_REFUSED, "the names and places of %zu episodes do not fit into the %d bytes that a file has for "
                           "them", s->count, BPCN_MAX_NOTE);
    else
        status = bpcn_memory_set_note(s->memory, text, used);
    free(text);
    return status;
}

static bpcn_status not_a_sequence(void)
{
    return bpcn_fail(BPCN_FORMAT, "the memory holds no sequence of frames");
}

/* "FIRST FRAMES NAME" */
static int parse_episode(bpcn_sequence *s, const char *value, int *open)
{
    struct episode e = {{0}, 0, 0};
    char *end;
    if (*open || *value < '0' || *value > '9')
        return -1;
    e.first = strtoull(value, &end, 10);
    if (*end++ != ' ')
        return -1;
    if (*end == '-') {
        *open = 1;
        end++;
    } else if (*end >= '0' && *end <= '9') {
        e.frames = strtoull(end, &end, 10);
    }
    uint64_t writes = s->memory->contents.writes;
    uint64_t before = s->count > 0 ? s->episode[s->count - 1].first + s->episode[s->count - 1].frames : 0;
    if (*end++ != ' ' || strlen(end) > BPCN_MAX_NAME || (*end != '\0' && !name_sound(end)) || e.first < before ||
        e.first > writes || e.frames > writes - e.first || (!*open && e.frames == 0))
        return -1;
    strcpy(e.name, end);
    if (reserve_episode(s) != BPCN_OK)
        return -1;
    s->episode[s->count++] = e;
    return 0;
}

static bpcn_status load_note(bpcn_sequence *s)
{
    bpcn_sequence_options *o = &s->options;
    size_t bytes = 0;
    int bad = 0, open = 0, version = 0;
    char *text = alloc_zeroed(BPCN_MAX_NOTE + 1, 1);
    if (text == NULL)
        return out_of_memory();
    bpcn_status status = bpcn_memory_get_note(s->memory, text, BPCN_MAX_NOTE, &bytes);
    if (status == BPCN_OK && (strncmp(text, "sequence=", 9) != 0 || strlen(text) != bytes))
        status = not_a_sequence();
    for (char *line = text, *next; status == BPCN_OK && *line != '\0'; line = next) {
        char *value = strchr(line, '=');
        next = strchr(line, '\n');
        if (next == NULL || value == NULL || value > next) {
            bad = 1;
            break;
        }
        *next++ = '\0';
        *value++ = '\0';
        if (strcmp(line, "sequence") == 0)
            version = atoi(value);
        else if (strcmp(line, "dim") == 0)
            o->dim = strtoull(value, NULL, 10);
        else if (strcmp(line, "height") == 0)
            o->height = strtoull(value, NULL, 10);
        else if (strcmp(line, "width") == 0)
            o->width = strtoull(value, NULL, 10);
        else if (strcmp(line, "channels") == 0)
            o->channels = strtoull(value, NULL, 10);
        else if (strcmp(line, "restart") == 0)
            o->restart = parse_bits(value);
        else if (strcmp(line, "stated") == 0)
            s->stated = atoi(value);
        else if (strcmp(line, "centre") == 0)
            o->centre = parse_bits(value);
        else if (strcmp(line, "scale") == 0)
            o->scale = parse_bits(value);
        else if (strcmp(line, "episode") == 0)
            bad |= parse_episode(s, value, &open) != 0;
    }
    free(text);
    s->open = open;
    if (status == BPCN_OK && version > 1)
        return bpcn_fail(BPCN_NEWER, "its sequence is of version %d, newer than this library", version);
    if (status == BPCN_OK && (bad || version != 1 || o->dim == 0 || !(o->restart > 0 && o->restart < 1) ||
                              !isfinite(o->centre) || !(o->scale >= 0 && o->scale < INFINITY)))
        status = bpcn_fail(BPCN_CORRUPT, "what the file says of its episodes makes no sense");
    return status;
}

/* ---- create, open, close */

static void layout(bpcn_sequence *s)
{
    s->sketch = s->options.dim < SEQUENCE_SKETCH ? s->options.dim : SEQUENCE_SKETCH;
    s->row = SEQUENCE_CODE + s->options.dim + SEQUENCE_LAGS * s->sketch;
}

static bpcn_status check_options(const bpcn_sequence_options *o)
{
    if (o->dim == 0 || o->dim > BPCN_MAX_WIDTH - 1024)
        return bpcn_fail(BPCN_INVALID, "a frame has 1 to %u entries, not %zu", BPCN_MAX_WIDTH - 1024, o->dim);
    if ((o->height > 0 || o->width > 0 || o->channels > 0) &&
        (o->height == 0 || o->width == 0 || o->channels == 0 || o->dim % o->height != 0 ||
         o->dim / o->height % o->width != 0 || o->dim / o->height / o->width != o->channels))
        return bpcn_fail(BPCN_INVALID, "a frame of %zu x %zu x %zu has not %zu entries", o->height, o->width, o->channels,
                         o->dim);
    if (o->capacity == 0 || o->capacity > (uint64_t)BPCN_MAX_SHARDS * SEQUENCE_ROWS)
        return bpcn_fail(BPCN_INVALID, "a sequence holds 1 to %" PRIu64 " frames, not %" PRIu64,
                         (uint64_t)BPCN_MAX_SHARDS * SEQUENCE_ROWS, o->capacity);
    if (o->when_full != BPCN_REFUSE && o->when_full != BPCN_RECYCLE)
        return bpcn_fail(BPCN_INVALID, "a full sequence refuses frames or recycles the oldest; it does not blur them");
    if (!(o->restart > 0 && o->restart < 1))
        return bpcn_fail(BPCN_INVALID, "the probability of a restart, %g, is not between 0 and 1", o->restart);
    if (!(fabs(o->centre) < 1e15) || !(o->scale == 0 || (o->scale >= 1e-15 && o->scale <= 1e15)))
        return bpcn_fail(BPCN_INVALID, "a centre of %g and a scale of %g cannot be those of frames", o->centre, o->scale);
    return BPCN_OK;
}

static bpcn_options memory_options(const bpcn_sequence *s)
{
    const bpcn_sequence_options *o = &s->options;
    bpcn_options m;
    bpcn_options_default(&m, sizeof m);
    m.dim = s->row;
    m.layers = 2;
    m.hidden[0] = m.hidden[1] = SEQUENCE_UNITS;
    m.shard_rows = SEQUENCE_ROWS;
    m.shards = (size_t)((o->capacity + SEQUENCE_ROWS - 1) / SEQUENCE_ROWS);
    if (o->when_full == BPCN_RECYCLE && m.shards < 2)
        m.shards = 2; /* one goes, one stays */
    m.when_full = o->when_full;
    m.seed = o->seed;
    m.threads = o->threads;
    m.scale = BPCN_SCALE_AUTO_EACH;
    m.surprises = 0; /* frames of a film are alike, so a new one is never compared with those before */
    m.deletable = m.shards * SEQUENCE_ROWS < BPCN_MAX_DELETABLE ? m.shards * SEQUENCE_ROWS : BPCN_MAX_DELETABLE;
    return m;
}

static bpcn_status begin(const bpcn_sequence_options *options, bpcn_sequence **sequence)
{
    bpcn_sequence *s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return out_of_memory();
    bpcn_sequence_options_default(&s->options, sizeof s->options);
    bpcn_status status = options != NULL ? abi_take(&abi_sequence, options, &s->options) : BPCN_OK;
    if (status == BPCN_OK && options != NULL)
        status = check_options(&s->options);
    s->stated = s->options.scale > 0;
    if (!s->stated)
        s->options.centre = 0;
    layout(s);
    *sequence = s;
    if (status != BPCN_OK) {
        free(s);
        *sequence = NULL;
    }
    return status;
}

bpcn_status bpcn_sequence_create(const bpcn_sequence_options *options, bpcn_sequence **sequence)
{
    bpcn_status status = check_pointer(sequence, "the pointer for the sequence");
    if (status != BPCN_OK)
        return status;
    *sequence = NULL;
    status = check_pointer(options, "options");
    if (status == BPCN_OK)
        status = begin(options, sequence);
    if (status != BPCN_OK)
        return status;
    bpcn_options m = memory_options(*sequence);
    status = bpcn_memory_create(&m, &(*sequence)->memory);
    if (status == BPCN_OK)
        status = store_note(*sequence);
    if (status != BPCN_OK) {
        bpcn_sequence_close(*sequence);
        *sequence = NULL;
    }
    return status;
}

/* What of the options the memory below has. */
static bpcn_status take_memory(bpcn_sequence *s)
{
    bpcn_options m = {.size = sizeof m};
    bpcn_status status = bpcn_memory_get_options(s->memory, &m);
    layout(s);
    if (status == BPCN_OK && (m.dim != s->row || m.shard_rows != SEQUENCE_ROWS || m.kind != BPCN_NETWORKS))
        return bpcn_fail(BPCN_CORRUPT, "the memory has rows of %zu entries, its frames of %zu entries want %zu", m.dim,
                         s->options.dim, s->row);
    s->options.capacity = (uint64_t)m.shards * SEQUENCE_ROWS;
    s->options.when_full = m.when_full;
    s->options.seed = m.seed;
    s->options.threads = m.threads;
    if (s->open && sequence_episode_frames(s, s->count - 1) == 0) {
        s->count--; /* a crash came before its first frame */
        s->open = 0;
    }
    if (s->memory->contents.writes > 0 && s->options.scale == 0)
        return bpcn_fail(BPCN_CORRUPT, "the file has frames but not their scale");
    return status;
}

bpcn_status bpcn_sequence_open(const char *path, const bpcn_open_options *open, const bpcn_sequence_options *create,
                               bpcn_sequence **sequence)
{
    bpcn_open_options o;
    bpcn_options m;
    bpcn_status status = check_pointer(sequence, "the pointer for the sequence");
    if (status != BPCN_OK)
        return status;
    *sequence = NULL;
    bpcn_open_options_default(&o, sizeof o);
    if (open != NULL)
        status = abi_take(&abi_open_options, open, &o);
    if (status == BPCN_OK && o.create != NULL)
        return bpcn_fail(BPCN_INVALID, "a sequence is made from its own options, not from those of a memory");
    if (status == BPCN_OK)
        status = begin(create, sequence);
    if (status != BPCN_OK)
        return status;
    bpcn_sequence *s = *sequence;
    m = memory_options(s);
    o.create = create != NULL ? &m : NULL;
    status = bpcn_memory_open(path, &o, &s->memory);
    size_t bytes = 0;
    if (status == BPCN_OK)
        status = bpcn_memory_get_note(s->memory, NULL, 0, &bytes);
    if (status == BPCN_OK && bytes == 0) /* just made, or a crash came right after that */
        status = create != NULL && s->memory->contents.writes == 0 && s->memory->contents.options.dim == s->row
                     ? store_note(s) : not_a_sequence();
    else if (status == BPCN_OK)
        status = load_note(s);
    if (status == BPCN_OK)
        status = take_memory(s);
    if (status != BPCN_OK) {
        bpcn_memory_free(s->memory);
        free(s->episode);
        free(s);
        *sequence = NULL;
    }
    return status;
}

bpcn_status bpcn_sequence_close(bpcn_sequence *s)
{
    if (s == NULL)
        return BPCN_OK;
    bpcn_status status = bpcn_memory_close(s->memory);
    free(s->episode);
    free(s);
    return status;
}

static bpcn_status check_sequence(const bpcn_sequence *s)
{
    return check_pointer(s, "the sequence");
}

bpcn_status bpcn_sequence_get_options(const bpcn_sequence *s, bpcn_sequence_options *options)
{
    bpcn_status status = check_sequence(s);
    if (status == BPCN_OK)
        status = check_pointer(options, "options");
    if (status == BPCN_OK)
        status = abi_check(&abi_sequence, options);
    if (status == BPCN_OK)
        abi_give(&abi_sequence, &s->options, options, options->size);
    return status;
}

bpcn_memory *bpcn_sequence_memory(bpcn_sequence *s)
{
    return s != NULL ? s->memory : NULL;
}

bpcn_status bpcn_sequence_episodes(const bpcn_sequence *s, bpcn_episode *episodes, size_t room, size_t *count)
{
    bpcn_status status = check_sequence(s);
    if (status == BPCN_OK)
        status = check_pointer(count, "the pointer for the number of episodes");
    if (status == BPCN_OK && room > 0)
        status = check_pointer(episodes, "the pointer for the episodes");
    if (status != BPCN_OK)
        return status;
    *count = s->count;
    for (size_t e = 0; e < s->count && e < room; e++) {
        episodes[e] = (bpcn_episode){.frames = sequence_episode_frames(s, e),
                                     .dropped = dropped_of(s, e),
                                     .position = s->episode[e].first};
        memcpy(episodes[e].name, s->episode[e].name, sizeof episodes[e].name);
    }
    return BPCN_OK;
}

bpcn_status bpcn_sequence_find(const bpcn_sequence *s, const char *name, size_t *episode)
{
    bpcn_status status = check_sequence(s);
    if (status == BPCN_OK)
        status = check_pointer(name, "the name");
    if (status == BPCN_OK)
        status = check_pointer(episode, "the pointer for the episode");
    if (status != BPCN_OK)
        return status;
    for (size_t e = s->count; e-- > 0;)
        if (strcmp(s->episode[e].name, name) == 0) {
            *episode = e;
            return BPCN_OK;
        }
    return bpcn_fail(BPCN_INVALID, "no episode has the name %.*s", BPCN_MAX_NAME, name);
}

static bpcn_status check_episode(const bpcn_sequence *s, size_t episode)
{
    bpcn_status status = check_sequence(s);
    if (status == BPCN_OK && episode >= s->count)
        return bpcn_fail(BPCN_INVALID, "there is no episode %zu, only %zu", episode, s->count);
    return status;
}

static bpcn_status check_frames(const bpcn_sequence *s, const float *frames, size_t n)
{
    bpcn_status status = check_pointer(frames, "the pointer to the frames");
    for (size_t j = 0; status == BPCN_OK && j < n * s->options.dim; j++)
        if (!islessequal(fabsf(frames[j]), LARGEST))
            return bpcn_fail(BPCN_INVALID, "frame %zu, entry %zu is %s", j / s->options.dim, j % s->options.dim,
                             isnan(frames[j]) ? "NaN" : isinf(frames[j]) ? "infinite" : "too large");
    return status;
}

/* ---- scale */

/* Centre and scale from the first frames; those that vary about 0 by about 1 stay as they are. */
static void measure_scale(bpcn_sequence *s, const float *frames, size_t n)
{
    size_t entries = (n < SCALE_FRAMES ? n : SCALE_FRAMES) * s->options.dim;
    double sum = 0, squares = 0;
    for (size_t j = 0; j < entries; j++)
        sum += (double)frames[j];
    double centre = sum / (double)entries;
    for (size_t j = 0; j < entries; j++)
        squares += ((double)frames[j] - centre) * ((double)frames[j] - centre);
    double scale = sqrt(squares / (double)entries);
    if (scale < 1e-6 * fabs(centre) || scale < 1e-15)
        scale = fabs(centre) > 1e-15 ? fabs(centre) : 1; /* all entries are the same */
    int fits = fabs(centre) <= 2 && scale >= 1.0 / 16 && scale <= 4;
    s->options.centre = fits ? 0 : centre;
    s->options.scale = fits ? 1 : scale;
}

/* The memory divides entries of frames by their scale, and leaves codes and sketches as they are. */
static bpcn_status set_scale(bpcn_sequence *s)
{
    double *pair = alloc_zeroed(2 * s->row, sizeof *pair);
    if (pair == NULL)
        return out_of_memory();
    for (size_t j = 0; j < s->row; j++) {
        int frame = j >= SEQUENCE_CODE && j < SEQUENCE_CODE + s->options.dim;
        pair[j] = frame ? s->options.centre : 0;
        pair[s->row + j] = frame ? s->options.scale : 1;
    }
    bpcn_status status = bpcn_memory_set_scale(s->memory, pair, pair + s->row, s->row);
    free(pair);
    return status;
}

/* ---- append */

enum { GRIDS = 3 };
static const double lowest[GRIDS] = {-1, 0, 0}, span[GRIDS] = {2, 1, 255}; /* of pictures, whose entries have 256 values */

/* The grid that all entries are within a third of a step of, which they are rounded to; GRIDS: none. Whether that was right
   the memory tells, which takes back only what it holds to the last bit. */
static size_t round_to_grid(float *x, size_t entries)
{
    for (size_t g = 0; g < GRIDS; g++) {
        size_t j = 0;
        for (; j < entries; j++) {
            double steps = 255 * ((double)x[j] - lowest[g]) / span[g];
            if (!(fabs(steps - rint(steps)) < 0.35) || rint(steps) < 0 || rint(steps) > 255)
                break;
        }
        if (j < entries)
            continue;
        for (j = 0; j < entries; j++)
            x[j] = (float)(span[g] * rint(255 * ((double)x[j] - lowest[g]) / span[g]) / 255 + lowest[g]);
        return g;
    }
    return GRIDS;
}

/* The sketches of the frames before the next one of the open episode, from what the memory recalls of them: to the last bit
   for frames of 256 values, so that they can be deleted exactly. */
static bpcn_status find_recent(bpcn_sequence *s)
{
    uint64_t first, end, begin_at = s->episode[s->count - 1].first;
    memset(s->recent, 0, sizeof s->recent);
    sequence_held(s, &first, &end);
    begin_at = begin_at > first ? begin_at : first;
    uint64_t from = end - begin_at > SEQUENCE_LAGS ? end - SEQUENCE_LAGS : begin_at, position[SEQUENCE_LAGS];
    size_t n = (size_t)(end - from);
    float *frames = alloc_zeroed(SEQUENCE_LAGS * s->options.dim, sizeof *frames);
    for (size_t i = 0; i < n; i++)
        position[i] = from + i;
    bpcn_status status = frames != NULL ? sequence_recall(s, position, n, frames, NULL) : out_of_memory();
    if (status == BPCN_OK)
        (void)round_to_grid(frames, n * s->options.dim);
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        push_recent(s, frames + i * s->options.dim);
    free(frames);
    return status;
}

static bpcn_status append_frames(bpcn_sequence *s, const float *frames, size_t n, size_t *written)
{
    size_t dim = s->options.dim;
    float *rows = alloc_zeroed(BATCH * s->row, sizeof *rows);
    bpcn_status status = rows != NULL ? BPCN_OK : out_of_memory();
    for (size_t i = 0; status == BPCN_OK && i < n; i += BATCH) {
        size_t batch = n - i < BATCH ? n - i : BATCH;
        for (size_t b = 0; b < batch; b++) {
            float *row = rows + b * s->row;
            code_of(s->memory->contents.writes + b, row);
            memcpy(row + SEQUENCE_CODE, frames + (i + b) * dim, dim * sizeof *row);
            memcpy(row + SEQUENCE_CODE + dim, s->recent, SEQUENCE_LAGS * s->sketch * sizeof *row);
            push_recent(s, frames + (i + b) * dim);
        }
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        status = bpcn_memory_write(s->memory, rows, NULL, batch, &info);
        *written += info.written;
    }
    s->recalled = status == BPCN_OK;
    free(rows);
    return status;
}

/* Episodes of which nothing is held any more need no name. */
static void drop_recycled(bpcn_sequence *s)
{
    size_t gone = 0;
    while (gone < s->count && !(s->open && gone + 1 == s->count) && dropped_of(s, gone) == sequence_episode_frames(s, gone))
        gone++;
    memmove(s->episode, s->episode + gone, (s->count - gone) * sizeof *s->episode);
    s->count -= gone;
}

bpcn_status bpcn_sequence_append(bpcn_sequence *s, const char *name, int go_on, const float *frames, size_t n,
                                 size_t *written)
{
    size_t mine = 0, *out = written != NULL ? written : &mine;
    *out = 0;
    bpcn_status status = check_sequence(s);
    if (status == BPCN_OK && name != NULL && !name_sound(name))
        return bpcn_fail(BPCN_INVALID, "the episode's name is not 1 to %d bytes of UTF-8 without control characters",
                         BPCN_MAX_NAME);
    if (status == BPCN_OK && go_on && name != NULL)
        return bpcn_fail(BPCN_INVALID, "an episode that goes on has its name already");
    if (status == BPCN_OK && go_on && !s->open)
        return bpcn_fail(BPCN_INVALID, "there is no episode that could go on");
    if (status == BPCN_OK && n > 0)
        status = check_frames(s, frames, n);
    if (status != BPCN_OK || n == 0)
        return status;
    uint64_t first, end;
    sequence_held(s, &first, &end);
    if (s->options.when_full == BPCN_REFUSE && n > s->options.capacity - (end - first))
        return bpcn_fail(BPCN_FULL, "the sequence has room for %" PRIu64 " more frames, not for %zu",
                         s->options.capacity - (end - first), n);
    struct bpcn_sequence before = *s;
    if (s->options.scale == 0)
        measure_scale(s, frames, n);
    if (end == 0)
        status = set_scale(s);
    if (status == BPCN_OK && !go_on)
        status = reserve_episode(s);
    if (status == BPCN_OK && !go_on) {
        if (s->count > 0)
            s->episode[s->count - 1].frames = sequence_episode_frames(s, s->count - 1);
        s->open = 0;
        drop_recycled(s);
        struct episode *e = &s->episode[s->count++];
        *e = (struct episode){.first = end};
        if (name != NULL)
            strcpy(e->name, name);
        s->open = 1;
        memset(s->recent, 0, sizeof s->recent);
        status = store_note(s);
        if (status != BPCN_OK) { /* nothing was written: the episode before can go on */
            s->count--;
            s->open = before.open && s->count > 0;
            s->options = before.options;
        }
    } else if (status == BPCN_OK && !s->recalled) {
        status = find_recent(s);
    }
    s->recalled = 0;
    if (status != BPCN_OK && end == 0)
        s->options = before.options; /* centre and scale are of frames that were not written */
    return status == BPCN_OK ? append_frames(s, frames, n, out) : status;
}

/* ---- play */

bpcn_status sequence_recall(const bpcn_sequence *s, const uint64_t *position, size_t n, float *frames, double *variance)
{
    size_t dim = s->options.dim;
    size_t batch = n < BATCH ? n : BATCH;
    float *rows = alloc_zeroed(batch * s->row + 1, sizeof *rows);
    unsigned char *known = alloc_zeroed(batch * s->row + 1, 1);
    bpcn_read_info info[BATCH];
    bpcn_read_options options;
    bpcn_read_options_default(&options, sizeof options);
    options.noise = 0; /* a code is exact: the index names its shard, and no other is read */
    options.shards = 1;
    bpcn_status status = rows != NULL && known != NULL ? BPCN_OK : out_of_memory();
    for (size_t b = 0; status == BPCN_OK && b < batch; b++)
        memset(known + b * s->row, 1, SEQUENCE_CODE);
    for (size_t i = 0; status == BPCN_OK && i < n; i += BATCH) {
        size_t many = n - i < BATCH ? n - i : BATCH;
        for (size_t b = 0; b < many; b++)
            code_of(position[i + b], rows + b * s->row);
        status = bpcn_memory_read(s->memory, rows, known, many, &options, rows, info);
        for (size_t b = 0; status == BPCN_OK && b < many; b++) {
            memcpy(frames + (i + b) * dim, rows + b * s->row + SEQUENCE_CODE, dim * sizeof *rows);
            if (variance != NULL)
                variance[i + b] = info[b].variance;
        }
    }
    free(rows);
    free(known);
    return status;
}

bpcn_status bpcn_sequence_play(const bpcn_sequence *s, size_t episode, uint64_t from, int64_t stride, size_t count,
                               float *out, float *spread)
{
    bpcn_status status = check_episode(s, episode);
    if (status == BPCN_OK && count > 0)
        status = check_pointer(out, "the pointer for the frames");
    if (status != BPCN_OK || count == 0)
        return status;
    uint64_t frames = sequence_episode_frames(s, episode), dropped = dropped_of(s, episode), first = s->episode[episode].first;
    /* the last place, without overflow */
    double last = (double)from + (double)stride * (double)(count - 1);
    if (from >= frames || last < 0 || last >= (double)frames || count > INT32_MAX)
        return bpcn_fail(BPCN_INVALID, "the episode has places 0 to %" PRIu64 ", not %.0f", frames - 1,
                         from >= frames ? (double)from : last);
    if (from < dropped || last < (double)dropped)
        return bpcn_fail(BPCN_NOT_HELD, "the first %" PRIu64 " frames of the episode were recycled", dropped);
    uint64_t *position = alloc_zeroed(count, sizeof *position);
    double *variance = alloc_zeroed(count, sizeof *variance);
    if (position == NULL || variance == NULL)
        status = out_of_memory();
    for (size_t i = 0; status == BPCN_OK && i < count; i++)
        position[i] = first + from + (uint64_t)stride * i;
    if (status == BPCN_OK)
        status = sequence_recall(s, position, count, out, variance);
    for (size_t j = 0; status == BPCN_OK && spread != NULL && j < count * s->options.dim; j++)
        spread[j] = (float)(sqrt(variance[j / s->options.dim]) * s->options.scale);
    free(position);
    free(variance);
    return status;
}

/* ---- delete */

bpcn_status bpcn_sequence_delete(bpcn_sequence *s, size_t episode, const float *frames)
{
    bpcn_status status = check_episode(s, episode);
    if (status != BPCN_OK)
        return status;
    uint64_t count = sequence_episode_frames(s, episode), first = s->episode[episode].first;
    size_t dim = s->options.dim, n = (size_t)count;
    if (dropped_of(s, episode) > 0)
        return bpcn_fail(BPCN_NOT_HELD, "the first %" PRIu64 " frames of the episode were recycled: it cannot be taken back",
                         dropped_of(s, episode));
    if (frames != NULL)
        status = check_frames(s, frames, n);
    float *own = frames == NULL ? alloc_zeroed(n * dim, sizeof *own) : NULL, *rows = alloc_zeroed(n * s->row, sizeof *rows);
    struct episode *kept = alloc_zeroed(s->count, sizeof *kept);
    if (status == BPCN_OK && (rows == NULL || kept == NULL || (frames == NULL && own == NULL)))
        status = out_of_memory();
    if (status == BPCN_OK && frames == NULL) {
        status = bpcn_sequence_play(s, episode, 0, 1, n, own, NULL);
        if (status == BPCN_OK && round_to_grid(own, n * dim) == GRIDS)
            status = bpcn_fail(BPCN_NOT_HELD, "the frames are not those of pictures of 256 values, so that they must be given to be "
                               "taken back");
        frames = own;
    }
    float recent[SEQUENCE_LAGS * SEQUENCE_SKETCH];
    memcpy(recent, s->recent, sizeof recent);
    memset(s->recent, 0, sizeof s->recent);
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        float *row = rows + i * s->row;
        code_of(first + i, row);
        memcpy(row + SEQUENCE_CODE, frames + i * dim, dim * sizeof *row);
        memcpy(row + SEQUENCE_CODE + dim, s->recent, SEQUENCE_LAGS * s->sketch * sizeof *row);
        push_recent(s, frames + i * dim);
    }
    memcpy(s->recent, recent, sizeof recent);
    /* The note first: a crash between the two leaves rows that no episode has, which are never played or found. */
    size_t count_before = s->count;
    int open_before = s->open;
    if (status == BPCN_OK) {
        memcpy(kept, s->episode, s->count * sizeof *kept);
        memmove(s->episode + episode, s->episode + episode + 1, (s->count - episode - 1) * sizeof *s->episode);
        s->open = s->open && episode + 1 < s->count;
        s->count--;
        status = store_note(s);
        if (status == BPCN_OK)
            status = bpcn_memory_delete_rows(s->memory, rows, n);
        if (status != BPCN_OK) {
            char sentence[BPCN_MAX_ERROR + 1];
            bpcn_status failed = status;
            snprintf(sentence, sizeof sentence, "%s", bpcn_error());
            memcpy(s->episode, kept, count_before * sizeof *kept);
            s->count = count_before;
            s->open = open_before;
            (void)store_note(s);
            status = bpcn_fail(failed, "%s", sentence);
        }
    }
    free(own);
    free(rows);
    free(kept);
    return status;
}
