/* eos_drive.c - the batch: sequences, heads and column tiles as independent work items. */
#include "kernel/eos/eos_drive.h"

#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/thread.h"
#include "kernel/eos/eos_sums.h"

typedef R_(lcsm_eos_seq)       seq;
typedef R_(lcsm_eos_seq_grads) seq_grads;
typedef R_(lcsm_eos_kernels)   form;
typedef lcsm_eos_place         place;

/* One call, as the tasks see it. */
typedef struct {
    const lcsm_eos_plan       *p;
    R_(lcsm_eos_sums)          to; /* backward: where gradients go, and the steps */
    const form                *form;
    const R_(lcsm_eos_arrays) *x;
    real                      *y, *m_T, *tape;
    const real                *y_in, *g_y, *g_m_T, *tape_in;
    R_(lcsm_eos_step_kernel)  *step;    /* NULL, or what does a single step in place of form */
    unsigned char             *scratch; /* of all workers */
    real                      *partial; /* of all items */
    real                      *carry;   /* gradients of the memories of all items */
    size_t                     scratch_bytes, carry_bytes, partial_reals;
    ptrdiff_t                  reads; /* of x->read, those that count */
    lcsm_task_fn              *task;  /* of an item */
    size_t                     items, run;
} call;

/* Heads of an item. */
static ptrdiff_t heads_of(const lcsm_eos_plan *p, const form *f)
{
    return f->in_step ? p->heads : 1;
}

/* How many rows are read: they increase, and what follows a row that does not is none. */
static ptrdiff_t count_reads(const lcsm_eos_plan *p, const R_(lcsm_eos_arrays) *x)
{
    ptrdiff_t n = 0, last = -1;
    while (n < p->reads && x->read[n] > last && x->read[n] < p->B * p->T) last = x->read[n++];
    return n;
}

/* The first read of sequence b. */
static ptrdiff_t read_of(const call *c, ptrdiff_t b)
{
    seq x = {.read = c->x->read, .reads = c->reads};
    return R_(lcsm_eos_read_from)(&x, b * c->p->T);
}

/* The first head of an item; the others follow. */
static place place_of(const call *c, size_t item)
{
    const lcsm_eos_plan *p     = c->p;
    ptrdiff_t            heads = heads_of(p, c->form);
    place                w     = {.tile = (ptrdiff_t)item % p->tiles};
    w.h                        = (ptrdiff_t)item / p->tiles % (p->H / heads) * heads;
    w.b                        = (ptrdiff_t)item / p->tiles / (p->H / heads);
    w.d0                       = w.tile * p->tile;
    w.D                        = p->D - w.d0 < p->tile ? p->D - w.d0 : p->tile;
    if (p->reads > 0) {
        w.read  = read_of(c, w.b);
        w.reads = read_of(c, w.b + 1) - w.read;
    }
    return w;
}

static size_t items_of(const lcsm_eos_plan *p, const form *f)
{
    return (size_t)(p->B * p->tiles * (p->H / heads_of(p, f)));
}

static size_t workers_of(const lcsm_eos_plan *p, const form *f)
{
    size_t items = items_of(p, f), threads = (size_t)(p->threads > 1 ? p->threads : 1);
    return items < threads ? items : threads;
}

static const form *form_of(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k, bool back)
{
    if (p->bf16_products && !back) return k->eos_chunk_bf16;
    switch (p->form) {
    case LCSM_FORM_CHUNKED:
    case LCSM_FORM_DELTA: return lcsm_eos_is_ranked(p) ? k->eos_rank : k->eos_chunk;
    case LCSM_FORM_SCAN: return k->eos_scan;
    case LCSM_FORM_CONVOLUTION: return k->eos_conv;
    default: return k->eos_recurrent;
    }
}

/* Whether it reads the memory before it changes it. */
static bool is_rank_step(const lcsm_eos_plan *p)
{
    return lcsm_eos_is_ranked(p) || p->operand[EOS_erase].present;
}

