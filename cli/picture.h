/* A small alphabet for the titles of pictures: letters of 5 x 7 pixels. */
#ifndef BPCN_CLI_PICTURE_H
#define BPCN_CLI_PICTURE_H

#include "console.h"
#include "formats/formats.h"
#include "table_schema.h"

#include <stdbool.h>
#include <stddef.h>

enum { LETTER_WIDTH = 5, LETTER_HEIGHT = 7 };

/* Whether the pixel belongs to the letter (a to z, 0 to 9; anything else is blank). */
bool letter_pixel(char letter, size_t x, size_t y);

/* ---- Rows as one picture: every row's panels (truth, query, answer) side by side, with titles. */

struct panel {
    const char *title;          /* small letters and spaces; NULL for none */
    const float *rows;          /* [n x dim] */
    const unsigned char *known; /* [n x dim], or NULL: what is not known is drawn as a chequerboard */
};

enum { PANELS_MOST = 3 };

/* Draws field `field` of n rows of dim entries and writes the picture. One row of one panel is
   written as it is; more are enlarged and arranged. 0, or an exit status after a message. */
int picture_save(const struct console *console, const char *path, fmt_kind kind, const fmt_column *field, size_t dim,
                 const struct panel *panels, size_t count, size_t n);

#endif
