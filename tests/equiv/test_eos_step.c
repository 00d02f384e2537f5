/*
 * test_eos_step.c - single steps of every instruction set against those of the plain reference.
 *
 * Bound: a few roundings of sums of K products, relative to the largest number (2e-6).
 */
#include <lcsm/eos.h>

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/rng.h"
#include "test.h"

enum { T = LCSM_AXIS_T, K = LCSM_AXIS_K, D = LCSM_AXIS_D };
enum { STEPS = 3 };

/* What the operands look like; ~0u: absent. */
static const struct {
    const char *name;
    unsigned    e, s, row, phase;
    bool        complex_e, complex_s, resets;
    /* what reads the memory before the step, and complex i and y */
    struct {
        ptrdiff_t rank;
        bool      erase, before, bonus, complex_i, complex_y;
    } more;
} CASES[] = {
    {"ones", T | K, T | K, ~0u, ~0u, false, false, false, {0}},
    {"row of a token", T | K, T | K, T | K, ~0u, false, false, true, {0}},
    {"static matrix e", K | D, K, K, ~0u, false, false, false, {0}},
    {"scalar", K, T | K, 0, ~0u, false, false, false, {0}},
    {"phase", T | K, T | K, T | K, K, false, false, true, {0}},
    {"complex vectors", T | K, T | K, K, T | K, true, true, false, {0}},
    {"toeplitz", K | D, K, K, K, true, false, true, {0}},
    {"real matrix, complex memory", K | D, K, K, K, false, true, false, {0}},
    {"low rank", T | K, T | K, T | K, ~0u, false, false, true, {.rank = 1}},
    {"rank 3, static", K, K, K, ~0u, false, false, false, {.rank = 3}},
    {"delta rule", T | K, T | K, T | K, ~0u, false, false, true, {.erase = true}},
    {"before", T | K, T | K, T | K, ~0u, false, false, true, {.before = true}},
    {"bonus", T | K, T | K, K, ~0u, false, false, false, {.before = true, .bonus = true}},
    {"delta rule and bonus",
     T | K,
     T | K,
     T,
     ~0u,
     false,
     false,
     true,
     {.erase = true, .before = true, .bonus = true}},
    {"complex i", T | K, T | K, T | K, T | K, true, false, false, {.complex_i = true}},
    {"complex y", T | K, T | K, T | K, K, false, true, true, {.complex_y = true}},
    {"all", T | K, T | K, T | K, T | K, true, true, true, {2, false, true, true, true, true}},
};
static const ptrdiff_t SIZES[][4] = {
    {1, 1, 1, 1}, {2, 3, 5, 7}, {1, 2, 4, 8}, {1, 1, 9, 17}, {2, 1, 3, 33}, {1, 2, 16, 64},
};

static float *numbers(size_t n, uint32_t purpose, double low, double high)
{
    float *p = malloc((n + 1) * sizeof *p);
    assert_non_null(p);
    for (size_t j = 0; j < n; j++)
        p[j] = (float)(low + (high - low) * lcsm_rng_uniform(3, purpose, j));
    return p;
}

static lcsm_eos_operand operand(unsigned axes, bool is_complex)
{
    lcsm_eos_operand o = lcsm_eos_axes(axes == ~0u ? 0 : axes);
    o.present          = axes != ~0u;
    o.is_complex       = is_complex;
    return o;
}

static lcsm_eos_desc describe(size_t c, const ptrdiff_t n[4])
{
    lcsm_eos_desc d = {.size = sizeof d};
    lcsm_eos_desc_init(&d, n[0], 1, n[1], n[2], n[3]);
    d.i            = lcsm_eos_axes(T | D);
    d.e            = operand(CASES[c].e, CASES[c].complex_e);
    d.s            = operand(CASES[c].s, CASES[c].complex_s);
    d.row          = operand(CASES[c].row, false);
    d.row_phase    = operand(CASES[c].phase, false);
    d.resets       = CASES[c].resets;
    d.scale        = 0.5;
    d.i.is_complex = CASES[c].more.complex_i;
    d.rank         = CASES[c].more.rank;
    d.complex_y    = CASES[c].more.complex_y;
    d.read_before  = CASES[c].more.before;
    d.a = d.b = operand(d.rank > 0 ? T | K : ~0u, CASES[c].complex_e);
    d.erase   = operand(CASES[c].more.erase ? T | K : ~0u, false);
    d.bonus   = operand(CASES[c].more.bonus ? K : ~0u, CASES[c].complex_s);
    return d;
}

