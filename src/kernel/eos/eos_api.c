/* eos_api.c - the public operator: descriptors, plans, and what is known of them. Its passes are in
 * eos_pass_drive.c. */
#include <lcsm/eos.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "kernel/context.h"
#include "kernel/eos/eos_pass.h"

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
    *op           = (lcsm_eos){.plan = plan, .step = step, .f32 = ctx->f32, .f64 = ctx->f64};
    op->is_double = own.double_precision != 0;
    *out          = op;
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
    return op->is_double ? lcsm_eos_bytes_f64(op).fwd : lcsm_eos_bytes_f32(op).fwd;
}

size_t lcsm_eos_backward_workspace(const lcsm_eos *op)
{
    return op->is_double ? lcsm_eos_bytes_f64(op).bwd : lcsm_eos_bytes_f32(op).bwd;
}

size_t lcsm_eos_step_workspace(const lcsm_eos *op)
{
    return op->is_double ? lcsm_eos_bytes_f64(op).step : lcsm_eos_bytes_f32(op).step;
}

size_t lcsm_eos_tape(const lcsm_eos *op)
{
    return op->is_double ? lcsm_eos_bytes_f64(op).tape : lcsm_eos_bytes_f32(op).tape;
}
