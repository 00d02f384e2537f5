/*
 * lcsm/train.h - train a model: settings, one update at a time, or a whole run into a folder.
 *
 *     lcsm_train_config_create(&cfg, err);
 *     lcsm_trainer_create(&t, model, cfg, 1000, err);
 *     for (...) lcsm_trainer_step(t, tokens, targets, NULL, &update, err);
 *
 * lcsm_train does the rest too: it reads text, cuts it into blocks, evaluates, keeps the best
 * model, writes checkpoints, and resumes a run so that the result is bit-identical to that of
 * an uninterrupted one (same threads, same kernels). Several processes (lcsm/dist.h) train a run
 * together with the bits of one that has the same `shards`; rank 0 writes, all see the events.
 *
 * Ownership  What _create returns, the caller gives to _free; _free(NULL) is fine. A trainer
 *            borrows its model. Strings of an event are borrowed for the time of the call.
 * Threads    A trainer belongs to one thread at a time and uses the threads of its context.
 * Structs    A job, hooks and results begin with their size, which the caller sets:
 *            {.size = sizeof update}. Sums (lcsm_tally) are plain values and stay as they are.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why.
 *            LCSM_ERR_NUMBER is a loss or gradient that is not finite.
 */
#ifndef LCSM_TRAIN_H
#define LCSM_TRAIN_H
#include <lcsm/config.h>
#include <lcsm/context.h>
#include <lcsm/dataset.h>
#include <lcsm/dist.h>
#include <lcsm/model.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LCSM_BEGIN_DECLS

/* ---- one update at a time ---- */

typedef struct lcsm_trainer lcsm_trainer;

typedef struct {
    size_t  size;      /* sizeof(lcsm_update), set by the caller */
    int64_t step;      /* updates done, this one included */
    int64_t tokens;    /* targets that counted so far, in all updates */
    double  loss;      /* mean over the targets of this update, in nats */
    double  accuracy;  /* part of them that the largest logit hit */
    double  grad_norm; /* before clipping */
    double  lr;
} lcsm_update;

/* total: updates of the whole run, which the schedules that end need; 0: cfg->steps. */
LCSM_API lcsm_status lcsm_trainer_create(lcsm_trainer **out, lcsm_model *model,
                                         const lcsm_train_config *cfg, int64_t total,
                                         lcsm_error *err);
LCSM_API void        lcsm_trainer_free(lcsm_trainer *t);

/* One update from tokens and targets (accumulate, batch_size, seq_len); LCSM_TARGET_NONE targets do
 * not count, and with a task that asks for a few positions at most so many * batch_size of a batch
 * may: with mqar, as many as pairs. reset (the same
 * shape, or NULL) is not 0 where a carried memory starts again. */
LCSM_API lcsm_status lcsm_trainer_step(lcsm_trainer *t, const int32_t *tokens,
                                       const int32_t *targets, const int32_t *reset,
                                       lcsm_update *out, lcsm_error *err);

/* Sums over targets, to be added up over batches. */
typedef struct {
    double  loss;  /* in nats */
    int64_t count; /* targets that counted */
    int64_t right;
} lcsm_tally;

/* Adds one batch (batch_size, seq_len) to the sums; nothing is learned. */
LCSM_API lcsm_status lcsm_trainer_evaluate(lcsm_trainer *t, const int32_t *tokens,
                                           const int32_t *targets, lcsm_tally *sum,
                                           lcsm_error *err);

/* A model on the recall examples that a run with these settings is evaluated on. */
LCSM_API lcsm_status lcsm_evaluate_recall(const lcsm_model *model, const lcsm_train_config *cfg,
                                          lcsm_tally *out, lcsm_error *err);

/* The same of any task that makes its examples. score, by the task's own metric, may be NULL. */
LCSM_API lcsm_status lcsm_evaluate_task(const lcsm_model *model, const lcsm_train_config *cfg,
                                        lcsm_tally *out, double *score, lcsm_error *err);

