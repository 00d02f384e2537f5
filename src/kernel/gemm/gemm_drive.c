/*
 * gemm_drive.c - a matrix product on several threads.
 *
 * Tall products: all threads pack B, a part of the depth at a time, then each takes rows. Flat
 * and very wide ones: each thread takes columns and packs those of B by itself.
 */
#include "kernel/gemm/gemm_drive.h"

#include "base/size.h"
#include "base/thread.h"

/* Less work than this is not worth a second thread, nor is packing so few reals; PACKED reals of B
 * are kept at a time. Slices of columns are multiples of the tiles. */
enum {
    SERIAL_WORK = 1 << 18,
    SERIAL_PACK = 1 << 14,
    PACKED      = 1 << 20,
    MIN_ROWS    = 36,
    MIN_COLS    = 96,
    FEW_ROWS    = 64, /* whose levels are kept at a time */
};

typedef struct {
    bool      rows; /* cut M, else N */
    ptrdiff_t step; /* of a slice */
    ptrdiff_t deep; /* depth that is packed at a time */
} cut;

typedef struct {
    const R_(lcsm_kernels) *k;
    R_(lcsm_gemm)           x;
    cut                     c;
    real                   *packed; /* of all, or of each worker */
    real                   *ws;
    size_t                  packed_size, ws_size; /* of one worker */
} job;

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

/* Four slices a thread, so that one that is held up does not hold up all; even ones, since all wait
 * for the last. */
static ptrdiff_t slice_size(int threads, ptrdiff_t size, ptrdiff_t at_least, ptrdiff_t multiple)
{
    ptrdiff_t slices = 4 * threads, step = (size + slices - 1) / slices;
    if (step < at_least) step = at_least;
    return (step + multiple - 1) / multiple * multiple;
}

static bool is_little(ptrdiff_t M, ptrdiff_t N, ptrdiff_t K)
{
    return (double)M * (double)N * (double)K < SERIAL_WORK;
}

static cut cut_of(int threads, bool bf16, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K)
{
    ptrdiff_t depth  = bf16 ? GEMM_DEPTH_BF16 : GEMM_DEPTH;
    bool      little = is_little(M, N, K);
    cut c  = {.rows = N <= PACKED / GEMM_DEPTH && (little || M >= N || M >= MIN_ROWS * threads)};
    c.step = c.rows ? slice_size(threads, M, MIN_ROWS, 1) : slice_size(threads, N, MIN_COLS, 48);
    if (little) c.step = c.rows ? M : N;
    if (!c.rows) c.step = least(c.step, GEMM_COLS);
    c.deep = PACKED / ((c.rows ? N : c.step) + 16) / depth * depth;
    if (c.deep < depth) c.deep = depth;
    c.deep = least(c.deep, K);
    return c;
}

static size_t packed_size(const cut *c, ptrdiff_t N)
{
    return lcsm_gemm_packed(c->rows ? N : least(c->step, N), c->deep);
}

/* A part of the depth. */
static R_(lcsm_gemm) part_of(const R_(lcsm_gemm) *x, ptrdiff_t k, ptrdiff_t deep)
{
    R_(lcsm_gemm) p = *x;
    p.K             = least(x->K - k, deep);
    R_(lcsm_gemm_down)(&p, 0, k);
    R_(lcsm_gemm_skip)(&p, 0, k);
    p.add = x->add || k > 0;
    return p;
}

/* ---- rows ---- */

static void pack_piece(void *arg, size_t item, int worker)
{
    const job *j = arg;
    (void)worker;
    R_(lcsm_gemm_pack)(j->k, &j->x, (ptrdiff_t)item, j->packed);
}

static void row_slice(void *arg, size_t item, int worker)
{
    const job    *j  = arg;
    R_(lcsm_gemm) x  = j->x;
    ptrdiff_t     at = (ptrdiff_t)item * j->c.step;
    x.M              = least(x.M - at, j->c.step);
    R_(lcsm_gemm_down)(&x, at, 0);
    R_(lcsm_gemm_run)(j->k, &x, j->packed, j->ws + (size_t)worker * j->ws_size);
}

static void by_rows(lcsm_pool *pool, const R_(lcsm_gemm) *x, job *j)
{
    size_t slices = (size_t)((x->M - 1) / j->c.step + 1);
    for (ptrdiff_t k = 0; k < x->K || k == 0; k += j->c.deep) {
        j->x          = part_of(x, k, j->c.deep);
        bool   serial = slices == 1 || x->N * j->x.K < SERIAL_PACK;
        size_t pieces = (size_t)lcsm_gemm_pieces(x->N, j->x.K);
        lcsm_parallel_for(serial ? NULL : pool, pieces, pack_piece, j);
        lcsm_parallel_for(pool, slices, row_slice, j);
        if (x->K == 0) return;
    }
}

/* ---- columns ---- */

