/*
 * mad.c - the six tasks of MAD (arXiv 2403.17844).
 *
 * Recall, noisy recall and fuzzy recall train on the next token everywhere and are tested on what
 * can be known: the values of keys that were shown before. Their sequences of L tokens have L - 1
 * inputs (fuzzy recall pads to L + 1, so that it has L).
 */
#include "task/part.h"

enum {
    RECALL       = 0x4d414452,
    FUZZY        = 0x4d414446,
    COPYING      = 0x4d414443,
    MEMORISATION = 0x4d41444d,
    COMPRESSION  = 0x4d41445a,
    NOISE_TOKENS = 16,
    MOTIF        = 3, /* tokens of a fuzzy key or value, at most */
};

/* ---- recall, with and without noise --------------------------------------------------------- */

/* Keys 0 .. half - 1, values half .. 2 half - 1, then noise. */
typedef struct {
    lcsm_draw draw;
    int64_t   half, noise, pairs, sure; /* pair `sure` is never noise */
    double    share;
    int32_t  *x, *y;
} recall;

/* The first pair that shows the key of pair i, or i. */
static int64_t first_shown(const recall *r, int64_t i)
{
    int64_t j = 0;
    while (r->x[2 * j] != r->x[2 * i]) j++;
    return j;
}

static bool shown_any(const recall *r, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        if (r->x[2 * j] < r->half) return true;
    return false;
}

/* The last pair that may be a key is one where there is none before it. */
static bool is_noise(recall *r, int64_t i)
{
    bool noise = r->noise > 0 && i != r->sure && lcsm_draw_chance(&r->draw, r->share);
    return noise && (i < r->pairs - 2 || shown_any(r, i));
}

static void put_pair(recall *r, int64_t i)
{
    if (is_noise(r, i)) {
        for (int j = 0; j < 2; j++)
            r->x[2 * i + j] = lcsm_draw_from(&r->draw, 2 * r->half, r->noise);
        return;
    }
    r->x[2 * i]     = lcsm_draw_below(&r->draw, r->half);
    int64_t j       = first_shown(r, i);
    r->x[2 * i + 1] = j < i ? r->x[2 * j + 1] : lcsm_draw_from(&r->draw, r->half, r->half);
    if (j < i) r->y[2 * i] = r->x[2 * i + 1];
}

/* A key of the distinct ones that were shown, each alike. */
static void put_last(recall *r)
{
    int64_t last = r->pairs - 1, count = 0, at = 0;
    for (int64_t i = 0; i < last; i++) count += r->x[2 * i] < r->half && first_shown(r, i) == i;
    for (int64_t skip = lcsm_draw_below(&r->draw, count); at < last; at++)
        if (r->x[2 * at] < r->half && first_shown(r, at) == at && skip-- == 0) break;
    r->x[2 * last] = r->x[2 * at];
    r->y[2 * last] = r->x[2 * at + 1];
}

static void recall_example(const lcsm_task_config *cfg, uint64_t index, int64_t noise, int32_t *x,
                           int32_t *y)
{
    recall r = {.draw  = lcsm_task_draw(cfg, index, RECALL),
                .half  = (cfg->vocab - noise) / 2,
                .noise = noise,
                .pairs = (cfg->length + 1) / 2,
                .share = cfg->noise,
                .x     = x,
                .y     = y};
    lcsm_task_clear(cfg, 0, x, y);
    r.sure = lcsm_draw_below(&r.draw, r.pairs);
    for (int64_t i = 0; i < r.pairs - 1; i++) put_pair(&r, i);
    put_last(&r);
    if (cfg->test) return;
    for (int64_t t = 0; t + 1 < cfg->length; t++) y[t] = x[t + 1];
}

static void plain_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    recall_example(cfg, index, 0, x, y);
}

static void noisy_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    recall_example(cfg, index, NOISE_TOKENS, x, y);
}

static lcsm_status recall_check(const lcsm_task_config *cfg, int64_t noise, lcsm_error *err)
{
    if ((cfg->vocab - noise) % 2 != 0 || cfg->length % 2 == 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "vocab is %lld and seq_len %lld; expected an even and an odd number: L "
                         "tokens have L - 1 inputs",
                         (long long)cfg->vocab, (long long)cfg->length);
    LCSM_OR_RETURN(
        lcsm_task_range("vocab", cfg->vocab, noise + 2, (int64_t)LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 3, LCSM_TASK_LONGEST, err);
}

static lcsm_status plain_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    return recall_check(cfg, 0, err);
}

