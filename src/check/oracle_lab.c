/* oracle_lab.c - arrays of a case as tensors, the run, and the comparison. */
#include "check/oracle_lab.h"

#include <complex.h>
#undef complex /* a name of ours */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BINDINGS = 1024 };

typedef enum {
    INPUT,      /* of the file, as a tensor */
    TAPED,      /* of the file, as numbers of the tape: names */
    CONSTANT,   /* made by the builder: numbers */
    FROM_TAPE,  /* a tensor whose numbers come from the tape: names, part */
    OUTPUT,     /* a tensor that the file has */
    DERIVATIVE, /* an output that is the gradient of an input: of = the output it belongs to */
    NUMBERS,    /* an output that was made without a graph */
    STATE_IN,   /* an input that the carried state starts from */
    STATE_OUT,  /* an output that the carried state ends as */
} lab_kind;

/* How the axes of an array lie in its tensor. */
typedef enum { AS_GIVEN, SWAPPED, PLANES } lab_layout;

struct lab_binding {
    lab_kind                 kind;
    const lcsm_oracle_array *array; /* of the file, or NULL */
    lcsm_tensor             *t, *of;
    lab_layout               layout;
    size_t                   first; /* number of the array where a part starts */
    double                  *numbers;
    const int               *names;
    lcsm_lab_part            part;
    size_t                   count; /* numbers */
};

typedef struct lab_binding binding;

/* ---- memory ----------------------------------------------------------------------------- */

typedef struct room {
    struct room *next;
    double       data[];
} room;

void *lcsm_lab_take(lcsm_lab *lab, size_t count, size_t size)
{
    room *r = calloc(1, sizeof *r + count * size + sizeof(double));
    if (r == NULL) {
        lcsm_graph_fail(lab->g, LCSM_ERR_MEMORY, "no room for a case");
        return NULL;
    }
    r->next   = lab->room;
    lab->room = r;
    return r->data;
}

static void free_rooms(lcsm_lab *lab)
{
    for (room *r = lab->room, *next; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    lab->room = NULL;
}

static binding *bind(lcsm_lab *lab, binding b)
{
    static binding nowhere;
    if (lab->bindings == MAX_BINDINGS) {
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "a case of more than %d tensors",
                        (int)MAX_BINDINGS);
        return &nowhere;
    }
    lab->binding[lab->bindings] = b;
    return &lab->binding[lab->bindings++];
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
    lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the input %s has %d axes, want more than %d", name,
                    a->rank, axis);
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
    if (a->complex && layout != PLANES && s.rank < LCSM_MAX_RANK) s.dim[s.rank++] = 2;
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
    bind(lab, (binding){.kind = INPUT, .array = a, .t = t, .layout = layout, .count = a->numbers});
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
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the setting %s is %s, want a number", key,
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
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the setting %s has %zu numbers, want %zu", key,
                        json_array_size(list), count);
    for (size_t j = 0; j < count; j++) to[j] = json_number_value(json_array_get(list, j));
}

/* ---- constants -------------------------------------------------------------------------- */

static double *add_constant(lcsm_lab *lab, lcsm_dtype dtype, lcsm_shape shape, lcsm_tensor **t)
{
    *t = lcsm_input(lab->g, "constant", dtype, shape);
    if (*t == NULL) return NULL;
    size_t  count   = (size_t)lcsm_tensor_count(*t);
    double *numbers = lcsm_lab_take(lab, count, sizeof *numbers);
    if (numbers == NULL) return NULL;
    bind(lab, (binding){.kind = CONSTANT, .t = *t, .numbers = numbers, .count = count});
    return numbers;
}

