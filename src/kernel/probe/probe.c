/* probe.c - the probes with the vectors of this variant. */
#include "kernel/probe/probe.h"
#include "kernel/vec.h"

/* X(chain), one for each of LCSM_PROBE_CHAINS: named variables stay in registers. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

static real probe_fma(size_t rounds, real start)
{
    const vec a = vset1((real)0.75), b = vset1(start);
#define X(j) vec x##j = vset1(start + (real)j);
    CHAINS(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(j) x##j = x##j * a + b;
        CHAINS(X)
#undef X
    }
    vec sum = vzero();
#define X(j) sum += x##j;
    CHAINS(X)
#undef X
    return vsum(sum);
}

static real probe_exp(const real *x, size_t n)
{
    vec a = vzero(), b = vzero();
    for (size_t j = 0; j < n; j += 2 * VW) {
        a += vexp(vload(x + j));
        b += vexp(vload(x + j + VW));
    }
    return vsum(a + b);
}

static real probe_gate(const real *x, size_t n, real tau)
{
    const vec root = vset1(1 / tau);
    vec       a = vzero(), b = vzero();
    for (size_t j = 0; j < n; j += 2 * VW) {
        a += vexp(vlog_sigmoid(vload(x + j)) * root);
        b += vexp(vlog_sigmoid(vload(x + j + VW)) * root);
    }
    return vsum(a + b);
}

static real probe_read(const real *x, size_t n)
{
    vec a = vzero(), b = vzero(), c = vzero(), d = vzero();
    for (size_t j = 0; j < n; j += 4 * VW) {
        a += vload(x + j);
        b += vload(x + j + VW);
        c += vload(x + j + 2 * VW);
        d += vload(x + j + 3 * VW);
    }
    return vsum((a + b) + (c + d));
}

const R_(lcsm_probe) K_(lcsm_probes) = {
    2.0 * LCSM_PROBE_CHAINS * VW, probe_fma, probe_exp, probe_gate, probe_read,
};
