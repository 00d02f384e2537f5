/*
 * kernel/vecmath.h - the functions of activations and losses on vectors, over kernel/vec.h.
 *
 * The float versions are good to 8 units of the last place, vnormal_tail to 8 + a^2, by which
 * exp(-a^2 / 2) magnifies the rounding of its argument; test_activation.c measures them. The double
 * versions call libm lane by lane.
 */
#ifndef LCSM_KERNEL_VECMATH_H
#define LCSM_KERNEL_VECMATH_H
#include "kernel/vec.h"
#include <float.h>
#include <stdbool.h>

#if LCSM_REAL_IS_DOUBLE

#define R_MAX     DBL_MAX
#define R_TINY    DBL_MIN
#define R_EXP_TOP 709.7 /* exp of it is still finite */

VEC_INLINE vec vexpm1(vec x)
{
    for (int j = 0; j < VW; j++) x[j] = expm1(x[j]);
    return x;
}

VEC_INLINE vec vlog(vec x)
{
    for (int j = 0; j < VW; j++) x[j] = log(x[j]);
    return x;
}

/* The standard normal's weight above a >= 0, and its density at a. */
VEC_INLINE vec vnormal_tail(vec a, vec *density)
{
    vec tail;
    for (int j = 0; j < VW; j++) {
        tail[j]       = 0.5 * erfc(a[j] * 0.70710678118654752440);
        (*density)[j] = 0.39894228040143267794 * exp(-0.5 * a[j] * a[j]);
    }
    return tail;
}

#else

#define R_MAX     FLT_MAX
#define R_TINY    FLT_MIN
#define R_EXP_TOP 88.7f

/* exp(x) - 1 for x <= 0 without cancellation: 2^n expm1(r) + (2^n - 1), as in vexp. */
VEC_INLINE vec vexpm1(vec x)
{
    const real shift = 12582912.0f;
    vec        c     = vmax(x, vset1(-87.0f));
    vec        z     = c * 1.442695041f + shift;
    vec        n     = z - shift;
    vec        r     = c - n * 0.693359375f;
    r                = r - n * -2.12194440e-4f;
    vec q            = r * 1.381461309e-3f + 8.368709832e-3f;
    q                = q * r + 4.166838736e-2f;
    q                = q * r + 1.666652069e-1f;
    q                = q * r + 4.999999345e-1f;
    vec p            = (q * r) * r + r;
    vec power        = (vec)(((uvec)z << 23) + 0x3f800000u);
    return p * power + (power - 1.0f);
}

/* log of a positive normal x = 2^n m, m in [sqrt(1/2), sqrt(2)): n log 2 + f + f^2 q(f), f = m - 1;
 * minimax, 4e-9. */
VEC_INLINE vec vlog(vec x)
{
    ivec e = ((ivec)x - 0x3f3504f3) >> 23;
    vec  f = (vec)((ivec)x - (e << 23)) - 1.0f;
    vec  n = __builtin_convertvector(e, vec);
    vec  q = f * -7.62228663e-2f + 1.29049147e-1f;
    q      = q * f + -1.324301469e-1f;
    q      = q * f + 1.418174635e-1f;
    q      = q * f + -1.660906931e-1f;
    q      = q * f + 2.000197803e-1f;
    q      = q * f + -2.500158374e-1f;
    q      = q * f + 3.333332563e-1f;
    q      = q * f + -4.999998833e-1f;
    return n * 0.693359375f + ((f * f) * q + n * -2.12194440e-4f + f);
}

/* The standard normal's weight above a >= 0, and its density at a. The tail is exp(-a^2/2) times a
 * polynomial in t = 1/(1 + a/4), minimax, relative error 6e-8. */
VEC_INLINE vec vnormal_tail(vec a, vec *density)
{
    vec g    = vexp(a * a * -0.5f);
    vec t    = 1.0f / (a * 0.25f + 1.0f);
    vec q    = t * 2.572326566e-2f + -1.528079526e-1f;
    q        = q * t + 2.961184188e-1f;
    q        = q * t + -2.057787039e-1f;
    q        = q * t + 2.017547721e-1f;
    q        = q * t + 3.292955471e-2f;
    q        = q * t + 1.037462252e-1f;
    q        = q * t + 9.85169149e-2f;
    q        = q * t + 9.979747666e-2f;
    *density = g * 3.989422804e-1f;
    return g * (t * q);
}
#endif

/* The next m reals of a row: a whole vector, or the m < VW that are left. */
VEC_INLINE vec vload_m(const real *p, ptrdiff_t m)
{
    return m < VW ? vload_n(p, m) : vload(p);
}

VEC_INLINE void vstore_m(real *p, vec v, ptrdiff_t m)
{
    if (m < VW) vstore_n(p, v, m);
    else vstore(p, v);
}

/* A gradient: added to what is there, or not. */
VEC_INLINE void vput_m(real *p, vec v, ptrdiff_t m, bool add)
{
    vstore_m(p, add ? vload_m(p, m) + v : v, m);
}

/* Through expm1, so that small x keeps its digits. */
VEC_INLINE vec vtanh(vec x)
{
    vec m = vexpm1(vabs(x) * -2);
    vec t = m / (m + 2);
    return vselect(x < vzero(), t, -t);
}

VEC_INLINE vec vsoftplus(vec x)
{
    return vmax(x, vzero()) + vlog1p(vexp(-vabs(x)));
}

#endif
