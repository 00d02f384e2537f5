/* import_take.c - parameters of ours from tensors of theirs, by the rules of a release. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/safetensors.h"
#include "model/import.h"
#include "model/model_weights.h"
#include "model/pattern.h"

/* ---- names ------------------------------------------------------------------------------ */

/* The numbers of a name: "{i}" with its "{a}" and "{r}", and "{e}". */
enum { NUMBERS = 2 };
typedef struct {
    int n[NUMBERS];
} numbers;

static int which(const char *at)
{
    static const char LETTERS[] = "iare";
    const char       *letter    = at[0] == '{' && at[1] != 0 ? strchr(LETTERS, at[1]) : NULL;
    if (letter == NULL || at[2] != '}') return -1;
    return *letter == 'e';
}

static bool match(const char *pattern, const char *name, numbers *out)
{
    for (; *pattern != '\0'; pattern++) {
        int   k = which(pattern);
        char *end;
        if (k < 0) {
            if (*pattern != *name++) return false;
            continue;
        }
        if (*name < '0' || *name > '9') return false;
        out->n[k] = (int)strtol(name, &end, 10);
        name      = end;
        pattern += 2;
    }
    return *name == '\0';
}

static void expand(char out[LCSM_SAFETENSORS_NAME], const char *pattern, const numbers *from)
{
    size_t used = 0;
    for (; *pattern != '\0' && used + 12 < LCSM_SAFETENSORS_NAME; pattern++) {
        int k = which(pattern);
        if (k < 0) out[used++] = *pattern;
        else {
            used += (size_t)snprintf(out + used, 12, "%d", from->n[k]);
            pattern += 2;
        }
    }
    out[used] = '\0';
}

const char *lcsm_release_name(const lcsm_release *release, const char *ours)
{
    for (size_t j = 0; j < LCSM_IMPORT_LISTS; j++)
        for (const lcsm_import_rule *r = release->rules[j]; r != NULL && r->ours != NULL; r++)
            if (strcmp(r->ours, ours) == 0) return r->theirs;
    return NULL;
}

/* A rule and the tensor that it takes. */
typedef struct {
    const lcsm_import_rule *rule; /* NULL: none */
    char                    theirs[LCSM_SAFETENSORS_NAME];
    char                    also[LCSM_SAFETENSORS_NAME]; /* another name that would do, or "" */
    size_t                  at; /* in the list; SIZE_MAX: it is not there */
    numbers                 is;
} match_of;

/* Whether the layer is one of those that a rule is for: "{a}" is attention, "{r}" is not. */
static bool of_kind(const lcsm_import_rule *r, const lcsm_import_plan *plan, int layer)
{
    lcsm_model_config own;
    bool              a = strstr(r->ours, "{a}") != NULL;
    if (!a && strstr(r->ours, "{r}") == NULL) return true;
    return lcsm_pattern_layer(&own, &plan->cfg, layer, 0)
        && (strcmp(own.method, "attention") == 0) == a;
}

/* Parts that the plan does not have have no rules. */
static bool applies(const lcsm_import_rule *r, const lcsm_import_plan *plan, const char *ours,
                    numbers *is)
{
    return match(r->ours, ours, is) && (r->part == 0 || plan->parts[r->part].groups > 0)
        && of_kind(r, plan, is->n[0]);
}

const lcsm_import_rule *lcsm_release_rule(const lcsm_release *release, const lcsm_import_plan *plan,
                                          const char *ours, char theirs[LCSM_IMPORT_NAME])
{
    numbers is = {0};
    for (size_t j = 0; j < LCSM_IMPORT_LISTS; j++)
        for (const lcsm_import_rule *r = release->rules[j]; r != NULL && r->ours != NULL; r++) {
            if (!applies(r, plan, ours, &is)) continue;
            if (r->theirs != NULL) expand(theirs, r->theirs, &is);
            return r;
        }
    return NULL;
}

