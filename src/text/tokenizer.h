/* tokenizer.h - what a tokenizer holds. It is built once, from a tokenizer.json, and never changes.
 */
#ifndef LCSM_TEXT_TOKENIZER_H
#define LCSM_TEXT_TOKENIZER_H
#include <lcsm/tokenizer.h>

#include "text/added.h"
#include "text/merges.h"
#include "text/normalizer.h"
#include "text/split.h"
#include "text/vocab.h"

/* Ids that the post-processor puts before or behind a text. */
typedef struct {
    int32_t *ids;
    size_t   count;
} lcsm_id_list;

struct lcsm_tokenizer {
    char           *json; /* the file */
    size_t          json_size;
    uint64_t        hash;
    bool            bytes; /* ids are bytes, and nothing else happens */
    bool            chars; /* BPE over characters, as of SentencePiece; a space is a space here */
    bool            world; /* the longest token that fits, byte by byte, as of RWKV World */
    bool            marks; /* a Metaspace pre-tokenizer: begins a text with a space, and ... */
    bool            marks_all, marks_split; /* ... every stretch; cuts before each space */
    bool            strips;                 /* decoding drops a space in front */
    unsigned char  *reach; /* of world: the longest token that begins with two bytes, or NULL */
    bool            whole; /* a text cannot be encoded in pieces */
    lcsm_vocab      vocab;
    lcsm_merges     merges;
    int32_t         byte_id[256]; /* -1: the byte is no token */
    int32_t         unknown;      /* what such a byte becomes; -1: it is refused or skipped */
    bool            fuse_unknown; /* neighbours become one */
    bool            ignore_merges;
    size_t          merge_count;
    lcsm_added      raw, normalized; /* looked for in the text, and in the normalized text */
    lcsm_normalizer normalizer;
    lcsm_splitter   splitter;
    lcsm_id_list    prefix, suffix;
    int32_t         eos;
    char            normalizer_name[64], splitter_name[64];
};

/* Reads a tokenizer.json that lies in memory, and copies it. label is its name in messages. */
lcsm_status lcsm_tokenizer_parse(lcsm_tokenizer **out, const char *label, const char *json,
                                 size_t size, lcsm_error *err);

/* An encoder that gives the words of a text to fn, and no ids to anyone. */
lcsm_status lcsm_encoder_create_words(lcsm_encoder **out, const lcsm_tokenizer *tok,
                                      lcsm_word_fn *fn, void *user, lcsm_error *err);

#endif
