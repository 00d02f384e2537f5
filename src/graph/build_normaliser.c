/* build_normaliser.c - the recurrence with what may stand around the operator: a running maximum
 * before it, the division by its own sum after it. */
#include "graph/graph.h"
#include "graph/internal.h"
#include "graph/mixers.h"

/* x (B, T, n H), each head times its number of s (B, T, H). */
static lcsm_tensor *by_head(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *s)
{
    if (x == NULL || s == NULL) return NULL;
    ptrdiff_t    B = s->shape.dim[0], T = s->shape.dim[1], H = s->cols, n = x->cols;
    lcsm_tensor *rows = lcsm_reshape(g, x, lcsm_dims(B, T, H, n / H));
    s                 = lcsm_reshape(g, s, lcsm_dims(B, T, H, 1));
    return lcsm_reshape(g, lcsm_scale_rows(g, rows, s), lcsm_dims(B, T, n));
}

/* A column of ones beside each head of i. */
static void add_column(lcsm_graph *g, lcsm_eos_operands *o)
{
    ptrdiff_t  H    = o->heads.i > 0 ? o->heads.i : o->H;
    lcsm_shape s    = o->i.x->shape;
    lcsm_shape rows = lcsm_dims(s.dim[0], s.dim[1], H, o->D), one = rows;
    one.dim[3]           = 1;
    lcsm_tensor *parts[] = {lcsm_reshape(g, o->i.x, rows), lcsm_constant(g, one, 1)};
    o->D++;
    o->i.x = lcsm_reshape(g, lcsm_concat(g, parts, 2), lcsm_dims(s.dim[0], s.dim[1], H * o->D));
}

/* The gate and the writes that keep the memory small. What scales e may as well scale i, where e is
 * static or shared. */
static lcsm_tensor *hold(lcsm_graph *g, lcsm_eos_operands *o)
{
    const lcsm_normaliser *n     = &o->normaliser;
    bool                   whole = g->learns_memory && o->m0 == NULL; /* the start is m itself */
    lcsm_running_max_attr  a     = {whole ? 0 : n->start};
    bool                   token = (o->e.axes & LCSM_AXIS_T) != 0 && o->heads.e % o->H == 0;
    lcsm_tensor           *row   = o->row.x;
    if (row != NULL && (o->row.axes & LCSM_AXIS_T) == 0)
        row = lcsm_reshape(g, row, lcsm_dims(o->H));
    lcsm_running_max_tensors max = lcsm_running_max(g, &a, row, n->z, n->mu0, o->reset);
    o->row                       = (lcsm_operand){max.row, LCSM_AXIS_T};
    if (token) o->e.x = by_head(g, o->e.x, max.write);
    else o->i.x = by_head(g, o->i.x, max.write);
    return max.mu;
}

lcsm_tensor *lcsm_normaliser_begin(lcsm_graph *g, lcsm_eos_operands *o)
{
    const lcsm_normaliser n  = o->normaliser;
    lcsm_tensor          *mu = NULL;
    if (n.kind == LCSM_NORMALISER_NONE || o->i.x == NULL) return NULL;
    if (o->col.x != NULL || o->a.x != NULL || o->erase.x != NULL || o->complex_y
        || (n.z != NULL && ((o->row.axes & LCSM_AXIS_K) != 0 || o->read_before)))
        return lcsm_graph_fail(g, LCSM_ERR_UNSUPPORTED,
                               "a normaliser needs a gate of rows; a running maximum one of heads, "
                               "and a read after the step or K = D = 1");
    add_column(g, o);
    if (n.z != NULL) mu = hold(g, o);
    o->normaliser = (lcsm_normaliser){0};
    return mu;
}

lcsm_tensor *lcsm_normaliser_end(lcsm_graph *g, const lcsm_normaliser *n, ptrdiff_t H,
                                 lcsm_tensor *y, lcsm_tensor *mu)
{
    static const lcsm_divide_kind KINDS[] = {
        [LCSM_NORMALISER_PLAIN]    = LCSM_DIVIDE_PLAIN,
        [LCSM_NORMALISER_AT_LEAST] = LCSM_DIVIDE_AT_LEAST,
        [LCSM_NORMALISER_FLOOR]    = LCSM_DIVIDE_FLOOR,
    };
    if (y == NULL || n->kind == LCSM_NORMALISER_NONE) return y;
    const lcsm_divide_attr a = {n->eps, KINDS[n->kind]};
    ptrdiff_t              B = y->shape.dim[0], T = y->shape.dim[1], D = y->cols / H - 1;
    y                = lcsm_reshape(g, y, lcsm_dims(B, T, H, D + 1));
    lcsm_tensor *num = lcsm_slice(g, y, 3, 0, D), *den = lcsm_slice(g, y, 3, D, 1);
    bool         floor = n->kind == LCSM_NORMALISER_FLOOR && mu != NULL;
    if (floor) mu = lcsm_stop(g, lcsm_reshape(g, mu, lcsm_dims(B, T, H, 1)));
    return lcsm_reshape(g, lcsm_divide(g, &a, num, den, floor ? mu : NULL), lcsm_dims(B, T, H * D));
}

/* Whether the running maximum and the division are part of the node. */
static bool is_mean(const lcsm_eos_operands *o)
{
    const lcsm_normaliser *n = &o->normaliser;
    return n->kind == LCSM_NORMALISER_PLAIN && n->eps == 0 && n->z != NULL && n->mu0 == NULL
        && o->read_before && o->K == 1 && o->D == 1;
}

lcsm_tensor *lcsm_recurrence(lcsm_graph *g, const lcsm_eos_operands *o, lcsm_tensor **m_T)
{
    if (is_mean(o) && m_T == NULL) return lcsm_recurrence_alone(g, o, NULL);
    lcsm_eos_operands alone = *o;
    lcsm_tensor      *mu    = lcsm_normaliser_begin(g, &alone);
    lcsm_tensor      *y     = lcsm_recurrence_alone(g, &alone, m_T);
    return lcsm_normaliser_end(g, &o->normaliser, o->H, y, mu);
}
