/* code.c - the oscillation table, and the EOS layer's states from it. */
#include "eos/code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eos/tables.h"

/* Oscillation codes (paper: oscillation table). gate(z) = sigmoid(z)^(1/tau). */
/* clang-format off */
const lcsm_osc_row LCSM_OSC_TABLE[LCSM_OSC_CODES] = {
/*    notation     construction of o[a][b]              k            d            kd           product phase */
    { "W kd",      "gate(P[a][b])",                     PART_NONE,   PART_NONE,   PART_STATIC, false,  LCSM_PHASE_NONE },
    { "X k, X d",  "gate(z1[b]) gate(z2[a])",           PART_DATA,   PART_DATA,   PART_NONE,   false,  LCSM_PHASE_NONE },
    { "X d",       "gate(z[b])",                        PART_NONE,   PART_DATA,   PART_NONE,   false,  LCSM_PHASE_NONE },
    { "X k",       "gate(z[a])",                        PART_DATA,   PART_NONE,   PART_NONE,   false,  LCSM_PHASE_NONE },
    { "W k",       "gate(P[a])",                        PART_STATIC, PART_NONE,   PART_NONE,   false,  LCSM_PHASE_NONE },
    { "W d",       "gate(P[b])",                        PART_NONE,   PART_STATIC, PART_NONE,   false,  LCSM_PHASE_NONE },
    { "X k, W kd", "gate(z[a] P[a][b])",                PART_DATA,   PART_NONE,   PART_STATIC, true,   LCSM_PHASE_NONE },
    { "X d, W kd", "gate(z[b] P[a][b])",                PART_NONE,   PART_DATA,   PART_STATIC, true,   LCSM_PHASE_NONE },
    { "W k, X d",  "gate(P[a] z[b])",                   PART_STATIC, PART_DATA,   PART_NONE,   true,   LCSM_PHASE_NONE },
    { "X k, W d",  "gate(z[a] P[b])",                   PART_DATA,   PART_STATIC, PART_NONE,   true,   LCSM_PHASE_NONE },
    { "1",         "1",                                 PART_NONE,   PART_NONE,   PART_NONE,   false,  LCSM_PHASE_NONE },
    { "exp(i th)", "exp(i th[a])",                      PART_NONE,   PART_NONE,   PART_NONE,   false,  LCSM_PHASE_FIXED },
};
/* clang-format on */

/* ---- from words to choices -------------------------------------------------------------- */

static const long MOST[4] = {1, LCSM_OSC_CODES - 1, 1, 7};

/* The code whose parts are nearest: numbers too large become the largest, and what is no number is
 * as in 1-1-1-0. */
static void nearest_code(const char *code, char out[16])
{
    long part[4] = {1, 1, 1, 0};
    for (int j = 0; j < 4; j++) {
        char *end;
        long  found = strtol(code, &end, 10);
        if (end != code && found >= 0) part[j] = found < MOST[j] ? found : MOST[j];
        code += strcspn(code, "-");
        if (*code == '-') code++;
    }
    (void)snprintf(out, 16, "%ld-%ld-%ld-%ld", part[0], part[1], part[2], part[3]);
}

static lcsm_status bad_code(const char *code, const char *why, lcsm_error *err)
{
    char near[16];
    nearest_code(code, near);
    return lcsm_fail(err, LCSM_ERR_CONFIG,
                     "code \"%.30s\": %s; expected e-o-s-a with e and s 0 or 1, o 0 to 11, a 0 to "
                     "7, or 0 alone for the SSM; did you mean %s?",
                     code, why, near);
}

lcsm_status lcsm_code_parse(const char *code, lcsm_code_states *out, lcsm_error *err)
{
    static const char *const PARTS[] = {"e", "o", "s", "a"};

    long        part[4] = {0};
    const char *p       = code;
    char        why[40];
    if (strcmp(code, "0") == 0 || strcmp(code, "ssm") == 0) {
        *out = (lcsm_code_states){.ssm = true, .data_e = true, .data_s = true};
        return LCSM_OK;
    }
    for (int j = 0; j < 4; j++) {
        char *end;
        (void)snprintf(why, sizeof why, "the number for %s is missing", PARTS[j]);
        if (*p < '0' || *p > '9') return bad_code(code, why, err);
        part[j] = strtol(p, &end, 10);
        (void)snprintf(why, sizeof why, "%s is larger than %ld", PARTS[j], MOST[j]);
        if (part[j] > MOST[j]) return bad_code(code, why, err);
        (void)snprintf(why, sizeof why, "%s is not followed by %s", PARTS[j],
                       j < 3 ? "a dash" : "the end");
        if (*end != (j < 3 ? '-' : 0)) return bad_code(code, why, err);
        p = end + 1;
    }
    *out = (lcsm_code_states){.data_e = part[0] == 1,
                              .data_s = part[2] == 1,
                              .act    = (lcsm_act)part[3],
                              .o      = LCSM_OSC_TABLE[part[1]]};
    return LCSM_OK;
}

