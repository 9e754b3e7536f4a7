/* bpcn info: what a memory file is and how full it is; bpcn list: its names; bpcn sample: new rows. --header reads the
   header alone, which does not include the log's changes since the last checkpoint. */
#include "args.h"
#include "fullness.h"
#include "sequence_file.h"
#include "memory_file.h"
#include "output.h"
#include "recall.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { GROUPS_MOST = 64 }; /* shards drawn one by one; more are grouped */

static void json_shards(const struct memory_head *h)
{
    fputs(",\"shards\":[", stdout);
    for (size_t k = 0; h->rows != NULL && k < h->stats.shards; k++)
        printf("%s%" PRIu64, k ? "," : "", h->rows[k]);
    printf("],\"shards_most\":%zu,\"open_shard\":%zu,\"shard_rows\":%zu,\"when_full\":\"%s\"", h->options.shards,
           h->stats.open_shard, h->options.shard_rows, option_word(OPT_WHEN_FULL, h->options.when_full));
}

static void print_info_json(const char *path, const struct memory_head *h, const char *fields)
{
    const bpcn_options *o = &h->options;
    fputs("{\"file\":", stdout);
    json_write_string(stdout, path);
    printf(",\"dim\":%zu,\"fields\":", o->dim);
    json_write_string(stdout, fields);
    fputs(",\"hidden\":[", stdout);
    for (size_t l = 0; l < o->layers; l++)
        printf("%s%zu", l ? "," : "", o->hidden[l]);
    printf("],\"activation\":\"%s\",\"particles\":%zu,\"sigma_w\":%.9g,\"sigma_x\":%.9g,\"sigma_data\":%.9g,"
           "\"seed\":%" PRIu64 ",\"precision\":\"%s\"",
           bpcn_activation_name(o->activation), o->particles, o->sigma_w, o->sigma_x, o->sigma_data, o->seed,
           o->precision == BPCN_FLOAT64 ? "float64" : "float32");
    printf(",\"writes\":%" PRIu64 ",\"forgets\":%" PRIu64 ",\"deletes\":%" PRIu64 ",\"bytes\":%zu,\"bytes_most\":",
           h->stats.writes, h->stats.forgets, h->stats.deletes, h->stats.bytes);
    if (h->rows != NULL)
        printf("%zu", h->stats.bytes_most);
    else
        fputs("null", stdout);
    printf(",\"file_bytes\":%" PRIu64, h->file_bytes);
    if (h->file_most > 0)
        printf(",\"file_most\":%" PRIu64 ",\"disk_most\":%" PRIu64, h->file_most, h->disk_most);
    printf(",\"scale\":\"%s\",\"scale_pairs\":%zu", option_word(OPT_SCALE, o->scale), h->pairs);
    if (h->pairs == 1)
        printf(",\"data_centre\":%.9g,\"data_scale\":%.9g", h->centre, h->scale);
    json_shards(h);
    if (o->kind == BPCN_TABLE) {
        printf(",\"kind\":\"table\",\"trials\":%" PRIu64 ",\"trial_error\":", h->stats.trials);
        json_write_number(stdout, h->stats.trial_error);
    }
    fputs(",\"fullness\":", stdout);
    json_write_number(stdout, h->note.fullness >= 0 ? h->note.fullness : 0);
    printf(",\"probes\":%zu,\"recalled\":%zu,\"kernels\":", h->note.probes, h->note.recalled);
    json_write_string(stdout, h->stats.kernels ? h->stats.kernels : "");
    if (h->files > 0)
        printf(",\"files\":%zu", h->files);
    puts("}");
}

static void print_network(const struct console *console, const bpcn_options *o)
{
    if (o->kind == BPCN_TABLE) {
        console_print(console, "kind       a table's trees, seed %" PRIu64 "\n", o->seed);
        return;
    }
    console_print(console, "network    ");
    for (size_t l = 0; l < o->layers; l++)
        console_print(console, "%s%zu", l ? ", " : "", o->hidden[l]);
    console_print(console, "%s, %s, %zu particle%s, %s\n", o->layers ? "" : "no hidden layers",
                  bpcn_activation_name(o->activation), o->particles, o->particles == 1 ? "" : "s",
                  o->precision == BPCN_FLOAT64 ? "float64" : "float32");
    console_print(console, "noise      sigma_x %g, sigma_w %g, seed %" PRIu64 "\n", o->sigma_x, o->sigma_w, o->seed);
}

/* ---- how full each shard is */

