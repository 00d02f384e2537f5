/* study_figures.h - the figures of an experiment. */
#ifndef LCSM_REPORT_STUDY_FIGURES_H
#define LCSM_REPORT_STUDY_FIGURES_H
#include "report/doc.h"
#include "report/study.h"

/* means: of each variant over the points. */
lcsm_status lcsm_study_figures(lcsm_doc *d, const lcsm_study *s, const double *means,
                               lcsm_error *err);

/* An axis for people: "width" for d_model. */
const char *lcsm_axis_name(const char *key);

/* "length 32, width 64", the place of a point on the axes but one (axis_count: on all); "" if there
 * is no other. */
const char *lcsm_point_text(char text[96], const lcsm_study *s, size_t point, size_t without);

#endif
