/*
 * inspect_writes.c - what each token writes into the memories: the norms of e_t i_t^T.
 *
 * The model runs as a graph over a few tokens at a time, whose operands e and i are kept.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/internal.h"
#include "inspect/inspect.h"
#include "inspect/inspect_pieces.h"
#include "model/config.h"
#include "model/model_weights.h"

enum { PIECE = 64 /* tokens in a run */ };

typedef lcsm_inspect_source source;
typedef lcsm_inspect_piece  piece;

typedef struct {
    piece       whole, rest;
    lcsm_state *state;
    double     *norms; /* (layers, tokens) */
    size_t      layers, tokens;
} reading;

/* ---- norms ------------------------------------------------------------------------------ */

/* The square of the absolute value of an operand's number. */
static double square_at(const source *s, int j, const ptrdiff_t at[4])
{
    const lcsm_eos_plan   *p = &s->plan;
    const lcsm_eos_layout *l = &p->operand[j];
    const float           *x = (const float *)s->node->in[j]->data + at[0] * l->t
                   + lcsm_eos_head(p, l, at[1]) * l->h + at[2] * l->k + at[3] * l->d;
    double re = (double)x[0];
    double im = l->is_complex ? (double)x[j == EOS_i && p->planes ? p->D : 1] : 0;
    return re * re + im * im;
}

/* The sum of the squares over the axes that an operand has of K and D. */
static double sum_of(const source *s, int j, ptrdiff_t t, ptrdiff_t h)
{
    const lcsm_eos_layout *l   = &s->plan.operand[j];
    ptrdiff_t              K   = (l->axes & LCSM_AXIS_K) != 0 ? s->plan.K : 1;
    ptrdiff_t              D   = (l->axes & LCSM_AXIS_D) != 0 ? s->plan.D : 1;
    double                 sum = 0;
    for (ptrdiff_t k = 0; k < K; k++)
        for (ptrdiff_t d = 0; d < D; d++) sum += square_at(s, j, (ptrdiff_t[4]){t, h, k, d});
    return sum;
}

/* An operand that is absent is 1. */
static double product_at(const source *s, const ptrdiff_t at[4])
{
    double product = 1;
    for (int j = EOS_i; j <= EOS_e; j++)
        if (s->plan.operand[j].present) product *= square_at(s, j, at);
    return product;
}

/* Entry (k, d) of the write is e i; where e has the rows and i the columns, its square sums up as a
 * product of two sums. */
static double head_norm(const source *s, ptrdiff_t t, ptrdiff_t h)
{
    const lcsm_eos_plan   *p = &s->plan;
    const lcsm_eos_layout *i = &p->operand[EOS_i], *e = &p->operand[EOS_e];
    double                 sum   = 0;
    unsigned               inner = LCSM_AXIS_K | LCSM_AXIS_D;
    if (i->present && e->present && (i->axes & inner) == LCSM_AXIS_D
        && (e->axes & inner) == LCSM_AXIS_K)
        return sum_of(s, EOS_i, t, h) * sum_of(s, EOS_e, t, h);
    for (ptrdiff_t k = 0; k < p->K; k++)
        for (ptrdiff_t d = 0; d < p->D; d++) sum += product_at(s, (ptrdiff_t[4]){t, h, k, d});
    return sum;
}

static double norm_at(const source *s, size_t t)
{
    double sum = 0;
    for (ptrdiff_t h = 0; h < s->plan.H; h++) sum += head_norm(s, (ptrdiff_t)t, h);
    return sqrt(sum);
}

/* ---- graphs ----------------------------------------------------------------------------- */

/* Where a running maximum scales the writes, their size means nothing by itself. */
static bool writes_plainly(const lcsm_node *n)
{
    return n->n_in <= LCSM_EOS_Z || n->in[LCSM_EOS_Z] == NULL;
}

