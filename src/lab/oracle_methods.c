/*
 * oracle_methods.c - cases of methods, by the builders of src/eos themselves.
 *
 * A row says which method and settings a case is, where x and the parameters come from, and where
 * its y is found. What is particular to one method is in a function beside.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/oracle_method_rig.h"
#include "model/model_graph.h"

typedef lcsm_tensor *method_y(lcsm_rig *r);
typedef void         method_more(lcsm_rig *r);

typedef struct {
    const char  *name, *method, *settings;
    const char  *width;  /* an input: the model is as wide */
    const char  *expand; /* "", or an input: its columns, or the rows of a weight, by head */
    const char  *picks;  /* or x is the input "x" or "u" */
    const char  *params;
    method_y    *y;
    method_more *before, *more; /* before and after building; may be NULL */
} method_row;

/* ---- where y is ---- */

static lcsm_tensor *recurrence(lcsm_rig *r)
{
    return lcsm_rig_recurrence(r);
}

static lcsm_tensor *mixer(lcsm_rig *r)
{
    return lcsm_rig_mixer(r);
}

static lcsm_tensor *input_of(lcsm_rig *r, lcsm_op_id op, int j)
{
    const lcsm_node *n = lcsm_rig_node(r, op, 0);
    return n == NULL ? NULL : n->in[j];
}

static lcsm_tensor *output_of(lcsm_rig *r, lcsm_op_id op)
{
    const lcsm_node *n = lcsm_rig_node(r, op, 0);
    return n == NULL ? NULL : n->out[0];
}

/* y + D u of a state space, which goes into a GELU. */
static lcsm_tensor *before_gelu(lcsm_rig *r)
{
    (void)lcsm_rig_mixer(r);
    return input_of(r, LCSM_OP_activation, 0);
}

static lcsm_tensor *complex_memory(lcsm_rig *r)
{
    (void)lcsm_rig_mixer(r);
    return output_of(r, LCSM_OP_eos);
}

/* Without the 1 / sqrt(K) of the builder: the case has none. */
static lcsm_tensor *unscaled(lcsm_rig *r)
{
    lcsm_tensor *y = lcsm_rig_recurrence(r);
    return lcsm_scale(r->lab->g, y, sqrt((double)r->s.K));
}

static lcsm_tensor *both_ways(lcsm_rig *r)
{
    lcsm_graph_prefer_form(r->lab->g, r->lab->form, r->lab->chunk);
    lcsm_tensor *y = lcsm_mix_recurrence(&r->m, r->method->states);
    lcsm_graph_prefer_form(r->lab->g, LCSM_FORM_AUTO, 0);
    return y;
}

/* ---- what else a case gives or wants ---- */

static void out_identity(lcsm_rig *r)
{
    lcsm_rig_identity(r, "out.weight");
}

/* The denominator as it divides: plus eps, or at least eps. */
static void out_denominator(lcsm_rig *r)
{
    lcsm_graph  *g        = r->lab->g;
    double       eps      = lcsm_lab_number(r->lab, "eps", 1e-6);
    lcsm_tensor *den      = input_of(r, LCSM_OP_divide, 1);
    bool         at_least = strcmp(r->cfg.method, "cosformer") == 0;
    out_identity(r);
    /* max(den, eps) = relu(den - eps) + eps */
    lcsm_tensor *above = lcsm_affine(g, den, 1, at_least ? -eps : eps);
    if (at_least) above = lcsm_affine(g, lcsm_activate(g, LCSM_ACT_RELU, above), 1, eps);
    lcsm_lab_out(r->lab, "den", above);
}

static void angle_by_length(lcsm_rig *r)
{
    r->cfg.max_length = (ptrdiff_t)lcsm_lab_number(r->lab, "M", NAN);
}

static void gate_settings(lcsm_rig *r)
{
    r->cfg.tau = lcsm_lab_number(r->lab, "tau", 16);
    r->cfg.rank =
        lcsm_lab_has(r->lab, "z") ? lcsm_lab_dim(r->lab, "z", 1) : lcsm_lab_dim(r->lab, "Wz1", 0);
}

static void gla_core(lcsm_rig *r)
{
    lcsm_rig_identity(r, "gate_up.weight");
    lcsm_lab_out(r->lab, "g", lcsm_activate(r->lab->g, LCSM_ACT_EXP, r->s.row.x));
}