/* The first rule for a parameter whose tensor is there, or the first of all. */
static void find_rule(match_of *out, const lcsm_import_source *src, const lcsm_import_plan *plan,
                      const lcsm_release *release, const char *ours)
{
    match_of m = {0};
    *out       = (match_of){.at = SIZE_MAX};
    for (size_t j = 0; j < LCSM_IMPORT_LISTS; j++)
        for (const lcsm_import_rule *r = release->rules[j]; r != NULL && r->ours != NULL; r++) {
            if (!applies(r, plan, ours, &m.is)) continue;
            m.rule      = r;
            m.theirs[0] = '\0';
            if (r->theirs != NULL) expand(m.theirs, r->theirs, &m.is);
            m.at = lcsm_import_find(src, m.theirs);
            if (out->rule == NULL || m.at != SIZE_MAX) *out = m;
            else memcpy(out->also, m.theirs, sizeof out->also);
            if (m.at != SIZE_MAX) return;
        }
}

/* ---- shapes ----------------------------------------------------------------------------- */

/* The same numbers whatever the shape; what is stored has the one of lcsm_rule_shape. */
static bool any_shape(lcsm_take how)
{
    return how == LCSM_TAKE_FLAT || how == LCSM_TAKE_VECTOR || how == LCSM_TAKE_HEAD_ROWS
        || how == LCSM_TAKE_BY_HEAD || how == LCSM_TAKE_LOG_RATE || how == LCSM_TAKE_ROW;
}

lcsm_named_tensor lcsm_rule_shape(const lcsm_param *p, const lcsm_import_rule *rule,
                                  const char *theirs, const lcsm_import_plan *plan)
{
    const lcsm_import_part *part = &plan->parts[rule->part];
    size_t                  a = (size_t)p->shape.dim[0], b = (size_t)p->shape.dim[1], n = p->count;
    size_t                  heads = plan->cfg.heads > 0 ? (size_t)plan->cfg.heads : 1;
    lcsm_named_tensor       t     = {.name = theirs, .rank = (size_t)p->shape.rank};
    for (size_t j = 0; j < t.rank; j++) t.shape[j] = (size_t)p->shape.dim[j];
#define SHAPE(n, ...)                                                                              \
    (lcsm_named_tensor)                                                                            \
    {                                                                                              \
        .name = theirs, .rank = (n), .shape = { __VA_ARGS__ }                                      \
    }
    switch (rule->how) {
    case LCSM_TAKE_COLUMNS:
    case LCSM_TAKE_LOG_RATE_COLUMNS: t = SHAPE(2, b, a); break;
    case LCSM_TAKE_BLOCKS: t.shape[1] = t.shape[2], t.shape[2] = b; break;
    case LCSM_TAKE_CHANNELS: t = SHAPE(3, a, 1, b); break;
    case LCSM_TAKE_RWKV6_UP: t = SHAPE(2, b, a * (size_t)p->shape.dim[2]); break;
    case LCSM_TAKE_VECTOR: return SHAPE(3, 1, 1, n);
    case LCSM_TAKE_HEAD_ROWS: return SHAPE(4, 1, 1, n, 1);
    case LCSM_TAKE_BY_HEAD: return SHAPE(2, heads, n / heads);
    case LCSM_TAKE_ROW: return SHAPE(2, (size_t)part->stride, n);
    case LCSM_TAKE_EXPERT: return SHAPE(3, (size_t)part->groups, (size_t)part->stride, b);
    default: break;
    }
#undef SHAPE
    if (rule->part > 0 && rule->how != LCSM_TAKE_PAIRS)
        t.shape[0] = (size_t)(part->groups * part->stride);
    return t;
}

static bool fits(const lcsm_named_tensor *have, const lcsm_named_tensor *want, lcsm_take how)
{
    size_t a, b, bytes;
    if (any_shape(how))
        return lcsm_named_tensor_measure(have, &a, &bytes)
            && lcsm_named_tensor_measure(want, &b, &bytes) && a == b;
    return have->rank == want->rank
        && memcmp(have->shape, want->shape, want->rank * sizeof want->shape[0]) == 0;
}

static lcsm_status check_tensor(const lcsm_import_source *src, const lcsm_named_tensor *want,
                                const match_of *m, lcsm_error *err)
{
    char                     a[LCSM_NAMED_TEXT], b[LCSM_NAMED_TEXT];
    lcsm_named_tensor        shown = *want;
    const lcsm_named_tensor *have  = m->at != SIZE_MAX ? &src->list[m->at] : NULL;
    shown.element                  = have != NULL ? have->element : LCSM_ELEMENT_F32;
    if (have == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s%s%s is missing; expected %s",
                         src->label, want->name, m->also[0] != '\0' ? " or " : "", m->also,
                         lcsm_named_tensor_text(a, &shown));
    if (!fits(have, &shown, m->rule->how))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %s is %s; expected %s", src->label,
                         want->name, lcsm_named_tensor_text(a, have),
                         lcsm_named_tensor_text(b, &shown));
    return LCSM_OK;
}

