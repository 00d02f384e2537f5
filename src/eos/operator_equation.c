/* operator_equation.c - the recurrence that an operator computes, from its descriptor. */
#include "eos/equation.h"

/* An operand at row `row`: name_t[row][b], with the axes that it has. */
static void say(lcsm_strbuf *out, const char *name, const lcsm_eos_operand *o, const char *row)
{
    lcsm_strbuf_printf(out, "%s%s", name, o->axes & LCSM_AXIS_T ? "_t" : "");
    if (o->axes & LCSM_AXIS_K) lcsm_strbuf_printf(out, "[%s]", row);
    if (o->axes & LCSM_AXIS_D) lcsm_strbuf_add(out, "[b]");
}

/* A sum of logs or of angles. */
static void say_sum(lcsm_strbuf *out, const char *const names[3],
                    const lcsm_eos_operand *const parts[3], const char *row)
{
    bool any = false;
    for (int j = 0; j < 3; j++) {
        if (!parts[j]->present) continue;
        if (any) lcsm_strbuf_add(out, " + ");
        say(out, names[j], parts[j], row);
        any = true;
    }
}

static bool has_logs(const lcsm_eos_desc *d)
{
    return d->row.present || d->col.present || d->full.present;
}

static bool has_angles(const lcsm_eos_desc *d)
{
    return d->row_phase.present || d->col_phase.present || d->full_phase.present;
}

static bool decays(const lcsm_eos_desc *d)
{
    return has_logs(d) || has_angles(d) || d->gen != LCSM_GEN_NONE;
}

static void say_generated(lcsm_strbuf *out, const lcsm_eos_desc *d)
{
    static const char *const before[] = {"", "exp(", "sigmoid(", "(1 - "};
    lcsm_strbuf_add(out, before[d->gen]);
    say(out, "u", &d->u, "a");
    lcsm_strbuf_add(out, " ");
    say(out, "w", &d->w, "a");
    lcsm_strbuf_add(out, ")");
    if (d->gen == LCSM_GEN_GATE && d->tau != 1) lcsm_strbuf_printf(out, "^(1/%g)", d->tau);
}

/* o[a][b] = ... */
static void say_oscillation(lcsm_strbuf *out, const lcsm_eos_desc *d)
{
    const lcsm_eos_operand *const logs[]   = {&d->row, &d->col, &d->full};
    const lcsm_eos_operand *const angles[] = {&d->row_phase, &d->col_phase, &d->full_phase};
    lcsm_strbuf_add(out, "o_t[a][b] = ");
    if (has_logs(d) || has_angles(d)) lcsm_strbuf_add(out, "exp(");
    say_sum(out, (const char *const[]){"row", "col", "full"}, logs, "a");
    if (has_angles(d)) {
        lcsm_strbuf_add(out, has_logs(d) ? " + i (" : "i (");
        say_sum(out, (const char *const[]){"row_phase", "col_phase", "full_phase"}, angles, "a");
        lcsm_strbuf_add(out, ")");
    }
    if (has_logs(d) || has_angles(d)) lcsm_strbuf_add(out, d->gen != LCSM_GEN_NONE ? ") " : ")");
    if (d->gen != LCSM_GEN_NONE) say_generated(out, d);
    lcsm_strbuf_add(out, "\n");
}

/* What the step before has left of row `row`. */
static void say_past(lcsm_strbuf *out, const lcsm_eos_desc *d, const char *row)
{
    if (decays(d)) lcsm_strbuf_printf(out, "o_t[%s][b] ", row);
    lcsm_strbuf_printf(out, "m_{t-1}[%s][b]", row);
}

static void say_memory(lcsm_strbuf *out, const lcsm_eos_desc *d)
{
    lcsm_strbuf_add(out, "m_t[a][b] = ");
    if (d->dense.present)
        lcsm_strbuf_printf(out, "sum_c o%s[a][c] m_{t-1}[c][b]",
                           d->dense.axes & LCSM_AXIS_T ? "_t" : "");
    else say_past(out, d, "a");
    lcsm_strbuf_add(out, " + ");
    say(out, "e", &d->e, "a");
    if (d->erase.present) {
        lcsm_strbuf_add(out, " (i_t[b] - sum_c ");
        say(out, "erase", &d->erase, "c");
        lcsm_strbuf_add(out, " ");
        say_past(out, d, "c");
        lcsm_strbuf_add(out, ")\n");
        return;
    }
    lcsm_strbuf_add(out, " i_t[b]");
    if (d->a.present) {
        lcsm_strbuf_add(out, d->rank > 1 ? " + sum_r " : " + ");
        say(out, d->rank > 1 ? "a_r" : "a", &d->a, "a");
        lcsm_strbuf_add(out, " sum_c ");
        say(out, d->rank > 1 ? "b_r" : "b", &d->b, "c");
        lcsm_strbuf_add(out, " m_{t-1}[c][b]");
    }
    lcsm_strbuf_add(out, "\n");
}

static void say_output(lcsm_strbuf *out, const lcsm_eos_desc *d, bool real_part)
{
    lcsm_strbuf_add(out, "y_t[b] = ");
    if (d->scale != 0 && d->scale != 1) lcsm_strbuf_printf(out, "%.4g ", d->scale);
    if (real_part) lcsm_strbuf_add(out, "Re ");
    bool inside = d->bonus.present && (real_part || (d->scale != 0 && d->scale != 1));
    lcsm_strbuf_add(out, inside ? "(sum_a " : "sum_a ");
    say(out, "s", &d->s, "a");
    lcsm_strbuf_add(out, d->read_before ? " m_{t-1}[a][b]" : " m_t[a][b]");
    if (d->bonus.present) {
        lcsm_strbuf_add(out, " + i_t[b] sum_a ");
        say(out, "bonus", &d->bonus, "a");
        lcsm_strbuf_add(out, " ");
        say(out, "s", &d->s, "a");
        lcsm_strbuf_add(out, " ");
        say(out, "e", &d->e, "a");
        if (inside) lcsm_strbuf_add(out, ")");
    }
    lcsm_strbuf_add(out, "\n");
}

void lcsm_operator_equations(lcsm_strbuf *out, const lcsm_eos_desc *d)
{
    bool is_complex = has_angles(d) || d->e.is_complex || d->s.is_complex || d->i.is_complex;
    say_memory(out, d);
    say_output(out, d, is_complex && !d->complex_y);
    if (decays(d)) say_oscillation(out, d);
}