static lcsm_part part_of(int from)
{
    return from == LCSM_FROM_DATA ? PART_DATA
                                  : (from == LCSM_FROM_STATIC ? PART_STATIC : PART_FIXED);
}

/* Custom models: which parts each structure has. */
static lcsm_code_states custom(const lcsm_model_config *cfg)
{
    lcsm_code_states c = {.data_e = cfg->expand_from == LCSM_FROM_DATA,
                          .data_s = cfg->shrink_from == LCSM_FROM_DATA,
                          .act    = (lcsm_act)cfg->activation};
    lcsm_part        k = part_of(cfg->oscillation_k), d = part_of(cfg->oscillation_d);
    lcsm_part        kd = cfg->oscillation_kd == 0 ? PART_STATIC : PART_FIXED;
    switch (cfg->oscillation) {
    case LCSM_OSC_SCALAR:
        c.scalar = true;
        c.o.k    = k;
        break;
    case LCSM_OSC_ROW: c.o.k = k; break;
    case LCSM_OSC_COL: c.o.d = d; break;
    case LCSM_OSC_OUTER:
        c.o.k = k;
        c.o.d = d;
        break;
    case LCSM_OSC_FULL: c.o.kd = kd; break;
    case LCSM_OSC_PRODUCT:
        c.o.k       = k;
        c.o.d       = d;
        c.o.product = true;
        break;
    default: break;
    }
    c.o.phase = cfg->phase;
    return c;
}

lcsm_status lcsm_code_of_config(const lcsm_model_config *cfg, lcsm_code_states *out,
                                lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    *out           = (lcsm_code_states){0};
    if (cfg->code[0] == 0) *out = custom(cfg);
    else st = lcsm_code_parse(cfg->code, out, err);
    if (st != LCSM_OK) return st;
    if (!cfg->o_learned) {
        lcsm_part *parts[] = {&out->o.k, &out->o.d, &out->o.kd};
        for (size_t j = 0; j < COUNT(parts); j++)
            if (*parts[j] == PART_STATIC && !out->o.product) *parts[j] = PART_FIXED;
    }
    if (cfg->phase != LCSM_PHASE_NONE) out->o.phase = cfg->phase;
    return LCSM_OK;
}

ptrdiff_t lcsm_code_frozen(const lcsm_code_states *c, ptrdiff_t K, ptrdiff_t D)
{
    bool ones = !c->ssm && c->o.k == PART_NONE && c->o.d == PART_NONE && c->o.kd == PART_NONE;
    if (!ones) return 0;
    return c->o.phase == LCSM_PHASE_NONE ? K * D : 2 * K * D;
}

ptrdiff_t lcsm_code_depth(const lcsm_code_states *c)
{
    bool vector = c->o.k == PART_STATIC || c->o.d == PART_STATIC;
    if (c->ssm) return 10;
    if (c->o.d == PART_DATA) return c->o.k == PART_DATA && c->act != LCSM_ACT_NONE ? 10 : 9;
    return vector && c->o.k != PART_DATA ? 11 : 10;
}

/* ---- from choices to tensors ------------------------------------------------------------ */

LCSM_FILL(fill_log_alibi)
{
    lcsm_alibi_slopes(count, v);
    for (size_t j = 0; j < count; j++) v[j] = -v[j];
}

/* The z for which gate(z) is the ALiBi decay; a is tau. */
LCSM_FILL(fill_gate_alibi)
{
    lcsm_alibi_slopes(count, v);
    for (size_t j = 0; j < count; j++) v[j] = lcsm_alibi_gate(v[j], init->a);
}

/* 10000^(-2 a / D); a is D. */
LCSM_FILL(fill_theta)
{
    lcsm_thetas(count, (size_t)init->a, v);
}

LCSM_FILL(fill_even_theta)
{
    lcsm_thetas_even(count, v);
}

