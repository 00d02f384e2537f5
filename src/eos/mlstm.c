/*
 * mlstm.c - mLSTM (xLSTM): a matrix memory with an exponential input gate, divided by its own sum.
 *
 *     m_t = f_t m_{t-1} + exp(z_t) k_t v_t^T        n_t = f_t n_{t-1} + exp(z_t) k_t
 *     y_t = m_t^T q_t / max(|n_t^T q_t|, 1)         q times 1 / sqrt(K)
 *
 * f is the sigmoid of a number for each head. A running maximum holds exp(z), and z and the input
 * of f are bent to within gate_cap.
 */
#include <math.h>

#include "eos/method.h"

typedef struct {
    ptrdiff_t H, K, D;
} sizes;

static sizes sizes_of(const lcsm_mixer *m)
{
    ptrdiff_t H = lcsm_mix_heads(m, m->D % 4 == 0 ? 4 : 1);
    sizes     z = {.H = H, .D = lcsm_mix_value_head(m, H)};
    z.K         = lcsm_mix_expand(m, m->D / (2 * H) > 0 ? m->D / (2 * H) : 1);
    return z;
}

/* From 3 to 6. */
LCSM_FILL(fill_forget)
{
    for (size_t h = 0; h < count; h++)
        v[h] = 3 + (count == 1 ? 0 : 3 * (double)h / (double)(count - 1));
}

/* cap tanh((W x + bias) / cap). */
static lcsm_tensor *gate(const lcsm_mixer *m, const char *name, ptrdiff_t H, lcsm_init bias)
{
    double       cap = m->cfg->gate_cap;
    lcsm_tensor *x   = lcsm_mix_project_init(m, m->x, name, H, false, lcsm_init_constant(0));
    lcsm_scope_push(m->g, "%s", name);
    x = lcsm_add(m->g, x, lcsm_mix_param(m, "bias", lcsm_dims(H), bias, LCSM_PARAM_NO_DECAY));
    lcsm_scope_pop(m->g);
    if (cap == 0) return x;
    return lcsm_activate_scaled(m->g, LCSM_ACT_TANH, lcsm_scale(m->g, x, 1 / cap), cap);
}

static lcsm_tensor *project(const lcsm_mixer *m, const char *name, ptrdiff_t width)
{
    return lcsm_mix_project_init(m, m->x, name, width, false,
                                 lcsm_init_normal(sqrt(2 / (5 * (double)m->D))));
}

bool lcsm_mlstm_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes        z      = sizes_of(m);
    lcsm_init    forget = {.kind = LCSM_INIT_FILL, .fill = fill_forget};
    lcsm_tensor *f      = gate(m, "forget", z.H, forget);
    *s            = (lcsm_states){.H = z.H, .K = z.K, .D = z.D, .scale = 1 / sqrt((double)z.K)};
    s->i          = lcsm_per_token_d(project(m, "v", z.H * z.D));
    s->e          = lcsm_per_token_k(project(m, "k", z.H * z.K));
    s->s          = lcsm_per_token_k(project(m, "q", z.H * z.K));
    s->row        = (lcsm_operand){lcsm_activate(m->g, LCSM_ACT_LOG_SIGMOID, f), LCSM_AXIS_T};
    s->normaliser = (lcsm_normaliser){.kind = LCSM_NORMALISER_FLOOR,
                                      .eps  = m->cfg->normaliser_eps,
                                      .z    = gate(m, "input", z.H, lcsm_init_constant(-10))};
    return s->normaliser.z != NULL;
}

/* W (sigmoid(gate) * norm(y)), the norm in heads. */
lcsm_tensor *lcsm_mlstm_mixer(const lcsm_mixer *m)
{
    sizes          z   = sizes_of(m);
    ptrdiff_t      n   = z.H * z.D;
    lcsm_norm_attr a   = {.kind = LCSM_NORM_LAYER, .eps = lcsm_mix_eps(m, 1e-6), .heads = z.H};
    lcsm_init      out = lcsm_init_normal(2 / (m->layers * sqrt((double)n)));
    lcsm_tensor   *w   = lcsm_mix_param(m, "norm.weight", lcsm_dims(n), lcsm_init_constant(1), 0);
    lcsm_tensor   *y = lcsm_head_norm(m->g, &a, lcsm_mix_recurrence(m, lcsm_mlstm_states), w, NULL);
    y                = lcsm_glu(m->g, LCSM_ACT_SIGMOID, project(m, "gate", n), y);
    return lcsm_mix_project_init(m, y, "out", m->D, false, out);
}