/* Whether a single step may take the memory where it lies. */
static bool is_step(const lcsm_eos_plan *p)
{
    static const int       others[] = {EOS_col, EOS_full, EOS_col_phase, EOS_full_phase,
                                       EOS_u,   EOS_w,    EOS_dense};
    const lcsm_eos_layout *e = &p->operand[EOS_e], *s = &p->operand[EOS_s];
    for (size_t j = 0; j < COUNT(others); j++)
        if (p->operand[others[j]].present) return false;
    if (p->T != 1 || p->form == LCSM_FORM_RECURRENT || (s->axes & LCSM_AXIS_D) != 0 || p->planes)
        return false;
    if (is_rank_step(p)) return (e->axes & LCSM_AXIS_D) == 0;
    return p->form == LCSM_FORM_SCAN && !p->bf16
        && ((e->axes & LCSM_AXIS_D) == 0 || e->is_complex == p->is_complex);
}

/* ---- problems --------------------------------------------------------------------------- */

static R_(lcsm_view) *view_of(seq *x, int operand)
{
    R_(lcsm_view) *const views[EOS_OPERANDS] = {
#define X(name) [EOS_##name] = &x->name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    return views[operand];
}

static seq problem(const lcsm_eos_plan *p, place w)
{
    seq x           = {.T          = p->T,
                       .K          = p->K,
                       .D          = w.D,
                       .heads      = 1,
                       .y_head     = lcsm_eos_y_width(p),
                       .tape_head  = lcsm_eos_cells(p) * p->K * p->D * (p->is_complex ? 2 : 1),
                       .is_complex = p->is_complex,
                       .gen        = p->gen,
                       .tau        = (real)p->tau,
                       .scale      = (real)p->scale};
    x.complex_i     = p->operand[EOS_i].is_complex;
    x.complex_e     = p->operand[EOS_e].is_complex;
    x.complex_s     = p->operand[EOS_s].is_complex;
    x.complex_a     = p->operand[EOS_a].is_complex;
    x.complex_b     = p->operand[EOS_b].is_complex;
    x.complex_bonus = p->operand[EOS_bonus].is_complex;
    x.complex_erase = p->operand[EOS_erase].is_complex;
    x.complex_y     = p->complex_y;
    x.im            = p->planes ? p->D : 1;
    x.y_d           = p->complex_y && !p->planes ? 2 : 1;
    x.read_before   = p->read_before;
    x.bf16          = p->bf16;
    x.rank          = p->rank;
    for (int j = 0; j < EOS_OPERANDS; j++) {
        const lcsm_eos_layout *l = &p->operand[j];
        R_(lcsm_view)         *v = view_of(&x, j);
        *v                       = (R_(lcsm_view)){NULL, p->reverse ? -l->t : l->t, l->k, l->d};
    }
    return x;
}

/* A scratch size must not depend on the data, but forms look at which operands exist. */
static void problem_shapes(const lcsm_eos_plan *p, const form *f, seq x[LCSM_EOS_HEADS])
{
    static const real    somewhere = 0;
    static const int32_t none      = 0;
    for (ptrdiff_t h = 0; h < heads_of(p, f); h++) {
        x[h]       = problem(p, (place){.D = p->tile});
        x[h].heads = heads_of(p, f);
        if (p->reads > 0) x[h].read = &none;
        for (int j = 0; j < EOS_OPERANDS; j++)
            if (p->operand[j].present) view_of(&x[h], j)->p = &somewhere;
    }
}

static seq problem_at(const call *c, place w)
{
    const lcsm_eos_plan *p = c->p;
    seq                  x = problem(p, w);
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (p->operand[j].present && p->T > 0)
            view_of(&x, j)->p = c->x->operand[j] + lcsm_eos_origin(p, &p->operand[j], w);
    x.fresh = c->x->m0 == NULL;
    x.final = c->to.g == NULL ? c->m_T == NULL : c->g_m_T == NULL;
    x.first = c->to.g != NULL && c->to.g->m0 == NULL;
    if (p->reads > 0) {
        x.read      = c->x->read + w.read;
        x.reads     = w.reads;
        x.read_base = w.b * p->T;
    }
    x.resets = lcsm_resets_of(c->x->reset, w.b * p->T, p->T, p->reverse);
    return x;
}

static void problems_at(const call *c, place w, seq x[LCSM_EOS_HEADS])
{
    ptrdiff_t heads = heads_of(c->p, c->form);
    for (ptrdiff_t h = 0; h < heads; h++, w.h++) {
        x[h]       = problem_at(c, w);
        x[h].heads = heads;
    }
}

/* Only the steps first .. next - 1 of a problem. */
static void cut_steps(const call *c, seq *x)
{
    x->final = x->final && c->to.next == x->T;
    x->T     = c->to.next - c->to.first;
    if (c->to.first == 0) return;
    x->fresh = x->first = false;
    for (int j = 0; j < EOS_OPERANDS; j++) {
        R_(lcsm_view) *v = view_of(x, j);
        if (v->p != NULL) v->p += c->to.first * v->t;
    }
    lcsm_resets_skip(&x->resets, c->to.first);
}

/* ---- the memory: (B, H, K, D) outside, planes of an item's columns inside ------------------ */

static void memory_in(const lcsm_eos_plan *p, place w, const real *all, real *m)
{
    ptrdiff_t width = p->is_complex ? 2 : 1;
    if (all == NULL) {
        memset(m, 0, (size_t)(p->K * w.D * width) * sizeof(real));
        return;
    }
    for (ptrdiff_t k = 0; k < p->K; k++)
        for (ptrdiff_t c = 0; c < width; c++) {
            const real *from = all + (((w.b * p->H + w.h) * p->K + k) * p->D + w.d0) * width + c;
            if (width == 1) memcpy(m + k * w.D, from, (size_t)w.D * sizeof(real));
            else
                for (ptrdiff_t d = 0; d < w.D; d++) m[(c * p->K + k) * w.D + d] = from[d * width];
        }
}

/* sum: to what is there, for gradients. */
static void memory_out(const lcsm_eos_plan *p, place w, const real *m, real *all, bool sum)
{
    ptrdiff_t width = p->is_complex ? 2 : 1;
    if (all == NULL) return;
    for (ptrdiff_t k = 0; k < p->K; k++) {
        real *to = all + (((w.b * p->H + w.h) * p->K + k) * p->D + w.d0) * width;
        if (width == 1 && !sum) memcpy(to, m + k * w.D, (size_t)w.D * sizeof(real));
        else
            for (ptrdiff_t d = 0; d < w.D; d++)
                for (ptrdiff_t c = 0; c < width; c++, to++)
                    *to = m[(c * p->K + k) * w.D + d] + (sum ? *to : 0);
    }
}

/* Items of a sequence and head lie behind each other, so a tape needs no padding. */
static size_t tape_offset(const lcsm_eos_plan *p, place w)
{
    size_t cells = (size_t)lcsm_eos_cells(p), planes = p->is_complex ? 2 : 1;
    size_t head = (size_t)(w.b * p->H + w.h);
    return (head * (size_t)p->D + (size_t)w.d0) * cells * (size_t)p->K * planes;
}

/* ---- shared gradients ------------------------------------------------------------------- */

/* Of an item, one for each of its heads. */
static size_t item_partials(const call *c, size_t item)
{
    return item * c->partial_reals * (size_t)heads_of(c->p, c->form);
}

static void add_partials(const call *c, size_t item)
{
    place       w       = place_of(c, item);
    const real *partial = c->partial + item_partials(c, item);
    for (ptrdiff_t h = 0; h < heads_of(c->p, c->form); h++, w.h++, partial += c->partial_reals)
        R_(lcsm_eos_add_partial)(&c->to, w, partial);
}

/* ---- workspaces ------------------------------------------------------------------------- */

static size_t padded(size_t reals)
{
    return (reals * sizeof(real) + LCSM_ALIGN - 1) / LCSM_ALIGN * LCSM_ALIGN;
}

/* Of all heads of an item. */
static size_t memory_bytes(const seq *x)
{
    return padded(R_(lcsm_eos_memory)(x) * (size_t)x->heads);
}

static size_t fwd_scratch(const lcsm_eos_plan *p, const form *f)
{
    seq    x[LCSM_EOS_HEADS];
    size_t step = padded(LCSM_EOS_STEP_SCRATCH(p->K, p->tile)), bytes;
    problem_shapes(p, f, x);
    bytes = memory_bytes(x) + padded(f->fwd_scratch(x, p->chunk));
    return is_step(p) && step > bytes ? step : bytes;
}

/* With several spans the memory's gradients are not a worker's but an item's. */
static size_t bwd_scratch(const lcsm_eos_plan *p, const form *f)
{
    seq x[LCSM_EOS_HEADS];
    problem_shapes(p, f, x);
    return (p->span == p->T ? memory_bytes(x) : 0) + padded(f->bwd_scratch(x, p->chunk));
}

/* Of an item, between spans; one span needs none. */
static size_t carry_bytes(const lcsm_eos_plan *p, const form *f)
{
    seq x[LCSM_EOS_HEADS];
    if (p->span == p->T) return 0;
    problem_shapes(p, f, x);
    return memory_bytes(x);
}

size_t R_(lcsm_eos_fwd_bytes)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k)
{
    const form *f = form_of(p, k, false);
    return fwd_scratch(p, f) * workers_of(p, f);
}

