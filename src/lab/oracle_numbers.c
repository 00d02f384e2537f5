/* oracle_numbers.c - tables of numbers, parameter counts, and the recall task's examples. */
#include <lcsm/model.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eos/tables.h"
#include "lab/oracle_build.h"
#include "model/config.h"
#include "task/mqar.h"

static size_t size_of(lcsm_lab *lab, const char *key)
{
    return (size_t)lcsm_lab_number(lab, key, NAN);
}

static void failed(lcsm_lab *lab, const lcsm_error *err)
{
    lcsm_graph_fail(lab->g, err->status, "%s", err->text);
}

/* ---- decays and angles ---- */

void lcsm_lab_alibi(lcsm_lab *lab)
{
    size_t  n = size_of(lab, "n");
    double *x = lcsm_lab_take(lab, n, sizeof *x);
    if (x == NULL) return;
    lcsm_alibi_slopes(n, x);
    lcsm_lab_out_numbers(lab, "slopes", x, n);
    lcsm_alibi_decays(n, x);
    lcsm_lab_out_numbers(lab, "decay", x, n);
}

void lcsm_lab_alibi_matrix(lcsm_lab *lab)
{
    size_t  n = size_of(lab, "k") * size_of(lab, "d");
    double *x = lcsm_lab_take(lab, n, sizeof *x);
    if (x == NULL) return;
    lcsm_alibi_decays(n, x);
    lcsm_lab_out_numbers(lab, "o", x, n);
}

void lcsm_lab_retnet_gammas(lcsm_lab *lab)
{
    size_t  n = size_of(lab, "heads");
    double *x = lcsm_lab_take(lab, n, sizeof *x);
    if (x == NULL) return;
    lcsm_retnet_gammas(n, x);
    lcsm_lab_out_numbers(lab, "gamma", x, n);
}

void lcsm_lab_retnet_angles(lcsm_lab *lab)
{
    size_t  n = size_of(lab, "dk");
    double *x = lcsm_lab_take(lab, n, sizeof *x);
    if (x == NULL) return;
    lcsm_retnet_angles(n, x);
    lcsm_lab_out_numbers(lab, "angle", x, n / 2);
}

void lcsm_lab_tnl_decays(lcsm_lab *lab)
{
    size_t  L = size_of(lab, "layers"), H = size_of(lab, "heads");
    double *x = lcsm_lab_take(lab, L * H, sizeof *x);
    if (x == NULL) return;
    for (size_t l = 0; l < L; l++) lcsm_tnl_decays(l, L, H, x + l * H);
    lcsm_lab_out_numbers(lab, "lambda", x, L * H);
}

void lcsm_lab_thetas(lcsm_lab *lab)
{
    size_t  k = size_of(lab, "k");
    double *x = lcsm_lab_take(lab, k, sizeof *x);
    if (x == NULL) return;
    lcsm_thetas(k, size_of(lab, "d"), x);
    lcsm_lab_out_numbers(lab, "theta", x, k);
}

/* The softmax of a layer is what its bound grows by; layer 0 has what is left of 1. */
void lcsm_lab_lower_bounds(lcsm_lab *lab)
{
    size_t  L = size_of(lab, "layers"), D = size_of(lab, "d");
    double *x = lcsm_lab_take(lab, L * D, sizeof *x), *p = lcsm_lab_take(lab, L * D, sizeof *p);
    if (x == NULL || p == NULL || lcsm_lab_array(lab, "Gamma")->numbers != L * D) return;
    lcsm_hgrn_bounds(L, D, lcsm_lab_array(lab, "Gamma")->data, x);
    for (size_t j = 0; j < L * D; j++) p[j] = j < D ? 1 - x[(L - 1) * D + j] : x[j] - x[j - D];
    lcsm_lab_out_numbers(lab, "lower_bound", x, L * D);
    lcsm_lab_out_numbers(lab, "softmax", p, L * D);
}

