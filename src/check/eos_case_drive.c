/* eos_case_drive.c - runs a problem of eos_case.h in one number type. */
#include "base/error.h"
#include "base/size.h"
#include "check/eos_case.h"
#include "kernel/eos/eos_drive.h"

#include <math.h>
#include <stdlib.h>

/* All arrays of a run in one block; pointers into it while it lasts. */
typedef struct {
    R_(lcsm_eos_arrays)      x;
    R_(lcsm_eos_grad_arrays) g;
    real                    *y, *g_y, *m_T, *g_m_T;
    void                    *block, *tape, *ws;
} arrays;

static real *take(real **next, size_t n, const double *from)
{
    real *p = *next;
    for (size_t j = 0; j < n; j++) p[j] = from == NULL ? 0 : (real)from[j];
    *next += n;
    return p;
}

/* Gradients are added to zeros for some operands and overwrite what is no number for the others, by
 * turns of the length. */
static lcsm_status make(arrays *a, const lcsm_eos_problem *p, size_t tape, size_t ws,
                        lcsm_error *err)
{
    size_t n = 2 * p->y_size + 4 * p->m_size;
    for (int j = 0; j < EOS_OPERANDS; j++) n += 2 * p->size[j];
    real *next = a->block = calloc(n + 1, sizeof(real));
    a->tape               = aligned_alloc(LCSM_ALIGN, (tape / LCSM_ALIGN + 1) * LCSM_ALIGN);
    a->ws                 = aligned_alloc(LCSM_ALIGN, (ws / LCSM_ALIGN + 1) * LCSM_ALIGN);
    if (a->block == NULL || a->tape == NULL || a->ws == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a run of %zu numbers", n);
    for (int j = 0; j < EOS_OPERANDS; j++) {
        if (p->size[j] == 0) continue;
        a->x.operand[j] = take(&next, p->size[j], p->operand[j]);
        a->g.operand[j] = take(&next, p->size[j], NULL);
        a->g.set[j]     = (p->desc.T + j) % 2 == 0;
        for (size_t k = 0; a->g.set[j] && k < p->size[j]; k++) a->g.operand[j][k] = (real)NAN;
    }
    a->y       = take(&next, p->y_size, NULL);
    a->g_y     = take(&next, p->y_size, p->g_y);
    a->m_T     = take(&next, p->m_size, NULL);
    a->g.m0    = take(&next, p->m_size, NULL);
    a->x.m0    = p->m0 == NULL ? NULL : take(&next, p->m_size, p->m0);
    a->g_m_T   = p->g_m_T == NULL ? NULL : take(&next, p->m_size, p->g_m_T);
    a->x.reset = p->reset;
    a->x.read  = p->read;
    return LCSM_OK;
}

static void give(double *to, const real *from, size_t n)
{
    for (size_t j = 0; j < n; j++) to[j] = (double)from[j];
}

static const R_(lcsm_kernels) *kernels_of(const lcsm_context *ctx)
{
#if LCSM_REAL_IS_DOUBLE
    return ctx->f64;
#else
    return ctx->f32;
#endif
}

lcsm_status R_(lcsm_eos_case_run)(const lcsm_context *ctx, const lcsm_eos_problem *p,
                                  lcsm_eos_form form, ptrdiff_t chunk, bool grads,
                                  lcsm_eos_result *r, lcsm_error *err)
{
    const R_(lcsm_kernels) *k    = kernels_of(ctx);
    arrays                  a    = {0};
    lcsm_eos_desc           desc = p->desc;
    lcsm_eos_plan           plan;
    lcsm_status             st;
    desc.form  = form;
    desc.chunk = chunk;
    LCSM_TRY(lcsm_eos_plan_make(&plan, ctx->pool, &desc, err));
    size_t fwd = R_(lcsm_eos_fwd_bytes)(&plan, k), bwd = R_(lcsm_eos_bwd_bytes)(&plan, k);
    LCSM_TRY(make(&a, p, R_(lcsm_eos_tape_bytes)(&plan), fwd > bwd ? fwd : bwd, err));

    R_(lcsm_eos_fwd)(&plan, k, &a.x, a.y, a.m_T, a.tape, a.ws);
    give(r->y, a.y, p->y_size);
    give(r->m_T, a.m_T, p->m_size);
    if (grads) {
        R_(lcsm_eos_bwd)(&plan, k, &a.x, a.y, a.g_y, a.g_m_T, &a.g, a.tape, a.ws);
        give(r->g_m0, a.g.m0, p->m_size);
        for (int j = 0; j < EOS_OPERANDS; j++)
            if (p->size[j] > 0) give(r->grad[j], a.g.operand[j], p->size[j]);
    }
cleanup:
    free(a.block);
    free(a.tape);
    free(a.ws);
    return st;
}
