/* Sampling: what each setting leaves, and that frequencies are the probabilities. */
#include <lcsm/generate.h>
#include <math.h>
#include <string.h>

#include "near.h"
#include "test.h"

enum { V = 6, DRAWS = 20000 };

/* exp of these sums to 1 without rounding to speak of. */
static const double P[V] = {0.05, 0.4, 0.1, 0.3, 0.149, 0.001};

static void logits_of(float z[V])
{
    for (int v = 0; v < V; v++) z[v] = (float)log(P[v]);
}

/* How often each token is drawn. */
static void draw(const lcsm_sample_options *o, double share[V])
{
    float         z[V];
    lcsm_sampler *s;
    logits_of(z);
    assert_int_equal(lcsm_sampler_create(&s, V, o, NULL), LCSM_OK);
    memset(share, 0, V * sizeof *share);
    for (uint64_t j = 0; j < DRAWS; j++) {
        int32_t token;
        assert_int_equal(lcsm_sampler_next(s, z, j, NULL, 0, &token, NULL), LCSM_OK);
        assert_true(token >= 0 && token < V);
        share[token] += 1;
    }
    for (int v = 0; v < V; v++) share[v] /= DRAWS;
    lcsm_sampler_free(s);
}

/* Shares against weights, which are scaled to sum 1. Five standard deviations of a share. */
static void assert_shares(const lcsm_sample_options *o, const double weight[V])
{
    double share[V], sum = 0;
    draw(o, share);
    for (int v = 0; v < V; v++) sum += weight[v];
    for (int v = 0; v < V; v++) {
        double p = weight[v] / sum;
        assert_near(share[v], p, 5 * sqrt(p * (1 - p) / DRAWS));
    }
}

TEST(sampler_draws_by_probability)
{
    assert_shares(&(lcsm_sample_options){.size = sizeof(lcsm_sample_options), .temperature = 1}, P);
}

TEST(sampler_temperature_is_a_power_of_probability)
{
    double w[V];
    for (int v = 0; v < V; v++) w[v] = P[v] * P[v];
    assert_shares(&(lcsm_sample_options){.size = sizeof(lcsm_sample_options), .temperature = 0.5},
                  w);
}

TEST(sampler_without_temperature_takes_the_best)
{
    assert_shares(&(lcsm_sample_options){.size = sizeof(lcsm_sample_options)},
                  (double[V]){0, 1, 0, 0, 0, 0});
}

TEST(sampler_top_k_leaves_the_k_best)
{
    assert_shares(
        &(lcsm_sample_options){.size = sizeof(lcsm_sample_options), .temperature = 1, .top_k = 3},
        (double[V]){0, 0.4, 0, 0.3, 0.149, 0});
    assert_shares(
        &(lcsm_sample_options){.size = sizeof(lcsm_sample_options), .temperature = 1, .top_k = 1},
        (double[V]){0, 1, 0, 0, 0, 0});
    assert_shares(
        &(lcsm_sample_options){.size = sizeof(lcsm_sample_options), .temperature = 1, .top_k = 100},
        P);
}

TEST(sampler_top_p_leaves_the_fewest_that_reach_it)
{
    assert_shares(&(lcsm_sample_options){.size        = sizeof(lcsm_sample_options),
                                         .temperature = 1,
                                         .top_p       = 0.71},
                  (double[V]){0, 0.4, 0, 0.3, 0.149, 0});
    assert_shares(&(lcsm_sample_options){.size        = sizeof(lcsm_sample_options),
                                         .temperature = 1,
                                         .top_p       = 0.69},
                  (double[V]){0, 0.4, 0, 0.3, 0, 0});
    assert_shares(&(lcsm_sample_options){.size        = sizeof(lcsm_sample_options),
                                         .temperature = 1,
                                         .top_p       = 0.01},
                  (double[V]){0, 1, 0, 0, 0, 0});
}

TEST(sampler_min_p_is_a_part_of_the_largest)
{
    assert_shares(
        &(lcsm_sample_options){.size = sizeof(lcsm_sample_options), .temperature = 1, .min_p = 0.3},
        (double[V]){0, 0.4, 0, 0.3, 0.149, 0});
}

