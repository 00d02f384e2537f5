/* fault.c - why a request is refused. */
#include "serve/fault.h"

#include <stdarg.h>
#include <stdio.h>

bool lcsm_fault_set(lcsm_fault *f, int http, const char *param, const char *code, const char *fmt,
                    ...)
{
    va_list list;
    va_start(list, fmt);
    f->http = http;
    f->code = code;
    (void)snprintf(f->param, sizeof f->param, "%s", param != NULL ? param : "");
    (void)vsnprintf(f->text, sizeof f->text, fmt, list);
    va_end(list);
    return false;
}

/* A request cannot bring about the other statuses. */
static const int HTTP_OF[LCSM_STATUS_COUNT] = {
    [LCSM_ERR_ARGUMENT] = 400, [LCSM_ERR_CONFIG] = 400,      [LCSM_ERR_FORMAT] = 400,
    [LCSM_ERR_IO] = 500,       [LCSM_ERR_SPACE] = 507,       [LCSM_ERR_MEMORY] = 503,
    [LCSM_ERR_NUMBER] = 500,   [LCSM_ERR_UNSUPPORTED] = 400, [LCSM_ERR_INTERNAL] = 500};

bool lcsm_fault_take(lcsm_fault *f, const char *param, const lcsm_error *err)
{
    return lcsm_fault_set(f, HTTP_OF[err->status], param, NULL, "%s", err->text);
}
