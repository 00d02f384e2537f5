/*
 * eos_check.c - proves the EOS operator on this machine, for every operand form of eos_case.c:
 *
 *   gradient   backward of the reference against finite differences, in double
 *   forms      every form that serves the operands against the reference
 *   split      a sequence cut anywhere, memory and its gradient carried, against the whole
 *   extremes   decays 0, 1e-30 and 1, inputs of 1e4: finite and equal
 *   long       a million steps (ten thousand in the short setting), inputs of 1e4: the same
 */
#include <lcsm/check.h>

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/sized.h"
#include "check/eos_case.h"
#include "check/verdict.h"

/* Bounds. Finite differences of fourth order with step 1e-3 are good to about 1e-11; forms in
 * double differ by sums in another order. Float has the bound of verdict.h. */
#define GRADIENT_BOUND 1e-7
#define DOUBLE_BOUND   1e-12

typedef struct {
    const lcsm_context       *ctx;
    lcsm_context             *reference; /* the plain kernels on one thread */
    const lcsm_check_options *options;
    lcsm_check_sink          *sink;
    void                     *user;
} checker;

typedef lcsm_status runner(const lcsm_context *ctx, const lcsm_eos_problem *p, lcsm_eos_form form,
                           ptrdiff_t chunk, bool grads, lcsm_eos_result *r, lcsm_error *err);

static const lcsm_eos_form FORMS[] = {LCSM_FORM_RECURRENT, LCSM_FORM_CHUNKED, LCSM_FORM_DELTA,
                                      LCSM_FORM_SCAN, LCSM_FORM_CONVOLUTION};

/* What results are held against: double, and what float32 of the plain kernels has of it. */
typedef struct {
    lcsm_eos_result want, plain;
    double          term[EOS_OPERANDS]; /* sizes of the sums behind gradients */
} standard;

static void note(lcsm_measure *slot, lcsm_measure found, lcsm_verdict *v, const char *what,
                 const char *where)
{
    if (lcsm_measure_note(slot, found))
        (void)snprintf(v->detail, sizeof v->detail, "worst: %s, %s", what, where);
}

static void emit(const checker *c, const char *group, const char *name, const char *precision,
                 const lcsm_verdict *v)
{
    lcsm_verdict_emit(v, group, name, precision, c->sink, c->user);
}

static lcsm_status standard_make(const checker *c, const lcsm_eos_case *k,
                                 const lcsm_eos_problem *p, standard *s, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    *s             = (standard){0};
    LCSM_OR_RETURN(lcsm_eos_result_make(&s->want, p, err));
    LCSM_OR_RETURN(lcsm_eos_result_make(&s->plain, p, err));
    LCSM_OR_RETURN(lcsm_eos_case_run_f64(c->ctx, p, LCSM_FORM_RECURRENT, 0, true, &s->want, err));
    LCSM_OR_RETURN(
        lcsm_eos_case_run_f32(c->reference, p, LCSM_FORM_RECURRENT, 0, true, &s->plain, err));
    LCSM_OR_RETURN(lcsm_eos_term_sizes(c->ctx, k, p, s->term, err));
    return st;
}

static void standard_free(standard *s)
{
    lcsm_eos_result_free(&s->want);
    lcsm_eos_result_free(&s->plain);
}

/* A rounded o of modulus 1 turns by up to half an ulp too much or too little at each step, and
 * nothing forgets it: T steps of a complex memory may add T half ulps, here in units of the bound
 * in double. */
static double drift(const lcsm_eos_problem *p)
{
    return p->plan.is_complex ? 1 + (double)p->plan.T * 0x1p-53 / DOUBLE_BOUND : 1;
}

/* got, in float or in double, against want; plain as far as float is asked. */
static lcsm_measure measure(const lcsm_eos_problem *p, bool in_float, const double *got,
                            const double *want, const double *plain, size_t n, double beside)
{
    double error = lcsm_error_beside(got, want, n, beside);
    if (in_float) return lcsm_measure_float(error, lcsm_error_beside(plain, want, n, beside));
    return lcsm_measure_fixed(error, DOUBLE_BOUND * drift(p));
}

