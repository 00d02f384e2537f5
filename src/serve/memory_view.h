/*
 * serve/memory_view.h - what a model's memory holds for how long, for the page.
 */
#ifndef LCSM_SERVE_MEMORY_VIEW_H
#define LCSM_SERVE_MEMORY_VIEW_H
#include <jansson.h>

#include "serve/fault.h"
#include "serve/serve.h"

/* Models with more parameters are not looked at: it would keep a request waiting for too long. */
enum { LCSM_MEMORY_VIEW_MOST = 20000000 };

/* {"object", "model", "layers": [{"layer", "op", "low", "median", "high"}]}: half-lives in tokens,
 * the shortest and the longest tenth left out; null: without end. NULL: a fault. */
json_t *lcsm_memory_view(const lcsm_serve_model *m, lcsm_fault *fault);

#endif
