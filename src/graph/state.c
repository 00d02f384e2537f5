/* state.c - carried state: entries by name in one or two blocks. */
#include "graph/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "graph/internal.h"

size_t lcsm_state_bytes(const lcsm_state_spec *spec)
{
    ptrdiff_t count = 0;
    lcsm_shape_count(&spec->shape, &count);
    return ((size_t)count * lcsm_dtype_size(spec->dtype) + LCSM_ALIGN - 1) & ~(LCSM_ALIGN - 1);
}

/* How many nodes before this one have its scope and op. */
static int earlier(const lcsm_graph *g, const lcsm_node *n)
{
    int count = 0;
    for (int j = 0; j < n->index; j++) {
        const lcsm_node *m = lcsm_node_at(g, j);
        count += m->op == n->op && strcmp(m->scope, n->scope) == 0;
    }
    return count;
}

/* scope.op, then .2, .3 for further nodes, then a letter where a node has several entries. */
static char *entry_name(const lcsm_graph *g, const lcsm_node *n, int entry)
{
    char text[LCSM_NAME_SIZE + 80], number[16] = "", letter[3] = "";
    int  before = earlier(g, n);
    if (before > 0) snprintf(number, sizeof number, ".%d", before + 1);
    if (n->n_state > 1) snprintf(letter, sizeof letter, ".%c", "abcd"[entry]);
    snprintf(text, sizeof text, "%s%s%s%s%s", n->scope, n->scope[0] != '\0' ? "." : "", n->op->name,
             number, letter);
    return strdup(text);
}

static size_t row_bytes(const lcsm_state_spec *spec)
{
    lcsm_shape row   = spec->shape;
    ptrdiff_t  count = 0;
    row.dim[0]       = 1;
    lcsm_shape_count(&row, &count);
    return (size_t)count * lcsm_dtype_size(spec->dtype);
}

static bool add_entry(lcsm_state *s, const lcsm_graph *g, const lcsm_node *n, int j)
{
    lcsm_state_spec   spec = n->state[j];
    lcsm_state_entry *e    = &s->list[s->count];
    size_t            all  = 0;
    spec.shape.dim[0]      = s->rows;
    *e                     = (lcsm_state_entry){.name   = entry_name(g, n, j),
                                                .dtype  = spec.dtype,
                                                .shape  = spec.shape,
                                                .start  = spec.start,
                                                .offset = s->bytes,
                                                .row    = row_bytes(&spec),
                                                .param  = spec.begin != NULL ? spec.begin->param : -1,
                                                .at     = spec.at};
    s->count++;
    if (e->name == NULL || !lcsm_size_mul(e->row, (size_t)s->rows, &all)
        || !lcsm_size_add(s->bytes, all, &all) || all > PTRDIFF_MAX / 4)
        return false;
    e->bytes = lcsm_state_bytes(&spec);
    s->bytes += e->bytes;
    return true;
}

lcsm_status lcsm_state_create(lcsm_state **out, const lcsm_graph *g, lcsm_error *err)
{
    return lcsm_state_create_rows(out, g, 0, err);
}

