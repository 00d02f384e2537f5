/*
 * evaluate.c - the loss of a model over a text.
 *
 * Blocks that are long run through a shorter graph piece by piece, with the memory carried within
 * the block, so memory does not grow with their length.
 */
#include <lcsm/evaluate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "graph/graph.h"
#include "model/handle.h"
#include "model/model.h"

enum { PIECE = 1024 };

typedef struct {
    const lcsm_model     *model;
    const lcsm_dataset   *data;
    lcsm_evaluate_options opt;
    lcsm_dataset_order    order;
    size_t                piece; /* steps of the graph */
    lcsm_graph           *g;
    lcsm_model_io         io;
    lcsm_state           *state;            /* NULL: every block is one run */
    int32_t              *tokens, *targets; /* (B, T) of a batch */
    bool                 *resets;
    uint64_t              count, right, blocks;
    double                sum;
    double                curve_sum[LCSM_CURVE_POINTS];
    uint64_t              curve_count[LCSM_CURVE_POINTS];
} evaluator;

/* ---- preparation ------------------------------------------------------------------------ */

static lcsm_status check(const evaluator *e, lcsm_error *err)
{
    size_t vocab = lcsm_dataset_vocab(e->data);
    if (vocab > (size_t)e->model->cfg.vocab)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the text has a vocabulary of %zu, the model one of %td", vocab,
                         e->model->cfg.vocab);
    if (e->opt.length > INT32_MAX || e->opt.batch > INT32_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu blocks of %zu tokens are too many",
                         e->opt.batch, e->opt.length);
    if (e->opt.carried && e->model->cfg.bidirectional)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "a bidirectional model carries no memory");
    return LCSM_OK;
}

static lcsm_status reserve(evaluator *e, lcsm_error *err)
{
    size_t count = 0;
    bool   fits  = lcsm_size_mul(e->opt.batch, e->opt.length, &count);
    e->tokens    = fits ? calloc(count, sizeof *e->tokens) : NULL;
    e->targets   = fits ? calloc(count, sizeof *e->targets) : NULL;
    e->resets    = calloc(e->opt.batch, sizeof *e->resets);
    if (e->tokens != NULL && e->targets != NULL && e->resets != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for batches of %zu x %zu tokens", e->opt.batch,
                     e->opt.length);
}

static lcsm_status build(evaluator *e, lcsm_error *err)
{
    bool            carry = e->opt.carried || e->piece < e->opt.length;
    lcsm_model_want want  = {.whole = !carry, .loss = true, .ignore = LCSM_TARGET_NONE};
    lcsm_status     st;
    LCSM_TRY(lcsm_graph_create(&e->g, e->model->ctx, e->model->params, err));
    LCSM_TRY(lcsm_model_build(e->g, &e->model->cfg, (ptrdiff_t)e->opt.batch, (ptrdiff_t)e->piece,
                              &want, &e->io, err));
    LCSM_TRY(lcsm_graph_plan(e->g, &(lcsm_plan_options){0}, err));
    if (carry) LCSM_TRY(lcsm_state_create(&e->state, e->g, err));
cleanup:
    return st;
}

static lcsm_status start(evaluator *e, lcsm_error *err)
{
    lcsm_status st;
    if (e->opt.length == 0) e->opt.length = 512;
    if (e->opt.batch == 0) e->opt.batch = 8;
    LCSM_TRY(check(e, err));
    /* Where memory is carried on, a block's length only says how the text is cut into rows. */
    if (e->opt.carried && e->opt.length > PIECE) e->opt.length = PIECE;
    e->blocks = lcsm_dataset_blocks(e->data, e->opt.length);
    if (e->opt.max_blocks > 0 && e->blocks > e->opt.max_blocks) e->blocks = e->opt.max_blocks;
    if (e->opt.batch > e->blocks && e->blocks > 0) e->opt.batch = (size_t)e->blocks;
    bool whole = e->opt.length <= PIECE || e->model->cfg.bidirectional;
    e->piece   = whole ? e->opt.length : PIECE;
    e->order =
        (lcsm_dataset_order){.T = e->opt.length, .B = e->opt.batch, .carried = e->opt.carried};
    LCSM_TRY(reserve(e, err));
    LCSM_TRY(build(e, err));
cleanup:
    return st;
}

static void finish(evaluator *e)
{
    lcsm_state_free(e->state);
    lcsm_graph_free(e->g);
    free(e->tokens);
    free(e->targets);
    free(e->resets);
}

/* ---- running ---------------------------------------------------------------------------- */

/* Positions 0, 1, 2..3, 4..7: the number of bits of the position. */
static size_t point_of(size_t position)
{
    size_t point = 0;
    for (; position > 0; position >>= 1) point++;
    return point < LCSM_CURVE_POINTS ? point : LCSM_CURVE_POINTS - 1;
}