/* The bound of layer 1 of 3, from the parameter that all layers share: 0 in the other two. */
static void middle_layer(lcsm_rig *r)
{
    r->m.layer  = 1;
    r->m.layers = 3;
}

static void bind_lower(lcsm_rig *r)
{
    lcsm_rig_fill(r, "lower_bounds", 0);
    lcsm_lab_in_param_as(r->lab, "lower", "lower_bounds", LOGIT_OF_THREE, 1, (size_t)r->m.D);
}

/* y = silu(gate) h. */
static lcsm_tensor *hgrn_core(lcsm_rig *r)
{
    lcsm_tensor *h = lcsm_rig_recurrence(r);
    lcsm_lab_out(r->lab, "h", h);
    lcsm_lab_out(r->lab, "lam", lcsm_activate(r->lab->g, LCSM_ACT_EXP, r->s.col.x));
    return lcsm_glu(r->lab->g, LCSM_ACT_SILU, lcsm_lab_seq(r->lab, "gate"), h);
}

/* k, v and r are channels of x side by side, so that the recurrence is a third as wide. */
static void rwkv_widths(lcsm_rig *r)
{
    r->cfg.value_ratio = (double)r->m.D / (double)r->m.x->cols;
    r->m.D = r->cfg.d_model = r->m.x->cols;
}

static lcsm_tensor *rwkv_mixer(lcsm_rig *r)
{
    lcsm_tensor *y = lcsm_rig_mixer(r);
    return lcsm_lab_columns(r->lab, y, 0, lcsm_lab_dim(r->lab, "v", 1));
}

/* No shift: all of this step and nothing of the one before. */
static void unshifted(lcsm_rig *r)
{
    lcsm_rig_fill(r, "time_mix_k", 1);
    lcsm_rig_fill(r, "time_mix_v", 1);
    lcsm_rig_fill(r, "time_mix_r", 1);
}

static void wkv(lcsm_rig *r)
{
    unshifted(r);
    lcsm_rig_identity(r, "output.weight");
    lcsm_lab_out(r->lab, "wkv", output_of(r, LCSM_OP_eos));
}

/* The table's form: y = sigmoid(r) m. */
static lcsm_tensor *wkv_simple(lcsm_rig *r)
{
    lcsm_tensor *y = lcsm_rig_recurrence(r);
    lcsm_lab_in_param_as(r->lab, "w", "time_decay", LN, 1, 0);
    return lcsm_glu(r->lab->g, LCSM_ACT_SIGMOID, r->side[0], y);
}

static void mamba_settings(lcsm_rig *r)
{
    r->cfg.state_size  = lcsm_lab_dim(r->lab, "A_log", 1);
    r->cfg.rank        = lcsm_lab_dim(r->lab, "W_dt", 1);
    r->cfg.conv_width  = lcsm_lab_dim(r->lab, "conv_w", 1);
    r->cfg.inner_ratio = (double)lcsm_lab_dim(r->lab, "A_log", 0) / (double)r->m.D;
}

static void mamba_outputs(lcsm_rig *r)
{
    lcsm_lab_out(r->lab, "u", output_of(r, LCSM_OP_conv));
    lcsm_lab_out(r->lab, "dt", input_of(r, LCSM_OP_eos, EOS_u));
}

static void dense_settings(lcsm_rig *r)
{
    r->cfg.state_size = lcsm_lab_dim(r->lab, "A", 0);
}

static void dense_outputs(lcsm_rig *r)
{
    const lcsm_node *n = lcsm_rig_node(r, LCSM_OP_bilinear, 0);
    if (n == NULL) return;
    lcsm_lab_out(r->lab, "A_bar", n->out[0]);
    lcsm_lab_out(r->lab, "B_bar", n->out[1]);
}

/* The response of the states to 1 at the first step. */
static void out_kernel(lcsm_rig *r, ptrdiff_t length)
{
    lcsm_states s;
    if (!lcsm_lab_wants(r->lab, "kernel") || !r->method->states(&r->m, &s)) return;
    lcsm_lab_eos x = lcsm_lab_eos_from(&s, r->m.T);
    lcsm_lab_out_swapped(r->lab, "kernel", lcsm_lab_impulse(r->lab, &x, length));
}

static void s4d_settings(lcsm_rig *r)
{
    r->cfg.state_size = 2 * lcsm_lab_dim(r->lab, "A_im", 1);
}

static void s4d_kernel(lcsm_rig *r)
{
    out_kernel(r, r->m.T);
}

