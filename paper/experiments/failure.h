/* One sentence about what went wrong, carried up to whoever prints it. */
#ifndef EXPERIMENTS_FAILURE_H
#define EXPERIMENTS_FAILURE_H

struct failure {
    char text[1024];
};

/* Sets the sentence and returns -1, so that a check is one line. */
int failed(struct failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
