/*
 * op_linear_xent.c - cross-entropy of x w^T (x (..., D), w [V, D]) that never holds all
 * logits; loss.h has the meaning.
 *
 * Rows that do not count are dropped first and cost nothing. The others are taken in stages. Of a
 * stage the logits lie by class, z (V, rows): so the products read w where it lies, and the rows
 * are the lanes of the exponentials. These are taken from the row's logit at its target, or, if
 * others are so much larger that their sum could overflow, once more from its largest logit.
 *
 * Groups of blocks of classes are worked on by all threads: each block gives exponentials, and
 * their sum for every row; then g_x += exponentials^T w by rows. The sums of a row come last, so
 * g_x is divided by them in the end, and for g_w = exponentials x the rows of x are divided
 * first. The one of the target is subtracted apart. Every sum has one order, whatever the threads.
 *
 * Forward and backward at once keep the exponentials of a stage; backward alone computes the
 * logits a second time, but knows the sums.
 *
 * In training with bfloat16 the three products are of such numbers: the logits come out as reals, a
 * block of classes at a time, and so do their exponentials and sums; what is kept of a stage is the
 * exponentials in bfloat16, which both gradients are made of. Their targets are subtracted exactly.
 */
#include "graph/ops/loss.h"
#include "kernel/gemm/gemm_drive.h"

enum { X, W, TARGETS };

/* Classes of a group are so many blocks; rows of a slice of g_x, of which stages have a number that
 * threads can share. */
enum { GROUP = 8, SLICE = 128 };

/* exp of this times any vocabulary is a float. */
#define FAR_ABOVE 60

typedef struct {
    const lcsm_call   *c;
    const int32_t     *targets;
    kept               k;
    ptrdiff_t          V, D, stage, block, blocks, ld; /* ld of z, of which a row is a class */
    real              *x, *g_x;                        /* gathered rows, and their gradients */
    real              *x_scaled;                       /* the rows times their scales */
    real              *x_classes, *x_depth;            /* x packed for x w^T and for g x */
    real              *w;                              /* classes of a group, packed for g^T w */
    real              *z;                              /* of a group, of each worker, or all */
    uint16_t          *half;                           /* bf16: of a group or all; z of workers */
    real              *numbers;                        /* classes of w in blocks, of each worker */
    bool               whole;                          /* z is that of all classes */
    bool               want_x, want_w, bf16;
    real              *scale; /* exponentials to gradients, by row */
    R_(lcsm_xent_row) *part;  /* by block and row */
    real              *ws;    /* for products, of each worker */
    size_t             ws_size;
    ptrdiff_t          at, n;  /* rows of the list that are under way */
    ptrdiff_t          b0, nb; /* and blocks of classes */
} job;

/* ---- sizes ---- */

/* Few rows a stage read w and g_w often; many hold a lot: 2^25 numbers at most. */
static ptrdiff_t stage_of(ptrdiff_t V, ptrdiff_t rows)
{
    ptrdiff_t few = V > 0 ? (1 << 22) / V : 2048, many = V > 0 ? (1 << 25) / V : 2048;
    few  = few < 512 ? 512 : at_most(few, 2048);
    many = many < 64 ? 64 : many;
    return at_most(at_most(few, many), rows);
}

/* Rows of a block of the products; a small vocabulary has eight blocks. */
static ptrdiff_t block_of(ptrdiff_t V)
{
    ptrdiff_t block = blocks_of(V, GROUP * 18) * 18;
    return block < 54 ? 54 : at_most(block, GEMM_ROWS);
}

static job job_of(const lcsm_call *c, const lcsm_node *n)
{
    job j    = {.c = c, .V = n->in[W]->rows, .D = n->in[X]->cols};
    j.stage  = stage_of(j.V, n->in[X]->rows);
    j.block  = block_of(j.V);
    j.blocks = blocks_of(j.V, j.block);
    j.ld     = (blocks_of(j.stage, 16) | 1) * 16; /* rows 2^n apart would share a cache's sets */
    if (c != NULL) j.targets = c->in[TARGETS].data;
    return j;
}

static void layout_common(pieces *p, const lcsm_node *n, job *j)
{
    ptrdiff_t deep = GROUP * j->block > j->stage ? GROUP * j->block : j->stage;
    j->ws_size     = lcsm_gemm_scratch(GEMM_ROWS, deep > j->D ? deep : j->D);
    j->ws          = take_reals(p, n->threads, (ptrdiff_t)j->ws_size);
    j->x           = take_reals(p, j->stage, j->D);
    j->x_classes   = take_reals(p, 1, (ptrdiff_t)lcsm_gemm_packed(j->stage, j->D));
    j->part        = lcsm_take(p, j->blocks, j->stage, sizeof *j->part);
}

