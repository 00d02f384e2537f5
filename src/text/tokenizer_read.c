/*
 * tokenizer_read.c - tokenizer.json: of the byte-level family, of SentencePiece-style BPE, and of
 * RWKV World as lcsm writes it.
 *
 * What the file asks for is done or refused: an unknown kind of normalizer, pre-tokenizer, model,
 * post-processor or decoder is an error that names it.
 */
#include "text/tokenizer_read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/file.h"
#include "text/tokenizer_convert.h"

enum {
    LEAST_IDS = 1 << 16, /* that any file may have; larger ids need a larger file */
    MAX_DEPTH = 8,       /* of sequences in sequences */
};

typedef lcsm_tokenizer_reading reading;

lcsm_status lcsm_tokenizer_get_id(int32_t *out, const reading *r, lcsm_json v, lcsm_error *err)
{
    int64_t     id = -1;
    lcsm_status st = lcsm_json_get_int(&id, v, 0, (int64_t)r->id_limit - 1, err);
    *out           = (int32_t)id;
    return st;
}

lcsm_status lcsm_tokenizer_get_flag(bool *out, const lcsm_json *object, const char *key,
                                    lcsm_error *err)
{
    if (!lcsm_json_has(object, key)) return LCSM_OK;
    return lcsm_json_get_bool(out, lcsm_json_may(object, key), err);
}

/* Calls one for each part of a sequence, or for v itself if it is none. */
typedef lcsm_status part_fn(reading *r, const lcsm_json *v, const char *type, lcsm_error *err);

static lcsm_status each_part(reading *r, const lcsm_json *v, const char *list, unsigned depth,
                             part_fn *one, lcsm_error *err)
{
    const char *type = NULL;
    lcsm_json   object, array;
    if (v->value == NULL || json_is_null(v->value)) return LCSM_OK;
    if (depth > MAX_DEPTH) return lcsm_json_fail(v, err, "at most %d nested sequences", MAX_DEPTH);
    LCSM_OR_RETURN(lcsm_json_get_object(&object, *v, err));
    LCSM_OR_RETURN(lcsm_json_get_text(&type, lcsm_json_need(&object, "type"), err));
    if (strcmp(type, "Sequence") != 0) return one(r, &object, type, err);
    LCSM_OR_RETURN(lcsm_json_get_array(&array, lcsm_json_need(&object, list), 0, 64, err));
    for (size_t j = 0; j < lcsm_json_count(&array); j++) {
        lcsm_json item = lcsm_json_item(&array, j);
        LCSM_OR_RETURN(each_part(r, &item, list, depth + 1, one, err));
    }
    return LCSM_OK;
}

static void add_name(char *names, size_t room, const char *name)
{
    size_t used = strlen(names);
    if (used + strlen(name) + 4 > room) return;
    if (used > 0) {
        memcpy(names + used, " + ", 4);
        used += 3;
    }
    memcpy(names + used, name, strlen(name) + 1);
}

/* ---- normalizer ------------------------------------------------------------------------- */

