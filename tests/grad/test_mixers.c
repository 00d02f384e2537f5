/*
 * test_mixers.c - the ops of graph/mixers.h in the small models that they are for, against numbers
 * from elsewhere.
 *
 * Tolerances are those that the oracles suggest: 1e-9 in double, whose gradients come from finite
 * differences good to 1e-11, and 2e-5 in float.
 */
#include "graph/mixers.h"

#include <string.h>

#include "base/toeplitz.h"
#include "graph/layers.h"
#include "near.h"
#include "shared_oracle.h"

/* ---- a graph of a case ---- */

typedef struct {
    lcsm_dtype              dtype;
    lcsm_context           *ctx;
    lcsm_params            *params;
    lcsm_graph             *g;
    const lcsm_oracle_case *oracle;
    lcsm_tensor            *leaf[16];
    const double           *value[16];
    const char             *name[16];
    int                     leaves;
} model;

static double tolerance(const model *m)
{
    return m->dtype == LCSM_F64 ? 1e-9 : 2e-5;
}

static model start(lcsm_dtype dtype)
{
    model m = {.dtype = dtype};
    assert_int_equal(lcsm_context_create(&m.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&m.params, dtype, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&m.g, m.ctx, m.params, NULL), LCSM_OK);
    return m;
}

static void finish(model *m)
{
    lcsm_graph_free(m->g);
    lcsm_params_free(m->params);
    lcsm_context_free(m->ctx);
}

/* An input with a value, whose gradient is kept. */
static lcsm_tensor *given(model *m, const char *name, lcsm_shape shape, const double *value)
{
    lcsm_tensor *t = lcsm_input(m->g, name, m->dtype, shape);
    assert_non_null(t);
    lcsm_keep_grad(m->g, t);
    m->leaf[m->leaves]  = t;
    m->name[m->leaves]  = name;
    m->value[m->leaves] = value;
    m->leaves++;
    return t;
}

/* The same from the oracle's inputs. */
static lcsm_tensor *from_case(model *m, const char *name, lcsm_shape shape)
{
    ptrdiff_t count;
    assert_true(lcsm_shape_count(&shape, &count));
    return given(m, name, shape, shared_oracle_array(&m->oracle->inputs, name, (size_t)count));
}

static double get(const model *m, const void *p, ptrdiff_t j)
{
    return m->dtype == LCSM_F64 ? ((const double *)p)[j] : (double)((const float *)p)[j];
}

static void set(const model *m, void *p, ptrdiff_t j, double x)
{
    if (m->dtype == LCSM_F64) ((double *)p)[j] = x;
    else ((float *)p)[j] = (float)x;
}

static void plan(model *m, lcsm_tensor *y)
{
    lcsm_error              err = {0};
    const lcsm_plan_options opt = {.train = true};
    lcsm_keep(m->g, y);
    lcsm_seed(m->g, y);
    if (lcsm_graph_plan(m->g, &opt, &err) != LCSM_OK) fail_msg("%s", err.text);
    for (int j = 0; j < m->leaves; j++)
        for (ptrdiff_t i = 0; i < lcsm_tensor_count(m->leaf[j]); i++)
            set(m, m->leaf[j]->data, i, m->value[j][i]);
}

static void run(model *m)
{
    lcsm_error err = {0};
    if (lcsm_graph_forward(m->g, NULL, &err) != LCSM_OK) fail_msg("%s", err.text);
}

/* Forward and, from these gradients of y, backward. */
static void run_both(model *m, lcsm_tensor *y, const double *dy)
{
    lcsm_error err = {0};
    run(m);
    for (ptrdiff_t i = 0; i < lcsm_tensor_count(y); i++) set(m, y->grad, i, dy[i]);
    if (lcsm_graph_backward(m->g, NULL, &err) != LCSM_OK) fail_msg("%s", err.text);
}

static void compare(const model *m, const char *name, const void *got, const double *want,
                    ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count; i++)
        if (!(fabs(get(m, got, i) - want[i]) <= tolerance(m) * (1 + fabs(want[i]))))
            fail_msg("%s, %s[%td] is %.12g, want %.12g", m->oracle->name, name, i, get(m, got, i),
                     want[i]);
}

static void compare_output(const model *m, const char *name, const lcsm_tensor *t)
{
    ptrdiff_t n = lcsm_tensor_count(t);
    compare(m, name, t->data, shared_oracle_array(&m->oracle->outputs, name, (size_t)n), n);
}

