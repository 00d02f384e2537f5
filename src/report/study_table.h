/* study_table.h - the table of an experiment: every variant at every point, and the paper's. */
#ifndef LCSM_REPORT_STUDY_TABLE_H
#define LCSM_REPORT_STUDY_TABLE_H
#include "report/doc.h"
#include "report/study.h"

/* The means of variants over all points; their ranks, and those of the paper's numbers. */
typedef struct {
    const double *means, *ranks, *paper_ranks;
} lcsm_study_order;

/* As many tables as it takes for all points; the last one has what is told of a whole row. */
void lcsm_study_tables(lcsm_doc *d, const lcsm_study *s, const lcsm_study_order *order);

/* The learning rate behind each cell, where there is more than one and a row has several cells. */
void lcsm_study_rates(lcsm_doc *d, const lcsm_study *s);

#endif
