/*
 * lcsm/eos.h - the EOS operator: Expand, Oscillation, Shrink.
 *
 *     m_t = psi(o_t, m_{t-1}) + e_t i_t^T        m (K, D) the memory
 *     y_t = scale m_t^T s_t                      y (D)    the output
 *
 * for a batch of B sequences of T steps and H heads, forward and backward, whole
 * sequences or one step at a time with a carried memory.
 *
 * The oscillation is a product of optional factors, each given by the logarithm of its
 * magnitude (0 or less as a rule; above 0 the memory grows) and, if the memory is complex, by a
 * phase:
 *
 *     o_t[k,d] = exp(row[k] + col[d] + full[k,d]) * gen(u * w)[k,d]
 *              * exp(i (row_phase[k] + col_phase[d] + full_phase[k,d]))
 *
 * No factor at all is o = 1; a row factor without the axis K is a scalar; row and col
 * together are the outer product. A minus infinity is a decay of exactly 0. psi is then
 * the element-wise product. More operands make it a matrix product:
 *
 *     dense   psi = O_t m_{t-1},                          O (K, K), no factor beside it
 *     erase   psi = (I - e_t erase_t^T) (o_t * m_{t-1}),  the (gated) delta rule
 *     a, b    psi = o_t * m_{t-1} + sum_r a_{t,r} (b_{t,r}^T m_{t-1}),  r = 1 .. rank
 *
 * b reads the memory before the gate; a = -e and b = o * erase are the delta rule, whose own
 * operand costs half. a and b have an axis R before K: (T) H R K.
 *
 * Reading before the step instead of after it, with a bonus for what is written now:
 *
 *     y_t = scale (m_{t-1}^T s_t + (sum_k bonus[k] s_t[k] e_t[k]) i_t)      read_before
 *
 * The memory is complex if there is a phase or a complex operand. The output is then the real part
 * of y_t, or with complex_y all of it, in pairs; no product conjugates.
 *
 * An operand may have fewer heads than the operator, a divisor of H: head h reads head
 * h heads / H of it, rounded down, so that heads beside each other share. Its gradient is the sum
 * over them.
 *
 * Often only some outputs are wanted: the last one, or those with a label. `reads` says how many
 * of all B T there are, and then s is (reads, H, K) and y (reads, H, D), a row for each step
 * of the list `read`. What is not read costs nothing but its part in the memory. The list ends at
 * the first row that is not larger than the one before: rows of y from there on are 0.
 *
 * Layout     An operand holds its axes in the order B T H K D, the last contiguous. Every
 *            operand has H; one with LCSM_AXIS_T also has B and T, one without is static:
 *            shared by all steps and sequences. The memory is (B, H, K, D). A complex
 *            operand stores pairs (re, im).
 * Ownership  What lcsm_eos_create returns, the caller gives to lcsm_eos_free.
 *            lcsm_eos_free(NULL) is fine. Arrays are always the caller's.
 * Threads    A plan is read-only after creation and may be shared; a workspace and a tape
 *            belong to one call at a time. Each call itself uses the context's threads.
 * Structs    A descriptor begins with its size. States and gradients have none: of them only what
 *            the descriptor names is read. An operand is a plain value and stays as it is.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why.
 *            After a failure nothing has been allocated or written.
 * Speed      Arrays of many megabytes are read up to twice as fast from large pages (madvise), and
 *            faster still if their starts are not whole multiples of 4096 bytes apart.
 */
#ifndef LCSM_EOS_H
#define LCSM_EOS_H
#include <lcsm/context.h>
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LCSM_BEGIN_DECLS

/* The axes of an operand beside H. LCSM_AXIS_KK is the K x K matrix of `dense`. */
enum {
    LCSM_AXIS_T  = 1, /* per token, and so per sequence; without it: static */
    LCSM_AXIS_K  = 2,
    LCSM_AXIS_D  = 4,
    LCSM_AXIS_KK = 8,
};

/* How an operand lies in memory. Strides count numbers (floats), zero means packed:
 * [B,T,H,K,D] without the axes it does not have. They serve slices of wider arrays. */
typedef struct {
    bool      present;
    bool      is_complex; /* i, e, s, erase, a, b and bonus only: (re, im) */
    unsigned  axes;       /* LCSM_AXIS_... */
    ptrdiff_t stride_b, stride_t, stride_h;
} lcsm_eos_operand;

/* o = gen(u * w): generated for each token from two small factors, never stored. */
typedef enum {
    LCSM_GEN_NONE       = 0,
    LCSM_GEN_EXP        = 1, /* exp(u w), u w <= 0: Mamba's exp(dt A) */
    LCSM_GEN_GATE       = 2, /* sigmoid(u w)^(1/tau): codes 6 to 9 */
    LCSM_GEN_COMPLEMENT = 3, /* 1 - u w, 0 <= u w <= 1: gated fast weights */
} lcsm_eos_gen;

