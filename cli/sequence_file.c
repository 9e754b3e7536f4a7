/* Sequences in files: see sequence_file.h. */
#include "sequence_file.h"

#include "memory_file.h"
#include "progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A memory of a sequence has a shape that bpcn create makes of no other. */
bool sequence_file_is(const char *path)
{
    bpcn_options o = {.size = sizeof o};
    return bpcn_file_inspect(path, NULL, &o) == BPCN_OK && o.kind == BPCN_NETWORKS && o.layers == 2 && o.hidden[0] == 64 &&
           o.hidden[1] == 64 && o.shard_rows == 60 && o.scale == BPCN_SCALE_AUTO_EACH && o.surprises == 0;
}

int sequence_file_error(const struct sequence_file *file, bpcn_status status)
{
    return memory_file_refuse(file->console, file->path, status);
}

static int list_episodes(struct sequence_file *file)
{
    bpcn_status status = bpcn_sequence_episodes(file->sequence, NULL, 0, &file->episodes);
    free(file->episode);
    file->episode = calloc(file->episodes + 1, sizeof *file->episode);
    if (file->episode == NULL)
        return console_error(file->console, "out of memory");
    if (status == BPCN_OK)
        status = bpcn_sequence_episodes(file->sequence, file->episode, file->episodes, &file->episodes);
    return status == BPCN_OK ? 0 : sequence_file_error(file, status);
}

static int take_fields(struct sequence_file *file)
{
    const bpcn_sequence_options *o = &file->options;
    char shape[80];
    if (o->width > 0)
        snprintf(shape, sizeof shape, o->channels == 3 ? "%zux%zux3" : "%zux%zu", o->width, o->height);
    else
        snprintf(shape, sizeof shape, "%zu", o->dim);
    bool known = o->width == 0 || o->channels == 1 || o->channels == 3;
    if (known && fields_parse_shape(o->width > 0 ? "image" : "row", shape, &file->fields) == 0)
        return 0;
    return console_error(file->console, "%s: frames of %zux%zux%zu are neither grey nor colour pictures", file->path, o->width,
                         o->height, o->channels);
}

int sequence_file_open(const struct console *console, const char *path, bool to_change, struct sequence_file *file)
{
    bpcn_open_options open;
    bpcn_open_options_default(&open, sizeof open);
    open.read_only = !to_change;
    open.sync = to_change ? BPCN_SYNC_CALL : BPCN_SYNC_EACH;
    *file = (struct sequence_file){.console = console, .path = path, .options.size = sizeof file->options};
    bpcn_options shape = {.size = sizeof shape};
    bpcn_status status = bpcn_sequence_open(path, &open, NULL, &file->sequence);
    if (status == BPCN_FORMAT && bpcn_file_inspect(path, NULL, &shape) == BPCN_OK && !sequence_file_is(path))
        return console_error(console, "%s: holds no sequence of frames (bpcn create --sequence makes a memory of one)",
                             path);
    if (status != BPCN_OK)
        return sequence_file_error(file, status);
    bpcn_file_info info = {.size = sizeof info};
    if (bpcn_memory_get_file(bpcn_sequence_memory(file->sequence), &info) == BPCN_OK)
        memory_file_tell_dropped(console, path, info.dropped_bytes, info.dropped_rows);
    status = bpcn_sequence_get_options(file->sequence, &file->options);
    int failed = status == BPCN_OK ? take_fields(file) : sequence_file_error(file, status);
    if (!failed)
        failed = list_episodes(file);
    return failed ? sequence_file_close(file, failed) : 0;
}

int sequence_file_create(const struct console *console, const char *path, const fmt_schema *fields,
                         const bpcn_sequence_options *options, bool force)
{
    bpcn_sequence_options o = *options;
    struct sequence_file file = {.console = console, .path = path};
    const fmt_column *f = &fields->column[0];
    o.dim = fields->dim;
    if (field_is_picture(f)) {
        o.width = f->width;
        o.height = f->height;
        o.channels = f->channels;
    }
    if (access(path, F_OK) == 0 && !force)
        return console_error(console, "%s: exists already (--force replaces it)", path);
    /* in this process first: what cannot be made leaves the old file as it is */
    bpcn_status status = bpcn_sequence_create(&o, &file.sequence);
    if (status == BPCN_OK)
        status = bpcn_memory_save(bpcn_sequence_memory(file.sequence), path);
    int failed = status == BPCN_OK ? 0 : sequence_file_error(&file, status);
    bpcn_sequence_close(file.sequence);
    return failed ? failed : sequence_file_info(console, path);
}

