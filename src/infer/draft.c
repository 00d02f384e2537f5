/*
 * draft.c - speculative decoding.
 *
 * A recurrent memory cannot drop its last tokens, so the large session stays where it was when not
 * all proposals are accepted: its memory is put back, and the accepted tokens are read again in
 * front of the next proposals. Every pass has the same number of tokens.
 */
#include "infer/draft.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { DRAW = 0x44524157, ACCEPT = 0x41434354, REPLACE = 0x5245504c, MOST = 64 };

/* A session and what it was before the last pass. */
typedef struct {
    lcsm_session *s;
    void         *memory;
    float        *logits;
    int32_t       recent[LCSM_SESSION_RECENT];
    uint64_t      position;
} place;

struct lcsm_draft {
    place         large, small;
    lcsm_sampler *sampler;
    uint64_t      seed;
    size_t        length, vocab;       /* tokens of a pass */
    int32_t       unread[2][MOST + 1]; /* of the text, by the large one and by the small one */
    size_t        unread_count[2];
    int32_t       before[MOST]; /* the large one's, when the last pass began */
    size_t        before_count;
    int32_t       queue[MOST + 1]; /* what the last pass brought */
    size_t        queued, taken;
    int32_t       text[LCSM_SESSION_RECENT + MOST + 1]; /* the end of the text, and proposals */
    size_t        text_count;
    float        *all; /* (length, V) */
    double       *p, *q;
    uint64_t      position, proposed, accepted; /* of the text */
};

/* ---- places ----------------------------------------------------------------------------- */

static bool reserve_place(place *p, lcsm_session *s)
{
    p->s      = s;
    p->memory = malloc(lcsm_state_row_bytes(s->state) + 1);
    p->logits = malloc(s->vocab * sizeof *p->logits);
    return p->memory != NULL && p->logits != NULL;
}

static void mark(place *p)
{
    lcsm_state_save(p->s->state, 0, 1, p->memory);
    memcpy(p->logits, p->s->logits, p->s->vocab * sizeof *p->logits);
    memcpy(p->recent, p->s->recent, sizeof p->recent);
    p->position = p->s->position;
}

static void go_back(place *p)
{
    lcsm_state_restore(p->s->state, 0, 1, p->memory);
    memcpy(p->s->logits, p->logits, p->s->vocab * sizeof *p->logits);
    memcpy(p->s->recent, p->recent, sizeof p->recent);
    p->s->position = p->position;
    lcsm_session_restart_history(p->s);
}

/* ---- creating --------------------------------------------------------------------------- */

static lcsm_status check(const lcsm_session *large, const lcsm_session *small, size_t tokens,
                         lcsm_error *err)
{
    if (large->batch != 1 || small->batch != 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a draft needs sessions of one sequence");
    if (large->vocab != small->vocab)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the draft model has a vocabulary of %zu, the model one of %zu",
                         small->vocab, large->vocab);
    if (large->position != small->position || large->position == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the draft session has read %llu tokens, the session %llu; expected as "
                         "many, and at least one",
                         (unsigned long long)small->position, (unsigned long long)large->position);
    if (tokens < 2 || tokens > MOST)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "drafts of %zu tokens; expected 2 to %d", tokens,
                         (int)MOST);
    return LCSM_OK;
}

static bool reserve(lcsm_draft *d, lcsm_session *large, lcsm_session *small)
{
    d->p   = calloc(d->vocab, sizeof *d->p);
    d->q   = calloc(d->length * d->vocab, sizeof *d->q);
    d->all = calloc(d->length * d->vocab, sizeof *d->all);
    return reserve_place(&d->large, large) && reserve_place(&d->small, small) && d->p != NULL
        && d->q != NULL && d->all != NULL;
}

/* The tokens that a penalty is for, in their order. */
static void begin_text(lcsm_draft *d, const lcsm_session *s)
{
    d->position   = s->position;
    d->text_count = s->position < LCSM_SESSION_RECENT ? (size_t)s->position : LCSM_SESSION_RECENT;
    for (size_t j = 0; j < d->text_count; j++)
        d->text[j] = *lcsm_session_recent(s, 0, s->position - d->text_count + j);
}

