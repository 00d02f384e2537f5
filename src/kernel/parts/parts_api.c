/*
 * parts_api.c - parts of layers on arrays of the caller, one after the other.
 *
 * Each kind is a row of KINDS: what it needs, and how it computes a range of its rows. Ranges are
 * independent, so threads share them; a product and the operator share their work themselves.
 */
#include <lcsm/parts.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "kernel/context.h"
#include "kernel/gemm/gemm_drive.h"

/* Numbers of a range, below which a second thread is not worth it; of a stretch on the stack. */
enum { RANGE = 1 << 14, STRETCH = 256 };

typedef struct {
    const lcsm_kernels_f32 *k;
    const lcsm_part        *p;
    ptrdiff_t               range; /* rows */
    float                  *ws;
    size_t                  ws_size; /* of a worker */
} job;

static const lcsm_act FUNCTIONS[] = {
    [LCSM_PART_SAME]      = LCSM_ACT_NONE,
    [LCSM_PART_SILU]      = LCSM_ACT_SILU,
    [LCSM_PART_SIGMOID]   = LCSM_ACT_SIGMOID,
    [LCSM_PART_SOFTPLUS]  = LCSM_ACT_SOFTPLUS,
    [LCSM_PART_EXP]       = LCSM_ACT_EXP,
    [LCSM_PART_GELU]      = LCSM_ACT_GELU,
    [LCSM_PART_REST]      = LCSM_ACT_EXP,
    [LCSM_PART_GELU_TANH] = LCSM_ACT_SIGMOID, /* of another number: gelu_tanh */
};

static ptrdiff_t heads_of(const lcsm_part *p)
{
    return p->heads > 0 ? p->heads : 1;
}

static ptrdiff_t width_of(const lcsm_part *p)
{
    return heads_of(p) * p->in;
}

static ptrdiff_t row_or(ptrdiff_t row, ptrdiff_t packed)
{
    return row != 0 ? row : packed;
}

/* ---- functions ---- */

/* x Phi(x) is nearly x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)). */
static void gelu_tanh(const lcsm_kernels_f32 *k, ptrdiff_t n, const float *x, float *y)
{
    float t[STRETCH];
    for (ptrdiff_t at = 0; at < n; at += STRETCH) {
        ptrdiff_t m = n - at < STRETCH ? n - at : STRETCH;
        for (ptrdiff_t j = 0; j < m; j++)
            t[j] = 1.59576912f * (x[at + j] + 0.044715f * x[at + j] * x[at + j] * x[at + j]);
        k->activations[LCSM_ACT_SIGMOID].fwd(m, 1, t, t);
        k->ew->mul(m, x + at, t, false, y + at);
    }
}

/* sqrt(1 - exp(2 x)), where exp is not above 1 */
static void rest(const lcsm_kernels_f32 *k, ptrdiff_t n, const float *x, float *y)
{
    k->ew->scale(n, 2, x, false, y);
    k->activations[LCSM_ACT_EXP].fwd(n, 1, y, y);
    for (ptrdiff_t j = 0; j < n; j++) y[j] = y[j] < 1 ? sqrtf(1 - y[j]) : 0;
}

static void map_row(const job *j, ptrdiff_t n, float scale, const float *x, float *y)
{
    lcsm_part_function f = j->p->function;
    if (f == LCSM_PART_GELU_TANH) gelu_tanh(j->k, n, x, y);
    else if (f == LCSM_PART_REST) rest(j->k, n, x, y);
    else j->k->activations[FUNCTIONS[f]].fwd(n, scale, x, y);
    if (scale != 1 && (f == LCSM_PART_GELU_TANH || f == LCSM_PART_REST))
        j->k->ew->scale(n, scale, y, false, y);
}

/* ---- kinds, by rows r .. end - 1 ---- */

static const float *x_at(const lcsm_part *p, ptrdiff_t r)
{
    return p->x + r * row_or(p->x_row, width_of(p));
}

static float *y_at(const lcsm_part *p, ptrdiff_t r)
{
    return p->y + r * row_or(p->y_row, width_of(p));
}

