/*
 * answer.c - what a job sends: one document, or events while it runs.
 *
 * A text is sent in whole characters. Log-probabilities come with the event of their token, whether
 * its characters are whole yet or not.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "format/json_scan.h"
#include "serve/base64.h"
#include "serve/server.h"

/* ---- tokens ----------------------------------------------------------------------------- */

json_t *lcsm_token_text(const lcsm_host *h, int32_t token)
{
    size_t      size  = 0;
    const char *piece = lcsm_host_piece(h, token, &size);
    lcsm_strbuf s     = {0};
    if (piece == NULL) lcsm_strbuf_printf(&s, "<%d>", (int)token);
    else if (lcsm_utf8_check(piece, size) == size) lcsm_strbuf_bytes(&s, piece, size);
    else
        for (size_t j = 0; j < size; j++)
            lcsm_strbuf_printf(&s, "%s\\x%02x", j == 0 ? "bytes:" : "", (unsigned char)piece[j]);
    json_t *text = json_stringn(lcsm_strbuf_text(&s), s.size);
    lcsm_strbuf_free(&s);
    return text;
}

static json_t *token_bytes(const lcsm_host *h, int32_t token)
{
    size_t      size  = 0;
    const char *piece = lcsm_host_piece(h, token, &size);
    json_t     *list  = json_array();
    for (size_t j = 0; piece != NULL && j < size; j++)
        (void)json_array_append_new(list, json_integer((unsigned char)piece[j]));
    return list;
}

static const lcsm_likely *top_of(const lcsm_stream *t, const lcsm_scored *row)
{
    return (const lcsm_likely *)(const void *)t->tops.text + row->from;
}

/* The probable tokens, and the token itself if it is not one of them. */
static json_t *top_object(const lcsm_stream *t, const lcsm_scored *row)
{
    const lcsm_host   *h   = t->job->host;
    const lcsm_likely *top = top_of(t, row);
    json_t            *all = json_object();
    for (size_t j = 0; j <= row->top; j++) {
        const lcsm_likely *one  = j < row->top ? &top[j] : &row->own;
        json_t            *text = lcsm_token_text(h, one->token);
        if (json_object_getn(all, json_string_value(text), json_string_length(text)) == NULL)
            (void)json_object_setn_new(all, json_string_value(text), json_string_length(text),
                                       json_real(one->logprob));
        json_decref(text);
    }
    return all;
}

/* {"tokens", "token_logprobs", "top_logprobs", "text_offset"} */
static json_t *completion_logprobs(const lcsm_stream *t)
{
    const lcsm_scored *rows   = (const lcsm_scored *)(const void *)t->scored.text;
    size_t             count  = t->scored.size / sizeof *rows;
    bool               tops   = t->job->p.top > 0;
    json_t            *tokens = json_array(), *logprobs = json_array(), *top = json_array(),
           *offsets = json_array();
    for (size_t j = 0; j < count; j++) {
        const lcsm_scored *row = &rows[j];
        (void)json_array_append_new(tokens, lcsm_token_text(t->job->host, row->own.token));
        (void)json_array_append_new(logprobs,
                                    row->first ? json_null() : json_real(row->own.logprob));
        (void)json_array_append_new(top, row->first || !tops ? json_null() : top_object(t, row));
        (void)json_array_append_new(offsets, json_integer((json_int_t)row->offset));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens, "token_logprobs", logprobs,
                     "top_logprobs", top, "text_offset", offsets);
}

static json_t *chat_token(const lcsm_host *h, const lcsm_likely *one)
{
    return json_pack("{s:o, s:f, s:o}", "token", lcsm_token_text(h, one->token), "logprob",
                     one->logprob, "bytes", token_bytes(h, one->token));
}

