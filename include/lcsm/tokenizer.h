/*
 * lcsm/tokenizer.h - text to token ids and back: bytes, and byte-level BPE.
 *
 * A tokenizer is a Hugging Face tokenizer.json of the byte-level family (GPT-2, GPT-NeoX, RWKV
 * "20B", Llama 3) or of Llama 2's (characters with byte fallback): added tokens, normalizer,
 * pre-tokenizer, BPE, template. RWKV World's takes the longest token that fits. The byte tokenizer,
 * which needs no file, is one too: 256 entries, no merges. Invalid UTF-8 is encoded byte by byte
 * and round-trips unchanged. A vocabulary may lack some bytes (GPT-NeoX: C0, C1, F5 to FF) and have
 * no unknown token: encoding a text that holds one fails, unless LCSM_ENCODE_SKIP is given.
 *
 * Ownership  What _bytes, _load, _train, _create and _encode return, the caller gives to _free; ids
 *            and decoded bytes to free(). _free(NULL) is fine. Other pointers are borrowed and live
 *            as long as the tokenizer.
 * Threads    Many threads may share a const tokenizer; an encoder and a lcsm_utf8_stream belong to
 *            one at a time.
 * Structs    Options and results begin with their size, which the caller sets: {.size = sizeof o}.
 *            lcsm_utf8_stream is a plain value and stays as it is.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. On
 *            failure *out is NULL and nothing is left to free.
 */
#ifndef LCSM_TOKENIZER_H
#define LCSM_TOKENIZER_H
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lcsm_tokenizer lcsm_tokenizer;
typedef struct lcsm_encoder   lcsm_encoder;

enum {
    LCSM_ENCODE_SPECIAL  = 1, /* special tokens that stand in the text become their ids */
    LCSM_ENCODE_TEMPLATE = 2, /* the tokens that the post-processor puts around a text */
    LCSM_ENCODE_SKIP     = 4, /* leave out bytes that the vocabulary lacks, and count them */
};

LCSM_BEGIN_DECLS

/* 256 tokens, the id of each being its byte; no end-of-text token. */
LCSM_API lcsm_status lcsm_tokenizer_bytes(lcsm_tokenizer **out, lcsm_error *err);

/* From a tokenizer.json, a tokenizer.model of SentencePiece (BPE), the vocabulary file of RWKV
 * World, or the folder that holds one of these (tokenizer.json first). */
LCSM_API lcsm_status lcsm_tokenizer_load(lcsm_tokenizer **out, const char *path, lcsm_error *err);

/* From the two files of GPT-2: encoder.json (token to id) and vocab.bpe (merges in order). */
LCSM_API lcsm_status lcsm_tokenizer_load_gpt2(lcsm_tokenizer **out, const char *encoder,
                                              const char *merges, lcsm_error *err);

LCSM_API void lcsm_tokenizer_free(lcsm_tokenizer *tok);

/* Writes a tokenizer.json that Hugging Face reads; one that was loaded is written as it was. */
LCSM_API lcsm_status lcsm_tokenizer_save(const lcsm_tokenizer *tok, const char *path,
                                         lcsm_error *err);

/* One more than the largest id. */
LCSM_API size_t lcsm_tokenizer_vocab(const lcsm_tokenizer *tok);

/* The token that ends a text, as <|endoftext|>; -1 if there is none. */
LCSM_API int32_t lcsm_tokenizer_eos(const lcsm_tokenizer *tok);

/* What stands before the first token of a stream: the end-of-text token, or the line end where
 * there is none, or 0. */
LCSM_API int32_t lcsm_tokenizer_start(const lcsm_tokenizer *tok);

/* The id of a token by its text, as "<|endoftext|>" or " the"; -1 if there is none. */
LCSM_API int32_t lcsm_tokenizer_find(const lcsm_tokenizer *tok, const char *text, size_t size);

typedef struct {
    size_t      size;   /* sizeof(lcsm_tokenizer_info), set by the caller */
    const char *kind;   /* "byte-level BPE", "BPE with byte fallback", ... */
    size_t      vocab;  /* as lcsm_tokenizer_vocab */
    size_t      tokens; /* ids that stand for something */
    size_t      merges;
    size_t      added;                      /* added tokens */
    size_t      special;                    /* of them special */
    size_t      longest;                    /* bytes of the longest token */
    const char *normalizer, *pre_tokenizer; /* as "NFC"; "none" */
} lcsm_tokenizer_info;

LCSM_API lcsm_status lcsm_tokenizer_describe(const lcsm_tokenizer *tok, lcsm_tokenizer_info *out,
                                             lcsm_error *err);

/* Two tokenizers with the same hash have the same file. */
LCSM_API uint64_t lcsm_tokenizer_hash(const lcsm_tokenizer *tok);

/* ---- training --------------------------------------------------------------------------- */

/* All zeros but size are the defaults. */
typedef struct {
    size_t      size;      /* sizeof(lcsm_tokenizer_training) */
    size_t      vocab;     /* tokens to have in the end, 257 or more; 0: 8192 */
    const char *eos;       /* NULL: "<|endoftext|>", which gets id 0; "": no such token */
    uint64_t    min_count; /* pairs that come less often are not merged; 0: 2 */
} lcsm_tokenizer_training;