/* Whether block characters can be seen: on a terminal whose locale is UTF-8. */
static bool has_blocks(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < 3 && (locale == NULL || locale[0] == '\0'); i++)
        locale = getenv(names[i]);
    const char *charset = locale != NULL ? strchr(locale, '.') : NULL;
    return isatty(STDOUT_FILENO) && charset != NULL &&
           (strncasecmp(charset, ".utf-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
}

/* Draws one block for every `each` shards, as high as they are full; shaded if none has begun. */
static void draw_blocks(const struct console *console, const struct memory_head *h, size_t each)
{
    static const char *const blocks[] = {"▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    for (size_t first = 0; first < h->options.shards; first += each) {
        double rows = 0, capacity = 0;
        for (size_t k = first; k < first + each && k < h->options.shards; k++) {
            rows += k < h->stats.shards ? (double)h->rows[k] : 0;
            capacity += (double)h->options.shard_rows;
        }
        console_print(console, "%s",
                      first >= h->stats.shards ? "░" : blocks[rows >= capacity ? 8 : (size_t)(8 * rows / capacity)]);
    }
}

static void draw_numbers(const struct console *console, const struct memory_head *h, size_t each)
{
    for (size_t first = 0; first < h->stats.shards; first += each) {
        uint64_t rows = 0;
        for (size_t k = first; k < first + each && k < h->stats.shards; k++)
            rows += h->rows[k];
        console_print(console, "%s%" PRIu64, first ? " " : "", rows);
    }
}

static void print_trials(const struct console *console, const bpcn_stats *stats)
{
    if (stats->trials > 0)
        console_print(console, "error      %.2f column deviations, on %" PRIu64 " cells hidden from rows to come\n",
                      stats->trial_error, stats->trials);
}

static void print_info_shards(const struct console *console, const struct memory_head *h)
{
    const bpcn_options *o = &h->options;
    size_t each = (o->shards + GROUPS_MOST - 1) / GROUPS_MOST;
    if (o->shards == 1 && o->when_full == BPCN_BLUR)
        return;
    console_print(console, "shards     ");
    if (h->rows != NULL)
        console_print(console, "%zu of ", h->stats.shards);
    console_print(console, "%zu%s, %zu rows each, when full: %s\n", o->shards, h->rows != NULL ? " begun" : "",
                  o->shard_rows, option_word(OPT_WHEN_FULL, o->when_full));
    if (h->rows == NULL)
        return;
    console_print(console, "filled     ");
    (has_blocks() ? draw_blocks : draw_numbers)(console, h, each);
    if (each > 1)
        console_print(console, " (%zu shards each)", each);
    console_print(console, "\nopen       shard %zu, which has %" PRIu64 " of %zu rows\n", h->stats.open_shard,
                  h->rows[h->stats.open_shard], o->shard_rows);
}

static void print_scale(const struct console *console, const struct memory_head *h)
{
    if (h->pairs == 0)
        return;
    console_print(console, "scale      ");
    if (h->pairs == 1)
        console_print(console, "%.3g, about %.3g", h->scale, h->centre);
    else
        console_print(console, "one for each entry");
    console_print(console, "%s; sigma_x is in units of it\n", h->settled ? "" : ", from the first rows so far");
}

static void print_info(const struct console *console, const char *path, const struct memory_head *h, const char *fields)
{
    const struct memory_note *r = &h->note;
    char advice[ADVICE_MOST];
    console_print(console, "memory     %s\nrows       %s (%zu entries)\n", path, fields, h->options.dim);
    print_network(console, &h->options);
    print_scale(console, h);
    print_info_shards(console, h);
    console_print(console, "history    %" PRIu64 " rows written, %" PRIu64 " deleted, forgot %" PRIu64 " times\n",
                  h->stats.writes, h->stats.deletes, h->stats.forgets);
    if (h->files > 0)
        console_print(console, "files      %zu, with shard k in file k mod %zu\n", h->files, h->files);
    console_print(console, "size       %.1f MB in memory, ", (double)h->stats.bytes / 1e6);
    if (h->stats.bytes_most > h->stats.bytes)
        console_print(console, "%.1f MB at most, ", (double)h->stats.bytes_most / 1e6);
    console_print(console, "%s on disk\n", console_bytes(h->file_bytes));
    if (h->file_most > 0)
        console_print(console,
                      "at most    %s on disk with its log; folding the log needs %s (bpcn compact folds it now)\n",
                      console_bytes(h->file_most), console_bytes(h->disk_most));
    if (h->options.kind == BPCN_TABLE)
        print_trials(console, &h->stats);
    else if (r->fullness < 0)
        console_print(console, "fullness   0 %%\n");
    else
        console_print(console, "fullness   %.0f %%%s\n", 100 * r->fullness,
                      r->measured == h->stats.writes ? "" : " when last measured (--measure measures again)");
    if (r->probes > 0)
        console_print(console,
                      "recall     %zu of %zu rows of the last write recalled from three quarters of their entries\n",
                      r->recalled, r->probes);
    console_print(console, "kernels    %s\n", h->stats.kernels ? h->stats.kernels : "not loaded");
    if (fullness_advice(&h->options, r, advice, sizeof advice))
        console_print(console, "advice     %s\n", advice);
}

/* Loads the whole memory to see how full it is now. */
static int measure(const struct console *console, const char *path, struct memory_head *h)
{
    struct memory_file file;
    int status = memory_file_open(console, path, TO_LOOK, &file);
    if (status != 0)
        return status;
    status = measure_fullness(&file, NULL);
    fmt_schema_free(&h->note.fields);
    h->note = file.note;
    file.note.fields = (fmt_schema){0};
    memory_file_close(&file);
    return status;
}

int cmd_info(int argc, char **argv)
{
    struct args a;
    struct memory_head head;
    bool again = false, header_only = false;
    char fields[FIELDS_TEXT_MOST];
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_MEASURE)
            again = true;
        else
            header_only = true;
    if (!args_expect(&a, 1, 1))
        return a.status;
    const char *path = args_rest(&a)[0];
    if (sequence_file_is(path))
        return console_flush(&a.console, sequence_file_info(&a.console, path));
    int status = header_only ? memory_file_header(&a.console, path, &head) : memory_file_head(&a.console, path, &head);
    if (status != 0)
        return status;
    if (again && !header_only)
        status = measure(&a.console, path, &head);
    if (status != 0) {
        memory_head_free(&head);
        return status;
    }
    fmt_schema_describe(&head.note.fields, fields, sizeof fields);
    if (a.console.json)
        print_info_json(path, &head, fields);
    else
        print_info(&a.console, path, &head, fields);
    memory_head_free(&head);
    return console_flush(&a.console, EXIT_DONE);
}