static void map(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p = j->p;
    ptrdiff_t        n = width_of(p);
    (void)ws;
    for (; r < end; r++) {
        const float *x = x_at(p, r);
        if (p->b != NULL) j->k->ew->add(n, x, p->b, y_at(p, r));
        map_row(j, n, (float)p->scale, p->b != NULL ? y_at(p, r) : x, y_at(p, r));
    }
}

/* A stretch of f(z) x, for functions that are not kernels. */
static void glu_stretch(const job *j, ptrdiff_t n, const float *z, const float *x, float *y)
{
    float t[STRETCH];
    for (ptrdiff_t at = 0; at < n; at += STRETCH) {
        ptrdiff_t m = n - at < STRETCH ? n - at : STRETCH;
        map_row(j, m, 1, z + at, t);
        j->k->ew->mul(m, x + at, t, false, y + at);
    }
}

static void glu(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p     = j->p;
    ptrdiff_t        n     = width_of(p);
    bool             plain = p->function < LCSM_PART_GELU_TANH;
    (void)ws;
    for (; r < end; r++) {
        const float *z = p->z + r * row_or(p->z_row, n);
        if (plain) j->k->activations[FUNCTIONS[p->function]].glu_fwd(n, z, x_at(p, r), y_at(p, r));
        else glu_stretch(j, n, z, x_at(p, r), y_at(p, r));
    }
}

static void scale(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    (void)ws;
    for (; r < end; r++)
        j->k->ew->mul(width_of(j->p), x_at(j->p, r), j->p->w, j->p->add != 0, y_at(j->p, r));
}

static void spread(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p = j->p;
    ptrdiff_t        H = heads_of(p), share = p->shared > 0 ? p->shared : 1, n = p->in;
    (void)ws;
    for (; r < end; r++) {
        const float *x = p->x + r * row_or(p->x_row, H / share * n);
        const float *z = p->z != NULL ? p->z + r * row_or(p->z_row, H) : p->w;
        for (ptrdiff_t h = 0; h < H; h++)
            j->k->ew->scale(n, z[h], x + h / share * n, p->add != 0, y_at(p, r) + h * n);
    }
}

/* y = (shift + w) y, w NULL for 0. */
static void weigh(const lcsm_part *p, float *y)
{
    float shift = (float)p->shift;
    for (ptrdiff_t h = 0; h < heads_of(p); h++) {
        const float *w = p->w + (p->own != 0 ? h * p->in : 0);
        float       *v = y + h * p->in;
        for (ptrdiff_t i = 0; i < p->in; i++) v[i] *= shift + w[i];
    }
}

static void norm(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p = j->p;
    bool          unit = p->kind == LCSM_PART_UNIT, later = !unit && p->w != NULL && p->shift != 0;
    lcsm_norm_f32 n = {.kind   = unit ? LCSM_NORM_L2 : LCSM_NORM_RMS,
                       .eps    = (float)p->eps,
                       .rows   = end - r,
                       .H      = heads_of(p),
                       .D      = p->in,
                       .x_row  = row_or(p->x_row, width_of(p)),
                       .y_row  = row_or(p->y_row, width_of(p)),
                       .w_head = p->own != 0 ? p->in : 0,
                       .w      = unit || later ? NULL : p->w};
    (void)ws;
    j->k->norm->fwd(&n, x_at(p, r), y_at(p, r));
    for (; later && r < end; r++) weigh(p, y_at(p, r));
}

/* One step: what is held moves on by one, and the filter sees its end. */
static void conv_step(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p = j->p;
    ptrdiff_t        S = p->held, W = p->taps;
    (void)ws;
    for (; r < end; r++) {
        const float *x = x_at(p, r);
        float       *y = y_at(p, r), *s = p->state + r * p->in * S;
        for (ptrdiff_t d = 0; d < p->in; d++, s += S) {
            const float *w   = p->w + d * W;
            float        sum = (p->b == NULL ? 0 : p->b[d]) + w[W - 1] * x[d];
            for (ptrdiff_t i = 1; i < W; i++) sum += w[W - 1 - i] * s[S - i];
            for (ptrdiff_t i = 1; i < S; i++) s[i - 1] = s[i];
            if (S > 0) s[S - 1] = x[d];
            y[d] = sum;
        }
        if (p->function != LCSM_PART_SAME) map_row(j, p->in, 1, y, y);
    }
}

