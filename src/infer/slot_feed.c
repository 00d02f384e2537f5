/*
 * slot_feed.c - tokens of several slots in shared passes.
 *
 * The tokens of every slot are cut into the pieces that a session of its own would cut; pieces of
 * one length share a pass. A graph's results for a sequence do not depend on how many are beside
 * it, so neither do those of a slot.
 */
#include <string.h>

#include "base/thread.h"
#include "infer/slot_set.h"
#include "kernel/context.h"

const size_t lcsm_piece_lengths[LCSM_SESSION_LENGTHS] = {512, 256, 64, 16, 4, 1};

enum {
    ONE           = LCSM_SESSION_LENGTHS - 1,
    KIND_ALL      = 8,       /* as in session.c */
    WORTH_THREADS = 1 << 17, /* logits of a pass that are */
};

/* What a call does. */
typedef struct {
    lcsm_slots           *s;
    const lcsm_slot_feed *list;
    size_t                count;
    bool                  hidden; /* `all` is for hidden states, not for logits */
} job;

/* ---- checks ----------------------------------------------------------------------------- */

static lcsm_status check_tokens(const lcsm_slots *s, const lcsm_slot_feed *f, lcsm_error *err)
{
    for (size_t t = 0; t < f->n; t++)
        if (f->tokens[t] < 0 || (size_t)f->tokens[t] >= s->vocab)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "slot %zu: token %d at position %zu; expected 0 to %zu", f->slot,
                             (int)f->tokens[t], t, s->vocab - 1);
    uint64_t have = s->slot[f->slot].position, room = (uint64_t)s->state->room;
    if (room > 0 && (f->n > room || have > room - f->n))
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "slot %zu: %zu tokens after %llu, but attention without a window holds "
                         "%llu, the model's max_length; feed fewer, or reset the slot",
                         f->slot, f->n, (unsigned long long)have, (unsigned long long)room);
    return LCSM_OK;
}

static lcsm_status check_feed(const job *j, size_t i, lcsm_error *err)
{
    const lcsm_slot_feed *f  = &j->list[i];
    lcsm_status           st = lcsm_slots_check(j->s, f->slot, err);
    if (st != LCSM_OK) return st;
    if (j->s->slot[f->slot].feed != LCSM_NO_FEED)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "slot %zu comes twice in one call; join its tokens", f->slot);
    return check_tokens(j->s, f, err);
}

/* Numbers the slots that are fed. */
static lcsm_status begin(const job *j, lcsm_error *err)
{
    for (size_t i = 0; i < j->count; i++) {
        lcsm_status st = check_feed(j, i, err);
        if (st != LCSM_OK) return st;
        j->s->slot[j->list[i].slot].feed = i;
        j->s->done[i]                    = 0;
    }
    return LCSM_OK;
}

static void end(lcsm_slots *s)
{
    for (size_t j = 0; j < s->options.slots; j++) s->slot[j].feed = LCSM_NO_FEED;
}

/* ---- rows ------------------------------------------------------------------------------- */

/* The n rows side by side of which most are wanted. */
static size_t best_place(const lcsm_slots *s, size_t n)
{
    size_t have = 0, best = 0, most;
    for (size_t r = 0; r < n; r++) have += s->wanted[r];
    most = have;
    for (size_t r = n; r < s->options.slots; r++) {
        have += s->wanted[r];
        have -= s->wanted[r - n];
        if (have <= most) continue;
        most = have;
        best = r - n + 1;
    }
    return best;
}

/* A wanted row outside of the place and one in it that is not wanted. */
static void exchange(lcsm_slots *s, size_t outside, size_t inside)
{
    size_t    comes = s->slot_at[outside], goes = s->slot_at[inside];
    ptrdiff_t a = (ptrdiff_t)outside, b = (ptrdiff_t)inside, spare = (ptrdiff_t)s->options.slots;
    bool      keep = s->slot[goes].open;
    if (keep) lcsm_state_copy_row(s->state, spare, s->state, b);
    lcsm_state_copy_row(s->state, b, s->state, a);
    if (keep) lcsm_state_copy_row(s->state, a, s->state, spare);
    s->slot_at[inside]  = comes;
    s->slot_at[outside] = goes;
    s->slot[comes].row  = inside;
    s->slot[goes].row   = outside;
    s->wanted[inside]   = true;
    s->wanted[outside]  = false;
}

/* Brings the n wanted rows side by side; returns the first. */
static size_t gather(lcsm_slots *s, size_t n)
{
    size_t first = best_place(s, n), from = 0;
    for (size_t r = first; r < first + n; r++) {
        if (s->wanted[r]) continue;
        while (!s->wanted[from] || (from >= first && from < first + n)) from++;
        exchange(s, from, r);
    }
    return first;
}

/* ---- passes ----------------------------------------------------------------------------- */

/* A pass: one piece of each of n slots, whose rows begin at `row`. */
typedef struct {
    int                 length;
    bool                all;
    size_t              row, n, T;
    lcsm_session_graph *r;
} pass;

