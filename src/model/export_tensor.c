/* export_tensor.c - tensors of a release from parameters of ours: the rules of import, the other
 * way round. */
#include <stdlib.h>
#include <string.h>

#include "model/import.h"
#include "model/model_weights.h"

/* ---- places ----------------------------------------------------------------------------- */

static lcsm_status reserve(lcsm_export_tensors *t, size_t count, lcsm_error *err)
{
    t->list   = calloc(count + 1, sizeof *t->list);
    t->values = calloc(count + 1, sizeof *t->values);
    t->names  = calloc(count + 1, sizeof *t->names);
    if (t->list != NULL && t->values != NULL && t->names != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu names", count);
}

void lcsm_export_tensors_free(lcsm_export_tensors *t)
{
    for (size_t j = 0; j < t->count && t->values != NULL; j++) free(t->values[j]);
    free(t->list);
    free(t->values);
    free(t->names);
    *t = (lcsm_export_tensors){0};
}

/* The tensor of that name and shape, which is new unless it has other parts already. */
static size_t place(lcsm_export_tensors *t, const lcsm_named_tensor *want, bool shared)
{
    for (size_t j = 0; j < t->count && shared; j++)
        if (strcmp(t->names[j], want->name) == 0) return j;
    size_t at = t->count++;
    memcpy(t->names[at], want->name, strlen(want->name) + 1);
    t->list[at]         = *want;
    t->list[at].name    = t->names[at];
    t->list[at].element = LCSM_ELEMENT_F32;
    return at;
}

/* ---- numbers ---------------------------------------------------------------------------- */

static void transpose(float *to, const float *from, size_t n, size_t rows, size_t cols)
{
    for (; n > 0; n--, to += rows * cols, from += rows * cols)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++) to[c * rows + r] = from[r * cols + c];
}

/* Rows 2 j and 2 j + 1 of a head become j and j + K / 2. */
static void split_pairs(float *to, const float *from, const lcsm_param *p, size_t heads)
{
    size_t cols = p->count / (size_t)p->shape.dim[0], K = (size_t)p->shape.dim[0] / heads;
    for (size_t h = 0; h < heads; h++)
        for (size_t r = 0; r < K; r++)
            memcpy(to + (h * K + r / 2 + r % 2 * (K / 2)) * cols, from + (h * K + r) * cols,
                   cols * sizeof *to);
}

/* The mixes of RWKV-6, ours in the order w, k, v, r, g, theirs in r, w, k, v, g: as in import. */
static void order_mixes(float *to, const float *from, size_t n, size_t r, bool columns)
{
    static const size_t TO[] = {1, 2, 3, 0, 4};
    for (size_t j = 0; j < COUNT(TO); j++)
        for (size_t k = 0; k < n; k++, from += r)
            memcpy(to + (columns ? k * COUNT(TO) + TO[j] : TO[j] * n + k) * r, from,
                   r * sizeof *to);
}

/* The rows of a part into those of the whole. */
static void scatter(float *to, const float *from, const lcsm_param *p, const lcsm_import_part *part)
{
    size_t groups = (size_t)part->groups, cols = p->count / (size_t)p->shape.dim[0];
    size_t own = p->count / groups;
    for (size_t g = 0; g < groups; g++)
        memcpy(to + (g * (size_t)part->stride + (size_t)part->first) * cols, from + g * own,
               own * sizeof *to);
}

/* The number of the expert that a parameter is of. */
static size_t expert_of(const char *name)
{
    static const char EXPERTS[] = ".experts.";
    const char       *at        = strstr(name, EXPERTS);
    return at != NULL ? (size_t)strtoul(at + sizeof EXPERTS - 1, NULL, 10) : 0;
}

static void convert(float *to, const float *from, const lcsm_param *p, const lcsm_import_rule *r,
                    const lcsm_import_plan *plan)
{
    size_t a = (size_t)p->shape.dim[0], b = (size_t)p->shape.dim[1], c = (size_t)p->shape.dim[2];
    const lcsm_import_part *part = &plan->parts[r->part];
    switch (r->how) {
    case LCSM_TAKE_COLUMNS: transpose(to, from, 1, a, b); return;
    case LCSM_TAKE_BLOCKS: transpose(to, from, a, b, c); return;
    case LCSM_TAKE_PAIRS: split_pairs(to, from, p, (size_t)part->groups); return;
    case LCSM_TAKE_RWKV6_DOWN: order_mixes(to, from, a / 5, b, false); return;
    case LCSM_TAKE_RWKV6_UP: order_mixes(to, from, b, c, true); return;
    case LCSM_TAKE_ROW:
        memcpy(to + (size_t)part->first * p->count, from, p->count * sizeof *to);
        return;
    case LCSM_TAKE_EXPERT:
        memcpy(to + (expert_of(p->name) * (size_t)part->stride + (size_t)part->first) * b, from,
               p->count * sizeof *to);
        return;
    case LCSM_TAKE_PLUS_ONE:
        for (size_t j = 0; j < p->count; j++) to[j] = from[j] - 1;
        return;
    default: break;
    }
    if (r->part > 0) scatter(to, from, p, part);
    else memcpy(to, from, p->count * sizeof *to);
}

/* ---- parameters ------------------------------------------------------------------------- */

