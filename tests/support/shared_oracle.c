/* shared_oracle.c - oracle cases for tests. */
#include "shared_oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

void shared_oracle_read(lcsm_oracle *o, const char *file)
{
    char       path[256];
    lcsm_error err = {0};
    snprintf(path, sizeof path, "../shared/oracles/%s", file);
    FILE *there = fopen(path, "rb");
    if (there == NULL) skip();
    fclose(there);
    if (lcsm_oracle_read(o, path, &err) != LCSM_OK) fail_msg("%s", err.text);
}

const lcsm_oracle_case *shared_oracle_case(const lcsm_oracle *o, const char *name)
{
    for (size_t j = 0; j < o->count; j++)
        if (strcmp(o->cases[j].name, name) == 0) return &o->cases[j];
    fail_msg("there is no case %s", name);
    return NULL;
}

const double *shared_oracle_array(const lcsm_oracle_arrays *a, const char *name, size_t numbers)
{
    const lcsm_oracle_array *array = lcsm_oracle_find(a, name);
    if (array == NULL) fail_msg("there is no array %s", name);
    if (array->numbers != numbers)
        fail_msg("%s has %zu numbers, want %zu", name, array->numbers, numbers);
    return array->data;
}

void shared_oracle_compare(const lcsm_oracle_arrays *a, const char *name, const double *got,
                           size_t numbers, double tolerance)
{
    const double *want = shared_oracle_array(a, name, numbers);
    for (size_t j = 0; j < numbers; j++)
        if (!(fabs(got[j] - want[j]) <= tolerance * (1 + fabs(want[j]))))
            fail_msg("%s[%zu] is %.17g, want %.17g", name, j, got[j], want[j]);
}
