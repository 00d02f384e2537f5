/*
 * serve/server.h - the inside of a server: models with their running streams, jobs, counters.
 *
 * A request for text is a job of one or more streams: a choice of a prompt each. Threads of the
 * HTTP library make jobs and put them into `arrived`; from then on they belong to the engine, which
 * is the thread that called lcsm_serve. The lock guards `arrived`, the counters, all exchanges and
 * the link between a job and its exchange, which is cut when the client goes.
 */
#ifndef LCSM_SERVE_SERVER_H
#define LCSM_SERVE_SERVER_H
#include <lcsm/generate.h>
#include <lcsm/slots.h>

#include "infer/text.h"
#include "serve/http.h"
#include "serve/request.h"
#include "serve/state_store.h"

enum {
    LCSM_SERVE_CHUNK = 64, /* prompt tokens of a stream that are read at once: always cut so, or
                              results would depend on what else runs */
    LCSM_SERVE_IDLE = 8 * LCSM_SERVE_CHUNK, /* prompt tokens of a round in which none is written */
    LCSM_SERVE_RECENT = 64,                 /* tokens that a repetition penalty sees */
};

typedef enum {
    LCSM_STREAM_WAITS,  /* for a slot */
    LCSM_STREAM_READS,  /* its prompt */
    LCSM_STREAM_WRITES, /* its text */
    LCSM_STREAM_ENDS,   /* reads its last token */
    LCSM_STREAM_DONE,
} lcsm_stream_phase;

/* A token with its log-probability. */
typedef struct {
    int32_t token;
    double  logprob;
} lcsm_likely;

/* A token of the text, and the most probable ones in its place: `top` of them in a list. */
typedef struct {
    lcsm_likely own;
    bool        first; /* nothing stands before it: it has no probability */
    size_t      offset, top, from;
} lcsm_scored;

typedef struct lcsm_stream {
    struct lcsm_job    *job;
    struct lcsm_stream *next; /* of the host */
    const lcsm_prompt  *prompt;
    size_t              index; /* of the choice in the answer */
    lcsm_stream_phase   phase;
    size_t              slot, read, written;
    int32_t             token;  /* to be read next */
    bool                drawn;  /* it is, in this round */
    lcsm_fault          fault;  /* of drawing it */
    int32_t            *tokens; /* written, for penalties and the kept state; as many as may be */
    int32_t             recent[LCSM_SERVE_RECENT];
    size_t              recent_count;
    lcsm_sampler       *sampler;
    lcsm_outlet         out;
    lcsm_strbuf         text; /* not sent yet */
    lcsm_utf8_stream    counter;
    size_t              offset;       /* characters so far */
    double              likely;       /* sum of log-probabilities, where the best is chosen */
    bool                chosen;       /* it is one of the best */
    lcsm_strbuf         scored, tops; /* lcsm_scored, lcsm_likely: not sent yet */
    double             *sum;          /* (D): of hidden states, for an embedding */
    bool                greeted;      /* the first piece has been sent */
    const char         *finish;       /* "stop" or "length"; NULL: not yet */
    char                state[LCSM_STATE_ID]; /* kept; "": none */
} lcsm_stream;

typedef struct lcsm_host {
    const lcsm_serve_model *m;
    size_t                  vocab;
    int32_t                 end;  /* the token that ends a text; -1: none */
    int32_t                 over; /* the one that ends a reply of a conversation; -1: none */
    lcsm_slots             *set;
    size_t                  slots;
    lcsm_stream            *running; /* a list */
    lcsm_slot_feed         *items;   /* of a round */
    lcsm_stream           **fed;     /* the stream of each */
    float                  *scratch; /* (slots, V) */
    float                  *all;     /* (LCSM_SERVE_CHUNK, V) */
    float                  *hidden;  /* (LCSM_SERVE_IDLE, D) */
    size_t                  width;   /* D, of a hidden state */
    uint8_t                *mark;    /* (slots, V), zero between uses */
    json_t                 *view; /* of its memory, when it has been asked for; under `looking` */
} lcsm_host;