/* What is shared among threads that hand out. */
typedef struct {
    const job  *j;
    const pass *p;
} delivery;

static lcsm_slot *slot_of(const job *j, const pass *p, size_t i)
{
    return &j->s->slot[j->s->slot_at[p->row + i]];
}

static void put_tokens(const job *j, const pass *p)
{
    int32_t *to = p->r->io.tokens->data;
    for (size_t i = 0; i < p->n; i++) {
        size_t f = slot_of(j, p, i)->feed;
        memcpy(to + i * p->T, j->list[f].tokens + j->s->done[f], p->T * sizeof *to);
    }
}

/* The rows (n, rows, width) of a pass that the caller wants of each token. */
static void put_rows(const job *j, const pass *p, size_t i)
{
    const lcsm_tensor    *x    = j->hidden ? p->r->io.hidden : p->r->io.logits;
    size_t                feed = slot_of(j, p, i)->feed;
    const lcsm_slot_feed *f    = &j->list[feed];
    size_t                rows = (size_t)x->shape.dim[1], width = (size_t)x->shape.dim[2];
    if (f->all != NULL)
        memcpy(f->all + j->s->done[feed] * width, (const float *)x->data + i * rows * width,
               rows * width * sizeof *f->all);
}

/* Logits (n, rows, V): the last of a slot to its place. */
static void hand_one(void *arg, size_t i, int worker)
{
    const delivery       *d = arg;
    const job            *j = d->j;
    size_t                V = j->s->vocab, rows = (size_t)d->p->r->io.logits->shape.dim[1];
    const float          *from = (const float *)d->p->r->io.logits->data + i * rows * V;
    const lcsm_slot_feed *f    = &j->list[slot_of(j, d->p, i)->feed];
    (void)worker;
    put_rows(j, d->p, i);
    memcpy(j->s->logits + f->slot * V, from + (rows - 1) * V, V * sizeof *from);
}

static void hand_out(const job *j, const pass *p)
{
    delivery   d    = {j, p};
    lcsm_pool *pool = j->s->model->ctx->pool;
    lcsm_parallel_for(p->n * j->s->vocab >= WORTH_THREADS ? pool : NULL, p->n, hand_one, &d);
}

/* The pieces have been read. */
static void remember(const job *j, const pass *p)
{
    for (size_t i = 0; i < p->n; i++) {
        lcsm_slot        *own    = slot_of(j, p, i);
        size_t            slot   = j->list[own->feed].slot;
        const int32_t    *tokens = j->list[own->feed].tokens + j->s->done[own->feed];
        int32_t          *recent = j->s->recent + slot * LCSM_STATE_RECENT;
        lcsm_history_view v      = lcsm_slots_view(j->s, slot);
        for (size_t t = p->T > LCSM_STATE_RECENT ? p->T - LCSM_STATE_RECENT : 0; t < p->T; t++)
            recent[(own->position + t) % LCSM_STATE_RECENT] = tokens[t];
        own->position += p->T;
        j->s->done[own->feed] += p->T;
        lcsm_history_add(&own->history, &v, tokens, p->T, p->T, own->position,
                         (uint8_t)(p->length | (p->all ? KIND_ALL : 0)));
    }
}

/* Runs the wanted rows, n of them. */
static lcsm_status run(const job *j, pass *p, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    p->T           = lcsm_piece_lengths[p->length];
    LCSM_OR_RETURN(lcsm_slots_prepare(j->s, p->length, p->n, p->all, &p->r, err));
    p->row = gather(j->s, p->n);
    put_tokens(j, p);
    lcsm_run_options o = {.state = j->s->state, .state_row = (ptrdiff_t)p->row};
    LCSM_OR_RETURN(lcsm_graph_forward(p->r->g, &o, err));
    hand_out(j, p);
    remember(j, p);
    return st;
}

/* Graphs of more steps are kept for few numbers of sequences, and none has more steps in all than
 * that of the longest piece: more would not use the processor better. */
static size_t pass_size(int length, size_t n)
{
    size_t most = lcsm_piece_lengths[0] / lcsm_piece_lengths[length], size = 1;
    if (n > most) n = most;
    if (length == ONE) return n;
    while (2 * size <= n) size *= 2;
    return size;
}

static bool goes_on(const job *j, size_t i, int length, bool all)
{
    const lcsm_slot_feed *f = &j->list[i];
    return f->n - j->s->done[i] >= lcsm_piece_lengths[length]
        && (length == ONE || (f->all != NULL && !j->hidden) == all);
}

/* Marks the rows of the next pass; returns how many. They are those of the first slots in the order
 * of rows, so that rows which lie side by side stay so. */
