/* lab/oracle_roster.h - which case of an oracle file has which builder. */
#ifndef LCSM_LAB_ORACLE_ROSTER_H
#define LCSM_LAB_ORACLE_ROSTER_H
#include "lab/oracle_lab.h"

/* A case is known by its group (of the formats that have one), its name, in both of which '*'
 * stands for any letters, and the inputs that it must have; never by its numbers. */
typedef struct {
    const char       *group, *name, *inputs;
    lcsm_lab_builder *build;
    bool              forms; /* has an eos op, whose other forms must give the same */
} lcsm_oracle_row;

/* NULL: unknown. The first row that fits. */
const lcsm_oracle_row *lcsm_oracle_row_of(const lcsm_oracle_case *c);

#endif
