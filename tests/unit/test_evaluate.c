/* Evaluation against sums over logits of a session, which knows nothing of blocks. */
#include <lcsm/evaluate.h>
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/config.h"
#include "near.h"
#include "temp_folder.h"
#include "test.h"

enum { V = 256, SIZE = 2500 };

/* Mean losses agree to some ulps of float logits. */
#define BOUND 2e-6

typedef struct {
    temp_folder     f;
    lcsm_context   *ctx;
    lcsm_tokenizer *tok;
    lcsm_dataset   *data;
    lcsm_model     *model;
    char            text[SIZE];
} fixture;

static fixture make(const char *method)
{
    fixture           x = {.f = temp_folder_make()};
    lcsm_model_config cfg;
    lcsm_error        err = {0};
    const char       *path;
    for (size_t j = 0; j < SIZE; j++) x.text[j] = "so it goes, and on.\n"[(j * j / 7 + j) % 20];
    temp_write(&x.f, "text", x.text, SIZE);
    path = temp_path(&x.f, "text");
    lcsm_model_config_defaults(&cfg);
    cfg.d_model = 16;
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_tokenizer_bytes(&x.tok, NULL), LCSM_OK);
    if (lcsm_dataset_open(&x.data, &path, 1, x.tok, NULL, NULL, NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lcsm_model_create(&x.model, x.ctx, &cfg, 1, NULL), LCSM_OK);
    return x;
}

static void done(fixture *x)
{
    lcsm_model_free(x->model);
    lcsm_dataset_free(x->data);
    lcsm_tokenizer_free(x->tok);
    lcsm_context_free(x->ctx);
    temp_folder_remove(&x->f);
}

