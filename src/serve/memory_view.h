/*
 * serve/memory_view.h - what a model's memory holds for how long, for the page.
 */
#ifndef LCSM_SERVE_MEMORY_VIEW_H
#define LCSM_SERVE_MEMORY_VIEW_H
#include <jansson.h>

#include "serve/fault.h"
#include "serve/serve.h"

/* Models with more parameters are not looked at: it would keep a request waiting for too long. */
enum {
    LCSM_MEMORY_VIEW_MOST = 20000000,
    LCSM_WRITES_MOST      = 2048, /* tokens whose writes are shown */
};

/* {"object", "model", "layers": [{"layer", "op", "low", "median", "high"}]}: half-lives in tokens,
 * the shortest and the longest tenth left out; null: without end. NULL: a fault. */
json_t *lcsm_memory_view(const lcsm_serve_model *m, lcsm_fault *fault);

/* What each of some tokens wrote: {"object", "model", "layers": [{"layer", "write": [NORM]}]}, as
 * lcsm_inspect_writes. */
json_t *lcsm_writes_view(const lcsm_serve_model *m, const int32_t *tokens, size_t count,
                         lcsm_fault *fault);

#endif
