/* eos_plan.c - checks a descriptor and chooses form, chunk and tiles. */
#include "kernel/eos/eos_plan.h"

#include <math.h>

#include "base/error.h"
#include "base/size.h"
#include "kernel/eos/eos_operands.h"
#include "kernel/kinds.h"

enum { T = LCSM_AXIS_T, K = LCSM_AXIS_K, D = LCSM_AXIS_D, KK = LCSM_AXIS_KK };

/* What each operand may look like; the list ends with ~0u. */
typedef struct {
    const char *name;
    unsigned    axes[9];
    const char *want;
    bool        may_be_complex;
} rule;

#define END ~0u
static const rule RULES[EOS_OPERANDS] = {
    [EOS_i]          = {"i", {T | D, END}, "T D", true},
    [EOS_e]          = {"e", {T | K, K, K | D, END}, "T K, K or K D", true},
    [EOS_s]          = {"s", {T | K, K, K | D, END}, "T K, K or K D", true},
    [EOS_row]        = {"row", {T | K, K, T, 0, END}, "T K, K, T or none", false},
    [EOS_col]        = {"col", {T | D, D, END}, "T D or D", false},
    [EOS_full]       = {"full", {T | K | D, K | D, END}, "T K D or K D", false},
    [EOS_row_phase]  = {"row_phase", {T | K, K, T, 0, END}, "T K, K, T or none", false},
    [EOS_col_phase]  = {"col_phase", {T | D, D, END}, "T D or D", false},
    [EOS_full_phase] = {"full_phase", {T | K | D, K | D, END}, "T K D or K D", false},
    [EOS_u]     = {"u", {0, T, K, D, T | K, T | D, K | D, T | K | D, END}, "any of T K D", false},
    [EOS_w]     = {"w", {0, T, K, D, T | K, T | D, K | D, T | K | D, END}, "any of T K D", false},
    [EOS_dense] = {"dense", {T | KK, KK, END}, "T KK or KK", false},
    [EOS_erase] = {"erase", {T | K, END}, "T K", true},
    [EOS_a]     = {"a", {T | K, K, END}, "T K or K", true},
    [EOS_b]     = {"b", {T | K, K, END}, "T K or K", true},
    [EOS_bonus] = {"bonus", {K, 0, END}, "K or none", true},
};

/* The public structs have exactly these operands, in their order: the first ones from i on, the
 * later ones from a on. */
