/* Text: the same for a seed, whole characters only, stopped where it should be. */
#include <lcsm/generate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/config.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

typedef struct {
    lcsm_context   *ctx;
    lcsm_tokenizer *tok;
    lcsm_model     *model;
    lcsm_session   *s;
} fixture;

static fixture make(void)
{
    fixture           x;
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    cfg.d_model = 16;
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_tokenizer_bytes(&x.tok, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&x.model, x.ctx, &cfg, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_create(&x.s, x.model, NULL, NULL), LCSM_OK);
    return x;
}

static void done(fixture *x)
{
    lcsm_session_free(x->s);
    lcsm_model_free(x->model);
    lcsm_tokenizer_free(x->tok);
    lcsm_context_free(x->ctx);
}

/* What came out, and how often. */
typedef struct {
    char   text[4096];
    size_t size, calls, most_calls;
} sink;

static bool valid_utf8(const unsigned char *p, size_t n)
{
    for (size_t j = 0; j < n;) {
        size_t more = p[j] < 0x80 ? 0 : p[j] >= 0xF0 ? 3 : p[j] >= 0xE0 ? 2 : 1;
        if (p[j] >= 0x80 && p[j] < 0xC2) return false;
        for (j++; more > 0; more--, j++)
            if (j >= n || (p[j] & 0xC0) != 0x80) return false;
    }
    return true;
}

static bool put(void *user, const char *text, size_t size)
{
    sink *k = user;
    assert_true(valid_utf8((const unsigned char *)text, size));
    assert_true(k->size + size < sizeof k->text);
    memcpy(k->text + k->size, text, size);
    k->size += size;
    k->text[k->size] = '\0';
    return ++k->calls != k->most_calls;
}

static lcsm_generate_end write_on(fixture *x, lcsm_generate_options o, sink *k)
{
    lcsm_generate_end end = {.size = sizeof end};
    lcsm_error        err = {0};
    if (lcsm_generate(x->s, x->tok, &o, put, k, &end, &err) != LCSM_OK) fail_msg("%s", err.text);
    return end;
}

static void prompt(fixture *x, const char *text)
{
    lcsm_error err = {0};
    if (lcsm_generate_prompt(x->s, x->tok,
                             &(lcsm_generate_options){.size = sizeof(lcsm_generate_options)}, text,
                             strlen(text), &err)
        != LCSM_OK)
        fail_msg("%s", err.text);
}

static const lcsm_sample_options WARM = {
    .size = sizeof WARM, .temperature = 1, .repeat_penalty = 1.2, .seed = 7};

TEST(generate_same_seed_gives_the_same_text_and_whole_characters)
{
    fixture x = make();
    sink    a = {0}, b = {0}, c = {0};
    prompt(&x, "Gr\xC3\xBC\xC3\x9F");
    assert_int_equal(write_on(&x,
                              (lcsm_generate_options){.size   = sizeof(lcsm_generate_options),
                                                      .sample = &WARM,
                                                      .tokens = 300},
                              &a)
                         .tokens,
                     300);
    lcsm_session_reset(x.s);
    prompt(&x, "Gr\xC3\xBC\xC3\x9F");
    write_on(&x,
             (lcsm_generate_options){
                 .size = sizeof(lcsm_generate_options), .sample = &WARM, .tokens = 300},
             &b);
    assert_true(a.size > 100);
    assert_string_equal(a.text, b.text);
    lcsm_sample_options other = WARM;
    other.seed                = 8;
    lcsm_session_reset(x.s);
    prompt(&x, "Gr\xC3\xBC\xC3\x9F");
    write_on(&x,
             (lcsm_generate_options){
                 .size = sizeof(lcsm_generate_options), .sample = &other, .tokens = 300},
             &c);
    assert_string_not_equal(a.text, c.text);
    done(&x);
}

