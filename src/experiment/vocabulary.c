/* vocabulary.c - tokenizers for experiments, over lcsm/tokenizer.h. */
#include "experiment/vocabulary.h"

#include <lcsm/tokenizer.h>

lcsm_status lcsm_vocabulary_train(const char *path, size_t vocabulary, const char *const *data,
                                  size_t count, lcsm_error *err)
{
    lcsm_status             st      = LCSM_OK;
    lcsm_tokenizer         *tok     = NULL;
    lcsm_tokenizer_training options = {.size = sizeof options, .vocab = vocabulary};
    LCSM_TRY(lcsm_tokenizer_train(&tok, data, count, &options, NULL, NULL, err));
    LCSM_TRY(lcsm_tokenizer_save(tok, path, err));
cleanup:
    lcsm_tokenizer_free(tok);
    return st;
}

lcsm_status lcsm_vocabulary_size(size_t *out, const char *path, lcsm_error *err)
{
    lcsm_tokenizer *tok = NULL;
    lcsm_status     st  = lcsm_tokenizer_load(&tok, path, err);
    if (st == LCSM_OK) *out = lcsm_tokenizer_vocab(tok);
    lcsm_tokenizer_free(tok);
    return st;
}
