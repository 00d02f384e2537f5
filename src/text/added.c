/* added.c - finding added tokens by narrowing a sorted list, byte by byte. */
#include "text/added.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>

#include "text/utf8.h"

lcsm_status lcsm_added_put(lcsm_added *a, const lcsm_added_token *token, lcsm_error *err)
{
    if (a->count == a->capacity) {
        size_t            more   = 2 * a->capacity + 8;
        lcsm_added_token *tokens = realloc(a->tokens, more * sizeof *tokens);
        if (tokens == NULL)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for added tokens");
        a->tokens   = tokens;
        a->capacity = more;
    }
    char *copy = malloc(token->size + 1);
    if (copy == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for added tokens");
    memcpy(copy, token->text, token->size);
    copy[token->size]               = '\0';
    a->tokens[a->count]             = *token;
    a->tokens[a->count++].text      = copy;
    a->begins[(unsigned char)*copy] = true;
    return LCSM_OK;
}

static int by_text(const void *a, const void *b)
{
    const lcsm_added_token *x = a, *y = b;
    size_t                  least = x->size < y->size ? x->size : y->size;
    int                     order = memcmp(x->text, y->text, least);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

void lcsm_added_seal(lcsm_added *a)
{
    if (a->count > 0) qsort(a->tokens, a->count, sizeof *a->tokens, by_text);
}

void lcsm_added_free(lcsm_added *a)
{
    for (size_t j = 0; j < a->count; j++) free(a->tokens[j].text);
    free(a->tokens);
    *a = (lcsm_added){0};
}

/* ---- the search ------------------------------------------------------------------------- */

/* The first of tokens low .. high - 1, which share `depth` bytes, whose next byte is at least
 * `byte`; a token that ends there comes before all. */
static size_t bound(const lcsm_added *a, size_t low, size_t high, size_t depth, unsigned byte)
{
    while (low < high) {
        size_t                  middle = low + (high - low) / 2;
        const lcsm_added_token *t      = &a->tokens[middle];
        if (t->size > depth && (unsigned char)t->text[depth] >= byte) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* The longest token that the text begins with. */
static const lcsm_added_token *longest(const lcsm_added *a, const char *text, size_t size)
{
    const lcsm_added_token *found = NULL;
    size_t                  low = 0, high = a->count;
    for (size_t depth = 0; depth < size; depth++) {
        unsigned byte = (unsigned char)text[depth];
        low           = bound(a, low, high, depth, byte);
        high          = bound(a, low, high, depth, byte + 1);
        if (low == high) break;
        if (a->tokens[low].size == depth + 1) found = &a->tokens[low];
    }
    return found;
}

/* As \w of the patterns of Hugging Face. */
static bool is_word(uint32_t code)
{
    return uc_is_property_alphabetic(code) || uc_is_property_join_control(code)
        || uc_is_general_category_withtable(code, UC_CATEGORY_MASK_M | UC_CATEGORY_MASK_Nd
                                                      | UC_CATEGORY_MASK_Pc);
}

/* The character that ends at `end`. What is no character has size 0. */
static lcsm_utf8_n before(const char *text, size_t begin, size_t end)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t back = 1; back <= 4 && back <= end - begin; back++) {
        lcsm_utf8_n n = lcsm_utf8_next(p + end - back, back);
        if (n.size == back) return n;
    }
    return (lcsm_utf8_n){0};
}

static lcsm_utf8_n after(const char *text, size_t begin, size_t end)
{
    if (begin == end) return (lcsm_utf8_n){0};
    return lcsm_utf8_next((const unsigned char *)text + begin, end - begin);
}

static bool stands_alone(const lcsm_added_search *s, size_t begin, size_t end)
{
    lcsm_utf8_n left = before(s->text, 0, begin), right = after(s->text, end, s->size);
    return !(left.size > 0 && is_word(left.code)) && !(right.size > 0 && is_word(right.code));
}

static size_t strip_left(const lcsm_added_search *s, size_t begin)
{
    for (;;) {
        lcsm_utf8_n n = begin > s->done ? before(s->text, s->done, begin) : (lcsm_utf8_n){0};
        if (n.size == 0 || !lcsm_utf8_is_space(n.code)) return begin;
        begin -= n.size;
    }
}

static size_t strip_right(const lcsm_added_search *s, size_t end)
{
    for (;;) {
        lcsm_utf8_n n = after(s->text, end, s->size);
        if (n.size == 0 || !lcsm_utf8_is_space(n.code)) return end;
        end += n.size;
    }
}

lcsm_added_match lcsm_added_next(lcsm_added_search *s)
{
    const lcsm_added *a = s->added;
    while (a->count > 0 && s->at < s->size) {
        if (!a->begins[(unsigned char)s->text[s->at]]) {
            s->at++;
            continue;
        }
        const lcsm_added_token *t     = longest(a, s->text + s->at, s->size - s->at);
        size_t                  begin = s->at;
        s->at += t == NULL ? 1 : t->size;
        if (t == NULL || (t->special && !s->special)) continue;
        if (t->single_word && !stands_alone(s, begin, s->at)) continue;
        size_t end = t->rstrip ? strip_right(s, s->at) : s->at;
        if (t->lstrip) begin = strip_left(s, begin);
        if (begin < s->done) begin = s->done;
        s->done = end;
        return (lcsm_added_match){t, begin, end};
    }
    return (lcsm_added_match){NULL, s->size, s->size};
}
