/* mixer.c - what the methods' builders share. */
#include "eos/mixer.h"

#include <math.h>

#include "eos/tables.h"

ptrdiff_t lcsm_mix_or(ptrdiff_t value, ptrdiff_t standard)
{
    return value > 0 ? value : standard;
}

ptrdiff_t lcsm_mix_heads(const lcsm_mixer *m, ptrdiff_t standard)
{
    return lcsm_mix_or(m->cfg->heads, standard);
}

ptrdiff_t lcsm_mix_expand(const lcsm_mixer *m, ptrdiff_t standard)
{
    return lcsm_mix_or(m->cfg->expand, standard);
}

ptrdiff_t lcsm_mix_inner(const lcsm_mixer *m, double standard)
{
    double    ratio = m->cfg->inner_ratio > 0 ? m->cfg->inner_ratio : standard;
    ptrdiff_t width = (ptrdiff_t)((double)m->D * ratio + 1e-9);
    return width > 0 ? width : 1;
}

ptrdiff_t lcsm_mix_value_width(const lcsm_mixer *m)
{
    return (ptrdiff_t)((double)m->D * m->cfg->value_ratio + 0.5);
}

ptrdiff_t lcsm_mix_even(const lcsm_mixer *m, const char *what, ptrdiff_t n)
{
    if (n % 2 == 0) return n;
    lcsm_graph_fail(m->g, LCSM_ERR_CONFIG, "%s is %td; expected an even number, for example %td",
                    what, n, n + 1);
    return n + 1;
}

/* The divisor of width that is nearest to heads. */
static ptrdiff_t nearest_heads(ptrdiff_t width, ptrdiff_t heads)
{
    for (ptrdiff_t by = 0;; by++) {
        if (heads - by >= 1 && heads - by <= width && width % (heads - by) == 0) return heads - by;
        if (heads + by >= 1 && heads + by <= width && width % (heads + by) == 0) return heads + by;
    }
}

ptrdiff_t lcsm_mix_split(const lcsm_mixer *m, const char *what, ptrdiff_t width, ptrdiff_t heads)
{
    if (heads >= 1 && width >= heads && width % heads == 0) return width / heads;
    lcsm_graph_fail(m->g, LCSM_ERR_CONFIG,
                    "%s %td is not divisible by %td heads; use %td heads, for example", what, width,
                    heads, nearest_heads(width, heads));
    return 1;
}

ptrdiff_t lcsm_mix_value_head(const lcsm_mixer *m, ptrdiff_t heads)
{
    const char *what = m->cfg->value_ratio == 1 ? "d_model" : "value width";
    return lcsm_mix_split(m, what, lcsm_mix_value_width(m), heads);
}

double lcsm_mix_eps(const lcsm_mixer *m, double standard)
{
    return m->cfg->mixer_eps > 0 ? m->cfg->mixer_eps : standard;
}

lcsm_init lcsm_mix_init(const lcsm_mixer *m, ptrdiff_t in)
{
    double bound = 1 / sqrt((double)in);
    return m->cfg->wiring == LCSM_WIRING_LM ? lcsm_init_uniform(-bound, bound)
                                            : lcsm_init_normal(0.02);
}

lcsm_init lcsm_mix_xavier(ptrdiff_t in, ptrdiff_t out, double gain)
{
    double bound = gain * sqrt(6 / (double)(in + out));
    return lcsm_init_uniform(-bound, bound);
}

lcsm_tensor *lcsm_mix_param(const lcsm_mixer *m, const char *name, lcsm_shape shape, lcsm_init init,
                            unsigned flags)
{
    return lcsm_param_tensor(m->g, name, shape, init, flags);
}

