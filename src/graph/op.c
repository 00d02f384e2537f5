/* op.c - the op table. */
#include "graph/op.h"

#include <stdarg.h>
#include <stdio.h>

#define X(name) extern const lcsm_op lcsm_op_##name##_f32, lcsm_op_##name##_f64;
LCSM_OP_LIST(X)
#undef X

static const lcsm_op *const OPS[2][LCSM_OP_COUNT] = {
#define X(name) &lcsm_op_##name##_f32,
    [LCSM_F32] = {LCSM_OP_LIST(X)},
#undef X
#define X(name) &lcsm_op_##name##_f64,
    [LCSM_F64] = {LCSM_OP_LIST(X)},
#undef X
};

const lcsm_op *lcsm_op_row(lcsm_op_id op, lcsm_dtype dtype)
{
    return OPS[dtype][op];
}

void lcsm_call_fail(const lcsm_call *c, const char *fmt, ...)
{
    lcsm_error *e = &c->run->error;
    va_list     args;
    if (e->status != LCSM_OK) return;
    e->status = LCSM_ERR_ARGUMENT;
    va_start(args, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, args);
    va_end(args);
}
