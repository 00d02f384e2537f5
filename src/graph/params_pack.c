/* params_pack.c - the matrices of a list as blocks of weights, in memory of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/size.h"
#include "graph/params.h"

/* One row of the list on its way: `lines` rows of `cols` numbers. */
typedef struct {
    const lcsm_param *p;
    const void       *from;
    unsigned char    *to;
    lcsm_weight_type  type;
    size_t            lines, cols, line, from_line; /* bytes of a line */
    bool             *bad;                          /* of each line */
    float            *numbers;                      /* a line for each worker */
} packing;

static void pack_line(void *arg, size_t item, int worker)
{
    const packing       *k    = arg;
    const unsigned char *from = (const unsigned char *)k->from + item * k->from_line;
    unsigned char       *to   = k->to + item * k->line;
    float               *x    = k->numbers + (size_t)worker * k->cols;
    if (k->p->type == k->type) memcpy(to, from, k->line);
    else {
        lcsm_blocks_decode(x, lcsm_weight_blocks(k->p->type), from, k->cols);
        if (k->type == LCSM_WEIGHT_REAL) memcpy(to, x, k->line);
        else k->bad[item] = !lcsm_weight_pack(k->type, to, x, k->cols);
    }
}

static lcsm_status pack_row(packing *k, lcsm_pool *pool, lcsm_error *err)
{
    bool   none    = false;
    size_t threads = (size_t)lcsm_pool_threads(pool), size = 0;
    k->bad = calloc(k->lines + 1, sizeof *k->bad);
    k->numbers =
        lcsm_size_mul(threads, k->cols, &size) ? calloc(size + 1, sizeof *k->numbers) : NULL;
    none = k->bad == NULL || k->numbers == NULL;
    if (!none) lcsm_parallel_for(pool, k->lines, pack_line, k);
    bool bad = false;
    for (size_t j = 0; !none && j < k->lines; j++) bad = bad || k->bad[j];
    free(k->bad);
    free(k->numbers);
    if (none)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to store %s as %s", k->p->name,
                         lcsm_weight_name(k->type));
    if (!bad) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_NUMBER,
                     "%s cannot be stored as %s: a weight is NaN, infinite or too large for it; "
                     "bf16 has the range of f32",
                     k->p->name, lcsm_weight_name(k->type));
}

static bool is_streamed(const lcsm_param *p)
{
    return (p->flags & LCSM_PARAM_STREAMED) != 0 && p->shape.rank == 2;
}

static lcsm_weight_type type_for(const lcsm_param *p, lcsm_weight_type type)
{
    return is_streamed(p) ? lcsm_weight_fit(type, (size_t)p->shape.dim[1]) : p->type;
}

/* Where each row goes in one block of memory; those that stay where they are have no room. */
static bool measure(const lcsm_params *p, lcsm_weight_type type, bool *moves, size_t *total)
{
    *total = 0;
    for (size_t j = 0; j < p->count; j++) {
        const lcsm_param *q = &p->list[j];
        size_t            row, bytes = 0;
        bool mapped = q->at != NULL && q->type == type_for(q, type) && p->packed == NULL;
        moves[j]    = (is_streamed(q) && !mapped) || (q->at != NULL && p->packed != NULL);
        if (!moves[j]) continue;
        row = lcsm_weight_row(type_for(q, type), q->count);
        if (!lcsm_round_up(row, LCSM_ALIGN, &bytes) || !lcsm_size_add(*total, bytes, total))
            return false;
    }
    return true;
}

/* What is not moved and lies in the old block, to a new one. */
static lcsm_status shrink(lcsm_params *p, lcsm_error *err)
{
    lcsm_params rest  = *p;
    size_t      block = 0;
    for (size_t j = 0; j < p->count; j++) {
        size_t bytes = p->list[j].count * sizeof(float);
        if (p->list[j].at == NULL && lcsm_round_up(bytes, LCSM_ALIGN, &bytes)) block += bytes;
    }
    rest.values = lcsm_block_alloc(block);
    if (rest.values == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu bytes of parameters",
                         block);
    memset(rest.values, 0, block);
    rest.block = 0;
    for (size_t j = 0; j < p->count; j++) {
        lcsm_param *q     = &p->list[j];
        size_t      bytes = q->count * sizeof(float);
        if (q->at == NULL) {
            memcpy((float *)rest.values + rest.block, (float *)p->values + q->offset, bytes);
            q->offset = rest.block;
            (void)lcsm_round_up(bytes, LCSM_ALIGN, &bytes);
            rest.block += bytes / sizeof(float);
        } else q->offset = rest.block;
    }
    free(p->values);
    *p = rest;
    return LCSM_OK;
}

static lcsm_status pack_all(lcsm_params *p, lcsm_weight_type type, lcsm_pool *pool,
                            const bool *moves, unsigned char *to, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < p->count; j++) {
        const lcsm_param *q     = &p->list[j];
        packing           k     = {.p = q, .from = lcsm_param_values(p, (int)j), .to = to};
        size_t            bytes = 0;
        if (!moves[j]) continue;
        k.type      = type_for(q, type);
        k.cols      = q->shape.rank == 2 ? (size_t)q->shape.dim[1] : q->count;
        k.lines     = k.cols > 0 ? q->count / k.cols : 0;
        k.line      = lcsm_weight_row(k.type, k.cols);
        k.from_line = lcsm_weight_row(q->type, k.cols);
        LCSM_OR_RETURN(pack_row(&k, pool, err));
        (void)lcsm_round_up(k.lines * k.line, LCSM_ALIGN, &bytes);
        to += bytes;
    }
    return st;
}

static void place_all(lcsm_params *p, lcsm_weight_type type, const bool *moves, unsigned char *to)
{
    for (size_t j = 0; j < p->count; j++) {
        size_t bytes = 0;
        if (!moves[j]) continue;
        lcsm_params_place(p, (int)j, type_for(&p->list[j], type), to);
        (void)lcsm_round_up(lcsm_param_bytes(p, (int)j), LCSM_ALIGN, &bytes);
        to += bytes;
    }
}

lcsm_status lcsm_params_pack(lcsm_params *p, lcsm_weight_type type, lcsm_pool *pool,
                             lcsm_error *err)
{
    lcsm_status    st    = LCSM_OK;
    size_t         total = 0;
    unsigned char *to    = NULL;
    bool          *moves = calloc(p->count + 1, sizeof *moves);
    if (p->dtype != LCSM_F32 || p->values == NULL || p->grads != NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_ARGUMENT,
                           "only float32 weights that are not being trained can be packed"));
    if (moves == NULL || !measure(p, type, moves, &total) || (to = lcsm_block_alloc(total)) == NULL)
        LCSM_TRY(
            lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu bytes of weights", total));
    LCSM_TRY(pack_all(p, type, pool, moves, to, err));
    place_all(p, type, moves, to);
    free(p->packed);
    p->packed = to;
    to        = NULL;
    st        = shrink(p, err);
cleanup:
    free(to);
    free(moves);
    return st;
}
