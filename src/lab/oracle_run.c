/* oracle_run.c - runs the graph of a case and compares it with what the file has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cplx.h"
#include "base/rng.h"
#include "lab/oracle_binding.h"

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
    if (b->layout == READ_BACK) {
        size_t P = (size_t)a->dim[a->rank - 1], col = j % (2 * P);
        return 2 * (j / (2 * P) * P + col % P) + (col >= P);
    }
    if (b->layout != SWAPPED || a->rank < 2) return b->first + j;
    size_t width = a->is_complex ? 2 : 1, rows = (size_t)a->dim[a->rank - 2];
    size_t cols = (size_t)a->dim[a->rank - 1], element = j / width;
    size_t outer = element / (rows * cols), inner = element % (rows * cols);
    size_t row = inner % rows, col = inner / rows;
    return ((outer * rows + row) * cols + col) * width + j % width;
}

/* Number k of an input's tensor before its factor, and what it grows by with its number x. */
static double input_number(const binding *b, size_t k, double *slope)
{
    const double *z = b->array->data;
    *slope          = 1;
    if (b->layout == LOG) return log(lcsm_hypot(z[2 * k], z[2 * k + 1]));
    if (b->layout == PHASE) return atan2(z[2 * k + 1], z[2 * k]);
    double x = z[place(b, k)];
    switch (b->layout) {
    case READ_BACK: *slope = place(b, k) % 2 == 0 ? 2 : -2; return *slope * x;
    case LN: *slope = 1 / x; return log(x);
    case LN_NEGATIVE: *slope = 1 / x; return log(-x);
    case LOGIT: *slope = 1 / (x * (1 - x)); return log(x / (1 - x));
    case LOGIT_OF_THREE: *slope = 1 / (x * (1 - x)); return log(2 * x / (1 - x));
    default: return x;
    }
}

static double factor_of(const binding *b)
{
    return b->factor == 0 ? 1 : b->factor;
}

static double nudged(const lcsm_lab *lab, size_t j, size_t k, double x)
{
    if (lab->nudge == 0) return x;
    return x * (1 + 0x1p-24 * (2 * lcsm_rng_uniform(lab->nudge, (uint32_t)j, k) - 1));
}

static void fill(lcsm_lab *lab)
{
    double slope;
    if (lab->state != NULL) lcsm_state_clear(lab->state);
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        for (size_t k = 0; k < b->count; k++) {
            if (b->kind == INPUT)
                set(b->t, b->t->data, b->to + k,
                    nudged(lab, j, k, factor_of(b) * input_number(b, k, &slope)));
            if (b->kind == CONSTANT) set(b->t, b->t->data, k, b->numbers[k]);
            if (b->kind == STATE_IN)
                set_number(lab->dtype, lcsm_state_data(lab->state, 0), (ptrdiff_t)k,
                           b->array->data[place(b, k)]);
        }
    }
}

/* ---- comparing -------------------------------------------------------------------------- */

/* The number of the trace that got is held against; a first run is held against itself. */
static double traced(lcsm_lab *lab, double got)
{
    lcsm_lab_trace *t = lab->trace;
    if (t->known) return t->next < t->count ? t->numbers[t->next++] : NAN;
    if (t->count == t->room) {
        size_t  room = 2 * t->room + 1024;
        double *more = realloc(t->numbers, room * sizeof *more);
        if (more == NULL) return NAN;
        t->numbers = more;
        t->room    = room;
    }
    return t->numbers[t->count++] = got;
}

