/* Where a memory file is, who may write it, and how a new one takes its place. */
#ifndef BPCN_PLACE_H
#define BPCN_PLACE_H

#include "contents.h"
#include "file.h"
#include "format.h"
#include "symbols.h"

enum { PLACE_BYTES = 4096 };

/* Too large for a stack. */
struct place {
    char path[PLACE_BYTES];
    char folder[PLACE_BYTES];
    char temporary[PLACE_BYTES]; /* beside it: where the next version is written */
};

/* Follows symbolic links, so that the file itself is replaced and not a link to it. */
bpcn_status place_find(const char *path, struct place *place);

/* Opens the file and locks it for this descriptor alone. file->fd is -1 when there is no such
   file; BPCN_BUSY when somebody else has the lock. */
bpcn_status place_lock(const struct file_ops *ops, const struct place *place, int flags, struct file *file);

/* Writes the memory to a new file beside, syncs it, and renames it to the place; `file` is the new
   file, locked. `old`, locked by the caller, is the file now there, whose owner and permissions the new one gets; its
   fd is -1 when there is none: then those of `like`, or, where that is NULL, what the umask leaves. *moved tells, also after a failure, whether the place now leads to the new file. */
bpcn_status place_replace(const struct place *place, const struct file *old, const struct file_status *like,
                          const struct contents *contents, uint64_t generation, struct file *file,
                          struct header *header, int *moved);

/* After a failure to write or replace a file: if the disk was full (errno), a sentence that says what is needed.
   Otherwise the status, and the sentence there is. */
bpcn_status place_explain(const struct file_ops *ops, const struct place *place, const struct contents *contents,
                          const char *what, bpcn_status status);

/* Removes what a crash during place_replace left behind, if anything. */
void place_clean(const struct file_ops *ops, const struct place *place);

#endif
