/* eos_sums_drive.c - gradients that several items share. eos_sums.h has the contract. */
#include "kernel/eos/eos_sums.h"

#include "base/size.h"

typedef R_(lcsm_eos_seq_grads) seq_grads;
typedef lcsm_eos_place         place;

static R_(lcsm_out) *out_of(seq_grads *g, int operand)
{
    R_(lcsm_out) *const outs[EOS_OPERANDS] = {
#define X(name) [EOS_##name] = &g->name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    return outs[operand];
}

/* Whether several items add to the same element. */
static bool shared(const lcsm_eos_plan *p, int operand)
{
    return p->operand[operand].present && !R_(lcsm_eos_of_item)(p, operand);
}

/* A partial sum is packed: (span or 1) x K x tile without the axes that the operand has not; those
 * without T are doubles. */
static R_(lcsm_out) partial_layout(const lcsm_eos_plan *p, int operand)
{
    const lcsm_eos_layout *l     = &p->operand[operand];
    ptrdiff_t              width = l->is_complex ? 2 : 1;
    if (l->axes & LCSM_AXIS_KK) return (R_(lcsm_out)){.t = p->K * p->K, .k = p->K, .d = 1};
    ptrdiff_t    d = l->axes & LCSM_AXIS_D ? p->tile : 1;
    R_(lcsm_out) o = {.d = l->axes & LCSM_AXIS_D ? width : 0};
    o.k            = l->axes & LCSM_AXIS_K ? d * width : 0;
    o.t = l->axes & LCSM_AXIS_D ? (l->axes & LCSM_AXIS_K ? p->K : 1) * d * width : l->inner;
    return o;
}

/* In reals; a whole number of doubles, so that what follows is aligned. */
static size_t partial_size(const lcsm_eos_plan *p, int operand)
{
    const size_t wide = sizeof(double) / sizeof(real);
    if (!shared(p, operand)) return 0;
    size_t n = (size_t)partial_layout(p, operand).t;
    if (!lcsm_eos_has(p, operand, LCSM_AXIS_T)) return n * wide;
    return (n * (size_t)p->span + wide - 1) / wide * wide;
}

size_t R_(lcsm_eos_partial_reals)(const lcsm_eos_plan *p)
{
    size_t n = 0;
    for (int j = 0; j < EOS_OPERANDS; j++) n += partial_size(p, j);
    return n;
}

seq_grads R_(lcsm_eos_grads_at)(const R_(lcsm_eos_sums) *to, place w, real *partial)
{
    const lcsm_eos_plan *p = to->p;
    seq_grads            g = {0};
    for (int j = 0; j < EOS_OPERANDS; j++) {
        const lcsm_eos_layout *l = &p->operand[j];
        size_t                 n = partial_size(p, j);
        if (l->present && to->g->operand[j] != NULL) {
            R_(lcsm_out)
            o = {to->g->operand[j] + lcsm_eos_origin(p, l, w),
                 p->reverse ? -l->t : l->t,
                 l->k,
                 l->d,
                 to->sets && to->g->set[j] && R_(lcsm_eos_of_item)(p, j)
                     && lcsm_eos_leads(p, l, w.h),
                 NULL};
            o.p += to->first * o.t;
            if (n > 0) {
                o   = partial_layout(p, j);
                o.p = partial;
                if (!(l->axes & LCSM_AXIS_T)) {
                    o.t   = 0;
                    o.sum = (double *)(void *)partial;
                }
            }
            *out_of(&g, j) = o;
        }
        partial += n;
    }
    return g;
}

/* All heads, each as `inner` numbers. */
static size_t sum_size(const lcsm_eos_plan *p, int operand)
{
    const lcsm_eos_layout *l = &p->operand[operand];
    if (!l->present || (l->axes & LCSM_AXIS_T)) return 0;
    return (size_t)(p->H * l->inner);
}

size_t R_(lcsm_eos_sum_bytes)(const lcsm_eos_plan *p)
{
    size_t n = 0;
    for (int j = 0; j < EOS_OPERANDS; j++) n += sum_size(p, j);
    return (n * sizeof(double) + LCSM_ALIGN - 1) / LCSM_ALIGN * LCSM_ALIGN;
}

void R_(lcsm_eos_add_sums)(const R_(lcsm_eos_sums) *to)
{
    const lcsm_eos_plan *p   = to->p;
    const double        *sum = to->sums;
    for (int j = 0; j < EOS_OPERANDS; sum += sum_size(p, j), j++) {
        const lcsm_eos_layout *l = &p->operand[j];
        real                  *g = to->g->operand[j];
        if (sum_size(p, j) == 0 || g == NULL) continue;
        for (ptrdiff_t h = 0; h < p->H; h++)
            for (ptrdiff_t d = 0; d < l->inner; d++)
                g[lcsm_eos_head(p, l, h) * l->h + d] += (real)sum[h * l->inner + d];
    }
}

void R_(lcsm_eos_add_partial)(const R_(lcsm_eos_sums) *to, place w, const real *partial)
{
    const lcsm_eos_plan *p   = to->p;
    double              *sum = to->sums;
    for (int j = 0; j < EOS_OPERANDS; sum += sum_size(p, j), partial += partial_size(p, j), j++) {
        const lcsm_eos_layout *l = &p->operand[j];
        if (partial_size(p, j) == 0 || to->g->operand[j] == NULL) continue;
        R_(lcsm_out) from  = partial_layout(p, j);
        bool         token = (l->axes & LCSM_AXIS_T) != 0, wide = (l->axes & LCSM_AXIS_D) != 0;
        ptrdiff_t    rows = wide && l->axes & LCSM_AXIS_K ? p->K : 1, width = l->is_complex ? 2 : 1;
        ptrdiff_t    row = l->inner / rows, cols = wide ? w.D * width : row;
        ptrdiff_t    steps = token ? to->next - to->first : 1, t_ = p->reverse ? -l->t : l->t;
        real        *at   = to->g->operand[j] + lcsm_eos_origin(p, l, w) + to->first * t_;
        double      *into = sum + w.h * l->inner + (wide ? w.d0 * width : 0);
        /* d counts the numbers of a row, without D those of all rows: they are contiguous */
        for (ptrdiff_t t = 0; t < steps; t++)
            for (ptrdiff_t k = 0; k < rows; k++) {
                const real   *a   = partial + t * from.t + k * from.k;
                const double *all = (const double *)(const void *)partial + k * from.k;
                for (ptrdiff_t d = 0; d < cols; d++)
                    if (token) at[t * t_ + k * l->k + d] += a[d];
                    else into[k * row + d] += all[d];
            }
    }
}