static void dss_settings(lcsm_rig *r)
{
    r->cfg.state_size = lcsm_lab_dim(r->lab, "Lre", 0);
    r->cfg.max_length = (ptrdiff_t)lcsm_lab_number(r->lab, "L", NAN);
}

static void dss_params(lcsm_rig *r)
{
    lcsm_lab_in_param_as(r->lab, "Lre", "Lambda_re_log", LN_NEGATIVE, 1, 0);
    out_kernel(r, r->cfg.max_length);
}

static void s5_settings(lcsm_rig *r)
{
    r->cfg.state_size = 2 * lcsm_lab_dim(r->lab, "Lre", 0);
}

static void s5_params(lcsm_rig *r)
{
    lcsm_lab_in_param_as(r->lab, "B", "B", PLANES, 1, 0);
    lcsm_lab_in_param_as(r->lab, "C", "C", READ_BACK, 1, 0);
}

static void table_settings(lcsm_rig *r)
{
    r->cfg.state_size = lcsm_lab_dim(r->lab, "E", 0);
}

static void out_memory(lcsm_rig *r)
{
    lcsm_lab_out(r->lab, "W_final", r->last);
}

static void out_directions(lcsm_rig *r)
{
    const lcsm_node *back = lcsm_rig_node(r, LCSM_OP_reverse, 1);
    lcsm_lab_out(r->lab, "y_forward", output_of(r, LCSM_OP_eos));
    lcsm_lab_out(r->lab, "y_backward", back == NULL ? NULL : back->out[0]);
}

/* ---- TNN: given lags through the position network ---- */

/* A network of as many features as lags whose last hidden layer is one at the feature of its
 * position: hinges max(0, l + 1 - j), their second differences, a norm. Their factor makes the eps
 * of the norm vanish. */
static void one_feature_a_lag(lcsm_rig *r, ptrdiff_t n)
{
    double      *bias   = lcsm_lab_take(r->lab, (size_t)n, sizeof *bias);
    double      *tent   = lcsm_lab_take(r->lab, (size_t)(n * n), sizeof *tent);
    const double rows[] = {1e6, -2e6, 1e6};
    if (bias == NULL || tent == NULL) return;
    for (ptrdiff_t j = 0; j < n; j++) {
        bias[j] = 1 - (double)j;
        for (ptrdiff_t k = 0; k < 3 && j + k < n; k++) tent[j * n + j + k] = rows[k];
    }
    lcsm_rig_fill(r, "rpe.in.weight", 1);
    lcsm_lab_set(r->lab, lcsm_lab_param(r->lab, "rpe.in.bias"), bias);
    lcsm_lab_set(r->lab, lcsm_lab_param(r->lab, "rpe.0.weight"), tent);
    lcsm_lab_in_param_as(r->lab, "t", "rpe.1.weight", SWAPPED, 1 / sqrt((double)n), 0);
}

static void tnn_settings(lcsm_rig *r)
{
    r->cfg.rank = r->cfg.max_length = lcsm_lab_dim(r->lab, "t", 0);
    r->cfg.rpe_layers               = 1;
    r->cfg.inner_ratio              = (double)lcsm_lab_dim(r->lab, "t", 1) / (double)r->m.D;
}

static void tnn_lags(lcsm_rig *r)
{
    one_feature_a_lag(r, r->cfg.rank);
}

static lcsm_tensor *convolution(lcsm_rig *r)
{
    r->m.whole = true;
    (void)lcsm_rig_mixer(r);
    lcsm_lab_out(r->lab, "kernel", input_of(r, LCSM_OP_longconv, 1));
    return output_of(r, LCSM_OP_longconv);
}

static lcsm_tensor *converted(lcsm_rig *r)
{
    r->m.whole = false;
    (void)lcsm_rig_mixer(r);
    lcsm_lab_out(r->lab, "y_recurrent", output_of(r, LCSM_OP_eos));
    return NULL;
}

/* ---- the table ---- */

