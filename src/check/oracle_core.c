/* oracle_core.c - the recurrence with every operand form, and the layers of the codes e-o-s-a. */
#include <math.h>
#include <string.h>

#include "check/oracle_build.h"

/* ---- what all builders share ---- */

lcsm_tensor *lcsm_lab_project(lcsm_lab *lab, lcsm_tensor *x, const char *w, const char *b)
{
    lcsm_tensor *weight = lcsm_lab_in(lab, w);
    return lcsm_linear(lab->g, x, weight, b == NULL ? NULL : lcsm_lab_in(lab, b));
}

lcsm_tensor *lcsm_lab_sub(lcsm_lab *lab, lcsm_tensor *a, lcsm_tensor *b)
{
    return lcsm_add(lab->g, a, lcsm_scale(lab->g, b, -1));
}

lcsm_tensor *lcsm_lab_row_sum(lcsm_lab *lab, lcsm_tensor *x)
{
    if (x == NULL) return NULL;
    return lcsm_linear(lab->g, x, lcsm_lab_fill(lab, lcsm_dims(1, x->cols), 1), NULL);
}

lcsm_tensor *lcsm_lab_beside(lcsm_lab *lab, lcsm_tensor *a, lcsm_tensor *b)
{
    lcsm_tensor *both[] = {a, b};
    return lcsm_concat(lab->g, both, 2);
}

lcsm_tensor *lcsm_lab_columns(lcsm_lab *lab, lcsm_tensor *x, ptrdiff_t first, ptrdiff_t count)
{
    return x == NULL ? NULL : lcsm_slice(lab->g, x, x->shape.rank - 1, first, count);
}

/* ---- the recurrence ---- */

static bool named(const lcsm_lab *lab, const char *part)
{
    return strstr(lab->c->name, part) != NULL;
}

static int rank_of(lcsm_lab *lab, const char *name)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    return a == NULL ? 0 : a->rank;
}

/* The logarithm of an input as the factor j; with all axes, or static without T. */
static void log_factor(lcsm_lab *lab, lcsm_lab_eos *x, int j, const char *name, unsigned axes)
{
    bool         token = rank_of(lab, name) > (axes == (LAB_K | LAB_D) ? 2 : 1);
    lcsm_tensor *log   = lcsm_activate(lab->g, LCSM_ACT_LOG, lcsm_lab_in(lab, name));
    lcsm_lab_operand(x, j, log, axes | (token ? LAB_T : 0));
}

/* One number for each step or for all: [n] per token, [1] static. */
static void log_scalar(lcsm_lab *lab, lcsm_lab_eos *x, const char *name)
{
    bool         token = !named(lab, "static");
    lcsm_tensor *log   = lcsm_activate(lab->g, LCSM_ACT_LOG, lcsm_lab_in(lab, name));
    lcsm_lab_operand(x, EOS_row, log, token ? LAB_T : 0);
}

/* A complex o by magnitude and phase. */
static void polar_factor(lcsm_lab *lab, lcsm_lab_eos *x, const char *name)
{
    bool     row   = named(lab, "row_k");
    bool     token = rank_of(lab, name) > (row ? 1 : 2);
    unsigned axes  = (row ? LAB_K : LAB_K | LAB_D) | (token ? LAB_T : 0);
    lcsm_lab_operand(x, row ? EOS_row : EOS_full, lcsm_lab_in_log(lab, name), axes);
    lcsm_lab_operand(x, row ? EOS_row_phase : EOS_full_phase, lcsm_lab_in_phase(lab, name), axes);
}

static void oscillation(lcsm_lab *lab, lcsm_lab_eos *x)
{
    if (lcsm_lab_has(lab, "A"))
        lcsm_lab_operand(x, EOS_dense, lcsm_lab_in(lab, "A"),
                         rank_of(lab, "A") > 2 ? LAB_T | LAB_KK : LAB_KK);
    if (lcsm_lab_has(lab, "theta"))
        lcsm_lab_operand(x, EOS_row_phase, lcsm_lab_in(lab, "theta"),
                         rank_of(lab, "theta") > 1 ? LAB_T | LAB_K : LAB_K);
    if (lcsm_lab_has(lab, "g")) log_factor(lab, x, EOS_row, "g", LAB_K);
    if (lcsm_lab_has(lab, "h")) log_factor(lab, x, EOS_col, "h", LAB_D);
    if (lcsm_lab_has(lab, "lam")) log_scalar(lab, x, "lam");
    if (!lcsm_lab_has(lab, "o")) return;
    if (lcsm_lab_array(lab, "o")->is_complex) polar_factor(lab, x, "o");
    else log_factor(lab, x, EOS_full, "o", LAB_K | LAB_D);
}

