/* oracle_method_rig.c - binds the arrays of a case to the parameters of a builder. */
#include "lab/oracle_method_rig.h"

#include <stdio.h>
#include <string.h>

#include "graph/internal.h"
#include "model/config.h"

enum { MAX_WORD = 64, MAX_PICKS = 8 };

/* One "left=right" of a list of words. */
typedef struct {
    char left[MAX_WORD], right[MAX_WORD];
} word;

static bool next_word(const char **at, word *w)
{
    int used = 0;
    if (sscanf(*at, " %63[^= ]=%63s%n", w->left, w->right, &used) != 2) return false;
    *at += used;
    return true;
}

static void failed(lcsm_rig *r, const lcsm_error *err)
{
    lcsm_graph_fail(r->lab->g, err->status, "%s", err->text);
}

void lcsm_rig_open(lcsm_rig *r, lcsm_lab *lab, const char *method, const char *settings)
{
    word       w;
    lcsm_error err;
    *r = (lcsm_rig){.lab = lab, .method = lcsm_method_find(method)};
    lcsm_model_config_defaults(&r->cfg);
    (void)snprintf(r->cfg.method, sizeof r->cfg.method, "%s", method);
    r->cfg.heads = (ptrdiff_t)lcsm_lab_number(lab, "heads", 1);
    while (next_word(&settings, &w))
        if (lcsm_model_config_set(&r->cfg, w.left, w.right, &err) != LCSM_OK) failed(r, &err);
    r->m = (lcsm_mixer){.g      = lab->g,
                        .cfg    = &r->cfg,
                        .B      = 1,
                        .whole  = lab->form == LCSM_FORM_AUTO,
                        .layer  = json_is_string(json_object_get(lab->c->config, "layer"))
                                    ? 0
                                    : (int)lcsm_lab_number(lab, "layer", 0),
                        .layers = (int)lcsm_lab_number(lab, "layers", 1),
                        .side   = r->side,
                        .first  = r->first};
}

static void set_input(lcsm_rig *r, lcsm_tensor *x, ptrdiff_t D)
{
    r->m.x = x;
    r->m.D = r->cfg.d_model = D;
    r->m.T                  = x == NULL ? 1 : x->shape.dim[1];
}

void lcsm_rig_input(lcsm_rig *r, const char *name)
{
    set_input(r, lcsm_lab_seq(r->lab, name), lcsm_lab_dim(r->lab, name, 1));
}

/* (T), (T, C) as (1, T, C). */
static lcsm_tensor *sequence(lcsm_rig *r, const char *left)
{
    const char  *name = left + (*left == '!');
    lcsm_tensor *x    = lcsm_lab_in_as(r->lab, name, *left == '!' ? LOGIT : AS_GIVEN);
    if (x == NULL) return NULL;
    ptrdiff_t T = x->shape.dim[0];
    return lcsm_reshape(r->lab->g, x, lcsm_dims(1, T, lcsm_tensor_count(x) / (T > 0 ? T : 1)));
}

void lcsm_rig_picks(lcsm_rig *r, ptrdiff_t D, const char *picks)
{
    lcsm_tensor *parts[MAX_PICKS];
    int          n = 0;
    word         w;
    while (n < MAX_PICKS && next_word(&picks, &w)) parts[n++] = sequence(r, w.left);
    set_input(r, lcsm_concat(r->lab->g, parts, n), D);
}

/* ---- building --------------------------------------------------------------------------- */

lcsm_tensor *lcsm_rig_recurrence(lcsm_rig *r)
{
    lcsm_tensor *y = NULL;
    lcsm_graph_prefer_form(r->lab->g, r->lab->form, r->lab->chunk);
    if (r->method != NULL && r->method->states(&r->m, &r->s))
        y = lcsm_recurrence(r->lab->g, &r->s, &r->last);
    lcsm_graph_prefer_form(r->lab->g, LCSM_FORM_AUTO, 0);
    return y;
}

