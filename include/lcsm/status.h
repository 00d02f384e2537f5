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

/* What happened. The numbers never change. */
typedef enum {
    LCSM_OK              = 0,
    LCSM_ERR_ARGUMENT    = 1,
    LCSM_ERR_CONFIG      = 2,
    LCSM_ERR_FORMAT      = 3,
    LCSM_ERR_IO          = 4,
    LCSM_ERR_SPACE       = 5,
    LCSM_ERR_MEMORY      = 6,
    LCSM_ERR_NUMBER      = 7,
    LCSM_ERR_UNSUPPORTED = 8,
    LCSM_ERR_INTERNAL    = 9,
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
