/* replay_main.c: runs a fuzz target over files and folders given as arguments,
 * so that a corpus is replayed in ordinary test runs without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        if (file != NULL)
            fclose(file);
        return -1;
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int replay(const char *path, size_t *count);

static int replay_folder(const char *path, size_t *count)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int failed = folder == NULL ? -1 : 0;
    while (failed == 0 && (entry = readdir(folder)) != NULL) {
        char inside[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        failed = replay(inside, count);
    }
    if (folder != NULL)
        closedir(folder);
    return failed;
}

static int replay(const char *path, size_t *count)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return -1;
    }
    if (S_ISDIR(info.st_mode))
        return replay_folder(path, count);
    (*count)++;
    return replay_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
    size_t count = 0;
    for (int i = 1; i < argc; i++)
        if (replay(argv[i], &count) != 0)
            return 1;
    printf("%zu files replayed\n", count);
    return count > 0 ? 0 : 1;
}
