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

#include "experiment/inspect.h"
#include "graph/attr.h"
#include "graph/internal.h"
#include "kernel/eos/eos_plan.h"
#include "model/config.h"
#include "model/handle.h"
#include "model/model.h"
#include "report/rank.h"

enum { PIECE = 16, CHANNELS = 64, SAMPLES = 200000 };

/* log(1e-30): what is forgotten at once. */
#define LEAST (-69.0)

/* One op with a memory: its decays by row, and what was seen of them. */
typedef struct {
    const lcsm_node *node;
    ptrdiff_t        rows, columns; /* of the decays that are looked at */
    double          *log_sum;       /* by row */
    float           *gates;         /* samples of o */
    size_t           samples;
    double          *norms; /* of the memory, after each piece */
    bool             known; /* its o is made of decays, and not of a matrix */
} memory;

typedef struct {
    lcsm_graph   *g;
    lcsm_model_io io;
    lcsm_state   *state;
    memory       *list; /* by layer; node is NULL where there is none */
    size_t        count, pieces, seen;
} reading;

/* ---- decays of the EOS operator ------------------------------------------------------------ */

/* Where the numbers of a token and head are in an operand, as graph/ops/eos_op.c lays it out. */
static const float *operand(const lcsm_node *n, int j, const lcsm_eos_operand *o, ptrdiff_t inner,
                            ptrdiff_t t, ptrdiff_t h)
{
    const lcsm_eos_attr *a        = n->attr;
    const lcsm_tensor   *x        = n->in[j];
    bool                 token    = (o->axes & LCSM_AXIS_T) != 0;
    int                  lead     = token ? 2 : 0;
    bool                 heads    = x->shape.rank == lead + 2 && x->shape.dim[lead] == a->desc.H;
    bool                 packed   = x->ld == x->cols || x->rows <= 1;
    ptrdiff_t            stride_h = heads ? x->ld : inner;
    ptrdiff_t            stride_t = !token ? 0
                                  : packed ? a->desc.H * inner
                                  : heads  ? a->desc.H * x->ld
                                           : x->ld;
    return (const float *)x->data + t * stride_t + h * stride_h;
}

/* The number of an operand at (t, h, k, d); `none` if it is absent. */
static double value_at(const lcsm_node *n, int j, const lcsm_eos_operand *o, const ptrdiff_t at[4],
                       double none)
{
    const lcsm_eos_attr *a     = n->attr;
    bool                 has_k = (o->axes & LCSM_AXIS_K) != 0, has_d = (o->axes & LCSM_AXIS_D) != 0;
    if (j >= n->n_in || n->in[j] == NULL) return none;
    ptrdiff_t inner = (has_k ? a->desc.K : 1) * (has_d ? a->desc.D : 1);
    ptrdiff_t place = (has_k ? at[2] * (has_d ? a->desc.D : 1) : 0) + (has_d ? at[3] : 0);
    return operand(n, j, o, inner, at[0], at[1])[place];
}

static double eos_decay(const lcsm_node *n, const ptrdiff_t at[4])
{
    const lcsm_eos_desc *d = &((const lcsm_eos_attr *)n->attr)->desc;
    double log_o = value_at(n, EOS_row, &d->row, at, 0) + value_at(n, EOS_col, &d->col, at, 0)
                 + value_at(n, EOS_full, &d->full, at, 0);
    double z = value_at(n, EOS_u, &d->u, at, 1) * value_at(n, EOS_w, &d->w, at, 1);
    switch (d->gen) {
    case LCSM_GEN_EXP: log_o += z; break;
    case LCSM_GEN_GATE: log_o -= (z > 0 ? log1p(exp(-z)) : log1p(exp(z)) - z) / d->tau; break;
    case LCSM_GEN_COMPLEMENT: log_o += log(fmax(1 - z, 0)); break;
    case LCSM_GEN_NONE: break;
    }
    return log_o;
}

/* ---- ops with a memory --------------------------------------------------------------------- */

/* The log decay of a row and a column at step t. A row is one of the K of a head; where K is 1,
 * and in ops of channels, it is a channel. */
typedef double decay_fn(const lcsm_node *n, ptrdiff_t t, ptrdiff_t row, ptrdiff_t column);

static double eos_at(const lcsm_node *n, ptrdiff_t t, ptrdiff_t row, ptrdiff_t column)
{
    const lcsm_eos_desc *d = &((const lcsm_eos_attr *)n->attr)->desc;
    if (d->K == 1) return eos_decay(n, (ptrdiff_t[4]){t, row / d->D, 0, row % d->D});
    return eos_decay(n, (ptrdiff_t[4]){t, row / d->K, row % d->K, column});
}

static double wkv_at(const lcsm_node *n, ptrdiff_t t, ptrdiff_t row, ptrdiff_t column)
{
    (void)t, (void)column;
    return -exp((double)((const float *)n->in[2]->data)[row]);
}

