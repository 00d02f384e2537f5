/* slot_set.c - slots that open, branch and close, and what is known of each. */
#include "infer/slot_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/sized.h"

enum { ONE = LCSM_SESSION_LENGTHS - 1, USUAL = 8, MOST_SLOTS = 1 << 16 };

enum { KEPT = 24 /* graphs; the one that was not used for longest makes room for another */ };

/* ---- graphs ----------------------------------------------------------------------------- */

static void drop_graph(lcsm_slots *s, lcsm_session_graph *r)
{
    if (r->g != NULL) s->kept--;
    lcsm_graph_free(r->g);
    *r = (lcsm_session_graph){0};
}

static void make_room(lcsm_slots *s)
{
    lcsm_session_graph *oldest = NULL;
    if (s->kept < KEPT) return;
    for (int all = 0; all < 2; all++)
        for (int j = 0; j < LCSM_SESSION_LENGTHS; j++)
            for (size_t n = 0; n <= s->options.slots; n++) {
                lcsm_session_graph *r = &s->graphs[all][j][n];
                if (r->g != NULL && (oldest == NULL || r->used < oldest->used)) oldest = r;
            }
    drop_graph(s, oldest);
}

lcsm_status lcsm_slots_prepare(lcsm_slots *s, int length, size_t n, bool all,
                               lcsm_session_graph **out, lcsm_error *err)
{
    lcsm_session_graph *r    = &s->graphs[all && length != ONE][length][n];
    lcsm_model_want     want = {.logits = true, .last = !(all && length != ONE), .ignore = -1};
    lcsm_status         st   = LCSM_OK;
    *out                     = r;
    r->used                  = ++s->passes;
    if (r->g != NULL) return LCSM_OK;
    make_room(s);
    LCSM_TRY(lcsm_graph_create(&r->g, s->model->ctx, s->model->params, err));
    s->kept++;
    LCSM_TRY(lcsm_model_build(r->g, &s->model->cfg, (ptrdiff_t)n,
                              (ptrdiff_t)lcsm_piece_lengths[length], &want, &r->io, err));
    LCSM_TRY(lcsm_graph_plan(r->g, &(lcsm_plan_options){.fixed = true}, err));
cleanup:
    if (st != LCSM_OK) drop_graph(s, r);
    return st;
}

static void drop_graphs(lcsm_slots *s)
{
    for (int all = 0; all < 2; all++)
        for (int j = 0; j < LCSM_SESSION_LENGTHS; j++) {
            for (size_t n = 0; s->graphs[all][j] != NULL && n <= s->options.slots; n++)
                drop_graph(s, &s->graphs[all][j][n]);
            free(s->graphs[all][j]);
        }
}

/* ---- creation --------------------------------------------------------------------------- */

static lcsm_status check_options(const lcsm_model *model, const lcsm_slots_options *o,
                                 lcsm_error *err)
{
    if (model->cfg.bidirectional)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "a bidirectional model sees the future and cannot run token by token");
    if (o->slots > MOST_SLOTS)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu slots; expected at most %d", o->slots,
                         MOST_SLOTS);
    return LCSM_OK;
}

static bool reserve(lcsm_slots *s)
{
    size_t n     = s->options.slots, count;
    bool   ready = lcsm_size_mul(n, s->vocab, &count);
    s->slot      = calloc(n, sizeof *s->slot);
    s->slot_at   = calloc(n, sizeof *s->slot_at);
    s->wanted    = calloc(n, sizeof *s->wanted);
    s->done      = calloc(n, sizeof *s->done);
    s->logits    = ready ? calloc(count, sizeof *s->logits) : NULL;
    s->recent    = calloc(n, LCSM_STATE_RECENT * sizeof *s->recent);
    s->again     = calloc(lcsm_piece_lengths[0], sizeof *s->again);
    for (int all = 0; all < 2; all++)
        for (int j = 0; j < LCSM_SESSION_LENGTHS; j++) {
            s->graphs[all][j] = calloc(n + 1, sizeof *s->graphs[all][j]);
            ready             = ready && s->graphs[all][j] != NULL;
        }
    return ready && s->slot != NULL && s->slot_at != NULL && s->wanted != NULL && s->done != NULL
        && s->logits != NULL && s->recent != NULL && s->again != NULL;
}

