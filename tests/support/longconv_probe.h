/* longconv_probe.h - the long convolution of every variant, on numbers in double. */
#ifndef LCSM_LONGCONV_PROBE_H
#define LCSM_LONGCONV_PROBE_H
#include <stddef.h>

/* u, g_y (B, T, D) and k (L, D), packed. y is overwritten; g_u and g_k are added to, or NULL. The
 * kernel sees rows that are further apart than that. */
typedef void longconv_probe(ptrdiff_t B, ptrdiff_t T, ptrdiff_t L, ptrdiff_t D, const double *u,
                            const double *k, const double *g_y, double *y, double *g_u,
                            double *g_k);

longconv_probe longconv_probe_f32_portable, longconv_probe_f64_portable;
#if defined(__x86_64__)
longconv_probe longconv_probe_f32_avx2, longconv_probe_f32_avx512;
#elif defined(__aarch64__)
longconv_probe longconv_probe_f32_neon;
#endif
#endif