static double cscan_at(const lcsm_node *n, ptrdiff_t t, ptrdiff_t row, ptrdiff_t column)
{
    const lcsm_tensor *x = n->in[1];
    (void)column;
    return ((const float *)x->data)[(x->shape.rank == 1 ? 0 : t) * x->ld + row];
}

static void eos_size(memory *m)
{
    const lcsm_eos_desc *d      = &((const lcsm_eos_attr *)m->node->attr)->desc;
    bool                 matrix = (EOS_dense < m->node->n_in && m->node->in[EOS_dense] != NULL)
               || (EOS_erase < m->node->n_in && m->node->in[EOS_erase] != NULL);
    m->rows    = d->H * (d->K == 1 ? d->D : d->K);
    m->columns = d->K == 1 ? 1 : d->D;
    m->known   = !matrix;
}

static void wkv_size(memory *m)
{
    m->rows    = m->node->in[2]->cols;
    m->columns = 1;
    m->known   = true;
}

static void cscan_size(memory *m)
{
    m->rows    = m->node->in[1]->cols;
    m->columns = 1;
    m->known   = true;
}

static void unknown_size(memory *m)
{
    (void)m;
}

/* keep: a mask of the inputs that the decay is made of. */
static const struct {
    lcsm_op_id op;
    unsigned   keep;
    void (*size)(memory *m);
    decay_fn *decay;
} KINDS[] = {
    {LCSM_OP_eos,
     LCSM_BIT(EOS_row) | LCSM_BIT(EOS_col) | LCSM_BIT(EOS_full) | LCSM_BIT(EOS_u) | LCSM_BIT(EOS_w),
     eos_size, eos_at},
    {LCSM_OP_wkv, LCSM_BIT(2), wkv_size, wkv_at},
    {LCSM_OP_cscan, LCSM_BIT(1), cscan_size, cscan_at},
    {LCSM_OP_dplr, 0, unknown_size, NULL},
};

static size_t kind_of(const lcsm_node *n)
{
    size_t j = 0;
    while (j < COUNT(KINDS) && n->op != lcsm_op_row(KINDS[j].op, LCSM_F32)) j++;
    return j;
}

/* ---- building ------------------------------------------------------------------------------ */

static lcsm_status no_room(lcsm_error *err)
{
    (void)lcsm_fail(err, LCSM_ERR_MEMORY, "no room to look at a model's memory");
    return LCSM_ERR_MEMORY;
}

static lcsm_status take_node(reading *r, lcsm_node *n, size_t kind, lcsm_error *err)
{
    int layer = -1;
    if (sscanf(n->scope, "layers.%d", &layer) != 1 || layer < 0 || (size_t)layer >= r->count)
        return LCSM_OK;
    memory *m = &r->list[layer];
    if (m->node != NULL) return LCSM_OK; /* a second one, as of a denominator, decays alike */
    m->node = n;
    KINDS[kind].size(m);
    for (int j = 0; j < n->n_in; j++)
        if ((KINDS[kind].keep & LCSM_BIT(j)) != 0 && n->in[j] != NULL) lcsm_keep(r->g, n->in[j]);
    m->log_sum = calloc((size_t)m->rows + 1, sizeof *m->log_sum);
    m->gates   = malloc(SAMPLES * sizeof *m->gates);
    m->norms   = calloc(r->pieces + 1, sizeof *m->norms);
    return m->log_sum == NULL || m->gates == NULL || m->norms == NULL ? no_room(err) : LCSM_OK;
}