/* e or s: a vector for each token, or a static matrix under the capital letter. */
static void state(lcsm_lab *lab, lcsm_lab_eos *x, int j, const char *vector, const char *matrix)
{
    bool                     token = lcsm_lab_has(lab, vector);
    const char              *name  = token ? vector : matrix;
    const lcsm_oracle_array *a     = lcsm_lab_array(lab, name);
    unsigned                 axes  = token ? LAB_T | LAB_K : LAB_K | LAB_D;
    if (a == NULL) return;
    if (a->is_complex) lcsm_lab_operand_complex(x, j, lcsm_lab_in(lab, name), axes);
    else lcsm_lab_operand(x, j, lcsm_lab_in(lab, name), axes);
}

static lcsm_lab_eos core(lcsm_lab *lab)
{
    bool         vector = lcsm_lab_has(lab, "e");
    ptrdiff_t    n = lcsm_lab_dim(lab, "i", 0), d = lcsm_lab_dim(lab, "i", 1);
    ptrdiff_t    k = lcsm_lab_dim(lab, vector ? "e" : "E", vector ? 1 : 0);
    lcsm_lab_eos x = lcsm_lab_eos_of(1, n, 1, k, d);
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_in(lab, "i"), LAB_T | LAB_D);
    state(lab, &x, EOS_e, "e", "E");
    state(lab, &x, EOS_s, "s", "S");
    oscillation(lab, &x);
    if (lcsm_lab_has(lab, "m0")) x.m0 = lcsm_lab_in(lab, "m0");
    return x;
}

/* m_t = o_t m_{t-1} + e_t i_t^T, y_t = m_t^T s_t; o is what the inputs say. */
void lcsm_lab_core(lcsm_lab *lab)
{
    lcsm_tensor *last;
    lcsm_lab_eos x = core(lab);
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, &x, &last));
    lcsm_lab_out(lab, "m_final", last);
    lcsm_lab_out_memories(lab, "m_all", &x);
    if (!lcsm_lab_has(lab, "A")) lcsm_lab_out_oscillation(lab, "o_full", &x);
    if (lcsm_lab_wants(lab, "kernel"))
        lcsm_lab_out(lab, "kernel", lcsm_lab_impulse(lab, &x, x.desc.T));
}

/* y = forward + backward - i (s . e): the step itself counts once. */
void lcsm_lab_both_directions(lcsm_lab *lab)
{
    lcsm_lab_eos x = core(lab), r = x;
    r.desc.reverse        = true;
    lcsm_tensor *forward  = lcsm_lab_eos_add(lab, &x, NULL);
    lcsm_tensor *backward = lcsm_lab_eos_add(lab, &r, NULL);
    lcsm_tensor *se       = lcsm_mul(lab->g, lcsm_lab_seq(lab, "s"), lcsm_lab_seq(lab, "e"));
    lcsm_tensor *once = lcsm_scale_rows(lab->g, lcsm_lab_seq(lab, "i"), lcsm_lab_row_sum(lab, se));
    lcsm_lab_out(lab, "y", lcsm_lab_sub(lab, lcsm_add(lab->g, forward, backward), once));
    lcsm_lab_out(lab, "y_forward", forward);
    lcsm_lab_out(lab, "y_backward", backward);
}

/* ---- codes e-o-s-a ---- */

typedef struct {
    lcsm_lab    *lab;
    lcsm_lab_eos x;
    lcsm_tensor *in; /* (1, T, D) */
    double       tau;
} code;

static lcsm_tensor *projected_gate(const code *c, const char *w)
{
    return lcsm_gate(c->lab->g, lcsm_lab_project(c->lab, c->in, w, NULL), c->tau);
}

static void generated(code *c, unsigned u_axes, unsigned w_axes)
{
    c->x.desc.gen = LCSM_GEN_GATE;
    c->x.desc.tau = c->tau;
    lcsm_lab_operand(&c->x, EOS_u, lcsm_lab_project(c->lab, c->in, "Wo", NULL), LAB_T | u_axes);
    lcsm_lab_operand(&c->x, EOS_w, lcsm_lab_in(c->lab, "O"), w_axes);
}

static void static_gate(code *c, int j, unsigned axes)
{
    lcsm_tensor *P       = lcsm_lab_in(c->lab, "O");
    bool         learned = !json_is_false(json_object_get(c->lab->c->config, "learned"));
    lcsm_lab_operand(&c->x, j,
                     learned ? lcsm_gate(c->lab->g, P, c->tau)
                             : lcsm_activate(c->lab->g, LCSM_ACT_LOG, P),
                     axes);
}

