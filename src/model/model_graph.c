/* model_graph.c - embedding, blocks, final norm, head. */
#include "model/model_graph.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "eos/method.h"
#include "eos/tables.h"
#include "graph/internal.h"
#include "model/config.h"
#include "model/experts.h"
#include "model/pattern.h"

/* What building a model carries along. */
typedef struct {
    lcsm_graph              *g;
    const lcsm_model_config *cfg;
    lcsm_model_config        own; /* of the layer's first mixer */
    ptrdiff_t                B, T, D, V;
    lcsm_tensor             *reset;
    lcsm_tensor             *places; /* NULL, or (B, labels): where targets are */
    bool                     whole;
    lcsm_tensor             *first[2]; /* of lcsm_mixer */
    int                      layer, layers;
} builder;

static bool is_last(const builder *b)
{
    return b->layer + 1 == b->layers;
}

static lcsm_mixer mixer_of(const builder *b, lcsm_tensor *x)
{
    return (lcsm_mixer){.g     = b->g,
                        .cfg   = &b->own,
                        .x     = x,
                        .reset = b->reset,
                        .B     = b->B,
                        .T     = b->T,
                        .D     = b->D,
                        .places =
                            b->cfg->wiring == LCSM_WIRING_MQAR && is_last(b) ? b->places : NULL,
                        .whole  = b->whole,
                        .layer  = b->layer,
                        .layers = b->layers};
}

/* ---- norms ------------------------------------------------------------------------------ */

static const lcsm_method *method_of(const builder *b)
{
    return lcsm_method_find(b->own.code[0] != 0 ? "code" : b->own.method);
}

static lcsm_block_norm norm_kind(const builder *b)
{
    bool paper = !lcsm_wiring_is_lm(b->cfg) || b->cfg->flavour == LCSM_FLAVOUR_BARE;
    if (b->cfg->norm != LCSM_BLOCK_NORM_AUTO) return (lcsm_block_norm)b->cfg->norm;
    return paper ? LCSM_BLOCK_NORM_LAYER : (lcsm_block_norm)method_of(b)->norm;
}

/* eps 0: the norm's own. */
static lcsm_tensor *norm_of(const builder *b, const char *name, lcsm_tensor *x, double eps)
{
    lcsm_block_norm kind = norm_kind(b);
    if (eps == 0) eps = kind == LCSM_BLOCK_NORM_LAYER ? 1e-5 : 1e-6;
    if (kind == LCSM_BLOCK_NORM_SIMPLE) return lcsm_rms_norm(b->g, x, NULL, eps);
    lcsm_scope_push(b->g, "%s", name);
    lcsm_tensor *w = lcsm_param_tensor(b->g, "weight", lcsm_dims(b->D), lcsm_init_constant(1), 0);
    lcsm_tensor *y;
    if (kind == LCSM_BLOCK_NORM_LAYER)
        y = lcsm_layer_norm(
            b->g, x, w, lcsm_param_tensor(b->g, "bias", lcsm_dims(b->D), lcsm_init_constant(0), 0),
            eps);
    else y = lcsm_rms_norm(b->g, x, w, eps);
    lcsm_scope_pop(b->g);
    return y;
}

static lcsm_tensor *norm(const builder *b, const char *name, lcsm_tensor *x)
{
    return norm_of(b, name, x, b->cfg->norm_eps);
}

static lcsm_tensor *final_norm(const builder *b, lcsm_tensor *x)
{
    double eps = b->cfg->final_norm_eps;
    return norm_of(b, "norm", x, eps > 0 ? eps : b->cfg->norm_eps);
}

/* ---- channel mixers --------------------------------------------------------------------- */

/* W3 (f(W1 x) * W2 x). */
static lcsm_tensor *glu(const lcsm_mixer *m, lcsm_act act)
{
    bool      bias   = m->cfg->channel_bias && act != LCSM_ACT_NONE;
    ptrdiff_t hidden = lcsm_mix_or(m->cfg->hidden, act == LCSM_ACT_NONE ? 2 * m->D : 4 * m->D / 3);
    lcsm_tensor *a   = lcsm_mix_project(m, m->x, "w1", hidden, bias);
    lcsm_tensor *b   = lcsm_mix_project(m, m->x, "w2", hidden, bias);
    lcsm_tensor *y   = act == LCSM_ACT_GELU ? lcsm_mix_geglu(m, a, b) : lcsm_glu(m->g, act, a, b);
    return lcsm_mix_project(m, y, "w3", m->D, bias);
}