/* {"content": [{"token", "logprob", "bytes", "top_logprobs"}]} */
static json_t *chat_logprobs(const lcsm_stream *t)
{
    const lcsm_scored *rows  = (const lcsm_scored *)(const void *)t->scored.text;
    size_t             count = t->scored.size / sizeof *rows;
    json_t            *list  = json_array();
    for (size_t j = 0; j < count; j++) {
        json_t *row = chat_token(t->job->host, &rows[j].own), *top = json_array();
        for (size_t k = 0; k < rows[j].top; k++)
            (void)json_array_append_new(top, chat_token(t->job->host, &top_of(t, &rows[j])[k]));
        (void)json_object_set_new(row, "top_logprobs", top);
        (void)json_array_append_new(list, row);
    }
    return json_pack("{s:o}", "content", list);
}

static json_t *logprobs_of(const lcsm_stream *t)
{
    if (!t->job->p.wants_logprobs) return json_null();
    return t->job->p.ask == LCSM_ASK_CHAT ? chat_logprobs(t) : completion_logprobs(t);
}

/* ---- choices ---------------------------------------------------------------------------- */

static json_t *text_of(const lcsm_stream *t)
{
    return json_stringn(lcsm_strbuf_text(&t->text), t->text.size);
}

/* The place of the text differs: {"text"}, {"message": {...}} or {"delta": {...}}. */
static void put_content(json_t *choice, const lcsm_stream *t)
{
    const lcsm_request *p = &t->job->p;
    if (p->ask != LCSM_ASK_CHAT) {
        (void)json_object_set_new(choice, "text", text_of(t));
        return;
    }
    json_t *message = json_object();
    if (!p->stream || !t->greeted)
        (void)json_object_set_new(message, "role", json_string("assistant"));
    if (!p->stream || t->text.size > 0 || !t->greeted)
        (void)json_object_set_new(message, "content", text_of(t));
    (void)json_object_set_new(choice, p->stream ? "delta" : "message", message);
}

static json_t *choice_of(const lcsm_stream *t, size_t index, bool end)
{
    json_t *choice = json_pack("{s:I}", "index", (json_int_t)index);
    put_content(choice, t);
    (void)json_object_set_new(choice, "logprobs", logprobs_of(t));
    (void)json_object_set_new(choice, "finish_reason", end ? json_string(t->finish) : json_null());
    if (t->state[0] != '\0') (void)json_object_set_new(choice, "state", json_string(t->state));
    return choice;
}

static double mean_likely(const lcsm_stream *t)
{
    return t->likely / (double)(t->written > 0 ? t->written : 1);
}

/* The text with the most probable tokens that has not been taken yet, the first of equals; there is
 * one. */
static lcsm_stream *most_probable(lcsm_stream *list, size_t count)
{
    size_t best = 0;
    while (best + 1 < count && list[best].chosen) best++;
    for (size_t j = best + 1; j < count; j++)
        if (!list[j].chosen && mean_likely(&list[j]) > mean_likely(&list[best])) best = j;
    list[best].chosen = true;
    return &list[best];
}

/* All texts of a prompt in their order, or the best of them, the most probable one first. */
static void add_choices(json_t *choices, const lcsm_job *job, size_t prompt)
{
    const lcsm_request *p    = &job->p;
    lcsm_stream        *list = &job->streams[prompt * p->choices];
    for (size_t j = 0; j < p->shown; j++) {
        const lcsm_stream *t = p->shown < p->choices ? most_probable(list, p->choices) : &list[j];
        (void)json_array_append_new(choices, choice_of(t, prompt * p->shown + j, true));
    }
}

static json_t *usage_of(const lcsm_job *job)
{
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)job->prompt_tokens,
                     "completion_tokens", (json_int_t)job->reply_tokens, "total_tokens",
                     (json_int_t)job->prompt_tokens + (json_int_t)job->reply_tokens);
}

