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

static bool add_entry(lcsm_state *s, const lcsm_graph *g, const lcsm_node *n, int j)
{
    const lcsm_state_spec *spec = &n->state[j];
    s->list[s->count]           = (lcsm_state_entry){.name   = entry_name(g, n, j),
                                                     .dtype  = spec->dtype,
                                                     .shape  = spec->shape,
                                                     .start  = spec->start,
                                                     .offset = s->bytes,
                                                     .bytes  = lcsm_state_bytes(spec)};
    s->bytes += s->list[s->count].bytes;
    return s->list[s->count++].name != NULL;
}

lcsm_status lcsm_state_create(lcsm_state **out, const lcsm_graph *g, lcsm_error *err)
{
    *out = NULL;
    if (g->plan == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a state is made for a planned graph");
    lcsm_state *s       = calloc(1, sizeof *s);
    size_t      entries = (size_t)g->node_list.count * LCSM_MAX_STATE;
    bool        ok      = s != NULL;
    if (ok) ok = (s->list = calloc(entries + 1, sizeof *s->list)) != NULL;
    for (int j = 0; ok && j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        for (int i = 0; ok && i < n->n_state; i++) ok = add_entry(s, g, n, i);
    }
    if (ok) {
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

static void start(const lcsm_state *s, size_t entry, ptrdiff_t from, ptrdiff_t count)
{
    const lcsm_state_entry *e = &s->list[entry];
    void                   *p = lcsm_state_data(s, entry);
    for (ptrdiff_t j = from; j < from + count; j++) switch (e->dtype) {
        case LCSM_F32: ((float *)p)[j] = (float)e->start; break;
        case LCSM_F64: ((double *)p)[j] = e->start; break;
        case LCSM_I32: ((int32_t *)p)[j] = (int32_t)e->start; break;
        default: ((int64_t *)p)[j] = (int64_t)e->start; break;
        }
}

void lcsm_state_clear(lcsm_state *s)
{
    for (size_t j = 0; j < s->count; j++) {
        ptrdiff_t count = 0;
        lcsm_shape_count(&s->list[j].shape, &count);
        start(s, j, 0, count);
    }
}

void lcsm_state_clear_row(lcsm_state *s, ptrdiff_t b)
{
    for (size_t j = 0; j < s->count; j++) {
        lcsm_shape row   = s->list[j].shape;
        ptrdiff_t  count = 0;
        if (b < 0 || b >= row.dim[0]) continue;
        row.dim[0] = 1;
        lcsm_shape_count(&row, &count);
        start(s, j, b * count, count);
    }
}

lcsm_status lcsm_state_copy(lcsm_state *dst, const lcsm_state *src, lcsm_error *err)
{
    if (dst->key != src->key)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the state of one model or batch size cannot be copied to another's");
    memcpy(dst->data + (size_t)dst->current * dst->bytes,
           src->data + (size_t)src->current * src->bytes, src->bytes);
    return LCSM_OK;
}

void lcsm_state_save(const lcsm_state *s, void *buffer)
{
    memcpy(buffer, s->data + (size_t)s->current * s->bytes, s->bytes);
}

void lcsm_state_restore(lcsm_state *s, const void *buffer)
{
    memcpy(s->data + (size_t)s->current * s->bytes, buffer, s->bytes);
}

void lcsm_state_spread(lcsm_state *dst, const lcsm_state *src)
{
    for (size_t j = 0; j < dst->count; j++) {
        const lcsm_state_entry *e     = &dst->list[j];
        lcsm_shape              row   = e->shape;
        ptrdiff_t               count = 0;
        row.dim[0]                    = 1;
        lcsm_shape_count(&row, &count);
        size_t bytes = (size_t)count * lcsm_dtype_size(e->dtype);
        for (ptrdiff_t b = 0; b < e->shape.dim[0]; b++)
            memcpy((char *)lcsm_state_data(dst, j) + (size_t)b * bytes, lcsm_state_data(src, j),
                   bytes);
    }
}
