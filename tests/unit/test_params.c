/* The list of parameters: blocks, initial values, copies between number types. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "graph/params.h"
#include "test.h"

static lcsm_params *list(lcsm_dtype dtype, uint64_t seed)
{
    lcsm_params *p;
    assert_int_equal(lcsm_params_create(&p, dtype, seed, NULL), LCSM_OK);
    return p;
}

static int add(lcsm_params *p, const char *name, lcsm_shape shape, lcsm_init init, unsigned flags)
{
    int        row;
    lcsm_error err = {0};
    if (lcsm_params_add(&row, p, name, &shape, &init, flags, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return row;
}

TEST(params_pieces_are_aligned_and_gaps_are_zero)
{
    lcsm_params *p = list(LCSM_F32, 1);
    add(p, "a", lcsm_dims(3), lcsm_init_constant(1), 0);
    add(p, "none", lcsm_dims(0, 7), lcsm_init_constant(1), 0);
    add(p, "b", lcsm_dims(2, 9), lcsm_init_constant(2), LCSM_PARAM_FROZEN);
    assert_int_equal(lcsm_params_reserve(p, true, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_total(p), 21);
    assert_int_equal(lcsm_params_trained(p), 3);
    float sum = 0;
    for (size_t j = 0; j < p->block; j++) sum += ((float *)p->values)[j];
    assert_true(sum == 3 + 36);
    for (size_t j = 0; j < p->count; j++)
        assert_int_equal((uintptr_t)lcsm_param_values(p, (int)j) % LCSM_ALIGN, 0);
    for (size_t j = 0; j < p->block; j++) assert_true(((float *)p->grads)[j] == 0);
    lcsm_params_free(p);
}

static void count_up(double *values, const lcsm_shape *shape, size_t count, const lcsm_init *init,
                     uint64_t seed, uint32_t purpose)
{
    (void)seed, (void)purpose;
    for (size_t j = 0; j < count; j++) values[j] = init->a + (double)(j % (size_t)shape->dim[1]);
}

TEST(params_start_as_their_init_says)
{
    enum { N = 20000 };
    lcsm_params *p       = list(LCSM_F64, 7);
    int          normal  = add(p, "normal", lcsm_dims(N), lcsm_init_normal(0.5), 0);
    int          uniform = add(p, "uniform", lcsm_dims(N), lcsm_init_uniform(-1, 3), 0);
    int          fill    = add(p, "fill", lcsm_dims(2, 3),
                               (lcsm_init){.kind = LCSM_INIT_FILL, .a = 10, .fill = count_up}, 0);
    assert_int_equal(lcsm_params_reserve(p, false, NULL), LCSM_OK);
    const double *x = lcsm_param_values(p, normal), *u = lcsm_param_values(p, uniform);
    double        m = 0, v = 0, mu = 0;
    for (int j = 0; j < N; j++) {
        m += x[j] / N;
        v += x[j] * x[j] / N;
        mu += u[j] / N;
        assert_true(u[j] >= -1 && u[j] < 3);
    }
    /* Four standard errors of 20,000 draws. */
    assert_true(fabs(m) < 4 * 0.5 / sqrt(N) && fabs(sqrt(v) - 0.5) < 4 * 0.5 / sqrt(2 * N));
    assert_true(fabs(mu - 1) < 4 * 4 / sqrt(12.0 * N));
    const double want[] = {10, 11, 12, 10, 11, 12};
    assert_memory_equal(lcsm_param_values(p, fill), want, sizeof want);
    assert_null(p->grads);
    assert_null(lcsm_param_grads(p, fill));
    lcsm_params_free(p);
}

TEST(params_values_depend_on_name_and_seed_only)
{
    lcsm_params *p = list(LCSM_F64, 7), *q = list(LCSM_F64, 7), *r = list(LCSM_F64, 8);
    add(q, "more", lcsm_dims(5), lcsm_init_normal(1), 0);
    int a = add(p, "x", lcsm_dims(4), lcsm_init_normal(1), 0);
    int b = add(q, "x", lcsm_dims(4), lcsm_init_normal(1), 0);
    int c = add(r, "x", lcsm_dims(4), lcsm_init_normal(1), 0);
    assert_int_equal(lcsm_params_reserve(p, false, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_reserve(q, false, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_reserve(r, false, NULL), LCSM_OK);
    assert_memory_equal(lcsm_param_values(p, a), lcsm_param_values(q, b), 4 * sizeof(double));
    assert_memory_not_equal(lcsm_param_values(p, a), lcsm_param_values(r, c), 4 * sizeof(double));
    lcsm_params_free(p);
    lcsm_params_free(q);
    lcsm_params_free(r);
}

TEST(params_copy_converts_by_name)
{
    lcsm_params *p = list(LCSM_F32, 1), *q = list(LCSM_F64, 2);
    lcsm_error   err;
    add(p, "a", lcsm_dims(3), lcsm_init_normal(1), 0);
    add(p, "b", lcsm_dims(2), lcsm_init_normal(1), 0);
    add(q, "b", lcsm_dims(2), lcsm_init_normal(1), 0);
    assert_int_equal(lcsm_params_copy(q, p, &err), LCSM_ERR_ARGUMENT); /* no values yet */
    int a = add(q, "a", lcsm_dims(3), lcsm_init_normal(1), 0);
    assert_int_equal(lcsm_params_reserve(p, false, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_reserve(q, false, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_copy(q, p, &err), LCSM_OK);
    for (int j = 0; j < 3; j++)
        assert_true(((double *)lcsm_param_values(q, a))[j]
                    == (double)((float *)lcsm_param_values(p, 0))[j]);
    lcsm_params *other = list(LCSM_F64, 2);
    add(other, "a", lcsm_dims(3), lcsm_init_normal(1), 0);
    add(other, "c", lcsm_dims(2), lcsm_init_normal(1), 0);
    assert_int_equal(lcsm_params_reserve(other, false, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_copy(other, p, &err), LCSM_ERR_ARGUMENT);
    assert_string_equal(err.text, "there is no parameter b to copy to");
    lcsm_params_free(p);
    lcsm_params_free(q);
    lcsm_params_free(other);
}

TEST(params_list_is_closed_once_it_has_values)
{
    lcsm_params    *p = list(LCSM_F32, 1);
    lcsm_error      err;
    int             row;
    const lcsm_init init = lcsm_init_constant(0);
    add(p, "a", lcsm_dims(3), init, 0);
    assert_int_equal(lcsm_params_reserve(p, false, NULL), LCSM_OK);
    const lcsm_shape three = lcsm_dims(3);
    assert_int_equal(lcsm_params_add(&row, p, "a", &three, &init, 0, &err), LCSM_OK);
    assert_int_equal(lcsm_params_add(&row, p, "b", &three, &init, 0, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "parameter b is not in the list"));
    lcsm_params_free(p);
}

TEST(params_of_integers_are_refused)
{
    lcsm_params *p;
    lcsm_error   err;
    assert_int_equal(lcsm_params_create(&p, LCSM_I32, 1, &err), LCSM_ERR_ARGUMENT);
    assert_null(p);
    assert_string_equal(err.text, "parameters are i32; expected f32 or f64");
}
