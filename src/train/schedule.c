/* schedule.c - learning-rate schedules: a table of functions of the progress after warm-up. */
#include "train/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static const double PI = 3.14159265358979323846;

/* How far `done` steps are from the end of warm-up to the last, 0 .. 1. */
static double progress(const lcsm_schedule *s, int64_t done)
{
    double x = (double)(done - s->warmup) / (double)(s->total - s->warmup);
    return x < 1 ? x : 1;
}

static double constant(const lcsm_schedule *s, int64_t done)
{
    (void)done;
    return s->peak;
}

static double linear(const lcsm_schedule *s, int64_t done)
{
    return s->peak + (s->last - s->peak) * progress(s, done);
}

static double cosine(const lcsm_schedule *s, int64_t done)
{
    return s->last + (s->peak - s->last) * (1 + cos(PI * progress(s, done))) / 2;
}

static double cosine_epoch(const lcsm_schedule *s, int64_t done)
{
    return cosine(s, s->warmup + (done - s->warmup) / s->epoch * s->epoch);
}

static double inverse_sqrt(const lcsm_schedule *s, int64_t done)
{
    return s->peak * sqrt((double)s->warmup) / sqrt((double)done);
}

static const struct {
    const char *name;
    double (*rate)(const lcsm_schedule *s, int64_t done);
    bool uses_total;
} KINDS[LCSM_SCHEDULE_COUNT] = {
    [LCSM_SCHEDULE_CONSTANT]     = {"constant", constant, false},
    [LCSM_SCHEDULE_LINEAR]       = {"linear", linear, true},
    [LCSM_SCHEDULE_COSINE]       = {"cosine", cosine, true},
    [LCSM_SCHEDULE_COSINE_EPOCH] = {"cosine-epoch", cosine_epoch, true},
    [LCSM_SCHEDULE_INVERSE_SQRT] = {"inverse-sqrt", inverse_sqrt, false},
};

const char *lcsm_schedule_name(lcsm_schedule_kind kind)
{
    return (unsigned)kind < LCSM_SCHEDULE_COUNT ? KINDS[kind].name : NULL;
}

lcsm_status lcsm_schedule_check(const lcsm_schedule *s, lcsm_error *err)
{
    if ((unsigned)s->kind >= LCSM_SCHEDULE_COUNT)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "schedule is %d; expected 0 to %d", (int)s->kind,
                         LCSM_SCHEDULE_COUNT - 1);
    if (!(s->peak >= 0 && s->start >= 0 && s->last >= 0 && isfinite(s->peak + s->start + s->last)))
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "learning rates are %g, %g, %g; expected numbers >= 0", s->peak, s->start,
                         s->last);
    if (s->warmup < 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "a warm-up of %lld steps", (long long)s->warmup);
    if (s->kind == LCSM_SCHEDULE_INVERSE_SQRT && s->warmup < 1)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "inverse-sqrt needs a warm-up of at least 1 step");
    if (KINDS[s->kind].uses_total && s->total <= s->warmup)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "%s: %lld steps; expected more than the %lld warm-up steps",
                         KINDS[s->kind].name, (long long)s->total, (long long)s->warmup);
    if (s->kind == LCSM_SCHEDULE_COSINE_EPOCH && s->epoch < 1)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "an epoch of %lld steps; expected at least 1",
                         (long long)s->epoch);
    return LCSM_OK;
}

double lcsm_schedule_rate(const lcsm_schedule *s, int64_t done)
{
    double start = s->start > 0 ? s->start : s->peak / (double)(s->warmup + 1);
    if (done < s->warmup) return start + (double)done * (s->peak - start) / (double)s->warmup;
    return KINDS[s->kind].rate(s, done);
}