static lcsm_tensor *project(const lcsm_mixer *m, lcsm_tensor *x, const char *name, ptrdiff_t out,
                            bool bias, lcsm_init init, unsigned flags)
{
    if (x == NULL) return NULL;
    lcsm_scope_push(m->g, "%s", name);
    lcsm_tensor *w = lcsm_mix_param(m, "weight", lcsm_dims(out, x->cols), init, flags);
    lcsm_tensor *b =
        bias ? lcsm_mix_param(m, "bias", lcsm_dims(out), lcsm_init_constant(0), flags) : NULL;
    lcsm_tensor *y = lcsm_linear(m->g, x, w, b);
    lcsm_scope_pop(m->g);
    return y;
}

lcsm_tensor *lcsm_mix_project_init(const lcsm_mixer *m, lcsm_tensor *x, const char *name,
                                   ptrdiff_t out, bool bias, lcsm_init init)
{
    return project(m, x, name, out, bias, init, 0);
}

lcsm_tensor *lcsm_mix_project_flags(const lcsm_mixer *m, lcsm_tensor *x, const char *name,
                                    ptrdiff_t out, unsigned flags)
{
    return project(m, x, name, out, false, lcsm_mix_init(m, x == NULL ? 1 : x->cols), flags);
}

lcsm_tensor *lcsm_mix_project(const lcsm_mixer *m, lcsm_tensor *x, const char *name, ptrdiff_t out,
                              bool bias)
{
    return lcsm_mix_project_init(m, x, name, out, bias, lcsm_mix_init(m, x == NULL ? 1 : x->cols));
}

LCSM_FILL(fill_angles)
{
    lcsm_thetas(count, (size_t)init->a, v);
}

lcsm_tensor *lcsm_mix_angles(const lcsm_mixer *m, const char *name, ptrdiff_t n, ptrdiff_t width,
                             bool learned)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .a = (double)width, .fill = fill_angles};
    return lcsm_mix_param(m, name, lcsm_dims(n), init,
                          learned ? LCSM_PARAM_NO_DECAY : LCSM_PARAM_FROZEN);
}

/* a is the mix, b the layer, c the number of layers. */
LCSM_FILL(fill_rwkv_mu)
{
    lcsm_rwkv4_mixes((lcsm_rwkv4_mix)init->a, count, (size_t)init->b, (size_t)init->c, v);
}

lcsm_tensor *lcsm_mix_rwkv_mu(const lcsm_mixer *m, const char *name, lcsm_rwkv4_mix mix)
{
    lcsm_init init = {
        .kind = LCSM_INIT_FILL, .a = mix, .b = m->layer, .c = m->layers, .fill = fill_rwkv_mu};
    return lcsm_mix_param(m, name, lcsm_dims(m->D), init, LCSM_PARAM_NO_DECAY);
}

lcsm_tensor *lcsm_mix_constant(const lcsm_mixer *m, const char *name, lcsm_shape shape,
                               lcsm_init init)
{
    return lcsm_mix_param(m, name, shape, init, LCSM_PARAM_FROZEN);
}

/* ---- state spaces ----------------------------------------------------------------------- */

lcsm_tensor *lcsm_mix_input(const lcsm_mixer *m)
{
    if (m->cfg->flavour == LCSM_FLAVOUR_NATIVE) return m->x;
    return lcsm_mix_project(m, m->x, "i", m->D, false);
}

lcsm_tensor *lcsm_mix_log_dt(const lcsm_mixer *m, ptrdiff_t n)
{
    return lcsm_mix_param(m, "log_dt", lcsm_dims(n), lcsm_init_uniform(log(1e-3), log(1e-1)),
                          LCSM_MIX_SPACE);
}

lcsm_tensor *lcsm_mix_skip(const lcsm_mixer *m, lcsm_tensor *y)
{
    lcsm_tensor *skip = lcsm_mix_param(m, "D", lcsm_dims(m->D), lcsm_init_normal(1), 0);
    return lcsm_add(m->g, y, lcsm_mul(m->g, m->x, skip));
}

lcsm_tensor *lcsm_mix_gelu(const lcsm_mixer *m, lcsm_tensor *y)
{
    y = lcsm_activate(m->g, LCSM_ACT_GELU, y);
    return m->cfg->dropout > 0 ? lcsm_dropout(m->g, y, m->cfg->dropout) : y;
}