lcsm_status lcsm_draft_create(lcsm_draft **out, lcsm_session *large, lcsm_session *small,
                              const lcsm_sample_options *sample, size_t tokens, lcsm_error *err)
{
    lcsm_draft *d = NULL;
    lcsm_status st;
    *out = NULL;
    LCSM_OR_RETURN(check(large, small, tokens, err));
    d = calloc(1, sizeof *d);
    if (d == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a draft");
    d->length = tokens;
    d->vocab  = large->vocab;
    d->seed   = sample != NULL ? sample->seed : 0;
    LCSM_TRY(lcsm_sampler_create(&d->sampler, d->vocab, sample, err));
    if (!reserve(d, large, small))
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a draft"));
    begin_text(d, large);
    mark(&d->large);
    mark(&d->small);
    *out = d;
    d    = NULL;
cleanup:
    lcsm_draft_free(d);
    return st;
}

void lcsm_draft_free(lcsm_draft *d)
{
    if (d == NULL) return;
    lcsm_sampler_free(d->sampler);
    free(d->large.memory);
    free(d->large.logits);
    free(d->small.memory);
    free(d->small.logits);
    free(d->all);
    free(d->p);
    free(d->q);
    free(d);
}

/* ---- a pass ----------------------------------------------------------------------------- */

/* A number of a distribution that has this sum, at a place of the text. */
static int32_t draw(const lcsm_draft *d, const double *p, double sum, uint32_t purpose,
                    uint64_t index)
{
    double  left = lcsm_rng_uniform(d->seed, purpose, index) * sum;
    int32_t last = 0;
    for (size_t v = 0; v < d->vocab; v++) {
        if (p[v] <= 0) continue;
        last = (int32_t)v;
        left -= p[v];
        if (left < 0) break;
    }
    return last;
}

/* What a token behind `more` proposals is drawn from. */
static lcsm_status spread(lcsm_draft *d, const float *logits, size_t more, double *p,
                          lcsm_error *err)
{
    size_t count = d->text_count + more;
    size_t known = count < LCSM_SESSION_RECENT ? count : LCSM_SESSION_RECENT;
    return lcsm_sampler_probabilities(d->sampler, logits, d->text + count - known, known, p, err);
}

/* The small model reads what it has not read yet, and proposes k tokens. */
static lcsm_status propose(lcsm_draft *d, size_t k, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_session_feed(d->small.s, d->unread[1], d->unread_count[1], NULL, err));
    d->unread_count[1] = 0;
    mark(&d->small);
    for (size_t j = 0; j < k; j++) {
        double  *q    = d->q + j * d->vocab;
        int32_t *next = &d->text[d->text_count + j];
        LCSM_OR_RETURN(spread(d, d->small.s->logits, j, q, err));
        *next = draw(d, q, 1, DRAW, d->position + j);
        if (j + 1 < k) LCSM_OR_RETURN(lcsm_session_feed(d->small.s, next, 1, NULL, err));
    }
    d->proposed += k;
    return st;
}

/* Whether proposal j is taken; if not, *other is what stands in its place. */
static lcsm_status judge(lcsm_draft *d, const float *logits, size_t j, bool *taken, int32_t *other,
                         lcsm_error *err)
{
    const double *q   = d->q + j * d->vocab;
    int32_t       x   = d->text[d->text_count + j];
    double        sum = 0;
    LCSM_OR_RETURN(spread(d, logits, j, d->p, err));
    *taken = lcsm_rng_uniform(d->seed, ACCEPT, d->position + j) * q[x] < d->p[x];
    if (*taken) return LCSM_OK;
    for (size_t v = 0; v < d->vocab; v++) {
        d->p[v] = d->p[v] > q[v] ? d->p[v] - q[v] : 0;
        sum += d->p[v];
    }
    if (sum > 0) *other = draw(d, d->p, sum, REPLACE, d->position + j);
    else *taken = true; /* p is q, but for rounding */
    return LCSM_OK;
}