static void number_slots(lcsm_slots *s)
{
    for (size_t j = 0; j < s->options.slots; j++) {
        s->slot[j]    = (lcsm_slot){.row = j, .feed = LCSM_NO_FEED};
        s->slot_at[j] = j;
    }
}

lcsm_status lcsm_slots_create(lcsm_slots **out, const lcsm_model *model,
                              const lcsm_slots_options *options, lcsm_error *err)
{
    lcsm_slots_options  o;
    lcsm_session_graph *one;
    lcsm_slots         *s  = NULL;
    lcsm_status         st = LCSM_TAKE(lcsm_slots_options, rewind_bytes, &o, options, err);
    *out                   = NULL;
    if (st == LCSM_OK) st = check_options(model, &o, err);
    if (st != LCSM_OK) return st;
    if (o.slots == 0) o.slots = USUAL;
    if (o.chunk == 0) o.chunk = lcsm_piece_lengths[0];
    o.size = sizeof o;
    s      = calloc(1, sizeof *s);
    if (s != NULL)
        *s = (lcsm_slots){.model = model, .options = o, .vocab = (size_t)model->cfg.vocab};
    if (s == NULL || !reserve(s))
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu slots", o.slots));
    number_slots(s);
    LCSM_TRY(lcsm_slots_prepare(s, ONE, 1, false, &one, err));
    LCSM_TRY(lcsm_state_create_rows(&s->state, one->g, (ptrdiff_t)o.slots + 1, err));
    *out = s;
    s    = NULL;
cleanup:
    lcsm_slots_free(s);
    return st;
}

void lcsm_slots_free(lcsm_slots *s)
{
    if (s == NULL) return;
    drop_graphs(s);
    for (size_t j = 0; s->slot != NULL && j < s->options.slots; j++)
        lcsm_history_free(&s->slot[j].history);
    lcsm_state_free(s->state);
    void *arrays[] = {s->slot, s->slot_at, s->wanted, s->done, s->logits, s->recent, s->again};
    for (size_t j = 0; j < COUNT(arrays); j++) free(arrays[j]);
    free(s);
}

/* ---- opening and closing ---------------------------------------------------------------- */

lcsm_status lcsm_slots_check(const lcsm_slots *s, size_t slot, lcsm_error *err)
{
    if (lcsm_slots_is_open(s, slot)) return LCSM_OK;
    if (slot >= s->options.slots)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "slot %zu; expected 0 to %zu", slot,
                         s->options.slots - 1);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "slot %zu is closed; open it first", slot);
}

/* The history of a slot begins where it is now. */
static lcsm_status restart_history(lcsm_slots *s, size_t slot, lcsm_error *err)
{
    lcsm_history_view v   = lcsm_slots_view(s, slot);
    lcsm_history     *h   = &s->slot[slot].history;
    lcsm_status       st  = LCSM_OK;
    size_t            far = s->options.rewind;
    if (far > 0 && h->depth == 0)
        st =
            lcsm_history_create(h, &v, 1, far, s->options.rewind_bytes, lcsm_piece_lengths[0], err);
    if (st == LCSM_OK) lcsm_history_restart(h, &v, s->slot[slot].position);
    return st;
}

static void clear(lcsm_slots *s, size_t slot)
{
    lcsm_state_part p = lcsm_slots_part(s, slot);
    lcsm_state_clear_row(s->state, p.row);
    memset(p.logits, 0, s->vocab * sizeof *p.logits);
    memset(p.recent, 0, LCSM_STATE_RECENT * sizeof *p.recent);
    *p.position = 0;
}

static lcsm_status find_closed(const lcsm_slots *s, size_t *slot, lcsm_error *err)
{
    *slot = 0;
    while (*slot < s->options.slots && s->slot[*slot].open) ++*slot;
    if (*slot < s->options.slots) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                     "all %zu slots are open; close one, or create more (the option slots)",
                     s->options.slots);
}

