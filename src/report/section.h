/* section.h - the parts of a report: one for each experiment, one for all, one for single runs. */
#ifndef LCSM_REPORT_SECTION_H
#define LCSM_REPORT_SECTION_H
#include "report/doc.h"
#include "report/interval.h"

/* first: no other experiment stands before it. */
lcsm_status lcsm_section_study(lcsm_doc *d, const lcsm_study *s, bool first, lcsm_error *err);
lcsm_status lcsm_section_runs(lcsm_doc *d, const lcsm_record *records, size_t count,
                              lcsm_error *err);

/* The task, an example and its chance level; before the first experiment also what to look at, and
 * before the first that has codes what they mean. */
void lcsm_section_guide(lcsm_doc *d, const lcsm_study *s, bool first);

/* Both readings of a study that has two, beside the paper. */
void lcsm_section_readings(lcsm_doc *d, const lcsm_study *s);

/* The fact how well the order of these rows agrees with the paper's, with what the correlation
 * would be with other seeds; nothing if it has none. `where` follows "with the paper". */
void lcsm_section_correlation(lcsm_doc *d, const char *name, const char *where,
                              const lcsm_ranked *rows, size_t count);

/* Where the task is an axis: scores beside the numbers in print, task by task, with the correlation
 * of their ranks. Nothing otherwise. */
void lcsm_section_published(lcsm_doc *d, const lcsm_study *s);

/* Experiments with the same metric and scale in one ranking beside the paper's; nothing if there is
 * no more than one. */
lcsm_status lcsm_section_together(lcsm_doc *d, const lcsm_study *studies, size_t count,
                                  lcsm_error *err);

/* ---- what both show ---- */

/* "3 h 20 min", "4 min 10 s", "12.3 s". */
const char *lcsm_section_time(char text[32], double seconds);

/* Loss of each record against tokens: a line for training, a dashed one for validation. */
typedef struct {
    const char        *label;
    const lcsm_record *record;
} lcsm_named_record;

lcsm_status lcsm_section_curves(lcsm_doc *d, const lcsm_named_record *records, size_t count,
                                const char *title, const char *file, bool ordered, lcsm_error *err);

/* Of half-lives in tokens, without rows that keep all; {0} is empty. */
typedef struct {
    double low, high;
} lcsm_range;

lcsm_status lcsm_section_decay_range(lcsm_range *range, const lcsm_record *r, lcsm_error *err);

/* A heat map of half-lives, if the run tells them; then *shown, if not NULL, is true. The first map
 * says how half-lives are made. Its colours have that range, or with NULL the run's own. */
lcsm_status lcsm_section_decays(lcsm_doc *d, const lcsm_named_record *record, const char *file,
                                bool *shown, const lcsm_range *range, lcsm_error *err);

/* What `lcsm inspect` found, if it was kept. */
void lcsm_section_inspect(lcsm_doc *d, const lcsm_record *r, const char *file);

/* The members of an object, folded; nothing if there is none. */
void lcsm_section_settings(lcsm_doc *d, const char *title, json_t *settings);

/* A value of config.json as a cell; nothing for NULL. */
void lcsm_section_setting(lcsm_table *t, const json_t *value);

/* Notes that metrics.jsonl of a run has lines that are no JSON, if it has some. The name is ""
 * where it stands above. */
void lcsm_section_damage(lcsm_doc *d, const char *name, const lcsm_record *r);

#endif
