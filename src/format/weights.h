/*
 * weights.h - all tensors of a model folder, in one file or in several.
 *
 *     model.safetensors                                      one file, or
 *     model.safetensors.index.json + model-00001-of-...      {"metadata": {"total_size": n},
 *                                                             "weight_map": {tensor: file}}
 *
 * The index and the files must agree: a file is named without a folder, holds every tensor that
 * the index says it holds, and no other. Nothing is taken from the index but that.
 */
#ifndef LCSM_FORMAT_WEIGHTS_H
#define LCSM_FORMAT_WEIGHTS_H
#include "format/safetensors.h"
#include "format/sha256.h"

enum { LCSM_WEIGHTS_SHARDS = 4096 };

/* {0} is empty and may be closed. */
typedef struct {
    lcsm_safetensors *shards;
    size_t            shard_count;
    size_t            count;   /* tensors of all files */
    lcsm_error        warning; /* its status is LCSM_OK if there is none */
} lcsm_weights;

/* Opens model.safetensors, or what the index names, and adapter.safetensors if there is one. flags
 * are those of lcsm_safetensors_open. */
lcsm_status lcsm_weights_open(lcsm_weights *out, const char *folder, unsigned flags,
                              lcsm_error *err);

/* The same with the adapter.safetensors of another folder. */
lcsm_status lcsm_weights_open_both(lcsm_weights *out, const char *folder, const char *added,
                                   unsigned flags, lcsm_error *err);

/* The SHA-256 of all names and numbers, in the order of the files. */
lcsm_status lcsm_weights_sha256(char text[LCSM_SHA256_TEXT], const lcsm_weights *w,
                                lcsm_error *err);
void        lcsm_weights_close(lcsm_weights *w);

/* Tensor 0 .. count - 1: file by file, by name in each. It borrows from w. */
lcsm_named_tensor lcsm_weights_at(const lcsm_weights *w, size_t row);

/* The tensor of that name; false if there is none. */
bool lcsm_weights_find(lcsm_named_tensor *out, const lcsm_weights *w, const char *name);

/* LCSM_ERR_NUMBER if a weight is infinite or no number; names the first such tensor. */
lcsm_status lcsm_weights_check_finite(const lcsm_weights *w, lcsm_error *err);

#endif
