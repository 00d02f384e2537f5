/* fast_weights.c - decaying fast weights (DUR, GFW), the delta rule (FWP), and the paper's M1, M2
 * and M3. */
#include <math.h>

#include "base/rng.h"
#include "eos/method.h"
#include "eos/tables.h"

/* ---- outer gates ------------------------------------------------------------------------ */

/* Biases that spread the gates evenly over (0, 1): u ~ U(1/N, 1 - 1/N), b = logit(u). */
LCSM_FILL(fill_spread)
{
    double edge = count > 2 ? 1 / (double)count : 0.25;
    for (size_t j = 0; j < count; j++)
        v[j] = lcsm_logit(edge + (1 - 2 * edge) * lcsm_rng_uniform(seed, purpose, j));
}

static lcsm_tensor *gate_logits(const lcsm_mixer *m, const char *name, ptrdiff_t out)
{
    lcsm_init    spread = {.kind = LCSM_INIT_FILL, .fill = fill_spread};
    lcsm_tensor *z      = lcsm_mix_project(m, m->x, name, out, false);
    lcsm_scope_push(m->g, "%s", name);
    lcsm_tensor *b = lcsm_mix_param(m, "bias", lcsm_dims(out), spread, LCSM_PARAM_NO_DECAY);
    lcsm_scope_pop(m->g);
    return lcsm_add(m->g, z, b);
}

static bool key_value_query(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t H = lcsm_mix_heads(m, 1),
              K = lcsm_mix_expand(m, lcsm_mix_split(m, "d_model", m->D, H));
    *s          = (lcsm_states){.H = H,
                                .K = K,
                                .D = m->D / H,
                                .i = lcsm_per_token_d(lcsm_mix_project(m, m->x, "v", m->D, false)),
                                .e = lcsm_per_token_k(lcsm_mix_project(m, m->x, "k", H * K, false)),
                                .s = lcsm_per_token_k(lcsm_mix_project(m, m->x, "q", H * K, false))};
    return s->s.x != NULL;
}

/* m = (1 - g h^T) * m + (g k) (h v)^T. */
bool lcsm_gfw_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (!key_value_query(m, s)) return false;
    lcsm_tensor *k = gate_logits(m, "gate_k", s->H * s->K), *d = gate_logits(m, "gate_d", m->D);
    s->u   = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_SIGMOID, k));
    s->w   = lcsm_per_token_d(lcsm_activate(m->g, LCSM_ACT_SIGMOID, d));
    s->gen = LCSM_GEN_COMPLEMENT;
    s->e.x = lcsm_mul(m->g, s->e.x, s->u.x);
    s->i.x = lcsm_mul(m->g, s->i.x, s->w.x);
    return s->i.x != NULL;
}

/* o = sigmoid(zk) sigmoid(zd)^T. */
bool lcsm_dur_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (m->cfg->complement) return lcsm_gfw_states(m, s);
    if (!key_value_query(m, s)) return false;
    s->row = lcsm_per_token_k(lcsm_gate(m->g, gate_logits(m, "gate_k", s->H * s->K), 1));
    s->col = lcsm_per_token_d(lcsm_gate(m->g, gate_logits(m, "gate_d", m->D), 1));
    return s->col.x != NULL;
}

lcsm_tensor *lcsm_dur_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_project(m, lcsm_mix_recurrence(m, lcsm_dur_states), "out", m->D, false);
}

lcsm_tensor *lcsm_gfw_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_project(m, lcsm_mix_recurrence(m, lcsm_gfw_states), "out", m->D, false);
}

/* ---- the delta rule --------------------------------------------------------------------- */

/* Keys that sum to 1, or of length 1, in each head; eps is for those that may be all zero. */
static lcsm_tensor *normed(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t H, lcsm_norm_kind kind,
                           double eps)
{
    lcsm_norm_attr a = {.kind = kind, .eps = eps, .heads = H};
    return lcsm_head_norm(m->g, &a, x, NULL, NULL);
}

/* DPFP with nu = 1 in each head: 2 K features. */
static lcsm_tensor *dpfp(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t H)
{
    if (x == NULL) return NULL;
    ptrdiff_t    K = x->cols / H;
    lcsm_tensor *y = lcsm_dpfp(m->g, lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T, H, K)), 1);
    return lcsm_reshape(m->g, y, lcsm_dims(m->B, m->T, 2 * H * K));
}