static lcsm_tensor *feed_forward(const lcsm_mixer *m)
{
    lcsm_tensor *h = lcsm_mix_project(m, m->x, "w1", lcsm_mix_or(m->cfg->hidden, 4 * m->D), true);
    return lcsm_mix_project(m, lcsm_activate(m->g, LCSM_ACT_GELU, h), "w2", m->D, true);
}

/* mu x_t + (1 - mu) x_{t-1} with RWKV's first values. */
static lcsm_tensor *shifted(const lcsm_mixer *m, const char *name)
{
    lcsm_shift_attr a  = {0};
    lcsm_tensor    *mu = lcsm_mix_rwkv_mu(m, name, LCSM_RWKV4_MIX_FFN);
    return lcsm_token_shift(m->g, &a, m->x, mu, m->reset);
}

/* W relu(W x)^2, of weights up to bound / sqrt(D) at first. */
static lcsm_tensor *squared(const lcsm_mixer *m, lcsm_tensor *x, double bound)
{
    ptrdiff_t hidden = lcsm_mix_or(m->cfg->hidden, 4 * m->D);
    bound /= sqrt((double)m->D);
    lcsm_tensor *k =
        lcsm_mix_project_init(m, x, "key", hidden, false, lcsm_init_uniform(-bound, bound));
    return lcsm_mix_project_init(m, lcsm_activate(m->g, LCSM_ACT_RELU2, k), "value", m->D, false,
                                 lcsm_init_constant(0));
}

/* sigmoid(W x) * v. */
static lcsm_tensor *received(const lcsm_mixer *m, lcsm_tensor *x, lcsm_tensor *v)
{
    lcsm_init    zero = lcsm_init_constant(0);
    lcsm_tensor *r    = lcsm_mix_project_init(m, x, "receptance", m->D, false, zero);
    return lcsm_glu(m->g, LCSM_ACT_SIGMOID, r, v);
}

static lcsm_tensor *rwkv_channel(const lcsm_mixer *m)
{
    lcsm_tensor *v = squared(m, shifted(m, "mix_k"), 1);
    return received(m, shifted(m, "mix_r"), v);
}

/* 1 - (c / D)^power: a is the power. */
LCSM_FILL(fill_mix)
{
    for (size_t c = 0; c < count; c++) v[c] = 1 - pow((double)c / (double)count, init->a);
}

static lcsm_tensor *by_past(const lcsm_mixer *m, lcsm_tensor *past, const char *name, double power)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .a = power, .fill = fill_mix};
    return lcsm_lerp(m->g, m->x, past,
                     lcsm_mix_param(m, name, lcsm_dims(m->D), init, LCSM_PARAM_NO_DECAY));
}

/* In these the mixing weights are those of the past. */
static lcsm_tensor *rwkv6_channel(const lcsm_mixer *m)
{
    double       rest = 1 - (double)m->layer / (double)m->layers;
    lcsm_tensor *past = lcsm_mix_previous(m);
    lcsm_tensor *v    = squared(m, by_past(m, past, "x_k", rest), 1);
    return received(m, by_past(m, past, "x_r", rest), v);
}

static lcsm_tensor *rwkv7_channel(const lcsm_mixer *m)
{
    double rest = 1 - (double)m->layer / (double)m->layers;
    return squared(m, by_past(m, lcsm_mix_previous(m), "x_k", pow(rest, 4)), 0.5);
}

