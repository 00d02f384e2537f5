/*
 * lcsm/parts.h - parts of layers on arrays of the caller, many in one call: what other frameworks
 * run their models with, forward, in float.
 *
 *     lcsm_part parts[] = {{.size = sizeof *parts, .kind = LCSM_PART_LINEAR, .rows = 8, ...}, ...};
 *     lcsm_parts_workspace(ctx, parts, n, &bytes, err);
 *     lcsm_parts_run(ctx, parts, n, workspace, err);          one after the other
 *
 * x, z and y have `rows` rows of numbers; x_row, z_row and y_row are the numbers from row to row,
 * 0: packed, so slices of wider arrays are parts too. f is the function of the part.
 *
 *     LINEAR      y = f(x w^T + b) + z      x `heads` times `in`, y and z `heads` times `out` wide;
 *                                           head h has w[h] (out, in), with `turned` (in, out)
 *     CONV        y = f(b + sum_j w[:, j] x_{t-taps+1+j})   `in` channels of sequences of `steps`
 *                                           rows, w (in, taps). With state (rows / steps, in,
 *                                           held), the last `held` inputs, oldest first, steps is 1
 *                                           and the state moves on; else zeros come before
 *     NORM        y = (shift + w) x r       heads of `in` numbers, r = 1 / sqrt(mean(x^2) + eps);
 *                                           w (in) for all heads, with `own` (heads, in); NULL: 1
 *     UNIT        y = x r                   the same with the sum instead of the mean
 *     MAP         y = scale f(x + b)        `in` numbers; b may be NULL
 *     GLU         y = f(z) x
 *     SCALE       y = w x, or y += w x      w (in) for all rows; += with `add`
 *     SPREAD      y = x z, or y += x z      head h of y, `in` wide: head h / shared of x times the
 *                                           h-th number of z, or without z of w (heads)
 *     RATES       y = scale exp(x)^T        x (rows, in) packed, y (in, rows); state (rows, in) is
 *                                           x of the last call: what has not changed is not redone
 *     EOS         lcsm_eos_forward, or with steps 1 and a state lcsm_eos_step: y and the state,
 *                                           which may be NULL, are packed, states as its plan says
 *
 * Memory     A workspace has lcsm_parts_workspace bytes, 64-byte aligned, and serves one call.
 *            y may be x or z of the same part where rows lie alike, but not of LINEAR and CONV.
 * Threads    A call uses the threads of the context; results do not depend on how many.
 * Errors     A part that does not fit is refused before any of them runs.
 */
#ifndef LCSM_PARTS_H
#define LCSM_PARTS_H
#include <lcsm/eos.h>

LCSM_BEGIN_DECLS

typedef enum {
    LCSM_PART_LINEAR = 0,
    LCSM_PART_CONV   = 1,
    LCSM_PART_NORM   = 2,
    LCSM_PART_UNIT   = 3,
    LCSM_PART_MAP    = 4,
    LCSM_PART_GLU    = 5,
    LCSM_PART_SCALE  = 6,
    LCSM_PART_SPREAD = 7,
    LCSM_PART_RATES  = 8,
    LCSM_PART_EOS    = 9,
} lcsm_part_kind;

typedef enum {
    LCSM_PART_SAME      = 0, /* f(x) = x */
    LCSM_PART_SILU      = 1,
    LCSM_PART_SIGMOID   = 2,
    LCSM_PART_SOFTPLUS  = 3,
    LCSM_PART_EXP       = 4,
    LCSM_PART_GELU      = 5,
    LCSM_PART_GELU_TANH = 6, /* GELU with tanh instead of the normal distribution */
    LCSM_PART_REST      = 7, /* sqrt(1 - exp(2 x)) */
} lcsm_part_function;

typedef struct {
    size_t             size; /* sizeof(lcsm_part) */
    lcsm_part_kind     kind;
    lcsm_part_function function;
    ptrdiff_t          rows, in, out, heads, steps, taps, held, shared; /* heads and shared 0: 1 */
    ptrdiff_t          x_row, z_row, y_row;
    const float       *x, *w, *b, *z;
    float             *y, *state;
    double             eps, scale, shift;
    int64_t            turned, own, add; /* not 0: as above */
    const lcsm_eos    *eos;
    const lcsm_eos_states *states;
} lcsm_part;

/* How many bytes of workspace the parts need. */
LCSM_API lcsm_status lcsm_parts_workspace(const lcsm_context *ctx, const lcsm_part *parts, size_t n,
                                          size_t *bytes, lcsm_error *err);
LCSM_API lcsm_status lcsm_parts_run(const lcsm_context *ctx, const lcsm_part *parts, size_t n,
                                    void *workspace, lcsm_error *err);

LCSM_END_DECLS
#endif
