/*
 * build.c - graphs under construction: tensors, views, nodes, scopes.
 *
 * A failure is sticky: the first one stays in g->error, and from then on every builder returns
 * NULL without looking at its arguments. So builders need no checks between their calls.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/internal.h"
#include "kernel/context.h"

lcsm_status lcsm_graph_create(lcsm_graph **out, const lcsm_context *ctx, lcsm_params *params,
                              lcsm_error *err)
{
    *out          = NULL;
    lcsm_graph *g = calloc(1, sizeof *g);
    if (g == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a graph");
    g->ctx     = ctx;
    g->params  = params;
    g->dtype   = params->dtype;
    g->kernels = g->dtype == LCSM_F32 ? (const void *)ctx->f32 : (const void *)ctx->f64;
    g->block   = -1;
    *out       = g;
    return LCSM_OK;
}

static void free_list(lcsm_owned *list)
{
    for (int j = 0; j < list->count; j++) free(list->item[j]);
    free(list->item);
}

void lcsm_graph_free(lcsm_graph *g)
{
    if (g == NULL) return;
    lcsm_plan_free(g->plan);
    free_list(&g->tensor_list);
    free_list(&g->node_list);
    free_list(&g->text_list);
    free_list(&g->attr_list);
    free(g->param_tensor);
    free(g);
}

lcsm_dtype lcsm_graph_dtype(const lcsm_graph *g)
{
    return g->dtype;
}

/* ---- failures ---- */

static bool failed(const lcsm_graph *g)
{
    return g->error.status != LCSM_OK;
}

lcsm_tensor *lcsm_graph_fail(lcsm_graph *g, lcsm_status status, const char *fmt, ...)
{
    va_list args;
    if (failed(g)) return NULL;
    g->error.status = status;
    va_start(args, fmt);
    vsnprintf(g->error.text, sizeof g->error.text, fmt, args);
    va_end(args);
    return NULL;
}

/* Zeroed memory that lives as long as the graph. */
static void *own(lcsm_graph *g, lcsm_owned *list, size_t size)
{
    if (list->count == list->capacity) {
        int    capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        void **item     = realloc(list->item, (size_t)capacity * sizeof *item);
        if (item == NULL)
            return lcsm_graph_fail(g, LCSM_ERR_MEMORY, "not enough memory for the graph");
        list->item     = item;
        list->capacity = capacity;
    }
    void *p = calloc(1, size > 0 ? size : 1);
    if (p == NULL) return lcsm_graph_fail(g, LCSM_ERR_MEMORY, "not enough memory for the graph");
    list->item[list->count++] = p;
    return p;
}

static char *own_text(lcsm_graph *g, const char *text)
{
    char *copy = own(g, &g->text_list, strlen(text) + 1);
    if (copy != NULL) memcpy(copy, text, strlen(text) + 1);
    return copy;
}

/* ---- scopes and blocks ---- */

void lcsm_scope_push(lcsm_graph *g, const char *fmt, ...)
{
    if (failed(g)) return;
    if (g->scope_depth == LCSM_SCOPE_DEPTH) {
        lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "scope %s: more than %d levels", g->scope,
                        LCSM_SCOPE_DEPTH);
        return;
    }
    size_t used                    = strlen(g->scope);
    g->scope_end[g->scope_depth++] = (int)used;
    if (used > 0) used += (size_t)snprintf(g->scope + used, sizeof g->scope - used, ".");
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(g->scope + used, sizeof g->scope - used, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof g->scope - used)
        lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "the scope %.80s... is too long", g->scope);
    g->scope_text = NULL;
}

void lcsm_scope_pop(lcsm_graph *g)
{
    if (failed(g)) return;
    if (g->scope_depth == 0) {
        lcsm_graph_fail(g, LCSM_ERR_INTERNAL, "a scope was popped that was not pushed");
        return;
    }
    g->scope[g->scope_end[--g->scope_depth]] = '\0';
    g->scope_text                            = NULL;
}

/* The scope as a text that stays; made once for all nodes in it. */
static const char *scope_text(lcsm_graph *g)
{
    if (g->scope_text == NULL) g->scope_text = own_text(g, g->scope);
    return g->scope_text;
}

