/* whole.c - gathers what the ranks have in slices, and hands it out. */
#include "train/whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/size.h"

static unsigned char *memory_of(const lcsm_state *s)
{
    return s->data + (size_t)s->current * s->bytes;
}

/* Bytes of one shard's memory, on every rank; 0: none is carried. */
static size_t memory_size(const lcsm_trainer *t)
{
    return t->states == NULL ? 0 : lcsm_graph_report(t->e.g).state;
}

static bool alone(const lcsm_trainer *t)
{
    return lcsm_dist_size(t->shards.dist) == 1;
}

static bool is_packed(const lcsm_trainer *t)
{
    return t->optimizer->cfg.moments != LCSM_MOMENTS_F32;
}

static lcsm_status reserve_memory(lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err)
{
    if (t->states == NULL) return LCSM_OK;
    if (!lcsm_size_mul(memory_size(t), (size_t)t->shards.count, &w->memory_bytes))
        return lcsm_fail(err, LCSM_ERR_MEMORY, "the carried memory is too large");
    if (!lcsm_dist_first(t->shards.dist)) return LCSM_OK;
    if (t->shards.count == 1 && alone(t)) w->memory = memory_of(t->states[0]);
    else {
        w->memory     = malloc(w->memory_bytes > 0 ? w->memory_bytes : 1);
        w->own_memory = true;
    }
    return w->memory != NULL ? LCSM_OK
                             : lcsm_fail(err, LCSM_ERR_MEMORY,
                                         "not enough memory for the carried memory of %d "
                                         "shards",
                                         t->shards.count);
}

static lcsm_status reserve(lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err)
{
    size_t bytes = t->model->params->block * sizeof(float);
    LCSM_OR_RETURN(reserve_memory(w, t, err));
    if (alone(t) && !is_packed(t)) {
        w->m = t->optimizer->m;
        w->v = t->optimizer->v;
    } else if (lcsm_dist_first(t->shards.dist)) {
        w->own_m = true;
        w->m     = lcsm_block_alloc(bytes);
        w->v     = lcsm_block_alloc(bytes);
        if (w->m == NULL || w->v == NULL)
            return lcsm_fail(err, LCSM_ERR_MEMORY,
                             "not enough memory for the moments of all ranks, %zu bytes each",
                             bytes);
        memset(w->m, 0, bytes); /* between parameters, too */
        memset(w->v, 0, bytes);
    }
    return LCSM_OK;
}

lcsm_status lcsm_whole_reserve(lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err)
{
    return lcsm_dist_agree(t->shards.dist, reserve(w, t, err), err);
}

void lcsm_whole_free(lcsm_whole *w)
{
    if (w->own_m) {
        free(w->m);
        free(w->v);
    }
    if (w->own_memory) free(w->memory);
    *w = (lcsm_whole){0};
}

/* Offsets in bytes of what the ranks have: of the block, or of the memory by shards. */
static size_t *offsets(const lcsm_trainer *t, bool memory)
{
    const lcsm_shards *s     = &t->shards;
    size_t            *begin = s->bytes;
    int                size = lcsm_dist_size(s->dist), shard = 0;
    for (int r = 0; r <= size; r++) {
        begin[r] = memory ? (size_t)shard * memory_size(t) : s->begin[r] * sizeof(float);
        if (r < size) shard += lcsm_shards_of(s, r);
    }
    return begin;
}

/* The memories of the own shards, one after the other, in `room`; and back. */
static void pack(const lcsm_trainer *t, unsigned char *room, bool back)
{
    size_t bytes = memory_size(t);
    for (int j = 0; j < lcsm_trainer_units(t); j++) {
        unsigned char *at = room + (size_t)j * bytes, *own = memory_of(t->states[j]);
        if (back) memcpy(own, at, bytes);
        else memcpy(at, own, bytes);
    }
}

static lcsm_status move_memory(const lcsm_whole *w, const lcsm_trainer *t, bool back,
                               lcsm_error *err)
{
    size_t own = (size_t)lcsm_trainer_units(t) * memory_size(t);
    if (t->states == NULL || (w->memory != NULL && !w->own_memory)) return LCSM_OK;
    unsigned char *room = malloc(own > 0 ? own : 1);
    lcsm_status    st   = LCSM_OK;
    if (room == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the carried one");
    if (!back) pack(t, room, false);
    st = back ? lcsm_dist_deal(t->shards.dist, room, w->memory, offsets(t, true), err)
              : lcsm_dist_collect(t->shards.dist, room, w->memory, offsets(t, true), err);
    if (back && st == LCSM_OK) pack(t, room, true);
    free(room);
    return st;
}

lcsm_status lcsm_whole_collect(lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err)
{
    lcsm_dist *d = t->shards.dist;
    LCSM_OR_RETURN(lcsm_whole_reserve(w, t, err));
    if (is_packed(t)) lcsm_optimizer_unpack(t->optimizer, w->m, w->v);
    if (!alone(t)) {
        LCSM_OR_RETURN(lcsm_dist_collect(d, t->optimizer->m, w->m, offsets(t, false), err));
        LCSM_OR_RETURN(lcsm_dist_collect(d, t->optimizer->v, w->v, offsets(t, false), err));
    }
    return move_memory(w, t, false, err);
}

lcsm_status lcsm_whole_deal(const lcsm_whole *w, const lcsm_trainer *t, lcsm_error *err)
{
    lcsm_dist *d = t->shards.dist;
    if (is_packed(t)) lcsm_optimizer_take(t->optimizer, w->m, w->v);
    if (!alone(t)) {
        LCSM_OR_RETURN(lcsm_dist_deal(d, t->optimizer->m, w->m, offsets(t, false), err));
        LCSM_OR_RETURN(lcsm_dist_deal(d, t->optimizer->v, w->v, offsets(t, false), err));
    }
    return move_memory(w, t, true, err);
}
