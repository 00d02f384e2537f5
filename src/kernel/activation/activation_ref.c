/* activation_ref.c - the definition of every activation: f and its derivative d, then the loops. */
#include "kernel/activation/activation.h"
#include <float.h>

#if LCSM_REAL_IS_DOUBLE
#define TOP  DBL_MAX
#define TINY DBL_MIN
#else
#define TOP  FLT_MAX
#define TINY FLT_MIN
#endif

static real sigma(real x)
{
    real z = R_FN(exp)(-R_FN(fabs)(x));
    return x < 0 ? z / (1 + z) : 1 / (1 + z);
}

static real capped(real x)
{
    return x > TOP ? TOP : x < -TOP ? -TOP : x;
}

static void none(real x, real *f, real *d)
{
    *f = x;
    *d = 1;
}

static void relu(real x, real *f, real *d)
{
    *f = x < 0 ? 0 : x;
    *d = x > 0;
}

static void sigmoid(real x, real *f, real *d)
{
    *f = sigma(x);
    *d = sigma(x) * sigma(-x);
}

static void elu1(real x, real *f, real *d)
{
    *f = x > 0 ? x + 1 : R_FN(exp)(x);
    *d = x > 0 ? 1 : R_FN(exp)(x);
}

static void silu(real x, real *f, real *d)
{
    *f = x * sigma(x);
    *d = sigma(x) * (1 + x * sigma(-x));
}

static void elu(real x, real *f, real *d)
{
    *f = x > 0 ? x : R_FN(expm1)(x);
    *d = x > 0 ? 1 : R_FN(exp)(x);
}

static void relu2(real x, real *f, real *d)
{
    real r = x < 0 ? 0 : x;
    *f     = capped(r * r);
    *d     = capped(2 * r);
}

static void square(real x, real *f, real *d)
{
    *f = capped(x * x);
    *d = capped(2 * x);
}

static void exponential(real x, real *f, real *d)
{
    *f = capped(R_FN(exp)(x));
    *d = *f;
}

static void held_exponential(real x, real *f, real *d)
{
    *f = R_FN(exp)(x > 10 ? 10 : x);
    *d = x < 10 ? *f : 0;
}

static void tangent(real x, real *f, real *d)
{
    real c = 1 / R_FN(cosh)(x);
    *f     = R_FN(tanh)(x);
    *d     = c * c;
}

/* x Phi(x), Phi the distribution of the standard normal. */
static void gelu(real x, real *f, real *d)
{
    const real root_half = (real)0.70710678118654752440;
    real       p         = R_FN(erfc)(-x * root_half) / 2;
    real       density   = (real)0.39894228040143267794 * R_FN(exp)(-x * x / 2);
    *f                   = x * p;
    *d                   = p + x * density;
}

static void softplus(real x, real *f, real *d)
{
    *f = (x > 0 ? x : 0) + R_FN(log1p)(R_FN(exp)(-R_FN(fabs)(x)));
    *d = sigma(x);
}

static void log_sigmoid(real x, real *f, real *d)
{
    *f = (x < 0 ? x : 0) - R_FN(log1p)(R_FN(exp)(-R_FN(fabs)(x)));
    *d = sigma(-x);
}

static void logarithm(real x, real *f, real *d)
{
    *f = R_FN(log)(x < TINY ? TINY : x);
    *d = x < TINY ? 0 : 1 / x;
}

#define X(NAME, name, text)                                                                        \
    static void name##_fwd(ptrdiff_t n, real scale, const real *x, real *y)                        \
    {                                                                                              \
        real f, d;                                                                                 \
        for (ptrdiff_t j = 0; j < n; j++) {                                                        \
            name(x[j], &f, &d);                                                                    \
            y[j] = scale * f;                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name##_bwd(ptrdiff_t n, real scale, const real *x, const real *g_y, real *g_x,     \
                           bool add)                                                               \
    {                                                                                              \
        real f, d;                                                                                 \
        for (ptrdiff_t j = 0; j < n; j++) {                                                        \
            name(x[j], &f, &d);                                                                    \
            g_x[j] = (add ? g_x[j] : 0) + scale * d * g_y[j];                                      \
        }                                                                                          \
    }                                                                                              \
    static void name##_glu_fwd(ptrdiff_t n, const real *a, const real *b, real *y)                 \
    {                                                                                              \
        real f, d;                                                                                 \
        for (ptrdiff_t j = 0; j < n; j++) {                                                        \
            name(a[j], &f, &d);                                                                    \
            y[j] = f * b[j];                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void name##_glu_bwd(ptrdiff_t n, const real *a, const real *b, const real *g_y,         \
                               real *g_a, bool add_a, real *g_b, bool add_b)                       \
    {                                                                                              \
        real f, d;                                                                                 \
        for (ptrdiff_t j = 0; j < n; j++) {                                                        \
            name(a[j], &f, &d);                                                                    \
            real u = d * b[j] * g_y[j], v = f * g_y[j];                                            \
            if (g_a != NULL) g_a[j] = (add_a ? g_a[j] : 0) + u;                                    \
            if (g_b != NULL) g_b[j] = (add_b ? g_b[j] : 0) + v;                                    \
        }                                                                                          \
    }
LCSM_ACT_LIST(X)
#undef X

const R_(lcsm_activation) K_(lcsm_activations)[LCSM_ACT_COUNT] = {
#define X(NAME, name, text)                                                                        \
    [LCSM_ACT_##NAME] = {text, name##_fwd, name##_bwd, name##_glu_fwd, name##_glu_bwd},
    LCSM_ACT_LIST(X)
#undef X
};
