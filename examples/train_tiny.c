/*
 * train_tiny.c - trains a small model in memory, then lets it go on by itself.
 *
 * The text is the numbers from 0 on; after some hundred updates the model counts.
 */
#include <lcsm/lcsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, LENGTH = 32, UPDATES = 300, TEXT = 2000 };

static int failed(const lcsm_error *err)
{
    fprintf(stderr, "train_tiny: %s\n", err->text);
    return EXIT_FAILURE;
}

/* "0 1 2 ... 9 0 1 ...": what comes next follows from what came before. */
static void write_text(char *text, size_t size)
{
    for (size_t j = 0; j < size; j++) text[j] = j % 2 == 0 ? (char)('0' + j / 2 % 10) : ' ';
}

/* Rows of the text from different places, and as targets the bytes that follow. */
static void fill(const char *text, int update, int32_t *tokens, int32_t *targets)
{
    for (int b = 0; b < BATCH; b++)
        for (int t = 0; t < LENGTH; t++) {
            int at                  = (update * 7 + b * 31) % (TEXT - LENGTH - 1) + t;
            tokens[b * LENGTH + t]  = (unsigned char)text[at];
            targets[b * LENGTH + t] = (unsigned char)text[at + 1];
        }
}

static lcsm_status learn(lcsm_model *model, const char *text, lcsm_error *err)
{
    int32_t            tokens[BATCH * LENGTH], targets[BATCH * LENGTH];
    lcsm_train_config *cfg     = NULL;
    lcsm_trainer      *trainer = NULL;
    lcsm_update        update  = {.size = sizeof update};
    lcsm_status        st      = lcsm_train_config_create(&cfg, err);
    if (st == LCSM_OK) st = lcsm_train_config_set_number(cfg, "batch_size", BATCH, err);
    if (st == LCSM_OK) st = lcsm_train_config_set_number(cfg, "seq_len", LENGTH, err);
    if (st == LCSM_OK) st = lcsm_train_config_set_number(cfg, "lr", 0.01, err);
    if (st == LCSM_OK) st = lcsm_trainer_create(&trainer, model, cfg, UPDATES, err);
    for (int j = 0; st == LCSM_OK && j < UPDATES; j++) {
        fill(text, j, tokens, targets);
        st = lcsm_trainer_step(trainer, tokens, targets, NULL, &update, err);
        if (j % 100 == 99) printf("update %3d  loss %.3f\n", j + 1, update.loss);
    }
    lcsm_trainer_free(trainer);
    lcsm_train_config_free(cfg);
    return st;
}

static int32_t best(const float *logits, size_t count)
{
    size_t j = 0;
    for (size_t k = 1; k < count; k++)
        if (logits[k] > logits[j]) j = k;
    return (int32_t)j;
}

static lcsm_status go_on(const lcsm_model *model, const char *prompt, int count, lcsm_error *err)
{
    lcsm_session *s;
    lcsm_status   st = lcsm_session_create(&s, model, NULL, err);
    for (const char *c = prompt; st == LCSM_OK && *c != 0; c++) {
        int32_t token = (unsigned char)*c;
        st            = lcsm_session_feed(s, &token, 1, NULL, err);
    }
    printf("%s", prompt);
    for (int j = 0; st == LCSM_OK && j < count; j++) {
        int32_t next = best(lcsm_session_logits(s), 256);
        putchar(next);
        st = lcsm_session_feed(s, &next, 1, NULL, err);
    }
    putchar('\n');
    lcsm_session_free(s);
    return st;
}

int main(void)
{
    char               text[TEXT];
    lcsm_context      *ctx   = NULL;
    lcsm_model        *model = NULL;
    lcsm_model_config *cfg   = NULL;
    lcsm_error         err;
    write_text(text, sizeof text);
    lcsm_status st = lcsm_context_create(&ctx, NULL, &err);
    if (st == LCSM_OK) st = lcsm_model_config_create(&cfg, &err);
    if (st == LCSM_OK) st = lcsm_model_config_set(cfg, "method", "gla", &err);
    if (st == LCSM_OK) st = lcsm_model_config_set_number(cfg, "d_model", 32, &err);
    if (st == LCSM_OK) st = lcsm_model_config_set_number(cfg, "heads", 2, &err);
    if (st == LCSM_OK) st = lcsm_model_create(&model, ctx, cfg, 1, &err);
    if (st == LCSM_OK) st = learn(model, text, &err);
    if (st == LCSM_OK) st = go_on(model, "3 4 5", 24, &err);
    lcsm_model_config_free(cfg);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    return st == LCSM_OK ? EXIT_SUCCESS : failed(&err);
}
