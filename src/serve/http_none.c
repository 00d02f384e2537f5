/* http_none.c - for builds without libmicrohttpd. */
#include "serve/http.h"

lcsm_status lcsm_http_start(lcsm_http **out, const lcsm_http_options *options, lcsm_error *err)
{
    (void)options;
    *out = NULL;
    return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                     "this lcsm was built without a server: install libmicrohttpd (Debian: "
                     "libmicrohttpd-dev) and build it again");
}

int lcsm_http_port(const lcsm_http *h)
{
    (void)h;
    return 0;
}

void lcsm_http_quiesce(lcsm_http *h)
{
    (void)h;
}

void lcsm_http_stop(lcsm_http *h)
{
    (void)h;
}

const char *lcsm_http_header(const lcsm_exchange *x, const char *name)
{
    (void)x;
    (void)name;
    return NULL;
}

const char *lcsm_http_query(const lcsm_exchange *x, const char *name)
{
    (void)x;
    (void)name;
    return NULL;
}

void lcsm_http_wake(lcsm_http *h, lcsm_exchange *x)
{
    (void)h;
    (void)x;
}

bool lcsm_http_gone(const lcsm_exchange *x)
{
    (void)x;
    return true;
}

void lcsm_http_sweep(lcsm_http *h)
{
    (void)h;
}

void lcsm_http_answer_header(lcsm_exchange *x, const char *name, const char *fmt, ...)
{
    (void)x;
    (void)name;
    (void)fmt;
}