static size_t choose(const job *j, int length, bool all)
{
    lcsm_slots *s = j->s;
    size_t      n = 0, size;
    for (size_t i = 0; i < j->count; i++) n += goes_on(j, i, length, all);
    size = pass_size(length, n);
    n    = 0;
    for (size_t r = 0; r < s->options.slots; r++) {
        size_t f     = s->slot[s->slot_at[r]].feed;
        s->wanted[r] = n < size && f != LCSM_NO_FEED && goes_on(j, f, length, all);
        n += s->wanted[r];
    }
    return n;
}

static lcsm_status read_length(const job *j, int length, bool all, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    pass        p  = {.length = length, .all = all};
    while (st == LCSM_OK && (p.n = choose(j, length, all)) > 0) st = run(j, &p, err);
    return st;
}

static lcsm_status feed(const job *j, lcsm_error *err)
{
    lcsm_status st = begin(j, err);
    for (int length = 0; length < LCSM_SESSION_LENGTHS && st == LCSM_OK; length++) {
        if (lcsm_piece_lengths[length] > j->s->options.chunk) continue;
        st = read_length(j, length, false, err);
        if (st == LCSM_OK && length != ONE) st = read_length(j, length, true, err);
    }
    end(j->s);
    return st;
}

lcsm_status lcsm_slots_feed(lcsm_slots *s, const lcsm_slot_feed *list, size_t count,
                            lcsm_error *err)
{
    return feed(&(job){.s = s, .list = list, .count = count}, err);
}

lcsm_status lcsm_slots_feed_hidden(lcsm_slots *s, const lcsm_slot_feed *list, size_t count,
                                   lcsm_error *err)
{
    lcsm_session_graph *one;
    LCSM_OR_RETURN(lcsm_slots_prepare(s, ONE, 1, false, &one, err));
    LCSM_OR_RETURN(lcsm_check_hidden(&s->model->cfg, &one->io, err));
    return feed(&(job){.s = s, .list = list, .count = count, .hidden = true}, err);
}

/* ---- going back ------------------------------------------------------------------------- */

uint64_t lcsm_slots_rewindable(const lcsm_slots *s, size_t slot)
{
    if (!lcsm_slots_is_open(s, slot) || s->options.rewind == 0) return 0;
    return s->slot[slot].position - lcsm_history_oldest(&s->slot[slot].history);
}

/* Reads the next tokens of a slot's history again, as a piece of this kind. */
static lcsm_status read_again(lcsm_slots *s, size_t slot, uint8_t kind, lcsm_error *err)
{
    lcsm_slot     *own = &s->slot[slot];
    pass           p   = {.length = kind & (KIND_ALL - 1), .all = (kind & KIND_ALL) != 0, .n = 1};
    lcsm_slot_feed f   = {.slot = slot, .tokens = s->again, .n = lcsm_piece_lengths[p.length]};
    job            j   = {.s = s, .list = &f, .count = 1};
    lcsm_history_tokens(&own->history, own->position, f.n, s->again);
    memset(s->wanted, 0, s->options.slots * sizeof *s->wanted);
    s->wanted[own->row] = true;
    s->done[0]          = 0;
    own->feed           = 0;
    lcsm_status st      = run(&j, &p, err);
    own->feed           = LCSM_NO_FEED;
    return st;
}

/* The length of the longest piece of n tokens. */
static int longest(const lcsm_slots *s, uint64_t n)
{
    int j = 0;
    while (j < ONE && (lcsm_piece_lengths[j] > n || lcsm_piece_lengths[j] > s->options.chunk)) j++;
    return j;
}

/* Pieces as they were read the first time, and what is left of the last as a call that ends at the
 * target cuts it. */
static lcsm_status read_until(lcsm_slots *s, size_t slot, uint64_t target, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_slot  *own  = &s->slot[slot];
    uint8_t     kind = 0;
    bool        cut  = false;
    while (own->position < target && st == LCSM_OK) {
        uint64_t left = target - own->position;
        if (!cut) kind = lcsm_history_kind(&own->history, own->position);
        cut = cut || lcsm_piece_lengths[kind & (KIND_ALL - 1)] > left;
        st = read_again(s, slot, cut ? (uint8_t)(longest(s, left) | (kind & KIND_ALL)) : kind, err);
    }
    return st;
}

lcsm_status lcsm_slots_rewind(lcsm_slots *s, size_t slot, uint64_t tokens, lcsm_error *err)
{
    lcsm_status st = lcsm_slots_check(s, slot, err);
    if (st != LCSM_OK) return st;
    lcsm_history_view v    = lcsm_slots_view(s, slot);
    lcsm_slot        *own  = &s->slot[slot];
    uint64_t          most = lcsm_slots_rewindable(s, slot), target = own->position - tokens;
    if (tokens > most)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "slot %zu cannot go back %llu tokens; expected at most %llu (the option "
                         "rewind)",
                         slot, (unsigned long long)tokens, (unsigned long long)most);
    if (tokens == 0) return LCSM_OK;
    own->position = lcsm_history_restore(&own->history, &v, target);
    return read_until(s, slot, target, err);
}
