/* eos_pass_drive.c - the public passes of the operator, in float and in double: they check their
 * arguments, then hand over to the driver. */
#include <lcsm/eos.h>

#include "base/error.h"
#include "base/size.h"
#include "kernel/eos/eos_drive.h"
#include "kernel/eos/eos_pass.h"

/* Those of the number type. */
static const R_(lcsm_kernels) *kernels_of(const lcsm_eos *op)
{
    return op->REAL_NAME;
}

/* ---- bytes ------------------------------------------------------------------------------ */

lcsm_eos_pass_bytes R_(lcsm_eos_bytes)(const lcsm_eos *op)
{
    const R_(lcsm_kernels) *k = kernels_of(op);
    return (lcsm_eos_pass_bytes){
        .fwd  = R_(lcsm_eos_fwd_bytes)(&op->plan, k),
        .bwd  = R_(lcsm_eos_bwd_bytes)(&op->plan, k),
        .step = R_(lcsm_eos_fwd_bytes)(&op->step, k),
        .tape = R_(lcsm_eos_tape_bytes)(&op->plan),
    };
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

/* Arrays of the other number type would be read as garbage. */
static lcsm_status check_plan(const lcsm_eos *op, lcsm_error *err)
{
    if (op == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the plan is NULL");
    if (op->is_double == LCSM_REAL_IS_DOUBLE) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "eos: the plan is for %s; use the functions %s _double",
                     op->is_double ? "doubles" : "floats", op->is_double ? "with" : "without");
}

/* The states as the driver takes them; every operand of the plan must be there. */
static lcsm_status take_states(const lcsm_eos_plan *p, const P_(lcsm_eos_states) * x,
                               R_(lcsm_eos_arrays) *out, lcsm_error *err)
{
    if (x == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the states are NULL");
    *out = (R_(lcsm_eos_arrays)){.operand =
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

lcsm_status P_(lcsm_eos_forward)(const lcsm_eos *op, const P_(lcsm_eos_states) * x, real *y,
                                 real *m_T, void *tape, void *workspace, lcsm_error *err)
{
    R_(lcsm_eos_arrays) arrays;
    LCSM_OR_RETURN(check_plan(op, err));
    const lcsm_eos_plan *p = &op->plan;
    LCSM_OR_RETURN(take_states(p, x, &arrays, err));
    if (y == NULL && p->B * p->T > 0) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: y is NULL");
    LCSM_OR_RETURN(check_buffer("workspace", workspace, R_(lcsm_eos_bytes)(op).fwd, err));
    LCSM_OR_RETURN(check_buffer("tape", tape, 0, err));
    R_(lcsm_eos_fwd)(p, kernels_of(op), &arrays, y, m_T, tape, workspace);
    return LCSM_OK;
}

/* The chunked forms get the gradient of a col factor from y. */
static bool needs_y(const lcsm_eos_plan *p, const P_(lcsm_eos_grads) * g)
{
    return g->col != NULL && (p->form == LCSM_FORM_CHUNKED || p->form == LCSM_FORM_DELTA);
}

static lcsm_status take_grads(const lcsm_eos_plan      *p, const P_(lcsm_eos_grads) * g,
                              R_(lcsm_eos_grad_arrays) *out, lcsm_error *err)
{
    if (g == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the gradients are NULL");
    *out = (R_(lcsm_eos_grad_arrays)){.operand =
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

lcsm_status P_(lcsm_eos_backward)(const lcsm_eos *op, const P_(lcsm_eos_states) * x, const real *y,
                                  const real *g_y, const real *g_m_T, const P_(lcsm_eos_grads) * g,
                                  const void *tape, void *workspace, lcsm_error *err)
{
    R_(lcsm_eos_arrays)      arrays;
    R_(lcsm_eos_grad_arrays) grads;
    LCSM_OR_RETURN(check_plan(op, err));
    const lcsm_eos_plan *p = &op->plan;
    LCSM_OR_RETURN(take_states(p, x, &arrays, err));
    LCSM_OR_RETURN(take_grads(p, g, &grads, err));
    if (p->B * p->T > 0 && (g_y == NULL || (y == NULL && needs_y(p, g))))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s is NULL",
                         g_y == NULL ? "g_y" : "y, which the gradient of col needs,");
    LCSM_OR_RETURN(check_buffer("workspace", workspace, R_(lcsm_eos_bytes)(op).bwd, err));
    LCSM_OR_RETURN(check_buffer("tape", tape, R_(lcsm_eos_bytes)(op).tape, err));
    R_(lcsm_eos_bwd)(p, kernels_of(op), &arrays, y, g_y, g_m_T, &grads, tape, workspace);
    return LCSM_OK;
}

lcsm_status P_(lcsm_eos_step)(const lcsm_eos *op, const P_(lcsm_eos_states) * x, real *m, real *y,
                              void *workspace, lcsm_error *err)
{
    R_(lcsm_eos_arrays) arrays;
    LCSM_OR_RETURN(check_plan(op, err));
    const lcsm_eos_plan *p = &op->step;
    LCSM_OR_RETURN(take_states(p, x, &arrays, err));
    if (p->B > 0 && (y == NULL || m == NULL))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s is NULL", y == NULL ? "y" : "m");
    LCSM_OR_RETURN(check_buffer("workspace", workspace, R_(lcsm_eos_bytes)(op).step, err));
    arrays.m0 = m;
    R_(lcsm_eos_fwd)(p, kernels_of(op), &arrays, y, m, NULL, workspace);
    return LCSM_OK;
}
