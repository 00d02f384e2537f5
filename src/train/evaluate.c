/* evaluate.c - how well a model predicts a text, or recalls: evaluation outside of training. */
#include <lcsm/evaluate.h>
#include <math.h>

#include "base/clock.h"
#include "base/sized.h"
#include "train/evaluator.h"

/* The longest graph: memory does not grow with the length of blocks beyond it. */
enum { PIECE = 1024 };

static lcsm_status check(const lcsm_model *model, const lcsm_dataset *data,
                         const lcsm_evaluate_options *opt, lcsm_error *err)
{
    size_t vocab = lcsm_dataset_vocab(data);
    if (vocab > (size_t)model->cfg.vocab)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the text has a vocabulary of %zu, but the model has %td", vocab,
                         model->cfg.vocab);
    if (opt->length > INT32_MAX || opt->batch > INT32_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu blocks of %zu tokens are too many",
                         opt->batch, opt->length);
    if (opt->carried && model->cfg.bidirectional)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "a bidirectional model carries no memory");
    return LCSM_OK;
}

/* Where memory is carried on, a block's length only says how the text is cut into rows. */
static lcsm_batches blocks_of(const lcsm_dataset *data, const lcsm_evaluate_options *opt)
{
    size_t       length = opt->carried && opt->length > PIECE ? PIECE : opt->length;
    lcsm_batches all    = {.task    = &lcsm_task_lm,
                           .B       = (ptrdiff_t)opt->batch,
                           .T       = (ptrdiff_t)length,
                           .data    = data,
                           .carried = opt->carried};
    uint64_t     blocks = lcsm_dataset_blocks(data, length);
    if (opt->max_blocks > 0 && blocks > opt->max_blocks) blocks = opt->max_blocks;
    if (opt->batch > blocks && blocks > 0) all.B = (ptrdiff_t)blocks;
    return all;
}

static void report(const lcsm_eval_sums *sums, const lcsm_batches *from, lcsm_evaluation *out)
{
    *out            = (lcsm_evaluation){.size     = sizeof *out,
                                        .tokens   = (uint64_t)sums->tally.count,
                                        .blocks   = (uint64_t)sums->blocks,
                                        .loss     = lcsm_tally_loss(&sums->tally),
                                        .accuracy = lcsm_tally_accuracy(&sums->tally)};
    out->perplexity = exp(out->loss);
    lcsm_eval_text_figures(from->data, &sums->tally, &out->bits_per_byte, &out->word_perplexity);
    for (size_t j = 0; j < LCSM_CURVE_POINTS && sums->curve[j].count > 0; j++) {
        size_t low = j == 0 ? 0 : (size_t)1 << (j - 1), high = (size_t)1 << j;
        out->curve[out->points++] =
            (lcsm_curve_point){low, high < (size_t)from->T ? high : (size_t)from->T,
                               sums->curve[j].loss / (double)sums->curve[j].count};
    }
}

typedef struct {
    lcsm_evaluate_progress *progress;
    void                   *user;
} listener;

static bool go_on(void *user, int64_t done, int64_t total)
{
    const listener *l = user;
    return l->progress == NULL || l->progress(l->user, (uint64_t)done, (uint64_t)total);
}

lcsm_status lcsm_evaluate(const lcsm_model *model, const lcsm_dataset *data,
                          const lcsm_evaluate_options *options, lcsm_evaluation *out,
                          lcsm_evaluate_progress *progress, void *user, lcsm_error *err)
{
    lcsm_evaluate_options opt;
    lcsm_evaluation       r     = {.size = sizeof r};
    listener              l     = {progress, user};
    lcsm_eval_plan        plan  = {.what = "evaluation", .go_on = go_on, .user = &l};
    lcsm_evaluator        e     = {0};
    lcsm_eval_sums        sums  = {0};
    double                begin = lcsm_now();
    lcsm_status           st    = LCSM_OK;
    LCSM_TRY(LCSM_SIZED(lcsm_evaluation, curve, out, err));
    lcsm_sized_fill(out, &r, sizeof r);
    LCSM_TRY(LCSM_TAKE(lcsm_evaluate_options, max_blocks, &opt, options, err));
    plan.blocks = (int64_t)opt.max_blocks;
    if (opt.length == 0) opt.length = 512;
    if (opt.batch == 0) opt.batch = 8;
    LCSM_TRY(check(model, data, &opt, err));
    lcsm_batches from  = blocks_of(data, &opt);
    ptrdiff_t    piece = from.T <= PIECE || model->cfg.bidirectional ? from.T : PIECE;
    LCSM_TRY(lcsm_evaluator_open(&e, model, from.B, piece, opt.carried || piece < from.T, err));
    LCSM_TRY(lcsm_evaluator_run(&e, &from, &plan, &sums, err));
    if (sums.tally.count == 0)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_FORMAT, "the text has no token to predict"));
    report(&sums, &from, &r);
    r.seconds = lcsm_now() - begin;
    lcsm_sized_fill(out, &r, sizeof r);
cleanup:
    lcsm_evaluator_close(&e);
    return st;
}

lcsm_status lcsm_evaluate_task(const lcsm_model *model, const lcsm_train_config *cfg,
                               lcsm_tally *out, double *score, lcsm_error *err)
{
    const lcsm_task *task = lcsm_train_task(cfg);
    lcsm_batches     from = lcsm_batches_examples(cfg, model->cfg.vocab, true);
    lcsm_eval_plan   plan = {.what = "evaluation"};
    lcsm_evaluator   e    = {0};
    lcsm_eval_sums   sums = {.score = NAN};
    lcsm_status      st   = LCSM_OK;
    if (lcsm_task_reads_text(task))
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_ARGUMENT, "the task %s reads text", task->name));
    LCSM_TRY(task->check(&from.made, err));
    LCSM_TRY(lcsm_evaluator_open(&e, model, from.B, from.T, false, err));
    LCSM_TRY(lcsm_evaluator_run(&e, &from, &plan, &sums, err));
cleanup:
    *out = sums.tally;
    if (score != NULL) *score = sums.score;
    lcsm_evaluator_close(&e);
    return st;
}

lcsm_status lcsm_evaluate_recall(const lcsm_model *model, const lcsm_train_config *cfg,
                                 lcsm_tally *out, lcsm_error *err)
{
    return lcsm_evaluate_task(model, cfg, out, NULL, err);
}
