/*
 * The images that experiments store: CIFAR-10 and Tiny ImageNet in their official layouts and the
 * paper's order, MNIST-style IDX files, folders of pictures, .npy arrays. On the scale [-1, 1].
 */
#ifndef EXPERIMENTS_DATASET_H
#define EXPERIMENTS_DATASET_H

#include "failure.h"

#include <stddef.h>

struct dataset {
    char name[64];
    size_t count, dim;
    size_t height, width, channels; /* rows that are no pictures: 1 x dim x 1 */
    float *pixels;                  /* [count x dim]; a row is channel planes, each row by row */
};

/* Loads the first `count` rows (0: all there are) of cifar10, tiny-imagenet, mnist, fashion-mnist,
   or of a file or folder given by its path. Datasets with a name are looked for under data_dir, or
   when that is NULL under $BPCN_DATA_DIR, or else under $XDG_DATA_HOME/bayespcn, or else under
   $HOME/.local/share/bayespcn; fashion-mnist also where Debian's package has it. The test images of the MNIST kind
   follow the training images when `count` asks for more. */
int dataset_load(const char *name, const char *data_dir, size_t count, struct dataset *dataset,
                 struct failure *failure);
void dataset_free(struct dataset *dataset);

/* The image of Tiny ImageNet that the paper's experiments see at position `at`, such as
   "n02190166_336.JPEG", into name [32]; -1 beyond the list. */
int tiny_order(size_t at, char *name);

#endif