static lcsm_status open_reading(reading *r, const lcsm_model *model, size_t tokens, lcsm_error *err)
{
    lcsm_status     st   = LCSM_OK;
    lcsm_model_want want = {.logits = true, .last = true, .ignore = -1};
    r->count             = (size_t)lcsm_model_config_layers(&model->cfg);
    r->pieces            = tokens / PIECE;
    r->list              = calloc(r->count, sizeof *r->list);
    if (r->list == NULL) return no_room(err);
    LCSM_TRY(lcsm_graph_create(&r->g, model->ctx, model->params, err));
    LCSM_TRY(lcsm_model_build(r->g, &model->cfg, 1, PIECE, &want, &r->io, err));
    if (r->io.tokens == NULL) {
        (void)lcsm_fail(err, LCSM_ERR_INTERNAL, "a model has no input of tokens");
        return LCSM_ERR_INTERNAL;
    }
    for (int j = 0; j < r->g->node_list.count; j++) {
        lcsm_node *n    = lcsm_node_at(r->g, j);
        size_t     kind = kind_of(n);
        if (kind < COUNT(KINDS)) LCSM_TRY(take_node(r, n, kind, err));
    }
    LCSM_TRY(lcsm_graph_plan(r->g, &(lcsm_plan_options){0}, err));
    LCSM_TRY(lcsm_state_create(&r->state, r->g, err));
cleanup:
    return st;
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
    lcsm_graph_free(r->g);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void sum_decays(memory *m, size_t all_steps)
{
    decay_fn *decay  = KINDS[kind_of(m->node)].decay;
    ptrdiff_t stride = m->columns > CHANNELS ? m->columns / CHANNELS : 1;
    double    wanted = (double)all_steps * (double)m->rows / SAMPLES; /* numbers for a sample */
    size_t    every = wanted > 1 ? (size_t)ceil(wanted) : 1, number = 0;
    for (ptrdiff_t t = 0; t < PIECE; t++) {
        for (ptrdiff_t row = 0; row < m->rows; row++) {
            double sum = 0, n = 0, some = 0;
            for (ptrdiff_t c = 0; c < m->columns; c += stride) {
                double log_o = fmax(decay(m->node, t, row, c), LEAST);
                sum += log_o;
                n++;
                if (c / stride == (t + row) % ((m->columns + stride - 1) / stride)) some = log_o;
            }
            m->log_sum[row] += sum / n;
            if (number++ % every == 0 && m->samples < SAMPLES)
                m->gates[m->samples++] = (float)exp(some);
        }
    }
}

/* The root mean square of the op's carried memory. */
static double norm_of(const reading *r, const memory *m)
{
    char   name[LCSM_NAME_SIZE + 32];
    double sum = 0;
    (void)snprintf(name, sizeof name, "%s.%s", m->node->scope, m->node->op->name);
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

static lcsm_status read_pieces(reading *r, const lcsm_inspect_tokens *tokens, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t p = 0; p < r->pieces; p++) {
        memcpy(r->io.tokens->data, tokens->ids + p * PIECE, PIECE * sizeof *tokens->ids);
        LCSM_TRY(lcsm_graph_forward(r->g, &(lcsm_run_options){.state = r->state}, err));
        for (size_t j = 0; j < r->count; j++) {
            memory *m = &r->list[j];
            if (m->node == NULL) continue;
            if (m->known) sum_decays(m, r->pieces * PIECE);
            m->norms[p] = norm_of(r, m);
        }
    }
cleanup:
    return st;
}

/* ---- results ------------------------------------------------------------------------------- */

static void put_number(lcsm_json_writer *w, const char *key, double x)
{
    if (isfinite(x)) lcsm_json_put_real(w, key, x);
    else lcsm_json_put_null(w, key);
}

/* A mean log decay above this is that of a row which keeps all: its half-life is beyond 1e8. */
#define FOREVER (-1e-8)

static void put_half_lives(lcsm_json_writer *w, const memory *m, size_t steps)
{
    double *lives = m->log_sum;
    size_t  rows = (size_t)m->rows, forever = 0;
    lcsm_json_open_array(w, "half_life");
    for (size_t j = 0; j < rows; j++) {
        double mean = m->log_sum[j] / (double)steps;
        lives[j]    = mean > FOREVER ? INFINITY : log(0.5) / mean;
        forever += isinf(lives[j]) ? 1 : 0;
        put_number(w, NULL, lives[j]);
    }
    lcsm_json_close(w);
    lcsm_sort(lives, rows);
    put_number(w, "half_life_median", lives[rows / 2]);
    put_number(w, "half_life_low", lives[rows / 10]);
    put_number(w, "half_life_high", lives[rows - 1 - rows / 10]);
    lcsm_json_put_size(w, "forever", forever);
}

static lcsm_status put_gates(lcsm_json_writer *w, const memory *m, lcsm_error *err)
{
    double *gates = malloc((m->samples + 1) * sizeof *gates), mean, deviation;
    if (gates == NULL) return no_room(err);
    for (size_t j = 0; j < m->samples; j++) gates[j] = (double)m->gates[j];
    lcsm_mean_of(gates, m->samples, &mean, &deviation);
    lcsm_sort(gates, m->samples);
    put_number(w, "gate_mean", mean);
    put_number(w, "gate_low", lcsm_quantile(gates, m->samples, 0.1));
    put_number(w, "gate_high", lcsm_quantile(gates, m->samples, 0.9));
    free(gates);
    return LCSM_OK;
}

static lcsm_status put_layer(lcsm_json_writer *w, const reading *r, const memory *m,
                             lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "op", m->node == NULL ? "none" : m->node->op->name);
    if (m->node != NULL && m->known) {
        put_half_lives(w, m, r->pieces * PIECE);
        st = put_gates(w, m, err);
    }
    if (m->node != NULL && r->pieces > 0 && isfinite(m->norms[0])) {
        put_number(w, "state_norm", m->norms[r->pieces - 1]);
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
    reading     r  = {0};
    if (tokens->count < PIECE)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu tokens are too few to inspect, want %d",
                         tokens->count, PIECE);
    if (model->cfg.bidirectional)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "a bidirectional model carries no memory that could be inspected");
    LCSM_TRY(open_reading(&r, model, tokens->count, err));
    LCSM_TRY(read_pieces(&r, tokens, err));
    lcsm_json_put_int(w, "state_norm_every", PIECE);
    lcsm_json_open_array(w, "layers");
    for (size_t j = 0; j < r.count; j++) LCSM_TRY(put_layer(w, &r, &r.list[j], err));
    lcsm_json_close(w);
cleanup:
    close_reading(&r);
    return st;
}