/* The forms of the computation; all give the same numbers up to rounding. */
typedef enum {
    LCSM_FORM_AUTO        = 0, /* the planner chooses from operands and sizes */
    LCSM_FORM_RECURRENT   = 1, /* the definition, step by step; any operand */
    LCSM_FORM_CHUNKED     = 2, /* matrix products over chunks; row and col factors, row phases */
    LCSM_FORM_SCAN        = 3, /* tiles of the memory stay in registers; any element-wise o */
    LCSM_FORM_CONVOLUTION = 4, /* all states static: one long convolution per channel */
    LCSM_FORM_DELTA       = 5, /* chunked, with the triangular solve of the delta rule */
} lcsm_eos_form;

enum { LCSM_EOS_MAX_RANK = 4 };

/* The numbers of the recurrence. With BF16 o, e, i and s are rounded to bfloat16 (8 bits, to
 * nearest, ties to even), and so is m_t after every step; products and sums inside a step, y and
 * gradients are float. Gradients pass the rounding as if it were not there. For a real memory whose
 * o is element-wise and not a complement. */
typedef enum {
    LCSM_MEMORY_F32  = 0,
    LCSM_MEMORY_BF16 = 1,
} lcsm_memory_type;

/* Heads of each operand, 0: all H. */
typedef struct {
    ptrdiff_t i, e, s, row, col, full, row_phase, col_phase, full_phase, u, w, dense, erase, a, b,
        bonus;
} lcsm_eos_heads;

/* The operands, their arrays and their gradients have the same names in the structs below. New
 * operands come at the end: a descriptor without one never reads it. */
typedef struct {
    size_t    size;          /* sizeof(lcsm_eos_desc) */
    ptrdiff_t B, T, H, K, D; /* B and T may be 0, the others are at least 1 */
    bool      reverse;       /* time runs from the last step to the first */
    bool      resets;        /* the states come with a reset mask: packed sequences */
    ptrdiff_t reads; /* 0: all steps are read; else so many, and s and y have so many rows */
    /* allowed axes beside H */
    lcsm_eos_operand i;          /* T D */
    lcsm_eos_operand e;          /* T K | K | K D */
    lcsm_eos_operand s;          /* T K | K | K D */
    lcsm_eos_operand row;        /* T K | K | T | none (scalar) */
    lcsm_eos_operand col;        /* T D | D */
    lcsm_eos_operand full;       /* T K D | K D */
    lcsm_eos_operand row_phase;  /* as row */
    lcsm_eos_operand col_phase;  /* as col */
    lcsm_eos_operand full_phase; /* as full */
    lcsm_eos_operand u;          /* any of T, K, D */
    lcsm_eos_operand w;          /* any of T, K, D */
    lcsm_eos_operand dense;      /* T KK | KK */
    lcsm_eos_operand erase;      /* T K */
    lcsm_eos_gen     gen;
    double           tau;   /* of LCSM_GEN_GATE, > 0 */
    double           scale; /* y = scale m^T s; 0 means 1. Conjugate pairs use 2 */
    lcsm_eos_form    form;  /* LCSM_FORM_AUTO, or force one */
    ptrdiff_t        chunk; /* steps of a chunk; 0 lets the planner choose */
    ptrdiff_t        tile;  /* columns of a work item; 0 lets the planner choose */
    lcsm_eos_operand a;     /* T K | K, an axis R before K */
    lcsm_eos_operand b;     /* as a */
    lcsm_eos_operand bonus; /* K | none; only with read_before */
    lcsm_eos_heads   heads;
    ptrdiff_t        rank;        /* of a and b, up to LCSM_EOS_MAX_RANK; 0 means 1 */
    int32_t          read_before; /* not 0: y_t reads m_{t-1}, and i_t by the bonus */
    int32_t          complex_y;   /* not 0: y has pairs (re, im) */
    int64_t double_precision;     /* not 0: arrays hold doubles, for the functions with _double */
    int64_t planes; /* not 0: i and y, both complex, have all real parts of a head, then its
                       imaginary ones */
    lcsm_memory_type memory_type;
    int64_t bf16_products; /* not 0: forward may round the factors of its products to bfloat16 where
                              the processor has such products, the o is an outer product, the memory
                              real and every step read; decays, sums, memory: float */
} lcsm_eos_desc;

/* Arrays of the operands, in the layout of the descriptor. Absent operands are NULL. */
typedef struct {
    const float *i, *e, *s, *row, *col, *full, *row_phase, *col_phase, *full_phase, *u, *w, *dense,
        *erase;
    const float   *m0;    /* (B, H, K, D) or NULL for zeros */
    const int32_t *reset; /* (B, T), or NULL without desc.resets: not 0 starts a new sequence */
    const int32_t *read;  /* (reads) rows b T + t, increasing, or NULL without desc.reads */
    const float   *a, *b, *bonus;
} lcsm_eos_states;

/* Gradients, each NULL (not wanted) or in the layout of its operand; they are ADDED to. */
typedef struct {
    float *i, *e, *s, *row, *col, *full, *row_phase, *col_phase, *full_phase, *u, *w, *dense,
        *erase;
    float *m0;
    float *a, *b, *bonus;
} lcsm_eos_grads;

