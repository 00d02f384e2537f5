/* evaluator.c - batches through a graph, forward only. */
#include "train/evaluator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* ---- a graph of its own ------------------------------------------------------------------- */

lcsm_status lcsm_evaluator_open(lcsm_evaluator *e, const lcsm_model *model, ptrdiff_t B,
                                ptrdiff_t T, bool carry, lcsm_error *err)
{
    lcsm_model_want want = {.whole = !carry, .loss = true, .ignore = LCSM_TARGET_NONE};
    lcsm_status     st   = LCSM_OK;
    *e                   = (lcsm_evaluator){.B = B, .T = T};
    LCSM_TRY(lcsm_graph_create(&e->g, model->ctx, model->params, err));
    LCSM_TRY(lcsm_model_build(e->g, &model->cfg, B, T, &want, &e->io, err));
    LCSM_TRY(lcsm_graph_plan(e->g, &(lcsm_plan_options){0}, err));
    if (carry) LCSM_TRY(lcsm_state_create(&e->state, e->g, err));
cleanup:
    if (st != LCSM_OK) lcsm_evaluator_close(e);
    return st;
}

void lcsm_evaluator_close(lcsm_evaluator *e)
{
    lcsm_state_free(e->state);
    lcsm_graph_free(e->g);
    *e = (lcsm_evaluator){0};
}

/* ---- a batch ------------------------------------------------------------------------------ */

static size_t size_of(const lcsm_evaluator *e)
{
    return (size_t)e->B * (size_t)e->T;
}

/* The targets that count and their rows; what is left of the places has a target that does not. */
static lcsm_status load_labels(lcsm_evaluator *e, const int32_t *targets, lcsm_error *err)
{
    int32_t *places = e->io.places->data, *kept = e->io.targets->data;
    size_t   room = (size_t)lcsm_tensor_count(e->io.places), n = 0;
    for (size_t j = 0; j < size_of(e); j++) {
        if (targets[j] == LCSM_TARGET_NONE) continue;
        if (n == room)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "more than %zu targets count in a batch of %td with pairs = %zu", room,
                             e->B, room / (size_t)e->B);
        places[n] = (int32_t)j;
        kept[n++] = targets[j];
    }
    for (; n < room; n++) {
        places[n] = 0;
        kept[n]   = LCSM_TARGET_NONE;
    }
    return LCSM_OK;
}

/* Keys into tokens, and the rows of values into second: those behind the keys, the last for none.
 */
static void split_pairs(const lcsm_evaluator *e)
{
    int32_t *key = e->io.tokens->data, *second = e->io.second->data;
    int32_t  values = (int32_t)e->io.values, base = values + 1;
    for (size_t j = 0; j < size_of(e); j++) {
        int32_t value = key[j] % base;
        second[j]     = value == 0 ? 2 * values : values + value - 1;
        key[j] /= base;
    }
}

lcsm_status lcsm_evaluator_load(lcsm_evaluator *e, const int32_t *tokens, const int32_t *targets,
                                const int32_t *reset, lcsm_error *err)
{
    size_t bytes = size_of(e) * sizeof(int32_t);
    memcpy(e->io.tokens->data, tokens, bytes);
    if (e->io.second != NULL) split_pairs(e);
    if (e->io.reset != NULL && reset != NULL) memcpy(e->io.reset->data, reset, bytes);
    if (e->io.reset != NULL && reset == NULL) memset(e->io.reset->data, 0, bytes);
    if (e->io.places != NULL) return load_labels(e, targets, err);
    memcpy(e->io.targets->data, targets, bytes);
    return LCSM_OK;
}

lcsm_status lcsm_evaluator_not_finite(lcsm_evaluator *e, const lcsm_run_options *opt,
                                      const char *what, lcsm_error *err)
{
    lcsm_run_options again = *opt;
    lcsm_error       why   = {0};
    again.check            = true;
    again.learn            = false;
    again.state            = NULL;
    bool found             = lcsm_graph_forward(e->g, &again, &why) != LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_NUMBER, "%s: the loss is NaN or infinite%s%s", what,
                     found ? "; first in " : "", found ? why.text : "");
}

static lcsm_status forward(lcsm_evaluator *e, const char *what, lcsm_tally *sum, lcsm_error *err)
{
    const lcsm_run_options opt = {.state = e->state};
    lcsm_status            st  = lcsm_graph_forward(e->g, &opt, err);
    if (st != LCSM_OK) return st;
    if (!isfinite(*(const float *)e->io.loss->data))
        return lcsm_evaluator_not_finite(e, &opt, what, err);
    lcsm_tally_add(sum, &e->io);
    return LCSM_OK;
}

lcsm_status lcsm_evaluator_batch(lcsm_evaluator *e, const int32_t *tokens, const int32_t *targets,
                                 const char *what, lcsm_tally *sum, lcsm_error *err)
{
    lcsm_status st = lcsm_evaluator_load(e, tokens, targets, NULL, err);
    return st == LCSM_OK ? forward(e, what, sum, err) : st;
}

