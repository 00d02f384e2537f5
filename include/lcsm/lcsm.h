/*
 * lcsm/lcsm.h - the stable part of the library, and its version: context, operator, models,
 * sessions, generation, tokenizers, datasets, training, evaluation.
 *
 * These functions and types change only on purpose: tests/abi records them. lcsm/tools.h has the
 * rest, which may change at any time.
 *
 * Settings are handles that are set by key (lcsm/config.h). Structs of options and of results begin
 * with their size, which the caller sets, so that they can grow at their end:
 *
 *     lcsm_session_options o = {.size = sizeof o, .batch = 2};
 *     lcsm_evaluation      r = {.size = sizeof r};
 *
 * A size of 0 is refused, and so is a member that is set but that the library which runs does not
 * know. Structs that the library hands to a function of the caller may grow at their end.
 * lcsm_error and a few plain values, which their headers name, stay as they are.
 */
#ifndef LCSM_LCSM_H
#define LCSM_LCSM_H
#include <lcsm/chat.h>
#include <lcsm/config.h>
#include <lcsm/context.h>
#include <lcsm/dataset.h>
#include <lcsm/dist.h>
#include <lcsm/eos.h>
#include <lcsm/evaluate.h>
#include <lcsm/export.h>
#include <lcsm/generate.h>
#include <lcsm/import.h>
#include <lcsm/model.h>
#include <lcsm/prefix.h>
#include <lcsm/session.h>
#include <lcsm/slots.h>
#include <lcsm/status.h>
#include <lcsm/tokenizer.h>
#include <lcsm/train.h>

#define LCSM_VERSION_MAJOR 0
#define LCSM_VERSION_MINOR 2
#define LCSM_VERSION_PATCH 0
#define LCSM_VERSION       "0.2.0"

LCSM_BEGIN_DECLS

/* The version of the library that runs, to compare with LCSM_VERSION of the headers. */
LCSM_API const char *lcsm_version(void);

LCSM_END_DECLS
#endif
