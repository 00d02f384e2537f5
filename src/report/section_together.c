/* section_together.c - the tables of several experiments as one: is their order the paper's? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/rank.h"
#include "report/section.h"

/* Variants that have both a result and a number of the paper. */
typedef struct {
    lcsm_ranked *rows;
    size_t       count, studies;
} collection;

static double ours_of(const lcsm_ranked *r)
{
    return lcsm_study_mean(r->study, r->variant, NULL);
}

/* Tables share rows: the same label with the same number of the paper is one model. */
static bool is_there(const collection *c, const lcsm_ranked *r)
{
    for (size_t j = 0; j < c->count; j++)
        if (c->rows[j].paper == r->paper
            && strcmp(c->rows[j].study->variants[c->rows[j].variant],
                      r->study->variants[r->variant])
                   == 0)
            return true;
    return false;
}

static void collect(collection *c, const lcsm_study *s)
{
    size_t before = c->count;
    for (size_t v = 0; v < s->variant_count; v++) {
        lcsm_ranked r = {s, v, s->paper[v]};
        if (isfinite(ours_of(&r)) && isfinite(r.paper) && !is_there(c, &r)) c->rows[c->count++] = r;
    }
    c->studies += c->count > before;
}

/* Numbers of longer runs are no better for it. */
static bool same_budget(const lcsm_study *a, const lcsm_study *b)
{
    static const char *const KEYS[] = {"steps", "tokens", "epochs", "batch_size", "seq_len"};
    bool                     same   = a->run_count > 0 && b->run_count > 0;
    char                     x[LCSM_KEY_TEXT_SIZE], y[LCSM_KEY_TEXT_SIZE];
    for (size_t j = 0; same && j < COUNT(KEYS); j++)
        same = strcmp(lcsm_record_setting(&a->runs[0].record, KEYS[j], x),
                      lcsm_record_setting(&b->runs[0].record, KEYS[j], y))
            == 0;
    return same;
}

static bool fits(const lcsm_study *a, const lcsm_study *b)
{
    return a->metric == b->metric && strcmp(a->scale, b->scale) == 0 && same_budget(a, b)
        && (a->paper == a->paper_test) == (b->paper == b->paper_test);
}

static double spearman_of(const lcsm_ranked *rows, size_t count)
{
    double *ours = malloc((2 * count + 1) * sizeof *ours), *paper = ours + count, r = NAN;
    if (ours == NULL) return NAN;
    for (size_t j = 0; j < count; j++) {
        ours[j]  = ours_of(&rows[j]);
        paper[j] = rows[j].paper;
    }
    r = lcsm_spearman(ours, paper, count, NULL);
    free(ours);
    return r;
}

void lcsm_section_correlation(lcsm_doc *d, const char *name, const char *where,
                              const lcsm_ranked *rows, size_t count)
{
    double r         = spearman_of(rows, count), low, high;
    char   range[64] = "";
    if (!isfinite(r)) return;
    if (lcsm_rank_interval(rows, count, &low, &high))
        (void)snprintf(range, sizeof range, "; %.2f to %.2f by resampled seeds", low, high);
    lcsm_doc_fact(d, name, "%.2f with the paper%s%s", r, where, range);
}

