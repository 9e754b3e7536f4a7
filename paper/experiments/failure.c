/* One sentence about what went wrong. */
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

int failed(struct failure *failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return -1;
}
