/*
 * session.c - a model that reads on: graphs of a few lengths over one carried state.
 *
 * n tokens are cut into pieces of the lengths below, the longest first, so any n takes a few
 * graphs, each built when it is first needed.
 */
#include "infer/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/sized.h"
#include "model/model_weights.h"

static const size_t LENGTHS[LCSM_SESSION_LENGTHS] = {512, 256, 64, 16, 4, 1};
enum { ONE = LCSM_SESSION_LENGTHS - 1 };

/* ---- graphs ----------------------------------------------------------------------------- */

static void drop(lcsm_session_graph *r)
{
    lcsm_graph_free(r->g);
    *r = (lcsm_session_graph){0};
}

/* The graph of a length, which is made if it is not there. */
static lcsm_status prepare(lcsm_session *s, int length, bool all, lcsm_session_graph **out,
                           lcsm_error *err)
{
    lcsm_session_graph *r    = all && length != ONE ? &s->all[length] : &s->last[length];
    lcsm_model_want     want = {.logits = true, .last = r == &s->last[length], .ignore = -1};
    lcsm_status         st   = LCSM_OK;
    *out                     = r;
    if (r->g != NULL) return LCSM_OK;
    LCSM_TRY(lcsm_graph_create(&r->g, s->model->ctx, s->model->params, err));
    LCSM_TRY(lcsm_model_build(r->g, &s->model->cfg, (ptrdiff_t)s->batch, (ptrdiff_t)LENGTHS[length],
                              &want, &r->io, err));
    LCSM_TRY(lcsm_graph_plan(r->g, &(lcsm_plan_options){.fixed = true}, err));
cleanup:
    if (st != LCSM_OK) drop(r);
    return st;
}

lcsm_status lcsm_check_hidden(const lcsm_model_config *cfg, const lcsm_model_io *io,
                              lcsm_error *err)
{
    ptrdiff_t width = io->hidden->shape.dim[2];
    if (width == cfg->d_model) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                     "the head of this model reads %td numbers, and not the d_model (%td) of a "
                     "hidden state",
                     width, cfg->d_model);
}

/* ---- creation --------------------------------------------------------------------------- */

static lcsm_status reserve(lcsm_session *s, lcsm_error *err)
{
    size_t count;
    bool   fits = lcsm_size_mul(s->batch, s->vocab, &count);
    s->logits   = fits ? calloc(count, sizeof *s->logits) : NULL;
    s->recent   = calloc(s->batch, LCSM_SESSION_RECENT * sizeof *s->recent);
    if (s->logits == NULL || s->recent == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a session of %zu sequences",
                         s->batch);
    return LCSM_OK;
}

static lcsm_history_view view_of(lcsm_session *s)
{
    return (lcsm_history_view){.state        = s->state,
                               .logits       = s->logits,
                               .recent       = s->recent,
                               .logits_bytes = s->batch * s->vocab * sizeof *s->logits,
                               .recent_bytes = s->batch * LCSM_SESSION_RECENT * sizeof *s->recent};
}

/* What a session needs to go back, if it is to. */
static lcsm_status remember_past(lcsm_session *s, lcsm_error *err)
{
    lcsm_history_view v = view_of(s);
    size_t            count;
    if (s->options.rewind == 0) return LCSM_OK;
    s->again = lcsm_size_mul(s->batch, LENGTHS[0], &count) ? calloc(count, sizeof *s->again) : NULL;
    if (s->again == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the tokens of %zu sequences",
                         s->batch);
    lcsm_status st = lcsm_history_create(&s->history, &v, s->batch, s->options.rewind,
                                         s->options.rewind_bytes, LENGTHS[0], err);
    if (st == LCSM_OK) lcsm_history_restart(&s->history, &v, 0);
    return st;
}

void lcsm_session_restart_history(lcsm_session *s)
{
    lcsm_history_view v = view_of(s);
    lcsm_history_restart(&s->history, &v, s->position);
}

static lcsm_status check_options(const lcsm_model *model, const lcsm_session_options *o,
                                 lcsm_error *err)
{
    if (model->cfg.bidirectional)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "a bidirectional model sees the future and cannot run token by token");
    if (o->batch > INT32_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a session of %zu sequences; expected at most %d",
                         o->batch, INT32_MAX);
    return LCSM_OK;
}

