/*
 * safetensors.c - the reader, rule by rule.
 *
 * The header is checked as a text (S1 to S5), then entry by entry (S7 to S10, S13), and only then
 * given memory: a row of 32 bytes for an entry that takes at least 50, and the letters of its name.
 * What all entries together must be (S6, S11, S12) is seen by sorting the rows. S14 and S15 say
 * what is no mistake: empty tensors, single numbers, numbers that are not finite.
 */
#include "format/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "format/json_scan.h"

_Static_assert(sizeof(size_t) == 8, "sizes in tensor files have 64 bits");

enum { MAX_DEPTH = 4 };

static lcsm_json_span text_span(const lcsm_safetensors *s)
{
    size_t at = lcsm_json_space(s->header, s->header_size, 0);
    return (lcsm_json_span){.at = s->header + at, .end = s->header + s->header_size};
}

/* S1, S2: the header lies in the file. */
static lcsm_status split(lcsm_safetensors *s, const unsigned char *data, size_t size,
                         lcsm_error *err)
{
    uint64_t length;
    if (size < sizeof length)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: header too small: %zu bytes; expected at least 8", s->label, size);
    memcpy(&length, data, sizeof length);
    if (length > LCSM_SAFETENSORS_HEADER)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: header too large: %llu bytes; expected at most %d", s->label,
                         (unsigned long long)length, LCSM_SAFETENSORS_HEADER);
    if (length > size - sizeof length)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: invalid header length: %llu bytes, but only %zu follow", s->label,
                         (unsigned long long)length, size - sizeof length);
    s->header      = (const char *)data + sizeof length;
    s->header_size = (size_t)length;
    s->buffer      = data + sizeof length + length;
    s->buffer_size = size - sizeof length - (size_t)length;
    return LCSM_OK;
}

/* S3, S4, S5: the header is one JSON object in UTF-8, and nothing but whitespace around it. */
static lcsm_status check_text(const lcsm_safetensors *s, unsigned flags, lcsm_error *err)
{
    const char *text = s->header;
    size_t      size = s->header_size, at = lcsm_utf8_check(text, size);
    if (at < size)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: not UTF-8: byte %zu of the header is 0x%02x",
                         s->label, at, (unsigned)(unsigned char)text[at]);
    at = (flags & LCSM_SAFETENSORS_STRICT) != 0 ? 0 : lcsm_json_space(text, size, 0);
    if (at == size || text[at] != '{')
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: invalid start: the header has no { %s",
                         s->label, at == 0 ? "at its first byte" : "after the whitespace");
    const char *problem = lcsm_json_check(text, size, MAX_DEPTH, &at);
    if (problem != NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: bad JSON: byte %zu of the header: %s", s->label,
                         at, problem);
    at = lcsm_json_space(text, size, at);
    if (at < size)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: trailing data: byte %zu of the header comes after its last brace",
                         s->label, at);
    return LCSM_OK;
}

static size_t span_size(lcsm_json_span v)
{
    return (size_t)(v.end - v.at);
}

enum { SHORT = 64 };

/* The letters of a string that has at most SHORT of them; otherwise none. */
static size_t short_text(char out[SHORT], lcsm_json_span string)
{
    return lcsm_json_unescape(NULL, string) <= SHORT ? lcsm_json_unescape(out, string) : 0;
}

static bool string_is(lcsm_json_span string, const char *word)
{
    char   text[SHORT];
    size_t size = short_text(text, string);
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

/* The entries are read twice: to be checked and counted, while the file has no memory yet, and
 * then to be kept. */
typedef struct {
    lcsm_safetensors *s;
    size_t            rows, pairs, letters;
} reading;

/* Counts a string and, if there is memory, puts its letters and a zero there. */
static const char *keep(reading *r, lcsm_json_span string)
{
    size_t at = r->letters;
    r->letters += lcsm_json_unescape(NULL, string) + 1;
    if (r->s->pool == NULL) return NULL;
    r->s->pool[at + lcsm_json_unescape(r->s->pool + at, string)] = '\0';
    return r->s->pool + at;
}

static lcsm_status read_metadata(reading *r, lcsm_json_span object, lcsm_error *err)
{
    lcsm_json_walk w = lcsm_json_enter(object);
    lcsm_json_span key, value;
    if (*object.at != '{')
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: bad metadata: __metadata__ is not an object",
                         r->s->label);
    while (lcsm_json_step(&w, &key, &value)) {
        int shown = span_size(key) > 80 ? 80 : (int)span_size(key);
        if (*value.at != '"')
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: bad metadata: %.*s is not a string",
                             r->s->label, shown, key.at);
        if (r->pairs == LCSM_SAFETENSORS_METADATA)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: limit: more than %d metadata entries",
                             r->s->label, LCSM_SAFETENSORS_METADATA);
        lcsm_safetensors_pair pair = {keep(r, key), keep(r, value)};
        if (r->s->metadata != NULL) r->s->metadata[r->pairs] = pair;
        r->pairs++;
    }
    return LCSM_OK;
}

