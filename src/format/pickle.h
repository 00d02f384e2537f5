/*
 * pickle.h - the part of Python's pickles that says which tensors a file of PyTorch has.
 *
 * A pickle is a program for a small machine, and Python's own machine can be told to call anything.
 * This one cannot call: it knows dictionaries, lists, texts, numbers, and five names, which stand
 * for tensors and for the types of their numbers. Any other name, and any other instruction, is an
 * error that has it.
 */
#ifndef LCSM_FORMAT_PICKLE_H
#define LCSM_FORMAT_PICKLE_H
#include <stdbool.h>
#include <stdint.h>

#include "format/named_tensor.h"

typedef enum {
    LCSM_PICKLE_MARK,
    LCSM_PICKLE_OTHER, /* none, a truth, a real */
    LCSM_PICKLE_INT,
    LCSM_PICKLE_TEXT,
    LCSM_PICKLE_LIST, /* a list or tuple */
    LCSM_PICKLE_DICT,
    LCSM_PICKLE_NAME, /* one of those that are known */
    LCSM_PICKLE_STORAGE,
    LCSM_PICKLE_TENSOR,
} lcsm_pickle_kind;

typedef struct lcsm_pickle_value {
    lcsm_pickle_kind kind;
    int64_t      number; /* of an integer; which name; elements of a storage; first of a tensor */
    const char  *text;   /* of a text; the key of a storage; not ended by a zero */
    size_t       size;
    lcsm_element element;                   /* of a storage */
    struct lcsm_pickle_value *first, *last; /* items; keys and values in turns; parts of a tensor */
    struct lcsm_pickle_value *next;         /* in its list */
} lcsm_pickle_value;

struct lcsm_pickle_block;

/* {0} is empty and may be freed. Texts borrow from the bytes. */
typedef struct {
    struct lcsm_pickle_block *blocks;      /* of values */
    size_t                    count, room; /* values so far, and at most */
    lcsm_pickle_value        *root;
} lcsm_pickle;

enum { LCSM_PICKLE_SIZE = 16 << 20 }; /* bytes of a pickle */

/* Memory is proportional to the size of the pickle. */
lcsm_status lcsm_pickle_parse(lcsm_pickle *out, const char *label, const unsigned char *data,
                              size_t size, lcsm_error *err);
void        lcsm_pickle_free(lcsm_pickle *p);

#endif
