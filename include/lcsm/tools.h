/*
 * lcsm/tools.h - what the program lcsm is made of beside lcsm/lcsm.h: checks, benchmarks,
 * experiments, reports, inspection.
 *
 * These functions and structs may change from one version to the next; a program that uses them is
 * built again for each. Structs begin with their size, as those of lcsm/lcsm.h do.
 */
#ifndef LCSM_TOOLS_H
#define LCSM_TOOLS_H
#include <lcsm/bench.h>
#include <lcsm/bench_train.h>
#include <lcsm/check.h>
#include <lcsm/experiment.h>
#include <lcsm/inspect.h>
#include <lcsm/lcsm.h>
#include <lcsm/parts.h>
#include <lcsm/report.h>
#include <lcsm/task.h>

#endif
