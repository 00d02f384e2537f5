/* test_normaliser.c - the recurrence with its normaliser and running maximum: gradients against
 * finite differences, resets, and sequences in two parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/attr.h"
#include "graph/graph.h"
#include "test.h"

enum { B = 2, T = 7, H = 3, K = 2, D = 3, INPUTS = 5 };

typedef struct {
    lcsm_normaliser_kind kind;
    double               start;
    bool                 z, static_gate, resets;
} kind;

static const kind KINDS[] = {
    {LCSM_NORMALISER_PLAIN, 0, false, false, false},
    {LCSM_NORMALISER_PLAIN, LCSM_MAX_EMPTY, true, false, false},
    {LCSM_NORMALISER_PLAIN, LCSM_MAX_EMPTY, true, true, true},
    {LCSM_NORMALISER_FLOOR, 0, true, false, false},
    {LCSM_NORMALISER_FLOOR, LCSM_MAX_EMPTY, true, false, true},
    {LCSM_NORMALISER_FLOOR, 0, false, true, false},
};

typedef struct {
    lcsm_context *ctx;
    lcsm_params  *params;
    lcsm_graph   *g;
    lcsm_tensor  *in[INPUTS], *reset, *y; /* i, e, s, row, z */
    lcsm_state   *state;
} rig;

static lcsm_eos_operands operands(rig *r, const kind *k, ptrdiff_t steps)
{
    static const ptrdiff_t WIDTH[INPUTS] = {H * D, H * K, H * K, H, H};
    for (int j = 0; j < INPUTS; j++) {
        lcsm_shape shape = lcsm_dims(B, steps, WIDTH[j]);
        if (j == 3 && k->static_gate) shape = lcsm_dims(H);
        r->in[j] = lcsm_input(r->g, "x", LCSM_F64, shape);
        lcsm_keep_grad(r->g, r->in[j]);
    }
    if (k->resets) r->reset = lcsm_input(r->g, "reset", LCSM_I32, lcsm_dims(B, steps));
    return (lcsm_eos_operands){
        .H          = H,
        .K          = K,
        .D          = D,
        .i          = {r->in[0], LCSM_AXIS_T | LCSM_AXIS_D},
        .e          = {r->in[1], LCSM_AXIS_T | LCSM_AXIS_K},
        .s          = {r->in[2], LCSM_AXIS_T | LCSM_AXIS_K},
        .row        = {r->in[3], k->static_gate ? 0 : LCSM_AXIS_T},
        .reset      = r->reset,
        .normaliser = {.kind = k->kind, .z = k->z ? r->in[4] : NULL, .start = k->start}};
}

/* Positive e and s, gates below 1, z from -3 to 3. */
static void fill(rig *r, ptrdiff_t t0)
{
    static const double LOW[INPUTS] = {-1, 0.2, 0.2, -1, -3}, HIGH[INPUTS] = {1, 1, 1, -0.1, 3};
    for (int j = 0; j < INPUTS; j++) {
        ptrdiff_t cols = r->in[j]->cols, steps = r->in[j]->shape.rank == 3 ? r->in[j]->rows / B : 1;
        for (ptrdiff_t n = 0; n < lcsm_tensor_count(r->in[j]); n++) {
            ptrdiff_t row = n / cols, b = row / steps, t = t0 + row % steps;
            uint64_t  at = (uint64_t)((b * T + t) * cols + n % cols);
            if (steps == 1 && r->in[j]->shape.rank == 1) at = (uint64_t)n;
            ((double *)r->in[j]->data)[n] =
                LOW[j] + (HIGH[j] - LOW[j]) * lcsm_rng_uniform(5, (uint32_t)j, at);
        }
    }
    ptrdiff_t steps = r->reset == NULL ? 0 : r->reset->cols;
    for (ptrdiff_t n = 0; n < B * steps; n++)
        ((int32_t *)r->reset->data)[n] = (t0 + n % steps) == 3 + n / steps;
}