/* Every event of a stream that ends with its usage has the member, null until then. */
static json_t *frame_of(const lcsm_job *job, json_t *choices)
{
    bool        chat = job->p.ask == LCSM_ASK_CHAT;
    const char *kind = !chat         ? "text_completion"
                     : job->p.stream ? "chat.completion.chunk"
                                     : "chat.completion";
    json_t     *all  = json_pack("{s:s, s:s, s:I, s:s, s:I, s:o}", "id", job->id, "object", kind,
                                 "created", (json_int_t)job->created, "model", job->host->m->name,
                                 "seed", (json_int_t)job->p.sample.seed, "choices", choices);
    if (job->p.stream && job->p.usage) (void)json_object_set_new(all, "usage", json_null());
    return all;
}

/* ---- embeddings ------------------------------------------------------------------------- */

/* The mean of the hidden states, or the first numbers of it; of length 1 if that is asked for. */
static void mean_of(float *out, size_t n, const lcsm_stream *t)
{
    double length = 0, count = (double)t->prompt->count;
    for (size_t d = 0; d < n; d++) length += t->sum[d] / count * (t->sum[d] / count);
    double by = t->job->p.normalize && length > 0 ? 1 / sqrt(length) : 1;
    for (size_t d = 0; d < n; d++) out[d] = (float)(t->sum[d] / count * by);
}

static json_t *numbers_of(const float *x, size_t n, bool base64)
{
    lcsm_strbuf text = {0};
    json_t     *out  = base64 ? NULL : json_array();
    if (base64) {
        lcsm_base64_add(&text, x, n * sizeof *x);
        out = json_stringn(lcsm_strbuf_text(&text), text.size);
    }
    for (size_t d = 0; !base64 && d < n; d++) (void)json_array_append_new(out, json_real(x[d]));
    lcsm_strbuf_free(&text);
    return out;
}

static json_t *embedding_of(const lcsm_stream *t)
{
    const lcsm_request *p = &t->job->p;
    size_t              n = p->dimensions > 0 ? p->dimensions : t->job->host->width;
    float              *x = calloc(n, sizeof *x);
    if (x == NULL) return NULL;
    mean_of(x, n, t);
    json_t *list = numbers_of(x, n, p->base64);
    free(x);
    return json_pack("{s:s, s:I, s:o}", "object", "embedding", "index", (json_int_t)t->index,
                     "embedding", list);
}

static json_t *embeddings_of(const lcsm_job *job)
{
    json_t    *list = json_array();
    json_int_t read = (json_int_t)job->prompt_tokens;
    for (size_t j = 0; j < job->count; j++)
        (void)json_array_append_new(list, embedding_of(&job->streams[j]));
    if (json_array_size(list) < job->count) { /* no memory */
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:s, s:{s:I, s:I}}", "object", "list", "data", list, "model",
                     job->host->m->name, "usage", "prompt_tokens", read, "total_tokens", read);
}

/* ---- sending ---------------------------------------------------------------------------- */

/* With the lock held. */
static void send_event(lcsm_server *s, const lcsm_job *job, json_t *document)
{
    char *text = document != NULL ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (job->x != NULL && text != NULL) {
        lcsm_strbuf_printf(&job->x->out, "data: %s\n\n", text);
        lcsm_http_wake(s->http, job->x);
    }
    free(text);
}

static void sent(lcsm_stream *t)
{
    t->greeted   = true;
    t->text.size = t->scored.size = t->tops.size = 0;
}

void lcsm_answer_piece(lcsm_server *s, lcsm_stream *t)
{
    lcsm_job *job = t->job;
    bool      end = t->phase == LCSM_STREAM_DONE;
    if (!end && t->text.size == 0 && t->scored.size == 0) return;
    json_t *choices  = json_pack("[o]", choice_of(t, t->index, end));
    json_t *document = choices != NULL ? frame_of(job, choices) : NULL;
    lcsm_server_lock(s);
    send_event(s, job, document);
    lcsm_server_unlock(s);
    sent(t);
}