/* clang-format off */
static const method_row ROWS[] = {
    {"identity_no_denominator*", "code", "code=1-10-1-0", "v", "q", "v=i k=e q=s", "", recurrence, NULL, NULL},
    {"elu1_with_denominator*", "linear-attention", "", "v", "q", "v=v k=k q=q", "", mixer, NULL, out_denominator},
    {"paper_form_head*", "retnet", "rotation=false", "v", "q", "v=v k=k q=q", "", unscaled, NULL, NULL},
    {"retnet_rotated*", "retnet", "", "v", "q", "v=v k=k q=q", "", recurrence, NULL, NULL},
    {"retnet_mixer*", "retnet", "", "x", "Wk", "", "Wq=q.weight Wk=k.weight Wv=v.weight Wg=gate.weight Wo=out.weight", mixer, NULL, NULL},
    {"tnl_mixer*", "tnl", "", "x", "Wk", "", "Wq=q.weight Wk=k.weight Wv=v.weight Wu=gate.weight Wo=out.weight", mixer, NULL, NULL},
    {"cosformer_paper_form*", "cosformer", "denominator=false", "v", "q", "v=v k=k q=q", "", recurrence, angle_by_length, NULL},
    {"cosformer_with_denominator*", "cosformer", "", "v", "q", "v=v k=k q=q", "", mixer, angle_by_length, out_denominator},
    {"lrpe_*", "lrpe", "", "v", "q", "v=v k=k q=q", "theta=theta", recurrence, NULL, NULL},
    {"gla_core*", "gla", "", "v", "q", "v=v k=k q=q z=gate_down", "", recurrence, gate_settings, gla_core},
    {"gla_mixer*", "gla", "", "x", "Wk", "", "Wq=q.weight Wk=k.weight Wv=v.weight Wg=gate.weight Wz1=gate_down.weight Wz2=gate_up.weight bz=gate_up.bias norm_g=norm.weight Wo=out.weight", mixer, gate_settings, NULL},
    {"gateloop_core*", "gateloop", "", "v", "q", "v=v k=k q=q alpha=alpha beta=beta", "", recurrence, NULL, NULL},
    {"dur_*", "dur", "", "v", "q", "v=v k=k q=q zg=gate_k zh=gate_d", "", recurrence, NULL, NULL},
    {"gfw_*", "gfw", "", "v", "q", "v=v k=k q=q zg=gate_k zh=gate_d", "", recurrence, NULL, NULL},
    {"hgrn_real_core*", "hgrn", "complex=false", "mu", "", "c=input mu=forget", "", hgrn_core, middle_layer, bind_lower},
    {"hgrn_complex_core*", "hgrn", "", "mu", "", "c=input mu=forget", "theta=theta", complex_memory, middle_layer, bind_lower},
    {"hgru1d_mixer*", "hgrn", "", "x", "", "", "Win=input.weight bin=input.bias Wl=forget.weight bl=forget.bias Wg=gate.weight bg=gate.bias theta=theta ln_g=norm.weight ln_b=norm.bias Wo=out.weight bo=out.bias", mixer, middle_layer, bind_lower},
    {"lrn_*", "lrn", "", "pre_i", "", "pre_g=forget pre_i=input", "", mixer, NULL, NULL},
    {"rwkv4_simplified*", "rwkv4-eos", "", "v", "", "k=key v=value r=receptance", "", wkv_simple, rwkv_widths, unshifted},
    {"rwkv4_time_mix*", "rwkv4", "", "x", "", "", "mix_k=time_mix_k mix_v=time_mix_v mix_r=time_mix_r decay=time_decay first=time_first Wk=key.weight Wv=value.weight Wr=receptance.weight Wo=output.weight", mixer, NULL, NULL},
    {"rwkv4_*", "rwkv4", "", "v", "", "k=key v=value r=receptance", "decay=time_decay first=time_first", rwkv_mixer, rwkv_widths, wkv},
    {"mamba_mixer*", "mamba", "", "x", "", "", "W_in=in_proj.weight conv_w=conv1d.weight conv_b=conv1d.bias W_x=x_proj.weight W_dt=dt_proj.weight b_dt=dt_proj.bias ~A_log=A_log D=D W_out=out_proj.weight", mixer, mamba_settings, mamba_outputs},
    {"s4_dense_*", "s4", "s4_kind=dense", "u", "", "", "A=A B=B C=C D=D log_dt=log_dt", before_gelu, dense_settings, dense_outputs},
    {"s4d_*", "s4d", "", "u", "", "", "~log_A_re=A_re_log ~A_im=A_im ~C=C D=D log_dt=log_dt", before_gelu, s4d_settings, s4d_kernel},
    {"s5_paper_table*", "s5-table", "", "i", "", "i=i", "E=E S=S log_re=log_rate im=angle", recurrence, table_settings, NULL},
    {"s5_bilinear*", "s5", "disc=bilinear", "u", "", "", "Lre=Lambda_re Lim=Lambda_im D=D log_dt=log_dt", before_gelu, s5_settings, s5_params},
    {"s5_*", "s5", "", "u", "", "", "Lre=Lambda_re Lim=Lambda_im D=D log_dt=log_dt", before_gelu, s5_settings, s5_params},
    {"dss_*", "dss", "", "u", "", "", "Lim=Lambda_im ~W=W D=D log_dt=log_dt", before_gelu, dss_settings, dss_params},
    {"toeplitz_causal*", "tnn", "flavour=bare", "x", "", "x=i", "", convolution, tnn_settings, tnn_lags},
    {"etsc_*", "tnn", "flavour=bare", "x", "", "x=i", "", converted, tnn_settings, tnn_lags},
    {"gtu_mixer*", "tnn", "", "x", "", "", "Wu=u.weight Wv=v.weight Wo=out.weight", mixer, tnn_settings, tnn_lags},
    {"fwp_elu1*", "fwp", "feature=elu1", "v", "q", "v=v k=k q=q b=beta", "", unscaled, NULL, out_memory},
    {"m1*", "m1", "raw=true", "v", "q", "v=v k=k q=q", "", recurrence, NULL, NULL},
    {"m2*", "m2", "raw=true", "v", "q", "v=v k=k q=q kbar=b", "", recurrence, NULL, NULL},
    {"m3_sigmoid*", "m3", "", "v", "q", "v=v z=k q=q", "", recurrence, NULL, NULL},
    {"m3_raw*", "m3", "raw=true", "v", "q", "v=v k=k q=q", "", recurrence, NULL, NULL},
    {"*shared_params_self_once*", "custom", "oscillation=row tau=1 bidirectional=true", "i", "e", "i=i e=e s=s !g=o_k", "", both_ways, NULL, out_directions},
};
/* clang-format on */

