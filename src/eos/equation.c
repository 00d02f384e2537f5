/* equation.c - the recurrence of a code or custom model, from the choices that build it. */
#include "eos/equation.h"

static const char *const ACTS[] = {
#define X(NAME, name, text) text,
    LCSM_ACT_LIST(X)
#undef X
};

/* ---- e and s ---------------------------------------------------------------------------- */

static void say_state(lcsm_strbuf *out, const char *name, const char *matrix, bool data,
                      lcsm_act act)
{
    lcsm_strbuf_printf(out, data ? "%s_t = " : "%s = ", name);
    if (act != LCSM_ACT_NONE) lcsm_strbuf_printf(out, "%s(", ACTS[act]);
    if (data) lcsm_strbuf_printf(out, "W_%s x_t", name);
    else lcsm_strbuf_add(out, matrix);
    lcsm_strbuf_add(out, act != LCSM_ACT_NONE ? ")\n" : "\n");
    if (!data) lcsm_strbuf_printf(out, "%s: learned (%s)\n", matrix, name);
}

/* Whether o depends on the token. */
static bool moving(const lcsm_code_states *c)
{
    return c->ssm || c->o.k == PART_DATA || c->o.d == PART_DATA || c->o.phase == LCSM_PHASE_DATA;
}

/* ---- o ---------------------------------------------------------------------------------- */

/* A part of o: where it comes from, its axes, its parameter, and its letter in the equation. */
typedef struct {
    lcsm_part   from;
    const char *axes, *parameter, *letter;
} part;

static void say_factor(lcsm_strbuf *out, const part *p)
{
    lcsm_strbuf_printf(out, "%s%s%s", p->letter, p->from == PART_DATA ? "_t" : "", p->axes);
}

static void say_power(lcsm_strbuf *out, double tau)
{
    if (tau != 1) lcsm_strbuf_printf(out, "^(1/%g)", tau);
}

static void say_gate(lcsm_strbuf *out, const part *p, double tau)
{
    if (p->from == PART_FIXED) {
        lcsm_strbuf_printf(out, "exp(-%s%s)", p->letter, p->axes);
        return;
    }
    lcsm_strbuf_add(out, "sigmoid(");
    say_factor(out, p);
    lcsm_strbuf_add(out, ")");
    say_power(out, tau);
}

/* A product of gates, or one gate of a product. */
static void say_magnitude(lcsm_strbuf *out, const part *parts, int count, bool product, double tau)
{
    if (product) lcsm_strbuf_add(out, "sigmoid(");
    for (int j = 0; j < count; j++) {
        if (j > 0) lcsm_strbuf_add(out, " ");
        if (product) say_factor(out, &parts[j]);
        else say_gate(out, &parts[j], tau);
    }
    if (product) {
        lcsm_strbuf_add(out, ")");
        say_power(out, tau);
    }
}

static void say_origin(lcsm_strbuf *out, const part *p)
{
    if (p->from == PART_DATA) lcsm_strbuf_printf(out, "%s_t = W_%s x_t\n", p->letter, p->parameter);
    if (p->from == PART_STATIC)
        lcsm_strbuf_printf(out, "%s: learned (%s)\n", p->letter, p->parameter);
    if (p->from == PART_FIXED)
        lcsm_strbuf_printf(out, "%s: fixed, the slopes of ALiBi\n", p->letter);
}

static void say_phase(lcsm_strbuf *out, int phase)
{
    static const char *const ORIGINS[] = {"", "theta: fixed angles\n", "theta: learned angles\n",
                                          "theta_t = W_theta x_t\n"};
    lcsm_strbuf_add(out, ORIGINS[phase]);
}

static void say_oscillation(lcsm_strbuf *out, const lcsm_code_states *c, double tau)
{
    const part all[]    = {{c->o.k, c->scalar ? "" : "[a]", "o_k", "p"},
                           {c->o.d, "[b]", "o_d", "q"},
                           {c->o.kd, "[a][b]", "o_kd", "P"}};
    part       parts[3] = {{PART_NONE, "", "", ""}};
    int        count    = 0;
    bool       turned   = c->o.phase != LCSM_PHASE_NONE;
    for (size_t j = 0; j < COUNT(all); j++)
        if (all[j].from != PART_NONE) parts[count++] = all[j];
    lcsm_strbuf_printf(out, "o%s[a][b] = ", moving(c) ? "_t" : "");
    say_magnitude(out, parts, count, c->o.product && count > 0, tau);
    if (count == 0 && !turned) lcsm_strbuf_add(out, "1");
    if (turned)
        lcsm_strbuf_printf(out, "%sexp(i theta%s[a])", count > 0 ? " " : "",
                           c->o.phase == LCSM_PHASE_DATA ? "_t" : "");
    lcsm_strbuf_add(out, "\n");
    for (int j = 0; j < count; j++) say_origin(out, &parts[j]);
    say_phase(out, c->o.phase);
}

/* ---- all of it -------------------------------------------------------------------------- */

void lcsm_code_equations(lcsm_strbuf *out, const lcsm_code_states *c, double tau)
{
    lcsm_strbuf_printf(out, "m_t[a][b] = o%s[a][b] m_{t-1}[a][b] + %s i_t[b]\n",
                       moving(c) ? "_t" : "", c->data_e ? "e_t[a]" : "e[a][b]");
    lcsm_strbuf_printf(out, "y_t[b] = %ssum_a %s m_t[a][b]\n",
                       c->o.phase == LCSM_PHASE_NONE ? "" : "Re ",
                       c->data_s ? "s_t[a]" : "s[a][b]");
    if (c->ssm) {
        lcsm_strbuf_add(out, "i_t[b] = dt_t[b] (W_i x_t)[b]\n");
        lcsm_strbuf_add(out, "e_t = W_e x_t\ns_t = W_s x_t\n");
        lcsm_strbuf_add(out, "o_t[a][b] = exp(-dt_t[b] exp(log_a[a][b]))\n");
        lcsm_strbuf_add(out, "dt_t = softplus(W_dt_up W_dt_down x_t)\nlog_a: learned\n");
        return;
    }
    lcsm_strbuf_add(out, "i_t = W_i x_t\n");
    say_state(out, "e", "E", c->data_e, c->act);
    say_state(out, "s", "S", c->data_s, c->act);
    say_oscillation(out, c, tau);
}