lcsm_tensor *lcsm_channel_build(const lcsm_mixer *m, lcsm_channel kind)
{
    switch (kind) {
    case LCSM_CHANNEL_SGLU: return glu(m, LCSM_ACT_NONE);
    case LCSM_CHANNEL_GEGLU: return glu(m, LCSM_ACT_GELU);
    case LCSM_CHANNEL_FFN: return feed_forward(m);
    case LCSM_CHANNEL_RWKV: return rwkv_channel(m);
    case LCSM_CHANNEL_RWKV6: return rwkv6_channel(m);
    case LCSM_CHANNEL_RWKV7: return rwkv7_channel(m);
    default: return glu(m, LCSM_ACT_SILU);
    }
}

static lcsm_tensor *channel(const builder *b, lcsm_channel kind, lcsm_tensor *x)
{
    lcsm_mixer m = mixer_of(b, x);
    return lcsm_channel_build(&m, kind);
}

static lcsm_tensor *experts(const builder *b, lcsm_tensor *x)
{
    lcsm_mixer m = mixer_of(b, x);
    return lcsm_experts_build(&m);
}

/* ---- blocks ----------------------------------------------------------------------------- */

static lcsm_tensor *mix(builder *b, lcsm_tensor *x)
{
    static const char *const scope[LCSM_LAYER_MIXERS] = {"mixer", "mixer2"};
    lcsm_mixer               m                        = mixer_of(b, x);
    lcsm_model_config        cfg;
    lcsm_tensor             *sum = NULL;
    m.cfg                        = &cfg;
    m.first                      = b->first;
    for (int j = 0; j < LCSM_LAYER_MIXERS && lcsm_pattern_layer(&cfg, b->cfg, b->layer, j); j++) {
        lcsm_scope_push(b->g, "%s", scope[j]);
        lcsm_tensor *y = lcsm_mixer_build(&m);
        lcsm_scope_pop(b->g);
        y   = lcsm_mix_pick(b->g, m.places, y);
        sum = j == 0 ? y : lcsm_add(b->g, sum, y);
    }
    return sum;
}

/* alpha x + beta y. */
static lcsm_tensor *branch(const builder *b, lcsm_tensor *x, lcsm_tensor *y, int which)
{
    double alpha = b->cfg->residual_alpha[which], beta = b->cfg->residual_beta[which];
    if (b->cfg->dropout > 0) y = lcsm_dropout(b->g, y, b->cfg->dropout);
    if (alpha != 1) x = lcsm_scale(b->g, x, alpha);
    if (beta != 1) y = lcsm_scale(b->g, y, beta);
    return lcsm_add(b->g, x, y);
}

static int mixer_branch(const builder *b)
{
    bool attention = b->own.code[0] == 0 && strcmp(b->own.method, "attention") == 0;
    return attention ? LCSM_BRANCH_ATTENTION : LCSM_BRANCH_MIXER;
}

static lcsm_tensor *lm_block(builder *b, lcsm_tensor *x)
{
    lcsm_channel kind = lcsm_model_config_channel(&b->own);
    lcsm_tensor *n    = norm(b, "norm1", x);
    if (b->cfg->residual_normed) x = n;
    x = branch(b, x, mix(b, n), mixer_branch(b));
    if (kind == LCSM_CHANNEL_NONE) return x;
    n = norm(b, "norm2", x);
    if (b->cfg->residual_normed) x = n;
    lcsm_scope_push(b->g, "channel");
    bool         many = kind == LCSM_CHANNEL_GLU && lcsm_experts_in(b->cfg, b->layer);
    lcsm_tensor *y    = many ? experts(b, n) : channel(b, kind, n);
    lcsm_scope_pop(b->g);
    return branch(b, x, y, LCSM_BRANCH_CHANNEL);
}

/* x where targets are, unless only that is left of it. */
static lcsm_tensor *labelled(const builder *b, lcsm_tensor *x)
{
    return b->places == NULL ? x : lcsm_mix_pick(b->g, b->places, x);
}

/* r is the residual stream, *h the branch that the next layer adds. */
static lcsm_tensor *mqar_block(builder *b, lcsm_tensor *r, lcsm_tensor **h)
{
    if (*h != NULL) r = lcsm_add(b->g, r, *h);
    lcsm_tensor *y = mix(b, norm(b, "norm1", r));
    if (is_last(b)) {
        r = labelled(b, r);
        y = labelled(b, y);
    }
    r  = lcsm_add(b->g, r, y);
    *h = norm(b, "norm2", r);
    return r;
}

