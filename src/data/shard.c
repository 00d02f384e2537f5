/* shard.c - reading token shards; docs/formats.md says what the header holds. */
#include "data/shard.h"

#include <string.h>
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "shards are mapped as they lie");

/* Where the fields of the header are. Bytes 96 to 119 are zero. */
enum {
    AT_VERSION   = 8,
    AT_WIDTH     = 12,
    AT_VOCAB     = 16,
    AT_TOKENIZER = 24,
    AT_COUNT     = 32,
    AT_BYTES     = 40,
    AT_WORDS     = 48,
    AT_LINES     = 56,
    AT_PART      = 64,
    AT_LAST      = 68,
    AT_START     = 72,
    AT_ENDS      = 76,
    AT_SUM       = 80,
    AT_SKIPPED   = 88,
    AT_HEADER    = 120, /* XXH3 of the bytes before */
};

static void put32(unsigned char *to, uint32_t value)
{
    memcpy(to, &value, sizeof value);
}

static void put64(unsigned char *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

static uint32_t get32(const unsigned char *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint64_t get64(const unsigned char *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

void lcsm_shard_pack(unsigned char out[LCSM_SHARD_HEADER], const lcsm_shard_head *head)
{
    memset(out, 0, LCSM_SHARD_HEADER);
    memcpy(out, LCSM_SHARD_MAGIC, LCSM_SHARD_MAGIC_SIZE);
    put32(out + AT_VERSION, LCSM_SHARD_VERSION);
    put32(out + AT_WIDTH, lcsm_shard_width(head->vocab));
    put64(out + AT_VOCAB, head->vocab);
    put64(out + AT_TOKENIZER, head->tokenizer);
    put64(out + AT_COUNT, head->count);
    put64(out + AT_BYTES, head->text.bytes);
    put64(out + AT_WORDS, head->text.words);
    put64(out + AT_LINES, head->text.lines);
    put32(out + AT_PART, head->part);
    put32(out + AT_LAST, head->last);
    put32(out + AT_START, (uint32_t)head->start);
    put32(out + AT_ENDS, head->ends);
    put64(out + AT_SUM, head->sum);
    put64(out + AT_SKIPPED, head->text.skipped);
    put64(out + AT_HEADER, XXH3_64bits(out, AT_HEADER));
}

static void unpack(lcsm_shard_head *head, const unsigned char *in)
{
    *head = (lcsm_shard_head){
        .vocab     = get64(in + AT_VOCAB),
        .tokenizer = get64(in + AT_TOKENIZER),
        .count     = get64(in + AT_COUNT),
        .text      = {get64(in + AT_BYTES), get64(in + AT_WORDS), get64(in + AT_LINES),
                      get64(in + AT_SKIPPED)},
        .part      = get32(in + AT_PART),
        .last      = get32(in + AT_LAST),
        .start     = (int32_t)get32(in + AT_START),
        .ends      = get32(in + AT_ENDS),
        .sum       = get64(in + AT_SUM),
    };
}

static lcsm_status check_header(const unsigned char *data, size_t size, const char *label,
                                lcsm_error *err)
{
    if (size < LCSM_SHARD_HEADER)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %zu bytes; expected at least the header's %d",
                         label, size, LCSM_SHARD_HEADER);
    if (memcmp(data, LCSM_SHARD_MAGIC, LCSM_SHARD_MAGIC_SIZE) != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s is not a token file", label);
    if (get32(data + AT_VERSION) != LCSM_SHARD_VERSION)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: token file version %lu; expected %d", label,
                         (unsigned long)get32(data + AT_VERSION), LCSM_SHARD_VERSION);
    if (get64(data + AT_HEADER) != XXH3_64bits(data, AT_HEADER))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: the checksum of the header is wrong", label);
    return LCSM_OK;
}

/* A header whose checksum is right may still be a lie. */
static lcsm_status check_fields(const lcsm_shard *s, const char *label, lcsm_error *err)
{
    const lcsm_shard_head *h    = &s->head;
    uint64_t               room = s->file.size - LCSM_SHARD_HEADER;
    if (h->vocab < 1 || h->vocab > INT32_MAX || s->width != lcsm_shard_width(h->vocab))
        return lcsm_fail(
            err, LCSM_ERR_FORMAT,
            "%s: a vocabulary of %llu with %u bytes per token; expected 1 to %d with %u", label,
            (unsigned long long)h->vocab, s->width, INT32_MAX, lcsm_shard_width(h->vocab));
    if (h->count != room / s->width || room % s->width != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: %llu tokens of %u bytes, but %llu bytes follow the header", label,
                         (unsigned long long)h->count, s->width, (unsigned long long)room);
    if (h->start < 0 || (uint64_t)h->start >= h->vocab)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: the start token is %ld; expected 0 to %llu",
                         label, (long)h->start, (unsigned long long)h->vocab - 1);
    if (XXH3_64bits(s->tokens, (size_t)room) != h->sum)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: the checksum of the tokens is wrong", label);
    return LCSM_OK;
}

static uint32_t token_at(const lcsm_shard *s, uint64_t j)
{
    if (s->width == 1) return ((const uint8_t *)s->tokens)[j];
    if (s->width == 2) return ((const uint16_t *)s->tokens)[j];
    return ((const uint32_t *)s->tokens)[j];
}

static lcsm_status check_tokens(const lcsm_shard *s, const char *label, lcsm_error *err)
{
    for (uint64_t j = 0; j < s->head.count; j++)
        if (token_at(s, j) >= s->head.vocab)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: token %llu is %lu; expected 0 to %llu",
                             label, (unsigned long long)j, (unsigned long)token_at(s, j),
                             (unsigned long long)s->head.vocab - 1);
    return LCSM_OK;
}

lcsm_status lcsm_shard_adopt(lcsm_shard *out, lcsm_file *file, const char *label, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_shard  s  = {.file = *file};
    *out           = (lcsm_shard){0};
    *file          = (lcsm_file){0};
    LCSM_TRY(check_header(s.file.data, s.file.size, label, err));
    unpack(&s.head, s.file.data);
    s.width  = get32(s.file.data + AT_WIDTH);
    s.tokens = s.file.data + LCSM_SHARD_HEADER;
    LCSM_TRY(check_fields(&s, label, err));
    LCSM_TRY(check_tokens(&s, label, err));
    *out = s;
    s    = (lcsm_shard){0};
cleanup:
    lcsm_shard_close(&s);
    return st;
}

lcsm_status lcsm_shard_open(lcsm_shard *out, const char *path, lcsm_error *err)
{
    lcsm_file   file;
    lcsm_status st = lcsm_file_map(&file, path, err);
    *out           = (lcsm_shard){0};
    return st != LCSM_OK ? st : lcsm_shard_adopt(out, &file, path, err);
}

void lcsm_shard_close(lcsm_shard *s)
{
    lcsm_file_close(&s->file);
    *s = (lcsm_shard){0};
}

void lcsm_shard_read(const lcsm_shard *s, uint64_t first, size_t count, int32_t *out)
{
    for (size_t j = 0; j < count; j++) out[j] = (int32_t)token_at(s, first + j);
}
