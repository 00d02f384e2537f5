/* split.c - words of a text. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/split.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "text/gpt2_scan.h"

/* ---- patterns --------------------------------------------------------------------------- */

/* Unicode's White_Space. PCRE2's own \s has U+180E in addition, which left that set long ago. */
#define SPACES                                                                                     \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"    \
    "\\x{205f}\\x{3000}"

/* The pattern with \s and \S spelt out. Within a class \S stays, as it has no other spelling. */
static void spell_spaces(lcsm_strbuf *out, const char *pattern)
{
    bool in_class = false;
    for (const char *p = pattern; *p != '\0'; p++) {
        if (*p == '\\' && p[1] == 's') {
            lcsm_strbuf_add(out, in_class ? SPACES : "[" SPACES "]");
            p++;
        } else if (*p == '\\' && p[1] == 'S' && !in_class) {
            lcsm_strbuf_add(out, "[^" SPACES "]");
            p++;
        } else if (*p == '\\' && p[1] != '\0') {
            lcsm_strbuf_bytes(out, p, 2);
            p++;
        } else {
            if (*p == '[') in_class = true;
            if (*p == ']') in_class = false;
            lcsm_strbuf_bytes(out, p, 1);
        }
    }
}

static lcsm_status compile(pcre2_code **out, const char *pattern, lcsm_error *err)
{
    lcsm_strbuf text = {0};
    int         code = 0;
    size_t      at   = 0;
    *out             = NULL;
    spell_spaces(&text, pattern);
    if (!text.failed)
        *out = pcre2_compile((PCRE2_SPTR)lcsm_strbuf_text(&text), text.size,
                             PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    lcsm_strbuf_free(&text);
    if (*out == NULL) {
        PCRE2_UCHAR what[120] = "no memory";
        if (code != 0) (void)pcre2_get_error_message(code, what, sizeof what);
        return lcsm_fail(err, LCSM_ERR_FORMAT, "the pattern \"%.60s\" is not valid: %s", pattern,
                         (const char *)what);
    }
    (void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE); /* without it matching is slower */
    return LCSM_OK;
}

lcsm_status lcsm_splitter_put(lcsm_splitter *s, lcsm_split_stage stage, const char *pattern,
                              lcsm_error *err)
{
    lcsm_status       st     = LCSM_OK;
    lcsm_split_stage *stages = realloc(s->stages, (s->count + 1) * sizeof *stages);
    if (stages == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a pre-tokenizer");
    s->stages  = stages;
    stage.code = NULL;
    stage.gpt2 = pattern != NULL && strcmp(pattern, LCSM_GPT2_PATTERN) == 0 && !stage.invert
              && stage.behavior == LCSM_SPLIT_ISOLATED;
    if (pattern != NULL) st = compile(&stage.code, pattern, err);
    if (st == LCSM_OK) s->stages[s->count++] = stage;
    return st;
}

lcsm_status lcsm_splitter_put_text(lcsm_splitter *s, lcsm_split_stage stage, const char *text,
                                   lcsm_error *err)
{
    lcsm_strbuf pattern = {0};
    lcsm_status st;
    for (const char *p = text; *p != '\0'; p++) {
        if (strchr("\\^$.[]|()?*+{}", *p) != NULL) lcsm_strbuf_add(&pattern, "\\");
        lcsm_strbuf_bytes(&pattern, p, 1);
    }
    if (pattern.failed)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a pre-tokenizer");
    else st = lcsm_splitter_put(s, stage, lcsm_strbuf_text(&pattern), err);
    lcsm_strbuf_free(&pattern);
    return st;
}

void lcsm_splitter_free(lcsm_splitter *s)
{
    for (size_t j = 0; j < s->count; j++) pcre2_code_free(s->stages[j].code);
    free(s->stages);
    *s = (lcsm_splitter){0};
}

lcsm_status lcsm_split_room_create(lcsm_split_room *room, lcsm_error *err)
{
    enum { STACK_LEAST = 32 << 10, STACK_MOST = 16 << 20 };
    *room = (lcsm_split_room){
        .match   = pcre2_match_data_create(1, NULL),
        .context = pcre2_match_context_create(NULL),
        .stack   = pcre2_jit_stack_create(STACK_LEAST, STACK_MOST, NULL),
    };
    if (room->match == NULL || room->context == NULL) {
        lcsm_split_room_free(room);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to match patterns");
    }
    if (room->stack != NULL) pcre2_jit_stack_assign(room->context, NULL, room->stack);
    return LCSM_OK;
}

void lcsm_split_room_free(lcsm_split_room *room)
{
    pcre2_match_data_free(room->match);
    pcre2_match_context_free(room->context);
    pcre2_jit_stack_free(room->stack);
    lcsm_strbuf_free(&room->prefixed);
    *room = (lcsm_split_room){0};
}

/* ---- splitting -------------------------------------------------------------------------- */

typedef struct {
    const lcsm_splitter *splitter;
    lcsm_split_room     *room;
    const char          *begin; /* of the text */
    bool                 goes_on;
    lcsm_word_fn        *fn;
    void                *user;
} run;

static lcsm_status run_stage(const run *r, size_t number, const char *text, size_t size,
                             lcsm_error *err);

/* The next match that is not empty, from *begin on; none: both are size. */
static lcsm_status find(const run *r, const lcsm_split_stage *stage, const char *text, size_t size,
                        size_t *begin, size_t *end, lcsm_error *err)
{
    for (size_t from = *begin; from < size;) {
        int code = pcre2_match(stage->code, (PCRE2_SPTR)text, size, from, PCRE2_NO_UTF_CHECK,
                               r->room->match, r->room->context);
        if (code == PCRE2_ERROR_NOMATCH) break;
        if (code < 0) {
            PCRE2_UCHAR what[120] = "";
            (void)pcre2_get_error_message(code, what, sizeof what);
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "the pre-tokenizer's pattern failed on this text: %s",
                             (const char *)what);
        }
        const PCRE2_SIZE *place = pcre2_get_ovector_pointer(r->room->match);
        *begin                  = place[0];
        *end                    = place[1];
        if (*end > *begin) return LCSM_OK;
        from = *begin + 1;
        while (from < size && ((unsigned char)text[from] & 0xC0u) == 0x80) from++;
    }
    *begin = *end = size;
    return LCSM_OK;
}

/* The pattern of GPT-2 matches everywhere, so words follow each other without gaps. */
static lcsm_status run_gpt2(const run *r, size_t number, const char *text, size_t size,
                            lcsm_error *err)
{
    const lcsm_split_stage *stage = &r->splitter->stages[number];
    for (size_t at = 0; at < size;) {
        size_t end = lcsm_gpt2_scan(text, size, at);
        if (end == 0) {
            size_t begin = at;
            LCSM_OR_RETURN(find(r, stage, text, size, &begin, &end, err));
        }
        LCSM_OR_RETURN(run_stage(r, number + 1, text + at, end - at, err));
        at = end;
    }
    return LCSM_OK;
}

/* A span that waits to see whether the next one joins it. */
typedef struct {
    size_t begin, end;
    bool   match, there;
} span;

static bool joins(lcsm_split_behavior behavior, const span *before, bool match)
{
    switch (behavior) {
    case LCSM_SPLIT_CONTIGUOUS: return before->match == match;
    case LCSM_SPLIT_PREVIOUS: return match && !before->match;
    case LCSM_SPLIT_NEXT: return before->match && !match;
    default: return false;
    }
}

static lcsm_status give(const run *r, size_t number, const char *text, const span *s,
                        lcsm_error *err)
{
    bool removed = r->splitter->stages[number].behavior == LCSM_SPLIT_REMOVED && s->match;
    if (!s->there || removed) return LCSM_OK;
    return run_stage(r, number + 1, text + s->begin, s->end - s->begin, err);
}

/* The next span: joins the one that waits, or sends it on and waits in its place. */
static lcsm_status take(const run *r, size_t number, const char *text, span *waiting, size_t begin,
                        size_t end, bool match, lcsm_error *err)
{
    const lcsm_split_stage *stage = &r->splitter->stages[number];
    if (begin == end) return LCSM_OK;
    match = match != stage->invert;
    if (waiting->there && joins(stage->behavior, waiting, match)) {
        waiting->end   = end;
        waiting->match = match; /* of the last one that joined */
        return LCSM_OK;
    }
    LCSM_OR_RETURN(give(r, number, text, waiting, err));
    *waiting = (span){begin, end, match, true};
    return LCSM_OK;
}

static lcsm_status run_pattern(const run *r, size_t number, const char *text, size_t size,
                               lcsm_error *err)
{
    span waiting = {0};
    for (size_t at = 0; at < size;) {
        size_t begin = at, end = size;
        LCSM_OR_RETURN(find(r, &r->splitter->stages[number], text, size, &begin, &end, err));
        LCSM_OR_RETURN(take(r, number, text, &waiting, at, begin, false, err));
        LCSM_OR_RETURN(take(r, number, text, &waiting, begin, end, true, err));
        at = end;
    }
    return give(r, number, text, &waiting, err);
}

static lcsm_status run_stage(const run *r, size_t number, const char *text, size_t size,
                             lcsm_error *err)
{
    if (number == r->splitter->count) return r->fn(r->user, text, size, err);
    const lcsm_split_stage *stage   = &r->splitter->stages[number];
    bool                    goes_on = r->goes_on && text == r->begin;
    if (stage->prefix_space && !goes_on && size > 0 && text[0] != ' ') {
        lcsm_strbuf *copy = &r->room->prefixed;
        copy->size        = 0;
        lcsm_strbuf_add(copy, " ");
        lcsm_strbuf_bytes(copy, text, size);
        if (copy->failed)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to split a text");
        text = copy->text;
        size = copy->size;
    }
    if (stage->gpt2) return run_gpt2(r, number, text, size, err);
    if (stage->code != NULL) return run_pattern(r, number, text, size, err);
    return run_stage(r, number + 1, text, size, err);
}

lcsm_status lcsm_split(const lcsm_splitter *s, lcsm_split_room *room, const char *text, size_t size,
                       bool goes_on, lcsm_word_fn *fn, void *user, lcsm_error *err)
{
    const run r = {
        .splitter = s, .room = room, .begin = text, .goes_on = goes_on, .fn = fn, .user = user};
    return size == 0 ? LCSM_OK : run_stage(&r, 0, text, size, err);
}