lcsm_status lcsm_session_create(lcsm_session **out, const lcsm_model *model,
                                const lcsm_session_options *options, lcsm_error *err)
{
    lcsm_session_options o;
    lcsm_session        *s  = NULL;
    lcsm_status          st = LCSM_TAKE(lcsm_session_options, chunk, &o, options, err);
    lcsm_session_graph  *one;
    *out = NULL;
    if (st == LCSM_OK) st = check_options(model, &o, err);
    if (st != LCSM_OK) return st;
    s = calloc(1, sizeof *s);
    if (s == NULL) {
        (void)lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a session");
        return LCSM_ERR_MEMORY;
    }
    s->model         = model;
    s->options       = o;
    s->options.size  = sizeof s->options;
    s->options.batch = o.batch > 0 ? o.batch : 1;
    s->options.chunk = o.chunk > 0 ? o.chunk : LENGTHS[0];
    s->batch         = s->options.batch;
    s->vocab         = (size_t)model->cfg.vocab;
    LCSM_TRY(reserve(s, err));
    LCSM_TRY(prepare(s, ONE, false, &one, err));
    LCSM_TRY(lcsm_state_create(&s->state, one->g, err));
    LCSM_TRY(remember_past(s, err));
    *out = s;
    s    = NULL;
cleanup:
    lcsm_session_free(s);
    return st;
}

void lcsm_session_free(lcsm_session *s)
{
    if (s == NULL) return;
    for (int j = 0; j < LCSM_SESSION_LENGTHS; j++) {
        drop(&s->last[j]);
        drop(&s->all[j]);
    }
    lcsm_state_free(s->state);
    free(s->logits);
    free(s->recent);
    free(s->again);
    lcsm_history_free(&s->history);
    free(s);
}

/* Row 0 of every carried state, of the logits and of the recent tokens, to all rows of a session
 * that has more. */
static void spread(lcsm_session *to, const lcsm_session *from)
{
    for (size_t b = 0; b < to->batch; b++) {
        lcsm_state_copy_row(to->state, (ptrdiff_t)b, from->state, 0);
        memcpy(to->logits + b * to->vocab, from->logits, to->vocab * sizeof *to->logits);
        memcpy(lcsm_session_recent(to, b, 0), from->recent,
               LCSM_SESSION_RECENT * sizeof *to->recent);
    }
    to->position = from->position;
}

lcsm_status lcsm_session_branch(lcsm_session **out, const lcsm_session *s, size_t sequences,
                                lcsm_error *err)
{
    lcsm_session_options options = s->options;
    *out                         = NULL;
    options.batch                = sequences;
    if (s->batch != 1 || sequences == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%zu branches of a session of %zu sequences; expected 1 or more of 1",
                         sequences, s->batch);
    lcsm_status st = lcsm_session_create(out, s->model, &options, err);
    if (st != LCSM_OK) return st;
    spread(*out, s);
    lcsm_session_restart_history(*out);
    return LCSM_OK;
}

lcsm_status lcsm_session_clone(lcsm_session **out, const lcsm_session *s, lcsm_error *err)
{
    lcsm_session *copy = NULL;
    lcsm_status   st;
    *out = NULL;
    LCSM_TRY(lcsm_session_create(&copy, s->model, &s->options, err));
    LCSM_TRY(lcsm_state_copy(copy->state, s->state, err));
    memcpy(copy->logits, s->logits, s->batch * s->vocab * sizeof *s->logits);
    memcpy(copy->recent, s->recent, s->batch * LCSM_SESSION_RECENT * sizeof *s->recent);
    copy->position = s->position;
    lcsm_session_restart_history(copy);
    *out = copy;
    copy = NULL;
cleanup:
    lcsm_session_free(copy);
    return st;
}

/* ---- reading ---------------------------------------------------------------------------- */

lcsm_status lcsm_session_check_tokens(const lcsm_session *s, const int32_t *tokens, size_t n,
                                      lcsm_error *err)
{
    size_t count;
    if (!lcsm_size_mul(s->batch, n, &count))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu tokens at once are too many", n);
    for (size_t j = 0; j < count; j++)
        if (tokens[j] < 0 || (size_t)tokens[j] >= s->vocab)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "token %d at position %zu; expected 0 to %zu",
                             (int)tokens[j], j % n, s->vocab - 1);
    return LCSM_OK;
}

/* The number of the longest length that is not above n. */
static int longest(const lcsm_session *s, size_t n)
{
    int j = 0;
    while (j < ONE && (LENGTHS[j] > n || LENGTHS[j] > s->options.chunk)) j++;
    return j;
}

/* Where a caller wants the numbers of every step, (B, n, V) or (B, n, D); NULL: nowhere. */
typedef struct {
    float *logits, *hidden;
} outputs;

/* Rows (B, T, width) of a run to (B, n, width), from step t on. */
static void put_rows(const lcsm_session *s, float *to, const lcsm_tensor *x, size_t n, size_t t)
{
    size_t       rows = (size_t)x->shape.dim[1], width = (size_t)x->shape.dim[2];
    const float *from = x->data;
    for (size_t b = 0; b < s->batch && to != NULL; b++)
        memcpy(to + (b * n + t) * width, from + b * rows * width, rows * width * sizeof *to);
}

