/*
 * Every method, flavour, setting and code against logits and gradients that were recorded by an
 * independent implementation (tools/make-golden). The models are built from their settings, as
 * everywhere else.
 */
#include <lcsm/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eos/method.h"
#include "golden_case.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "model/model_weights.h"
#include "test.h"

/* Recorded numbers have 12 digits. What is left in double is the rounding of some hundred sums, and
 * epsilons of norms (1e-12) that the formulas do without. */
#define DOUBLE_BOUND 1e-9
/* Differences of fourth order in extended precision agree with themselves to 1e-10. */
#define SLOPE_BOUND 1e-8
#define SLOPE_FLOOR 1e-9
/* Float: some ulps (6e-8) of a few hundred sums, times what norms make of outputs that are small
 * where a query meets no key. Of the fast kernels no more is asked than four times what the plain
 * reference kernels in float reach on the same case, and 2e-6. One run of them may be right by
 * luck: it is the worst of several, in which parameters are moved by up to half an ulp (2^-24). */
#define FLOAT_BOUND 1e-4
#define PLAIN_RUNS  4
#define FLOAT_RATIO 4
#define FLOAT_FLOOR 2e-6

/* ---- a model with recorded parameters --------------------------------------------------- */

typedef struct {
    const json_t *one;
    lcsm_context *ctx;
    lcsm_params  *params;
    lcsm_model   *model; /* owner of the parameters in float; NULL in double */
    lcsm_graph   *g;
    lcsm_model_io io;
    const char   *moved; /* NULL: parameters are the recorded ones */
} rig;

#define must(r, call)                                                                              \
    do {                                                                                           \
        lcsm_error err_ = {0};                                                                     \
        if ((call) != LCSM_OK) fail_msg("%s: %s", golden_text((r)->one, "name"), err_.text);       \
    } while (0)

static double get(const void *p, lcsm_dtype type, size_t j)
{
    return type == LCSM_F64 ? ((const double *)p)[j] : (double)((const float *)p)[j];
}

static void put(void *p, lcsm_dtype type, size_t j, double x)
{
    if (type == LCSM_F64) ((double *)p)[j] = x;
    else ((float *)p)[j] = (float)x;
}

/* What differs is said, and counted: one run shows all of it. */
static int differences;

#define differ(...) (differences++, print_error(__VA_ARGS__))

/* |got - want| in units of size; a NaN is infinite. */
static double error_of(double got, double want, double size)
{
    double error = fabs(got - want) / size;
    return isfinite(error) ? error : INFINITY;
}

/* The model's own values against recorded ones, which are its initial values. */
static void check_values(const rig *r, const char *key, int row, const json_t *want)
{
    const lcsm_param *p     = &r->params->list[row];
    double            bound = r->params->dtype == LCSM_F64 ? 1e-9 : 1e-6;
    if (json_array_size(want) != p->count)
        fail_msg("%s: %s %s has %zu values, want %zu", golden_text(r->one, "name"), key, p->name,
                 p->count, json_array_size(want));
    for (size_t j = 0; j < p->count; j++) {
        double x   = json_number_value(json_array_get(want, j));
        double got = get(lcsm_param_values(r->params, row), r->params->dtype, j);
        if (error_of(got, x, fabs(x) + 1) > bound)
            differ("%s: %s value %zu of %s is %.12g, want %.12g\n", golden_text(r->one, "name"),
                   key, j, p->name, got, x);
    }
}

static void check_initial(const rig *r)
{
    for (size_t row = 0; row < r->params->count; row++) {
        const lcsm_param *p    = &r->params->list[row];
        const char       *key  = p->flags & LCSM_PARAM_FROZEN ? "frozen" : "initial";
        const json_t     *want = golden_values(r->one, key, p->name);
        if (want != NULL) check_values(r, key, (int)row, want);
    }
}

static double value_of(const rig *r, const golden_parameter *p, size_t j)
{
    double x = p->centre + p->scale * golden_uniform(p->name, golden_text(r->one, "salt"), j);
    return r->moved == NULL ? x : x * (1 + 0x1p-24 * golden_uniform(p->name, r->moved, j));
}

