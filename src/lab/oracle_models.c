/* oracle_models.c - whole models from tokens to loss, by the model's own builder. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/oracle_build.h"
#include "model/model_graph.h"

/* Names of the file and of the parameters; those of layers begin with l0. and layers.0. */
static const struct {
    const char *file, *param;
} OF_LAYER[] =
    {
        {"mix.Wi", "mixer.i.weight"},    {"mix.We", "mixer.e.weight"},
        {"mix.Ws", "mixer.s.weight"},    {"mix.Wo1", "mixer.o_d.weight"},
        {"mix.Wo2", "mixer.o_k.weight"}, {"mix.ln_g", "mixer.norm.weight"},
        {"mix.ln_b", "mixer.norm.bias"}, {"mix.Wout", "mixer.out.weight"},
        {"n1_g", "norm1.weight"},        {"n1_b", "norm1.bias"},
        {"n2_g", "norm2.weight"},        {"n2_b", "norm2.bias"},
        {"W1", "channel.w1.weight"},     {"W2", "channel.w2.weight"},
        {"W3", "channel.w3.weight"},
},
  OF_MODEL[] = {
      {"emb", "embedding.weight"},
      {"nf_g", "norm.weight"},
      {"nf_b", "norm.bias"},
};

static void bind_layer(lcsm_lab *lab, int layer)
{
    for (size_t j = 0; j < COUNT(OF_LAYER); j++) {
        char file[32], param[64];
        (void)snprintf(file, sizeof file, "l%d.%s", layer, OF_LAYER[j].file);
        (void)snprintf(param, sizeof param, "layers.%d.%s", layer, OF_LAYER[j].param);
        if (lcsm_lab_has(lab, file)) lcsm_lab_in_param(lab, file, param);
    }
}

static lcsm_model_config config_of(lcsm_lab *lab)
{
    bool              mqar = strncmp(lab->c->name, "mqar", 4) == 0;
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.code, sizeof cfg.code, "%s", strrchr(lab->c->name, '_') + 1);
    cfg.wiring      = mqar ? LCSM_WIRING_MQAR : LCSM_WIRING_LM;
    cfg.vocab       = (ptrdiff_t)lcsm_lab_number(lab, "vocab", NAN);
    cfg.d_model     = (ptrdiff_t)lcsm_lab_number(lab, "d", NAN);
    cfg.expand      = (ptrdiff_t)lcsm_lab_number(lab, "k", NAN);
    cfg.layers      = (ptrdiff_t)lcsm_lab_number(lab, "layers", NAN);
    cfg.hidden      = (ptrdiff_t)lcsm_lab_number(lab, "glu_hidden", 0);
    cfg.embed_scale = lcsm_lab_number(lab, "embed_scale", 0);
    return cfg;
}

/* The code is the end of the case's name. */
void lcsm_lab_model(lcsm_lab *lab)
{
    lcsm_model_config cfg    = config_of(lab);
    lcsm_model_want   want   = {.whole = true, .logits = true, .loss = true, .ignore = -100};
    size_t            T      = json_array_size(json_object_get(lab->c->config, "ids"));
    double           *ids    = lcsm_lab_take(lab, T, sizeof *ids);
    double           *labels = lcsm_lab_take(lab, T, sizeof *labels);
    lcsm_model_io     io;
    lcsm_error        err;
    if (ids == NULL || labels == NULL) return;
    lcsm_lab_list(lab, "ids", ids, T);
    lcsm_lab_list(lab, "labels", labels, T);
    if (lcsm_model_build(lab->g, &cfg, 1, (ptrdiff_t)T, &want, &io, &err) != LCSM_OK) {
        lcsm_graph_fail(lab->g, err.status, "%s", err.text);
        return;
    }
    lcsm_lab_set(lab, io.tokens, ids);
    lcsm_lab_set(lab, io.targets, labels);
    for (int layer = 0; layer < cfg.layers; layer++) bind_layer(lab, layer);
    for (size_t j = 0; j < COUNT(OF_MODEL); j++)
        lcsm_lab_in_param(lab, OF_MODEL[j].file, OF_MODEL[j].param);
    lcsm_lab_out(lab, "logits", io.logits);
    lcsm_lab_out(lab, "loss", io.loss);
}
