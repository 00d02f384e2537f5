/* The generators of tasks: every answer by an independent solver, distributions, chance levels, and
 * what training and test share. */
#include <lcsm/task.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"
#include "task/task.h"
#include "test.h"
#include "train/settings.h"

enum { NONE = LCSM_TASK_NONE, MOST = 2048 };

/* ---- a task with its settings --------------------------------------------------------------- */

typedef struct {
    const lcsm_task  *t;
    lcsm_train_config cfg;
    lcsm_task_config  c;
    int32_t           x[MOST], y[MOST];
} rig;

/* Published settings, then "key value key value", of which vocab is the model's. */
static rig open_task(const char *name, bool test, const char *more)
{
    char      key[32], value[32];
    int       n = 0;
    ptrdiff_t vocab;
    rig       r;
    lcsm_train_config_defaults(&r.cfg);
    assert_int_equal(lcsm_train_config_set(&r.cfg, "task", name, NULL), LCSM_OK);
    vocab = (ptrdiff_t)lcsm_train_vocab(&r.cfg);
    if (vocab == 0) vocab = 256;
    for (; sscanf(more, " %31s %31s%n", key, value, &n) == 2; more += n) {
        if (strcmp(key, "vocab") == 0) vocab = strtol(value, NULL, 10);
        else assert_int_equal(lcsm_train_config_set(&r.cfg, key, value, NULL), LCSM_OK);
    }
    r.t = lcsm_train_task(&r.cfg);
    r.c = lcsm_train_task_config(&r.cfg, vocab, test);
    assert_int_equal(r.t->check(&r.c, NULL), LCSM_OK);
    assert_true(r.c.length <= MOST);
    return r;
}

static void make(rig *r, uint64_t index)
{
    r->t->example(&r->c, index, r->x, r->y);
}

static int asked(const rig *r)
{
    int n = 0;
    for (int64_t t = 0; t < r->c.length; t++) n += r->y[t] != NONE;
    return n;
}

/* Counts of n draws with chance p stay within five standard deviations. */
static void check_count(const char *what, double count, double n, double p)
{
    if (fabs(count - n * p) > 5 * sqrt(n * p * (1 - p)) + 1)
        fail_msg("%s: counted %g of %g, expected %g", what, count, n, n * p);
}

/* ---- every task ----------------------------------------------------------------------------- */

TEST(tasks_are_in_order_and_words_name_them)
{
    lcsm_setting_info info        = {.size = sizeof info};
    char              words[1024] = "";
    for (size_t j = 0; j < LCSM_TASK_COUNT; j++) {
        assert_int_equal(lcsm_task_find(LCSM_TASKS[j]->name), j);
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s",
                       j == 0 ? "" : "|", LCSM_TASKS[j]->name);
    }
    assert_true(lcsm_train_config_find("task", &info));
    assert_string_equal(info.choices, words);
    assert_string_equal(LCSM_TASKS[LCSM_TASK_MQAR]->name, "mqar");
}

/* Tokens and answers are in the vocabulary, an example depends on its number and seed alone, those
 * of test and training differ, and at most as many positions are asked as the row says. */
static void check_task(const lcsm_task *t, bool test)
{
    rig     r      = open_task(t->name, test, "");
    int64_t labels = t->labels(&r.c), tokens = r.c.vocab, n = r.c.length;
    int32_t first[MOST];
    int     same = 0;
    if (t->wiring == LCSM_TASK_AS_STACKED) tokens = tokens / 2 * (tokens / 2 + 1);
    for (uint64_t j = 0; j < 20; j++) {
        make(&r, j);
        for (int64_t k = 0; k < n; k++) {
            assert_in_range(r.x[k], 0, tokens - 1);
            assert_true(r.y[k] == NONE || (r.y[k] >= 0 && r.y[k] < r.c.vocab));
        }
        assert_true(asked(&r) > 0 && (labels == 0 || asked(&r) <= labels));
        if (j == 0) memcpy(first, r.x, sizeof first);
        else same += memcmp(first, r.x, (size_t)n * sizeof *first) == 0;
    }
    assert_true(same < 3); /* short expressions may repeat */
    make(&r, 0);
    assert_memory_equal(first, r.x, (size_t)n * sizeof *first);
    r.c.seed++;
    make(&r, 0);
    assert_memory_not_equal(first, r.x, (size_t)n * sizeof *first);
}

