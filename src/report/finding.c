/* finding.c - claims as comparisons of means. */
#include "report/finding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/rank.h"

/* From this correlation on, an order counts as rising. */
#define RISING 0.7

typedef struct {
    double      value;
    const char *label;
} extreme;

/* The variant of the list that is best, or worst; value NaN if one of them has no result. */
static extreme extreme_of(const lcsm_study *s, const json_t *list, const json_t *at, bool best)
{
    extreme e  = {NAN, ""};
    bool    up = s->metric->higher == best;
    for (size_t j = 0; j < json_array_size(list); j++) {
        const char *label = json_string_value(json_array_get(list, j));
        size_t      v     = label == NULL ? s->variant_count : lcsm_study_variant(s, label);
        double      value = v == s->variant_count ? NAN : lcsm_study_mean(s, v, at);
        if (!isfinite(value)) return (extreme){NAN, ""};
        if (!isfinite(e.value) || (up ? value > e.value : value < e.value))
            e = (extreme){value, label};
    }
    return e;
}

static void compare(lcsm_doc *d, const lcsm_study *s, const json_t *finding, const char *text)
{
    const json_t *at = json_object_get(finding, "at"), *by = json_object_get(finding, "by");
    bool          any    = json_is_true(json_object_get(finding, "any"));
    double        margin = json_is_number(by) ? json_number_value(by) : 0;
    extreme       ours   = extreme_of(s, json_object_get(finding, "better"), at, any);
    extreme       theirs = extreme_of(s, json_object_get(finding, "than"), at, true);
    char          seen[240];
    if (!isfinite(ours.value) || !isfinite(theirs.value)) {
        lcsm_doc_finding(d, LCSM_FINDING_OPEN, text, "");
        return;
    }
    double ahead = s->metric->higher ? ours.value - theirs.value : theirs.value - ours.value;
    int    p     = s->metric->digits;
    (void)snprintf(seen, sizeof seen, "%s: %.*f; best of the others: %s, %.*f", ours.label, p,
                   ours.value, theirs.label, p, theirs.value);
    if (margin > 0)
        (void)snprintf(seen, sizeof seen,
                       "%s: %.*f; best of the others: %s, %.*f; required difference: %g",
                       ours.label, p, ours.value, theirs.label, p, theirs.value, margin);
    lcsm_doc_finding(
        d, ahead > 0 && ahead >= margin ? LCSM_FINDING_CONFIRMED : LCSM_FINDING_NOT_CONFIRMED, text,
        seen);
}

static void compare_order(lcsm_doc *d, const lcsm_study *s, const json_t *finding, const char *text)
{
    const json_t *list = json_object_get(finding, "rising"), *at = json_object_get(finding, "at");
    size_t        count = json_array_size(list), pairs = 0;
    double       *place = malloc(2 * (count + 1) * sizeof *place), *value = place + count;
    char          seen[96];
    if (place == NULL) {
        d->failed = true;
        return;
    }
    for (size_t j = 0; j < count; j++) {
        const char *label = json_string_value(json_array_get(list, j));
        size_t      v     = label == NULL ? s->variant_count : lcsm_study_variant(s, label);
        place[j]          = (double)j;
        value[j]          = (s->metric->higher ? 1 : -1)
                 * (v == s->variant_count ? NAN : lcsm_study_mean(s, v, at));
    }
    double r = lcsm_spearman(place, value, count, &pairs);
    free(place);
    if (pairs < count || count < 2) {
        lcsm_doc_finding(d, LCSM_FINDING_OPEN, text, "");
        return;
    }
    /* Without any difference there is no order either. */
    (void)snprintf(seen, sizeof seen,
                   isfinite(r) ? "Spearman's correlation with the order is %.2f" : "all are equal",
                   r);
    lcsm_doc_finding(d, r >= RISING ? LCSM_FINDING_CONFIRMED : LCSM_FINDING_NOT_CONFIRMED, text,
                     seen);
}

void lcsm_findings(lcsm_doc *d, const lcsm_study *s)
{
    const json_t *list = json_object_get(json_object_get(s->doc.root, "paper"), "findings");
    for (size_t j = 0; j < json_array_size(list); j++) {
        const json_t *f    = json_array_get(list, j);
        const char   *text = json_string_value(json_object_get(f, "text"));
        if (text == NULL) continue;
        if (json_object_get(f, "better") != NULL) compare(d, s, f, text);
        else if (json_object_get(f, "rising") != NULL) compare_order(d, s, f, text);
        else lcsm_doc_finding(d, LCSM_FINDING_OPEN, text, "");
    }
}
