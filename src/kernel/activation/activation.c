/* activation.c - the activations on vectors: f and its derivative d together, so that what they
 * share is computed once; a loop that wants one of them drops the other when it is compiled. */
#include "kernel/activation/activation.h"
#include "kernel/vecmath.h"

VEC_INLINE vec capped(vec x)
{
    return vmax(vmin(x, vset1(R_MAX)), vset1(-R_MAX));
}

VEC_INLINE void none(vec x, vec *f, vec *d)
{
    *f = x;
    *d = vset1(1);
}

VEC_INLINE void relu(vec x, vec *f, vec *d)
{
    *f = vmax(x, vzero());
    *d = vselect(x > vzero(), vset1(1), vzero());
}

/* With z = exp(-|x|): sigmoid is 1/(1+z) or z/(1+z), its derivative z/(1+z)^2. */
VEC_INLINE void sigmoid(vec x, vec *f, vec *d)
{
    vec z = vexp(-vabs(x));
    vec r = 1 / (z + 1);
    *f    = vselect(x < vzero(), z, vset1(1)) * r;
    *d    = z * r * r;
}

VEC_INLINE void elu1(vec x, vec *f, vec *d)
{
    vec e = vexp(vmin(x, vzero()));
    *f    = vselect(x > vzero(), x + 1, e);
    *d    = e;
}

VEC_INLINE void silu(vec x, vec *f, vec *d)
{
    vec s, ds;
    sigmoid(x, &s, &ds);
    *f = x * s;
    *d = s + x * ds;
}

VEC_INLINE void elu(vec x, vec *f, vec *d)
{
    vec e = vexpm1(vmin(x, vzero()));
    *f    = vselect(x > vzero(), x, e);
    *d    = e + 1;
}

VEC_INLINE void relu2(vec x, vec *f, vec *d)
{
    vec r = vmax(x, vzero());
    *f    = vmin(r * r, vset1(R_MAX));
    *d    = vmin(r + r, vset1(R_MAX));
}

VEC_INLINE void square(vec x, vec *f, vec *d)
{
    *f = vmin(x * x, vset1(R_MAX));
    *d = capped(x + x);
}

VEC_INLINE void exponential(vec x, vec *f, vec *d)
{
    *f = vexp(vmin(x, vset1(R_EXP_TOP)));
    *d = *f;
}

/* The exponential of a key that may be anything: exp(min(x, 10)), constant above. */
VEC_INLINE void held_exponential(vec x, vec *f, vec *d)
{
    *f = vexp(vmin(x, vset1(10)));
    *d = vselect(x < vset1(10), *f, vzero());
}

/* The derivative 1 - tanh^2 is 4z/(1+z)^2 with z = exp(-2|x|). */
VEC_INLINE void tangent(vec x, vec *f, vec *d)
{
    vec z = vexp(vabs(x) * -2);
    vec r = 1 / (z + 1);
    *f    = vtanh(x);
    *d    = 4 * z * r * r;
}

VEC_INLINE void gelu(vec x, vec *f, vec *d)
{
    vec density;
    vec tail = vnormal_tail(vabs(x), &density);
    vec p    = vselect(x < vzero(), tail, 1 - tail);
    *f       = x * p;
    *d       = p + x * density;
}

VEC_INLINE void softplus(vec x, vec *f, vec *d)
{
    *f = vsoftplus(x);
    *d = vsigmoid(x);
}

VEC_INLINE void log_sigmoid(vec x, vec *f, vec *d)
{
    *f = vlog_sigmoid(x);
    *d = vsigmoid(-x);
}

VEC_INLINE void logarithm(vec x, vec *f, vec *d)
{
    vec c = vmax(x, vset1(R_TINY));
    *f    = vlog(c);
    *d    = vselect(x < vset1(R_TINY), vzero(), 1 / c);
}

/* Comparisons inside f lose a NaN; here it comes back. */
VEC_INLINE vec keep_nan(vec x, vec f)
{
    return vselect(x == x, f, x);
}

#define X(NAME, name, text)                                                                        \
    static void name##_fwd(ptrdiff_t n, real scale, const real *x, real *y)                        \
    {                                                                                              \
        vec f, d;                                                                                  \
        for (ptrdiff_t j = 0; j < n; j += VW) {                                                    \
            vec v = vload_m(x + j, n - j);                                                         \
            name(v, &f, &d);                                                                       \
            vstore_m(y + j, keep_nan(v, f) * scale, n - j);                                        \
        }                                                                                          \
    }                                                                                              \
    static void name##_bwd(ptrdiff_t n, real scale, const real *x, const real *g_y, real *g_x,     \
                           bool add)                                                               \
    {                                                                                              \
        vec f, d;                                                                                  \
        for (ptrdiff_t j = 0; j < n; j += VW) {                                                    \
            name(vload_m(x + j, n - j), &f, &d);                                                   \
            vput_m(g_x + j, d * scale * vload_m(g_y + j, n - j), n - j, add);                      \
        }                                                                                          \
    }                                                                                              \
    static void name##_glu_fwd(ptrdiff_t n, const real *a, const real *b, real *y)                 \
    {                                                                                              \
        vec f, d;                                                                                  \
        for (ptrdiff_t j = 0; j < n; j += VW) {                                                    \
            vec v = vload_m(a + j, n - j);                                                         \
            name(v, &f, &d);                                                                       \
            vstore_m(y + j, keep_nan(v, f) * vload_m(b + j, n - j), n - j);                        \
        }                                                                                          \
    }                                                                                              \
    static void name##_glu_bwd(ptrdiff_t n, const real *a, const real *b, const real *g_y,         \
                               real *g_a, bool add_a, real *g_b, bool add_b)                       \
    {                                                                                              \
        vec f, d;                                                                                  \
        for (ptrdiff_t j = 0; j < n; j += VW) {                                                    \
            vec g = vload_m(g_y + j, n - j);                                                       \
            name(vload_m(a + j, n - j), &f, &d);                                                   \
            vec u = d * g * vload_m(b + j, n - j);                                                 \
            if (g_a != NULL) vput_m(g_a + j, u, n - j, add_a);                                     \
            if (g_b != NULL) vput_m(g_b + j, f * g, n - j, add_b);                                 \
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
