/*
 * maps_drive.c - several linear maps of the same rows.
 *
 * Tall ones, backward: the rows are cut into at most PARTS parts, whatever the threads. A part
 * walks its rows in blocks of the products' depth, adds to sums of its own of every g_w, and these
 * are added up in order at last.
 */
#include "kernel/gemm/maps_drive.h"

#include "base/size.h"
#include "base/thread.h"
#include "kernel/cpu.h"
#include "kernel/gemm/gemm_drive.h"

typedef R_(lcsm_gemm) gemm;
typedef R_(lcsm_map)  map;
typedef R_(lcsm_maps) maps;

enum { PARTS = 16, TALL = 2048, SMALL = 1 << 17, STEP = GEMM_DEPTH };

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static ptrdiff_t outs(const maps *m)
{
    ptrdiff_t n = 0;
    for (int j = 0; j < m->n; j++) n += m->map[j].out;
    return n;
}

static bool is_tall(const maps *m)
{
    return m->rows >= TALL && m->in > 0 && outs(m) > 0 && outs(m) <= SMALL / m->in;
}

static size_t aligned(size_t reals)
{
    return (reals + 15) / 16 * 16;
}

/* ---- products ---- */

/* Weights of bfloat16 meet many rows in bfloat16 where the processor has products of such numbers.
 */
static bool is_half(const maps *m, const map *p)
{
    return p->type == LCSM_WEIGHT_BF16 && m->rows > GEMM_DOT_ROWS && !m->few;
}

static gemm forward_product(const R_(lcsm_kernels) *k, const maps *m, const map *p)
{
    bool has_bf16 = (k->needs & LCSM_CPU_AVX512_BF16) != 0;
    return (gemm){.bf16     = m->bf16 || (has_bf16 && is_half(m, p)),
                  .a_type   = m->x_type,
                  .a_blocks = m->x_blocks,
                  .type     = p->type,
                  .blocks   = p->blocks,
                  .tb       = true,
                  .add      = p->add_y,
                  .few      = m->few,
                  .M        = m->rows,
                  .N        = p->out,
                  .K        = m->in,
                  .alpha    = 1,
                  .A        = m->x,
                  .B        = p->w,
                  .C        = p->y,
                  .lda      = m->ldx,
                  .ldb      = p->ldw,
                  .ldc      = p->ldy};
}

static gemm input_product(const maps *m, const map *p)
{
    return (gemm){.bf16   = m->bf16,
                  .type   = p->type,
                  .blocks = p->blocks,
                  .M      = m->rows,
                  .N      = m->in,
                  .K      = p->out,
                  .alpha  = 1,
                  .A      = p->g_y,
                  .B      = p->w,
                  .C      = m->g_x,
                  .lda    = p->ldy,
                  .ldb    = p->ldw,
                  .ldc    = m->ldg};
}

static gemm weight_product(const maps *m, const map *p)
{
    return (gemm){.bf16   = m->bf16,
                  .type   = m->x_type,
                  .blocks = m->x_blocks,
                  .ta     = true,
                  .add    = p->add_w,
                  .M      = p->out,
                  .N      = m->in,
                  .K      = m->rows,
                  .alpha  = 1,
                  .A      = p->g_y,
                  .B      = m->x,
                  .C      = p->g_w,
                  .lda    = p->ldy,
                  .ldb    = m->ldx,
                  .ldc    = p->ldg};
}

/* ---- tall ones ---- */

typedef struct {
    const R_(lcsm_kernels) *k;
    const maps             *m;
    real                   *packed[LCSM_MAPS]; /* w, for forward or for g_x */
    real                   *ws;                /* of each worker: for products, and x packed */
    size_t                  ws_size, own;      /* of a worker; of its products */
    real                   *sums;              /* of each part: g_w */
    ptrdiff_t               part, parts;       /* rows of a part */
} job;

/* n reals of the workspace, which is NULL where only the size is asked for. */
static real *take(real *ws, size_t *used, size_t n)
{
    real *p = ws == NULL ? NULL : ws + *used;
    *used += aligned(n);
    return p;
}

static size_t sums_size(const maps *m)
{
    return aligned((size_t)(outs(m) * m->in));
}

