/*
 * op_eos.c - the EOS recurrence as an op over kernel/eos; graph/eos_node.c has its plan.
 *
 * What is carried is the memory; it is not an input then, and its gradient is carried too. The tape
 * (the memory at chunk borders) is what forward saves for backward. Where only some steps are read,
 * s and y have their rows. A sequence that nothing is carried into begins with zeros, or with
 * `start`, which all sequences share.
 */
#include "base/size.h"
#include "graph/eos_node.h"
#include "graph/ops/eos_mean_node.h"
#include "graph/ops/eos_pairs_node.h"
#include "kernel/eos/eos_drive.h"
#include "kernel/eos/eos_operands.h"

enum { M0 = LCSM_EOS_M0, RESET = LCSM_EOS_RESET, READ = LCSM_EOS_READ, Z = LCSM_EOS_Z };
enum { START = LCSM_EOS_START };

static const lcsm_tensor *optional(const lcsm_node *n, int j)
{
    return j < n->n_in ? n->in[j] : NULL;
}

/* ---- the rule ---- */

static lcsm_status check_start(const lcsm_node *n, const lcsm_shape *memory, lcsm_error *err)
{
    const lcsm_tensor *start = optional(n, START);
    lcsm_shape         one   = lcsm_dims(memory->dim[1], memory->dim[2], memory->dim[3]);
    char               text[LCSM_SHAPE_TEXT];
    if (start == NULL) return LCSM_OK;
    if (!lcsm_shape_equal(&start->shape, &one) || start->ld != start->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "start must be %s, packed",
                         lcsm_shape_text(text, &one));
    if (optional(n, M0) == NULL && optional(n, RESET) == NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "start excludes m0 and reset");
}

