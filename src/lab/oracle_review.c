/* oracle_review.c - repeats the recording of gradients that disagree. */
#include "lab/oracle_review.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The case with one number of an input moved. */
typedef struct {
    const lcsm_context    *ctx;
    const lcsm_oracle_row *row;
    lcsm_oracle_case       c;
    double                *number; /* in the data of the case */
    double                 value;
} probe;

static lcsm_status loss_at(const probe *p, double step, double *loss, lcsm_error *err)
{
    lcsm_lab lab   = {.ctx = p->ctx, .c = &p->c, .dtype = LCSM_F64};
    *p->number     = p->value + step;
    lcsm_status st = lcsm_lab_value(&lab, p->row->build, loss, err);
    *p->number     = p->value;
    return st;
}

/* (L(x + h) - L(x - h)) / 2h. */
static lcsm_status central(const probe *p, double h, double *out, lcsm_error *err)
{
    double      up, down;
    lcsm_status st = loss_at(p, h, &up, err);
    if (st == LCSM_OK) st = loss_at(p, -h, &down, err);
    *out = st == LCSM_OK ? (up - down) / (2 * h) : NAN;
    return st;
}

/* The recorded one: of fourth order, step 1e-3. */
static lcsm_status recorded(const probe *p, double *out, lcsm_error *err)
{
    double      one = NAN, two = NAN;
    lcsm_status st = central(p, 1e-3, &one, err);
    if (st == LCSM_OK) st = central(p, 2e-3, &two, err);
    *out = (4 * one - two) / 3;
    return st;
}

/* Ridders: central differences with steps that fall from h, extrapolated to 0; *error is its own
 * estimate. */
static lcsm_status extrapolated(const probe *p, double h, double *out, double *error,
                                lcsm_error *err)
{
    enum { ROWS = 12 };
    double a[ROWS][ROWS];
    *error = INFINITY;
    for (int i = 0; i < ROWS; i++, h /= 1.6) {
        lcsm_status st = central(p, h, &a[0][i], err);
        if (st != LCSM_OK) return st;
        double factor = 1.6 * 1.6;
        for (int j = 1; j <= i; j++, factor *= 1.6 * 1.6) {
            a[j][i]   = (a[j - 1][i] * factor - a[j - 1][i - 1]) / (factor - 1);
            double at = fmax(fabs(a[j][i] - a[j - 1][i]), fabs(a[j][i] - a[j - 1][i - 1]));
            if (at >= *error) continue;
            *error = at;
            *out   = a[j][i];
        }
    }
    return LCSM_OK;
}

/* The middle one of three: rounding makes an estimate small by chance now and then. */
static lcsm_status derivative(const probe *p, double *out, double *error, lcsm_error *err)
{
    static const double FROM[] = {4e-3, 3.3e-3, 2.7e-3};

    double x[3], e[3];
    for (int j = 0; j < 3; j++) {
        lcsm_status st = extrapolated(p, FROM[j], &x[j], &e[j], err);
        if (st != LCSM_OK) return st;
    }
    int low = x[0] <= x[1] ? 0 : 1, high = 1 - low;
    int mid = x[2] < x[low] ? low : (x[2] > x[high] ? high : 2);
    *out    = x[mid];
    *error  = e[mid];
    return LCSM_OK;
}

/* Fills data with derivatives; *confirmed if the recording could be repeated for all numbers. */
static lcsm_status repeat(probe *p, const lcsm_oracle_array *g, double *input, double bound,
                          double *data, bool *confirmed, lcsm_error *err)
{
    *confirmed = true;
    for (size_t k = 0; k < g->numbers && *confirmed; k++) {
        double      again, error = INFINITY, scale = 1 + fabs(g->data[k]);
        lcsm_status st;
        p->number = &input[k];
        p->value  = input[k];
        if ((st = recorded(p, &again, err)) != LCSM_OK) return st;
        if ((st = derivative(p, &data[k], &error, err)) != LCSM_OK) return st;
        *confirmed = fabs(again - g->data[k]) <= bound * scale && error <= bound * scale;
    }
    return LCSM_OK;
}

