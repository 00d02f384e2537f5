/* test_report_record.c - what a run's folder says of it: figures, half-lives. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/safetensors.h"
#include "near.h"
#include "report/decay.h"
#include "run_files.h"
#include "test.h"
#include "text_has.h"

/* ---- runs ---------------------------------------------------------------------------------- */

TEST(record_tells_figures_of_a_finished_run)
{
    temp_folder f = temp_folder_make();
    put_run(&f, "run", "{\"code\": \"1-1-1-0\", \"tau\": 16.0, \"task\": \"lm\"}",
            TRAIN(1, 3.0) EVAL(1, 2.5, 0.1) TRAIN(2, 2.0) EVAL(2, 1.5, 0.4) EVAL(3, 1.7, 0.3)
                END("steps"));
    lcsm_record r = read_run(&f, "run");
    char        text[64];
    assert_int_equal(r.state, LCSM_RECORD_DONE);
    assert_int_equal(r.train_count, 2);
    assert_near(lcsm_record_value(&r, lcsm_metric_find("perplexity")), exp(1.5), 1e-12);
    assert_near(lcsm_record_value(&r, lcsm_metric_find("accuracy")), 0.4, 0);
    assert_near(lcsm_record_value(&r, lcsm_metric_find("seconds")), 9.5, 0);
    assert_near(lcsm_record_value(&r, lcsm_metric_find("tokens")), 40, 0);
    assert_true(isnan(lcsm_record_test(&r, lcsm_metric_find("loss"))));
    assert_string_equal(lcsm_record_setting(&r, "tau", text), "16");
    assert_string_equal(lcsm_record_setting(&r, "none", text), "");
    assert_null(lcsm_metric_find("beauty"));
    lcsm_record_free(&r);
    temp_folder_remove(&f);
}

TEST(record_of_runs_that_did_not_end_says_how)
{
    temp_folder f = temp_folder_make();
    put_run(&f, "going", "{}", TRAIN(1, 3.0) "{\"kind\":\"tra");
    put_run(&f, "stopped", "{}", TRAIN(1, 3.0) END("signal"));
    put_run(&f, "broken", "{\"a\":", TRAIN(1, 3.0) "no json\n" END("not-finite"));
    put_file(&f, "given-up", "failed.txt", "exit 3: no such file\nmore\n");
    const struct {
        const char       *name;
        lcsm_record_state state;
    } cases[] = {{"going", LCSM_RECORD_UNFINISHED},
                 {"stopped", LCSM_RECORD_UNFINISHED},
                 {"broken", LCSM_RECORD_FAILED},
                 {"given-up", LCSM_RECORD_FAILED},
                 {"nothing", LCSM_RECORD_MISSING}};
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_record r = read_run(&f, cases[j].name);
        assert_int_equal(r.state, cases[j].state);
        assert_int_equal(r.broken, j == 2);
        if (j == 3) assert_string_equal(r.message, "exit 3: no such file");
        lcsm_record_free(&r);
    }
    temp_folder_remove(&f);
}

TEST(record_of_a_resumed_run_has_each_step_once)
{
    temp_folder f = temp_folder_make();
    put_run(&f, "run", "{}",
            TRAIN(1, 3.0) TRAIN(2, 2.0) EVAL(2, 9, 0) TRAIN(3, 1.0) END("signal") TRAIN(2, 2.5)
                EVAL(2, 2.4, 0) TRAIN(3, 1.5) END("steps"));
    lcsm_record r = read_run(&f, "run");
    assert_int_equal(r.state, LCSM_RECORD_DONE);
    assert_int_equal(r.train_count, 3);
    assert_int_equal(r.eval_count, 1);
    assert_near(r.train[1].loss, 2.5, 0);
    assert_near(r.eval[0].loss, 2.4, 0);
    lcsm_record_free(&r);
    temp_folder_remove(&f);
}

TEST(record_of_a_run_that_goes_on_is_as_far_as_its_last_line)
{
    temp_folder f = temp_folder_make();
    put_run(&f, "run", "{}", TRAIN(3, 1.0) END("signal") TRAIN(5, 1.0));
    lcsm_record r = read_run(&f, "run");
    assert_int_equal(r.state, LCSM_RECORD_UNFINISHED);
    assert_near(r.steps, 5, 0);
    assert_near(r.seconds, 5, 0);
    assert_near(r.tokens, 50, 0);
    lcsm_record_free(&r);
    temp_folder_remove(&f);
}

