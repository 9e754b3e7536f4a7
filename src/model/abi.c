/* Structs of other versions: one check, one way in, one way out. */
#include "abi.h"

#include "error.h"

#include <string.h>

/* The last field of the first release says where `first` ends; later fields change `ours` alone. */
const struct abi abi_options = {"bpcn_options", offsetof(bpcn_options, kind) + sizeof(bpcn_kind),
                                    sizeof(bpcn_options)};
const struct abi abi_read_options = {"bpcn_read_options", offsetof(bpcn_read_options, shards) + sizeof(size_t),
                                         sizeof(bpcn_read_options)};
const struct abi abi_write_info = {"bpcn_write_info", offsetof(bpcn_write_info, evaluations) + sizeof(uint64_t),
                                       sizeof(bpcn_write_info)};
const struct abi abi_open_options = {
    "bpcn_open_options", offsetof(bpcn_open_options, checkpoint_bytes) + sizeof(uint64_t), sizeof(bpcn_open_options)};
const struct abi abi_stats = {"bpcn_stats", offsetof(bpcn_stats, open_shard) + sizeof(size_t), sizeof(bpcn_stats)};
const struct abi abi_file_info = {"bpcn_file_info", offsetof(bpcn_file_info, dropped_bytes) + sizeof(uint64_t),
                                      sizeof(bpcn_file_info)};

const struct abi abi_recovery = {"bpcn_recovery", offsetof(bpcn_recovery, lost_note) + sizeof(uint64_t),
                                     sizeof(bpcn_recovery)};

/* Padding at the end would be taken for a field by a later library that has one there. Where pointers have 32 bits there
   is some, and a field added later has to begin behind it. */
#define NO_PADDING(type, last)                                                                                         \
    _Static_assert(sizeof(void *) < 8 || sizeof(type) == offsetof(type, last) + sizeof(((type *)0)->last),             \
                   "padding at the end")
NO_PADDING(bpcn_options, column);
NO_PADDING(bpcn_read_options, trace_room);
NO_PADDING(bpcn_write_info, names);
NO_PADDING(bpcn_open_options, checkpoint_bytes);

/* Elements of the caller's arrays say no size: theirs is fixed for ever, with room to grow into. */
_Static_assert(sizeof(bpcn_read_info) == 128, "bpcn_read_info has 128 bytes");
_Static_assert(sizeof(bpcn_write_row) == 64, "bpcn_write_row has 64 bytes");
_Static_assert(sizeof(bpcn_match) == 64, "bpcn_match has 64 bytes");
_Static_assert(sizeof(bpcn_name) == 96, "bpcn_name has 96 bytes");

enum { MOST = 1 << 16 }; /* bytes: more is a size that nobody has set */

static size_t size_of(const void *theirs)
{
    size_t size;
    memcpy(&size, theirs, sizeof size);
    return size;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

bpcn_status abi_check(const struct abi *kind, const void *theirs)
{
    if (theirs == NULL)
        return BPCN_OK;
    size_t size = size_of(theirs);
    if (size < kind->first || size > MOST)
        return bpcn_fail(BPCN_INVALID, "%s.size is %zu, but must be sizeof(%s)", kind->type, size, kind->type);
    return BPCN_OK;
}

bpcn_status abi_take(const struct abi *kind, const void *theirs, void *ours)
{
    const unsigned char *bytes = theirs;
    bpcn_status status = abi_check(kind, theirs);
    if (status != BPCN_OK)
        return status;
    size_t size = size_of(theirs);
    for (size_t i = kind->ours; i < size; i++)
        if (bytes[i] != 0)
            return bpcn_fail(BPCN_INVALID, "byte %zu of the %s is set: version %s of the library has no such field", i,
                        kind->type, BPCN_VERSION);
    memcpy(ours, theirs, lesser(size, kind->ours));
    memcpy(ours, &kind->ours, sizeof kind->ours);
    return BPCN_OK;
}

void abi_give(const struct abi *kind, const void *ours, void *theirs, size_t size)
{
    size_t copied = lesser(size, kind->ours);
    if (theirs == NULL)
        return;
    memcpy(theirs, ours, copied);
    memset((unsigned char *)theirs + copied, 0, size - copied);
    memcpy(theirs, &size, lesser(size, sizeof size));
}
