/* Compiled anew for every commit, so nothing else is. */
#include "commit.h"

const char *program_commit(void)
{
    return PROGRAM_COMMIT;
}