static void layout_forward(pieces *p, const lcsm_node *n, job *j)
{
    kept_scratch(p, n->in[X]->rows, &j->k);
    layout_common(p, n, j);
    j->z = take_reals(p, n->threads * j->block, j->ld); /* one block of each worker */
    /* weights in blocks, which are parameters, are for forward alone */
    j->numbers = take_reals(p, n->in[W]->param >= 0 ? n->threads * j->block : 0, j->D);
}

/* Also of forward and backward at once, which holds the exponentials of all classes. */
static void layout_backward(pieces *p, const lcsm_node *n, bool whole, job *j)
{
    ptrdiff_t group = at_most(GROUP, j->blocks);
    if (whole) kept_scratch(p, n->in[X]->rows, &j->k);
    layout_common(p, n, j);
    j->whole    = whole;
    j->g_x      = take_reals(p, j->stage, j->D);
    j->x_scaled = take_reals(p, j->stage, j->D);
    j->x_depth  = take_reals(p, 1, (ptrdiff_t)lcsm_gemm_packed(j->D, j->stage));
    j->w        = take_reals(p, 1, (ptrdiff_t)lcsm_gemm_packed(j->D, group * j->block));
    j->z = take_reals(p, (n->bf16 ? n->threads : whole ? j->blocks : group) * j->block, j->ld);
    j->half =
        lcsm_take(p, (whole ? j->blocks : group) * j->block, n->bf16 ? j->ld : 0, sizeof *j->half);
    j->bf16  = n->bf16;
    j->scale = take_reals(p, 1, j->stage);
}

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *x = n->in[X], *w = n->in[W];
    pieces             fwd = {0}, bwd = {0}, both = {0};
    lcsm_status        st = loss_shape(n, x, n->in[TARGETS], err);
    if (st != LCSM_OK) return st;
    if (w->shape.rank != 2 || w->cols != x->cols)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "w must be [V, %td]", x->cols);
    job j = job_of(NULL, n);
    layout_forward(&fwd, n, &j);
    layout_backward(&bwd, n, false, &j);
    layout_backward(&both, n, true, &j);
    st = measured(&fwd, &n->fwd_scratch, err);
    if (st == LCSM_OK) st = measured(&bwd, &n->bwd_scratch, err);
    return st == LCSM_OK ? measured(&both, &n->both_scratch, err) : st;
}

/* ---- parts of the products ---- */

static real *worker_ws(const job *j, int worker)
{
    return j->ws + (size_t)worker * j->ws_size;
}

static ptrdiff_t classes_of(const job *j, ptrdiff_t block)
{
    return at_most(j->V - block * j->block, j->block);
}

/* What is packed: x^T (D, n) for logits, x times its scales (n, D) for g_w. */
static R_(lcsm_gemm) packed_x(const job *j, bool classes)
{
    return (R_(lcsm_gemm)){.bf16  = j->bf16,
                           .tb    = classes,
                           .N     = classes ? j->n : j->D,
                           .K     = classes ? j->D : j->n,
                           .alpha = 1,
                           .B     = classes ? j->x : j->x_scaled,
                           .ldb   = j->D};
}

/* The classes of a group, w (classes, D) for g_x. */
static R_(lcsm_gemm) packed_w(const job *j)
{
    const lcsm_mat *w     = &j->c->in[W];
    ptrdiff_t       first = j->b0 * j->block;
    return (R_(lcsm_gemm)){.bf16  = j->bf16,
                           .N     = j->D,
                           .K     = at_most(j->V - first, j->nb * j->block),
                           .alpha = 1,
                           .B     = row_of(w, first),
                           .ldb   = w->ld};
}

static void pack_classes(void *arg, size_t item, int worker)
{
    const job    *j = arg;
    R_(lcsm_gemm) p = packed_x(j, true);
    (void)worker;
    R_(lcsm_gemm_pack)(kernels_of(j->c), &p, (ptrdiff_t)item, j->x_classes);
}

static void pack_depth(void *arg, size_t item, int worker)
{
    const job    *j = arg;
    R_(lcsm_gemm) p = packed_x(j, false);
    (void)worker;
    R_(lcsm_gemm_pack)(kernels_of(j->c), &p, (ptrdiff_t)item, j->x_depth);
}