static void conv(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p    = j->p;
    bool             silu = p->function == LCSM_PART_SILU;
    lcsm_conv_f32    c    = {.T    = p->steps,
                             .D    = p->in,
                             .W    = p->taps,
                             .w    = p->w,
                             .b    = p->b,
                             .x_t  = row_or(p->x_row, p->in),
                             .w_d  = p->taps,
                             .silu = silu};
    if (p->state != NULL) {
        conv_step(j, r, end, ws);
        return;
    }
    while (r < end) {
        ptrdiff_t first = r / p->steps * p->steps;
        ptrdiff_t last  = first + p->steps < end ? first + p->steps : end;
        c.x             = x_at(p, first);
        j->k->conv->fwd(&c, r - first, last - first, y_at(p, first), row_or(p->y_row, p->in), ws);
        for (; r < last; r++)
            if (!silu && p->function != LCSM_PART_SAME)
                map_row(j, p->in, 1, y_at(p, r), y_at(p, r));
    }
}

/* ---- kinds that share their work themselves ---- */

static lcsm_gemm_f32 product_of(const lcsm_part *p, ptrdiff_t h)
{
    ptrdiff_t H = heads_of(p);
    return (lcsm_gemm_f32){.tb    = p->turned == 0,
                           .add   = p->z != NULL && p->function == LCSM_PART_SAME,
                           .M     = p->rows,
                           .N     = p->out,
                           .K     = p->in,
                           .alpha = 1,
                           .A     = p->x + h * p->in,
                           .B     = p->w + h * p->in * p->out,
                           .C     = p->y + h * p->out,
                           .lda   = row_or(p->x_row, H * p->in),
                           .ldb   = p->turned == 0 ? p->in : p->out,
                           .ldc   = row_or(p->y_row, H * p->out)};
}

/* Before the product: z where it is only added to. */
static void linear_begin(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p = j->p;
    ptrdiff_t        n = heads_of(p) * p->out;
    (void)ws;
    for (; r < end; r++)
        memcpy(p->y + r * row_or(p->y_row, n), p->z + r * row_or(p->z_row, n),
               (size_t)n * sizeof *p->y);
}

static void linear_end(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws)
{
    const lcsm_part *p = j->p;
    ptrdiff_t        n = heads_of(p) * p->out;
    (void)ws;
    for (; r < end; r++) {
        float *y = p->y + r * row_or(p->y_row, n);
        if (p->b != NULL) j->k->ew->add(n, y, p->b, y);
        if (p->function == LCSM_PART_SAME) continue;
        map_row(j, n, 1, y, y);
        if (p->z != NULL) j->k->ew->add(n, y, p->z + r * row_or(p->z_row, n), y);
    }
}

typedef void range_fn(const job *j, ptrdiff_t r, ptrdiff_t end, float *ws);

typedef struct {
    job       j;
    range_fn *run;
} shared;

static void one_range(void *arg, size_t item, int worker)
{
    const shared *s     = arg;
    ptrdiff_t     first = (ptrdiff_t)item * s->j.range, rows = s->j.p->rows;
    s->run(&s->j, first, first + s->j.range < rows ? first + s->j.range : rows,
           s->j.ws + (size_t)worker * s->j.ws_size);
}

static void by_ranges(lcsm_pool *pool, const job *j, range_fn *run)
{
    shared    s     = {*j, run};
    ptrdiff_t wide  = width_of(j->p) + heads_of(j->p) * j->p->out;
    ptrdiff_t range = wide < RANGE ? RANGE / (wide + 1) + 1 : 1;
    if (j->p->rows <= 0) return;
    s.j.range = range;
    lcsm_parallel_for(pool, (size_t)((j->p->rows - 1) / range + 1), one_range, &s);
}

