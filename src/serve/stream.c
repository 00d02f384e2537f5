/*
 * stream.c - one stream: reads its prompt in chunks, then writes token by token.
 *
 * Numbers are drawn by the seed, the place of the token and the choice, as lcsm_generate draws
 * them, so a text does not depend on what runs beside it, nor on whether it was continued from a
 * state.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/server.h"

/* ---- probabilities ---------------------------------------------------------------------- */

static double log_sum(const float *logits, size_t n)
{
    double most = -INFINITY, sum = 0;
    for (size_t v = 0; v < n; v++) most = fmax(most, (double)logits[v]);
    for (size_t v = 0; v < n; v++) sum += exp((double)logits[v] - most);
    return most + log(sum);
}

/* The most probable tokens to list, the first of equals first; returns how many they are. */
static size_t find_top(lcsm_likely *list, size_t most, const float *logits, size_t n)
{
    size_t count = 0;
    for (size_t v = 0; most > 0 && v < n; v++) {
        double z = (double)logits[v];
        if (count == most && z <= list[count - 1].logprob) continue;
        size_t at = count < most ? count++ : count - 1;
        for (; at > 0 && list[at - 1].logprob < z; at--) list[at] = list[at - 1];
        list[at] = (lcsm_likely){(int32_t)v, z};
    }
    return count;
}

static double bounded(double logprob)
{
    return logprob > -9999 ? logprob : -9999;
}

/* Where the next token begins: behind the whole characters of those before it. */
static void count_characters(lcsm_stream *t, const lcsm_host *h, int32_t token)
{
    enum { PIECE = 256 };
    char        out[3 * PIECE + LCSM_UTF8_REST];
    size_t      size  = 0;
    const char *piece = lcsm_host_piece(h, token, &size);
    for (size_t n; piece != NULL && size > 0; piece += n, size -= n) {
        n          = size < PIECE ? size : PIECE;
        size_t end = lcsm_utf8_push(&t->counter, piece, n, out);
        for (size_t j = 0; j < end; j++) t->offset += ((unsigned char)out[j] & 0xC0) != 0x80;
    }
}

/* Writes down a token of the text with its probability; without logits it is the first. */
static void score(lcsm_stream *t, const lcsm_host *h, const float *logits, int32_t token)
{
    lcsm_likely top[LCSM_REQUEST_TOP];
    lcsm_scored row = {.own    = {token, 0},
                       .first  = logits == NULL,
                       .offset = t->offset,
                       .from   = t->tops.size / sizeof top[0]};
    if (logits != NULL) {
        double whole    = log_sum(logits, h->vocab);
        row.top         = find_top(top, t->job->p.top, logits, h->vocab);
        row.own.logprob = bounded((double)logits[token] - whole);
        for (size_t j = 0; j < row.top; j++) top[j].logprob = bounded(top[j].logprob - whole);
        if (row.top > 0)
            lcsm_strbuf_bytes(&t->tops, (const char *)(const void *)top, row.top * sizeof top[0]);
    }
    lcsm_strbuf_bytes(&t->scored, (const char *)(const void *)&row, sizeof row);
    count_characters(t, h, token);
}

/* ---- beginning -------------------------------------------------------------------------- */

const char *lcsm_host_piece(const lcsm_host *h, int32_t token, size_t *size)
{
    *size = 1;
    if (h->m->lines && token == lcsm_tokenizer_eos(h->m->tok)) return "\n";
    return lcsm_tokenizer_piece(h->m->tok, token, size);
}

static bool put_text(void *user, const char *text, size_t size)
{
    lcsm_stream *t = user;
    lcsm_strbuf_bytes(&t->text, text, size);
    return true;
}