/* Bytes of values, gradients, moments and workspace. */
LCSM_API size_t lcsm_trainer_bytes(const lcsm_trainer *t);

/* ---- a whole run ---- */

typedef struct {
    size_t                   size; /* sizeof(lcsm_train_job) */
    const lcsm_model_config *model;
    const lcsm_train_config *train;
    const char *const *data, *const *valid; /* files and folders of text */
    const char *const *test; /* text on which the best model is evaluated at the end */
    size_t             data_count, valid_count, test_count;
    const char        *tokenizer; /* tokenizer.json or its folder; NULL: bytes */
    const char        *cache;     /* a folder for token files; NULL: in memory */
    const char        *out;       /* the run folder */
    bool resume;      /* continue it; data that are not given are the run's own, and the model
                       * must be, as lcsm_run_settings gives it */
    const char *init; /* NULL, or the folder of a trained or imported model whose weights, settings
                       * and tokenizer the new run begins with: model must be as lcsm_run_settings
                       * gives it, but for dropout and what fine-tuning adds. A run that is resumed
                       * knows its own */
    lcsm_dist *dist;  /* the ranks that train it together, all by this call; NULL: this process */
} lcsm_train_job;

typedef enum {
    LCSM_TRAIN_START  = 0, /* text says what will be done */
    LCSM_TRAIN_UPDATE = 1, /* after every update */
    LCSM_TRAIN_EVAL   = 2,
    LCSM_TRAIN_SAVE   = 3, /* a checkpoint is on the disk */
    LCSM_TRAIN_NOTE   = 4, /* text says what happened */
    LCSM_TRAIN_END    = 5, /* text is the reason */
} lcsm_train_event_kind;

typedef struct {
    size_t                size; /* set by the library: bytes of the event */
    lcsm_train_event_kind kind;
    const char           *text;
    const char           *split;  /* of an evaluation: "valid" or "test" */
    const lcsm_update    *update; /* the last one; NULL before the run has begun */
    lcsm_tally            tally;
    int64_t               blocks;                         /* of an evaluation: that it looked at */
    double                bits_per_byte, word_perplexity; /* NAN: not known */
    double                seconds;                        /* of training so far, in all sessions */
    double tokens_per_second; /* read by the steps of the run so far, in a second of steps: time
                               * of evaluation and of saving does not count */
    double left;              /* seconds to the end; NAN: not known */
    bool   best;              /* of all evaluations so far */
    bool   log;               /* log_every updates have passed */
    size_t bytes;
    double score;   /* of an evaluation, by the task's own metric; NAN where that is the accuracy or
                     * the perplexity */
    double waiting; /* of several ranks: the part of the time of steps in which they waited for each
                     * other, transfers included, as a mean; NAN: one process */
    int slowest;    /* the rank that computed longest so far */
} lcsm_train_event;

typedef struct {
    size_t size;                                              /* sizeof(lcsm_train_hooks) */
    void (*event)(void *user, const lcsm_train_event *event); /* NULL: silence */
    bool (*stop)(void *user); /* asked after every update and in evaluations; true saves and ends.
                               * NULL: never */
    void *user;
} lcsm_train_hooks;

typedef struct {
    size_t      size; /* sizeof(lcsm_train_result), set by the caller */
    int64_t     steps, tokens;
    double      seconds;
    double      loss;              /* of the last update */
    double      best_loss;         /* of evaluations; NAN: none */
    double      best_accuracy;     /* NAN: none */
    double      test_loss;         /* of the best model; NAN: no test was made */
    double      tokens_per_second; /* as in an event */
    const char *reason;            /* why it ended: "steps", "signal", ... */
    bool        stopped;           /* by hooks->stop */
} lcsm_train_result;

LCSM_API lcsm_status lcsm_train(const lcsm_context *ctx, const lcsm_train_job *job,
                                const lcsm_train_hooks *hooks, lcsm_train_result *out,
                                lcsm_error *err);

LCSM_END_DECLS
#endif
