/*
 * kernel/variant.h - one source, several objects.
 *
 * The build compiles a kernel or op source once for each variant, a pair of a number type and an
 * instruction set, and defines LCSM_VARIANT_<NAME>. Here that becomes
 *
 *     real        float or double           R_(x)     x_f32 or x_f64: types and tables
 *     R_FN(exp)   expf or exp               K_(x)     x_f32_avx2 and so on: functions
 *
 * The op variants (f32_op, f64_op) are plain code over the kernel table, where K_ is R_.
 */
#ifndef LCSM_KERNEL_VARIANT_H
#define LCSM_KERNEL_VARIANT_H
#include <math.h>

#if defined(LCSM_VARIANT_F32_REF)
#define LCSM_VARIANT_SUFFIX f32_ref
#elif defined(LCSM_VARIANT_F64_REF)
#define LCSM_VARIANT_SUFFIX f64_ref
#define LCSM_REAL_IS_DOUBLE 1
#elif defined(LCSM_VARIANT_F32_PORTABLE)
#define LCSM_VARIANT_SUFFIX f32_portable
#elif defined(LCSM_VARIANT_F32_AVX2)
#define LCSM_VARIANT_SUFFIX f32_avx2
#elif defined(LCSM_VARIANT_F32_AVX512)
#define LCSM_VARIANT_SUFFIX f32_avx512
#elif defined(LCSM_VARIANT_F32_AVX512_BF16)
#define LCSM_VARIANT_SUFFIX f32_avx512_bf16
#elif defined(LCSM_VARIANT_F32_NEON)
#define LCSM_VARIANT_SUFFIX f32_neon
#elif defined(LCSM_VARIANT_F64_PORTABLE)
#define LCSM_VARIANT_SUFFIX f64_portable
#define LCSM_REAL_IS_DOUBLE 1
#elif defined(LCSM_VARIANT_F32_OP)
#define LCSM_VARIANT_SUFFIX f32
#elif defined(LCSM_VARIANT_F64_OP)
#define LCSM_VARIANT_SUFFIX f64
#define LCSM_REAL_IS_DOUBLE 1
#else
#error "compile this source as one of the variants of kernel/variant.h"
#endif

#ifndef LCSM_REAL_IS_DOUBLE
#define LCSM_REAL_IS_DOUBLE 0
#endif

#define LCSM_PASTE2(a, b) a##_##b
#define LCSM_PASTE(a, b)  LCSM_PASTE2(a, b)
#define K_(name)          LCSM_PASTE(name, LCSM_VARIANT_SUFFIX)

#if LCSM_REAL_IS_DOUBLE
typedef double real;
#define R_(name)   name##_f64
#define R_FN(name) name
#define R_EPSILON  2.220446049250313e-16
#else
typedef float real;
#define R_(name)   name##_f32
#define R_FN(name) name##f
#define R_EPSILON  1.1920929e-7f
#endif
#endif