static bool prepare(lcsm_stream *t, const lcsm_host *h, lcsm_fault *fault)
{
    const lcsm_request *p   = &t->job->p;
    lcsm_error          err = {0};
    t->out    = (lcsm_outlet){.stop = (const char *const *)p->stop, .put = put_text, .user = t};
    t->tokens = calloc(p->max_tokens + 1, sizeof *t->tokens);
    t->sum    = calloc(h->width, sizeof *t->sum);
    if (t->tokens == NULL || t->sum == NULL)
        return lcsm_fault_set(fault, 503, NULL, NULL, "not enough memory for %zu tokens",
                              p->max_tokens);
    if (lcsm_sampler_create(&t->sampler, h->vocab, &p->sample, &err) == LCSM_OK) return true;
    return lcsm_fault_take(fault, NULL, &err);
}

/* Stop texts are looked for from here on. Without a text to write the stream ends. */
static void prompt_is_read(lcsm_stream *t)
{
    lcsm_outlet_end(&t->out);
    t->out.utf8       = (lcsm_utf8_stream){0};
    t->out.stop_count = t->job->p.stop_count;
    if (t->job->p.max_tokens > 0) {
        t->phase = LCSM_STREAM_WRITES;
        return;
    }
    t->finish = "length";
    t->phase  = LCSM_STREAM_DONE;
}

bool lcsm_stream_begin(lcsm_stream *t, lcsm_host *h, lcsm_fault *fault)
{
    const lcsm_request *p   = &t->job->p;
    lcsm_error          err = {0};
    if (!prepare(t, h, fault)) return false;
    if (lcsm_slots_open(h->set, &t->slot, &err) != LCSM_OK)
        return lcsm_fault_take(fault, NULL, &err);
    t->phase = LCSM_STREAM_READS;
    if (p->bytes == NULL
        || lcsm_slots_read_state(h->set, t->slot, p->bytes, p->byte_count, &err) == LCSM_OK)
        return true;
    return lcsm_fault_take(fault, "state", &err);
}

bool lcsm_stream_branch(lcsm_stream *t, lcsm_stream *from, lcsm_host *h, lcsm_fault *fault)
{
    lcsm_error err = {0};
    if (!prepare(t, h, fault)) return false;
    if (lcsm_slots_branch(h->set, from->slot, &t->slot, &err) != LCSM_OK)
        return lcsm_fault_take(fault, NULL, &err);
    prompt_is_read(t);
    t->read         = from->read;
    t->recent_count = from->recent_count;
    t->offset       = from->offset;
    t->counter      = from->counter;
    memcpy(t->recent, from->recent, sizeof t->recent);
    lcsm_strbuf_bytes(&t->text, lcsm_strbuf_text(&from->text), from->text.size);
    lcsm_strbuf_bytes(&t->scored, lcsm_strbuf_text(&from->scored), from->scored.size);
    lcsm_strbuf_bytes(&t->tops, lcsm_strbuf_text(&from->tops), from->tops.size);
    return true;
}

void lcsm_stream_free(lcsm_stream *t)
{
    lcsm_sampler_free(t->sampler);
    lcsm_outlet_free(&t->out);
    lcsm_strbuf_free(&t->text);
    lcsm_strbuf_free(&t->scored);
    lcsm_strbuf_free(&t->tops);
    free(t->tokens);
    free(t->sum);
}

/* ---- writing ---------------------------------------------------------------------------- */

/* Logits with what the request adds to them; the model's own where it adds nothing. */
static const float *adjusted(const lcsm_stream *t, const lcsm_host *h, const float *logits)
{
    const lcsm_request *p       = &t->job->p;
    float              *scratch = h->scratch + t->slot * h->vocab;
    uint8_t            *mark    = h->mark + t->slot * h->vocab;
    if (p->presence == 0 && p->frequency == 0 && p->bias_count == 0) return logits;
    memcpy(scratch, logits, h->vocab * sizeof *logits);
    for (size_t j = 0; j < p->bias_count; j++) scratch[p->bias[j].token] += (float)p->bias[j].by;
    for (size_t j = 0; j < t->written; j++) {
        int32_t v = t->tokens[j];
        scratch[v] -= (float)(p->frequency + (mark[v] ? 0 : p->presence));
        mark[v] = 1;
    }
    for (size_t j = 0; j < t->written; j++) mark[t->tokens[j]] = 0;
    return scratch;
}