static void set_parameter(const rig *r, const golden_parameter *p)
{
    int row = lcsm_params_find(r->params, p->name);
    if (row < 0) fail_msg("%s: there is no parameter %s", golden_text(r->one, "name"), p->name);
    const lcsm_param *have = &r->params->list[row];
    bool              same = have->shape.rank == p->rank;
    for (int j = 0; same && j < p->rank; j++) same = (size_t)have->shape.dim[j] == p->shape[j];
    if (!same || have->flags & LCSM_PARAM_FROZEN)
        fail_msg("%s: %s has another shape than the recorded one, or is not learned",
                 golden_text(r->one, "name"), p->name);
    for (size_t j = 0; j < p->count; j++)
        put(lcsm_param_values(r->params, row), r->params->dtype, j, value_of(r, p, j));
}

/* All learned parameters, and no others than the recorded ones. */
static void set_parameters(const rig *r)
{
    size_t learned = 0;
    for (size_t row = 0; row < r->params->count; row++)
        learned += !(r->params->list[row].flags & LCSM_PARAM_FROZEN);
    if (learned != golden_parameter_count(r->one))
        fail_msg("%s: %zu learned parameters, want %zu", golden_text(r->one, "name"), learned,
                 golden_parameter_count(r->one));
    for (size_t j = 0; j < learned; j++) {
        golden_parameter p = golden_parameter_at(r->one, j);
        set_parameter(r, &p);
    }
}

/* Tokens and targets; where labels are asked for, only those of the targets and their places. */
static void fill(const rig *r)
{
    size_t B = golden_rows(r->one, "tokens"), T = golden_columns(r->one, "tokens"), n = 0;
    for (size_t j = 0; j < B * T; j++) {
        int32_t target                     = golden_int(r->one, "targets", j / T, j % T);
        ((int32_t *)r->io.tokens->data)[j] = golden_int(r->one, "tokens", j / T, j % T);
        if (r->io.targets == NULL) continue;
        if (r->io.places == NULL) ((int32_t *)r->io.targets->data)[j] = target;
        else if (target >= 0) {
            ((int32_t *)r->io.places->data)[n]    = (int32_t)j;
            ((int32_t *)r->io.targets->data)[n++] = target;
        }
    }
}

static rig rig_moved(const json_t *one, lcsm_dtype type, lcsm_isa isa, const lcsm_model_want *want,
                     const char *moved)
{
    rig               r = {.one = one, .moved = moved};
    lcsm_model_config cfg;
    golden_config(&cfg, one);
    must(&r,
         lcsm_context_create(&r.ctx,
                             &(lcsm_context_options){
                                 .size = sizeof(lcsm_context_options), .threads = 1, .isa = isa},
                             &err_));
    if (type == LCSM_F32) {
        must(&r, lcsm_model_create(&r.model, r.ctx, &cfg, 1, &err_));
        r.params = r.model->params;
    } else must(&r, lcsm_params_create(&r.params, type, 1, &err_));
    must(&r, lcsm_graph_create(&r.g, r.ctx, r.params, &err_));
    must(&r, lcsm_model_build(r.g, &cfg, (ptrdiff_t)golden_rows(one, "tokens"),
                              (ptrdiff_t)golden_columns(one, "tokens"), want, &r.io, &err_));
    must(&r, lcsm_graph_plan(r.g, &(lcsm_plan_options){.train = want->loss}, &err_));
    check_initial(&r);
    set_parameters(&r);
    fill(&r);
    must(&r, lcsm_graph_forward(r.g, &(lcsm_run_options){.check = true}, &err_));
    if (want->loss) must(&r, lcsm_graph_backward(r.g, &(lcsm_run_options){0}, &err_));
    return r;
}

static rig rig_make(const json_t *one, lcsm_dtype type, lcsm_isa isa, const lcsm_model_want *want)
{
    return rig_moved(one, type, isa, want, NULL);
}

static void rig_free(rig *r)
{
    lcsm_graph_free(r->g);
    if (r->model == NULL) lcsm_params_free(r->params);
    lcsm_model_free(r->model);
    lcsm_context_free(r->ctx);
}

/* ---- comparisons ------------------------------------------------------------------------ */

/* The largest error of the logits, in units of the largest logit. */
static double logits_error(const rig *r)
{
    size_t count = golden_rows(r->one, "logits");
    double worst = 0, size = 0;
    assert_int_equal(count, lcsm_tensor_count(r->io.logits));
    for (size_t j = 0; j < count; j++) size = fmax(size, fabs(golden_number(r->one, "logits", j)));
    for (size_t j = 0; j < count; j++)
        worst = fmax(worst, error_of(get(r->io.logits->data, r->io.logits->dtype, j),
                                     golden_number(r->one, "logits", j), size));
    return worst;
}

