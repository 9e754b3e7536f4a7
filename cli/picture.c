/* Pictures of many rows: layout, enlargement, titles. */
#include "picture.h"

#include <math.h>
#include <stdlib.h>

/* ---- The shapes of letters and digits; a row of a letter is five bits, the leftmost the highest. */

static const unsigned char shapes[36][LETTER_HEIGHT] = {
    {0, 0, 14, 1, 15, 17, 15},    /* a */
    {16, 16, 30, 17, 17, 17, 30}, /* b */
    {0, 0, 14, 16, 16, 17, 14},   /* c */
    {1, 1, 15, 17, 17, 17, 15},   /* d */
    {0, 0, 14, 17, 31, 16, 14},   /* e */
    {6, 8, 30, 8, 8, 8, 8},       /* f */
    {0, 15, 17, 17, 15, 1, 14},   /* g */
    {16, 16, 22, 25, 17, 17, 17}, /* h */
    {4, 0, 12, 4, 4, 4, 14},      /* i */
    {2, 0, 6, 2, 2, 18, 12},      /* j */
    {16, 16, 18, 20, 24, 20, 18}, /* k */
    {12, 4, 4, 4, 4, 4, 14},      /* l */
    {0, 0, 26, 21, 21, 21, 21},   /* m */
    {0, 0, 22, 25, 17, 17, 17},   /* n */
    {0, 0, 14, 17, 17, 17, 14},   /* o */
    {0, 0, 30, 17, 30, 16, 16},   /* p */
    {0, 0, 15, 17, 15, 1, 1},     /* q */
    {0, 0, 22, 25, 16, 16, 16},   /* r */
    {0, 0, 15, 16, 14, 1, 30},    /* s */
    {8, 8, 30, 8, 8, 9, 6},       /* t */
    {0, 0, 17, 17, 17, 19, 13},   /* u */
    {0, 0, 17, 17, 17, 10, 4},    /* v */
    {0, 0, 17, 17, 21, 21, 10},   /* w */
    {0, 0, 17, 10, 4, 10, 17},    /* x */
    {0, 0, 17, 17, 15, 1, 14},    /* y */
    {0, 0, 31, 2, 4, 8, 31},      /* z */
    {14, 17, 19, 21, 25, 17, 14}, /* 0 */
    {4, 12, 4, 4, 4, 4, 14},      /* 1 */
    {14, 17, 1, 6, 8, 16, 31},    /* 2 */
    {30, 1, 1, 14, 1, 1, 30},     /* 3 */
    {2, 6, 10, 18, 31, 2, 2},     /* 4 */
    {31, 16, 30, 1, 1, 17, 14},   /* 5 */
    {14, 16, 16, 30, 17, 17, 14}, /* 6 */
    {31, 1, 2, 4, 8, 8, 8},       /* 7 */
    {14, 17, 17, 14, 17, 17, 14}, /* 8 */
    {14, 17, 17, 15, 1, 1, 14},   /* 9 */
};

bool letter_pixel(char letter, size_t x, size_t y)
{
    size_t index = letter >= 'a' && letter <= 'z'   ? (size_t)(letter - 'a')
                   : letter >= '0' && letter <= '9' ? 26 + (size_t)(letter - '0')
                                                    : 36;
    return index < 36 && x < LETTER_WIDTH && y < LETTER_HEIGHT && (shapes[index][y] >> (LETTER_WIDTH - 1 - x) & 1);
}

enum { MARGIN = 4, GROUP_GAP = 16, CELL_AIM = 72, TITLE_SCALE = 2, ROWS_MOST = 400 };

static const float paper = 0.85f; /* grey level of the background and of refused answers */

struct canvas {
    size_t width, height, channels;
    float *data; /* [channels x height x width] */
};

struct layout {
    size_t scale;          /* pixels of the canvas per pixel of a row */
    size_t cell_w, cell_h; /* of a panel, enlarged */
    size_t group_w;        /* panels of one row, side by side */
    size_t columns, lines; /* groups */
    size_t title_h;        /* 0 without titles */
};

static void put(struct canvas *c, size_t x, size_t y, size_t channel, float value)
{
    c->data[(channel * c->height + y) * c->width + x] = value;
}

/* Draws a dark chequerboard for unknown pixels. */
static float hidden_tone(size_t x, size_t y)
{
    return (x / 4 + y / 4) % 2 ? -0.55f : -0.25f;
}

