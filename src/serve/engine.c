/*
 * engine.c - rounds: streams get slots, every stream that writes gets one token, prompts are read
 * in chunks between them.
 *
 * Streams of all jobs take turns for slots, so a request with many prompts does not keep others
 * waiting. In a round prompts together read a bounded number of tokens: a long one delays the
 * others by so much and no more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "kernel/context.h"
#include "model/model_weights.h"
#include "serve/server.h"

enum {
    BUSY_TOKENS   = LCSM_SERVE_CHUNK, /* of prompts in a round, while texts are written */
    WORTH_THREADS = 1 << 14,          /* logits to draw from in a round that are */
};

/* What the streams of a pass do: one token of a text each, prompts, prompts of embeddings. */
typedef enum { WRITE, READ, EMBED } pass_kind;

/* ---- ending ----------------------------------------------------------------------------- */

static void leave(lcsm_host *h, lcsm_stream *t)
{
    lcsm_stream **at = &h->running;
    while (*at != NULL && *at != t) at = &(*at)->next;
    if (*at == NULL) return;
    *at = t->next;
    t->job->running--;
    (void)lcsm_slots_close(h->set, t->slot, NULL);
}

/* Between rounds only: slots that are to be fed stay open. */
static void fail_job(lcsm_job *job)
{
    for (size_t j = 0; j < job->count; j++) {
        if (job->streams[j].phase != LCSM_STREAM_WAITS) leave(job->host, &job->streams[j]);
        job->streams[j].phase = LCSM_STREAM_DONE;
    }
    job->done = job->count;
}

static void end_stream(lcsm_server *s, lcsm_host *h, lcsm_stream *t)
{
    lcsm_job *job = t->job;
    bool      ok  = lcsm_stream_end(t, s, h, &job->fault);
    leave(h, t);
    job->done++;
    if (ok && job->p.stream) lcsm_answer_piece(s, t);
}

/* ---- beginning -------------------------------------------------------------------------- */

static size_t unused_slots(const lcsm_host *h)
{
    return h->slots - lcsm_slots_count(h->set);
}

static lcsm_stream *next_waiting(const lcsm_job *job)
{
    for (size_t j = 0; j < job->count; j++)
        if (job->streams[j].phase == LCSM_STREAM_WAITS) return &job->streams[j];
    return NULL;
}

/* The stream that gets the next slot: one of the job that has the fewest, the oldest of equals. */
static lcsm_stream *choose(const lcsm_server *s)
{
    lcsm_stream *best = NULL;
    for (lcsm_job *job = s->jobs; job != NULL; job = job->next) {
        if (job->fault.http != 0 || unused_slots(job->host) == 0) continue;
        lcsm_stream *t = next_waiting(job);
        if (t != NULL && (best == NULL || job->running < best->job->running)) best = t;
    }
    return best;
}

static void begun(lcsm_server *s, lcsm_job *job)
{
    if (job->begun) return;
    job->begun    = true;
    job->deadline = lcsm_now() + s->o.stream_seconds;
    lcsm_server_lock(s);
    s->counters.waiting--;
    lcsm_server_unlock(s);
}

/* A stream that has got a slot. */
static void enter(lcsm_host *h, lcsm_stream *t)
{
    lcsm_stream **last = &h->running;
    if (t->phase == LCSM_STREAM_WAITS) return;
    while (*last != NULL) last = &(*last)->next;
    *last = t;
    t->job->running++;
}

static void admit(lcsm_server *s)
{
    for (lcsm_stream *t; (t = choose(s)) != NULL;) {
        begun(s, t->job);
        (void)lcsm_stream_begin(t, t->job->host, &t->job->fault);
        enter(t->job->host, t);
    }
}

/* The other choices of a prompt that has just been read begin where it ends, while there is room;
 * those that are left read it themselves. */
static void admit_siblings(lcsm_host *h, lcsm_stream *t)
{
    lcsm_job *job = t->job;
    for (size_t j = 0; j < job->count && job->fault.http == 0; j++) {
        lcsm_stream *other = &job->streams[j];
        if (other->prompt != t->prompt || other->phase != LCSM_STREAM_WAITS) continue;
        if (unused_slots(h) == 0) return;
        (void)lcsm_stream_branch(other, t, h, &job->fault);
        enter(h, other);
    }
}

/* ---- a round ---------------------------------------------------------------------------- */

static pass_kind kind_of(const lcsm_stream *t)
{
    if (t->phase != LCSM_STREAM_READS) return WRITE;
    return t->job->p.ask == LCSM_ASK_EMBEDDING ? EMBED : READ;
}

/* What a prompt may read in this round: all its logits fit where they are wanted. */
static size_t rows_left(const lcsm_stream *t, size_t left, bool all_taken)
{
    bool wants_all = t->job->p.echo && t->job->p.wants_logprobs;
    if (t->phase != LCSM_STREAM_READS) return LCSM_SERVE_CHUNK;
    return wants_all && all_taken ? 0 : left;
}

/* Streams that write first, so that they never wait for a prompt; then prompts, the one that has
 * waited longest first. Returns how many items there are. */
static size_t gather(lcsm_server *s, lcsm_host *h, pass_kind kind, size_t *left)
{
    size_t       count = 0, rows = 0;
    bool         all_taken = false;
    lcsm_stream *next;
    for (lcsm_stream *t = h->running; t != NULL; t = next) {
        next = t->next;
        if (kind_of(t) != kind) continue;
        lcsm_slot_feed *item  = &h->items[count];
        lcsm_fault     *fault = &t->job->fault;
        bool            reads = t->phase == LCSM_STREAM_READS;
        if (lcsm_stream_next(t, h, rows_left(t, *left, all_taken), item, fault)) {
            h->fed[count++] = t;
            all_taken       = all_taken || item->all != NULL;
            if (kind == EMBED) item->all = h->hidden + rows * h->width;
            rows += item->n;
            if (reads) *left -= item->n < *left ? item->n : *left;
        }
        if (fault->http == 0 && t->phase == LCSM_STREAM_DONE) end_stream(s, h, t);
    }
    return count;
}

