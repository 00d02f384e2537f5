/* eos_case.c - the table of operand forms, and problems with random numbers in their ranges. */
#include "check/eos_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "kernel/eos/eos_operands.h"

enum { T = LCSM_AXIS_T, K = LCSM_AXIS_K, D = LCSM_AXIS_D, KK = LCSM_AXIS_KK };
#define NO ~0u /* absent */

/* The columns: name, then the axes of
 *   i  e  s  row  col  full  row_phase  col_phase  full_phase  u  w  dense  erase  a  b  bonus,
 * and where they matter gen, tau, the operands that are complex, and the rest. */
enum { I = 1 << EOS_i, E = 1 << EOS_e, S = 1 << EOS_s, A = 1 << EOS_a, B = 1 << EOS_b };
enum { ROW = 1 << EOS_row, BONUS = 1 << EOS_bonus };
/* clang-format off */
const lcsm_eos_case LCSM_EOS_CASES[] = {
    {"ones", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"scalar-static", {T | D, T | K, T | K, 0, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"scalar-token", {T | D, T | K, T | K, T, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"row-static", {T | D, T | K, T | K, K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"row-token", {T | D, T | K, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"col-static", {T | D, T | K, T | K, NO, D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"col-token", {T | D, T | K, T | K, NO, T | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"outer-static", {T | D, T | K, T | K, K, D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"outer-token", {T | D, T | K, T | K, T | K, T | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"outer-mixed", {T | D, T | K, T | K, K, T | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"scalar-col", {T | D, T | K, T | K, T, D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"full-static", {T | D, T | K, T | K, NO, NO, K | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"full-token", {T | D, T | K, T | K, NO, NO, T | K | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"static-es", {T | D, K, K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"static-es-conv", {T | D, K, K, K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"matrix-e", {T | D, K | D, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"matrix-s", {T | D, T | K, K | D, NO, T | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"matrix-es", {T | D, K | D, K | D, NO, NO, T | K | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"matrix-es-conv", {T | D, K | D, K | D, NO, NO, K | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"gen-exp", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, T | D, K | D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"gate-6", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, T | K, K | D, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 16, 0, {0}},
    {"gate-7", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, T | D, K | D, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 16, 0, {0}},
    {"gate-8", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, T | D, K, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 4, 0, {0}},
    {"gate-9", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, T | K, D, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 1, 0, {0}},
    {"gate-static", {T | D, K | D, K | D, NO, NO, NO, NO, NO, NO, K, D, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 2, 0, {0}},
    {"complement", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, T | K, T | D, NO, NO, NO, NO, NO}, LCSM_GEN_COMPLEMENT, 0, 0, {0}},
    {"all-factors", {T | D, T | K, T | K, T | K, T | D, K | D, NO, NO, NO, T | D, K, NO, NO, NO, NO, NO}, LCSM_GEN_GATE, 8, 0, {0}},
    {"row-phase-static", {T | D, T | K, T | K, NO, NO, NO, K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"row-phase-token", {T | D, T | K, T | K, T | K, NO, NO, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"scalar-phase", {T | D, T | K, T | K, 0, NO, NO, 0, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"outer-row-phase", {T | D, T | K, T | K, T | K, T | D, NO, K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"complex-es", {T | D, T | K, T | K, T | K, NO, NO, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, E | S, {0}},
    {"complex-es-static", {T | D, K, K, K, NO, NO, K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, E | S, {0}},
    {"col-phase", {T | D, T | K, T | K, NO, T | D, NO, NO, D, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"full-phase", {T | D, K | D, K | D, NO, NO, K | D, NO, NO, K | D, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, E | S, {0}},
    {"full-phase-token", {T | D, T | K, T | K, NO, NO, T | K | D, NO, NO, T | K | D, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"gen-phase", {T | D, T | K, T | K, NO, NO, NO, T | K, NO, NO, T | D, K | D, NO, NO, NO, NO, NO}, LCSM_GEN_EXP, 0, 0, {0}},
    {"dense-static", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, KK, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"dense-token", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, T | KK, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"delta", {T | D, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"delta-row", {T | D, T | K, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"delta-scalar", {T | D, T | K, T | K, T, NO, NO, NO, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"delta-outer", {T | D, T | K, T | K, T | K, T | D, NO, NO, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"delta-full", {T | D, T | K, T | K, NO, NO, T | K | D, NO, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"delta-phase", {T | D, T | K, T | K, T | K, NO, NO, T | K, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"complex-delta", {T | D, T | K, T | K, T, NO, NO, K, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, I | E | S | 1 << EOS_erase, {.complex_y = true, .shared = E}},
    {"groups", {T | D, T | K, T | K, T, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {.shared = E | S}},
    {"groups-row", {T | D, T | K, K, T | K, T | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {.shared = I | E | S | ROW}},
    {"groups-delta", {T | D, T | K, T | K, T, NO, NO, NO, NO, NO, NO, NO, NO, T | K, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {.shared = E | S | 1 << EOS_erase}},
    {"groups-scan", {T | D, T | K, T | K, NO, NO, T | K | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {.shared = E | 1 << EOS_full}},
    {"before", {T | D, T | K, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, 0, {.before = true}},
    {"before-bonus", {T | D, T | K, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, K}, LCSM_GEN_NONE, 0, 0, {.before = true}},
    {"before-static", {T | D, T | K, T | K, K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, 0}, LCSM_GEN_NONE, 0, 0, {.before = true}},
    {"before-groups", {T | D, T | K, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, K}, LCSM_GEN_NONE, 0, 0, {.before = true, .shared = S | E | BONUS}},
    {"before-full", {T | D, K | D, K | D, NO, NO, T | K | D, NO, NO, NO, NO, NO, NO, NO, NO, NO, K}, LCSM_GEN_NONE, 0, 0, {.before = true}},
    {"before-delta", {T | D, T | K, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, T | K, NO, NO, K}, LCSM_GEN_NONE, 0, 0, {.before = true}},
    {"low-rank", {T | D, T | K, T | K, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO, T | K, T | K, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"low-rank-scalar", {T | D, T | K, T | K, T, NO, NO, NO, NO, NO, NO, NO, NO, NO, T | K, T | K, NO}, LCSM_GEN_NONE, 0, 0, {.shared = S | A}},
    {"low-rank-static", {T | D, K, K, K, NO, NO, NO, NO, NO, NO, NO, NO, NO, K, K, NO}, LCSM_GEN_NONE, 0, 0, {0}},
    {"low-rank-full", {T | D, T | K, T | K, NO, NO, T | K | D, NO, NO, NO, NO, NO, NO, NO, T | K, K, NO}, LCSM_GEN_NONE, 0, 0, {.rank = 2}},
    {"low-rank-4-before", {T | D, T | K, T | K, T | K, T | D, NO, NO, NO, NO, NO, NO, NO, NO, T | K, T | K, K}, LCSM_GEN_NONE, 0, 0, {.rank = 4, .before = true}},
    {"low-rank-phase", {T | D, T | K, T | K, T | K, NO, NO, T | K, NO, NO, NO, NO, NO, NO, T | K, T | K, NO}, LCSM_GEN_NONE, 0, A | B, {.complex_y = true}},
    {"complex-all", {T | D, T | K, T | K, T | K, NO, NO, T | K, NO, NO, NO, NO, NO, NO, T | K, T | K, K}, LCSM_GEN_NONE, 0, I | E | S | A | B | BONUS, {.rank = 2, .before = true, .complex_y = true, .shared = B}},
    {"complex-channels", {T | D, K, K, NO, T | D, NO, NO, D, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, I, {.complex_y = true}},
    {"complex-i", {T | D, T | K, T | K, T | K, NO, NO, T | K, NO, NO, NO, NO, NO, NO, NO, NO, NO}, LCSM_GEN_NONE, 0, I | S, {0}},
};
/* clang-format on */
const size_t LCSM_EOS_CASE_COUNT = COUNT(LCSM_EOS_CASES);

/* The rows that are read, at least the last one, and then one that is none; rows may be NULL. */
static ptrdiff_t list_reads(lcsm_eos_sizes n, const lcsm_eos_setting *set, int32_t *rows)
{
    ptrdiff_t count = 0, steps = n.B * n.T;
    for (ptrdiff_t j = 0; set->read > 0 && j < steps; j++) {
        if (j + 1 < steps && lcsm_rng_uniform(set->seed, 104, (uint64_t)j) >= set->read) continue;
        if (rows != NULL) rows[count] = (int32_t)j;
        count++;
    }
    if (count == 0 || count == steps) return count;
    if (rows != NULL) rows[count] = 0;
    return count + 1;
}

static void describe(const lcsm_eos_case *c, lcsm_eos_sizes n, const lcsm_eos_setting *set,
                     lcsm_eos_desc *desc)
{
    lcsm_eos_operand *operand[EOS_OPERANDS] = {
#define X(name) &desc->name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    ptrdiff_t *heads[EOS_OPERANDS] = {
#define X(name) &desc->heads.name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    *desc = (lcsm_eos_desc){.size = sizeof *desc};
    lcsm_eos_desc_init(desc, n.B, n.T, n.H, n.K, n.D);
    desc->gen     = c->gen;
    desc->tau     = c->tau;
    desc->reverse = set->reverse;
    desc->resets  = set->reset;
    desc->reads   = list_reads(n, set, NULL);
    desc->form    = LCSM_FORM_RECURRENT;
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (c->axes[j] != NO) {
            *operand[j]            = lcsm_eos_axes(c->axes[j]);
            operand[j]->is_complex = (c->complex >> j & 1) != 0;
            *heads[j] = (c->more.shared >> j & 1) == 0 ? 0 : n.H % 2 == 0 ? n.H / 2 : 1;
        }
    desc->rank        = c->more.rank;
    desc->read_before = c->more.before;
    desc->complex_y   = c->more.complex_y;
}

static size_t operand_size(const lcsm_eos_plan *p, int j)
{
    const lcsm_eos_layout *l = &p->operand[j];
    if (!l->present) return 0;
    if (l->by_read) return (size_t)(l->inner * l->heads * p->reads);
    return (size_t)(l->inner * l->heads) * (size_t)(l->axes & T ? p->B * p->T : 1);
}

/* ---- numbers ---------------------------------------------------------------------------- */

/* The range of an operand: uniform between low and high. Decays are logarithms below 0; the
 * delta rule and the dense product stay stable with rows of norm about 1. */
static void range(const lcsm_eos_plan *p, const lcsm_eos_setting *set, int j, double *low,
                  double *high)
{
    double decay = set->decay > 0 ? set->decay : 0.5,
           size  = set->magnitude > 0 ? set->magnitude : 1;
    double unit  = 1 / sqrt((double)(p->K * (p->rank > 1 ? p->rank : 1)));
    *low         = -1;
    *high        = 1;
    switch (j) {
    case EOS_row:
    case EOS_col:
    case EOS_full:
        *low  = -decay;
        *high = 0;
        break;
    case EOS_u:
        if (p->gen == LCSM_GEN_EXP || p->gen == LCSM_GEN_COMPLEMENT) *low = 0.02;
        if (p->gen == LCSM_GEN_COMPLEMENT) *high = 0.9;
        break;
    case EOS_w:
        if (p->gen == LCSM_GEN_EXP) *high = -0.02;
        if (p->gen == LCSM_GEN_COMPLEMENT) *low = 0.02;
        break;
    case EOS_dense:
    case EOS_erase:
    case EOS_a:
    case EOS_b:
        *low  = -unit;
        *high = unit;
        break;
    case EOS_i:
    case EOS_e:
    case EOS_s:
        *high = j == EOS_e && p->operand[EOS_erase].present ? unit : size;
        *low  = -*high;
        break;
    default: break;
    }
}

/* Floats exactly, so that a float run starts from the same numbers. */
static void fill(double *p, size_t n, uint64_t seed, uint32_t purpose, double low, double high)
{
    for (size_t j = 0; j < n; j++)
        p[j] = (double)(float)(low + (high - low) * lcsm_rng_uniform(seed, purpose, j));
}

/* b beside -conj(a), or small: I + a b^T for any of them would let the memory grow without end. */
static void calm(lcsm_eos_problem *p, double part)
{
    bool same = p->size[EOS_a] == p->size[EOS_b];
    for (size_t j = 0; j < p->size[EOS_b]; j++) {
        double sign = p->plan.operand[EOS_a].is_complex && j % 2 == 1 ? 1 : -1;
        p->operand[EOS_b][j] *= part;
        if (same) p->operand[EOS_b][j] += sign * p->operand[EOS_a][j];
        p->operand[EOS_b][j] = (double)(float)p->operand[EOS_b][j];
    }
}

void lcsm_eos_problem_calm(lcsm_eos_problem *p)
{
    calm(p, 0);
}

static void fill_problem(lcsm_eos_problem *p, const lcsm_eos_setting *set)
{
    for (int j = 0; j < EOS_OPERANDS; j++) {
        double low, high;
        range(&p->plan, set, j, &low, &high);
        fill(p->operand[j], p->size[j], set->seed, (uint32_t)j, low, high);
    }
    calm(p, 0.25);
    fill(p->g_y, p->y_size, set->seed, 100, -1, 1);
    if (set->carry) {
        fill(p->m0, p->m_size, set->seed, 101, -1, 1);
        fill(p->g_m_T, p->m_size, set->seed, 102, -1, 1);
    }
    for (size_t j = 0; set->reset && j < (size_t)(p->plan.B * p->plan.T); j++)
        p->reset[j] = lcsm_rng_uniform(set->seed, 103, j) < 0.15;
}

lcsm_status lcsm_eos_problem_make(lcsm_eos_problem *out, const lcsm_eos_case *c, lcsm_eos_sizes n,
                                  const lcsm_eos_setting *set, lcsm_error *err)
{
    lcsm_eos_problem p = {0};
    describe(c, n, set, &p.desc);
    lcsm_status st = lcsm_eos_plan_make(&p.plan, NULL, &p.desc, err);
    if (st != LCSM_OK) return st;

    p.y_size = (size_t)((p.desc.reads > 0 ? p.desc.reads : n.B * n.T) * n.H)
             * (size_t)lcsm_eos_y_width(&p.plan);
    p.m_size     = (size_t)(n.B * n.H * n.K * n.D) * (p.plan.is_complex ? 2 : 1);
    size_t steps = (size_t)(n.B * n.T);
    size_t total = p.y_size + 2 * p.m_size + steps + (size_t)p.desc.reads;
    for (int j = 0; j < EOS_OPERANDS; j++) total += p.size[j] = operand_size(&p.plan, j);
    double *next = p.block = calloc(total, sizeof(double));
    if (next == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu numbers of a case",
                         total);
    for (int j = 0; j < EOS_OPERANDS; next += p.size[j++]) p.operand[j] = next;
    p.g_y = next;
    next += p.y_size;
    if (set->carry) {
        p.m0    = next;
        p.g_m_T = next + p.m_size;
    }
    if (set->reset) p.reset = (int32_t *)(void *)(next + 2 * p.m_size);
    if (p.desc.reads > 0) {
        p.read = (int32_t *)(void *)(next + 2 * p.m_size + steps);
        list_reads(n, set, p.read);
    }
    fill_problem(&p, set);
    *out = p;
    return LCSM_OK;
}

void lcsm_eos_problem_free(lcsm_eos_problem *p)
{
    free(p->block);
    *p = (lcsm_eos_problem){0};
}

lcsm_status lcsm_eos_result_make(lcsm_eos_result *out, const lcsm_eos_problem *p, lcsm_error *err)
{
    size_t total = p->y_size + 2 * p->m_size + 1;
    for (int j = 0; j < EOS_OPERANDS; j++) total += p->size[j];
    double *next = calloc(total, sizeof(double));
    if (next == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu numbers of a result",
                         total);
    *out = (lcsm_eos_result){.block = next, .y = next};
    next += p->y_size;
    out->m_T  = next;
    out->g_m0 = next + p->m_size;
    next += 2 * p->m_size;
    for (int j = 0; j < EOS_OPERANDS; next += p->size[j++]) out->grad[j] = next;
    return LCSM_OK;
}

void lcsm_eos_result_free(lcsm_eos_result *r)
{
    free(r->block);
    *r = (lcsm_eos_result){0};
}

double lcsm_eos_loss(const lcsm_eos_problem *p, const lcsm_eos_result *r)
{
    double sum = 0;
    for (size_t j = 0; j < p->y_size; j++) sum += p->g_y[j] * r->y[j];
    for (size_t j = 0; p->g_m_T != NULL && j < p->m_size; j++) sum += p->g_m_T[j] * r->m_T[j];
    return sum;
}

double lcsm_relative_error(const double *a, const double *b, size_t n)
{
    return lcsm_error_beside(a, b, n, 0);
}

double lcsm_error_beside(const double *a, const double *b, size_t n, double size)
{
    double worst = 0;
    for (size_t j = 0; j < n; j++) {
        if (!isfinite(a[j])) return INFINITY;
        worst = fmax(worst, fabs(a[j] - b[j]));
        size  = fmax(size, fabs(b[j]));
    }
    return worst == 0 ? 0 : worst / size;
}
