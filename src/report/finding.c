/* finding.c - claims as comparisons of means. */
#include "report/finding.h"

#include <math.h>
#include <stdio.h>

#include "base/cplx.h"
#include "report/rank.h"

enum { EXTREME_TEXT = 112 };

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

/* "1-1-1-0: 0.95", or with its deviation over seeds "0.95 ± 0.01". */
static void put_extreme(char text[EXTREME_TEXT], const lcsm_study *s, const extreme *e,
                        const char *comma, const json_t *at)
{
    int    digits                   = s->metric->digits;
    double spread                   = lcsm_study_spread(s, lcsm_study_variant(s, e->label), at);
    char   around[LCSM_NUMBER_TEXT] = "";
    bool   told                     = spread > 0;
    if (told) (void)lcsm_number_text(around, digits, spread);
    (void)snprintf(text, EXTREME_TEXT, "%.60s%s%.*f%s%s", e->label, comma, digits, e->value,
                   told ? " \xC2\xB1 " : "", around);
}

/* The deviation over seeds of the difference of two means; 0 with one seed. */
static double spread_between(const lcsm_study *s, const extreme *a, const extreme *b,
                             const json_t *at)
{
    double one = lcsm_study_spread(s, lcsm_study_variant(s, a->label), at);
    double two = lcsm_study_spread(s, lcsm_study_variant(s, b->label), at);
    return one > 0 && two > 0 ? lcsm_hypot(one, two) : 0;
}

static lcsm_held compare(const lcsm_study *s, const json_t *finding)
{
    const json_t *at = json_object_get(finding, "at"), *by = json_object_get(finding, "by");
    bool          any    = json_is_true(json_object_get(finding, "any"));
    double        margin = json_is_number(by) ? json_number_value(by) : 0;
    extreme       ours   = extreme_of(s, json_object_get(finding, "better"), at, any);
    extreme       theirs = extreme_of(s, json_object_get(finding, "than"), at, true);
    lcsm_held     held   = {.state = LCSM_FINDING_OPEN};
    char          a[EXTREME_TEXT], b[EXTREME_TEXT], required[48] = "";
    const char   *little = "";
    if (!isfinite(ours.value) || !isfinite(theirs.value)) return held;
    double ahead = s->metric->higher ? ours.value - theirs.value : theirs.value - ours.value;
    put_extreme(a, s, &ours, ": ", at);
    put_extreme(b, s, &theirs, ", ", at);
    if (margin > 0) (void)snprintf(required, sizeof required, "; required difference: %g", margin);
    if (fabs(ahead) < spread_between(s, &ours, &theirs, at))
        little = "; less than the spread of the seeds";
    (void)snprintf(held.seen, sizeof held.seen, "%s; best of the others: %s%s%s", a, b, required,
                   little);
    held.state = ahead > 0 && ahead >= margin ? LCSM_FINDING_CONFIRMED : LCSM_FINDING_NOT_CONFIRMED;
    return held;
}

static lcsm_held compare_order(const lcsm_study *s, const json_t *finding)
{
    enum { MOST = 1000 };
    const json_t *list = json_object_get(finding, "rising"), *at = json_object_get(finding, "at");
    size_t        count = json_array_size(list) < MOST ? json_array_size(list) : MOST, pairs = 0;
    double        place[MOST], value[MOST];
    lcsm_held     held = {.state = LCSM_FINDING_OPEN};
    for (size_t j = 0; j < count; j++) {
        const char *label = json_string_value(json_array_get(list, j));
        size_t      v     = label == NULL ? s->variant_count : lcsm_study_variant(s, label);
        place[j]          = (double)j;
        value[j]          = (s->metric->higher ? 1 : -1)
                 * (v == s->variant_count ? NAN : lcsm_study_mean(s, v, at));
    }
    double r = lcsm_spearman(place, value, count, &pairs);
    if (pairs < count || count < 2) return held;
    /* Without any difference there is no order either. */
    (void)snprintf(held.seen, sizeof held.seen,
                   isfinite(r) ? "Spearman's correlation with the order is %.2f" : "all are equal",
                   r);
    held.state = r >= RISING ? LCSM_FINDING_CONFIRMED : LCSM_FINDING_NOT_CONFIRMED;
    return held;
}

lcsm_held lcsm_finding_hold(const lcsm_study *s, const json_t *finding)
{
    if (json_object_get(finding, "better") != NULL) return compare(s, finding);
    if (json_object_get(finding, "rising") != NULL) return compare_order(s, finding);
    return (lcsm_held){.state = LCSM_FINDING_OPEN};
}

const json_t *lcsm_findings_of(const lcsm_study *s)
{
    return json_object_get(json_object_get(s->doc.root, "paper"), "findings");
}

void lcsm_findings(lcsm_doc *d, const lcsm_study *s)
{
    const json_t *list = lcsm_findings_of(s);
    for (size_t j = 0; j < json_array_size(list); j++) {
        const json_t *f    = json_array_get(list, j);
        const char   *text = json_string_value(json_object_get(f, "text"));
        lcsm_held     held = lcsm_finding_hold(s, f);
        if (text != NULL) lcsm_doc_finding(d, held.state, text, held.seen);
    }
}
