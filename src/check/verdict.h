/*
 * check/verdict.h - the worst of several comparisons, each beside its bound.
 *
 * Float results are judged by the plain float32 reference on the same numbers: its error against
 * double is what the case costs in float, whatever its size. A fast kernel may have four times
 * that, for sums in another order, and 5e-6, some tens of half ulps: what exp, sine and cosine in
 * vectors and decays of whole chunks cost where the loop of the reference happens to be exact.
 */
#ifndef LCSM_CHECK_VERDICT_H
#define LCSM_CHECK_VERDICT_H
#include <lcsm/check.h>
#include <math.h>

/* An error, that of the float32 reference (NAN: not asked), and the bound. */
typedef struct {
    double error, reference, bound;
} lcsm_measure;

#define LCSM_UNMEASURED ((lcsm_measure){NAN, NAN, NAN})

typedef struct {
    lcsm_measure output, gradient;
    char         detail[240];
} lcsm_verdict;

#define LCSM_NO_VERDICT ((lcsm_verdict){.output = LCSM_UNMEASURED, .gradient = LCSM_UNMEASURED})

double lcsm_float_bound(double reference);

static inline lcsm_measure lcsm_measure_float(double error, double reference)
{
    return (lcsm_measure){error, reference, lcsm_float_bound(reference)};
}

static inline lcsm_measure lcsm_measure_fixed(double error, double bound)
{
    return (lcsm_measure){error, NAN, bound};
}

/* Takes what is nearer to its bound, or further beyond it; a NaN is beyond all. True if taken. */
bool lcsm_measure_note(lcsm_measure *slot, lcsm_measure found);

/* NaN and infinite errors fail; what was not measured does not. */
bool lcsm_measure_ok(const lcsm_measure *m);

/* Its row, with its own detail. */
lcsm_check_row lcsm_verdict_row(const lcsm_verdict *v, const char *group, const char *name,
                                const char *precision);
void           lcsm_verdict_emit(const lcsm_verdict *v, const char *group, const char *name,
                                 const char *precision, lcsm_check_sink *sink, void *user);
#endif
