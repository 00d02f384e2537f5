/*
 * lcsm/lcsm.h - the stable part of the library, and its version: context, operator, models,
 * sessions, generation, tokenizers, datasets, training, evaluation.
 *
 * These functions and types change only on purpose: tests/abi records them. lcsm/tools.h has the
 * rest, which may change at any time.
 *
 * Settings are handles that are set by key (lcsm/config.h). Structs that the library hands out by
 * pointer may grow at their end.
 */
#ifndef LCSM_LCSM_H
#define LCSM_LCSM_H
#include <lcsm/config.h>
#include <lcsm/context.h>
#include <lcsm/dataset.h>
#include <lcsm/eos.h>
#include <lcsm/evaluate.h>
#include <lcsm/export.h>
#include <lcsm/generate.h>
#include <lcsm/import.h>
#include <lcsm/model.h>
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