static void to_the_end(lcsm_host *h, lcsm_stream *t)
{
    lcsm_stream **at = &h->running;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    while (*at != NULL) at = &(*at)->next;
    *at     = t;
    t->next = NULL;
}

static void took(lcsm_server *s, lcsm_host *h, lcsm_stream *t, const lcsm_slot_feed *item)
{
    bool reads = t->phase == LCSM_STREAM_READS;
    lcsm_stream_took(t, h, item);
    if (reads && t->phase == LCSM_STREAM_WRITES) admit_siblings(h, t);
    if (reads && t->phase == LCSM_STREAM_READS) to_the_end(h, t);
    if (t->phase == LCSM_STREAM_DONE) end_stream(s, h, t);
    else if (t->job->p.stream && t->job->fault.http == 0) lcsm_answer_piece(s, t);
}

static lcsm_status run_pass(lcsm_host *h, pass_kind kind, const lcsm_slot_feed *items, size_t count,
                            lcsm_error *err)
{
    if (count == 0) return LCSM_OK;
    if (kind == EMBED) return lcsm_slots_feed_hidden(h->set, items, count, err);
    return lcsm_slots_feed(h->set, items, count, err);
}

/* Feeds some of what was gathered, and hands on what came of it. A pass that is refused has changed
 * nothing: its streams are fed one by one, so that only the one that is wrong fails. */
static void feed(lcsm_server *s, lcsm_host *h, pass_kind kind, size_t from, size_t count)
{
    lcsm_error  err     = {0};
    lcsm_status st      = run_pass(h, kind, h->items + from, count, &err);
    bool        refused = st == LCSM_ERR_UNSUPPORTED || st == LCSM_ERR_ARGUMENT;
    for (size_t j = from; j < from + count; j++) {
        lcsm_stream *t = h->fed[j];
        if (refused && count > 1) feed(s, h, kind, j, 1);
        else if (st != LCSM_OK) (void)lcsm_fault_take(&t->job->fault, NULL, &err);
        else if (t->job->fault.http == 0) took(s, h, t, &h->items[j]);
    }
}

static bool writes_any(const lcsm_host *h)
{
    for (const lcsm_stream *t = h->running; t != NULL; t = t->next)
        if (t->phase != LCSM_STREAM_READS) return true;
    return false;
}

static void draw_one(void *arg, size_t i, int worker)
{
    const lcsm_host *h = arg;
    (void)worker;
    lcsm_stream_draw(h->fed[i], h);
}

/* Streams that write draw their tokens side by side: with a large vocabulary that takes a good part
 * of a round. */
static void draw_all(lcsm_host *h)
{
    size_t count = 0;
    for (lcsm_stream *t = h->running; t != NULL; t = t->next)
        if (t->phase == LCSM_STREAM_WRITES && t->job->fault.http == 0) h->fed[count++] = t;
    bool worth = count > 1 && count * h->vocab >= WORTH_THREADS;
    lcsm_parallel_for(worth ? h->m->model->ctx->pool : NULL, count, draw_one, h);
}

static void step(lcsm_server *s, lcsm_host *h)
{
    draw_all(h);
    size_t left = writes_any(h) ? BUSY_TOKENS : LCSM_SERVE_IDLE;
    for (pass_kind kind = WRITE; kind <= EMBED; kind++)
        feed(s, h, kind, 0, gather(s, h, kind, &left));
}

/* ---- jobs ------------------------------------------------------------------------------- */

/* New jobs, and what has become of clients. */
static void look_around(lcsm_server *s)
{
    double now = lcsm_now();
    lcsm_server_lock(s);
    lcsm_job **last = &s->jobs;
    while (*last != NULL) last = &(*last)->next;
    *last      = s->arrived;
    s->arrived = NULL;
    for (lcsm_job *job = s->jobs; job != NULL; job = job->next) {
        if (job->x != NULL && !job->answered && lcsm_http_gone(job->x)) job->fault.http = 499;
        if (job->x == NULL && !job->answered) job->fault.http = 499;
        if (job->begun && now > job->deadline)
            (void)lcsm_fault_set(&job->fault, 504, NULL, "timeout",
                                 "the request took longer than %.0f seconds", s->o.stream_seconds);
    }
    lcsm_server_unlock(s);
}

/* A job that has failed, or whose streams are done, is answered and leaves. */
static void reap(lcsm_server *s)
{
    size_t running = 0;
    for (lcsm_job **at = &s->jobs; *at != NULL;) {
        lcsm_job *job = *at;
        if (job->fault.http != 0) fail_job(job);
        running += job->running;
        if (job->done < job->count) {
            at = &job->next;
            continue;
        }
        begun(s, job);
        lcsm_answer_job(s, job);
        *at = job->next;
        lcsm_job_free(job);
    }
    lcsm_server_lock(s);
    s->counters.running = running;
    lcsm_server_unlock(s);
}

bool lcsm_engine_round(lcsm_server *s)
{
    look_around(s);
    reap(s);
    admit(s);
    for (size_t j = 0; j < s->o.model_count; j++) step(s, &s->hosts[j]);
    reap(s);
    return s->jobs != NULL;
}

void lcsm_engine_end(lcsm_server *s)
{
    look_around(s);
    for (lcsm_job *job = s->jobs; job != NULL; job = job->next)
        (void)lcsm_fault_set(&job->fault, 503, NULL, "stopping", "the server is stopping");
    reap(s);
}
