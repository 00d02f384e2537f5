/* golden_case.c - see golden_case.h. */
#include "golden_case.h"

#include <glob.h>
#include <string.h>

#include "model/config.h"
#include "test.h"

static const char PATTERN[] = "tests/golden/*.json";

/* ---- files ------------------------------------------------------------------------------ */

static void each_of_file(const char *path, golden_fn *fn, void *user)
{
    json_error_t at;
    json_t      *file = json_load_file(path, JSON_REJECT_DUPLICATES, &at);
    size_t       j;
    json_t      *one;
    if (file == NULL) fail_msg("%s:%d: %s", path, at.line, at.text);
    assert_string_equal(golden_text(file, "format"), "lcsm-golden-1");
    json_array_foreach(json_object_get(file, "cases"), j, one) fn(user, one);
    json_decref(file);
}

void golden_each(golden_fn *fn, void *user)
{
    glob_t found = {0};
    if (glob(PATTERN, 0, NULL, &found) != 0) fail_msg("%s: no such files", PATTERN);
    for (size_t j = 0; j < found.gl_pathc; j++) each_of_file(found.gl_pathv[j], fn, user);
    globfree(&found);
}

/* ---- values ----------------------------------------------------------------------------- */

static const json_t *member(const json_t *one, const char *key)
{
    const json_t *value = json_object_get(one, key);
    if (value == NULL) fail_msg("\"%s\" is missing in a recorded case", key);
    return value;
}

const char *golden_text(const json_t *one, const char *key)
{
    return json_string_value(member(one, key));
}

const char *golden_setting(const json_t *one, const char *key)
{
    return json_string_value(json_object_get(member(one, "config"), key));
}

void golden_config(lcsm_model_config *cfg, const json_t *one)
{
    const char *key;
    json_t     *value;
    lcsm_error  err;
    lcsm_model_config_defaults(cfg);
    json_object_foreach((json_t *)(uintptr_t)member(one, "config"), key, value)
    {
        if (lcsm_model_config_set(cfg, key, json_string_value(value), &err) != LCSM_OK)
            fail_msg("%s: %s", golden_text(one, "name"), err.text);
    }
}

size_t golden_parameter_count(const json_t *one)
{
    return json_array_size(member(one, "parameters"));
}

golden_parameter golden_parameter_at(const json_t *one, size_t row)
{
    const json_t    *r     = json_array_get(member(one, "parameters"), row);
    const json_t    *shape = json_array_get(r, 1);
    golden_parameter p     = {.name        = json_string_value(json_array_get(r, 0)),
                              .rank        = (int)json_array_size(shape),
                              .count       = 1,
                              .centre      = json_number_value(json_array_get(r, 2)),
                              .scale       = json_number_value(json_array_get(r, 3)),
                              .slope       = json_number_value(json_array_get(r, 4)),
                              .entry       = (size_t)json_integer_value(json_array_get(r, 5)),
                              .entry_slope = json_number_value(json_array_get(r, 6))};
    assert_true(p.rank <= GOLDEN_DIMS);
    for (int j = 0; j < p.rank; j++) {
        p.shape[j] = (size_t)json_integer_value(json_array_get(shape, (size_t)j));
        p.count *= p.shape[j];
    }
    return p;
}

size_t golden_rows(const json_t *one, const char *key)
{
    return json_array_size(member(one, key));
}

size_t golden_columns(const json_t *one, const char *key)
{
    return json_array_size(json_array_get(member(one, key), 0));
}

int32_t golden_int(const json_t *one, const char *key, size_t row, size_t column)
{
    return (int32_t)json_integer_value(
        json_array_get(json_array_get(member(one, key), row), column));
}

double golden_number(const json_t *one, const char *key, size_t j)
{
    return json_number_value(json_array_get(member(one, key), j));
}

const json_t *golden_values(const json_t *one, const char *key, const char *name)
{
    return json_object_get(member(one, key), name);
}

/* ---- numbers of a name ------------------------------------------------------------------ */

static uint64_t fnv(uint64_t hash, const char *text)
{
    for (; *text != 0; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return hash;
}

double golden_uniform(const char *name, const char *tail, size_t j)
{
    uint64_t z = fnv(fnv(0xCBF29CE484222325u, name), tail);
    z += (j + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}