/* log(a + 1) in row a. */
LCSM_FILL(fill_log_rows)
{
    size_t row = (size_t)shape->dim[shape->rank - 1];
    for (size_t j = 0; j < count; j++) {
        size_t number = j / row + 1;
        v[j]          = log((double)number);
    }
}

static lcsm_init static_init(const lcsm_mixer *m)
{
    if (m->cfg->o_init == 0) return lcsm_init_normal(0.1);
    return (lcsm_init){.kind = LCSM_INIT_FILL, .a = m->cfg->tau, .fill = fill_gate_alibi};
}

/* Flags of a parameter that makes nothing but o. */
static unsigned flags_of_o(const lcsm_mixer *m, unsigned flags)
{
    return m->cfg->o_trained ? flags : LCSM_PARAM_FROZEN;
}

/* z of a part of o before its gate, from the data or a parameter. */
static lcsm_tensor *raw_part(const lcsm_mixer *m, lcsm_part part, const char *name,
                             lcsm_shape shape)
{
    if (part == PART_DATA)
        return lcsm_mix_project_flags(m, m->x, name, shape.dim[1], flags_of_o(m, 0));
    return lcsm_mix_param(m, name, shape, static_init(m), flags_of_o(m, LCSM_PARAM_NO_DECAY));
}

/* The log decay of a part. shape: (1, size) with the axes it has beside T. */
static lcsm_operand decay_part(const lcsm_mixer *m, lcsm_part part, const char *name,
                               lcsm_shape shape, unsigned axes)
{
    lcsm_init slopes = {.kind = LCSM_INIT_FILL, .fill = fill_log_alibi};
    if (part == PART_NONE) return (lcsm_operand){0};
    if (part == PART_FIXED)
        return lcsm_static(lcsm_mix_param(m, name, shape, slopes, LCSM_PARAM_FROZEN), axes);
    lcsm_tensor *z = lcsm_gate(m->g, raw_part(m, part, name, shape), m->cfg->tau);
    return lcsm_static(z, axes | (part == PART_DATA ? LCSM_AXIS_T : 0));
}

static lcsm_operand factor_part(const lcsm_mixer *m, lcsm_part part, const char *name,
                                lcsm_shape shape, unsigned axes)
{
    return lcsm_static(raw_part(m, part, name, shape),
                       axes | (part == PART_DATA ? LCSM_AXIS_T : 0));
}

static lcsm_operand phase_part(const lcsm_mixer *m, int phase, ptrdiff_t K)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL,
                      .a    = (double)m->D,
                      .fill = m->cfg->theta_init == 0 ? fill_theta : fill_even_theta};
    unsigned  fixed =
        phase == LCSM_PHASE_FIXED ? LCSM_PARAM_FROZEN : flags_of_o(m, LCSM_PARAM_NO_DECAY);
    lcsm_tensor *theta;
    if (phase == LCSM_PHASE_NONE) return (lcsm_operand){0};
    if (phase == LCSM_PHASE_DATA)
        return lcsm_per_token_k(lcsm_mix_project_flags(m, m->x, "theta", K, flags_of_o(m, 0)));
    theta = lcsm_mix_param(m, "theta", lcsm_dims(1, K), init, fixed);
    return lcsm_static(theta, LCSM_AXIS_K);
}

static void oscillate(const lcsm_mixer *m, const lcsm_code_states *c, lcsm_states *s)
{
    const lcsm_osc_row *o = &c->o;
    lcsm_shape          k = lcsm_dims(1, c->scalar ? 1 : s->K), d = lcsm_dims(1, s->D);
    lcsm_shape          kd  = lcsm_dims(1, s->K, s->D);
    unsigned            row = c->scalar ? 0 : LCSM_AXIS_K;
    s->row_phase            = phase_part(m, o->phase, s->K);
    if (!o->product) {
        s->row  = decay_part(m, o->k, "o_k", k, row);
        s->col  = decay_part(m, o->d, "o_d", d, LCSM_AXIS_D);
        s->full = decay_part(m, o->kd, "o_kd", kd, LCSM_AXIS_K | LCSM_AXIS_D);
        return;
    }
    lcsm_operand parts[3] = {{0}};
    int          n        = 0;
    if (o->k != PART_NONE) parts[n++] = factor_part(m, o->k, "o_k", k, row);
    if (o->d != PART_NONE) parts[n++] = factor_part(m, o->d, "o_d", d, LCSM_AXIS_D);
    if (o->kd != PART_NONE)
        parts[n++] = factor_part(m, o->kd, "o_kd", kd, LCSM_AXIS_K | LCSM_AXIS_D);
    s->u   = parts[0];
    s->w   = parts[1];
    s->gen = LCSM_GEN_GATE;
    s->tau = m->cfg->tau;
}