#define IN_ORDER(type, first, name, size)                                                          \
    _Static_assert(offsetof(type, name)                                                            \
                       == offsetof(type, first) + (size_t)(EOS_##name - EOS_##first) * (size),     \
                   #type " has its operands in another order: " #name)
#define ALL_IN_ORDER(first, name)                                                                  \
    IN_ORDER(lcsm_eos_desc, first, name, sizeof(lcsm_eos_operand));                                \
    IN_ORDER(lcsm_eos_states, first, name, sizeof(float *));                                       \
    IN_ORDER(lcsm_eos_grads, first, name, sizeof(float *));
#define X(name)                                                                                    \
    ALL_IN_ORDER(i, name)                                                                          \
    IN_ORDER(lcsm_eos_heads, i, name, sizeof(ptrdiff_t));
LCSM_EOS_FIRST_OPERANDS(X)
#undef X
#define X(name)                                                                                    \
    ALL_IN_ORDER(a, name)                                                                          \
    IN_ORDER(lcsm_eos_heads, i, name, sizeof(ptrdiff_t));
LCSM_EOS_LATER_OPERANDS(X)
#undef X
#define NO_MORE(type, first, count, next, size)                                                    \
    _Static_assert(offsetof(type, next) == offsetof(type, first) + (size_t)(count) * (size),       \
                   #type " has an operand that is not in the list")
NO_MORE(lcsm_eos_desc, i, EOS_FIRST_OPERANDS, gen, sizeof(lcsm_eos_operand));
NO_MORE(lcsm_eos_states, i, EOS_FIRST_OPERANDS, m0, sizeof(float *));
NO_MORE(lcsm_eos_grads, i, EOS_FIRST_OPERANDS, m0, sizeof(float *));
NO_MORE(lcsm_eos_desc, a, EOS_OPERANDS - EOS_a, heads, sizeof(lcsm_eos_operand));
_Static_assert(sizeof(lcsm_eos_heads) == EOS_OPERANDS * sizeof(ptrdiff_t),
               "lcsm_eos_heads has an operand that is not in the list");

const char *lcsm_eos_operand_name(int operand)
{
    return RULES[operand].name;
}

static const char *const FORM_NAMES[] = {
    [LCSM_FORM_AUTO] = "auto", [LCSM_FORM_RECURRENT] = "recurrent", [LCSM_FORM_CHUNKED] = "chunked",
    [LCSM_FORM_SCAN] = "scan", [LCSM_FORM_CONVOLUTION] = "conv",    [LCSM_FORM_DELTA] = "delta",
};

const char *lcsm_eos_form_name(lcsm_eos_form form)
{
    return (unsigned)form < COUNT(FORM_NAMES) ? FORM_NAMES[form] : "unknown";
}

static void operands_of(const lcsm_eos_desc *desc, const lcsm_eos_operand *out[EOS_OPERANDS])
{
#define X(name) out[EOS_##name] = &desc->name;
    LCSM_EOS_OPERAND_LIST(X)
#undef X
}

/* Of operand j, or 0: all. */
static ptrdiff_t heads_asked(const lcsm_eos_desc *desc, int j)
{
    const ptrdiff_t list[EOS_OPERANDS] = {
#define X(name) desc->heads.name,
        LCSM_EOS_OPERAND_LIST(X)
#undef X
    };
    return list[j];
}

static bool has(const lcsm_eos_plan *p, int operand)
{
    return p->operand[operand].present;
}

/* ---- sizes ------------------------------------------------------------------------------ */

/* The largest array of any operand or of the backward pass, in bytes of doubles, must fit. */
static lcsm_status check_sizes(const lcsm_eos_desc *desc, lcsm_error *err)
{
    const struct {
        const char *name;
        ptrdiff_t   value, least;
    } sizes[] = {{"B", desc->B, 0},
                 {"T", desc->T, 0},
                 {"H", desc->H, 1},
                 {"K", desc->K, 1},
                 {"D", desc->D, 1}};
    size_t n  = sizeof(double) * 4;
    for (size_t j = 0; j < COUNT(sizes); j++) {
        if (sizes[j].value < sizes[j].least)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s is %td; expected at least %td",
                             sizes[j].name, sizes[j].value, sizes[j].least);
        size_t extent = sizes[j].value > 0 ? (size_t)sizes[j].value : 1;
        if (!lcsm_size_mul(n, extent, &n) || n > PTRDIFF_MAX)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "eos: the sizes B %td T %td H %td K %td D %td overflow", desc->B,
                             desc->T, desc->H, desc->K, desc->D);
    }
    size_t square;
    if (!lcsm_size_mul((size_t)desc->K, (size_t)desc->K, &square) || square > PTRDIFF_MAX / 64)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: K is %td, its square overflows", desc->K);
    return LCSM_OK;
}

/* ---- layouts ---------------------------------------------------------------------------- */

static lcsm_status check_axes(int j, const lcsm_eos_operand *o, lcsm_error *err)
{
    const rule *r = &RULES[j];
    if (o->is_complex && !r->may_be_complex)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: %s is complex, only i, e, s, erase, a, b and bonus may be; give %s",
                         r->name, "the oscillation by magnitude and phase");
    for (size_t a = 0; r->axes[a] != END; a++)
        if (r->axes[a] == o->axes) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s has the axes %s%s%s%s; expected %s", r->name,
                     o->axes & T ? "T " : "", o->axes & K ? "K " : "", o->axes & D ? "D " : "",
                     o->axes & KK ? "KK " : (o->axes == 0 ? "none" : ""), r->want);
}

static ptrdiff_t rank_of(const lcsm_eos_desc *desc)
{
    return desc->rank == 0 ? 1 : desc->rank;
}

