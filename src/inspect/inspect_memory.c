/*
 * inspect_memory.c - the memories of a model while it reads.
 *
 * The model runs as a graph over a few tokens at a time. The decays of every op that has a memory
 * are kept after a run and summed up, and the size of the carried memory is taken.
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
#include "report/rank.h"

enum {
    PIECE    = 16,    /* tokens in a run, if a sequence has so many */
    CHANNELS = 64,    /* columns of a memory that are looked at where o_t comes from the data */
    SAMPLES  = 199999 /* of the decays; a prime, so that no step over them keeps to some columns */
};

/* log(1e-30): what is forgotten at once. */
#define LEAST (-69.0)

/* The decays of an op with a memory: its entries (rows, columns), and what was seen of them. */
typedef struct {
    ptrdiff_t rows, columns, stride; /* every stride-th column is looked at */
    bool      moves;                 /* o_t is not the same at every step */
    double   *log_sum;               /* (rows, columns) */
    size_t    steps, numbers, turn;  /* summed up; decays of all steps; modulo that */
    float    *gates;                 /* samples of o */
    size_t    samples;
    double   *norms, last; /* of the memory after each whole piece and at the end, mean over the
                              sequences */
} memory;

typedef lcsm_inspect_source source;
typedef lcsm_inspect_piece  piece;

typedef struct {
    const lcsm_inspect_tokens *tokens;
    piece                      whole, rest; /* rest: what is left of a sequence; steps 0: nothing */
    lcsm_state                *state;
    memory                    *list; /* by layer; rows is 0 where there are no decays */
    size_t                     count, pieces;
} reading;

/* ---- decays of the EOS operator ------------------------------------------------------------ */

/* The number of an operand at (t, h, k, d); `none` if it is absent. */
static double value_at(const source *s, int j, const ptrdiff_t at[4], double none)
{
    const lcsm_eos_layout *l = &s->plan.operand[j];
    if (!l->present) return none;
    return ((const float *)s->node->in[j]
                ->data)[at[0] * l->t + at[1] * l->h + at[2] * l->k + at[3] * l->d];
}

static double eos_decay(const source *s, const ptrdiff_t at[4])
{
    double log_o =
        value_at(s, EOS_row, at, 0) + value_at(s, EOS_col, at, 0) + value_at(s, EOS_full, at, 0);
    double z = value_at(s, EOS_u, at, 1) * value_at(s, EOS_w, at, 1);
    switch (s->plan.gen) {
    case LCSM_GEN_EXP: log_o += z; break;
    case LCSM_GEN_GATE: log_o -= (z > 0 ? log1p(exp(-z)) : log1p(exp(z)) - z) / s->plan.tau; break;
    case LCSM_GEN_COMPLEMENT: log_o += log(fmax(1 - z, 0)); break;
    case LCSM_GEN_NONE: break;
    }
    return log_o;
}

/* The log decay of a row and a column at step t. A row is one of the K of a head; where K is 1, it
 * is a channel. */
static double decay_at(const source *s, ptrdiff_t t, ptrdiff_t row, ptrdiff_t column)
{
    const lcsm_eos_plan *p = &s->plan;
    if (p->K == 1) return eos_decay(s, (ptrdiff_t[4]){t, row / p->D, 0, row % p->D});
    return eos_decay(s, (ptrdiff_t[4]){t, row / p->K, row % p->K, column});
}

/* The inputs that an EOS operator's decays are made of. */
enum {
    EOS_DECAYS = LCSM_BIT(EOS_row) | LCSM_BIT(EOS_col) | LCSM_BIT(EOS_full) | LCSM_BIT(EOS_u)
               | LCSM_BIT(EOS_w)
};

/* Rows stay 0 where o_t is a matrix. */
static void size_of(memory *m, const source *s)
{
    const lcsm_eos_plan *p    = &s->plan;
    unsigned             axes = 0;
    if (p->operand[EOS_dense].present || p->operand[EOS_erase].present || p->operand[EOS_a].present)
        return; /* a matrix */
    for (int j = 0; j < EOS_OPERANDS; j++)
        if ((EOS_DECAYS & LCSM_BIT(j)) != 0 && p->operand[j].present) axes |= p->operand[j].axes;
    m->rows    = p->H * (p->K == 1 ? p->D : p->K);
    m->columns = p->K > 1 && (axes & LCSM_AXIS_D) != 0 ? p->D : 1;
    m->moves   = (axes & LCSM_AXIS_T) != 0;
}

/* ---- building ------------------------------------------------------------------------------ */

/* Every one has decays; a second one of a layer, as of a denominator, has the same. */
static bool any(const lcsm_node *n)
{
    (void)n;
    return true;
}

static lcsm_status open_piece(piece *p, const lcsm_model *model, size_t steps, lcsm_error *err)
{
    return lcsm_inspect_piece_create(p, model, steps, any, EOS_DECAYS, err);
}

