/* build_layers.c - the builders of graph/layers.h: each makes one node and returns its output. */
#include "graph/layers.h"

static lcsm_tensor *first(const lcsm_node *n)
{
    return n == NULL ? NULL : n->out[0];
}

lcsm_tensor *lcsm_activate_scaled(lcsm_graph *g, lcsm_act act, lcsm_tensor *x, double scale)
{
    return first(lcsm_graph_add(g, LCSM_OP_activation, &(lcsm_activation_attr){act, scale}, &x, 1));
}

lcsm_tensor *lcsm_activate(lcsm_graph *g, lcsm_act act, lcsm_tensor *x)
{
    return lcsm_activate_scaled(g, act, x, 1);
}

lcsm_tensor *lcsm_gate(lcsm_graph *g, lcsm_tensor *z, double tau)
{
    if (!(tau > 0))
        return lcsm_graph_fail(g, LCSM_ERR_ARGUMENT, "gate: tau is %g; expected > 0", tau);
    return lcsm_activate_scaled(g, LCSM_ACT_LOG_SIGMOID, z, 1 / tau);
}

lcsm_tensor *lcsm_glu(lcsm_graph *g, lcsm_act act, lcsm_tensor *a, lcsm_tensor *b)
{
    lcsm_tensor *in[] = {a, b};
    return first(lcsm_graph_add(g, LCSM_OP_glu, &(lcsm_glu_attr){act}, in, 2));
}

lcsm_tensor *lcsm_head_norm(lcsm_graph *g, const lcsm_norm_attr *a, lcsm_tensor *x, lcsm_tensor *w,
                            lcsm_tensor *b)
{
    lcsm_tensor *in[] = {x, w, b};
    return first(lcsm_graph_add(g, LCSM_OP_norm, a, in, 3));
}

lcsm_tensor *lcsm_layer_norm(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, lcsm_tensor *b,
                             double eps)
{
    return lcsm_head_norm(g, &(lcsm_norm_attr){LCSM_NORM_LAYER, eps, 1}, x, w, b);
}

lcsm_tensor *lcsm_rms_norm(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *w, double eps)
{
    return lcsm_head_norm(g, &(lcsm_norm_attr){LCSM_NORM_RMS, eps, 1}, x, w, NULL);
}

lcsm_tensor *lcsm_short_conv(lcsm_graph *g, const lcsm_conv_attr *a, lcsm_tensor *x, lcsm_tensor *w,
                             lcsm_tensor *b, lcsm_tensor *reset)
{
    lcsm_tensor *in[] = {x, w, b, reset};
    return first(lcsm_graph_add(g, LCSM_OP_conv, a, in, 4));
}

lcsm_tensor *lcsm_long_conv(lcsm_graph *g, lcsm_tensor *u, lcsm_tensor *kernel)
{
    lcsm_tensor *in[] = {u, kernel};
    return first(lcsm_graph_add(g, LCSM_OP_longconv, NULL, in, 2));
}

lcsm_tensor *lcsm_token_shift(lcsm_graph *g, const lcsm_shift_attr *a, lcsm_tensor *x,
                              lcsm_tensor *mu, lcsm_tensor *reset)
{
    lcsm_tensor *in[] = {x, mu, reset};
    return first(lcsm_graph_add(g, LCSM_OP_shift, a, in, 3));
}

lcsm_tensor *lcsm_rotation(lcsm_graph *g, const lcsm_rotate_attr *a, lcsm_tensor *x,
                           lcsm_tensor *theta)
{
    lcsm_tensor *in[] = {x, theta};
    return first(lcsm_graph_add(g, LCSM_OP_rotate, a, in, 2));
}

static lcsm_tensor *loss(const lcsm_node *n, const lcsm_loss_attr *a, lcsm_tensor *details[2])
{
    if (n == NULL) return NULL;
    if (a->details && details != NULL) {
        details[0] = n->out[1];
        details[1] = n->out[2];
    }
    return n->out[0];
}

lcsm_tensor *lcsm_cross_entropy(lcsm_graph *g, const lcsm_loss_attr *a, lcsm_tensor *logits,
                                lcsm_tensor *targets, lcsm_tensor *details[2])
{
    lcsm_tensor *in[] = {logits, targets};
    return loss(lcsm_graph_add(g, LCSM_OP_xent, a, in, 2), a, details);
}

lcsm_tensor *lcsm_linear_cross_entropy(lcsm_graph *g, const lcsm_loss_attr *a, lcsm_tensor *x,
                                       lcsm_tensor *w, lcsm_tensor *targets,
                                       lcsm_tensor *details[2])
{
    lcsm_tensor *in[] = {x, w, targets};
    return loss(lcsm_graph_add(g, LCSM_OP_linear_xent, a, in, 3), a, details);
}

lcsm_tensor *lcsm_softmax_attention(lcsm_graph *g, const lcsm_attention_attr *a, lcsm_tensor *q,
                                    lcsm_tensor *k, lcsm_tensor *v, lcsm_tensor *reset)
{
    lcsm_tensor *in[] = {q, k, v, reset};
    return first(lcsm_graph_add(g, LCSM_OP_attention, a, in, 4));
}
