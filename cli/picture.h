/* Rows as one picture: every row's panels (truth, query, answer) side by side, with titles. */
#ifndef BPCN_CLI_PICTURE_H
#define BPCN_CLI_PICTURE_H

#include "fields.h"
#include "formats/formats.h"
#include "say.h"

struct panel {
    const char *title;          /* small letters and spaces; NULL for none */
    const float *rows;          /* [n x dim] */
    const unsigned char *known; /* [n x dim], or NULL: what is not known is drawn as a chequerboard */
};

enum { PANELS_MOST = 3 };

/* Draws field `field` of n rows of dim entries and writes the picture. One row of one panel is
   written as it is; more are enlarged and arranged. 0, or an exit status after a message. */
int picture_save(const struct say *say, const char *path, fmt_kind kind, const fmt_column *field, size_t dim,
                 const struct panel *panels, size_t count, size_t n);

#endif
