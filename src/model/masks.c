/* Whether rows know the same, and how much. */
#include "masks.h"

#include <string.h>

size_t known_entries(size_t dim, const unsigned char *known)
{
    size_t count = 0;
    for (size_t j = 0; j < dim; j++)
        count += known[j] != 0;
    return count;
}

struct masks masks_of_rows(size_t dim, size_t n, const unsigned char *known)
{
    struct masks m = {.same = 1, .share = 1};
    size_t count = 0;
    for (size_t i = 0; known != NULL && i < n; i++) {
        count += known_entries(dim, known + i * dim);
        m.same = m.same && memcmp(known, known + i * dim, dim) == 0;
    }
    if (known != NULL)
        m.share = (double)count / (double)(n * dim); /* of the same rows the same bits, however many there are */
    if (m.same && known != NULL && memchr(known, 0, dim) != NULL)
        m.mask = known;
    return m;
}