static lcsm_status linear(lcsm_pool *pool, const job *j, lcsm_error *err)
{
    const lcsm_part *p = j->p;
    (void)err;
    if (p->z != NULL && p->function == LCSM_PART_SAME) by_ranges(pool, j, linear_begin);
    for (ptrdiff_t h = 0; h < heads_of(p); h++) {
        lcsm_gemm_f32 x = product_of(p, h);
        lcsm_gemm_parallel_f32(pool, j->k, &x, j->ws);
    }
    if (p->b != NULL || p->function != LCSM_PART_SAME) by_ranges(pool, j, linear_end);
    return LCSM_OK;
}

static lcsm_status rates(lcsm_pool *pool, const job *j, lcsm_error *err)
{
    const lcsm_part *p     = j->p;
    size_t           bytes = (size_t)(p->rows * p->in) * sizeof *p->x;
    float            t[STRETCH];
    (void)pool;
    (void)err;
    if (bytes == 0 || memcmp(p->state, p->x, bytes) == 0) return LCSM_OK;
    memcpy(p->state, p->x, bytes);
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t at = 0; at < p->in; at += STRETCH) {
            ptrdiff_t m = p->in - at < STRETCH ? p->in - at : STRETCH;
            j->k->activations[LCSM_ACT_EXP].fwd(m, (float)p->scale, p->x + r * p->in + at, t);
            for (ptrdiff_t i = 0; i < m; i++) p->y[(at + i) * p->rows + r] = t[i];
        }
    return LCSM_OK;
}

static lcsm_status eos(lcsm_pool *pool, const job *j, lcsm_error *err)
{
    const lcsm_part *p = j->p;
    (void)pool;
    if (p->steps == 1 && p->state != NULL)
        return lcsm_eos_step(p->eos, p->states, p->state, p->y, j->ws, err);
    return lcsm_eos_forward(p->eos, p->states, p->y, p->state, NULL, j->ws, err);
}

/* ---- the table ---- */

enum { X = 1, W = 2, Z = 4, Y = 8, STATE = 16, OPERATOR = 32 };

typedef struct {
    const char *name;
    unsigned    needs;
    range_fn   *range;
    lcsm_status (*whole)(lcsm_pool *pool, const job *j, lcsm_error *err);
} kind;

static const kind KINDS[] = {
    [LCSM_PART_LINEAR] = {"linear", X | W | Y, NULL, linear},
    [LCSM_PART_CONV]   = {"conv", X | W | Y, conv, NULL},
    [LCSM_PART_NORM]   = {"norm", X | Y, norm, NULL},
    [LCSM_PART_UNIT]   = {"unit", X | Y, norm, NULL},
    [LCSM_PART_MAP]    = {"map", X | Y, map, NULL},
    [LCSM_PART_GLU]    = {"glu", X | Z | Y, glu, NULL},
    [LCSM_PART_SCALE]  = {"scale", X | W | Y, scale, NULL},
    [LCSM_PART_SPREAD] = {"spread", X | Y, spread, NULL},
    [LCSM_PART_RATES]  = {"rates", X | Y | STATE, NULL, rates},
    [LCSM_PART_EOS]    = {"eos", Y | OPERATOR, NULL, eos},
};

/* Reals of a worker. */
static size_t conv_scratch(const lcsm_part *p)
{
    return ((size_t)LCSM_CONV_SCRATCH(p->taps, p->in) + 15) / 16 * 16;
}

static size_t bytes_of(const lcsm_context *ctx, const lcsm_part *p)
{
    int threads = lcsm_pool_threads(ctx->pool);
    switch (p->kind) {
    case LCSM_PART_LINEAR: return lcsm_gemm_bytes_f32(threads, false, p->rows, p->out, p->in);
    case LCSM_PART_CONV: return (size_t)threads * conv_scratch(p) * sizeof(float);
    case LCSM_PART_EOS:
        return p->steps == 1 && p->state != NULL ? lcsm_eos_step_workspace(p->eos)
                                                 : lcsm_eos_forward_workspace(p->eos);
    default: return 0;
    }
}

