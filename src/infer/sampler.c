/*
 * sampler.c - a token from logits.
 *
 * Candidates are ordered by their logit and then by their number, so nothing depends on how they
 * were sorted. Probabilities are sums in double, in that order.
 */
#include <lcsm/generate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "base/sized.h"
#include "infer/sampler.h"

enum { PURPOSE = 0x53414d50 /* "SAMP" */ };

typedef struct {
    double  p; /* a logit, then exp(logit - largest) */
    int32_t token;
} candidate;

struct lcsm_sampler {
    lcsm_sample_options opt;
    size_t              vocab;
    candidate          *list;
};

static lcsm_status check_number(const char *name, double x, double most, lcsm_error *err)
{
    if (x >= 0 && x <= most) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s is %g; expected 0 to %g", name, x, most);
}

lcsm_status lcsm_sampler_create(lcsm_sampler **out, size_t vocab,
                                const lcsm_sample_options *options, lcsm_error *err)
{
    lcsm_sample_options o;
    lcsm_status         st = LCSM_OK;
    *out                   = NULL;
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_sample_options, seed, &o, options, err));
    LCSM_OR_RETURN(check_number("temperature", o.temperature, 100, err));
    LCSM_OR_RETURN(check_number("top_p", o.top_p, 1, err));
    LCSM_OR_RETURN(check_number("min_p", o.min_p, 1, err));
    LCSM_OR_RETURN(check_number("repeat_penalty", o.repeat_penalty, 100, err));
    if (vocab == 0 || vocab > INT32_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a vocabulary of %zu is not supported", vocab);
    lcsm_sampler *s = calloc(1, sizeof *s);
    if (s != NULL) s->list = calloc(vocab, sizeof *s->list);
    if (s == NULL || s->list == NULL) {
        lcsm_sampler_free(s);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to sample from %zu tokens",
                         vocab);
    }
    s->opt   = o;
    s->vocab = vocab;
    *out     = s;
    return st;
}

void lcsm_sampler_free(lcsm_sampler *s)
{
    if (s == NULL) return;
    free(s->list);
    free(s);
}

/* ---- candidates ------------------------------------------------------------------------- */

/* Whether a comes before b. */
static bool before(const candidate *a, const candidate *b)
{
    return a->p > b->p || (a->p == b->p && a->token < b->token);
}

static int order(const void *a, const void *b)
{
    return before(a, b) ? -1 : 1;
}

static void swap(candidate *a, candidate *b)
{
    candidate c = *a;
    *a          = *b;
    *b          = c;
}

/* Moves what comes before list[at] to the left of it, the rest to the right; returns its place. */
static size_t part(candidate *list, size_t n, size_t at)
{
    size_t place = 0;
    swap(&list[at], &list[n - 1]);
    for (size_t j = 0; j + 1 < n; j++)
        if (before(&list[j], &list[n - 1])) swap(&list[j], &list[place++]);
    swap(&list[place], &list[n - 1]);
    return place;
}

/* The first k of the order to the front, in any order. */
static void select_top(candidate *list, size_t n, size_t k)
{
    while (n > 1 && k > 0 && k < n) {
        size_t place = part(list, n, n / 2);
        if (place + 1 == k || place == k) return;
        if (place > k) {
            n = place;
        } else {
            list += place + 1;
            n -= place + 1;
            k -= place + 1;
        }
    }
}

/* Each recent token once, however often it came. */
static void penalise(lcsm_sampler *s, const int32_t *recent, size_t count)
{
    double by = s->opt.repeat_penalty;
    if (by == 0 || by == 1) return;
    for (size_t j = 0; j < count; j++) {
        bool seen = false;
        for (size_t i = 0; i < j && !seen; i++) seen = recent[i] == recent[j];
        if (seen || recent[j] < 0 || (size_t)recent[j] >= s->vocab) continue;
        double *z = &s->list[recent[j]].p;
        *z        = *z > 0 ? *z / by : *z * by;
    }
}

