/* probe_ref.c - the probes in plain C: what the references have. */
#include "kernel/probe/probe.h"

static real probe_fma(size_t rounds, real start)
{
    real x[LCSM_PROBE_CHAINS], sum = 0;
    for (int j = 0; j < LCSM_PROBE_CHAINS; j++) x[j] = start + (real)j;
    for (size_t r = 0; r < rounds; r++)
        for (int j = 0; j < LCSM_PROBE_CHAINS; j++) x[j] = x[j] * (real)0.75 + start;
    for (int j = 0; j < LCSM_PROBE_CHAINS; j++) sum += x[j];
    return sum;
}

static real probe_exp(const real *x, size_t n)
{
    real sum = 0;
    for (size_t j = 0; j < n; j++) sum += R_FN(exp)(x[j]);
    return sum;
}

static real probe_gate(const real *x, size_t n, real tau)
{
    real sum = 0;
    for (size_t j = 0; j < n; j++) {
        real low = x[j] < 0 ? x[j] : 0;
        sum += R_FN(exp)((low - R_FN(log1p)(R_FN(exp)(-R_FN(fabs)(x[j])))) / tau);
    }
    return sum;
}

static real probe_read(const real *x, size_t n)
{
    real sum = 0;
    for (size_t j = 0; j < n; j++) sum += x[j];
    return sum;
}

const R_(lcsm_probe) K_(lcsm_probes) = {
    2.0 * LCSM_PROBE_CHAINS, probe_fma, probe_exp, probe_gate, probe_read,
};
