/*
 * eos_chunk_bf16.c - forward of the chunked form with products of bfloat16 numbers.
 *
 * In the frame of eos_chunk.h, for a real memory without erase of which every step is read: Q, K,
 * V, P and the M that is read are rounded once each and sums are float; decays multiply what is
 * summed, and M itself goes on in float. So a term of y_t is off by four roundings, one of m_T by
 * two (docs/numerics.md).
 *
 * Units are pairs along the depth of a product (gemm/units.h): of columns of Q and P, of rows of K,
 * V and M. What an odd number of rows lacks is 0. Everything else is that of the set with AVX-512.
 */
#include "kernel/variant.h"
#define OWN_(name) LCSM_PASTE(name, LCSM_VARIANT_SUFFIX)
#undef K_
#define K_(name) LCSM_PASTE(name, f32_avx512)

#include "kernel/gemm/transpose.h"
#include "kernel/gemm/units.h"

#define TILE_EACH(p)         unit_each(p)
#define TILE_SUM_OF(v, e, b) unit_sum(v, e, b)
#define TILE_STEPS_TO(row)   (((row) + 1) / 2)
#define TILE_STEPS_FROM(row) ((row) / 2)
#include "kernel/gemm/tile_run.h"

typedef struct {
    real     *Q;      /* (C, K / 2) */
    real     *E;      /* (C / 2, Kp) */
    real     *turned; /* (K / 2, Cp): k of all steps by columns */
    real     *P;      /* (C, C / 2) */
    real     *V, *M;  /* (C / 2, EOS_PANEL), (K / 2, EOS_PANEL) */
    ptrdiff_t qr, pr; /* units from row to row of Q and P */
} own;

enum { REQUESTS = 2 };
#include "kernel/eos/chunk/eos_chunk_pass.h"

static ptrdiff_t units(ptrdiff_t numbers)
{
    return (numbers + 1) / 2;
}

static own take_own(const lcsm_chunk *c, pieces *a)
{
    own o    = {.qr = (c->size.K + UNIT_PAIR - 1) / UNIT_PAIR * VW,
                .pr = (c->size.C + UNIT_PAIR - 1) / UNIT_PAIR * VW};
    o.Q      = lcsm_chunk_take(a, c->size.C, o.qr);
    o.E      = lcsm_chunk_take(a, units(c->size.C), c->size.Kp);
    o.turned = lcsm_chunk_take(a, o.qr, c->size.Cp);
    o.P      = lcsm_chunk_take(a, c->size.C, o.pr);
    o.V      = lcsm_chunk_take(a, units(c->size.C), EOS_PANEL);
    o.M      = lcsm_chunk_take(a, units(c->size.K), EOS_PANEL);
    return o;
}

/* Pairs of rows; width: whole vectors. */
VEC_INLINE void pair_rows(ptrdiff_t rows, ptrdiff_t width, const real *from, ptrdiff_t r, real *to)
{
    ptrdiff_t u = 0;
    for (; u + 1 < rows; u += 2, from += 2 * r, to += width)
        for (ptrdiff_t j = 0; j < width; j += VW)
            vstore(to + j, units_of_two(vload(from + j), vload(from + r + j)));
    for (ptrdiff_t j = 0; j < width && u < rows; j += VW)
        vstore(to + j, units_of_two(vload(from + j), vzero()));
}

/* The units of VW steps from t on along K, turned. */
static void turn_steps(const own *o, const lcsm_chunk *c, ptrdiff_t t)
{
    for (ptrdiff_t u = 0; u < o->qr; u += VW) {
        vec v[VW];
        for (int i = 0; i < VW; i++)
            v[i] = t + i < c->now.n
                     ? units_along(c->op.k + (t + i) * c->op.kr + 2 * u, c->size.Kp - 2 * u)
                     : vzero();
        vtranspose(v);
        for (int i = 0; i < VW; i++) vstore(o->turned + (u + i) * c->size.Cp + t, v[i]);
    }
}

/* Rows first .. first + VW - 1 of P = lower(Q K^T): panels of columns up to the diagonal, rounded,
 * zeros beyond it. */
static void lower_rows(const own *o, const lcsm_chunk *c, ptrdiff_t first)
{
    ptrdiff_t rows = c->now.n - first < VW ? c->now.n - first : VW;
    real     *P    = c->op.P + first * c->size.Cp;
    for (ptrdiff_t j = 0; j < first + rows; j += EOS_PANEL) {
        lcsm_product p = {.a     = o->Q + first * o->qr,
                          .ar    = o->qr,
                          .ad    = 1,
                          .b     = o->turned + j,
                          .bd    = c->size.Cp,
                          .depth = units(c->size.K)};
        lcsm_target  t = {.c = P + j, .cr = c->size.Cp, .op = TILE_SET, .ahead = c->ahead};
        tiles_from(0, rows, lcsm_tile_vecs(first + rows - j), &p, 1, &t);
    }
    for (ptrdiff_t r = first; r < first + rows; r++, P += c->size.Cp)
        for (ptrdiff_t u = 0; u < o->pr; u += VW)
            vstore(o->P + r * o->pr + u, units_along(P + 2 * u, r + 1 - 2 * u));
}

static void make_own(const pass *f, lcsm_chunk *c)
{
    const own *o = &f->with;
    K_(lcsm_chunk_rows)(c);
    for (ptrdiff_t r = 0; r < c->now.n; r++)
        for (ptrdiff_t u = 0; u < o->qr; u += VW)
            vstore(o->Q + r * o->qr + u,
                   units_along(c->op.q + r * c->op.qr + 2 * u, c->size.Kp - 2 * u));
    for (ptrdiff_t t = 0; t < c->now.n; t += VW) turn_steps(o, c, t);
    for (ptrdiff_t r = 0; r < c->now.n; r += VW) lower_rows(o, c, r);
    if (!c->now.final) pair_rows(c->now.n, c->size.Kp, c->op.k, c->op.kr, o->E);
}

static void turn_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel)
{
    (void)panel;
    pair_rows(c->now.n, EOS_PANEL, f->V, EOS_PANEL, f->with.V);
}

static void read_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, const real *M,
                     const lcsm_target *t)
{
    const own   *o   = &f->with;
    lcsm_product p[] = {
        {.a = o->Q, .ar = o->qr, .ad = 1, .b = o->M, .bd = EOS_PANEL, .depth = units(c->size.K)},
        {.a     = o->P,
         .ar    = o->pr,
         .ad    = 1,
         .b     = o->V,
         .bd    = EOS_PANEL,
         .depth = units(c->now.n),
         .part  = TILE_LOWER},
    };
    int first = c->now.blank; /* Q M is zero */
    if (first == 0) pair_rows(c->size.K, EOS_PANEL, M, EOS_PANEL, o->M);
    tiles_from(0, c->now.n, lcsm_chunk_vecs(c, panel), p + first, 2 - first, t);
}

static void move_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, real *M)
{
    lcsm_product p = {.a     = f->with.E,
                      .ar    = 1,
                      .ad    = c->size.Kp,
                      .b     = f->with.V,
                      .bd    = EOS_PANEL,
                      .depth = units(c->now.n)};
    lcsm_target  t = K_(lcsm_chunk_moved)(c, M);
    tiles_from(0, c->size.R, lcsm_chunk_vecs(c, panel), &p, 1, &t);
}

extern const R_(lcsm_eos_kernels) OWN_(lcsm_eos_chunk_bf16);

const R_(lcsm_eos_kernels) OWN_(lcsm_eos_chunk_bf16) = {
    .fwd_scratch = fwd_scratch, .fwd = fwd, .in_step = true};