/* Inner extents and strides of one step and head. */
static void lay_inner(const lcsm_eos_desc *desc, int j, const lcsm_eos_operand *o,
                      lcsm_eos_layout *l)
{
    ptrdiff_t width = o->is_complex ? 2 : 1;
    if (o->axes & KK) {
        l->k     = desc->K;
        l->d     = 1;
        l->inner = desc->K * desc->K;
        return;
    }
    l->d     = o->axes & D ? width : 0;
    l->k     = o->axes & K ? (o->axes & D ? desc->D * width : width) : 0;
    l->inner = width * (o->axes & K ? desc->K : 1) * (o->axes & D ? desc->D : 1);
    if (j == EOS_a || j == EOS_b) l->inner *= rank_of(desc);
    if (j == EOS_i && desc->planes != 0) l->d = 1;
}

/* Given strides must not make two elements share a place: gradients are written through them. */
static lcsm_status check_overlap(const lcsm_eos_desc *desc, const char *name,
                                 const lcsm_eos_layout *l, lcsm_error *err)
{
    struct {
        const char *name;
        ptrdiff_t   stride, extent;
    } axis[] = {{"stride_h", l->h, l->heads},
                {"stride_t", l->t, l->axes & T ? desc->T : 1},
                {"stride_b", l->b, l->axes & T ? desc->B : 1}};
    for (size_t a = 0; a < COUNT(axis); a++) {
        if (axis[a].extent <= 1) continue;
        ptrdiff_t need = l->inner; /* every axis with a smaller stride lies inside this one */
        for (size_t c = 0; c < COUNT(axis); c++) {
            ptrdiff_t span;
            bool      inside =
                axis[c].stride < axis[a].stride || (axis[c].stride == axis[a].stride && c < a);
            if (c == a || axis[c].extent <= 1 || !inside) continue;
            if (__builtin_mul_overflow(axis[c].extent - 1, axis[c].stride, &span)
                || __builtin_add_overflow(need, span, &need))
                return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the strides of %s overflow", name);
        }
        if (axis[a].stride < need)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s of %s is %td; expected at least %td",
                             axis[a].name, name, axis[a].stride, need);
    }
    return LCSM_OK;
}

/* Strides that are not given are packed: heads inside steps inside sequences; given ones for
 * heads outside steps (B, H, T, ...) put the sequences outside both. */
static lcsm_status lay_outer(const lcsm_eos_desc *desc, const char *name, const lcsm_eos_operand *o,
                             lcsm_eos_layout *l, lcsm_error *err)
{
    const struct {
        const char *name;
        ptrdiff_t   stride;
    } given[] = {{"stride_h", o->stride_h}, {"stride_t", o->stride_t}, {"stride_b", o->stride_b}};
    for (size_t a = 0; a < COUNT(given); a++)
        if (given[a].stride < 0)
            return lcsm_fail(
                err, LCSM_ERR_ARGUMENT,
                "eos: %s of %s is %td; expected at least 0; use reverse to run backwards in time",
                given[a].name, name, given[a].stride);
    if (!(o->axes & T) && (o->stride_t != 0 || o->stride_b != 0))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: %s is static, but has a stride over steps or sequences", name);
    l->h = o->stride_h != 0 ? o->stride_h : l->inner;
    if (!(o->axes & T)) return LCSM_OK;
    ptrdiff_t heads, steps;
    if (__builtin_mul_overflow(l->h, l->heads, &heads)
        || __builtin_mul_overflow(l->t = o->stride_t != 0 ? o->stride_t : heads, desc->T, &steps))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the strides of %s overflow", name);
    l->b = o->stride_b != 0 ? o->stride_b : (heads > steps ? heads : steps);
    return LCSM_OK;
}

static lcsm_status take_heads(const lcsm_eos_desc *desc, int j, lcsm_eos_layout *l, lcsm_error *err)
{
    ptrdiff_t asked = heads_asked(desc, j);
    l->heads        = asked == 0 ? desc->H : asked;
    if (l->heads < 1 || desc->H % l->heads != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: %s has %td heads; expected a divisor of %td",
                         RULES[j].name, asked, desc->H);
    return LCSM_OK;
}