typedef struct lcsm_job {
    struct lcsm_job *next;
    lcsm_exchange   *x; /* NULL: the client has gone */
    lcsm_request     p;
    lcsm_host       *host;
    lcsm_stream     *streams;
    size_t           count, running, done;
    bool             begun, answered;
    char             id[48];
    double           arrived, deadline, first_token;
    int64_t          created;
    size_t           prompt_tokens, reply_tokens;
    lcsm_fault       fault;
} lcsm_job;

/* Counters of /metrics. */
typedef struct {
    uint64_t requests[6]; /* by the first digit of the status */
    uint64_t prompt_tokens, reply_tokens, cancelled, refused_full;
    double   first_token_seconds, job_seconds; /* sums */
    uint64_t first_tokens, jobs;
    size_t   waiting, running; /* jobs that wait for a slot; streams that have one */
} lcsm_counters;

typedef struct lcsm_server {
    lcsm_serve_options o;
    pthread_mutex_t    lock;
    pthread_cond_t     work;
    pthread_mutex_t    looking; /* one inspection at a time */
    lcsm_http         *http;
    lcsm_host         *hosts; /* as o.models */
    lcsm_state_store  *states;
    lcsm_job          *arrived, *jobs; /* in the order of arrival; jobs: the engine's own */
    lcsm_counters      counters;
    uint64_t           job_number;
    double             started;
    size_t             handled; /* exchanges that have not been done with yet */
    bool               stopping;
} lcsm_server;

static inline void lcsm_server_lock(lcsm_server *s)
{
    (void)pthread_mutex_lock(&s->lock);
}

static inline void lcsm_server_unlock(lcsm_server *s)
{
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- routes.c: what a request is answered with ---- */

lcsm_http_fn lcsm_route_begin, lcsm_route, lcsm_route_done; /* user: the server */

/* Ends an exchange with a fault. */
void lcsm_answer_fault(lcsm_exchange *x, const lcsm_fault *fault);
/* Ends it with a document, which it takes; NULL is a lack of memory. */
void lcsm_answer_json(lcsm_exchange *x, int status, json_t *document);

/* A token as a text: one that is a part of a character as its bytes. */
json_t *lcsm_token_text(const lcsm_host *h, int32_t token);

/* ---- job.c ---- */

/* A job for the request, which takes *p, or a fault. */
bool lcsm_job_submit(lcsm_server *s, lcsm_exchange *x, lcsm_request *p, lcsm_fault *fault);
void lcsm_job_free(lcsm_job *job);

/* ---- stream.c: one stream, on the engine's thread ---- */

bool lcsm_stream_begin(lcsm_stream *t, lcsm_host *h, lcsm_fault *fault);

/* Continues where another stream has just read the same prompt. */
bool lcsm_stream_branch(lcsm_stream *t, lcsm_stream *from, lcsm_host *h, lcsm_fault *fault);

/* Draws the next token of a stream that writes. Several streams may do so at once. */
void lcsm_stream_draw(lcsm_stream *t, const lcsm_host *h);

/* What it reads next into *item, whose `all` is set if logits behind each token are wanted: at
 * most `rows`. False: nothing in this round. */
bool lcsm_stream_next(lcsm_stream *t, lcsm_host *h, size_t rows, lcsm_slot_feed *item,
                      lcsm_fault *fault);

/* The item has been read. */
void lcsm_stream_took(lcsm_stream *t, const lcsm_host *h, const lcsm_slot_feed *item);

/* The stream is done: its last text, and its state if that is to be kept. */
bool lcsm_stream_end(lcsm_stream *t, lcsm_server *s, lcsm_host *h, lcsm_fault *fault);
void lcsm_stream_free(lcsm_stream *t);

/* The text that a token stands for, *size bytes; NULL: none. */
const char *lcsm_host_piece(const lcsm_host *h, int32_t token, size_t *size);

/* ---- answer.c: what a job sends, on the engine's thread ---- */

void lcsm_answer_piece(lcsm_server *s, lcsm_stream *t); /* what is new, of a job that streams */
void lcsm_answer_job(lcsm_server *s, lcsm_job *job);    /* the end: all text, or a fault */

/* ---- engine.c ---- */

/* One round of all models; false: nothing was to be done. */
bool lcsm_engine_round(lcsm_server *s);
void lcsm_engine_end(lcsm_server *s); /* all jobs fail */

#endif
