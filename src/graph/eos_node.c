/* eos_node.c - from the tensors of an eos node to the plan of its operator. */
#include "graph/eos_node.h"

#include "base/error.h"
#include "graph/attr.h"
#include "graph/internal.h"
#include "kernel/eos/eos_operands.h"

static void operands_of(lcsm_eos_desc *desc, lcsm_eos_operand *out[EOS_OPERANDS])
{
#define X(name) out[EOS_##name] = &desc->name;
    LCSM_EOS_OPERAND_LIST(X)
#undef X
}

/* Heads of operand j. */
static ptrdiff_t heads_of(const lcsm_eos_desc *d, int j)
{
    const ptrdiff_t list[EOS_OPERANDS] = {
#define X(name) d->heads.name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    return list[j] == 0 ? d->H : list[j];
}

/* Numbers of one step and head. */
static ptrdiff_t inner_of(const lcsm_eos_desc *d, int j, const lcsm_eos_operand *o)
{
    ptrdiff_t rank = (j == EOS_a || j == EOS_b) && d->rank > 1 ? d->rank : 1;
    if ((o->axes & LCSM_AXIS_KK) != 0) return d->K * d->K;
    return rank * (o->is_complex ? 2 : 1) * ((o->axes & LCSM_AXIS_K) != 0 ? d->K : 1)
         * ((o->axes & LCSM_AXIS_D) != 0 ? d->D : 1);
}

static lcsm_status bad_shape(lcsm_error *err, int j, bool token, const lcsm_eos_desc *d,
                             ptrdiff_t inner)
{
    const char *name = lcsm_eos_operand_name(j);
    ptrdiff_t   H    = heads_of(d, j);
    if (!token) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s must be [%td, %td]", name, H, inner);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s must be [%td, %td, %td] or the same in more axes",
                     name, d->B, d->T, H * inner);
}

/* s of the steps that are read: any axes, the last for the numbers of a step. */
static lcsm_status lay_out_reads(const lcsm_tensor *t, const lcsm_eos_desc *d, lcsm_eos_operand *o,
                                 lcsm_error *err)
{
    ptrdiff_t inner = inner_of(d, EOS_s, o), H = heads_of(d, EOS_s);
    if ((o->axes & LCSM_AXIS_T) == 0 || t->rows != d->reads || t->cols != H * inner)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "s must be [%td, %td], a row for each read",
                         d->reads, H * inner);
    o->stride_h = inner;
    o->stride_t = t->ld;
    return LCSM_OK;
}

/* Strides of an operand from the shape and the ld of its tensor. A slice has one axis for the
 * numbers of a token, or one for heads and one for the numbers of a head. */
static lcsm_status lay_out(const lcsm_tensor *t, int j, const lcsm_eos_desc *d, lcsm_eos_operand *o,
                           lcsm_error *err)
{
    const lcsm_shape *s     = &t->shape;
    bool              token = (o->axes & LCSM_AXIS_T) != 0;
    int               lead  = token ? 2 : 0;
    ptrdiff_t         inner = inner_of(d, j, o), H = heads_of(d, j), all = H * inner;
    ptrdiff_t         steps  = token ? d->B * d->T : 1;
    bool              packed = t->ld == t->cols || t->rows <= 1, joint = s->rank == lead + 1;
    bool              heads = s->rank == lead + 2 && s->dim[lead] == H && s->dim[lead + 1] == inner;
    bool              fits  = !token || (s->rank >= 2 && s->dim[0] == d->B && s->dim[1] == d->T);
    if (!fits || (steps > 0 && lcsm_tensor_count(t) != steps * all) || !(packed || joint || heads))
        return bad_shape(err, j, token, d, inner);
    o->stride_h = heads ? t->ld : inner;
    if (!token) return LCSM_OK;
    o->stride_t = packed ? all : heads ? H * t->ld : t->ld;
    o->stride_b = d->T * o->stride_t;
    return LCSM_OK;
}

/* The descriptor of the attributes with the sizes and strides of the inputs. */
static lcsm_status describe(const lcsm_node *n, lcsm_eos_desc *desc, lcsm_error *err)
{
    const lcsm_eos_attr *a = n->attr;
    lcsm_eos_operand    *o[EOS_OPERANDS];
    const lcsm_shape    *i = &n->in[EOS_i]->shape;
    *desc                  = a->desc;
    if (i->rank < 2) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "i must have the axes B, T, H D");
    desc->B             = i->dim[0];
    desc->T             = i->dim[1];
    desc->bf16_products = n->bf16;
    desc->resets        = n->n_in > LCSM_EOS_RESET && n->in[LCSM_EOS_RESET] != NULL;
    desc->reads         = n->n_in > LCSM_EOS_READ && n->in[LCSM_EOS_READ] != NULL
                            ? lcsm_tensor_count(n->in[LCSM_EOS_READ])
                            : 0;
    operands_of(desc, o);
    for (int j = 0; j < EOS_OPERANDS; j++) {
        o[j]->present = j < n->n_in && n->in[j] != NULL;
        if (!o[j]->present) continue;
        lcsm_status st = j == EOS_s && desc->reads > 0 ? lay_out_reads(n->in[j], desc, o[j], err)
                                                       : lay_out(n->in[j], j, desc, o[j], err);
        if (st != LCSM_OK) return st;
    }
    return LCSM_OK;
}

lcsm_status lcsm_eos_node_plan(const lcsm_node *n, lcsm_eos_plan *p, lcsm_error *err)
{
    lcsm_eos_desc desc;
    lcsm_status   st = describe(n, &desc, err);
    return st == LCSM_OK ? lcsm_eos_plan_make(p, n->pool, &desc, err) : st;
}

lcsm_status lcsm_eos_node_plans(const lcsm_node *n, lcsm_eos_plan p[2], lcsm_error *err)
{
    lcsm_eos_desc desc;
    lcsm_status   st = describe(n, &desc, err);
    if (st == LCSM_OK) st = lcsm_eos_plan_make(&p[0], n->pool, &desc, err);
    if (st != LCSM_OK) return st;
    p[1] = p[0];
    if (desc.form != LCSM_FORM_AUTO || !lcsm_eos_convolves(&p[0])) return st;
    desc.form = LCSM_FORM_CONVOLUTION;
    return lcsm_eos_plan_make(&p[1], n->pool, &desc, err);
}
