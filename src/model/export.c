/* export.c - a model as a GGUF file: the rules of import, the other way round. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/gguf.h"
#include "model/import.h"
#include "model/model_weights.h"

/* Tensors on their way to a file. */
typedef struct {
    const lcsm_model   *model;
    const lcsm_release *release;
    lcsm_gguf_out      *list;
    char (*names)[LCSM_GGUF_NAME];
    float **values;
    size_t  count;
} shelf;

/* ---- which models ----------------------------------------------------------------------- */

/* Settings that the format cannot say. */
static lcsm_status check(const lcsm_model_config *c, lcsm_error *err)
{
    const struct {
        bool        bad;
        const char *what;
    } limits[] = {
        {c->layers_pattern[0] != 0 || c->code[0] != 0, "patterns and codes"},
        {c->flavour != LCSM_FLAVOUR_NATIVE || c->wiring != LCSM_WIRING_LM,
         "bare models, or another wiring than lm"},
        {c->bidirectional, "models of both directions"},
        {c->initial_memory, "an initial memory"},
        {c->proj_bias, "proj_bias"},
        {!c->conv_bias && strncmp(c->method, "rwkv", 4) != 0, "convolutions without a bias"},
        {c->soft_cap != 0, "soft_cap"},
        {c->residual_normed, "residual.normed"},
        {c->dt_min != 0 || c->dt_max != 0, "limits of dt"},
        {c->norm_weight, "norm_weight"},
        {strncmp(c->method, "rwkv", 4) == 0 && (c->expand != 0 || c->value_ratio != 1),
         "keys or values of another width than d_model"},
    };
    for (size_t j = 0; j < COUNT(limits); j++)
        if (limits[j].bad)
            return lcsm_fail(err, LCSM_ERR_CONFIG, "GGUF files do not have %s", limits[j].what);
    return LCSM_OK;
}

/* ---- tensors ---------------------------------------------------------------------------- */

/* Numbers that matrices are not made of keep their precision. */
static bool is_dense(const char *name, size_t rank)
{
    static const char *const small[] = {"conv1d", "ssm_a",  "ssm_d", "norm",
                                        "first",  "lerp_x", "fused", "_ln."};
    for (size_t j = 0; j < COUNT(small); j++)
        if (strstr(name, small[j]) != NULL) return false;
    return rank >= 2;
}

/* The place of a tensor, which is new or has other rows already; NULL: no memory. */
static lcsm_gguf_out *place(shelf *s, const char *name, size_t count)
{
    for (size_t j = 0; j < s->count; j++)
        if (strcmp(s->names[j], name) == 0) return &s->list[j];
    float *values = calloc(count + 1, sizeof *values);
    if (values == NULL) return NULL;
    (void)snprintf(s->names[s->count], LCSM_GGUF_NAME, "%s", name);
    s->values[s->count] = values;
    s->list[s->count]   = (lcsm_gguf_out){.name = s->names[s->count], .data = values};
    return &s->list[s->count++];
}

/* Shapes that llama.cpp wants: numbers of heads are columns, a norm has its groups, mixes that are
 * stored together have two axes more. */
static void shape_of(lcsm_gguf_out *t, const lcsm_param *p, const lcsm_import_rule *r,
                     const lcsm_import_plan *plan)
{
    size_t n = p->count;
    t->rank  = (size_t)p->shape.rank;
    for (size_t j = 0; j < t->rank; j++) t->shape[j] = (size_t)p->shape.dim[j];
    if (r->how == LCSM_TAKE_LOG_RATE_COLUMNS) {
        t->shape[0] = (size_t)p->shape.dim[1];
        t->shape[1] = (size_t)p->shape.dim[0];
    } else if (r->how == LCSM_TAKE_ROW) {
        *t          = (lcsm_gguf_out){.name = t->name, .data = t->data, .rank = 4};
        size_t d[4] = {(size_t)plan->parts[r->part].stride, 1, 1, n};
        memcpy(t->shape, d, sizeof d);
    } else if (r->how == LCSM_TAKE_FLAT || r->how == LCSM_TAKE_LOG_RATE) {
        bool   heads = strcmp(plan->cfg.method, "mamba2") == 0;
        size_t G     = heads && strstr(t->name, "norm") != NULL ? (size_t)plan->cfg.groups : n;
        t->rank      = heads ? 2 : 1;
        t->shape[0]  = heads ? G : n;
        t->shape[1]  = n / G;
    }
    t->dense = is_dense(t->name, t->rank);
}

static void convert(float *to, const float *from, const lcsm_param *p, const lcsm_import_rule *r,
                    const lcsm_import_plan *plan)
{
    size_t rows = (size_t)p->shape.dim[0],
           cols = rows > 0 && p->count >= rows ? p->count / rows : 1;
    if (r->how == LCSM_TAKE_ROW) to += (size_t)plan->parts[r->part].first * p->count;
    for (size_t j = 0; j < p->count; j++) {
        if (r->how == LCSM_TAKE_LOG_RATE) to[j] = -expf(from[j]);
        else if (r->how == LCSM_TAKE_LOG_RATE_COLUMNS)
            to[j % cols * rows + j / cols] = -expf(from[j]);
        else to[j] = from[j];
    }
}

