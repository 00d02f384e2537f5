/*
 * finding.h - what the paper claims, held against our numbers.
 *
 * A finding is an object of paper.json:
 *
 *     {"text": "...", "better": ["1-1-1-0"], "than": ["1-1-0-0", ...], "by": 0.1,
 *      "any": true, "at": {"seq_len": 64}}
 *     {"text": "...", "rising": ["1", "2", "4"], "at": {...}}
 *
 * The first is shown when every variant of `better` (with "any": the best of them) is ahead of
 * every one of `than` by at least `by` in the experiment's metric; the second when the metric gets
 * better along the list: Spearman's correlation is at least 0.7. One without these is only told.
 */
#ifndef LCSM_REPORT_FINDING_H
#define LCSM_REPORT_FINDING_H
#include "report/doc.h"
#include "report/study.h"

/* What became of a finding, and the numbers that decide. */
typedef struct {
    lcsm_finding_state state;
    char               seen[352];
} lcsm_held;

/* The findings of the study's paper, or NULL; and one of them against the study's reading. */
const json_t *lcsm_findings_of(const lcsm_study *s);
lcsm_held     lcsm_finding_hold(const lcsm_study *s, const json_t *finding);

/* Appends the findings of the study's paper to the document. */
void lcsm_findings(lcsm_doc *d, const lcsm_study *s);

#endif
