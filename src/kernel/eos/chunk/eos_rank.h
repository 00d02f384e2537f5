/*
 * kernel/eos/chunk/eos_rank.h - the chunked form with several writers and readers of a step: free
 * (a, b), reads before the step, complex i and y. What its files share.
 *
 * Frame. As in eos_chunk.h, without column factors: m_r = exp(A_r + i F_r) * W_r, and
 *
 *     W_r = W_{r-1} + sum_w k_{w,r} u_{w,r}^T       k_w = x_w exp(-A_r - i F_r)      x = e, a_1,
 * ... z_j = W_r^T q_{j,r}                           q_j = x_j exp(A_r + i F_r)       x = s, b_1,
 * ...
 *
 * A reader reads after its step r, or before it, W_{r-1}, and then with the exponentials of r - 1
 * (`shift`). What s reads is the output, what b_j reads is the u that a_j writes; e writes i. So,
 * with rows for steps and P_jw = lower(Q_j K_w^T), the system that b and a make is triangular:
 *
 *     U_j = Q_j M + sum_w P_jw U_w     of b and a       Y = Q_0 M + sum_w P_0w U_w
 *     M' = exp(A + iF) * (M + sum_w K_w^T U_w)
 *
 * The delta rule is a reader with x = -erase exp(A_r) of W_{r-1} (`strict`) whose output is added
 * to the i that e writes.
 *
 * Complex numbers. The memory is a real one with twice the rows, as in eos_chunk.h. Where a u or a
 * y is complex, its parts are a writer and a reader each: with k stored as [re, im], that of the
 * imaginary part of u is i k = [-im, re], and with q stored as [re, -im], the one that reads the
 * imaginary part is [im, re].
 *
 * The bonus is the diagonal of P of s and e, which a read before the step leaves empty.
 *
 * First steps. Where the first decay of a chunk is strong, M is scaled by it beforehand
 * (eos_chunk.h). A reader before the step reads M as it was: its row of the first step (`entry`)
 * has a product of its own.
 */
#ifndef LCSM_KERNEL_EOS_RANK_H
#define LCSM_KERNEL_EOS_RANK_H
#include "kernel/eos/chunk/eos_chunk.h"
#include "kernel/vecpair.h"

enum { RANK_VECTORS = 1 + LCSM_EOS_MAX_RANK, RANK_MOST = 2 * RANK_VECTORS };

/* An operand: one reader or writer, or two of a complex number. */
typedef struct {
    R_(lcsm_view) v;
    R_(lcsm_out)  g;
    bool          pairs; /* the imaginary part follows the real one */
    bool          reads; /* rows are those of the steps that are read */
    real          by;    /* a factor */
    int           first; /* among the readers or the writers */
    int           count;
    ptrdiff_t     shift;  /* of a reader: 1 before the step */
    bool          strict; /* of a reader: after the decay of its step, without its writes */
} lcsm_rank_vector;

/* Arrays of steps have C rows; those with panels are (panels, C, EOS_PANEL). */
typedef struct {
    real *k;      /* (C, Rp) */
    real *u;      /* panels in a backward pass, else one */
    bool  solved; /* u depends on what is read */
    real *x;      /* gradient of u; all panels only if solved */
    real *uT;     /* (Dp, writers, Cp) from here on */
    real *g_k;    /* (C, Rp) by later steps of the chunk */
    real *g_end;  /* (Rp, writers, Cp) from here on: by M', transposed */
} lcsm_rank_writer;

typedef struct {
    real     *q;            /* (C, Rp) */
    real     *p[RANK_MOST]; /* by writer: (C, Cp) */
    int       into;         /* the writer whose u has what is read */
    ptrdiff_t shift;
    bool      strict;
    real     *entry;             /* (Rp) q of the first step, where M has been scaled */
    real     *z;                 /* panels: gradient of what is read; x of its writer */
    real     *zT;                /* (Dp, readers, Cp) from here on */
    real     *g_p[RANK_MOST];    /* (C, Cp) without what a step reads of the last one it may */
    real     *g_diag[RANK_MOST]; /* (C) that */
    real     *g_q;               /* (C, Rp) by earlier steps of the chunk */
    real     *g_q_M;             /* (Rp, readers, Cp) from here on: by M, transposed */
    real     *g_entry;           /* (Rp) */
} lcsm_rank_reader;

/* A pass over one sequence. */
typedef struct {
    lcsm_chunk       c;
    int              readers, writers, outputs; /* the first readers are those of y */
    int              reader_vectors, writer_vectors;
    lcsm_rank_vector in[RANK_VECTORS], out[RANK_VECTORS]; /* of the readers, of the writers */
    lcsm_rank_reader read[RANK_MOST];
    lcsm_rank_writer write[RANK_MOST];
    real            *junk;  /* (C) */
    lcsm_chunk_start start; /* c.op.M or the tape */
    real            *raw;   /* M before it was scaled, or NULL; panels */
    bool             back;
} lcsm_rank;

/* What a head keeps from one cell to the next, M apart; then what heads share. */
lcsm_rank K_(lcsm_rank_open)(const R_(lcsm_eos_seq) *x, ptrdiff_t C, bool back, pieces *a);
void      K_(lcsm_rank_share)(lcsm_rank *f, pieces *a);

/* The memory before the chunk that has just begun, c.op.M, becomes M and the start; f->raw has it
 * as it was. */
void K_(lcsm_rank_enter)(lcsm_rank *f);

/* Q, K and P of the chunk. */
void K_(lcsm_rank_operands)(lcsm_rank *f);

/* U of one panel of all writers, at *u of each + at. */
void K_(lcsm_rank_inputs)(const lcsm_rank *f, ptrdiff_t panel, ptrdiff_t at);

/* One panel of the memory to the end of the chunk. */
void K_(lcsm_rank_advance)(const lcsm_rank *f, ptrdiff_t panel, ptrdiff_t at);

/* Whether M has been scaled while somebody reads it as it was. */
static inline bool lcsm_rank_enters(const lcsm_rank *f)
{
    return f->c.now.scaled && f->raw != NULL && !f->c.now.blank;
}

/* One panel of M, where it moves along. */
static inline real *lcsm_rank_M(const lcsm_rank *f, ptrdiff_t panel)
{
    return f->c.op.M + panel * f->c.size.R * EOS_PANEL;
}

/* The row of s and y that step r of the chunk has, or -1. */
static inline ptrdiff_t lcsm_rank_row(const lcsm_rank *f, ptrdiff_t r)
{
    const R_(lcsm_eos_seq) *x = f->c.x;
    ptrdiff_t               t = f->c.now.t + r;
    if (x->read == NULL) return t;
    ptrdiff_t j = R_(lcsm_eos_read_from)(x, t);
    return j < x->reads && x->read[j] - x->read_base == t ? j : -1;
}

/* VW numbers of an operand from k on, n of which exist. */
pair K_(lcsm_rank_load)(const R_(lcsm_view) *v, bool pairs, ptrdiff_t row, ptrdiff_t k,
                        ptrdiff_t n);

size_t K_(lcsm_rank_bwd_scratch)(const R_(lcsm_eos_seq) *x, ptrdiff_t C);
void   K_(lcsm_rank_bwd)(const R_(lcsm_eos_seq) *x, ptrdiff_t C, const real *y, ptrdiff_t y_t,
                       const real *g_y, ptrdiff_t g_y_t, real *g_m, const R_(lcsm_eos_seq_grads) *g,
                       const real *tape, real *ws);

extern const R_(lcsm_eos_kernels) K_(lcsm_eos_rank);
#endif
