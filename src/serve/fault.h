/* serve/fault.h - why a request is refused, as clients of this kind of interface expect it. */
#ifndef LCSM_SERVE_FAULT_H
#define LCSM_SERVE_FAULT_H
#include <stdbool.h>

#include "base/error.h"

typedef struct {
    int         http; /* the status; 0: nothing is wrong */
    char        param[40];
    const char *code; /* "model_not_found"; NULL: none */
    char        text[400];
} lcsm_fault;

/* Both return false. param and code may be NULL. */
bool lcsm_fault_set(lcsm_fault *f, int http, const char *param, const char *code, const char *fmt,
                    ...) LCSM_PRINTF(5, 6);
bool lcsm_fault_take(lcsm_fault *f, const char *param, const lcsm_error *err);

#endif
