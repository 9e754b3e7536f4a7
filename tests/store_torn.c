/*
 * torn: every file operation of a session is recorded. Then the power fails after every prefix of
 * them, many times: what was synced is there; of every write since, each sector is there or not,
 * whatever the order; between them lies nothing, noise, or what an older file had there; renames
 * not yet synced have happened or not. Each image must open to a state of the session that has
 * every acknowledged step. Usage: store_torn [images].
 */
#include "store_image.h"
#include "store_seam.h"
#include "store_session.h"

#include "store.h"

#include <fcntl.h>
#include <string.h>

enum { SECTOR = 512, MOST_EVENTS = 4000, MOST_FILES = 256, MOST_STEPS = 60 };

/* One recorded operation that changes something. */
struct entry {
    enum call call;
    int file, other; /* of a write, truncate or sync; a rename's */
    unsigned char *bytes;
    size_t n;
    uint64_t offset;
    uint64_t acknowledged, begun; /* steps, when it was done */
};

static struct entry entries[MOST_EVENTS];
static size_t entry_count;
static uint64_t acknowledged, begun;

/* Descriptors and paths as numbers of files: a file is what one open made. */
static int file_of_fd[1024], file_count;
static int file_at_place = -1, file_at_temporary = -1, folder_fd = -1;
static char place[512], temporary[600];

static int allow(void *user, const struct event *event, size_t *most)
{
    (void)user;
    (void)event;
    (void)most;
    return 0;
}

static struct entry *add(enum call call, int file)
{
    REQUIRE(entry_count < MOST_EVENTS);
    struct entry *entry = &entries[entry_count++];
    *entry = (struct entry){.call = call, .file = file, .acknowledged = acknowledged, .begun = begun};
    return entry;
}

static void record_open(const char *path, int fd)
{
    REQUIRE(fd < 1024);
    if (strcmp(path, temporary) == 0) {
        if (file_at_temporary < 0)
            file_at_temporary = file_count++;
        file_of_fd[fd] = file_at_temporary;
    } else if (strcmp(path, place) == 0) {
        file_of_fd[fd] = file_at_place;
    } else {
        folder_fd = fd;
    }
    REQUIRE(file_count < MOST_FILES);
}

static void record(void *user, const struct event *event, long result)
{
    (void)user;
    if (result < 0)
        return;
    if (event->call == CALL_OPEN) {
        record_open(event->path, (int)result);
    } else if (event->call == CALL_WRITE) {
        struct entry *entry = add(CALL_WRITE, file_of_fd[event->fd]);
        entry->n = (size_t)result;
        entry->offset = event->offset;
        entry->bytes = malloc(entry->n);
        memcpy(entry->bytes, event->bytes, entry->n);
    } else if (event->call == CALL_TRUNCATE) {
        add(CALL_TRUNCATE, file_of_fd[event->fd])->offset = event->offset;
    } else if (event->call == CALL_SYNC) {
        add(CALL_SYNC, event->fd == folder_fd ? -1 : file_of_fd[event->fd]);
    } else if (event->call == CALL_RENAME) {
        add(CALL_RENAME, file_at_temporary);
        file_at_place = file_at_temporary;
        file_at_temporary = -1;
    } else if (event->call == CALL_REMOVE) {
        file_at_temporary = -1;
    } else if (event->call == CALL_CLOSE && event->fd == folder_fd) {
        folder_fd = -1;
    }
}

/* What a crash before the session's next round may have left: two records that were never synced,
   the first of them torn, the second whole. Opening drops both; once a new first record is there,
   the second must not come back. */
static void leave_torn_end(const struct file_ops *ops)
{
    struct file_ops quick = file_without_sync();
    bpcn_open_options how;
    bpcn_memory *memory;
    size_t before, after;
    unsigned char *bytes = read_whole(place, &before);
    bpcn_open_options_default(&how, sizeof how);
    write_whole(scratch("copy"), bytes, before);
    free(bytes);
    how.sync = BPCN_SYNC_MANUAL;
    REQUIRE(memory_open(&quick, scratch("copy"), &how, &memory) == BPCN_OK);
    REQUIRE(write_row(memory, 5001) == BPCN_OK && write_row(memory, 5002) == BPCN_OK);
    bpcn_memory_free(memory);
    bytes = read_whole(scratch("copy"), &after);
    memset(bytes + before + 50, 0, 20);
    struct file file;
    REQUIRE(file_open(&file, ops, place, O_RDWR, 0) == 0);
    REQUIRE(file_write(&file, bytes + before, after - before, before) == 0 && file_sync(&file) == 0);
    file_close(&file);
    free(bytes);
}