static lcsm_status bad_entry(const lcsm_safetensors *s, const char *name, const char *what,
                             lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_FORMAT,
                     "%s: bad tensor entry: %.80s %s; expected dtype, shape and data_offsets",
                     s->label, name, what);
}

/* The naturals of an array (S7), at most max of them. */
static lcsm_status read_naturals(uint64_t *out, size_t *count, size_t max, lcsm_json_span array,
                                 const lcsm_safetensors *s, const char *name, lcsm_error *err)
{
    lcsm_json_walk w = lcsm_json_enter(array);
    lcsm_json_span key, value;
    *count = 0;
    if (*array.at != '[')
        return bad_entry(s, name, "has a shape or offset that is not an array", err);
    for (; lcsm_json_step(&w, &key, &value); (*count)++) {
        if (*count == max)
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s: limit: an array of %.80s has more than %zu "
                             "numbers",
                             s->label, name, max);
        if (!lcsm_json_natural(&out[*count], value))
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s: bad integer: %.80s has %.*s; expected digits only, below 2^63",
                             s->label, name, (int)(span_size(value) > 40 ? 40 : span_size(value)),
                             value.at);
    }
    return LCSM_OK;
}

/* S8: the three members, each once. */
static lcsm_status read_members(lcsm_json_span member[3], lcsm_json_span entry,
                                const lcsm_safetensors *s, const char *name, lcsm_error *err)
{
    static const char *const KEYS[] = {"dtype", "shape", "data_offsets"};
    lcsm_json_walk           w      = lcsm_json_enter(entry);
    lcsm_json_span           key, value;
    if (*entry.at != '{') return bad_entry(s, name, "is not an object", err);
    while (lcsm_json_step(&w, &key, &value)) {
        size_t j = 0;
        while (j < COUNT(KEYS) && !string_is(key, KEYS[j])) j++;
        if (j == COUNT(KEYS)) return bad_entry(s, name, "has an unknown member", err);
        if (member[j].at != NULL)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: duplicate key: %.80s has %s twice",
                             s->label, name, KEYS[j]);
        member[j] = value;
    }
    for (size_t j = 0; j < COUNT(KEYS); j++)
        if (member[j].at == NULL) return bad_entry(s, name, "lacks a member", err);
    return LCSM_OK;
}

/* S9, S10: the bytes lie in the buffer and are as many as type and shape say. */
static lcsm_status check_extent(const lcsm_safetensors *s, const lcsm_safetensors_row *row,
                                const lcsm_named_tensor *t, lcsm_error *err)
{
    char   text[LCSM_NAMED_TEXT];
    size_t count, bytes = 0;
    if (row->begin > row->end || row->end > s->buffer_size)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: offset out of range: %.80s has %llu..%llu of %zu bytes", s->label,
                         row->name, (unsigned long long)row->begin, (unsigned long long)row->end,
                         s->buffer_size);
    if (!lcsm_named_tensor_measure(t, &count, &bytes) || bytes != row->end - row->begin)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: shape/size mismatch: %.60s is %.80s but has %llu bytes", s->label,
                         row->name, lcsm_named_tensor_text(text, t),
                         (unsigned long long)(row->end - row->begin));
    return LCSM_OK;
}

/* The type of an entry; false if its dtype is no string or no known one. */
static bool read_dtype(lcsm_element *out, lcsm_json_span dtype)
{
    char text[SHORT];
    return *dtype.at == '"' && lcsm_element_find(out, text, short_text(text, dtype));
}

/* Its name is shown if it is a word. */
static lcsm_status bad_dtype(const lcsm_safetensors *s, const char *name, lcsm_json_span dtype,
                             lcsm_error *err)
{
    char   text[SHORT], what[SHORT + 32];
    size_t size = *dtype.at == '"' ? short_text(text, dtype) : 0;
    bool   word = size > 0;
    for (size_t j = 0; j < size; j++) word = word && text[j] > ' ' && text[j] <= '~';
    (void)snprintf(what, sizeof what, "has the unknown dtype %.*s", word ? (int)size : 0, text);
    return bad_entry(s, name, word ? what : "has an unknown dtype", err);
}