static bool sizes_fit(const lcsm_part *p)
{
    const ptrdiff_t sizes[] = {p->rows, p->in, p->out, p->heads, p->steps, p->taps, p->held};
    for (size_t j = 0; j < COUNT(sizes); j++)
        if (sizes[j] < 0) return false;
    if (p->kind == LCSM_PART_SPREAD)
        return p->shared >= 0 && heads_of(p) % (p->shared > 0 ? p->shared : 1) == 0;
    if (p->kind != LCSM_PART_CONV) return true;
    if (p->taps < 1 || p->steps < 1 || p->rows % p->steps != 0) return false;
    return p->state == NULL || (p->steps == 1 && p->held >= p->taps - 1);
}

/* Everything that a kind needs is there. */
static bool has_arrays(const lcsm_part *p, unsigned needs)
{
    const void *arrays[] = {p->x, p->w, p->z, p->y, p->state, p->eos};
    for (unsigned j = 0; j < COUNT(arrays); j++)
        if ((needs & 1u << j) != 0 && arrays[j] == NULL) return false;
    if (p->kind == LCSM_PART_SPREAD && p->z == NULL && p->w == NULL) return false;
    return (needs & OPERATOR) == 0 || p->states != NULL;
}

static lcsm_status check(const lcsm_part *p, size_t at, lcsm_error *err)
{
    if (p->size != sizeof *p)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "parts: part %zu has the size %zu; set it to sizeof(lcsm_part)", at,
                         p->size);
    if ((size_t)p->kind >= COUNT(KINDS) || (size_t)p->function >= COUNT(FUNCTIONS))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "parts: part %zu is of no known kind or function",
                         at);
    const char *name = KINDS[p->kind].name;
    if (!sizes_fit(p))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "parts: the sizes of part %zu, %s, do not fit each other", at, name);
    if (p->rows > 0 && !has_arrays(p, KINDS[p->kind].needs))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "parts: an array of part %zu, %s, is NULL", at,
                         name);
    return LCSM_OK;
}

static lcsm_status check_all(const lcsm_context *ctx, const lcsm_part *parts, size_t n,
                             lcsm_error *err)
{
    if (ctx == NULL || (n > 0 && parts == NULL))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "parts: %s is NULL",
                         ctx == NULL ? "ctx" : "the list");
    for (size_t j = 0; j < n; j++) LCSM_OR_RETURN(check(&parts[j], j, err));
    return LCSM_OK;
}

lcsm_status lcsm_parts_workspace(const lcsm_context *ctx, const lcsm_part *parts, size_t n,
                                 size_t *bytes, lcsm_error *err)
{
    if (bytes == NULL) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "parts: bytes is NULL");
    *bytes = 0;
    LCSM_OR_RETURN(check_all(ctx, parts, n, err));
    for (size_t j = 0; j < n; j++) {
        size_t own = bytes_of(ctx, &parts[j]);
        if (own > *bytes) *bytes = own;
    }
    return LCSM_OK;
}

lcsm_status lcsm_parts_run(const lcsm_context *ctx, const lcsm_part *parts, size_t n,
                           void *workspace, lcsm_error *err)
{
    LCSM_OR_RETURN(check_all(ctx, parts, n, err));
    for (size_t j = 0; j < n; j++) {
        const lcsm_part *p   = &parts[j];
        job              own = {.k = ctx->f32, .p = p, .ws = workspace};
        if (bytes_of(ctx, p) > 0 && (workspace == NULL || (uintptr_t)workspace % LCSM_ALIGN != 0))
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "parts: the workspace is %s; expected lcsm_parts_workspace bytes, "
                             "aligned to %zu",
                             workspace == NULL ? "NULL" : "not aligned", LCSM_ALIGN);
        if (p->kind == LCSM_PART_CONV) own.ws_size = conv_scratch(p);
        if (p->rows == 0) continue;
        if (KINDS[p->kind].range != NULL) by_ranges(ctx->pool, &own, KINDS[p->kind].range);
        else LCSM_OR_RETURN(KINDS[p->kind].whole(ctx->pool, &own, err));
    }
    return LCSM_OK;
}