static lcsm_status lay_out(const lcsm_eos_desc *desc, int j, const lcsm_eos_operand *o,
                           lcsm_eos_layout *l, lcsm_error *err)
{
    *l = (lcsm_eos_layout){.present = o->present, .is_complex = o->is_complex, .axes = o->axes};
    if (!o->present) return LCSM_OK;
    LCSM_OR_RETURN(check_axes(j, o, err));
    LCSM_OR_RETURN(take_heads(desc, j, l, err));
    lay_inner(desc, j, o, l);
    LCSM_OR_RETURN(lay_outer(desc, RULES[j].name, o, l, err));
    if (o->stride_h != 0 || o->stride_t != 0 || o->stride_b != 0)
        LCSM_OR_RETURN(check_overlap(desc, RULES[j].name, l, err));
    return LCSM_OK;
}

/* ---- what goes together ----------------------------------------------------------------- */

static bool any_phase(const lcsm_eos_plan *p)
{
    return has(p, EOS_row_phase) || has(p, EOS_col_phase) || has(p, EOS_full_phase);
}

static bool any_factor(const lcsm_eos_plan *p)
{
    return has(p, EOS_row) || has(p, EOS_col) || has(p, EOS_full) || p->gen != LCSM_GEN_NONE;
}

static lcsm_status check_generated(const lcsm_eos_plan *p, lcsm_error *err)
{
    if ((unsigned)p->gen > LCSM_GEN_COMPLEMENT)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: gen is %d; expected 0 to %d", (int)p->gen,
                         (int)LCSM_GEN_COMPLEMENT);
    bool both = has(p, EOS_u) && has(p, EOS_w), either = has(p, EOS_u) || has(p, EOS_w);
    if (p->gen == LCSM_GEN_NONE ? either : !both)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: a generated oscillation needs gen, u and w; found %s%s%s",
                         p->gen != LCSM_GEN_NONE ? "gen " : "", has(p, EOS_u) ? "u " : "",
                         has(p, EOS_w) ? "w" : "");
    if (p->gen == LCSM_GEN_GATE && !(isfinite(p->tau) && p->tau > 0))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: tau is %g; expected a finite number above 0",
                         p->tau);
    return LCSM_OK;
}

/* a and b, and reading before the step. */
static lcsm_status check_later(const lcsm_eos_plan *p, ptrdiff_t rank, lcsm_error *err)
{
    if (rank < 0 || rank > LCSM_EOS_MAX_RANK)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: rank is %td; expected 0 to %d", rank,
                         LCSM_EOS_MAX_RANK);
    if (has(p, EOS_a) != has(p, EOS_b))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: a and b go together; %s is missing",
                         has(p, EOS_a) ? "b" : "a");
    if (has(p, EOS_a) && has(p, EOS_erase))
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "eos: erase is a = -e and b = o * erase; give erase, or a and b");
    if (has(p, EOS_bonus) && !p->read_before)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: a bonus is for reading before the step; set read_before");
    if (p->planes && (!p->complex_y || !p->operand[EOS_i].is_complex))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: planes are for complex i and complex_y");
    if (p->complex_y && !p->is_complex)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: complex_y needs a complex memory: a phase or a complex operand");
    return LCSM_OK;
}

static lcsm_status check_together(const lcsm_eos_plan *p, lcsm_error *err)
{
    for (int j = EOS_i; j <= EOS_s; j++)
        if (!has(p, j))
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: the operand %s is missing",
                             RULES[j].name);
    if (!isfinite(p->scale))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: scale is %g; expected a finite number",
                         p->scale);
    if (has(p, EOS_dense) && (any_factor(p) || any_phase(p) || has(p, EOS_erase) || has(p, EOS_a)))
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "eos: dense is the whole oscillation; omit the other factors");
    if (p->is_complex && has(p, EOS_dense))
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "eos: dense needs a real memory; omit phases and complex operands");
    return check_generated(p, err);
}

/* Steps whose terms of a static operand's gradient are summed by the kernel, in its precision. */
enum { SPAN = 2048 };