static lcsm_status get_replace(reading *r, const lcsm_json *v, lcsm_error *err)
{
    const char *what = NULL, *with = NULL;
    lcsm_json   pattern;
    LCSM_OR_RETURN(lcsm_json_get_object(&pattern, lcsm_json_need(v, "pattern"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&what, lcsm_json_need(&pattern, "String"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&with, lcsm_json_need(v, "content"), err));
    return lcsm_normalizer_put(&r->tok->normalizer, LCSM_NORMALIZE_REPLACE, what, with, err);
}

static lcsm_status read_normalizer(reading *r, const lcsm_json *v, const char *type,
                                   lcsm_error *err)
{
    static const char *const NAMES[] = {"NFC", "NFD", "NFKC", "NFKD", "Prepend", "Replace"};
    size_t                   kind    = 0;
    const char              *with    = NULL;
    LCSM_OR_RETURN(
        lcsm_json_get_choice(&kind, lcsm_json_need(v, "type"), NAMES, COUNT(NAMES), err));
    add_name(r->tok->normalizer_name, sizeof r->tok->normalizer_name, type);
    if (kind == LCSM_NORMALIZE_REPLACE) return get_replace(r, v, err);
    if (kind == LCSM_NORMALIZE_PREPEND)
        LCSM_OR_RETURN(lcsm_json_get_text(&with, lcsm_json_need(v, "prepend"), err));
    return lcsm_normalizer_put(&r->tok->normalizer, (lcsm_normalize_kind)kind, NULL, with, err);
}

/* ---- pre-tokenizer ---------------------------------------------------------------------- */

static lcsm_status read_byte_level(reading *r, const lcsm_json *v, lcsm_error *err)
{
    bool             regex = true;
    lcsm_split_stage stage = {.prefix_space = true, .behavior = LCSM_SPLIT_ISOLATED};
    if (r->tok->chars) return lcsm_json_fail(v, err, "another one where byte_fallback is true");
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&stage.prefix_space, v, "add_prefix_space", err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&regex, v, "use_regex", err));
    r->byte_level = true;
    return lcsm_splitter_put(&r->tok->splitter, stage, regex ? LCSM_GPT2_PATTERN : NULL, err);
}

static lcsm_status read_split(reading *r, const lcsm_json *v, lcsm_error *err)
{
    static const char *const BEHAVIORS[] = {"Removed", "Isolated", "MergedWithPrevious",
                                            "MergedWithNext", "Contiguous"};
    size_t                   behavior    = 0;
    const char              *text        = NULL;
    lcsm_json                pattern;
    lcsm_split_stage         stage = {0};
    LCSM_OR_RETURN(lcsm_json_get_choice(&behavior, lcsm_json_need(v, "behavior"), BEHAVIORS,
                                        COUNT(BEHAVIORS), err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&stage.invert, v, "invert", err));
    stage.behavior = (lcsm_split_behavior)behavior;
    LCSM_OR_RETURN(lcsm_json_get_object(&pattern, lcsm_json_need(v, "pattern"), err));
    if (lcsm_json_has(&pattern, "String")) {
        LCSM_OR_RETURN(lcsm_json_get_text(&text, lcsm_json_need(&pattern, "String"), err));
        return lcsm_splitter_put_text(&r->tok->splitter, stage, text, err);
    }
    LCSM_OR_RETURN(lcsm_json_get_text(&text, lcsm_json_need(&pattern, "Regex"), err));
    return lcsm_splitter_put(&r->tok->splitter, stage, text, err);
}

static lcsm_status read_digits(reading *r, const lcsm_json *v, lcsm_error *err)
{
    bool             single = false;
    lcsm_split_stage stage  = {.behavior = LCSM_SPLIT_CONTIGUOUS};
    lcsm_status      st     = lcsm_tokenizer_get_flag(&single, v, "individual_digits", err);
    if (single) stage.behavior = LCSM_SPLIT_ISOLATED;
    return st != LCSM_OK ? st : lcsm_splitter_put(&r->tok->splitter, stage, "\\p{N}", err);
}

#define MARK "\xE2\x96\x81" /* U+2581, which stands for a space */

/* A member that must be the mark, if it is there. */
static lcsm_status check_mark(const lcsm_json *v, const char *key, lcsm_error *err)
{
    const char *text = MARK;
    if (!lcsm_json_has(v, key)) return LCSM_OK;
    lcsm_json member = lcsm_json_need(v, key);
    LCSM_OR_RETURN(lcsm_json_get_text(&text, member, err));
    return strcmp(text, MARK) == 0 ? LCSM_OK : lcsm_json_fail(&member, err, "U+2581");
}