/* The scope, a dot and the name. */
static void full_name(const lcsm_graph *g, char out[2 * LCSM_NAME_SIZE], const char *name)
{
    if (name[0] == '/') {
        (void)snprintf(out, 2 * LCSM_NAME_SIZE, "%s", name + 1);
        return;
    }
    snprintf(out, 2 * LCSM_NAME_SIZE, "%s%s%.*s", g->scope, g->scope[0] != '\0' ? "." : "",
             LCSM_NAME_SIZE - 2, name);
}

void lcsm_block_begin(lcsm_graph *g)
{
    if (failed(g)) return;
    if (g->block >= 0) lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "%s: blocks do not nest", g->scope);
    else g->block = g->n_blocks++;
}

void lcsm_block_end(lcsm_graph *g)
{
    if (failed(g)) return;
    if (g->block < 0) lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "%s: no block is open", g->scope);
    g->block = -1;
}

/* ---- tensors ---- */

static lcsm_tensor *new_tensor(lcsm_graph *g, lcsm_tensor_kind kind, lcsm_dtype dtype,
                               const lcsm_shape *shape, const char *name)
{
    char      text[LCSM_SHAPE_TEXT];
    ptrdiff_t count, bytes;
    if (!lcsm_shape_count(shape, &count)
        || __builtin_mul_overflow(count, (ptrdiff_t)lcsm_dtype_size(dtype), &bytes))
        return lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "%s: %s is not a valid shape", name,
                               lcsm_shape_text(text, shape));
    lcsm_tensor *t = own(g, &g->tensor_list, sizeof *t);
    if (t == NULL) return NULL;
    ptrdiff_t cols = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
    ptrdiff_t rows = 1;
    for (int j = 0; j + 1 < shape->rank; j++) rows *= shape->dim[j];
    *t = (lcsm_tensor){.kind  = kind,
                       .dtype = dtype,
                       .shape = *shape,
                       .rows  = rows,
                       .cols  = cols,
                       .ld    = cols,
                       .index = g->tensor_list.count - 1,
                       .name  = name,
                       .param = -1,
                       .given = kind == LCSM_TENSOR_INPUT};
    return t;
}

lcsm_tensor *lcsm_input(lcsm_graph *g, const char *name, lcsm_dtype dtype, lcsm_shape shape)
{
    char full[2 * LCSM_NAME_SIZE];
    if (failed(g)) return NULL;
    full_name(g, full, name);
    if (dtype != g->dtype && dtype != LCSM_I32)
        return lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "input %s is %s; expected %s or i32", full,
                               lcsm_dtype_name(dtype), lcsm_dtype_name(g->dtype));
    const char *text = own_text(g, full);
    return text == NULL ? NULL : new_tensor(g, LCSM_TENSOR_INPUT, dtype, &shape, text);
}

/* Room for one tensor for each row of the parameter list. */
static bool grow_params(lcsm_graph *g)
{
    int need = (int)g->params->count;
    if (need <= g->n_param_tensor) return true;
    int           n    = 2 * need;
    lcsm_tensor **list = realloc(g->param_tensor, (size_t)n * sizeof *list);
    if (list == NULL) {
        lcsm_graph_fail(g, LCSM_ERR_MEMORY, "not enough memory for the graph");
        return false;
    }
    for (int j = g->n_param_tensor; j < n; j++) list[j] = NULL;
    g->param_tensor   = list;
    g->n_param_tensor = n;
    return true;
}

lcsm_tensor *lcsm_param_tensor(lcsm_graph *g, const char *name, lcsm_shape shape, lcsm_init init,
                               unsigned flags)
{
    char full[2 * LCSM_NAME_SIZE];
    int  row;
    if (failed(g)) return NULL;
    full_name(g, full, name);
    if (lcsm_params_add(&row, g->params, full, &shape, &init, flags, &g->error) != LCSM_OK)
        return NULL;
    if (!grow_params(g)) return NULL;
    if (g->param_tensor[row] != NULL) return g->param_tensor[row];
    lcsm_tensor *t = new_tensor(g, LCSM_TENSOR_PARAM, g->dtype, &shape, g->params->list[row].name);
    if (t == NULL) return NULL;
    t->param                    = row;
    return g->param_tensor[row] = t;
}

void lcsm_keep(lcsm_graph *g, lcsm_tensor *t)
{
    if (!failed(g)) t->keep = true;
}