static void add_unread(lcsm_draft *d, int which, const int32_t *tokens, size_t n)
{
    memcpy(d->unread[which] + d->unread_count[which], tokens, n * sizeof *tokens);
    d->unread_count[which] += n;
}

/* The first r of k proposals are part of the text, and then x. */
static void settle(lcsm_draft *d, size_t k, size_t r, int32_t x)
{
    int32_t *found = d->text + d->text_count;
    d->accepted += r;
    if (r < k) {
        go_back(&d->large);
        go_back(&d->small);
    } else d->unread_count[0] = 0;
    found[r] = x;
    memcpy(d->queue, found, (r + 1) * sizeof *found);
    d->queued = r + 1;
    d->taken  = 0;
    if (r < k) {
        add_unread(d, 0, found, r + 1);
        add_unread(d, 1, found, r + 1);
    } else {
        add_unread(d, 0, &x, 1);
        add_unread(d, 1, found + r - 1, 2);
    }
    d->text_count += r + 1;
    d->position += r + 1;
    if (d->text_count > LCSM_SESSION_RECENT) {
        size_t more = d->text_count - LCSM_SESSION_RECENT;
        memmove(d->text, d->text + more, LCSM_SESSION_RECENT * sizeof *d->text);
        d->text_count = LCSM_SESSION_RECENT;
    }
}

/* A pass is full of tokens that were accepted: the large model only reads them. */
static lcsm_status catch_up(lcsm_draft *d, lcsm_error *err)
{
    size_t n           = d->unread_count[0];
    d->unread_count[0] = 0;
    return lcsm_session_feed(d->large.s, d->unread[0], n, NULL, err);
}

static lcsm_status pass(lcsm_draft *d, lcsm_error *err)
{
    if (d->unread_count[0] >= d->length) LCSM_OR_RETURN(catch_up(d, err));
    size_t  m = d->unread_count[0], k = d->length - m, r = 0;
    int32_t x     = 0, both[MOST];
    bool    taken = true;
    LCSM_OR_RETURN(propose(d, k, err));
    mark(&d->large);
    memcpy(both, d->unread[0], m * sizeof *both);
    memcpy(both + m, d->text + d->text_count, k * sizeof *both);
    memcpy(d->before, both, m * sizeof *both);
    d->before_count = m;
    LCSM_OR_RETURN(lcsm_session_feed(d->large.s, both, d->length, d->all, err));
    while (r < k && taken) {
        const float *logits = m + r > 0 ? d->all + (m + r - 1) * d->vocab : d->large.logits;
        LCSM_OR_RETURN(judge(d, logits, r, &taken, &x, err));
        r += taken;
    }
    if (taken) {
        LCSM_OR_RETURN(spread(d, d->all + (d->length - 1) * d->vocab, k, d->p, err));
        x = draw(d, d->p, 1, REPLACE, d->position + k);
    }
    settle(d, k, r, x);
    return LCSM_OK;
}

lcsm_status lcsm_draft_next(lcsm_draft *d, int32_t *token, lcsm_error *err)
{
    if (d->taken == d->queued) LCSM_OR_RETURN(pass(d, err));
    *token = d->queue[d->taken++];
    return LCSM_OK;
}

lcsm_status lcsm_draft_end(lcsm_draft *d, lcsm_error *err)
{
    go_back(&d->large);
    go_back(&d->small);
    LCSM_OR_RETURN(lcsm_session_feed(d->large.s, d->before, d->before_count, NULL, err));
    LCSM_OR_RETURN(lcsm_session_feed(d->large.s, d->queue, d->taken, NULL, err));
    return lcsm_session_feed(d->small.s, d->queue, d->taken, NULL, err);
}

void lcsm_draft_count(const lcsm_draft *d, uint64_t *proposed, uint64_t *accepted)
{
    *proposed = d->proposed;
    *accepted = d->accepted;
}
