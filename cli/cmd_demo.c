/*
 * bpcn demo: 64 pictures of clothes, each written once, recalled from noise, from dropped pixels,
 * from half of the picture, and again after the memory has forgotten a little. A table, and a
 * picture that shows the first twelve.
 */
#include "args.h"
#include "bayespcn.h"
#include "formats/formats.h"
#include "memory_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PICTURES = 64, SIDE = 28, DIM = SIDE * SIDE, SHOWN = 12, ZOOM = 2, PATH_MOST = 2048 };
static const char dataset[] = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
static const char labels[] = "/usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz";

struct demo {
    fmt_table pictures;
    bpcn_memory *memory;
    float *query, *answer; /* [PICTURES x DIM] */
    unsigned char *known;  /* [PICTURES x DIM] */
    fmt_grid grid;
    size_t grid_row;
    uint32_t random; /* state of a small generator: the same demo every time */
};

static double uniform(struct demo *d)
{
    d->random ^= d->random << 13;
    d->random ^= d->random >> 17;
    d->random ^= d->random << 5;
    return ((double)d->random + 0.5) / 4294967296.0;
}

static double normal(struct demo *d)
{
    double radius = sqrt(-2 * log(uniform(d)));
    return radius * cos(6.283185307179586 * uniform(d));
}

static int complain(const char *what)
{
    fprintf(stderr, "bpcn demo: %s\n", what);
    return 1;
}

enum damage { NOISE, DROPPED, HALF };

/* Fills query and known from the pictures. */
static void spoil(struct demo *d, enum damage damage)
{
    for (size_t j = 0; j < PICTURES * DIM; j++) {
        float truth = d->pictures.data[j];
        d->known[j] = damage == NOISE || (damage == DROPPED ? uniform(d) >= 0.75 : j % SIDE < SIDE / 2);
        d->query[j] = damage == NOISE ? truth + (float)(0.4 * normal(d)) : d->known[j] ? truth : -1;
    }
}

static double mean_square(const float *a, const float *b)
{
    double sum = 0;
    for (size_t j = 0; j < DIM; j++)
        sum += pow((double)(a[j] - b[j]), 2);
    return sum / DIM;
}

/* Whether the answer looks more like its own picture than like any other that was written. */
static int is_nearest(const struct demo *d, size_t i)
{
    double own = mean_square(d->answer + i * DIM, d->pictures.data + i * DIM);
    for (size_t k = 0; k < PICTURES; k++)
        if (k != i && mean_square(d->answer + i * DIM, d->pictures.data + k * DIM) <= own)
            return 0;
    return 1;
}

static void show_row(struct demo *d, const float *pictures)
{
    float large[ZOOM * ZOOM * DIM];
    for (size_t i = 0; i < SHOWN; i++) {
        for (size_t j = 0; j < ZOOM * ZOOM * DIM; j++)
            large[j] = pictures[i * DIM + j / (ZOOM * SIDE) / ZOOM * SIDE + j % (ZOOM * SIDE) / ZOOM];
        fmt_grid_put(&d->grid, d->grid_row, i, large);
    }
    d->grid_row++;
}

/* Recalls the spoilt pictures and prints a line of the table. */
static int recall(struct demo *d, const char *what, enum damage damage)
{
    double before = 0, after = 0, evaluations = 0;
    size_t right = 0;
    bpcn_read_info info[PICTURES];
    spoil(d, damage);
    if (bpcn_memory_read(d->memory, d->query, damage == NOISE ? NULL : d->known, PICTURES, NULL, d->answer, info))
        return complain(bpcn_error());
    for (size_t i = 0; i < PICTURES; i++) {
        double error = mean_square(d->answer + i * DIM, d->pictures.data + i * DIM);
        before += mean_square(d->query + i * DIM, d->pictures.data + i * DIM) / PICTURES;
        after += error / PICTURES;
        evaluations += (double)info[i].evaluations / PICTURES;
        right += (size_t)is_nearest(d, i);
    }
    printf("  %-34s %8.4f  %9.5f   %4zu of %d  %8.0f\n", what, before, after, right, PICTURES, evaluations);
    show_row(d, d->query);
    show_row(d, d->answer);
    return 0;
}

