/* study_table.c - rows are variants; columns are points of the axes, then what a row amounts to. */
#include "report/study_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/study_figures.h"

/* ---- cells --------------------------------------------------------------------------------- */

static bool is_best(const lcsm_study *s, size_t variant, size_t point)
{
    double mine = lcsm_study_at(s, variant, point)->value;
    for (size_t v = 0; v < s->variant_count; v++) {
        double other = lcsm_study_at(s, v, point)->value;
        if (isfinite(other) && (s->metric->higher ? other > mine : other < mine)) return false;
    }
    return isfinite(mine) && s->variant_count > 1;
}

/* A cell without a value: what became of its runs, if some failed. */
static void put_gap(lcsm_table *t, const lcsm_study_cell *c)
{
    size_t open     = c->runs - c->done - c->failed;
    char   done[64] = "", rest[64] = "";
    if (c->done > 0) (void)snprintf(done, sizeof done, ", %zu without a result", c->done);
    if (open > 0) (void)snprintf(rest, sizeof rest, ", %zu not run yet", open);
    if (c->failed == 0) lcsm_table_cell(t, "%s", "-");
    else if (c->failed == c->runs) lcsm_table_cell(t, "%s", "failed");
    else lcsm_table_cell(t, "%zu failed%s%s", c->failed, done, rest);
    lcsm_table_mark(t, c->failed > 0 ? LCSM_MARK_BAD : LCSM_MARK_FAINT);
}

typedef void cell_fn(lcsm_table *t, const lcsm_study *s, size_t variant, size_t point);

static void put_value(lcsm_table *t, const lcsm_study *s, size_t variant, size_t point)
{
    const lcsm_study_cell *c          = lcsm_study_at(s, variant, point);
    char                   spread[40] = "", lost[64] = "", text[LCSM_NUMBER_TEXT];
    int                    digits = s->metric->digits;
    if (!isfinite(c->value)) {
        put_gap(t, c);
        return;
    }
    if (c->deviation > 0)
        (void)snprintf(spread, sizeof spread, " \xC2\xB1 %s",
                       lcsm_number_text(text, digits, c->deviation));
    if (c->counted < c->seeds)
        (void)snprintf(lost, sizeof lost, " (%zu of %zu seeds)", c->counted, c->seeds);
    lcsm_table_cell(t, "%s%s%s", lcsm_number_text(text, digits, c->value), spread, lost);
    if (is_best(s, variant, point)) lcsm_table_mark(t, LCSM_MARK_BEST);
}

static void put_rate(lcsm_table *t, const lcsm_study *s, size_t variant, size_t point)
{
    double lr = lcsm_study_at(s, variant, point)->lr;
    if (isfinite(lr)) lcsm_table_cell(t, "%g", lr);
    else lcsm_table_cell(t, "%s", "");
}

/* ---- what is told of a row ----------------------------------------------------------------- */

typedef struct {
    const lcsm_study       *study;
    const lcsm_study_order *order;
    size_t                  variant;
} row;

enum { TEXT = LCSM_KEY_TEXT_SIZE };

/* Writes the text of a cell and leaves it empty where there is nothing to tell. */
typedef void row_fn(char text[TEXT], const row *r);

static void short_text(char text[TEXT], double x)
{
    text[0] = '\0';
    if (isfinite(x)) (void)snprintf(text, TEXT, "%g", x);
}

static void metric_text(char text[TEXT], const row *r, double x)
{
    text[0] = '\0';
    if (isfinite(x)) (void)lcsm_number_text(text, r->study->metric->digits, x);
}

static bool has_rates(const lcsm_study *s)
{
    for (size_t j = 1; j < s->run_count; j++)
        if (s->runs[j].lr < s->runs[0].lr || s->runs[j].lr > s->runs[0].lr) return true;
    return false;
}

static void mean(char text[TEXT], const row *r)
{
    metric_text(text, r, r->study->point_count > 1 ? r->order->means[r->variant] : NAN);
}

static void rate(char text[TEXT], const row *r)
{
    bool told = r->study->point_count == 1 && has_rates(r->study);
    short_text(text, told ? lcsm_study_at(r->study, r->variant, 0)->lr : NAN);
}