static lcsm_status check_finite(const lcsm_import_source *src, const lcsm_named_tensor *t,
                                lcsm_error *err)
{
    size_t bad = src->options.allow_nonfinite ? 0 : lcsm_named_tensor_nonfinite(t);
    if (t->file != NULL) lcsm_file_release(t->file);
    if (bad == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_NUMBER,
                     "%s: %zu numbers of tensor %s are NaN or infinite; --allow-nonfinite accepts "
                     "them",
                     src->label, bad, t->name);
}

/* ---- numbers ---------------------------------------------------------------------------- */

/* In place: each x (rows, cols) of a block of n becomes (cols, rows). */
static lcsm_status transpose(float *x, size_t n, size_t rows, size_t cols, lcsm_error *err)
{
    float *copy = malloc(rows * cols * sizeof *copy + 1);
    if (copy == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to transpose a tensor");
    for (; n > 0; n--, x += rows * cols) {
        memcpy(copy, x, rows * cols * sizeof *copy);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++) x[c * rows + r] = copy[r * cols + c];
    }
    free(copy);
    return LCSM_OK;
}

static lcsm_status log_rates(float *x, size_t count, const lcsm_import_source *src,
                             const char *name, lcsm_error *err)
{
    for (size_t j = 0; j < count; j++) {
        if (!(x[j] < 0))
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s: tensor %s has %g at %zu; expected less than 0", src->label, name,
                             (double)x[j], j);
        x[j] = logf(-x[j]);
    }
    return LCSM_OK;
}

