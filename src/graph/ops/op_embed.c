/* op_embed.c - rows of a table, picked by tokens and scaled; backward adds them up again. */
#include "graph/ops/ops.h"

enum { TOKENS, TABLE };

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor     *tokens = n->in[TOKENS], *table = n->in[TABLE];
    const lcsm_embed_attr *a = n->attr;
    if (table->shape.rank != 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the table must have two axes");
    if (tokens->shape.rank + 1 > LCSM_MAX_RANK)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "tokens have too many axes");
    if (tokens->ld != tokens->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "tokens must not be a slice");
    if (!isfinite(a->scale)) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the scale is %g", a->scale);
    n->shape[0]                         = tokens->shape;
    n->shape[0].dim[n->shape[0].rank++] = table->cols;
    return LCSM_OK;
}

static real scale_of(const lcsm_call *c)
{
    const lcsm_embed_attr *a = c->node->attr;
    return (real)a->scale;
}

/* A row of the table, scaled. */
static void pick(const lcsm_call *c, ptrdiff_t row, real *to)
{
    const lcsm_mat         *table = &c->in[TABLE];
    const R_(lcsm_kernels) *k     = kernels_of(c);
    const real             *from  = to;
    if (table->type == LCSM_WEIGHT_REAL) from = row_of(table, row);
    else k->gemm->unpack(table->type, blocks_of_row(table, row), table->cols, to);
    k->ew->scale(table->cols, scale_of(c), from, false, to);
}

static void forward_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c      = arg;
    const int32_t   *tokens = c->in[TOKENS].data;
    for (ptrdiff_t r = first; r < first + count; r++) pick(c, tokens[r], row_of(&c->out[0], r));
}

static void forward(const lcsm_call *c)
{
    const lcsm_mat *y      = &c->out[0];
    const int32_t  *tokens = c->in[TOKENS].data;
    ptrdiff_t       V      = c->in[TABLE].rows;
    for (ptrdiff_t r = 0; r < y->rows; r++)
        if (tokens[r] < 0 || tokens[r] >= V) {
            lcsm_call_fail(c, "token %d at position %td; expected 0 to %td", (int)tokens[r], r,
                           V - 1);
            return;
        }
    lcsm_parallel_rows(c->run->pool, y->rows, y->cols, forward_rows, c);
}

/* One token may come many times, so the rows are taken in order. */
static void backward(const lcsm_call *c)
{
    const lcsm_mat *g_y = &c->g_out[0], *to = &c->g_in[TABLE];
    const int32_t  *tokens = c->in[TOKENS].data;
    for (ptrdiff_t r = 0; r < g_y->rows; r++)
        kernels_of(c)->ew->scale(to->cols, scale_of(c), row_of(g_y, r), true,
                                 row_of(to, tokens[r]));
}

const lcsm_op R_(lcsm_op_embed) = {
    .name      = "embed",
    .in        = {"#tokens", "table"},
    .attr_size = sizeof(lcsm_embed_attr),
    .shape     = shape,
    .forward   = forward,
    .backward  = backward,
    .bwd_in    = LCSM_BIT(TOKENS),
    .blocks_in = LCSM_BIT(TABLE),
};
