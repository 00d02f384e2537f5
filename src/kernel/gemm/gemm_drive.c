/* gemm_drive.c - slices of a matrix product on several threads. */
#include "kernel/gemm/gemm_drive.h"

#include "base/size.h"
#include "base/thread.h"

/* A product of less work than this is not worth a second thread; a slice that is thinner packs
 * the other operand too often. */
enum { SERIAL_WORK = 1 << 18, MIN_SLICE = 96 };

typedef struct {
    const R_(lcsm_kernels) *k;
    const R_(lcsm_gemm)    *x;
    bool                    few, rows; /* few rows of A; cut M, else N */
    ptrdiff_t               step;
    char                   *ws;
    size_t                  ws_bytes; /* of one worker */
} job;

static bool is_few(const R_(lcsm_gemm) *x)
{
    return x->tb && !x->ta && x->M <= GEMM_DOT_ROWS;
}

static void slice(void *arg, size_t item, int worker)
{
    const job    *j  = arg;
    R_(lcsm_gemm) x  = *j->x;
    ptrdiff_t     at = (ptrdiff_t)item * j->step;
    real         *ws = (real *)(void *)(j->ws + (size_t)worker * j->ws_bytes);
    if (j->rows) {
        x.M = x.M - at < j->step ? x.M - at : j->step;
        x.A += at * (x.ta ? 1 : x.lda);
        x.C += at * x.ldc;
    } else {
        x.N = x.N - at < j->step ? x.N - at : j->step;
        x.B += at * (x.tb ? x.ldb : 1);
        x.C += at;
    }
    if (j->few) j->k->gemm->dots(&x);
    else j->k->gemm->run(&x, ws);
}

/* Two slices a thread, so that one that is held up does not hold up all. */
static ptrdiff_t slice_size(int threads, ptrdiff_t size)
{
    ptrdiff_t step = size / (2 * threads) + 1;
    if (step < MIN_SLICE) step = MIN_SLICE;
    return (step + 31) / 32 * 32;
}

size_t R_(lcsm_gemm_bytes)(int threads, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K)
{
    size_t one = lcsm_gemm_scratch(M, N, K) * sizeof(real);
    return (one + LCSM_ALIGN - 1) / LCSM_ALIGN * LCSM_ALIGN * (size_t)threads;
}

void R_(lcsm_gemm_parallel)(int threads, const R_(lcsm_kernels) *k, const R_(lcsm_gemm) *x,
                            void *ws)
{
    job       j      = {.k        = k,
                        .x        = x,
                        .few      = is_few(x),
                        .rows     = x->M >= x->N,
                        .ws       = ws,
                        .ws_bytes = R_(lcsm_gemm_bytes)(1, x->M, x->N, x->K)};
    ptrdiff_t size   = j.rows ? x->M : x->N;
    bool      little = (double)x->M * (double)x->N * (double)x->K < SERIAL_WORK;
    j.step           = little ? size : slice_size(threads, size);
    if (size > 0) lcsm_parallel_for(threads, (size_t)((size - 1) / j.step + 1), slice, &j);
}
