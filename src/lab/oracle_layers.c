/* oracle_layers.c - activations, norms, gated units, convolutions, loss; optimiser, schedules. */
#include <math.h>
#include <string.h>

#include "lab/oracle_build.h"
#include "train/optimizer.h"
#include "train/schedule.h"

/* ---- activations ---- */

void lcsm_lab_activation(lcsm_lab *lab)
{
    double act = lcsm_lab_number(lab, "act", NAN);
    if (!(act >= 0 && act <= LCSM_ACT_SQUARE))
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the setting act is %g; expected 0 to 7", act);
    lcsm_tensor *x = lcsm_lab_in(lab, "x"), *y = lcsm_activate(lab->g, (lcsm_act)act, x);
    lcsm_lab_out(lab, "y", y);
    lcsm_lab_out_derivative(lab, "dydx", y, x);
}

/* o = sigmoid(x)^(1/tau), by its logarithm. */
void lcsm_lab_gate_values(lcsm_lab *lab)
{
    lcsm_tensor *x   = lcsm_lab_in(lab, "x");
    lcsm_tensor *log = lcsm_gate(lab->g, x, lcsm_lab_number(lab, "tau", NAN));
    lcsm_tensor *o   = lcsm_activate(lab->g, LCSM_ACT_EXP, log);
    lcsm_lab_out(lab, "log_o", log);
    lcsm_lab_out(lab, "o", o);
    lcsm_lab_out_derivative(lab, "dodx", o, x);
    lcsm_lab_out_derivative(lab, "dlogo_dx", log, x);
}

void lcsm_lab_softplus(lcsm_lab *lab)
{
    lcsm_tensor *x = lcsm_lab_in(lab, "x"), *y = lcsm_activate(lab->g, LCSM_ACT_SOFTPLUS, x);
    lcsm_lab_out(lab, "softplus", y);
    lcsm_lab_out(lab, "logsigmoid_of_minus_x",
                 lcsm_activate(lab->g, LCSM_ACT_LOG_SIGMOID, lcsm_scale(lab->g, x, -1)));
    lcsm_lab_out_derivative(lab, "d_softplus", y, x);
}

/* ---- layers ---- */

void lcsm_lab_layer_norm(lcsm_lab *lab)
{
    lcsm_lab_out(lab, "y",
                 lcsm_layer_norm(lab->g, lcsm_lab_in(lab, "x"), lcsm_lab_in(lab, "g"),
                                 lcsm_lab_in(lab, "b"), lcsm_lab_number(lab, "eps", NAN)));
}

void lcsm_lab_rms_norm(lcsm_lab *lab)
{
    lcsm_lab_out(lab, "y",
                 lcsm_rms_norm(lab->g, lcsm_lab_in(lab, "x"), lcsm_lab_in(lab, "g"),
                               lcsm_lab_number(lab, "eps", NAN)));
}

void lcsm_lab_short_conv(lcsm_lab *lab)
{
    const lcsm_conv_attr attr = {0};
    lcsm_lab_out(lab, "y",
                 lcsm_short_conv(lab->g, &attr, lcsm_lab_seq(lab, "x"), lcsm_lab_in(lab, "w"),
                                 lcsm_lab_in(lab, "b"), NULL));
}

/* y_t = sum_{r <= t} K_{t-r} u_r. */
void lcsm_lab_long_conv(lcsm_lab *lab)
{
    lcsm_lab_out(lab, "y", lcsm_long_conv(lab->g, lcsm_lab_seq(lab, "u"), lcsm_lab_in(lab, "K")));
}

/* The mean over the targets that count; the logits are given, so their weight is the identity and
 * the fused loss sees them as its input. */
void lcsm_lab_loss(lcsm_lab *lab)
{
    ptrdiff_t      n = lcsm_lab_dim(lab, "logits", 0), V = lcsm_lab_dim(lab, "logits", 1);
    double        *eye     = lcsm_lab_take(lab, (size_t)(V * V), sizeof *eye);
    double        *targets = lcsm_lab_take(lab, (size_t)n, sizeof *targets);
    lcsm_loss_attr attr    = {.ignore = (int32_t)lcsm_lab_number(lab, "ignore_index", -100)};
    if (eye == NULL || targets == NULL) return;
    for (ptrdiff_t j = 0; j < V; j++) eye[j * V + j] = 1;
    lcsm_lab_list(lab, "targets", targets, (size_t)n);
    lcsm_lab_out(lab, "loss",
                 lcsm_linear_cross_entropy(lab->g, &attr, lcsm_lab_in(lab, "logits"),
                                           lcsm_lab_constant(lab, lcsm_dims(V, V), eye),
                                           lcsm_lab_integers(lab, lcsm_dims(n), targets), NULL));
}

