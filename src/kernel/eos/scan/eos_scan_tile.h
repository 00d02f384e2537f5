/*
 * eos_scan_tile.h - what the files of the scan form share.
 *
 *     m_t = o_t * m_{t-1} + e_t i_t^T          y_t = scale m_t^T s_t
 *
 * for every element-wise o. The lanes of a vector run along columns, so every operand form takes
 * the same path. The memory is cut into tiles of R rows and W columns, time into blocks of n steps.
 * For each tile and block, o is written into a small buffer (n, R, W), then the tile goes through
 * the n steps in registers. An o without T is one buffer of a single step, seen with a time stride
 * of 0.
 *
 * Operands become, once per call or per block, one of
 *     tiles   static (K, D): strips of W columns, in each strip all rows (Kp, W), padded by zeros
 *     rows    (n, K) numbers for a block: tiles of R rows, in each (n, R)
 *     cols    (n, D) numbers for a block and a strip: (n, W), or in place
 * so the loops do not know remainders, and no stride but that of time. With bf16 they are rounded
 * on the way, and the memory after each step.
 *
 *   eos_scan.c          forward               eos_scan_bwd.c    backward
 *   eos_scan_pack.c     tiles, rows, cols     eos_scan_chain.c  gradients of the factors of o
 *   eos_scan_gen.c      o                     eos_scan_complex.c  the steps of a complex memory
 *   eos_scan_still.c    its static factors
 *
 * Complex inputs and outputs go another way, without tiles: eos_scan_complex_i.c.
 */
#ifndef LCSM_KERNEL_EOS_SCAN_TILE_H
#define LCSM_KERNEL_EOS_SCAN_TILE_H
#include "kernel/bf16.h"
#include "kernel/eos/eos_still.h"
#include "kernel/eos/scan/eos_scan.h"
#include "kernel/scratch.h"
#include "kernel/vec.h"

/* A loop over a small constant count. */
#define SCAN_EACH(j, count) VEC_UNROLL for (ptrdiff_t j = 0; j < (count); j++)

typedef R_(lcsm_view)          view;
typedef R_(lcsm_out)           out;
typedef R_(lcsm_eos_seq)       seq;
typedef R_(lcsm_eos_seq_grads) grads;

/* A tile has SCAN_TILE vectors at most. A tall one has that many in rows of one or two: columns are
 * read and written once for all of its rows, and the numbers of a row are operands in memory. */
enum { SCAN_ROWS = 4, SCAN_TILE = 16, RE = 0, IM = 1 };

/* Steps of a forward block: more of them load and store the memory less often; but where o goes
 * through a buffer, that must stay in the first-level cache, and where o itself is read for each
 * step, many steps at once are more streams than the processor follows. */
enum { SCAN_BLOCK = 32, SCAN_BLOCK_TOKEN = VW == 16 ? 16 : 32, SCAN_BLOCK_FULL = 8 };

/* Fewer steps than this and the rounding of a static o does not add up to anything. */
enum { SCAN_DRIFT = 32 };

/* How the generated factor gets z = u w: from numbers a[t,k] and b[t,d], and static c[k,d]. */
enum { Z_NONE, Z_STILL, Z_AC, Z_BC, Z_AB, Z_ANY };

/* Numbers that run with time: the element of step t is at p + t * t_stride. */
typedef struct {
    const real *p;
    ptrdiff_t   t;
} track;

/* The same, for sums over rows. */
typedef struct {
    real     *p;
    ptrdiff_t t;
    bool      fresh; /* nothing is there yet: the first tile of rows writes, the others add */
} trail;

/* A track for each tile of rows. */
typedef struct {
    const real *p;
    ptrdiff_t   t, tile;
} rows;

/* W = NV * VW columns from d0 on, of which `cols` exist. */
typedef struct {
    ptrdiff_t d0, cols, NV, W;
} strip;