static lcsm_status noisy_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    return recall_check(cfg, NOISE_TOKENS, err);
}

static double plain_chance(const lcsm_task_config *cfg)
{
    return 2 / (double)cfg->vocab;
}

static double noisy_chance(const lcsm_task_config *cfg)
{
    return 2 / (double)(cfg->vocab - NOISE_TOKENS);
}

static void recall_symbol(int64_t half, int32_t token, char *text)
{
    if (token < half) lcsm_task_put(text, "k", token);
    else if (token < 2 * half) lcsm_task_put(text, "v", token - half);
    else lcsm_task_put(text, "noise", token - 2 * half);
}

static void plain_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    recall_symbol(cfg->vocab / 2, token, text);
}

static void noisy_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    recall_symbol((cfg->vocab - NOISE_TOKENS) / 2, token, text);
}

/* ---- fuzzy recall --------------------------------------------------------------------------- */

/* A key or a value: different tokens in order. */
typedef struct {
    int32_t token[MOTIF];
    int     size;
} motif;

/* Key tokens 0 .. keys - 1, value tokens to pad - 1, pad the last. Where a pair begins, y holds
 * 4 |key| + |value| until the example is whole, and then has what is asked. */
typedef struct {
    lcsm_draw draw;
    int64_t   keys, pad, n; /* n: tokens so far */
    bool      test;
    int32_t  *x, *y;
} fuzzy;

static motif draw_motif(fuzzy *f, bool key)
{
    motif   m     = {.size = key && f->test ? MOTIF : 1 + lcsm_draw_below(&f->draw, MOTIF)};
    int64_t first = key ? 0 : f->keys, count = key ? f->keys : f->pad - f->keys;
    for (int j = 0; j < m.size; j++)
        m.token[j] = lcsm_draw_new(&f->draw, first, count, m.token, j, 1);
    return m;
}

static bool same(const motif *m, const int32_t *x)
{
    for (int j = 0; j < m->size; j++)
        if (m->token[j] != x[j]) return false;
    return true;
}

/* Where a pair with this key begins, or -1. */
static int64_t find_key(const fuzzy *f, const motif *key)
{
    for (int64_t t = 0; t < f->n; t++)
        if (f->y[t] > 0 && f->y[t] / 4 == key->size && same(key, f->x + t)) return t;
    return -1;
}

static void put_motif(fuzzy *f, const motif *m)
{
    for (int j = 0; j < m->size; j++) {
        f->x[f->n]   = m->token[j];
        f->y[f->n++] = 0;
    }
}

static void put_entry(fuzzy *f, const motif *key, const motif *value)
{
    int64_t at = f->n;
    put_motif(f, key);
    put_motif(f, value);
    f->y[at] = 4 * key->size + value->size;
}

static motif value_at(const fuzzy *f, int64_t entry)
{
    int32_t size = f->y[entry];
    motif   m    = {.size = size % 4};
    for (int j = 0; j < m.size; j++) m.token[j] = f->x[entry + size / 4 + j];
    return m;
}

static bool equal(const motif *a, const motif *b)
{
    return a->size == b->size && same(a, b->token);
}

/* Pairs until there is room only for the question; the probe comes where it is due, or by chance.
 */
static void put_entries(fuzzy *f, const motif *key, const motif *value, int64_t start, int64_t end)
{
    bool added = false;
    while (f->n < end) {
        motif k = draw_motif(f, true), v = draw_motif(f, false);
        if (!added && f->n >= start) k = *key;
        bool    probe = equal(&k, key);
        int64_t shown = find_key(f, &k);
        if (shown >= 0) v = value_at(f, shown);
        else if (probe) v = *value;
        added = added || probe;
        put_entry(f, &k, &v);
    }
}

/* The values of keys that were shown before, and of the last: y by the marks in it. From the end,
 * so that find_key sees only marks. */
static void ask_values(fuzzy *f, int64_t last)
{
    int64_t n = f->n;
    for (int64_t t = n - 1; t >= 0; t--) {
        int32_t mark = f->y[t];
        if (mark <= 0) continue;
        motif key = {.size = mark / 4};
        for (int j = 0; j < key.size; j++) key.token[j] = f->x[t + j];
        f->n       = t;
        bool asked = t == last || find_key(f, &key) >= 0;
        for (int j = 0; j < mark / 4 + mark % 4; j++)
            f->y[t + j] = asked && j >= key.size ? -1 - f->x[t + j] : 0;
    }
    f->n = n;
}