static void compare(lcsm_lab *lab, const lcsm_oracle_array *a, size_t at, double got, double *slot,
                    lcsm_lab_result *r)
{
    double want  = lab->trace == NULL ? a->data[at] : traced(lab, got);
    double error = isfinite(got) ? fabs(got - want) / (1 + fabs(want)) : INFINITY;
    if (isnan(error)) error = INFINITY;
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

static void compare_outputs(lcsm_lab *lab, lcsm_lab_result *r)
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

/* Adds what one use of an input gives to its gradient. With w = log |z| + i arg z = log z the
 * gradient of z is that of w over conj(z). */
static void add_gradient(const binding *b, double *sum)
{
    for (size_t k = 0; k < b->count; k++) {
        double slope, g = factor_of(b) * get(b->t, b->t->grad, b->to + k);
        (void)input_number(b, k, &slope);
        if (b->layout < LOG) {
            sum[place(b, k)] += g * slope;
            continue;
        }
        const double *z = b->array->data + 2 * k;
        double        s = g / (z[0] * z[0] + z[1] * z[1]);
        sum[2 * k] += b->layout == LOG ? z[0] * s : -z[1] * s;
        sum[2 * k + 1] += b->layout == LOG ? z[1] * s : z[0] * s;
    }
}

static void compare_gradients(lcsm_lab *lab, lcsm_lab_result *r)
{
    for (size_t j = 0; j < lab->c->grads.count; j++) {
        const lcsm_oracle_array *a   = &lab->c->grads.list[j];
        double                  *sum = lcsm_lab_take(lab, a->numbers, sizeof *sum);
        if (sum == NULL) return;
        for (size_t k = 0; k < lab->bindings; k++) {
            const binding *b = &lab->binding[k];
            if (b->kind == INPUT && strcmp(b->array->name, a->name) == 0) add_gradient(b, sum);
        }
        for (size_t k = 0; k < a->numbers; k++) compare(lab, a, k, sum[k], &r->gradient, r);
        if (lab->gradients != NULL) memcpy(lab->gradients[j], sum, a->numbers * sizeof *sum);
        mention(r, "d", a->name);
    }
}

enum { ROUNDING_RUNS = 8 };

/* ---- running ---------------------------------------------------------------------------- */

/* Every input of another author's case is read: one that is not would change the result. */
static lcsm_status check_read(const lcsm_lab *lab, lcsm_error *err)
{
    for (size_t j = 0; lab->c->single && j < lab->c->inputs.count; j++) {
        bool read = false;
        for (size_t k = 0; k < lab->bindings; k++)
            read = read || lab->binding[k].array == &lab->c->inputs.list[j];
        if (!read)
            return lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "the input %s is not known here",
                             lab->c->inputs.list[j].name);
    }
    return LCSM_OK;
}

/* Every gradient of the file has its input, of the same size, and every dy its output. */
static lcsm_status check_complete(const lcsm_lab *lab, lcsm_error *err)
{
    for (size_t j = 0; j < lab->c->grads.count; j++) {
        const lcsm_oracle_array *g = &lab->c->grads.list[j], *from = NULL;
        for (size_t k = 0; k < lab->bindings; k++) {
            const binding *b = &lab->binding[k];
            if (b->kind == INPUT && strcmp(b->array->name, g->name) == 0) from = b->array;
        }
        if (from == NULL || from->numbers != g->numbers)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "the gradient %s matches no input", g->name);
    }
    for (size_t j = 0; j < lab->c->dy.count; j++) {
        const lcsm_oracle_array *dy = &lab->c->dy.list[j], *to = NULL;
        for (size_t k = 0; k < lab->bindings; k++) {
            const binding *b = &lab->binding[k];
            if (b->kind == OUTPUT && strcmp(b->array->name, dy->name) == 0) to = b->array;
        }
        if (to == NULL || to->numbers != dy->numbers)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "dy of %s matches no output", dy->name);
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
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != STATE_IN && b->kind != STATE_OUT) continue;
        if (lab->state == NULL) LCSM_OR_RETURN(lcsm_state_create(&lab->state, lab->g, err));
        ptrdiff_t count = 0;
        if (lab->state->count == 1) (void)lcsm_shape_count(&lab->state->list[0].shape, &count);
        if ((size_t)count != b->count)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "the carried state has %td numbers, %s has %zu",
                             count, b->array->name, b->count);
    }
    return LCSM_OK;
}

static lcsm_status run_derivatives(lcsm_lab *lab, lcsm_lab_result *r, lcsm_error *err)
{
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != DERIVATIVE) continue;
        LCSM_OR_RETURN(forward(lab, err));
        seed(lab, b->of);
        LCSM_OR_RETURN(lcsm_graph_backward(lab->g, NULL, err));
        for (size_t k = 0; k < b->count; k++)
            compare(lab, b->array, k, get(b->t, b->t->grad, k), &r->gradient, r);
        mention(r, "", b->array->name);
    }
    return LCSM_OK;
}