static void draw_panel(struct canvas *c, const struct layout *l, const fmt_column *f, const float *row,
                       const unsigned char *known, size_t left, size_t top)
{
    size_t plane = f->width * f->height;
    for (size_t y = 0; y < l->cell_h; y++)
        for (size_t x = 0; x < l->cell_w; x++) {
            size_t pixel = y / l->scale * f->width + x / l->scale;
            for (size_t channel = 0; channel < c->channels; channel++) {
                size_t entry = f->offset + (f->channels == 1 ? 0 : channel) * plane + pixel;
                float value = known != NULL && !known[entry] ? hidden_tone(x, y) : row[entry];
                put(c, left + x, top + y, channel, isnan(value) ? paper : value);
            }
        }
}

static void draw_text(struct canvas *c, const char *text, size_t left, size_t top)
{
    for (; *text != '\0'; text++, left += (LETTER_WIDTH + 1) * TITLE_SCALE)
        for (size_t y = 0; y < LETTER_HEIGHT * TITLE_SCALE; y++)
            for (size_t x = 0; x < LETTER_WIDTH * TITLE_SCALE; x++)
                if (letter_pixel(*text, x / TITLE_SCALE, y / TITLE_SCALE) && left + x < c->width && top + y < c->height)
                    for (size_t channel = 0; channel < c->channels; channel++)
                        put(c, left + x, top + y, channel, -0.8f);
}

static struct layout arrange(const fmt_column *f, const struct panel *panels, size_t count, size_t n)
{
    size_t longest = f->width > f->height ? f->width : f->height;
    struct layout l = {.scale = longest < CELL_AIM ? (CELL_AIM + longest - 1) / longest : 1};
    l.cell_w = f->width * l.scale;
    l.cell_h = f->height * l.scale;
    l.title_h = panels[0].title ? LETTER_HEIGHT * TITLE_SCALE + 2 * MARGIN : 0;
    l.group_w = count * (l.cell_w + MARGIN) + (count > 1 ? GROUP_GAP : 0);
    for (l.columns = 1; l.columns < n; l.columns++) {
        size_t lines = (n + l.columns - 1) / l.columns;
        if (2 * l.columns * l.group_w >= 3 * lines * (l.cell_h + MARGIN))
            break;
    }
    l.lines = (n + l.columns - 1) / l.columns;
    return l;
}

static void draw_all(struct canvas *c, const struct layout *l, const fmt_column *f, size_t dim,
                     const struct panel *panels, size_t count, size_t n)
{
    for (size_t j = 0; j < c->width * c->height * c->channels; j++)
        c->data[j] = paper;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < count; p++) {
            size_t left = MARGIN + i / l->lines * l->group_w + p * (l->cell_w + MARGIN);
            size_t top = MARGIN + l->title_h + i % l->lines * (l->cell_h + MARGIN);
            const unsigned char *known = panels[p].known ? panels[p].known + i * dim : NULL;
            draw_panel(c, l, f, panels[p].rows + i * dim, known, left, top);
            if (i % l->lines == 0 && l->title_h > 0)
                draw_text(c, panels[p].title, left, MARGIN);
        }
}

static int save(const struct console *console, const char *path, fmt_kind kind, const float *data, size_t height,
                size_t width, size_t channels)
{
    if (fmt_write_image(path, kind, data, height, width, channels) != BPCN_OK)
        return console_error(console, "%s", bpcn_error());
    return 0;
}

int picture_save(const struct console *console, const char *path, fmt_kind kind, const fmt_column *f, size_t dim,
                 const struct panel *panels, size_t count, size_t n)
{
    if (n == 1 && count == 1)
        return save(console, path, kind, panels[0].rows + f->offset, f->height, f->width, f->channels);
    if (n > ROWS_MOST)
        console_note(console, "%s: shows the first %d of %zu rows", path, ROWS_MOST, n);
    n = n > ROWS_MOST ? ROWS_MOST : n;
    struct layout l = arrange(f, panels, count, n);
    struct canvas c = {.channels = f->channels};
    c.width = l.columns * l.group_w + MARGIN - (count > 1 ? GROUP_GAP : 0);
    c.height = l.title_h + l.lines * (l.cell_h + MARGIN) + MARGIN;
    c.data = malloc(c.width * c.height * c.channels * sizeof *c.data);
    if (c.data == NULL)
        return console_error(console, "%s: out of memory", path);
    draw_all(&c, &l, f, dim, panels, count, n);
    int failed = save(console, path, kind, c.data, c.height, c.width, c.channels);
    free(c.data);
    return failed;
}
