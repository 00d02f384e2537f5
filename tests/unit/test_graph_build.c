/* Building: views and their gradients, tensors that are used twice, and what is refused. */
#include <string.h>

#include "graph/graph.h"
#include "test.h"

typedef struct {
    lcsm_context *ctx;
    lcsm_params  *params;
    lcsm_graph   *g;
} fixture;

static fixture start(void)
{
    fixture                    f       = {0};
    const lcsm_context_options options = {.size = sizeof options, .threads = 1};
    assert_int_equal(lcsm_context_create(&f.ctx, &options, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&f.params, LCSM_F64, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&f.g, f.ctx, f.params, NULL), LCSM_OK);
    return f;
}

static void finish(fixture *f)
{
    lcsm_graph_free(f->g);
    lcsm_params_free(f->params);
    lcsm_context_free(f->ctx);
}

static lcsm_tensor *input(fixture *f, lcsm_shape shape)
{
    lcsm_tensor *x = lcsm_input(f->g, "x", LCSM_F64, shape);
    lcsm_keep_grad(f->g, x);
    return x;
}

/* Fills x with 1, 2, 3 ... and runs both ways. */
static void run(fixture *f, lcsm_tensor *x)
{
    lcsm_error err = {0};
    if (lcsm_graph_plan(f->g, &(lcsm_plan_options){.train = true}, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    for (ptrdiff_t j = 0; j < lcsm_tensor_count(x); j++) ((double *)x->data)[j] = (double)(j + 1);
    assert_int_equal(lcsm_graph_forward(f->g, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_backward(f->g, NULL, &err), LCSM_OK);
}

static void assert_grad(const lcsm_tensor *x, const double *want)
{
    for (ptrdiff_t j = 0; j < lcsm_tensor_count(x); j++)
        assert_true(((double *)x->grad)[j] == want[j]);
}

TEST(graph_tensor_that_is_both_factors_gets_both_gradients)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 2));
    lcsm_loss(f.g, lcsm_sum(f.g, lcsm_mul(f.g, x, x)));
    run(&f, x);
    assert_grad(x, (double[]){2, 4, 6, 8});
    finish(&f);
}

TEST(graph_slice_that_is_used_three_times_gets_all_gradients)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 3));
    lcsm_tensor *s = lcsm_slice(f.g, x, 1, 1, 2);
    lcsm_loss(f.g, lcsm_sum(f.g, lcsm_lerp(f.g, s, s, s))); /* s + s (s - s) */
    run(&f, x);
    assert_grad(x, (double[]){0, 1, 1, 0, 1, 1});
    finish(&f);
}

TEST(graph_slices_that_overlap_add_their_gradients)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 3));
    lcsm_tensor *a = lcsm_slice(f.g, x, 1, 0, 2), *b = lcsm_slice(f.g, x, 1, 1, 2);
    lcsm_loss(f.g, lcsm_sum(f.g, lcsm_mul(f.g, a, b)));
    run(&f, x);
    assert_grad(x, (double[]){2, 4, 2, 5, 10, 5});
    finish(&f);
}

TEST(graph_slices_of_each_axis_are_views)
{
    fixture      f    = start();
    lcsm_tensor *x    = input(&f, lcsm_dims(2, 3, 2));
    lcsm_tensor *row  = lcsm_slice(f.g, x, 0, 1, 1); /* 7 .. 12 */
    lcsm_tensor *last = lcsm_slice(f.g, x, 1, 2, 1); /* 5 6, 11 12 */
    lcsm_tensor *col  = lcsm_slice(f.g, x, 2, 1, 1); /* 2 4 6 8 10 12 */
    lcsm_tensor *flat = lcsm_reshape(f.g, x, lcsm_dims(12));
    lcsm_tensor *sum  = lcsm_add(f.g, lcsm_sum(f.g, row), lcsm_sum(f.g, last));
    sum               = lcsm_add(f.g, sum, lcsm_sum(f.g, col));
    sum               = lcsm_add(f.g, sum, lcsm_sum(f.g, lcsm_slice(f.g, flat, 0, 3, 2)));
    lcsm_loss(f.g, sum);
    run(&f, x);
    assert_true(*(double *)sum->data == 57 + 34 + 42 + 9);
    assert_grad(x, (double[]){0, 1, 0, 2, 2, 2, 1, 2, 1, 2, 2, 3});
    finish(&f);
}

TEST(graph_gradient_that_nobody_writes_is_zero)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(3)), *y = input(&f, lcsm_dims(3));
    lcsm_tensor *w =
        lcsm_param_tensor(f.g, "w", lcsm_dims(3), lcsm_init_constant(2), LCSM_PARAM_NO_DECAY);
    lcsm_scale(f.g, w, 2);
    lcsm_loss(f.g, lcsm_sum(f.g, x));
    assert_int_equal(lcsm_graph_plan(f.g, &(lcsm_plan_options){.train = true}, NULL), LCSM_OK);
    memset(f.params->grads, 0xff, f.params->block * sizeof(double));
    memset(x->data, 0, 3 * sizeof(double));
    assert_int_equal(lcsm_graph_forward(f.g, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_backward(f.g, NULL, NULL), LCSM_OK);
    assert_grad(x, (double[]){1, 1, 1});
    assert_grad(y, (double[]){0, 0, 0});
    assert_grad(w, (double[]){0, 0, 0});
    finish(&f);
}

