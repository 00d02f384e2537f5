/*
 * train/evaluator.h - the one loop that evaluates: batches through a graph, forward only.
 *
 * Training evaluates with its own graph, so nothing is planned twice; `lcsm eval` opens one of its
 * own. Blocks that are longer than the graph go through it piece by piece, with the memory carried
 * within the block.
 */
#ifndef LCSM_TRAIN_EVALUATOR_H
#define LCSM_TRAIN_EVALUATOR_H
#include <lcsm/evaluate.h>

#include "dist/dist.h"
#include "graph/graph.h"
#include "model/model_graph.h"
#include "model/model_weights.h"
#include "train/batches.h"
#include "train/tally.h"

/* A graph with a loss, of batches (B, T). {0} may be closed. */
typedef struct {
    lcsm_graph   *g;
    lcsm_model_io io;
    lcsm_state   *state; /* NULL: every batch starts with an empty memory */
    ptrdiff_t     B, T;
} lcsm_evaluator;

/* With `carry` the memory goes on from batch to batch, or from piece to piece of a long block. */
lcsm_status lcsm_evaluator_open(lcsm_evaluator *e, const lcsm_model *model, ptrdiff_t B,
                                ptrdiff_t T, bool carry, lcsm_error *err);
void        lcsm_evaluator_close(lcsm_evaluator *e);

/* Copies tokens and targets (B, T) into the inputs of a graph; where it computes only what labels
 * need, the targets that count and their places. reset (B, T) may be NULL. */
lcsm_status lcsm_evaluator_load(lcsm_evaluator *e, const int32_t *tokens, const int32_t *targets,
                                const int32_t *reset, lcsm_error *err);

/* LCSM_ERR_NUMBER: "WHAT: the loss is not finite", and the first op that has such a result, found
 * by running once more. */
lcsm_status lcsm_evaluator_not_finite(lcsm_evaluator *e, const lcsm_run_options *opt,
                                      const char *what, lcsm_error *err);

/* Adds one batch of the graph's own shape to the sums. `what` is for messages. */
lcsm_status lcsm_evaluator_batch(lcsm_evaluator *e, const int32_t *tokens, const int32_t *targets,
                                 const char *what, lcsm_tally *sum, lcsm_error *err);

typedef struct {
    int64_t     blocks; /* at most so many; 0: all */
    const char *what;   /* for messages, as "evaluation after step 12" */
    bool (*go_on)(void *user, int64_t done, int64_t total); /* after every batch; NULL: yes */
    void      *user;
    lcsm_dist *dist; /* the ranks that share the batches: each takes one of every so many, go_on
                        comes after these, and the sums are those of all, but for the curve */
} lcsm_eval_plan;

typedef struct {
    lcsm_tally tally;
    int64_t    blocks; /* that were evaluated */
    double     score;  /* by the task's own metric; NAN: it has perplexity */
    struct {
        double  loss;
        int64_t count;
    } curve[LCSM_CURVE_POINTS]; /* by position in a block: 0, 1, 2..3, 4..7 and so on */
} lcsm_eval_sums;

/* The blocks of `from`, in order, as far as the plan lets it. */
lcsm_status lcsm_evaluator_run(lcsm_evaluator *e, const lcsm_batches *from,
                               const lcsm_eval_plan *plan, lcsm_eval_sums *out, lcsm_error *err);

/* Bits a byte, and perplexity a word; a part of a text has its share of the bytes and words. NAN
 * where there is no text, or no word. */
void lcsm_eval_text_figures(const lcsm_dataset *data, const lcsm_tally *tally,
                            double *bits_per_byte, double *word_perplexity);

#endif