void lcsm_keep_grad(lcsm_graph *g, lcsm_tensor *t)
{
    if (!failed(g)) t->keep_grad = true;
}

void lcsm_seed(lcsm_graph *g, lcsm_tensor *t)
{
    if (!failed(g)) t->seed = true;
}

void lcsm_loss(lcsm_graph *g, lcsm_tensor *t)
{
    char text[LCSM_SHAPE_TEXT];
    if (failed(g)) return;
    if (lcsm_tensor_count(t) != 1 || t->dtype != g->dtype)
        lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "a loss is %s %s; expected one real number",
                        lcsm_dtype_name(t->dtype), lcsm_shape_text(text, &t->shape));
    t->loss = t->keep = true;
}

/* ---- views ---- */

static lcsm_tensor *new_view(lcsm_graph *g, lcsm_tensor *x, const lcsm_shape *shape,
                             ptrdiff_t offset, ptrdiff_t ld)
{
    lcsm_tensor *v = new_tensor(g, LCSM_TENSOR_VIEW, x->dtype, shape, x->name);
    if (v == NULL) return NULL;
    v->parent = x;
    v->given  = x->given;
    v->offset = offset;
    v->ld     = ld;
    return v;
}

lcsm_tensor *lcsm_reshape(lcsm_graph *g, lcsm_tensor *x, lcsm_shape shape)
{
    char      a[LCSM_SHAPE_TEXT], b[LCSM_SHAPE_TEXT];
    ptrdiff_t count;
    if (failed(g)) return NULL;
    if (!lcsm_shape_count(&shape, &count) || count != lcsm_tensor_count(x))
        return lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "%s: reshape of %s to %s", g->scope,
                               lcsm_shape_text(a, &x->shape), lcsm_shape_text(b, &shape));
    bool packed = x->ld == x->cols || x->rows <= 1;
    if (!packed && lcsm_dim_last(&shape, 1) != x->cols)
        return lcsm_graph_fail(g, LCSM_ERR_ARGUMENT,
                               "%s: reshape of %s to %s: it is a slice and keeps its last axis",
                               g->scope, lcsm_shape_text(a, &x->shape), lcsm_shape_text(b, &shape));
    return new_view(g, x, &shape, 0, packed ? lcsm_dim_last(&shape, 1) : x->ld);
}

lcsm_tensor *lcsm_slice(lcsm_graph *g, lcsm_tensor *x, int axis, ptrdiff_t begin, ptrdiff_t count)
{
    char text[LCSM_SHAPE_TEXT];
    if (failed(g)) return NULL;
    lcsm_shape shape = x->shape;
    int        rank  = shape.rank;
    if (axis < 0 || axis >= rank || begin < 0 || count < 0 || begin > shape.dim[axis] - count)
        return lcsm_graph_fail(g, LCSM_ERR_ARGUMENT,
                               "%s: slice %td..%td of axis %d is not inside %s", g->scope, begin,
                               begin + count, axis, lcsm_shape_text(text, &x->shape));
    ptrdiff_t size  = shape.dim[axis];
    shape.dim[axis] = count;
    if (axis == rank - 1) return new_view(g, x, &shape, begin, x->ld);
    ptrdiff_t below = 1; /* rows of one element of the axis */
    for (int j = axis + 1; j < rank - 1; j++) below *= shape.dim[j];
    if (axis == 0) return new_view(g, x, &shape, begin * below * x->ld, x->ld);
    if (axis == rank - 2 && count == 1) return new_view(g, x, &shape, begin * x->ld, size * x->ld);
    return lcsm_graph_fail(g, LCSM_ERR_UNSUPPORTED,
                           "%s: slice of axis %d of %s; expected the first axis, the last, or one "
                           "element of the last but one",
                           g->scope, axis, lcsm_shape_text(text, &x->shape));
}

/* ---- nodes ---- */

/* Every message about a node names its op, its scope and the shapes of its inputs. */
static lcsm_node *node_fail(lcsm_graph *g, const lcsm_node *n, const lcsm_error *why)
{
    char   text[sizeof why->text], shape[LCSM_SHAPE_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "%s%s%s: ", n->scope,
                                   n->scope[0] != '\0' ? "." : "", n->op->name);
    used += (size_t)snprintf(text + used, sizeof text - used, "%.130s", why->text);
    for (int j = 0; j < n->n_in && used < sizeof text; j++) {
        if (n->in[j] == NULL) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "; %s %s",
                                 lcsm_op_input(n->op, j), lcsm_shape_text(shape, &n->in[j]->shape));
    }
    lcsm_graph_fail(g, why->status, "%s", text);
    return NULL;
}

