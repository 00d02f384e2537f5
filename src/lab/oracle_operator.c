/* oracle_operator.c - the operator with operands that the case describes by their axes. */
#include <math.h>
#include <string.h>

#include "lab/oracle_build.h"

/* The letters of config.axes for an operand. */
static unsigned axes_of(lcsm_lab *lab, const char *name)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(lab->c->config, "axes"), name));
    if (text == NULL) {
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "the axes of the input %s are missing", name);
        return 0;
    }
    return (strchr(text, 'T') != NULL ? LAB_T : 0u) | (strchr(text, 'K') != NULL ? LAB_K : 0u)
         | (strchr(text, 'D') != NULL ? LAB_D : 0u);
}

/* An input that the case has, as the operand of its name: (T), heads, (R), (K), (D). */
static void operand(lcsm_lab *lab, lcsm_lab_eos *x, int j, ptrdiff_t *heads)
{
    const char *name = lcsm_eos_operand_name(j);
    if (!lcsm_lab_has(lab, name)) return;
    unsigned                 axes = axes_of(lab, name);
    const lcsm_oracle_array *a    = lcsm_lab_array(lab, name);
    *heads                        = lcsm_lab_dim(lab, name, axes & LAB_T ? 1 : 0);
    if (a->is_complex) lcsm_lab_operand_complex(x, j, lcsm_lab_in(lab, name), axes);
    else lcsm_lab_operand(x, j, lcsm_lab_in(lab, name), axes);
}

/* A real m_0 of a memory that is complex gets the imaginary parts 0. */
static lcsm_tensor *start_of(lcsm_lab *lab, const lcsm_lab_eos *x)
{
    lcsm_tensor *m = lcsm_lab_in(lab, "m0");
    if (lcsm_lab_array(lab, "m0")->is_complex || !lcsm_lab_eos_is_complex(x)) return m;
    lcsm_shape one = lcsm_dims(x->desc.H, x->desc.K, x->desc.D, 1);
    return lcsm_lab_beside(lab, lcsm_reshape(lab->g, m, one), lcsm_lab_fill(lab, one, 0));
}

/* m_t = o_t m_{t-1} + sum_r a_r (b_r^T m_{t-1}) + e_t i_t^T, read after or before the step. */
void lcsm_lab_operator(lcsm_lab *lab)
{
    lcsm_tensor *last;
    ptrdiff_t    T = lcsm_lab_dim(lab, "i", 0), D = lcsm_lab_dim(lab, "i", 2);
    ptrdiff_t    H = (ptrdiff_t)lcsm_lab_number(lab, "H", NAN);
    lcsm_lab_eos x = lcsm_lab_eos_of(1, T, H, (ptrdiff_t)lcsm_lab_number(lab, "k", NAN), D);
    ptrdiff_t   *heads[EOS_OPERANDS] = {
#define X(name) &x.desc.heads.name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    for (int j = 0; j < EOS_OPERANDS; j++) operand(lab, &x, j, heads[j]);
    x.desc.rank        = (ptrdiff_t)lcsm_lab_number(lab, "R", 0);
    x.desc.scale       = lcsm_lab_number(lab, "scale", 1);
    x.desc.read_before = strcmp(lcsm_lab_text(lab, "read", "after"), "before") == 0;
    x.desc.complex_y =
        strcmp(lcsm_lab_text(lab, "y", "same"), "same") == 0 && lcsm_lab_eos_is_complex(&x);
    if (lcsm_lab_has(lab, "m0")) x.m0 = start_of(lab, &x);
    if (lcsm_lab_has(lab, "reset"))
        x.reset = lcsm_lab_integers(lab, lcsm_dims(1, T), lcsm_lab_array(lab, "reset")->data);
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, &x, &last));
    lcsm_lab_out(lab, "m_final", last);
}

/* ---- normalised ---- */