size_t R_(lcsm_eos_bwd_bytes)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k)
{
    const form *f     = form_of(p, k, true);
    size_t      heads = items_of(p, f) * (size_t)heads_of(p, f);
    return bwd_scratch(p, f) * workers_of(p, f) + carry_bytes(p, f) * items_of(p, f)
         + padded(R_(lcsm_eos_partial_reals)(p) * heads) + R_(lcsm_eos_sum_bytes)(p);
}

size_t R_(lcsm_eos_tape_bytes)(const lcsm_eos_plan *p)
{
    size_t n = (size_t)(p->B * p->H * p->K * p->D) * (p->is_complex ? 2 : 1);
    return n * (size_t)lcsm_eos_cells(p) * sizeof(real);
}

/* ---- work items -------------------------------------------------------------------------- */

/* Items in a row that add to the same gradients; none do in forward. */
static size_t bundle_items(const call *c)
{
    ptrdiff_t heads = heads_of(c->p, c->form);
    return c->to.g == NULL || c->p->bundle <= heads ? 1 : (size_t)(c->p->bundle / heads);
}

static void run_items(void *arg, size_t number, int worker)
{
    call  *c    = arg;
    size_t from = number * c->run, to = from + c->run < c->items ? from + c->run : c->items;
    for (size_t item = from; item < to; item++) c->task(arg, item, worker);
}