static void remember(lcsm_stream *t, const int32_t *tokens, size_t n)
{
    for (size_t j = 0; j < n; j++) t->recent[t->recent_count++ % LCSM_SERVE_RECENT] = tokens[j];
}

/* The token that was drawn becomes text, or the end. */
static void write_token(lcsm_stream *t, const lcsm_host *h)
{
    const lcsm_request *p    = &t->job->p;
    size_t              size = 0;
    const char         *piece;
    t->tokens[t->written++] = t->token;
    t->job->reply_tokens++;
    if (t->job->first_token == 0) t->job->first_token = lcsm_now();
    bool over = t->token == h->end || (p->ask == LCSM_ASK_CHAT && t->token == h->over);
    if (over && !p->ignore_end) {
        t->finish = "stop";
    } else {
        piece = lcsm_host_piece(h, t->token, &size);
        if (piece != NULL) lcsm_outlet_push(&t->out, piece, size);
        if (t->out.stopped) t->finish = "stop";
        else if (t->written == p->max_tokens) t->finish = "length";
    }
    if (t->finish != NULL) t->phase = p->keep_state ? LCSM_STREAM_ENDS : LCSM_STREAM_DONE;
}

void lcsm_stream_draw(lcsm_stream *t, const lcsm_host *h)
{
    const lcsm_request *p      = &t->job->p;
    const float        *logits = lcsm_slots_logits(h->set, t->slot);
    uint64_t            index =
        lcsm_slots_position(h->set, t->slot) + ((uint64_t)(t->index % p->choices) << 40);
    size_t     recent = t->recent_count < LCSM_SERVE_RECENT ? t->recent_count : LCSM_SERVE_RECENT;
    lcsm_error err    = {0};
    t->drawn          = true;
    if (logits == NULL)
        (void)lcsm_fault_set(&t->fault, 400, "prompt", NULL, "there is nothing to continue");
    else if (lcsm_sampler_next(t->sampler, adjusted(t, h, logits), index, t->recent, recent,
                               &t->token, &err)
             != LCSM_OK)
        (void)lcsm_fault_take(&t->fault, NULL, &err);
    else {
        if (p->choices > p->shown)
            t->likely += (double)logits[t->token] - log_sum(logits, h->vocab);
        if (p->wants_logprobs) score(t, h, logits, t->token);
    }
}

/* The token that has been drawn, now at the latest, is written. */
static bool write_next(lcsm_stream *t, const lcsm_host *h, lcsm_fault *fault)
{
    if (!t->drawn) lcsm_stream_draw(t, h);
    t->drawn = false;
    if (t->fault.http == 0) write_token(t, h);
    else *fault = t->fault;
    return t->fault.http == 0;
}

/* ---- a round ---------------------------------------------------------------------------- */

/* The tokens of the prompt to be read next, whose number depends on nothing else. */
static size_t chunk_of(const lcsm_stream *t)
{
    size_t n = t->prompt->count, singly = t->job->p.singly, whole = singly < n ? n - singly : 0;
    if (t->read >= whole) return t->read < n ? 1 : 0;
    return whole - t->read < LCSM_SERVE_CHUNK ? whole - t->read : LCSM_SERVE_CHUNK;
}

bool lcsm_stream_next(lcsm_stream *t, lcsm_host *h, size_t rows, lcsm_slot_feed *item,
                      lcsm_fault *fault)
{
    const lcsm_request *p = &t->job->p;
    *item                 = (lcsm_slot_feed){.slot = t->slot};
    if (t->phase == LCSM_STREAM_READS && chunk_of(t) == 0) prompt_is_read(t);
    if (t->phase == LCSM_STREAM_WRITES && !write_next(t, h, fault)) return false;
    if (t->phase == LCSM_STREAM_WRITES || t->phase == LCSM_STREAM_ENDS) {
        item->tokens = &t->token;
        item->n      = 1;
        return true;
    }
    if (t->phase != LCSM_STREAM_READS || chunk_of(t) > rows) return false;
    item->tokens = t->prompt->ids + t->read;
    item->n      = chunk_of(t);
    if (p->echo && p->wants_logprobs && !t->prompt->implied) {
        item->all = h->all;
        score(t, h, lcsm_slots_logits(h->set, t->slot), item->tokens[0]);
    }
    return true;
}

