/* lcsm/lcsm.h - everything, and the version. */
#ifndef LCSM_LCSM_H
#define LCSM_LCSM_H
#include <lcsm/bench.h>
#include <lcsm/bench_train.h>
#include <lcsm/check.h>
#include <lcsm/config.h>
#include <lcsm/context.h>
#include <lcsm/dataset.h>
#include <lcsm/eos.h>
#include <lcsm/evaluate.h>
#include <lcsm/experiment.h>
#include <lcsm/export.h>
#include <lcsm/generate.h>
#include <lcsm/import.h>
#include <lcsm/inspect.h>
#include <lcsm/model.h>
#include <lcsm/report.h>
#include <lcsm/session.h>
#include <lcsm/status.h>
#include <lcsm/tokenizer.h>
#include <lcsm/train.h>

#define LCSM_VERSION_MAJOR 0
#define LCSM_VERSION_MINOR 1
#define LCSM_VERSION_PATCH 0
#define LCSM_VERSION       "0.1.0"

LCSM_BEGIN_DECLS

/* The version of the library that runs, to compare with LCSM_VERSION of the headers. */
LCSM_API const char *lcsm_version(void);

LCSM_END_DECLS
#endif
