/* generate.c - the loop from logits to text. */
#include <lcsm/generate.h>
#include <lcsm/prefix.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "infer/draft.h"
#include "infer/session.h"
#include "infer/text.h"
#include "kernel/context.h"
#include "model/model_weights.h"

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

/* The ids of a text. */
typedef struct {
    int32_t *ids;
    size_t   count, room;
} id_list;

static lcsm_status add_ids(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    id_list *l = user;
    if (l->count + count > l->room) {
        size_t   room = 2 * (l->count + count) + 256;
        int32_t *more = realloc(l->ids, room * sizeof *more);
        if (more == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a prompt");
        l->ids  = more;
        l->room = room;
    }
    if (count > 0) memcpy(l->ids + l->count, ids, count * sizeof *ids);
    l->count += count;
    return LCSM_OK;
}

static lcsm_status encode(id_list *out, const lcsm_session *s, const lcsm_tokenizer *tok,
                          bool lines, const char *text, size_t size, lcsm_error *err)
{
    lcsm_encoder *encoder = NULL;
    int32_t       end     = lines ? lcsm_tokenizer_eos(tok) : -1;
    lcsm_status   st;
    LCSM_TRY(lcsm_encoder_create(&encoder, tok, LCSM_ENCODE_SPECIAL | LCSM_ENCODE_SKIP, add_ids,
                                 out, err));
    LCSM_TRY(lcsm_encode_lines(encoder, end, text, size, add_ids, out, err));
    if (lcsm_encoder_skipped(encoder) > 0)
        lcsm_log(&s->model->ctx->log, LCSM_LOG_WARNING,
                 "skipped %llu bytes of the prompt that the vocabulary has no tokens for",
                 (unsigned long long)lcsm_encoder_skipped(encoder));
cleanup:
    lcsm_encoder_free(encoder);
    return st;
}

/* The first prompt of a session may be in the cache. */
static lcsm_status read_ids(lcsm_session *s, const id_list *l, const char *cache, int32_t start,
                            lcsm_error *err)
{
    lcsm_prefix_options o = {.size = sizeof o, .folder = cache};
    if (s->position == 0 && l->count == 0) return lcsm_session_feed(s, &start, 1, NULL, err);
    if (cache == NULL || s->position > 0) return lcsm_session_feed(s, l->ids, l->count, NULL, err);
    return lcsm_session_feed_prefix(s, l->ids, l->count, &o, NULL, err);
}

lcsm_status lcsm_generate_prompt(lcsm_session *s, const lcsm_tokenizer *tok,
                                 const lcsm_generate_options *options, const char *text,
                                 size_t size, lcsm_error *err)
{
    lcsm_generate_options own;
    id_list               l     = {0};
    int32_t               start = lcsm_tokenizer_start(tok);
    lcsm_status           st;
    LCSM_TRY(check_single(s, err));
    LCSM_TRY(check(s, tok, err));
    LCSM_TRY(LCSM_TAKE(lcsm_generate_options, lines, &own, options, err));
    LCSM_TRY(encode(&l, s, tok, own.lines, text, size, err));
    LCSM_TRY(read_ids(s, &l, own.cache, start, err));
    if (own.draft != NULL) LCSM_TRY(read_ids(own.draft, &l, own.cache, start, err));
cleanup:
    free(l.ids);
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
    const lcsm_generate_options *opt;
    lcsm_branch_fn              *put;
    void                        *user;
    size_t                       number;
    lcsm_outlet                  out;
    lcsm_generate_end            end;
    int32_t                      token; /* the last one */
} branch;

static bool put_text(void *user, const char *text, size_t size)
{
    const branch *b = user;
    return b->put(b->user, b->number, text, size);
}

static bool goes_on(const branch *b)
{
    uint64_t most = b->opt->tokens;
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
    lcsm_outlet *o    = &b->out;
    size_t       size = 0;
    bool         ends = b->token == end_of(s, tok, b->opt->lines);
    b->end.tokens++;
    if (ends && !b->opt->ignore_end && !b->opt->lines) {
        b->end.reason = LCSM_END_OF_TEXT;
        return LCSM_OK;
    }
    const char *bytes = lcsm_tokenizer_piece(tok, b->token, &size);
    if (ends && b->opt->lines) lcsm_outlet_push(o, "\n", 1);
    else if (bytes != NULL) lcsm_outlet_push(o, bytes, size);
    if (lcsm_outlet_failed(o))
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

/* The text of one sequence, whose tokens a smaller model proposes. */
static lcsm_status run_draft(lcsm_session *s, const lcsm_tokenizer *tok, branch *b, lcsm_error *err)
{
    const lcsm_generate_options *o = b->opt;
    lcsm_draft                  *d = NULL;
    lcsm_status                  st;
    LCSM_TRY(lcsm_draft_create(&d, s, o->draft, o->sample,
                               o->draft_tokens > 0 ? o->draft_tokens : 4, err));
    while (goes_on(b)) {
        LCSM_TRY(lcsm_draft_next(d, &b->token, err));
        LCSM_TRY(hand_on(s, tok, b, err));
    }
    LCSM_TRY(lcsm_draft_end(d, err));
    lcsm_draft_count(d, &b->end.proposed, &b->end.accepted);
cleanup:
    lcsm_draft_free(d);
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
        list[j] = (branch){.opt    = opt,
                           .put    = put,
                           .user   = user,
                           .number = j,
                           .out    = {.stop       = opt->stop,
                                      .stop_count = opt->stop_count,
                                      .put        = put_text,
                                      .user       = &list[j]},
                           .end    = {.size = sizeof list[j].end, .reason = LCSM_END_TOKENS},
                           .token  = *lcsm_session_recent(s, j, s->position - 1)};
}

static void finish(branch *list, size_t count, lcsm_status st)
{
    for (size_t j = 0; list != NULL && j < count; j++) {
        lcsm_outlet *o = &list[j].out;
        if (st == LCSM_OK) lcsm_outlet_end(o);
        if (o->stopped) list[j].end.reason = LCSM_END_STOP;
        lcsm_outlet_free(o);
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
    if (own.draft != NULL) st = run_draft(s, tok, list, err);
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