static lcsm_tensor *constant(lcsm_lab *lab, lcsm_dtype dtype, lcsm_shape shape, const double *from,
                             size_t step)
{
    lcsm_tensor *t;
    double      *numbers = add_constant(lab, dtype, shape, &t);
    for (ptrdiff_t j = 0; numbers != NULL && j < lcsm_tensor_count(t); j++)
        numbers[j] = from[(size_t)j * step];
    return t;
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

/* ---- the tape --------------------------------------------------------------------------- */

int *lcsm_lab_taped_in(lcsm_lab *lab, const char *name)
{
    const lcsm_oracle_array *a     = lcsm_lab_array(lab, name);
    int                     *names = lcsm_lab_take(lab, a == NULL ? 1 : a->count, sizeof *names);
    if (a == NULL || names == NULL) return NULL;
    for (size_t j = 0; j < a->count; j++)
        names[j] =
            lcsm_tape_number(&lab->tape, a->complex ? CMPLX(a->data[2 * j], a->data[2 * j + 1])
                                                    : CMPLX(a->data[j], 0));
    bind(lab, (binding){.kind = TAPED, .array = a, .names = names, .count = a->count});
    return names;
}

lcsm_tensor *lcsm_lab_from_tape(lcsm_lab *lab, const int *names, lcsm_shape shape,
                                lcsm_lab_part part)
{
    if (part == LAB_PAIR) shape.dim[shape.rank++] = 2;
    lcsm_tensor *t = lcsm_input(lab->g, "prepared", lab->dtype, shape);
    if (t == NULL) return NULL;
    lcsm_keep_grad(lab->g, t);
    size_t count = (size_t)lcsm_tensor_count(t) / (part == LAB_PAIR ? 2 : 1);
    bind(lab, (binding){.kind = FROM_TAPE, .t = t, .names = names, .part = part, .count = count});
    return t;
}

/* ---- outputs ---------------------------------------------------------------------------- */

static const lcsm_oracle_array *output(lcsm_lab *lab, const char *name, size_t count, size_t first)
{
    const lcsm_oracle_array *a = lcsm_oracle_find(&lab->c->outputs, name);
    if (a == NULL || first + count <= a->numbers) return a;
    lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the output %s has %zu numbers, it should have %zu",
                    name, a->numbers, first + count);
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
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT,
                        "the output %s has %zu numbers, it should have %zu", name, a->numbers, n);
    /* A view cannot be seeded apart from what it is a view of. */
    if (t->kind != LCSM_TENSOR_COMPUTED) t = lcsm_scale(lab->g, t, 1);
    if (t == NULL) return;
    lcsm_keep(lab->g, t);
    if (lcsm_oracle_find(&lab->c->dy, name) != NULL) lcsm_seed(lab->g, t);
    else if (strcmp(name, "loss") == 0 && lab->c->grads.count > 0) lcsm_loss(lab->g, t);
    bind(lab,
         (binding){
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
    bind(lab, (binding){.kind = DERIVATIVE, .array = a, .t = x, .of = y, .count = a->numbers});
}

void lcsm_lab_out_numbers(lcsm_lab *lab, const char *name, const double *values, size_t count)
{
    const lcsm_oracle_array *a       = output(lab, name, count, 0);
    double                  *numbers = lcsm_lab_take(lab, count, sizeof *numbers);
    if (a == NULL || numbers == NULL) return;
    for (size_t j = 0; j < count; j++) numbers[j] = values[j];
    bind(lab, (binding){.kind = NUMBERS, .array = a, .numbers = numbers, .count = count});
}

void lcsm_lab_out_taped(lcsm_lab *lab, const char *name, const int *names)
{
    const lcsm_oracle_array *a = output(lab, name, 0, 0);
    if (a == NULL || lab->tape.failed) return;
    double *numbers = lcsm_lab_take(lab, a->numbers, sizeof *numbers);
    if (numbers == NULL) return;
    for (size_t j = 0; j < a->count; j++) {
        double _Complex z = lab->tape.node[names[j]].value;
        if (a->complex) {
            numbers[2 * j]     = creal(z);
            numbers[2 * j + 1] = cimag(z);
        } else {
            numbers[j] = creal(z);
        }
    }
    bind(lab, (binding){.kind = NUMBERS, .array = a, .numbers = numbers, .count = a->numbers});
}

void lcsm_lab_carry(lcsm_lab *lab, const char *in, const char *out)
{
    const lcsm_oracle_array *from = in == NULL ? NULL : lcsm_lab_array(lab, in);
    const lcsm_oracle_array *to   = lcsm_oracle_find(&lab->c->outputs, out);
    if (from != NULL)
        bind(lab,
             (binding){.kind = STATE_IN, .array = from, .layout = SWAPPED, .count = from->numbers});
    if (to != NULL)
        bind(lab,
             (binding){.kind = STATE_OUT, .array = to, .layout = SWAPPED, .count = to->numbers});
}

/* ---- tensors and arrays ----------------------------------------------------------------- */

static double get_number(lcsm_dtype dtype, const void *data, ptrdiff_t at)
{
    return dtype == LCSM_F64 ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

static void set_number(lcsm_dtype dtype, void *data, ptrdiff_t at, double x)
{
    if (dtype == LCSM_F64) ((double *)data)[at] = x;
    else if (dtype == LCSM_F32) ((float *)data)[at] = (float)x;
    else ((int32_t *)data)[at] = (int32_t)x;
}

static double get(const lcsm_tensor *t, const void *data, size_t j)
{
    return get_number(t->dtype, data, (ptrdiff_t)j / t->cols * t->ld + (ptrdiff_t)j % t->cols);
}

static void set(const lcsm_tensor *t, void *data, size_t j, double x)
{
    set_number(t->dtype, data, (ptrdiff_t)j / t->cols * t->ld + (ptrdiff_t)j % t->cols, x);
}

/* Number j of a tensor is this number of its array. */
static size_t place(const binding *b, size_t j)
{
    const lcsm_oracle_array *a = b->array;
    if (b->layout == PLANES) return j % a->count * 2 + j / a->count;
    if (b->layout != SWAPPED || a->rank < 2) return b->first + j;
    size_t width = a->complex ? 2 : 1, rows = (size_t)a->dim[a->rank - 2];
    size_t cols = (size_t)a->dim[a->rank - 1], element = j / width;
    size_t outer = element / (rows * cols), inner = element % (rows * cols);
    size_t row = inner % rows, col = inner / rows;
    return ((outer * rows + row) * cols + col) * width + j % width;
}

static void fill_from_tape(const lcsm_lab *lab, const binding *b)
{
    for (size_t k = 0; k < b->count; k++) {
        double _Complex z = lab->tape.node[b->names[k]].value;
        if (b->part == LAB_PAIR) {
            set(b->t, b->t->data, 2 * k, creal(z));
            set(b->t, b->t->data, 2 * k + 1, cimag(z));
        } else {
            set(b->t, b->t->data, k, b->part == LAB_REAL ? creal(z) : cimag(z));
        }
    }
}

static void fill(lcsm_lab *lab)
{
    if (lab->state != NULL) lcsm_state_clear(lab->state);
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        for (size_t k = 0; k < b->count; k++) {
            if (b->kind == INPUT) set(b->t, b->t->data, k, b->array->data[place(b, k)]);
            if (b->kind == CONSTANT) set(b->t, b->t->data, k, b->numbers[k]);
            if (b->kind == STATE_IN)
                set_number(lab->dtype, lcsm_state_data(lab->state, 0), (ptrdiff_t)k,
                           b->array->data[place(b, k)]);
        }
        if (b->kind == FROM_TAPE) fill_from_tape(lab, b);
    }
}

/* ---- comparing -------------------------------------------------------------------------- */

/* 1e-9 in double: what the recorded gradients, fourth-order differences, are good for. 2e-5 in
 * float, and for what others recorded in float32: some hundred roundings of 6e-8. */
double lcsm_lab_bound(const lcsm_lab *lab)
{
    return lab->dtype == LCSM_F64 && !lab->c->single ? 1e-9 : 2e-5;
}

static void compare(const lcsm_lab *lab, const lcsm_oracle_array *a, size_t at, double got,
                    double *slot, lcsm_lab_result *r)
{
    double want  = a->data[at];
    double scale = lab->dtype == LCSM_F64 && !lab->c->single ? 1 : 1 + fabs(want);
    double error = isfinite(got) ? fabs(got - want) / scale : INFINITY;
    if (isnan(*slot)) *slot = 0;
    if (error <= *slot) return;
    *slot = error;
    if (error >= fmax(isnan(r->output) ? 0 : r->output, isnan(r->gradient) ? 0 : r->gradient))
        (void)snprintf(r->worst, sizeof r->worst, "%s%.40s", slot == &r->gradient ? "d" : "",
                       a->name);
}

static void mention(lcsm_lab_result *r, const char *prefix, const char *name)
{
    size_t used = strlen(r->compared);
    (void)snprintf(r->compared + used, sizeof r->compared - used, "%s%s%s", used > 0 ? " " : "",
                   prefix, name);
}

static double result(const lcsm_lab *lab, const binding *b, size_t k)
{
    if (b->kind == OUTPUT) return get(b->t, b->t->data, k);
    if (b->kind == NUMBERS) return b->numbers[k];
    return get_number(lab->dtype, lcsm_state_data(lab->state, 0), (ptrdiff_t)k);
}

static void compare_outputs(const lcsm_lab *lab, lcsm_lab_result *r)
{
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != OUTPUT && b->kind != NUMBERS && b->kind != STATE_OUT) continue;
        for (size_t k = 0; k < b->count; k++)
            compare(lab, b->array, place(b, k), result(lab, b, k), &r->output, r);
        if (b->first == 0) mention(r, "", b->array->name);
    }
}

