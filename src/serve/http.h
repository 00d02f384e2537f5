/*
 * serve/http.h - HTTP: requests that are handed to a function, answers that may come later.
 *
 * The library behind it has threads of its own, which call `begin`, `handle` and `done`. A handler
 * fills in the answer at once, or leaves `ended` false and another thread does so later: an answer
 * that is `stream` is sent as it grows, another one when it has ended. One lock, of the caller,
 * guards all exchanges; whoever changes one that has been handed over holds it and calls
 * lcsm_http_wake.
 *
 * http_mhd.c stands on libmicrohttpd; http_none.c is for builds without it.
 */
#ifndef LCSM_SERVE_HTTP_H
#define LCSM_SERVE_HTTP_H
#include <pthread.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { LCSM_HTTP_HEADERS = 6 };

/* A request and its answer. */
typedef struct lcsm_exchange {
    const char *method, *path; /* the path without a query */
    lcsm_strbuf body;

    int         status;
    const char *type; /* of the answer: "application/json" */
    lcsm_strbuf out;
    bool        stream; /* sent as it grows */
    bool        ended;  /* nothing is added to out any more */
    struct {
        const char *name;
        char        value[400];
    } headers[LCSM_HTTP_HEADERS];
    size_t header_count;

    void *job; /* of the handler, as is: */
    bool  counted;
    void *wire; /* of the library behind it */
} lcsm_exchange;

/* Sees the head of a request. An answer that it ends is sent without reading the body. */
typedef void lcsm_http_fn(void *user, lcsm_exchange *x);

typedef struct {
    const char      *host;
    int              port;       /* 0: any that is free */
    const char      *cert, *key; /* PEM files; NULL: no TLS */
    size_t           body_bytes, head_bytes;
    int              connections;
    double           request_seconds; /* for a whole request to come in, from the end of the last */
    double           idle_seconds;    /* without a byte being sent or taken */
    pthread_mutex_t *lock;
    lcsm_http_fn    *begin;  /* before the body */
    lcsm_http_fn    *handle; /* the request is whole */
    lcsm_http_fn    *done;   /* the answer has been sent, or the client has gone */
    void            *user;
} lcsm_http_options;

typedef struct lcsm_http lcsm_http;

/* Listens. */
lcsm_status lcsm_http_start(lcsm_http **out, const lcsm_http_options *options, lcsm_error *err);
int         lcsm_http_port(const lcsm_http *h);

/* Takes no more connections; those that are there go on. */
void lcsm_http_quiesce(lcsm_http *h);

/* Ends all connections. The lock is not held; every exchange has ended. NULL is fine. */
void lcsm_http_stop(lcsm_http *h);

/* A header of the request by its name, or a value of its query; NULL: there is none. */
const char *lcsm_http_header(const lcsm_exchange *x, const char *name);
const char *lcsm_http_query(const lcsm_exchange *x, const char *name);

/* With the lock held: */
void lcsm_http_wake(lcsm_http *h, lcsm_exchange *x); /* something was added */
bool lcsm_http_gone(const lcsm_exchange *x);         /* the client has closed */
void lcsm_http_sweep(lcsm_http *h);                  /* ends what takes too long */
void lcsm_http_answer_header(lcsm_exchange *x, const char *name, const char *fmt, ...)
    LCSM_PRINTF(3, 4);

#endif