/* STEPS steps from one memory: y of the last, and the memory. */
static void run(lcsm_isa isa, const lcsm_eos_desc *d, float *y, float *m)
{
    lcsm_context_options options = {.size = sizeof options, .threads = 1, .isa = isa};
    lcsm_context        *ctx;
    lcsm_eos            *op;
    lcsm_error           err;
    size_t               all      = (size_t)(d->B * d->H * d->K * d->D) * 2 * LCSM_EOS_MAX_RANK;
    int32_t              reset[2] = {0};
    float *i = numbers(all, 1, -1, 1), *e = numbers(all, 2, -1, 1), *s = numbers(all, 3, -1, 1);
    float *row = numbers(all, 4, -1, 1), *phase = numbers(all, 5, -3, 3);
    float *a = numbers(all, 9, -1, 1), *b = numbers(all, 10, -1, 1), *z = numbers(all, 11, -1, 1);
    if (lcsm_context_create(&ctx, &options, &err) != LCSM_OK) fail_msg("%s", err.text);
    if (lcsm_eos_create(&op, ctx, d, &err) != LCSM_OK) fail_msg("%s", err.text);
    void           *ws = aligned_alloc(64, (lcsm_eos_step_workspace(op) / 64 + 1) * 64);
    lcsm_eos_states x  = {.i         = i,
                          .e         = e,
                          .s         = s,
                          .row       = d->row.present ? row : NULL,
                          .row_phase = d->row_phase.present ? phase : NULL,
                          .a         = d->a.present ? a : NULL,
                          .b         = d->b.present ? b : NULL,
                          .erase     = d->erase.present ? a : NULL,
                          .bonus     = d->bonus.present ? z : NULL,
                          .reset     = d->resets ? reset : NULL};
    for (int t = 0; t < STEPS; t++) {
        reset[d->B - 1] = t == 1;
        if (lcsm_eos_step(op, &x, m, y, ws, &err) != LCSM_OK) fail_msg("%s", err.text);
    }
    free(ws), free(i), free(e), free(s), free(row), free(phase), free(a), free(b), free(z);
    lcsm_eos_free(op);
    lcsm_context_free(ctx);
}

static double worst(const float *a, const float *b, size_t n)
{
    double error = 0, size = 1e-30;
    for (size_t j = 0; j < n; j++) {
        error = fmax(error, fabs((double)a[j] - (double)b[j]));
        size  = fmax(size, fabs((double)b[j]));
    }
    return error / size;
}

static void compare(lcsm_isa isa, size_t c, const ptrdiff_t size[4])
{
    lcsm_eos_desc d    = describe(c, size);
    size_t        outs = (size_t)(d.B * d.H * d.D), memory = outs * (size_t)d.K;
    if (CASES[c].phase != ~0u || CASES[c].complex_e || CASES[c].complex_s) memory *= 2;
    if (d.complex_y) outs *= 2;
    float *y = numbers(outs, 7, 0, 0), *y_ref = numbers(outs, 7, 0, 0);
    float *m = numbers(memory, 8, -1, 1), *m_ref = numbers(memory, 8, -1, 1);
    run(isa, &d, y, m);
    run(LCSM_ISA_REFERENCE, &d, y_ref, m_ref);
    double of_y = worst(y, y_ref, outs), of_m = worst(m, m_ref, memory);
    if (!(of_y < 2e-6 && of_m < 2e-6))
        fail_msg("isa %d, %s, B %td H %td K %td D %td: y is off by %.1e, m by %.1e", (int)isa,
                 CASES[c].name, d.B, d.H, d.K, d.D, of_y, of_m);
    free(y), free(y_ref), free(m), free(m_ref);
}

TEST(eos_step_of_every_instruction_set_agrees_with_the_reference)
{
    lcsm_context *best;
    assert_int_equal(lcsm_context_create(&best, NULL, NULL), LCSM_OK);
    for (lcsm_isa isa = LCSM_ISA_REFERENCE; isa <= lcsm_context_isa(best); isa++)
        for (size_t c = 0; c < COUNT(CASES); c++)
            for (size_t n = 0; n < COUNT(SIZES); n++) compare(isa, c, SIZES[n]);
    lcsm_context_free(best);
}
