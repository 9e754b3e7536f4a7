/* The commit that the program was built from, with a + where what computes had changes besides; "" when unknown. */
#ifndef CLI_COMMIT_H
#define CLI_COMMIT_H

const char *program_commit(void);

#endif
