/* metrics_text.c - counters as the text that Prometheus reads: one table. */
#include "serve/metrics_text.h"

#include "base/clock.h"

typedef struct {
    const char *name, *type, *help;
    double      value;
} metric;

void lcsm_metrics_text(lcsm_server *s, lcsm_strbuf *out)
{
    size_t   states = 0, bytes = 0;
    uint64_t evicted = 0;
    lcsm_state_store_measure(s->states, &states, &bytes, &evicted);
    lcsm_server_lock(s);
    lcsm_counters c = s->counters;
    lcsm_server_unlock(s);
    const metric list[] = {
        {"lcsm_uptime_seconds", "gauge", "time since the start", lcsm_wall_time() - s->started},
        {"lcsm_prompt_tokens_total", "counter", "tokens of prompts", (double)c.prompt_tokens},
        {"lcsm_completion_tokens_total", "counter", "tokens generated", (double)c.reply_tokens},
        {"lcsm_requests_cancelled_total", "counter", "clients that left before the end",
         (double)c.cancelled},
        {"lcsm_requests_refused_total", "counter", "refused because the queue was full",
         (double)c.refused_full},
        {"lcsm_streams_running", "gauge", "streams that read or write", (double)c.running},
        {"lcsm_requests_waiting", "gauge", "requests that wait for a slot", (double)c.waiting},
        {"lcsm_first_token_seconds_sum", "counter", "from arrival to the first token",
         c.first_token_seconds},
        {"lcsm_first_token_seconds_count", "counter", "requests with a first token",
         (double)c.first_tokens},
        {"lcsm_request_seconds_sum", "counter", "from arrival to the end", c.job_seconds},
        {"lcsm_request_seconds_count", "counter", "requests for text that have ended",
         (double)c.jobs},
        {"lcsm_states", "gauge", "states that are kept", (double)states},
        {"lcsm_state_bytes", "gauge", "their size", (double)bytes},
        {"lcsm_states_evicted_total", "counter", "states that had to make room", (double)evicted},
    };
    for (size_t j = 0; j < COUNT(list); j++)
        lcsm_strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", list[j].name,
                           list[j].help, list[j].name, list[j].type, list[j].name, list[j].value);
    lcsm_strbuf_printf(out, "# HELP lcsm_http_requests_total requests by the first digit of their "
                            "status\n# TYPE lcsm_http_requests_total counter\n");
    for (int j = 2; j <= 5; j++)
        lcsm_strbuf_printf(out, "lcsm_http_requests_total{code=\"%dxx\"} %llu\n", j,
                           (unsigned long long)c.requests[j]);
}