static lcsm_tensor *blocks(builder *b, lcsm_tensor *x)
{
    lcsm_tensor *h    = NULL;
    bool         mqar = b->cfg->wiring == LCSM_WIRING_MQAR;
    for (b->layer = 0; b->layer < b->layers; b->layer++) {
        (void)lcsm_pattern_layer(&b->own, b->cfg, b->layer, 0);
        lcsm_scope_push(b->g, "layers.%d", b->layer);
        lcsm_block_begin(b->g);
        x = mqar ? mqar_block(b, x, &h) : lm_block(b, x);
        lcsm_block_end(b->g);
        lcsm_scope_pop(b->g);
    }
    return mqar ? lcsm_add(b->g, x, h) : x;
}

/* ---- autoencoder ------------------------------------------------------------------------ */

/* Of position t: cos(t f_j), sin(t f_j) with f_j = 10000^(-j / (D/2 - 1)). */
LCSM_FILL(fill_frequencies)
{
    double last = count > 1 ? (double)(count - 1) : 1;
    for (size_t j = 0; j < count; j++) v[j] = pow(10000, -(double)j / last);
}

static lcsm_tensor *position_table(const builder *b)
{
    lcsm_init        init = {.kind = LCSM_INIT_FILL, .fill = fill_frequencies};
    lcsm_rotate_attr a    = {.kind = LCSM_ROTATE_DOUBLE, .heads = 1};
    lcsm_tensor     *f = lcsm_param_tensor(b->g, "decoder.frequencies", lcsm_dims(b->D / 2), init,
                                           LCSM_PARAM_FROZEN);
    return lcsm_rotation(b->g, &a, lcsm_constant(b->g, lcsm_dims(b->B, b->T, b->D / 2), 1), f);
}

/* What the last position holds of the sequence, as all of it. */
static lcsm_tensor *decoded(const builder *b, lcsm_tensor *x)
{
    if (b->T > 1) x = lcsm_slice(b->g, x, 1, b->T - 1, 1);
    x = lcsm_add(b->g, lcsm_repeat(b->g, x, b->T), position_table(b));
    for (int j = 0; j < 2; j++) {
        lcsm_scope_push(b->g, "decoder.%d", j);
        lcsm_tensor *n = norm(b, "norm", x);
        lcsm_mixer   m = mixer_of(b, n);
        x = lcsm_activate(b->g, LCSM_ACT_GELU, lcsm_mix_project(&m, n, "map", b->D, true));
        lcsm_scope_pop(b->g);
    }
    return x;
}

/* ---- pairs in one position --------------------------------------------------------------- */

/* Rows of length 1, in all directions alike; the last one is zero: no value. */
LCSM_FILL(fill_sphere)
{
    size_t width = (size_t)shape->dim[1], rows = count / width;
    for (size_t j = 0; j < count; j++) v[j] = lcsm_rng_normal(seed, purpose, j);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t j = 0; j < width; j++) sum += v[r * width + j] * v[r * width + j];
        for (size_t j = 0; j < width; j++)
            v[r * width + j] = r + 1 < rows ? v[r * width + j] / sqrt(sum) : 0;
    }
}

static lcsm_tensor *pair_embedding(const builder *b, lcsm_model_io *io, lcsm_tensor **table)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .fill = fill_sphere};
    *table     = lcsm_param_tensor(b->g, "embedding.weight", lcsm_dims(b->V + 1, b->D / 2), init,
                                   LCSM_PARAM_FROZEN);
    io->second = lcsm_input(b->g, "second", LCSM_I32, lcsm_dims(b->B, b->T));
    io->values = b->V / 2;
    lcsm_tensor *halves[] = {lcsm_embed(b->g, io->tokens, *table, 1),
                             lcsm_embed(b->g, io->second, *table, 1)};
    return lcsm_concat(b->g, halves, 2);
}