static void compare_grad(const model *m, const char *name)
{
    for (int j = 0; j < m->leaves; j++)
        if (strcmp(m->name[j], name) == 0) {
            ptrdiff_t n = lcsm_tensor_count(m->leaf[j]);
            compare(m, name, m->leaf[j]->grad,
                    shared_oracle_array(&m->oracle->grads, name, (size_t)n), n);
            return;
        }
    fail_msg("there is no leaf %s", name);
}

static void with_oracle(const char *file, const char *name, void (*check)(model *m))
{
    lcsm_oracle o = {0};
    shared_oracle_read(&o, file);
    for (int dtype = LCSM_F32; dtype <= LCSM_F64; dtype++) {
        model m  = start((lcsm_dtype)dtype);
        m.oracle = shared_oracle_case(&o, name);
        check(&m);
        finish(&m);
    }
    lcsm_oracle_free(&o);
}

static const double *dy_of(const model *m, const char *name, size_t count)
{
    return shared_oracle_array(&m->oracle->dy, name, count);
}

/* y + D u. */
static lcsm_tensor *with_skip(model *m, lcsm_tensor *y, lcsm_tensor *u)
{
    return lcsm_add(m->g, y, lcsm_mul(m->g, u, from_case(m, "D", lcsm_dims(u->cols))));
}

/* ---- RWKV-4 ---- */

/* RWKV-4's mean: every channel a head of the operator, with running maximum, normaliser and bonus.
 */
static lcsm_tensor *mean(const model *m, lcsm_tensor *k, lcsm_tensor *v, lcsm_tensor *decay,
                         lcsm_tensor *first)
{
    ptrdiff_t         H   = k->cols;
    lcsm_operand      one = {lcsm_constant(m->g, lcsm_dims(H, 1), 1), LCSM_AXIS_K};
    lcsm_eos_operands o   = {
          .H           = H,
          .K           = 1,
          .D           = 1,
          .i           = {v, LCSM_AXIS_T | LCSM_AXIS_D},
          .e           = one,
          .s           = one,
          .row         = {lcsm_activate_scaled(m->g, LCSM_ACT_EXP, decay, -1), 0},
          .bonus       = {lcsm_activate(m->g, LCSM_ACT_EXP, first), LCSM_AXIS_K},
          .read_before = true,
          .normaliser  = {.kind = LCSM_NORMALISER_PLAIN, .z = k, .start = LCSM_MAX_EMPTY}};
    return lcsm_recurrence(m->g, &o, NULL);
}

static void check_wkv(model *m)
{
    enum { T = 3, D = 2 };
    lcsm_tensor *k = from_case(m, "k", lcsm_dims(1, T, D)), *v = from_case(m, "v", k->shape);
    lcsm_tensor *r = lcsm_activate(m->g, LCSM_ACT_SIGMOID, from_case(m, "r", k->shape));
    lcsm_tensor *wkv =
        mean(m, k, v, from_case(m, "decay", lcsm_dims(D)), from_case(m, "first", lcsm_dims(D)));
    lcsm_tensor *y = lcsm_mul(m->g, wkv, r);
    lcsm_keep(m->g, wkv);
    plan(m, y);
    run_both(m, y, dy_of(m, "y", T * D));
    compare_output(m, "wkv", wkv);
    compare_output(m, "y", y);
    compare_grad(m, "k");
    compare_grad(m, "v");
    compare_grad(m, "decay");
    compare_grad(m, "first");
}

TEST(wkv_equals_the_numbers_from_elsewhere)
{
    with_oracle("rwkv4.json", "rwkv4_with_denominator", check_wkv);
    with_oracle("rwkv4.json", "rwkv4_extreme_keys", check_wkv);
}