int sequence_file_close(struct sequence_file *file, int status)
{
    bpcn_status closed = bpcn_sequence_close(file->sequence);
    if (closed != BPCN_OK && status == 0)
        status = sequence_file_error(file, closed);
    free(file->episode);
    fmt_schema_free(&file->fields);
    file->sequence = NULL;
    return status;
}

int sequence_file_episode(const struct sequence_file *file, const char *name, size_t *episode)
{
    char *end;
    if (file->episodes == 0)
        return console_error(file->console, "%s: there are no episodes yet", file->path);
    *episode = file->episodes - 1;
    if (name == NULL)
        return 0;
    if (bpcn_sequence_find(file->sequence, name, episode) == BPCN_OK)
        return 0;
    if (name[0] == '#' && name[1] >= '0' && name[1] <= '9') {
        unsigned long long number = strtoull(name + 1, &end, 10);
        *episode = (size_t)number;
        if (*end == '\0' && number < file->episodes)
            return 0;
        return console_error(file->console, "%s: there are episodes #0 to #%zu, not %s", file->path, file->episodes - 1, name);
    }
    return console_error(file->console, "%s: %s (bpcn info lists the episodes)", file->path, bpcn_error());
}

/* ---- info */

static void print_json(const struct sequence_file *f, const bpcn_stats *stats, uint64_t frames)
{
    fputs("{\"memory\":", stdout);
    json_write_string(stdout, f->path);
    printf(",\"sequence\":true,\"dim\":%zu,\"frames\":%" PRIu64 ",\"capacity\":%" PRIu64 ",\"bytes\":%zu,\"episodes\":[",
           f->options.dim, frames, f->options.capacity, stats->bytes);
    for (size_t e = 0; e < f->episodes; e++) {
        fputs(e > 0 ? ",{\"name\":" : "{\"name\":", stdout);
        json_write_string(stdout, f->episode[e].name);
        printf(",\"frames\":%" PRIu64 ",\"dropped\":%" PRIu64 "}", f->episode[e].frames, f->episode[e].dropped);
    }
    puts("]}");
}

int sequence_file_info(const struct console *console, const char *path)
{
    struct sequence_file f;
    int status = sequence_file_open(console, path, false, &f);
    if (status != 0)
        return status;
    char fields[FIELDS_TEXT_MOST];
    bpcn_stats stats = {.size = sizeof stats};
    uint64_t frames = 0;
    bpcn_status got = bpcn_memory_get_stats(bpcn_sequence_memory(f.sequence), &stats);
    if (got != BPCN_OK)
        return sequence_file_close(&f, sequence_file_error(&f, got));
    for (size_t e = 0; e < f.episodes; e++)
        frames += f.episode[e].frames - f.episode[e].dropped;
    if (console->json) {
        print_json(&f, &stats, frames);
        return sequence_file_close(&f, 0);
    }
    fmt_schema_describe(&f.fields, fields, sizeof fields);
    console_print(console, "%s: a sequence of frames, %s; %zu episode%s, %" PRIu64 " frame%s of at most %" PRIu64 "%s; %s in memory, "
                  "%s when full\n",
                  path, fields, f.episodes, f.episodes == 1 ? "" : "s", frames, frames == 1 ? "" : "s", f.options.capacity,
                  f.options.when_full == BPCN_RECYCLE ? ", then the oldest go" : "", console_bytes(stats.bytes),
                  console_bytes(stats.bytes_most));
    for (size_t e = 0; e < f.episodes; e++) {
        console_print(console, "  #%zu %s: %" PRIu64 " frame%s", e, f.episode[e].name[0] != '\0' ? f.episode[e].name : "(no name)",
                      f.episode[e].frames, f.episode[e].frames == 1 ? "" : "s");
        if (f.episode[e].dropped > 0)
            console_print(console, ", the first %" PRIu64 " recycled", f.episode[e].dropped);
        console_print(console, "\n");
    }
    return sequence_file_close(&f, 0);
}

/* ---- forget, delete */

int sequence_file_forget(const struct console *console, const char *path, double beta, size_t times)
{
    struct sequence_file f;
    int status = sequence_file_open(console, path, true, &f);
    if (status != 0)
        return status;
    size_t done = 0;
    for (; done < times && status == 0 && !interrupted(); done++) {
        bpcn_status forgot = bpcn_memory_forget(bpcn_sequence_memory(f.sequence), beta);
        status = forgot == BPCN_OK ? 0 : sequence_file_error(&f, forgot);
    }
    if (status == 0 && done < times)
        status = EXIT_INTERRUPTED;
    if (status == 0 && console->json)
        printf("{\"forgets\":%zu,\"beta\":%.9g}\n", done, beta);
    else if (status == 0)
        console_print(console, "%s: forgot by %g, %zu time%s\n", path, beta, done, done == 1 ? "" : "s");
    return sequence_file_close(&f, status);
}