static void check_loss(const rig *r, double bound)
{
    double got  = get(r->io.loss->data, r->io.loss->dtype, 0);
    double want = json_number_value(json_object_get(r->one, "loss"));
    if (error_of(got, want, 1) > bound)
        differ("%s: the loss is %.12g, want %.12g\n", golden_text(r->one, "name"), got, want);
}

/* The slope along the recorded direction and at the recorded entry, in units of the gradient's
 * length (times that of the direction). */
static double slope_error(const rig *r, const golden_parameter *p)
{
    const void *g     = lcsm_param_grads(r->params, lcsm_params_find(r->params, p->name));
    double      along = 0, length = 0, way = 0;
    for (size_t j = 0; j < p->count; j++) {
        double x = get(g, r->params->dtype, j), v = golden_uniform(p->name, "'", j);
        along += x * v;
        length += x * x;
        way += v * v;
    }
    length = sqrt(length) + SLOPE_FLOOR / SLOPE_BOUND;
    return fmax(error_of(along, p->slope, length * sqrt(way)),
                error_of(get(g, r->params->dtype, p->entry), p->entry_slope, length));
}

/* The worst parameter, and which it is. */
static double gradient_error(const rig *r, const char **name)
{
    double worst = 0;
    for (size_t j = 0; j < golden_parameter_count(r->one); j++) {
        golden_parameter p     = golden_parameter_at(r->one, j);
        double           error = slope_error(r, &p);
        if (error > worst || j == 0) *name = p.name;
        worst = fmax(worst, error);
    }
    return worst;
}

static void expect(const rig *r, const char *what, const char *where, double error, double bound)
{
    if (error > bound)
        differ("%s: %s%s%s differ by %.2e, want %.2e\n", golden_text(r->one, "name"), what,
               where[0] != 0 ? " of " : "", where, error, bound);
}

/* ---- tests ------------------------------------------------------------------------------ */

/* Runs every case and fails if anything differs. */
static size_t compare_all(golden_fn *fn)
{
    size_t count = 0;
    differences  = 0;
    golden_each(fn, &count);
    print_message("%zu models\n", count);
    assert_int_equal(differences, 0);
    return count;
}

/* Whole sequences may be long convolutions; pieces, whose memory is carried, are recurrences. */
static const lcsm_model_want WHOLE = {.whole = true, .logits = true, .loss = true, .ignore = -1};
static const lcsm_model_want PIECE = {.logits = true, .loss = true, .ignore = -1};

static void compare_double(const json_t *one, lcsm_isa isa, const lcsm_model_want *want)
{
    const char *name;
    rig         r = rig_make(one, LCSM_F64, isa, want);
    expect(&r, "logits", "", logits_error(&r), DOUBLE_BOUND);
    check_loss(&r, DOUBLE_BOUND);
    double error = gradient_error(&r, &name);
    expect(&r, "gradients", name, error, SLOPE_BOUND);
    rig_free(&r);
}

static void in_double(void *user, const json_t *one)
{
    ++*(size_t *)user;
    compare_double(one, LCSM_ISA_AUTO, &WHOLE);
    compare_double(one, LCSM_ISA_REFERENCE, &PIECE);
}

TEST(golden_models_in_double_have_the_recorded_logits_and_gradients)
{
    assert_true(compare_all(in_double) >= 100);
}

/* The errors of the plain kernels: the worst of their runs. That of the recorded parameters has a
 * bound of its own. */
static void plain_errors(const json_t *one, double *logits, double *slope)
{
    static const char *const MOVED[PLAIN_RUNS] = {NULL, "moved 1", "moved 2", "moved 3"};
    const char              *name;
    *logits = *slope = 0;
    for (int j = 0; j < PLAIN_RUNS; j++) {
        rig plain = rig_moved(one, LCSM_F32, LCSM_ISA_REFERENCE, &WHOLE, MOVED[j]);
        *logits   = fmax(*logits, logits_error(&plain));
        *slope    = fmax(*slope, gradient_error(&plain, &name));
        if (MOVED[j] == NULL) expect(&plain, "plain logits", "", *logits, FLOAT_BOUND);
        if (MOVED[j] == NULL) expect(&plain, "plain gradients", name, *slope, FLOAT_BOUND);
        rig_free(&plain);
    }
}