typedef struct {
    const seq  *x;
    ptrdiff_t   R, NV, Kp, Dp; /* of a full tile; K and D rounded up to tiles */
    ptrdiff_t   n_max;         /* most steps of a block */
    int         planes;        /* 2 for a complex memory */
    bool        e_matrix, s_matrix;
    bool        token; /* o is per token: it goes through the buffer */
    bool        fused; /* o is exp(b c) alone, e and s are vectors: it is made where it is used */
    bool        token_mag, token_phase, still_factor;
    int         z;
    const view *a, *b, *c;      /* of u and w */
    real        z_factor;       /* z is wanted times this: log2(e), for 2^z */
    real       *c_tiles;        /* z_factor included */
    real       *o_tiles[2];     /* the product of the static factors */
    real       *drift_tiles[2]; /* what rounding took from them; NULL if that does not matter */
    real       *e_tiles[2], *s_tiles[2]; /* s times scale */
    real       *e_rows[2], *s_rows[2], *a_rows, *g_rows, *phase_rows;
    real       *o_buf[2], *z_any;
    real       *zeros; /* rows of a part that is absent */
} scan;

/* The rows of a block that a plan has, packed or in place. */
typedef struct {
    ptrdiff_t t0, n;
    rows      e[2], s[2], a, g, phase; /* g: the row factor itself, exp(row) */
} block;

/* Strips that are packed together: their columns of a step follow each other in memory. Sums over
 * columns are folded once for each group, and its columns of a block stay in a second-level cache.
 */
enum { SCAN_GROUP = 16, SCAN_COLUMNS = 512 };

typedef struct {
    ptrdiff_t count, d0, end; /* strips; columns d0 .. end - 1, padding included */
    strip     cut[SCAN_GROUP];
    ptrdiff_t at[SCAN_GROUP], size; /* where the (n, W) numbers of a strip start; of all */
} group;

/* What to ask memory for while the processor computes: the columns of the group that is packed
 * next. Every vector column that is generated takes a cache line of each step along, evenly. */
typedef struct {
    view      of[5];
    ptrdiff_t views, lines;     /* cache lines of a step */
    ptrdiff_t t0, d0;           /* the next group starts there */
    ptrdiff_t credit, turns;    /* lines due, in parts of a turn */
    ptrdiff_t view_at, line_at; /* the line after the last that was asked for */
} ahead;

/* A tile in a block: what the loops over n steps read. */
typedef struct {
    const scan  *p;
    const block *at;
    strip        cut;
    ptrdiff_t    k0;
    track        i, b, g_y, f;            /* (n, W); f: the column factor itself, exp(col) */
    trail        y, g_i, g_b;             /* (n, W) */
    track        e[2], s[2], a, g, phase; /* (n, R) */
    track        o[2];                    /* (n, R, W) */
    const real  *c, *E[2], *S[2];         /* (R, W) */
    ahead       *next;
} unit;

VEC_INLINE real *carve(pieces *c, size_t reals)
{
    return take_reals(c, 1, (ptrdiff_t)reals);
}