/* Where only some steps are read, the rows of s are theirs. */
static lcsm_status check_reads(lcsm_eos_plan *p, lcsm_error *err)
{
    ptrdiff_t steps = p->B * p->T;
    if (p->reads == 0) return LCSM_OK;
    if (p->reads < 0 || p->reads > steps || steps > INT32_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: reads is %td of %td steps; expected 0 to all steps, at most %d",
                         p->reads, steps, INT32_MAX);
    if (!lcsm_eos_has(p, EOS_s, T) || p->reverse || p->T > SPAN)
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "eos: reads need an s per token, forward time and at most %d steps; found "
                         "%s, %s and %td",
                         SPAN, lcsm_eos_has(p, EOS_s, T) ? "that" : "a static s",
                         p->reverse ? "backward" : "forward", p->T);
    p->operand[EOS_s].by_read = true;
    return LCSM_OK;
}

static lcsm_status check_memory_type(const lcsm_eos_plan *p, lcsm_memory_type type, lcsm_error *err)
{
    if ((unsigned)type > LCSM_MEMORY_BF16)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "eos: memory_type is %d; expected 0 to %d",
                         (int)type, (int)LCSM_MEMORY_BF16);
    if (p->bf16
        && (p->is_complex || has(p, EOS_dense) || has(p, EOS_erase) || has(p, EOS_a)
            || p->read_before || p->gen == LCSM_GEN_COMPLEMENT))
        return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                         "eos: a bfloat16 memory must be real and read after the step, with an "
                         "element-wise o that is not a complement");
    return LCSM_OK;
}

/* ---- the form --------------------------------------------------------------------------- */

/* Complex inputs or outputs, with an element-wise o that is not generated: the scan knows them. */
static bool scans_complex(const lcsm_eos_plan *p)
{
    bool complex_io = p->complex_y || p->operand[EOS_i].is_complex;
    return complex_io && !has(p, EOS_a) && !has(p, EOS_erase) && !has(p, EOS_dense)
        && !p->read_before && p->gen == LCSM_GEN_NONE && p->reads == 0;
}

static bool separable(const lcsm_eos_plan *p)
{
    return !has(p, EOS_full) && !has(p, EOS_full_phase) && !has(p, EOS_col_phase)
        && !has(p, EOS_dense) && p->gen == LCSM_GEN_NONE && !lcsm_eos_has(p, EOS_e, D)
        && !lcsm_eos_has(p, EOS_s, D) && !(lcsm_eos_is_ranked(p) && has(p, EOS_col))
        && !(has(p, EOS_erase) && has(p, EOS_bonus));
}

static bool all_static(const lcsm_eos_plan *p)
{
    for (int j = EOS_e; j < EOS_OPERANDS; j++)
        if (has(p, j) && lcsm_eos_has(p, j, T)) return false;
    return !has(p, EOS_dense) && !has(p, EOS_erase) && !p->resets;
}

static bool serves(const lcsm_eos_plan *p, lcsm_eos_form form)
{
    bool chunks = form == LCSM_FORM_CHUNKED || form == LCSM_FORM_DELTA,
         ranked = lcsm_eos_is_ranked(p);
    if (p->bf16 && form != LCSM_FORM_SCAN && form != LCSM_FORM_RECURRENT) return false;
    if (ranked && !chunks && form != LCSM_FORM_RECURRENT
        && !(form == LCSM_FORM_SCAN && scans_complex(p)))
        return false;
    if (p->planes && chunks) return false;
    if (p->reads > 0 && form == LCSM_FORM_CHUNKED && p->is_complex && !ranked) return false;
    if (p->reads > 0 && form != LCSM_FORM_RECURRENT
        && !(chunks && (ranked || form == LCSM_FORM_CHUNKED)))
        return false;
    switch (form) {
    case LCSM_FORM_RECURRENT: return true;
    case LCSM_FORM_CHUNKED: return separable(p) && !has(p, EOS_erase);
    case LCSM_FORM_DELTA: return separable(p) && has(p, EOS_erase);
    case LCSM_FORM_SCAN: return !has(p, EOS_dense) && !has(p, EOS_erase);
    case LCSM_FORM_CONVOLUTION: return all_static(p);
    default: return false;
    }
}

/* A transform of a channel costs about 25 log2(2T) operations a step, the scan 3K (8K if complex)
 * spread over the lanes of a vector; the kernel costs as much as one scan again. */
static bool convolution_pays(const lcsm_eos_plan *p)
{
    double scan = (p->is_complex ? 8.0 : 3.0) * (double)p->K / 8;
    return all_static(p) && p->T >= 256 && 50 * log2(2.0 * (double)p->T) + scan < scan * 2;
}

