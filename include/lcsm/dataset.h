/*
 * lcsm/dataset.h - text as one long stream of tokens, and batches cut from it.
 *
 *     text files, .gz files, folders -> tokens, in memory or in mapped shard files -> blocks,
 * batches
 *
 * Ownership  What _open and _split return, the caller gives to _free. _free(NULL) is fine. The
 *            tokenizer must outlive the dataset, and a dataset the parts that were split from it.
 * Threads    A dataset does not change: any number of threads may read it.
 * Options    begin with their size: {.size = sizeof options}. lcsm_dataset_order is a plain value
 *            and stays as it is.
 * Errors     On failure *out is NULL and nothing is left to free; a shard file appears whole or
 *            not at all.
 */
#ifndef LCSM_DATASET_H
#define LCSM_DATASET_H
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <lcsm/tokenizer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lcsm_dataset lcsm_dataset;

/* A target that does not count in the loss. */
enum { LCSM_TARGET_NONE = -100 };

typedef enum {
    LCSM_ENDS_NEVER = 0, /* the stream is the text and nothing else */
    LCSM_ENDS_FILE  = 1, /* the end-of-text token follows each file */
    LCSM_ENDS_LINE  = 2, /* it stands in the place of each line end; empty lines count too */
} lcsm_text_ends;

/* All zeros but size are the defaults. */
typedef struct {
    size_t         size;       /* sizeof(lcsm_dataset_options) */
    const char    *cache;      /* a folder for shard files, made when needed; NULL: in memory */
    lcsm_text_ends ends;       /* needs a tokenizer that has such a token, unless never */
    size_t         shard_size; /* tokens in a shard file; 0: 2^28 */
} lcsm_dataset_options;

/* Is told how many of `total` bytes of input are done, from time to time and at the end. */
typedef void lcsm_dataset_progress(void *user, const char *what, uint64_t done, uint64_t total);

LCSM_BEGIN_DECLS

/*
 * Opens files and folders as one stream, in the order given. A folder stands for the text files in
 * it and in the folders below, in the order of their names; hidden files and those that are not
 * text are left out (_skipped counts them). A file that is named is read whatever it holds. Files
 * compressed by gzip are recognised by their first bytes, shard files (*.lcsm-tokens) too.
 *
 * With a cache the tokens are stored there under a name made of the files' paths, sizes and times,
 * the tokenizer and the options, and found again; a shard that does not verify is made again.
 * options and progress may be NULL. No text at all is LCSM_ERR_FORMAT.
 */
LCSM_API lcsm_status lcsm_dataset_open(lcsm_dataset **out, const char *const *paths, size_t count,
                                       const lcsm_tokenizer       *tok,
                                       const lcsm_dataset_options *options,
                                       lcsm_dataset_progress *progress, void *user,
                                       lcsm_error *err);
LCSM_API void        lcsm_dataset_free(lcsm_dataset *ds);

LCSM_API uint64_t lcsm_dataset_tokens(const lcsm_dataset *ds);

/* Of the source text: bytes, words (between whitespace), line ends. Of a part that was split off
 * they are counted in the text that its tokens stand for. */
LCSM_API uint64_t lcsm_dataset_bytes(const lcsm_dataset *ds);
LCSM_API uint64_t lcsm_dataset_words(const lcsm_dataset *ds);
LCSM_API uint64_t lcsm_dataset_lines(const lcsm_dataset *ds);

/* Bytes of the source text that the vocabulary lacks: they are not in the stream. A part that was
 * split off knows those of the whole. */
LCSM_API uint64_t lcsm_dataset_bytes_skipped(const lcsm_dataset *ds);

LCSM_API size_t lcsm_dataset_vocab(const lcsm_dataset *ds);
LCSM_API size_t lcsm_dataset_skipped(const lcsm_dataset *ds);

/* A number that changes when the tokens do: the checksums of all shards. */
LCSM_API uint64_t lcsm_dataset_hash(const lcsm_dataset *ds);

/* Cuts the stream in two: the first `fraction` of its tokens, rounded down, and the rest; as in
 * 0.9. Each part has at least one token, so the stream needs two. */
LCSM_API lcsm_status lcsm_dataset_split(const lcsm_dataset *ds, double fraction,
                                        lcsm_dataset **first, lcsm_dataset **rest, lcsm_error *err);

/* Tokens first .. first + count - 1, which must be there. */
LCSM_API void lcsm_dataset_read(const lcsm_dataset *ds, uint64_t first, size_t count, int32_t *out);

/*
 * Blocks. Block j has the tokens jT .. jT + T - 1 of the stream as its targets, and as its source
 * the same shifted right by one, so that every token of the stream is a target once. The first
 * source token is the one before the block; at the very beginning of the whole stream it is
 * lcsm_tokenizer_start. The last block is filled up with targets that do not count.
 */
LCSM_API uint64_t lcsm_dataset_blocks(const lcsm_dataset *ds, size_t T);

/* Which block is in which row of which batch. */
typedef struct {
    size_t   T, B;
    uint64_t seed, epoch;
    bool     shuffle; /* the blocks in an order that depends on seed and epoch only */
    bool     carried; /* row b goes through its own part of the stream, block after block, so that
                       * the memory can be carried from batch to batch; shuffle is ignored */
} lcsm_dataset_order;

/* Batches of an epoch: blocks / B, rounded up. */
LCSM_API uint64_t lcsm_dataset_batches(const lcsm_dataset *ds, const lcsm_dataset_order *order);

/*
 * Batch index 0 .. batches - 1 of the epoch: tokens and targets (B, T), and how many targets count.
 * A row for which no block is left has none that count. reset (B, T), which may be NULL, is 1 where
 * a carried memory must start again and else 0, as models and lcsm_trainer_step take it: at the
 * first token of every row or, when carried, of those of batch 0.
 */
LCSM_API size_t lcsm_dataset_batch(const lcsm_dataset *ds, const lcsm_dataset_order *order,
                                   uint64_t index, int32_t *tokens, int32_t *targets,
                                   int32_t *reset);

LCSM_END_DECLS
#endif