/* ---- many batches ------------------------------------------------------------------------- */

/* A run over batches, and room for one: blocks (B, from->T), and a piece of them (B, e->T). */
typedef struct {
    lcsm_evaluator       *e;
    const lcsm_batches   *from;
    const lcsm_eval_plan *plan;
    lcsm_eval_sums       *out;
    int64_t               blocks;
    lcsm_tally            tally;  /* of the batch under way */
    lcsm_tally           *shares; /* of one batch of every rank */
    lcsm_task_counts      counts;
    int32_t              *tokens, *targets, *reset, *piece_tokens, *piece_targets;
} evaluation;

static lcsm_status reserve(evaluation *v, lcsm_error *err)
{
    ptrdiff_t B = v->from->B, T = v->from->T;
    size_t    block = 0, piece = 0;
    bool      fits = lcsm_size_mul((size_t)B, (size_t)T, &block)
             && lcsm_size_mul((size_t)B, (size_t)v->e->T, &piece);
    v->tokens        = fits ? calloc(block, sizeof *v->tokens) : NULL;
    v->targets       = fits ? calloc(block, sizeof *v->targets) : NULL;
    v->reset         = fits ? calloc(block, sizeof *v->reset) : NULL;
    v->piece_tokens  = fits ? calloc(piece, sizeof *v->piece_tokens) : NULL;
    v->piece_targets = fits ? calloc(piece, sizeof *v->piece_targets) : NULL;
    v->shares        = calloc((size_t)lcsm_dist_size(v->plan->dist), sizeof *v->shares);
    if (v->shares != NULL && v->tokens != NULL && v->targets != NULL && v->reset != NULL
        && v->piece_tokens != NULL && v->piece_targets != NULL)
        return LCSM_OK;
    (void)lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for batches of %td x %td tokens", B,
                    T);
    return LCSM_ERR_MEMORY;
}

/* Positions 0, 1, 2..3, 4..7: the number of bits of the position. */
static size_t point_of(size_t position)
{
    size_t point = 0;
    for (; position > 0; position >>= 1) point++;
    return point < LCSM_CURVE_POINTS ? point : LCSM_CURVE_POINTS - 1;
}

/* Steps t .. of the blocks; what is beyond their end does not count. */
static void cut(const evaluation *v, ptrdiff_t t)
{
    ptrdiff_t T = v->from->T, piece = v->e->T, n = T - t < piece ? T - t : piece;
    for (ptrdiff_t b = 0; b < v->from->B; b++)
        for (ptrdiff_t j = 0; j < piece; j++) {
            v->piece_tokens[b * piece + j]  = j < n ? v->tokens[b * T + t + j] : 0;
            v->piece_targets[b * piece + j] = j < n ? v->targets[b * T + t + j] : LCSM_TARGET_NONE;
        }
}

/* The losses of the piece that begins at step t, by position; a graph of labels has no positions.
 */
static void add_curve(const evaluation *v, ptrdiff_t t)
{
    const float   *loss    = v->e->io.row_loss->data;
    const int32_t *targets = v->e->io.targets->data;
    size_t         piece   = (size_t)v->e->T;
    if (v->e->io.places != NULL) return;
    for (size_t j = 0; j < size_of(v->e); j++) {
        size_t point = point_of((size_t)t + j % piece);
        if (targets[j] == LCSM_TARGET_NONE) continue;
        v->out->curve[point].loss += (double)loss[j];
        v->out->curve[point].count++;
    }
}

/* By answer, for the score of a task that makes its examples. */
static void add_counts(evaluation *v)
{
    const float   *right   = v->e->io.right->data;
    const int32_t *targets = v->e->io.targets->data;
    size_t         count   = (size_t)lcsm_tensor_count(v->e->io.targets);
    if (v->counts.classes == 0) return;
    for (size_t j = 0; j < count; j++) {
        if (targets[j] == LCSM_TARGET_NONE) continue;
        v->counts.asked[targets[j]]++;
        v->counts.right[targets[j]] += right[j] > 0;
    }
}

/* Rows beyond the last block that is asked for do not count. */
static void limit(const evaluation *v, int64_t batch)
{
    ptrdiff_t B = v->from->B, T = v->from->T;
    for (ptrdiff_t b = 0; b < B; b++) {
        bool beyond = !v->from->carried && batch * B + b >= v->blocks;
        for (ptrdiff_t t = 0; beyond && t < T; t++) v->targets[b * T + t] = LCSM_TARGET_NONE;
    }
}

static lcsm_status run_batch(evaluation *v, int64_t batch, lcsm_error *err)
{
    ptrdiff_t T = v->from->T;
    lcsm_batches_fill(v->from, batch, v->tokens, v->targets, v->reset);
    limit(v, batch);
    for (ptrdiff_t b = 0; v->e->state != NULL && b < v->from->B; b++)
        if (!v->from->carried || v->reset[b * T] != 0) lcsm_state_clear_row(v->e->state, b);
    for (ptrdiff_t t = 0; t < T; t += v->e->T) {
        cut(v, t);
        LCSM_OR_RETURN(lcsm_evaluator_batch(v->e, v->piece_tokens, v->piece_targets, v->plan->what,
                                            &v->tally, err));
        add_curve(v, t);
        add_counts(v);
    }
    return LCSM_OK;
}