/* The session: writes of every kind under each way of syncing, checkpoints, and openings. */
static void run_session(void)
{
    struct seam seam = {.before = allow, .after = record};
    bpcn_options o = session_options();
    bpcn_open_options how;
    bpcn_open_options_default(&how, sizeof how);
    seam_start(&seam);
    how.create = &o;
    how.threads = 1; /* the same bits want the same number of threads */
    how.checkpoint_bytes = 2500;
    for (int round = 0; begun < MOST_STEPS; round++) {
        bpcn_memory *memory;
        how.sync = (bpcn_sync)(round % 3);
        REQUIRE(memory_open(&seam.ops, place, &how, &memory) == BPCN_OK);
        for (int i = 0; i < 7; i++) {
            size_t made;
            uint64_t from = begun;
            begun += MOST_TOGETHER; /* as many as the next call may make */
            REQUIRE(session_call(memory, from, &made) == BPCN_OK);
            begun = from + made;
            if (how.sync != BPCN_SYNC_MANUAL)
                acknowledged = begun;
        }
        if (round % 4 == 1)
            REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
        else if (round % 4 == 0)
            REQUIRE(bpcn_memory_sync(memory) == BPCN_OK);
        REQUIRE(bpcn_memory_close(memory) == BPCN_OK);
        acknowledged = begun;
        if (round % 2 == 0) /* else the next round finds it as it was closed */
            leave_torn_end(&seam.ops);
    }
}

/* ---- images */

static void grow(struct image *image, size_t length, const struct image *old, uint64_t *random)
{
    uint64_t filling = next_random(random) % 3;
    image_grow(image, length);
    for (size_t i = image->length; i < length; i++) /* what the disk had there before */
        image->bytes[i] = filling == 0                      ? 0
                          : filling == 1 && i < old->length ? old->bytes[i]
                                                            : (unsigned char)next_random(random);
    image->length = length > image->length ? length : image->length;
}

/* A write as it may reach the disk: whole, or each sector by itself. */
static void apply_write(struct image *image, const struct entry *entry, int whole, const struct image *old,
                        uint64_t *random)
{
    uint64_t end = entry->offset + entry->n;
    for (uint64_t at = entry->offset; at < end;) {
        uint64_t next = (at / SECTOR + 1) * SECTOR, stop = next < end ? next : end;
        if (whole || next_random(random) % 2 == 0) {
            grow(image, (size_t)stop, old, random);
            memcpy(image->bytes + at, entry->bytes + (at - entry->offset), (size_t)(stop - at));
        } else if (stop <= image->length &&
                   next_random(random) % 2 == 0) { /* neither what was there nor what was to be */
            for (uint64_t i = at; i < stop; i++)
                image->bytes[i] = (unsigned char)next_random(random);
        }
        at = stop;
    }
}

static void apply(struct image *image, const struct entry *entry, int durable, const struct image *old,
                  uint64_t *random)
{
    uint64_t fate = durable ? 0 : next_random(random) % 3; /* whole, torn, dropped */
    if (fate == 2)
        return;
    if (entry->call == CALL_WRITE)
        apply_write(image, entry, fate == 0, old, random);
    else if (entry->call == CALL_TRUNCATE && entry->offset < image->length)
        image->length = (size_t)entry->offset;
}

/* The last sync of the file (-1: the folder) in the first `events` entries: what came before is
   durable. */
static size_t durable_until(int file, size_t events)
{
    for (size_t i = events; i-- > 0;)
        if (entries[i].call == CALL_SYNC && entries[i].file == file)
            return i;
    return 0;
}

/* Which file is at the place after the first `events` entries, if the renames not yet durable
   happened or not; *older is one that was there before. */
static int choose_file(size_t events, int *older, uint64_t *random)
{
    size_t durable = durable_until(-1, events);
    int file = -1;
    *older = -1;
    for (size_t i = 0; i < events; i++)
        if (entries[i].call == CALL_RENAME && (i < durable || next_random(random) % 2 == 0)) {
            *older = file;
            file = entries[i].file;
        }
    return file;
}