/* Measured beside the scan: 16 pairs of rows pay from 4 sequences on, which share a kernel and its
 * powers, 32 always. */
bool lcsm_eos_convolves(const lcsm_eos_plan *p)
{
    return all_static(p) && serves(p, LCSM_FORM_CONVOLUTION) && p->is_complex && p->T >= 256
        && p->H == 1 && (p->K >= 32 || (p->K >= 16 && p->B >= 4));
}

static void choose_form(lcsm_eos_plan *p)
{
    const struct {
        bool          when;
        lcsm_eos_form form;
        const char   *reason;
    } choices[] = {
        {p->bf16 && p->reads == 0, LCSM_FORM_SCAN, "a bfloat16 memory is rounded at every step"},
        {has(p, EOS_a) && separable(p), LCSM_FORM_CHUNKED,
         "free a and b: matrix products over chunks, with a triangular solve"},
        {has(p, EOS_a), LCSM_FORM_RECURRENT,
         "free a and b with an o that is not a row: step by step, without vectors"},
        {scans_complex(p) && (p->planes || p->K < 8 || !separable(p)), LCSM_FORM_SCAN,
         "complex i or y: vectors of columns, step by step"},
        {lcsm_eos_is_ranked(p) && !separable(p), LCSM_FORM_RECURRENT,
         "read before the step, or complex i or y, with an o that is not a row: step by step, "
         "without vectors"},
        {p->reads > 0 && !serves(p, LCSM_FORM_CHUNKED), LCSM_FORM_RECURRENT,
         "only some steps are read, and o is not an outer product, or is complex"},
        {p->reads > 0, LCSM_FORM_CHUNKED, "only some steps are read: matrix products over chunks"},
        {has(p, EOS_dense), LCSM_FORM_RECURRENT, "a dense K x K product has no faster form"},
        {serves(p, LCSM_FORM_DELTA), LCSM_FORM_DELTA, "the delta rule, as matrix products"},
        {has(p, EOS_erase), LCSM_FORM_RECURRENT, "erase with an o that is not an outer product"},
        {lcsm_eos_is_ranked(p), LCSM_FORM_CHUNKED,
         "read before the step, or complex i or y: matrix products over chunks"},
        {p->T <= 4, LCSM_FORM_SCAN, "too few steps for matrix products"},
        {convolution_pays(p), LCSM_FORM_CONVOLUTION, "all states static and K large"},
        {p->K < 8, LCSM_FORM_SCAN, "too few memory rows for matrix products"},
        {separable(p), LCSM_FORM_CHUNKED, "o is an outer product: matrix products over chunks"},
        {true, LCSM_FORM_SCAN, "o is a full matrix: memory tiles in registers"},
    };
    size_t j = 0;
    while (!choices[j].when) j++;
    p->form   = choices[j].form;
    p->reason = choices[j].reason;
}

/* Chunks of a real memory that only decays, read after every step. */
static bool rounds_products(const lcsm_eos_plan *p)
{
    return p->form == LCSM_FORM_CHUNKED && !lcsm_eos_is_ranked(p) && !p->is_complex
        && p->reads == 0;
}

/* Fewer work items than threads would leave some idle: then cut the columns. One item a thread has
 * the longest rows, and the fewest sums of its own. */
static void choose_tiles(lcsm_eos_plan *p, ptrdiff_t wanted)
{
    bool            chunks = p->form == LCSM_FORM_CHUNKED || p->form == LCSM_FORM_DELTA;
    const ptrdiff_t lane   = chunks ? 64 : 32; /* whole panels of products */
    ptrdiff_t       pairs  = p->B * p->H > 0 ? p->B * p->H : 1;
    ptrdiff_t       tiles  = 1;
    if (pairs < p->threads) tiles = (p->threads + pairs - 1) / pairs;
    ptrdiff_t tile = wanted > 0 ? wanted : (p->D + tiles - 1) / tiles;
    if (wanted == 0) tile = (tile + lane - 1) / lane * lane;
    p->tile  = tile < p->D ? tile : p->D;
    p->tiles = (p->D + p->tile - 1) / p->tile;
}