/* ---- optimiser and schedules: no graph ---- */

/* Numbers of the lab's type. */
static void *to_type(lcsm_lab *lab, const double *from, size_t n)
{
    void *to = lcsm_lab_take(lab, n, sizeof(double));
    for (size_t j = 0; to != NULL && j < n; j++) {
        if (lab->dtype == LCSM_F64) ((double *)to)[j] = from == NULL ? 0 : from[j];
        else ((float *)to)[j] = from == NULL ? 0 : (float)from[j];
    }
    return to;
}

void lcsm_lab_adamw(lcsm_lab *lab)
{
    const lcsm_oracle_array *p0 = lcsm_lab_array(lab, "p0"), *grads = lcsm_lab_array(lab, "grads");
    const lcsm_adamw_config  cfg = {
         .style = strstr(lab->c->name, "fairseq") != NULL ? LCSM_ADAMW_FAIRSEQ : LCSM_ADAMW_TORCH,
         .beta1 = lcsm_lab_number(lab, "beta1", NAN),
         .beta2 = lcsm_lab_number(lab, "beta2", NAN),
         .eps   = lcsm_lab_number(lab, "eps", NAN),
         .weight_decay = lcsm_lab_number(lab, "weight_decay", 0)};
    double lr = lcsm_lab_number(lab, "lr", NAN);
    if (p0 == NULL || grads == NULL) return;
    size_t  n = p0->count, steps = n > 0 ? grads->count / n : 0;
    void   *p = to_type(lab, p0->data, n), *m = to_type(lab, NULL, n), *v = to_type(lab, NULL, n);
    double *path = lcsm_lab_take(lab, n * steps, sizeof *path);
    if (p == NULL || m == NULL || v == NULL || path == NULL) return;
    for (size_t t = 0; t < steps; t++) {
        void *g = to_type(lab, grads->data + t * n, n);
        if (g == NULL) return;
        lcsm_adamw_step(lab->ctx, lab->dtype, &cfg, (int64_t)t + 1, lr, 1, n, g, p, m, v);
        for (size_t j = 0; j < n; j++)
            path[t * n + j] = lab->dtype == LCSM_F64 ? ((double *)p)[j] : (double)((float *)p)[j];
    }
    lcsm_lab_out_numbers(lab, "p", path, n * steps);
}

static void rates(lcsm_lab *lab, const lcsm_schedule *s, const char *steps)
{
    const lcsm_oracle_array *at = lcsm_lab_array(lab, steps);
    lcsm_error               err;
    if (lcsm_schedule_check(s, &err) != LCSM_OK)
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "%s", err.text);
    double *lr = lcsm_lab_take(lab, at == NULL ? 1 : at->count, sizeof *lr);
    if (at == NULL || lr == NULL) return;
    for (size_t j = 0; j < at->count; j++) lr[j] = lcsm_schedule_rate(s, (int64_t)at->data[j]);
    lcsm_lab_out_numbers(lab, "lr", lr, at->count);
}

void lcsm_lab_inverse_sqrt(lcsm_lab *lab)
{
    const lcsm_schedule s = {.kind   = LCSM_SCHEDULE_INVERSE_SQRT,
                             .peak   = lcsm_lab_number(lab, "peak", NAN),
                             .start  = lcsm_lab_number(lab, "init", 0),
                             .warmup = (int64_t)lcsm_lab_number(lab, "warmup", NAN)};
    rates(lab, &s, "num_updates");
}

/* One update is one epoch here. */
void lcsm_lab_cosine(lcsm_lab *lab)
{
    const lcsm_schedule s = {.kind  = LCSM_SCHEDULE_COSINE_EPOCH,
                             .peak  = lcsm_lab_number(lab, "base", NAN),
                             .total = (int64_t)lcsm_lab_number(lab, "T", NAN),
                             .epoch = 1};
    rates(lab, &s, "epoch");
}