/* The rows under way, one after the other, and packed. */
static void begin_stage(job *j, ptrdiff_t at)
{
    const lcsm_mat *x = &j->c->in[X];
    j->at             = at;
    j->n              = at_most(*j->k.count - at, j->stage);
    for (ptrdiff_t i = 0; i < j->n; i++)
        memcpy(j->x + i * j->D, row_of(x, j->k.row[at + i]), (size_t)j->D * sizeof(real));
    lcsm_parallel_for(j->c->run->pool, (size_t)lcsm_gemm_pieces(j->n, j->D), pack_classes, j);
}

static ptrdiff_t target_of(const job *j, ptrdiff_t i)
{
    return j->targets[j->k.row[j->at + i]];
}

/* n classes of w from `first` on as numbers, in the worker's memory if they are blocks. */
static const real *classes_at(const job *j, ptrdiff_t first, ptrdiff_t n, int worker, ptrdiff_t *ld)
{
    const lcsm_mat *w = &j->c->in[W];
    *ld               = w->type == LCSM_WEIGHT_REAL ? w->ld : j->D;
    if (w->type == LCSM_WEIGHT_REAL) return row_of(w, first);
    real *to = j->numbers + worker * j->block * j->D;
    for (ptrdiff_t i = 0; i < n; i++)
        kernels_of(j->c)->gemm->unpack(w->type, blocks_of_row(w, first + i), j->D, to + i * j->D);
    return to;
}

/* x_i w_target */
static void from_targets(job *j)
{
    for (ptrdiff_t i = 0; i < j->n; i++) {
        ptrdiff_t   ldb;
        const real *b = classes_at(j, target_of(j, i), 1, 0, &ldb);
        R_(lcsm_gemm)
        p = {.tb    = true,
             .M     = 1,
             .N     = 1,
             .K     = j->D,
             .alpha = 1,
             .A     = j->x + i * j->D,
             .B     = b,
             .C     = j->k.from + j->at + i,
             .lda   = j->D,
             .ldb   = ldb,
             .ldc   = 1};
        kernels_of(j->c)->gemm->dots(&p);
    }
}

/* ---- groups of classes ---- */

/* Whose exponentials are in bfloat16 where gradients are made of them. */
static bool is_half(const job *j)
{
    return j->bf16 && (j->want_x || j->want_w);
}

static ptrdiff_t place_of(const job *j, ptrdiff_t block)
{
    return (j->whole ? block : block - j->b0) * j->block * j->ld;
}

static real *z_of(const job *j, ptrdiff_t block, int worker)
{
    bool own = is_half(j) || !(j->want_x || j->want_w);
    return j->z + (own ? worker * j->block * j->ld : place_of(j, block));
}

/* The exponentials of a block as the first factor, their columns from `first` on. */
static void take_exps(const job *j, ptrdiff_t block, ptrdiff_t first, R_(lcsm_gemm) *p)
{
    p->lda = j->ld;
    p->A   = NULL;
    if (!is_half(j)) {
        p->A = j->z + place_of(j, block) + first;
        return;
    }
    p->a_type   = LCSM_WEIGHT_BF16;
    p->a_blocks = (const unsigned char *)(j->half + place_of(j, block) + first);
    p->lda *= (ptrdiff_t)sizeof *j->half;
}

static void halve(const job *j, ptrdiff_t block, const real *z)
{
    for (ptrdiff_t r = 0; r < classes_of(j, block); r++)
        kernels_of(j->c)->bf16->narrow(j->n, z + r * j->ld,
                                       j->half + place_of(j, block) + r * j->ld);
}

/* z = exp(logits - from) of a block of classes. */
static void exps_of_block(const job *j, ptrdiff_t block, real *z, int worker)
{
    ptrdiff_t     first     = block * j->block;
    real         *at_target = j->k.at_target;
    R_(lcsm_gemm) p         = packed_x(j, true);
    p.M                     = classes_of(j, block);
    p.A                     = classes_at(j, first, p.M, worker, &p.lda);
    p.C                     = z;
    p.ldc                   = j->ld;
    R_(lcsm_gemm_run)(kernels_of(j->c), &p, j->x_classes, worker_ws(j, worker));
    for (ptrdiff_t i = 0; i < j->n && at_target != NULL; i++) {
        ptrdiff_t target = target_of(j, i) - first;
        if (target >= 0 && target < p.M) at_target[j->at + i] = z[target * j->ld + i];
    }
    kernels_of(j->c)->xent->exps(first, p.M, j->n, j->k.from + j->at, z, j->ld,
                                 j->part + block * j->stage);
    if (is_half(j)) halve(j, block, z);
}