/* Logits (B, T, V) of a run, or (B, 1, V), to where the caller wants them, and the last of each
 * sequence to the session. */
static void hand_out(lcsm_session *s, const lcsm_session_graph *r, size_t n, size_t t,
                     const outputs *out)
{
    size_t       V = s->vocab, rows = (size_t)r->io.logits->shape.dim[1];
    const float *from = r->io.logits->data;
    put_rows(s, out->logits, r->io.logits, n, t);
    put_rows(s, out->hidden, r->io.hidden, n, t);
    for (size_t b = 0; b < s->batch; b++)
        memcpy(s->logits + b * V, from + ((b + 1) * rows - 1) * V, V * sizeof *from);
}

/* A piece has been read: its tokens (B, stride) join the recent ones and the history. */
static void remember(lcsm_session *s, const int32_t *tokens, size_t stride, size_t n, uint8_t kind)
{
    lcsm_history_view v     = view_of(s);
    size_t            first = n > LCSM_SESSION_RECENT ? n - LCSM_SESSION_RECENT : 0;
    for (size_t b = 0; b < s->batch; b++)
        for (size_t t = first; t < n; t++)
            *lcsm_session_recent(s, b, s->position + t) = tokens[b * stride + t];
    s->position += n;
    lcsm_history_add(&s->history, &v, tokens, stride, n, s->position, kind);
}

enum { KIND_ALL = 8 /* with the number of the length: logits behind every token */ };

/* Steps t .. t + T - 1 of the n, whose graph has the logits of every step or those of the last. */
static lcsm_status run_piece(lcsm_session *s, const int32_t *tokens, size_t n, size_t t,
                             uint8_t kind, const outputs *out, lcsm_error *err)
{
    int                 length = kind & (KIND_ALL - 1);
    size_t              T      = LENGTHS[length];
    lcsm_session_graph *r      = NULL;
    lcsm_status         st     = LCSM_OK;
    LCSM_OR_RETURN(prepare(s, length, (kind & KIND_ALL) != 0, &r, err));
    for (size_t b = 0; b < s->batch; b++)
        memcpy((int32_t *)r->io.tokens->data + b * T, tokens + b * n + t, T * sizeof *tokens);
    LCSM_OR_RETURN(lcsm_graph_forward(r->g, &(lcsm_run_options){.state = s->state}, err));
    hand_out(s, r, n, t, out);
    remember(s, tokens + t, n, T, kind);
    return st;
}

static lcsm_status feed(lcsm_session *s, const int32_t *tokens, size_t n, const outputs *out,
                        lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_session_check_tokens(s, tokens, n, err));
    for (size_t t = 0; t < n;) {
        int     length = longest(s, n - t);
        uint8_t kind   = (uint8_t)(length | (out->logits != NULL ? KIND_ALL : 0));
        LCSM_OR_RETURN(run_piece(s, tokens, n, t, kind, out, err));
        t += LENGTHS[length];
    }
    return st;
}

lcsm_status lcsm_session_feed(lcsm_session *s, const int32_t *tokens, size_t n, float *all,
                              lcsm_error *err)
{
    return feed(s, tokens, n, &(outputs){.logits = all}, err);
}

lcsm_status lcsm_session_feed_hidden(lcsm_session *s, const int32_t *tokens, size_t n,
                                     float *hidden, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_check_hidden(&s->model->cfg, &s->last[ONE].io, err));
    return feed(s, tokens, n, &(outputs){.hidden = hidden}, err);
}

/* ---- going back ------------------------------------------------------------------------- */

uint64_t lcsm_session_rewindable(const lcsm_session *s)
{
    return s->options.rewind > 0 ? s->position - lcsm_history_oldest(&s->history) : 0;
}

/* Reads the next tokens of the history again, as a piece of this kind. */
static lcsm_status read_again(lcsm_session *s, uint8_t kind, lcsm_error *err)
{
    size_t n = LENGTHS[kind & (KIND_ALL - 1)];
    lcsm_history_tokens(&s->history, s->position, n, s->again);
    return run_piece(s, s->again, n, 0, kind, &(outputs){0}, err);
}

/* Pieces as they were read the first time, up to the one that holds the target. */
static lcsm_status read_pieces(lcsm_session *s, uint64_t target, uint8_t *kind, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    while (s->position < target) {
        *kind = lcsm_history_kind(&s->history, s->position);
        if (LENGTHS[*kind & (KIND_ALL - 1)] > target - s->position) break;
        LCSM_OR_RETURN(read_again(s, *kind, err));
    }
    return st;
}