static int write_all(struct demo *d)
{
    bpcn_options o;
    bpcn_write_info info;
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_options_default(&o, sizeof o);
    bpcn_write_info_default(&info, sizeof info);
    o.dim = DIM;
    if (bpcn_memory_create(&o, &d->memory) || bpcn_memory_write(d->memory, d->pictures.data, NULL, PICTURES, &info) ||
        bpcn_memory_get_stats(d->memory, &stats))
        return complain(bpcn_error());
    printf("Wrote %zu pictures of clothes, each once, into a memory of three hidden layers of 256\n"
           "(%.1f MB, whatever is written; %.0f energy evaluations per write).\n\n",
           info.written, (double)stats.bytes / 1e6, (double)info.evaluations / PICTURES);
    show_row(d, d->pictures.data);
    return 0;
}

static int recall_all(struct demo *d)
{
    printf("  %-34s %8s  %9s  %11s  %s\n", "recalled from", "error of", "error of", "the right", "evaluations");
    printf("  %-34s %8s  %9s  %11s  %s\n", "", "query", "answer", "picture", "per query");
    int failed = recall(d, "noise (standard deviation 0.4)", NOISE) || recall(d, "a quarter of the pixels", DROPPED) ||
                 recall(d, "the left half", HALF);
    for (int i = 0; !failed && i < 20; i++)
        failed = bpcn_memory_forget(d->memory, 0.005) != BPCN_OK;
    return failed || recall(d, "the left half, after forgetting", HALF);
}

static int save_picture(struct demo *d, const char *path)
{
    if (fmt_write_image(path, FMT_ANY, d->grid.data, d->grid.height, d->grid.width, d->grid.channels))
        return complain(bpcn_error());
    printf("\n%s shows twelve of them: what was written, then query and answer for each line above.\n", path);
    return 0;
}

static int load_pictures(struct demo *d, size_t count)
{
    fmt_options options = fmt_options_default();
    options.max_rows = count;
    if (fmt_read(dataset, &options, &d->pictures) != BPCN_OK) {
        fprintf(stderr,
                "bpcn demo: %s\nThe demo shows Fashion-MNIST: install the Debian package "
                "dataset-fashion-mnist.\n",
                bpcn_error());
        return 1;
    }
    if (d->pictures.rows < count || d->pictures.dim != DIM)
        return complain("the dataset does not hold enough pictures of 28x28");
    return 0;
}

static int run(struct demo *d, const char *out)
{
    if (load_pictures(d, PICTURES) != 0)
        return 1;
    d->query = calloc(PICTURES * DIM, sizeof *d->query);
    d->answer = calloc(PICTURES * DIM, sizeof *d->answer);
    d->known = calloc(PICTURES * DIM, 1);
    if (!d->query || !d->answer || !d->known ||
        fmt_grid_create(9, SHOWN, ZOOM * SIDE, ZOOM * SIDE, 1, 2, 0.2f, &d->grid) != BPCN_OK)
        return complain("out of memory");
    return write_all(d) || recall_all(d) || save_picture(d, out);
}

/* ---- --serve */

/* Pictures to play with: the first PICTURES of them are written, the others are never shown to the memory. */
enum { EXAMPLES = 128 };

/* Names such as "ankle boot 3.png", one for each picture. */
static int name_pictures(char (*name)[NAME_ROOM])
{
    static const char *const classes[] = {"T-shirt", "trousers", "pullover", "dress", "coat",
                                          "sandal",  "shirt",    "sneaker",  "bag",   "ankle boot"};
    enum { CLASSES = sizeof classes / sizeof *classes };
    fmt_options options = fmt_options_default();
    fmt_table label = {0};
    size_t count[CLASSES] = {0};
    options.max_rows = EXAMPLES;
    bpcn_status status = fmt_read(labels, &options, &label);
    for (size_t i = 0; status == BPCN_OK && i < EXAMPLES; i++) {
        float number = i < label.rows && label.dim == 1 ? label.data[i] : -1;
        if (!(number >= 0 && number < CLASSES))
            status = bpcn_fail(BPCN_FORMAT, "%s does not hold the classes of the pictures", labels);
        else
            snprintf(name[i], sizeof name[i], "%s %zu.png", classes[(size_t)number], ++count[(size_t)number]);
    }
    fmt_table_free(&label);
    return status == BPCN_OK ? 0 : complain(bpcn_error());
}