/* Whether all items have the same static operands, those of one head and all columns, and the form
 * makes something of them alone. */
static bool is_alike(const call *c)
{
    bool step = c->to.g == NULL && c->p->T == 1;
    return (step || c->p->form == LCSM_FORM_CONVOLUTION) && c->p->H == 1 && c->p->tiles == 1;
}

/* All items. Forms ask for the memory of the sequence that follows while they work on one: so a
 * worker takes runs of them, and each worker several runs; runs of whole bundles. */
static void run_all(call *c, lcsm_task_fn *task)
{
    enum { RUNS = 8, ALIKE_RUNS = 2, LONGEST = 16 };
    size_t threads = (size_t)(c->p->threads > 1 ? c->p->threads : 1), runs = RUNS;
    if (c->step == NULL && is_alike(c)) runs = c->p->form == LCSM_FORM_CONVOLUTION ? 1 : ALIKE_RUNS;
    c->task  = task;
    c->items = items_of(c->p, c->form);
    c->run   = c->items / (runs * threads);
    if (c->run > LONGEST) c->run = LONGEST;
    size_t bundle = bundle_items(c);
    c->run        = (c->run + bundle - 1) / bundle * bundle;
    if (c->run == 0) c->run = bundle;
    lcsm_parallel_for(c->p->pool, (c->items + c->run - 1) / c->run, run_items, c);
}

/* ---- passes ----------------------------------------------------------------------------- */

/* y of the first step that an item sees, and its stride. */
static ptrdiff_t y_of(const lcsm_eos_plan *p, place w, ptrdiff_t *stride)
{
    ptrdiff_t width = lcsm_eos_y_width(p), row = p->H * width;
    ptrdiff_t at = w.h * width + w.d0 * (p->complex_y ? 2 : 1);
    *stride      = p->reverse ? -row : row;
    if (p->reads > 0) return w.read * row + at;
    return w.b * p->T * row + at + (p->reverse ? (p->T - 1) * row : 0);
}