static void in_float(void *user, const json_t *one)
{
    double      logits, slope;
    const char *name;
    ++*(size_t *)user;
    plain_errors(one, &logits, &slope);
    rig fast = rig_make(one, LCSM_F32, LCSM_ISA_AUTO, &WHOLE);
    expect(&fast, "logits", "", logits_error(&fast), FLOAT_RATIO * logits + FLOAT_FLOOR);
    double error = gradient_error(&fast, &name);
    expect(&fast, "gradients", name, error, FLOAT_RATIO * slope + FLOAT_FLOOR);
    rig_free(&fast);
}

TEST(golden_models_in_float_are_as_near_as_the_plain_kernels)
{
    assert_true(compare_all(in_float) >= 100);
}

static bool recalls(const json_t *one)
{
    const char *wiring = golden_setting(one, "wiring");
    return wiring != NULL && strncmp(wiring, "mqar", 4) == 0;
}

/* Recall names the places of its labels; nothing else may change. */
static void by_places(void *user, const json_t *one)
{
    lcsm_model_want want = {.whole = true, .loss = true, .ignore = -1};
    const char     *name;
    if (!recalls(one)) return;
    ++*(size_t *)user;
    for (size_t t = 0; t < golden_columns(one, "targets"); t++)
        want.labels += golden_int(one, "targets", 0, t) >= 0;
    rig r = rig_make(one, LCSM_F64, LCSM_ISA_AUTO, &want);
    check_loss(&r, DOUBLE_BOUND);
    double error = gradient_error(&r, &name);
    expect(&r, "gradients", name, error, SLOPE_BOUND);
    rig_free(&r);
}

TEST(golden_recall_models_by_the_places_of_their_labels_are_the_same)
{
    assert_true(compare_all(by_places) >= 10);
}

/* ---- what is recorded ------------------------------------------------------------------- */

enum { MOST_METHODS = 64, OSCILLATIONS = 12, ACTIVATIONS = 8, FLAVOURS = 2 };

typedef struct {
    bool method[MOST_METHODS][FLAVOURS];
    bool o[OSCILLATIONS], act[ACTIVATIONS], e[2], s[2], ssm;
} coverage;

static void cover(void *user, const json_t *one)
{
    coverage   *c      = user;
    const char *method = golden_setting(one, "method"), *code = golden_setting(one, "code");
    const char *flavour = golden_setting(one, "flavour");
    bool        bare    = flavour != NULL && strcmp(flavour, "bare") == 0;
    int         e, o, s, a;
    for (size_t j = 0; method != NULL && j < lcsm_method_count(); j++)
        c->method[j][bare] |= strcmp(LCSM_METHODS[j].name, method) == 0;
    if (code == NULL) return;
    c->ssm |= strcmp(code, "0") == 0;
    if (sscanf(code, "%d-%d-%d-%d", &e, &o, &s, &a) != 4) return;
    c->e[e] = c->o[o] = c->s[s] = c->act[a] = true;
}

TEST(golden_models_exist_for_every_method_flavour_and_part_of_a_code)
{
    coverage c = {0};
    golden_each(cover, &c);
    assert_true(lcsm_method_count() <= MOST_METHODS && lcsm_code_count() == OSCILLATIONS);
    for (size_t j = 0; j < lcsm_method_count(); j++) {
        lcsm_method_info m = {.size = sizeof m};
        assert_int_equal(lcsm_method_at(j, &m, NULL), LCSM_OK);
        /* A code has rows of its own below; both it and custom are bare by themselves. */
        bool code = strcmp(m.name, "code") == 0, custom = strcmp(m.name, "custom") == 0;
        if (!code && !c.method[j][0])
            fail_msg("%s has no recorded model; tools/make-golden writes it", m.name);
        if (!code && !custom && m.bare && !c.method[j][1])
            fail_msg("%s has no recorded bare model; tools/make-golden writes it", m.name);
    }
    for (size_t j = 0; j < OSCILLATIONS; j++) assert_true(c.o[j]);
    for (size_t j = 0; j < ACTIVATIONS; j++) assert_true(c.act[j]);
    assert_true(c.ssm && c.e[0] && c.e[1] && c.s[0] && c.s[1]);
}