/* Pads on the left to L + 1 tokens, of which the last is no input; y is for the token before. */
static void shift(const fuzzy *f, const lcsm_task_config *cfg)
{
    int64_t L = cfg->length, pad = L + 1 - f->n;
    for (int64_t t = L - 1; t >= 0; t--) {
        int64_t from  = t + 1 - pad; /* of the token that follows */
        int32_t asked = from >= 0 && f->y[from] < 0 ? -1 - f->y[from] : LCSM_TASK_NONE;
        f->y[t]       = cfg->test ? asked : from >= 0 ? f->x[from] : (int32_t)f->pad;
    }
    for (int64_t t = L - 1; t >= 0; t--) f->x[t] = t >= pad ? f->x[t - pad] : (int32_t)f->pad;
}

static void fuzzy_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    fuzzy f   = {.draw = lcsm_task_draw(cfg, index, FUZZY),
                 .keys = (cfg->vocab - 1) / 2,
                 .pad  = cfg->vocab - 1,
                 .test = cfg->test,
                 .x    = x,
                 .y    = y};
    motif key = draw_motif(&f, true), value = draw_motif(&f, false);
    int   probe = key.size + value.size;
    put_entries(&f, &key, &value, lcsm_draw_below(&f.draw, cfg->length - 2 * probe),
                cfg->length - probe - 2 * MOTIF);
    int64_t last = f.n;
    put_entry(&f, &key, &value);
    ask_values(&f, last);
    shift(&f, cfg);
}

static lcsm_status fuzzy_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(
        lcsm_task_range("vocab", cfg->vocab, 2 * MOTIF + 2, (int64_t)LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 4 * MOTIF + 1, LCSM_TASK_LONGEST, err);
}

static double fuzzy_chance(const lcsm_task_config *cfg)
{
    int64_t keys = (cfg->vocab - 1) / 2;
    return 1 / (double)(cfg->vocab - 1 - keys);
}

static void fuzzy_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    int64_t keys = (cfg->vocab - 1) / 2;
    if (token == cfg->vocab - 1) (void)snprintf(text, LCSM_TASK_SYMBOL, "_");
    else if (token < keys) lcsm_task_put(text, "k", token);
    else lcsm_task_put(text, "v", token - keys);
}

/* ---- selective copying ---------------------------------------------------------------------- */

/* Blanks stand only before tokens. Until the example is whole, y has their numbers. */
static void copying_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d = lcsm_task_draw(cfg, index, COPYING);
    int64_t   n = cfg->items, t = 0, at = cfg->length - n;
    int32_t   blank = (int32_t)cfg->vocab - 2;
    for (int64_t j = 0; j < n; j++) y[j] = 0;
    for (int64_t j = 0; j < cfg->length - 2 * n - 1; j++) y[lcsm_draw_below(&d, n)]++;
    for (int64_t j = 0; j < n; j++) {
        for (int32_t k = y[j]; k > 0; k--) x[t++] = blank;
        x[t++] = lcsm_draw_below(&d, cfg->vocab - 2);
    }
    x[t++] = blank + 1;
    while (t < cfg->length) x[t++] = blank;
    for (t = 0; t < at; t++) y[t] = LCSM_TASK_NONE;
    for (int64_t k = 0; k < at; k++)
        if (x[k] < blank) y[t++] = x[k];
}

static lcsm_status copying_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, 3, (int64_t)LCSM_TASK_LONGEST, err));
    LCSM_OR_RETURN(lcsm_task_range("seq_len", cfg->length, 3, LCSM_TASK_LONGEST, err));
    return lcsm_task_range("items", cfg->items, 1, (cfg->length - 1) / 2, err);
}

static int64_t copying_labels(const lcsm_task_config *cfg)
{
    return cfg->items;
}

static double copying_chance(const lcsm_task_config *cfg)
{
    return 1 / (double)(cfg->vocab - 2);
}

static void copying_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    if (token >= cfg->vocab - 2)
        (void)snprintf(text, LCSM_TASK_SYMBOL, "%s", token == cfg->vocab - 2 ? "." : "copy:");
    else lcsm_task_put(text, "", token);
}

