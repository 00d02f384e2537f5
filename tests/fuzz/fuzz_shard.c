/* fuzz_shard.c - a shard that is accepted can be read to its last token. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "data/shard.h"
#include "fuzz.h"

enum { SUM_AT = 80, HEADER_SUM_AT = 120 };

/* Puts both checksums right, so that what is behind them is seen too. */
static void sign(unsigned char *bytes, size_t size)
{
    if (size < LCSM_SHARD_HEADER) return;
    uint64_t sum = XXH3_64bits(bytes + LCSM_SHARD_HEADER, size - LCSM_SHARD_HEADER);
    memcpy(bytes + SUM_AT, &sum, sizeof sum);
    sum = XXH3_64bits(bytes, HEADER_SUM_AT);
    memcpy(bytes + HEADER_SUM_AT, &sum, sizeof sum);
}

static bool try(const unsigned char *data, size_t size, bool right_sums)
{
    lcsm_shard     s;
    lcsm_error     err   = {0};
    unsigned char *bytes = malloc(size + 1);
    PROMISE(bytes != NULL);
    memcpy(bytes, data, size);
    if (right_sums) sign(bytes, size);
    lcsm_file file = {.data = bytes, .size = size};
    if (lcsm_shard_adopt(&s, &file, "fuzz", &err) != LCSM_OK) {
        PROMISE(err.status != LCSM_OK && err.text[0] != '\0' && s.tokens == NULL);
        return false;
    }
    for (uint64_t j = 0; j < s.head.count; j++) {
        int32_t id;
        lcsm_shard_read(&s, j, 1, &id);
        PROMISE(id >= 0 && (uint64_t)id < s.head.vocab);
    }
    lcsm_shard_close(&s);
    return true;
}

bool fuzz_one(const unsigned char *data, size_t size)
{
    bool accepted = try(data, size, false);
    return try(data, size, true) && accepted;
}

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    static const uint8_t  BYTES[]  = {0, 1, 99, 2};
    static const uint16_t NARROW[] = {0, 1, 299, 2};
    static const uint32_t WIDE[]   = {0, 1, 70000, 2};
    static const struct {
        const void *tokens;
        size_t      size;
        uint64_t    vocab, count;
    } SEEDS[] = {{BYTES, 0, 100, 0},
                 {BYTES, sizeof BYTES, 100, 4},
                 {NARROW, sizeof NARROW, 300, 4},
                 {WIDE, sizeof WIDE, 70001, 4}};
    if (n >= sizeof SEEDS / sizeof SEEDS[0]) return 0;
    size_t size = SEEDS[n].size;
    PROMISE(capacity >= LCSM_SHARD_HEADER + sizeof WIDE);
    memcpy(out + LCSM_SHARD_HEADER, SEEDS[n].tokens, size);
    lcsm_shard_head head = {.vocab = SEEDS[n].vocab,
                            .count = SEEDS[n].count,
                            .last  = 1,
                            .sum   = XXH3_64bits(out + LCSM_SHARD_HEADER, size)};
    lcsm_shard_pack(out, &head);
    return LCSM_SHARD_HEADER + size;
}
