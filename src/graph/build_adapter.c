/*
 * build_adapter.c - low-rank adapters: which linear maps have one, and its parameters.
 *
 *     y = x W^T + scale (x A^T) B^T        W [out, in], A [rank, in], B [out, rank]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/internal.h"

void lcsm_graph_adapt(lcsm_graph *g, ptrdiff_t rank, double scale, const char *names)
{
    g->adapter.rank  = rank;
    g->adapter.scale = scale;
    (void)snprintf(g->adapter.names, sizeof g->adapter.names, "%s", names);
}

/* Whether a part of the list "one,two" is in the name. */
static bool fits(const char *names, const char *name)
{
    char part[sizeof((lcsm_graph *)NULL)->adapter.names];
    while (*names != '\0') {
        size_t n = strcspn(names, ",");
        (void)snprintf(part, sizeof part, "%.*s", (int)n, names);
        if (n > 0 && strstr(name, part) != NULL) return true;
        names += n + (names[n] == ',');
    }
    return false;
}

bool lcsm_graph_adapts(const lcsm_graph *g, const lcsm_tensor *w)
{
    static const char LAYERS[] = "layers.", TABLE[] = "embedding.";
    if (g->adapter.rank == 0 || w == NULL || w->kind != LCSM_TENSOR_PARAM) return false;
    const lcsm_param *p = &g->params->list[w->param];
    bool constant       = (p->flags & LCSM_PARAM_FROZEN) != 0 && (p->flags & LCSM_PARAM_BASE) == 0;
    if (constant || strncmp(p->name, TABLE, sizeof TABLE - 1) == 0) return false;
    if (g->adapter.names[0] == '\0') return strncmp(p->name, LAYERS, sizeof LAYERS - 1) == 0;
    return fits(g->adapter.names, p->name);
}

static lcsm_tensor *half(lcsm_graph *g, const lcsm_tensor *w, const char *which, lcsm_shape shape,
                         lcsm_init init)
{
    char name[LCSM_NAME_SIZE + 16];
    (void)snprintf(name, sizeof name, "/%s.adapter_%s", g->params->list[w->param].name, which);
    return lcsm_param_tensor(g, name, shape, init, LCSM_PARAM_ADAPTER);
}

void lcsm_adapter_pair(lcsm_graph *g, const lcsm_tensor *w, lcsm_tensor **A, lcsm_tensor **B)
{
    ptrdiff_t out = w->shape.dim[0], in = w->shape.dim[1], rank = g->adapter.rank;
    double    bound = 1 / sqrt((double)in);
    if (rank > in) rank = in;
    if (rank > out) rank = out;
    *A = half(g, w, "a", lcsm_dims(rank, in), lcsm_init_uniform(-bound, bound));
    *B = half(g, w, "b", lcsm_dims(out, rank), lcsm_init_constant(0));
}
