/*
 * serve/view.h - run folders and experiments as they are now: what `lcsm view` shows.
 *
 * metrics.jsonl is the source. Nothing is written and no lock is taken, so a run that is under way
 * does not notice.
 */
#ifndef LCSM_SERVE_VIEW_H
#define LCSM_SERVE_VIEW_H
#include <jansson.h>

#include "base/folder.h"
#include "serve/fault.h"

/* {"object", "kind": "run" | "experiment" | "folder", "name", "title", "metric", "runs": [...]}. A
 * run: {"name", "label", "state", "reason", "step", "steps", "left", "train", "valid", ...};
 * docs/server.md has them. NULL: a fault. */
json_t *lcsm_view_summary(const char *folder, lcsm_fault *fault);

/* {"file", "next", "more", "lines": [...]}: lines of a run's metrics from byte `from` on, of the
 * file with that name; of another file, from its beginning. */
json_t *lcsm_view_metrics(const char *folder, const char *name, const char *file, size_t from,
                          lcsm_fault *fault);

/* {"text", "step"...}: a text by the weights that the run has saved last; {"text": null, "why"} for
 * a run that makes none. */
json_t *lcsm_view_sample(const char *folder, const char *name, lcsm_fault *fault);

/* The folder of a run that the view shows; with a fault otherwise. */
bool lcsm_view_run(char path[LCSM_PATH_MAX], const char *folder, const char *name,
                   lcsm_fault *fault);

#endif