TEST(wkv_keys_of_ten_thousand_give_finite_numbers)
{
    enum { T = 6, D = 3 };
    double k[T * D], v[T * D], decay[D] = {-5, 0, 3}, first[D] = {-2, 0, 2}, dy[T * D];
    for (int j = 0; j < T * D; j++) {
        k[j]  = j % 3 == 0 ? 1e4 : j % 3 == 1 ? -1e4 : 0;
        v[j]  = j % 5 - 2;
        dy[j] = 1;
    }
    for (int dtype = LCSM_F32; dtype <= LCSM_F64; dtype++) {
        model        m = start((lcsm_dtype)dtype);
        lcsm_tensor *y =
            mean(&m, given(&m, "k", lcsm_dims(1, T, D), k), given(&m, "v", lcsm_dims(1, T, D), v),
                 given(&m, "decay", lcsm_dims(D), decay), given(&m, "first", lcsm_dims(D), first));
        plan(&m, y);
        run_both(&m, y, dy);
        for (ptrdiff_t i = 0; i < T * D; i++) assert_true(fabs(get(&m, y->data, i)) <= 2);
        for (int j = 0; j < m.leaves; j++)
            for (ptrdiff_t i = 0; i < lcsm_tensor_count(m.leaf[j]); i++)
                assert_true(isfinite(get(&m, m.leaf[j]->grad, i)));
        finish(&m);
    }
}

/* ---- S4 ---- */

static void check_dplr(model *m)
{
    enum { L = 6, M = 2 };
    static const double IMPULSE[L] = {1};
    lcsm_tensor        *u          = given(m, "u", lcsm_dims(1, L, 1), IMPULSE);
    lcsm_tensor        *lambda     = from_case(m, "Lambda", lcsm_dims(1, M, 2));
    lcsm_tensor        *P = from_case(m, "P", lambda->shape), *B = from_case(m, "B", lambda->shape);
    lcsm_tensor        *C = from_case(m, "C", lambda->shape);

    lcsm_low_rank_tensors x = lcsm_low_rank(m->g, &(lcsm_low_rank_attr){.log_re = false}, lambda, P,
                                            B, from_case(m, "log_dt", lcsm_dims(1)));
    lcsm_eos_operands     o = lcsm_low_rank_operands(&x, u, C);
    lcsm_tensor          *y = lcsm_recurrence(m->g, &o, NULL);
    plan(m, y);
    run_both(m, y, dy_of(m, "kernel", L));
    compare_output(m, "kernel", y);
    compare_grad(m, "Lambda");
    compare_grad(m, "P");
    compare_grad(m, "B");
    compare_grad(m, "C");
    compare_grad(m, "log_dt");
}

TEST(dplr_impulse_response_equals_the_kernel_from_elsewhere)
{
    with_oracle("s4.json", "s4_dplr_kernel_N4", check_dplr);
}

/* One head for each channel, with a memory of one column. */
static void check_dense(model *m)
{
    enum { N = 2, D = 2, T = 3 };
    lcsm_tensor          *u = from_case(m, "u", lcsm_dims(1, T, D));
    lcsm_bilinear_tensors bar =
        lcsm_bilinear(m->g, from_case(m, "A", lcsm_dims(N, N)), from_case(m, "B", lcsm_dims(N)),
                      from_case(m, "log_dt", lcsm_dims(D)));
    lcsm_tensor      *C = from_case(m, "C", lcsm_dims(D, N));
    lcsm_eos_operands o = {.H     = D,
                           .K     = N,
                           .D     = 1,
                           .i     = {u, LCSM_AXIS_T | LCSM_AXIS_D},
                           .e     = {bar.B, LCSM_AXIS_K},
                           .s     = {C, LCSM_AXIS_K},
                           .dense = {bar.A, LCSM_AXIS_KK}};
    lcsm_tensor      *y = with_skip(m, lcsm_recurrence(m->g, &o, NULL), u);
    lcsm_keep(m->g, bar.A);
    lcsm_keep(m->g, bar.B);
    plan(m, y);
    run_both(m, y, dy_of(m, "y", T * D));
    compare_output(m, "A_bar", bar.A);
    compare_output(m, "B_bar", bar.B);
    compare_output(m, "y", y);
    for (int j = 0; j < m->leaves; j++) compare_grad(m, m->name[j]);
}

TEST(s4_dense_of_these_ops_equals_the_numbers_from_elsewhere)
{
    with_oracle("s4.json", "s4_dense_bilinear_hippo_N2", check_dense);
}

TEST(bilinear_of_a_matrix_without_a_step_is_refused)
{
    const double A[] = {2}, B[] = {1}, log_dt[] = {-1, 0};
    model        m   = start(LCSM_F64);
    lcsm_error   err = {0};
    plan(&m, lcsm_bilinear(m.g, given(&m, "A", lcsm_dims(1, 1), A), given(&m, "B", lcsm_dims(1), B),
                           given(&m, "log_dt", lcsm_dims(2), log_dt))
                 .A);
    assert_int_equal(lcsm_graph_forward(m.g, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "singular for channel 1, dt = 1"));
    finish(&m);
}

