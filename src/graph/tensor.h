/*
 * graph/tensor.h - tensors: shapes, views and where the numbers are.
 *
 * A tensor has up to five axes, the last contiguous. Seen as a matrix it has `rows` (the product
 * of all axes but the last) and `cols`; rows lie `ld` elements apart, so a slice of the last axis
 * is a view. A view has a parent and shares its memory and its gradient. Tensors belong to their
 * graph; the memory of computed ones is given by the plan.
 */
#ifndef LCSM_GRAPH_TENSOR_H
#define LCSM_GRAPH_TENSOR_H
#include <stdbool.h>
#include <stddef.h>

typedef enum { LCSM_F32, LCSM_F64, LCSM_I32, LCSM_I64, LCSM_DTYPE_COUNT } lcsm_dtype;

enum { LCSM_MAX_RANK = 5 };

typedef struct {
    int       rank;
    ptrdiff_t dim[LCSM_MAX_RANK]; /* >= 0; those beyond the rank are not read */
} lcsm_shape;

/* lcsm_dims(B, T, C) is a shape of rank 3. */
#define lcsm_dims(...)                                                                             \
    ((lcsm_shape){(int)(sizeof((ptrdiff_t[]){__VA_ARGS__}) / sizeof(ptrdiff_t)), {__VA_ARGS__}})

typedef enum {
    LCSM_TENSOR_INPUT,    /* filled by the caller before a run */
    LCSM_TENSOR_PARAM,    /* a row of the parameter list */
    LCSM_TENSOR_COMPUTED, /* written by an op */
    LCSM_TENSOR_VIEW,     /* the memory of its parent */
} lcsm_tensor_kind;

struct lcsm_node;

typedef struct lcsm_tensor {
    lcsm_tensor_kind kind;
    lcsm_dtype       dtype;
    lcsm_shape       shape;
    ptrdiff_t        rows, cols, ld;

    int                 index;  /* of the tensor in its graph */
    const char         *name;   /* for messages; "" if it has none */
    struct lcsm_node   *node;   /* COMPUTED: the producer */
    int                 param;  /* PARAM: the row of the list, else -1 */
    struct lcsm_tensor *parent; /* VIEW: whose memory, from element `offset` on */
    ptrdiff_t           offset;

    bool given;     /* it depends on an input of the graph, not on parameters alone */
    bool keep;      /* the value is there after a run */
    bool keep_grad; /* the gradient is wanted and there after a backward run */
    bool seed;      /* the caller gives dL/d(this) before a backward run */
    bool loss;      /* dL/d(this) is the run's loss scale */

    void *data, *grad; /* after planning, where kept; NULL otherwise */
} lcsm_tensor;

size_t lcsm_dtype_size(lcsm_dtype dtype);
/* "f32" and so on. */
const char *lcsm_dtype_name(lcsm_dtype dtype);

/* False if the product of the axes overflows ptrdiff_t. */
bool lcsm_shape_count(const lcsm_shape *s, ptrdiff_t *count);
bool lcsm_shape_equal(const lcsm_shape *a, const lcsm_shape *b);

enum { LCSM_SHAPE_TEXT = 112 };
/* Writes "[4, 16, 32]" and returns text. */
const char *lcsm_shape_text(char text[LCSM_SHAPE_TEXT], const lcsm_shape *s);

static inline ptrdiff_t lcsm_tensor_count(const lcsm_tensor *t)
{
    return t->rows * t->cols;
}

/* The axis counted from the end: 1 is the last. 1 for an axis that the shape does not have. */
static inline ptrdiff_t lcsm_dim_last(const lcsm_shape *s, int from_end)
{
    return s->rank >= from_end ? s->dim[s->rank - from_end] : 1;
}

#endif