/* Steps t .. of the batch into the inputs; what is beyond the block does not count. */
static void fill(const evaluator *e, size_t t)
{
    size_t   T = e->opt.length, n = T - t < e->piece ? T - t : e->piece;
    int32_t *tokens = e->io.tokens->data, *targets = e->io.targets->data;
    for (size_t b = 0; b < e->opt.batch; b++)
        for (size_t j = 0; j < e->piece; j++) {
            tokens[b * e->piece + j]  = j < n ? e->tokens[b * T + t + j] : 0;
            targets[b * e->piece + j] = j < n ? e->targets[b * T + t + j] : LCSM_TARGET_NONE;
        }
}

static void count(evaluator *e, size_t t)
{
    const float   *loss    = e->io.row_loss->data;
    const int32_t *targets = e->io.targets->data;
    for (size_t b = 0; b < e->opt.batch; b++)
        for (size_t j = 0; j < e->piece; j++) {
            size_t at = b * e->piece + j, point = point_of(t + j);
            if (targets[at] == LCSM_TARGET_NONE) continue;
            e->sum += (double)loss[at];
            e->curve_sum[point] += (double)loss[at];
            e->curve_count[point]++;
            e->count++;
        }
    e->right += (uint64_t)(*(const float *)e->io.right->data + 0.5f);
}

/* Rows without a block left stay in a batch; those beyond max_blocks do not count. */
static void limit(evaluator *e, uint64_t batch)
{
    size_t T = e->opt.length;
    for (size_t b = 0; b < e->opt.batch; b++) {
        bool beyond = !e->opt.carried && batch * e->opt.batch + b >= e->blocks;
        for (size_t t = 0; beyond && t < T; t++) e->targets[b * T + t] = LCSM_TARGET_NONE;
    }
}

static lcsm_status run_batch(evaluator *e, uint64_t batch, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    (void)lcsm_dataset_batch(e->data, &e->order, batch, e->tokens, e->targets, e->resets);
    limit(e, batch);
    for (size_t b = 0; e->state != NULL && b < e->opt.batch; b++)
        if (e->resets[b]) lcsm_state_clear_row(e->state, (ptrdiff_t)b);
    for (size_t t = 0; t < e->opt.length; t += e->piece) {
        fill(e, t);
        LCSM_TRY(lcsm_graph_forward(e->g, &(lcsm_run_options){.state = e->state}, err));
        count(e, t);
    }
cleanup:
    return st;
}

static void report(const evaluator *e, lcsm_evaluation *out)
{
    double share    = (double)e->count / (double)lcsm_dataset_tokens(e->data);
    double bytes    = (double)lcsm_dataset_bytes(e->data) * share;
    double words    = (double)lcsm_dataset_words(e->data) * share;
    *out            = (lcsm_evaluation){.tokens          = e->count,
                                        .blocks          = e->blocks,
                                        .loss            = e->sum / (double)e->count,
                                        .word_perplexity = exp(e->sum / words),
                                        .bits_per_byte   = e->sum / log(2) / bytes,
                                        .accuracy        = (double)e->right / (double)e->count};
    out->perplexity = exp(out->loss);
    for (size_t j = 0; j < LCSM_CURVE_POINTS && e->curve_count[j] > 0; j++) {
        size_t from = j == 0 ? 0 : (size_t)1 << (j - 1);
        size_t to   = (size_t)1 << j;
        out->curve[out->points++] =
            (lcsm_curve_point){from, to < e->opt.length ? to : e->opt.length,
                               e->curve_sum[j] / (double)e->curve_count[j]};
    }
}

lcsm_status lcsm_evaluate(const lcsm_model *model, const lcsm_dataset *data,
                          const lcsm_evaluate_options *options, lcsm_evaluation *out,
                          lcsm_evaluate_progress *progress, void *user, lcsm_error *err)
{
    evaluator   e     = {.model = model, .data = data};
    double      begin = lcsm_now();
    lcsm_status st;
    *out = (lcsm_evaluation){0};
    if (options != NULL) e.opt = *options;
    LCSM_TRY(start(&e, err));
    uint64_t batches = (e.blocks + e.opt.batch - 1) / e.opt.batch;
    for (uint64_t j = 0; j < batches; j++) {
        LCSM_TRY(run_batch(&e, j, err));
        if (progress != NULL && !progress(user, j + 1, batches)) break;
    }
    if (e.count == 0) LCSM_TRY(lcsm_fail(err, LCSM_ERR_FORMAT, "the text has no token to predict"));
    report(&e, out);
    out->seconds = lcsm_now() - begin;
    if (!isfinite(out->loss))
        st = lcsm_fail(err, LCSM_ERR_NUMBER, "the loss is not a finite number");
cleanup:
    finish(&e);
    return st;
}
