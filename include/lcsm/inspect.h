/*
 * lcsm/inspect.h - what a trained model has learned to remember.
 *
 * The model of a run reads some text, and of every layer with a memory this is written down: the
 * half-lives of its entries (tokens after which half of what one holds is left, from its mean log
 * decay), the decays o_t themselves, and the size of the memory over time. Then single past tokens
 * are replaced by others: how much the probabilities of the next token change says which of them an
 * output depends on.
 *
 * Ownership  The text is the caller's to free().
 * Threads    May be called from any thread.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why.
 */
#ifndef LCSM_INSPECT_H
#define LCSM_INSPECT_H
#include <lcsm/context.h>
#include <lcsm/export.h>
#include <lcsm/model.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LCSM_BEGIN_DECLS

/* All zeros are the defaults, but for run. */
typedef struct {
    size_t             size; /* sizeof(lcsm_inspect_options) */
    const char        *run;  /* a run folder */
    const char *const *data; /* text; none: the run's own, or recall examples, or random tokens */
    size_t             data_count;
    size_t             tokens; /* to read; 0: 512 */
    bool               save;   /* keep the result in the run folder, where lcsm report finds it */
} lcsm_inspect_options;

/*
 * *json is an object; docs/formats.md has its members:
 *     {"tokens", "text", "layers": [{"half_life": [...], "gate_mean", "state_norms": [...], ...}],
 *      "influence": {"window", "distance": [...], "change": [...]}, "effective_context", ...}
 */
LCSM_API lcsm_status lcsm_inspect(const lcsm_context *ctx, const lcsm_inspect_options *options,
                                  char **json, lcsm_error *err);

/*
 * What each of n tokens, read by an empty memory, writes: the norm of e_t i_t^T over all heads.
 *     {"layers": [{"layer", "write": [n numbers]}]}
 * write is null for a layer without such a memory, and where a running maximum scales what is
 * written.
 */
LCSM_API lcsm_status lcsm_inspect_writes(const lcsm_model *model, const int32_t *tokens, size_t n,
                                         char **json, lcsm_error *err);

LCSM_END_DECLS
#endif
