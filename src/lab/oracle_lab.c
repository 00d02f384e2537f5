/* oracle_lab.c - arrays of a case as tensors: inputs, constants, outputs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/oracle_binding.h"

/* ---- memory ----------------------------------------------------------------------------- */

typedef struct room {
    struct room *next;
    double       data[];
} room;

void *lcsm_lab_take(lcsm_lab *lab, size_t count, size_t size)
{
    room *r = calloc(1, sizeof *r + count * size + sizeof(double));
    if (r == NULL) {
        lcsm_graph_fail(lab->g, LCSM_ERR_MEMORY, "not enough memory for a case");
        return NULL;
    }
    r->next   = lab->room;
    lab->room = r;
    return r->data;
}

void lcsm_lab_give_back(lcsm_lab *lab)
{
    for (room *r = lab->room, *next; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    lab->room = NULL;
}

static void add_binding(lcsm_lab *lab, binding b)
{
    if (lab->bindings < MAX_BINDINGS) lab->binding[lab->bindings++] = b;
    else
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "a case of more than %d tensors",
                        (int)MAX_BINDINGS);
}

/* ---- inputs and settings ---------------------------------------------------------------- */

bool lcsm_lab_has(const lcsm_lab *lab, const char *name)
{
    return lcsm_oracle_find(&lab->c->inputs, name) != NULL;
}

bool lcsm_lab_wants(const lcsm_lab *lab, const char *output)
{
    return lcsm_oracle_find(&lab->c->outputs, output) != NULL;
}

const lcsm_oracle_array *lcsm_lab_array(lcsm_lab *lab, const char *name)
{
    const lcsm_oracle_array *a = lcsm_oracle_find(&lab->c->inputs, name);
    if (a == NULL) lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the input %s is missing", name);
    return a;
}

ptrdiff_t lcsm_lab_dim(lcsm_lab *lab, const char *name, int axis)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    if (a == NULL) return 1;
    if (axis < a->rank) return a->dim[axis];
    lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the input %s has %d axes; expected more than %d",
                    name, a->rank, axis);
    return 1;
}

static lcsm_shape shape_of(const lcsm_oracle_array *a, lab_layout layout)
{
    lcsm_shape s = {.rank = 0};
    if (layout == PLANES) s.dim[s.rank++] = 2;
    for (int j = 0; j < a->rank; j++) s.dim[s.rank++] = a->dim[j];
    if (layout == SWAPPED && s.rank >= 2) {
        s.dim[s.rank - 2] = a->dim[s.rank - 1];
        s.dim[s.rank - 1] = a->dim[s.rank - 2];
    }
    if (s.rank == 0) s.dim[s.rank++] = 1;
    if (a->is_complex && layout <= SWAPPED && s.rank < LCSM_MAX_RANK) s.dim[s.rank++] = 2;
    return s;
}

static lcsm_tensor *input(lcsm_lab *lab, const char *name, lab_layout layout)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    if (a == NULL) return NULL;
    for (size_t j = 0; j < lab->bindings; j++) {
        binding *b = &lab->binding[j];
        if (b->kind == INPUT && b->array == a && b->layout == layout) return b->t;
    }
    lcsm_tensor *t = lcsm_input(lab->g, name, lab->dtype, shape_of(a, layout));
    bool         g = lcsm_oracle_find(&lab->c->grads, name) != NULL;
    add_binding(lab, (binding){.kind   = INPUT,
                               .array  = a,
                               .t      = t,
                               .layout = layout,
                               .count  = layout >= LOG ? a->count : a->numbers});
    if (g && t != NULL) lcsm_keep_grad(lab->g, t);
    return t;
}

lcsm_tensor *lcsm_lab_in(lcsm_lab *lab, const char *name)
{
    return input(lab, name, AS_GIVEN);
}

lcsm_tensor *lcsm_lab_in_swapped(lcsm_lab *lab, const char *name)
{
    return input(lab, name, SWAPPED);
}

lcsm_tensor *lcsm_lab_in_planes(lcsm_lab *lab, const char *name)
{
    return input(lab, name, PLANES);
}

lcsm_tensor *lcsm_lab_in_log(lcsm_lab *lab, const char *name)
{
    return input(lab, name, LOG);
}

lcsm_tensor *lcsm_lab_in_phase(lcsm_lab *lab, const char *name)
{
    return input(lab, name, PHASE);
}

lcsm_tensor *lcsm_lab_in_as(lcsm_lab *lab, const char *name, lab_layout layout)
{
    return input(lab, name, layout);
}