/* Changes of the file among entries 0 .. events, in order or, after the last sync, shuffled. */
static void build(int file, size_t events, struct image *image, const struct image *old, uint64_t *random)
{
    size_t durable = durable_until(file, events), pending[MOST_EVENTS], count = 0;
    image->length = 0;
    for (size_t i = 0; i < events; i++) {
        int changes = entries[i].file == file && (entries[i].call == CALL_WRITE || entries[i].call == CALL_TRUNCATE);
        if (changes && i < durable)
            apply(image, &entries[i], 1, old, random);
        else if (changes)
            pending[count++] = i;
    }
    int shuffled = next_random(random) % 2 == 0, everything = next_random(random) % 8 == 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = shuffled ? i + next_random(random) % (count - i) : i, chosen = pending[j];
        pending[j] = pending[i];
        apply(image, &entries[chosen], everything, old, random);
    }
}

/* Steps acknowledged before the operation that did not happen any more. */
static uint64_t acknowledged_by(size_t events)
{
    return events < entry_count ? entries[events].acknowledged : acknowledged;
}

/* Opens the image twice: the second time, recovery has been done. Returns whether it dropped. */
static int check(struct image *image, size_t events)
{
    struct file_ops ops = image_ops(image);
    bpcn_open_options how;
    bpcn_file_info info = {.size = sizeof info}, again = {.size = sizeof again};
    bpcn_memory *memory;
    uint64_t least = acknowledged_by(events), most = events < entry_count ? entries[events].begun : begun;
    bpcn_open_options_default(&how, sizeof how);
    REQUIRE(memory_open(&ops, "image", &how, &memory) == BPCN_OK);
    long steps = session_find(memory, least, most);
    REQUIRE(steps >= 0);
    store_info(memory->store, &memory->contents, &info);
    bpcn_memory_free(memory);
    REQUIRE(memory_open(&ops, "image", &how, &memory) == BPCN_OK);
    REQUIRE(session_sum((uint64_t)steps) == state_sum(memory));
    bpcn_memory_free(memory);
    REQUIRE(memory_load(&ops, "image", &memory, &again) == BPCN_OK && again.sealed);
    bpcn_memory_free(memory);
    return info.dropped_bytes > 0;
}

/* So many images of one session. */
static void fail_power(unsigned long which, unsigned long images)
{
    unsigned long done = 0, dropped = 0, missing = 0;
    struct image image = {0}, old = {0};
    const struct image nothing = {0};
    char name[32];
    uint64_t random = 5;
    session_choose(which);
    snprintf(name, sizeof name, "memory%lu", which);
    snprintf(place, sizeof place, "%s", scratch(name));
    snprintf(temporary, sizeof temporary, "%s.bpcn-new", place);
    entry_count = 0;
    acknowledged = begun = 0;
    file_count = 0;
    file_at_place = file_at_temporary = folder_fd = -1;
    run_session();
    /* Every prefix, and round again until there are enough images. With fewer images than
       prefixes, prefixes are skipped evenly. */
    size_t stride = images > entry_count ? 1 : (entry_count + images - 1) / images;
    while (done < images)
        for (size_t events = done % stride; events <= entry_count && done < images; events += stride) {
            int older, file = choose_file(events, &older, &random);
            if (file < 0) { /* no file yet: then nothing may have been acknowledged */
                REQUIRE(acknowledged_by(events) == 0);
                missing++;
                done++;
                continue;
            }
            if (older >= 0)
                build(older, events, &old, &nothing, &random);
            build(file, events, &image, older >= 0 ? &old : &nothing, &random);
            dropped += (unsigned long)check(&image, events);
            done++;
        }
    printf("store_torn: session %lu, %lu images of %zu operations and %llu steps, all open to a state with every "
           "acknowledged step (%lu had a torn end, %lu no file yet)\n",
           which, done, entry_count, (unsigned long long)begun, dropped, missing);
    free(image.bytes);
    free(old.bytes);
    for (size_t i = 0; i < entry_count; i++)
        free(entries[i].bytes);
}

int main(int argc, char **argv)
{
    unsigned long images = count_argument(argc, argv, 500);
    for (unsigned long which = 0; which < SESSIONS; which++)
        fail_power(which, images / SESSIONS);
    return 0;
}
