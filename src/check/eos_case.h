/*
 * check/eos_case.h - the operand forms of the EOS operator as a table, and problems made from it.
 *
 * A problem holds its numbers in double; a run converts them to the number type of the run and
 * its results back, so float and double, and every form, can be compared with one another.
 */
#ifndef LCSM_CHECK_EOS_CASE_H
#define LCSM_CHECK_EOS_CASE_H
#include "kernel/context.h"
#include "kernel/eos/eos_plan.h"

typedef struct {
    const char  *name;
    unsigned     axes[EOS_OPERANDS]; /* LCSM_AXIS_..., or NONE when absent */
    lcsm_eos_gen gen;
    double       tau;
    unsigned     complex; /* bits of operands */
    struct {
        ptrdiff_t rank; /* of a and b */
        bool      before, complex_y;
        unsigned  shared; /* bits of operands with half the heads, or one */
    } more;
} lcsm_eos_case;

extern const lcsm_eos_case LCSM_EOS_CASES[];
extern const size_t        LCSM_EOS_CASE_COUNT;

typedef struct {
    ptrdiff_t B, T, H, K, D;
} lcsm_eos_sizes;

/* What varies beside the case and the sizes. */
typedef struct {
    bool     reset, reverse, carry; /* carry: m_0 is given and dL/dm_T is not 0 */
    double   decay;                 /* largest |log o| of a factor; 0 means 0.5 */
    double   magnitude;             /* of i, e, s; 0 means 1 */
    uint64_t seed;
    double   read; /* 0: all steps are read; else about this part of them */
} lcsm_eos_setting;

typedef struct {
    lcsm_eos_desc desc;
    lcsm_eos_plan plan; /* of the recurrent form: layouts and sizes */
    double       *operand[EOS_OPERANDS];
    size_t        size[EOS_OPERANDS];
    double       *m0, *g_m_T, *g_y;
    int32_t      *reset;
    int32_t      *read; /* (desc.reads) */
    size_t        y_size, m_size;
    void         *block; /* owns all arrays */
} lcsm_eos_problem;

typedef struct {
    double *y, *m_T, *grad[EOS_OPERANDS], *g_m0;
    void   *block;
} lcsm_eos_result;

lcsm_status lcsm_eos_problem_make(lcsm_eos_problem *out, const lcsm_eos_case *c, lcsm_eos_sizes n,
                                  const lcsm_eos_setting *set, lcsm_error *err);
/* b = -conj(a), where it has as many numbers, or 0: no memory grows. */
void        lcsm_eos_problem_calm(lcsm_eos_problem *p);
void        lcsm_eos_problem_free(lcsm_eos_problem *p);
lcsm_status lcsm_eos_result_make(lcsm_eos_result *out, const lcsm_eos_problem *p, lcsm_error *err);
void        lcsm_eos_result_free(lcsm_eos_result *r);

/* Forward, and backward if grads, in one form; r is overwritten. */
lcsm_status lcsm_eos_case_run_f32(const lcsm_context *ctx, const lcsm_eos_problem *p,
                                  lcsm_eos_form form, ptrdiff_t chunk, bool grads,
                                  lcsm_eos_result *r, lcsm_error *err);
lcsm_status lcsm_eos_case_run_f64(const lcsm_context *ctx, const lcsm_eos_problem *p,
                                  lcsm_eos_form form, ptrdiff_t chunk, bool grads,
                                  lcsm_eos_result *r, lcsm_error *err);

/* The loss of a forward pass: sum(g_y y) + sum(g_m_T m_T). */
double lcsm_eos_loss(const lcsm_eos_problem *p, const lcsm_eos_result *r);

/* Whether operand j is a static gate, or what one is generated from. */
bool lcsm_eos_is_static_factor(const lcsm_eos_problem *p, int j);

/* The problem p with its static factors by token. */
lcsm_status lcsm_eos_problem_spread(lcsm_eos_problem *out, const lcsm_eos_case *c,
                                    const lcsm_eos_problem *p, lcsm_error *err);

/* For every static factor the largest value of the running sum that is its gradient, 0 for the
 * other operands. */
lcsm_status lcsm_eos_term_sizes(const lcsm_context *ctx, const lcsm_eos_case *c,
                                const lcsm_eos_problem *p, double size[EOS_OPERANDS],
                                lcsm_error *err);

/* max |a - b| / max |b|; 0 when both are empty or zero, infinite when a is not finite. With a
 * size: beside that, if it is larger than max |b|. */
double lcsm_relative_error(const double *a, const double *b, size_t n);
double lcsm_error_beside(const double *a, const double *b, size_t n, double size);
#endif
