/*
 * lab/oracle.h - oracle files: cases with given inputs, outputs and gradients.
 *
 * Three formats are read into one form, told apart by their content:
 *
 *   lcsm-oracle-1  {"format", "title", "cases": [{"name", "config", "inputs", "outputs", "dy",
 *                  "grads"}]}; an array is {"shape", "data"}, "complex" or "int" if so
 *   groups         {group: {case: {"inputs", "outputs", "gradients"}}}: float32 tensors,
 *                  gradients of the plain sum of the output y
 *   operators      {case: {"op", "attributes", "inputs", "outputs"}}: float32 tensors
 *
 * The last two are others' files: a case there that cannot be read, as with NaN or a number type
 * that is not known, is refused by name, and the others are read.
 */
#ifndef LCSM_LAB_ORACLE_H
#define LCSM_LAB_ORACLE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "format/json_doc.h"

enum { LCSM_ORACLE_RANK = 5 };

/* A named array; complex numbers are pairs in data, so it holds count or 2 count numbers. */
typedef struct {
    const char *name; /* borrowed from the document */
    bool        is_complex;
    int         rank;
    ptrdiff_t   dim[LCSM_ORACLE_RANK];
    size_t      count;   /* elements */
    size_t      numbers; /* count, or twice that */
    double     *data;
} lcsm_oracle_array;

typedef struct {
    lcsm_oracle_array *list;
    size_t             count;
} lcsm_oracle_arrays;

typedef struct {
    const char        *group; /* of the groups format, or the operator (config.op); else "" */
    const char        *name;
    const json_t      *config; /* an object, or NULL */
    lcsm_oracle_arrays inputs, outputs, dy, grads;
    bool               single;   /* the given numbers are float32, or fewer bits */
    double             half_ulp; /* of the narrowest number type of the outputs, if below float32 */
    char               refused[240]; /* why the case cannot be read; "" if it can */
} lcsm_oracle_case;

typedef struct {
    lcsm_json_doc     document;
    lcsm_oracle_case *cases;
    size_t            count;
} lcsm_oracle;

/* Messages name the file, the case and the array. */
lcsm_status lcsm_oracle_read(lcsm_oracle *out, const char *path, lcsm_error *err);
void        lcsm_oracle_free(lcsm_oracle *o);

/* NULL if there is none of that name. */
const lcsm_oracle_array *lcsm_oracle_find(const lcsm_oracle_arrays *a, const char *name);

#endif