void lcsm_lab_rwkv4_init(lcsm_lab *lab)
{
    static const struct {
        lcsm_rwkv4_mix mix;
        const char    *name;
    } MIXES[] = {{LCSM_RWKV4_MIX_K, "mix_k"},
                 {LCSM_RWKV4_MIX_V, "mix_v"},
                 {LCSM_RWKV4_MIX_R, "mix_r"},
                 {LCSM_RWKV4_MIX_FFN, "ffn_mix_k"},
                 {LCSM_RWKV4_MIX_FFN, "ffn_mix_r"}};

    size_t  D = size_of(lab, "n_embd"), L = size_of(lab, "n_layer"), l = size_of(lab, "layer");
    double *x = lcsm_lab_take(lab, D, sizeof *x);
    if (x == NULL) return;
    lcsm_rwkv4_decay(D, l, L, x);
    lcsm_lab_out_numbers(lab, "time_decay", x, D);
    lcsm_rwkv4_first(D, x);
    lcsm_lab_out_numbers(lab, "time_first", x, D);
    for (size_t j = 0; j < COUNT(MIXES); j++) {
        lcsm_rwkv4_mixes(MIXES[j].mix, D, l, L, x);
        lcsm_lab_out_numbers(lab, MIXES[j].name, x, D);
    }
}

void lcsm_lab_inverse_softplus(lcsm_lab *lab)
{
    const lcsm_oracle_array *dt = lcsm_lab_array(lab, "dt");
    double                  *x  = lcsm_lab_take(lab, dt->numbers, sizeof *x);
    if (x == NULL) return;
    for (size_t j = 0; j < dt->numbers; j++) x[j] = lcsm_inverse_softplus(dt->data[j]);
    lcsm_lab_out_numbers(lab, "bias", x, dt->numbers);
}

/* ---- state spaces ---- */

void lcsm_lab_hippo(lcsm_lab *lab)
{
    size_t     N = size_of(lab, "N");
    double    *x = lcsm_lab_take(lab, N * N + 5 * N, sizeof *x);
    double    *v = lcsm_lab_take(lab, 2 * N * N, sizeof *v);
    lcsm_error err;
    if (x == NULL || v == NULL) return;
    double *B = x + N * N, *P = B + N, *w = P + N, *lambda = w + N;
    lcsm_hippo_legs(N, x, B, P);
    if (lcsm_hippo_eigen(N, w, v, &err) != LCSM_OK) {
        failed(lab, &err);
        return;
    }
    for (size_t k = 0; k < N; k++) {
        lambda[2 * k]     = -0.5;
        lambda[2 * k + 1] = w[k];
    }
    lcsm_lab_out_numbers(lab, "A", x, N * N);
    lcsm_lab_out_numbers(lab, "B", B, N);
    lcsm_lab_out_numbers(lab, "P", P, N);
    lcsm_lab_out_numbers(lab, "lambda_sorted_by_imag", lambda, 2 * N);
}

void lcsm_lab_dss_lambda(lcsm_lab *lab)
{
    size_t     N = size_of(lab, "N");
    double    *x = lcsm_lab_take(lab, 2 * N, sizeof *x);
    lcsm_error err;
    if (x == NULL) return;
    if (lcsm_dss_lambda(N, x, &err) != LCSM_OK) failed(lab, &err);
    lcsm_lab_out_numbers(lab, "lambda", x, 2 * N);
}

void lcsm_lab_s4d_inits(lcsm_lab *lab)
{
    size_t     N = size_of(lab, "N");
    double    *x = lcsm_lab_take(lab, N, sizeof *x);
    lcsm_error err;
    if (x == NULL) return;
    if (lcsm_s4d_init(LCSM_S4D_LIN, N, x, &err) != LCSM_OK) failed(lab, &err);
    lcsm_lab_out_numbers(lab, "lin", x, N);
    if (lcsm_s4d_init(LCSM_S4D_INV, N, x, &err) != LCSM_OK) failed(lab, &err);
    lcsm_lab_out_numbers(lab, "inv", x, N);
    if (lcsm_s4d_init(LCSM_S4D_REAL, N, x, &err) != LCSM_OK) failed(lab, &err);
    for (size_t j = 0; j < N / 2; j++) x[j] = x[2 * j];
    lcsm_lab_out_numbers(lab, "real", x, N / 2);
}

/* ---- parameter counts ---- */

/* Outputs code_X are the depth and the parameters; those of the paper are in hundredths of a
 * million, beside them. */
