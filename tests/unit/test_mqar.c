/* The generator of associative recall: structure, distribution, bad settings. */
#include <math.h>
#include <string.h>

#include "task/mqar.h"
#include "test.h"

enum { N = 32, P = 4, V = 64, SLOTS = (N - 2 * P) / 2 };

static const lcsm_mqar_config SMALL = {
    .vocab = V, .length = N, .pairs = P, .power = 0.01, .seed = 7};

/* Every rule of an example that has no random tokens between its queries. */
static void check_example(const lcsm_mqar_config *cfg, const int32_t *x, const int32_t *y)
{
    int64_t asked = 0;
    for (int64_t j = 0; j < cfg->pairs; j++) {
        assert_in_range(x[2 * j], 1, cfg->vocab / 2 - 1);
        assert_in_range(x[2 * j + 1], cfg->vocab / 2, cfg->vocab - 1);
        for (int64_t k = 0; k < j; k++)
            assert_true(x[2 * j] != x[2 * k] && x[2 * j + 1] != x[2 * k + 1]);
    }
    for (int64_t t = 0; t < cfg->length; t++) {
        if (t < 2 * cfg->pairs || t % 2 == 1 || x[t] == 0) {
            assert_int_equal(y[t], LCSM_MQAR_IGNORED);
            assert_true(t < 2 * cfg->pairs || x[t] == 0);
            continue;
        }
        int64_t j = 0;
        while (j < cfg->pairs && x[2 * j] != x[t]) j++;
        assert_true(j < cfg->pairs);
        assert_int_equal(y[t], x[2 * j + 1]);
        asked++;
    }
    assert_int_equal(asked, cfg->pairs);
}

TEST(mqar_examples_follow_the_rules)
{
    /* The second has exactly as many slots as pairs, and the third all keys that there are. */
    const lcsm_mqar_config cases[] = {SMALL,
                                      {.vocab = 8192, .length = 64, .pairs = 16, .power = 0.01},
                                      {.vocab = 10, .length = 18, .pairs = 4, .power = 1},
                                      {.vocab = 4, .length = 4, .pairs = 1, .power = 0.5}};
    int32_t                x[64], y[64];
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        assert_int_equal(lcsm_mqar_check(&cases[c], NULL), LCSM_OK);
        for (uint64_t n = 0; n < 50; n++) {
            lcsm_mqar_example(&cases[c], n, x, y);
            check_example(&cases[c], x, y);
        }
    }
}

TEST(mqar_examples_depend_on_seed_and_number_alone)
{
    lcsm_mqar_config other = SMALL;
    int32_t          a[N], b[N], y[N];
    lcsm_mqar_example(&SMALL, 3, a, y);
    lcsm_mqar_example(&SMALL, 4, b, y);
    assert_memory_not_equal(a, b, sizeof a);
    lcsm_mqar_example(&SMALL, 3, b, y);
    assert_memory_equal(a, b, sizeof a);
    other.seed = 8;
    lcsm_mqar_example(&other, 3, b, y);
    assert_memory_not_equal(a, b, sizeof a);
}

/* Counts of n draws with chance p stay within five standard deviations. */
static void check_count(double count, double n, double p)
{
    if (fabs(count - n * p) > 5 * sqrt(n * p * (1 - p)))
        fail_msg("counted %g of %g, expected %g", count, n, n * p);
}

static int64_t slot_of_pair(const int32_t *x, int64_t pair)
{
    for (int64_t g = 0; g < SLOTS; g++)
        if (x[2 * P + 2 * g] == x[2 * pair]) return g;
    fail_msg("pair %d is not asked", (int)pair);
    return 0;
}

static void check_slots(double power)
{
    enum { EXAMPLES = 40000 };
    lcsm_mqar_config cfg = SMALL;
    double           w[SLOTS], first[SLOTS] = {0}, second[SLOTS] = {0}, keys[V] = {0};
    int32_t          x[N], y[N];
    cfg.power = power;
    lcsm_mqar_weights(&cfg, w);
    for (uint64_t n = 0; n < EXAMPLES; n++) {
        lcsm_mqar_example(&cfg, n, x, y);
        first[slot_of_pair(x, 0)]++;
        second[slot_of_pair(x, 1)]++;
        keys[x[0]]++;
        keys[x[1]]++;
    }
    for (int g = 0; g < SLOTS; g++) {
        double p = 0; /* drawn second: another slot first, and what is left renormalised */
        for (int h = 0; h < SLOTS; h++)
            if (h != g) p += w[h] * w[g] / (1 - w[h]);
        check_count(first[g], EXAMPLES, w[g]);
        check_count(second[g], EXAMPLES, p);
    }
    assert_true(keys[0] == 0);
    for (int v = 1; v < V; v++) check_count(keys[v], EXAMPLES, v < V / 2 ? 1.0 / 31 : 1.0 / 32);
}

TEST(mqar_slots_and_tokens_have_their_distribution)
{
    check_slots(0.01);
    check_slots(0.5);
    check_slots(1);
}

TEST(mqar_random_tokens_fill_what_is_not_asked)
{
    lcsm_mqar_config cfg = SMALL;
    int32_t          x[N], y[N], plain[N];
    double           count[V] = {0}, n = 0;
    cfg.random_non_queries = true;
    for (uint64_t j = 0; j < 2000; j++) {
        lcsm_mqar_example(&SMALL, j, plain, y);
        lcsm_mqar_example(&cfg, j, x, y);
        for (int t = 0; t < N; t++) {
            if (plain[t] != 0) assert_int_equal(x[t], plain[t]);
            else {
                assert_in_range(x[t], 0, V - 1);
                count[x[t]]++;
                n++;
            }
        }
    }
    for (int v = 0; v < V; v++) check_count(count[v], n, 1.0 / V);
}

static void refused(lcsm_mqar_config cfg, const char *word)
{
    lcsm_error err = {0};
    assert_int_equal(lcsm_mqar_check(&cfg, &err), LCSM_ERR_CONFIG);
    if (strstr(err.text, word) == NULL) fail_msg("'%s' does not say '%s'", err.text, word);
}

TEST(mqar_settings_that_cannot_be_are_refused)
{
    refused((lcsm_mqar_config){.vocab = 3, .length = 32, .pairs = 2, .power = 0.01}, "vocab is 3");
    refused((lcsm_mqar_config){.vocab = 64, .length = 33, .pairs = 2, .power = 0.01}, "even");
    refused((lcsm_mqar_config){.vocab = 64, .length = 32, .pairs = 9, .power = 0.01},
            "expected 1 to 8");
    refused((lcsm_mqar_config){.vocab = 64, .length = 32, .pairs = 0, .power = 0.01},
            "expected 1 to 8");
    refused((lcsm_mqar_config){.vocab = 8, .length = 32, .pairs = 4, .power = 0.01}, "at most 3");
    refused((lcsm_mqar_config){.vocab = 64, .length = 32, .pairs = 2, .power = 0}, "power is 0");
    refused((lcsm_mqar_config){.vocab = 64, .length = 32, .pairs = 2, .power = NAN}, "power is");
}