/* ---- diagonal state spaces ---- */

/* (D, K) of pairs or numbers as (K, D), which is how eos takes them; with D and K exchanged, back.
 */
static void transpose(ptrdiff_t D, ptrdiff_t K, ptrdiff_t width, const double *from, double *to)
{
    for (ptrdiff_t d = 0; d < D; d++)
        for (ptrdiff_t k = 0; k < K; k++)
            for (ptrdiff_t w = 0; w < width; w++)
                to[(k * D + d) * width + w] = from[(d * K + k) * width + w];
}

/* An input of the case, (D, K, width) there, as (K, D, width). */
static lcsm_tensor *turned(model *m, const char *name, lcsm_shape shape, double *memory)
{
    ptrdiff_t K = shape.dim[0], D = shape.dim[1], width = shape.rank == 3 ? 2 : 1;
    transpose(D, K, width, shared_oracle_array(&m->oracle->inputs, name, (size_t)(K * D * width)),
              memory);
    return given(m, name, shape, memory);
}

static void compare_turned(const model *m, const char *name)
{
    double want[32];
    for (int j = 0; j < m->leaves; j++) {
        const lcsm_shape *s = &m->leaf[j]->shape;
        ptrdiff_t         n = lcsm_tensor_count(m->leaf[j]);
        if (strcmp(m->name[j], name) != 0) continue;
        transpose(s->dim[1], s->dim[0], s->rank == 3 ? 2 : 1,
                  shared_oracle_array(&m->oracle->grads, name, (size_t)n), want);
        compare(m, name, m->leaf[j]->grad, want, n);
        return;
    }
    fail_msg("there is no leaf %s", name);
}

enum { FULL = LCSM_AXIS_K | LCSM_AXIS_D };

static void check_s4d(model *m)
{
    enum { K = 2, D = 2, T = 3 };
    double                     re[K * D], im[K * D], c[K * D * 2];
    const lcsm_discretise_attr a = {.kind = LCSM_DISCRETISE_ZOH, .log_re = true};
    lcsm_tensor               *u = from_case(m, "u", lcsm_dims(1, T, D));
    lcsm_discrete     x = lcsm_discretise(m->g, &a, turned(m, "log_A_re", lcsm_dims(K, D), re),
                                          turned(m, "A_im", lcsm_dims(K, D), im),
                                          from_case(m, "log_dt", lcsm_dims(D)), NULL);
    lcsm_eos_operands o = {.H          = 1,
                           .K          = K,
                           .D          = D,
                           .i          = {u, LCSM_AXIS_T | LCSM_AXIS_D},
                           .e          = {x.coef, FULL},
                           .s          = {turned(m, "C", lcsm_dims(K, D, 2), c), FULL},
                           .full       = {x.log, FULL},
                           .full_phase = {x.phase, FULL},
                           .complex_e  = true,
                           .complex_s  = true,
                           .scale      = 2};
    lcsm_tensor      *y = with_skip(m, lcsm_recurrence(m->g, &o, NULL), u);
    plan(m, y);
    run_both(m, y, dy_of(m, "y", T * D));
    compare_output(m, "y", y);
    compare_grad(m, "u");
    compare_grad(m, "log_dt");
    compare_grad(m, "D");
    compare_turned(m, "log_A_re");
    compare_turned(m, "A_im");
    compare_turned(m, "C");
}

static void check_dss(model *m, lcsm_discretise_kind kind)
{
    enum { K = 2, D = 2, T = 3 };
    static const double        ONES[K] = {1, 1};
    double                     w[K * D * 2];
    const lcsm_discretise_attr a = {.kind = kind, .length = 4};
    lcsm_tensor               *u = from_case(m, "u", lcsm_dims(1, T, D));
    lcsm_discrete              x = lcsm_discretise(
                     m->g, &a, from_case(m, "Lre", lcsm_dims(K)), from_case(m, "Lim", lcsm_dims(K)),
                     from_case(m, "log_dt", lcsm_dims(D)), turned(m, "W", lcsm_dims(K, D, 2), w));
    lcsm_eos_operands o = {.H          = 1,
                           .K          = K,
                           .D          = D,
                           .i          = {u, LCSM_AXIS_T | LCSM_AXIS_D},
                           .e          = {given(m, "ones", lcsm_dims(1, K), ONES), LCSM_AXIS_K},
                           .s          = {x.coef, FULL},
                           .full       = {x.log, FULL},
                           .full_phase = {x.phase, FULL},
                           .complex_s  = true};
    lcsm_tensor      *y = with_skip(m, lcsm_recurrence(m->g, &o, NULL), u);
    plan(m, y);
    run_both(m, y, dy_of(m, "y", T * D));
    compare_output(m, "y", y);
    compare_grad(m, "u");
    compare_grad(m, "Lre");
    compare_grad(m, "Lim");
    compare_grad(m, "log_dt");
    compare_grad(m, "D");
    compare_turned(m, "W");
}

