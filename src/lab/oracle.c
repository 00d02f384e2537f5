/*
 * oracle.c - runs the cases of a file through the graph, in double and in float.
 *
 * A case with an eos op runs in every form of the computation that serves it and with several
 * chunks; all must give the recorded numbers.
 */
#include "lab/oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/verdict.h"
#include "lab/lab.h"
#include "lab/oracle_review.h"
#include "lab/oracle_roster.h"

enum { MAX_DETAIL = 1400 };

/* The planner's choice first: it must serve. */
static const struct {
    lcsm_eos_form form;
    ptrdiff_t     chunk;
} WAYS[] = {
    {LCSM_FORM_AUTO, 0},        {LCSM_FORM_RECURRENT, 0}, {LCSM_FORM_RECURRENT, 2},
    {LCSM_FORM_CHUNKED, 0},     {LCSM_FORM_CHUNKED, 1},   {LCSM_FORM_CHUNKED, 2},
    {LCSM_FORM_CHUNKED, 3},     {LCSM_FORM_CHUNKED, 4},   {LCSM_FORM_CHUNKED, 7},
    {LCSM_FORM_SCAN, 0},        {LCSM_FORM_SCAN, 2},      {LCSM_FORM_SCAN, 3},
    {LCSM_FORM_DELTA, 0},       {LCSM_FORM_DELTA, 2},     {LCSM_FORM_DELTA, 3},
    {LCSM_FORM_CONVOLUTION, 0},
};

typedef struct {
    lcsm_lab_result result; /* of the worst way */
    char            forms[64];
    char            where[32];
} outcome;

static double worst_of(const lcsm_lab_result *r)
{
    return fmax(isnan(r->output) ? 0 : r->output, isnan(r->gradient) ? 0 : r->gradient);
}

/* Keeps the larger errors, and what they belong to. */
static void keep_worst(outcome *all, const lcsm_lab_result *r, size_t way)
{
    const char *form = lcsm_eos_form_name(WAYS[way].form);
    size_t      used = strlen(all->forms);
    if (strstr(all->forms, form) == NULL && way > 0)
        (void)snprintf(all->forms + used, sizeof all->forms - used, " %s", form);
    if (way > 0 && worst_of(r) <= worst_of(&all->result)) return;
    double output = all->result.output, gradient = all->result.gradient;
    all->result = *r;
    if (way == 0) return;
    all->result.output   = fmax(output, r->output);
    all->result.gradient = fmax(gradient, r->gradient);
    (void)snprintf(all->where, sizeof all->where, " in %s %td", form, WAYS[way].chunk);
}

static lcsm_status run_ways(const lcsm_context *ctx, const lcsm_oracle_case *c,
                            const lcsm_oracle_row *row, lcsm_dtype dtype, outcome *all,
                            lcsm_error *err)
{
    *all = (outcome){.result = {.output = NAN, .gradient = NAN}};
    for (size_t way = 0; way < (row->forms ? COUNT(WAYS) : 1); way++) {
        lcsm_lab lab = {
            .ctx = ctx, .c = c, .dtype = dtype, .form = WAYS[way].form, .chunk = WAYS[way].chunk};
        lcsm_lab_result r;
        lcsm_status     st = lcsm_lab_run(&lab, row->build, &r, err);
        if (st == LCSM_ERR_UNSUPPORTED && way > 0) continue; /* another form serves this case */
        if (st != LCSM_OK) return st;
        keep_worst(all, &r, way);
    }
    return LCSM_OK;
}

static void not_run(const char *file, const char *name, const char *precision, lcsm_status st,
                    const char *why, lcsm_check_sink *sink, void *user)
{
    lcsm_verdict   none = LCSM_NO_VERDICT;
    lcsm_check_row row  = lcsm_verdict_row(&none, file, name, precision);
    row.ok              = false;
    row.refused         = st == LCSM_ERR_UNSUPPORTED;
    row.detail          = why;
    sink(user, &row);
}

/* What was not compared, though the file has it. */
static void add_missing(const lcsm_oracle_case *c, const lcsm_lab_result *r, char *detail)
{
    for (size_t j = 0; j < c->outputs.count; j++) {
        char   name[64];
        size_t used = strlen(detail);
        (void)snprintf(name, sizeof name, " %s ", c->outputs.list[j].name);
        char compared[sizeof r->compared + 2];
        (void)snprintf(compared, sizeof compared, " %s ", r->compared);
        if (strstr(compared, name) == NULL)
            (void)snprintf(detail + used, MAX_DETAIL - used, "; not compared: %s",
                           c->outputs.list[j].name);
    }
}

