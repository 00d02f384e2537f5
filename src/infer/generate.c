/*
 * generate.c - the loop from logits to text.
 *
 * Bytes of tokens pass through two gates before they are handed out: one holds back the beginning
 * of a character, the other the beginning of a stop text.
 */
#include <lcsm/generate.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "infer/session.h"
#include "kernel/context.h"
#include "model/model_weights.h"

/* ---- the way out ------------------------------------------------------------------------ */

typedef struct {
    const lcsm_generate_options *opt;
    lcsm_branch_fn              *put;
    void                        *user;
    size_t                       branch;
    lcsm_utf8_stream             utf8;
    lcsm_strbuf                  piece; /* room for the characters of a token */
    lcsm_strbuf                  held;  /* characters that may begin a stop text */
    bool                         stopped, refused;
} outlet;

/* The first place in the text where a stop text stands, or its size. */
static size_t find_stop(const outlet *o, const char *text, size_t size)
{
    size_t first = size;
    for (size_t j = 0; j < o->opt->stop_count; j++) {
        size_t n = strlen(o->opt->stop[j]);
        for (size_t at = 0; n > 0 && at < first && at + n <= size; at++)
            if (memcmp(text + at, o->opt->stop[j], n) == 0) first = at;
    }
    return first;
}

/* How many bytes at the end of the text begin a stop text. */
static size_t may_stop(const outlet *o, const char *text, size_t size)
{
    size_t most = 0;
    for (size_t j = 0; j < o->opt->stop_count; j++) {
        size_t n = strlen(o->opt->stop[j]);
        for (size_t k = n < size ? n : size; k > most; k--)
            if (memcmp(text + size - k, o->opt->stop[j], k) == 0) most = k;
    }
    return most;
}

static void hand_out(outlet *o, size_t size)
{
    if (size > 0 && !o->refused) o->refused = !o->put(o->user, o->branch, o->held.text, size);
    memmove(o->held.text, o->held.text + size, o->held.size - size);
    o->held.size -= size;
}

/* Whole characters, from the first gate to the second. */
static void pass(outlet *o, const char *text, size_t size)
{
    lcsm_strbuf_bytes(&o->held, text, size);
    if (size == 0 || o->held.failed) return;
    size_t stop = find_stop(o, o->held.text, o->held.size);
    if (stop < o->held.size) {
        hand_out(o, stop);
        o->held.size = 0;
        o->stopped   = true;
        return;
    }
    hand_out(o, o->held.size - may_stop(o, o->held.text, o->held.size));
}

/* Makes `piece` at least so large. */
static bool room(lcsm_strbuf *s, size_t size)
{
    static const char zeros[256] = {0};
    s->size                      = 0;
    while (!s->failed && s->capacity <= size) lcsm_strbuf_bytes(s, zeros, sizeof zeros);
    return !s->failed;
}

static void push(outlet *o, const char *bytes, size_t size)
{
    if (!room(&o->piece, 3 * size + LCSM_UTF8_REST)) return;
    pass(o, o->piece.text, lcsm_utf8_push(&o->utf8, bytes, size, o->piece.text));
}

/* What was held back comes out when nothing can follow. */
static void drain(outlet *o)
{
    if (o->stopped || !room(&o->piece, LCSM_UTF8_REST)) return;
    pass(o, o->piece.text, lcsm_utf8_end(&o->utf8, o->piece.text));
    if (o->held.size > 0) hand_out(o, o->held.size);
}

/* ---- the loop --------------------------------------------------------------------------- */

/* Recent tokens, in any order. */
static size_t recent_count(const lcsm_session *s)
{
    return s->position < LCSM_SESSION_RECENT ? (size_t)s->position : LCSM_SESSION_RECENT;
}

static lcsm_status check_single(const lcsm_session *s, lcsm_error *err)
{
    if (s->batch == 1) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a session of %zu sequences; expected one of 1",
                     s->batch);
}

static lcsm_status check(const lcsm_session *s, const lcsm_tokenizer *tok, lcsm_error *err)
{
    if (lcsm_tokenizer_vocab(tok) > s->vocab)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the tokenizer has %zu tokens, but the model has %zu",
                         lcsm_tokenizer_vocab(tok), s->vocab);
    return LCSM_OK;
}

/* Ids on their way from the encoder to the session, which takes many at once better than few. */
typedef struct {
    lcsm_session *s;
    int32_t       ids[256];
    size_t        count;
} reader;

static lcsm_status flush(reader *r, lcsm_error *err)
{
    size_t count = r->count;
    r->count     = 0;
    return lcsm_session_feed(r->s, r->ids, count, NULL, err);
}

