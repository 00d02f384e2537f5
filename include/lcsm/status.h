/*
 * lcsm/status.h - what a function that can fail returns, and why it failed.
 *
 * Ownership  An lcsm_error is a plain struct of the caller; there is nothing to free.
 * Threads    Every function here may be called from any thread.
 * Errors     A function that takes an lcsm_error leaves it alone on success. On failure, if
 *            it is not NULL, it holds the returned status and a sentence.
 */
#ifndef LCSM_STATUS_H
#define LCSM_STATUS_H
#include <lcsm/export.h>

/* Feeds the enum, the names and the default texts. */
#define LCSM_STATUS_LIST(X)                                                                        \
    X(OK, "success")                                                                               \
    X(ERR_ARGUMENT, "an argument is not valid")                                                    \
    X(ERR_CONFIG, "the configuration is not valid")                                                \
    X(ERR_FORMAT, "a file does not follow its format")                                             \
    X(ERR_IO, "a file could not be read or written")                                               \
    X(ERR_SPACE, "the disk is full")                                                               \
    X(ERR_MEMORY, "memory could not be reserved")                                                  \
    X(ERR_NUMBER, "a number is not finite")                                                        \
    X(ERR_UNSUPPORTED, "this combination is not supported")                                        \
    X(ERR_INTERNAL, "a mistake inside the library")

typedef enum {
#define X(name, text) LCSM_##name,
    LCSM_STATUS_LIST(X)
#undef X
        LCSM_STATUS_COUNT
} lcsm_status;

typedef struct {
    lcsm_status status;
    char        text[240];
} lcsm_error;

LCSM_BEGIN_DECLS

/* The constant without its prefix, as in "ERR_CONFIG"; "?" for a value out of range. */
LCSM_API const char *lcsm_status_name(lcsm_status status);

/* What the status means in general, as in "the configuration is not valid". */
LCSM_API const char *lcsm_status_text(lcsm_status status);

LCSM_END_DECLS
#endif
