/* oracle_eos.c - the eos op of a case, and what else it can show. */
#include "lab/oracle_eos.h"

#include "graph/graph.h"
#include "kernel/eos/eos_operands.h"

lcsm_lab_eos lcsm_lab_eos_of(ptrdiff_t B, ptrdiff_t T, ptrdiff_t H, ptrdiff_t K, ptrdiff_t D)
{
    lcsm_lab_eos eos = {.desc = {.size = sizeof eos.desc}};
    lcsm_eos_desc_init(&eos.desc, B, T, H, K, D);
    return eos;
}

static lcsm_eos_operand *operand_of(lcsm_eos_desc *desc, int j)
{
    lcsm_eos_operand *const all[EOS_OPERANDS] = {
#define X(name) &desc->name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    return all[j];
}

void lcsm_lab_operand(lcsm_lab_eos *x, int j, lcsm_tensor *t, unsigned axes)
{
    *operand_of(&x->desc, j) = lcsm_eos_axes(axes);
    x->in[j]                 = t;
}

void lcsm_lab_operand_complex(lcsm_lab_eos *x, int j, lcsm_tensor *t, unsigned axes)
{
    *operand_of(&x->desc, j) = lcsm_eos_axes_complex(axes);
    x->in[j]                 = t;
}

lcsm_lab_eos lcsm_lab_eos_from(const lcsm_eos_operands *s, ptrdiff_t T)
{
    lcsm_lab_eos x = lcsm_lab_eos_of(1, T, s->H, s->K, s->D);
#define X(name)                                                                                    \
    if (s->name.x != NULL) lcsm_lab_operand(&x, EOS_##name, s->name.x, s->name.axes);
    LCSM_EOS_OPERAND_LIST(X)
#undef X
    x.desc.i.is_complex     = s->complex_i;
    x.desc.e.is_complex     = s->complex_e;
    x.desc.s.is_complex     = s->complex_s;
    x.desc.a.is_complex     = s->complex_a;
    x.desc.b.is_complex     = s->complex_b;
    x.desc.bonus.is_complex = s->complex_bonus;
    x.desc.complex_y        = s->complex_y;
    x.desc.read_before      = s->read_before;
    x.desc.planes           = s->planes;
    x.desc.heads            = s->heads;
    x.desc.rank             = s->rank;
    x.desc.gen              = s->gen;
    x.desc.tau              = s->tau;
    x.desc.scale            = s->scale;
    x.desc.reverse          = s->reverse;
    return x;
}

static bool is_complex(const lcsm_eos_desc *d)
{
    return d->i.is_complex || d->e.is_complex || d->s.is_complex || d->a.is_complex
        || d->b.is_complex || d->bonus.is_complex || d->row_phase.present || d->col_phase.present
        || d->full_phase.present;
}

bool lcsm_lab_eos_is_complex(const lcsm_lab_eos *x)
{
    return is_complex(&x->desc);
}

/* The shape that the op wants: (B, T, H inner), or (H, inner) of a static operand. */
static lcsm_tensor *shaped(lcsm_lab *lab, const lcsm_eos_desc *d, const lcsm_eos_operand *o,
                           ptrdiff_t heads, lcsm_tensor *t)
{
    if (t == NULL) return NULL;
    ptrdiff_t  steps = o->axes & LCSM_AXIS_T ? d->B * d->T : 1, H = heads == 0 ? d->H : heads;
    ptrdiff_t  inner = steps == 0 ? 0 : lcsm_tensor_count(t) / (steps * H);
    lcsm_shape shape =
        o->axes & LCSM_AXIS_T ? lcsm_dims(d->B, d->T, H * inner) : lcsm_dims(H, inner);
    return lcsm_shape_equal(&t->shape, &shape) ? t : lcsm_reshape(lab->g, t, shape);
}

static lcsm_tensor *add(lcsm_lab *lab, const lcsm_lab_eos *x, lcsm_eos_form form, ptrdiff_t chunk,
                        lcsm_tensor **m_T)
{
    const lcsm_eos_desc *d     = &x->desc;
    lcsm_eos_operands    o     = {.H             = d->H,
                                  .K             = d->K,
                                  .D             = d->D,
                                  .complex_i     = d->i.is_complex,
                                  .complex_e     = d->e.is_complex,
                                  .complex_s     = d->s.is_complex,
                                  .complex_a     = d->a.is_complex,
                                  .complex_b     = d->b.is_complex,
                                  .complex_bonus = d->bonus.is_complex,
                                  .complex_y     = d->complex_y != 0,
                                  .read_before   = d->read_before != 0,
                                  .planes        = d->planes != 0,
                                  .heads         = d->heads,
                                  .rank          = d->rank,
                                  .reset         = x->reset,
                                  .reverse       = d->reverse,
                                  .gen           = d->gen,
                                  .tau           = d->tau,
                                  .scale         = d->scale,
                                  .form          = form,
                                  .chunk         = chunk};
    ptrdiff_t            width = is_complex(d) ? 2 : 1;
    if (m_T != NULL) *m_T = NULL;
#define X(name)                                                                                    \
    if (d->name.present) {                                                                         \
        o.name = (lcsm_operand){shaped(lab, d, &d->name, d->heads.name, x->in[EOS_##name]),        \
                                d->name.axes};                                                     \
        if (o.name.x == NULL) return NULL;                                                         \
    }
    LCSM_EOS_OPERAND_LIST(X)
#undef X
    if (x->m0 != NULL)
        o.m0 = lcsm_reshape(lab->g, x->m0, lcsm_dims(d->B, d->H, d->K, d->D * width));
    return lcsm_recurrence(lab->g, &o, m_T);
}

lcsm_tensor *lcsm_lab_eos_add(lcsm_lab *lab, const lcsm_lab_eos *x, lcsm_tensor **m_T)
{
    return add(lab, x, lab->form, lab->chunk, m_T);
}

void lcsm_lab_out_oscillation(lcsm_lab *lab, const char *name, const lcsm_lab_eos *x)
{
    lcsm_lab_eos         one = *x;
    const lcsm_eos_desc *d   = &x->desc;
    lcsm_tensor         *o   = NULL;
    if (!lcsm_lab_wants(lab, name)) return;
    one.desc.B         = d->T; /* the steps as sequences of one step each */
    one.desc.T         = 1;
    size_t       width = is_complex(d) ? 2 : 1, count = (size_t)(d->T * d->H * d->K * d->D) * width;
    double      *unit = lcsm_lab_take(lab, count, sizeof *unit);
    lcsm_tensor *e    = lcsm_lab_fill(lab, lcsm_dims(d->H, d->K), 0);
    if (unit == NULL) return;
    for (size_t j = 0; j < count; j += width) unit[j] = 1;
    one.m0 = lcsm_lab_constant(lab, lcsm_dims(d->T, d->H, d->K, d->D * (ptrdiff_t)width), unit);
    lcsm_lab_operand(&one, EOS_e, e, LCSM_AXIS_K);
    lcsm_lab_operand(&one, EOS_s, e, LCSM_AXIS_K);
    (void)add(lab, &one, LCSM_FORM_AUTO, 0, &o);
    lcsm_lab_out(lab, name, o);
}

/* Step t of an operand with time of one sequence, as one of length 1. */
static lcsm_tensor *step_of(lcsm_lab *lab, lcsm_tensor *x, ptrdiff_t T, ptrdiff_t t)
{
    if (x == NULL) return NULL;
    x = lcsm_reshape(lab->g, x, lcsm_dims(T, lcsm_tensor_count(x) / T));
    return lcsm_slice(lab->g, x, 0, t, 1);
}

static lcsm_lab_eos one_step(lcsm_lab *lab, const lcsm_lab_eos *x, ptrdiff_t t, lcsm_tensor *m)
{
    lcsm_lab_eos one = *x;
    one.desc.T       = 1;
    one.m0           = m;
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (operand_of(&one.desc, j)->axes & LCSM_AXIS_T)
            one.in[j] = step_of(lab, x->in[j], x->desc.T, t);
    return one;
}

void lcsm_lab_out_memories(lcsm_lab *lab, const char *name, const lcsm_lab_eos *x)
{
    lcsm_tensor *m = x->m0;
    if (!lcsm_lab_wants(lab, name)) return;
    for (ptrdiff_t t = 0; t < x->desc.T; t++) {
        lcsm_lab_eos one = one_step(lab, x, t, m);
        (void)add(lab, &one, LCSM_FORM_AUTO, 0, &m);
        lcsm_lab_out_part(lab, name, m, t);
    }
}

void lcsm_lab_out_erased(lcsm_lab *lab, const char *name, const lcsm_lab_eos *x)
{
    lcsm_tensor *m = x->m0, *none = lcsm_lab_fill(lab, lcsm_dims(x->desc.H, x->desc.K), 0);
    if (!lcsm_lab_wants(lab, name)) return;
    for (ptrdiff_t t = 0; t < x->desc.T; t++) {
        lcsm_lab_eos one = one_step(lab, x, t, m), read = one;
        read.desc.erase.present = false;
        lcsm_lab_operand(&read, EOS_e, none, LCSM_AXIS_K);
        lcsm_lab_operand(&read, EOS_s, one.in[EOS_erase], LCSM_AXIS_T | LCSM_AXIS_K);
        lcsm_tensor *old = add(lab, &read, LCSM_FORM_AUTO, 0, NULL);
        lcsm_tensor *i   = shaped(lab, &one.desc, &one.desc.i, one.desc.heads.i, one.in[EOS_i]);
        lcsm_lab_out_part(lab, name, lcsm_add(lab->g, i, lcsm_scale(lab->g, old, -1)), t);
        (void)add(lab, &one, LCSM_FORM_AUTO, 0, &m);
    }
}

lcsm_tensor *lcsm_lab_impulse(lcsm_lab *lab, const lcsm_lab_eos *x, ptrdiff_t T)
{
    lcsm_lab_eos one     = *x;
    ptrdiff_t    width   = x->desc.H * x->desc.D;
    double      *impulse = lcsm_lab_take(lab, (size_t)(T * width), sizeof *impulse);
    if (impulse == NULL) return NULL;
    for (ptrdiff_t j = 0; j < width && T > 0; j++) impulse[j] = 1;
    one.desc.T    = T;
    one.m0        = NULL;
    one.in[EOS_i] = lcsm_lab_constant(lab, lcsm_dims(1, T, width), impulse);
    return add(lab, &one, LCSM_FORM_AUTO, 0, NULL);
}
