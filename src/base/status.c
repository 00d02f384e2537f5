/* status.c - names and texts of the status codes, filling an lcsm_error, the version. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lcsm/lcsm.h>

#include "base/error.h"

static const struct {
    const char *name, *text;
} TEXTS[LCSM_STATUS_COUNT] = {
    [LCSM_OK]              = {"OK", "success"},
    [LCSM_ERR_ARGUMENT]    = {"ERR_ARGUMENT", "an argument is not valid"},
    [LCSM_ERR_CONFIG]      = {"ERR_CONFIG", "the configuration is not valid"},
    [LCSM_ERR_FORMAT]      = {"ERR_FORMAT", "a file does not follow its format"},
    [LCSM_ERR_IO]          = {"ERR_IO", "a file could not be read or written"},
    [LCSM_ERR_SPACE]       = {"ERR_SPACE", "the disk is full"},
    [LCSM_ERR_MEMORY]      = {"ERR_MEMORY", "out of memory"},
    [LCSM_ERR_NUMBER]      = {"ERR_NUMBER", "a number is NaN or infinite"},
    [LCSM_ERR_UNSUPPORTED] = {"ERR_UNSUPPORTED", "this combination is not supported"},
    [LCSM_ERR_INTERNAL]    = {"ERR_INTERNAL", "internal error (please report)"},
};

const char *lcsm_status_name(lcsm_status status)
{
    return (size_t)status < COUNT(TEXTS) ? TEXTS[status].name : "?";
}

const char *lcsm_status_text(lcsm_status status)
{
    return (size_t)status < COUNT(TEXTS) ? TEXTS[status].text : "an unknown status";
}

#undef lcsm_fail
lcsm_status lcsm_fail(lcsm_error *err, lcsm_status status, const char *fmt, ...)
{
    if (err == NULL) return status;
    va_list args;
    va_start(args, fmt);
    err->status = status;
    if (vsnprintf(err->text, sizeof err->text, fmt, args) < 0) err->text[0] = '\0';
    va_end(args);
    return status;
}

lcsm_status lcsm_fail_io(lcsm_error *err, const char *path, const char *what)
{
    lcsm_status status = errno == ENOSPC || errno == EDQUOT ? LCSM_ERR_SPACE : LCSM_ERR_IO;
    return lcsm_fail(err, status, "%s: cannot %s: %s", path, what, strerror(errno));
}

lcsm_status lcsm_file_fault(lcsm_status st, lcsm_error *err)
{
    if (st != LCSM_ERR_CONFIG) return st;
    if (err != NULL) err->status = LCSM_ERR_FORMAT;
    return LCSM_ERR_FORMAT;
}

const char *lcsm_version(void)
{
    return LCSM_VERSION;
}
