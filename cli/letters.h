/* A small alphabet for the titles of pictures: letters of 5 x 7 pixels. */
#ifndef BPCN_CLI_LETTERS_H
#define BPCN_CLI_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

enum { LETTER_WIDTH = 5, LETTER_HEIGHT = 7 };

/* Whether the pixel belongs to the letter (a to z, 0 to 9; anything else is blank). */
bool letter_pixel(char letter, size_t x, size_t y);

#endif