/* What a row says beside its figures. */
static void describe(const lcsm_oracle_review *review, const outcome *all, bool ok, char *detail)
{
    const lcsm_lab_result *r = &all->result;
    if (isnan(r->output)) (void)snprintf(detail, MAX_DETAIL, "nothing compared");
    else if (ok)
        (void)snprintf(detail, MAX_DETAIL, "%s%s%s", r->compared, *all->forms != '\0' ? ";" : "",
                       all->forms);
    else (void)snprintf(detail, MAX_DETAIL, "worst: %s%s", r->worst, all->where);
    add_missing(&review->c, r, detail);
    size_t used = strlen(detail);
    if (*review->names != '\0')
        (void)snprintf(detail + used, MAX_DETAIL - used,
                       "; recorded with too large a step; repeated and extrapolated:%s",
                       review->names);
}

/* A file, one of its cases, how to build it, and what float costs there. */
typedef struct {
    const lcsm_context       *ctx;
    const char               *file;
    const lcsm_oracle_row    *known;
    const lcsm_oracle_review *review;
    lcsm_lab_result           rounding;
    lcsm_check_sink          *sink;
    void                     *user;
} job;

static lcsm_measure measure(const job *j, lcsm_dtype dtype, double error, double rounding)
{
    if (isnan(error)) return LCSM_UNMEASURED;
    if (dtype == LCSM_F32 || j->review->c.single) {
        lcsm_measure m = lcsm_measure_float(error, rounding);
        m.bound += 4 * j->review->c.half_ulp; /* numbers that were rounded when they were written */
        return m;
    }
    return lcsm_measure_fixed(error, LCSM_LAB_BOUND);
}

static void run_precision(const job *j, lcsm_dtype dtype)
{
    const char  *precision = dtype == LCSM_F64 ? "double" : "float";
    char         detail[MAX_DETAIL];
    outcome      all;
    lcsm_error   err;
    lcsm_verdict v = LCSM_NO_VERDICT;
    if (run_ways(j->ctx, &j->review->c, j->known, dtype, &all, &err) != LCSM_OK) {
        not_run(j->file, j->review->c.name, precision, err.status, err.text, j->sink, j->user);
        return;
    }
    v.output      = measure(j, dtype, all.result.output, j->rounding.output);
    v.gradient    = measure(j, dtype, all.result.gradient, j->rounding.gradient);
    bool compared = !isnan(all.result.output);
    describe(j->review, &all,
             compared && lcsm_measure_ok(&v.output) && lcsm_measure_ok(&v.gradient), detail);
    if (!compared)
        not_run(j->file, j->review->c.name, precision, LCSM_OK, detail, j->sink, j->user);
    if (!compared) return;
    lcsm_check_row row = lcsm_verdict_row(&v, j->file, j->review->c.name, precision);
    row.detail         = detail;
    j->sink(j->user, &row);
}

static lcsm_status run_case(job *j, lcsm_oracle_review *review, const lcsm_oracle_case *c,
                            lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    *review        = (lcsm_oracle_review){0};
    j->known       = lcsm_oracle_row_of(c);
    j->review      = review;
    if (c->refused[0] != '\0') return lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "%s", c->refused);
    if (j->known == NULL) {
        const char *layer = json_string_value(json_object_get(c->config, "layer"));
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED, "unknown %s%s",
                         layer != NULL ? "layer " : "case", layer != NULL ? layer : "");
    }
    LCSM_OR_RETURN(lcsm_oracle_review_make(review, j->ctx, c, j->known, err));
    LCSM_OR_RETURN(lcsm_lab_rounding(&review->c, j->known->build, &j->rounding, err));
    run_precision(j, LCSM_F64);
    run_precision(j, LCSM_F32);
    return st;
}

lcsm_status lcsm_lab_check_oracle(const lcsm_context *ctx, const char *path, lcsm_check_sink *sink,
                                  void *user, lcsm_error *err)
{
    lcsm_oracle o;
    lcsm_status st = lcsm_oracle_read(&o, path, err);
    if (st != LCSM_OK) return st;
    for (size_t k = 0; k < o.count; k++) {
        job                j = {.ctx = ctx, .file = path, .sink = sink, .user = user};
        lcsm_oracle_review review;
        lcsm_error         why;
        if (run_case(&j, &review, &o.cases[k], &why) != LCSM_OK)
            not_run(path, o.cases[k].name, "both", why.status, why.text, sink, user);
        lcsm_oracle_review_free(&review);
    }
    lcsm_oracle_free(&o);
    return LCSM_OK;
}