/* A chunk of C steps costs C (K + D) / 2 multiplications a step, and 2 K D for the memory, but none
 * for the one before the first chunk and the one after the last. */
static bool one_chunk_pays(const lcsm_eos_plan *p, ptrdiff_t chunk)
{
    return p->T > chunk && p->T <= 2 * chunk
        && (p->T - chunk) * (p->K + p->D) * p->T < 4 * p->K * p->D * (p->T - chunk);
}

/* With few rows or columns the rounding of a chunk's flows is not averaged over them, and in the
 * gradient of a decay it counts in proportion to the chunk's length (docs/numerics.md). */
enum { USUAL_CHUNK = 32, SOLVED_CHUNK = 16, SHORT_CHUNK = 8, FEW = 8 };

static ptrdiff_t usual_chunk(const lcsm_eos_plan *p)
{
    bool scanned = p->form == LCSM_FORM_SCAN && scans_complex(p); /* without products */
    if ((p->K < FEW || p->D < FEW) && !scanned) return SHORT_CHUNK;
    bool      solved = p->form == LCSM_FORM_DELTA || p->rank > 0; /* twice the triangles */
    ptrdiff_t usual  = solved ? SOLVED_CHUNK : USUAL_CHUNK;
    return one_chunk_pays(p, usual) ? p->T : usual;
}

static void choose_chunk(lcsm_eos_plan *p, ptrdiff_t wanted)
{
    ptrdiff_t chunk = wanted > 0 ? wanted : usual_chunk(p);
    p->chunk        = chunk < p->T ? chunk : (p->T > 0 ? p->T : 1);
}

static bool any_static(const lcsm_eos_plan *p)
{
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (has(p, j) && !lcsm_eos_has(p, j, T)) return true;
    return false;
}

/* Column tiles have sums of their own of gradients by token that all of them add to. They are added
 * up span by span, so that all of these sums take no more than a quarter of the memory of a cell's
 * steps. The sums of spans are added in double: with static operands no span is long, except in the
 * convolution, which takes all steps at once.
 */
static void choose_span(lcsm_eos_plan *p)
{
    ptrdiff_t width = 0, cell = p->K * p->D * (p->is_complex ? 2 : 1);
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (has(p, j) && lcsm_eos_has(p, j, T) && !lcsm_eos_has(p, j, D))
            width += p->operand[j].inner;
    ptrdiff_t cells = lcsm_eos_cells(p), most = cells;
    if (any_static(p) && p->form != LCSM_FORM_CONVOLUTION) most = SPAN / p->chunk;
    if (p->tiles > 1 && width > 0 && cell / (4 * p->tiles * width) < most)
        most = cell / (4 * p->tiles * width);
    most    = most > 1 ? most : 1;
    p->span = most < cells ? most * p->chunk : p->T;
}

/* K D steps of a span from which on it is worth waking the other threads for. */
enum { SPAN_WORK = 1 << 22 };

/* Column tiles whose spans are too short for that are worse than none. */
static void choose_cut(lcsm_eos_plan *p, ptrdiff_t wanted)
{
    choose_tiles(p, wanted);
    choose_span(p);
    if (wanted > 0 || p->tiles == 1 || p->span == p->T) return;
    if (p->span * p->K * p->D >= SPAN_WORK) return;
    choose_tiles(p, p->D);
    choose_span(p);
}

/* Whether the heads of a step lie beside each other in all operands, so that reading them together
 * reads memory in order. */
static bool heads_inside(const lcsm_eos_plan *p)
{
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (has(p, j) && lcsm_eos_has(p, j, T)
            && p->operand[j].h * p->operand[j].heads > p->operand[j].t)
            return false;
    return true;
}

/* Heads that go in step: their memories stay in the cache, and every thread has two items at least.
 * All heads of a step are one run of memory: four of them are read up to 15 % faster than two. */