lcsm_operand lcsm_mix_ones(const lcsm_mixer *m, lcsm_tensor *like)
{
    if (like == NULL) return (lcsm_operand){0};
    ptrdiff_t K = like->shape.dim[0];
    return lcsm_static(lcsm_constant(m->g, lcsm_dims(1, K), 1), LCSM_AXIS_K);
}

/* A vector [D] as [1, D], for one head. */
static lcsm_tensor *of_one_head(const lcsm_mixer *m, lcsm_tensor *x)
{
    return x == NULL ? NULL : lcsm_reshape(m->g, x, lcsm_dims(1, x->cols));
}

lcsm_states lcsm_mix_channels(const lcsm_mixer *m, lcsm_tensor *x, lcsm_operand log,
                              lcsm_tensor *phase)
{
    lcsm_operand one = lcsm_static(lcsm_constant(m->g, lcsm_dims(1, 1), 1), LCSM_AXIS_K);
    lcsm_states  s   = {.H         = 1,
                        .K         = 1,
                        .D         = x == NULL ? 1 : x->cols / 2,
                        .i         = lcsm_per_token_d(x),
                        .e         = one,
                        .s         = one,
                        .col       = log,
                        .col_phase = lcsm_static(of_one_head(m, phase), LCSM_AXIS_D),
                        .reset     = m->reset,
                        .complex_i = true,
                        .complex_y = true,
                        .planes    = true};
    if ((log.axes & LCSM_AXIS_T) == 0) s.col.x = of_one_head(m, log.x);
    return s;
}

/* ---- both directions -------------------------------------------------------------------- */

/* s . e i, the term of the step itself, which a read before it has by its bonus: the recurrence of
 * an o that forgets everything. */
static lcsm_tensor *self_term(const lcsm_mixer *m, const lcsm_states *s)
{
    lcsm_states only = {.H         = s->H,
                        .K         = s->K,
                        .D         = s->D,
                        .i         = s->i,
                        .e         = s->e,
                        .s         = s->s,
                        .complex_e = s->complex_e,
                        .complex_s = s->complex_s,
                        .scale     = s->scale};
    only.row         = lcsm_static(lcsm_constant(m->g, lcsm_dims(s->H), -1e30), 0);
    if (s->read_before)
        only.e.x = lcsm_mul(m->g, s->e.x, lcsm_reshape(m->g, s->bonus.x, lcsm_dims(s->H * s->K)));
    return lcsm_recurrence(m->g, &only, NULL);
}

bool lcsm_mix_both_ways(const lcsm_mixer *m)
{
    if (m->reset == NULL) return true;
    lcsm_graph_fail(m->g, LCSM_ERR_UNSUPPORTED, "packed sequences run forward in time only");
    return false;
}

lcsm_way lcsm_mix_way(const lcsm_mixer *m, const lcsm_states *s)
{
    lcsm_way w = {.s = *s};
    w.mu       = lcsm_normaliser_begin(m->g, &w.s);
    w.y        = lcsm_recurrence(m->g, &w.s, NULL);
    return w;
}

/* a exp(mu_a - mu) + b exp(mu_b - mu) with mu = max(mu_a, mu_b) for each token and head: a running
 * maximum over two steps. */
lcsm_way lcsm_mix_joined(const lcsm_mixer *m, lcsm_way a, lcsm_way b)
{
    if (a.mu == NULL) return (lcsm_way){.y = lcsm_add(m->g, a.y, b.y)};
    if (b.mu == NULL) return (lcsm_way){0};
    ptrdiff_t                H   = a.mu->cols;
    lcsm_shape               one = lcsm_dims(m->B * m->T, 1, H), all = lcsm_dims(m->B, m->T, H);
    lcsm_tensor             *z     = lcsm_reshape(m->g, lcsm_stop(m->g, b.mu), one);
    lcsm_tensor             *first = lcsm_reshape(m->g, a.mu, lcsm_dims(m->B * m->T, H));
    lcsm_running_max_tensors two =
        lcsm_running_max(m->g, &(lcsm_running_max_attr){0}, NULL, z, first, NULL);
    lcsm_tensor *share = lcsm_activate(m->g, LCSM_ACT_EXP, lcsm_reshape(m->g, two.row, all));
    lcsm_tensor *y     = lcsm_mix_by_head(m, a.y, lcsm_stop(m->g, share));
    lcsm_tensor *other = lcsm_stop(m->g, lcsm_reshape(m->g, two.write, all));
    return (lcsm_way){.y  = lcsm_add(m->g, y, lcsm_mix_by_head(m, b.y, other)),
                      .mu = lcsm_reshape(m->g, two.mu, all)};
}

