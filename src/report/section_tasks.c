/* section_tasks.c - a study of several tasks beside the numbers in print. */
#include <math.h>
#include <stdlib.h>

#include "report/rank.h"
#include "report/section.h"

static const lcsm_task *task_of(const lcsm_study *s, size_t point)
{
    return LCSM_TASKS[(size_t)s->points[point][lcsm_study_axis(s, "task")]];
}

static void put_pair(lcsm_table *t, double ours, double theirs)
{
    char a[LCSM_NUMBER_TEXT], b[LCSM_NUMBER_TEXT];
    lcsm_table_cell(t, "%s / %s", isfinite(ours) ? lcsm_number_text(a, 3, ours) : "-",
                    isfinite(theirs) ? lcsm_number_text(b, 3, theirs) : "-");
}

/* The rank correlation of each task, below its column. */
static void put_ranks(lcsm_table *t, const lcsm_study *s, double *ours, double *theirs)
{
    lcsm_table_cell(t, "%s", "rank correlation");
    for (size_t p = 0; p < s->point_count; p++) {
        size_t pairs;
        for (size_t v = 0; v < s->variant_count; v++) {
            ours[v]   = lcsm_study_at(s, v, p)->value;
            theirs[v] = lcsm_task_published(task_of(s, p), s->variants[v]);
        }
        double r = lcsm_spearman(ours, theirs, s->variant_count, &pairs);
        if (isfinite(r) && pairs >= LCSM_RANKS_FEWEST)
            lcsm_table_cell(t, "%.2f (%zu rows)", r, pairs);
        else lcsm_table_cell(t, "%s", "-");
    }
}

/* How often both sides learn, or both do not: a rank correlation of zeros and ones says little. */
static void put_sides(lcsm_table *t, const lcsm_study *s)
{
    const double half = 0.5;
    lcsm_table_cell(t, "%s", "same side of 0.5");
    for (size_t p = 0; p < s->point_count; p++) {
        size_t same = 0, both = 0;
        for (size_t v = 0; v < s->variant_count; v++) {
            double ours   = lcsm_study_at(s, v, p)->value;
            double theirs = lcsm_task_published(task_of(s, p), s->variants[v]);
            if (!isfinite(ours) || !isfinite(theirs)) continue;
            both++;
            same += (ours >= half) == (theirs >= half);
        }
        if (both > 0) lcsm_table_cell(t, "%zu of %zu", same, both);
        else lcsm_table_cell(t, "%s", "-");
    }
}

static void put_sources(lcsm_doc *d, const lcsm_study *s)
{
    for (size_t p = 0; p < s->point_count; p++) {
        const lcsm_task *task = task_of(s, p);
        if (*task->source == '\0') continue;
        lcsm_doc_add(d, LCSM_BLOCK_TEXT, "%s (%s): in print, %s.", task->name, task->asks,
                     task->source);
    }
}

void lcsm_section_published(lcsm_doc *d, const lcsm_study *s)
{
    lcsm_table t    = {0};
    double    *room = malloc(2 * s->variant_count * sizeof *room);
    if (room == NULL) d->failed = true;
    if (room == NULL || lcsm_study_axis(s, "task") == s->axis_count) {
        free(room);
        return;
    }
    lcsm_table_column(&t, "variant", LCSM_LEFT);
    for (size_t p = 0; p < s->point_count; p++)
        lcsm_table_column(&t, task_of(s, p)->name, LCSM_RIGHT);
    for (size_t v = 0; v < s->variant_count; v++) {
        lcsm_table_cell(&t, "%s", s->variants[v]);
        for (size_t p = 0; p < s->point_count; p++)
            put_pair(&t, lcsm_study_at(s, v, p)->value,
                     lcsm_task_published(task_of(s, p), s->variants[v]));
    }
    put_ranks(&t, s, room, room + s->variant_count);
    put_sides(&t, s);
    free(room);
    lcsm_doc_table(d, &t, "%s",
                   "Each cell: our score / the number in print. Sizes and steps differ: "
                   "compare the order and who learns at all.");
    put_sources(d, s);
}