static lcsm_status open_piece(piece *p, const lcsm_model *model, size_t steps, lcsm_error *err)
{
    return lcsm_inspect_piece_create(p, model, steps, writes_plainly,
                                     LCSM_BIT(EOS_i) | LCSM_BIT(EOS_e), err);
}

static lcsm_status open_reading(reading *r, const lcsm_model *model, lcsm_error *err)
{
    size_t steps = r->tokens < PIECE ? r->tokens : PIECE;
    r->layers    = (size_t)lcsm_model_config_layers(&model->cfg);
    r->norms     = calloc(r->layers * r->tokens, sizeof *r->norms);
    if (r->norms == NULL) return lcsm_inspect_no_room(err);
    LCSM_OR_RETURN(open_piece(&r->whole, model, steps, err));
    if (r->tokens % steps > 0) LCSM_OR_RETURN(open_piece(&r->rest, model, r->tokens % steps, err));
    return lcsm_state_create(&r->state, r->whole.g, err);
}

static lcsm_status read_piece(const reading *r, const piece *p, const int32_t *ids, size_t at,
                              lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_inspect_piece_read(p, r->state, ids + at, false, err));
    for (size_t j = 0; j < r->layers; j++)
        for (size_t t = 0; t < p->steps && lcsm_inspect_node(p, j) != NULL; t++)
            r->norms[j * r->tokens + at + t] = norm_at(&p->sources[j], t);
    return LCSM_OK;
}

/* ---- the whole -------------------------------------------------------------------------- */

static void put_layers(lcsm_json_writer *w, const reading *r)
{
    lcsm_json_open_object(w, NULL);
    lcsm_json_open_array(w, "layers");
    for (size_t j = 0; j < r->layers; j++) {
        lcsm_json_open_object(w, NULL);
        lcsm_json_put_size(w, "layer", j);
        if (lcsm_inspect_node(&r->whole, j) != NULL) {
            lcsm_json_open_array(w, "write");
            for (size_t t = 0; t < r->tokens; t++) {
                double x = r->norms[j * r->tokens + t];
                if (isfinite(x)) lcsm_json_put_real(w, NULL, x);
                else lcsm_json_put_null(w, NULL);
            }
            lcsm_json_close(w);
        } else {
            lcsm_json_put_null(w, "write");
        }
        lcsm_json_close(w);
    }
    lcsm_json_close(w);
    lcsm_json_close(w);
}

static lcsm_status check(const lcsm_model *model, const int32_t *tokens, size_t n, lcsm_error *err)
{
    if (model->cfg.bidirectional)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "a bidirectional model carries not enough memory to inspect");
    for (size_t t = 0; t < n; t++)
        if (tokens[t] < 0 || tokens[t] >= model->cfg.vocab)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "token %d at position %zu; expected 0 to %td",
                             (int)tokens[t], t, model->cfg.vocab - 1);
    if (n > 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "there are no tokens to read");
}

lcsm_status lcsm_inspect_writes(const lcsm_model *model, const int32_t *tokens, size_t n,
                                char **json, lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    reading          r  = {.tokens = n};
    lcsm_json_writer w  = lcsm_json_writer_compact();
    size_t           at = 0;
    *json               = NULL;
    LCSM_TRY(check(model, tokens, n, err));
    LCSM_TRY(open_reading(&r, model, err));
    for (; at + r.whole.steps <= n; at += r.whole.steps)
        LCSM_TRY(read_piece(&r, &r.whole, tokens, at, err));
    if (r.rest.steps > 0) LCSM_TRY(read_piece(&r, &r.rest, tokens, at, err));
    put_layers(&w, &r);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    *json = strdup(lcsm_strbuf_text(&w.text));
    if (*json == NULL) st = lcsm_inspect_no_room(err);
cleanup:
    lcsm_json_writer_free(&w);
    lcsm_state_free(r.state);
    lcsm_inspect_piece_free(&r.whole);
    lcsm_inspect_piece_free(&r.rest);
    free(r.norms);
    return st;
}