TEST(graph_frozen_parameter_gets_no_gradient_and_passes_it_on)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 2));
    lcsm_tensor *w =
        lcsm_param_tensor(f.g, "w", lcsm_dims(2, 2), lcsm_init_constant(3), LCSM_PARAM_FROZEN);
    lcsm_loss(f.g, lcsm_sum(f.g, lcsm_linear(f.g, x, w, NULL)));
    run(&f, x);
    assert_grad(x, (double[]){6, 6, 6, 6});
    assert_grad(w, (double[]){0, 0, 0, 0});
    finish(&f);
}

TEST(graph_tied_parameter_is_one_tensor)
{
    fixture f = start();
    lcsm_scope_push(f.g, "a");
    lcsm_tensor *w = lcsm_param_tensor(f.g, "w", lcsm_dims(2), lcsm_init_constant(1), 0);
    assert_ptr_equal(w, lcsm_param_tensor(f.g, "w", lcsm_dims(2), lcsm_init_constant(5), 0));
    lcsm_scope_pop(f.g);
    assert_ptr_not_equal(w, lcsm_param_tensor(f.g, "w", lcsm_dims(2), lcsm_init_constant(5), 0));
    assert_int_equal(lcsm_params_find(f.params, "a.w"), 0);
    assert_int_equal(lcsm_params_find(f.params, "w"), 1);
    finish(&f);
}

TEST(graph_seeded_tensor_that_is_used_again_gets_both_gradients)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2));
    lcsm_tensor *y = lcsm_scale(f.g, x, 3);
    lcsm_seed(f.g, y);
    lcsm_loss(f.g, lcsm_sum(f.g, y));
    lcsm_error err = {0};
    assert_int_equal(lcsm_graph_plan(f.g, &(lcsm_plan_options){.train = true}, &err), LCSM_OK);
    memset(x->data, 0, 2 * sizeof(double));
    memcpy(y->grad, (double[]){10, 20}, 2 * sizeof(double));
    for (int times = 0; times < 2; times++) {
        assert_int_equal(lcsm_graph_forward(f.g, NULL, &err), LCSM_OK);
        assert_int_equal(lcsm_graph_backward(f.g, &(lcsm_run_options){.loss_scale = 0.5}, &err),
                         LCSM_OK);
        assert_grad(x, (double[]){31.5, 61.5});
    }
    finish(&f);
}

/* ---- refusals ---- */

static void assert_refused(fixture *f, const char *part)
{
    lcsm_error err = {0};
    assert_int_not_equal(lcsm_graph_plan(f->g, NULL, &err), LCSM_OK);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, part);
    finish(f);
}

TEST(graph_first_failure_wins_and_names_op_scope_and_shapes)
{
    fixture f = start();
    lcsm_scope_push(f.g, "layers.%d", 3);
    lcsm_tensor *x = input(&f, lcsm_dims(2, 5));
    lcsm_tensor *w = lcsm_param_tensor(f.g, "w", lcsm_dims(4, 6), lcsm_init_constant(0), 0);
    lcsm_tensor *y = lcsm_linear(f.g, x, w, NULL);
    assert_null(y);
    assert_null(lcsm_scale(f.g, y, 2)); /* nothing looks at y */
    assert_null(lcsm_slice(f.g, y, 9, 9, 9));
    assert_refused(&f, "layers.3.linears: the rows of x have 5 numbers, those of w 6; x [2, 5]; "
                       "w0 [4, 6]");
}

TEST(graph_missing_input_is_refused)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 5));
    lcsm_linear(f.g, x, NULL, NULL);
    assert_refused(&f, "the input w is missing");
}

TEST(graph_integers_where_reals_belong_are_refused)
{
    fixture      f = start();
    lcsm_tensor *t = lcsm_input(f.g, "t", LCSM_I32, lcsm_dims(2));
    lcsm_scale(f.g, t, 2);
    assert_refused(&f, "x is i32; expected f64");
}

TEST(graph_input_of_the_other_precision_is_refused)
{
    fixture f = start();
    lcsm_input(f.g, "t", LCSM_F32, lcsm_dims(2));
    assert_refused(&f, "input t is f32; expected f64 or i32");
}

TEST(graph_shapes_that_overflow_are_refused)
{
    fixture f = start();
    lcsm_input(f.g, "huge", LCSM_F64, lcsm_dims(PTRDIFF_MAX / 4, 3));
    assert_refused(&f, "not a valid shape");
}

