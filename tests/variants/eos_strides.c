/* eos_strides.c - the scan form with packed and with scattered operands: equal numbers. */
#include "eos_strides.h"
#include "base/rng.h"
#include "kernel/eos/scan/eos_scan_tile.h"

#include <stdlib.h>

enum { STEPS = 21, ROWS = 6, COLUMNS = 37, OPERANDS = EOS_OPERANDS, CELL = 8 };
enum { SK = 2 * STEPS + 1, SD = SK * ROWS + 3, ROOM = SD * (COLUMNS + 1) };

/* The axes of i e s row col full row_phase col_phase full_phase u w dense erase. */
static const struct {
    const char  *axes[OPERANDS];
    lcsm_eos_gen gen;
    bool         is_complex;
} PROBLEMS[] = {
    {{"TD", "TK", "TK", "K", 0, 0, 0, 0, 0, "TD", "KD"}, LCSM_GEN_EXP, false},
    {{"TD", "KD", "TK", 0, 0, "TKD", 0, 0, 0, "TK", "D"}, LCSM_GEN_GATE, false},
    {{"TD", "K", "KD", "TK", "TD", 0, 0, 0, 0, "TK", "TD"}, LCSM_GEN_COMPLEMENT, false},
    {{"TD", "TK", "TK", "TK", 0, "KD", "TK", "TD", "TKD", "TKD", "KD"}, LCSM_GEN_GATE, true},
    {{"TD", "KD", "KD", 0, "D", "TKD", "K", "D", "KD", "D", "KD"}, LCSM_GEN_EXP, true},
};

typedef struct {
    seq     x;
    grads   g;
    real   *memory;
    real   *grad[OPERANDS];
    double *sums; /* (OPERANDS, ROOM) of operands without T */
} run;