static void compare(const lcsm_eos_problem *p, bool in_float, const lcsm_eos_result *got,
                    const standard *s, lcsm_verdict *v, const char *where)
{
    const lcsm_eos_result *want = &s->want, *plain = &s->plain;
    note(&v->output, measure(p, in_float, got->y, want->y, plain->y, p->y_size, 0), v, "y", where);
    note(&v->output, measure(p, in_float, got->m_T, want->m_T, plain->m_T, p->m_size, 0), v, "m_T",
         where);
    if (p->m0 != NULL)
        note(&v->gradient, measure(p, in_float, got->g_m0, want->g_m0, plain->g_m0, p->m_size, 0),
             v, "g_m0", where);
    for (int j = 0; j < EOS_OPERANDS; j++)
        note(&v->gradient,
             measure(p, in_float, got->grad[j], want->grad[j], plain->grad[j], p->size[j],
                     s->term[j]),
             v, lcsm_eos_operand_name(j), where);
}

/* ---- gradients -------------------------------------------------------------------------- */

/* dL/dh of x + h v at h = 0, fourth order. */
static lcsm_status difference(const checker *c, lcsm_eos_problem *p, double *x, size_t n,
                              const double *v, lcsm_eos_result *r, double *out, lcsm_error *err)
{
    static const double at[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
    const double        h = 1e-3;
    *out                  = 0;
    for (size_t a = 0; a < COUNT(at); a++) {
        for (size_t j = 0; j < n; j++) x[j] += at[a] * h * v[j];
        lcsm_status st = lcsm_eos_case_run_f64(c->ctx, p, LCSM_FORM_RECURRENT, 4, false, r, err);
        for (size_t j = 0; j < n; j++) x[j] -= at[a] * h * v[j];
        if (st != LCSM_OK) return st;
        *out += weight[a] * lcsm_eos_loss(p, r) / (12 * h);
    }
    return LCSM_OK;
}

/* Compares along random directions and along single entries: direction 0, 1 random, then axes. */
static lcsm_status check_operand(const checker *c, lcsm_eos_problem *p, double *x, const double *g,
                                 size_t n, const char *name, lcsm_eos_result *r, lcsm_verdict *w,
                                 lcsm_error *err)
{
    enum { DIRECTIONS = 5, MOST = 4096 };
    double v[MOST];
    if (n == 0) return LCSM_OK;
    double size = fmax(1e-4 * fabs(lcsm_eos_loss(p, r)), DBL_MIN); /* below it: only noise */
    for (size_t j = 0; j < n; j++) size = fmax(size, fabs(g[j]));
    for (unsigned way = 0; way < DIRECTIONS; way++) {
        double expected = 0, found, norm = 0;
        size_t one = (size_t)(lcsm_rng_uniform(7, 200 + way, n) * (double)n);
        for (size_t j = 0; j < n; j++) {
            v[j] = way < 2 ? 2 * lcsm_rng_uniform(7, 200 + way, j) - 1 : (double)(j == one);
            expected += g[j] * v[j];
            norm += v[j] * v[j];
        }
        lcsm_status st = difference(c, p, x, n, v, r, &found, err);
        if (st != LCSM_OK) return st;
        double error = fabs(found - expected) / (size * sqrt(norm));
        note(&w->gradient, lcsm_measure_fixed(error, GRADIENT_BOUND), w, name,
             way < 2 ? "a random direction" : "a single entry");
    }
    return LCSM_OK;
}

static lcsm_status check_gradient(const checker *c, const lcsm_eos_case *k, lcsm_eos_sizes n,
                                  const lcsm_eos_setting *set, lcsm_verdict *w, lcsm_error *err)
{
    lcsm_eos_problem p = {0};
    lcsm_eos_result  r = {0}, scratch = {0};
    lcsm_status      st;
    LCSM_TRY(lcsm_eos_problem_make(&p, k, n, set, err));
    LCSM_TRY(lcsm_eos_result_make(&r, &p, err));
    LCSM_TRY(lcsm_eos_result_make(&scratch, &p, err));
    LCSM_TRY(lcsm_eos_case_run_f64(c->ctx, &p, LCSM_FORM_RECURRENT, 2, true, &r, err));
    LCSM_TRY(lcsm_eos_case_run_f64(c->ctx, &p, LCSM_FORM_RECURRENT, 2, false, &scratch, err));
    for (int j = 0; j < EOS_OPERANDS; j++)
        LCSM_TRY(check_operand(c, &p, p.operand[j], r.grad[j], p.size[j], lcsm_eos_operand_name(j),
                               &scratch, w, err));
    if (p.m0 != NULL)
        LCSM_TRY(check_operand(c, &p, p.m0, r.g_m0, p.m_size, "m0", &scratch, w, err));
cleanup:
    lcsm_eos_problem_free(&p);
    lcsm_eos_result_free(&r);
    lcsm_eos_result_free(&scratch);
    return st;
}

/* ---- forms ------------------------------------------------------------------------------ */

static bool serves(const lcsm_eos_problem *p, lcsm_eos_form form)
{
    lcsm_eos_plan plan;
    lcsm_eos_desc desc = p->desc;
    desc.form          = form;
    return lcsm_eos_plan_make(&plan, NULL, &desc, NULL) == LCSM_OK;
}

/* One form with one chunk, in double and in float. */
static lcsm_status check_form(const checker *c, const lcsm_eos_problem *p, lcsm_eos_form form,
                              ptrdiff_t chunk, const standard *s, lcsm_eos_result *got,
                              const char *where, lcsm_verdict verdict[2], lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_eos_case_run_f64(c->ctx, p, form, chunk, true, got, err));
    compare(p, false, got, s, &verdict[0], where);
    LCSM_OR_RETURN(lcsm_eos_case_run_f32(c->ctx, p, form, chunk, true, got, err));
    compare(p, true, got, s, &verdict[1], where);
    return st;
}

