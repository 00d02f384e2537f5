/* serve/metrics_text.h - counters as the text that Prometheus reads. */
#ifndef LCSM_SERVE_METRICS_TEXT_H
#define LCSM_SERVE_METRICS_TEXT_H
#include "serve/server.h"

void lcsm_metrics_text(lcsm_server *s, lcsm_strbuf *out);

#endif
