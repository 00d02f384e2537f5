/* oracle_core.c - the recurrence with every operand form. */
#include <stdio.h>
#include <string.h>

#include "lab/oracle_build.h"

/* ---- what all builders share ---- */

lcsm_tensor *lcsm_lab_project(lcsm_lab *lab, lcsm_tensor *x, const char *w, const char *b)
{
    lcsm_tensor *weight = lcsm_lab_in(lab, w);
    return lcsm_linear(lab->g, x, weight, b == NULL ? NULL : lcsm_lab_in(lab, b));
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

/* One sequence, one head, and inputs of these names only: what else a case gives would be left out
 * without a word. */
static bool is_known(lcsm_lab *lab)
{
    static const char NAMES[] = " i e s E S A theta g h lam o m0 ";
    for (size_t j = 0; j < lab->c->inputs.count; j++) {
        char name[32];
        (void)snprintf(name, sizeof name, " %.24s ", lab->c->inputs.list[j].name);
        if (strstr(NAMES, name) != NULL) continue;
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "the input%sis not known here", name);
        return false;
    }
    if (rank_of(lab, "i") == 2) return true;
    lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "the input i has %d axes; expected 2",
                    rank_of(lab, "i"));
    return false;
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
    if (!is_known(lab)) return;
    lcsm_lab_eos x = core(lab);
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, &x, &last));
    lcsm_lab_out(lab, "m_final", last);
    lcsm_lab_out_memories(lab, "m_all", &x);
    if (!lcsm_lab_has(lab, "A")) lcsm_lab_out_oscillation(lab, "o_full", &x);
    if (lcsm_lab_wants(lab, "kernel"))
        lcsm_lab_out(lab, "kernel", lcsm_lab_impulse(lab, &x, x.desc.T));
}