static void column_slice(void *arg, size_t item, int worker)
{
    const job    *j      = arg;
    R_(lcsm_gemm) x      = j->x;
    ptrdiff_t     at     = (ptrdiff_t)item * j->c.step;
    real         *packed = j->packed + (size_t)worker * j->packed_size;
    x.N                  = least(x.N - at, j->c.step);
    R_(lcsm_gemm_skip)(&x, at, 0);
    x.C += at;
    for (ptrdiff_t k = 0; k < x.K || k == 0; k += j->c.deep) {
        R_(lcsm_gemm) p = part_of(&x, k, j->c.deep);
        for (ptrdiff_t piece = 0; piece < lcsm_gemm_pieces(p.N, p.K); piece++)
            R_(lcsm_gemm_pack)(j->k, &p, piece, packed);
        R_(lcsm_gemm_run)(j->k, &p, packed, j->ws + (size_t)worker * j->ws_size);
        if (x.K == 0) return;
    }
}

/* ---- few rows ---- */

static void few_slice(void *arg, size_t item, int worker)
{
    const job    *j  = arg;
    R_(lcsm_gemm) x  = j->x;
    ptrdiff_t     at = (ptrdiff_t)item * j->c.step;
    (void)worker;
    x.N = least(x.N - at, j->c.step);
    R_(lcsm_gemm_skip)(&x, at, 0);
    x.C += at;
    j->k->gemm->dots(&x);
}

static void few_rows(lcsm_pool *pool, job *j)
{
    ptrdiff_t N = j->x.N, M = j->x.M;
    j->c.step = is_little(M, N, j->x.K) ? N : slice_size(lcsm_pool_threads(pool), N, MIN_COLS, 48);
    for (ptrdiff_t i = 0; i < M; i += FEW_ROWS) {
        j->x.M      = least(M - i, FEW_ROWS);
        j->x.levels = j->k->gemm->levels(&j->x, j->packed) ? j->packed : NULL;
        lcsm_parallel_for(pool, (size_t)((N - 1) / j->c.step + 1), few_slice, j);
        j->x.A += FEW_ROWS * j->x.lda;
        j->x.C += FEW_ROWS * j->x.ldc;
    }
}

static bool is_few(const R_(lcsm_gemm) *x)
{
    return !x->bf16 && x->tb && !x->ta && (x->few || x->M <= GEMM_DOT_ROWS);
}

/* ---- all ---- */

size_t R_(lcsm_gemm_bytes)(int threads, bool bf16, ptrdiff_t M, ptrdiff_t N, ptrdiff_t K)
{
    cut    c   = cut_of(threads, bf16, M, N, K);
    size_t all = packed_size(&c, N) * (c.rows ? 1 : (size_t)threads)
               + lcsm_gemm_scratch(M, K) * (size_t)threads;
    all        = (all * sizeof(real) + LCSM_ALIGN - 1) / LCSM_ALIGN * LCSM_ALIGN;
    size_t few = lcsm_gemm_levels(least(M, FEW_ROWS), K);
    return all > few ? all : few;
}

void R_(lcsm_gemm_parallel)(lcsm_pool *pool, const R_(lcsm_kernels) *k, const R_(lcsm_gemm) *x,
                            void *ws)
{
    int threads = lcsm_pool_threads(pool);
    job j       = {.k = k, .x = *x, .c = cut_of(threads, x->bf16, x->M, x->N, x->K), .packed = ws};
    if (x->M == 0 || x->N == 0) return;
    j.packed_size = packed_size(&j.c, x->N);
    j.ws          = j.packed + j.packed_size * (j.c.rows ? 1 : (size_t)threads);
    j.ws_size     = lcsm_gemm_scratch(x->M, x->K);
    if (is_few(x)) few_rows(pool, &j);
    else if (j.c.rows) by_rows(pool, x, &j);
    else lcsm_parallel_for(pool, (size_t)((x->N - 1) / j.c.step + 1), column_slice, &j);
}

/* ---- bfloat16 ---- */

enum { NARROW = 1 << 14 }; /* numbers of an item */

typedef struct {
    const R_(lcsm_kernels) *k;
    ptrdiff_t               n;
    const real             *reals;
    uint16_t               *halves;
    const uint16_t         *from;
    real                   *to;
} conversion;

static void narrow_item(void *arg, size_t item, int worker)
{
    const conversion *c  = arg;
    ptrdiff_t         at = (ptrdiff_t)item * NARROW;
    (void)worker;
    c->k->bf16->narrow(least(c->n - at, NARROW), c->reals + at, c->halves + at);
}

static void widen_item(void *arg, size_t item, int worker)
{
    const conversion *c  = arg;
    ptrdiff_t         at = (ptrdiff_t)item * NARROW;
    (void)worker;
    c->k->bf16->widen(least(c->n - at, NARROW), c->from + at, c->to + at);
}

void R_(lcsm_narrow)(lcsm_pool *pool, const R_(lcsm_kernels) *k, ptrdiff_t n, const real *from,
                     uint16_t *to)
{
    conversion c = {.k = k, .n = n, .reals = from, .halves = to};
    lcsm_parallel_for(pool, (size_t)((n + NARROW - 1) / NARROW), narrow_item, &c);
}

void R_(lcsm_widen)(lcsm_pool *pool, const R_(lcsm_kernels) *k, ptrdiff_t n, const uint16_t *from,
                    real *to)
{
    conversion c = {.k = k, .n = n, .from = from, .to = to};
    lcsm_parallel_for(pool, (size_t)((n + NARROW - 1) / NARROW), widen_item, &c);
}