TEST(tasks_give_tokens_of_their_vocabulary)
{
    for (size_t j = 1; j < LCSM_TASK_COUNT; j++) {
        check_task(LCSM_TASKS[j], false);
        check_task(LCSM_TASKS[j], true);
    }
}

TEST(tasks_tests_share_no_example_with_training)
{
    for (size_t j = 1; j < LCSM_TASK_COUNT; j++) {
        rig a = open_task(LCSM_TASKS[j]->name, false, ""),
            b = open_task(LCSM_TASKS[j]->name, true, "");
        assert_true(a.c.seed != b.c.seed);
        if (a.c.length != b.c.length || strcmp(a.t->name, "mad-memorisation") == 0) continue;
        for (uint64_t k = 0; k < 10; k++) {
            make(&a, k);
            for (uint64_t l = 0; l < 10; l++) {
                make(&b, l);
                assert_memory_not_equal(a.x, b.x, (size_t)a.c.length * sizeof *a.x);
            }
        }
    }
}

TEST(tasks_refuse_sizes_that_do_not_fit)
{
    static const struct {
        const char *task, *key, *value;
    } bad[] = {{"mad-recall", "seq_len", "128"},
               {"mad-copying", "items", "128"},
               {"mad-memorisation", "seq_len", "31"},
               {"stacked-recall", "pairs", "5"},
               {"compositional-recall", "pairs", "5"},
               {"compositional-recall", "pairs", "16"},
               {"forgetting-recall", "updates", "9"},
               {"needle", "seq_len", "20"},
               {"words-z", "order", "61"},
               {"modular-brackets", "seq_len", "2"},
               {"mad-fuzzy-recall", "seq_len", "12"},
               {"listops", "seq_len", "15"},
               {"mqar", "pairs", "65"},
               {"forgetting-recall", "power", "2"}};
    for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
        lcsm_error err = {0};
        rig        r   = open_task(bad[j].task, false, "");
        assert_int_equal(lcsm_train_config_set(&r.cfg, bad[j].key, bad[j].value, NULL), LCSM_OK);
        lcsm_task_config c = lcsm_train_task_config(&r.cfg, (ptrdiff_t)r.c.vocab, false);
        assert_int_equal(r.t->check(&c, &err), LCSM_ERR_CONFIG);
        assert_non_null(strstr(err.text, "expected"));
    }
}

/* ---- MAD ------------------------------------------------------------------------------------ */

/* Noise apart, every pair of a key has the same value; asked are the keys that came before. */
static int check_recall(rig *r, int64_t noise)
{
    int64_t half = (r->c.vocab - noise) / 2, last = r->c.length - 1;
    int32_t value[64];
    int     scored = 0;
    for (int64_t k = 0; k < half; k++) value[k] = -1;
    for (int64_t t = 0; t < r->c.length; t += 2) {
        int32_t key = r->x[t];
        if (key >= 2 * half) {
            assert_true(r->x[t + 1] >= 2 * half && r->y[t] == NONE && r->y[t + 1] == NONE);
            continue;
        }
        assert_true(key < half && (t == last || r->x[t + 1] / half == 1));
        assert_int_equal(r->y[t], value[key] < 0 ? NONE : value[key]);
        if (t < last) assert_true(value[key] < 0 || value[key] == r->x[t + 1]);
        if (t < last) assert_int_equal(r->y[t + 1], NONE);
        if (t < last) value[key] = r->x[t + 1];
        scored += r->y[t] != NONE;
    }
    assert_true(r->y[last] != NONE);
    return scored;
}

TEST(tasks_mad_recall_asks_for_values_that_were_shown)
{
    double scored = 0, key = 0, value[8] = {0};
    int    n = 1000;
    rig    r = open_task("mad-recall", true, "");
    for (int j = 0; j < n; j++) {
        make(&r, (uint64_t)j);
        scored += check_recall(&r, 0);
        key += r.x[0] == 3;
        value[r.x[1] - 8]++;
    }
    assert_true(fabs(scored / n - 56) < 0.5); /* of 127, as the reference generator has it */
    check_count("first key", key, n, 1 / 8.0);
    for (int j = 0; j < 8; j++) check_count("first value", value[j], n, 1 / 8.0);
}

