/*
 * kernel/eos/chunk/eos_chunk.h - the chunked form, also that of the delta rule: matrix products
 * over runs of steps. What the files of this form share.
 *
 * Frame. In a chunk that starts with the memory M, everything is written relative to its start.
 * With A_r, B_r, F_r the sums of the row logs, column logs and row phases over its steps up to
 * and including r, the memory after step r is m_r = exp(A_r + i F_r) exp(B_r) * W_r, and
 *
 *     W_r = W_{r-1} + k_r u_r^T            k_r = e_r exp(-A_r - i F_r)        W before = M
 *     y_r = exp(B_r) * Re(W_r^T q_r)       q_r = scale s_r exp(A_r + i F_r)
 *     u_r = v_r - W_{r-1}^T b_r            v_r = i_r exp(-B_r), b_r = erase_r exp(A_r)
 *
 * has no decay left. So, with rows for steps and P = lower(Q K^T), L = strict_lower(N K^T), N = -b:
 *
 *     U = V + N M + L U,    Y = exp(B) * (Q M + P U),    M' = exp(A + iF) exp(B) * (M + K^T U)
 *
 * (U = V without erase). A complex memory is a real one with twice the rows: q is stored as
 * [re, -im], k as [re, im], and the rows of M are those of its two planes.
 *
 * Readers. Q, Y and P have a row for every step whose output is asked for, which is every step as
 * a rule (x->read, eos.h). A chunk that nobody reads has one reader, of zeros.
 *
 * Chunks. The exponentials are running products, so that their error does not grow with |A|.
 * exp(-A) must stay finite: a chunk ends at the cell's border, before a reset, or before
 * |A| + |B| would exceed EOS_CHUNK_LIMIT = 40 in some row and column, or half of it where some log
 * is positive, so that sums may fall and rise. With e, i, s of 1e4, K = D = 1e3, the largest
 * product is then 1e8 * 1e3 * exp(40) = 2e28, far below 3e38.
 * The decay of the first step touches nothing but M. If it alone exceeds the limit, M is scaled
 * by it beforehand and it counts as 0. So a chunk of one step is always possible, and decays from
 * exactly 0 (a log of minus infinity) to 1 take the same path.
 *
 * Which C. Long chunks cost C (K + D) / 2 multiplications a step, short ones a pass over M for each
 * chunk; the planner chooses.
 */
#ifndef LCSM_KERNEL_EOS_CHUNK_H
#define LCSM_KERNEL_EOS_CHUNK_H
#include "kernel/eos/eos.h"
#include "kernel/gemm/tile.h"
#include "kernel/kinds.h"
#include "kernel/scratch.h"

#define EOS_CHUNK_LIMIT 40

/* The columns of a panel of the memory, of V and of Y. */
#define EOS_PANEL TILE_COLS

/* The decays along K or along D. Their running products over the steps of a chunk: those of a
 * static factor stand in a table, a row of ones first; those of a factor by token are made where
 * they are used. */
typedef struct {
    const real *log;             /* of step 0; NULL: all ones */
    ptrdiff_t   t, stride;       /* of log; stride 0: one number for all */
    ptrdiff_t   width, pad;      /* numbers of a step, and with padding */
    real       *table, *inverse; /* (C + 1, pad), static only */
    real       *sum;             /* (pad) of logs, by token only */
    real       *one;   /* (2, Cp) products and inverses of one number by token for all, or NULL */
    real       *first; /* (pad) the first step's decay when M was scaled by it */
    real        least, most; /* of 0 and the logs, of the chunk if by token */
    real       *up, *down;   /* the products of the chunk's steps and their inverses */
    ptrdiff_t   r;           /* ... that many reals apart */
} lcsm_chunk_factor;

/* The sizes of a pass. */
typedef struct {
    ptrdiff_t C, Cp; /* steps of a cell, padded to vectors */
    ptrdiff_t K, Kp; /* Kp: K padded to vectors */
    ptrdiff_t R, Rp; /* rows of the memory, K or Kp + K; Rp = Kp or 2 Kp */
    ptrdiff_t D, Dp; /* Dp: D padded to panels */
    ptrdiff_t panels;
    bool      back; /* a backward pass, which needs row.up and row.down */
} lcsm_chunk_size;

/* Where the pass is. */
typedef struct {
    ptrdiff_t  t, n;   /* the chunk: its first step and its steps */
    ptrdiff_t  r, rn;  /* its readers: their first row of s and y, and how many */
    ptrdiff_t *at;     /* (C) their steps in the chunk, or NULL: every step */
    bool       unread; /* the one reader is none */
    bool       scaled; /* M has been scaled by the first step's decay */
    bool       empty;  /* the chunk starts with a reset */
    bool       blank;  /* M is zero: the chunk is empty or the first of all */
    bool       final;  /* nobody reads M' */
} lcsm_chunk_cursor;

