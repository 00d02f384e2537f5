/*
 * kernel/gemm/gemm_case.h - the three products of a linear map, y = x w^T, in float and in
 * bfloat16, for benchmarks: operands as training has them.
 */
#ifndef LCSM_KERNEL_GEMM_CASE_H
#define LCSM_KERNEL_GEMM_CASE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kernel/context.h"

typedef enum {
    LCSM_PRODUCT_Y,   /* x w^T;   in bfloat16: x and w stored so */
    LCSM_PRODUCT_G_X, /* g_y w;   w stored so, g_y rounded on the way */
    LCSM_PRODUCT_G_W, /* g_y^T x; x stored so, g_y rounded on the way */
    LCSM_PRODUCT_COUNT,
} lcsm_product_kind;

typedef struct {
    lcsm_product_kind kind;
    ptrdiff_t         rows, in, out; /* x [rows, in], w [out, in] */
} lcsm_product_sizes;

typedef struct lcsm_gemm_case lcsm_gemm_case;

/* Bytes that a case takes; for contexts of at most so many threads. */
double      lcsm_gemm_case_bytes(const lcsm_product_sizes *n);
lcsm_status lcsm_gemm_case_create(lcsm_gemm_case **result, const lcsm_product_sizes *n, int threads,
                                  lcsm_error *err);
void        lcsm_gemm_case_free(lcsm_gemm_case *c);

void lcsm_gemm_case_run(lcsm_gemm_case *c, const lcsm_context *ctx, bool bf16);

/* The worst difference of two runs, relative to the largest number of the second. */
double lcsm_gemm_case_difference(lcsm_gemm_case *c, const lcsm_context *a, bool a_bf16,
                                 const lcsm_context *b, bool b_bf16);

#endif
