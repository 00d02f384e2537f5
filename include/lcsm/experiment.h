/*
 * lcsm/experiment.h - the paper's tables and figures as grids of training runs.
 *
 * An experiment has variants (rows of a table: codes, methods, values of tau) and, for each scale,
 * axes (lengths, widths), learning rates and seeds. Running it trains every combination into a
 * folder of its own:
 *
 *     OUT/experiment.json     what there is to run, and the paper's numbers
 *     OUT/runs/NAME/          a run folder; failed.txt in it says why a run was given up
 *
 * lcsm_report_write (lcsm/report.h) makes tables and figures of OUT.
 *
 * A run is a process of its own (`lcsm train ...`), several at a time. What is done is not done
 * again, and what was interrupted continues from its checkpoint, so an experiment may be stopped
 * and started at any moment.
 *
 * Of several ranks (lcsm/dist.h) rank 0 hands out the runs as ranks become free, writes the folder
 * and has the events; the result of the others is empty. The folder is the one that one process
 * makes.
 *
 * Ownership  Options are borrowed for the time of the call; strings of an info or an event live as
 *            long as the call that gave them, those of the catalogue as long as the program.
 * Threads    One thread runs an experiment; the rest may be called from any.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. A run
 *            that fails is not an error: it is recorded, and the others continue.
 */
#ifndef LCSM_EXPERIMENT_H
#define LCSM_EXPERIMENT_H
#include <lcsm/context.h>
#include <lcsm/dist.h>
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>

LCSM_BEGIN_DECLS

typedef struct {
    size_t      size; /* set by the library */
    const char *name, *title, *about, *task, *metric;
    size_t      variants;
    size_t      runs[3]; /* at the scales tiny, small, paper */
} lcsm_experiment_info;

/* The experiments that come with the library. each is called for every one, in order of names. */
LCSM_API lcsm_status lcsm_experiment_list(void (*each)(void                       *user,
                                                       const lcsm_experiment_info *info),
                                          void *user, lcsm_error *err);

/* All zeros are the defaults, but for name, scale and out. */
typedef struct {
    size_t             size;  /* sizeof(lcsm_experiment_options) */
    const char        *name;  /* of the list, or a folder with a grid.json */
    const char        *scale; /* "tiny", "small" or "paper" */
    const char        *out;
    const char *const *data, *const *valid, *const *test; /* text, for language models */
    size_t        data_count, valid_count, test_count;
    const char   *tokenizer; /* NULL: one that the scale asks for is trained, else bytes */
    const double *lr;        /* instead of the scale's learning rates */
    size_t        lr_count;
    size_t        seeds;   /* instead of the scale's; 0: the scale's */
    int           jobs;    /* runs at a time; 0: one for each processor */
    const char   *only;    /* variants, separated by commas; NULL: all */
    const char   *program; /* what trains; NULL: this program */
    const char   *reading; /* "described" (or NULL), "as-run" or "both": see docs/erratum.md */
    lcsm_dist    *dist; /* ranks that share the runs, one on each at a time: jobs is not used. All
                         * make this call, with a folder that all can write */
} lcsm_experiment_options;

typedef enum {
    LCSM_EXPERIMENT_PLAN = 0, /* before the first run; left: seconds that all take at most, about */
    LCSM_EXPERIMENT_START = 1, /* of a run, new or resumed */
    LCSM_EXPERIMENT_WAIT  = 2, /* some time has passed */
    LCSM_EXPERIMENT_END   = 3, /* of a run; text is "" or says why it failed */
    LCSM_EXPERIMENT_NOTE  = 4, /* text says what happened */
} lcsm_experiment_event_kind;

typedef struct {
    size_t                     size; /* set by the library */
    lcsm_experiment_event_kind kind;
    const char                *run, *text;
    bool                       resumed;
    size_t                     runs, done, failed, running; /* done: those before, too */
    double                     seconds, left;               /* left: NAN if not known */
    double                     flops;                       /* of a plan: all that is to do */
} lcsm_experiment_event;

typedef struct {
    size_t size; /* sizeof(lcsm_experiment_hooks) */
    void (*event)(void *user, const lcsm_experiment_event *event); /* NULL: silence */
    bool (*stop)(void *user); /* asked often; true stops the runs, which save, and ends */
    void *user;
    /* Asked once, with the plan, before anything is written; false ends the call. NULL: continue.
     */
    bool (*start)(void *user, const lcsm_experiment_event *plan);
} lcsm_experiment_hooks;

typedef struct {
    size_t size;               /* sizeof(lcsm_experiment_result), set by the caller */
    size_t runs, done, failed; /* runs: of the whole grid */
    bool   stopped;
} lcsm_experiment_result;

LCSM_API lcsm_status lcsm_experiment_run(const lcsm_context            *ctx,
                                         const lcsm_experiment_options *options,
                                         const lcsm_experiment_hooks   *hooks,
                                         lcsm_experiment_result *out, lcsm_error *err);

LCSM_END_DECLS
#endif