static int input_names(const lcsm_op *op)
{
    int n = 0;
    while (n < LCSM_MAX_IN && op->in[n] != NULL) n++;
    return n;
}

/* Presence and number type; the rest is for the shape rule. */
static lcsm_status check_inputs(const lcsm_graph *g, const lcsm_node *n, lcsm_error *err)
{
    int names = input_names(n->op);
    if (n->n_in > names)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%d inputs; expected at most %d", n->n_in, names);
    for (int j = 0; j < names; j++) {
        lcsm_dtype want = lcsm_op_input_integer(n->op, j) ? LCSM_I32 : g->dtype;
        if (j < n->n_in && n->in[j] != NULL) {
            if (n->in[j]->dtype != want)
                return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s is %s; expected %s",
                                 lcsm_op_input(n->op, j), lcsm_dtype_name(n->in[j]->dtype),
                                 lcsm_dtype_name(want));
        } else if (!lcsm_op_input_optional(n->op, j)) {
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the input %s is missing",
                             lcsm_op_input(n->op, j));
        }
    }
    return LCSM_OK;
}

static bool is_given(const lcsm_node *n)
{
    bool given = false;
    for (int j = 0; j < n->n_in; j++) given = given || (n->in[j] != NULL && n->in[j]->given);
    return given;
}

static bool add_outputs(lcsm_graph *g, lcsm_node *n, int from)
{
    for (int j = from; j < n->n_out; j++) {
        n->out[j] = new_tensor(g, LCSM_TENSOR_COMPUTED, g->dtype, &n->shape[j], n->op->name);
        if (n->out[j] == NULL) return false;
        n->out[j]->node  = n;
        n->out[j]->given = is_given(n);
    }
    return true;
}

lcsm_node *lcsm_graph_add(lcsm_graph *g, lcsm_op_id id, const void *attr, lcsm_tensor *const *in,
                          int n_in)
{
    lcsm_error err = {0};
    if (failed(g)) return NULL;
    const lcsm_op *op = lcsm_op_row(id, g->dtype);
    if (g->plan != NULL || n_in > LCSM_MAX_IN) {
        lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "%s: %s", op->name,
                        g->plan != NULL ? "the graph has already been planned" : "too many inputs");
        return NULL;
    }
    lcsm_node *n    = own(g, &g->node_list, sizeof *n);
    void      *copy = own(g, &g->attr_list, op->attr_size);
    if (n == NULL || copy == NULL || scope_text(g) == NULL) return NULL;
    if (op->attr_size > 0) memcpy(copy, attr, op->attr_size);
    *n = (lcsm_node){.op      = op,
                     .attr    = copy,
                     .index   = g->node_list.count - 1,
                     .ordinal = g->op_count[id]++,
                     .block   = g->block,
                     .pool    = g->ctx->pool,
                     .threads = lcsm_pool_threads(g->ctx->pool),
                     .kernels = g->kernels,
                     .scope   = scope_text(g),
                     .n_in    = n_in,
                     .n_out   = 1,
                     .bwd_in  = op->bwd_in,
                     .bwd_out = op->bwd_out};
    for (int j = 0; j < n_in; j++) n->in[j] = in[j];
    n->bf16 = g->bf16 && is_given(n);
    if (check_inputs(g, n, &err) != LCSM_OK || op->shape(n, &err) != LCSM_OK)
        return node_fail(g, n, &err);
    return add_outputs(g, n, 0) ? n : NULL;
}

lcsm_tensor *lcsm_graph_extend(lcsm_graph *g, lcsm_node *n, lcsm_tensor *in)
{
    lcsm_error err = {0};
    int        had = n->n_out;
    if (failed(g)) return NULL;
    n->in[n->n_in++] = in;
    if (check_inputs(g, n, &err) != LCSM_OK || n->op->shape(n, &err) != LCSM_OK) {
        node_fail(g, n, &err);
        return NULL;
    }
    return add_outputs(g, n, had) ? n->out[had] : NULL;
}