static void choose_heads(lcsm_eos_plan *p)
{
    const ptrdiff_t cache  = 1 << 17; /* numbers */
    ptrdiff_t       memory = p->K * p->D * (p->is_complex ? 2 : 1), most = LCSM_EOS_HEADS;
    bool            chunks = p->form == LCSM_FORM_CHUNKED || p->form == LCSM_FORM_DELTA;
    if (!chunks || p->tiles > 1 || !heads_inside(p)) most = 1;
    for (p->heads = most < p->H ? most : p->H; p->heads > 1; p->heads--) {
        ptrdiff_t items = p->B * (p->H / p->heads);
        if (p->H % p->heads == 0 && p->heads * memory <= cache
            && (p->threads == 1 || items >= 2 * p->threads))
            break;
    }
}

static ptrdiff_t common_multiple(ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t least = a;
    while (least % b != 0) least += a;
    return least;
}

/* Heads that share a head of some operand: one worker takes their items, if then all have some.
 * Without sharing there is nothing to bundle. */
static void choose_bundle(lcsm_eos_plan *p)
{
    ptrdiff_t all = 1;
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (has(p, j)) all = common_multiple(all, p->H / p->operand[j].heads);
    if (all > 1) all = common_multiple(all, p->heads);
    p->bundle = p->tiles == 1 && p->B * (p->H / all) >= p->threads ? all : 1;
}

lcsm_status lcsm_eos_plan_make(lcsm_eos_plan *plan, lcsm_pool *pool, const lcsm_eos_desc *desc,
                               lcsm_error *err)
{
    const lcsm_eos_operand *operand[EOS_OPERANDS];
    lcsm_status             st = check_sizes(desc, err);
    if (st != LCSM_OK) return st;

    lcsm_eos_desc rows = *desc; /* of the steps that are read */
    rows.B             = 1;
    rows.T             = desc->reads;
    lcsm_eos_plan p    = {.B           = desc->B,
                          .T           = desc->T,
                          .H           = desc->H,
                          .K           = desc->K,
                          .D           = desc->D,
                          .reads       = desc->reads,
                          .read_before = desc->read_before != 0,
                          .complex_y   = desc->complex_y != 0,
                          .planes      = desc->planes != 0,
                          .bf16        = desc->memory_type == LCSM_MEMORY_BF16,
                          .reverse     = desc->reverse,
                          .resets      = desc->resets,
                          .gen         = desc->gen,
                          .tau         = desc->tau,
                          .scale       = desc->scale == 0 ? 1 : desc->scale,
                          .pool        = pool,
                          .threads     = lcsm_pool_threads(pool)};
    operands_of(desc, operand);
    for (int j = 0; j < EOS_OPERANDS; j++)
        if ((st = lay_out(j == EOS_s && desc->reads > 0 ? &rows : desc, j, operand[j],
                          &p.operand[j], err))
            != LCSM_OK)
            return st;
    p.rank       = has(&p, EOS_a) ? rank_of(desc) : 0;
    p.is_complex = any_phase(&p);
    for (int j = 0; j < EOS_OPERANDS; j++)
        p.is_complex = p.is_complex || (has(&p, j) && p.operand[j].is_complex);
    if ((st = check_together(&p, err)) != LCSM_OK) return st;
    if ((st = check_later(&p, desc->rank, err)) != LCSM_OK) return st;
    if ((st = check_reads(&p, err)) != LCSM_OK) return st;
    if ((st = check_memory_type(&p, desc->memory_type, err)) != LCSM_OK) return st;

    if (desc->chunk < 0 || desc->tile < 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "eos: chunk is %td and tile %td; expected at least 0", desc->chunk,
                         desc->tile);
    choose_form(&p);
    if (desc->form != LCSM_FORM_AUTO) {
        if (!serves(&p, desc->form))
            return lcsm_fail(err, LCSM_ERR_UNSUPPORTED,
                             "eos: the form %s does not support these operands; %s does",
                             lcsm_eos_form_name(desc->form), lcsm_eos_form_name(p.form));
        p.form   = desc->form;
        p.reason = "asked for";
    }
    p.bf16_products = desc->bf16_products != 0 && rounds_products(&p);
    choose_chunk(&p, desc->chunk);
    bool uncut = p.reads > 0 || p.planes || (p.form == LCSM_FORM_RECURRENT && has(&p, EOS_dense));
    choose_cut(&p, uncut ? p.D : desc->tile);
    choose_heads(&p);
    choose_bundle(&p);
    *plan = p;
    return LCSM_OK;
}