TEST(generate_goes_on_from_a_saved_state_as_if_it_had_not_stopped)
{
    fixture     x     = make();
    temp_folder f     = temp_folder_make();
    sink        whole = {0}, first = {0}, rest = {0};
    prompt(&x, "abc");
    write_on(&x,
             (lcsm_generate_options){
                 .size = sizeof(lcsm_generate_options), .sample = &WARM, .tokens = 400},
             &whole);
    lcsm_session_reset(x.s);
    prompt(&x, "abc");
    /* The cut must not be inside of a character, so it is where one was just handed out. */
    first.most_calls = 90;
    assert_int_equal(write_on(&x,
                              (lcsm_generate_options){.size   = sizeof(lcsm_generate_options),
                                                      .sample = &WARM,
                                                      .tokens = 400},
                              &first)
                         .reason,
                     LCSM_END_CALLER);
    assert_int_equal(lcsm_session_save_state(x.s, temp_path(&f, "s"), NULL), LCSM_OK);
    lcsm_session_reset(x.s);
    assert_int_equal(lcsm_session_load_state(x.s, temp_path(&f, "s"), NULL), LCSM_OK);
    prompt(&x, "");
    size_t made = (size_t)lcsm_session_position(x.s) - 3;
    write_on(&x,
             (lcsm_generate_options){
                 .size = sizeof(lcsm_generate_options), .sample = &WARM, .tokens = 400 - made},
             &rest);
    memcpy(first.text + first.size, rest.text, rest.size + 1);
    assert_string_equal(first.text, whole.text);
    temp_folder_remove(&f);
    done(&x);
}

/* A model that says the same for ever: token t is followed by t + 1, and the last one by the first.
 * Its blocks give nothing, its embedding is orthogonal, and its head is the embedding moved on. */
static void make_loop(fixture *x, const char *text)
{
    lcsm_model_config cfg;
    lcsm_session_free(x->s);
    lcsm_model_free(x->model);
    lcsm_model_config_defaults(&cfg);
    cfg.d_model = 64;
    cfg.layers  = 1;
    cfg.tied    = false;
    assert_int_equal(lcsm_model_create(&x->model, x->ctx, &cfg, 1, NULL), LCSM_OK);
    lcsm_params *p      = x->model->params;
    float       *values = p->values;
    size_t       n      = strlen(text);
    memset(values, 0, p->block * sizeof *values);
    float *embed = lcsm_param_values(p, lcsm_params_find(p, "embedding.weight"));
    float *head  = lcsm_param_values(p, lcsm_params_find(p, "head.weight"));
    float *norm  = lcsm_param_values(p, lcsm_params_find(p, "norm.weight"));
    for (size_t j = 0; j < 64; j++) norm[j] = 1;
    for (size_t j = 0; j < n; j++) {
        embed[(size_t)(unsigned char)text[j] * 64 + j]          = 1;
        head[(size_t)(unsigned char)text[(j + 1) % n] * 64 + j] = 1;
    }
    assert_int_equal(lcsm_session_create(&x->s, x->model, NULL, NULL), LCSM_OK);
}

TEST(generate_hands_out_what_the_model_says)
{
    fixture x = make();
    sink    k = {0};
    make_loop(&x, "abcdef");
    prompt(&x, "a");
    lcsm_generate_end end = write_on(
        &x, (lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 9}, &k);
    assert_string_equal(k.text, "bcdefabcd");
    assert_int_equal(end.reason, LCSM_END_TOKENS);
    done(&x);
}

TEST(generate_stop_text_is_found_across_tokens_and_not_handed_out)
{
    static const char *const stops[] = {"xyz", "def", "fab"};
    fixture                  x       = make();
    sink                     k       = {0};
    make_loop(&x, "abcdef");
    prompt(&x, "a");
    lcsm_generate_end end = write_on(
        &x,
        (lcsm_generate_options){
            .size = sizeof(lcsm_generate_options), .tokens = 50, .stop = stops, .stop_count = 3},
        &k);
    assert_string_equal(k.text, "bc");
    assert_int_equal(end.reason, LCSM_END_STOP);
    assert_int_equal(end.tokens, 5);
    done(&x);
}

