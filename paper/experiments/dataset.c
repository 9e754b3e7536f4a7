/* Where datasets are, and how they become rows. */
#include "dataset.h"

#include "formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_ROOM = 2048 };

static int is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* The folder given, or $BPCN_DATA_DIR, or the user's data folder by the XDG Base Directory Specification, which wants
   relative paths in $XDG_DATA_HOME ignored. */
static int data_home(const char *given, char *home, size_t room, struct failure *failure)
{
    const char *variable = getenv("BPCN_DATA_DIR"), *data = getenv("XDG_DATA_HOME"), *user = getenv("HOME");
    if (given != NULL || is_set(variable))
        snprintf(home, room, "%s", given != NULL ? given : variable);
    else if (is_set(data) && data[0] == '/')
        snprintf(home, room, "%s/bayespcn", data);
    else if (is_set(user))
        snprintf(home, room, "%s/.local/share/bayespcn", user);
    else
        return failed(failure, "BPCN_DATA_DIR, XDG_DATA_HOME and HOME are not set: give the folder of datasets by one");
    return 0;
}

static int exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

void dataset_free(struct dataset *d)
{
    free(d->pixels);
    d->pixels = NULL;
}

/* Appends a table's rows; the first table sets the shape. */
static int take_table(struct dataset *d, const fmt_table *t, const char *path, struct failure *failure)
{
    if (d->count == 0) {
        d->dim = t->dim;
        d->height = t->height ? t->height : 1;
        d->width = t->width ? t->width : t->dim;
        d->channels = t->channels ? t->channels : 1;
    }
    if (t->dim != d->dim)
        return failed(failure, "%s has %zu values per row where the files before have %zu", path, t->dim, d->dim);
    float *larger = realloc(d->pixels, (d->count + t->rows) * d->dim * sizeof *larger);
    if (larger == NULL)
        return failed(failure, "out of memory for %zu images", d->count + t->rows);
    memcpy(larger + d->count * d->dim, t->data, t->rows * d->dim * sizeof *larger);
    d->pixels = larger;
    d->count += t->rows;
    return 0;
}

static int take_file(struct dataset *d, const char *path, const fmt_options *options, struct failure *failure)
{
    fmt_table table;
    if (fmt_read(path, options, &table) != BPCN_OK)
        return failed(failure, "%s", bpcn_error());
    int status = take_table(d, &table, path, failure);
    fmt_table_free(&table);
    return status;
}

static int load_cifar10(const char *home, size_t count, struct dataset *d, struct failure *failure)
{
    char path[PATH_ROOM];
    fmt_options options = fmt_options_default();
    options.kind = FMT_CIFAR;
    for (int batch = 1; batch <= 5 && (count == 0 || d->count < count); batch++) {
        snprintf(path, sizeof path, "%s/cifar-10-batches-bin/data_batch_%d.bin", home, batch);
        if (batch == 1 && !exists(path))
            return failed(
                failure,
                "%s is missing: run scripts/fetch-data cifar10, or download the binary version of CIFAR-10 "
                "from its home page (https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it in %s, or set "
                "BPCN_DATA_DIR to the folder that has it",
                path, home);
        if (!exists(path))
            break;
        options.max_rows = count ? count - d->count : 0;
        if (take_file(d, path, &options, failure) != 0)
            return -1;
    }
    return 0;
}

static int load_tiny(const char *home, size_t count, struct dataset *d, struct failure *failure)
{
    char path[PATH_ROOM], name[32];
    fmt_options options = fmt_options_default();
    options.height = options.width = 64;
    options.channels = 3;
    options.recolour = true;
    for (size_t i = 0; (count == 0 || i < count) && tiny_order(i, name) == 0; i++) {
        snprintf(path, sizeof path, "%s/tiny-imagenet-200/train/%.9s/images/%s", home, name, name);
        if (!exists(path))
            return failed(failure,
                          "%s is missing: download tiny-imagenet-200.zip (http://cs231n.stanford.edu/"
                          "tiny-imagenet-200.zip) and unpack it in %s, or set BPCN_DATA_DIR to the folder that has it",
                          path, home);
        if (take_file(d, path, &options, failure) != 0)
            return -1;
    }
    return 0;
}

/* A file of MNIST's layout, gzipped or not, in the folder of datasets or where Debian's package has it. */
static int find_idx(const char *home, const char *name, const char *file, char *path, size_t room)
{
    static const char *const ends[] = {".gz", ""};
    const char *const homes[] = {home, "/usr/share/datasets"};
    for (size_t k = 0; k < 4; k++) {
        snprintf(path, room, "%s/%s/%s%s", homes[k / 2], name, file, ends[k % 2]);
        if (exists(path))
            return 0;
    }
    snprintf(path, room, "%s/%s/%s", home, name, file);
    return -1;
}

/* The training images, and those of the test after them when more are wanted. */
static int load_mnist(const char *home, const char *name, size_t count, struct dataset *d, struct failure *failure)
{
    static const char *const files[] = {"train-images-idx3-ubyte", "t10k-images-idx3-ubyte"};
    char path[PATH_ROOM];
    fmt_options options = fmt_options_default();
    options.kind = FMT_IDX;
    for (size_t k = 0; k < 2 && (k == 0 || d->count < count); k++) {
        options.max_rows = count ? count - d->count : 0;
        if (find_idx(home, name, files[k], path, sizeof path) != 0)
            return failed(failure,
                          "%s is missing: put the images of %s there, gzipped or not, or set BPCN_DATA_DIR to the "
                          "folder that has them",
                          path, name);
        if (take_file(d, path, &options, failure) != 0)
            return -1;
    }
    return 0;
}

static int load_path(const char *path, size_t count, struct dataset *d, struct failure *failure)
{
    fmt_options options = fmt_options_default();
    options.max_rows = count;
    options.scale_bytes = true;
    if (!exists(path))
        return failed(failure,
                      "there is no dataset called %s: give cifar10, tiny-imagenet, mnist, fashion-mnist, or the path "
                      "of a folder of PNG or JPEG images, an IDX file or a .npy array",
                      path);
    return take_file(d, path, &options, failure);
}

static int load_named(const char *name, const char *home, size_t count, struct dataset *d, struct failure *failure)
{
    if (strcmp(name, "cifar10") == 0)
        return load_cifar10(home, count, d, failure);
    if (strcmp(name, "tiny-imagenet") == 0)
        return load_tiny(home, count, d, failure);
    return load_mnist(home, name, count, d, failure);
}

int dataset_load(const char *name, const char *data_dir, size_t count, struct dataset *d, struct failure *failure)
{
    static const char *const names[] = {"cifar10", "tiny-imagenet", "mnist", "fashion-mnist"};
    char home[PATH_ROOM / 2];
    int named = 0, status;
    *d = (struct dataset){0};
    snprintf(d->name, sizeof d->name, "%s", name);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        named |= strcmp(name, names[k]) == 0;
    if (!named)
        status = load_path(name, count, d, failure);
    else if ((status = data_home(data_dir, home, sizeof home, failure)) == 0)
        status = load_named(name, home, count, d, failure);
    if (status == 0 && d->count < count)
        status = failed(failure, "%s has %zu images, but %zu are wanted", name, d->count, count);
    if (status != 0)
        dataset_free(d);
    return status;
}