/* Rows from the best to the worst of ours. */
static void put_rows(lcsm_doc *d, const collection *c, const double *ranks, const double *paper)
{
    lcsm_table         t = {0};
    const lcsm_metric *m = c->rows[0].study->metric;
    lcsm_table_column(&t, "variant", LCSM_LEFT);
    lcsm_table_column(&t, "table", LCSM_LEFT);
    lcsm_table_column(&t, m->label, LCSM_RIGHT);
    lcsm_table_column(&t, "rank", LCSM_RIGHT);
    lcsm_table_column(&t, "paper", LCSM_RIGHT);
    lcsm_table_column(&t, "paper's rank", LCSM_RIGHT);
    for (size_t twice = 2; twice <= 2 * c->count; twice++) /* equal values share a place: a half */
        for (size_t j = 0; j < c->count; j++) {
            const lcsm_ranked *r = &c->rows[j];
            if ((size_t)(2 * ranks[j]) != twice) continue;
            lcsm_table_cell(&t, "%s", r->study->variants[r->variant]);
            lcsm_table_cell(&t, "%s", r->study->heading);
            lcsm_table_number(&t, m->digits, ours_of(r));
            lcsm_table_cell(&t, "%g", ranks[j]);
            lcsm_table_number(&t, m->digits, r->paper);
            lcsm_table_cell(&t, "%g", paper[j]);
        }
    lcsm_doc_table(d, &t, "%s", "A row that appears in several tables is counted once.");
}

static lcsm_status put_collection(lcsm_doc *d, const collection *c, lcsm_error *err)
{
    size_t  n    = c->count;
    double *ours = malloc(4 * n * sizeof *ours), *paper = ours + n, *ranks = paper + n,
           *paper_ranks = ranks + n;
    if (ours == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a table");
    for (size_t j = 0; j < n; j++) {
        ours[j]  = ours_of(&c->rows[j]);
        paper[j] = c->rows[j].paper;
    }
    bool higher = c->rows[0].study->metric->higher;
    char steps[LCSM_KEY_TEXT_SIZE];
    lcsm_ranks(ranks, ours, n, higher);
    lcsm_ranks(paper_ranks, paper, n, higher);
    const lcsm_study *one   = c->rows[0].study;
    bool              alone = one->readings == 1u << LCSM_READING_DESCRIBED;
    lcsm_doc_add(d, LCSM_BLOCK_SECTION, "The tables together, %s%s%s", one->metric->label,
                 alone ? "" : ", ", alone ? "" : LCSM_READING_WORDS[one->reading]);
    lcsm_doc_fact(d, "tables", "%zu", c->studies);
    lcsm_doc_fact(d, "rows", "%zu", n);
    if (*lcsm_record_setting(&one->runs[0].record, "steps", steps) != '\0')
        lcsm_doc_fact(d, "steps of a run", "%s", steps);
    lcsm_section_correlation(d, "rank correlation", "", c->rows, n);
    put_rows(d, c, ranks, paper_ranks);
    free(ours);
    return LCSM_OK;
}

static lcsm_status put_together(lcsm_doc *d, const lcsm_study *studies, size_t count,
                                lcsm_error *err)
{
    lcsm_status st  = LCSM_OK;
    size_t      all = 0;
    for (size_t j = 0; j < count; j++) all += studies[j].variant_count;
    collection c = {.rows = malloc((all + 1) * sizeof *c.rows)};
    if (c.rows == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a table");
    for (size_t j = 0; j < count; j++) {
        bool first = true;
        for (size_t k = 0; k < j; k++) first = first && !fits(&studies[k], &studies[j]);
        if (!first) continue;
        c.count = c.studies = 0;
        for (size_t k = j; k < count; k++)
            if (fits(&studies[k], &studies[j])) collect(&c, &studies[k]);
        if (c.studies > 1 && c.count >= LCSM_RANKS_FEWEST) LCSM_TRY(put_collection(d, &c, err));
    }
cleanup:
    free(c.rows);
    return st;
}

/* Each reading by itself, of the studies that have it. */
lcsm_status lcsm_section_together(lcsm_doc *d, const lcsm_study *studies, size_t count,
                                  lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_study *as = malloc((count + 1) * sizeof *as);
    if (as == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a table");
    for (lcsm_reading r = 0; r < LCSM_READINGS; r++) {
        size_t n = 0;
        for (size_t j = 0; j < count; j++)
            if ((studies[j].readings & 1u << r) != 0) as[n++] = lcsm_study_as(&studies[j], r);
        LCSM_TRY(put_together(d, as, n, err));
    }
cleanup:
    free(as);
    return st;
}
