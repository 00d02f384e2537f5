/*
 * eos.c - the EOS operator from C: gated linear attention, forward, backward, then step by step.
 *
 *     m_t = (g_t 1^T) * m_{t-1} + k_t v_t^T          y_t = m_t^T q_t / sqrt(K)
 *
 * v is the input state i, k expands, g oscillates (given by its logarithm), q shrinks. A real layer
 * gets q, k, v and g from projections; here they are waves.
 *
 *     cc eos.c $(pkg-config --cflags --libs lcsm) -lm
 */
#include <lcsm/lcsm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 100, H = 3, K = 16, D = 32 };

static float q[B][T][H][K], k[B][T][H][K], log_g[B][T][H][K];
static float v[B][T][H][D], y[B][T][H][D], g_y[B][T][H][D];
static float g_q[B][T][H][K], g_k[B][T][H][K], g_log_g[B][T][H][K], g_v[B][T][H][D];

/* What the operator needs beside its operands: workspaces and the tape, all 64-byte aligned. */
static void *room(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (p == NULL) abort();
    return p;
}

static void fail(const lcsm_error *err)
{
    fprintf(stderr, "eos: %s\n", err->text);
    exit(1);
}

static void fill_inputs(void)
{
    for (int j = 0; j < B * T * H * K; j++) {
        (&q[0][0][0][0])[j]     = sinf(0.37f * (float)j);
        (&k[0][0][0][0])[j]     = cosf(0.11f * (float)j);
        (&log_g[0][0][0][0])[j] = -0.05f - 0.05f * sinf(0.05f * (float)j);
    }
    for (int j = 0; j < B * T * H * D; j++) {
        (&v[0][0][0][0])[j]   = sinf(0.23f * (float)j);
        (&g_y[0][0][0][0])[j] = cosf(0.19f * (float)j);
    }
}

/* The operands and their axes: each has B, T and H, and beside them K or D. */
static lcsm_eos_desc describe(void)
{
    lcsm_eos_desc d = {.size = sizeof d};
    lcsm_eos_desc_init(&d, B, T, H, K, D);
    d.i     = lcsm_eos_axes(LCSM_AXIS_T | LCSM_AXIS_D);
    d.e     = lcsm_eos_axes(LCSM_AXIS_T | LCSM_AXIS_K);
    d.row   = lcsm_eos_axes(LCSM_AXIS_T | LCSM_AXIS_K);
    d.s     = lcsm_eos_axes(LCSM_AXIS_T | LCSM_AXIS_K);
    d.scale = 1 / sqrt(K);
    return d;
}

/* L = sum(g_y y), and its derivative along q by the gradient, sum(q dL/dq). */
static double loss(void)
{
    double sum = 0;
    for (int j = 0; j < B * T * H * D; j++)
        sum += (double)(&y[0][0][0][0])[j] * (double)(&g_y[0][0][0][0])[j];
    return sum;
}

static double along_q(void)
{
    double sum = 0;
    for (int j = 0; j < B * T * H * K; j++)
        sum += (double)(&q[0][0][0][0])[j] * (double)(&g_q[0][0][0][0])[j];
    return sum;
}

/* Steps every sequence of the batch, one token after the other; the largest difference from y. */
static float step_by_step(const lcsm_eos *op, lcsm_error *err)
{
    static float m[B][H][K][D]; /* the memory: all that is kept between tokens */
    float        q_t[B][H][K], k_t[B][H][K], log_g_t[B][H][K], v_t[B][H][D], y_t[B][H][D];
    float        worst = 0;
    void        *ws    = room(lcsm_eos_step_workspace(op));
    for (int t = 0; t < T; t++) {
        for (int b = 0; b < B; b++) { /* one token of each sequence, as for T = 1 */
            memcpy(q_t[b], q[b][t], sizeof q_t[b]);
            memcpy(k_t[b], k[b][t], sizeof k_t[b]);
            memcpy(log_g_t[b], log_g[b][t], sizeof log_g_t[b]);
            memcpy(v_t[b], v[b][t], sizeof v_t[b]);
        }
        const lcsm_eos_states x = {
            .i = &v_t[0][0][0], .e = &k_t[0][0][0], .row = &log_g_t[0][0][0], .s = &q_t[0][0][0]};
        if (lcsm_eos_step(op, &x, &m[0][0][0][0], &y_t[0][0][0], ws, err) != LCSM_OK) fail(err);
        for (int b = 0; b < B; b++)
            for (int j = 0; j < H * D; j++)
                worst = fmaxf(worst, fabsf((&y_t[b][0][0])[j] - (&y[b][t][0][0])[j]));
    }
    free(ws);
    return worst;
}

int main(void)
{
    lcsm_context *ctx;
    lcsm_eos     *op;
    lcsm_error    err;
    lcsm_eos_desc desc = describe();
    fill_inputs();
    if (lcsm_context_create(&ctx, NULL, &err) != LCSM_OK) fail(&err);
    if (lcsm_eos_create(&op, ctx, &desc, &err) != LCSM_OK) fail(&err);
    printf("form      %s, chunks of %td: %s\n", lcsm_eos_form_name(lcsm_eos_chosen_form(op)),
           lcsm_eos_chosen_chunk(op), lcsm_eos_reason(op));

    const lcsm_eos_states x = {
        .i = &v[0][0][0][0], .e = &k[0][0][0][0], .row = &log_g[0][0][0][0], .s = &q[0][0][0][0]};
    const lcsm_eos_grads g        = {.i   = &g_v[0][0][0][0],
                                     .e   = &g_k[0][0][0][0],
                                     .row = &g_log_g[0][0][0][0],
                                     .s   = &g_q[0][0][0][0]};
    void                *tape     = room(lcsm_eos_tape(op));
    void                *forward  = room(lcsm_eos_forward_workspace(op));
    void                *backward = room(lcsm_eos_backward_workspace(op));
    if (lcsm_eos_forward(op, &x, &y[0][0][0][0], NULL, tape, forward, &err) != LCSM_OK) fail(&err);
    if (lcsm_eos_backward(op, &x, &y[0][0][0][0], &g_y[0][0][0][0], NULL, &g, tape, backward, &err)
        != LCSM_OK)
        fail(&err);

    /* y is linear in q, so the derivative along q is the loss itself. */
    double L = loss(), slope = along_q();
    float  stepped = step_by_step(op, &err);
    printf("loss      %.6f, and along q by the gradient %.6f\n", L, slope);
    printf("stepping  differs from the whole by at most %.1e\n", (double)stepped);

    free(tape);
    free(forward);
    free(backward);
    lcsm_eos_free(op);
    lcsm_context_free(ctx);
    bool right = fabs(L - slope) <= 1e-4 * fabs(L) && stepped <= 1e-4f;
    puts(right ? "right" : "WRONG");
    return right ? 0 : 1;
}
