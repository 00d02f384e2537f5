/* as_run.h - the settings under which the public code of the paper's authors ran a model. */
#ifndef LCSM_EXPERIMENT_AS_RUN_H
#define LCSM_EXPERIMENT_AS_RUN_H
#include <stdbool.h>

#include "base/error.h"
#include "format/json_doc.h"

/* Sets what differs from the paper's description in a run of this task; *differs says whether
 * anything does. A run without a code is left as it is. */
lcsm_status lcsm_as_run(json_t *settings, const char *task, bool *differs, lcsm_error *err);

#endif
