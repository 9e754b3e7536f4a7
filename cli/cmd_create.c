/* bpcn create: a new, empty memory file. */
#include "args.h"
#include "table_schema.h"
#include "memory_file.h"
#include "parts.h"
#include "sequence_file.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The range of widths that --capacity chooses from; the default capacity for pictures; the default number of names. */
enum { WIDTH_LEAST = 16, WIDTH_MOST = 64, PICTURES_USUAL = 1024, NAMES_USUAL = 1024 };
static const uint64_t capacity_most = (uint64_t)1 << 48;
static const double announced_bytes = 1e9;

struct plan {
    bpcn_options options;
    fmt_schema fields;
    struct table_schema like;
    int shapes;        /* how many of --image, --dim and --fields were given */
    uint64_t capacity; /* 0: not given */
    bool hidden, shards;
    bool force;
    size_t files; /* 0: not given */
    bool names;   /* --names was given */
    bool sequence, when_full; /* --sequence and --when-full were given */
    const char *other; /* an option that sequences do not have, or NULL */
    bool networks;  /* an option was given that networks alone have */
    size_t *column; /* of a table: the column of each entry */
};

static void parse_hidden(struct args *a, bpcn_options *o)
{
    const char *at = optarg;
    char word[32];
    o->layers = 0;
    while (a->status < 0) {
        size_t length = strcspn(at, ",");
        if (o->layers == BPCN_MAX_LAYERS || length >= sizeof word) {
            a->status = console_usage(&a->console, "--hidden: '%s' is not a list of at most %d widths", optarg,
                                      BPCN_MAX_LAYERS);
            return;
        }
        memcpy(word, at, length);
        word[length] = '\0';
        o->hidden[o->layers++] = (size_t)args_whole(a, word, 1, BPCN_MAX_WIDTH);
        if (at[length] == '\0')
            return;
        at += length + 1;
    }
}

static void parse_row_shape(struct args *a, int c, struct plan *plan)
{
    fmt_schema_free(&plan->fields);
    int failed = c == OPT_IMAGE ? fields_parse_shape("image", optarg, &plan->fields)
                 : c == OPT_DIM ? fields_parse_shape("row", optarg, &plan->fields)
                                : fmt_schema_parse_fields(optarg, &plan->fields) != BPCN_OK;
    plan->shapes++;
    if (failed)
        a->status = console_usage(&a->console, "--%s: %s", a->option->name, bpcn_error());
}

static void parse_option(struct args *a, int c, struct plan *plan)
{
    bpcn_options *o = &plan->options;
    if (c != OPT_CAPACITY && c != OPT_WHEN_FULL && c != OPT_SEED && c != OPT_FORCE && c != OPT_IMAGE && c != OPT_DIM && c != OPT_SEQUENCE)
        plan->other = a->option->name;
    plan->networks |= a->option->group == GROUP_SHARDS || (a->option->group == GROUP_NETWORK && c != OPT_SEED);
    switch (c) {
    case OPT_HIDDEN:
        plan->hidden = true;
        parse_hidden(a, o);
        break;
    case OPT_ACTIVATION:
        o->activation = (bpcn_activation)args_word(a);
        break;
    case OPT_PARTICLES:
        o->particles = (size_t)args_whole(a, optarg, 1, BPCN_MAX_PARTICLES);
        break;
    case OPT_SIGMA_W:
        o->sigma_w = args_number(a, optarg, 1e-12, 1e12);
        break;
    case OPT_SIGMA_X:
        o->sigma_x = args_number(a, optarg, 1e-12, 1e12);
        break;
    case OPT_SIGMA_DATA:
        o->sigma_data = args_number(a, optarg, 0, 1e12);
        break;
    case OPT_SEED:
        o->seed = args_whole(a, optarg, 0, UINT64_MAX);
        break;
    case OPT_RESAMPLE:
        o->resample = 1;
        break;
    case OPT_PRECISION:
        o->precision = (bpcn_precision)args_word(a);
        break;
    case OPT_CAPACITY:
        plan->capacity = args_whole(a, optarg, 1, capacity_most);
        break;
    case OPT_SHARDS:
        plan->shards = true;
        o->shards = (size_t)args_whole(a, optarg, 1, BPCN_MAX_SHARDS);
        break;
    case OPT_SHARD_ROWS:
        o->shard_rows = (size_t)args_whole(a, optarg, 1, UINT32_MAX);
        break;
    case OPT_SEQUENCE:
        plan->sequence = true;
        break;
    case OPT_WHEN_FULL:
        plan->when_full = true;
        o->when_full = (bpcn_when_full)args_word(a);
        break;
    case OPT_FILES:
        plan->files = (size_t)args_whole(a, optarg, 1, 99999);
        break;
    case OPT_NAMES:
        plan->names = true;
        o->names = (size_t)args_whole(a, optarg, 0, BPCN_MAX_NAMES);
        break;
    case OPT_SCALE:
        o->scale = (bpcn_scale)args_word(a);
        break;
    case OPT_FORCE:
        plan->force = true;
        break;
    default:
        if (!table_schema_option(a, c, &plan->like))
            parse_row_shape(a, c, plan);
    }
}

