/* sized.c - public structs that begin with their size. */
#include "base/sized.h"

#include <string.h>

static size_t size_of(const void *sized)
{
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

lcsm_status lcsm_sized_check(const void *result, size_t first, const char *type, lcsm_error *err)
{
    size_t size = size_of(result);
    if (size >= first) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s.size is %zu; expected sizeof(%s)", type, size,
                     type);
}

static lcsm_status check_tail(const unsigned char *given, size_t known, size_t size,
                              const char *type, lcsm_error *err)
{
    for (size_t j = known; j < size; j++)
        if (given[j] != 0)
            return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                             "%s sets a member that this version of the library does not know "
                             "(byte %zu of %zu)",
                             type, j, size);
    return LCSM_OK;
}

lcsm_status lcsm_sized_take(void *own, size_t size, size_t first, const void *given,
                            const char *type, lcsm_error *err)
{
    memset(own, 0, size);
    memcpy(own, &size, sizeof size);
    if (given == NULL) return LCSM_OK;
    size_t      theirs = size_of(given);
    lcsm_status st     = lcsm_sized_check(given, first, type, err);
    if (st == LCSM_OK) st = check_tail(given, size, theirs, type, err);
    if (st != LCSM_OK) return st;
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
