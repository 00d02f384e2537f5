/* context.c - threads, instruction set and log of one user of the library. */
#include "kernel/context.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/sized.h"
#include "kernel/cpu.h"

/* The tables are types of their own variants; here they are only made and freed. */
struct lcsm_kernels_f32 *lcsm_kernels_new_f32(unsigned cpu);
struct lcsm_kernels_f64 *lcsm_kernels_new_f64(unsigned cpu);

static const char *const ISA_NAMES[] = {
    [LCSM_ISA_AUTO] = "auto",         [LCSM_ISA_REFERENCE] = "reference",
    [LCSM_ISA_PORTABLE] = "portable", [LCSM_ISA_AVX2] = "avx2",
    [LCSM_ISA_AVX512] = "avx512",     [LCSM_ISA_AVX512_BF16] = "avx512-bf16",
    [LCSM_ISA_NEON] = "neon",
};

/* What the sets up to this one may use. */
static const unsigned ISA_BITS[] = {
    [LCSM_ISA_REFERENCE] = 0,
    [LCSM_ISA_PORTABLE]  = LCSM_CPU_VECTOR,
    [LCSM_ISA_AVX2]      = LCSM_CPU_VECTOR | LCSM_CPU_AVX2,
    [LCSM_ISA_AVX512]    = LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512,
    [LCSM_ISA_AVX512_BF16] =
        LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512 | LCSM_CPU_AVX512_BF16,
    [LCSM_ISA_NEON] = LCSM_CPU_VECTOR | LCSM_CPU_NEON,
};

static bool runs_here(lcsm_isa isa)
{
    return (ISA_BITS[isa] & ~lcsm_cpu_features()) == 0;
}

/* The fastest set that was built and that this processor has: the last, since those of another
 * architecture do not run. */
static lcsm_isa fastest(void)
{
    lcsm_isa isa = (lcsm_isa)(COUNT(ISA_BITS) - 1);
    while (!runs_here(isa)) isa--;
    return isa;
}

static lcsm_status check(const lcsm_context_options *o, lcsm_error *err)
{
    if (o->threads < 0 || o->threads > LCSM_THREADS_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "threads is %d; expected 0 to %d (0 = all processors)", o->threads,
                         LCSM_THREADS_MAX);
    if ((unsigned)o->isa >= COUNT(ISA_NAMES))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "isa is %d; expected 0 to %d", (int)o->isa,
                         (int)COUNT(ISA_NAMES) - 1);
    if (!runs_here(o->isa))
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "this processor does not support %s; its fastest is %s", ISA_NAMES[o->isa],
                         ISA_NAMES[fastest()]);
    return LCSM_OK;
}

lcsm_status lcsm_context_create(lcsm_context **out, const lcsm_context_options *options,
                                lcsm_error *err)
{
    lcsm_context_options o;
    lcsm_status          st = LCSM_TAKE(lcsm_context_options, log_user, &o, options, err);

    *out = NULL;
    if (st == LCSM_OK) st = check(&o, err);
    if (st != LCSM_OK) return st;
    lcsm_context *ctx = malloc(sizeof *ctx);
    if (ctx == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a context");
    *ctx = (lcsm_context){
        .pool = lcsm_pool_create(o.threads > 0 ? o.threads : lcsm_thread_limit()),
        .isa  = o.isa == LCSM_ISA_AUTO ? fastest() : o.isa,
        .log  = {.fn = o.log, .user = o.log_user},
    };
    ctx->f32 = lcsm_kernels_new_f32(ISA_BITS[ctx->isa]);
    ctx->f64 = lcsm_kernels_new_f64(ISA_BITS[ctx->isa]);
    if (ctx->pool == NULL || ctx->f32 == NULL || ctx->f64 == NULL) {
        lcsm_context_free(ctx);
        return lcsm_fail(err, LCSM_ERR_MEMORY,
                         "not enough memory for the kernel tables and the threads");
    }
    *out = ctx;
    return LCSM_OK;
}

void lcsm_context_free(lcsm_context *ctx)
{
    if (ctx == NULL) return;
    lcsm_pool_free(ctx->pool);
    free(ctx->f32);
    free(ctx->f64);
    free(ctx);
}

int lcsm_context_threads(const lcsm_context *ctx)
{
    return lcsm_pool_threads(ctx->pool);
}

lcsm_isa lcsm_context_isa(const lcsm_context *ctx)
{
    return ctx->isa;
}

const char *lcsm_isa_name(lcsm_isa isa)
{
    return (unsigned)isa < COUNT(ISA_NAMES) ? ISA_NAMES[isa] : NULL;
}

const char *lcsm_context_isa_name(const lcsm_context *ctx)
{
    return ISA_NAMES[ctx->isa];
}