static void count_code(lcsm_lab *lab, const lcsm_oracle_array *out)
{
    bool               ssm = strcmp(out->name, "code_ssm") == 0;
    lcsm_model_config  cfg;
    lcsm_model_summary m = {.size = sizeof m};
    lcsm_error         err;
    char               paper[64];
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.code, sizeof cfg.code, ssm ? "0" : "1-%d-1-0",
                   (int)strtol(out->name + strlen("code_"), NULL, 10));
    cfg.vocab   = (ptrdiff_t)size_of(lab, "vocab");
    cfg.d_model = (ptrdiff_t)size_of(lab, "d");
    cfg.expand  = (ptrdiff_t)size_of(lab, "k");
    cfg.hidden  = (ptrdiff_t)size_of(lab, "glu_hidden");
    cfg.rank    = (ptrdiff_t)size_of(lab, "ssm_dim");
    cfg.layers  = strstr(out->name, "ten_layers") != NULL ? 10 : 0;
    if (lcsm_model_describe(lab->ctx, &cfg, 8, &m, NULL, NULL, &err) != LCSM_OK) {
        failed(lab, &err);
        return;
    }
    double count = (double)(m.parameters + m.reference_frozen), millions = round(count / 1e4) / 100;
    lcsm_lab_out_numbers(lab, out->name, (double[]){(double)m.layers, count}, 2);
    (void)snprintf(paper, sizeof paper, "paper_%.50s_M", out->name);
    lcsm_lab_out_numbers(lab, paper, &millions, 1);
}

void lcsm_lab_counts(lcsm_lab *lab)
{
    for (size_t j = 0; j < lab->c->outputs.count; j++)
        if (strncmp(lab->c->outputs.list[j].name, "code_", 5) == 0)
            count_code(lab, &lab->c->outputs.list[j]);
}

/* ---- associative recall ---- */

static int32_t *integers(lcsm_lab *lab, const char *name)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    int32_t                 *x = a == NULL ? NULL : lcsm_lab_take(lab, a->numbers, sizeof *x);
    for (size_t j = 0; x != NULL && j < a->numbers; j++) x[j] = (int32_t)a->data[j];
    return x;
}

static void out_integers(lcsm_lab *lab, const char *name, const int32_t *x, size_t n)
{
    double *y = lcsm_lab_take(lab, n, sizeof *y);
    for (size_t j = 0; y != NULL && j < n; j++) y[j] = x[j];
    if (y != NULL) lcsm_lab_out_numbers(lab, name, y, n);
}

void lcsm_lab_mqar_placement(lcsm_lab *lab)
{
    lcsm_mqar_config cfg  = {.vocab  = (int64_t)size_of(lab, "vocab"),
                             .length = (int64_t)size_of(lab, "seq"),
                             .pairs  = lcsm_lab_dim(lab, "keys", 0),
                             .power  = 1};
    size_t           N    = (size_t)cfg.length;
    int32_t         *keys = integers(lab, "keys"), *values = integers(lab, "values");
    int32_t         *gaps = integers(lab, "gaps"), *inputs = lcsm_lab_take(lab, N, sizeof *inputs);
    int32_t         *labels = lcsm_lab_take(lab, N, sizeof *labels);
    if (keys == NULL || values == NULL || gaps == NULL || inputs == NULL || labels == NULL) return;
    lcsm_mqar_place(&cfg, keys, values, gaps, inputs, labels);
    out_integers(lab, "inputs", inputs, N);
    out_integers(lab, "labels", labels, N);
}

void lcsm_lab_mqar_weights(lcsm_lab *lab)
{
    lcsm_mqar_config cfg = {.length = (int64_t)size_of(lab, "seq"),
                            .pairs  = (int64_t)size_of(lab, "kv"),
                            .power  = lcsm_lab_number(lab, "power_a", NAN)};
    size_t           n   = (size_t)lcsm_mqar_slots(&cfg);
    double          *w   = lcsm_lab_take(lab, n, sizeof *w);
    if (w == NULL || n < 4 || n != size_of(lab, "space")) return;
    lcsm_mqar_weights(&cfg, w);
    lcsm_lab_out_numbers(lab, "first_four", w, 4);
    lcsm_lab_out_numbers(lab, "last", w + n - 1, 1);
}
