/* The figures that are pictures: one-shot recall, recall by length, what a metric makes of little, ancestral samples,
   generalisation to unseen images. Each also leaves numbers, so that they can be told without showing anyone's images.
 */
#ifndef EXPERIMENTS_PICTURES_H
#define EXPERIMENTS_PICTURES_H

#include "job.h"
#include "stream.h"

/* Images that a cell looks at, the ones it writes included. */
size_t pictures_images(const struct cell *cell);

/* Where the picture of a cell is, and whether it is there. */
void pictures_path(const struct job_list *list, const struct cell *cell, char *path, size_t room);
int pictures_there(const struct job_list *list, const struct cell *cell);

/* Computes a cell that is a figure: numbers into the record, the picture into its place. */
int pictures_run(const struct job_list *list, const struct cell *cell, struct stream *stream, struct record *record,
                 struct failure *failure);

#endif
