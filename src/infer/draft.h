/*
 * infer/draft.h - tokens that a small model proposes and a large one accepts or replaces.
 *
 * The small model draws d from q; the large one, which reads several of them in one pass, accepts d
 * with probability min(1, p(d) / q(d)) and draws from max(0, p - q) where it does not. So what
 * comes out is distributed as p, whatever q is: the small model only says how much a pass brings.
 */
#ifndef LCSM_INFER_DRAFT_H
#define LCSM_INFER_DRAFT_H
#include "infer/sampler.h"
#include "infer/session.h"

typedef struct lcsm_draft lcsm_draft;

/* Both sessions have one sequence and have read the same text; `tokens` are read in one pass. */
lcsm_status lcsm_draft_create(lcsm_draft **out, lcsm_session *large, lcsm_session *small,
                              const lcsm_sample_options *sample, size_t tokens, lcsm_error *err);
void        lcsm_draft_free(lcsm_draft *d);

/* The next token of the text. */
lcsm_status lcsm_draft_next(lcsm_draft *d, int32_t *token, lcsm_error *err);

/* Both sessions have then read the tokens that were handed out, and no others. */
lcsm_status lcsm_draft_end(lcsm_draft *d, lcsm_error *err);

/* How many tokens were proposed, and how many of them were taken. */
void lcsm_draft_count(const lcsm_draft *d, uint64_t *proposed, uint64_t *accepted);

#endif
