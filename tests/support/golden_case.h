/*
 * golden_case.h - the recorded models of tests/golden/, which tools/make-golden writes.
 *
 * A case is a model by its settings, tokens and targets, and what an independent implementation
 * found: logits, the loss, and for each parameter the slope of the loss along one direction and of
 * one entry. Parameters are functions of their names.
 */
#ifndef LCSM_GOLDEN_CASE_H
#define LCSM_GOLDEN_CASE_H
#include <jansson.h>
#include <lcsm/model.h>
#include <stddef.h>
#include <stdint.h>

enum { GOLDEN_DIMS = 4 };

typedef struct {
    const char *name;
    int         rank;
    size_t      shape[GOLDEN_DIMS], count;
    double      centre, scale; /* value j is centre + scale * uniform(name, salt, j) */
    double      slope;         /* along uniform(name, "'", j) */
    size_t      entry;
    double      entry_slope;
} golden_parameter;

typedef void golden_fn(void *user, const json_t *one);

/* Every case of every file; fails if there is none. */
void golden_each(golden_fn *fn, void *user);

const char *golden_text(const json_t *one, const char *key);
/* A setting as the file has it; NULL if it has none. */
const char *golden_setting(const json_t *one, const char *key);
/* The settings of a case, on top of the defaults. */
void golden_config(lcsm_model_config *cfg, const json_t *one);

size_t           golden_parameter_count(const json_t *one);
golden_parameter golden_parameter_at(const json_t *one, size_t row);

/* Rows and columns of an array of arrays, and a number of it. */
size_t  golden_rows(const json_t *one, const char *key);
size_t  golden_columns(const json_t *one, const char *key);
int32_t golden_int(const json_t *one, const char *key, size_t row, size_t column);
/* Number j of a flat array; of an object of arrays, with its name. */
double        golden_number(const json_t *one, const char *key, size_t j);
const json_t *golden_values(const json_t *one, const char *key, const char *name);

/* Number j of the name's, in [-1, 1): FNV-1a of the name, then SplitMix64. tail is added to the
 * name: the case's salt for values, "'" for the direction of the slope. */
double golden_uniform(const char *name, const char *tail, size_t j);
#endif