/* The input of a gradient in a copy of its own, to be moved. */
static double *copy_input(probe *p, const lcsm_oracle_case *c, const char *name)
{
    lcsm_oracle_array *list = malloc(c->inputs.count * sizeof *list);
    for (size_t j = 0; list != NULL && j < c->inputs.count; j++) {
        list[j] = c->inputs.list[j];
        if (strcmp(list[j].name, name) != 0) continue;
        double *data = malloc((list[j].numbers + 1) * sizeof *data);
        if (data == NULL) break;
        memcpy(data, list[j].data, list[j].numbers * sizeof *data);
        list[j].data     = data;
        p->c.inputs.list = list;
        for (j++; j < c->inputs.count; j++) list[j] = c->inputs.list[j];
        return data;
    }
    free(list);
    return NULL;
}

static lcsm_status review_one(lcsm_oracle_review *r, const lcsm_context *ctx,
                              const lcsm_oracle_case *c, const lcsm_oracle_row *row, size_t j,
                              lcsm_error *err)
{
    probe                    p = {.ctx = ctx, .row = row, .c = *c};
    const lcsm_oracle_array *g = &c->grads.list[j];
    double     *input = copy_input(&p, c, g->name), *data = malloc((g->numbers + 1) * sizeof *data);
    bool        confirmed = false;
    lcsm_status st        = LCSM_OK;
    p.c.grads.count       = 0; /* forward only */
    if (input == NULL || data == NULL)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a review");
    else st = repeat(&p, g, input, LCSM_LAB_BOUND, data, &confirmed, err);
    free(input);
    if (input != NULL) free(p.c.inputs.list);
    if (st != LCSM_OK || !confirmed) {
        free(data);
        return st;
    }
    r->grads[j].data = data;
    r->replaced[j]   = true;
    size_t used      = strlen(r->names);
    (void)snprintf(r->names + used, sizeof r->names - used, " d%s", g->name);
    return LCSM_OK;
}

static void free_rows(double **rows, size_t count)
{
    for (size_t j = 0; rows != NULL && j < count; j++) free(rows[j]);
    free(rows);
}

/* An array for each gradient of the case; NULL when there is no room. */
static double **gradient_rows(const lcsm_oracle_case *c)
{
    double **rows = calloc(c->grads.count, sizeof *rows);
    for (size_t j = 0; rows != NULL && j < c->grads.count; j++) {
        rows[j] = calloc(c->grads.list[j].numbers + 1, sizeof **rows);
        if (rows[j] != NULL) continue;
        free_rows(rows, j);
        return NULL;
    }
    return rows;
}

/* Which gradients disagree in double. */
static lcsm_status find_off(const lcsm_context *ctx, const lcsm_oracle_case *c,
                            const lcsm_oracle_row *row, bool *off, lcsm_error *err)
{
    lcsm_lab_result ignored;
    double        **got = gradient_rows(c);
    if (got == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a review");
    lcsm_lab    lab = {.ctx = ctx, .c = c, .dtype = LCSM_F64, .gradients = got};
    lcsm_status st  = lcsm_lab_run(&lab, row->build, &ignored, err);
    for (size_t j = 0; st == LCSM_OK && j < c->grads.count; j++)
        for (size_t k = 0; k < c->grads.list[j].numbers; k++)
            off[j] = off[j] || !(fabs(got[j][k] - c->grads.list[j].data[k]) <= LCSM_LAB_BOUND);
    free_rows(got, c->grads.count);
    return st;
}

lcsm_status lcsm_oracle_review_make(lcsm_oracle_review *out, const lcsm_context *ctx,
                                    const lcsm_oracle_case *c, const lcsm_oracle_row *row,
                                    lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    size_t      n  = c->grads.count;
    bool       *off;
    *out = (lcsm_oracle_review){.c = *c};
    if (n == 0 || c->single) return LCSM_OK; /* those are no differences */
    off           = calloc(n, sizeof *off);
    out->grads    = malloc(n * sizeof *out->grads);
    out->replaced = calloc(n, sizeof *out->replaced);
    if (off == NULL || out->grads == NULL || out->replaced == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a review");
        goto cleanup;
    }
    memcpy(out->grads, c->grads.list, n * sizeof *out->grads);
    LCSM_TRY(find_off(ctx, c, row, off, err));
    for (size_t j = 0; j < n; j++)
        if (off[j]) LCSM_TRY(review_one(out, ctx, c, row, j, err));
    out->c.grads.list = out->grads;
cleanup:
    free(off);
    return st;
}

void lcsm_oracle_review_free(lcsm_oracle_review *r)
{
    for (size_t j = 0; r->replaced != NULL && j < r->c.grads.count; j++)
        if (r->replaced[j]) free(r->grads[j].data);
    free(r->grads);
    free(r->replaced);
    *r = (lcsm_oracle_review){0};
}