/* ---- memorisation --------------------------------------------------------------------------- */

/* A fixed one-to-one map of 0 .. n - 1 onto itself, without a table: four rounds of a Feistel
 * network over the next power of four, again until the number is below n. It does not depend on the
 * seed of a run, so training and test have the same one. */
static int64_t fixed_map(int64_t n, int64_t i)
{
    enum { MAP_SEED = 12345, ROUNDS = 4 };
    int half = 1;
    while ((int64_t)1 << 2 * half < n) half++;
    uint64_t mask = ((uint64_t)1 << half) - 1, left = (uint64_t)i >> half,
             right = (uint64_t)i & mask;
    do {
        for (uint64_t round = 0; round < ROUNDS; round++) {
            uint64_t word =
                lcsm_rng(MAP_SEED, MEMORISATION, round << 48 | (uint64_t)n << 24 | right).v[0];
            uint64_t next = left ^ (word & mask);
            left          = right;
            right         = next;
        }
    } while ((int64_t)(left << half | right) >= n);
    return (int64_t)(left << half | right);
}

static void memorisation_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x,
                                 int32_t *y)
{
    lcsm_draw d    = lcsm_task_draw(cfg, index, MEMORISATION);
    int64_t   keys = (cfg->vocab - 1) / 2, values = cfg->vocab - 1 - keys;
    lcsm_task_clear(cfg, (int32_t)cfg->vocab - 1, x, y);
    for (int64_t t = 0; t < cfg->length; t += 2) {
        x[t]     = lcsm_draw_below(&d, keys);
        y[t + 1] = (int32_t)(keys + fixed_map(values, x[t]));
    }
}

static lcsm_status memorisation_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, 3, (int64_t)LCSM_TASK_LONGEST, err));
    LCSM_OR_RETURN(lcsm_task_range("seq_len", cfg->length, 2, LCSM_TASK_LONGEST, err));
    if (cfg->length % 2 == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG, "seq_len is %lld; expected an even number",
                     (long long)cfg->length);
}

static int64_t memorisation_labels(const lcsm_task_config *cfg)
{
    return cfg->length / 2;
}

static void memorisation_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    int64_t keys = (cfg->vocab - 1) / 2;
    if (token == cfg->vocab - 1) (void)snprintf(text, LCSM_TASK_SYMBOL, "?");
    else if (token < keys) lcsm_task_put(text, "k", token);
    else lcsm_task_put(text, "v", token - keys);
}

/* ---- compression ---------------------------------------------------------------------------- */

static void compression_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d = lcsm_task_draw(cfg, index, COMPRESSION);
    for (int64_t t = 0; t < cfg->length; t++)
        y[t] = x[t] =
            t + 1 < cfg->length ? lcsm_draw_below(&d, cfg->vocab - 1) : (int32_t)cfg->vocab - 1;
}

static lcsm_status compression_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, 2, (int64_t)LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 2, LCSM_TASK_LONGEST, err);
}

static void compression_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    if (token == cfg->vocab - 1) (void)snprintf(text, LCSM_TASK_SYMBOL, "all:");
    else lcsm_task_put(text, "", token);
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define MAD      "Poli et al. 2024, arXiv 2403.17844"
#define MAD_RUNS "examples test_examples fresh"
#define MAD_TABLE                                                                                  \
    "macro accuracy, mean over the settings of MAD and best of six runs (arXiv 2406.06484, "       \
    "figure 3)"

const lcsm_task lcsm_task_mad_recall = {
    .name      = "mad-recall",
    .asks      = "the value of a key that was shown before",
    .reference = MAD,
    .metric    = LCSM_SCORE_MACRO,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = MAD_RUNS,
    .standard  = "seq_len=127 examples=12800 test_examples=1280",
    .small     = "seq_len=15 vocab=8",
    .vocab     = 16,
    .source    = MAD_TABLE,
    .published = {{"attention", 0.941},
                  {"hyena", 0.817},
                  {"multihead-hyena", 0.99},
                  {"mamba", 0.904},
                  {"gla", 0.808},
                  {"deltanet", 1}},
    .check     = plain_check,
    .example   = plain_example,
    .labels    = lcsm_task_all_labels,
    .chance    = plain_chance,
    .symbol    = plain_symbol,
};