/* The same in double precision, for checks, references and gradient tests: its kernels are several
 * times slower than those of float. */
typedef struct {
    const double *i, *e, *s, *row, *col, *full, *row_phase, *col_phase, *full_phase, *u, *w, *dense,
        *erase;
    const double  *m0;
    const int32_t *reset;
    const int32_t *read;
    const double  *a, *b, *bonus;
} lcsm_eos_states_double;

typedef struct {
    double *i, *e, *s, *row, *col, *full, *row_phase, *col_phase, *full_phase, *u, *w, *dense,
        *erase;
    double *m0;
    double *a, *b, *bonus;
} lcsm_eos_grads_double;

typedef struct lcsm_eos lcsm_eos;

/* Makes *desc, whose size is set, a descriptor with every operand absent; fill in what the model
 * has:  lcsm_eos_desc d = {.size = sizeof d}; lcsm_eos_desc_init(&d, B, T, H, K, D); */
LCSM_API void lcsm_eos_desc_init(lcsm_eos_desc *desc, ptrdiff_t B, ptrdiff_t T, ptrdiff_t H,
                                 ptrdiff_t K, ptrdiff_t D);
LCSM_API lcsm_eos_operand lcsm_eos_axes(unsigned axes);         /* a packed real operand */
LCSM_API lcsm_eos_operand lcsm_eos_axes_complex(unsigned axes); /* a packed complex operand */

LCSM_API lcsm_status lcsm_eos_create(lcsm_eos **out, const lcsm_context *ctx,
                                     const lcsm_eos_desc *desc, lcsm_error *err);
LCSM_API void        lcsm_eos_free(lcsm_eos *op);

/* What the plan is: the form, the chunk, whether the memory is complex, and in a sentence why. */
LCSM_API lcsm_eos_form lcsm_eos_chosen_form(const lcsm_eos *op);
LCSM_API ptrdiff_t     lcsm_eos_chosen_chunk(const lcsm_eos *op);
LCSM_API bool          lcsm_eos_is_complex(const lcsm_eos *op);
LCSM_API const char   *lcsm_eos_reason(const lcsm_eos *op);
LCSM_API const char   *lcsm_eos_form_name(lcsm_eos_form form);

/* Bytes. The tape carries the memory at chunk borders from forward to backward. A pass without
 * a tape needs the forward workspace only. */
LCSM_API size_t lcsm_eos_forward_workspace(const lcsm_eos *op);
LCSM_API size_t lcsm_eos_backward_workspace(const lcsm_eos *op);
LCSM_API size_t lcsm_eos_step_workspace(const lcsm_eos *op);
LCSM_API size_t lcsm_eos_tape(const lcsm_eos *op);

/*
 * y (B, T, H, D), or (reads, H, D), pairs with complex_y, is overwritten, packed; m_T (B, H, K, D)
 * too, unless NULL; m_T may be x->m0. tape is NULL or lcsm_eos_tape bytes for a later backward.
 * Buffers are 64-byte aligned.
 */
LCSM_API lcsm_status lcsm_eos_forward(const lcsm_eos *op, const lcsm_eos_states *x, float *y,
                                      float *m_T, void *tape, void *workspace, lcsm_error *err);

/*
 * g_y (B, T, H, D) and, unless NULL, g_m_T (B, H, K, D) come in; the gradients that g names are
 * added to. x and the tape are those of the forward pass; y is its output, needed for the
 * gradient of col factors only and NULL otherwise.
 */
LCSM_API lcsm_status lcsm_eos_backward(const lcsm_eos *op, const lcsm_eos_states *x, const float *y,
                                       const float *g_y, const float *g_m_T,
                                       const lcsm_eos_grads *g, const void *tape, void *workspace,
                                       lcsm_error *err);

/* One step of every sequence: arrays as for T = 1, the memory m (B, H, K, D) updated in place.
 * x->m0 is not read. */
LCSM_API lcsm_status lcsm_eos_step(const lcsm_eos *op, const lcsm_eos_states *x, float *m, float *y,
                                   void *workspace, lcsm_error *err);

/* The same for a plan with double_precision; either kind of plan refuses the other's functions. */
LCSM_API lcsm_status lcsm_eos_forward_double(const lcsm_eos *op, const lcsm_eos_states_double *x,
                                             double *y, double *m_T, void *tape, void *workspace,
                                             lcsm_error *err);
LCSM_API lcsm_status lcsm_eos_backward_double(const lcsm_eos *op, const lcsm_eos_states_double *x,
                                              const double *y, const double *g_y,
                                              const double *g_m_T, const lcsm_eos_grads_double *g,
                                              const void *tape, void *workspace, lcsm_error *err);
LCSM_API lcsm_status lcsm_eos_step_double(const lcsm_eos *op, const lcsm_eos_states_double *x,
                                          double *m, double *y, void *workspace, lcsm_error *err);

LCSM_END_DECLS
#endif
