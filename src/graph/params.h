/*
 * graph/params.h - the one list of named parameters.
 *
 * Optimizer, checkpoint, all-reduce and report walk this list. Values and gradients are one
 * 64-byte aligned block each; a parameter is a piece of both at the same offset. Pieces are
 * aligned too and the gaps between them are always zero, so a block may be treated as one vector.
 * Several graphs of one model (training, evaluation, decoding) share one list: a graph that asks
 * for a name again gets the same parameter.
 *
 * Rows are added while graphs are built; lcsm_params_reserve (called by the first plan) closes
 * the list and fills the values from `seed`.
 *
 * For running alone, a row may lie elsewhere, as in a mapped file, and a matrix may be blocks of
 * another type (base/blocks.h): lcsm_params_place before values are reserved. Such a row has no
 * room in the block. Training needs all rows as numbers in the block: lcsm_params_reserve with
 * gradients brings those there that lie elsewhere, and refuses a list with blocks.
 */
#ifndef LCSM_GRAPH_PARAMS_H
#define LCSM_GRAPH_PARAMS_H
#include <stdint.h>

#include "base/blocks.h"
#include "base/error.h"
#include "base/thread.h"
#include "graph/tensor.h"

typedef enum {
    LCSM_INIT_CONSTANT, /* a */
    LCSM_INIT_NORMAL,   /* mean a, standard deviation b */
    LCSM_INIT_UNIFORM,  /* a <= x < b */
    LCSM_INIT_FILL,     /* by a function */
} lcsm_init_kind;

struct lcsm_init;
/* Writes `count` values. A NaN says that memory is short. */
typedef void lcsm_fill_fn(double *values, const lcsm_shape *shape, size_t count,
                          const struct lcsm_init *init, uint64_t seed, uint32_t purpose);

typedef struct lcsm_init {
    lcsm_init_kind kind;
    double         a, b, c;
    lcsm_fill_fn  *fill; /* of LCSM_INIT_FILL; a, b, c are its own */
} lcsm_init;

static inline lcsm_init lcsm_init_constant(double a)
{
    return (lcsm_init){.kind = LCSM_INIT_CONSTANT, .a = a};
}

static inline lcsm_init lcsm_init_normal(double std)
{
    return (lcsm_init){.kind = LCSM_INIT_NORMAL, .b = std};
}

static inline lcsm_init lcsm_init_uniform(double lo, double hi)
{
    return (lcsm_init){.kind = LCSM_INIT_UNIFORM, .a = lo, .b = hi};
}

enum {
    LCSM_PARAM_NO_DECAY = 1, /* weight decay leaves it alone, unless it is for all */
    LCSM_PARAM_FROZEN   = 2, /* no gradient, no update; it still counts as a parameter */
    LCSM_PARAM_SLOW     = 4, /* its learning rate is at most 1e-3 */
    LCSM_PARAM_STREAMED = 8, /* only ops that take blocks of weights read it (lcsm_graph_streams) */
    LCSM_PARAM_ADAPTER  = 16, /* half of a low-rank adapter */
    LCSM_PARAM_MEMORY   = 32, /* what a memory begins with */
    LCSM_PARAM_BASE     = 64, /* frozen by lcsm_params_train_only, not by the model */
};

/* What fine-tuning adds to a model: it may be missing where weights come from. */
#define LCSM_PARAM_ADDED ((unsigned)(LCSM_PARAM_ADAPTER | LCSM_PARAM_MEMORY))

typedef struct {
    char      *name;
    lcsm_shape shape;
    size_t     count;  /* elements */
    size_t     offset; /* elements from the start of the values */
    unsigned   flags;  /* LCSM_PARAM_... */
    double     lr_max; /* an upper bound of its learning rate; 0: none */
    lcsm_init  init;

    lcsm_weight_type type;
    const void      *at; /* the values, if they are elsewhere; NULL: in the block */
} lcsm_param;

typedef struct lcsm_params {
    lcsm_dtype  dtype; /* LCSM_F32 or LCSM_F64 */
    uint64_t    seed;
    bool        blank; /* values start as zeros, because they come from elsewhere */
    lcsm_param *list;
    size_t      count, capacity;
    unsigned only;   /* flags of the rows that are trained; 0: all that the model does not freeze */
    size_t   block;  /* elements of the values, gaps included */
    void    *values; /* NULL before lcsm_params_reserve */
    void    *grads;  /* NULL until a plan with a backward pass */
    void    *packed; /* blocks that the list owns, or NULL */
} lcsm_params;

lcsm_status lcsm_params_create(lcsm_params **out, lcsm_dtype dtype, uint64_t seed, lcsm_error *err);
void        lcsm_params_free(lcsm_params *p);

/* The row with this name, which is added if there is none and the list is open. */
lcsm_status lcsm_params_add(int *row, lcsm_params *p, const char *name, const lcsm_shape *shape,
                            const lcsm_init *init, unsigned flags, lcsm_error *err);

/* The row with this name, or -1. */
int lcsm_params_find(const lcsm_params *p, const char *name);

/* Closes the list, allocates and initialises the values, and the gradients (zeros) if wanted.
 * What is there already stays. */
lcsm_status lcsm_params_reserve(lcsm_params *p, bool grads, lcsm_error *err);

/* The initial values of one row, in a list with values: for what does not come from elsewhere. */
lcsm_status lcsm_params_fill(lcsm_params *p, int row, lcsm_error *err);

/* Freezes every row that has none of these flags; 0 frees them again. It comes before the
 * gradients, of which those of frozen rows stay zero. */
lcsm_status lcsm_params_train_only(lcsm_params *p, unsigned flags, lcsm_error *err);

/* All parameters and the trained ones among them, in elements, without gaps. */
size_t lcsm_params_total(const lcsm_params *p);
size_t lcsm_params_trained(const lcsm_params *p);

/* The values of a list with the same names and shapes, converted to dst's type. */
lcsm_status lcsm_params_copy(lcsm_params *dst, const lcsm_params *src, lcsm_error *err);

/* Row `row` is at `at`, which outlives the list, as `type`. Before values are reserved. */
void lcsm_params_place(lcsm_params *p, int row, lcsm_weight_type type, const void *at);

/* The STREAMED rows of a list with values as `type`, or as what fits their length instead; others
 * stay. Memory that is not needed any more is freed, so no graph of the list may be planned yet. */
lcsm_status lcsm_params_pack(lcsm_params *p, lcsm_weight_type type, lcsm_pool *pool,
                             lcsm_error *err);

/* Bytes of the values of a row, and of a whole list. */
size_t lcsm_param_bytes(const lcsm_params *p, int row);
size_t lcsm_params_bytes(const lcsm_params *p);

/* A row of a float32 list as numbers. */
void lcsm_param_read(const lcsm_params *p, int row, float *to);

/* NULL of a row that is neither elsewhere nor reserved. */
void *lcsm_param_values(const lcsm_params *p, int row);
void *lcsm_param_grads(const lcsm_params *p, int row); /* NULL if there are none, or none of it */

#endif