/* ---- bpcn list: the names that a memory keeps. */

static int list(struct memory_file *file)
{
    const struct console *console = file->console;
    bpcn_options options;
    size_t count;
    bpcn_name *names = memory_file_names(file, &count);
    if (names == NULL)
        return console_error(console, "%s: %s", file->path, bpcn_error());
    memory_file_options(file, &options);
    for (size_t i = 0; i < count && !ferror(stdout); i++) {
        if (!console->json) {
            puts(names[i].name);
            continue;
        }
        fputs("{\"name\":", stdout);
        json_write_string(stdout, names[i].name);
        printf(",\"shard\":%" PRIu64 "}\n", names[i].shard);
    }
    free(names);
    if (options.names == 0)
        console_note(console, "%s: keeps no names (see bpcn create --names)", file->path);
    else if (count == 0)
        console_note(console,
                     "%s: no row has a name (pictures have those of their files; of a table, see bpcn write --name)",
                     file->path);
    return 0;
}

int cmd_list(int argc, char **argv)
{
    struct args a;
    struct memory_file file;
    if (!args_only(&a, argc, argv, 1, 1))
        return a.status;
    int status = memory_file_open(&a.console, args_rest(&a)[0], TO_LOOK, &file);
    if (status != 0)
        return status;
    status = list(&file);
    memory_file_close(&file);
    return console_flush(&a.console, status);
}

/* ---- bpcn sample: what the memory imagines. */

static int sample_rows(struct memory_file *file, struct output *out, size_t n, uint64_t draw)
{
    float *x = malloc(n * file->note.fields.dim * sizeof *x);
    if (x == NULL)
        return console_error(file->console, "out of memory");
    bpcn_status drawn = memory_file_sample(file, n, draw, x);
    int status = drawn == BPCN_OK ? 0 : memory_file_error(file, drawn);
    status = status ? status : output_add(out, NULL, NULL, n, x, NULL);
    status = status ? status : output_finish(out);
    free(x);
    return status;
}

int cmd_sample(int argc, char **argv)
{
    struct args a;
    struct memory_file file;
    struct output_options options = {0};
    size_t n = 16;
    uint64_t draw = 0;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_NUMBER)
            n = (size_t)args_whole(&a, optarg, 1, 1000000);
        else if (c == OPT_DRAW_SEED)
            draw = args_whole(&a, optarg, 0, UINT64_MAX);
        else
            output_option(&a, c, &options);
    if (!args_expect(&a, 1, 1))
        return a.status;
    if (options.path == NULL)
        return console_usage(&a.console, "give an output, such as -o samples.png");
    int status = memory_file_open(&a.console, args_rest(&a)[0], TO_LOOK, &file);
    if (status != 0)
        return status;
    struct output *out = output_open(&a.console, &file.note.fields, &options);
    status = out ? sample_rows(&file, out, n, draw) : EXIT_USAGE;
    output_close(out);
    memory_file_close(&file);
    return console_flush(&a.console, status);
}