static void parse_all(struct args *a, int argc, char **argv, struct plan *plan)
{
    args_begin(a, argc, argv);
    for (int c; (c = args_next(a)) >= 0;)
        parse_option(a, c, plan);
}

/* What a row is. */
static const fmt_schema *schema_of(const struct plan *plan)
{
    return plan->like.path != NULL ? &plan->like.found.schema : &plan->fields;
}

static void plan_free(struct plan *plan)
{
    fmt_schema_free(&plan->fields);
    table_schema_free(&plan->like);
    free(plan->column);
}

/* A table's memory is in closed form, unless the command line speaks of networks: then rows are to be told apart, or to
   be on several machines. */
static int plan_table(const struct args *a, struct plan *plan)
{
    int status = table_schema_infer(&a->console, &plan->like);
    if (status != 0 || plan->networks || parts_only_folders())
        return status;
    const fmt_schema *columns = schema_of(plan);
    plan->column = calloc(columns->dim, sizeof *plan->column);
    if (plan->column == NULL)
        return console_error(&a->console, "out of memory");
    fields_columns(columns, plan->column);
    plan->options.kind = BPCN_TABLE;
    plan->options.column = plan->column;
    plan->options.scale = BPCN_SCALE_AS_GIVEN; /* the schema has a scale for each column, in double */
    return 0;
}

/* ---- shards */

/* Narrow shards leave less noise, but need a unit for each row, and a code of a quarter of the entries. */
static size_t good_width(size_t dim)
{
    size_t width = WIDTH_MOST;
    while (width > WIDTH_LEAST && width > dim / 4)
        width /= 2;
    return width;
}

static size_t narrowest(const bpcn_options *o)
{
    size_t width = o->hidden[0];
    for (size_t l = 1; l < o->layers; l++)
        width = o->hidden[l] < width ? o->hidden[l] : width;
    return width;
}

/* Derives the missing options from the given ones: the rows of a shard from its width, or its width from its rows. */
static int plan_shards(const struct console *console, struct plan *plan)
{
    bpcn_options *o = &plan->options;
    if (plan->capacity > 0 && plan->shards)
        return console_usage(console, "give --capacity or --shards, not both: one follows from the other");
    if (o->kind == BPCN_TABLE)
        return 0;
    if (plan->capacity == 0 && !plan->shards && !plan->hidden && fmt_schema_picture(&plan->fields) != NULL)
        plan->capacity = PICTURES_USUAL;
    bool several = plan->capacity > 0 || o->shards > 1;
    for (size_t l = 0; l < o->layers && several && !plan->hidden; l++)
        o->hidden[l] = o->shard_rows > 0 ? o->shard_rows : good_width(o->dim);
    if (o->shard_rows == 0)
        o->shard_rows = narrowest(o);
    if (plan->capacity == 0)
        return 0;
    uint64_t shards = (plan->capacity + o->shard_rows - 1) / o->shard_rows;
    if (shards > BPCN_MAX_SHARDS)
        return console_usage(console, "--capacity: %llu rows need %llu shards of %zu rows, but a memory has at most %u",
                             (unsigned long long)plan->capacity, (unsigned long long)shards, o->shard_rows,
                             BPCN_MAX_SHARDS);
    o->shards = (size_t)shards;
    return 0;
}

