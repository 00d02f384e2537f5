/* vec_probe.c - kernel/vec.h of one variant behind function pointers. */
#include "vec_probe.h"
#include "kernel/cpu.h"
#include "kernel/vec.h"

#if LCSM_REAL_IS_DOUBLE
typedef vec_probe_double probe;
#else
typedef vec_probe_float probe;
#endif

static vec sine(vec x)
{
    vec s, c;
    vsincos(x, &s, &c);
    return s;
}

static vec cosine(vec x)
{
    vec s, c;
    vsincos(x, &s, &c);
    return c;
}

static vec min0(vec x)
{
    return vmin(x, vzero());
}

static vec max0(vec x)
{
    return vmax(x, vzero());
}

#define ARRAY(name, call)                                                                          \
    static void name(const real *x, real *y, ptrdiff_t n)                                          \
    {                                                                                              \
        for (ptrdiff_t j = 0; j < n; j += VW) vstore(y + j, call(vload(x + j)));                   \
    }
ARRAY(a_exp, vexp)
ARRAY(a_exp2, vexp2)
ARRAY(a_log1p, vlog1p)
ARRAY(a_sqrt, vsqrt)
ARRAY(a_rcp, vrcp)
ARRAY(a_log_sigmoid, vlog_sigmoid)
ARRAY(a_sigmoid, vsigmoid)
ARRAY(a_sin, sine)
ARRAY(a_cos, cosine)
ARRAY(a_abs, vabs)
ARRAY(a_min0, min0)
ARRAY(a_max0, max0)
#undef ARRAY

static real sum(const real *x)
{
    return vsum(vload(x));
}

static real hmin(const real *x)
{
    return vhmin(vload(x));
}

static void copy_n(const real *x, real *y, ptrdiff_t n)
{
    vstore_n(y, vload_n(x, n), n);
}

static void gather(const real *x, ptrdiff_t stride, ptrdiff_t n, real *y)
{
    vstore(y, vgather(x, stride, n));
}

#if VW == 16
#define NAME  "avx512"
#define NEEDS (LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512)
#elif VW == 8
#define NAME  "avx2"
#define NEEDS (LCSM_CPU_VECTOR | LCSM_CPU_AVX2)
#elif VEC_NEON
#define NAME  "neon"
#define NEEDS (LCSM_CPU_VECTOR | LCSM_CPU_NEON)
#else
#define NAME  "portable"
#define NEEDS LCSM_CPU_VECTOR
#endif

extern const probe K_(vec_probe);

const probe K_(vec_probe) = {
    .name        = NAME,
    .needs       = NEEDS,
    .width       = VW,
    .exp         = a_exp,
    .exp2        = a_exp2,
    .log1p       = a_log1p,
    .sqrt        = a_sqrt,
    .rcp         = a_rcp,
    .log_sigmoid = a_log_sigmoid,
    .sigmoid     = a_sigmoid,
    .sin         = a_sin,
    .cos         = a_cos,
    .abs         = a_abs,
    .min0        = a_min0,
    .max0        = a_max0,
    .sum         = sum,
    .hmin        = hmin,
    .copy_n      = copy_n,
    .gather      = gather,
};