static rig rig_make(const kind *k, ptrdiff_t steps)
{
    rig r = {0};
    assert_int_equal(lcsm_context_create(&r.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&r.params, LCSM_F64, 3, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&r.g, r.ctx, r.params, NULL), LCSM_OK);
    lcsm_eos_operands o = operands(&r, k, steps);
    r.y                 = lcsm_scale(r.g, lcsm_recurrence(r.g, &o, NULL), 1);
    lcsm_keep(r.g, r.y);
    lcsm_seed(r.g, r.y);
    assert_int_equal(lcsm_graph_plan(r.g, &(lcsm_plan_options){.train = true}, NULL), LCSM_OK);
    return r;
}

static void rig_free(rig *r)
{
    lcsm_state_free(r->state);
    lcsm_graph_free(r->g);
    lcsm_params_free(r->params);
    lcsm_context_free(r->ctx);
}

static double weight(ptrdiff_t n)
{
    return 2 * lcsm_rng_uniform(7, 0, (uint64_t)n) - 1;
}

static double loss(rig *r)
{
    double sum = 0;
    assert_int_equal(lcsm_graph_forward(r->g, NULL, NULL), LCSM_OK);
    for (ptrdiff_t n = 0; n < lcsm_tensor_count(r->y); n++)
        sum += weight(n) * ((double *)r->y->data)[n];
    return sum;
}

static double difference(rig *r, double *x)
{
    double keep = *x, h = 1e-4, f[4];
    for (int j = 0; j < 4; j++) {
        *x   = keep + h * (double[]){-2, -1, 1, 2}[j];
        f[j] = loss(r);
    }
    *x = keep;
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

TEST(normaliser_gradients_match_finite_differences)
{
    for (size_t c = 0; c < COUNT(KINDS); c++) {
        rig r = rig_make(&KINDS[c], T);
        fill(&r, 0);
        (void)loss(&r);
        for (ptrdiff_t n = 0; n < lcsm_tensor_count(r.y); n++) ((double *)r.y->grad)[n] = weight(n);
        assert_int_equal(lcsm_graph_backward(r.g, NULL, NULL), LCSM_OK);
        double *g[INPUTS];
        for (int j = 0; j < INPUTS; j++) {
            if (j == 4 && !KINDS[c].z) continue;
            size_t n = (size_t)lcsm_tensor_count(r.in[j]);
            g[j]     = malloc(n * sizeof *g[j]);
            memcpy(g[j], r.in[j]->grad, n * sizeof *g[j]);
        }
        for (int j = 0; j < INPUTS; j++) {
            if (j == 4 && !KINDS[c].z) continue;
            for (ptrdiff_t n = 0; n < lcsm_tensor_count(r.in[j]); n++) {
                double d = difference(&r, (double *)r.in[j]->data + n);
                if (!(fabs(d - g[j][n]) < 1e-8 * (1 + fabs(d))))
                    fail_msg("kind %zu, input %d: the gradient %td is %g, not %g", c, j, n, g[j][n],
                             d);
            }
            free(g[j]);
        }
        rig_free(&r);
    }
}

/* mu is carried beside the memory. */
TEST(normaliser_in_two_parts_equals_whole)
{
    for (size_t c = 0; c < COUNT(KINDS); c++) {
        rig       whole = rig_make(&KINDS[c], T), part[2] = {{0}, {0}};
        ptrdiff_t cut[3] = {0, 4, T};
        fill(&whole, 0);
        (void)loss(&whole);
        for (int p = 0; p < 2; p++) {
            part[p] = rig_make(&KINDS[c], cut[p + 1] - cut[p]);
            fill(&part[p], cut[p]);
        }
        lcsm_state *memory = NULL;
        assert_int_equal(lcsm_state_create(&memory, part[0].g, NULL), LCSM_OK);
        for (int p = 0; p < 2; p++) {
            ptrdiff_t n = cut[p + 1] - cut[p];
            assert_int_equal(
                lcsm_graph_forward(part[p].g, &(lcsm_run_options){.state = memory}, NULL), LCSM_OK);
            for (ptrdiff_t j = 0; j < B * n * H * D; j++) {
                ptrdiff_t b = j / (n * H * D), rest = j % (n * H * D);
                double    want = ((double *)whole.y->data)[(b * T + cut[p]) * H * D + rest];
                assert_true(fabs(((double *)part[p].y->data)[j] - want) < 1e-13 * (1 + fabs(want)));
            }
        }
        lcsm_state_free(memory);
        rig_free(&whole);
        rig_free(&part[0]);
        rig_free(&part[1]);
    }
}
