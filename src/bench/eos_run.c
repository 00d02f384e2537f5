/* eos_run.c - arrays and plans of one timed problem. */
#include "bench/eos_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/error.h"
#include "base/size.h"
#include "kernel/eos/eos_operands.h"

enum { SHORT = 64 }; /* steps of the problem that is repeated */

/* Decays of gates with tau = 16, whose logarithms are about log(1/2) / 16. */
static const lcsm_eos_setting SETTING = {.decay = 0.1, .seed = 20};

static size_t operand_size(const lcsm_eos_plan *p, int j)
{
    const lcsm_eos_layout *l = &p->operand[j];
    if (!l->present) return 0;
    return (size_t)(l->inner * l->heads) * (size_t)(l->axes & LCSM_AXIS_T ? p->B * p->T : 1);
}

/* A line more than the numbers need, as in the arena of a graph (base/block.h says why). */
static size_t padded(size_t numbers)
{
    return (numbers * sizeof(float) / LCSM_ALIGN + 2) * LCSM_ALIGN;
}

size_t lcsm_eos_run_bytes(const lcsm_eos_desc *desc, bool grads)
{
    lcsm_eos_plan p;
    size_t        bytes = 0;
    if (lcsm_eos_plan_make(&p, NULL, desc, NULL) != LCSM_OK) return 0;
    for (int j = 0; j < EOS_OPERANDS; j++) bytes += padded(operand_size(&p, j));
    bytes += padded((size_t)(p.B * p.T * p.H * lcsm_eos_y_width(&p)));
    return grads ? 2 * bytes : bytes;
}

lcsm_status lcsm_eos_run_describe(lcsm_eos_desc *out, const lcsm_eos_case *c, lcsm_eos_sizes n,
                                  lcsm_error *err)
{
    lcsm_eos_problem one;
    lcsm_status      st =
        lcsm_eos_problem_make(&one, c, (lcsm_eos_sizes){1, 1, n.H, n.K, n.D}, &SETTING, err);
    if (st != LCSM_OK) return st;
    *out      = one.desc;
    out->B    = n.B;
    out->T    = n.T;
    out->form = LCSM_FORM_AUTO;
    lcsm_eos_problem_free(&one);
    return LCSM_OK;
}

/* Tokens take their numbers from those of the short problem in turn. */
static void repeat(float *to, size_t n, const double *from, size_t period)
{
    size_t first = period < n ? period : n;
    for (size_t j = 0; j < first; j++) to[j] = (float)from[j];
    for (size_t done = first; done < n;) {
        size_t more = done < n - done ? done : n - done;
        memcpy(to + done, to, more * sizeof *to);
        done += more;
    }
}

static float *take(unsigned char **next, size_t numbers)
{
    float *p = (float *)(void *)*next;
    *next += padded(numbers);
    return p;
}

static void fill(lcsm_eos_run *r, const lcsm_eos_plan *p, const lcsm_eos_problem *from, bool grads)
{
    const float **const x[EOS_OPERANDS] = {
#define X(name) &r->x.name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    float **const g[EOS_OPERANDS] = {
#define X(name) &r->g.name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    unsigned char *next = r->arrays;
    size_t         y    = (size_t)(p->B * p->T * p->H * lcsm_eos_y_width(p));
    for (int j = 0; j < EOS_OPERANDS; j++) {
        size_t n = operand_size(p, j);
        if (n == 0) continue;
        float *data = take(&next, n);
        repeat(data, n, from->operand[j], from->size[j]);
        *x[j] = data;
        if (!grads) continue;
        *g[j] = take(&next, n);
        memset(*g[j], 0, n * sizeof(float));
    }
    r->y = take(&next, y);
    memset(r->y, 0, y * sizeof(float));
    if (!grads) return;
    r->g_y = take(&next, y);
    repeat(r->g_y, y, from->g_y, from->y_size);
}

lcsm_status lcsm_eos_run_make(lcsm_eos_run *out, const lcsm_eos_case *c, const lcsm_eos_desc *desc,
                              bool grads, lcsm_error *err)
{
    lcsm_eos_plan    p;
    lcsm_eos_problem from;
    size_t           bytes = lcsm_eos_run_bytes(desc, grads);
    lcsm_status      st    = lcsm_eos_plan_make(&p, NULL, desc, err);
    *out                   = (lcsm_eos_run){.desc = *desc};
    if (st == LCSM_OK)
        st = lcsm_eos_problem_make(&from, c, (lcsm_eos_sizes){1, SHORT, p.H, p.K, p.D}, &SETTING,
                                   err);
    if (st != LCSM_OK) return st;
    out->arrays = lcsm_block_alloc(bytes);
    if (out->arrays == NULL)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu bytes of a case", bytes);
    else fill(out, &p, &from, grads);
    lcsm_eos_problem_free(&from);
    return st;
}

lcsm_status lcsm_eos_run_plan(lcsm_eos_run *r, const lcsm_context *ctx, bool grads, lcsm_error *err)
{
    int         j  = r->plans;
    lcsm_status st = lcsm_eos_create(&r->plan[j].op, ctx, &r->desc, err);
    if (st != LCSM_OK) return st;
    r->plans++;
    size_t fwd      = lcsm_eos_forward_workspace(r->plan[j].op);
    size_t bwd      = grads ? lcsm_eos_backward_workspace(r->plan[j].op) : 0;
    size_t tape     = grads ? lcsm_eos_tape(r->plan[j].op) : 0;
    r->plan[j].ws   = lcsm_block_alloc(fwd > bwd ? fwd : bwd);
    r->plan[j].tape = lcsm_block_alloc(tape);
    if (r->plan[j].ws == NULL || r->plan[j].tape == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu bytes of tape", tape);
    return LCSM_OK;
}

void lcsm_eos_run_free(lcsm_eos_run *r)
{
    for (int j = 0; j < r->plans; j++) {
        lcsm_eos_free(r->plan[j].op);
        free(r->plan[j].tape);
        free(r->plan[j].ws);
    }
    free(r->arrays);
    *r = (lcsm_eos_run){0};
}

lcsm_status lcsm_eos_run_pass(lcsm_eos_run *r, int plan, bool grads, lcsm_error *err)
{
    const lcsm_eos *op = r->plan[plan].op;
    void           *ws = r->plan[plan].ws, *tape = grads ? r->plan[plan].tape : NULL;
    lcsm_status     st = lcsm_eos_forward(op, &r->x, r->y, NULL, tape, ws, err);
    if (st != LCSM_OK || !grads) return st;
    return lcsm_eos_backward(op, &r->x, r->y, r->g_y, NULL, &r->g, tape, ws, err);
}