static void check_dss_exp(model *m)
{
    check_dss(m, LCSM_DISCRETISE_ZOH);
}

static void check_dss_softmax(model *m)
{
    check_dss(m, LCSM_DISCRETISE_SOFTMAX);
}

TEST(s4d_and_dss_of_these_ops_equal_the_numbers_from_elsewhere)
{
    with_oracle("s4.json", "s4d_lin_zoh", check_s4d);
    with_oracle("dss.json", "dss_exp", check_dss_exp);
    with_oracle("dss.json", "dss_softmax", check_dss_softmax);
}

/* The table form of S5 needs no op of its own. */
static void check_s5_table(model *m)
{
    enum { K = 2, D = 2, T = 3 };
    lcsm_tensor *row =
        lcsm_activate_scaled(m->g, LCSM_ACT_EXP, from_case(m, "log_re", lcsm_dims(1, K)), -1);
    lcsm_eos_operands o = {.H = 1,
                           .K = K,
                           .D = D,
                           .i = {from_case(m, "i", lcsm_dims(1, T, D)), LCSM_AXIS_T | LCSM_AXIS_D},
                           .e = {from_case(m, "E", lcsm_dims(K, D)), FULL},
                           .s = {from_case(m, "S", lcsm_dims(K, D)), FULL},
                           .row       = {row, LCSM_AXIS_K},
                           .row_phase = {from_case(m, "im", lcsm_dims(1, K)), LCSM_AXIS_K}};
    lcsm_tensor      *y = lcsm_recurrence(m->g, &o, NULL);
    plan(m, y);
    run_both(m, y, dy_of(m, "y", T * D));
    compare_output(m, "y", y);
    for (int j = 0; j < m->leaves; j++) compare_grad(m, m->name[j]);
}

/* h = exp(log + i phase) h + x: K = 1, complex i and y in planes; log (1, T, D) or [D]. */
static lcsm_tensor *channels(const model *m, lcsm_tensor *x, lcsm_tensor *log, lcsm_tensor *phase)
{
    ptrdiff_t         D   = phase->cols;
    lcsm_operand      one = {lcsm_constant(m->g, lcsm_dims(1, 1), 1), LCSM_AXIS_K};
    lcsm_eos_operands o   = {.H         = 1,
                             .K         = 1,
                             .D         = D,
                             .i         = {x, LCSM_AXIS_T | LCSM_AXIS_D},
                             .e         = one,
                             .s         = one,
                             .col       = {log, LCSM_AXIS_T | LCSM_AXIS_D},
                             .col_phase = {lcsm_reshape(m->g, phase, lcsm_dims(1, D)), LCSM_AXIS_D},
                             .complex_i = true,
                             .complex_y = true,
                             .planes    = true};
    if (log->shape.rank == 1)
        o.col = (lcsm_operand){lcsm_reshape(m->g, log, lcsm_dims(1, D)), LCSM_AXIS_D};
    return lcsm_recurrence(m->g, &o, NULL);
}

/* S5 is discretise by rows, a matrix product, complex channels, and the matrix (2 Re C, -2 Im C).
 */
