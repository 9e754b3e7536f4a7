/* Rows and options in JSON; for body.c. */
#ifndef BPCN_SERVER_BODY_JSON_H
#define BPCN_SERVER_BODY_JSON_H

#include "body.h"

int body_parse_json(struct body *body, const struct shape *shape, const char *text, size_t size, struct refusal *why);

/* Room for so many rows of which nothing is known. */
int body_room(struct body *body, const struct shape *shape, size_t rows, struct refusal *why);

/* One entry; NaN leaves it unknown. */
int body_put(struct body *body, size_t dim, size_t row, size_t entry, double value, struct refusal *why);

#endif
