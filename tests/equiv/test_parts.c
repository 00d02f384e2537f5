/* Parts of layers (lcsm/parts.h) against plain loops in double: every kind and function, rows that
 * are slices of wider arrays, sizes 0, 1, odd and of several ranges. */
#include <lcsm/parts.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "near.h"

enum { ROOM = 1 << 17, GAP = 3 };

static float x[ROOM], z[ROOM], y[ROOM], w[ROOM], b[ROOM], before[ROOM];

static const ptrdiff_t ROWS[]   = {0, 1, 7, 96};
static const ptrdiff_t WIDTHS[] = {1, 5, 17, 300};

static lcsm_context *context(void)
{
    static lcsm_context *ctx;
    if (ctx == NULL) assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    return ctx;
}

static void fill(float *p, size_t n, unsigned seed)
{
    for (size_t j = 0; j < n; j++) {
        seed = seed * 1664525u + 1013904223u;
        p[j] = 2 * (float)(int32_t)seed / 2147483648.0f;
    }
}

static void fill_all(void)
{
    fill(x, ROOM, 1);
    fill(z, ROOM, 2);
    fill(w, ROOM, 3);
    fill(b, ROOM, 4);
    fill(y, ROOM, 5);
    memcpy(before, y, sizeof y);
}

/* Rows of `in` numbers that lie GAP further apart than they must. */
static lcsm_part part_of(lcsm_part_kind kind, ptrdiff_t rows, ptrdiff_t in, ptrdiff_t heads)
{
    ptrdiff_t row = in * heads + GAP;
    return (lcsm_part){.size  = sizeof(lcsm_part),
                       .kind  = kind,
                       .rows  = rows,
                       .in    = in,
                       .heads = heads,
                       .x     = x,
                       .z     = z,
                       .y     = y,
                       .w     = w,
                       .x_row = row,
                       .z_row = row,
                       .y_row = row,
                       .scale = 1};
}

static void run(const lcsm_part *p)
{
    size_t     bytes;
    lcsm_error err = {0};
    fill_all();
    assert_int_equal(lcsm_parts_workspace(context(), p, 1, &bytes, &err), LCSM_OK);
    void *ws = aligned_alloc(64, bytes / 64 * 64 + 64);
    assert_non_null(ws);
    assert_int_equal(lcsm_parts_run(context(), p, 1, ws, &err), LCSM_OK);
    free(ws);
}

static double function(lcsm_part_function f, double v)
{
    switch (f) {
    case LCSM_PART_SILU: return v / (1 + exp(-v));
    case LCSM_PART_SIGMOID: return 1 / (1 + exp(-v));
    case LCSM_PART_SOFTPLUS: return log1p(exp(v));
    case LCSM_PART_EXP: return exp(v);
    case LCSM_PART_GELU: return v * erfc(-v * 0.70710678118654752) / 2;
    case LCSM_PART_GELU_TANH:
        return v / 2 * (1 + tanh(0.79788456080286536 * (v + 0.044715 * v * v * v)));
    case LCSM_PART_REST: return exp(2 * v) < 1 ? sqrt(1 - exp(2 * v)) : 0;
    default: return v;
    }
}

/* Numbers up to 8 with a dozen roundings; the root of what is nearly 0 doubles them. */
static double bound(lcsm_part_function f)
{
    return f == LCSM_PART_REST ? 1e-3 : 2e-5;
}

/* What is not a column of the rows stays. */
static void gaps_stay(const lcsm_part *p, ptrdiff_t wide)
{
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t j = wide; j < p->y_row; j++)
            assert_true(y[r * p->y_row + j] == before[r * p->y_row + j]);
    for (ptrdiff_t j = p->rows * p->y_row; j < ROOM; j++) assert_true(y[j] == before[j]);
}

#define FOR_SIZES(rows, in)                                                                        \
    for (size_t r_ = 0; r_ < COUNT(ROWS); r_++)                                                    \
        for (size_t i_ = 0; i_ < COUNT(WIDTHS); i_++)                                              \
            for (ptrdiff_t rows = ROWS[r_], in = WIDTHS[i_], once_ = 1; once_ > 0; once_ = 0)

#define FOR_ELEMENTS(p, wide)                                                                      \
    for (ptrdiff_t r = 0; r < (p).rows; r++)                                                       \
        for (ptrdiff_t i = 0; i < (wide); i++)