static void check_s5(model *m, lcsm_discretise_kind kind)
{
    enum { P = 2, H = 2, T = 3 };
    double        planes[2 * P * H], out[H * 2 * P];
    const double *B = shared_oracle_array(&m->oracle->inputs, "B", 2 * P * H);
    const double *C = shared_oracle_array(&m->oracle->inputs, "C", 2 * P * H);
    for (int j = 0; j < P * H; j++)
        for (int w = 0; w < 2; w++) {
            planes[w * P * H + j]              = B[2 * j + w];
            out[j / P * 2 * P + w * P + j % P] = (w == 0 ? 2 : -2) * C[2 * j + w];
        }
    lcsm_tensor  *u = from_case(m, "u", lcsm_dims(1, T, H));
    lcsm_discrete x = lcsm_discretise(
        m->g, &(lcsm_discretise_attr){.kind = kind, .rows = true},
        from_case(m, "Lre", lcsm_dims(P)), from_case(m, "Lim", lcsm_dims(P)),
        from_case(m, "log_dt", lcsm_dims(P)), given(m, "B", lcsm_dims(2, P, H), planes));
    lcsm_tensor *Bu = lcsm_linear(m->g, u, lcsm_reshape(m->g, x.coef, lcsm_dims(2 * P, H)), NULL);
    lcsm_tensor *h  = channels(m, Bu, x.log, x.phase);
    lcsm_tensor *y  = lcsm_linear(m->g, h, given(m, "C", lcsm_dims(H, 2 * P), out), NULL);
    y               = lcsm_add(m->g, y, lcsm_mul(m->g, u, from_case(m, "D", lcsm_dims(H))));
    plan(m, y);
    run_both(m, y, dy_of(m, "y", T * H));
    compare_output(m, "y", y);
    compare_grad(m, "u");
    compare_grad(m, "Lre");
    compare_grad(m, "Lim");
    compare_grad(m, "log_dt");
    compare_grad(m, "D");
}

static void check_s5_zoh(model *m)
{
    check_s5(m, LCSM_DISCRETISE_ZOH);
}

static void check_s5_bilinear(model *m)
{
    check_s5(m, LCSM_DISCRETISE_BILINEAR);
}

TEST(s5_of_these_ops_equals_the_numbers_from_elsewhere)
{
    with_oracle("s5.json", "s5_zoh_conj_sym", check_s5_zoh);
    with_oracle("s5.json", "s5_bilinear_conj_sym", check_s5_bilinear);
    with_oracle("s5.json", "s5_paper_table_form", check_s5_table);
}

/* ---- HGRN ---- */

/* 1 - lam = (1 - lower) sigmoid(-mu); both halves of the input are scaled by it. */
static void check_hgrn(model *m)
{
    enum { T = 3, D = 2 };
    lcsm_tensor *lower = from_case(m, "lower", lcsm_dims(D));
    lcsm_tensor *mu    = from_case(m, "mu", lcsm_dims(1, T, D));
    lcsm_tensor *keep  = lcsm_activate(m->g, LCSM_ACT_SIGMOID, lcsm_scale(m->g, mu, -1));
    keep               = lcsm_mul(m->g, keep, lcsm_affine(m->g, lower, -1, 1));
    lcsm_tensor *log   = lcsm_activate(m->g, LCSM_ACT_LOG, lcsm_affine(m->g, keep, -1, 1));
    lcsm_tensor *c     = from_case(m, "c", lcsm_dims(1, T, 2 * D));
    c                  = lcsm_halves(m->g, lcsm_activate(m->g, LCSM_ACT_SILU, c));
    lcsm_tensor *half[2];
    for (int j = 0; j < 2; j++) half[j] = lcsm_mul(m->g, lcsm_slice(m->g, c, 2, j * D, D), keep);
    lcsm_tensor *y =
        channels(m, lcsm_concat(m->g, half, 2), log, from_case(m, "theta", lcsm_dims(D)));
    plan(m, y);
    run_both(m, y, dy_of(m, "y", T * 2 * D));
    compare_output(m, "y", y);
    compare_grad(m, "c");
    compare_grad(m, "mu");
    compare_grad(m, "theta");
    compare_grad(m, "lower");
}

TEST(hgrn_of_these_ops_equals_the_numbers_from_elsewhere)
{
    with_oracle("hgrn_lrn.json", "hgrn_complex_core", check_hgrn);
}

static void check_lower_bounds(model *m)
{
    lcsm_tensor *y = lcsm_lower_bounds(m->g, from_case(m, "Gamma", lcsm_dims(3, 2)));
    plan(m, y);
    run(m);
    compare_output(m, "lower_bound", y);
}

TEST(lower_bounds_equal_the_numbers_from_elsewhere)
{
    with_oracle("tables.json", "hgrn_lower_bounds", check_lower_bounds);
}

/* ---- TNN ---- */

