/* votes.c - one message of every rank for each step. */
#include "train/votes.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* Of a rank; behind it stand the tallies of its units, as many as any rank has. */
typedef struct {
    double  seconds, waited;
    int64_t status;
} head;

struct lcsm_votes {
    int            size;
    size_t         bytes; /* of one vote */
    unsigned char *own, *all;
};

lcsm_status lcsm_votes_create(lcsm_votes **out, const lcsm_shards *s, lcsm_error *err)
{
    int         size = lcsm_dist_size(s->dist);
    size_t      bytes, all;
    lcsm_votes *v    = calloc(1, sizeof *v);
    bool        fits = lcsm_size_mul((size_t)s->most, sizeof(lcsm_tally), &bytes)
             && lcsm_size_add(bytes, sizeof(head), &bytes)
             && lcsm_size_mul(bytes, (size_t)size, &all);
    *out = NULL;
    if (v != NULL && fits) {
        *v = (lcsm_votes){size, bytes, calloc(1, bytes), calloc(1, all)};
        if (v->own != NULL && v->all != NULL) {
            *out = v;
            return LCSM_OK;
        }
    }
    lcsm_votes_free(v);
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the votes of %d ranks", size);
}

void lcsm_votes_free(lcsm_votes *v)
{
    if (v == NULL) return;
    free(v->own);
    free(v->all);
    free(v);
}

static lcsm_tally *tallies(unsigned char *vote)
{
    return (lcsm_tally *)(void *)(vote + sizeof(head));
}

static const head *head_of(const lcsm_votes *v, int rank)
{
    return (const head *)(const void *)(v->all + (size_t)rank * v->bytes);
}

lcsm_tally *lcsm_votes_tally(lcsm_votes *v, int number)
{
    return &tallies(v->own)[number];
}

static void add_units(const lcsm_votes *v, const lcsm_shards *s, lcsm_tally *sum)
{
    *sum = (lcsm_tally){0};
    for (int r = 0; r < v->size; r++) {
        const lcsm_tally *t = tallies(v->all + (size_t)r * v->bytes);
        for (int j = 0; j < lcsm_shards_of(s, r); j++) {
            sum->loss += t[j].loss;
            sum->count += t[j].count;
            sum->right += t[j].right;
        }
    }
}

lcsm_status lcsm_votes_collect(lcsm_votes *v, const lcsm_shards *s, lcsm_status st, double seconds,
                               double waited, lcsm_tally *sum, lcsm_error *err)
{
    bool       failed = false;
    const head own    = {seconds, waited, (int64_t)st};
    lcsm_error lost   = {0};
    memcpy(v->own, &own, sizeof own);
    lcsm_status sent = lcsm_dist_all_gather(s->dist, v->own, v->bytes, v->all, &lost);
    if (sent != LCSM_OK) return st != LCSM_OK ? st : lcsm_fail(err, sent, "%s", lost.text);
    for (int r = 0; r < v->size; r++) failed |= head_of(v, r)->status != LCSM_OK;
    if (failed) return lcsm_dist_agree(s->dist, st, err);
    add_units(v, s, sum);
    return LCSM_OK;
}

double lcsm_votes_waited(const lcsm_votes *v)
{
    double sum = 0;
    for (int r = 0; r < v->size; r++) sum += head_of(v, r)->waited;
    return sum / v->size;
}

int lcsm_votes_slowest(const lcsm_votes *v)
{
    int slowest = 0;
    for (int r = 1; r < v->size; r++)
        if (head_of(v, r)->seconds > head_of(v, slowest)->seconds) slowest = r;
    return slowest;
}