TEST(parts_map_and_glu_apply_every_function)
{
    for (int f = 0; f <= LCSM_PART_REST; f++) FOR_SIZES(rows, in)
        {
            lcsm_part p = part_of(LCSM_PART_MAP, rows, in, 1);
            p.function  = (lcsm_part_function)f;
            p.b         = b;
            p.scale     = -1.5;
            run(&p);
            FOR_ELEMENTS(p, in)
            assert_near(y[r * p.y_row + i],
                        -1.5 * function(p.function, (double)(x[r * p.x_row + i] + b[i])),
                        bound(p.function) * 3);
            gaps_stay(&p, in);
            p.kind = LCSM_PART_GLU;
            run(&p);
            FOR_ELEMENTS(p, in)
            assert_near(y[r * p.y_row + i],
                        function(p.function, z[r * p.z_row + i]) * x[r * p.x_row + i],
                        bound(p.function));
            gaps_stay(&p, in);
        }
}

TEST(parts_scale_and_spread_multiply_and_add)
{
    for (int add = 0; add < 2; add++) FOR_SIZES(rows, in)
        {
            lcsm_part p = part_of(LCSM_PART_SCALE, rows, in, 1);
            p.add       = add;
            run(&p);
            FOR_ELEMENTS(p, in)
            assert_near(y[r * p.y_row + i],
                        (double)x[r * p.x_row + i] * w[i] + add * (double)before[r * p.y_row + i],
                        2e-6);
            gaps_stay(&p, in);
            for (ptrdiff_t shared = 1; shared < 3; shared++) {
                p        = part_of(LCSM_PART_SPREAD, rows, in, 2);
                p.shared = shared;
                p.add    = add;
                if (add == 1) p.z = NULL;
                run(&p);
                FOR_ELEMENTS(p, 2 * in)
                {
                    ptrdiff_t h    = i / in;
                    double    by   = add == 1 ? w[h] : z[r * p.z_row + h];
                    double    want = by * x[r * p.x_row + h / shared * in + i % in];
                    assert_near(y[r * p.y_row + i], want + add * (double)before[r * p.y_row + i],
                                2e-6);
                }
                gaps_stay(&p, 2 * in);
            }
        }
}

TEST(parts_norm_and_unit_scale_each_head)
{
    for (int how = 0; how < 4; how++) /* w shared, own, shifted; unit */
        FOR_SIZES(rows, in)
        {
            lcsm_part p = part_of(how == 3 ? LCSM_PART_UNIT : LCSM_PART_NORM, rows, in, 3);
            p.eps       = 1e-2;
            p.own       = how == 1;
            p.shift     = how == 2;
            run(&p);
            FOR_ELEMENTS(p, 3 * in)
            {
                ptrdiff_t h   = i / in;
                double    sum = 0;
                for (ptrdiff_t j = 0; j < in; j++)
                    sum += pow((double)x[r * p.x_row + h * in + j], 2);
                double root = 1 / sqrt((how == 3 ? sum : sum / (double)in) + p.eps);
                double by   = how == 3 ? 1 : p.shift + w[how == 1 ? i : i % in];
                assert_near(y[r * p.y_row + i], x[r * p.x_row + i] * root * by, 1e-4);
            }
            gaps_stay(&p, 3 * in);
        }
}

TEST(parts_linear_maps_each_head)
{
    for (int how = 0; how < 8; how++) /* turned, with a function, with z */
        FOR_SIZES(rows, in)
        {
            ptrdiff_t out = in % 7 + 2;
            lcsm_part p   = part_of(LCSM_PART_LINEAR, rows, in, 2);
            p.out         = out;
            p.turned      = how & 1;
            p.function    = (how & 2) != 0 ? LCSM_PART_SILU : LCSM_PART_SAME;
            p.b           = b;
            p.y_row = p.z_row = 2 * out + GAP;
            if ((how & 4) == 0) p.z = NULL;
            run(&p);
            FOR_ELEMENTS(p, 2 * out)
            {
                ptrdiff_t    h = i / out, o = i % out;
                const float *v   = w + h * in * out;
                double       sum = b[i];
                for (ptrdiff_t j = 0; j < in; j++)
                    sum += (double)x[r * p.x_row + h * in + j]
                         * (p.turned != 0 ? v[j * out + o] : v[o * in + j]);
                double want = function(p.function, sum) + (p.z == NULL ? 0 : z[r * p.z_row + i]);
                assert_near(y[r * p.y_row + i], want, 1e-6 * (10 + (double)in * 4));
            }
            gaps_stay(&p, 2 * out);
        }
}