TEST(tasks_mad_noisy_recall_has_its_share_of_noise)
{
    double scored = 0, noise = 0;
    int    n = 500;
    rig    r = open_task("mad-noisy-recall", true, "");
    for (int j = 0; j < n; j++) {
        make(&r, (uint64_t)j);
        scored += check_recall(&r, 16);
        for (int t = 0; t + 1 < r.c.length; t += 2) noise += r.x[t] >= 16;
    }
    assert_true(fabs(scored / n - 44) < 0.6);
    check_count("noise", noise, 63 * n, 0.2 * 62 / 63); /* one pair is never noise */
    r = open_task("mad-noisy-recall", true, "noise 1 seq_len 9");
    for (uint64_t j = 0; j < 100; j++) {
        make(&r, j);
        (void)check_recall(&r, 16);
    }
}

TEST(tasks_mad_training_asks_for_the_next_token)
{
    static const char *const names[] = {"mad-recall", "mad-noisy-recall", "mad-fuzzy-recall"};
    for (int j = 0; j < 3; j++) {
        rig r = open_task(names[j], false, "");
        make(&r, 7);
        for (int64_t t = 0; t + 1 < r.c.length; t++) assert_int_equal(r.y[t], r.x[t + 1]);
        assert_true(r.y[r.c.length - 1] != NONE);
    }
}

/* Reads the pairs of an example of the test again: keys have three tokens below 7, values one to
 * three from 7 to 14. Returns how many tokens are asked; *answerable: the last key was shown. */
static int check_fuzzy(const rig *r, bool *answerable)
{
    enum { PAIRS = 64 };
    int32_t seq[160], keys[PAIRS][3], values[PAIRS][4];
    int     n = 0, pairs = 0, scored = 0, L = (int)r->c.length, t = 0;
    for (int j = 0; j < L; j++)
        if (r->x[j] != 15) seq[n++] = r->x[j];
    seq[n++] = r->y[L - 1];
    int pad  = L + 1 - n;
    while (t < n) {
        int size = 0, at = t, known = -1;
        for (int j = 0; j < 3; j++) assert_in_range(keys[pairs][j] = seq[t++], 0, 6);
        while (t < n && seq[t] >= 7 && size < 4) values[pairs][size++] = seq[t++];
        assert_in_range(size, 1, 3);
        for (int j = 0; j < pairs; j++)
            if (memcmp(keys[j], keys[pairs], sizeof keys[0]) == 0) known = j;
        if (known >= 0)
            assert_memory_equal(values[known], values[pairs], (size_t)size * sizeof(int32_t));
        for (int j = 0; j < 3 + size; j++) {
            int  place = pad + at + j - 1;
            bool ask   = j >= 3 && (known >= 0 || t == n);
            if (place < 0) continue;
            assert_int_equal(r->y[place], ask ? seq[at + j] : NONE);
            scored += ask;
        }
        *answerable = known >= 0;
        pairs++;
    }
    return scored;
}

TEST(tasks_mad_fuzzy_recall_asks_for_values_of_keys_of_three)
{
    double scored = 0, lost = 0;
    int    n = 2000;
    rig    r = open_task("mad-fuzzy-recall", true, "");
    for (int j = 0; j < n; j++) {
        bool answerable = false;
        make(&r, (uint64_t)j);
        scored += check_fuzzy(&r, &answerable);
        lost += !answerable;
    }
    assert_true(fabs(scored / n - 4.4) < 0.15);
    check_count("keys that were never shown", lost, n, 0.025);
}

TEST(tasks_mad_copying_asks_for_the_tokens_in_order)
{
    rig    r     = open_task("mad-copying", true, "");
    double first = 0;
    for (int j = 0; j < 400; j++) {
        int n = 0;
        make(&r, (uint64_t)j);
        for (int t = 0; t < 239; t++)
            if (r.x[t] < 14) assert_int_equal(r.x[t], r.y[240 + n++]);
        assert_int_equal(n, 16);
        assert_true(r.x[238] < 14 && r.x[239] == 15 && asked(&r) == 16);
        for (int t = 240; t < 256; t++) assert_int_equal(r.x[t], 14);
        first += r.x[0] < 14;
    }
    /* 223 blanks, none of them before the first token. */
    check_count("no blank first", first, 400, pow(15 / 16.0, 223) + 1e-9);
}