/* The seeds of all outputs: those of the file, or ones for one tensor and zeros elsewhere. */
static void seed(lcsm_lab *lab, const lcsm_tensor *only)
{
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind == DERIVATIVE)
            for (size_t k = 0; k < (size_t)lcsm_tensor_count(b->of); k++)
                set(b->of, b->of->grad, k, b->of == only ? 1 : 0);
    }
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != OUTPUT || !b->t->seed || only != NULL) continue;
        const lcsm_oracle_array *dy = lcsm_oracle_find(&lab->c->dy, b->array->name);
        for (size_t k = 0; k < b->count; k++)
            set(b->t, b->t->grad, k, dy == NULL ? 0 : dy->data[place(b, k)]);
    }
}

static void tape_backward(lcsm_lab *lab)
{
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != FROM_TAPE) continue;
        for (size_t k = 0; k < b->count; k++) {
            bool   pair       = b->part == LAB_PAIR;
            double re         = get(b->t, b->t->grad, pair ? 2 * k : k);
            double _Complex g = b->part == LAB_IMAG ? CMPLX(0, re) : CMPLX(re, 0);
            if (pair) g = CMPLX(re, get(b->t, b->t->grad, 2 * k + 1));
            lab->tape.node[b->names[k]].grad += g;
        }
    }
    lcsm_tape_backward(&lab->tape);
}