/* What is left, as a call that ends at the target cuts it. */
static lcsm_status read_rest(lcsm_session *s, uint64_t target, uint8_t kind, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    while (s->position < target) {
        int length = longest(s, (size_t)(target - s->position));
        LCSM_OR_RETURN(read_again(s, (uint8_t)(length | (kind & KIND_ALL)), err));
    }
    return st;
}

lcsm_status lcsm_session_rewind(lcsm_session *s, uint64_t tokens, lcsm_error *err)
{
    lcsm_history_view v    = view_of(s);
    uint8_t           kind = 0;
    if (tokens > lcsm_session_rewindable(s))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "cannot go back %llu tokens; expected at most %llu (the option rewind)",
                         (unsigned long long)tokens,
                         (unsigned long long)lcsm_session_rewindable(s));
    if (tokens == 0) return LCSM_OK;
    uint64_t target = s->position - tokens;
    s->position     = lcsm_history_restore(&s->history, &v, target);
    lcsm_status st  = read_pieces(s, target, &kind, err);
    return st != LCSM_OK ? st : read_rest(s, target, kind, err);
}

/* ---- facts ------------------------------------------------------------------------------ */

const lcsm_model *lcsm_session_model(const lcsm_session *s)
{
    return s->model;
}

size_t lcsm_session_batch(const lcsm_session *s)
{
    return s->batch;
}

const float *lcsm_session_logits(const lcsm_session *s)
{
    return s->position > 0 ? s->logits : NULL;
}

uint64_t lcsm_session_position(const lcsm_session *s)
{
    return s->position;
}

void lcsm_session_reset(lcsm_session *s)
{
    lcsm_state_clear(s->state);
    memset(s->logits, 0, s->batch * s->vocab * sizeof *s->logits);
    memset(s->recent, 0, s->batch * LCSM_SESSION_RECENT * sizeof *s->recent);
    s->position = 0;
    lcsm_session_restart_history(s);
}

/* ---- states in files -------------------------------------------------------------------- */

/* All of it; sha256 is the hash of the model, or "" and room for it. */
static lcsm_state_part part_of(const lcsm_session *s, uint64_t *position, char *sha256)
{
    *position = s->position;
    return (lcsm_state_part){.model    = s->model,
                             .state    = s->state,
                             .batch    = s->batch,
                             .vocab    = s->vocab,
                             .logits   = s->logits,
                             .recent   = s->recent,
                             .position = position,
                             .sha256   = sha256};
}

lcsm_status lcsm_session_save_known(const lcsm_session *s, const char *path,
                                    char sha256[LCSM_SHA256_TEXT], lcsm_error *err)
{
    uint64_t        position;
    lcsm_state_part p = part_of(s, &position, sha256);
    return lcsm_state_part_save(&p, path, err);
}

lcsm_status lcsm_session_save_state(const lcsm_session *s, const char *path, lcsm_error *err)
{
    char sha256[LCSM_SHA256_TEXT] = "";
    return lcsm_session_save_known(s, path, sha256, err);
}

lcsm_status lcsm_session_write_state(const lcsm_session *s, void *buffer, size_t *size,
                                     lcsm_error *err)
{
    uint64_t        position;
    char            sha256[LCSM_SHA256_TEXT] = "";
    lcsm_state_part p                        = part_of(s, &position, sha256);
    return lcsm_state_part_write(&p, buffer, size, err);
}

static lcsm_status taken(lcsm_session *s, uint64_t position, lcsm_status st)
{
    if (st != LCSM_OK) return st;
    s->position = position;
    lcsm_session_restart_history(s);
    return LCSM_OK;
}

lcsm_status lcsm_session_load_known(lcsm_session *s, const char *path,
                                    char sha256[LCSM_SHA256_TEXT], lcsm_error *err)
{
    uint64_t        position;
    lcsm_state_part p  = part_of(s, &position, sha256);
    lcsm_status     st = lcsm_state_part_load(&p, path, err);
    return taken(s, position, st);
}

lcsm_status lcsm_session_load_state(lcsm_session *s, const char *path, lcsm_error *err)
{
    char sha256[LCSM_SHA256_TEXT] = "";
    return lcsm_session_load_known(s, path, sha256, err);
}

lcsm_status lcsm_session_read_state(lcsm_session *s, const void *buffer, size_t size,
                                    lcsm_error *err)
{
    uint64_t        position;
    char            sha256[LCSM_SHA256_TEXT] = "";
    lcsm_state_part p                        = part_of(s, &position, sha256);
    lcsm_status     st                       = lcsm_state_part_read(&p, buffer, size, err);
    return taken(s, position, st);
}
