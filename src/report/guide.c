/* guide.c - what a reader must know to read the section of an experiment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/section.h"

/* A label e-o-s-a. */
static bool is_code(const char *label)
{
    int parts[4], used = 0;
    return sscanf(label, "%1d-%2d-%1d-%1d%n", &parts[0], &parts[1], &parts[2], &parts[3], &used)
            == 4
        && (label[used] == '\0' || label[used] == ' ');
}

static const char CODES[] =
    "A code e-o-s-a names a model by the states of its recurrence, m_t = o_t * m_{t-1} "
    "+ e_t i_t^T and y_t = m_t^T s_t. e (what is written) and s (what is read): 1 from "
    "the token, 0 learned and the same for all tokens. o (what is kept): 0 learned, 1 "
    "from the token, 2 to 9 other ways to make it, 10 ones, 11 complex. a: the "
    "activation of e and s, 0 for none. lcsm describe CODE says more.";

/* Once in a report, before the first experiment that has codes. */
static void put_codes(lcsm_doc *d, const lcsm_study *s)
{
    bool codes = false, told = false;
    for (size_t v = 0; v < s->variant_count; v++) codes = codes || is_code(s->variants[v]);
    for (size_t j = 0; j < d->count; j++)
        told = told || (d->blocks[j].text != NULL && strcmp(d->blocks[j].text, CODES) == 0);
    if (codes && !told) lcsm_doc_add(d, LCSM_BLOCK_TEXT, "%s", CODES);
}

/* A setting of the first run that has it, or 0. */
static double setting(const lcsm_study *s, const char *key)
{
    for (size_t j = 0; j < s->run_count; j++) {
        char text[LCSM_KEY_TEXT_SIZE];
        if (*lcsm_record_setting(&s->runs[j].record, key, text) != '\0') return strtod(text, NULL);
    }
    return 0;
}

static void put_recall(lcsm_doc *d, const lcsm_study *s)
{
    double pairs = setting(s, "pairs"), vocab = setting(s, "vocab");
    char   levels[160] = "";
    if (pairs > 0 && vocab > 0)
        (void)snprintf(
            levels, sizeof levels,
            " With %.0f pairs and %.0f tokens, guessing any value gives %.2g, and guessing "
            "one of the values in the sequence %.2g.",
            pairs, vocab, 2 / vocab, 1 / pairs);
    lcsm_doc_add(
        d, LCSM_BLOCK_TEXT,
        "The task: a sequence gives keys with their values, then asks for the keys again in "
        "another order. After A 3 B 7 ... B the answer is 7, and after A it is 3. Accuracy "
        "is the share of right answers.%s",
        levels);
}

static void put_language(lcsm_doc *d, const lcsm_study *s)
{
    double vocab      = setting(s, "vocab");
    char   level[120] = "";
    if (vocab > 0)
        (void)snprintf(level, sizeof level, " Guessing among all %.0f tokens has perplexity %.0f.",
                       vocab, vocab);
    lcsm_doc_add(d, LCSM_BLOCK_TEXT,
                 "The task: predict the next token of a text. A perplexity of 30 means that the "
                 "model is as unsure as if it chose among 30 equally likely tokens.%s",
                 level);
}

/* Each task of an experiment with several: what is asked, an example, what guessing gives. */
static void put_several(lcsm_doc *d, const lcsm_study *s)
{
    size_t axis = lcsm_study_axis(s, "task");
    if (axis == s->axis_count) return;
    for (size_t p = 0; p < s->point_count; p++) {
        const lcsm_task *t = LCSM_TASKS[(size_t)s->points[p][axis]];
        char             sample[512];
        bool             scaled = t->metric == LCSM_SCORE_SCALED;
        double           chance;
        if (!lcsm_task_sample(t, sample, sizeof sample, &chance)) continue;
        lcsm_doc_add(d, LCSM_BLOCK_TEXT,
                     "The answer in %s is %s. A short example, with the answer in braces: %s. "
                     "The score is %s: guessing gives %.2g%s, and 1 is all right.",
                     t->name, t->asks, sample, lcsm_task_metric_name(t), scaled ? 0 : chance,
                     scaled ? "" : " at the published size");
    }
}

static const struct {
    const char *task;
    void (*put)(lcsm_doc *d, const lcsm_study *s);
} TASKS[] = {{"mqar", put_recall}, {"lm", put_language}, {"several", put_several}};

void lcsm_section_guide(lcsm_doc *d, const lcsm_study *s, bool first)
{
    put_codes(d, s);
    for (size_t j = 0; j < COUNT(TASKS); j++)
        if (strcmp(s->task, TASKS[j].task) == 0) TASKS[j].put(d, s);
    if (!first) return;
    lcsm_doc_add(
        d, LCSM_BLOCK_TEXT,
        "What to look at: the table first, where the best of a column is bold and columns "
        "of settings appear if variants differ in more than their model; then whether a gap "
        "is larger than the spread of the seeds; then the curves, for when a model learned.");
}