/* What no tensor of theirs holds must be what import puts there. */
static lcsm_status check_constant(const lcsm_params *ps, int row, const lcsm_import_rule *r,
                                  const lcsm_release *release, lcsm_error *err)
{
    const lcsm_param *p = &ps->list[row];
    const float      *x = lcsm_param_values(ps, row);
    for (size_t j = 0; r != NULL && j < p->count; j++)
        if (x[j] != lcsm_rule_constant(r, j, p->count))
            return lcsm_fail(err, LCSM_ERR_CONFIG,
                             "%s has no tensor for %s, whose number %zu is %g; expected %g",
                             release->kind, p->name, j, (double)x[j],
                             (double)lcsm_rule_constant(r, j, p->count));
    return LCSM_OK;
}

/* Whether the numbers may stay where they are. */
static bool as_it_lies(const lcsm_param *p, const lcsm_import_rule *r)
{
    bool moved = r->how == LCSM_TAKE_COLUMNS || r->how == LCSM_TAKE_BLOCKS
              || r->how == LCSM_TAKE_PAIRS || r->how == LCSM_TAKE_RWKV6_DOWN
              || r->how == LCSM_TAKE_RWKV6_UP || r->how == LCSM_TAKE_ROW
              || r->how == LCSM_TAKE_PLUS_ONE;
    return !moved && r->part == 0 && p->type == LCSM_WEIGHT_REAL;
}

static lcsm_status put_numbers(lcsm_export_tensors *t, size_t at, const lcsm_params *ps, int row,
                               const lcsm_import_rule *r, const lcsm_import_plan *plan,
                               lcsm_error *err)
{
    const lcsm_param *p = &ps->list[row];
    size_t            count, bytes;
    if (as_it_lies(p, r)) {
        t->list[at].data = lcsm_param_values(ps, row);
        return LCSM_OK;
    }
    if (!lcsm_named_tensor_measure(&t->list[at], &count, &bytes)) count = 0;
    if (t->values[at] == NULL) t->values[at] = calloc(count + 1, sizeof(float));
    float *own = calloc(p->count + 1, sizeof *own);
    bool   ok  = t->values[at] != NULL && own != NULL && count >= p->count;
    if (ok) {
        lcsm_param_read(ps, row, own);
        convert(t->values[at], own, p, r, plan);
        t->list[at].data = t->values[at];
    }
    free(own);
    return ok ? LCSM_OK
              : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for tensor %s", t->names[at]);
}

static lcsm_status add(lcsm_export_tensors *t, const lcsm_params *ps, int row,
                       const lcsm_release *release, const lcsm_import_plan *plan, bool all,
                       lcsm_error *err)
{
    const lcsm_param       *p = &ps->list[row];
    char                    name[LCSM_IMPORT_NAME];
    const lcsm_import_rule *r = lcsm_release_rule(release, plan, p->name, name);
    if (r == NULL && !all) return LCSM_OK; /* the plan does not have its part yet */
    if (r == NULL && (p->flags & LCSM_PARAM_FROZEN) == 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s has no tensor for %s", release->kind, p->name);
    if (r == NULL || r->theirs == NULL)
        return all ? check_constant(ps, row, r, release, err) : LCSM_OK;
    lcsm_named_tensor want = lcsm_rule_shape(p, r, name, plan);
    size_t            at   = place(t, &want, r->part > 0);
    return all ? put_numbers(t, at, ps, row, r, plan, err) : LCSM_OK;
}

/* The embedding with its scale; a tied one has its head apart, without it. */
static lcsm_status scale_ends(lcsm_export_tensors *t, const lcsm_model *m,
                              const lcsm_release *release, double scale, lcsm_error *err)
{
    const char *names[] = {lcsm_release_name(release, "embedding.weight"),
                           lcsm_release_name(release, "head.weight")};
    size_t      e       = 0;
    while (e < t->count && strcmp(t->names[e], names[0]) != 0) e++;
    if (scale == 1 || e == t->count || t->list[e].data == NULL) return LCSM_OK;
    lcsm_named_tensor head = t->list[e];
    size_t            count, bytes;
    head.name = names[1];
    (void)lcsm_named_tensor_measure(&head, &count, &bytes);
    if (m->cfg.tied) {
        size_t h        = place(t, &head, false);
        t->list[h].data = t->list[e].data;
        t->values[h]    = t->values[e]; /* the numbers change their owner */
        t->values[e]    = NULL;
    }
    float       *to   = t->values[e] != NULL ? t->values[e] : calloc(count + 1, sizeof *to);
    const float *from = t->list[e].data;
    if (to == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for an embedding");
    for (size_t j = 0; j < count; j++) to[j] = from[j] * (float)scale;
    t->values[e]    = to;
    t->list[e].data = to;
    return LCSM_OK;
}

lcsm_status lcsm_export_tensors_make(lcsm_export_tensors *out, const lcsm_model *model,
                                     const lcsm_release *release, const lcsm_import_plan *plan,
                                     bool all, double scale, lcsm_error *err)
{
    const lcsm_params *ps = model->params;
    lcsm_status        st = reserve(out, ps->count + 1, err);
    for (size_t j = 0; j < ps->count && st == LCSM_OK; j++)
        st = add(out, ps, (int)j, release, plan, all, err);
    if (st == LCSM_OK && all) st = scale_ends(out, model, release, scale, err);
    if (st != LCSM_OK) lcsm_export_tensors_free(out);
    return st;
}