/* Rounded to bfloat16. */
VEC_INLINE vec vbf16(vec x)
{
#if LCSM_REAL_IS_DOUBLE
    for (int j = 0; j < VW; j++) x[j] = R_(lcsm_bf16)(x[j]);
    return x;
#else
    uvec bits = (uvec)x;
    return (vec)((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
#endif
}

VEC_INLINE void round_all(real *x, ptrdiff_t n, real factor)
{
    for (ptrdiff_t j = 0; j < n; j += VW) vstore(x + j, vbf16(vload(x + j)) * factor);
}

VEC_INLINE bool is_still(const view *v)
{
    return v->p != NULL && v->t == 0;
}

VEC_INLINE bool is_token(const view *v)
{
    return v->p != NULL && v->t != 0;
}

/* VW columns from (k, d) on; what lies beyond K or D, or is absent, reads as 0. */
VEC_INLINE vec view_load(const seq *x, const view *v, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    if (v->p == NULL || k >= x->K || d >= x->D) return vzero();
    const real *p = v->p + t * v->t + k * v->k + d * v->d;
    ptrdiff_t   n = x->D - d < VW ? x->D - d : VW;
    if (v->d == 0) return vset1(p[0]);
    if (v->d != 1) return vgather(p, v->d, n);
    return n == VW ? vload(p) : vload_n(p, n);
}

/* n lanes, each to a sum of its own or, at stride 0, all to one. */
VEC_INLINE void out_sum(double *to, ptrdiff_t stride, ptrdiff_t n, vec a)
{
    if (stride == 1 && n == VW) {
        wvec sum;
        memcpy(&sum, to, sizeof sum);
        sum += vwiden(a);
        memcpy(to, &sum, sizeof sum);
        return;
    }
    for (ptrdiff_t j = 0; j < n; j++) to[j * stride] += (double)a[j];
}

/* The imaginary parts of an operand's gradient follow its real ones. */
VEC_INLINE out out_part(const out *v, int part)
{
    out o = *v;
    if (o.p != NULL) o.p += part;
    if (o.sum != NULL) o.sum += part;
    return o;
}

/* Adds VW columns; lanes beyond D are 0 or not looked at. Rows and columns come in their order, so
 * where the sum is over one of them, its first writes. */
VEC_INLINE void out_add(const seq *x, const out *v, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d, vec a)
{
    if (v->p == NULL || k >= x->K || d >= x->D) return;
    real     *p   = v->p + t * v->t + k * v->k + d * v->d;
    ptrdiff_t n   = x->D - d < VW ? x->D - d : VW;
    bool      set = v->set && (v->k != 0 || k == 0) && (v->d != 0 || d == 0);
    if (v->sum != NULL) out_sum(v->sum + k * v->k + d * v->d, v->d, n, a);
    else if (v->d == 0) p[0] = (set ? 0 : p[0]) + vsum(a);
    else if (v->d == 1 && n == VW) vstore(p, set ? a : vload(p) + a);
    else
        for (ptrdiff_t j = 0; j < n; j++) p[j * v->d] = (set ? 0 : p[j * v->d]) + a[j];
}

VEC_INLINE strip strip_at(const scan *p, ptrdiff_t d0)
{
    ptrdiff_t left = p->x->D - d0;
    strip     s    = {.d0 = d0, .NV = left < p->NV * VW ? 1 : p->NV};
    s.W            = s.NV * VW;
    s.cols         = left < s.W ? left : s.W;
    return s;
}

/* Where the next line lies for each step, if one is due. */
VEC_INLINE track ahead_line(ahead *a)
{
    if (a->view_at == a->views || a->credit < a->turns) return (track){NULL, 0};
    const view *v  = &a->of[a->view_at];
    track       at = {v->p + a->t0 * v->t + a->d0 + a->line_at * CACHE_LINE, v->t};
    a->credit -= a->turns;
    if (++a->line_at == a->lines) a->line_at = 0, a->view_at++;
    return at;
}

VEC_INLINE track ahead_turn(ahead *a)
{
    a->credit += a->views * a->lines;
    return ahead_line(a);
}

/* The lines that are due while a whole tile is made. */
typedef struct {
    track     at[SCAN_TILE];
    ptrdiff_t count;
} ahead_lines;

VEC_INLINE void ahead_tile(const unit *u, ahead_lines *l)
{
    ahead *a = u->next;
    a->credit += a->views * a->lines * u->p->R * (u->cut.NV > 1 ? u->cut.NV / 2 : 1);
    for (l->count = 0; l->count < SCAN_TILE; l->count++) {
        l->at[l->count] = ahead_line(a);
        if (l->at[l->count].p == NULL) return;
    }
}

VEC_INLINE void ahead_step(const ahead_lines *l, ptrdiff_t t)
{
    for (ptrdiff_t j = 0; j < l->count; j++) ask_soon(l->at[j].p + t * l->at[j].t);
}

VEC_INLINE bool is_fresh(const unit *u, const trail *sum)
{
    return sum->fresh && u->k0 == 0;
}

/* What a sum of g_z c or g_z a is taken times: c and a have z_factor in them. */
VEC_INLINE real unit_factor(const unit *u)
{
    return 1 / u->p->z_factor;
}

/* The next tile of rows. */
VEC_INLINE void unit_down(unit *u)
{
    const scan *p    = u->p;
    ptrdiff_t   size = p->R * u->cut.W;
    u->k0 += p->R;
    for (int c = 0; c < p->planes; c++) {
        if (p->e_matrix) u->E[c] += size;
        else u->e[c].p += u->at->e[c].tile;
        if (p->s_matrix) u->S[c] += size;
        else u->s[c].p += u->at->s[c].tile;
        if (!p->token) u->o[c].p += size;
    }
    if (p->c_tiles != NULL) u->c += size;
    if (u->a.p != NULL) u->a.p += u->at->a.tile;
    if (u->g.p != NULL) u->g.p += u->at->g.tile;
    if (u->phase.p != NULL) u->phase.p += u->at->phase.tile;
}

/* ---- eos_scan_pack.c ---- */

/* Reads the operands' kinds and takes scratch for blocks of n steps, n_token where o goes through
 * its buffer, and tiles of NV vectors in a row (a complex memory takes 1, a single row 4). Where o
 * is fused it is fused_NV, or tall_NV in a tall tile if K and the registers allow one. */
void K_(lcsm_scan_plan)(scan *p, const seq *x, ptrdiff_t n, ptrdiff_t n_token, ptrdiff_t NV,
                        ptrdiff_t fused_NV, ptrdiff_t tall_NV, pieces *c);
/* Fills the tiles. */
void K_(lcsm_scan_pack)(const scan *p);
void K_(lcsm_scan_block)(const scan *p, ptrdiff_t t0, ptrdiff_t n, block *b);
/* The group of columns from d0 on, for n steps. */
group K_(lcsm_scan_group)(const scan *p, ptrdiff_t d0, ptrdiff_t n);
/* The block's steps of a (T, D) view for each strip: in place, or packed as (n, W) into `to`. */
void K_(lcsm_scan_cols)(const scan *p, const block *b, const group *g, const view *v, real *to,
                        track at[SCAN_GROUP]);
/* exp(col) of a col with T, likewise, always packed. */
void K_(lcsm_scan_factors)(const scan *p, const block *b, const group *g, real *to,
                           track at[SCAN_GROUP]);
/* Where the strips are written: in place, or to `packed`. */
void K_(lcsm_scan_trails)(const scan *p, const block *b, const group *g, const out *v, real *packed,
                          trail at[SCAN_GROUP]);
/* Whether columns that are d_stride apart can be read and written where they are. */
bool K_(lcsm_scan_in_place)(const scan *p, const group *g, ptrdiff_t d_stride);
/* Points to the group that follows g in block b; every view has contiguous columns or is left out.
 * After the last group comes the block behind b, or before it in a backward pass. */
void K_(lcsm_scan_ahead)(const scan *p, const block *b, const group *g, bool back,
                         const view *const *of, int views, ahead *a);
/* The steps from t on that make a block: none but the first is reset, all are in one cell of C. */
ptrdiff_t K_(lcsm_scan_steps)(const seq *x, ptrdiff_t t, ptrdiff_t end, ptrdiff_t n_max);
/* m (K, D planes) -> a tile (planes, R, W), and back. NULL is an empty memory. */
void K_(lcsm_scan_load)(const scan *p, strip cut, ptrdiff_t k0, const real *m, real *tile);
void K_(lcsm_scan_store)(const scan *p, strip cut, ptrdiff_t k0, const real *tile, real *m);
/* The first tile of a strip; i and b are left to the caller. */
unit K_(lcsm_scan_unit)(const scan *p, const block *b, strip cut);

/* ---- eos_scan_still.c ---- */

void K_(lcsm_scan_pack_still)(const scan *p);
/* Multiplies the memory of a tile by what n rounded steps took from it; G by the conjugate. */
void K_(lcsm_scan_correct)(const unit *u, bool conjugate, real *tile, ptrdiff_t m_k);

/* ---- eos_scan_gen.c ---- */

/* Writes o of the unit's n steps into the plan's buffer. dz is NULL or, for a gate, receives
 * d log o / dz. */
void K_(lcsm_scan_gen)(const unit *u, real *dz);
/* The same without the generated factor, into `to` planes. */
void K_(lcsm_scan_gen_other)(const unit *u, real *const to[2]);
/* d log gen / dz of VW numbers; z without z_factor. Not for the complement. */
vec K_(lcsm_scan_slope)(const seq *x, vec z);

/* ---- the steps ---- */

/* m: a tile with rows m_k apart, updated in place. */
typedef void K_(lcsm_scan_run)(const unit *u, real *m, ptrdiff_t m_k);
K_(lcsm_scan_run) K_(lcsm_scan_run_complex);

/* What the backward pass of a tile works on. Slot t of m is the memory before step t as
 * (planes, R, W). The sweep leaves in slot t + 1 the gradient of log |o_t| and, in the second
 * plane, of the phase; a fused one leaves g_b and g_c instead. */
typedef struct {
    real       *m, *G;                   /* n + 1 slots; the tile of G */
    real       *e_lanes[2], *s_lanes[2]; /* (n, R, VW), added to: vectors of a token */
    real       *e_sum[2], *s_sum[2];     /* (R, W), overwritten: matrices */
    const real *f[2];                    /* (n, R, W): o without the complement */
    real       *g_z;                     /* NULL, or the complement's gradient of z */
    real       *g_c;                     /* fused: of c (R, W) */
} sweep;

/* Fills the slots 1 .. n from slot 0, and takes the gradient of s on the way. */
typedef void K_(lcsm_scan_recall)(const unit *u, const sweep *w);
/* From the last step to the first. */
typedef void K_(lcsm_scan_sweep)(const unit *u, const sweep *w);
K_(lcsm_scan_recall) K_(lcsm_scan_recall_complex);
K_(lcsm_scan_sweep) K_(lcsm_scan_sweep_complex);

/* ---- eos_scan_chain.c ---- */

/* Sums over columns for each step and row: vectors (n, R, VW), folded when all strips are done. */
typedef struct {
    real *e[2], *s[2], *row, *row_phase, *a;
} lanes;

/* From the slots to the gradients of the factors of o; u->g_b is added to. dz is what
 * K_(lcsm_scan_gen) gave, or g_z of a complement. */
void K_(lcsm_scan_chain)(const unit *u, const grads *g, real *slots, real *dz, const lanes *l);
/* Adds a tile, (R, W), to a gradient without T; nothing if that is NULL. */
void K_(lcsm_scan_add_tile)(const unit *u, const out *to, const real *from);

/* Adds lanes to a gradient and clears them. */
void K_(lcsm_scan_fold)(const unit *u, const out *g, int part, real factor, real *lane);

VEC_INLINE const out *out_like(const seq *x, const grads *g, const view *v)
{
    return v == &x->u ? &g->u : &g->w;
}

/* ---- eos_scan_complex_i.c ---- */

VEC_INLINE bool has_complex_io(const seq *x)
{
    return x->complex_i || x->complex_y;
}

size_t K_(lcsm_scan_complex_i_scratch)(const seq *x, ptrdiff_t C, bool back);
void   K_(lcsm_scan_complex_i_fwd)(const seq *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t,
                                 real *tape, real *ws);
void   K_(lcsm_scan_complex_i_bwd)(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t,
                                 const real *g_y, ptrdiff_t g_y_t, real *g_m, const grads *g,
                                 const real *tape, real *ws);

size_t K_(lcsm_scan_bwd_scratch)(const seq *x, ptrdiff_t C);
void   K_(lcsm_scan_bwd)(const seq *x, ptrdiff_t C, const real *y, ptrdiff_t y_t, const real *g_y,
                       ptrdiff_t g_y_t, real *g_m, const grads *g, const real *tape, real *ws);

#endif