/* Makes a memory file with the pictures and more shards than they fill. */
static int make_file(const struct console *console, const struct demo *d, const char *names, const char *path)
{
    bpcn_options o;
    fmt_schema schema = {0};
    struct memory_file file;
    bpcn_write_row became[PICTURES];
    size_t written;
    bpcn_options_default(&o, sizeof o);
    o.dim = DIM;
    o.shards = 16;
    o.names = 1024;
    for (size_t l = 0; l < o.layers; l++)
        o.hidden[l] = 64;
    if (fields_parse_shape("image", "28x28", &schema) != 0)
        return complain(bpcn_error());
    int failed = memory_file_create(console, path, &o, &schema, false, 0);
    fmt_schema_free(&schema);
    if (failed || memory_file_open(console, path, TO_CHANGE, &file) != 0)
        return 1;
    bpcn_status status = memory_file_write(&file, d->pictures.data, NULL, PICTURES, names, became, &written);
    failed = status != BPCN_OK ? memory_file_error(&file, status) : memory_file_commit(&file);
    memory_file_close(&file);
    return failed;
}

/* Serves a temporary folder with the memory and example pictures; removes it when a signal ends the server. */
static int serve_from(const struct console *console, struct demo *d, const char *folder, const char *listen)
{
    char path[PATH_MOST], examples[PATH_MOST], file[PATH_MOST + NAME_ROOM + 2], address[256];
    static char name[EXAMPLES][NAME_ROOM];
    snprintf(path, sizeof path, "%s/demo.mem", folder);
    snprintf(examples, sizeof examples, "%s/examples", folder);
    snprintf(address, sizeof address, "%s", listen);
    if (mkdir(examples, 0700) != 0)
        return complain("cannot make the folder for the examples");
    int failed = load_pictures(d, EXAMPLES) || name_pictures(name);
    for (size_t i = 0; !failed && i < EXAMPLES; i++) {
        snprintf(file, sizeof file, "%s/%.*s", examples, NAME_ROOM, name[i]);
        if (fmt_write_image(file, FMT_ANY, d->pictures.data + i * DIM, SIDE, SIDE, 1) != BPCN_OK)
            failed = complain(bpcn_error());
    }
    char *argv[] = {"serve", path, "--examples", examples, "--listen", address, NULL};
    if (!failed)
        failed = make_file(console, d, name[0], path) || cmd_serve(6, argv);
    for (size_t i = 0; i < EXAMPLES; i++) {
        snprintf(file, sizeof file, "%s/%.*s", examples, NAME_ROOM, name[i]);
        unlink(file);
    }
    rmdir(examples);
    unlink(path);
    return failed;
}

static int serve(const struct console *console, struct demo *d, const char *listen)
{
    const char *place = getenv("TMPDIR") != NULL && *getenv("TMPDIR") != '\0' ? getenv("TMPDIR") : "/tmp";
    char folder[PATH_MOST / 2];
    if (cmd_serve == NULL)
        return complain("this bpcn was built without its server: jansson was missing");
    snprintf(folder, sizeof folder, "%s/bpcn-demo-XXXXXX", place);
    if (mkdtemp(folder) == NULL)
        return complain("cannot make a folder in $TMPDIR (or /tmp, if it is not set)");
    int failed = serve_from(console, d, folder, listen);
    rmdir(folder);
    return failed;
}

int cmd_demo(int argc, char **argv)
{
    struct demo d = {.random = 20221};
    struct args a;
    const char *listen = "127.0.0.1:8765";
    bool served = false;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) != -1; served = true)
        if (c == OPT_LISTEN)
            listen = optarg;
    if (a.status != -1 || !args_expect(&a, 0, served ? 0 : 1))
        return a.status;
    int failed = served ? serve(&a.console, &d, listen) : run(&d, args_count(&a) == 1 ? args_rest(&a)[0] : "demo.png");
    fmt_table_free(&d.pictures);
    fmt_grid_free(&d.grid);
    bpcn_memory_free(d.memory);
    free(d.query);
    free(d.answer);
    free(d.known);
    return failed;
}
