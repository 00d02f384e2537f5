/*
 * graph/attr.h - attributes of ops: what a builder passes to its op beside tensors.
 *
 * A graph copies the struct. It must be plain data.
 */
#ifndef LCSM_GRAPH_ATTR_H
#define LCSM_GRAPH_ATTR_H
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    double scale;
} lcsm_embed_attr;

typedef struct {
    double factor;
} lcsm_scale_attr;

typedef struct {
    double rate; /* 0 <= rate < 1 */
} lcsm_dropout_attr;

typedef struct {
    bool mean;
} lcsm_sum_attr;

#endif