const lcsm_task lcsm_task_mad_noisy_recall = {
    .name      = "mad-noisy-recall",
    .asks      = "the value of a key that was shown before, among noise",
    .reference = MAD,
    .metric    = LCSM_SCORE_MACRO,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = MAD_RUNS " noise",
    .standard  = "seq_len=127 examples=12800 test_examples=1280 noise=0.2",
    .small     = "seq_len=19 vocab=24 noise=0.4",
    .vocab     = 32,
    .source    = MAD_TABLE,
    .published = {{"attention", 0.868},
                  {"hyena", 0.788},
                  {"multihead-hyena", 0.986},
                  {"mamba", 0.901},
                  {"gla", 0.816},
                  {"deltanet", 1}},
    .check     = noisy_check,
    .example   = noisy_example,
    .labels    = lcsm_task_all_labels,
    .chance    = noisy_chance,
    .symbol    = noisy_symbol,
};

const lcsm_task lcsm_task_mad_fuzzy_recall = {
    .name      = "mad-fuzzy-recall",
    .asks      = "the value, of up to three tokens, of a key of three",
    .reference = MAD,
    .metric    = LCSM_SCORE_MACRO,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = MAD_RUNS,
    .standard  = "seq_len=128 examples=12800 test_examples=1280",
    .small     = "seq_len=40 vocab=16",
    .vocab     = 16,
    .source    = MAD_TABLE,
    .published = {{"attention", 0.298},
                  {"hyena", 0.079},
                  {"multihead-hyena", 0.144},
                  {"mamba", 0.067},
                  {"gla", 0.069},
                  {"deltanet", 0.357}},
    .check     = fuzzy_check,
    .example   = fuzzy_example,
    .labels    = lcsm_task_all_labels,
    .chance    = fuzzy_chance,
    .symbol    = fuzzy_symbol,
};

const lcsm_task lcsm_task_mad_copying = {
    .name      = "mad-copying",
    .asks      = "the tokens among blanks, in their order",
    .reference = MAD,
    .metric    = LCSM_SCORE_MACRO,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = MAD_RUNS " items",
    .standard  = "seq_len=256 examples=12800 test_examples=1280 items=16",
    .small     = "seq_len=20 items=4 vocab=8",
    .vocab     = 16,
    .source    = MAD_TABLE,
    .published = {{"attention", 0.996},
                  {"hyena", 0.931},
                  {"multihead-hyena", 0.93},
                  {"mamba", 0.863},
                  {"gla", 0.886},
                  {"deltanet", 1}},
    .check     = copying_check,
    .example   = copying_example,
    .labels    = copying_labels,
    .chance    = copying_chance,
    .symbol    = copying_symbol,
};

const lcsm_task lcsm_task_mad_memorisation = {
    .name      = "mad-memorisation",
    .asks      = "the value of a key by a map that never changes",
    .reference = MAD,
    .metric    = LCSM_SCORE_MACRO,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = MAD_RUNS,
    .standard  = "seq_len=32 examples=256 test_examples=1280",
    .small     = "seq_len=8 vocab=16",
    .vocab     = 256,
    .source    = MAD_TABLE,
    .published = {{"attention", 0.852},
                  {"hyena", 0.895},
                  {"multihead-hyena", 0.894},
                  {"mamba", 0.895},
                  {"gla", 0.633},
                  {"deltanet", 0.528}},
    .check     = memorisation_check,
    .example   = memorisation_example,
    .labels    = memorisation_labels,
    .chance    = plain_chance,
    .symbol    = memorisation_symbol,
};

const lcsm_task lcsm_task_mad_compression = {
    .name      = "mad-compression",
    .asks      = "the whole sequence, from what the last position holds of it",
    .reference = MAD,
    .metric    = LCSM_SCORE_MACRO,
    .wiring    = LCSM_TASK_AS_DECODER,
    .keys      = MAD_RUNS,
    .standard  = "seq_len=32 examples=12800 test_examples=1280",
    .small     = "seq_len=8 vocab=8",
    .vocab     = 16,
    .source    = MAD_TABLE,
    .published = {{"attention", 0.516},
                  {"hyena", 0.452},
                  {"multihead-hyena", 0.448},
                  {"mamba", 0.527},
                  {"gla", 0.388},
                  {"deltanet", 0.422}},
    .check     = compression_check,
    .example   = compression_example,
    .labels    = lcsm_task_all_labels,
    .chance    = plain_chance,
    .symbol    = compression_symbol,
};