static lcsm_normaliser normaliser_of(lcsm_lab *lab)
{
    bool            floor = strcmp(lcsm_lab_text(lab, "kind", "plain"), "floor") == 0;
    lcsm_normaliser n     = {.kind  = floor ? LCSM_NORMALISER_FLOOR : LCSM_NORMALISER_PLAIN,
                             .eps   = lcsm_lab_number(lab, "eps", NAN),
                             .start = LCSM_MAX_EMPTY};
    if (lcsm_lab_has(lab, "z")) n.z = lcsm_lab_seq(lab, "z");
    if (lcsm_lab_has(lab, "mu0"))
        n.mu0 = lcsm_reshape(lab->g, lcsm_lab_in(lab, "mu0"),
                             lcsm_dims(1, lcsm_lab_dim(lab, "mu0", 0)));
    return n;
}

/* m0 beside n0, the column of the normaliser. */
static lcsm_tensor *first_memory(lcsm_lab *lab, ptrdiff_t H, ptrdiff_t K, ptrdiff_t D)
{
    if (!lcsm_lab_has(lab, "m0")) return NULL;
    lcsm_tensor *m = lcsm_reshape(lab->g, lcsm_lab_in(lab, "m0"), lcsm_dims(1, H, K, D));
    lcsm_tensor *n = lcsm_reshape(lab->g, lcsm_lab_in(lab, "n0"), lcsm_dims(1, H, K, 1));
    return lcsm_lab_beside(lab, m, n);
}

static lcsm_tensor *flat(lcsm_lab *lab, const char *name)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    ptrdiff_t                T = lcsm_lab_dim(lab, name, 0);
    if (a == NULL) return NULL;
    return lcsm_reshape(lab->g, lcsm_lab_in(lab, name), lcsm_dims(1, T, (ptrdiff_t)a->count / T));
}

static lcsm_eos_operands normalised_operands(lcsm_lab *lab)
{
    ptrdiff_t         H = lcsm_lab_dim(lab, "i", 1), K = lcsm_lab_dim(lab, "e", 2);
    bool              rows = lcsm_lab_has(lab, "row") && lcsm_lab_array(lab, "row")->rank == 3;
    lcsm_eos_operands o    = {.H          = H,
                              .K          = K,
                              .D          = lcsm_lab_dim(lab, "i", 2),
                              .i          = {flat(lab, "i"), LAB_T | LAB_D},
                              .e          = {flat(lab, "e"), LAB_T | LAB_K},
                              .s          = {flat(lab, "s"), LAB_T | LAB_K},
                              .form       = lab->form,
                              .chunk      = lab->chunk,
                              .normaliser = normaliser_of(lab)};
    if (lcsm_lab_has(lab, "row"))
        o.row = (lcsm_operand){flat(lab, "row"), LAB_T | (rows ? LAB_K : 0u)};
    o.m0 = first_memory(lab, H, K, o.D);
    return o;
}

/* y = num / den with one more column, of a memory whose writes may be times exp(z). */
void lcsm_lab_normalised(lcsm_lab *lab)
{
    lcsm_tensor      *last = NULL;
    lcsm_eos_operands o = normalised_operands(lab), alone = o;
    ptrdiff_t         T  = lcsm_lab_dim(lab, "i", 0);
    lcsm_tensor      *mu = lcsm_normaliser_begin(lab->g, &alone);
    lcsm_tensor      *y  = lcsm_recurrence(lab->g, &alone, &last);
    lcsm_lab_out(lab, "y", lcsm_normaliser_end(lab->g, &o.normaliser, o.H, y, mu));
    lcsm_lab_out(lab, "m_final", lcsm_lab_columns(lab, last, 0, o.D));
    lcsm_lab_out(lab, "n_final", lcsm_lab_columns(lab, last, o.D, 1));
    if (mu == NULL) return;
    mu = lcsm_reshape(lab->g, mu, lcsm_dims(T, o.H));
    lcsm_lab_out(lab, "mu_final", lcsm_slice(lab->g, mu, 0, T - 1, 1));
}