static lcsm_status add(shelf *s, int row, const lcsm_import_plan *plan, lcsm_error *err)
{
    const lcsm_param       *p = &s->model->params->list[row];
    char                    name[LCSM_IMPORT_NAME];
    const lcsm_import_rule *r = lcsm_release_rule(s->release, plan, p->name, name);
    if (r == NULL && (p->flags & LCSM_PARAM_FROZEN) != 0) return LCSM_OK;
    if (r == NULL || r->theirs == NULL || strlen(name) >= LCSM_GGUF_NAME)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "GGUF files of this model do not have %s", p->name);
    size_t         rows    = r->how == LCSM_TAKE_ROW ? (size_t)plan->parts[r->part].stride : 1;
    lcsm_gguf_out *t       = place(s, name, rows * p->count);
    float         *to      = t != NULL ? s->values[t - s->list] : NULL;
    float         *numbers = to != NULL ? malloc((p->count + 1) * sizeof *numbers) : NULL;
    if (numbers == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for tensor %s", name);
    lcsm_param_read(s->model->params, row, numbers);
    shape_of(t, p, r, plan);
    convert(to, numbers, p, r, plan);
    free(numbers);
    return LCSM_OK;
}

/* The embedding with its scale; a tied one that is scaled needs a head of its own. */
static lcsm_status scale_ends(shelf *s, lcsm_error *err)
{
    const lcsm_model_config *c     = &s->model->cfg;
    double                   scale = c->embed_scale > 0 ? c->embed_scale : sqrt((double)c->d_model);
    lcsm_gguf_out           *e     = place(s, "token_embd.weight", 0);
    if (scale == 1 || e == NULL) return LCSM_OK;
    size_t count = e->shape[0] * e->shape[1];
    float *x     = s->values[e - s->list];
    if (c->tied) {
        lcsm_gguf_out *h  = place(s, "output.weight", count);
        float         *to = h != NULL ? s->values[h - s->list] : NULL;
        if (to == NULL || x == NULL)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a head");
        memcpy(to, x, count * sizeof *x);
        h->rank  = 2;
        h->dense = true;
        memcpy(h->shape, e->shape, sizeof h->shape);
    }
    for (size_t j = 0; j < count; j++) x[j] *= (float)scale;
    return LCSM_OK;
}

/* The first block of RWKV-7 has no residual of values, but readers ask for its tensors: as in
 * released files they are those of a. */
static lcsm_status fill_first_block(shelf *s, lcsm_error *err)
{
    for (int j = 0; j < 3 && strcmp(s->model->cfg.method, "rwkv7") == 0; j++) {
        char name[LCSM_GGUF_NAME];
        (void)snprintf(name, sizeof name, "blk.0.time_mix_a%d.weight", j);
        lcsm_gguf_out *a     = place(s, name, 0);
        size_t         count = 1;
        for (size_t k = 0; a != NULL && k < a->rank; k++) count *= a->shape[k];
        (void)snprintf(name, sizeof name, "blk.0.time_mix_v%d.weight", j);
        lcsm_gguf_out *v = a != NULL ? place(s, name, count) : NULL;
        if (v == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", name);
        memcpy(s->values[v - s->list], s->values[a - s->list], count * sizeof(float));
        v->rank  = a->rank;
        v->dense = a->dense;
        memcpy(v->shape, a->shape, sizeof v->shape);
    }
    return LCSM_OK;
}

enum { ADDED = 5 }; /* tensors beside the parameters: a head, and what a reader asks for */

static lcsm_status fill(shelf *s, const lcsm_import_plan *plan, lcsm_error *err)
{
    lcsm_params *p  = s->model->params;
    lcsm_status  st = LCSM_OK;
    s->list         = calloc(p->count + ADDED, sizeof *s->list);
    s->names        = calloc(p->count + ADDED, sizeof *s->names);
    s->values       = calloc(p->count + ADDED, sizeof *s->values);
    if (s->list == NULL || s->names == NULL || s->values == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu names", p->count);
    for (size_t j = 0; j < p->count; j++) LCSM_OR_RETURN(add(s, (int)j, plan, err));
    LCSM_OR_RETURN(scale_ends(s, err));
    LCSM_OR_RETURN(fill_first_block(s, err));
    return st;
}

/* ---- files ------------------------------------------------------------------------------ */

static lcsm_status type_by_name(uint32_t *id, const char *name, lcsm_error *err)
{
    static const struct {
        const char *name;
        uint32_t    id;
    } TYPES[] = {{"f32", 0}, {"f16", 1}, {"q8_0", 8}};
    for (size_t j = 0; j < COUNT(TYPES); j++)
        if (strcmp(TYPES[j].name, name) == 0) {
            *id = TYPES[j].id;
            return LCSM_OK;
        }
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "\"%.40s\" is not a type; expected f32, f16 or q8_0",
                     name);
}

lcsm_status lcsm_export_gguf(const lcsm_model *model, const char *path, const char *type,
                             lcsm_error *err)
{
    lcsm_import_plan plan = {.cfg = model->cfg};
    shelf            s    = {.model = model};
    json_t          *keys = NULL;
    uint32_t         id   = 0;
    lcsm_status      st;
    LCSM_TRY(type_by_name(&id, type != NULL ? type : "f32", err));
    LCSM_TRY(check(&model->cfg, err));
    LCSM_TRY(lcsm_export_gguf_keys(&s.release, &keys, &plan, model, err));
    LCSM_TRY(fill(&s, &plan, err));
    (void)json_object_set_new(keys, "general.file_type", json_integer(id == 8 ? 7 : id));
    LCSM_TRY(lcsm_gguf_save(path, keys, s.list, s.count, id, err));
cleanup:
    for (size_t j = 0; j < s.count; j++) free(s.values[j]);
    free(s.list);
    free(s.names);
    free(s.values);
    json_decref(keys);
    return st;
}
