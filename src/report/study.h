/*
 * study.h - the folder of an experiment: its runs, and what they amount to.
 *
 *     experiment.json   name, title, about, task, scale, metric, axes, variants, paper, runs
 *     runs/NAME/        a run folder for each row of "runs"
 *
 * A run is one variant (a row of the paper's table) at one point of the axes (a length, a width)
 * with a learning rate and a seed. A cell joins the runs of a variant at a point: of the learning
 * rates that lost the fewest seeds, none if possible, the one whose mean over seeds is best. Each
 * reading of the paper has cells of its own; a run may belong to both.
 */
#ifndef LCSM_REPORT_STUDY_H
#define LCSM_REPORT_STUDY_H
#include "report/reading.h"
#include "report/record.h"

#define LCSM_STUDY_FILE "experiment.json"
#define LCSM_STUDY_RUNS "runs"

enum { LCSM_STUDY_AXES = 4, LCSM_STUDY_MAX = 100000 };

typedef struct {
    const char *name,
        *command; /* its --out, and a tokenizer of the experiment, inside the folder */
    size_t      variant, point;
    double      axes[LCSM_STUDY_AXES];
    double      lr, seed;
    unsigned    readings; /* those that it belongs to, a set of 1 << lcsm_reading */
    lcsm_record record;
} lcsm_study_run;

typedef struct {
    double             value, deviation; /* over seeds; NaN if no run has it */
    double             test; /* mean at the end, on the test set; NaN if there is none */
    double             lr;
    size_t             seeds, counted;     /* at that rate, and those of them that have a value */
    size_t             runs, done, failed; /* of all learning rates */
    const lcsm_record *best;               /* the best run at that rate, or NULL */
} lcsm_study_cell;

/* {0} is empty and may be freed. */
typedef struct {
    char          folder[LCSM_PATH_MAX];
    char         *heading; /* the title, told from others; whoever puts them together gives it */
    lcsm_json_doc doc;
    const char   *name, *title, *about, *task, *scale;
    const char   *command, *out; /* lines of calls; the folder as the last one has it, or "" */
    const lcsm_metric *metric;
    const char        *axes[LCSM_STUDY_AXES];
    const char       **variants;
    lcsm_study_run    *runs;
    double (*points)[LCSM_STUDY_AXES];
    unsigned         readings; /* a set of 1 << lcsm_reading */
    lcsm_reading     reading;  /* the one that cells, means and findings are asked of */
    lcsm_study_cell *cells;    /* (reading, variant, point) */
    double *paper_valid, *paper_test, *paper_parameters; /* of each variant; NaN if not printed */
    const double *paper; /* those to compare with: paper_valid, or paper_test if they are all NaN */
    size_t        axis_count, variant_count, run_count, point_count;
} lcsm_study;

lcsm_status lcsm_study_read(lcsm_study *out, const char *folder, lcsm_error *err);
void        lcsm_study_free(lcsm_study *s);

const lcsm_study_cell *lcsm_study_at(const lcsm_study *s, size_t variant, size_t point);

/* Whether some cell is a mean over seeds. */
bool lcsm_study_has_means(const lcsm_study *s);

/* The mean of a variant over the points whose axes are as `at` (a JSON object, or NULL for all)
 * says; NaN if one of them has no result, or none is meant. */
double lcsm_study_mean(const lcsm_study *s, size_t variant, const json_t *at);

/* The standard deviation of that mean over seeds; 0 or NaN if no cell is a mean. */
double lcsm_study_spread(const lcsm_study *s, size_t variant, const json_t *at);

/* The values of the runs that a cell joins, its seeds; `values` has room for run_count. */
size_t lcsm_study_values(const lcsm_study *s, size_t variant, size_t point, double *values);

/* The study as another of its readings has it. It borrows everything and is not freed. */
lcsm_study lcsm_study_as(const lcsm_study *s, lcsm_reading reading);

/* A point of an axis: a number, or the name of a task, which is its row in the table. NaN for what
 * is neither. */
double      lcsm_axis_value(const json_t *value);
lcsm_status lcsm_axis_read(double *out, lcsm_json value, lcsm_error *err);

/* The number of an axis by its key, or axis_count. */
size_t lcsm_study_axis(const lcsm_study *s, const char *key);

/* The number of a variant by its label, or variant_count. */
size_t lcsm_study_variant(const lcsm_study *s, const char *label);

#endif