static lcsm_status check_rest(const lcsm_node *n, const lcsm_eos_plan *p, const lcsm_shape *memory,
                              lcsm_error *err)
{
    const lcsm_tensor *m0 = optional(n, M0), *reset = optional(n, RESET), *read = optional(n, READ);
    char               text[LCSM_SHAPE_TEXT];
    if (m0 != NULL && (!lcsm_shape_equal(&m0->shape, memory) || m0->ld != m0->cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "m0 must be %s, packed",
                         lcsm_shape_text(text, memory));
    lcsm_shape steps = lcsm_dims(p->B, p->T);
    if (reset != NULL && (!lcsm_shape_equal(&reset->shape, &steps) || reset->ld != reset->cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "reset must be %s, packed",
                         lcsm_shape_text(text, &steps));
    if (read != NULL && (read->shape.rank != 2 || read->ld != read->cols))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "read must have two axes, packed");
    return check_start(n, memory, err);
}

static size_t aligned(size_t bytes)
{
    return (bytes + LCSM_ALIGN - 1) / LCSM_ALIGN * LCSM_ALIGN;
}

/* Scratch of backward begins with zeros for the gradient of y where none may come. */
static size_t zero_bytes(const lcsm_node *n, const lcsm_eos_plan *p)
{
    return n->n_out < 2
             ? 0
             : aligned((size_t)(p->B * p->T * p->H * lcsm_eos_y_width(p)) * sizeof(real));
}

static size_t memory_count(const lcsm_eos_plan *p)
{
    return (size_t)(p->H * p->K * p->D * (p->is_complex ? 2 : 1));
}

/* Scratch begins with what `start` is for every sequence, or with its gradients. */
static size_t start_bytes(const lcsm_node *n, const lcsm_eos_plan *p)
{
    return optional(n, START) == NULL ? 0 : aligned((size_t)p->B * memory_count(p) * sizeof(real));
}

/* A memory or products in bfloat16 are of training: other runs follow the same plan in float. */
static lcsm_eos_plan in_float(const lcsm_eos_plan *p)
{
    lcsm_eos_plan plain = *p;
    plain.bf16 = plain.bf16_products = false;
    return plain;
}

/* Nobody gives the memory or asks for it: a pass of training over whole sequences. */
static bool is_alone(const lcsm_call *c)
{
    bool own = c->node->n_state > 0;
    return c->run->training && c->in[M0].data == NULL && c->in[START].data == NULL
        && c->node->n_out == 1 && (!own || (c->state_in[0] == NULL && c->state_out[0] == NULL));
}

static lcsm_eos_plan plan_of(const lcsm_call *c)
{
    const lcsm_eos_plan *p = c->own;
    if (is_alone(c)) return p[1];
    return c->run->training ? *p : in_float(p);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Room for what a plan needs, in either precision. */
static void add_room(lcsm_node *n, const lcsm_eos_plan *p)
{
    lcsm_eos_plan plain = in_float(p);
    n->saved            = larger(n->saved, R_(lcsm_eos_tape_bytes)(p));
    n->fwd_scratch      = larger(n->fwd_scratch, R_(lcsm_eos_fwd_bytes)(p, n->kernels));
    n->fwd_scratch      = larger(n->fwd_scratch, R_(lcsm_eos_fwd_bytes)(&plain, n->kernels));
    n->bwd_scratch      = larger(n->bwd_scratch, R_(lcsm_eos_bwd_bytes)(p, n->kernels));
    n->bwd_scratch      = larger(n->bwd_scratch, R_(lcsm_eos_bwd_bytes)(&plain, n->kernels));
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_eos_attr *a = n->attr;
    lcsm_eos_plan        plans[2];
    lcsm_status          st = lcsm_eos_node_plans(n, plans, err);
    if (st != LCSM_OK) return st;
    lcsm_eos_plan p = plans[0];
    if (optional(n, Z) != NULL) return R_(lcsm_eos_mean_shape)(n, err);
    if (a->pairs) return R_(lcsm_eos_pairs_shape)(n, err);
    lcsm_shape memory = lcsm_dims(p.B, p.H, p.K, p.D * (p.is_complex ? 2 : 1));
    if ((st = check_rest(n, &p, &memory, err)) != LCSM_OK) return st;
    n->n_out    = a->final ? 2 : 1;
    n->shape[0] = lcsm_dims(p.B, p.T, p.H * lcsm_eos_y_width(&p));
    if (p.reads > 0) {
        const lcsm_shape *read = &n->in[READ]->shape;
        n->shape[0]            = lcsm_dims(read->dim[0], read->dim[1], p.H * lcsm_eos_y_width(&p));
    }
    n->shape[1] = memory;
    n->saved = n->fwd_scratch = n->bwd_scratch = 0;
    add_room(n, &plans[0]);
    add_room(n, &plans[1]);
    n->fwd_scratch += start_bytes(n, &p);
    n->bwd_scratch += zero_bytes(n, &p) + start_bytes(n, &p);
    n->own = sizeof plans;
    if (!p.operand[EOS_col].present) n->bwd_out = 0;
    n->steps = LCSM_STEPS_WHOLE;
    if (optional(n, M0) == NULL && !p.reverse) {
        n->steps    = a->final ? LCSM_STEPS_WHOLE : LCSM_STEPS_CARRIED;
        n->n_state  = 1;
        n->state[0] = (lcsm_state_spec){
            .dtype = LCSM_REAL_DTYPE, .shape = memory, .begin = optional(n, START)};
    }
    return LCSM_OK;
}

static void prepare(const lcsm_call *c)
{
    if (c->node->own > 0)
        lcsm_eos_node_plans(c->node, c->own, NULL); /* it succeeded in the shape rule */
}

/* ---- passes ---- */

static R_(lcsm_eos_arrays) arrays_of(const lcsm_call *c, const lcsm_eos_plan *p)
{
    R_(lcsm_eos_arrays) x = {.m0    = c->node->n_state > 0 ? c->state_in[0] : c->in[M0].data,
                             .reset = c->in[RESET].data};
    for (int j = 0; j < EOS_OPERANDS; j++) x.operand[j] = c->in[j].data;
    if (p->reads > 0) x.read = c->in[READ].data;
    return x;
}

static bool starts(const lcsm_call *c, const R_(lcsm_eos_arrays) *x)
{
    return x->m0 == NULL && c->in[START].data != NULL;
}

/* The start of every sequence. */
static const real *spread_start(const lcsm_call *c, const lcsm_eos_plan *p)
{
    size_t count = memory_count(p);
    real  *to    = c->scratch;
    for (ptrdiff_t b = 0; b < p->B; b++)
        memcpy(to + (size_t)b * count, c->in[START].data, count * sizeof *to);
    return to;
}

/* The sum of what came back for the sequences, in their order. */
static void sum_start(const lcsm_call *c, const lcsm_eos_plan *p, const real *g)
{
    size_t count = memory_count(p);
    real  *to    = c->g_in[START].data;
    for (ptrdiff_t b = 0; b < p->B; b++)
        for (size_t j = 0; j < count; j++) to[j] += g[(size_t)b * count + j];
}

static void forward(const lcsm_call *c)
{
    if (c->node->own == 0) {
        if (optional(c->node, Z) != NULL) R_(lcsm_eos_mean_forward)(c);
        else R_(lcsm_eos_pairs_forward)(c);
        return;
    }
    const lcsm_eos_plan     now = plan_of(c), *p = &now;
    R_(lcsm_eos_arrays)     x   = arrays_of(c, p);
    const R_(lcsm_kernels) *k   = kernels_of(c);
    real                   *m_T = c->node->n_state > 0 ? c->state_out[0] : NULL;
    real                   *out = c->node->n_out > 1 ? c->out[1].data : NULL;
    if (starts(c, &x)) x.m0 = spread_start(c, p);
    R_(lcsm_eos_fwd)(p, k, &x, c->out[0].data, out != NULL ? out : m_T, c->saved,
                     (char *)c->scratch + start_bytes(c->node, p));
    if (out != NULL && m_T != NULL)
        memcpy(m_T, out, (size_t)(c->out[1].rows * c->out[1].cols) * sizeof(real));
}

static void backward(const lcsm_call *c)
{
    if (c->node->own == 0) {
        if (optional(c->node, Z) != NULL) R_(lcsm_eos_mean_backward)(c);
        else R_(lcsm_eos_pairs_backward)(c);
        return;
    }
    const lcsm_eos_plan      now = plan_of(c), *p = &now;
    R_(lcsm_eos_arrays)      x   = arrays_of(c, p);
    bool                     own = c->node->n_state > 0;
    R_(lcsm_eos_grad_arrays) g   = {.m0 = own ? c->g_state_in[0] : c->g_in[M0].data};
    const real *g_m_T            = c->g_out[1].data != NULL ? c->g_out[1].data : c->g_state_out[0];
    char       *ws               = (char *)c->scratch + start_bytes(c->node, p);
    const real *g_y              = c->g_out[0].data;
    bool        start            = starts(c, &x);
    if (start) {
        x.m0 = c->in[START].data; /* backward asks only whether there is one */
        g.m0 = c->g_in[START].data != NULL ? c->scratch : NULL;
        if (g.m0 != NULL) memset(g.m0, 0, start_bytes(c->node, p));
    }
    for (int j = 0; j < EOS_OPERANDS; j++) {
        g.operand[j] = c->g_in[j].data;
        g.set[j]     = !c->g_in[j].add;
    }
    if (g_y == NULL) {
        memset(ws, 0, zero_bytes(c->node, p));
        g_y = (real *)(void *)ws;
    }
    ws += zero_bytes(c->node, p);
    R_(lcsm_eos_bwd)(p, kernels_of(c), &x, c->out[0].data, g_y, g_m_T, &g, c->saved, ws);
    if (start && g.m0 != NULL) sum_start(c, p, g.m0);
}

/* Useful work: 2 K D to write and 2 K D to read, for each token and head, and 2 K D for each rank
 * of what is read to be written again. */
static double flops(const lcsm_node *n)
{
    const lcsm_eos_attr *a = n->attr;
    const lcsm_shape    *i = &n->in[EOS_i]->shape, *y = &n->shape[0];
    ptrdiff_t            steps = i->dim[0] * i->dim[1], rank = a->desc.erase.present;
    if (a->desc.a.present) rank = a->desc.rank > 1 ? a->desc.rank : 1;
    double rows = (double)(steps + steps * rank + y->dim[0] * y->dim[1]);
    return 2.0 * rows * (double)(a->desc.H * a->desc.K * a->desc.D);
}

const lcsm_op R_(lcsm_op_eos) = {
    .name      = "eos",
    .in        = {"i",          "e",           "s",   "?row",    "?col",   "?full",  "?row_phase",
                  "?col_phase", "?full_phase", "?u",  "?w",      "?dense", "?erase", "?a",
                  "?b",         "?bonus",      "?m0", "?#reset", "?#read", "?z",     "?start"},
    .attr_size = sizeof(lcsm_eos_attr),
    .shape     = shape,
    .prepare   = prepare,
    .forward   = forward,
    .backward  = backward,
    .flops     = flops,
    .bwd_in    = ((1u << EOS_OPERANDS) - 1) | LCSM_BIT(M0) | LCSM_BIT(RESET) | LCSM_BIT(READ)
            | LCSM_BIT(Z) | LCSM_BIT(START),
    .bwd_out    = LCSM_BIT(0),
    .overwrites = ((1u << EOS_OPERANDS) - 1) | LCSM_BIT(Z),
    .packed_out = LCSM_BIT(0) | LCSM_BIT(1),
    .rounds_in  = LCSM_BIT(EOS_i) | LCSM_BIT(EOS_e) | LCSM_BIT(EOS_s),
};