static lcsm_status check_forms(const checker *c, const lcsm_eos_case *k, lcsm_eos_sizes n,
                               const lcsm_eos_setting *set, lcsm_verdict verdict[2],
                               lcsm_error *err)
{
    static const ptrdiff_t chunks[] = {0, 1, 5};
    lcsm_eos_problem       p        = {0};
    standard               s        = {0};
    lcsm_eos_result        got      = {0};
    lcsm_status            st;
    char                   where[160];
    LCSM_TRY(lcsm_eos_problem_make(&p, k, n, set, err));
    LCSM_TRY(standard_make(c, k, &p, &s, err));
    LCSM_TRY(lcsm_eos_result_make(&got, &p, err));
    for (size_t f = 0; f < COUNT(FORMS); f++) {
        if (!serves(&p, FORMS[f])) continue;
        for (size_t j = 0; j < COUNT(chunks); j++) {
            if (chunks[j] != 0 && n.K * n.D > 64) continue; /* short cells: small shapes only */
            snprintf(where, sizeof where, "%s, chunk %td, T%td K%td D%td%s%s",
                     lcsm_eos_form_name(FORMS[f]), chunks[j], n.T, n.K, n.D,
                     set->reset ? " reset" : "", set->reverse ? " reverse" : "");
            LCSM_TRY(check_form(c, &p, FORMS[f], chunks[j], &s, &got, where, verdict, err));
        }
    }
cleanup:
    lcsm_eos_problem_free(&p);
    standard_free(&s);
    lcsm_eos_result_free(&got);
    return st;
}

/* ---- splits ----------------------------------------------------------------------------- */

/* Steps t0 .. t0 + T - 1 of a problem as one of its own: per-token arrays are copied per sequence.
 */
static lcsm_status part_of(lcsm_eos_problem *part, const lcsm_eos_case *k,
                           const lcsm_eos_problem *whole, ptrdiff_t t0, ptrdiff_t T,
                           const lcsm_eos_setting *set, lcsm_error *err)
{
    const lcsm_eos_plan *p  = &whole->plan;
    lcsm_eos_sizes       n  = {p->B, T, p->H, p->K, p->D};
    lcsm_status          st = lcsm_eos_problem_make(part, k, n, set, err);
    if (st != LCSM_OK) return st;
    for (int j = 0; j < EOS_OPERANDS; j++) {
        size_t row = (size_t)(p->operand[j].inner * p->operand[j].heads);
        if (whole->size[j] == 0) continue;
        if (!lcsm_eos_has(p, j, LCSM_AXIS_T)) {
            memcpy(part->operand[j], whole->operand[j], part->size[j] * sizeof(double));
            continue;
        }
        for (ptrdiff_t b = 0; b < p->B; b++)
            memcpy(part->operand[j] + (size_t)(b * T) * row,
                   whole->operand[j] + (size_t)(b * p->T + t0) * row,
                   (size_t)T * row * sizeof(double));
    }
    size_t row = (size_t)(p->H * lcsm_eos_y_width(p));
    for (ptrdiff_t b = 0; b < p->B; b++) {
        memcpy(part->g_y + (size_t)(b * T) * row, whole->g_y + (size_t)(b * p->T + t0) * row,
               (size_t)T * row * sizeof(double));
        if (part->reset != NULL)
            memcpy(part->reset + b * T, whole->reset + b * p->T + t0,
                   (size_t)T * sizeof *part->reset);
    }
    return LCSM_OK;
}