/* Warns of options that are valid but probably not intended. */
static void warn(const struct console *console, const bpcn_options *o)
{
    if (o->shards > 1 && o->shard_rows > narrowest(o))
        console_note(console,
                     "a shard takes %zu rows, but its narrowest layer has %zu units: rows will blur before it is full",
                     o->shard_rows, narrowest(o));
    if (o->shards == 1 && o->when_full == BPCN_RECYCLE)
        console_note(console,
                     "with one shard --when-full recycle empties the whole memory after every %zu rows (add --capacity "
                     "or --shards)",
                     o->shard_rows);
}

/* Entries from which on verdicts compare rows (docs/MODEL.md, Familiarity). */
enum { COMPARED = 32 };

static void warn_of_short_rows(const struct console *console, const bpcn_options *o)
{
    if (o->kind == BPCN_NETWORKS && o->layers > 0 && o->dim < COMPARED && o->dim <= o->hidden[0])
        console_note(console,
                     "rows of %zu entries are too short to tell known from new once %zu are written: the verdict is then "
                     "\"cannot tell\"",
                     o->dim, o->dim);
}

static void print_created_shards(const struct console *console, const struct memory_head *h)
{
    static const char *const then[] = {"more rows blur", "then the oldest shard is emptied", "then no more"};
    const bpcn_options *o = &h->options;
    console_print(console, "%zu shards of ", o->shards);
    for (size_t l = 0; l < o->layers; l++)
        console_print(console, "%s%zu", l ? ", " : "", o->hidden[l]);
    console_print(console, ": up to %zu rows, %s; %.1f MB now, %.1f MB when full\n", o->shards * o->shard_rows,
                  then[o->when_full], (double)h->stats.bytes / 1e6, (double)h->stats.bytes_most / 1e6);
}

