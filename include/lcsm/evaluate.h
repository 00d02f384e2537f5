/*
 * lcsm/evaluate.h - how well a model predicts a text.
 *
 * Ownership  Everything is the caller's; nothing is kept.
 * Threads    Any thread; several may evaluate one model that is not being trained.
 * Structs    Options and result begin with their size, which the caller sets: {.size = sizeof r}.
 *            A point of the curve is a plain value and stays as it is.
 * Errors     Returns lcsm_status and, if err is not NULL, says why.
 */
#ifndef LCSM_EVALUATE_H
#define LCSM_EVALUATE_H
#include <lcsm/dataset.h>
#include <lcsm/model.h>

LCSM_BEGIN_DECLS

/* All zeros but size are the defaults. */
typedef struct {
    size_t   size;       /* sizeof(lcsm_evaluate_options) */
    size_t   length;     /* tokens of a block; 0: 512 */
    size_t   batch;      /* blocks side by side; 0: 8 */
    bool     carried;    /* the memory is carried from block to block */
    uint64_t max_blocks; /* 0: the whole text */
} lcsm_evaluate_options;

enum { LCSM_CURVE_POINTS = 32 };

/* The mean loss at positions from .. to - 1 of a block. */
typedef struct {
    size_t from, to;
    double loss;
} lcsm_curve_point;

typedef struct {
    size_t   size;            /* sizeof(lcsm_evaluation), set by the caller */
    uint64_t tokens, blocks;  /* that counted */
    double   loss;            /* nats per token */
    double   perplexity;      /* exp(loss) */
    double   word_perplexity; /* exp(nats per word), words being what whitespace separates */
    double   bits_per_byte;
    double   accuracy; /* the part of tokens that got the largest probability */
    double   seconds;
    size_t   points; /* of the curve: positions 0, 1, 2..3, 4..7 and so on */
    lcsm_curve_point curve[LCSM_CURVE_POINTS];
} lcsm_evaluation;

/* Is told the batches that are done; false stops, and the result is that of the batches so far. */
typedef bool lcsm_evaluate_progress(void *user, uint64_t done, uint64_t total);

/* Every token of the text is predicted once, from those before it in its block, or from all before
 * it in its row when the memory is carried. Where only a part of the text is taken, its bytes and
 * words are counted by its share of the tokens. options, progress may be NULL. */
LCSM_API lcsm_status lcsm_evaluate(const lcsm_model *model, const lcsm_dataset *data,
                                   const lcsm_evaluate_options *options, lcsm_evaluation *out,
                                   lcsm_evaluate_progress *progress, void *user, lcsm_error *err);

LCSM_END_DECLS
#endif