/* One batch of every rank, from batch j on; the tallies are added in the order of batches. */
static lcsm_status run_round(evaluation *v, int64_t j, int64_t batches, lcsm_error *err)
{
    lcsm_dist  *d    = v->plan->dist;
    int         size = lcsm_dist_size(d);
    int64_t     own  = j + lcsm_dist_rank(d);
    lcsm_status st   = LCSM_OK;
    v->tally         = (lcsm_tally){0};
    if (own < batches) st = run_batch(v, own, err);
    LCSM_OR_RETURN(lcsm_dist_agree(d, st, err));
    LCSM_OR_RETURN(lcsm_dist_all_gather(d, &v->tally, sizeof v->tally, v->shares, err));
    for (int r = 0; r < size; r++) {
        v->out->tally.loss += v->shares[r].loss;
        v->out->tally.count += v->shares[r].count;
        v->out->tally.right += v->shares[r].right;
    }
    int64_t done   = (j + size < batches ? j + size : batches) * v->from->B;
    v->out->blocks = done < v->blocks ? done : v->blocks;
    return LCSM_OK;
}

/* The counts of all ranks. */
static lcsm_status add_ranks(const evaluation *v, int64_t *counts, lcsm_error *err)
{
    lcsm_dist  *d    = v->plan->dist;
    int         size = lcsm_dist_size(d);
    size_t      n    = (size_t)v->counts.classes, all;
    int64_t    *each = lcsm_size_mul(n + 1, (size_t)size, &all) ? calloc(all, sizeof *each) : NULL;
    lcsm_status st   = each != NULL ? LCSM_OK
                                    : lcsm_fail(err, LCSM_ERR_MEMORY,
                                                "not enough memory for the counts of %d ranks", size);
    LCSM_TRY(lcsm_dist_agree(d, st, err));
    LCSM_TRY(lcsm_dist_all_gather(d, counts, n * sizeof *counts, each, err));
    for (size_t c = 0; c < n; c++) {
        counts[c] = 0;
        for (int r = 0; each != NULL && r < size; r++) counts[c] += each[(size_t)r * n + c];
    }
cleanup:
    free(each);
    return st;
}

static lcsm_status score(const evaluation *v, lcsm_error *err)
{
    v->out->score = NAN;
    if (v->from->data != NULL) return LCSM_OK;
    if (lcsm_dist_size(v->plan->dist) > 1) {
        LCSM_OR_RETURN(add_ranks(v, v->counts.asked, err));
        LCSM_OR_RETURN(add_ranks(v, v->counts.right, err));
    }
    v->out->score = lcsm_task_score(v->from->task, &v->from->made, &v->counts);
    return LCSM_OK;
}

lcsm_status lcsm_evaluator_run(lcsm_evaluator *e, const lcsm_batches *from,
                               const lcsm_eval_plan *plan, lcsm_eval_sums *out, lcsm_error *err)
{
    evaluation v = {
        .e = e, .from = from, .plan = plan, .out = out, .blocks = lcsm_batches_blocks(from)};
    lcsm_status st   = LCSM_OK;
    int         size = lcsm_dist_size(plan->dist);
    *out             = (lcsm_eval_sums){0};
    if (plan->blocks > 0 && plan->blocks < v.blocks) v.blocks = plan->blocks;
    int64_t batches = (v.blocks + from->B - 1) / from->B;
    LCSM_TRY(reserve(&v, err));
    if (from->data == NULL) LCSM_TRY(lcsm_task_counts_create(&v.counts, from->made.vocab, err));
    for (int64_t j = 0; j < batches; j += size) {
        LCSM_TRY(run_round(&v, j, batches, err));
        int64_t done = j + size < batches ? j + size : batches;
        if (plan->go_on != NULL && !plan->go_on(plan->user, done, batches)) break;
    }
    st = score(&v, err);
cleanup:
    lcsm_task_counts_free(&v.counts);
    free(v.shares);
    free(v.tokens);
    free(v.targets);
    free(v.reset);
    free(v.piece_tokens);
    free(v.piece_targets);
    return st;
}

void lcsm_eval_text_figures(const lcsm_dataset *data, const lcsm_tally *tally,
                            double *bits_per_byte, double *word_perplexity)
{
    *bits_per_byte = *word_perplexity = NAN;
    if (data == NULL || tally->count == 0) return;
    double share   = (double)tally->count / (double)lcsm_dataset_tokens(data);
    double words   = share * (double)lcsm_dataset_words(data);
    *bits_per_byte = tally->loss / log(2) / (share * (double)lcsm_dataset_bytes(data));
    if (words > 0) *word_perplexity = exp(tally->loss / words);
}