/* Adds the results of a part to where they belong in the whole. */
static void merge(const lcsm_eos_problem *whole, const lcsm_eos_problem *part,
                  const lcsm_eos_result *r, ptrdiff_t t0, lcsm_eos_result *out)
{
    const lcsm_eos_plan *p = &whole->plan;
    ptrdiff_t            T = part->plan.T;
    size_t               y = (size_t)(p->H * lcsm_eos_y_width(p));
    for (ptrdiff_t b = 0; b < p->B; b++)
        memcpy(out->y + (size_t)(b * p->T + t0) * y, r->y + (size_t)(b * T) * y,
               (size_t)T * y * sizeof(double));
    for (int j = 0; j < EOS_OPERANDS; j++) {
        size_t row   = (size_t)(p->operand[j].inner * p->operand[j].heads);
        bool   token = lcsm_eos_has(p, j, LCSM_AXIS_T);
        for (size_t a = 0; a < part->size[j]; a++) {
            size_t b = token ? a / (row * (size_t)T) : 0, rest = token ? a % (row * (size_t)T) : a;
            out->grad[j][token ? (b * (size_t)p->T + (size_t)t0) * row + rest : a] += r->grad[j][a];
        }
    }
}

/* Both parts forward, then backward from the last, memory and gradient carried. */
static lcsm_status run_split(const checker *c, const lcsm_eos_case *k,
                             const lcsm_eos_problem *whole, const lcsm_eos_setting *set,
                             ptrdiff_t cut, runner *run, lcsm_eos_form form, lcsm_eos_result *out,
                             lcsm_error *err)
{
    lcsm_eos_problem a = {0}, b = {0};
    lcsm_eos_result  ra = {0}, rb = {0};
    lcsm_status      st;
    size_t           m = whole->m_size * sizeof(double);
    LCSM_TRY(part_of(&a, k, whole, 0, cut, set, err));
    LCSM_TRY(part_of(&b, k, whole, cut, whole->plan.T - cut, set, err));
    LCSM_TRY(lcsm_eos_result_make(&ra, &a, err));
    LCSM_TRY(lcsm_eos_result_make(&rb, &b, err));
    memcpy(a.m0, whole->m0, m);
    memcpy(b.g_m_T, whole->g_m_T, m);
    LCSM_TRY(run(c->ctx, &a, form, 0, false, &ra, err));
    memcpy(b.m0, ra.m_T, m);
    LCSM_TRY(run(c->ctx, &b, form, 0, true, &rb, err));
    memcpy(a.g_m_T, rb.g_m0, m);
    LCSM_TRY(run(c->ctx, &a, form, 0, true, &ra, err));
    merge(whole, &a, &ra, 0, out);
    merge(whole, &b, &rb, cut, out);
    memcpy(out->m_T, rb.m_T, m);
    memcpy(out->g_m0, ra.g_m0, m);
cleanup:
    lcsm_eos_problem_free(&a);
    lcsm_eos_problem_free(&b);
    lcsm_eos_result_free(&ra);
    lcsm_eos_result_free(&rb);
    return st;
}