static lcsm_status open_memory(memory *m, const source *s, size_t pieces, size_t tokens,
                               lcsm_error *err)
{
    size_of(m, s);
    m->stride      = m->moves && m->columns > CHANNELS ? (m->columns + CHANNELS - 1) / CHANNELS : 1;
    m->columns     = (m->columns + m->stride - 1) / m->stride;
    size_t entries = (size_t)m->rows * (size_t)m->columns;
    m->numbers     = entries * (m->moves ? tokens : 1);
    m->log_sum     = calloc(entries + 1, sizeof *m->log_sum);
    m->gates       = malloc(SAMPLES * sizeof *m->gates);
    m->norms       = calloc(pieces + 1, sizeof *m->norms);
    return m->log_sum == NULL || m->gates == NULL || m->norms == NULL ? lcsm_inspect_no_room(err)
                                                                      : LCSM_OK;
}

static lcsm_status open_reading(reading *r, const lcsm_model *model, lcsm_error *err)
{
    const lcsm_inspect_tokens *t     = r->tokens;
    size_t                     steps = t->length < PIECE ? t->length : PIECE;
    r->count                         = (size_t)lcsm_model_config_layers(&model->cfg);
    r->pieces                        = t->length / steps;
    r->list                          = calloc(r->count, sizeof *r->list);
    if (r->list == NULL) return lcsm_inspect_no_room(err);
    LCSM_OR_RETURN(open_piece(&r->whole, model, steps, err));
    if (t->length % steps > 0) LCSM_OR_RETURN(open_piece(&r->rest, model, t->length % steps, err));
    for (size_t j = 0; j < r->count; j++)
        if (lcsm_inspect_node(&r->whole, j) != NULL)
            LCSM_OR_RETURN(
                open_memory(&r->list[j], &r->whole.sources[j], r->pieces, t->count, err));
    return lcsm_state_create(&r->state, r->whole.g, err);
}

