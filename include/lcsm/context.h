/*
 * lcsm/context.h - how many threads, which kernels, where messages go.
 *
 * Ownership  What _create returns, the caller gives to _free. _free(NULL) is fine.
 * Threads    A context does not change after _create: any number of threads may share it.
 *            The log function may be called from several threads at once. A context has worker
 *            threads, which end with it; they sleep while there is no work and block all signals
 *            but those for faults of their own. While one thread of the program uses the workers,
 *            the others compute alone. After fork() the child may use and free the context: it
 *            computes on one thread; a context of its own has workers again.
 * Options    begin with their size: {.size = sizeof options}.
 * Errors     On failure *out is NULL and nothing is left to free.
 */
#ifndef LCSM_CONTEXT_H
#define LCSM_CONTEXT_H
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stddef.h>

typedef struct lcsm_context lcsm_context;

/* The instruction sets that the library has kernels for; those of one architecture from slow to
 * fast. */
typedef enum {
    LCSM_ISA_AUTO        = 0, /* the fastest that this processor has */
    LCSM_ISA_REFERENCE   = 1, /* plain C, one operation after the other */
    LCSM_ISA_PORTABLE    = 2, /* what every processor of this architecture has */
    LCSM_ISA_AVX2        = 3, /* AVX2 and FMA */
    LCSM_ISA_AVX512      = 4, /* AVX-512 F, BW, VL and DQ */
    LCSM_ISA_AVX512_BF16 = 5, /* and AVX512-BF16, for products in bfloat16 */
    LCSM_ISA_NEON        = 6, /* NEON of arm64 */
} lcsm_isa;

typedef enum { LCSM_LOG_DEBUG = 0, LCSM_LOG_INFO = 1, LCSM_LOG_WARNING = 2 } lcsm_log_level;

/* Takes one line of text without its newline. */
typedef void lcsm_log_fn(void *user, lcsm_log_level level, const char *text);

/* All zeros but size are the defaults. */
typedef struct {
    size_t       size;    /* sizeof(lcsm_context_options) */
    int          threads; /* with the caller; 0: one for each processor the process may use */
    lcsm_isa     isa;     /* use nothing faster than this */
    lcsm_log_fn *log;     /* NULL: no messages */
    void        *log_user;
} lcsm_context_options;

LCSM_BEGIN_DECLS

/* options may be NULL. An isa that this processor lacks is LCSM_ERR_UNSUPPORTED. */
LCSM_API lcsm_status lcsm_context_create(lcsm_context **out, const lcsm_context_options *options,
                                         lcsm_error *err);
LCSM_API void        lcsm_context_free(lcsm_context *ctx);

LCSM_API int         lcsm_context_threads(const lcsm_context *ctx);
LCSM_API lcsm_isa    lcsm_context_isa(const lcsm_context *ctx);
LCSM_API const char *lcsm_context_isa_name(const lcsm_context *ctx);

/* "auto", "reference", ...; NULL after the last. */
LCSM_API const char *lcsm_isa_name(lcsm_isa isa);

LCSM_END_DECLS
#endif