/* Adds what one use of an input gives to its gradient. */
static void add_gradient(const lcsm_lab *lab, const binding *b, double *sum)
{
    for (size_t k = 0; k < b->count; k++) {
        if (b->kind == INPUT) {
            sum[place(b, k)] += get(b->t, b->t->grad, k);
            continue;
        }
        double _Complex g = lab->tape.node[b->names[k]].grad;
        if (b->array->complex) {
            sum[2 * k] += creal(g);
            sum[2 * k + 1] += cimag(g);
        } else {
            sum[k] += creal(g);
        }
    }
}

static void compare_gradients(lcsm_lab *lab, lcsm_lab_result *r)
{
    tape_backward(lab);
    for (size_t j = 0; j < lab->c->grads.count; j++) {
        const lcsm_oracle_array *a   = &lab->c->grads.list[j];
        double                  *sum = lcsm_lab_take(lab, a->numbers, sizeof *sum);
        if (sum == NULL) return;
        for (size_t k = 0; k < lab->bindings; k++) {
            const binding *b = &lab->binding[k];
            if ((b->kind == INPUT || b->kind == TAPED) && strcmp(b->array->name, a->name) == 0)
                add_gradient(lab, b, sum);
        }
        for (size_t k = 0; k < a->numbers; k++) compare(lab, a, k, sum[k], &r->gradient, r);
        mention(r, "d", a->name);
    }
}

/* ---- running ---------------------------------------------------------------------------- */

