/*
 * shard.h - tokens in a file: a header of 128 bytes, then the tokens, 1, 2 or 4 bytes each.
 *
 * docs/formats.md has the header byte by byte. A shard is checked whole, by two checksums, before
 * anything of it is used.
 */
#ifndef LCSM_DATA_SHARD_H
#define LCSM_DATA_SHARD_H
#include <stdint.h>

#include "base/file.h"

#define LCSM_SHARD_MAGIC "LCSMTOK\n"
enum { LCSM_SHARD_MAGIC_SIZE = 8, LCSM_SHARD_HEADER = 128, LCSM_SHARD_VERSION = 2 };

/* The source text that tokens stand for. */
typedef struct {
    uint64_t bytes, words, lines;
    uint64_t skipped; /* bytes, of those above, that the vocabulary lacks */
} lcsm_text_counts;

typedef struct {
    uint64_t         vocab, tokenizer; /* size, hash */
    int32_t          start;            /* what stands before the first token */
    uint32_t         ends;             /* lcsm_text_ends */
    uint32_t         part, last;       /* of a set: number, from 0; 1 for the last one */
    uint64_t         count;            /* tokens */
    lcsm_text_counts text;             /* read while it was written; exact over a set */
    uint64_t         sum;              /* XXH3 of the tokens */
} lcsm_shard_head;

/* {0} is empty and may be closed. */
typedef struct {
    lcsm_file       file;
    lcsm_shard_head head;
    unsigned        width;  /* bytes of a token */
    const void     *tokens; /* in file */
} lcsm_shard;

static inline unsigned lcsm_shard_width(uint64_t vocab)
{
    return vocab <= 256 ? 1 : vocab <= 65536 ? 2 : 4;
}

/* Maps and checks a file; or takes bytes for its own, even when it refuses them. */
lcsm_status lcsm_shard_open(lcsm_shard *out, const char *path, lcsm_error *err);
lcsm_status lcsm_shard_adopt(lcsm_shard *out, lcsm_file *file, const char *label, lcsm_error *err);
void        lcsm_shard_close(lcsm_shard *s);

/* Tokens first .. first + count - 1. */
void lcsm_shard_read(const lcsm_shard *s, uint64_t first, size_t count, int32_t *out);

/* The header of a shard, its own checksum included. */
void lcsm_shard_pack(unsigned char out[LCSM_SHARD_HEADER], const lcsm_shard_head *head);

#endif