static view *view_at(seq *x, int j)
{
    view *const all[OPERANDS] = {
#define X(name) &x->name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    return all[j];
}

static out *out_at(grads *g, int j)
{
    out *const all[OPERANDS] = {
#define X(name) &g->name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    return all[j];
}

/* Strides of an operand: columns fastest and packed, or steps fastest with gaps. */
static view layout(const char *axes, bool scattered)
{
    bool      t = strchr(axes, 'T') != NULL, k = strchr(axes, 'K') != NULL;
    bool      d     = strchr(axes, 'D') != NULL;
    ptrdiff_t width = d ? COLUMNS : 1, rows_ = k ? ROWS : 1;
    if (scattered) return (view){NULL, t ? 2 : 0, k ? SK : 0, d ? SD : 0};
    return (view){NULL, t ? width * rows_ : 0, k ? width : 0, d ? 1 : 0};
}

static real value(int p, int j, ptrdiff_t t, ptrdiff_t k, ptrdiff_t d)
{
    uint64_t at = (uint64_t)((t * ROWS + k) * COLUMNS + d);
    double   r  = lcsm_rng_uniform((uint64_t)p, (uint32_t)j, at);
    return (real)(j >= 3 && j <= 5 ? -r : j >= 9 ? 0.9 * r : 2 * r - 1);
}

/* Which of the gradients is wanted: all, or one. */
static void make(run *r, int p, bool scattered, int wanted)
{
    real *next = r->memory = calloc((size_t)(2 * OPERANDS + 4) * ROOM, sizeof(real));
    r->sums                = calloc((size_t)OPERANDS * ROOM, sizeof(double));
    r->x                   = (seq){.T          = STEPS,
                                   .K          = ROWS,
                                   .D          = COLUMNS,
                                   .gen        = PROBLEMS[p].gen,
                                   .is_complex = PROBLEMS[p].is_complex,
                                   .tau        = 4,
                                   .scale      = 2};
    r->g                   = (grads){0};
    for (int j = 0; j < OPERANDS; j++, next += 2 * ROOM) {
        if (PROBLEMS[p].axes[j] == NULL) continue;
        view v = layout(PROBLEMS[p].axes[j], scattered);
        for (ptrdiff_t t = 0; t < (v.t ? STEPS : 1); t++)
            for (ptrdiff_t k = 0; k < (v.k ? ROWS : 1); k++)
                for (ptrdiff_t d = 0; d < (v.d ? COLUMNS : 1); d++)
                    next[t * v.t + k * v.k + d * v.d] = value(p, j, t, k, d);
        *view_at(&r->x, j) = (view){next, v.t, v.k, v.d};
        r->grad[j]         = next + ROOM;
        if (wanted == OPERANDS || wanted == j)
            *out_at(&r->g, j) = (out){.p   = next + ROOM,
                                      .t   = v.t,
                                      .k   = v.k,
                                      .d   = v.d,
                                      .sum = v.t == 0 ? r->sums + (ptrdiff_t)j * ROOM : NULL};
    }
}

/* Forward and backward; y and both memories at the end of the run's memory. */
static void go(run *r, bool scattered)
{
    const R_(lcsm_eos_kernels) *form = &K_(lcsm_eos_scan);
    const seq                  *x    = &r->x;
    ptrdiff_t                   y_t  = scattered ? COLUMNS + 5 : COLUMNS;
    size_t                      fwd = form->fwd_scratch(x, CELL), bwd = form->bwd_scratch(x, CELL);
    size_t                      cells = (STEPS + CELL - 1) / CELL * R_(lcsm_eos_memory)(x);
    size_t                      most  = (fwd > bwd ? fwd : bwd) + 64;
    real                       *ws    = aligned_alloc(64, most / 64 * 64 * sizeof(real) + 64);
    real *tape = calloc(cells, sizeof(real)), *g_y = calloc(STEPS * (size_t)y_t, sizeof(real));
    real *y = r->memory + 2 * OPERANDS * ROOM, *m = y + ROOM, *g_m = m + ROOM;
    for (ptrdiff_t t = 0; t < STEPS; t++)
        for (ptrdiff_t d = 0; d < COLUMNS; d++) g_y[t * y_t + d] = value(7, 1, t, 0, d);
    form->fwd(x, CELL, m, y, y_t, tape, ws);
    form->bwd(x, CELL, y, y_t, g_y, y_t, g_m, &r->g, tape, ws);
    for (int j = 0; j < OPERANDS; j++)
        for (ptrdiff_t k = 0; out_at(&r->g, j)->sum != NULL && k < ROOM; k++)
            r->grad[j][k] = (real)out_at(&r->g, j)->sum[k];
    for (ptrdiff_t t = 0; t < STEPS; t++) /* y packed, for comparison */
        memmove(y + t * COLUMNS, y + t * y_t, COLUMNS * sizeof(real));
    free(ws);
    free(tape);
    free(g_y);
}

/* The two ways may be contracted to multiply-adds in other places: some ulps of sums of some
 * hundred numbers around 1. */
static bool apart(real a, real b)
{
    return !(R_FN(fabs)(a - b) <= 100 * R_EPSILON * (1 + R_FN(fabs)(a)));
}

static int differ(const run *a, const run *b, int p, bool packed, int wanted)
{
    int         count = 0;
    const real *y = a->memory + 2 * OPERANDS * ROOM, *z = b->memory + 2 * OPERANDS * ROOM;
    for (ptrdiff_t j = 0; j < STEPS * COLUMNS; j++) count += apart(y[j], z[j]);
    for (ptrdiff_t j = ROOM; j < 3 * ROOM; j++) count += apart(y[j], z[j]);
    for (int j = 0; j < OPERANDS; j++) {
        if (PROBLEMS[p].axes[j] == NULL || (wanted != OPERANDS && wanted != j)) continue;
        view v = layout(PROBLEMS[p].axes[j], false), w = layout(PROBLEMS[p].axes[j], !packed);
        for (ptrdiff_t t = 0; t < (v.t ? STEPS : 1); t++)
            for (ptrdiff_t k = 0; k < (v.k ? ROWS : 1); k++)
                for (ptrdiff_t d = 0; d < (v.d ? COLUMNS : 1); d++)
                    count += apart(a->grad[j][t * v.t + k * v.k + d * v.d],
                                   b->grad[j][t * w.t + k * w.k + d * w.d]);
    }
    return count;
}

static void drop(const run *r)
{
    free(r->memory);
    free(r->sums);
}

int K_(eos_strides_scan)(void)
{
    int count = 0;
    for (int p = 0; p < (int)(sizeof PROBLEMS / sizeof PROBLEMS[0]); p++) {
        run all, other;
        make(&all, p, false, OPERANDS);
        go(&all, false);
        make(&other, p, true, OPERANDS);
        go(&other, true);
        count += differ(&all, &other, p, false, OPERANDS);
        drop(&other);
        for (int j = 0; j < OPERANDS; j++) {
            make(&other, p, false, j);
            go(&other, false);
            count += differ(&all, &other, p, true, j);
            drop(&other);
        }
        drop(&all);
    }
    return count;
}
