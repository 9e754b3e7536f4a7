/* A rank other than 0: told what is done next, it comes to the function that rank 0 is in. */
#include "serve.h"

#include "parts.h"

#include <stdlib.h>

static void obey(struct folder *folder, const struct order *order, struct trouble *trouble)
{
    struct totals totals;
    char *note, name[NAME_ROOM];
    size_t count;
    switch ((enum op)order->op) {
    case CREATE:
        note = room(BPCN_MAX_NOTE, 1);
        all_create(folder, note, order->flag, trouble);
        free(note);
        break;
    case OPEN:
        if (all_open(folder, order->flag, trouble) != 0)
            folder_close(folder);
        break;
    case READ:
        all_read(folder, order, NULL, NULL, NULL, NULL, trouble);
        break;
    case WRITE:
        all_write(folder, order, NULL, NULL, NULL, NULL, NULL, trouble);
        break;
    case DELETE:
        all_delete(folder, NULL, trouble);
        break;
    case DELETE_NAME:
        all_delete_name(folder, NULL, trouble);
        break;
    case NAME:
        all_name(folder, order->shards, order->n, name, trouble);
        break;
    case NAMES:
        free(all_names(folder, &count, trouble));
        break;
    case FORGET:
    case DISCOUNT:
    case SYNC:
        all_change(folder, order, trouble);
        break;
    case TOTALS:
        all_totals(folder, order->flag, &totals, trouble);
        break;
    case ROWS:
        free(all_rows(folder));
        break;
    case CLOSE:
    case END:
        folder_close(folder);
        break;
    }
}

void serve(void)
{
    struct folder *folder = room(1, sizeof *folder);
    struct order order;
    do {
        struct trouble trouble = {0};
        tell_all(&order, sizeof order);
        obey(folder, &order, &trouble);
    } while (order.op != END);
    free(folder);
}