/* The operands of the chunk's products. Arrays of steps have C rows. */
typedef struct {
    lcsm_chunk_factor row, col;  /* up is NULL without decays; col: of one panel */
    real             *cos, *sin; /* (C, Kp) of F, complex memory only */
    ptrdiff_t         phases;    /* their valid rows if the phase is static */
    real             *Q, *N;     /* (C, Rp) q and -b; N is NULL without erase */
    real             *E;         /* (C, Rp) k */
    const real       *q, *k;     /* Q and E, or s and e themselves when that is the same */
    ptrdiff_t         qr, kr;    /* reals from row to row */
    real             *P, *L;     /* (C, Cp), zeros above the diagonal */
    real             *junk;      /* (C) */
    real             *decay;     /* (Rp) exp(A) of the last step, for both planes */
    real             *M;         /* (panels, R, EOS_PANEL) */
} lcsm_chunk_terms;

/* A pass over one sequence. */
typedef struct {
    const R_(lcsm_eos_seq) *x;
    lcsm_chunk_size         size;
    lcsm_chunk_cursor       now;
    lcsm_chunk_terms        op;
    lcsm_ahead             *ahead; /* what the next cells need, or NULL */
} lcsm_chunk;

/* The memory at a chunk's start: its panels so many reals apart, its rows too. */
typedef struct {
    const real *p;
    ptrdiff_t   panel, row;
} lcsm_chunk_start;

/* Whole lines, and one more: arrays that are whole pages apart would be taken for each other while
 * one is written and another read (base/block.h). */
static inline real *lcsm_chunk_take(pieces *a, ptrdiff_t rows, ptrdiff_t cols)
{
    return take_reals(a, rows * cols / 16 + 2, 16);
}

/* Sizes, and what a head keeps from one cell to the next; M apart. */
lcsm_chunk K_(lcsm_chunk_open)(const R_(lcsm_eos_seq) *x, ptrdiff_t C, bool back, pieces *a);
void       K_(lcsm_chunk_decays_kept)(lcsm_chunk *c, pieces *a);

/* The arrays that forward and backward both need within a cell, and that heads share. */
void K_(lcsm_chunk_share)(lcsm_chunk *c, pieces *a);
void K_(lcsm_chunk_decays_shared)(lcsm_chunk *c, pieces *a);

/* Requests for the turn of head h, of all heads x: its part of the C steps from t on, of the
 * operands and, unless g is NULL, of their gradients. Other rows of those steps may be added, n
 * reals for each of which row 0 is at p. At last the requests are spread over the products of a
 * turn. */
void K_(lcsm_chunk_ahead)(const lcsm_chunk *c, const R_(lcsm_eos_seq) *x,
                          const R_(lcsm_eos_seq_grads) *g, ptrdiff_t h, ptrdiff_t t, lcsm_ahead *a);
void K_(lcsm_chunk_ahead_rows)(lcsm_ahead *a, const real *p, ptrdiff_t t, ptrdiff_t n);
void K_(lcsm_chunk_ahead_spread)(const lcsm_chunk *c, lcsm_ahead *a);

/* Products, with requests. */
void K_(lcsm_chunk_tiles)(const lcsm_chunk *c, ptrdiff_t rows, int vecs, const lcsm_product *p,
                          int count, const lcsm_target *t);

/* The chunk that starts at step t, before step `end`: c->now.n and what its first step does. */
void K_(lcsm_chunk_begin)(lcsm_chunk *c, ptrdiff_t t, ptrdiff_t end);

/* The memory before the chunk becomes M: zeros if it is blank, scaled if c->now.scaled says so. */
void K_(lcsm_chunk_enter)(const lcsm_chunk *c, real *M);

/* q, k and N of the chunk. And P and L; diag NULL: P has its diagonal, else that is moved there. */
void K_(lcsm_chunk_rows)(lcsm_chunk *c);
void K_(lcsm_chunk_operands)(lcsm_chunk *c, real *diag);

/* V of one panel, (C, EOS_PANEL), and with it c->op.col of that panel. In a backward pass also
 * Z = exp(B) * g_y, g_y from the chunk's first reader on. Then U in V's place. */
void K_(lcsm_chunk_input)(lcsm_chunk *c, ptrdiff_t panel, real *V, const real *g_y, ptrdiff_t g_y_t,
                          real *Z);
void K_(lcsm_delta_solve)(const lcsm_chunk *c, const lcsm_chunk_start *M, ptrdiff_t panel, real *V);
void K_(lcsm_delta_solve_back)(const lcsm_chunk *c, real *X);

/* One panel of the memory, that of the last input, to the end of the chunk; what is done to it and
 * to K^T U on the way, but for a turn. */