/* The run's own number, that of its end or of its last line, whatever evaluations lie between. */
TEST(record_speed_is_what_the_run_said)
{
    static const struct {
        const char *metrics;
        double      speed;
    } cases[] = {
        {TRAIN(1, 3.0) TRAIN(2, 2.0), 100},
        {TRAIN(1, 3.0) EVAL(1, 3, 0) TRAIN(2, 2.0) EVAL(2, 3, 0) TRAIN(4, 2.0) END("steps"), 100},
        {TRAIN(1, 3.0) "{\"kind\":\"end\",\"step\":4,\"tokens_per_second\":120}\n", 120},
    };
    temp_folder f = temp_folder_make();
    for (size_t j = 0; j < COUNT(cases); j++) {
        put_run(&f, "run", "{\"batch_size\": 2, \"seq_len\": 2, \"accumulate\": 1}",
                cases[j].metrics);
        lcsm_record r = read_run(&f, "run");
        assert_near(lcsm_record_value(&r, lcsm_metric_find("speed")), cases[j].speed, 1e-12);
        lcsm_record_free(&r);
    }
    temp_folder_remove(&f);
}

/* A value of the test set is not shown as one of the validation set. */
TEST(record_of_a_run_without_validation_has_only_its_test)
{
    temp_folder f = temp_folder_make();
    put_run(&f, "run", "{}",
            TRAIN(1, 3.0) "{\"kind\":\"eval\",\"step\":1,\"split\":\"test\",\"loss\":2}\n" END(
                "steps"));
    lcsm_record r = read_run(&f, "run");
    assert_true(isnan(lcsm_record_value(&r, lcsm_metric_find("loss"))));
    assert_near(lcsm_record_test(&r, lcsm_metric_find("loss")), 2, 0);
    lcsm_record_free(&r);
    temp_folder_remove(&f);
}

/* ---- half-lives ---------------------------------------------------------------------------- */

TEST(decays_of_learned_gates_are_half_lives)
{
    temp_folder f = temp_folder_make();
    /* tau 2: sigmoid(0)^(1/2) halves in two tokens. */
    const float             z[3] = {0, 100, -2};
    const lcsm_named_tensor t[]  = {
         {.name    = "layers.0.mixer.o_k",
          .element = LCSM_ELEMENT_F32,
          .rank    = 2,
          .shape   = {1, 3},
          .data    = z},
         {.name    = "layers.1.mixer.o_k",
          .element = LCSM_ELEMENT_F32,
          .rank    = 2,
          .shape   = {1, 3},
          .data    = z},
    };
    lcsm_decays d;
    put_run(&f, "run", "{\"code\": \"1-4-1-0\", \"tau\": 2.0}", END("steps"));
    assert_int_equal(
        lcsm_safetensors_save(temp_path(&f, "run/model.safetensors"), t, 2, NULL, 0, NULL),
        LCSM_OK);
    lcsm_record r = read_run(&f, "run");
    assert_int_equal(lcsm_decays_read(&d, &r, NULL), LCSM_OK);
    assert_int_equal(d.layers, 2);
    assert_int_equal(d.rows, 3);
    assert_true(d.half_life[0] > 1e20);
    assert_near(d.half_life[1], 2, 1e-9);
    assert_near(d.half_life[5], 2 * log(0.5) / log(1 / (1 + exp(2))), 1e-6);
    lcsm_decays_free(&d);

    put_file(&f, "run", "inspect.json", "{\"layers\": [{\"half_life\": [1, null, 3]}]}");
    assert_int_equal(lcsm_decays_read(&d, &r, NULL), LCSM_OK);
    assert_true(!d.from_inspect); /* its numbers have another meaning */
    lcsm_decays_free(&d);
    put_file(&f, "run", "inspect.json",
             "{\"version\": 3, \"layers\": [{\"half_life\": [1, null, 3]}]}");
    assert_int_equal(lcsm_decays_read(&d, &r, NULL), LCSM_OK);
    assert_true(d.from_inspect && isinf(d.half_life[0]));
    assert_near(d.half_life[2], 1, 0);
    lcsm_decays_free(&d);
    lcsm_record_free(&r);
    temp_folder_remove(&f);
}

TEST(decays_of_gates_from_the_data_are_not_read_from_weights)
{
    temp_folder             f    = temp_folder_make();
    const float             z[1] = {0};
    const lcsm_named_tensor t    = {.name    = "layers.0.mixer.o_k",
                                    .element = LCSM_ELEMENT_F32,
                                    .rank    = 2,
                                    .shape   = {1, 1},
                                    .data    = z};
    lcsm_decays             d;
    put_run(&f, "run", "{\"code\": \"1-8-1-0\", \"tau\": 2.0}", END("steps"));
    assert_int_equal(
        lcsm_safetensors_save(temp_path(&f, "run/model.safetensors"), &t, 1, NULL, 0, NULL),
        LCSM_OK);
    lcsm_record r = read_run(&f, "run");
    assert_int_equal(lcsm_decays_read(&d, &r, NULL), LCSM_OK);
    assert_int_equal(d.layers, 0);
    lcsm_record_free(&r);
    temp_folder_remove(&f);
}