lcsm_way lcsm_mix_turned(const lcsm_mixer *m, lcsm_way back)
{
    back.y = lcsm_reverse(m->g, back.y);
    if (back.mu != NULL) back.mu = lcsm_reverse(m->g, back.mu);
    return back;
}

/* Sums of both directions, the step itself once; what divides them comes after. */
static lcsm_tensor *both_ways(const lcsm_mixer *m, lcsm_states_fn *states, const lcsm_states *s)
{
    lcsm_mixer  back = *m;
    lcsm_states r    = {0};
    back.x           = lcsm_reverse(m->g, m->x);
    back.side        = NULL;
    if (m->first != NULL) back.first = m->first + 1;
    if (!lcsm_mix_both_ways(m) || !states(&back, &r)) return NULL;
    lcsm_way a = lcsm_mix_way(m, s), b = lcsm_mix_turned(m, lcsm_mix_way(&back, &r));
    a.y          = lcsm_add(m->g, a.y, lcsm_scale(m->g, self_term(m, &a.s), -1));
    lcsm_way sum = lcsm_mix_joined(m, a, b);
    return lcsm_normaliser_end(m->g, &s->normaliser, s->H, sum.y, sum.mu);
}

lcsm_tensor *lcsm_mix_recurrence(const lcsm_mixer *m, lcsm_states_fn *states)
{
    lcsm_states s = {0};
    if (!states(m, &s)) return NULL;
    s.reset = m->reset;
    return m->cfg->bidirectional ? both_ways(m, states, &s) : lcsm_recurrence(m->g, &s, NULL);
}

/* ---- ends ------------------------------------------------------------------------------- */

lcsm_tensor *lcsm_mix_pick(lcsm_graph *g, lcsm_tensor *places, lcsm_tensor *x)
{
    if (x == NULL || places == NULL || x->rows == lcsm_tensor_count(places)) return x;
    return lcsm_embed(g, places, lcsm_reshape(g, x, lcsm_dims(x->rows, x->cols)), 1);
}

lcsm_tensor *lcsm_mix_bare_end(const lcsm_mixer *m, lcsm_tensor *y)
{
    if (m->places != NULL) y = lcsm_mix_pick(m->g, m->places, y);
    if (y == NULL) return NULL;
    lcsm_tensor *w = lcsm_mix_param(m, "norm.weight", lcsm_dims(y->cols), lcsm_init_constant(1), 0);
    lcsm_tensor *b = lcsm_mix_param(m, "norm.bias", lcsm_dims(y->cols), lcsm_init_constant(0), 0);
    return lcsm_mix_project(m, lcsm_layer_norm(m->g, y, w, b, 1e-5), "out", m->D, false);
}

lcsm_tensor *lcsm_mix_gated_end(const lcsm_mixer *m, lcsm_tensor *y, lcsm_tensor *gate,
                                const lcsm_norm_attr *norm, bool affine)
{
    if (y == NULL || gate == NULL) return NULL;
    lcsm_tensor *w = affine ? lcsm_mix_param(m, "norm.weight", lcsm_dims(y->cols / norm->heads),
                                             lcsm_init_constant(1), 0)
                            : NULL;
    lcsm_tensor *n = lcsm_head_norm(m->g, norm, y, w, NULL);
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SILU, gate, n), "out", m->D, false);
}