/* The weight of logits over values, and hidden in its width. */
static lcsm_tensor *value_rows(const builder *b, lcsm_tensor *table, lcsm_model_io *io)
{
    lcsm_mixer m = mixer_of(b, io->hidden);
    io->hidden   = lcsm_mix_project(&m, io->hidden, "head", b->D / 2, false);
    return lcsm_slice(b->g, table, 0, b->V / 2, b->V / 2);
}

/* ---- ends ------------------------------------------------------------------------------- */

static lcsm_tensor *embedding(const builder *b, lcsm_model_io *io, lcsm_tensor **table)
{
    if (b->cfg->wiring == LCSM_WIRING_STACKED) return pair_embedding(b, io, table);
    bool      lm    = b->cfg->wiring == LCSM_WIRING_LM;
    double    scale = b->cfg->embed_scale, root = sqrt((double)b->D);
    lcsm_init init = lcsm_init_normal(lm ? 1 / root : 0.02);
    if (scale == 0) scale = lm ? root : 1;
    *table         = lcsm_param_tensor(b->g, "embedding.weight", lcsm_dims(b->V, b->D), init, 0);
    lcsm_tensor *x = lcsm_embed(b->g, io->tokens, *table, scale);
    return b->cfg->dropout > 0 ? lcsm_dropout(b->g, x, b->cfg->dropout) : x;
}

/* c tanh(x / c). */
static lcsm_tensor *capped(const builder *b, lcsm_tensor *x)
{
    double c = b->cfg->soft_cap;
    if (c == 0) return x;
    return lcsm_activate_scaled(b->g, LCSM_ACT_TANH, lcsm_scale(b->g, x, 1 / c), c);
}

/* Without a cap, and an adapter of the head, the logits are never all in memory. */
static lcsm_tensor *loss_of(const builder *b, const lcsm_loss_attr *a, const lcsm_model_io *io,
                            lcsm_tensor *w, lcsm_tensor *details[2])
{
    if (b->cfg->soft_cap == 0 && !lcsm_graph_adapts(b->g, w))
        return lcsm_linear_cross_entropy(b->g, a, io->hidden, w, io->targets, details);
    lcsm_tensor *logits = capped(b, lcsm_linear(b->g, io->hidden, w, NULL));
    return lcsm_cross_entropy(b->g, a, logits, io->targets, details);
}

static void head(const builder *b, const lcsm_model_want *want, lcsm_tensor *table,
                 lcsm_model_io *io)
{
    double         bound = 1 / sqrt((double)b->D);
    lcsm_init      init  = lcsm_init_uniform(-bound, bound);
    lcsm_loss_attr a     = {.ignore = want->ignore, .details = true};
    lcsm_tensor   *w = table, *details[2] = {0};
    if (b->cfg->wiring == LCSM_WIRING_AUTOENCODER) init = lcsm_init_normal(0.02);
    if (b->cfg->wiring == LCSM_WIRING_STACKED) w = value_rows(b, table, io);
    else if (!b->cfg->tied)
        w = lcsm_param_tensor(b->g, "head.weight", lcsm_dims(b->V, b->D), init, 0);
    if (want->logits) {
        lcsm_tensor *h = io->hidden;
        if (want->last && b->T > 1) h = lcsm_slice(b->g, h, 1, b->T - 1, 1);
        io->logits = capped(b, lcsm_linear(b->g, h, w, NULL));
        lcsm_keep(b->g, io->logits);
    }
    if (!want->loss) return;
    io->targets  = lcsm_input(b->g, "targets", LCSM_I32,
                              lcsm_dims(b->B, want->labels > 0 ? want->labels : b->T));
    io->loss     = loss_of(b, &a, io, w, details);
    io->row_loss = details[0];
    io->right    = details[1];
    lcsm_keep(b->g, io->loss);
    lcsm_keep(b->g, io->row_loss);
    lcsm_keep(b->g, io->right);
    lcsm_loss(b->g, io->loss);
}

/* A list of names that fits none would train nothing. */
static lcsm_status check_adapters(const lcsm_graph *g, const lcsm_model_config *cfg,
                                  lcsm_error *err)
{
    bool found = cfg->adapter == 0 || g->error.status != LCSM_OK;
    for (size_t j = 0; !found && j < g->params->count; j++)
        found = (g->params->list[j].flags & LCSM_PARAM_ADAPTER) != 0;
    if (found) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG,
                     "adapter_matrices is \"%s\", which is in the name of no matrix that maps "
                     "activations (a tied head has none of its own); lcsm describe lists the names",
                     cfg->adapter_matrices);
}