lcsm_status lcsm_slots_open(lcsm_slots *s, size_t *slot, lcsm_error *err)
{
    size_t      j;
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(find_closed(s, &j, err));
    clear(s, j);
    LCSM_OR_RETURN(restart_history(s, j, err));
    s->slot[j].open = true;
    *slot           = j;
    return st;
}

lcsm_status lcsm_slots_branch(lcsm_slots *s, size_t from, size_t *slot, lcsm_error *err)
{
    size_t      j;
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(lcsm_slots_check(s, from, err));
    LCSM_OR_RETURN(find_closed(s, &j, err));
    lcsm_state_part a = lcsm_slots_part(s, from), b = lcsm_slots_part(s, j);
    lcsm_state_copy_row(s->state, b.row, s->state, a.row);
    memcpy(b.logits, a.logits, s->vocab * sizeof *b.logits);
    memcpy(b.recent, a.recent, LCSM_STATE_RECENT * sizeof *b.recent);
    *b.position = *a.position;
    LCSM_OR_RETURN(restart_history(s, j, err));
    s->slot[j].open = true;
    *slot           = j;
    return st;
}

lcsm_status lcsm_slots_close(lcsm_slots *s, size_t slot, lcsm_error *err)
{
    lcsm_status st = lcsm_slots_check(s, slot, err);
    if (st == LCSM_OK) s->slot[slot].open = false;
    return st;
}

lcsm_status lcsm_slots_reset(lcsm_slots *s, size_t slot, lcsm_error *err)
{
    lcsm_status st = lcsm_slots_check(s, slot, err);
    if (st != LCSM_OK) return st;
    clear(s, slot);
    return restart_history(s, slot, err);
}

/* ---- facts ------------------------------------------------------------------------------ */

const lcsm_model *lcsm_slots_model(const lcsm_slots *s)
{
    return s->model;
}

size_t lcsm_slots_capacity(const lcsm_slots *s)
{
    return s->options.slots;
}

size_t lcsm_slots_count(const lcsm_slots *s)
{
    size_t count = 0;
    for (size_t j = 0; j < s->options.slots; j++) count += s->slot[j].open;
    return count;
}

bool lcsm_slots_is_open(const lcsm_slots *s, size_t slot)
{
    return slot < s->options.slots && s->slot[slot].open;
}

uint64_t lcsm_slots_position(const lcsm_slots *s, size_t slot)
{
    return lcsm_slots_is_open(s, slot) ? s->slot[slot].position : 0;
}

const float *lcsm_slots_logits(const lcsm_slots *s, size_t slot)
{
    return lcsm_slots_position(s, slot) > 0 ? s->logits + slot * s->vocab : NULL;
}

/* ---- states in files -------------------------------------------------------------------- */

lcsm_status lcsm_slots_save_state(lcsm_slots *s, size_t slot, const char *path, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_slots_check(s, slot, err));
    lcsm_state_part p = lcsm_slots_part(s, slot);
    return lcsm_state_part_save(&p, path, err);
}

lcsm_status lcsm_slots_write_state(lcsm_slots *s, size_t slot, void *buffer, size_t *size,
                                   lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_slots_check(s, slot, err));
    lcsm_state_part p = lcsm_slots_part(s, slot);
    return lcsm_state_part_write(&p, buffer, size, err);
}

lcsm_status lcsm_slots_load_state(lcsm_slots *s, size_t slot, const char *path, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_slots_check(s, slot, err));
    lcsm_state_part p = lcsm_slots_part(s, slot);
    LCSM_OR_RETURN(lcsm_state_part_load(&p, path, err));
    return restart_history(s, slot, err);
}

lcsm_status lcsm_slots_read_state(lcsm_slots *s, size_t slot, const void *buffer, size_t size,
                                  lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_slots_check(s, slot, err));
    lcsm_state_part p = lcsm_slots_part(s, slot);
    LCSM_OR_RETURN(lcsm_state_part_read(&p, buffer, size, err));
    return restart_history(s, slot, err);
}
