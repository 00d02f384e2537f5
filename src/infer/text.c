/* text.c - the gates between bytes of tokens and a reader, and lines of a text. */
#include "infer/text.h"

#include <string.h>

/* The first place in the text where a stop text stands, or its size. */
static size_t find_stop(const lcsm_outlet *o, const char *text, size_t size)
{
    size_t first = size;
    for (size_t j = 0; j < o->stop_count; j++) {
        size_t n = strlen(o->stop[j]);
        for (size_t at = 0; n > 0 && at < first && at + n <= size; at++)
            if (memcmp(text + at, o->stop[j], n) == 0) first = at;
    }
    return first;
}

/* How many bytes at the end of the text begin a stop text. */
static size_t may_stop(const lcsm_outlet *o, const char *text, size_t size)
{
    size_t most = 0;
    for (size_t j = 0; j < o->stop_count; j++) {
        size_t n = strlen(o->stop[j]);
        for (size_t k = n < size ? n : size; k > most; k--)
            if (memcmp(text + size - k, o->stop[j], k) == 0) most = k;
    }
    return most;
}

static void hand_out(lcsm_outlet *o, size_t size)
{
    if (size > 0 && !o->refused) o->refused = !o->put(o->user, o->held.text, size);
    memmove(o->held.text, o->held.text + size, o->held.size - size);
    o->held.size -= size;
}

/* Whole characters, from the first gate to the second. */
static void pass(lcsm_outlet *o, const char *text, size_t size)
{
    lcsm_strbuf_bytes(&o->held, text, size);
    if (size == 0 || o->held.failed) return;
    size_t stop = find_stop(o, o->held.text, o->held.size);
    if (stop < o->held.size) {
        hand_out(o, stop);
        o->held.size = 0;
        o->stopped   = true;
        return;
    }
    hand_out(o, o->held.size - may_stop(o, o->held.text, o->held.size));
}

/* Makes `piece` at least so large. */
static bool room(lcsm_strbuf *s, size_t size)
{
    static const char zeros[256] = {0};
    s->size                      = 0;
    while (!s->failed && s->capacity <= size) lcsm_strbuf_bytes(s, zeros, sizeof zeros);
    return !s->failed;
}

void lcsm_outlet_push(lcsm_outlet *o, const char *bytes, size_t size)
{
    if (!room(&o->piece, 3 * size + LCSM_UTF8_REST)) return;
    pass(o, o->piece.text, lcsm_utf8_push(&o->utf8, bytes, size, o->piece.text));
}

void lcsm_outlet_end(lcsm_outlet *o)
{
    if (o->stopped || !room(&o->piece, LCSM_UTF8_REST)) return;
    pass(o, o->piece.text, lcsm_utf8_end(&o->utf8, o->piece.text));
    if (o->held.size > 0) hand_out(o, o->held.size);
}

bool lcsm_outlet_failed(const lcsm_outlet *o)
{
    return o->piece.failed || o->held.failed;
}

void lcsm_outlet_free(lcsm_outlet *o)
{
    lcsm_strbuf_free(&o->piece);
    lcsm_strbuf_free(&o->held);
}

lcsm_status lcsm_encode_lines(lcsm_encoder *encoder, int32_t end, const char *text, size_t size,
                              lcsm_ids_fn *fn, void *user, lcsm_error *err)
{
    const char *line;
    lcsm_status st = LCSM_OK;
    while (end >= 0 && (line = memchr(text, '\n', size)) != NULL) {
        size_t here = (size_t)(line - text);
        LCSM_OR_RETURN(lcsm_encoder_feed(encoder, text, here, err));
        LCSM_OR_RETURN(lcsm_encoder_finish(encoder, err));
        LCSM_OR_RETURN(fn(user, &end, 1, err));
        text += here + 1;
        size -= here + 1;
    }
    LCSM_OR_RETURN(lcsm_encoder_feed(encoder, text, size, err));
    LCSM_OR_RETURN(lcsm_encoder_finish(encoder, err));
    return st;
}