static lcsm_status read_row(lcsm_safetensors_row *row, lcsm_json_span entry,
                            const lcsm_safetensors *s, lcsm_error *err)
{
    lcsm_json_span    member[3] = {{0}};
    lcsm_named_tensor t         = {.name = row->name};
    uint64_t          dims[LCSM_NAMED_RANK], offsets[2];
    size_t            count = 0;
    LCSM_OR_RETURN(read_members(member, entry, s, row->name, err));
    if (!read_dtype(&t.element, member[0])) return bad_dtype(s, row->name, member[0], err);
    LCSM_OR_RETURN(read_naturals(dims, &t.rank, LCSM_NAMED_RANK, member[1], s, row->name, err));
    LCSM_OR_RETURN(read_naturals(offsets, &count, 2, member[2], s, row->name, err));
    if (count != 2) return bad_entry(s, row->name, "does not have two data_offsets", err);

    for (size_t j = 0; j < t.rank; j++) t.shape[j] = (size_t)dims[j];
    row->begin   = offsets[0];
    row->end     = offsets[1];
    row->shape   = (uint32_t)(member[1].at - s->header);
    row->element = (uint8_t)t.element;
    row->rank    = (uint8_t)t.rank;
    return check_extent(s, row, &t, err);
}

/* One tensor, with S13 for its name and for how many there are. */
static lcsm_status read_tensor(reading *r, lcsm_json_span key, lcsm_json_span entry,
                               lcsm_error *err)
{
    char                 name[LCSM_SAFETENSORS_NAME + 1] = {0};
    lcsm_safetensors_row row                             = {.name = name};
    size_t               size                            = lcsm_json_unescape(NULL, key);
    if (size < 1 || size > LCSM_SAFETENSORS_NAME)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: limit: a name of %zu bytes; expected 1 to %d",
                         r->s->label, size, LCSM_SAFETENSORS_NAME);
    (void)lcsm_json_unescape(name, key);
    if (strlen(name) != size)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: limit: a name with a zero byte, %.80s...",
                         r->s->label, name);
    if (r->rows == LCSM_SAFETENSORS_TENSORS)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: limit: more than %d tensors", r->s->label,
                         LCSM_SAFETENSORS_TENSORS);
    lcsm_status st = read_row(&row, entry, r->s, err);
    row.name       = keep(r, key);
    if (r->s->rows != NULL) r->s->rows[r->rows] = row;
    r->rows++;
    return st;
}

static lcsm_status read_entries(reading *r, lcsm_error *err)
{
    lcsm_json_walk top = lcsm_json_enter(text_span(r->s));
    lcsm_json_span key, value;
    bool           metadata = false;
    while (lcsm_json_step(&top, &key, &value)) {
        if (!string_is(key, "__metadata__")) {
            LCSM_OR_RETURN(read_tensor(r, key, value, err));
            continue;
        }
        if (metadata)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: duplicate key: __metadata__", r->s->label);
        metadata = true;
        LCSM_OR_RETURN(read_metadata(r, value, err));
    }
    return LCSM_OK;
}

static lcsm_status reserve(lcsm_safetensors *s, const reading *counted, lcsm_error *err)
{
    s->count          = counted->rows;
    s->metadata_count = counted->pairs;
    s->rows           = calloc(s->count + 1, sizeof *s->rows);
    s->metadata       = calloc(s->metadata_count + 1, sizeof *s->metadata);
    s->pool           = malloc(counted->letters + 1);
    if (s->rows != NULL && s->metadata != NULL && s->pool != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for an index of %zu tensors",
                     s->label, s->count);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lcsm_safetensors_row *)a)->name, ((const lcsm_safetensors_row *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const lcsm_safetensors_row *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const lcsm_safetensors_pair *)a)->key, ((const lcsm_safetensors_pair *)b)->key);
}

/* S6: names are distinct, and so are keys of the metadata. Leaves both sorted. */
static lcsm_status check_distinct(lcsm_safetensors *s, lcsm_error *err)
{
    qsort(s->rows, s->count, sizeof *s->rows, by_name);
    qsort(s->metadata, s->metadata_count, sizeof *s->metadata, by_key);
    for (size_t j = 1; j < s->count; j++)
        if (strcmp(s->rows[j - 1].name, s->rows[j].name) == 0)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: duplicate key: %.80s", s->label,
                             s->rows[j].name);
    for (size_t j = 1; j < s->metadata_count; j++)
        if (strcmp(s->metadata[j - 1].key, s->metadata[j].key) == 0)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: duplicate key: __metadata__.%.80s",
                             s->label, s->metadata[j].key);
    return LCSM_OK;
}