TEST(generate_start_of_a_stop_text_that_does_not_come_is_handed_out)
{
    static const char *const stops[] = {"cdx", "efz"};
    fixture                  x       = make();
    sink                     k       = {0};
    make_loop(&x, "abcdef");
    prompt(&x, "a");
    write_on(
        &x,
        (lcsm_generate_options){
            .size = sizeof(lcsm_generate_options), .tokens = 5, .stop = stops, .stop_count = 2},
        &k);
    assert_string_equal(k.text, "bcdef");
    done(&x);
}

TEST(generate_character_of_several_tokens_comes_whole_or_as_a_mark)
{
    fixture x = make();
    sink    k = {0}, cut = {0};
    make_loop(&x, "a\xE2\x82\xAC");
    prompt(&x, "a");
    write_on(&x, (lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 8}, &k);
    assert_string_equal(k.text, "\xE2\x82\xAC"
                                "a\xE2\x82\xAC"
                                "a");
    write_on(&x, (lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 2}, &cut);
    assert_string_equal(cut.text, "\xEF\xBF\xBD");
    done(&x);
}

TEST(generate_without_a_prompt_begins_at_the_start_of_a_text)
{
    fixture x = make();
    sink    k = {0};
    assert_int_equal(
        lcsm_generate(x.s, x.tok,
                      &(lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 1},
                      put, &k, NULL, NULL),
        LCSM_ERR_ARGUMENT);
    prompt(&x, "");
    assert_int_equal(lcsm_session_position(x.s), 1);
    write_on(&x, (lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 5}, &k);
    assert_int_equal(lcsm_session_position(x.s), 6);
    done(&x);
}

/* A tokenizer of three letters whose end-of-text token is number 3. */
static const char LETTERS[] =
    "{\"version\": \"1.0\", \"added_tokens\": [{\"id\": 3, \"content\": \"<|endoftext|>\", "
    "\"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
    "\"special\": true}], \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
    "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true}, "
    "\"post_processor\": null, \"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": "
    "\"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2}, \"merges\": []}}";

TEST(generate_end_of_text_ends_it_or_is_a_line_end)
{
    fixture     x = make();
    temp_folder f = temp_folder_make();
    sink        k = {0}, lines = {0}, shown = {0};
    lcsm_error  err   = {0};
    size_t      count = sizeof LETTERS - 1;
    temp_write(&f, "tokenizer.json", LETTERS, count);
    lcsm_tokenizer_free(x.tok);
    x.tok = NULL;
    if (lcsm_tokenizer_load(&x.tok, f.path, &err) != LCSM_OK) fail_msg("%s", err.text);
    make_loop(&x, "\1\2\3"); /* b c end */
    int32_t b = 1;
    assert_int_equal(lcsm_session_feed(x.s, &b, 1, NULL, NULL), LCSM_OK);
    lcsm_generate_end end = write_on(
        &x, (lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 7}, &k);
    assert_string_equal(k.text, "c");
    assert_int_equal(end.reason, LCSM_END_OF_TEXT);
    write_on(
        &x,
        (lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 5, .lines = true},
        &lines);
    assert_string_equal(lines.text, "bc\nbc");
    write_on(&x,
             (lcsm_generate_options){
                 .size = sizeof(lcsm_generate_options), .tokens = 2, .ignore_end = true},
             &shown);
    assert_string_equal(shown.text, "<|endoftext|>b");
    x.model->cfg.eos_token_id = 1; /* the model's own: b */
    sink own                  = {0};
    end = write_on(&x, (lcsm_generate_options){.size = sizeof(lcsm_generate_options), .tokens = 7},
                   &own);
    assert_string_equal(own.text, "c<|endoftext|>");
    assert_int_equal(end.reason, LCSM_END_OF_TEXT);
    lcsm_session_reset(x.s);
    assert_int_equal(lcsm_generate_prompt(x.s, x.tok,
                                          &(lcsm_generate_options){
                                              .size = sizeof(lcsm_generate_options), .lines = true},
                                          "ab\nc", 4, &err),
                     LCSM_OK);
    assert_int_equal(lcsm_session_position(x.s), 4);
    temp_folder_remove(&f);
    done(&x);
}