/* Prints the largest size of the file, and notes if the disk has less. */
static void print_disk(const struct console *console, const char *path, const struct memory_head *h)
{
    struct statvfs disk;
    console_print(console, "file: %s now, at most %s with its log; folding the log needs %s of disk",
                  console_bytes(h->file_bytes), console_bytes(h->file_most), console_bytes(h->disk_most));
    if (h->options.names > 0)
        console_print(console, "; up to %s hold the names of the latest %zu rows", console_bytes(h->stats.name_bytes),
                      h->options.names);
    console_print(console, "\n");
    uint64_t there = statvfs(path, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : UINT64_MAX;
    if (there < h->disk_most - h->file_bytes)
        console_note(console, "%s: the disk has %s free: the log will be folded early%s", path, console_bytes(there),
                     there < h->file_bytes ? ", but not before the disk has space for a second file of this size" : "");
}

static void print_created(const struct args *a, const char *path, const struct table_schema *like)
{
    struct memory_head head;
    char fields[FIELDS_TEXT_MOST];
    if (a->console.quiet || memory_file_head(&a->console, path, &head) != 0)
        return;
    const bpcn_options *o = &head.options;
    fmt_schema_describe(&head.note.fields, fields, sizeof fields);
    if (like->path != NULL && !a->console.json)
        table_schema_print(&a->console, like);
    console_print(&a->console, "%s: empty, %s, ", path, fields);
    if (a->console.json) {
        fputs("{\"created\":", stdout);
        json_write_string(stdout, path);
        printf(",\"dim\":%zu,\"bytes\":%zu,\"bytes_most\":%zu,\"shards\":%zu,\"shard_rows\":%zu", o->dim,
               head.stats.bytes, head.stats.bytes_most, o->shards, o->shard_rows);
        if (o->names > 0)
            printf(",\"names\":%zu,\"name_bytes\":%zu", o->names, head.stats.name_bytes);
        if (head.file_most > 0)
            printf(",\"file_most\":%" PRIu64 ",\"disk_most\":%" PRIu64, head.file_most, head.disk_most);
        if (like->path != NULL)
            table_schema_print(&a->console, like);
        puts("}");
    } else if (o->shards > 1) {
        print_created_shards(&a->console, &head);
    } else if (o->kind == BPCN_TABLE) {
        console_print(&a->console, "a table's trees, %s in memory for any number of rows\n",
                      console_bytes(head.stats.bytes_most));
    } else {
        console_print(&a->console, "%zu hidden layer%s, %s in memory, however much is written\n", o->layers,
                      o->layers == 1 ? "" : "s", console_bytes(head.stats.bytes));
    }
    if (head.file_most > 0)
        print_disk(&a->console, path, &head);
    warn_of_short_rows(&a->console, o);
    memory_head_free(&head);
}

/* Bytes of the first shard's means and covariance factors, which dominate an empty memory. */
static double bytes_of_shard(const bpcn_options *o)
{
    double values = 0;
    for (size_t l = 0; l < o->layers; l++)
        values += (double)o->hidden[l] * (double)(o->hidden[l] + (l ? o->hidden[l - 1] : o->dim));
    return values * (double)o->particles * (o->precision == BPCN_FLOAT64 ? 8 : 4);
}

/* Announces a large memory before it is made, and refuses one beyond the machine's memory without --force. */
static int announce(const struct console *console, const char *path, const bpcn_options *o, bool force)
{
    double bytes = bytes_of_shard(o), there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (bytes > there && !force)
        return console_error(console,
                             "%s: needs %.1f GB of memory and of disk, but this machine has %.1f GB of memory "
                             "(narrower layers need less: --hidden; --force makes it anyway)",
                             path, bytes / 1e9, there / 1e9);
    if (bytes > announced_bytes)
        console_note(console, "%s: needs %.1f GB of memory and of disk; this machine has %.1f GB of memory", path,
                     bytes / 1e9, there / 1e9);
    return 0;
}

/* Makes the memory file: 0, or an exit status after a message. */
static int create(struct args *a, struct plan *plan, const char *path)
{
    struct memory_note note = {.fields = *schema_of(plan), .fullness = 0};
    char text[NOTE_MOST];
    plan->options.dim = note.fields.dim;
    if (!plan->names && (plan->like.path != NULL || fmt_schema_picture(&note.fields) != NULL))
        plan->options.names = NAMES_USUAL;
    if (plan_shards(&a->console, plan) != 0)
        return EXIT_USAGE;
    warn(&a->console, &plan->options);
    if (note_format(&note, text, sizeof text - 128) != 0) /* leaves space for longer counts */
        return console_error(
            &a->console,
            "%s: the names, words and scales of %zu columns take more than %d bytes (--ignore some columns)", path,
            note.fields.count, BPCN_MAX_NOTE);
    int status = plan->options.kind == BPCN_TABLE ? 0 : announce(&a->console, path, &plan->options, plan->force);
    return status ? status
                  : memory_file_create(&a->console, path, &plan->options, &note.fields, plan->force, plan->files);
}

static int create_sequence(struct args *a, const struct plan *plan, const char *path)
{
    bpcn_sequence_options o;
    bpcn_sequence_options_default(&o, sizeof o);
    if (plan->other != NULL)
        return console_usage(&a->console, "--%s does not apply to a sequence", plan->other);
    if (plan->shapes != 1)
        return console_usage(&a->console, "%s: give one of --image 28x28 and --dim 784, what a frame is", path);
    if (plan->capacity > 0)
        o.capacity = plan->capacity;
    if (plan->when_full)
        o.when_full = plan->options.when_full;
    o.seed = plan->options.seed;
    return sequence_file_create(&a->console, path, &plan->fields, &o, plan->force);
}

int cmd_create(int argc, char **argv)
{
    struct args a;
    struct plan plan = {0};
    bpcn_options_default(&plan.options, sizeof plan.options);
    parse_all(&a, argc, argv, &plan);
    int status = 0;
    bool table = plan.like.path != NULL;
    if (!args_expect(&a, 1, 1))
        status = a.status;
    else if (plan.sequence)
        status = create_sequence(&a, &plan, args_rest(&a)[0]);
    else if (plan.shapes + table != 1)
        status = console_usage(&a.console,
                               "%s: give one of --like TABLE.csv, --image 32x32x3, --dim 3072, "
                               "--fields image:28x28,label:10",
                               args_rest(&a)[0]);
    else if (!table && (plan.like.wish_count > 0 || plan.like.missing.count > 0 || plan.like.not_missing.count > 0 ||
                        plan.like.decimal != 0))
        status = console_usage(&a.console, "--column, --ignore, --missing, --not-missing and --decimal need "
                                           "--like TABLE.csv");
    else if (table)
        status = plan_table(&a, &plan);
    if (status == 0 && a.status < 0 && !plan.sequence)
        status = create(&a, &plan, args_rest(&a)[0]);
    if (status == 0 && a.status < 0 && !plan.sequence)
        print_created(&a, args_rest(&a)[0], &plan.like);
    plan_free(&plan);
    return console_flush(&a.console, status);
}
