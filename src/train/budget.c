/* budget.c - how long a run is. */
#include "train/budget.h"

#include <math.h>

/* The share of a budget of time that evaluation may take. */
static const double EVAL_SHARE = 0.1;

enum { EVALUATIONS = 10, WARMUP_PART = 10 };

static int64_t least(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

lcsm_budget lcsm_budget_of(const lcsm_train_config *c, int64_t epoch, bool evaluates)
{
    int64_t step  = c->batch_size * c->seq_len * c->accumulate;
    int64_t total = c->steps;
    if (lcsm_train_labels(c) > 0) step = c->batch_size * lcsm_train_labels(c) * c->accumulate;
    total = least(total, (c->tokens + step - 1) / step);
    total = least(total, c->epochs * epoch);
    if (total == 0 && c->minutes == 0) total = 1000;
    return (lcsm_budget){.steps      = total,
                         .seconds    = 60 * c->minutes,
                         .eval_every = c->eval_every,
                         .evaluates  = evaluates};
}

double lcsm_budget_done(const lcsm_budget *b, int64_t step, double seconds)
{
    double steps = b->steps > 0 ? (double)step / (double)b->steps : 0;
    double time  = b->seconds > 0 ? seconds / b->seconds : 0;
    return fmin(1, fmax(steps, time));
}

int64_t lcsm_budget_steps(const lcsm_budget *b, const lcsm_budget_at *at)
{
    double time = b->seconds > 0 ? fmin(1, at->seconds / b->seconds) : 0;
    if (time == 0 || at->step == 0) return b->steps;
    return least(b->steps, (int64_t)ceil((double)at->step / time));
}

int64_t lcsm_budget_evaluations(const lcsm_budget *b, int64_t steps)
{
    if (!b->evaluates) return 0;
    if (b->eval_every == 0) return steps < EVALUATIONS ? steps : EVALUATIONS;
    return (steps + b->eval_every - 1) / b->eval_every;
}

/* Evaluations from now on: the one that is due, those that follow, and the last. */
static double evaluations_left(const lcsm_budget *b, const lcsm_budget_at *at)
{
    int64_t steps = lcsm_budget_steps(b, at);
    double  done  = lcsm_budget_done(b, at->step, at->seconds);
    if (b->eval_every == 0) return 1 + EVALUATIONS - floor(EVALUATIONS * done);
    return (double)lcsm_budget_evaluations(b, steps - at->step) + 1;
}

double lcsm_budget_allowance(const lcsm_budget *b, const lcsm_budget_at *at)
{
    if (b->seconds == 0) return INFINITY;
    return fmax(0, EVAL_SHARE * b->seconds - at->eval_seconds) / evaluations_left(b, at);
}

lcsm_schedule lcsm_budget_schedule(const lcsm_budget *b, const lcsm_budget_at *at,
                                   const lcsm_schedule *whole)
{
    lcsm_schedule s     = *whole;
    int64_t       steps = lcsm_budget_steps(b, at);
    if (b->steps > 0 || steps == 0) return s;
    if (s.warmup > steps / WARMUP_PART) s.warmup = steps < WARMUP_PART ? 1 : steps / WARMUP_PART;
    s.total = steps > s.warmup ? steps : s.warmup + 1;
    return s;
}
