/* Failures as a client sees them: an HTTP status beside this thread's error sentence and place (bpcn_error,
   bpcn_error_place). No sentence names a path of this machine. */
#ifndef BPCN_SERVER_HTTP_ERROR_H
#define BPCN_SERVER_HTTP_ERROR_H

#include "bayespcn.h"

/* Sets this thread's error; the place is "rows[3][17]", a header's name or "". Returns a failure, never BPCN_OK. */
bpcn_status http_fail(unsigned code, const char *place, const char *format, ...) BPCN_PRINTF(3, 4);

/* The HTTP status of this thread's last http_fail. */
unsigned http_error_code(void);

/* This thread's error as application/problem+json (RFC 9457) with a member `where`; to be freed, NULL: out of memory.
 */
char *http_error_json(size_t *size);

/* "Not Found" for 404. */
const char *http_reason(unsigned code);

#endif