/* Halves of a head's rows become pairs: as rows of a group, (2, K / 2) becomes (K / 2, 2). */
static lcsm_status pair_rows(float *x, const lcsm_param *p, size_t heads, lcsm_error *err)
{
    size_t cols = p->count / (size_t)p->shape.dim[0], K = (size_t)p->shape.dim[0] / heads;
    float *copy = malloc(K * cols * sizeof *copy + 1);
    if (copy == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to reorder a tensor");
    for (size_t h = 0; h < heads; h++, x += K * cols) {
        memcpy(copy, x, K * cols * sizeof *copy);
        for (size_t r = 0; r < K; r++)
            memcpy(x + r * cols, copy + (r / 2 + r % 2 * (K / 2)) * cols, cols * sizeof *copy);
    }
    free(copy);
    return LCSM_OK;
}

/* The rows of a part, group by group. */
static lcsm_status read_rows(float *to, const lcsm_param *p, const lcsm_named_tensor *t,
                             const lcsm_import_part *part, lcsm_error *err)
{
    lcsm_named_tensor row = *t;
    size_t            count, bytes;
    lcsm_status       st   = LCSM_OK;
    size_t            take = (size_t)(p->shape.dim[0] / part->groups);
    row.shape[0]           = take;
    if (!lcsm_named_tensor_measure(t, &count, &bytes) || t->shape[0] == 0) return LCSM_OK;
    bytes /= t->shape[0];
    for (ptrdiff_t g = 0; g < part->groups; g++) {
        size_t first = (size_t)(g * part->stride + part->first);
        row.data     = (const unsigned char *)t->data + first * bytes;
        LCSM_OR_RETURN(lcsm_named_tensor_f32(to, &row, err));
        to += p->count / (size_t)part->groups;
    }
    return st;
}

/* One row of what has `stride` of them. */
static lcsm_status read_row(float *to, const lcsm_param *p, const lcsm_named_tensor *t,
                            const lcsm_import_part *part, lcsm_error *err)
{
    lcsm_named_tensor row = *t;
    size_t            count, bytes;
    if (!lcsm_named_tensor_measure(t, &count, &bytes)) return LCSM_OK;
    row.rank     = 1;
    row.shape[0] = p->count;
    row.data = (const unsigned char *)t->data + bytes / (size_t)part->stride * (size_t)part->first;
    return lcsm_named_tensor_f32(to, &row, err);
}

/* The rows of one expert. */
static lcsm_status read_expert(float *to, const lcsm_param *p, const lcsm_named_tensor *t,
                               const lcsm_import_part *part, int expert, lcsm_error *err)
{
    lcsm_named_tensor rows = *t;
    size_t            count, bytes;
    if (!lcsm_named_tensor_measure(t, &count, &bytes) || expert >= part->groups) return LCSM_OK;
    bytes /= t->shape[0] * t->shape[1];
    rows.rank     = 2;
    rows.shape[0] = (size_t)p->shape.dim[0];
    rows.shape[1] = (size_t)p->shape.dim[1];
    rows.data =
        (const unsigned char *)t->data + (size_t)(expert * part->stride + part->first) * bytes;
    return lcsm_named_tensor_f32(to, &rows, err);
}

/* The five mixes of RWKV-6, theirs in the order r, w, k, v, g, ours in w, k, v, r, g: ours
 * [5, n, r] from theirs [n, 5, r], or [5, n r] from [5, n r]. */
static lcsm_status order_mixes(float *x, size_t n, size_t r, bool columns, lcsm_error *err)
{
    static const size_t FROM[] = {1, 2, 3, 0, 4};
    float              *copy   = malloc(5 * n * r * sizeof *copy + 1);
    if (copy == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to reorder a tensor");
    memcpy(copy, x, 5 * n * r * sizeof *copy);
    for (size_t j = 0; j < COUNT(FROM); j++)
        for (size_t k = 0; k < n; k++, x += r)
            memcpy(x, copy + (columns ? k * COUNT(FROM) + FROM[j] : FROM[j] * n + k) * r,
                   r * sizeof *copy);
    free(copy);
    return LCSM_OK;
}

static lcsm_status read_numbers(float *to, const lcsm_param *p, const match_of *m,
                                const lcsm_named_tensor *t, const lcsm_import_plan *plan,
                                lcsm_error *err)
{
    const lcsm_import_part *part = &plan->parts[m->rule->part];
    if (m->rule->how == LCSM_TAKE_ROW) return read_row(to, p, t, part, err);
    if (m->rule->how == LCSM_TAKE_EXPERT) return read_expert(to, p, t, part, m->is.n[1], err);
    if (m->rule->part > 0 && m->rule->how != LCSM_TAKE_PAIRS) return read_rows(to, p, t, part, err);
    return lcsm_named_tensor_f32(to, t, err);
}

/* What is done with numbers in place. */
static lcsm_status convert(float *to, const lcsm_param *p, const match_of *m,
                           const lcsm_named_tensor *want, const lcsm_import_source *src,
                           const lcsm_import_plan *plan, lcsm_error *err)
{
    lcsm_take how = m->rule->how;
    bool      log = how == LCSM_TAKE_LOG_RATE || how == LCSM_TAKE_LOG_RATE_COLUMNS;
    if (log && log_rates(to, p->count, src, m->theirs, err) != LCSM_OK) return LCSM_ERR_FORMAT;
    if (how == LCSM_TAKE_COLUMNS || how == LCSM_TAKE_LOG_RATE_COLUMNS)
        return transpose(to, 1, want->shape[0], want->shape[1], err);
    if (how == LCSM_TAKE_BLOCKS)
        return transpose(to, want->shape[0], want->shape[1], want->shape[2], err);
    if (how == LCSM_TAKE_PAIRS)
        return pair_rows(to, p, (size_t)plan->parts[m->rule->part].groups, err);
    if (how == LCSM_TAKE_RWKV6_UP)
        return order_mixes(to, want->shape[0], want->shape[1] / 5, true, err);
    if (how == LCSM_TAKE_RWKV6_DOWN)
        return order_mixes(to, want->shape[0] / 5, want->shape[1], false, err);
    bool rescaled = plan->rescale_every > 0
                 && (how == LCSM_TAKE_UNDIVIDED
                     || (how == LCSM_TAKE_RESCALED && src->options.rwkv_rescaled));
    for (size_t j = 0; j < p->count && rescaled; j++)
        to[j] = ldexpf(to[j], m->is.n[0] / (int)plan->rescale_every);
    for (size_t j = 0; j < p->count && how == LCSM_TAKE_PLUS_ONE; j++) to[j] += 1;
    double scale = how == LCSM_TAKE_QUERY     ? plan->query_scale
                 : how == LCSM_TAKE_LAST_NORM ? plan->logit_scale
                                              : 1;
    for (size_t j = 0; j < p->count && scale != 1; j++) to[j] = (float)((double)to[j] * scale);
    return LCSM_OK;
}

/* ---- parameters ------------------------------------------------------------------------- */

float lcsm_rule_constant(const lcsm_import_rule *rule, size_t j, size_t n)
{
    return rule->how == LCSM_TAKE_ROPE ? (float)pow(10000, -(double)j / (double)n) : 0;
}

/* What no tensor gives: angles, or constants of the model. */
static lcsm_status take_none(lcsm_params *params, int row, const match_of *m, lcsm_error *err)
{
    const lcsm_param *p  = &params->list[row];
    float            *to = lcsm_param_values(params, row);
    if (m->rule == NULL && (p->flags & LCSM_PARAM_FROZEN) == 0)
        return lcsm_fail(err, LCSM_ERR_INTERNAL, "no rule for parameter %s", p->name);
    if (to == NULL) return LCSM_OK;
    if (m->rule == NULL) return lcsm_params_fill(params, row, err);
    for (size_t j = 0; j < p->count; j++) to[j] = lcsm_rule_constant(m->rule, j, p->count);
    return LCSM_OK;
}

/* One parameter; while there are no values its tensor is only checked. */
static lcsm_status take(const lcsm_import_source *src, const lcsm_import_plan *plan,
                        const lcsm_release *release, lcsm_params *params, int row, lcsm_error *err)
{
    const lcsm_param *p  = &params->list[row];
    float            *to = lcsm_param_values(params, row);
    match_of          m;
    lcsm_status       st = LCSM_OK;
    find_rule(&m, src, plan, release, p->name);
    if (m.rule == NULL || m.rule->theirs == NULL) return take_none(params, row, &m, err);
    lcsm_named_tensor want = lcsm_rule_shape(p, m.rule, m.theirs, plan);
    LCSM_OR_RETURN(check_tensor(src, &want, &m, err));
    src->used[m.at] = true;
    if (to == NULL) return check_finite(src, &src->list[m.at], err);
    LCSM_OR_RETURN(read_numbers(to, p, &m, &src->list[m.at], plan, err));
    LCSM_OR_RETURN(convert(to, p, &m, &want, src, plan, err));
    return st;
}

static lcsm_status take_all(const lcsm_import_source *src, const lcsm_import_plan *plan,
                            const lcsm_release *release, lcsm_params *params, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < params->count; j++)
        LCSM_OR_RETURN(take(src, plan, release, params, (int)j, err));
    return st;
}

static lcsm_status check_extra(const lcsm_import_source *src, lcsm_error *err)
{
    for (size_t j = 0; j < src->count && !src->options.ignore_extra; j++)
        if (!src->used[j])
            return lcsm_fail(
                err, LCSM_ERR_FORMAT,
                "%s: tensor %.80s is not part of this architecture; --ignore-extra skips it",
                src->label, src->list[j].name);
    return LCSM_OK;
}

lcsm_status lcsm_import_check_tensors(const lcsm_import_source *src, const lcsm_import_plan *plan,
                                      const lcsm_release *release, lcsm_error *err)
{
    lcsm_params *params = NULL;
    lcsm_status  st;
    LCSM_TRY(lcsm_model_list(&params, src->ctx, &plan->cfg, 0, err));
    LCSM_TRY(take_all(src, plan, release, params, err));
    LCSM_TRY(check_extra(src, err));
cleanup:
    lcsm_params_free(params);
    return st;
}

lcsm_status lcsm_import_tensors(lcsm_params **out, const lcsm_import_source *src,
                                const lcsm_import_plan *plan, const lcsm_release *release,
                                lcsm_error *err)
{
    lcsm_params *params = NULL;
    lcsm_status  st     = LCSM_OK;
    LCSM_TRY(lcsm_model_list(&params, src->ctx, &plan->cfg, 0, err));
    LCSM_TRY(take_all(src, plan, release, params, err));
    LCSM_TRY(check_extra(src, err));
    params->blank = true;
    LCSM_TRY(lcsm_params_reserve(params, false, err));
    LCSM_TRY(take_all(src, plan, release, params, err));
    *out   = params;
    params = NULL;
cleanup:
    lcsm_params_free(params);
    return st;
}
