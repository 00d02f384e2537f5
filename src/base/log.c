/* log.c - formats a message and hands it over; the library itself prints nothing. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void lcsm_log(const lcsm_log_sink *sink, lcsm_log_level level, const char *fmt, ...)
{
    if (sink == NULL || sink->fn == NULL) return;
    char    text[512];
    va_list args;
    va_start(args, fmt);
    int written = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (written >= 0) sink->fn(sink->user, level, text);
}