static lcsm_evaluation evaluate(const fixture *x, lcsm_evaluate_options o)
{
    lcsm_evaluation r   = {.size = sizeof r};
    lcsm_error      err = {0};
    if (lcsm_evaluate(x->model, x->data, &o, &r, NULL, NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return r;
}

static double log_sum(const float *z)
{
    double most = (double)z[0], sum = 0;
    for (size_t v = 1; v < V; v++) most = fmax(most, (double)z[v]);
    for (size_t v = 0; v < V; v++) sum += exp((double)z[v] - most);
    return most + log(sum);
}

static bool is_best(const float *z, size_t target)
{
    for (size_t v = 0; v < V; v++)
        if (z[v] > z[target]) return false;
    return true;
}

/* The same by a session that is reset every T tokens. */
static void by_hand(const fixture *x, size_t T, double *loss, double *accuracy)
{
    lcsm_session *s;
    double        sum = 0, right = 0;
    assert_int_equal(lcsm_session_create(&s, x->model, NULL, NULL), LCSM_OK);
    for (size_t t = 0; t < SIZE; t++) {
        int32_t token  = t > 0 ? (unsigned char)x->text[t - 1] : lcsm_tokenizer_start(x->tok);
        size_t  target = (unsigned char)x->text[t];
        if (t % T == 0) lcsm_session_reset(s);
        assert_int_equal(lcsm_session_feed(s, &token, 1, NULL, NULL), LCSM_OK);
        const float *z = lcsm_session_logits(s);
        sum += log_sum(z) - (double)z[target];
        right += is_best(z, target);
    }
    *loss     = sum / SIZE;
    *accuracy = right / SIZE;
    lcsm_session_free(s);
}

TEST(evaluate_blocks_equals_a_session_that_is_reset)
{
    fixture             x   = make("gla");
    static const size_t T[] = {1, 100, 1024, 1500, 4000};
    for (size_t j = 0; j < sizeof T / sizeof T[0]; j++) {
        double          loss, accuracy;
        lcsm_evaluation r =
            evaluate(&x, (lcsm_evaluate_options){
                             .size = sizeof(lcsm_evaluate_options), .length = T[j], .batch = 3});
        by_hand(&x, T[j], &loss, &accuracy);
        assert_int_equal(r.tokens, SIZE);
        assert_near(r.loss, loss, BOUND);
        assert_near(r.accuracy, accuracy, 0.5 / SIZE);
        assert_near(r.perplexity, exp(loss), BOUND * exp(loss));
        assert_near(r.bits_per_byte, loss / log(2), 2 * BOUND); /* a token is a byte */
    }
    done(&x);
}

TEST(evaluate_carried_in_one_row_equals_the_whole_text)
{
    fixture x = make("mamba");
    double  loss, accuracy;
    by_hand(&x, SIZE, &loss, &accuracy);
    lcsm_evaluation r = evaluate(
        &x, (lcsm_evaluate_options){
                .size = sizeof(lcsm_evaluate_options), .length = 100, .batch = 1, .carried = true});
    assert_near(r.loss, loss, BOUND);
    r = evaluate(&x, (lcsm_evaluate_options){.size    = sizeof(lcsm_evaluate_options),
                                             .length  = 5000,
                                             .batch   = 1,
                                             .carried = true});
    assert_near(r.loss, loss, BOUND);
    done(&x);
}

TEST(evaluate_word_perplexity_spreads_the_loss_over_words)
{
    fixture         x     = make("gla");
    double          words = (double)lcsm_dataset_words(x.data);
    lcsm_evaluation r =
        evaluate(&x, (lcsm_evaluate_options){.size = sizeof(lcsm_evaluate_options), .length = 64});
    assert_near(log(r.word_perplexity), r.loss * SIZE / words, 1e-9);
    done(&x);
}

TEST(evaluate_curve_has_every_position_once)
{
    fixture         x   = make("gla");
    double          sum = 0, count = 0;
    lcsm_evaluation r = evaluate(
        &x,
        (lcsm_evaluate_options){.size = sizeof(lcsm_evaluate_options), .length = 125, .batch = 4});
    assert_int_equal(r.points, 8);
    for (size_t j = 0; j < r.points; j++) {
        double n = (double)(r.curve[j].to - r.curve[j].from);
        if (j > 0) assert_int_equal(r.curve[j].from, r.curve[j - 1].to);
        sum += n * r.curve[j].loss;
        count += n;
    }
    assert_near(count, 125, 0);
    assert_near(sum / count, r.loss, 1e-9); /* 2500 is a multiple of 125 */
    done(&x);
}

static bool stop_at_two(void *user, uint64_t batches, uint64_t total)
{
    *(uint64_t *)user = total;
    return batches < 2;
}

TEST(evaluate_stops_when_told_and_counts_what_it_did)
{
    fixture         x     = make("gla");
    uint64_t        total = 0;
    lcsm_evaluation r     = {.size = sizeof r};
    assert_int_equal(lcsm_evaluate(x.model, x.data,
                                   &(lcsm_evaluate_options){.size   = sizeof(lcsm_evaluate_options),
                                                            .length = 100,
                                                            .batch  = 2},
                                   &r, stop_at_two, &total, NULL),
                     LCSM_OK);
    assert_int_equal(total, 13);
    assert_int_equal(r.tokens, 400);
    assert_near(r.bits_per_byte, r.loss / log(2), 1e-9);
    r = evaluate(
        &x, (lcsm_evaluate_options){
                .size = sizeof(lcsm_evaluate_options), .length = 100, .batch = 2, .max_blocks = 3});
    assert_int_equal(r.tokens, 300);
    done(&x);
}

TEST(evaluate_refuses_a_text_with_more_tokens_than_the_model)
{
    fixture           x = make("gla");
    lcsm_model_config cfg;
    lcsm_model       *small;
    lcsm_evaluation   r   = {.size = sizeof r};
    lcsm_error        err = {0};
    lcsm_model_config_defaults(&cfg);
    cfg.d_model = 16;
    cfg.vocab   = 100;
    assert_int_equal(lcsm_model_create(&small, x.ctx, &cfg, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_evaluate(small, x.data, NULL, &r, NULL, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "vocabulary of 256, but the model has 100"));
    lcsm_model_free(small);
    done(&x);
}