static lcsm_status load(lcsm_sampler *s, const float *logits, lcsm_error *err)
{
    double most = -INFINITY;
    for (size_t v = 0; v < s->vocab; v++) {
        double z = (double)logits[v];
        if (isnan(z) || z == INFINITY)
            return lcsm_fail(err, LCSM_ERR_NUMBER, "the logit of token %zu is %g", v, z);
        s->list[v] = (candidate){z, (int32_t)v};
        most       = fmax(most, z);
    }
    if (most == -INFINITY) return lcsm_fail(err, LCSM_ERR_NUMBER, "every logit is minus infinity");
    return LCSM_OK;
}

static const candidate *best(const candidate *list, size_t n)
{
    const candidate *b = list;
    for (size_t j = 1; j < n; j++)
        if (before(&list[j], b)) b = &list[j];
    return b;
}

/* ---- cutting ---------------------------------------------------------------------------- */

static double total(const candidate *list, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += list[j].p;
    return sum;
}

/* Drops candidates with less than `least`; the order of the others stays. */
static size_t drop_below(candidate *list, size_t n, double least)
{
    size_t kept = 0;
    for (size_t j = 0; j < n; j++)
        if (list[j].p >= least) list[kept++] = list[j];
    return kept;
}

/* The fewest of the most probable that reach top_p. All candidates below (1 - top_p) / n together
 * have less than what may be left out, so they need not be sorted. */
static size_t cut_top_p(candidate *list, size_t n, double top_p)
{
    double sum = total(list, n), reached = 0;
    n = drop_below(list, n, sum * (1 - top_p) / (double)n);
    qsort(list, n, sizeof *list, order);
    for (size_t j = 0; j < n; j++) {
        reached += list[j].p;
        if (reached >= top_p * sum) return j + 1;
    }
    return n;
}

/* Logits to exp((logit - largest) / temperature), and then fewer of them. */
static size_t cut(lcsm_sampler *s)
{
    size_t n = s->vocab, k = s->opt.top_k;
    double most = best(s->list, n)->p;
    for (size_t j = 0; j < n; j++) s->list[j].p = exp((s->list[j].p - most) / s->opt.temperature);
    if (k > 0 && k < n) {
        select_top(s->list, n, k);
        n = k;
        qsort(s->list, n, sizeof *s->list, order);
    }
    if (s->opt.top_p > 0 && s->opt.top_p < 1) n = cut_top_p(s->list, n, s->opt.top_p);
    return drop_below(s->list, n, s->opt.min_p); /* the largest is 1 */
}

lcsm_status lcsm_sampler_next(lcsm_sampler *s, const float *logits, uint64_t index,
                              const int32_t *recent, size_t recent_count, int32_t *token,
                              lcsm_error *err)
{
    lcsm_status st = load(s, logits, err);
    if (st != LCSM_OK) return st;
    penalise(s, recent, recent_count);
    *token = best(s->list, s->vocab)->token;
    if (s->opt.temperature == 0) return LCSM_OK;
    size_t n    = cut(s);
    double left = lcsm_rng_uniform(s->opt.seed, PURPOSE, index) * total(s->list, n);
    for (size_t j = 0; j < n; j++) {
        *token = s->list[j].p > 0 ? s->list[j].token : *token;
        left -= s->list[j].p;
        if (left < 0) break;
    }
    return LCSM_OK;
}

lcsm_status lcsm_sampler_probabilities(lcsm_sampler *s, const float *logits, const int32_t *recent,
                                       size_t recent_count, double *p, lcsm_error *err)
{
    LCSM_OR_RETURN(load(s, logits, err));
    penalise(s, recent, recent_count);
    memset(p, 0, s->vocab * sizeof *p);
    if (s->opt.temperature == 0) {
        p[best(s->list, s->vocab)->token] = 1;
        return LCSM_OK;
    }
    size_t n   = cut(s);
    double sum = total(s->list, n);
    for (size_t j = 0; j < n; j++) p[s->list[j].token] = s->list[j].p / sum;
    return LCSM_OK;
}