TEST(sampler_penalty_divides_and_multiplies_once_for_each_token)
{
    lcsm_sample_options o      = {.size = sizeof o, .repeat_penalty = 2};
    float               z[3]   = {4, 3, -1};
    int32_t             old[3] = {0, 0, 0}, token;
    lcsm_sampler       *s;
    assert_int_equal(lcsm_sampler_create(&s, 3, &o, NULL), LCSM_OK);
    assert_int_equal(lcsm_sampler_next(s, z, 0, old, 3, &token, NULL), LCSM_OK);
    assert_int_equal(token, 1); /* 4 / 2 = 2 < 3 */
    z[1] = 1.5f;
    assert_int_equal(lcsm_sampler_next(s, z, 0, old, 3, &token, NULL), LCSM_OK);
    assert_int_equal(token, 0); /* divided once, not three times */
    z[0] = -2;
    z[1] = -9;
    z[2] = -3;
    assert_int_equal(lcsm_sampler_next(s, z, 0, old, 3, &token, NULL), LCSM_OK);
    assert_int_equal(token, 2); /* -2 * 2 = -4 < -3 */
    lcsm_sampler_free(s);
}

TEST(sampler_same_seed_and_index_give_the_same_token)
{
    float         z[V];
    int           differ = 0;
    lcsm_sampler *a, *b, *c;
    logits_of(z);
    assert_int_equal(lcsm_sampler_create(&a, V,
                                         &(lcsm_sample_options){.size = sizeof(lcsm_sample_options),
                                                                .temperature = 1,
                                                                .seed        = 1},
                                         NULL),
                     0);
    assert_int_equal(lcsm_sampler_create(&b, V,
                                         &(lcsm_sample_options){.size = sizeof(lcsm_sample_options),
                                                                .temperature = 1,
                                                                .seed        = 1},
                                         NULL),
                     0);
    assert_int_equal(lcsm_sampler_create(&c, V,
                                         &(lcsm_sample_options){.size = sizeof(lcsm_sample_options),
                                                                .temperature = 1,
                                                                .seed        = 2},
                                         NULL),
                     0);
    for (uint64_t j = 0; j < 100; j++) {
        int32_t x, y, w;
        assert_int_equal(lcsm_sampler_next(a, z, 99 - j, NULL, 0, &x, NULL), LCSM_OK);
        assert_int_equal(lcsm_sampler_next(b, z, 99 - j, NULL, 0, &y, NULL), LCSM_OK);
        assert_int_equal(lcsm_sampler_next(c, z, 99 - j, NULL, 0, &w, NULL), LCSM_OK);
        assert_int_equal(x, y);
        differ += x != w;
    }
    assert_true(differ > 20);
    lcsm_sampler_free(a);
    lcsm_sampler_free(b);
    lcsm_sampler_free(c);
}

TEST(sampler_top_k_of_many_is_that_of_a_sort)
{
    enum { MANY = 997, K = 40 };
    float               z[MANY];
    lcsm_sampler       *s;
    lcsm_sample_options o = {.size = sizeof o, .temperature = 1e2, .top_k = K};
    for (int v = 0; v < MANY; v++) z[v] = (float)((v * 7919) % MANY % 500); /* pairs are equal */
    assert_int_equal(lcsm_sampler_create(&s, MANY, &o, NULL), LCSM_OK);
    for (uint64_t j = 0; j < 2000; j++) {
        int32_t token;
        int     above = 0;
        assert_int_equal(lcsm_sampler_next(s, z, j, NULL, 0, &token, NULL), LCSM_OK);
        for (int v = 0; v < MANY; v++) above += z[v] > z[token] || (z[v] == z[token] && v < token);
        assert_true(above < K);
    }
    lcsm_sampler_free(s);
}

TEST(sampler_refuses_what_makes_no_sense)
{
    float         z[3] = {0, NAN, 1}, none[3] = {-INFINITY, -INFINITY, -INFINITY};
    int32_t       token;
    lcsm_sampler *s;
    lcsm_error    err = {0};
    assert_int_equal(
        lcsm_sampler_create(
            &s, 3, &(lcsm_sample_options){.size = sizeof(lcsm_sample_options), .top_p = 2}, &err),
        LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "top_p is 2; expected 0 to 1"));
    assert_int_equal(lcsm_sampler_create(&s, 3,
                                         &(lcsm_sample_options){.size = sizeof(lcsm_sample_options),
                                                                .temperature = NAN},
                                         &err),
                     LCSM_ERR_ARGUMENT);
    assert_null(s);
    assert_int_equal(lcsm_sampler_create(&s, 3,
                                         &(lcsm_sample_options){.size = sizeof(lcsm_sample_options),
                                                                .temperature = 1},
                                         &err),
                     LCSM_OK);
    assert_int_equal(lcsm_sampler_next(s, z, 0, NULL, 0, &token, &err), LCSM_ERR_NUMBER);
    assert_non_null(strstr(err.text, "the logit of token 1"));
    assert_int_equal(lcsm_sampler_next(s, none, 0, NULL, 0, &token, &err), LCSM_ERR_NUMBER);
    lcsm_sampler_free(s);
}