TEST(graph_negative_axis_is_refused)
{
    fixture f = start();
    lcsm_input(f.g, "odd", LCSM_F64, lcsm_dims(3, -1));
    assert_refused(&f, "odd: [3, -1] is not a valid shape");
}

TEST(graph_slice_outside_is_refused)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 5));
    lcsm_slice(f.g, x, 1, 3, 3);
    assert_refused(&f, "slice 3..6 of axis 1 is not inside [2, 5]");
}

TEST(graph_slice_of_a_middle_axis_is_refused)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 5, 3));
    lcsm_slice(f.g, x, 1, 1, 2);
    assert_refused(&f, "slice of axis 1 of [2, 5, 3]");
}

TEST(graph_reshape_that_tears_a_slice_is_refused)
{
    fixture      f = start();
    lcsm_tensor *x = input(&f, lcsm_dims(2, 6));
    lcsm_reshape(f.g, lcsm_slice(f.g, x, 1, 0, 4), lcsm_dims(2, 2, 2));
    assert_refused(&f, "it is a slice and keeps its last axis");
}

TEST(graph_nested_blocks_are_refused)
{
    fixture f = start();
    lcsm_block_begin(f.g);
    lcsm_block_begin(f.g);
    assert_refused(&f, "blocks do not nest");
}

TEST(graph_open_block_is_refused)
{
    fixture f = start();
    lcsm_block_begin(f.g);
    assert_refused(&f, "a block is still open");
}

TEST(graph_loss_of_several_numbers_is_refused)
{
    fixture f = start();
    lcsm_loss(f.g, input(&f, lcsm_dims(2)));
    assert_refused(&f, "a loss is f64 [2]; expected one real number");
}

TEST(graph_parameter_of_two_shapes_is_refused)
{
    fixture f = start();
    lcsm_param_tensor(f.g, "w", lcsm_dims(2), lcsm_init_constant(0), 0);
    lcsm_param_tensor(f.g, "w", lcsm_dims(3), lcsm_init_constant(0), 0);
    assert_refused(&f, "parameter w is [2] and cannot also be [3]");
}

TEST(graph_scopes_are_balanced_and_short)
{
    fixture f = start();
    lcsm_scope_pop(f.g);
    assert_refused(&f, "popped");
    f = start();
    for (int j = 0; j < 100; j++) lcsm_scope_push(f.g, "deep");
    assert_refused(&f, "levels");
    f = start();
    lcsm_scope_push(f.g, "%0300d", 7);
    assert_refused(&f, "too long");
}

TEST(graph_token_out_of_range_stops_the_run)
{
    fixture      f = start();
    lcsm_error   err;
    lcsm_tensor *t = lcsm_input(f.g, "t", LCSM_I32, lcsm_dims(2));
    lcsm_tensor *w = lcsm_param_tensor(f.g, "w", lcsm_dims(3, 2), lcsm_init_constant(0), 0);
    lcsm_scope_push(f.g, "model");
    lcsm_embed(f.g, t, w, 1);
    assert_int_equal(lcsm_graph_plan(f.g, NULL, &err), LCSM_OK);
    memcpy(t->data, (int32_t[]){2, 3}, 2 * sizeof(int32_t));
    assert_int_equal(lcsm_graph_forward(f.g, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_string_equal(err.text, "model.embed: token 3 at position 1; expected 0 to 2");
    finish(&f);
}

TEST(graph_result_that_is_not_finite_is_found)
{
    fixture      f = start();
    lcsm_error   err;
    lcsm_tensor *x = input(&f, lcsm_dims(2));
    lcsm_scale(f.g, lcsm_mul(f.g, x, x), 0);
    assert_int_equal(lcsm_graph_plan(f.g, NULL, &err), LCSM_OK);
    memcpy(x->data, (double[]){1, 1e200}, 2 * sizeof(double));
    assert_int_equal(lcsm_graph_forward(f.g, NULL, &err), LCSM_OK);
    const lcsm_run_options check = {.check = true};
    assert_int_equal(lcsm_graph_forward(f.g, &check, &err), LCSM_ERR_NUMBER);
    assert_string_equal(err.text, "mul: its result is NaN or infinite");
    finish(&f);
}

TEST(graph_runs_in_the_wrong_order_are_refused)
{
    fixture    f = start();
    lcsm_error err;
    lcsm_loss(f.g, lcsm_sum(f.g, input(&f, lcsm_dims(2))));
    assert_int_equal(lcsm_graph_forward(f.g, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_graph_plan(f.g, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_plan(f.g, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_graph_backward(f.g, NULL, &err), LCSM_ERR_ARGUMENT);
    finish(&f);
    f = start();
    lcsm_loss(f.g, lcsm_sum(f.g, input(&f, lcsm_dims(2))));
    assert_int_equal(lcsm_graph_plan(f.g, &(lcsm_plan_options){.train = true}, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_backward(f.g, NULL, &err), LCSM_ERR_ARGUMENT);
    finish(&f);
}