/* e or s: activated, from the data x or a learned matrix. */
static lcsm_operand state_of(const lcsm_mixer *m, lcsm_tensor *x, bool data, lcsm_act act,
                             const char *name, ptrdiff_t K)
{
    lcsm_tensor *z = data
                       ? lcsm_mix_project(m, x, name, K, false)
                       : lcsm_mix_param(m, name, lcsm_dims(1, K, m->D), lcsm_init_normal(0.1), 0);
    lcsm_tensor *f = act == LCSM_ACT_NONE ? z : lcsm_activate(m->g, act, z);
    return data ? lcsm_per_token_k(f) : lcsm_static(f, LCSM_AXIS_K | LCSM_AXIS_D);
}

/* dt = softplus(W2 W1 x), o = exp(-dt exp(L)), i = dt W x. */
static void ssm(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    rank = lcsm_mix_or(m->cfg->rank, m->D / 16 > 0 ? m->D / 16 : 1);
    lcsm_init    rows = {.kind = LCSM_INIT_FILL, .fill = fill_log_rows};
    lcsm_tensor *low  = lcsm_mix_project(m, m->x, "dt_down", rank, false);
    lcsm_tensor *raw  = lcsm_mix_project(m, low, "dt_up", m->D, false);
    lcsm_tensor *dt   = lcsm_activate(m->g, LCSM_ACT_SOFTPLUS, raw);
    lcsm_tensor *L    = lcsm_mix_param(m, "log_a", lcsm_dims(1, s->K, s->D), rows,
                                       flags_of_o(m, LCSM_PARAM_NO_DECAY));
    s->gen            = LCSM_GEN_EXP;
    s->u              = lcsm_per_token_d(dt);
    s->w = lcsm_static(lcsm_activate_scaled(m->g, LCSM_ACT_EXP, L, -1), LCSM_AXIS_K | LCSM_AXIS_D);
    s->i.x = lcsm_mul(m->g, s->i.x, dt);
}

/* No gradient passes o, so none reaches what makes it; what makes other states too, as the step
 * size of the SSM makes i, is trained through those. */
static void stop_o(const lcsm_mixer *m, lcsm_states *s)
{
    lcsm_operand *const parts[] = {&s->row, &s->col, &s->full, &s->row_phase, &s->u, &s->w};
    for (size_t j = 0; j < COUNT(parts); j++)
        if (parts[j]->x != NULL) parts[j]->x = lcsm_stop(m->g, parts[j]->x);
}

/* Whether the operator reads only where results are wanted: where the planner has a fast form. */
static bool reads_places(const lcsm_mixer *m, const lcsm_code_states *c, const lcsm_states *s)
{
    lcsm_states asked = *s;
    asked.s           = (lcsm_operand){m->x, LCSM_AXIS_K | (c->data_s ? LCSM_AXIS_T : LCSM_AXIS_D)};
    asked.read        = m->places;
    asked.reverse     = m->cfg->bidirectional;
    return lcsm_recurrence_reads_fast(m->g, &asked, m->B, m->T);
}

bool lcsm_code_build(const lcsm_mixer *m, lcsm_states *s)
{
    lcsm_code_states c;
    lcsm_error       err;
    if (lcsm_code_of_config(m->cfg, &c, &err) != LCSM_OK)
        return lcsm_graph_fail(m->g, err.status, "%s", err.text) != NULL;
    *s   = (lcsm_states){.H = 1, .K = lcsm_mix_expand(m, 128), .D = m->D};
    s->i = lcsm_per_token_d(lcsm_mix_project(m, m->x, "i", m->D, false));
    s->e = state_of(m, m->x, c.data_e, c.act, "e", s->K);
    if (c.ssm) ssm(m, s);
    else oscillate(m, &c, s);
    if (!m->cfg->o_trained) stop_o(m, s);
    s->memory_type = (lcsm_memory_type)m->cfg->memory_type;
    lcsm_tensor *x = m->x;
    if (reads_places(m, &c, s)) {
        s->read = m->places;
        x       = lcsm_mix_pick(m->g, m->places, x);
    }
    s->s = state_of(m, x, c.data_s, c.act, "s", s->K);
    return s->i.x != NULL && s->e.x != NULL && s->s.x != NULL;
}