static lcsm_status check_split(const checker *c, const lcsm_eos_case *k, lcsm_eos_sizes n,
                               const lcsm_eos_setting *set, runner *run, lcsm_verdict *v,
                               lcsm_error *err)
{
    lcsm_eos_problem p = {0};
    standard         s = {0};
    lcsm_status      st;
    LCSM_TRY(lcsm_eos_problem_make(&p, k, n, set, err));
    LCSM_TRY(standard_make(c, k, &p, &s, err));
    const ptrdiff_t every = 1 + n.T / 7;
    for (ptrdiff_t cut = 0; cut <= n.T; cut += every) {
        lcsm_eos_result got = {0};
        char            where[80];
        LCSM_TRY(lcsm_eos_result_make(&got, &p, err));
        st = run_split(c, k, &p, set, cut, run, LCSM_FORM_AUTO, &got, err);
        snprintf(where, sizeof where, "cut at %td of %td", cut, n.T);
        if (st == LCSM_OK) compare(&p, run == lcsm_eos_case_run_f32, &got, &s, v, where);
        lcsm_eos_result_free(&got);
        if (st != LCSM_OK) break;
    }
cleanup:
    lcsm_eos_problem_free(&p);
    standard_free(&s);
    return st;
}

/* ---- extremes --------------------------------------------------------------------------- */

/* Decays of 0, 1e-30, 1e-8 and 1 mixed at random into the factors; inputs of 1e4. */
static void make_extreme(lcsm_eos_problem *p)
{
    const double values[] = {-INFINITY, log(1e-30), log(1e-8), 0, 0, 0, -0.01, -0.1};
    const size_t kinds    = COUNT(values);
    for (int j = EOS_row; j <= EOS_full; j++)
        for (size_t a = 0; a < p->size[j]; a++) {
            double pick      = lcsm_rng_uniform(11, (uint32_t)j, a) * (double)kinds;
            p->operand[j][a] = (double)(float)values[(size_t)pick];
        }
}

/* The delta rule of a model: what is erased is what lies along e_t, so I - e_t b_t^T shrinks. With
 * unrelated e and b the memory grows at every step, and in a million beyond every number. */
static void make_contraction(lcsm_eos_problem *p)
{
    if (p->size[EOS_erase] > 0 && p->size[EOS_erase] == p->size[EOS_e])
        memcpy(p->operand[EOS_erase], p->operand[EOS_e], p->size[EOS_e] * sizeof(double));
    lcsm_eos_problem_calm(p);
}

static lcsm_status check_extreme(const checker *c, const lcsm_eos_case *k, lcsm_eos_sizes n,
                                 bool extreme, lcsm_verdict *v, lcsm_error *err)
{
    lcsm_eos_setting set = {.carry = true, .magnitude = 1e4, .seed = 5};
    lcsm_eos_problem p   = {0};
    standard         s   = {0};
    lcsm_eos_result  got = {0};
    lcsm_status      st;
    LCSM_TRY(lcsm_eos_problem_make(&p, k, n, &set, err));
    if (extreme) make_extreme(&p);
    else make_contraction(&p);
    LCSM_TRY(standard_make(c, k, &p, &s, err));
    LCSM_TRY(lcsm_eos_result_make(&got, &p, err));
    for (size_t f = 0; f < COUNT(FORMS); f++) {
        if (!serves(&p, FORMS[f])) continue;
        LCSM_TRY(lcsm_eos_case_run_f32(c->ctx, &p, FORMS[f], 0, true, &got, err));
        compare(&p, true, &got, &s, v, lcsm_eos_form_name(FORMS[f]));
    }
cleanup:
    lcsm_eos_problem_free(&p);
    standard_free(&s);
    lcsm_eos_result_free(&got);
    return st;
}

/* ---- one case --------------------------------------------------------------------------- */

static const lcsm_eos_sizes SMALL[]  = {{2, 3, 2, 2, 3}, {1, 1, 1, 1, 1}, {2, 5, 1, 4, 2}};
static const lcsm_eos_sizes SHAPES[] = {
    {2, 37, 2, 5, 9}, {1, 1, 2, 1, 17}, {0, 4, 1, 2, 3}, {2, 0, 1, 2, 3}, {1, 65, 1, 17, 5}};
static const lcsm_eos_sizes LARGE[] = {
    {2, 257, 2, 33, 65}, {1, 4097, 1, 9, 17}, {3, 64, 3, 64, 16}, {1, 100, 1, 65, 129}};

static lcsm_status check_all_gradients(const checker *c, const lcsm_eos_case *k, lcsm_error *err)
{
    lcsm_verdict w  = LCSM_NO_VERDICT;
    lcsm_status  st = LCSM_OK;
    for (size_t j = 0; j < COUNT(SMALL) && st == LCSM_OK; j++)
        for (int v = 0; v < 3 && st == LCSM_OK; v++)
            st = check_gradient(
                c, k, SMALL[j],
                &(lcsm_eos_setting){
                    .carry = v > 0, .reset = v == 2, .reverse = v == 2, .seed = 1 + j},
                &w, err);
    if (st == LCSM_OK) emit(c, "gradient", k->name, "double", &w);
    return st;
}