static void test(char text[TEXT], const row *r)
{
    bool one = r->study->point_count == 1;
    metric_text(text, r, one ? lcsm_study_at(r->study, r->variant, 0)->test : NAN);
}

static void rank(char text[TEXT], const row *r)
{
    short_text(text, r->order->ranks[r->variant]);
}

/* One number, or the least and the most where points differ. */
static void parameters(char text[TEXT], const row *r)
{
    double least = NAN, most = NAN;
    for (size_t j = 0; j < r->study->run_count; j++) {
        const lcsm_study_run *run = &r->study->runs[j];
        if (run->variant != r->variant) continue;
        least = fmin(least, run->record.parameters);
        most  = fmax(most, run->record.parameters);
    }
    text[0] = '\0';
    if (isfinite(least)) (void)snprintf(text, TEXT, "%.0f", least);
    if (most > least) (void)snprintf(text, TEXT, "%.0f to %.0f", least, most);
}

static void paper_valid(char text[TEXT], const row *r)
{
    metric_text(text, r, r->study->paper_valid[r->variant]);
}

static void paper_test(char text[TEXT], const row *r)
{
    metric_text(text, r, r->study->paper_test[r->variant]);
}

static void paper_rank(char text[TEXT], const row *r)
{
    short_text(text, r->order->paper_ranks[r->variant]);
}

static void paper_parameters(char text[TEXT], const row *r)
{
    short_text(text, r->study->paper_parameters[r->variant]);
}

/* A setting of training where variants do not share it: that of the best runs, if it is one. */
static void setting(char text[TEXT], const row *r, const char *key)
{
    const lcsm_study *s      = r->study;
    bool              shared = true, known = false;
    char              first[TEXT] = "", mine[TEXT];
    text[0]                       = '\0';
    for (size_t v = 0; v < s->variant_count; v++)
        for (size_t p = 0; p < s->point_count; p++) {
            const lcsm_record *best = lcsm_study_at(s, v, p)->best;
            if (best == NULL) continue;
            lcsm_record_setting(best, key, mine);
            if (!known) (void)snprintf(first, sizeof first, "%s", mine);
            known  = true;
            shared = shared && strcmp(first, mine) == 0;
            if (v != r->variant) continue;
            (void)snprintf(text, TEXT, "%s",
                           *text != '\0' && strcmp(text, mine) != 0 ? "several" : mine);
        }
    if (shared) text[0] = '\0';
}

static void batch(char text[TEXT], const row *r)
{
    setting(text, r, "batch_size");
}

static void steps(char text[TEXT], const row *r)
{
    setting(text, r, "steps");
}

static void decay(char text[TEXT], const row *r)
{
    setting(text, r, "weight_decay");
}

static void dropout(char text[TEXT], const row *r)
{
    setting(text, r, "dropout");
}

static const struct {
    const char *head;
    row_fn     *put;
    lcsm_mark   mark;
} COLUMNS[] = {
    {"mean", mean, LCSM_MARK_NONE},
    {"lr", rate, LCSM_MARK_FAINT},
    {"weight decay", decay, LCSM_MARK_FAINT},
    {"batch", batch, LCSM_MARK_FAINT},
    {"steps", steps, LCSM_MARK_FAINT},
    {"dropout", dropout, LCSM_MARK_FAINT},
    {"test", test, LCSM_MARK_NONE},
    {"rank", rank, LCSM_MARK_FAINT},
    {"parameters", parameters, LCSM_MARK_FAINT},
    {"paper", paper_valid, LCSM_MARK_NONE},
    {"paper, test", paper_test, LCSM_MARK_NONE},
    {"paper's rank", paper_rank, LCSM_MARK_FAINT},
    {"paper's parameters, millions", paper_parameters, LCSM_MARK_FAINT},
};

static bool is_told(row r, size_t column)
{
    char text[TEXT];
    for (r.variant = 0; r.variant < r.study->variant_count; r.variant++) {
        COLUMNS[column].put(text, &r);
        if (text[0] != '\0') return true;
    }
    return false;
}

/* A column that tells nothing of any row is left out, as all are without an order. */
static void put_row_heads(lcsm_table *t, const row *r, bool told[COUNT(COLUMNS)])
{
    for (size_t c = 0; c < COUNT(COLUMNS); c++) {
        told[c] = r->order != NULL && is_told(*r, c);
        if (told[c]) lcsm_table_column(t, COLUMNS[c].head, LCSM_RIGHT);
    }
}

