/* segments.c - what is carried between the segments of a sequence, on one rank and between ranks.
 */
#include "train/segments.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { FORWARD, BACKWARD };

lcsm_status lcsm_segments_open(lcsm_segments *s, const lcsm_graph *g, const lcsm_shards *shards,
                               lcsm_error *err)
{
    size_t bytes = 0;
    *s           = (lcsm_segments){.dist = shards->dist, .before = -1, .after = -1};
    LCSM_OR_RETURN(lcsm_graph_check_segments(g, err));
    LCSM_OR_RETURN(lcsm_state_create(&s->state, g, err));
    LCSM_OR_RETURN(lcsm_state_create(&s->grad, g, err));
    if (lcsm_size_mul(s->state->bytes, (size_t)shards->most, &bytes))
        s->kept = malloc(bytes > 0 ? bytes : 1);
    if (s->kept != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for what %d segments begin with",
                     shards->most);
}

void lcsm_segments_close(lcsm_segments *s)
{
    lcsm_state_free(s->state);
    lcsm_state_free(s->grad);
    free(s->kept);
    *s = (lcsm_segments){0};
}

size_t lcsm_segments_bytes(const lcsm_segments *s, const lcsm_shards *shards)
{
    return s->state == NULL ? 0 : s->state->bytes * (size_t)(4 + shards->most);
}

void lcsm_segments_begin(lcsm_segments *s, const lcsm_shards *shards, int shard, int first,
                         int last)
{
    s->first  = first;
    s->last   = last;
    s->before = first > 0 ? lcsm_shards_owner(shards, shard, first - 1) : -1;
    s->after  = last + 1 < shards->segments ? lcsm_shards_owner(shards, shard, last + 1) : -1;
    if (first == 0) lcsm_state_clear(s->state);
}

static unsigned char *kept(const lcsm_segments *s, int segment)
{
    return s->kept + (size_t)(segment - s->first) * s->state->bytes;
}

/* What was given before lies where the run will write. */
lcsm_status lcsm_segments_before(lcsm_segments *s, int segment, bool learn, lcsm_error *err)
{
    bool first = segment == s->first, last = segment == s->last, again = learn && !last;
    if (lcsm_dist_size(s->dist) > 1)
        LCSM_OR_RETURN(lcsm_dist_wait_for(s->dist, LCSM_DIST_RELAY_OUT, err));
    if (again) memcpy(lcsm_state_block(s->state), kept(s, segment), s->state->bytes);
    if (last && s->after < 0) lcsm_state_zero(s->grad);
    s->take[FORWARD]  = first && !again && s->before >= 0;
    s->give[FORWARD]  = last && s->after >= 0;
    s->take[BACKWARD] = last && s->after >= 0;
    s->give[BACKWARD] = first && s->before >= 0;
    return LCSM_OK;
}

void lcsm_segments_keep(lcsm_segments *s, int segment)
{
    memcpy(kept(s, segment), lcsm_state_other(s->state), s->state->bytes);
}

lcsm_status lcsm_segments_take(lcsm_segments *s, bool backward, void *data, size_t bytes,
                               lcsm_error *err)
{
    if (!s->take[backward]) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_dist_post_receive(s->dist, LCSM_DIST_RELAY_IN, data, bytes,
                                          backward ? s->after : s->before, err));
    return lcsm_dist_wait_for(s->dist, LCSM_DIST_RELAY_IN, err);
}

lcsm_status lcsm_segments_give(lcsm_segments *s, bool backward, const void *data, size_t bytes,
                               lcsm_error *err)
{
    if (!s->give[backward]) return LCSM_OK;
    return lcsm_dist_post_send(s->dist, LCSM_DIST_RELAY_OUT, data, bytes,
                               backward ? s->before : s->after, err);
}
