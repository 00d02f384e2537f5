/* params.c - the named list of parameters, its two blocks and their initial values. */
#include "graph/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/rng.h"
#include "base/size.h"

lcsm_status lcsm_params_create(lcsm_params **out, lcsm_dtype dtype, uint64_t seed, lcsm_error *err)
{
    *out = NULL;
    if (dtype != LCSM_F32 && dtype != LCSM_F64)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "parameters are %s; expected f32 or f64",
                         dtype < LCSM_DTYPE_COUNT ? lcsm_dtype_name(dtype) : "of no known type");
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a parameter list");
    (*out)->dtype = dtype;
    (*out)->seed  = seed;
    return LCSM_OK;
}

void lcsm_params_free(lcsm_params *p)
{
    if (p == NULL) return;
    for (size_t j = 0; j < p->count; j++) free(p->list[j].name);
    free(p->list);
    free(p->values);
    free(p->grads);
    free(p->packed);
    free(p);
}

int lcsm_params_find(const lcsm_params *p, const char *name)
{
    for (size_t j = 0; j < p->count; j++)
        if (strcmp(p->list[j].name, name) == 0) return (int)j;
    return -1;
}

/* A second graph must ask for what the first one made. */
static lcsm_status same_shape(const lcsm_param *have, const lcsm_shape *shape, lcsm_error *err)
{
    char a[LCSM_SHAPE_TEXT], b[LCSM_SHAPE_TEXT];
    if (lcsm_shape_equal(&have->shape, shape)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "parameter %s is %s and cannot also be %s", have->name,
                     lcsm_shape_text(a, &have->shape), lcsm_shape_text(b, shape));
}

static bool grow(lcsm_params *p)
{
    if (p->count < p->capacity) return true;
    size_t      capacity = p->capacity == 0 ? 64 : 2 * p->capacity;
    lcsm_param *list     = realloc(p->list, capacity * sizeof *list);
    if (list == NULL) return false;
    p->list     = list;
    p->capacity = capacity;
    return true;
}

/* The element behind the last one, aligned, once `count` more are there. */
static bool place(const lcsm_params *p, size_t count, size_t *end)
{
    size_t bytes, size = lcsm_dtype_size(p->dtype);
    if (!lcsm_size_mul(count, size, &bytes) || !lcsm_round_up(bytes, LCSM_ALIGN, &bytes))
        return false;
    return lcsm_size_add(p->block, bytes / size, end);
}

lcsm_status lcsm_params_add(int *row, lcsm_params *p, const char *name, const lcsm_shape *shape,
                            const lcsm_init *init, unsigned flags, lcsm_error *err)
{
    ptrdiff_t count;
    size_t    end;
    *row = lcsm_params_find(p, name);
    if (*row >= 0) return same_shape(&p->list[*row], shape, err);
    if (p->values != NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "parameter %s is not in the list, which is closed once values exist",
                         name);
    if (!lcsm_shape_count(shape, &count) || !place(p, (size_t)count, &end))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "parameter %s has an invalid shape", name);
    char *copy = strdup(name);
    if (copy == NULL || !grow(p)) {
        free(copy);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for parameter %s", name);
    }
    p->list[p->count] = (lcsm_param){.name   = copy,
                                     .shape  = *shape,
                                     .count  = (size_t)count,
                                     .offset = p->block,
                                     .flags  = flags,
                                     .lr_max = (flags & LCSM_PARAM_SLOW) != 0 ? 1e-3 : 0,
                                     .init   = *init};
    p->block          = end;
    *row              = (int)p->count++;
    return LCSM_OK;
}

