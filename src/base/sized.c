/* sized.c - public structs that begin with their size. */
#include "base/sized.h"

#include <string.h>

static size_t size_of(const void *sized)
{
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

lcsm_status lcsm_sized_check(const void *result, const char *name, lcsm_error *err)
{
    if (size_of(result) >= sizeof(size_t)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "%s has no size: a struct of this library begins with its own, as in "
                     "{.size = sizeof %s}",
                     name, name);
}

lcsm_status lcsm_sized_take(void *own, size_t size, const void *given, const char *name,
                            lcsm_error *err)
{
    memset(own, 0, size);
    memcpy(own, &size, sizeof size);
    if (given == NULL) return LCSM_OK;
    size_t      theirs = size_of(given);
    lcsm_status st     = lcsm_sized_check(given, name, err);
    if (st != LCSM_OK) return st;
    for (size_t j = size; j < theirs; j++)
        if (((const unsigned char *)given)[j] != 0)
            return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                             "%s has a member that this version of the library does not know "
                             "(byte %zu of %zu)",
                             name, j, theirs);
    memcpy((char *)own + sizeof size, (const char *)given + sizeof size,
           (theirs < size ? theirs : size) - sizeof size);
    return LCSM_OK;
}

void lcsm_sized_fill(void *result, const void *own, size_t size)
{
    size_t theirs = size_of(result), known = theirs < size ? theirs : size;
    if (known <= sizeof(size_t)) return;
    memcpy((char *)result + sizeof theirs, (const char *)own + sizeof theirs,
           known - sizeof theirs);
    memset((char *)result + known, 0, theirs - known);
}
