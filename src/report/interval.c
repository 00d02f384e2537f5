/* interval.c - the bootstrap over seeds; always the same draws, so a report does not change. */
#include "report/interval.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "report/rank.h"

enum { DRAWS = 2000, SEED = 1, PURPOSE = 0x5EED };

/* The seeds of a row at one point: values[first .. first + count). */
typedef struct {
    size_t row, first, count;
} cell;

typedef struct {
    cell    *cells;
    double  *values, *means, *paper, *found;
    size_t   cell_count, rows;
    uint64_t number; /* of the next draw */
} pool;

static size_t most_values(const lcsm_ranked *rows, size_t count)
{
    size_t n = 0;
    for (size_t j = 0; j < count; j++) n += rows[j].study->run_count;
    return n;
}

static bool pool_make(pool *p, const lcsm_ranked *rows, size_t count)
{
    size_t points = 0, values = most_values(rows, count);
    for (size_t j = 0; j < count; j++) points += rows[j].study->point_count;
    *p       = (pool){.rows = count};
    p->cells = calloc(points + 1, sizeof *p->cells);
    p->found = calloc(DRAWS + 2 * count + values, sizeof *p->found);
    if (p->cells == NULL || p->found == NULL) return false;
    p->means  = p->found + DRAWS;
    p->paper  = p->means + count;
    p->values = p->paper + count;
    return true;
}

/* Whether every row has several seeds at every point. */
static bool gather(pool *p, const lcsm_ranked *rows)
{
    size_t used = 0;
    for (size_t j = 0; j < p->rows; j++) {
        const lcsm_study *s = rows[j].study;
        p->paper[j]         = rows[j].paper;
        for (size_t k = 0; k < s->point_count; k++) {
            size_t n = lcsm_study_values(s, rows[j].variant, k, p->values + used);
            if (n < 2) return false;
            p->cells[p->cell_count++] = (cell){j, used, n};
            used += n;
        }
    }
    return p->rows > 0;
}

static double redraw(pool *p, const cell *c)
{
    double sum = 0;
    for (size_t j = 0; j < c->count; j++) {
        double u = lcsm_rng_uniform(SEED, PURPOSE, p->number++);
        sum += p->values[c->first + (size_t)(u * (double)c->count)];
    }
    return sum / (double)c->count;
}

/* Sums over points rank rows as means do only if all have as many; so it is the mean. */
static double draw(pool *p, const lcsm_ranked *rows)
{
    for (size_t j = 0; j < p->rows; j++) p->means[j] = 0;
    for (size_t j = 0; j < p->cell_count; j++) {
        const cell *c = &p->cells[j];
        p->means[c->row] += redraw(p, c) / (double)rows[c->row].study->point_count;
    }
    return lcsm_spearman(p->means, p->paper, p->rows, NULL);
}

bool lcsm_rank_interval(const lcsm_ranked *rows, size_t count, double *low, double *high)
{
    pool   p;
    size_t n    = 0;
    bool   made = pool_make(&p, rows, count) && gather(&p, rows);
    for (size_t j = 0; made && j < DRAWS; j++) {
        double r = draw(&p, rows);
        if (isfinite(r)) p.found[n++] = r;
    }
    if (n > 0) {
        lcsm_sort(p.found, n);
        *low  = lcsm_quantile(p.found, n, 0.025);
        *high = lcsm_quantile(p.found, n, 0.975);
    }
    free(p.cells);
    free(p.found);
    return n > 0;
}