lcsm_tensor *lcsm_lab_param(lcsm_lab *lab, const char *param)
{
    int row = lcsm_params_find(lab->params, param);
    if (row < 0) return lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "no parameter %s", param);
    const lcsm_param *p = &lab->params->list[row];
    char              name[160];
    (void)snprintf(name, sizeof name, "/%s", param);
    return lcsm_param_tensor(lab->g, name, p->shape, p->init, p->flags);
}

bool lcsm_lab_is_bound(const lcsm_lab *lab, const lcsm_tensor *t)
{
    for (size_t j = 0; j < lab->bindings; j++)
        if (lab->binding[j].t == t && lab->binding[j].kind <= CONSTANT) return true;
    return false;
}

void lcsm_lab_in_param_as(lcsm_lab *lab, const char *name, const char *param, lab_layout layout,
                          double factor, size_t to)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    lcsm_tensor             *t = lcsm_lab_param(lab, param);
    if (a == NULL || t == NULL) return;
    if (to + a->numbers > (size_t)lcsm_tensor_count(t)) {
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the input %s has %zu numbers, %s wants %td", name,
                        a->numbers, param, lcsm_tensor_count(t));
        return;
    }
    add_binding(lab, (binding){.kind   = INPUT,
                               .array  = a,
                               .t      = t,
                               .layout = layout,
                               .factor = factor,
                               .to     = to,
                               .count  = a->numbers});
}

void lcsm_lab_in_part(lcsm_lab *lab, const char *name, size_t first, size_t count,
                      const char *param, size_t to)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    lcsm_tensor             *t = lcsm_lab_param(lab, param);
    if (a == NULL || t == NULL) return;
    if (first + count > a->numbers || to + count > (size_t)lcsm_tensor_count(t))
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the input %s does not fit %s", name, param);
    else
        add_binding(
            lab,
            (binding){.kind = INPUT, .array = a, .t = t, .first = first, .to = to, .count = count});
}

void lcsm_lab_in_param(lcsm_lab *lab, const char *name, const char *param)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    const lcsm_tensor       *t = lcsm_lab_param(lab, param);
    if (a == NULL || t == NULL) return;
    if ((size_t)lcsm_tensor_count(t) != a->numbers)
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the input %s has %zu numbers, %s has %td", name,
                        a->numbers, param, lcsm_tensor_count(t));
    lcsm_lab_in_param_as(lab, name, param, AS_GIVEN, 1, 0);
}

lcsm_tensor *lcsm_lab_seq(lcsm_lab *lab, const char *name)
{
    lcsm_tensor *t = input(lab, name, AS_GIVEN);
    ptrdiff_t    T = lcsm_lab_dim(lab, name, 0), C = lcsm_lab_dim(lab, name, 1);
    return t == NULL ? NULL : lcsm_reshape(lab->g, t, lcsm_dims(1, T, C));
}

double lcsm_lab_number(lcsm_lab *lab, const char *key, double fallback)
{
    const json_t *value = json_object_get(lab->c->config, key);
    if (json_is_number(value)) return json_number_value(value);
    if (value != NULL || isnan(fallback))
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the setting %s is %s; expected a number", key,
                        value == NULL ? "missing" : "something else");
    return isnan(fallback) ? 1 : fallback;
}

const char *lcsm_lab_text(lcsm_lab *lab, const char *key, const char *fallback)
{
    const json_t *value = json_object_get(lab->c->config, key);
    return json_is_string(value) ? json_string_value(value) : fallback;
}

void lcsm_lab_list(lcsm_lab *lab, const char *key, double *to, size_t count)
{
    const json_t *list = json_object_get(lab->c->config, key);
    if (json_array_size(list) != count)
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the setting %s has %zu numbers; expected %zu",
                        key, json_array_size(list), count);
    for (size_t j = 0; j < count; j++) to[j] = json_number_value(json_array_get(list, j));
}

/* ---- constants -------------------------------------------------------------------------- */

static void bind_constant(lcsm_lab *lab, lcsm_tensor *t, const double *from, size_t step)
{
    if (t == NULL) return;
    size_t  count   = (size_t)lcsm_tensor_count(t);
    double *numbers = lcsm_lab_take(lab, count, sizeof *numbers);
    if (numbers == NULL) return;
    for (size_t j = 0; j < count; j++) numbers[j] = from[j * step];
    add_binding(lab, (binding){.kind = CONSTANT, .t = t, .numbers = numbers, .count = count});
}

static lcsm_tensor *constant(lcsm_lab *lab, lcsm_dtype dtype, lcsm_shape shape, const double *from,
                             size_t step)
{
    lcsm_tensor *t = lcsm_input(lab->g, "constant", dtype, shape);
    bind_constant(lab, t, from, step);
    return t;
}

