/* error.h - how library code fails: a status, a sentence, one way out. */
#ifndef LCSM_BASE_ERROR_H
#define LCSM_BASE_ERROR_H
#include <lcsm/status.h>

#if defined(__GNUC__)
#define LCSM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define LCSM_PRINTF(fmt, args)
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LCSM_STATUS_COUNT = LCSM_ERR_INTERNAL + 1 };

/* Needs `lcsm_status st` and the label `cleanup` around it. */
#define LCSM_TRY(call)                                                                             \
    do {                                                                                           \
        if ((st = (call)) != LCSM_OK) goto cleanup;                                                \
    } while (0)

/* The same where there is nothing to clean up. */
#define LCSM_OR_RETURN(call)                                                                       \
    do {                                                                                           \
        lcsm_status or_return_ = (call);                                                           \
        if (or_return_ != LCSM_OK) return or_return_;                                              \
    } while (0)

/* Fills err, if there is one, and returns status. A text that is too long is cut. */
lcsm_status lcsm_fail(lcsm_error *err, lcsm_status status, const char *fmt, ...) LCSM_PRINTF(3, 4);

/* The analyser of clang-tidy does not see that it returns what it is given. */
#ifdef __clang_analyzer__
#define lcsm_fail(err, status, ...) (lcsm_fail(err, status, __VA_ARGS__), (status))
#endif

/* The same for a call of the system that has just failed: "PATH: cannot WHAT: " and what errno
 * means. A full disk is LCSM_ERR_SPACE, anything else LCSM_ERR_IO. */
lcsm_status lcsm_fail_io(lcsm_error *err, const char *path, const char *what);

/* What is wrong with settings in a file is wrong with the file: LCSM_ERR_CONFIG becomes
 * LCSM_ERR_FORMAT. */
lcsm_status lcsm_file_fault(lcsm_status st, lcsm_error *err);

#endif
