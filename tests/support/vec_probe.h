/* vec_probe.h - the functions of kernel/vec.h, of every variant, as calls on arrays. */
#ifndef LCSM_VEC_PROBE_H
#define LCSM_VEC_PROBE_H
#include <stddef.h>

/* n is a multiple of width; each call works on n numbers. */
#define VEC_PROBE(type)                                                                            \
    typedef struct {                                                                               \
        const char *name;                                                                          \
        unsigned    needs; /* LCSM_CPU_... bits */                                                 \
        ptrdiff_t   width;                                                                         \
        void (*exp)(const type *x, type *y, ptrdiff_t n);                                          \
        void (*exp2)(const type *x, type *y, ptrdiff_t n);                                         \
        void (*log1p)(const type *x, type *y, ptrdiff_t n);                                        \
        void (*sqrt)(const type *x, type *y, ptrdiff_t n);                                         \
        void (*rcp)(const type *x, type *y, ptrdiff_t n);                                          \
        void (*log_sigmoid)(const type *x, type *y, ptrdiff_t n);                                  \
        void (*sigmoid)(const type *x, type *y, ptrdiff_t n);                                      \
        void (*sin)(const type *x, type *y, ptrdiff_t n);                                          \
        void (*cos)(const type *x, type *y, ptrdiff_t n);                                          \
        void (*abs)(const type *x, type *y, ptrdiff_t n);                                          \
        void (*min0)(const type *x, type *y, ptrdiff_t n); /* min(x, 0) */                         \
        void (*max0)(const type *x, type *y, ptrdiff_t n);                                         \
        type (*sum)(const type *x); /* of width numbers */                                         \
        type (*hmin)(const type *x);                                                               \
        void (*copy_n)(const type *x, type *y, ptrdiff_t n); /* vload_n, vstore_n */               \
        void (*gather)(const type *x, ptrdiff_t stride, ptrdiff_t n, type *y);                     \
    } vec_probe_##type

VEC_PROBE(float);
VEC_PROBE(double);

extern const vec_probe_float vec_probe_f32_portable;
#if defined(__x86_64__)
extern const vec_probe_float vec_probe_f32_avx2, vec_probe_f32_avx512;
#elif defined(__aarch64__)
extern const vec_probe_float vec_probe_f32_neon;
#endif
extern const vec_probe_double vec_probe_f64_portable;
#endif