/* Sequences that are reset on the way begin with an empty memory there, and models without a
 * recurrence have none. */
static lcsm_status check_memory(const lcsm_graph *g, const builder *b, const lcsm_model_want *want,
                                lcsm_error *err)
{
    bool found = !b->cfg->initial_memory || g->error.status != LCSM_OK;
    if (b->cfg->initial_memory && want->packed)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "a memory that is carried from block to block (carried) begins empty, so "
                         "initial_memory cannot be trained with it");
    for (size_t j = 0; !found && j < g->params->count; j++)
        found = (g->params->list[j].flags & LCSM_PARAM_MEMORY) != 0;
    if (found) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG,
                     "initial_memory: %s has no recurrence with a memory that can be trained",
                     lcsm_model_config_kind(b->cfg));
}

lcsm_status lcsm_model_build(lcsm_graph *g, const lcsm_model_config *cfg, ptrdiff_t B, ptrdiff_t T,
                             const lcsm_model_want *want, lcsm_model_io *io, lcsm_error *err)
{
    lcsm_status st = lcsm_model_config_check(cfg, err);
    if (st != LCSM_OK) return st;
    if (cfg->wiring >= LCSM_WIRING_AUTOENCODER && (cfg->d_model % 2 != 0 || want->packed))
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "d_model is %td; the wirings autoencoder and stacked need an even number, "
                         "and sequences that are not packed",
                         cfg->d_model);
    lcsm_tensor *table;
    builder      b = {.g      = g,
                      .cfg    = cfg,
                      .B      = B,
                      .T      = T,
                      .D      = cfg->d_model,
                      .V      = lcsm_model_config_vocab(cfg, 0),
                      .whole  = want->whole,
                      .layers = (int)lcsm_model_config_layers(cfg)};
    (void)lcsm_pattern_layer(&b.own, cfg, 0, 0);
    lcsm_graph_adapt(g, cfg->adapter, cfg->adapter_scale, cfg->adapter_matrices);
    lcsm_graph_learn_memory(g, cfg->initial_memory && !want->packed);
    *io        = (lcsm_model_io){0};
    io->tokens = lcsm_input(g, "tokens", LCSM_I32, lcsm_dims(B, T));
    if (want->packed) b.reset = io->reset = lcsm_input(g, "reset", LCSM_I32, lcsm_dims(B, T));
    if (want->labels > 0)
        b.places = io->places = lcsm_input(g, "places", LCSM_I32, lcsm_dims(B, want->labels));
    lcsm_tensor *x = embedding(&b, io, &table);
    if (method_of(&b)->embed_norm && cfg->flavour == LCSM_FLAVOUR_NATIVE) x = norm(&b, "norm0", x);
    x = labelled(&b, blocks(&b, x));
    if (cfg->wiring == LCSM_WIRING_AUTOENCODER) x = decoded(&b, x);
    io->hidden = final_norm(&b, x);
    lcsm_keep(g, io->hidden);
    head(&b, want, table, io);
    LCSM_OR_RETURN(check_memory(g, &b, want, err));
    return check_adapters(g, cfg, err);
}

lcsm_status lcsm_model_sketch(lcsm_graph **g, const lcsm_context *ctx, lcsm_params *params,
                              const lcsm_model_config *cfg, ptrdiff_t T, bool train,
                              lcsm_error *err)
{
    lcsm_model_want want = {.whole = train, .logits = !train, .loss = train, .ignore = -1};
    lcsm_model_io   io;
    lcsm_status     st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_graph_create(g, ctx, params, err));
    LCSM_OR_RETURN(lcsm_model_build(*g, cfg, 1, T, &want, &io, err));
    if ((*g)->error.status != LCSM_OK)
        st = lcsm_fail(err, (*g)->error.status, "%s", (*g)->error.text);
    return st;
}