/* g_w of a block of classes += exponentials x, less x where a class is the target. */
static void add_g_w(const job *j, ptrdiff_t block, int worker)
{
    const lcsm_mat *g = &j->c->g_in[W], *x = &j->c->in[X];
    ptrdiff_t       first = block * j->block;
    R_(lcsm_gemm)   p     = packed_x(j, false);
    p.M                   = classes_of(j, block);
    p.C                   = row_of(g, first);
    p.ldc                 = g->ld;
    p.add                 = g->add || j->at > 0;
    take_exps(j, block, 0, &p);
    R_(lcsm_gemm_run)(kernels_of(j->c), &p, j->x_depth, worker_ws(j, worker));
    for (ptrdiff_t i = 0; i < j->n; i++) {
        ptrdiff_t target = target_of(j, i);
        if (target < first || target >= first + p.M) continue;
        kernels_of(j->c)->ew->scale(j->D, -loss_weight(j->c, &j->k, j->at + i),
                                    row_of(x, j->k.row[j->at + i]), true, row_of(g, target));
    }
}

/* A block of the group, or a piece of its classes that is packed. */
static void group_item(void *arg, size_t item, int worker)
{
    const job *j     = arg;
    ptrdiff_t  block = j->b0 + (ptrdiff_t)item;
    if ((ptrdiff_t)item < j->nb) {
        exps_of_block(j, block, z_of(j, block, worker), worker);
        if (j->want_w && !j->whole) add_g_w(j, block, worker);
    } else {
        R_(lcsm_gemm) p = packed_w(j);
        R_(lcsm_gemm_pack)(kernels_of(j->c), &p, (ptrdiff_t)item - j->nb, j->w);
    }
}

/* g_x of a slice of rows += exponentials^T w. */
static void add_g_x(void *arg, size_t item, int worker)
{
    const job    *j     = arg;
    ptrdiff_t     first = (ptrdiff_t)item * SLICE;
    R_(lcsm_gemm) p     = packed_w(j);
    p.ta                = true;
    p.M                 = at_most(j->n - first, SLICE);
    p.C                 = j->g_x + first * j->D;
    p.ldc               = j->D;
    p.add               = j->b0 > 0;
    take_exps(j, j->b0, first, &p);
    R_(lcsm_gemm_run)(kernels_of(j->c), &p, j->w, worker_ws(j, worker));
}

static void all_groups(job *j)
{
    lcsm_pool *pool = j->c->run->pool;
    for (j->b0 = 0; j->b0 < j->blocks; j->b0 += GROUP) {
        j->nb               = at_most(j->blocks - j->b0, GROUP);
        R_(lcsm_gemm) p     = packed_w(j);
        size_t        parts = j->want_x ? (size_t)lcsm_gemm_pieces(p.N, p.K) : 0;
        lcsm_parallel_for(pool, (size_t)j->nb + parts, group_item, j);
        if (j->want_x) lcsm_parallel_for(pool, (size_t)blocks_of(j->n, SLICE), add_g_x, j);
    }
}

/* ---- forward ---- */

/* The blocks of rows first .. first + count - 1, joined in the place of the first. */
static void join_rows(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const job *j = arg;
    for (ptrdiff_t i = first; i < first + count; i++) {
        R_(lcsm_xent_row) *all = &j->part[i];
        for (ptrdiff_t b = 1; b < j->blocks; b++) {
            const R_(lcsm_xent_row) *one = &j->part[b * j->stage + i];
            if (one->max > all->max) all->max = one->max, all->best = one->best;
            all->sum += one->sum;
        }
        j->k.lse[j->at + i]  = j->k.from[j->at + i] + R_FN(log)(all->sum);
        j->k.best[j->at + i] = all->best;
    }
}

/* Rows with a logit far above what their exponentials were taken from take them from it. */
static bool go_up(const job *j)
{
    bool any = false;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        real *from = &j->k.from[j->at + i];
        if (!(j->part[i].max > *from + FAR_ABOVE)) continue;
        *from = j->part[i].max;
        any   = true;
    }
    return any;
}

static void stage_forward(job *j, ptrdiff_t at)
{
    begin_stage(j, at);
    from_targets(j);
    do {
        all_groups(j);
        lcsm_parallel_rows(j->c->run->pool, j->n, 8 * j->blocks, join_rows, j);
    } while (go_up(j));
}