/* Is told how much is done, from time to time and at the end: bytes of "reading", tokens of
 * "merging". */
typedef void lcsm_tokenizer_progress(void *user, const char *what, uint64_t done, uint64_t total);

/*
 * Trains byte-level BPE on files and folders, as lcsm_dataset_open reads them: words, cut by the
 * pattern of GPT-2, are counted, and the pair of tokens that comes most often becomes one, again
 * and again; of pairs that come equally often, that of the smallest ids. The same text always gives
 * the same tokenizer. Memory is bounded: beyond four million different words the rarest are
 * forgotten. When no pair comes often enough any more, the vocabulary stays smaller than asked for.
 */
LCSM_API lcsm_status lcsm_tokenizer_train(lcsm_tokenizer **out, const char *const *paths,
                                          size_t count, const lcsm_tokenizer_training *options,
                                          lcsm_tokenizer_progress *progress, void *user,
                                          lcsm_error *err);

/* ---- encoding --------------------------------------------------------------------------- */

/* All ids of a text; *ids is NULL when there are none. flags are LCSM_ENCODE_... A byte without a
 * token is LCSM_ERR_FORMAT and the message has the byte and its offset; LCSM_ENCODE_SKIP leaves it
 * out, and an encoder says how many there were. */
LCSM_API lcsm_status lcsm_tokenizer_encode(const lcsm_tokenizer *tok, const char *text, size_t size,
                                           unsigned flags, int32_t **ids, size_t *count,
                                           lcsm_error *err);

/* Takes ids in the order of the text. A status other than LCSM_OK stops the encoder, which returns
 * it. */
typedef lcsm_status lcsm_ids_fn(void *user, const int32_t *ids, size_t count, lcsm_error *err);

/*
 * An encoder takes a text in pieces of any size and remembers words that it has seen. Memory does
 * not grow with the text: it is cut before a space that follows an ASCII letter or digit, where
 * the patterns of GPT-2 and its kin end a word, so the ids are those of the whole text. Only a run
 * of more than a megabyte without such a place is cut between two characters, where no normal form
 * joins them if it has such a place. A tokenizer whose added tokens hold or swallow spaces, that
 * replaces texts, or that cuts no words holds the whole text.
 */
LCSM_API lcsm_status lcsm_encoder_create(lcsm_encoder **out, const lcsm_tokenizer *tok,
                                         unsigned flags, lcsm_ids_fn *fn, void *user,
                                         lcsm_error *err);
LCSM_API lcsm_status lcsm_encoder_feed(lcsm_encoder *enc, const char *text, size_t size,
                                       lcsm_error *err);
/* Ends a text; the next feed begins another. */
LCSM_API lcsm_status lcsm_encoder_finish(lcsm_encoder *enc, lcsm_error *err);
/* Bytes left out because the vocabulary lacks them, in all texts so far. */
LCSM_API uint64_t lcsm_encoder_skipped(const lcsm_encoder *enc);
LCSM_API void     lcsm_encoder_free(lcsm_encoder *enc);

/* ---- decoding --------------------------------------------------------------------------- */

/* The bytes that an id stands for, *size of them; NULL for an id that stands for nothing. A token
 * may be a part of a character. */
LCSM_API const char *lcsm_tokenizer_piece(const lcsm_tokenizer *tok, int32_t id, size_t *size);

/* Whether the id is an added token that is special, as <|endoftext|>. */
LCSM_API bool lcsm_tokenizer_is_special(const lcsm_tokenizer *tok, int32_t id);

/* The bytes of all ids, with a zero byte behind them. An id that stands for nothing is
 * LCSM_ERR_ARGUMENT. */
LCSM_API lcsm_status lcsm_tokenizer_decode(const lcsm_tokenizer *tok, const int32_t *ids,
                                           size_t count, char **text, size_t *size,
                                           lcsm_error *err);

/*
 * Characters out of pieces: holds back the beginning of a UTF-8 character until the rest is there.
 * Bytes that can never become one are shown as U+FFFD, as a decoder of Hugging Face does.
 *
 *     lcsm_utf8_stream s = {0};
 *     char out[3 * 64 + LCSM_UTF8_REST];
 *     size_t n = lcsm_utf8_push(&s, piece, size, out);       size <= 64
 *     n = lcsm_utf8_end(&s, out);
 */
typedef struct {
    unsigned char held[4];
    size_t        count;
} lcsm_utf8_stream;

/* `out` must have room for 3 * size + LCSM_UTF8_REST bytes when `size` bytes are pushed, and for
 * LCSM_UTF8_REST at the end. */
enum { LCSM_UTF8_REST = 12 };

LCSM_API size_t lcsm_utf8_push(lcsm_utf8_stream *s, const char *bytes, size_t size, char *out);
LCSM_API size_t lcsm_utf8_end(lcsm_utf8_stream *s, char *out);

LCSM_END_DECLS
#endif