/* Whether and where a space is put in front: prepend_scheme, or in older files add_prefix_space. */
static lcsm_status get_scheme(size_t *scheme, const lcsm_json *v, lcsm_error *err)
{
    static const char *const SCHEMES[] = {"never", "first", "always"};
    bool                     prefix    = true;
    LCSM_OR_RETURN(check_mark(v, "replacement", err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&prefix, v, "add_prefix_space", err));
    *scheme = prefix ? 2 : 0;
    if (!lcsm_json_has(v, "prepend_scheme")) return LCSM_OK;
    return lcsm_json_get_choice(scheme, lcsm_json_need(v, "prepend_scheme"), SCHEMES,
                                COUNT(SCHEMES), err);
}

static lcsm_status read_metaspace(reading *r, const lcsm_json *v, lcsm_error *err)
{
    size_t scheme = 2;
    if (r->tok->splitter.count > 0 || !r->tok->chars)
        return lcsm_json_fail(v, err, "Metaspace alone, and a BPE model with byte_fallback");
    LCSM_OR_RETURN(get_scheme(&scheme, v, err));
    r->tok->marks       = scheme > 0;
    r->tok->marks_all   = scheme == 2;
    r->tok->marks_split = true;
    r->byte_level       = true;
    return lcsm_tokenizer_get_flag(&r->tok->marks_split, v, "split", err);
}

static lcsm_status read_pre_tokenizer(reading *r, const lcsm_json *v, const char *type,
                                      lcsm_error *err)
{
    static const char *const NAMES[] = {"ByteLevel", "Split", "Digits", "Metaspace"};
    static lcsm_status (*const READERS[])(reading *, const lcsm_json *, lcsm_error *) = {
        read_byte_level, read_split, read_digits, read_metaspace};
    size_t kind = 0;
    LCSM_OR_RETURN(
        lcsm_json_get_choice(&kind, lcsm_json_need(v, "type"), NAMES, COUNT(NAMES), err));
    if (r->byte_level) return lcsm_json_fail(v, err, "nothing after ByteLevel or Metaspace");
    add_name(r->tok->splitter_name, sizeof r->tok->splitter_name, type);
    return READERS[kind](r, v, err);
}

/* ---- post-processor and decoder --------------------------------------------------------- */