static void close_reading(reading *r)
{
    for (size_t j = 0; j < r->count && r->list != NULL; j++) {
        free(r->list[j].log_sum);
        free(r->list[j].gates);
        free(r->list[j].norms);
    }
    free(r->list);
    lcsm_state_free(r->state);
    lcsm_inspect_piece_free(&r->whole);
    lcsm_inspect_piece_free(&r->rest);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* SAMPLES of all numbers, evenly, or all of them. */
static bool is_sample(memory *m)
{
    if (m->numbers <= SAMPLES) return true;
    m->turn += SAMPLES;
    if (m->turn < m->numbers) return false;
    m->turn -= m->numbers;
    return m->samples < SAMPLES;
}

/* Decays that do not move are looked at once. */
static void sum_decays(memory *m, const source *s, size_t steps)
{
    if (!m->moves) steps = m->steps == 0 ? 1 : 0;
    for (size_t t = 0; t < steps; t++) {
        double *sum = m->log_sum;
        for (ptrdiff_t row = 0; row < m->rows; row++) {
            for (ptrdiff_t c = 0; c < m->columns; c++) {
                double log_o = fmax(decay_at(s, (ptrdiff_t)t, row, c * m->stride), LEAST);
                *sum++ += log_o;
                if (is_sample(m)) m->gates[m->samples++] = (float)exp(log_o);
            }
        }
    }
    m->steps += steps;
}

/* The root mean square of the op's carried memory; NaN if it carries none. */
static double norm_of(const reading *r, const lcsm_node *node)
{
    char   name[LCSM_NAME_SIZE + 32];
    double sum = 0;
    (void)snprintf(name, sizeof name, "%s.%s", node->scope, node->op->name);
    for (size_t j = 0; j < r->state->count; j++) {
        const lcsm_state_entry *e = &r->state->list[j];
        if (e->dtype != LCSM_F32 || strncmp(e->name, name, strlen(name)) != 0) continue;
        const float *x = lcsm_state_data(r->state, j);
        ptrdiff_t    n = 1;
        for (int k = 0; k < e->shape.rank; k++) n *= e->shape.dim[k];
        for (ptrdiff_t k = 0; k < n; k++) sum += (double)x[k] * x[k];
        return n > 0 ? sqrt(sum / (double)n) : 0;
    }
    return NAN;
}

static lcsm_status read_piece(reading *r, const piece *p, const int32_t *ids, lcsm_error *err)
{
    lcsm_status st = lcsm_inspect_piece_read(p, r->state, ids, true, err);
    for (size_t j = 0; j < r->count && st == LCSM_OK; j++)
        if (r->list[j].rows > 0) sum_decays(&r->list[j], &p->sources[j], p->steps);
    return st;
}

static lcsm_status read_sequence(reading *r, const int32_t *ids, lcsm_error *err)
{
    double share = (double)r->tokens->length / (double)r->tokens->count;
    lcsm_state_clear(r->state);
    for (size_t p = 0; p < r->pieces; p++) {
        LCSM_OR_RETURN(read_piece(r, &r->whole, ids + p * r->whole.steps, err));
        for (size_t j = 0; j < r->count; j++)
            if (lcsm_inspect_node(&r->whole, j) != NULL)
                r->list[j].norms[p] += share * norm_of(r, lcsm_inspect_node(&r->whole, j));
    }
    if (r->rest.steps > 0)
        LCSM_OR_RETURN(read_piece(r, &r->rest, ids + r->pieces * r->whole.steps, err));
    for (size_t j = 0; j < r->count; j++)
        if (lcsm_inspect_node(&r->whole, j) != NULL)
            r->list[j].last += share * norm_of(r, lcsm_inspect_node(&r->whole, j));
    return LCSM_OK;
}

/* ---- results ------------------------------------------------------------------------------- */

static void put_number(lcsm_json_writer *w, const char *key, double x)
{
    if (isfinite(x)) lcsm_json_put_real(w, key, x);
    else lcsm_json_put_null(w, key);
}

/* A mean log decay above this is that of an entry which keeps all: its half-life is beyond 6.9e7.
 */
#define FOREVER (-1e-8)

/* A row's half-life is the median over its columns; the quantiles are over all entries. */
static void put_half_lives(lcsm_json_writer *w, const memory *m)
{
    double *lives = m->log_sum;
    size_t  rows = (size_t)m->rows, columns = (size_t)m->columns, forever = 0;
    for (size_t j = 0; j < rows * columns; j++) {
        double mean = m->log_sum[j] / (double)m->steps;
        lives[j]    = mean > FOREVER ? INFINITY : log(0.5) / mean;
    }
    lcsm_json_open_array(w, "half_life");
    for (size_t j = 0; j < rows; j++) {
        lcsm_sort(lives + j * columns, columns);
        double life = lcsm_quantile(lives + j * columns, columns, 0.5);
        forever += isinf(life) ? 1 : 0;
        put_number(w, NULL, life);
    }
    lcsm_json_close(w);
    lcsm_sort(lives, rows * columns);
    put_number(w, "half_life_median", lcsm_quantile(lives, rows * columns, 0.5));
    put_number(w, "half_life_low", lcsm_quantile(lives, rows * columns, 0.1));
    put_number(w, "half_life_high", lcsm_quantile(lives, rows * columns, 0.9));
    lcsm_json_put_size(w, "forever", forever);
}

static lcsm_status put_gates(lcsm_json_writer *w, const memory *m, lcsm_error *err)
{
    double *gates = malloc((m->samples + 1) * sizeof *gates), mean, deviation;
    if (gates == NULL) return lcsm_inspect_no_room(err);
    for (size_t j = 0; j < m->samples; j++) gates[j] = (double)m->gates[j];
    lcsm_mean_of(gates, m->samples, &mean, &deviation);
    lcsm_sort(gates, m->samples);
    put_number(w, "gate_mean", mean);
    put_number(w, "gate_low", lcsm_quantile(gates, m->samples, 0.1));
    put_number(w, "gate_high", lcsm_quantile(gates, m->samples, 0.9));
    free(gates);
    return LCSM_OK;
}

static lcsm_status put_layer(lcsm_json_writer *w, const reading *r, size_t layer, lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    const memory    *m  = &r->list[layer];
    const lcsm_node *n  = lcsm_inspect_node(&r->whole, layer);
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "op", n == NULL ? "none" : n->op->name);
    if (m->rows > 0) {
        put_half_lives(w, m);
        st = put_gates(w, m, err);
    } else {
        lcsm_json_put_text(w, "no_half_life",
                           n == NULL ? "it has no recurrent memory"
                                     : "its o_t is a matrix, not a decay per entry");
    }
    if (n != NULL && isfinite(m->last)) {
        lcsm_json_put_real(w, "state_norm", m->last);
        lcsm_json_open_array(w, "state_norms");
        for (size_t p = 0; p < r->pieces; p++) put_number(w, NULL, m->norms[p]);
        lcsm_json_close(w);
    }
    lcsm_json_close(w);
    return st;
}

lcsm_status lcsm_inspect_memory(lcsm_json_writer *w, const lcsm_model *model,
                                const lcsm_inspect_tokens *tokens, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    reading     r  = {.tokens = tokens};
    if (model->cfg.bidirectional)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "a bidirectional model carries not enough memory to inspect");
    LCSM_TRY(open_reading(&r, model, err));
    for (size_t at = 0; at < tokens->count; at += tokens->length)
        LCSM_TRY(read_sequence(&r, tokens->ids + at, err));
    lcsm_json_put_size(w, "state_norm_every", r.whole.steps);
    lcsm_json_open_array(w, "layers");
    for (size_t j = 0; j < r.count; j++) LCSM_TRY(put_layer(w, &r, j, err));
    lcsm_json_close(w);
cleanup:
    close_reading(&r);
    return st;
}