/* What was read of the prompt, as a part of the text. */
static void echo(lcsm_stream *t, const lcsm_host *h, const lcsm_slot_feed *item)
{
    size_t size = 0;
    for (size_t j = 0; j < item->n && !t->prompt->implied; j++) {
        if (item->all != NULL && j > 0)
            score(t, h, item->all + (j - 1) * h->vocab, item->tokens[j]);
        const char *piece = lcsm_host_piece(h, item->tokens[j], &size);
        if (piece != NULL) lcsm_outlet_push(&t->out, piece, size);
    }
}

/* Prompt and text, which the kept state has read since its parent. */
static void list_tokens(const lcsm_stream *t, lcsm_state_facts *facts)
{
    size_t read = t->prompt->count, n = read + t->written;
    facts->tokens = n <= LCSM_STATE_TOKENS ? calloc(n + 1, sizeof *facts->tokens) : NULL;
    if (facts->tokens == NULL) return;
    facts->token_count  = n;
    facts->prompt_count = read - (t->job->p.singly < read ? t->job->p.singly : read);
    for (size_t j = 0; j < n; j++)
        facts->tokens[j] = j < read ? t->prompt->ids[j] : t->tokens[j - read];
}

static bool keep_state(lcsm_stream *t, lcsm_server *s, lcsm_host *h, lcsm_fault *fault)
{
    lcsm_state_facts facts = {.position = lcsm_slots_position(h->set, t->slot)};
    lcsm_error       err   = {0};
    void            *bytes = NULL;
    lcsm_status      st    = LCSM_OK;
    (void)snprintf(facts.model, sizeof facts.model, "%s", h->m->name);
    (void)snprintf(facts.parent, sizeof facts.parent, "%s", t->job->p.state);
    LCSM_TRY(lcsm_slots_write_state(h->set, t->slot, NULL, &facts.bytes, &err));
    bytes = malloc(facts.bytes);
    if (bytes == NULL)
        LCSM_TRY(lcsm_fail(&err, LCSM_ERR_MEMORY, "not enough memory to keep the state"));
    LCSM_TRY(lcsm_slots_write_state(h->set, t->slot, bytes, &facts.bytes, &err));
    list_tokens(t, &facts);
    LCSM_TRY(lcsm_state_store_put(s->states, &facts, bytes, &err));
    memcpy(t->state, facts.id, sizeof t->state);
cleanup:
    free(bytes);
    free(facts.tokens);
    return st == LCSM_OK || lcsm_fault_take(fault, "keep_state", &err);
}

/* Hidden states of an input, in the order of its tokens. */
static void add_hidden(lcsm_stream *t, const lcsm_host *h, const lcsm_slot_feed *item)
{
    for (size_t j = 0; j < item->n; j++)
        for (size_t d = 0; d < h->width; d++) t->sum[d] += (double)item->all[j * h->width + d];
}

void lcsm_stream_took(lcsm_stream *t, const lcsm_host *h, const lcsm_slot_feed *item)
{
    remember(t, item->tokens, item->n);
    if (t->phase == LCSM_STREAM_ENDS) t->phase = LCSM_STREAM_DONE;
    if (t->phase == LCSM_STREAM_READS) {
        if (t->job->p.ask == LCSM_ASK_EMBEDDING) add_hidden(t, h, item);
        if (t->job->p.echo) echo(t, h, item);
        else
            for (size_t j = 0; t->job->p.wants_logprobs && !t->prompt->implied && j < item->n; j++)
                count_characters(t, h, item->tokens[j]);
        t->read += item->n;
        if (t->read == t->prompt->count) prompt_is_read(t);
    }
}

bool lcsm_stream_end(lcsm_stream *t, lcsm_server *s, lcsm_host *h, lcsm_fault *fault)
{
    lcsm_outlet_end(&t->out);
    if (t->out.stopped) t->finish = "stop";
    return !t->job->p.keep_state || keep_state(t, s, h, fault);
}