static void put_row_cells(lcsm_table *t, const row *r, const bool told[COUNT(COLUMNS)])
{
    char text[TEXT];
    for (size_t c = 0; c < COUNT(COLUMNS); c++) {
        if (!told[c]) continue;
        COLUMNS[c].put(text, r);
        lcsm_table_cell(t, "%s", text);
        lcsm_table_mark(t, COLUMNS[c].mark);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

enum { POINTS = 8 }; /* columns of a table for points, at most */

/* The points of one of the tables. */
typedef struct {
    size_t from, to;
} part;

static size_t part_count(const lcsm_study *s)
{
    return s->point_count <= POINTS ? 1 : (s->point_count + POINTS - 1) / POINTS;
}

static part part_of(const lcsm_study *s, size_t number)
{
    size_t n = s->point_count, parts = part_count(s);
    return (part){n * number / parts, n * (number + 1) / parts};
}

static void put_heads(lcsm_table *t, const lcsm_study *s, part p)
{
    char text[96], head[160];
    lcsm_table_column(t, "variant", LCSM_LEFT);
    for (size_t j = p.from; j < p.to; j++) {
        const char *point = lcsm_point_text(text, s, j, s->axis_count);
        bool        one   = s->point_count == 1;
        (void)snprintf(head, sizeof head, "%s%s%s", one ? s->metric->label : "",
                       one && *point != '\0' ? ", " : "", point);
        lcsm_table_column(t, head, LCSM_RIGHT);
    }
}

/* order is NULL for a table of points alone. */
static void fill(lcsm_table *t, const lcsm_study *s, part p, cell_fn *put,
                 const lcsm_study_order *order)
{
    row  r = {s, order, 0};
    bool told[COUNT(COLUMNS)];
    put_heads(t, s, p);
    put_row_heads(t, &r, told);
    for (r.variant = 0; r.variant < s->variant_count; r.variant++) {
        lcsm_table_cell(t, "%s", s->variants[r.variant]);
        for (size_t j = p.from; j < p.to; j++) put(t, s, r.variant, j);
        put_row_cells(t, &r, told);
    }
}

static const char *words_on_the_paper(const lcsm_study *s)
{
    bool printed = false;
    for (size_t v = 0; v < s->variant_count; v++) printed = printed || isfinite(s->paper[v]);
    if (!printed) return "";
    return s->paper == s->paper_test
             ? " The paper's numbers are for its own, larger setting, and for the test set only: "
               "compare its ranks on that set with ours on the validation set."
             : " The paper's numbers are for its own, larger setting: compare ranks.";
}

void lcsm_study_tables(lcsm_doc *d, const lcsm_study *s, const lcsm_study_order *order)
{
    size_t last = part_count(s) - 1;
    for (size_t j = 0; j <= last; j++) {
        lcsm_table t = {0};
        part       p = part_of(s, j);
        fill(&t, s, p, put_value, j == last ? order : NULL);
        if (j < last)
            lcsm_doc_table(d, &t, "Points %zu to %zu of %zu; continued in the next table.",
                           p.from + 1, p.to, s->point_count);
        else
            lcsm_doc_table(
                d, &t, "%c%s, %s is better; the best of a column is bold.%s%s%s%s",
                s->metric->label[0] - 'a' + 'A', s->metric->label + 1,
                s->metric->higher ? "higher" : "lower",
                lcsm_study_has_means(s) ? " Mean and standard deviation over seeds." : "",
                has_rates(s) ? " Each cell uses its best learning rate." : "",
                s->point_count > 1 ? " Ranks are based on the mean over all points." : "",
                words_on_the_paper(s));
    }
}

void lcsm_study_rates(lcsm_doc *d, const lcsm_study *s)
{
    if (s->point_count < 2 || !has_rates(s)) return;
    lcsm_doc_add(d, LCSM_BLOCK_FOLD, "The learning rate of each cell");
    for (size_t j = 0; j < part_count(s); j++) {
        lcsm_table t = {0};
        fill(&t, s, part_of(s, j), put_rate, NULL);
        lcsm_doc_table(d, &t, "%s", "");
    }
    lcsm_doc_add(d, LCSM_BLOCK_UNFOLD, "%s", "");
}