lcsm_status lcsm_state_create_rows(lcsm_state **out, const lcsm_graph *g, ptrdiff_t rows,
                                   lcsm_error *err)
{
    *out = NULL;
    if (g->plan == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a state is made for a planned graph");
    lcsm_state *s       = calloc(1, sizeof *s);
    size_t      entries = (size_t)g->node_list.count * LCSM_MAX_STATE;
    bool        ok      = s != NULL;
    if (ok) s->rows = rows > 0 ? rows : g->plan->batch;
    if (ok) ok = (s->list = calloc(entries + 1, sizeof *s->list)) != NULL;
    for (int j = 0; ok && j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        for (int i = 0; ok && i < n->n_state; i++) ok = add_entry(s, g, n, i);
        if (ok && n->room > 0 && (s->room == 0 || n->room < s->room)) s->room = n->room;
    }
    if (ok) {
        s->params = g->params;
        s->key    = g->plan->state_key;
        s->blocks = g->plan->opt.train ? 2 : 1;
        s->data   = aligned_alloc(LCSM_ALIGN, s->bytes * (size_t)s->blocks + LCSM_ALIGN);
        ok        = s->data != NULL;
    }
    if (!ok) {
        lcsm_state_free(s);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a carried state");
    }
    lcsm_state_clear(s);
    *out = s;
    return LCSM_OK;
}

void lcsm_state_free(lcsm_state *s)
{
    if (s == NULL) return;
    for (size_t j = 0; s->list != NULL && j < s->count; j++) free(s->list[j].name);
    free(s->list);
    free(s->data);
    free(s);
}

void *lcsm_state_data(const lcsm_state *s, size_t entry)
{
    return s->data + (size_t)s->current * s->bytes + s->list[entry].offset;
}

/* One sequence of an entry as it begins. */
static void start(const lcsm_state *s, size_t entry, ptrdiff_t row)
{
    const lcsm_state_entry *e     = &s->list[entry];
    void                   *p     = lcsm_state_row(s, entry, row);
    ptrdiff_t               count = (ptrdiff_t)(e->row / lcsm_dtype_size(e->dtype));
    if (e->param >= 0) {
        const unsigned char *values = lcsm_param_values(s->params, e->param);
        memcpy(p, values + (size_t)e->at * lcsm_dtype_size(e->dtype), e->row);
        return;
    }
    for (ptrdiff_t j = 0; j < count; j++) switch (e->dtype) {
        case LCSM_F32: ((float *)p)[j] = (float)e->start; break;
        case LCSM_F64: ((double *)p)[j] = e->start; break;
        case LCSM_I32: ((int32_t *)p)[j] = (int32_t)e->start; break;
        default: ((int64_t *)p)[j] = (int64_t)e->start; break;
        }
}

void lcsm_state_clear(lcsm_state *s)
{
    for (ptrdiff_t b = 0; b < s->rows; b++) lcsm_state_clear_row(s, b);
}

void lcsm_state_zero(lcsm_state *s)
{
    memset(lcsm_state_block(s), 0, s->bytes);
}

void lcsm_state_clear_row(lcsm_state *s, ptrdiff_t b)
{
    for (size_t j = 0; j < s->count && b >= 0 && b < s->rows; j++) start(s, j, b);
}

lcsm_status lcsm_state_copy(lcsm_state *dst, const lcsm_state *src, lcsm_error *err)
{
    if (dst->key != src->key || dst->rows != src->rows)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the state of one model or batch size cannot be copied to another's");
    memcpy(dst->data + (size_t)dst->current * dst->bytes,
           src->data + (size_t)src->current * src->bytes, src->bytes);
    return LCSM_OK;
}

/* ---- single sequences ---- */

size_t lcsm_state_place(const lcsm_state *s, size_t entry, ptrdiff_t row)
{
    return s->list[entry].offset + (size_t)row * s->list[entry].row;
}

void *lcsm_state_row(const lcsm_state *s, size_t entry, ptrdiff_t row)
{
    return s->data + (size_t)s->current * s->bytes + lcsm_state_place(s, entry, row);
}

size_t lcsm_state_row_bytes(const lcsm_state *s)
{
    size_t sum = 0;
    for (size_t j = 0; j < s->count; j++) sum += s->list[j].row;
    return sum;
}

void lcsm_state_save(const lcsm_state *s, ptrdiff_t first, ptrdiff_t count, void *buffer)
{
    unsigned char *to = buffer;
    for (size_t j = 0; j < s->count; j++) {
        size_t bytes = (size_t)count * s->list[j].row;
        memcpy(to, lcsm_state_row(s, j, first), bytes);
        to += bytes;
    }
}

void lcsm_state_restore(lcsm_state *s, ptrdiff_t first, ptrdiff_t count, const void *buffer)
{
    const unsigned char *from = buffer;
    for (size_t j = 0; j < s->count; j++) {
        size_t bytes = (size_t)count * s->list[j].row;
        memcpy(lcsm_state_row(s, j, first), from, bytes);
        from += bytes;
    }
}

void lcsm_state_copy_row(lcsm_state *dst, ptrdiff_t to, const lcsm_state *src, ptrdiff_t from)
{
    for (size_t j = 0; j < dst->count; j++)
        memcpy(lcsm_state_row(dst, j, to), lcsm_state_row(src, j, from), dst->list[j].row);
}
