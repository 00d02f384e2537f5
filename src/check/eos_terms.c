/*
 * eos_terms.c - how large the sums behind the gradients of static factors become.
 *
 * Such a gradient is a sum over all steps of terms of either sign, and with random numbers it may
 * end near 0 by accident, after having been large. No arithmetic then gives it to a precision of
 * its own size: each term carries the rounding of the memory and of its gradient. What can be
 * asked is a small error beside the largest value that the running sum had. That is found in
 * double, with the same factors given by token: their gradients are the terms.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "check/eos_case.h"

bool lcsm_eos_is_static_factor(const lcsm_eos_problem *p, int j)
{
    return j >= EOS_row && j < EOS_erase && p->size[j] > 0
        && !lcsm_eos_has(&p->plan, j, LCSM_AXIS_T);
}

lcsm_status lcsm_eos_problem_spread(lcsm_eos_problem *out, const lcsm_eos_case *c,
                                    const lcsm_eos_problem *p, lcsm_error *err)
{
    const lcsm_eos_plan *plan  = &p->plan;
    lcsm_eos_sizes       n     = {plan->B, plan->T, plan->H, plan->K, plan->D};
    lcsm_eos_case        token = *c;
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (lcsm_eos_is_static_factor(p, j)) token.axes[j] |= LCSM_AXIS_T;
    lcsm_status st = lcsm_eos_problem_make(out, &token, n,
                                           &(lcsm_eos_setting){.carry   = p->m0 != NULL,
                                                               .reset   = p->reset != NULL,
                                                               .reverse = plan->reverse},
                                           err);
    if (st != LCSM_OK) return st;
    for (int j = 0; j < EOS_OPERANDS; j++)
        for (size_t a = 0; a < out->size[j]; a++)
            out->operand[j][a] = p->operand[j][a % p->size[j]];
    memcpy(out->g_y, p->g_y, p->y_size * sizeof(double));
    if (p->reset != NULL) memcpy(out->reset, p->reset, (size_t)(n.B * n.T) * sizeof *p->reset);
    if (p->m0 == NULL) return LCSM_OK;
    memcpy(out->m0, p->m0, p->m_size * sizeof(double));
    memcpy(out->g_m_T, p->g_m_T, p->m_size * sizeof(double));
    return LCSM_OK;
}

/* The largest running sum over the n terms of any of `width` numbers. */
static double largest(const double *terms, size_t width, size_t n)
{
    double most = 0;
    for (size_t j = 0; j < width; j++) {
        double sum = 0;
        for (size_t t = 0; t < n; t++) {
            sum += terms[t * width + j];
            most = fmax(most, fabs(sum));
        }
    }
    return most;
}

lcsm_status lcsm_eos_term_sizes(const lcsm_context *ctx, const lcsm_eos_case *c,
                                const lcsm_eos_problem *p, double size[EOS_OPERANDS],
                                lcsm_error *err)
{
    lcsm_eos_problem token = {0};
    lcsm_eos_result  r     = {0};
    lcsm_status      st    = LCSM_OK;
    bool             any   = false;
    for (int j = 0; j < EOS_OPERANDS; j++) {
        size[j] = 0;
        any     = any || lcsm_eos_is_static_factor(p, j);
    }
    if (!any || p->y_size == 0) return LCSM_OK;
    LCSM_TRY(lcsm_eos_problem_spread(&token, c, p, err));
    LCSM_TRY(lcsm_eos_result_make(&r, &token, err));
    LCSM_TRY(lcsm_eos_case_run_f64(ctx, &token, LCSM_FORM_RECURRENT, 0, true, &r, err));
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (lcsm_eos_is_static_factor(p, j))
            size[j] = largest(r.grad[j], p->size[j], token.size[j] / p->size[j]);
cleanup:
    lcsm_eos_problem_free(&token);
    lcsm_eos_result_free(&r);
    return st;
}