TEST(tasks_mad_memorisation_has_one_map_for_all)
{
    static const int sizes[] = {3, 16, 256, 1024};
    for (int s = 0; s < 4; s++) {
        int32_t map[1024], used[1024] = {0};
        char    more[32];
        (void)snprintf(more, sizeof more, "vocab %d", sizes[s]);
        rig r    = open_task("mad-memorisation", false, more);
        int keys = (sizes[s] - 1) / 2;
        for (int k = 0; k < 1024; k++) map[k] = -1;
        for (uint64_t j = 0; j < 500; j++) {
            r.c.test = j % 2 == 1;
            r.c.seed = j;
            make(&r, j);
            for (int t = 0; t < 32; t += 2) {
                int32_t k = r.x[t], v = r.y[t + 1];
                assert_true(k < keys && r.x[t + 1] == sizes[s] - 1 && r.y[t] == NONE);
                assert_true(v >= keys && v < sizes[s] - 1);
                assert_true(map[k] == v || (map[k] < 0 && !used[v]));
                map[k]  = v;
                used[v] = 1;
            }
        }
    }
}

TEST(tasks_mad_compression_asks_for_the_whole)
{
    rig r = open_task("mad-compression", true, "");
    make(&r, 5);
    assert_memory_equal(r.x, r.y, 32 * sizeof *r.x);
    for (int t = 0; t < 32; t++) assert_true((r.x[t] == 15) == (t == 31));
}

/* ---- formal languages ----------------------------------------------------------------------- */

/* Where the answer is asked, or fails. */
static int answer_at(const rig *r)
{
    assert_int_equal(asked(r), 1);
    int t = 0;
    while (r->y[t] == NONE) t++;
    return t;
}

TEST(tasks_parity_counts_ones)
{
    static const struct {
        bool test;
        int  least, most;
    } splits[] = {{false, 2, 39}, {true, 39, 255}};
    for (int s = 0; s < 2; s++) {
        rig    r   = open_task("parity", splits[s].test, "");
        double odd = 0, longest = 0;
        int    n = 4000, sizes = splits[s].most - splits[s].least + 1;
        for (int j = 0; j < n; j++) {
            make(&r, (uint64_t)j);
            int at = answer_at(&r), ones = 0;
            for (int t = 0; t <= at; t++) ones += r.x[t] == 2;
            for (int t = at + 1; t < r.c.length; t++) assert_int_equal(r.x[t], 0);
            assert_in_range(at + 1, splits[s].least, splits[s].most);
            assert_int_equal(r.y[at], 1 + ones % 2);
            odd += ones % 2;
            longest += at + 1 == splits[s].most;
        }
        check_count("odd", odd, n, 0.5);
        check_count("longest", longest, n, 1.0 / sizes);
    }
}

/* Values of expressions by recursive descent, modulo 5: sums of products of factors. */
typedef struct {
    const char *p;
} reader;

static int sum(reader *r);

static int factor(reader *r)
{
    if (*r->p == '-') {
        r->p++;
        return (5 - factor(r)) % 5;
    }
    if (*r->p != '(') return *r->p++ - '0';
    r->p++;
    int v = sum(r);
    assert_int_equal(*r->p, ')');
    r->p++;
    return v;
}

static int product(reader *r)
{
    int v = factor(r);
    while (*r->p == '*') {
        r->p++;
        v = v * factor(r) % 5;
    }
    return v;
}

static int sum(reader *r)
{
    int v = product(r);
    while (*r->p == '+' || *r->p == '-') {
        int sign = *r->p++ == '+' ? 1 : 4;
        v        = (v + sign * product(r)) % 5;
    }
    return v;
}

static void check_expressions(const char *name, bool test, int digit, int least, int most,
                              const char *never, double zero)
{
    rig    r = open_task(name, test, "");
    char   text[MOST], one[LCSM_TASK_SYMBOL];
    double zeros = 0;
    int    n     = 3000;
    for (int j = 0; j < n; j++) {
        make(&r, (uint64_t)j);
        int at = answer_at(&r);
        for (int t = 0; t <= at; t++) {
            r.t->symbol(&r.c, r.x[t], one);
            text[t] = one[0];
        }
        assert_int_equal(text[at], '=');
        assert_in_range(at + 2, least, most);
        text[at]  = '\0';
        reader in = {text};
        assert_int_equal(sum(&in), r.y[at] - digit);
        assert_int_equal(*in.p, '\0');
        assert_null(strpbrk(text, never));
        zeros += r.y[at] == digit;
    }
    check_count(name, zeros, n, zero);
}