static lcsm_status read_ids(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    reader *r = user;
    for (size_t j = 0; j < count; j++) {
        r->ids[r->count++] = ids[j];
        lcsm_status st     = r->count == COUNT(r->ids) ? flush(r, err) : LCSM_OK;
        if (st != LCSM_OK) return st;
    }
    return LCSM_OK;
}

/* Lines, each followed by the token that ends it; what stands behind the last one is a beginning.
 */
static lcsm_status read_lines(lcsm_encoder *encoder, reader *r, int32_t end, const char *text,
                              size_t size, lcsm_error *err)
{
    const char *line;
    lcsm_status st = LCSM_OK;
    while (end >= 0 && (line = memchr(text, '\n', size)) != NULL) {
        size_t here = (size_t)(line - text);
        LCSM_OR_RETURN(lcsm_encoder_feed(encoder, text, here, err));
        LCSM_OR_RETURN(lcsm_encoder_finish(encoder, err));
        LCSM_OR_RETURN(read_ids(r, &end, 1, err));
        text += here + 1;
        size -= here + 1;
    }
    LCSM_OR_RETURN(lcsm_encoder_feed(encoder, text, size, err));
    LCSM_OR_RETURN(lcsm_encoder_finish(encoder, err));
    return st;
}

lcsm_status lcsm_generate_prompt(lcsm_session *s, const lcsm_tokenizer *tok,
                                 const lcsm_generate_options *options, const char *text,
                                 size_t size, lcsm_error *err)
{
    lcsm_generate_options own;
    lcsm_encoder         *encoder = NULL;
    reader                r       = {.s = s};
    int32_t               start   = lcsm_tokenizer_start(tok);
    lcsm_status           st;
    LCSM_TRY(check_single(s, err));
    LCSM_TRY(check(s, tok, err));
    LCSM_TRY(LCSM_TAKE(lcsm_generate_options, lines, &own, options, err));
    int32_t end = own.lines ? lcsm_tokenizer_eos(tok) : -1;
    LCSM_TRY(lcsm_encoder_create(&encoder, tok, LCSM_ENCODE_SPECIAL | LCSM_ENCODE_SKIP, read_ids,
                                 &r, err));
    LCSM_TRY(read_lines(encoder, &r, end, text, size, err));
    LCSM_TRY(flush(&r, err));
    if (lcsm_encoder_skipped(encoder) > 0)
        lcsm_log(&s->model->ctx->log, LCSM_LOG_WARNING,
                 "skipped %llu bytes of the prompt that the vocabulary has no tokens for",
                 (unsigned long long)lcsm_encoder_skipped(encoder));
    if (s->position == 0) LCSM_TRY(lcsm_session_feed(s, &start, 1, NULL, err));
cleanup:
    lcsm_encoder_free(encoder);
    return st;
}

/* The token that ends a text: the model's own if it has one, or the tokenizer's. */
static int32_t end_of(const lcsm_session *s, const lcsm_tokenizer *tok, bool lines)
{
    ptrdiff_t own = s->model->cfg.eos_token_id;
    return own >= 0 && !lines ? (int32_t)own : lcsm_tokenizer_eos(tok);
}

/* A sequence on its way to text. */
typedef struct {
    outlet            out;
    lcsm_generate_end end;
    int32_t           token; /* the last one */
} branch;

static bool goes_on(const branch *b)
{
    uint64_t most = b->out.opt->tokens;
    return b->end.reason == LCSM_END_TOKENS && (most == 0 || b->end.tokens < most);
}

/* Numbers are drawn by branch and place, so those of the first are the ones it would draw alone. */
static lcsm_status draw(const lcsm_session *s, lcsm_sampler *sampler, size_t j, branch *b,
                        lcsm_error *err)
{
    uint64_t index = s->position + ((uint64_t)j << 40);
    return lcsm_sampler_next(sampler, s->logits + j * s->vocab, index, lcsm_session_recent(s, j, 0),
                             recent_count(s), &b->token, err);
}

/* The text of the token that was drawn, handed on. */
static lcsm_status hand_on(const lcsm_session *s, const lcsm_tokenizer *tok, branch *b,
                           lcsm_error *err)
{
    outlet *o    = &b->out;
    size_t  size = 0;
    bool    ends = b->token == end_of(s, tok, o->opt->lines);
    b->end.tokens++;
    if (ends && !o->opt->ignore_end && !o->opt->lines) {
        b->end.reason = LCSM_END_OF_TEXT;
        return LCSM_OK;
    }
    const char *bytes = lcsm_tokenizer_piece(tok, b->token, &size);
    if (ends && o->opt->lines) push(o, "\n", 1);
    else if (bytes != NULL) push(o, bytes, size);
    if (o->piece.failed || o->held.failed)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the text of a token");
    if (o->stopped) b->end.reason = LCSM_END_STOP;
    if (o->refused) b->end.reason = LCSM_END_CALLER;
    return LCSM_OK;
}