static lcsm_status check_all_forms(const checker *c, const lcsm_eos_case *k, lcsm_error *err)
{
    lcsm_verdict both[2] = {LCSM_NO_VERDICT, LCSM_NO_VERDICT};
    lcsm_status  st      = LCSM_OK;
    size_t       count   = COUNT(SHAPES) + (c->options->full ? COUNT(LARGE) : 0);
    for (size_t j = 0; j < count && st == LCSM_OK; j++)
        for (int v = 0; v < 3 && st == LCSM_OK; v++)
            st = check_forms(c, k, j < COUNT(SHAPES) ? SHAPES[j] : LARGE[j - COUNT(SHAPES)],
                             &(lcsm_eos_setting){
                                 .carry = v > 0, .reset = v == 1, .reverse = v == 2, .seed = 3 + j},
                             both, err);
    if (st != LCSM_OK) return st;
    emit(c, "forms", k->name, "double", &both[0]);
    emit(c, "forms", k->name, "float", &both[1]);
    return st;
}

static lcsm_status check_all_splits(const checker *c, const lcsm_eos_case *k, lcsm_error *err)
{
    lcsm_eos_setting set = {.carry = true, .seed = 9};
    lcsm_eos_sizes   n   = {2, c->options->full ? 131 : 45, 2, 9, 19};
    lcsm_verdict     d = LCSM_NO_VERDICT, f = LCSM_NO_VERDICT;
    lcsm_status      st = check_split(c, k, n, &set, lcsm_eos_case_run_f64, &d, err);
    if (st == LCSM_OK) st = check_split(c, k, n, &set, lcsm_eos_case_run_f32, &f, err);
    if (st != LCSM_OK) return st;
    emit(c, "split", k->name, "double", &d);
    emit(c, "split", k->name, "float", &f);
    return st;
}

static lcsm_status check_all_extremes(const checker *c, const lcsm_eos_case *k, lcsm_error *err)
{
    lcsm_verdict   w  = LCSM_NO_VERDICT;
    lcsm_eos_sizes n  = {1, c->options->full ? 1025 : 129, 1, 9, 17};
    lcsm_status    st = check_extreme(c, k, n, true, &w, err);
    if (st == LCSM_OK) emit(c, "extremes", k->name, "float", &w);
    return st;
}

static lcsm_status check_all_long(const checker *c, const lcsm_eos_case *k, lcsm_error *err)
{
    lcsm_verdict   w  = LCSM_NO_VERDICT;
    lcsm_eos_sizes n  = {1, c->options->full ? 1000000 : 10000, 1, 2, 2};
    lcsm_status    st = check_extreme(c, k, n, false, &w, err);
    if (st == LCSM_OK) emit(c, "long", k->name, "float", &w);
    return st;
}

lcsm_status lcsm_check_eos(const lcsm_context *ctx, const lcsm_check_options *options,
                           lcsm_check_sink *sink, void *user, lcsm_error *err)
{
    static lcsm_status (*const checks[])(const checker *, const lcsm_eos_case *, lcsm_error *) = {
        check_all_gradients, check_all_forms, check_all_splits, check_all_extremes, check_all_long};
    const lcsm_context_options plain = {
        .size = sizeof plain, .isa = LCSM_ISA_REFERENCE, .threads = 1};
    lcsm_check_options own;
    checker            c = {.ctx = ctx, .options = &own, .sink = sink, .user = user};
    lcsm_status        st;
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_check_options, filter, &own, options, err));
    LCSM_TRY(lcsm_context_create(&c.reference, &plain, err));
    for (size_t j = 0; j < LCSM_EOS_CASE_COUNT; j++) {
        const lcsm_eos_case *k = &LCSM_EOS_CASES[j];
        if (c.options->filter != NULL && strstr(k->name, c.options->filter) == NULL) continue;
        for (size_t a = 0; a < COUNT(checks); a++) LCSM_TRY(checks[a](&c, k, err));
    }
cleanup:
    lcsm_context_free(c.reference);
    return st;
}