static void forward(const lcsm_call *c)
{
    pieces scratch = {.base = c->scratch}, saved = {.base = c->saved};
    job    j = job_of(c, c->node);
    layout_forward(&scratch, c->node, &j);
    j.bf16 = c->node->bf16 && c->run->training;
    if (c->saved != NULL) kept_layout(&saved, c->in[X].rows, &j.k);
    if (!keep_rows(c, j.targets, c->in[X].rows, j.V, &j.k)) return;
    for (ptrdiff_t at = 0; at < *j.k.count; at += j.stage) stage_forward(&j, at);
    loss_outputs(c, j.targets, &j.k);
}

/* ---- backward ---- */

/* The gradients of a row's logits are its exponentials times this, less the weight at the target.
 * The rows of x times that are packed. */
static void scale_x(job *j)
{
    const lcsm_loss_attr *a = j->c->node->attr;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        real lse    = j->k.lse[j->at + i];
        j->scale[i] = loss_weight(j->c, &j->k, j->at + i) * (1 + 2 * (real)a->z * lse)
                    * R_FN(exp)(j->k.from[j->at + i] - lse);
        kernels_of(j->c)->ew->scale(j->D, j->scale[i], j->x + i * j->D, false,
                                    j->x_scaled + i * j->D);
    }
    if (j->want_w)
        lcsm_parallel_for(j->c->run->pool, (size_t)lcsm_gemm_pieces(j->D, j->n), pack_depth, j);
}

static void whole_item(void *arg, size_t item, int worker)
{
    add_g_w(arg, (ptrdiff_t)item, worker);
}

static void scatter(const job *j)
{
    const lcsm_mat         *g = &j->c->g_in[X], *w = &j->c->in[W];
    const R_(lcsm_kernels) *k = kernels_of(j->c);
    for (ptrdiff_t i = 0; i < j->n; i++) {
        real *row = row_of(g, j->k.row[j->at + i]);
        k->ew->scale(j->D, j->scale[i], j->g_x + i * j->D, g->add, row);
        k->ew->scale(j->D, -loss_weight(j->c, &j->k, j->at + i), row_of(w, target_of(j, i)), true,
                     row);
    }
}

/* What gradients are wanted; those that no row adds to. */
static void begin_back(job *j)
{
    const lcsm_mat *g_x = &j->c->g_in[X], *g_w = &j->c->g_in[W];
    j->want_x = g_x->data != NULL;
    j->want_w = g_w->data != NULL;
    if (j->want_x && !g_x->add) clear_left_out(&j->k, g_x);
    if (j->want_w && !g_w->add && *j->k.count == 0) clear_rows(g_w);
}

static void backward(const lcsm_call *c)
{
    pieces scratch = {.base = c->scratch}, saved = {.base = c->saved};
    job    j = job_of(c, c->node);
    kept_layout(&saved, c->in[X].rows, &j.k);
    layout_backward(&scratch, c->node, false, &j);
    begin_back(&j);
    for (ptrdiff_t at = 0; at < *j.k.count; at += j.stage) {
        begin_stage(&j, at);
        scale_x(&j);
        all_groups(&j);
        if (j.want_x) scatter(&j);
    }
}

static void both(const lcsm_call *c)
{
    pieces scratch = {.base = c->scratch};
    job    j       = job_of(c, c->node);
    layout_backward(&scratch, c->node, true, &j);
    if (!keep_rows(c, j.targets, c->in[X].rows, j.V, &j.k)) return;
    begin_back(&j);
    for (ptrdiff_t at = 0; at < *j.k.count; at += j.stage) {
        stage_forward(&j, at);
        scale_x(&j);
        if (j.want_w) lcsm_parallel_for(c->run->pool, (size_t)j.blocks, whole_item, &j);
        if (j.want_x) scatter(&j);
    }
    loss_outputs(c, j.targets, &j.k);
}

static double flops(const lcsm_node *n)
{
    return 2.0 * (double)lcsm_tensor_count(n->in[X]) * (double)n->in[W]->rows;
}

const lcsm_op R_(lcsm_op_linear_xent) = {
    .name       = "linear_xent",
    .in         = {"x", "w", "#targets"},
    .attr_size  = sizeof(lcsm_loss_attr),
    .shape      = shape,
    .forward    = forward,
    .backward   = backward,
    .both       = both,
    .flops      = flops,
    .bwd_in     = LCSM_BIT(X) | LCSM_BIT(W) | LCSM_BIT(TARGETS),
    .overwrites = LCSM_BIT(X) | LCSM_BIT(W),
    .packed_out = LCSM_BIT(LOSS_ROWS) | LCSM_BIT(LOSS_RIGHT),
    .blocks_in  = LCSM_BIT(W),
    .rounds_in  = LCSM_BIT(X),
};