/* Where things lie; the reals in all. */
static size_t lay_out(int threads, bool back, const maps *m, real *ws, job *j)
{
    ptrdiff_t most = m->in > STEP ? m->in : STEP;
    size_t    used = 0, workers = (size_t)(threads > 1 ? threads : 1);
    for (int i = 0; i < m->n; i++) {
        ptrdiff_t out = m->map[i].out;
        j->packed[i] =
            take(ws, &used, back ? lcsm_gemm_packed(m->in, out) : lcsm_gemm_packed(out, m->in));
        if (out > most) most = out;
    }
    j->own     = aligned(lcsm_gemm_scratch(GEMM_ROWS, most));
    j->ws_size = j->own + (back ? aligned(lcsm_gemm_packed(m->in, STEP)) : 0);
    j->ws      = take(ws, &used, j->ws_size * workers);
    j->part    = (m->rows / PARTS / STEP + 1) * STEP;
    j->parts   = (m->rows + j->part - 1) / j->part;
    j->sums    = take(ws, &used, back ? sums_size(m) * (size_t)j->parts : 0);
    return used;
}

static void pack_all(const job *j, const gemm *x, real *packed)
{
    for (ptrdiff_t p = 0; p < lcsm_gemm_pieces(x->N, x->K); p++)
        R_(lcsm_gemm_pack)(j->k, x, p, packed);
}

static void forward_block(void *arg, size_t item, int worker)
{
    const job *j     = arg;
    ptrdiff_t  first = (ptrdiff_t)item * GEMM_ROWS;
    for (int i = 0; i < j->m->n; i++) {
        gemm x = forward_product(j->k, j->m, &j->m->map[i]);
        x.M    = least(x.M - first, GEMM_ROWS);
        R_(lcsm_gemm_down)(&x, first, 0);
        R_(lcsm_gemm_run)(j->k, &x, j->packed[i], j->ws + (size_t)worker * j->ws_size);
    }
}

static void tall_forward(lcsm_pool *pool, const R_(lcsm_kernels) *k, const maps *m, real *ws)
{
    job j = {.k = k, .m = m};
    lay_out(lcsm_pool_threads(pool), false, m, ws, &j);
    for (int i = 0; i < m->n; i++) {
        gemm x = forward_product(k, m, &m->map[i]);
        pack_all(&j, &x, j.packed[i]);
    }
    lcsm_parallel_for(pool, (size_t)((m->rows + GEMM_ROWS - 1) / GEMM_ROWS), forward_block, &j);
}

/* g_x of rows first .. first + rows - 1. */
static void input_block(const job *j, ptrdiff_t first, ptrdiff_t rows, real *ws)
{
    bool add = j->m->add_x;
    for (int i = 0; i < j->m->n; i++) {
        gemm x = input_product(j->m, &j->m->map[i]);
        if (x.A == NULL) continue;
        x.M   = rows;
        x.add = add;
        R_(lcsm_gemm_down)(&x, first, 0);
        R_(lcsm_gemm_run)(j->k, &x, j->packed[i], ws);
        add = true;
    }
}

/* What those rows add to every g_w. */
static void weight_block(const job *j, ptrdiff_t first, ptrdiff_t rows, bool add, real *sums,
                         real *ws)
{
    real *packed = ws + j->own;
    bool  done   = false;
    for (int i = 0; i < j->m->n; i++) {
        const map *p = &j->m->map[i];
        gemm       x = weight_product(j->m, p);
        x.K          = rows;
        x.add        = add;
        x.A += p->g_y == NULL ? 0 : first * x.lda;
        R_(lcsm_gemm_skip)(&x, 0, first);
        x.C   = sums;
        x.ldc = j->m->in;
        sums += p->out * j->m->in;
        if (p->g_y == NULL || p->g_w == NULL) continue;
        if (!done) pack_all(j, &x, packed);
        done = true;
        R_(lcsm_gemm_run)(j->k, &x, packed, ws);
    }
}

static void backward_part(void *arg, size_t item, int worker)
{
    const job *j     = arg;
    ptrdiff_t  begin = (ptrdiff_t)item * j->part, end = least(begin + j->part, j->m->rows);
    real      *ws = j->ws + (size_t)worker * j->ws_size, *sums = j->sums + item * sums_size(j->m);
    for (ptrdiff_t r = begin; r < end; r += STEP) {
        ptrdiff_t rows = least(end - r, STEP);
        if (j->m->g_x != NULL) input_block(j, r, rows, ws);
        weight_block(j, r, rows, r > begin, sums, ws);
    }
}