static json_t *fault_document(const lcsm_fault *f)
{
    const char *type = f->http >= 500 ? "server_error"
                     : f->http == 429 ? "rate_limit_error"
                     : f->http == 401 ? "authentication_error"
                                      : "invalid_request_error";
    return json_pack("{s:{s:s, s:s, s:s?, s:s?}}", "error", "message", f->text, "type", type,
                     "param", f->param[0] != '\0' ? f->param : NULL, "code", f->code);
}

/* The last events of a job that streams, with the lock held. */
static void end_events(lcsm_server *s, lcsm_job *job)
{
    if (job->fault.http != 0) {
        send_event(s, job, fault_document(&job->fault));
    } else if (job->p.usage) {
        json_t *last = frame_of(job, json_array());
        (void)json_object_set_new(last, "usage", usage_of(job));
        send_event(s, job, last);
    }
    lcsm_strbuf_add(&job->x->out, "data: [DONE]\n\n");
    job->x->ended = true;
    lcsm_http_wake(s->http, job->x);
}

static json_t *whole_document(lcsm_server *s, const lcsm_job *job)
{
    if (job->p.ask == LCSM_ASK_EMBEDDING) return embeddings_of(job);
    json_t *choices = json_array();
    if (job->p.ask == LCSM_ASK_STATE) {
        lcsm_state_facts facts = {0};
        json_decref(choices);
        if (lcsm_state_store_get(s->states, job->streams[0].state, &facts, NULL, NULL) != LCSM_OK)
            return NULL;
        free(facts.tokens);
        return lcsm_state_json(&facts);
    }
    for (size_t j = 0; j < job->p.prompt_count; j++) add_choices(choices, job, j);
    json_t *all = frame_of(job, choices);
    (void)json_object_set_new(all, "usage", usage_of(job));
    return all;
}

void lcsm_answer_fault(lcsm_exchange *x, const lcsm_fault *fault)
{
    if (fault->http == 401) lcsm_http_answer_header(x, "WWW-Authenticate", "Bearer");
    if (fault->http == 429 || fault->http == 503) lcsm_http_answer_header(x, "Retry-After", "2");
    lcsm_answer_json(x, fault->http, fault_document(fault));
}

void lcsm_answer_json(lcsm_exchange *x, int status, json_t *document)
{
    char *text = document != NULL ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    x->status   = text != NULL ? status : 503;
    x->type     = "application/json";
    x->out.size = 0;
    lcsm_strbuf_printf(&x->out, "%s\n",
                       text != NULL ? text : "{\"error\": {\"message\": \"not enough memory\"}}");
    x->ended = true;
    free(text);
}

static void count_job(lcsm_server *s, const lcsm_job *job)
{
    lcsm_counters *c   = &s->counters;
    double         now = lcsm_now();
    c->jobs++;
    c->job_seconds += now - job->arrived;
    c->prompt_tokens += job->prompt_tokens;
    c->reply_tokens += job->reply_tokens;
    c->cancelled += job->fault.http == 499;
    if (job->first_token > 0) {
        c->first_tokens++;
        c->first_token_seconds += job->first_token - job->arrived;
    }
}

void lcsm_answer_job(lcsm_server *s, lcsm_job *job)
{
    bool    whole    = job->fault.http == 0 && !job->p.stream && !job->answered;
    json_t *document = whole ? whole_document(s, job) : NULL;
    lcsm_server_lock(s);
    count_job(s, job);
    job->answered = true;
    if (job->x != NULL) {
        if (job->p.stream) end_events(s, job);
        else if (job->fault.http != 0) lcsm_answer_fault(job->x, &job->fault);
        else lcsm_answer_json(job->x, 200, document);
        document = NULL;
        lcsm_http_wake(s->http, job->x);
        job->x->job = NULL;
        job->x      = NULL;
    }
    lcsm_server_unlock(s);
    json_decref(document);
}
