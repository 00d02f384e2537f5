/*
 * shard_writer.h - tokens into shards: files of a cache, or one in memory.
 *
 *     lcsm_shard_writer_open(w, "cache", "0123456789abcdef", &head, limit, err)
 *     lcsm_shard_writer_put(w, ids, count, err) ...
 *     lcsm_shard_writer_finish(w, &memory, err)
 *     lcsm_shard_writer_close(w)                       in any case
 *
 * The files of a set are KEY-000.lcsm-tokens, KEY-001.lcsm-tokens and so on; the last one says that
 * it is the last. Each appears whole.
 */
#ifndef LCSM_DATA_SHARD_WRITER_H
#define LCSM_DATA_SHARD_WRITER_H
#include "base/strbuf.h"
#include "data/shard.h"

enum { LCSM_SHARD_BUFFER = 1 << 16 };

/* {0} may be closed. */
typedef struct {
    const char          *folder; /* NULL: in memory */
    const char          *key;
    uint64_t             limit; /* tokens in a file */
    lcsm_shard_head      head;
    unsigned             width;
    bool                 open; /* a shard is under way */
    lcsm_file_writer     file;
    lcsm_strbuf          memory;
    struct XXH3_state_s *state;
    unsigned char       *buffer;
    size_t               used;
} lcsm_shard_writer;

/* folder/KEY-PART.lcsm-tokens */
lcsm_status lcsm_shard_path(char out[LCSM_PATH_MAX], const char *folder, const char *key,
                            uint32_t part, lcsm_error *err);

/* head has vocab, tokenizer, start and ends. folder and key are borrowed. */
lcsm_status lcsm_shard_writer_open(lcsm_shard_writer *w, const char *folder, const char *key,
                                   const lcsm_shard_head *head, uint64_t limit, lcsm_error *err);
/* An lcsm_ids_fn. */
lcsm_status lcsm_shard_writer_put(void *w, const int32_t *ids, size_t count, lcsm_error *err);
/* The source text goes on by so much. */
void lcsm_shard_writer_text(lcsm_shard_writer *w, lcsm_text_counts more);
/* Writes what is left. In memory the shard is handed to *memory. */
lcsm_status lcsm_shard_writer_finish(lcsm_shard_writer *w, lcsm_file *memory, lcsm_error *err);
void        lcsm_shard_writer_close(lcsm_shard_writer *w);

#endif