/* The shares of the answer 0 are those of the reference generator. */
TEST(tasks_modular_brackets_have_the_value_of_the_expression)
{
    check_expressions("modular-sums", false, 0, 4, 40, "*", 0.2);
    check_expressions("modular-sums", true, 0, 39, 255, "*", 0.2);
    check_expressions("modular-brackets", true, 0, 39, 255, "_", 0.303);
    check_expressions("modular-brackets", false, 0, 4, 40, "_", 0.268);
}

TEST(tasks_modular_arithmetic_without_brackets_has_odd_sizes)
{
    for (int test = 0; test < 2; test++) {
        rig    r    = open_task("modular-arithmetic", test == 1, "");
        double zero = 0;
        char   text[MOST], one[LCSM_TASK_SYMBOL];
        for (int j = 0; j < 2000; j++) {
            make(&r, (uint64_t)j);
            int at = answer_at(&r);
            for (int t = 0; t < at; t++) {
                r.t->symbol(&r.c, r.x[t], one);
                text[t] = one[0];
                assert_true((t % 2 == 0) == (one[0] >= '0' && one[0] <= '4'));
            }
            text[at]  = '\0';
            reader in = {text};
            assert_int_equal(sum(&in), r.y[at] - 5);
            assert_true((at + 2) % 2 == 1 && at + 2 >= (test ? 39 : 3)
                        && at + 2 <= (test ? 255 : 39));
            zero += r.y[at] == 5;
        }
        assert_true(zero / 2000 > 0.17 && zero / 2000 < 0.30);
    }
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Points of a permutation as its symbol has them. */
static void points(const rig *r, int32_t token, int n, int p[5])
{
    char text[LCSM_TASK_SYMBOL];
    r->t->symbol(&r->c, token, text);
    assert_int_equal(strlen(text), n);
    for (int j = 0; j < n; j++) p[j] = text[j] - '1';
}

/* y_t = y_{t-1} x_t, where x_t acts first. */
static void check_word(const char *name, int n, int order)
{
    rig    r     = open_task(name, true, "seq_len 33 test_len 65");
    double first = 0;
    for (int j = 0; j < 200; j++) {
        make(&r, (uint64_t)j);
        assert_true(r.x[0] == order + 1 && r.y[0] == order + 1);
        first += r.x[1] == order - 1;
        for (int t = 1; t < 65; t++) {
            int a[5], b[5], c[5];
            assert_in_range(r.x[t], 0, order - 1);
            points(&r, t == 1 ? 0 : r.y[t - 1], n, a);
            points(&r, r.x[t], n, b);
            points(&r, r.y[t], n, c);
            for (int k = 0; k < n; k++) assert_int_equal(c[k], a[b[k]]);
        }
    }
    check_count(name, first, 200, 1.0 / order);
}

TEST(tasks_words_are_products_of_permutations)
{
    check_word("words-s3", 3, 6);
    check_word("words-s4", 4, 24);
    check_word("words-s5", 5, 120);
    check_word("words-a5", 5, 60);
    char text[LCSM_TASK_SYMBOL];
    rig  r = open_task("words-a5", false, ""); /* the first even permutations of five points */
    static const char *const first[] = {"12345", "12453", "12534", "13254"};
    for (int j = 0; j < 4; j++) {
        r.t->symbol(&r.c, j, text);
        assert_string_equal(text, first[j]);
    }
    r = open_task("words-z", true, "order 7");
    make(&r, 0);
    for (int t = 1, at = 0; t < r.c.length; t++) assert_int_equal(r.y[t], at = (at + r.x[t]) % 7);
}

/* ---- search --------------------------------------------------------------------------------- */

TEST(tasks_induction_asks_what_followed_the_trigger)
{
    rig    r     = open_task("induction", true, "test_len 64");
    double start = 0;
    for (int j = 0; j < 2000; j++) {
        make(&r, (uint64_t)j);
        int at = 0;
        while (r.x[at] != 15) at++;
        assert_true(at <= 60 && r.x[63] == 15 && asked(&r) == 1 && r.y[63] == r.x[at + 1]);
        for (int t = at + 1; t < 63; t++) assert_true(r.x[t] > 0 && r.x[t] < 15);
        start += at == 0;
    }
    check_count("trigger at the start", start, 2000, 1 / 61.0);
}

/* A list from its operator on; *at is behind its end then. */
static int list_value(const int32_t *x, int *at)
{
    int v[10], n = 0, op = x[*at] - 14, best = 0;
    if (op < 0) return x[(*at)++] - 4;
    for ((*at)++; x[*at] != 3;) {
        assert_true(n < 10);
        v[n++] = list_value(x, at);
    }
    (*at)++;
    assert_true(n >= 2);
    int count[10] = {0}, total = 0, low = 9;
    for (int j = 0; j < n; j++) {
        count[v[j]]++;
        total += v[j];
        if (v[j] > best) best = v[j];
        if (v[j] < low) low = v[j];
    }
    if (op == 0) return low;
    if (op == 1) return best;
    if (op == 3) return total % 10;
    int a = 0, b = 0, seen = 0; /* the middle ones by counting */
    for (int k = 0; k < 10; k++) {
        if (seen <= (n - 1) / 2 && (n - 1) / 2 < seen + count[k]) a = k;
        if (seen <= n / 2 && n / 2 < seen + count[k]) b = k;
        seen += count[k];
    }
    return (a + b) / 2;
}

TEST(tasks_listops_has_the_value_of_the_list)
{
    double length = 0, ends = 0;
    int    n = 300;
    rig    r = open_task("listops", true, "");
    for (int j = 0; j < n; j++) {
        make(&r, (uint64_t)j);
        int at = answer_at(&r), behind = 0;
        assert_int_equal(list_value(r.x, &behind), r.y[at]);
        assert_true(behind == at && r.x[at] == 2 && at > 500 && at < 2000);
        length += at;
        ends += r.y[at] == 0 || r.y[at] == 9;
    }
    assert_true(fabs(length / n - 1029) < 5 * 430 / sqrt(n)); /* deviation of one: below 430 */
    check_count("answers 0 and 9", ends, n, 0.34);
}

TEST(tasks_needles_are_found_by_their_key)
{
    double starts = 0;
    for (int j = 0; j < 500; j++) {
        bool many = j % 2 == 1, test = j % 4 > 1;
        rig  r = open_task("needle", test, many ? "items 4 random_non_queries true" : "");
        make(&r, (uint64_t)j);
        int q = 0, at = 0;
        while (r.x[q] != 2) q++;
        while (r.x[at] != 1 || r.x[at + 1] != r.x[q + 1]) at++;
        assert_true(at < q && asked(&r) == 7 && r.x[at + 2] > 3);
        for (int k = 0; k < 7; k++) {
            assert_int_equal(r.y[q + 1 + k], r.x[at + 2 + k]);
            if (q + 2 + k < 255 && k < 6) assert_int_equal(r.x[q + 2 + k], r.x[at + 2 + k]);
        }
        if (test) assert_int_equal(q + 8, 255);
        starts += !many && at == 0;
    }
    assert_true(starts > 0);
}

/* ---- recall --------------------------------------------------------------------------------- */

TEST(tasks_forgetting_recall_asks_for_the_last_value)
{
    rig r = open_task("forgetting-recall", true, "vocab 64 random_non_queries false");
    for (uint64_t j = 0; j < 300; j++) {
        int replaced = 0;
        make(&r, j);
        assert_int_equal(asked(&r), 8);
        for (int t = 24; t < 64; t++) {
            int last = -1, times = 0;
            if (r.y[t] == NONE) continue;
            for (int k = 0; k < 24; k += 2)
                if (r.x[k] == r.x[t]) {
                    if (last >= 0) assert_true(r.x[last] != r.x[k + 1]);
                    last = k + 1;
                    times++;
                }
            assert_true(times == 1 || times == 2);
            assert_int_equal(r.y[t], r.x[last]);
            replaced += times == 2;
        }
        assert_int_equal(replaced, 4);
    }
}

TEST(tasks_compositional_recall_needs_both_tokens)
{
    rig r = open_task("compositional-recall", true, "vocab 60 pairs 9 random_non_queries false");
    for (uint64_t j = 0; j < 300; j++) {
        make(&r, j);
        assert_int_equal(asked(&r), 9);
        for (int t = 27; t < 64; t++) {
            int found = 0, first = 0;
            for (int k = 0; k < 27 && r.y[t] != NONE; k += 3) {
                first += r.x[k] == r.x[t - 1];
                if (r.x[k] != r.x[t - 1] || r.x[k + 1] != r.x[t]) continue;
                assert_int_equal(r.x[k + 2], r.y[t]);
                found++;
            }
            assert_true(r.y[t] == NONE || (found == 1 && first == 3));
        }
    }
}

TEST(tasks_stacked_recall_asks_for_values_of_pairs)
{
    rig r = open_task("stacked-recall", true, "vocab 16");
    for (uint64_t j = 0; j < 300; j++) {
        make(&r, j);
        for (int t = 4; t < 8; t++) {
            int found = 0;
            assert_int_equal(r.x[t] % 9, 0);
            for (int k = 0; k < 4; k++) {
                if (r.x[k] / 9 != r.x[t] / 9) continue;
                assert_int_equal(r.x[k] % 9 - 1, r.y[t]);
                found++;
            }
            assert_int_equal(found, 1);
        }
        assert_int_equal(asked(&r), 4);
    }
}

/* ---- chance and scores ---------------------------------------------------------------------- */

/* Whoever says one answer always is right as often as chance says, on average over answers. */
TEST(tasks_chance_is_that_of_a_constant_answer)
{
    static const struct {
        const char *name, *more;
        int         answers;
    } rows[] = {{"mqar", "vocab 64", 32},
                {"mad-recall", "", 8},
                {"mad-noisy-recall", "", 8},
                {"mad-fuzzy-recall", "", 8},
                {"mad-copying", "", 14},
                {"mad-memorisation", "", 127},
                {"parity", "", 2},
                {"modular-sums", "", 5},
                {"induction", "", 14},
                {"stacked-recall", "vocab 32", 16},
                {"forgetting-recall", "vocab 64", 32}};
    for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
        rig  r        = open_task(rows[j].name, true, rows[j].more);
        int  seen     = 0;
        bool has[512] = {false};
        for (uint64_t k = 0; k < 400; k++) {
            make(&r, k);
            for (int t = 0; t < r.c.length; t++) {
                if (r.y[t] == NONE || has[r.y[t]]) continue;
                has[r.y[t]] = true;
                seen++;
            }
        }
        assert_int_equal(seen, rows[j].answers);
        assert_true(fabs(r.t->chance(&r.c) * rows[j].answers - 1) < 0.01);
    }
}