lcsm_target K_(lcsm_chunk_moved)(const lcsm_chunk *c, real *M);
void        K_(lcsm_chunk_advance)(const lcsm_chunk *c, ptrdiff_t panel, const real *V, real *M);

/* M = row * M * col for one panel: row (Kp) for both planes, or NULL; col of the panel or NULL. */
void K_(lcsm_chunk_scale)(const lcsm_chunk *c, const real *row, const real *col, real *M);

/* Rows of exp(B) for the readers of one panel, that of the last input. */
void K_(lcsm_chunk_read_scales)(const lcsm_chunk *c, real *to);

/* All panels by the first step's decay, as c->now.scaled says. */
void K_(lcsm_chunk_scale_first)(const lcsm_chunk *c, real *M);

/* Rows k and Kp + k of one panel turn by the phase of the chunk's last step, or back (-1). */
void K_(lcsm_chunk_rotate)(const lcsm_chunk *c, real sign, real *M);

/* Panels from and to planes of K x D; one panel, from where it lies in all of them. */
void K_(lcsm_chunk_pack)(const lcsm_chunk *c, ptrdiff_t panel, const real *m, real *M);
void K_(lcsm_chunk_unpack)(const lcsm_chunk *c, ptrdiff_t panel, const real *M, real *m);
/* The same past the caches; vstream_end follows the last. */
void K_(lcsm_chunk_stream)(const lcsm_chunk *c, ptrdiff_t panel, const real *M, real *m);

/* c->op.M as a start. */
static inline lcsm_chunk_start lcsm_chunk_packed(const lcsm_chunk *c)
{
    return (lcsm_chunk_start){c->op.M, c->size.R * EOS_PANEL, EOS_PANEL};
}

/* Whether a tape can be read as it lies: no reset, no decay before the first step, whole panels. */
static inline bool lcsm_chunk_tape_serves(const lcsm_chunk *c)
{
    return !c->now.blank && !c->now.scaled && c->size.D == c->size.Dp
        && (!c->x->is_complex || c->size.K == c->size.Kp);
}

static inline lcsm_chunk_start lcsm_chunk_taped(const lcsm_chunk *c, const real *tape)
{
    return (lcsm_chunk_start){tape, EOS_PANEL, c->size.D};
}

/* The step of a reader. */
static inline ptrdiff_t lcsm_chunk_at(const lcsm_chunk *c, ptrdiff_t reader)
{
    return c->now.at == NULL ? reader : c->now.at[reader];
}

/* How a product takes P or its like: rows of readers, or of steps. */
static inline lcsm_tile_part lcsm_chunk_part(const lcsm_chunk *c, lcsm_tile_part triangle)
{
    return c->now.at == NULL ? triangle : TILE_FULL;
}

static inline size_t lcsm_chunk_panel_size(const lcsm_chunk *c)
{
    return (size_t)(c->size.R * EOS_PANEL);
}

/* Columns of a panel that exist, and the vectors that hold them. */
static inline ptrdiff_t lcsm_chunk_cols(const lcsm_chunk *c, ptrdiff_t panel)
{
    ptrdiff_t left = c->size.D - panel * EOS_PANEL;
    return left < EOS_PANEL ? left : EOS_PANEL;
}

static inline int lcsm_chunk_vecs(const lcsm_chunk *c, ptrdiff_t panel)
{
    return lcsm_tile_vecs(c->size.D - panel * EOS_PANEL);
}

/* n lanes at a stride, as many as a vector holds; the others are 0. */
VEC_INLINE vec lcsm_lanes(const real *p, ptrdiff_t stride, ptrdiff_t n)
{
    if (stride == 1 && n >= VW) return vload(p);
    if (n <= 0) return vzero();
    if (stride == 1) return vload_n(p, n);
    if (stride == 0) return vset1(*p);
    return vgather(p, stride, n < VW ? n : VW);
}

#define EOS_MILD ((real)-0.35)

/* Whether the decays of a factor are usual ones. */
static inline bool lcsm_chunk_mild(const lcsm_chunk_factor *f)
{
    return f->least >= EOS_MILD && !(f->most > 0);
}

/* exp(x) for EOS_MILD <= x <= 0, exactly 1 at 0: usual decays need no reduction of the argument.
 * A minimax fit of (exp(x) - 1) / x, relative error 2e-9. */

VEC_INLINE vec lcsm_exp_mild(vec x)
{
#if LCSM_REAL_IS_DOUBLE
    return vexp(x);
#else
    vec q = x * 0.00700989459f + 0.0411665998f;
    q     = q * x + 0.166579172f;
    q     = q * x + 0.499993235f;
    q     = q * x + 0.999999821f;
    return q * x + 1.0f;
#endif
}

extern const R_(lcsm_eos_kernels) K_(lcsm_eos_chunk);
#endif