static void check_rpe(model *m)
{
    enum { N = 3, R = 2, D = 2 };
    const lcsm_norm_attr rms = {LCSM_NORM_RMS_OUTSIDE, 0, 1};
    lcsm_tensor         *w0 = lcsm_reshape(m->g, from_case(m, "w0", lcsm_dims(R, 1)), lcsm_dims(R));
    lcsm_tensor         *h =
        lcsm_positions(m->g, &(lcsm_positions_attr){N, 0, 1}, w0, from_case(m, "b0", lcsm_dims(R)));
    h = lcsm_activate(m->g, LCSM_ACT_RELU, lcsm_head_norm(m->g, &rms, h, NULL, NULL));
    h = lcsm_linear(m->g, h, from_case(m, "w1", lcsm_dims(R, R)), from_case(m, "b1", lcsm_dims(R)));
    h = lcsm_activate(m->g, LCSM_ACT_RELU, lcsm_head_norm(m->g, &rms, h, NULL, NULL));
    h = lcsm_linear(m->g, h, from_case(m, "wo", lcsm_dims(D, R)), from_case(m, "bo", lcsm_dims(D)));
    plan(m, h);
    run_both(m, h, dy_of(m, "y", N * D));
    compare_output(m, "y", h);
    for (int j = 0; j < m->leaves; j++) compare_grad(m, m->name[j]);
}

TEST(position_network_equals_the_numbers_from_elsewhere)
{
    with_oracle("tnn.json", "rpe_network_r2_layers1", check_rpe);
}

static void check_toeplitz(model *m)
{
    enum { N = 3, D = 2 };
    lcsm_tensor *x = from_case(m, "x", lcsm_dims(1, N, D)), *t = from_case(m, "t", lcsm_dims(N, D));
    lcsm_tensor *kernel = lcsm_decay_rows(m->g, t, 0.99), *y = lcsm_long_conv(m->g, x, kernel);
    lcsm_keep(m->g, kernel);
    plan(m, y);
    run_both(m, y, dy_of(m, "y", N * D));
    compare_output(m, "kernel", kernel);
    compare_output(m, "y", y);
    compare_grad(m, "x");
    compare_grad(m, "t");
}

/* For decoding: the converted kernel as a memory. */
static void check_converted(model *m)
{
    enum { N = 3, D = 2, K = 2 };
    static const double ONES[K] = {1, 1};
    double              phase[K], E[K * D * 2], row[] = {log(0.99)};
    const double       *t = shared_oracle_array(&m->oracle->inputs, "t", N * D);
    assert_int_equal(lcsm_toeplitz_rows(N), K);
    assert_int_equal(lcsm_toeplitz_convert(N, D, t, phase, E, NULL), LCSM_OK);
    lcsm_eos_operands o = {.H = 1,
                           .K = K,
                           .D = D,
                           .i = {from_case(m, "x", lcsm_dims(1, N, D)), LCSM_AXIS_T | LCSM_AXIS_D},
                           .e = {given(m, "E", lcsm_dims(K, D, 2), E), FULL},
                           .s = {given(m, "ones", lcsm_dims(1, K), ONES), LCSM_AXIS_K},
                           .row       = {given(m, "row", lcsm_dims(1, 1), row), 0},
                           .row_phase = {given(m, "phase", lcsm_dims(1, K), phase), LCSM_AXIS_K},
                           .complex_e = true};
    lcsm_tensor      *y = lcsm_recurrence(m->g, &o, NULL);
    plan(m, y);
    run(m);
    compare_output(m, "y_recurrent", y);
}

TEST(toeplitz_by_convolution_and_by_recurrence_equals_the_numbers_from_elsewhere)
{
    with_oracle("tnn.json", "toeplitz_causal_with_decay", check_toeplitz);
    with_oracle("tnn.json", "etsc_exact_conversion", check_converted);
}

/* ---- fast weights ---- */

TEST(dpfp_multiplies_rectified_neighbours)
{
    const double x[]    = {1, -2};
    const double want[] = {1 * 2, 0, 0, 0, 0, 0, 0, 0}; /* r = (1, 0, 0, 2) */
    model        m      = start(LCSM_F64);
    lcsm_tensor *y      = lcsm_dpfp(m.g, given(&m, "x", lcsm_dims(1, 2), x), 2);
    plan(&m, y);
    run(&m);
    for (ptrdiff_t j = 0; j < 8; j++) assert_near(get(&m, y->data, j), want[j], 0);
    finish(&m);
}