/* One token of every sequence. Those that have ended read their last one again: a session reads
 * all of its sequences at once. */
static lcsm_status step(lcsm_session *s, const lcsm_tokenizer *tok, lcsm_sampler *sampler,
                        branch *list, int32_t *tokens, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < s->batch; j++) {
        if (goes_on(&list[j])) LCSM_OR_RETURN(draw(s, sampler, j, &list[j], err));
        tokens[j] = list[j].token;
    }
    LCSM_OR_RETURN(lcsm_session_feed(s, tokens, 1, NULL, err));
    for (size_t j = 0; j < s->batch; j++)
        if (goes_on(&list[j])) LCSM_OR_RETURN(hand_on(s, tok, &list[j], err));
    return st;
}

static bool any_goes_on(const branch *list, size_t count)
{
    for (size_t j = 0; j < count; j++)
        if (goes_on(&list[j])) return true;
    return false;
}

/* Results, an array of the caller's structs, each as large as it says. */
static void report(lcsm_generate_end *results, const branch *list, size_t count)
{
    char *to = (char *)results;
    for (size_t j = 0; results != NULL && j < count; j++) {
        lcsm_generate_end *r = (lcsm_generate_end *)(void *)to;
        to += r->size;
        lcsm_sized_fill(r, &list[j].end, sizeof list[j].end);
    }
}

static void start(branch *list, const lcsm_session *s, const lcsm_generate_options *opt,
                  lcsm_branch_fn *put, void *user)
{
    for (size_t j = 0; j < s->batch; j++)
        list[j] = (branch){.out   = {.opt = opt, .put = put, .user = user, .branch = j},
                           .end   = {.size = sizeof list[j].end, .reason = LCSM_END_TOKENS},
                           .token = *lcsm_session_recent(s, j, s->position - 1)};
}

static void finish(branch *list, size_t count, lcsm_status st)
{
    for (size_t j = 0; list != NULL && j < count; j++) {
        outlet *o = &list[j].out;
        if (st == LCSM_OK) drain(o);
        if (o->stopped) list[j].end.reason = LCSM_END_STOP;
        lcsm_strbuf_free(&o->piece);
        lcsm_strbuf_free(&o->held);
    }
}

lcsm_status lcsm_generate_branches(lcsm_session *s, const lcsm_tokenizer *tok,
                                   const lcsm_generate_options *options, lcsm_branch_fn *put,
                                   void *user, lcsm_generate_end *results, lcsm_error *err)
{
    lcsm_generate_options own;
    lcsm_sampler         *sampler = NULL;
    branch               *list    = NULL;
    int32_t              *tokens  = NULL;
    lcsm_status           st;
    if (results != NULL) LCSM_TRY(LCSM_SIZED(lcsm_generate_end, reason, results, err));
    LCSM_TRY(LCSM_TAKE(lcsm_generate_options, lines, &own, options, err));
    LCSM_TRY(check(s, tok, err));
    if (s->position == 0)
        LCSM_TRY(
            lcsm_fail(err, LCSM_ERR_ARGUMENT, "there is nothing to continue: feed a prompt first"));
    LCSM_TRY(lcsm_sampler_create(&sampler, s->vocab, own.sample, err));
    list   = calloc(s->batch, sizeof *list);
    tokens = calloc(s->batch, sizeof *tokens);
    if (list == NULL || tokens == NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu sequences", s->batch));
    start(list, s, &own, put, user);
    while (st == LCSM_OK && any_goes_on(list, s->batch))
        st = step(s, tok, sampler, list, tokens, err);
    finish(list, s->batch, st);
    report(results, list, s->batch);
cleanup:
    lcsm_sampler_free(sampler);
    free(list);
    free(tokens);
    return st;
}

/* A function that takes the text of one sequence, as one that takes that of several. */
typedef struct {
    lcsm_text_fn *put;
    void         *user;
} single;

static bool put_single(void *user, size_t which, const char *text, size_t size)
{
    const single *one = user;
    (void)which;
    return one->put(one->user, text, size);
}

lcsm_status lcsm_generate(lcsm_session *s, const lcsm_tokenizer *tok,
                          const lcsm_generate_options *options, lcsm_text_fn *put, void *user,
                          lcsm_generate_end *result, lcsm_error *err)
{
    single      one = {put, user};
    lcsm_status st  = check_single(s, err);
    if (st != LCSM_OK) return st;
    return lcsm_generate_branches(s, tok, options, put_single, &one, result, err);
}
