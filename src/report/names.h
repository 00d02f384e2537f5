/* names.h - what folders are called where several stand together. */
#ifndef LCSM_REPORT_NAMES_H
#define LCSM_REPORT_NAMES_H
#include <stddef.h>

#include "base/error.h"

/* Of each folder the shortest end of its whole path, cut between names, that no other has: "run",
 * or "a/run" beside "b/run". The caller frees every name; after a failure there are none. */
lcsm_status lcsm_names_of(char **names, const char *const *folders, size_t count, lcsm_error *err);

#endif
