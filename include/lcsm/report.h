/*
 * lcsm/report.h - run folders and experiments as something to read.
 *
 * A folder is that of a run (config.json, metrics.jsonl), of an experiment (experiment.json and
 * runs/), or one that holds such folders. The report is an HTML page that needs nothing else, and
 * on request Markdown, CSV with one line per run, and each figure as an SVG file.
 *
 * Ownership  Options are borrowed for the time of the call.
 * Threads    Everything here may be called from any thread.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why.
 *            A run that failed, is unfinished or is missing is shown as such and is not an error.
 *            An experiment that cannot be read is one if it was named; in a folder that holds
 *            others it is noted.
 */
#ifndef LCSM_REPORT_H
#define LCSM_REPORT_H
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stddef.h>

LCSM_BEGIN_DECLS

typedef struct {
    size_t             size; /* sizeof(lcsm_report_options) */
    const char *const *folders;
    size_t             count;
    const char        *title;                   /* NULL: a standard one */
    const char *html, *markdown, *csv, *svg;    /* files, and a folder for figures; NULL: none */
    void (*text)(void *user, const char *text); /* gets the tables as plain text; may be NULL */
    void (*note)(void *user, const char *text); /* gets what the report had to leave out, also a
                                                   note of it; may be NULL */
    void *user;
} lcsm_report_options;

typedef struct {
    size_t size; /* sizeof(lcsm_report_summary), set by the caller */
    size_t experiments, runs, done, failed, missing, figures;
} lcsm_report_summary;

LCSM_API lcsm_status lcsm_report_write(const lcsm_report_options *options, lcsm_report_summary *out,
                                       lcsm_error *err);

/* A run folder in a few lines: section is "training" (a setting) or "scores", name and value are
 * text. A run that was imported and never trained has none. */
typedef void lcsm_run_fact_fn(void *user, const char *section, const char *name, const char *value);

LCSM_API lcsm_status lcsm_run_facts(const char *folder, lcsm_run_fact_fn *each, void *user,
                                    lcsm_error *err);

LCSM_END_DECLS
#endif
