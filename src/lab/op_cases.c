/* op_cases.c - the cases of every op. */
#include "lab/op_cases.h"

lcsm_op_cases lcsm_op_cases_of(lcsm_op_id op)
{
    static const lcsm_op_cases *const ALL[LCSM_OP_COUNT] = {
#define X(name) [LCSM_OP_##name] = &lcsm_op_cases_##name,
        LCSM_OP_LIST(X)
#undef X
    };
    return *ALL[op];
}
