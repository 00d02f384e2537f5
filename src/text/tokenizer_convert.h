/*
 * tokenizer_convert.h - vocabularies of other formats as a tokenizer.json.
 *
 *     a GGUF file's metadata     tokenizer.ggml.*: "gpt2", "llama" and "rwkv"
 *     tokenizer.model            the protobuf of SentencePiece, of kind BPE
 *     rwkv_vocab_v20230424.txt   a line for each token: its id, its text as Python writes it, its
 * size
 *
 * *json is the caller's, to be freed.
 */
#ifndef LCSM_TEXT_TOKENIZER_CONVERT_H
#define LCSM_TEXT_TOKENIZER_CONVERT_H
#include <jansson.h>

#include "base/error.h"

/* *json is NULL where the metadata has no tokenizer. */
lcsm_status lcsm_tokenizer_from_gguf(char **json, size_t *size, const char *label,
                                     const json_t *keys, lcsm_error *err);
lcsm_status lcsm_tokenizer_from_sentencepiece(char **json, size_t *size, const char *label,
                                              const unsigned char *data, size_t bytes,
                                              lcsm_error *err);
lcsm_status lcsm_tokenizer_from_world(char **json, size_t *size, const char *label,
                                      const char *data, size_t bytes, lcsm_error *err);

#endif
