/*
 * generate.c - text from a run folder: prompt, sample, save the memory and go on from it.
 *
 *     generate RUN PROMPT
 *
 * Without arguments the model is a new one that has learned nothing, and writes accordingly.
 */
#include <lcsm/lcsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const lcsm_error *err)
{
    fprintf(stderr, "generate: %s\n", err->text);
    return EXIT_FAILURE;
}

/* Takes whole characters as they are made; false would stop. */
static bool put(void *user, const char *text, size_t size)
{
    (void)user;
    return fwrite(text, 1, size, stdout) == size;
}

/* A run folder has a tokenizer; a model of bytes needs none. */
static lcsm_status open_model(const lcsm_context *ctx, const char *folder, lcsm_model **model,
                              lcsm_tokenizer **tok, lcsm_error *err)
{
    lcsm_model_config *cfg = NULL;
    lcsm_status        st  = LCSM_OK;
    if (folder != NULL) st = lcsm_model_load(model, ctx, folder, err);
    else if ((st = lcsm_model_config_create(&cfg, err)) == LCSM_OK)
        st = lcsm_model_create(model, ctx, cfg, 1, err);
    lcsm_model_config_free(cfg);
    if (st != LCSM_OK) return st;
    bool bytes = lcsm_model_config_number(lcsm_model_config_of(*model), "vocab") == 256;
    return bytes ? lcsm_tokenizer_bytes(tok, err) : lcsm_tokenizer_load(tok, folder, err);
}

/* Twenty tokens, and twenty more from the saved memory in a session of its own. */
static lcsm_status write_text(const lcsm_model *model, const lcsm_tokenizer *tok,
                              const char *prompt, lcsm_error *err)
{
    static const char   state[] = "generate.state";
    lcsm_sample_options sample  = {
         .size = sizeof sample, .temperature = 0.8, .top_p = 0.95, .seed = 7};
    lcsm_generate_options options = {.size = sizeof options, .sample = &sample, .tokens = 20};
    lcsm_session         *first = NULL, *second = NULL;
    lcsm_status           st = lcsm_session_create(&first, model, NULL, err);
    if (st == LCSM_OK) st = lcsm_generate_prompt(first, tok, &options, prompt, strlen(prompt), err);
    if (st == LCSM_OK) st = lcsm_generate(first, tok, &options, put, NULL, NULL, err);
    if (st == LCSM_OK) st = lcsm_session_save_state(first, state, err);
    if (st == LCSM_OK) st = lcsm_session_create(&second, model, NULL, err);
    if (st == LCSM_OK) st = lcsm_session_load_state(second, state, err);
    if (st == LCSM_OK) st = lcsm_generate(second, tok, &options, put, NULL, NULL, err);
    putchar('\n');
    (void)remove(state);
    lcsm_session_free(first);
    lcsm_session_free(second);
    return st;
}

int main(int argc, char **argv)
{
    const char     *folder = argc > 1 ? argv[1] : NULL, *prompt = argc > 2 ? argv[2] : "Once";
    lcsm_context   *ctx   = NULL;
    lcsm_model     *model = NULL;
    lcsm_tokenizer *tok   = NULL;
    lcsm_error      err;
    lcsm_status     st = lcsm_context_create(&ctx, NULL, &err);
    if (st == LCSM_OK) st = open_model(ctx, folder, &model, &tok, &err);
    if (st == LCSM_OK) st = write_text(model, tok, prompt, &err);
    lcsm_tokenizer_free(tok);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    return st == LCSM_OK ? EXIT_SUCCESS : failed(&err);
}
