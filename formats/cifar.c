/* cifar.c: the binary version of CIFAR-10: records of 3073 bytes, a label below
 * 10 and then 32x32 pixels as a red, a green and a blue plane. */
#include "internal.h"

#include <stdlib.h>

enum { SIDE = 32, PIXELS = 3 * SIDE * SIDE, RECORD = 1 + PIXELS, CLASSES = 10 };

static fmt_status read_labels(const fmti_source *source, fmt_table *table)
{
    size_t first = source->options->first_row;
    table->labels = fmti_alloc(table->rows, 1);
    if (table->labels == NULL)
        return fmti_no_memory(source->error, source->name, table->rows);
    for (size_t i = 0; i < table->rows; i++) {
        uint8_t label = source->data[(first + i) * RECORD];
        if (label >= CLASSES)
            return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                             "record %zu has label %u, so this is not CIFAR-10",
                             first + i, label);
        table->labels[i] = label;
    }
    return FMT_OK;
}

fmt_status fmti_cifar_read(const fmti_source *source, fmt_table *table)
{
    if (source->size % RECORD != 0)
        return fmti_fail(source->error, FMT_ERR_FORMAT, source->name,
                         "has %zu bytes, which is not a whole number of %d-byte "
                         "CIFAR-10 records", source->size, RECORD);
    size_t total = source->size / RECORD;
    fmt_status status = fmti_byte_pictures(source, 1, RECORD, total, SIDE, SIDE,
                                           3, table);
    return status == FMT_OK ? read_labels(source, table) : status;
}