/* S11, S12: the tensors fill the buffer, one behind the other. Leaves the rows sorted by place. */
static lcsm_status check_places(lcsm_safetensors *s, lcsm_error *err)
{
    uint64_t end = 0;
    qsort(s->rows, s->count, sizeof *s->rows, by_place);
    for (size_t j = 0; j < s->count; j++) {
        const lcsm_safetensors_row *row = &s->rows[j];
        if (row->begin != end)
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s: %s: %.80s begins at byte %llu; expected %llu", s->label,
                             row->begin < end ? "overlap" : "hole", row->name,
                             (unsigned long long)row->begin, (unsigned long long)end);
        end = row->end;
    }
    if (end != s->buffer_size)
        return lcsm_fail(
            err, LCSM_ERR_FORMAT,
            "%s: incomplete or trailing buffer: tensors end at byte %llu; the buffer ends at %zu",
            s->label, (unsigned long long)end, s->buffer_size);
    return LCSM_OK;
}

lcsm_status lcsm_safetensors_parse(lcsm_safetensors *out, const char *label,
                                   const unsigned char *data, size_t size, unsigned flags,
                                   lcsm_error *err)
{
    lcsm_status      st    = LCSM_OK;
    lcsm_safetensors s     = {.header = ""};
    reading          count = {.s = &s}, fill = {.s = &s};
    *out    = (lcsm_safetensors){0};
    s.label = strdup(label);
    if (s.label == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its name", label);
    LCSM_TRY(split(&s, data, size, err));
    LCSM_TRY(check_text(&s, flags, err));
    LCSM_TRY(read_entries(&count, err));
    LCSM_TRY(reserve(&s, &count, err));
    LCSM_TRY(read_entries(&fill, err));
    LCSM_TRY(check_distinct(&s, err));
    LCSM_TRY(check_places(&s, err));
    qsort(s.rows, s.count, sizeof *s.rows, by_name);
    *out = s;
    s    = (lcsm_safetensors){0};
cleanup:
    lcsm_safetensors_close(&s);
    return st;
}

lcsm_status lcsm_safetensors_open(lcsm_safetensors *out, const char *path, unsigned flags,
                                  lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_file   file = {0};
    *out             = (lcsm_safetensors){0};
    LCSM_TRY(lcsm_file_map(&file, path, err));
    LCSM_TRY(lcsm_safetensors_parse(out, path, file.data, file.size, flags, err));
    out->file = file;
    file      = (lcsm_file){0};
cleanup:
    lcsm_file_close(&file);
    return st;
}

void lcsm_safetensors_close(lcsm_safetensors *s)
{
    free(s->label);
    free(s->rows);
    free(s->metadata);
    free(s->pool);
    lcsm_file_close(&s->file);
    *s = (lcsm_safetensors){0};
}

lcsm_named_tensor lcsm_safetensors_at(const lcsm_safetensors *s, size_t row)
{
    const lcsm_safetensors_row *r = &s->rows[row];
    lcsm_named_tensor           t = {.name    = r->name,
                                     .element = (lcsm_element)r->element,
                                     .rank    = r->rank,
                                     .data    = s->buffer + r->begin,
                                     .file    = &s->file};
    lcsm_json_walk              w = lcsm_json_enter((lcsm_json_span){.at = s->header + r->shape});
    lcsm_json_span              key, value;
    for (size_t j = 0; j < t.rank && lcsm_json_step(&w, &key, &value); j++) {
        uint64_t dim = 0;
        (void)lcsm_json_natural(&dim, value);
        t.shape[j] = (size_t)dim;
    }
    return t;
}

bool lcsm_safetensors_find(lcsm_named_tensor *out, const lcsm_safetensors *s, const char *name)
{
    lcsm_safetensors_row  key = {.name = name};
    lcsm_safetensors_row *found =
        s->count == 0 ? NULL : bsearch(&key, s->rows, s->count, sizeof *s->rows, by_name);
    if (found == NULL) return false;
    *out = lcsm_safetensors_at(s, (size_t)(found - s->rows));
    return true;
}

const char *lcsm_safetensors_metadata(const lcsm_safetensors *s, const char *key)
{
    for (size_t j = 0; j < s->metadata_count; j++)
        if (strcmp(s->metadata[j].key, key) == 0) return s->metadata[j].value;
    return NULL;
}

lcsm_status lcsm_safetensors_check_finite(const lcsm_safetensors *s, lcsm_error *err)
{
    for (size_t j = 0; j < s->count; j++) {
        lcsm_named_tensor t     = lcsm_safetensors_at(s, j);
        size_t            count = 0, bytes = 0, wild = lcsm_named_tensor_nonfinite(&t);
        if (wild == 0) continue;
        (void)lcsm_named_tensor_measure(&t, &count, &bytes);
        return lcsm_fail(
            err, LCSM_ERR_NUMBER,
            "%s: non-finite weights: %zu of the %zu numbers of %.80s are NaN or infinite", s->label,
            wild, count, t.name);
    }
    return LCSM_OK;
}
