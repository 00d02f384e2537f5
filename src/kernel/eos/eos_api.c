/* eos_api.c - the public operator: checks arguments, then hands over to the driver. */
#include <lcsm/eos.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/size.h"
#include "base/sized.h"
#include "kernel/context.h"
#include "kernel/eos/eos_drive.h"
#include "kernel/eos/eos_operands.h"

struct lcsm_eos {
    lcsm_eos_plan           plan, step; /* step: the same for one token */
    const lcsm_kernels_f32 *kernels;
};

void lcsm_eos_desc_init(lcsm_eos_desc *desc, ptrdiff_t B, ptrdiff_t T, ptrdiff_t H, ptrdiff_t K,
                        ptrdiff_t D)
{
    lcsm_eos_desc own = {
        .size = sizeof own, .B = B, .T = T, .H = H, .K = K, .D = D, .tau = 1, .scale = 1};
    lcsm_sized_fill(desc, &own, sizeof own);
}

lcsm_eos_operand lcsm_eos_axes(unsigned axes)
{
    return (lcsm_eos_operand){.present = true, .axes = axes};
}

lcsm_eos_operand lcsm_eos_axes_complex(unsigned axes)
{
    return (lcsm_eos_operand){.present = true, .is_complex = true, .axes = axes};
}

/* One token, where it lies: strides over sequences that follow from T are those of T = 1. */
static lcsm_status plan_step(lcsm_eos_plan *step, lcsm_pool *pool, const lcsm_eos_desc *desc,
                             lcsm_error *err)
{
    lcsm_eos_desc one = *desc;
    one.T             = 1;
    one.form          = desc->form == LCSM_FORM_RECURRENT ? desc->form : LCSM_FORM_AUTO;
    one.reverse       = false;
    one.resets        = true;
    one.reads         = 0;
    return lcsm_eos_plan_make(step, pool, &one, err);
}

lcsm_status lcsm_eos_create(lcsm_eos **out, const lcsm_context *ctx, const lcsm_eos_desc *desc,
                            lcsm_error *err)
{
    lcsm_eos_desc own;
    lcsm_eos_plan plan, step;
    lcsm_status   st;
    if (out == NULL || ctx == NULL || desc == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: out, ctx and desc must be given");
    *out = NULL;
    if ((st = LCSM_TAKE(lcsm_eos_desc, tile, &own, desc, err)) != LCSM_OK) return st;
    if ((st = lcsm_eos_plan_make(&plan, ctx->pool, &own, err)) != LCSM_OK) return st;
    if ((st = plan_step(&step, ctx->pool, &own, err)) != LCSM_OK) return st;

    lcsm_eos *op = malloc(sizeof *op);
    if (op == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "eos: not enough memory for a plan");
    *op  = (lcsm_eos){.plan = plan, .step = step, .kernels = ctx->f32};
    *out = op;
    return LCSM_OK;
}

void lcsm_eos_free(lcsm_eos *op)
{
    free(op);
}

lcsm_eos_form lcsm_eos_chosen_form(const lcsm_eos *op)
{
    return op->plan.form;
}

ptrdiff_t lcsm_eos_chosen_chunk(const lcsm_eos *op)
{
    return op->plan.chunk;
}

bool lcsm_eos_is_complex(const lcsm_eos *op)
{
    return op->plan.is_complex;
}

const char *lcsm_eos_reason(const lcsm_eos *op)
{
    return op->plan.reason;
}

size_t lcsm_eos_forward_workspace(const lcsm_eos *op)
{
    return lcsm_eos_fwd_bytes_f32(&op->plan, op->kernels);
}

size_t lcsm_eos_backward_workspace(const lcsm_eos *op)
{
    return lcsm_eos_bwd_bytes_f32(&op->plan, op->kernels);
}

size_t lcsm_eos_step_workspace(const lcsm_eos *op)
{
    return lcsm_eos_fwd_bytes_f32(&op->step, op->kernels);
}

size_t lcsm_eos_tape(const lcsm_eos *op)
{
    return lcsm_eos_tape_bytes_f32(&op->plan);
}

/* ---- arguments -------------------------------------------------------------------------- */

static lcsm_status check_buffer(const char *name, const void *p, size_t bytes, lcsm_error *err)
{
    if (bytes > 0 && p == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s is NULL; expected %zu bytes", name,
                         bytes);
    if ((uintptr_t)p % LCSM_ALIGN != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s is not aligned to %zu bytes", name,
                         LCSM_ALIGN);
    return LCSM_OK;
}

/* The states as the driver takes them; every operand of the plan must be there. */
static lcsm_status take_states(const lcsm_eos_plan *p, const lcsm_eos_states *x,
                               lcsm_eos_arrays_f32 *out, lcsm_error *err)
{
    if (x == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the states are NULL");
    *out = (lcsm_eos_arrays_f32){.operand =
                                     {
#define X(name) [EOS_##name] = x->name,
                                         LCSM_EOS_OPERAND_LIST(X)
#undef X
                                     },
                                 .m0    = x->m0,
                                 .reset = x->reset,
                                 .read  = x->read};
    bool empty = p->B == 0 || p->T == 0;
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (p->operand[j].present && out->operand[j] == NULL && !empty)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the array of %s is NULL",
                             lcsm_eos_operand_name(j));
    if (x->reset != NULL && !p->resets)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: a reset mask was given; set resets = true in the descriptor");
    if ((x->read != NULL) != (p->reads > 0))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s",
                         p->reads > 0 ? "the list of reads is NULL"
                                      : "a list of reads was given; the descriptor has none");
    return LCSM_OK;
}

