/* interval.h - how far a rank correlation moves with the seeds. */
#ifndef LCSM_REPORT_INTERVAL_H
#define LCSM_REPORT_INTERVAL_H
#include "report/study.h"

/* A row of a table: a variant of a study, and the paper's number. */
typedef struct {
    const lcsm_study *study;
    size_t            variant;
    double            paper;
} lcsm_ranked;

/* Where 95 % of the correlations lie when the seeds of every row are drawn again, with
 * replacement. False, and nothing is written, unless all rows have several seeds everywhere. */
bool lcsm_rank_interval(const lcsm_ranked *rows, size_t count, double *low, double *high);

#endif