/* One row of a g_w, from all parts. */
static void add_parts(const job *j, ptrdiff_t offset, const map *p, ptrdiff_t row)
{
    const real *from = j->sums + offset + row * j->m->in;
    real       *to   = p->g_w + row * p->ldg;
    for (ptrdiff_t c = 0; c < j->m->in; c++) {
        real sum = p->g_y == NULL ? 0 : from[c];
        for (ptrdiff_t q = 1; q < j->parts && p->g_y != NULL; q++)
            sum += from[(size_t)q * sums_size(j->m) + (size_t)c];
        to[c] = p->add_w ? to[c] + sum : sum;
    }
}

static void add_weights(void *arg, size_t item, int worker)
{
    const job *j      = arg;
    ptrdiff_t  offset = 0;
    (void)worker;
    for (size_t i = 0; i < item; i++) offset += j->m->map[i].out * j->m->in;
    const map *p = &j->m->map[item];
    for (ptrdiff_t row = 0; row < p->out && p->g_w != NULL; row++) add_parts(j, offset, p, row);
}

static void tall_backward(lcsm_pool *pool, const R_(lcsm_kernels) *k, const maps *m, real *ws)
{
    job j = {.k = k, .m = m};
    lay_out(lcsm_pool_threads(pool), true, m, ws, &j);
    for (int i = 0; i < m->n && m->g_x != NULL; i++) {
        gemm x = input_product(m, &m->map[i]);
        pack_all(&j, &x, j.packed[i]);
    }
    lcsm_parallel_for(pool, (size_t)j.parts, backward_part, &j);
    lcsm_parallel_for(pool, (size_t)m->n, add_weights, &j);
}

/* ---- others ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void each_backward(lcsm_pool *pool, const R_(lcsm_kernels) *k, const maps *m, void *ws)
{
    bool add = m->add_x;
    for (int i = 0; i < m->n; i++) {
        const map *p  = &m->map[i];
        gemm       gx = input_product(m, p), gw = weight_product(m, p);
        gx.add = add;
        if (p->g_y != NULL && m->g_x != NULL) R_(lcsm_gemm_parallel)(pool, k, &gx, ws);
        if (p->g_y != NULL) add = true;
        if (p->g_y == NULL) gw.K = 0;
        if (p->g_w != NULL) R_(lcsm_gemm_parallel)(pool, k, &gw, ws);
    }
}

/* ---- all ---- */

size_t R_(lcsm_maps_fwd_bytes)(int threads, const maps *m)
{
    job    j     = {0};
    size_t bytes = 0;
    if (is_tall(m)) return lay_out(threads, false, m, NULL, &j) * sizeof(real);
    for (int i = 0; i < m->n; i++) {
        const map *p     = &m->map[i];
        size_t     whole = R_(lcsm_gemm_bytes)(threads, m->bf16, m->rows, p->out, m->in);
        size_t     half  = R_(lcsm_gemm_bytes)(threads, true, m->rows, p->out, m->in);
        bytes            = larger(bytes, is_half(m, p) ? larger(whole, half) : whole);
    }
    return bytes;
}

size_t R_(lcsm_maps_bwd_bytes)(int threads, const maps *m)
{
    job    j     = {0};
    size_t bytes = 0;
    if (is_tall(m)) return lay_out(threads, true, m, NULL, &j) * sizeof(real);
    for (int i = 0; i < m->n; i++) {
        ptrdiff_t out = m->map[i].out;
        bytes         = larger(bytes, R_(lcsm_gemm_bytes)(threads, m->bf16, m->rows, m->in, out));
        bytes         = larger(bytes, R_(lcsm_gemm_bytes)(threads, m->bf16, out, m->in, m->rows));
    }
    return bytes;
}

void R_(lcsm_maps_fwd)(lcsm_pool *pool, const R_(lcsm_kernels) *k, const maps *m, void *ws)
{
    if (is_tall(m)) {
        tall_forward(pool, k, m, ws);
        return;
    }
    for (int i = 0; i < m->n; i++) {
        gemm x = forward_product(k, m, &m->map[i]);
        R_(lcsm_gemm_parallel)(pool, k, &x, ws);
    }
}

void R_(lcsm_maps_bwd)(lcsm_pool *pool, const R_(lcsm_kernels) *k, const maps *m, void *ws)
{
    if (is_tall(m)) tall_backward(pool, k, m, ws);
    else each_backward(pool, k, m, ws);
}
