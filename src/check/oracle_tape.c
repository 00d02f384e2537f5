/* oracle_tape.c - complex numbers in the order they were made; backward runs it in reverse. */
#include "check/oracle_tape.h"

#include <stdlib.h>

static int put(lcsm_tape *t, char op, int a, int b, double _Complex value)
{
    if (t->count == t->capacity && !t->failed) {
        int             room = t->capacity > 0 ? 2 * t->capacity : 64;
        lcsm_tape_node *more = realloc(t->node, (size_t)room * sizeof *more);
        t->failed            = more == NULL;
        if (more != NULL) {
            t->node     = more;
            t->capacity = room;
        }
    }
    if (t->failed) return 0;
    t->node[t->count] = (lcsm_tape_node){op, a, b, value, 0};
    return t->count++;
}

static double _Complex value(const lcsm_tape *t, int a)
{
    return t->failed ? 0 : t->node[a].value;
}

int lcsm_tape_number(lcsm_tape *t, double _Complex x)
{
    return put(t, '.', 0, 0, x);
}

int lcsm_tape_add(lcsm_tape *t, int a, int b)
{
    return put(t, '+', a, b, value(t, a) + value(t, b));
}

int lcsm_tape_sub(lcsm_tape *t, int a, int b)
{
    return put(t, '-', a, b, value(t, a) - value(t, b));
}

int lcsm_tape_mul(lcsm_tape *t, int a, int b)
{
    return put(t, '*', a, b, value(t, a) * value(t, b));
}

int lcsm_tape_div(lcsm_tape *t, int a, int b)
{
    return put(t, '/', a, b, value(t, a) / value(t, b));
}

int lcsm_tape_exp(lcsm_tape *t, int a)
{
    return put(t, 'e', a, a, cexp(value(t, a)));
}

int lcsm_tape_log(lcsm_tape *t, int a)
{
    return put(t, 'l', a, a, clog(value(t, a)));
}

/* With w = f(a, b) holomorphic, g_a = conj(df/da) g_w. */
static void back(lcsm_tape_node *node, const lcsm_tape_node *n)
{
    lcsm_tape_node *a = &node[n->a], *b = &node[n->b];
    double _Complex g = n->grad;
    switch (n->op) {
    case '+':
        a->grad += g;
        b->grad += g;
        break;
    case '-':
        a->grad += g;
        b->grad -= g;
        break;
    case '*': {
        double _Complex g_a = conj(b->value) * g, g_b = conj(a->value) * g;
        a->grad += g_a;
        b->grad += g_b;
        break;
    }
    case '/':
        a->grad += g / conj(b->value);
        b->grad -= g * conj(n->value / b->value);
        break;
    case 'e': a->grad += conj(n->value) * g; break;
    case 'l': a->grad += g / conj(a->value); break;
    default: break;
    }
}

void lcsm_tape_backward(lcsm_tape *t)
{
    for (int j = t->count - 1; j >= 0; j--) back(t->node, &t->node[j]);
}

void lcsm_tape_free(lcsm_tape *t)
{
    free(t->node);
    *t = (lcsm_tape){0};
}
