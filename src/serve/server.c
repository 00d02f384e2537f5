/* server.c - a server from its start to its end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/size.h"
#include "serve/serve.h"
#include "serve/server.h"

enum {
    ALL_BYTES         = 32 << 20,
    HEAD_BYTES        = 32 << 10,
    IDLE_SECONDS      = 30,
    WAIT_MILLISECONDS = 100,
    DRAIN_SECONDS     = 3
};

/* ---- models ----------------------------------------------------------------------------- */

static void close_host(lcsm_host *h)
{
    lcsm_slots_free(h->set);
    free(h->items);
    free(h->fed);
    free(h->scratch);
    free(h->all);
    free(h->hidden);
    free(h->mark);
    json_decref(h->view);
}

/* Logits behind a chunk of a prompt, and hidden states of all prompts of a round. */
static void reserve_all(lcsm_host *h)
{
    size_t count, bytes;
    if (lcsm_size_mul(h->vocab, LCSM_SERVE_CHUNK, &count)
        && lcsm_size_mul(count, sizeof *h->all, &bytes))
        h->all = malloc(bytes);
    if (lcsm_size_mul(h->width, LCSM_SERVE_IDLE, &count)
        && lcsm_size_mul(count, sizeof *h->hidden, &bytes))
        h->hidden = malloc(bytes);
}

static lcsm_status open_host(lcsm_host *h, const lcsm_serve_model *m, size_t slots, lcsm_error *err)
{
    const lcsm_model_config *cfg = lcsm_model_config_of(m->model);
    double                   own = lcsm_model_config_number(cfg, "eos_token_id");
    h->m                         = m;
    h->vocab                     = (size_t)lcsm_model_config_number(cfg, "vocab");
    h->width                     = (size_t)lcsm_model_config_number(cfg, "d_model");
    h->end           = m->lines ? -1 : own >= 0 ? (int32_t)own : lcsm_tokenizer_eos(m->tok);
    h->slots         = slots;
    const char *over = m->chat != NULL ? lcsm_chat_end(m->chat) : "";
    h->over          = *over != '\0' ? lcsm_tokenizer_find(m->tok, over, strlen(over)) : -1;
    if (lcsm_tokenizer_vocab(m->tok) > h->vocab)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%.80s: the tokenizer has %zu tokens, but the model has %zu", m->name,
                         lcsm_tokenizer_vocab(m->tok), h->vocab);
    h->items   = calloc(slots, sizeof *h->items);
    h->fed     = calloc(slots, sizeof(lcsm_stream *));
    h->scratch = calloc(slots, h->vocab * sizeof *h->scratch);
    h->mark    = calloc(slots, h->vocab * sizeof *h->mark);
    reserve_all(h);
    if (h->items == NULL || h->fed == NULL || h->scratch == NULL || h->mark == NULL
        || h->all == NULL || h->hidden == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to serve %.80s", m->name);
    const lcsm_slots_options o = {.size = sizeof o, .slots = slots, .chunk = LCSM_SERVE_CHUNK};
    return lcsm_slots_create(&h->set, m->model, &o, err);
}

/* ---- start and end ---------------------------------------------------------------------- */

static void say(const lcsm_server *s, const char *text)
{
    if (s->o.log != NULL) s->o.log(s->o.user, text);
}

static lcsm_status open_states(lcsm_server *s, lcsm_error *err)
{
    size_t skipped = 0;
    char   text[80];
    LCSM_OR_RETURN(
        lcsm_state_store_open(&s->states, s->o.state_dir, s->o.state_bytes, &skipped, err));
    (void)snprintf(text, sizeof text, "skipped %zu damaged states", skipped);
    if (skipped > 0) say(s, text);
    return LCSM_OK;
}

static lcsm_status open_http(lcsm_server *s, lcsm_error *err)
{
    const lcsm_http_options o = {.host            = s->o.host,
                                 .port            = s->o.port,
                                 .cert            = s->o.cert,
                                 .key             = s->o.key,
                                 .body_bytes      = s->o.body_bytes,
                                 .head_bytes      = HEAD_BYTES,
                                 .connections     = s->o.connections,
                                 .request_seconds = s->o.request_seconds,
                                 .idle_seconds    = IDLE_SECONDS,
                                 .lock            = &s->lock,
                                 .begin           = lcsm_route_begin,
                                 .handle          = lcsm_route,
                                 .done            = lcsm_route_done,
                                 .user            = s};
    return lcsm_http_start(&s->http, &o, err);
}

/* ---- the loop --------------------------------------------------------------------------- */

/* Until there is work, or for a tenth of a second. */
static void wait_for_work(lcsm_server *s)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_MILLISECONDS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    lcsm_server_lock(s);
    if (s->arrived == NULL) (void)pthread_cond_timedwait(&s->work, &s->lock, &until);
    lcsm_server_unlock(s);
}

static void sweep(lcsm_server *s, double *last)
{
    double now = lcsm_now();
    if (now < *last + 0.5) return;
    *last = now;
    lcsm_server_lock(s);
    lcsm_http_sweep(s->http);
    lcsm_server_unlock(s);
}

static void run(lcsm_server *s)
{
    double end = INFINITY, swept = 0;
    while (lcsm_now() < end) {
        bool busy = lcsm_engine_round(s);
        sweep(s, &swept);
        if (!s->stopping && s->o.stop(s->o.user)) {
            say(s, "stopping: requests under way are finished first");
            lcsm_server_lock(s);
            s->stopping = true;
            lcsm_server_unlock(s);
            lcsm_http_quiesce(s->http);
            end = lcsm_now() + s->o.grace_seconds;
        }
        if (busy) continue;
        if (s->stopping) break;
        wait_for_work(s);
    }
    lcsm_engine_end(s);
}

/* What has been answered is sent, as long as clients take it. */
static void drain(lcsm_server *s)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000000L};
    bool                  left  = true;
    for (double end = lcsm_now() + DRAIN_SECONDS; left && lcsm_now() < end;) {
        (void)nanosleep(&pause, NULL);
        lcsm_server_lock(s);
        left = s->handled > 0;
        lcsm_server_unlock(s);
    }
}

lcsm_status lcsm_serve(const lcsm_serve_options *options, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_server s  = {.o = *options, .started = lcsm_wall_time()};
    (void)pthread_mutex_init(&s.lock, NULL);
    (void)pthread_cond_init(&s.work, NULL);
    (void)pthread_mutex_init(&s.looking, NULL);
    s.hosts = calloc(s.o.model_count + 1, sizeof *s.hosts);
    if (s.hosts == NULL) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to serve"));
    for (size_t j = 0; j < s.o.model_count; j++)
        LCSM_TRY(open_host(&s.hosts[j], &s.o.models[j], s.o.streams, err));
    LCSM_TRY(open_states(&s, err));
    LCSM_TRY(open_http(&s, err));
    s.o.ready(s.o.user, lcsm_http_port(s.http));
    run(&s);
    drain(&s);
cleanup:
    lcsm_http_stop(s.http);
    for (size_t j = 0; s.hosts != NULL && j < s.o.model_count; j++) close_host(&s.hosts[j]);
    free(s.hosts);
    lcsm_state_store_close(s.states);
    (void)pthread_mutex_destroy(&s.looking);
    (void)pthread_cond_destroy(&s.work);
    (void)pthread_mutex_destroy(&s.lock);
    return st;
}