/* The memories of an item's heads. */
static void memories_in(const call *c, place w, const real *all, const seq *x, real *m)
{
    for (ptrdiff_t h = 0; h < x->heads; h++, w.h++, m += R_(lcsm_eos_memory)(x))
        memory_in(c->p, w, all, m);
}

static void memories_out(const call *c, place w, const seq *x, const real *m, real *all, bool sum)
{
    for (ptrdiff_t h = 0; h < x->heads; h++, w.h++, m += R_(lcsm_eos_memory)(x))
        memory_out(c->p, w, m, all, sum);
}

static void step_item(const call *c, place w, const seq *x, real *ws)
{
    const lcsm_eos_plan *p   = c->p;
    ptrdiff_t            m_k = p->D * (p->is_complex ? 2 : 1), stride;
    ptrdiff_t            at  = (w.b * p->H + w.h) * p->K * m_k + w.d0 * (p->is_complex ? 2 : 1);
    const real          *m0  = c->x->m0 == NULL ? NULL : c->x->m0 + at;
    real                *m   = c->m_T + at;
    if (m0 == NULL || lcsm_resets_at(&x->resets, 0)) {
        for (ptrdiff_t k = 0; k < p->K; k++)
            memset(m + k * m_k, 0, (size_t)(w.D * (p->is_complex ? 2 : 1)) * sizeof(real));
        m0 = m;
    }
    c->step(x, m0, m, m_k, c->y + y_of(p, w, &stride), ws);
}

/* Whether a memory that nobody gave must be there as zeros. */
static bool reads_zeros(const call *c)
{
    return !c->form->in_step || c->p->T == 0;
}

static void fwd_item(void *arg, size_t item, int worker)
{
    const call          *c = arg;
    const lcsm_eos_plan *p = c->p;
    place                w = place_of(c, item);
    seq                  x[LCSM_EOS_HEADS];
    problems_at(c, w, x);
    x->again   = is_alike(c) && item % c->run != 0; /* runs are a worker's */
    real *m    = (real *)(void *)(c->scratch + (size_t)worker * c->scratch_bytes);
    real *ws   = (real *)(void *)((unsigned char *)m + memory_bytes(x));
    bool  here = c->m_T != NULL && !p->is_complex && w.D == p->D; /* m_T is laid out as m */

    if (c->step != NULL) {
        for (ptrdiff_t h = 0; h < x->heads; h++, w.h++) step_item(c, w, &x[h], m);
        return;
    }
    if (here) m = c->m_T + (w.b * p->H + w.h) * p->K * p->D;
    if ((c->x->m0 != NULL || reads_zeros(c)) && (!here || c->x->m0 != c->m_T))
        memories_in(c, w, c->x->m0, x, m);
    if (p->T > 0) {
        ptrdiff_t stride, at = y_of(p, w, &stride);
        c->form->fwd(x, p->chunk, m, c->y + at, stride,
                     c->tape == NULL ? NULL : c->tape + tape_offset(p, w), ws);
    }
    if (!here) memories_out(c, w, x, m, c->m_T, false);
}

void R_(lcsm_eos_fwd)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k,
                      const R_(lcsm_eos_arrays) *x, real *y, real *m_T, real *tape, void *ws)
{
    const form               *f    = form_of(p, k, false);
    R_(lcsm_eos_step_kernel) *step = is_rank_step(p) ? k->eos_step_rank : k->eos_step;
    call                      c    = {.p    = p,
                                      .form = f,
                                      .x    = x,
                                      .y    = y,
                                      .m_T  = m_T,
                                      .tape = tape,
                                      .step = is_step(p) && tape == NULL && m_T != NULL ? step : NULL,
                                      .scratch       = ws,
                                      .scratch_bytes = fwd_scratch(p, f),
                                      .reads         = count_reads(p, x)};
    run_all(&c, fwd_item);
    ptrdiff_t row = p->H * lcsm_eos_y_width(p);
    if (p->reads > 0)
        memset(y + c.reads * row, 0, (size_t)((p->reads - c.reads) * row) * sizeof(real));
}