/* The feature map of fast weights: 1+elu or DPFP, summing to 1; or silu of length 1. */
static lcsm_tensor *feature(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t H)
{
    if (m->cfg->feature == LCSM_FEATURE_L2)
        return normed(m, lcsm_activate(m->g, LCSM_ACT_SILU, x), H, LCSM_NORM_L2, 1e-12);
    if (m->cfg->feature == LCSM_FEATURE_DPFP)
        return normed(m, dpfp(m, x, H), H, LCSM_NORM_SUM, 1e-6);
    return normed(m, lcsm_activate(m->g, LCSM_ACT_ELU1, x), H, LCSM_NORM_SUM, 0);
}

/* beta k with one write strength beta = sigmoid(W x) for each head. */
static lcsm_tensor *strengthened(const lcsm_mixer *m, lcsm_tensor *k, ptrdiff_t H)
{
    if (k == NULL) return NULL;
    lcsm_tensor *z    = lcsm_mix_project(m, m->x, "beta", H, false);
    lcsm_tensor *beta = lcsm_activate(m->g, LCSM_ACT_SIGMOID, z);
    lcsm_tensor *rows = lcsm_reshape(m->g, k, lcsm_dims(m->B, m->T, H, k->cols / H));
    beta              = lcsm_reshape(m->g, beta, lcsm_dims(m->B, m->T, H, 1));
    return lcsm_reshape(m->g, lcsm_scale_rows(m->g, rows, beta), lcsm_dims(m->B, m->T, k->cols));
}

/* W = W + beta k (v - W^T k)^T, y = W^T q / sqrt(K). */
bool lcsm_fwp_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (!key_value_query(m, s)) return false;
    lcsm_tensor *k = feature(m, s->e.x, s->H);
    s->K           = k == NULL ? 1 : k->cols / s->H;
    s->s.x         = feature(m, s->s.x, s->H);
    s->erase       = lcsm_per_token_k(k);
    s->e.x         = strengthened(m, k, s->H);
    s->scale       = 1 / sqrt((double)s->K);
    return s->e.x != NULL;
}

lcsm_tensor *lcsm_fwp_mixer(const lcsm_mixer *m)
{
    return lcsm_mix_project(m, lcsm_mix_recurrence(m, lcsm_fwp_states), "out", m->D, false);
}

/* O = I - k k^T, e = k; keys of length 1 unless raw. */
bool lcsm_m1_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (!key_value_query(m, s)) return false;
    if (!m->cfg->raw) s->e.x = normed(m, s->e.x, s->H, LCSM_NORM_L2, 1e-12);
    s->erase = s->e;
    return s->e.x != NULL;
}

/* O = I - k b^T, e = k, b a key of its own; both sum to 1 and k is scaled by beta unless raw. */
bool lcsm_m2_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (!key_value_query(m, s)) return false;
    lcsm_tensor *b = lcsm_mix_project(m, m->x, "b", s->H * s->K, false);
    if (!m->cfg->raw) {
        b      = normed(m, lcsm_activate(m->g, LCSM_ACT_ELU1, b), s->H, LCSM_NORM_SUM, 0);
        s->e.x = normed(m, lcsm_activate(m->g, LCSM_ACT_ELU1, s->e.x), s->H, LCSM_NORM_SUM, 0);
        s->e.x = strengthened(m, s->e.x, s->H);
    }
    s->erase = lcsm_per_token_k(b);
    return b != NULL;
}

/* O = I - diag(k), e = k; k = sigmoid(W x) unless raw, where 1 - k may be anything. */
bool lcsm_m3_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (!key_value_query(m, s)) return false;
    lcsm_tensor *z = s->e.x;
    if (m->cfg->raw) {
        s->u = s->e;
        s->w = lcsm_static(lcsm_mix_constant(m, "one", lcsm_dims(s->H), lcsm_init_constant(1)), 0);
        s->gen = LCSM_GEN_COMPLEMENT;
        return s->w.x != NULL;
    }
    s->e.x = lcsm_activate(m->g, LCSM_ACT_SIGMOID, z);
    s->row = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_LOG_SIGMOID, lcsm_scale(m->g, z, -1)));
    return s->row.x != NULL;
}
