/* csv.h - every run of a report as a line of one file. */
#ifndef LCSM_REPORT_CSV_H
#define LCSM_REPORT_CSV_H
#include "base/strbuf.h"
#include "report/study.h"

/* Where a run is from, its folder, its settings (also those that an axis of an experiment changes),
 * and its figures. Lack of memory makes *out fail. */
void lcsm_csv(lcsm_strbuf *out, const lcsm_study *studies, size_t study_count,
              const lcsm_record *records, size_t record_count);

#endif