static const method_row *row_of(const char *name)
{
    for (size_t j = 0; j < COUNT(ROWS); j++)
        if (fnmatch(ROWS[j].name, name, 0) == 0) return &ROWS[j];
    return NULL;
}

static ptrdiff_t expand_of(lcsm_rig *r, const char *name)
{
    return lcsm_lab_dim(r->lab, name, name[0] == 'W' ? 0 : 1) / r->cfg.heads;
}

void lcsm_lab_method(lcsm_lab *lab)
{
    const method_row *row = row_of(lab->c->name);
    lcsm_rig          r;
    if (row == NULL) {
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "unknown case");
        return;
    }
    lcsm_rig_open(&r, lab, row->method, row->settings);
    if (row->expand[0] != '\0') r.cfg.expand = expand_of(&r, row->expand);
    if (row->picks[0] != '\0') lcsm_rig_picks(&r, lcsm_lab_dim(lab, row->width, 1), row->picks);
    else lcsm_rig_input(&r, row->width);
    if (row->before != NULL) row->before(&r);
    lcsm_tensor *y = row->y(&r);
    lcsm_lab_out(lab, "y", y);
    lcsm_rig_picked(&r, row->picks);
    lcsm_rig_params(&r, row->params);
    if (row->more != NULL) row->more(&r);
    lcsm_rig_close(&r, row->y == recurrence || row->y == mixer);
}

/* ---- codes e-o-s-a ---- */

/* The parameters of W_o and O by code; NULL: there is none. */
static const char *const WO[] = {NULL,         NULL,         "o_d.weight", "o_k.weight",
                                 NULL,         NULL,         "o_k.weight", "o_d.weight",
                                 "o_d.weight", "o_k.weight", NULL,         NULL};
static const char *const O[]  = {"o_kd", NULL,   NULL,  NULL,  "o_k", "o_d",
                                 "o_kd", "o_kd", "o_k", "o_d", NULL,  NULL};

/* The code's number of o, or -1 of the SSM. */
static int code_of(lcsm_lab *lab, char *text, size_t size)
{
    bool ssm = strcmp(lcsm_lab_text(lab, "o", ""), "ssm") == 0;
    int  o   = ssm ? -1 : (int)lcsm_lab_number(lab, "o", NAN);
    if (ssm) (void)snprintf(text, size, "0");
    else
        (void)snprintf(text, size, "%d-%d-%d-%d", lcsm_lab_has(lab, "We"), o,
                       lcsm_lab_has(lab, "Ws"), (int)lcsm_lab_number(lab, "a", 0));
    return o;
}