static lcsm_status put_id(lcsm_id_list *list, int32_t id, lcsm_error *err)
{
    int32_t *ids = realloc(list->ids, (list->count + 1) * sizeof *ids);
    if (ids == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a tokenizer");
    list->ids                = ids;
    list->ids[list->count++] = id;
    return LCSM_OK;
}

/* The ids of a special token of a template, by its name. */
static lcsm_status put_special(reading *r, lcsm_id_list *list, const lcsm_json *v,
                               const lcsm_json *piece, lcsm_error *err)
{
    const char *name = NULL;
    lcsm_json   inner, specials, special, ids;
    int32_t     id;
    LCSM_OR_RETURN(lcsm_json_get_object(&inner, lcsm_json_need(piece, "SpecialToken"), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&name, lcsm_json_need(&inner, "id"), err));
    LCSM_OR_RETURN(lcsm_json_get_object(&specials, lcsm_json_need(v, "special_tokens"), err));
    LCSM_OR_RETURN(lcsm_json_get_object(&special, lcsm_json_need(&specials, name), err));
    LCSM_OR_RETURN(lcsm_json_get_array(&ids, lcsm_json_need(&special, "ids"), 1, 64, err));
    for (size_t j = 0; j < lcsm_json_count(&ids); j++) {
        LCSM_OR_RETURN(lcsm_tokenizer_get_id(&id, r, lcsm_json_item(&ids, j), err));
        LCSM_OR_RETURN(put_id(list, id, err));
    }
    return LCSM_OK;
}

static lcsm_status read_template(reading *r, const lcsm_json *v, lcsm_error *err)
{
    lcsm_id_list *list = &r->tok->prefix;
    lcsm_json     single;
    LCSM_OR_RETURN(lcsm_json_get_array(&single, lcsm_json_need(v, "single"), 1, 64, err));
    for (size_t j = 0; j < lcsm_json_count(&single); j++) {
        lcsm_json piece = lcsm_json_item(&single, j);
        if (lcsm_json_has(&piece, "Sequence")) list = &r->tok->suffix;
        else LCSM_OR_RETURN(put_special(r, list, v, &piece, err));
    }
    return LCSM_OK;
}

/* [text, id] */
static lcsm_status put_pair(reading *r, lcsm_id_list *list, lcsm_json v, lcsm_error *err)
{
    int32_t   id;
    lcsm_json pair;
    LCSM_OR_RETURN(lcsm_json_get_array(&pair, v, 2, 2, err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_id(&id, r, lcsm_json_item(&pair, 1), err));
    return put_id(list, id, err);
}

static lcsm_status read_post_processor(reading *r, const lcsm_json *v, const char *type,
                                       lcsm_error *err)
{
    static const char *const NAMES[] = {"ByteLevel", "TemplateProcessing", "RobertaProcessing",
                                        "BertProcessing"};
    size_t                   kind    = 0;
    (void)type;
    LCSM_OR_RETURN(
        lcsm_json_get_choice(&kind, lcsm_json_need(v, "type"), NAMES, COUNT(NAMES), err));
    if (kind == 1) return read_template(r, v, err);
    if (kind < 2) return LCSM_OK;
    LCSM_OR_RETURN(put_pair(r, &r->tok->prefix, lcsm_json_need(v, "cls"), err));
    return put_pair(r, &r->tok->suffix, lcsm_json_need(v, "sep"), err);
}

static lcsm_status read_decoder(reading *r, const lcsm_json *v, const char *type, lcsm_error *err)
{
    static const char *const NAMES[] = {"ByteLevel", "Replace", "ByteFallback",
                                        "Fuse",      "Strip",   "Metaspace"};
    size_t                   kind    = 0, scheme;
    int64_t                  start   = 0;
    (void)type;
    LCSM_OR_RETURN(lcsm_json_get_choice(&kind, lcsm_json_need(v, "type"), NAMES,
                                        r->tok->chars ? COUNT(NAMES) : 1, err));
    if (kind == 4) {
        LCSM_OR_RETURN(lcsm_json_get_int(&start, lcsm_json_need(v, "start"), 0, 1, err));
        r->tok->strips = start == 1;
    }
    if (kind == 5) {
        LCSM_OR_RETURN(get_scheme(&scheme, v, err));
        r->tok->strips = scheme > 0;
    }
    return LCSM_OK;
}

/* What the model says of the kind of the whole: characters with byte_fallback, or World. */
static lcsm_status read_kind(reading *r, lcsm_error *err)
{
    lcsm_json   model;
    const char *type = "BPE";
    model            = lcsm_json_may(&r->root, "model");
    if (!json_is_object(model.value)) return LCSM_OK;
    if (lcsm_json_has(&model, "type"))
        LCSM_OR_RETURN(lcsm_json_get_text(&type, lcsm_json_need(&model, "type"), err));
    r->tok->world = strcmp(type, "World") == 0;
    return lcsm_tokenizer_get_flag(&r->tok->chars, &model, "byte_fallback", err);
}

/* ---- the whole -------------------------------------------------------------------------- */

static lcsm_status read_parts(reading *r, lcsm_error *err)
{
    static const struct {
        const char *key, *list;
        part_fn    *one;
    } PARTS[] = {
        {"normalizer", "normalizers", read_normalizer},
        {"pre_tokenizer", "pretokenizers", read_pre_tokenizer},
        {"post_processor", "processors", read_post_processor},
        {"decoder", "decoders", read_decoder},
    };
    lcsm_json added = lcsm_json_may(&r->root, "added_tokens");
    LCSM_OR_RETURN(read_kind(r, err));
    if (lcsm_json_has(&r->root, "added_tokens"))
        LCSM_OR_RETURN(lcsm_json_get_array(&added, added, 0, INT32_MAX, err));
    for (size_t j = 0; j < COUNT(PARTS); j++) {
        lcsm_json v = lcsm_json_may(&r->root, PARTS[j].key);
        LCSM_OR_RETURN(each_part(r, &v, PARTS[j].list, 0, PARTS[j].one, err));
    }
    if (!r->byte_level && !r->tok->chars && !r->tok->world) {
        lcsm_json v = lcsm_json_need(&r->root, "pre_tokenizer");
        return lcsm_json_fail(&v, err, "ByteLevel, or a Sequence that ends with it");
    }
    LCSM_OR_RETURN(lcsm_tokenizer_read_model(r, &added, err));
    return lcsm_tokenizer_read_added(r, &added, err);
}

/* The only special added token, unless it stands for what is unknown; else -1. */
static int32_t only_special(const lcsm_tokenizer *tok)
{
    const lcsm_added *sets[]  = {&tok->raw, &tok->normalized};
    int32_t           id      = -1;
    size_t            special = 0;
    for (size_t s = 0; s < COUNT(sets); s++)
        for (size_t j = 0; j < sets[s]->count; j++) {
            if (!sets[s]->tokens[j].special) continue;
            id = sets[s]->tokens[j].id;
            special++;
        }
    return special == 1 && id != tok->unknown ? id : -1;
}

/* By the names that are common, else the one token it can be. */
static int32_t find_eos(const lcsm_tokenizer *tok)
{
    static const char *const NAMES[] = {"<|endoftext|>", "<|end_of_text|>", "</s>",
                                        "<eos>",         "<|eos|>",         "[EOS]"};
    for (size_t j = 0; j < COUNT(NAMES); j++) {
        int32_t id = lcsm_vocab_find(&tok->vocab, NAMES[j], strlen(NAMES[j]));
        if (id >= 0) return id;
    }
    return only_special(tok);
}

/* Whether encoding is nothing but taking bytes as ids. */
static bool is_bytes(const lcsm_tokenizer *tok)
{
    bool same = tok->vocab.count == 256 && tok->merge_count == 0 && tok->raw.count == 0
             && tok->normalized.count == 0 && tok->normalizer.count == 0 && tok->prefix.count == 0
             && tok->suffix.count == 0;
    for (int j = 0; same && j < 256; j++) same = tok->byte_id[j] == j;
    for (size_t j = 0; same && j < tok->splitter.count; j++)
        same = !tok->splitter.stages[j].prefix_space
            && tok->splitter.stages[j].behavior != LCSM_SPLIT_REMOVED;
    return same;
}

/* A space in an added token, or behind one that swallows it. */
static bool spans_spaces(const lcsm_added *a)
{
    bool spans = false;
    for (size_t j = 0; j < a->count; j++)
        spans = spans || a->tokens[j].rstrip
             || memchr(a->tokens[j].text, ' ', a->tokens[j].size) != NULL;
    return spans;
}

/* Whether a text cannot be cut before a space: what a normalizer puts before it or replaces in it,
 * and words and tokens that go on behind a space, need the whole. */
static bool needs_whole(const lcsm_tokenizer *tok)
{
    bool whole = spans_spaces(&tok->raw) || spans_spaces(&tok->normalized), cuts = false;
    for (size_t j = 0; j < tok->normalizer.count; j++)
        whole = whole || tok->normalizer.steps[j].kind >= LCSM_NORMALIZE_PREPEND;
    for (size_t j = 0; j < tok->splitter.count; j++)
        cuts = cuts || tok->splitter.stages[j].code != NULL;
    return whole || !cuts || tok->chars || tok->world;
}

static lcsm_status check_template(const lcsm_id_list *list, const lcsm_tokenizer *tok,
                                  const char *label, lcsm_error *err)
{
    for (size_t j = 0; j < list->count; j++)
        if ((size_t)list->ids[j] >= tok->vocab.count)
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s: post_processor has the id %d; expected one of the %zu tokens",
                             label, (int)list->ids[j], (size_t)tok->vocab.count);
    return LCSM_OK;
}

static lcsm_status keep_file(lcsm_tokenizer *tok, const char *json, size_t size, lcsm_error *err)
{
    tok->json = malloc(size + 1);
    if (tok->json == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a tokenizer");
    memcpy(tok->json, json, size);
    tok->json_size = size;
    tok->hash      = XXH3_64bits(json, size);
    return LCSM_OK;
}

lcsm_status lcsm_tokenizer_parse(lcsm_tokenizer **out, const char *label, const char *json,
                                 size_t size, lcsm_error *err)
{
    lcsm_status     st  = LCSM_OK;
    lcsm_tokenizer *tok = calloc(1, sizeof *tok);
    lcsm_json_doc   doc = {0};
    reading         r   = {
                  .tok = tok, .id_limit = size > LEAST_IDS ? size : LEAST_IDS, .room = malloc(2 * size + 1)};
    *out = NULL;
    if (tok == NULL || r.room == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a tokenizer");
        goto cleanup;
    }
    tok->unknown = -1;
    LCSM_TRY(lcsm_json_doc_parse(&doc, label, json, size, err));
    r.root = lcsm_json_root(&doc);
    LCSM_TRY(lcsm_json_get_object(&r.root, r.root, err));
    LCSM_TRY(read_parts(&r, err));
    LCSM_TRY(check_template(&tok->prefix, tok, label, err));
    LCSM_TRY(check_template(&tok->suffix, tok, label, err));
    LCSM_TRY(keep_file(tok, json, size, err));
    tok->eos   = find_eos(tok);
    tok->whole = needs_whole(tok);
    tok->bytes = is_bytes(tok);
    *out       = tok;
    tok        = NULL;
cleanup:
    lcsm_json_doc_free(&doc);
    free(r.room);
    lcsm_tokenizer_free(tok);
    return lcsm_file_fault(st, err);
}

/* JSON begins with a brace, World with a number, and SentencePiece with the tag of a piece. */
static lcsm_status parse_any(lcsm_tokenizer **out, const char *label, const lcsm_file *file,
                             lcsm_error *err)
{
    char       *json  = NULL;
    size_t      size  = 0;
    const char *text  = (const char *)file->data;
    bool        world = file->size > 0 && text[0] >= '0' && text[0] <= '9';
    bool        piece = file->size > 2 && text[0] == '\n' && text[2] == '\n';
    lcsm_status st    = LCSM_OK;
    if (!world && !piece) return lcsm_tokenizer_parse(out, label, text, file->size, err);
    if (world) st = lcsm_tokenizer_from_world(&json, &size, label, text, file->size, err);
    else st = lcsm_tokenizer_from_sentencepiece(&json, &size, label, file->data, file->size, err);
    if (st == LCSM_OK) st = lcsm_tokenizer_parse(out, label, json, size, err);
    free(json);
    return st;
}

/* The first of these that a folder has; the last if it has none. */
static lcsm_status find_file(char path[LCSM_PATH_MAX], const char *folder, lcsm_error *err)
{
    static const char *const NAMES[] = {"tokenizer.json", "tokenizer.model",
                                        "rwkv_vocab_v20230424.txt"};
    for (size_t j = 0; j < COUNT(NAMES); j++) {
        LCSM_OR_RETURN(lcsm_path_join(path, folder, NAMES[j], err));
        if (lcsm_path_exists(path)) return LCSM_OK;
    }
    return lcsm_path_join(path, folder, NAMES[0], err);
}

lcsm_status lcsm_tokenizer_load(lcsm_tokenizer **out, const char *path, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_file   file = {0};
    struct stat info;
    char        inner[LCSM_PATH_MAX];
    *out = NULL;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        LCSM_TRY(find_file(inner, path, err));
        path = inner;
    }
    LCSM_TRY(lcsm_file_read(&file, path, LCSM_JSON_LARGE_SIZE, err));
    LCSM_TRY(parse_any(out, path, &file, err));
cleanup:
    lcsm_file_close(&file);
    return st;
}