static double convolved(const lcsm_part *p, ptrdiff_t r, ptrdiff_t i, ptrdiff_t steps)
{
    double sum = b[i];
    for (ptrdiff_t j = 0; j < p->taps && j <= r % steps; j++)
        sum += (double)w[i * p->taps + p->taps - 1 - j] * x[(r - j) * p->x_row + i];
    return function(p->function, sum);
}

TEST(parts_conv_sees_its_own_sequence_only)
{
    static const lcsm_part_function F[] = {LCSM_PART_SAME, LCSM_PART_SILU, LCSM_PART_GELU};
    for (ptrdiff_t taps = 1; taps < 6; taps++) FOR_SIZES(rows, in)
        {
            lcsm_part p = part_of(LCSM_PART_CONV, rows, in, 1);
            p.taps      = taps;
            p.steps     = rows == 96 ? 48 : rows == 0 ? 1 : rows;
            p.function  = F[taps % 3];
            p.b         = b;
            run(&p);
            FOR_ELEMENTS(p, in)
            assert_near(y[r * p.y_row + i], convolved(&p, r, i, p.steps), 1e-4);
            gaps_stay(&p, in);
        }
}

/* Step by step with what is held is the whole sequence at once. */
TEST(parts_conv_goes_on_with_its_state)
{
    enum { STEPS = 9, SEQUENCES = 2, IN = 5 };
    static float held_inputs[SEQUENCES * IN * 7], got[STEPS * SEQUENCES * IN];
    for (ptrdiff_t held = 3; held < 6; held++) {
        memset(held_inputs, 0, sizeof held_inputs);
        for (ptrdiff_t t = 0; t < STEPS; t++) {
            lcsm_part p = part_of(LCSM_PART_CONV, SEQUENCES, IN, 1);
            p.taps      = 4;
            p.steps     = 1;
            p.held      = held;
            p.b         = b;
            p.function  = LCSM_PART_SILU;
            p.state     = held_inputs;
            p.x         = x + t * IN;
            p.x_row     = STEPS * IN;
            p.y_row     = IN;
            run(&p);
            memcpy(got + t * SEQUENCES * IN, y, SEQUENCES * IN * sizeof *y);
        }
        for (ptrdiff_t r = 0; r < STEPS * SEQUENCES; r++)
            for (ptrdiff_t i = 0; i < IN; i++) {
                lcsm_part p = {.taps = 4, .x_row = IN, .function = LCSM_PART_SILU};
                assert_near(got[(r % STEPS * SEQUENCES + r / STEPS) * IN + i],
                            convolved(&p, r, i, STEPS), 1e-5);
            }
    }
}

TEST(parts_rates_follow_the_parameter)
{
    float     last[15];
    lcsm_part p = {.size  = sizeof p,
                   .kind  = LCSM_PART_RATES,
                   .rows  = 3,
                   .in    = 5,
                   .x     = x,
                   .y     = y,
                   .state = last,
                   .scale = -1};
    memset(last, 0xff, sizeof last);
    run(&p);
    for (int turn = 0; turn < 2; turn++) {
        for (ptrdiff_t r = 0; r < 3; r++)
            for (ptrdiff_t i = 0; i < 5; i++)
                assert_near(y[i * 3 + r], -exp((double)x[r * 5 + i]), 1e-5);
        x[7] += 0.5f;
        assert_int_equal(lcsm_parts_run(context(), &p, 1, NULL, NULL), LCSM_OK);
    }
}

TEST(parts_that_do_not_fit_are_refused)
{
    lcsm_error err;
    lcsm_part  bad[6];
    size_t     bytes;
    for (size_t j = 0; j < COUNT(bad); j++) bad[j] = part_of(LCSM_PART_CONV, 4, 3, 1);
    for (size_t j = 0; j < COUNT(bad); j++) bad[j].taps = bad[j].steps = 2;
    bad[0].size  = 8;
    bad[1].kind  = (lcsm_part_kind)99;
    bad[2].rows  = -1;
    bad[3].steps = 3;
    bad[4].w     = NULL;
    bad[5].taps  = 0;
    for (size_t j = 0; j < COUNT(bad); j++) {
        assert_int_equal(lcsm_parts_workspace(context(), &bad[j], 1, &bytes, &err),
                         LCSM_ERR_ARGUMENT);
        assert_int_equal(lcsm_parts_run(context(), &bad[j], 1, y, &err), LCSM_ERR_ARGUMENT);
        assert_non_null(strstr(err.text, "part 0"));
    }
    lcsm_part good = part_of(LCSM_PART_CONV, 4, 3, 1);
    good.taps = good.steps = 2;
    assert_int_equal(lcsm_parts_run(context(), &good, 1, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "workspace"));
}