void lcsm_lab_set(lcsm_lab *lab, lcsm_tensor *input, const double *values)
{
    bind_constant(lab, input, values, 1);
}

lcsm_tensor *lcsm_lab_constant(lcsm_lab *lab, lcsm_shape shape, const double *values)
{
    return constant(lab, lab->dtype, shape, values, 1);
}

lcsm_tensor *lcsm_lab_fill(lcsm_lab *lab, lcsm_shape shape, double value)
{
    return constant(lab, lab->dtype, shape, &value, 0);
}

lcsm_tensor *lcsm_lab_integers(lcsm_lab *lab, lcsm_shape shape, const double *values)
{
    return constant(lab, LCSM_I32, shape, values, 1);
}

/* ---- outputs ---------------------------------------------------------------------------- */

static const lcsm_oracle_array *output(lcsm_lab *lab, const char *name, size_t count, size_t first)
{
    const lcsm_oracle_array *a = lcsm_oracle_find(&lab->c->outputs, name);
    if (a == NULL || first + count <= a->numbers) return a;
    lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the output %s has %zu numbers; expected %zu", name,
                    a->numbers, first + count);
    return NULL;
}

static void add_output(lcsm_lab *lab, const char *name, lcsm_tensor *t, lab_layout layout,
                       size_t first, bool whole)
{
    if (t == NULL) return;
    size_t                   n = (size_t)lcsm_tensor_count(t);
    const lcsm_oracle_array *a = output(lab, name, n, first);
    if (a == NULL) return;
    if (whole && n != a->numbers)
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the output %s has %zu numbers; expected %zu",
                        name, a->numbers, n);
    /* A view cannot be seeded apart from what it is a view of. */
    if (t->kind != LCSM_TENSOR_COMPUTED) t = lcsm_scale(lab->g, t, 1);
    if (t == NULL) return;
    lcsm_keep(lab->g, t);
    if (lcsm_oracle_find(&lab->c->dy, name) != NULL) lcsm_seed(lab->g, t);
    else if (strcmp(name, "loss") == 0 && lab->c->grads.count > 0) lcsm_loss(lab->g, t);
    add_binding(
        lab, (binding){
                 .kind = OUTPUT, .array = a, .t = t, .layout = layout, .first = first, .count = n});
}

void lcsm_lab_out(lcsm_lab *lab, const char *name, lcsm_tensor *t)
{
    add_output(lab, name, t, AS_GIVEN, 0, true);
}

void lcsm_lab_out_swapped(lcsm_lab *lab, const char *name, lcsm_tensor *t)
{
    add_output(lab, name, t, SWAPPED, 0, true);
}

void lcsm_lab_out_part(lcsm_lab *lab, const char *name, lcsm_tensor *t, ptrdiff_t index)
{
    if (t != NULL)
        add_output(lab, name, t, AS_GIVEN, (size_t)(index * lcsm_tensor_count(t)), false);
}

void lcsm_lab_out_derivative(lcsm_lab *lab, const char *name, lcsm_tensor *y, lcsm_tensor *x)
{
    if (y == NULL || x == NULL) return;
    const lcsm_oracle_array *a = output(lab, name, (size_t)lcsm_tensor_count(x), 0);
    if (a == NULL) return;
    lcsm_keep_grad(lab->g, x);
    lcsm_seed(lab->g, y);
    add_binding(lab,
                (binding){.kind = DERIVATIVE, .array = a, .t = x, .of = y, .count = a->numbers});
}

void lcsm_lab_out_numbers(lcsm_lab *lab, const char *name, const double *values, size_t count)
{
    const lcsm_oracle_array *a       = output(lab, name, count, 0);
    double                  *numbers = lcsm_lab_take(lab, count, sizeof *numbers);
    if (a == NULL || numbers == NULL) return;
    for (size_t j = 0; j < count; j++) numbers[j] = values[j];
    add_binding(lab, (binding){.kind = NUMBERS, .array = a, .numbers = numbers, .count = count});
}

void lcsm_lab_carry(lcsm_lab *lab, const char *in, const char *out)
{
    const lcsm_oracle_array *from = in == NULL ? NULL : lcsm_lab_array(lab, in);
    const lcsm_oracle_array *to   = lcsm_oracle_find(&lab->c->outputs, out);
    if (from != NULL)
        add_binding(
            lab,
            (binding){.kind = STATE_IN, .array = from, .layout = SWAPPED, .count = from->numbers});
    if (to != NULL)
        add_binding(
            lab,
            (binding){.kind = STATE_OUT, .array = to, .layout = SWAPPED, .count = to->numbers});
}
