/*
 * train/training.h - a run under way: what its loop, its evaluations and its events share.
 */
#ifndef LCSM_TRAIN_TRAINING_H
#define LCSM_TRAIN_TRAINING_H
#include "train/metrics.h"
#include "train/run_checkpoint.h"
#include "train/run_inputs.h"

/* Seconds of a clock that never goes back. A run takes its time from one, so that a test can have
 * its own. */
typedef struct {
    double (*now)(void *user);
    void *user;
} lcsm_training_clock;

/* What a rank says to the others of a moment (run_loop.c). */
typedef struct {
    double  seconds;
    int64_t stop;
} lcsm_training_moment;

typedef struct {
    lcsm_run_inputs       in;
    lcsm_train_hooks      hooks;
    lcsm_training_clock   clock;
    lcsm_metrics          metrics;
    lcsm_progress         at;
    lcsm_update           last;
    int32_t              *tokens, *targets, *reset;
    lcsm_training_moment *moments;        /* one of each rank */
    bool                  lost;           /* the other ranks */
    double                waited;         /* seconds in steps of this session, for other ranks */
    double                stepped_before; /* at.step_seconds of earlier sessions */
    double                began;          /* of this session, less the seconds of earlier ones */
    struct {
        int64_t step;
        double  seconds;
    } first;                     /* where the first step of this session ended; step 0: not yet */
    bool              expected;  /* what a budget of time will buy has been said */
    double            eval_cost; /* seconds of the last evaluation of this session; 0: none yet */
    bool              fresh;     /* saved since the last step */
    lcsm_train_result result;
} lcsm_training;

/* lcsm_train by another clock. */
lcsm_status lcsm_training_by_clock(const lcsm_training_clock *clock, const lcsm_context *ctx,
                                   const lcsm_train_job *job, const lcsm_train_hooks *hooks,
                                   lcsm_train_result *out, lcsm_error *err);

/* Reads the clock, that of rank 0, into at.seconds. Collective. */
void lcsm_training_tick(lcsm_training *r);

lcsm_budget_at lcsm_training_where(const lcsm_training *r);

/* Asks the hook, of any rank; once it has said yes that stays. Collective. */
bool lcsm_training_stopped(lcsm_training *r);

/* An event of this moment, and telling one. */
lcsm_train_event lcsm_training_event(const lcsm_training *r, lcsm_train_event_kind kind);
void             lcsm_training_tell(const lcsm_training *r, const lcsm_train_event *e);
void             lcsm_training_note(void *run, const char *text);

/* Tokens that a second of steps reads: the mean over the run, without evaluations and saving. NAN
 * before the first step. */
double lcsm_training_speed(const lcsm_training *r);

/* A line of metrics.jsonl. Collective, as all that writes: rank 0 does it. */
lcsm_status lcsm_training_write(lcsm_training *r, const lcsm_train_event *e, lcsm_error *err);

/* Writes the model into the run folder. */
lcsm_status lcsm_training_save_model(const lcsm_training *r, lcsm_error *err);
bool        lcsm_training_has_model(const lcsm_training *r);
lcsm_status lcsm_training_need_model(const lcsm_training *r, lcsm_error *err); /* unless it has */

/* Every so many steps, or whenever a tenth of the run has passed, as long as the run is now; not
 * while the evaluations have had a tenth of the time that they may take. */
bool lcsm_training_evaluation_is_due(const lcsm_training *r);

/* Evaluates, and keeps the model if it is the best. One that is cut short by a stop leaves nothing:
 * it is made when the run goes on. */
lcsm_status lcsm_training_evaluate(lcsm_training *r, lcsm_error *err);

/* Evaluates the best model, which takes the place of the last, on all of a text that chose
 * nothing, if there is one. */
lcsm_status lcsm_training_test(lcsm_training *r, lcsm_error *err);

#endif