/* Builds, plans and runs forward. */
static lcsm_status start(lcsm_lab *lab, lcsm_lab_builder *build, bool train, lcsm_error *err)
{
    build(lab);
    for (size_t j = 0; j < lab->bindings; j++) train = train || lab->binding[j].kind == DERIVATIVE;
    LCSM_OR_RETURN(lcsm_graph_plan(lab->g, &(lcsm_plan_options){.train = train}, err));
    LCSM_OR_RETURN(check_read(lab, err));
    LCSM_OR_RETURN(check_complete(lab, err));
    LCSM_OR_RETURN(make_state(lab, err));
    return forward(lab, err);
}

static lcsm_status run(lcsm_lab *lab, lcsm_lab_builder *build, lcsm_lab_result *r, lcsm_error *err)
{
    LCSM_OR_RETURN(start(lab, build, lab->c->grads.count > 0, err));
    compare_outputs(lab, r);
    if (lab->c->grads.count > 0) {
        seed(lab, NULL);
        LCSM_OR_RETURN(lcsm_graph_backward(lab->g, NULL, err));
        compare_gradients(lab, r);
    }
    return run_derivatives(lab, r, err);
}

static lcsm_status open_lab(lcsm_lab *lab, lcsm_error *err)
{
    lab->binding = calloc(MAX_BINDINGS, sizeof *lab->binding);
    if (lab->binding == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a case");
    LCSM_OR_RETURN(lcsm_params_create(&lab->params, lab->dtype, 0, err));
    return lcsm_graph_create(&lab->g, lab->ctx, lab->params, err);
}

static void close_lab(lcsm_lab *lab)
{
    lcsm_state_free(lab->state);
    lcsm_graph_free(lab->g);
    lcsm_params_free(lab->params);
    lcsm_lab_give_back(lab);
    free(lab->binding);
    lab->state    = NULL;
    lab->g        = NULL;
    lab->params   = NULL;
    lab->binding  = NULL;
    lab->bindings = 0;
}

lcsm_status lcsm_lab_run(lcsm_lab *lab, lcsm_lab_builder *build, lcsm_lab_result *out,
                         lcsm_error *err)
{
    *out           = (lcsm_lab_result){.output = NAN, .gradient = NAN};
    lcsm_status st = open_lab(lab, err);
    if (st == LCSM_OK) st = run(lab, build, out, err);
    close_lab(lab);
    return st;
}

lcsm_status lcsm_lab_rounding(const lcsm_oracle_case *c, lcsm_lab_builder *build,
                              lcsm_lab_result *out, lcsm_error *err)
{
    const lcsm_context_options plain = {
        .size = sizeof plain, .isa = LCSM_ISA_REFERENCE, .threads = 1};
    lcsm_context  *ctx   = NULL;
    lcsm_lab_trace trace = {0};
    lcsm_status    st;
    LCSM_TRY(lcsm_context_create(&ctx, &plain, err));
    lcsm_lab exact = {.ctx = ctx, .c = c, .dtype = LCSM_F64, .trace = &trace};
    LCSM_TRY(lcsm_lab_run(&exact, build, out, err));
    trace.known = true;
    for (uint64_t nudge = 0; nudge < ROUNDING_RUNS; nudge++) {
        lcsm_lab rough = {.ctx = ctx, .c = c, .dtype = LCSM_F32, .trace = &trace, .nudge = nudge};
        lcsm_lab_result r;
        trace.next = 0;
        LCSM_TRY(lcsm_lab_run(&rough, build, &r, err));
        out->output   = fmax(out->output, r.output);
        out->gradient = fmax(out->gradient, r.gradient);
    }
cleanup:
    free(trace.numbers);
    lcsm_context_free(ctx);
    return st;
}

static double loss_of(const lcsm_lab *lab)
{
    double sum = 0;
    for (size_t j = 0; j < lab->bindings; j++) {
        const binding *b = &lab->binding[j];
        if (b->kind != OUTPUT || !(b->t->seed || b->t->loss)) continue;
        const lcsm_oracle_array *dy = lcsm_oracle_find(&lab->c->dy, b->array->name);
        for (size_t k = 0; k < b->count; k++)
            sum += get(b->t, b->t->data, k) * (dy == NULL ? 1 : dy->data[place(b, k)]);
    }
    return sum;
}

lcsm_status lcsm_lab_value(lcsm_lab *lab, lcsm_lab_builder *build, double *loss, lcsm_error *err)
{
    lcsm_status st = open_lab(lab, err);
    if (st == LCSM_OK) st = start(lab, build, false, err);
    *loss = st == LCSM_OK ? loss_of(lab) : NAN;
    close_lab(lab);
    return st;
}