TEST(tasks_scores_follow_their_metric)
{
    int64_t          asked_of[3] = {6, 2, 0}, right_of[3] = {6, 0, 0};
    lcsm_task_counts c = {3, asked_of, right_of};
    rig              r = open_task("parity", true, "");
    assert_true(fabs(lcsm_task_score(r.t, &r.c, &c) - 0.5) < 1e-12);
    r = open_task("mad-recall", true, "");
    assert_true(fabs(lcsm_task_score(r.t, &r.c, &c) - 0.5) < 1e-12); /* the third is never asked */
    right_of[1] = 1;
    assert_true(fabs(lcsm_task_score(r.t, &r.c, &c) - 0.75) < 1e-12);
    r = open_task("induction", true, "");
    assert_true(fabs(lcsm_task_score(r.t, &r.c, &c) - 7 / 8.0) < 1e-12);
    assert_true(isnan(lcsm_task_score(&lcsm_task_lm, NULL, &c)));
    assert_true(fabs(lcsm_task_published(&lcsm_task_parity, "mamba-signed") - 1) < 1e-12);
    assert_true(isnan(lcsm_task_published(&lcsm_task_parity, "nobody")));
}

/* Every generator's short example has something to read and something that is asked. */
TEST(tasks_have_a_sample_in_a_line)
{
    char   text[512];
    double chance;
    for (size_t j = 0; j < LCSM_TASK_COUNT; j++) {
        bool made = lcsm_task_sample(LCSM_TASKS[j], text, sizeof text, &chance);
        assert_int_equal(made, !lcsm_task_reads_text(LCSM_TASKS[j]));
        if (!made) continue;
        assert_true(*text != '{' && strchr(text, '{') != NULL);
        assert_true(chance > 0 && chance < 1);
    }
    assert_true(lcsm_task_sample(LCSM_TASKS[lcsm_task_find("parity")], text, sizeof text, &chance));
    int ones = 0;
    for (char *p = text; *p != '{'; p++) ones += *p == '1';
    assert_int_equal(strchr(text, '{')[1], "01"[ones % 2]);
    assert_near(chance, 0.5, 0);
}
