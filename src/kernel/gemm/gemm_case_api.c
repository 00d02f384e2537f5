/* gemm_case_api.c - the products of a linear map, on operands made here. */
#include "kernel/gemm/gemm_case.h"

#include <stdlib.h>

#include "base/block.h"
#include "base/rng.h"
#include "base/size.h"
#include "kernel/bf16.h"
#include "kernel/gemm/gemm_drive.h"

/* x, w, g_y, the same two in bfloat16, the result, another one to compare with, and scratch. */
enum { X, W, G, X_BF16, W_BF16, TO, OTHER, SCRATCH, PARTS };

struct lcsm_gemm_case {
    lcsm_product_sizes n;
    void              *part[PARTS];
};

static ptrdiff_t count_of(const lcsm_product_sizes *n)
{
    if (n->kind == LCSM_PRODUCT_G_W) return n->out * n->in;
    return n->rows * (n->kind == LCSM_PRODUCT_Y ? n->out : n->in);
}

static lcsm_gemm_f32 product_of(const lcsm_gemm_case *c, bool bf16)
{
    const lcsm_product_sizes *n = &c->n;
    const float              *x = c->part[X], *w = c->part[W], *g = c->part[G];
    const void               *x16 = c->part[X_BF16], *w16 = c->part[W_BF16];
    ptrdiff_t        in = bf16 ? 2 * n->in : n->in; /* of a row that is stored in bfloat16: bytes */
    lcsm_weight_type half = bf16 ? LCSM_WEIGHT_BF16 : LCSM_WEIGHT_REAL;
    lcsm_gemm_f32    p    = {.bf16 = bf16, .alpha = 1, .C = c->part[TO], .type = half, .ldb = in};
    p.B                   = n->kind == LCSM_PRODUCT_G_W ? x : w;
    p.blocks              = n->kind == LCSM_PRODUCT_G_W ? x16 : w16;
    if (n->kind == LCSM_PRODUCT_Y) {
        p.tb = true, p.M = n->rows, p.N = n->out, p.K = n->in;
        p.A = x, p.a_type = half, p.a_blocks = x16, p.lda = in;
    } else {
        p.ta = n->kind == LCSM_PRODUCT_G_W;
        p.A = g, p.lda = n->out, p.N = n->in;
        p.M = p.ta ? n->out : n->rows;
        p.K = p.ta ? n->rows : n->out;
    }
    p.ldc = p.N;
    return p;
}

/* ---- memory ---- */

static size_t bytes_of(const lcsm_product_sizes *n, int threads, int part)
{
    lcsm_gemm_case c = {.n = *n};
    lcsm_gemm_f32  p = product_of(&c, true);
    size_t         x = (size_t)(n->rows * n->in), w = (size_t)(n->out * n->in);
    size_t         g = n->kind == LCSM_PRODUCT_Y ? 0 : (size_t)(n->rows * n->out), scratch[2];
    for (int j = 0; j < 2; j++) scratch[j] = lcsm_gemm_bytes_f32(threads, j == 1, p.M, p.N, p.K);
    const size_t bytes[PARTS] = {4 * x,
                                 4 * w,
                                 4 * g,
                                 2 * x,
                                 2 * w,
                                 4 * (size_t)count_of(n),
                                 4 * (size_t)count_of(n),
                                 scratch[0] > scratch[1] ? scratch[0] : scratch[1]};
    return bytes[part] + 64;
}

double lcsm_gemm_case_bytes(const lcsm_product_sizes *n)
{
    double sum = 0;
    for (int j = 0; j < PARTS; j++) sum += (double)bytes_of(n, 1, j);
    return sum;
}

static void fill(float *p, uint16_t *half, ptrdiff_t count, uint32_t purpose)
{
    for (ptrdiff_t j = 0; j < count; j++) {
        p[j] = (float)(2 * lcsm_rng_uniform(7, purpose, (uint64_t)(j % 65537)) - 1);
        if (half != NULL) half[j] = lcsm_bf16_bits_f32(p[j]);
    }
}

lcsm_status lcsm_gemm_case_create(lcsm_gemm_case **result, const lcsm_product_sizes *n, int threads,
                                  lcsm_error *err)
{
    lcsm_gemm_case *c    = calloc(1, sizeof *c);
    bool            full = c != NULL;
    for (int j = 0; j < PARTS && full; j++) {
        c->part[j] = lcsm_block_alloc(bytes_of(n, threads, j));
        full       = c->part[j] != NULL;
    }
    *result = c;
    if (!full) {
        lcsm_gemm_case_free(c);
        *result = NULL;
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a product to measure");
    }
    c->n = *n;
    fill(c->part[X], c->part[X_BF16], n->rows * n->in, 0);
    fill(c->part[W], c->part[W_BF16], n->out * n->in, 1);
    if (n->kind != LCSM_PRODUCT_Y) fill(c->part[G], NULL, n->rows * n->out, 2);
    return LCSM_OK;
}

void lcsm_gemm_case_free(lcsm_gemm_case *c)
{
    if (c == NULL) return;
    for (int j = 0; j < PARTS; j++) free(c->part[j]);
    free(c);
}

/* ---- runs ---- */

void lcsm_gemm_case_run(lcsm_gemm_case *c, const lcsm_context *ctx, bool bf16)
{
    lcsm_gemm_f32 p = product_of(c, bf16);
    lcsm_gemm_parallel_f32(ctx->pool, ctx->f32, &p, c->part[SCRATCH]);
}

double lcsm_gemm_case_difference(lcsm_gemm_case *c, const lcsm_context *a, bool a_bf16,
                                 const lcsm_context *b, bool b_bf16)
{
    const float *x = c->part[TO], *y = c->part[OTHER];
    double       worst = 0, most = 1e-30;
    lcsm_gemm_case_run(c, b, b_bf16);
    memcpy(c->part[OTHER], x, (size_t)count_of(&c->n) * sizeof *x);
    lcsm_gemm_case_run(c, a, a_bf16);
    for (ptrdiff_t j = 0; j < count_of(&c->n); j++) {
        double d = fabs((double)x[j] - (double)y[j]);
        most     = fmax(most, fabs((double)y[j]));
        if (!(d <= worst)) worst = d; /* a NaN stays */
    }
    return worst / most;
}
