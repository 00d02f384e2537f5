/* log.h - messages for people, through the function that the user of the library gave. */
#ifndef LCSM_BASE_LOG_H
#define LCSM_BASE_LOG_H
#include <lcsm/context.h>

#include "base/error.h"

typedef struct {
    lcsm_log_fn *fn; /* NULL: silence */
    void        *user;
} lcsm_log_sink;

/* One line, at most 511 letters. */
void lcsm_log(const lcsm_log_sink *sink, lcsm_log_level level, const char *fmt, ...)
    LCSM_PRINTF(3, 4);

#endif