lcsm_tensor *lcsm_rig_mixer(lcsm_rig *r)
{
    lcsm_graph_prefer_form(r->lab->g, r->lab->form, r->lab->chunk);
    lcsm_tensor *y = lcsm_mixer_build(&r->m);
    lcsm_graph_prefer_form(r->lab->g, LCSM_FORM_AUTO, 0);
    return y;
}

lcsm_node *lcsm_rig_node(lcsm_rig *r, lcsm_op_id op, int n)
{
    const lcsm_owned *all = &r->lab->g->node_list;
    for (int j = 0; j < all->count; j++) {
        lcsm_node *node = all->item[j];
        if (node->op == lcsm_op_row(op, r->lab->dtype) && n-- == 0) return node;
    }
    lcsm_graph_fail(r->lab->g, LCSM_ERR_FORMAT, "the model has no such op");
    return NULL;
}

/* ---- parameters ------------------------------------------------------------------------- */

void lcsm_rig_params(lcsm_rig *r, const char *params)
{
    word w;
    while (next_word(&params, &w)) {
        if (w.left[0] == '~') lcsm_lab_in_param_as(r->lab, w.left + 1, w.right, SWAPPED, 1, 0);
        else if (lcsm_lab_has(r->lab, w.left)) lcsm_lab_in_param(r->lab, w.left, w.right);
    }
}

/* Ones from column `first` on the diagonal of [rows, cols]. */
static void set_diagonal(lcsm_rig *r, const char *param, ptrdiff_t first)
{
    lcsm_tensor *t = lcsm_lab_param(r->lab, param);
    if (t == NULL) return;
    double *x = lcsm_lab_take(r->lab, (size_t)lcsm_tensor_count(t), sizeof *x);
    for (ptrdiff_t j = 0; x != NULL && j < t->rows && first + j < t->cols; j++)
        x[j * t->cols + first + j] = 1;
    if (x != NULL) lcsm_lab_set(r->lab, t, x);
}

void lcsm_rig_identity(lcsm_rig *r, const char *param)
{
    set_diagonal(r, param, 0);
}

void lcsm_rig_fill(lcsm_rig *r, const char *param, double value)
{
    lcsm_tensor *t = lcsm_lab_param(r->lab, param);
    if (t == NULL) return;
    size_t  n = (size_t)lcsm_tensor_count(t);
    double *x = lcsm_lab_take(r->lab, n, sizeof *x);
    for (size_t j = 0; x != NULL && j < n; j++) x[j] = value;
    if (x != NULL) lcsm_lab_set(r->lab, t, x);
}

void lcsm_rig_picked(lcsm_rig *r, const char *picks)
{
    ptrdiff_t first = 0;
    word      w;
    while (next_word(&picks, &w)) {
        const lcsm_tensor *x = sequence(r, w.left);
        char               param[MAX_WORD + 8];
        (void)snprintf(param, sizeof param, "%s.weight", w.right);
        set_diagonal(r, param, first);
        first += x == NULL ? 0 : x->cols;
    }
}

static bool ends_in_bias(const char *name)
{
    size_t n = strlen(name);
    return n >= 4 && strcmp(name + n - 4, "bias") == 0;
}

void lcsm_rig_close(lcsm_rig *r, bool all_bound)
{
    const lcsm_params *p = r->lab->params;
    for (size_t j = 0; j < p->count; j++) {
        const char *name = p->list[j].name;
        if ((p->list[j].flags & LCSM_PARAM_FROZEN)
            || lcsm_lab_is_bound(r->lab, lcsm_lab_param(r->lab, name)))
            continue;
        if (ends_in_bias(name) || !all_bound) lcsm_rig_fill(r, name, 0);
        else lcsm_graph_fail(r->lab->g, LCSM_ERR_FORMAT, "the case has no %s", name);
    }
}