/* Every gradient of the file has its input, of the same size, and every dy its output. */
static lcsm_status check_complete(const lcsm_lab *lab, lcsm_error *err)
{
    for (size_t j = 0; j < lab->c->grads.count; j++) {
        const lcsm_oracle_array *g = &lab->c->grads.list[j], *from = NULL;
        for (size_t k = 0; k < lab->bindings; k++) {
            const binding *b = &lab->binding[k];
            if ((b->kind == INPUT || b->kind == TAPED) && strcmp(b->array->name, g->name) == 0)
                from = b->array;
        }
        if (from == NULL || from->numbers != g->numbers)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "the gradient %s fits no input", g->name);
    }
    for (size_t j = 0; j < lab->c->dy.count; j++) {
        const lcsm_oracle_array *dy = &lab->c->dy.list[j], *to = NULL;
        for (size_t k = 0; k < lab->bindings; k++) {
            const binding *b = &lab->binding[k];
            if (b->kind == OUTPUT && strcmp(b->array->name, dy->name) == 0) to = b->array;
        }
        if (to == NULL || to->numbers != dy->numbers)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "dy of %s fits no output", dy->name);
    }
    return LCSM_OK;
}

static lcsm_status forward(lcsm_lab *lab, lcsm_error *err)
{
    const lcsm_run_options opt = {.state = lab->state};
    fill(lab);
    return lcsm_graph_forward(lab->g, &opt, err);
}

/* A state is made where the case starts from one or asks for one, and has the size it should. */
static lcsm_status make_state(lcsm_lab *lab, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != STATE_IN && b->kind != STATE_OUT) continue;
        if (lab->state == NULL) LCSM_TRY(lcsm_state_create(&lab->state, lab->g, err));
        ptrdiff_t count = 0;
        if (lab->state->count == 1) (void)lcsm_shape_count(&lab->state->list[0].shape, &count);
        if ((size_t)count != b->count)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "the carried state has %td numbers, %s has %zu",
                             count, b->array->name, b->count);
    }
cleanup:
    return st;
}

static lcsm_status run_derivatives(lcsm_lab *lab, lcsm_lab_result *r, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != DERIVATIVE) continue;
        LCSM_TRY(forward(lab, err));
        seed(lab, b->of);
        LCSM_TRY(lcsm_graph_backward(lab->g, NULL, err));
        for (size_t k = 0; k < b->count; k++)
            compare(lab, b->array, k, get(b->t, b->t->grad, k), &r->gradient, r);
        mention(r, "", b->array->name);
    }
cleanup:
    return st;
}

static lcsm_status run(lcsm_lab *lab, lcsm_lab_builder *build, lcsm_lab_result *r, lcsm_error *err)
{
    lcsm_status st    = LCSM_OK;
    bool        train = lab->c->grads.count > 0;
    build(lab);
    for (size_t j = 0; j < lab->bindings; j++) train = train || lab->binding[j].kind == DERIVATIVE;
    LCSM_TRY(lcsm_graph_plan(lab->g, &(lcsm_plan_options){.train = train}, err));
    if (lab->tape.failed) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a case");
    LCSM_TRY(check_complete(lab, err));
    LCSM_TRY(make_state(lab, err));
    LCSM_TRY(forward(lab, err));
    compare_outputs(lab, r);
    if (lab->c->grads.count > 0) {
        seed(lab, NULL);
        LCSM_TRY(lcsm_graph_backward(lab->g, NULL, err));
        compare_gradients(lab, r);
    }
    LCSM_TRY(run_derivatives(lab, r, err));
cleanup:
    return st;
}

lcsm_status lcsm_lab_run(lcsm_lab *lab, lcsm_lab_builder *build, lcsm_lab_result *out,
                         lcsm_error *err)
{
    lcsm_status  st     = LCSM_OK;
    lcsm_params *params = NULL;
    *out                = (lcsm_lab_result){.output = NAN, .gradient = NAN};
    lab->binding        = calloc(MAX_BINDINGS, sizeof *lab->binding);
    if (lab->binding == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for a case");
    LCSM_TRY(lcsm_params_create(&params, lab->dtype, 0, err));
    LCSM_TRY(lcsm_graph_create(&lab->g, lab->ctx, params, err));
    LCSM_TRY(run(lab, build, out, err));
cleanup:
    lcsm_state_free(lab->state);
    lcsm_graph_free(lab->g);
    lcsm_params_free(params);
    lcsm_tape_free(&lab->tape);
    free_rooms(lab);
    free(lab->binding);
    lab->state    = NULL;
    lab->g        = NULL;
    lab->binding  = NULL;
    lab->bindings = 0;
    return st;
}