/* Gradients of rows of s that are not read. */
static void clear_unread(const call *c)
{
    const lcsm_eos_layout *l = &c->p->operand[EOS_s];
    real                  *g = c->to.g->operand[EOS_s];
    for (ptrdiff_t n = c->reads; l->by_read && g != NULL && n < c->p->reads; n++)
        for (ptrdiff_t h = 0; h < l->heads && c->to.g->set[EOS_s]; h++)
            memset(g + n * l->t + h * l->h, 0, (size_t)l->inner * sizeof(real));
}

/* One span of an item. */
static void bwd_item(void *arg, size_t item, int worker)
{
    const call          *c = arg;
    const lcsm_eos_plan *p = c->p;
    place                w = place_of(c, item);
    seq                  x[LCSM_EOS_HEADS];
    seq_grads            g[LCSM_EOS_HEADS];
    problems_at(c, w, x);
    x->again           = is_alike(c) && item % c->run != 0;
    unsigned char *ws  = c->scratch + (size_t)worker * c->scratch_bytes;
    real          *g_m = (real *)(void *)ws, *partial = c->partial + item_partials(c, item);
    if (c->carry != NULL) g_m = (real *)(void *)((unsigned char *)c->carry + item * c->carry_bytes);
    else ws += memory_bytes(x);

    memset(partial, 0, item_partials(c, 1) * sizeof(real));
    if (c->to.next == p->T) {
        if (!c->to.sets) R_(lcsm_eos_clear_item)(p, c->to.g, w, x->heads);
        if (c->g_m_T != NULL || reads_zeros(c)) memories_in(c, w, c->g_m_T, x, g_m);
    }
    if (p->T > 0) {
        place v = w;
        for (ptrdiff_t h = 0; h < x->heads; h++, v.h++, partial += c->partial_reals) {
            g[h] = R_(lcsm_eos_grads_at)(&c->to, v, partial);
            cut_steps(c, &x[h]);
        }
        ptrdiff_t   stride, at = y_of(p, w, &stride) + c->to.first * stride;
        size_t      cells = (size_t)(c->to.first / p->chunk) * R_(lcsm_eos_memory)(x);
        const real *y     = c->y_in == NULL ? NULL : c->y_in + at;
        c->form->bwd(x, p->chunk, y, stride, c->g_y + at, stride, g_m, g,
                     c->tape_in + tape_offset(p, w) + cells, (real *)(void *)ws);
    }
    if (c->to.first == 0) memories_out(c, w, x, g_m, c->to.g->m0, true);
}

void R_(lcsm_eos_bwd)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k,
                      const R_(lcsm_eos_arrays) *x, const real *y, const real *g_y,
                      const real *g_m_T, const R_(lcsm_eos_grad_arrays) *g, const real *tape,
                      void *ws)
{
    const form    *f     = form_of(p, k, true);
    call           c     = {.p             = p,
                            .form          = f,
                            .x             = x,
                            .to            = {.p = p, .g = g, .sets = f->sets},
                            .y_in          = y,
                            .g_y           = g_y,
                            .g_m_T         = g_m_T,
                            .tape_in       = tape,
                            .scratch       = ws,
                            .scratch_bytes = bwd_scratch(p, f),
                            .carry_bytes   = carry_bytes(p, f),
                            .partial_reals = R_(lcsm_eos_partial_reals)(p),
                            .reads         = count_reads(p, x)};
    unsigned char *after = c.scratch + c.scratch_bytes * workers_of(p, f);
    if (p->span < p->T) c.carry = (real *)(void *)after;
    after += c.carry_bytes * items_of(p, f);
    c.to.sums  = (double *)(void *)after;
    c.partial  = (real *)(void *)(after + R_(lcsm_eos_sum_bytes)(p));
    c.to.first = p->T;
    memset(c.to.sums, 0, R_(lcsm_eos_sum_bytes)(p));
    R_(lcsm_eos_clear_rest)(p, g);
    clear_unread(&c);
    do {
        c.to.next  = c.to.first;
        c.to.first = c.to.next == 0 ? 0 : (c.to.next - 1) / p->span * p->span;
        run_all(&c, bwd_item);
        for (size_t item = 0; c.partial_reals > 0 && item < items_of(p, f); item++)
            add_partials(&c, item);
    } while (c.to.first > 0);
    R_(lcsm_eos_add_sums)(&c.to);
}