lcsm_status lcsm_eos_forward(const lcsm_eos *op, const lcsm_eos_states *x, float *y, float *m_T,
                             void *tape, void *workspace, lcsm_error *err)
{
    lcsm_eos_arrays_f32 arrays;
    if (op == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the plan is NULL");
    const lcsm_eos_plan *p = &op->plan;
    LCSM_OR_RETURN(take_states(p, x, &arrays, err));
    if (y == NULL && p->B * p->T > 0) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: y is NULL");
    LCSM_OR_RETURN(check_buffer("workspace", workspace, lcsm_eos_forward_workspace(op), err));
    LCSM_OR_RETURN(check_buffer("tape", tape, 0, err));
    lcsm_eos_fwd_f32(p, op->kernels, &arrays, y, m_T, tape, workspace);
    return LCSM_OK;
}

/* The chunked forms get the gradient of a col factor from y. */
static bool needs_y(const lcsm_eos_plan *p, const lcsm_eos_grads *g)
{
    return g->col != NULL && (p->form == LCSM_FORM_CHUNKED || p->form == LCSM_FORM_DELTA);
}

static lcsm_status take_grads(const lcsm_eos_plan *p, const lcsm_eos_grads *g,
                              lcsm_eos_grad_arrays_f32 *out, lcsm_error *err)
{
    if (g == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the gradients are NULL");
    *out = (lcsm_eos_grad_arrays_f32){.operand =
                                          {
#define X(name) [EOS_##name] = g->name,
                                              LCSM_EOS_OPERAND_LIST(X)
#undef X
                                          },
                                      .m0 = g->m0};
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (!p->operand[j].present && out->operand[j] != NULL)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "eos: a gradient of %s was requested, but there is no such operand",
                             lcsm_eos_operand_name(j));
    return LCSM_OK;
}

lcsm_status lcsm_eos_backward(const lcsm_eos *op, const lcsm_eos_states *x, const float *y,
                              const float *g_y, const float *g_m_T, const lcsm_eos_grads *g,
                              const void *tape, void *workspace, lcsm_error *err)
{
    lcsm_eos_arrays_f32      arrays;
    lcsm_eos_grad_arrays_f32 grads;
    if (op == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the plan is NULL");
    const lcsm_eos_plan *p = &op->plan;
    LCSM_OR_RETURN(take_states(p, x, &arrays, err));
    LCSM_OR_RETURN(take_grads(p, g, &grads, err));
    if (p->B * p->T > 0 && (g_y == NULL || (y == NULL && needs_y(p, g))))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s is NULL",
                         g_y == NULL ? "g_y" : "y, which the gradient of col needs,");
    LCSM_OR_RETURN(check_buffer("workspace", workspace, lcsm_eos_backward_workspace(op), err));
    LCSM_OR_RETURN(check_buffer("tape", tape, lcsm_eos_tape(op), err));
    lcsm_eos_bwd_f32(p, op->kernels, &arrays, y, g_y, g_m_T, &grads, tape, workspace);
    return LCSM_OK;
}

lcsm_status lcsm_eos_step(const lcsm_eos *op, const lcsm_eos_states *x, float *m, float *y,
                          void *workspace, lcsm_error *err)
{
    lcsm_eos_arrays_f32 arrays;
    if (op == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the plan is NULL");
    const lcsm_eos_plan *p = &op->step;
    LCSM_OR_RETURN(take_states(p, x, &arrays, err));
    if (p->B > 0 && (y == NULL || m == NULL))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s is NULL", y == NULL ? "y" : "m");
    LCSM_OR_RETURN(check_buffer("workspace", workspace, lcsm_eos_step_workspace(op), err));
    arrays.m0 = m;
    lcsm_eos_fwd_f32(p, op->kernels, &arrays, y, m, NULL, workspace);
    return LCSM_OK;
}