int sequence_file_delete(const struct console *console, const char *path, char **names, int count)
{
    struct sequence_file f;
    int status = sequence_file_open(console, path, true, &f), refused = 0;
    if (status != 0)
        return status;
    for (int i = 0; i < count && status == 0; i++) {
        size_t episode;
        status = sequence_file_episode(&f, names[i], &episode);
        if (status != 0)
            break;
        uint64_t frames = f.episode[episode].frames;
        bpcn_status deleted = bpcn_sequence_delete(f.sequence, episode, NULL);
        if (deleted == BPCN_NOT_HELD || deleted == BPCN_REFUSED)
            refused = console_error(console, "%s: %s: not deleted: %s", path, names[i], bpcn_error());
        else if (deleted != BPCN_OK)
            status = sequence_file_error(&f, deleted);
        else if (console->json) {
            fputs("{\"deleted\":", stdout);
            json_write_string(stdout, names[i]);
            printf(",\"frames\":%" PRIu64 "}\n", frames);
        } else
            console_print(console, "%s: %s deleted, %" PRIu64 " frame%s\n", path, names[i], frames, frames == 1 ? "" : "s");
        if (status == 0)
            status = list_episodes(&f);
    }
    return sequence_file_close(&f, status != 0 ? status : refused ? EXIT_REFUSED : 0);
}

/* ---- write */

/* The episode's name: as given, or that of the first input. */
static void episode_name(const char *given, const char *input, char name[NAME_ROOM])
{
    char path[4096];
    snprintf(path, sizeof path, "%s", given != NULL ? "" : input);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
        path[end - 1] = '\0';
    if (given != NULL)
        name_of_text(given, strlen(given), name);
    else if (strcmp(input, "-") != 0)
        name_of_path(path, name);
}

static int write_frames(struct sequence_file *f, struct input *input, const char *name, bool go_on, size_t *written)
{
    struct batch batch;
    struct progress progress;
    int status = 0, got = 0;
    progress_begin(&progress, f->console, "writing", "frames");
    while (status == 0 && (got = input_next(input, &batch)) > 0) {
        size_t some = 0;
        if (batch.known != NULL && memchr(batch.known, 0, batch.rows * f->fields.dim) != NULL) {
            status = console_error(f->console, "%s: a frame to write has missing values", batch.name);
        } else {
            bpcn_status appended = bpcn_sequence_append(f->sequence, go_on || name[0] == '\0' ? NULL : name, go_on, batch.x,
                                                        batch.rows, &some);
            status = appended == BPCN_OK ? 0 : sequence_file_error(f, appended);
        }
        *written += some;
        go_on |= some > 0;
        progress_update(&progress, *written, input_expected(input));
        batch_free(&batch);
        if (status == 0 && interrupted())
            status = EXIT_INTERRUPTED;
    }
    progress_clear(&progress);
    return got < 0 ? (interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED) : status;
}

int sequence_file_write(const struct console *console, const char *path, const struct input_options *options,
                        const char *given, bool go_on, char **inputs, int count)
{
    struct sequence_file f;
    char name[NAME_ROOM] = "";
    size_t written = 0, last = 0;
    if (go_on && given != NULL)
        return console_usage(console, "give --name or --continue: an episode that goes on has its name already");
    int status = sequence_file_open(console, path, true, &f);
    if (status != 0)
        return status;
    if (!go_on)
        episode_name(given, inputs[0], name);
    struct input *input = input_open(console, &f.fields, options, inputs, count);
    status = input != NULL ? write_frames(&f, input, name, go_on, &written) : EXIT_FAILED;
    if (written > 0 && list_episodes(&f) == 0 && sequence_file_episode(&f, NULL, &last) == 0) {
        const bpcn_episode *e = &f.episode[last];
        if (console->json) {
            printf("{\"written\":%zu,\"name\":", written);
            json_write_string(stdout, e->name);
            printf(",\"episode\":%zu,\"frames\":%" PRIu64 "}\n", last, e->frames);
        } else if (status == 0)
            console_print(console, "%s: %zu frame%s written to episode #%zu%s%s, which has %" PRIu64 "\n", path, written,
                          written == 1 ? "" : "s", last, e->name[0] != '\0' ? " " : "", e->name, e->frames);
        else
            console_error(console, "%s: %zu frame%s written before that %s in the memory (--continue goes on)", path, written,
                          written == 1 ? "" : "s", written == 1 ? "is" : "are");
    }
    int skipped = input != NULL && status == 0 ? input_tell_skipped(input) : 0;
    input_close(input);
    return sequence_file_close(&f, status != 0 ? status : skipped);
}