static void bind_oscillation(lcsm_rig *r, int o)
{
    bool learned = r->cfg.o_learned;
    if (o < 0 || o >= (int)COUNT(O)) return;
    if (WO[o] != NULL) lcsm_lab_in_param(r->lab, "Wo", WO[o]);
    if (O[o] != NULL) lcsm_lab_in_param_as(r->lab, "O", O[o], learned ? AS_GIVEN : LN, 1, 0);
}

/* The states of a code, or the layer: then LayerNorm and Wout are there. */
void lcsm_lab_code(lcsm_lab *lab)
{
    bool     layer = lcsm_lab_has(lab, "ln_g");
    lcsm_rig r;
    lcsm_rig_open(&r, lab, "code", "flavour=bare");
    int o           = code_of(lab, r.cfg.code, sizeof r.cfg.code);
    r.cfg.tau       = lcsm_lab_number(lab, "tau", 16);
    r.cfg.o_learned = !json_is_false(json_object_get(lab->c->config, "learned"));
    r.cfg.expand    = lcsm_lab_dim(lab, lcsm_lab_has(lab, "We") ? "We" : "E", 0);
    if (lcsm_lab_has(lab, "theta")) r.cfg.phase = LCSM_PHASE_LEARNED;
    if (lcsm_lab_has(lab, "Wd1")) r.cfg.rank = lcsm_lab_dim(lab, "Wd1", 0);
    lcsm_rig_input(&r, "x");
    lcsm_tensor *y = layer ? lcsm_rig_mixer(&r) : lcsm_rig_recurrence(&r);
    if (layer && !r.method->states(&r.m, &r.s)) return;
    lcsm_rig_params(&r, "Wi=i.weight We=e.weight E=e Ws=s.weight S=s Wo1=o_d.weight Wo2=o_k.weight "
                        "theta=theta Wd1=dt_down.weight Wd2=dt_up.weight logA=log_a "
                        "ln_g=norm.weight ln_b=norm.bias Wout=out.weight");
    bind_oscillation(&r, o);
    lcsm_rig_close(&r, true);
    lcsm_lab_eos x = lcsm_lab_eos_from(&r.s, r.m.T);
    lcsm_lab_out(lab, "y", y);
    lcsm_lab_out(lab, "i", r.s.i.x);
    lcsm_lab_out_oscillation(lab, "o", &x);
}

/* ---- the second half of a block ---- */

static void channel(lcsm_lab *lab, lcsm_channel kind, const char *params, const char *hidden)
{
    lcsm_rig r;
    lcsm_rig_open(&r, lab, "code", "");
    r.cfg.hidden = lcsm_lab_dim(lab, hidden, 0);
    lcsm_rig_input(&r, "x");
    lcsm_lab_out(lab, "y", lcsm_channel_build(&r.m, kind));
    lcsm_rig_params(&r, params);
    lcsm_rig_close(&r, true);
}

void lcsm_lab_channel_mix(lcsm_lab *lab)
{
    channel(lab, LCSM_CHANNEL_RWKV,
            "mix_k=mix_k mix_r=mix_r Wk=key.weight Wr=receptance.weight Wv=value.weight", "Wk");
}

/* Of RWKV-5, 6 and 7, by the names of their files. */
void lcsm_lab_channel_mix_since(lcsm_lab *lab)
{
    lcsm_channel kind = lcsm_lab_has(lab, "time_mix_k") ? LCSM_CHANNEL_RWKV
                      : lcsm_lab_has(lab, "time_maa_k") ? LCSM_CHANNEL_RWKV6
                                                        : LCSM_CHANNEL_RWKV7;
    channel(lab, kind,
            "time_mix_k=mix_k time_mix_r=mix_r time_maa_k=x_k time_maa_r=x_r x_k=x_k "
            "key.weight=key.weight receptance.weight=receptance.weight value.weight=value.weight",
            "key.weight");
}

void lcsm_lab_glu_layer(lcsm_lab *lab)
{
    bool silu = strcmp(lcsm_lab_text(lab, "act", "silu"), "silu") == 0;
    channel(lab, silu ? LCSM_CHANNEL_GLU : LCSM_CHANNEL_SGLU,
            "W1=w1.weight W2=w2.weight W3=w3.weight", "W1");
}