static lcsm_status new_block(void **out, const lcsm_params *p, size_t count, lcsm_error *err)
{
    size_t bytes;
    if (!lcsm_size_mul(count, lcsm_dtype_size(p->dtype), &bytes)
        || (*out = lcsm_block_alloc(bytes)) == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu parameters", count);
    memset(*out, 0, bytes);
    return LCSM_OK;
}

static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *name != '\0'; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* One value of a random or constant initialisation. Numbers depend on the name, not on the place
 * in the list, so a model with one more parameter starts the others alike. */
static double value(const lcsm_init *init, uint64_t seed, uint32_t purpose, size_t j)
{
    switch (init->kind) {
    case LCSM_INIT_NORMAL: return init->a + init->b * lcsm_rng_normal(seed, purpose, j);
    case LCSM_INIT_UNIFORM:
        return init->a + (init->b - init->a) * lcsm_rng_uniform(seed, purpose, j);
    default: return init->a;
    }
}

static void store(const lcsm_params *p, size_t at, double x)
{
    if (p->dtype == LCSM_F32) ((float *)p->values)[at] = (float)x;
    else ((double *)p->values)[at] = x;
}

static lcsm_status fill(lcsm_params *p, const lcsm_param *q, lcsm_error *err)
{
    uint32_t purpose = hash(q->name);
    if (q->init.kind != LCSM_INIT_FILL) {
        for (size_t j = 0; j < q->count; j++)
            store(p, q->offset + j, value(&q->init, p->seed, purpose, j));
        return LCSM_OK;
    }
    double *values = calloc(q->count > 0 ? q->count : 1, sizeof *values);
    if (values == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to fill %s", q->name);
    q->init.fill(values, &q->shape, q->count, &q->init, p->seed, purpose);
    bool filled = true;
    for (size_t j = 0; j < q->count; j++) {
        filled = filled && !isnan(values[j]);
        store(p, q->offset + j, values[j]);
    }
    free(values);
    return filled ? LCSM_OK
                  : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to fill %s", q->name);
}

lcsm_status lcsm_params_fill(lcsm_params *p, int row, lcsm_error *err)
{
    return fill(p, &p->list[row], err);
}

/* ---- rows elsewhere --------------------------------------------------------------------- */

void lcsm_params_place(lcsm_params *p, int row, lcsm_weight_type type, const void *at)
{
    p->list[row].type = type;
    p->list[row].at   = at;
}

/* Rows in the block one after the other; with `all`, as if none were elsewhere. */
static void lay_out(lcsm_params *p, bool all)
{
    p->block = 0;
    for (size_t j = 0; j < p->count; j++) {
        p->list[j].offset = p->block;
        if (all || p->list[j].at == NULL) (void)place(p, p->list[j].count, &p->block);
    }
}

static lcsm_status refuse_blocks(const lcsm_params *p, lcsm_error *err)
{
    for (size_t j = 0; j < p->count; j++)
        if (p->list[j].type != LCSM_WEIGHT_REAL)
            return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                             "%s is stored as %s, which is for running only: load the model with "
                             "weights f32 to train it",
                             p->list[j].name, lcsm_weight_name(p->list[j].type));
    return LCSM_OK;
}

/* All rows as numbers in the block. */
static lcsm_status gather(lcsm_params *p, lcsm_error *err)
{
    lcsm_params all    = *p;
    bool        inside = true;
    for (size_t j = 0; j < p->count; j++) inside = inside && p->list[j].at == NULL;
    LCSM_OR_RETURN(refuse_blocks(p, err));
    if (inside) return LCSM_OK;
    for (size_t j = 0; j < p->count; j++) all.list[j].at = lcsm_param_values(p, (int)j);
    lay_out(&all, true);
    lcsm_status st = new_block(&all.values, &all, all.block, err);
    if (st != LCSM_OK) return st;
    for (size_t j = 0; j < p->count; j++) {
        lcsm_param *q = &all.list[j];
        if (q->count > 0)
            memcpy((unsigned char *)all.values + q->offset * lcsm_dtype_size(p->dtype), q->at,
                   q->count * lcsm_dtype_size(p->dtype));
        q->at = NULL;
    }
    free(p->values);
    *p = all;
    return LCSM_OK;
}

lcsm_status lcsm_params_reserve(lcsm_params *p, bool grads, lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    bool        filled = p->values != NULL;
    if (grads && p->grads == NULL && filled) LCSM_OR_RETURN(gather(p, err));
    if (!filled) lay_out(p, false);
    if (grads && p->grads == NULL) LCSM_TRY(new_block(&p->grads, p, p->block, err));
    if (filled) return LCSM_OK;
    LCSM_TRY(new_block(&p->values, p, p->block, err));
    for (size_t j = 0; j < p->count && !p->blank; j++)
        if (p->list[j].at == NULL) LCSM_TRY(fill(p, &p->list[j], err));
    filled = true;
cleanup:
    if (!filled) {
        free(p->values);
        p->values = NULL;
    }
    return st;
}

lcsm_status lcsm_params_train_only(lcsm_params *p, unsigned flags, lcsm_error *err)
{
    if (p->only == flags) return LCSM_OK;
    if (p->grads != NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the model has gradients already, of other parameters");
    for (size_t j = 0; j < p->count; j++) {
        lcsm_param *row = &p->list[j];
        if ((row->flags & LCSM_PARAM_BASE) != 0)
            row->flags &= ~(unsigned)(LCSM_PARAM_BASE | LCSM_PARAM_FROZEN);
        if (flags != 0 && (row->flags & (flags | LCSM_PARAM_FROZEN)) == 0)
            row->flags |= LCSM_PARAM_BASE | LCSM_PARAM_FROZEN;
    }
    p->only = flags;
    return LCSM_OK;
}

size_t lcsm_params_total(const lcsm_params *p)
{
    size_t n = 0;
    for (size_t j = 0; j < p->count; j++) n += p->list[j].count;
    return n;
}

size_t lcsm_params_trained(const lcsm_params *p)
{
    size_t n = 0;
    for (size_t j = 0; j < p->count; j++)
        if ((p->list[j].flags & LCSM_PARAM_FROZEN) == 0) n += p->list[j].count;
    return n;
}

void lcsm_param_read(const lcsm_params *p, int row, float *to)
{
    const lcsm_param *q = &p->list[row];
    if (q->type == LCSM_WEIGHT_REAL) memcpy(to, lcsm_param_values(p, row), q->count * sizeof *to);
    else lcsm_blocks_decode(to, lcsm_weight_blocks(q->type), q->at, q->count);
}

/* False if there is no memory. */
static bool copy_row(const lcsm_params *dst, const lcsm_params *src, int row)
{
    const lcsm_param *q   = &src->list[row];
    size_t            to  = dst->list[lcsm_params_find(dst, q->name)].offset;
    const double     *f64 = lcsm_param_values(src, row);
    float            *f32 = malloc((q->count + 1) * sizeof *f32);
    if (f32 == NULL) return false;
    if (src->dtype == LCSM_F32) lcsm_param_read(src, row, f32);
    for (size_t i = 0; i < q->count; i++)
        store(dst, to + i, src->dtype == LCSM_F32 ? (double)f32[i] : f64[i]);
    free(f32);
    return true;
}

lcsm_status lcsm_params_copy(lcsm_params *dst, const lcsm_params *src, lcsm_error *err)
{
    if (dst->values == NULL || src->values == NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a parameter list has no values yet");
    if (dst->count != src->count)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu parameters cannot be copied to %zu",
                         src->count, dst->count);
    for (size_t j = 0; j < src->count; j++) {
        int row = lcsm_params_find(dst, src->list[j].name);
        if (row < 0)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "there is no parameter %s to copy to",
                             src->list[j].name);
        lcsm_status st = same_shape(&dst->list[row], &src->list[j].shape, err);
        if (st != LCSM_OK) return st;
    }
    for (size_t j = 0; j < src->count; j++)
        if (!copy_row(dst, src, (int)j))
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to copy %s",
                             src->list[j].name);
    return LCSM_OK;
}

static void *piece(const lcsm_params *p, void *block, size_t at)
{
    return block == NULL ? NULL : (unsigned char *)block + at * lcsm_dtype_size(p->dtype);
}

void *lcsm_param_values(const lcsm_params *p, int row)
{
    const void *at = p->list[row].at;
    return at != NULL ? (void *)(uintptr_t)at : piece(p, p->values, p->list[row].offset);
}

size_t lcsm_param_bytes(const lcsm_params *p, int row)
{
    const lcsm_param *q = &p->list[row];
    if (q->type != LCSM_WEIGHT_REAL) return lcsm_weight_row(q->type, q->count);
    return q->count * lcsm_dtype_size(p->dtype);
}

size_t lcsm_params_bytes(const lcsm_params *p)
{
    size_t n = 0;
    for (size_t j = 0; j < p->count; j++) n += lcsm_param_bytes(p, (int)j);
    return n;
}

void *lcsm_param_grads(const lcsm_params *p, int row)
{
    const lcsm_param *r = &p->list[row];
    return (r->flags & LCSM_PARAM_BASE) != 0 ? NULL : piece(p, p->grads, r->offset);
}
