/* section_readings.c - both readings of an experiment side by side: verdicts, and the numbers
 * beside the paper's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/finding.h"
#include "report/rank.h"
#include "report/section.h"

static void put_verdicts(lcsm_doc *d, const lcsm_study *s)
{
    static const char *const STATES[] = {"not run", "confirmed", "not confirmed"};
    const json_t            *list     = lcsm_findings_of(s);
    lcsm_table               t        = {0};
    if (json_array_size(list) == 0) return;
    lcsm_table_column(&t, "finding of the paper", LCSM_LEFT);
    for (size_t r = 0; r < LCSM_READINGS; r++)
        lcsm_table_column(&t, LCSM_READING_WORDS[r], LCSM_LEFT);
    for (size_t j = 0; j < json_array_size(list); j++) {
        const json_t *f = json_array_get(list, j);
        lcsm_table_cell(&t, "%s", json_string_value(json_object_get(f, "text")));
        for (lcsm_reading r = 0; r < LCSM_READINGS; r++) {
            lcsm_study as   = lcsm_study_as(s, r);
            lcsm_held  held = lcsm_finding_hold(&as, f);
            lcsm_table_cell(&t, "%s%s%s", STATES[held.state], *held.seen != '\0' ? ": " : "",
                            held.seen);
        }
    }
    lcsm_doc_table(d, &t, "%s",
                   "Each finding under both readings of the paper: as its text describes the "
                   "models, and as its authors' public code ran them. Deviations are over seeds.");
}

/* What a reading has of each variant: its mean over all points, the deviation, the rank. */
static void put_numbers(lcsm_table *t, const lcsm_study *as, size_t variant, const double *ranks)
{
    int    digits = as->metric->digits;
    double value  = lcsm_study_mean(as, variant, NULL),
           spread = lcsm_study_spread(as, variant, NULL);
    char text[LCSM_NUMBER_TEXT], around[LCSM_NUMBER_TEXT] = "";
    if (spread > 0) (void)lcsm_number_text(around, digits, spread);
    if (isfinite(value))
        lcsm_table_cell(t, "%s%s%s", lcsm_number_text(text, digits, value),
                        spread > 0 ? " \xC2\xB1 " : "", around);
    else lcsm_table_cell(t, "%s", "-");
    if (isfinite(ranks[variant])) lcsm_table_cell(t, "%g", ranks[variant]);
    else lcsm_table_cell(t, "%s", "");
}

static void put_row(lcsm_table *t, const lcsm_study as[LCSM_READINGS], size_t variant,
                    double *const ranks[LCSM_READINGS + 1], bool paper)
{
    lcsm_table_cell(t, "%s", as[0].variants[variant]);
    for (size_t r = 0; r < LCSM_READINGS; r++) put_numbers(t, &as[r], variant, ranks[r]);
    if (!paper) return;
    lcsm_table_number(t, as[0].metric->digits, as[0].paper[variant]);
    if (isfinite(ranks[LCSM_READINGS][variant]))
        lcsm_table_cell(t, "%g", ranks[LCSM_READINGS][variant]);
    else lcsm_table_cell(t, "%s", "");
}

static void put_heads(lcsm_table *t, bool paper)
{
    lcsm_table_column(t, "variant", LCSM_LEFT);
    for (size_t r = 0; r < LCSM_READINGS; r++) {
        lcsm_table_column(t, LCSM_READING_WORDS[r], LCSM_RIGHT);
        lcsm_table_column(t, "rank", LCSM_RIGHT);
    }
    if (!paper) return;
    lcsm_table_column(t, "paper", LCSM_RIGHT);
    lcsm_table_column(t, "paper's rank", LCSM_RIGHT);
}

void lcsm_section_readings(lcsm_doc *d, const lcsm_study *s)
{
    size_t     n     = s->variant_count;
    lcsm_table t     = {0};
    double    *space = malloc((LCSM_READINGS + 2) * n * sizeof *space), *means = space;
    double    *ranks[LCSM_READINGS + 1];
    lcsm_study as[LCSM_READINGS];
    bool       paper = false;
    if (space == NULL) {
        d->failed = true;
        return;
    }
    for (lcsm_reading r = 0; r < LCSM_READINGS; r++) {
        as[r]    = lcsm_study_as(s, r);
        ranks[r] = space + (r + 1) * n;
        for (size_t v = 0; v < n; v++) means[v] = lcsm_study_mean(&as[r], v, NULL);
        lcsm_ranks(ranks[r], means, n, s->metric->higher);
    }
    ranks[LCSM_READINGS] = space + (LCSM_READINGS + 1) * n;
    lcsm_ranks(ranks[LCSM_READINGS], s->paper, n, s->metric->higher);
    for (size_t v = 0; v < n; v++) paper = paper || isfinite(s->paper[v]);
    put_verdicts(d, s);
    put_heads(&t, paper);
    for (size_t v = 0; v < n; v++) put_row(&t, as, v, ranks, paper);
    lcsm_doc_table(d, &t,
                   "Mean %s over all points, %s is better. Where both readings train a model "
                   "alike, it is one run.",
                   s->metric->label, s->metric->higher ? "higher" : "lower");
    free(space);
}
