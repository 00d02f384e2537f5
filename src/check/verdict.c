/* verdict.c - the worst of several comparisons, each beside its bound. */
#include "check/verdict.h"

#define FACTOR 4.0
#define FLOOR  5e-6

double lcsm_float_bound(double reference)
{
    return FACTOR * reference + FLOOR;
}

bool lcsm_measure_note(lcsm_measure *slot, lcsm_measure found)
{
    if (isnan(found.error)) found.error = INFINITY;
    if (!isnan(slot->bound) && !(found.error / found.bound > slot->error / slot->bound))
        return false;
    *slot = found;
    return true;
}

bool lcsm_measure_ok(const lcsm_measure *m)
{
    return isnan(m->bound) || m->error <= m->bound;
}

lcsm_check_row lcsm_verdict_row(const lcsm_verdict *v, const char *group, const char *name,
                                const char *precision)
{
    return (lcsm_check_row){.size               = sizeof(lcsm_check_row),
                            .group              = group,
                            .name               = name,
                            .precision          = precision,
                            .output_error       = v->output.error,
                            .output_reference   = v->output.reference,
                            .output_bound       = v->output.bound,
                            .gradient_error     = v->gradient.error,
                            .gradient_reference = v->gradient.reference,
                            .gradient_bound     = v->gradient.bound,
                            .ok     = lcsm_measure_ok(&v->output) && lcsm_measure_ok(&v->gradient),
                            .detail = v->detail};
}

void lcsm_verdict_emit(const lcsm_verdict *v, const char *group, const char *name,
                       const char *precision, lcsm_check_sink *sink, void *user)
{
    lcsm_check_row row = lcsm_verdict_row(v, group, name, precision);
    sink(user, &row);
}