/* The twelve oscillation codes. */
static void code_oscillation(code *c, int o)
{
    switch (o) {
    case 0: static_gate(c, EOS_full, LAB_K | LAB_D); break;
    case 1:
        lcsm_lab_operand(&c->x, EOS_col, projected_gate(c, "Wo1"), LAB_T | LAB_D);
        lcsm_lab_operand(&c->x, EOS_row, projected_gate(c, "Wo2"), LAB_T | LAB_K);
        break;
    case 2: lcsm_lab_operand(&c->x, EOS_col, projected_gate(c, "Wo"), LAB_T | LAB_D); break;
    case 3: lcsm_lab_operand(&c->x, EOS_row, projected_gate(c, "Wo"), LAB_T | LAB_K); break;
    case 4: static_gate(c, EOS_row, LAB_K); break;
    case 5: static_gate(c, EOS_col, LAB_D); break;
    case 6: generated(c, LAB_K, LAB_K | LAB_D); break;
    case 7: generated(c, LAB_D, LAB_K | LAB_D); break;
    case 8: generated(c, LAB_D, LAB_K); break;
    case 9: generated(c, LAB_K, LAB_D); break;
    case 10: break;
    case 11: lcsm_lab_operand(&c->x, EOS_row_phase, lcsm_lab_in(c->lab, "theta"), LAB_K); break;
    default:
        lcsm_graph_fail(c->lab->g, LCSM_ERR_FORMAT, "the setting o is %d, want 0..11 or ssm", o);
    }
}

/* f(W x) per token, or f of a static K x D matrix. */
static void code_state(code *c, int j, const char *w, const char *matrix, lcsm_act act)
{
    bool         token = lcsm_lab_has(c->lab, w);
    lcsm_tensor *z = token ? lcsm_lab_project(c->lab, c->in, w, NULL) : lcsm_lab_in(c->lab, matrix);
    lcsm_lab_operand(&c->x, j, lcsm_activate(c->lab->g, act, z),
                     token ? LAB_T | LAB_K : LAB_K | LAB_D);
}

/* dt = softplus(Wd2 Wd1 x), o = exp(-dt exp(logA)), i = dt (Wi x). */
static lcsm_tensor *code_ssm(code *c)
{
    lcsm_graph  *g = c->lab->g;
    lcsm_tensor *raw =
        lcsm_lab_project(c->lab, lcsm_lab_project(c->lab, c->in, "Wd1", NULL), "Wd2", NULL);
    lcsm_tensor *dt = lcsm_activate(g, LCSM_ACT_SOFTPLUS, raw);
    c->x.desc.gen   = LCSM_GEN_EXP;
    lcsm_lab_operand(&c->x, EOS_u, dt, LAB_T | LAB_D);
    lcsm_lab_operand(&c->x, EOS_w,
                     lcsm_activate_scaled(g, LCSM_ACT_EXP, lcsm_lab_in(c->lab, "logA"), -1),
                     LAB_K | LAB_D);
    return lcsm_mul(g, dt, lcsm_lab_project(c->lab, c->in, "Wi", NULL));
}

static ptrdiff_t code_rows(lcsm_lab *lab)
{
    const char *from = lcsm_lab_has(lab, "We") ? "We" : "E";
    return lcsm_lab_dim(lab, from, 0);
}

/* i = Wi x, e and s by f, o by its code; then LayerNorm and Wout where the layer has them. */
void lcsm_lab_code(lcsm_lab *lab)
{
    bool      ssm = strcmp(lcsm_lab_text(lab, "o", ""), "ssm") == 0;
    double    act = lcsm_lab_number(lab, "a", 0);
    ptrdiff_t n = lcsm_lab_dim(lab, "x", 0), d = lcsm_lab_dim(lab, "x", 1);
    code      c = {.lab = lab, .x = lcsm_lab_eos_of(1, n, 1, code_rows(lab), d)};
    c.in        = lcsm_lab_seq(lab, "x");
    c.tau       = lcsm_lab_number(lab, "tau", 16);
    if (!(act >= 0 && act <= LCSM_ACT_SQUARE))
        lcsm_graph_fail(lab->g, LCSM_ERR_FORMAT, "the setting a is %g, want 0..7", act);
    lcsm_tensor *i = ssm ? code_ssm(&c) : lcsm_lab_project(lab, c.in, "Wi", NULL);
    if (!ssm) code_oscillation(&c, (int)lcsm_lab_number(lab, "o", NAN));
    lcsm_lab_operand(&c.x, EOS_i, i, LAB_T | LAB_D);
    code_state(&c, EOS_e, "We", "E", (lcsm_act)act);
    code_state(&c, EOS_s, "Ws", "S", (lcsm_act)act);
    lcsm_tensor *y = lcsm_lab_eos_add(lab, &c.x, NULL);
    if (lcsm_lab_has(lab, "ln_g")) {
        y = lcsm_layer_norm(lab->g, y, lcsm_lab_in(lab, "ln_g"), lcsm_lab_in(lab, "ln_b"), 1e-5);
        y = lcsm_lab_project(lab, y, "Wout", NULL);
    }
    lcsm_lab_out(lab, "y", y);
    lcsm_lab_out(lab, "i", i);
    lcsm_lab_out_oscillation(lab, "o", &c.x);
}
