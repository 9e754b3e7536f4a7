/* Names of rows that are to be taken back, against those that are kept. */
#ifndef BPCN_SERVER_NAMES_H
#define BPCN_SERVER_NAMES_H

#include "memory_file.h"

/* Whether the memory keeps all of names [count x NAME_ROOM], those that are given twice two times. BPCN_INVALID when
   it does not: *missing is the first that it lacks. */
bpcn_status names_check(const struct memfile *file, const char *names, size_t count, size_t *missing);

#endif
