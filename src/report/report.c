/* report.c - from folders to a document, and from the document to files. */
#include <lcsm/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/sized.h"
#include "format/run_folder.h"
#include "report/csv.h"
#include "report/names.h"
#include "report/section.h"
#include "report/svg.h"

/* A folder, whatever the path to it. */
typedef struct {
    dev_t device;
    ino_t number;
} identity;

typedef struct {
    const lcsm_report_options *options;

    lcsm_doc     doc;
    lcsm_study  *studies;
    lcsm_record *records;
    identity    *seen; /* the folders of both */
    size_t       study_count, record_count, seen_count;
} report;

/* ---- folders ------------------------------------------------------------------------------- */

static bool has_file(const char *folder, const char *name)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, folder, name, NULL) == LCSM_OK && lcsm_path_exists(path);
}

static lcsm_status add_study(report *r, const char *folder, lcsm_error *err)
{
    lcsm_study *more = realloc(r->studies, (r->study_count + 1) * sizeof *more);
    if (more == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", folder);
    r->studies     = more;
    lcsm_status st = lcsm_study_read(&more[r->study_count], folder, err);
    if (st == LCSM_OK) r->study_count++;
    return st;
}

static lcsm_status add_record(report *r, const char *folder, lcsm_error *err)
{
    lcsm_record *more = realloc(r->records, (r->record_count + 1) * sizeof *more);
    if (more == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", folder);
    r->records     = more;
    lcsm_status st = lcsm_record_read(&more[r->record_count], folder, err);
    if (st == LCSM_OK) r->record_count++;
    return st;
}

static bool is_known(const char *folder)
{
    return has_file(folder, LCSM_STUDY_FILE) || has_file(folder, LCSM_RUN_CONFIG)
        || has_file(folder, LCSM_RUN_METRICS) || has_file(folder, LCSM_RUN_FAILED);
}

/* Whether the folder was there before; it is from now on. */
static lcsm_status see(report *r, const char *folder, bool *again, lcsm_error *err)
{
    struct stat info;
    identity   *more = realloc(r->seen, (r->seen_count + 1) * sizeof *more);
    if (more == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", folder);
    r->seen = more;
    if (stat(folder, &info) != 0) return lcsm_fail_io(err, folder, "look at");
    size_t j = 0;
    while (j < r->seen_count && (more[j].device != info.st_dev || more[j].number != info.st_ino))
        j++;
    *again = j < r->seen_count;
    if (!*again) more[r->seen_count++] = (identity){info.st_dev, info.st_ino};
    return LCSM_OK;
}

/* A folder that is given twice counts once. */
static lcsm_status add_known(report *r, const char *folder, lcsm_error *err)
{
    bool        again = false;
    lcsm_status st    = see(r, folder, &again, err);
    if (st != LCSM_OK || again) return st;
    return has_file(folder, LCSM_STUDY_FILE) ? add_study(r, folder, err)
                                             : add_record(r, folder, err);
}

static void note(report *r, const lcsm_error *why)
{
    lcsm_doc_add(&r->doc, LCSM_BLOCK_NOTE, "Omitted: %s", why->text);
    if (r->options->note != NULL) r->options->note(r->options->user, why->text);
}

/* What cannot be read beside others is left out. */
static lcsm_status add_inner(report *r, const char *folder, size_t *found, lcsm_error *err)
{
    lcsm_status st = add_known(r, folder, err);
    if (st == LCSM_OK) ++*found;
    else if (st != LCSM_ERR_MEMORY) note(r, err);
    return st == LCSM_ERR_MEMORY ? st : LCSM_OK;
}

/* A folder, or what is in it. */
static lcsm_status add_folder(report *r, const char *folder, lcsm_error *err)
{
    lcsm_status      st    = LCSM_OK;
    lcsm_folder_list list  = {0};
    lcsm_error       why   = {.status = LCSM_OK};
    size_t           found = 0;
    char             path[LCSM_PATH_MAX];
    if (is_known(folder)) return add_known(r, folder, err);
    LCSM_TRY(lcsm_folder_read(&list, folder, err));
    for (size_t j = 0; j < list.count; j++) {
        LCSM_TRY(lcsm_path_join(path, folder, list.names[j], err));
        if (!is_known(path)) continue;
        if (add_inner(r, path, &found, &why) != LCSM_OK) break;
    }
    if (why.status == LCSM_ERR_MEMORY || (found == 0 && why.status != LCSM_OK))
        st = lcsm_fail(err, why.status, "%s", why.text);
    else if (found == 0)
        st = lcsm_fail(err, LCSM_ERR_FORMAT,
                       "%s is neither a run (config.json) nor an experiment (experiment.json), and "
                       "contains none",
                       folder);
cleanup:
    lcsm_folder_list_free(&list);
    return st;
}

/* ---- names --------------------------------------------------------------------------------- */

static bool has_own_title(const report *r, const lcsm_study *s)
{
    for (size_t j = 0; j < r->study_count; j++)
        if (&r->studies[j] != s && strcmp(r->studies[j].title, s->title) == 0) return false;
    return true;
}

/* The title; with the folder if another experiment has the same. */
static char *heading_of(const report *r, const lcsm_study *s, const char *name)
{
    lcsm_strbuf text = {0};
    lcsm_strbuf_add(&text, s->title);
    if (!has_own_title(r, s)) lcsm_strbuf_printf(&text, " (%s)", name);
    char *copy = text.failed ? NULL : strdup(lcsm_strbuf_text(&text));
    lcsm_strbuf_free(&text);
    return copy;
}

/* Names and headings that tell folders apart. */
static lcsm_status name_all(report *r, lcsm_error *err)
{
    lcsm_status  st      = LCSM_OK;
    size_t       count   = r->record_count + r->study_count;
    const char **folders = malloc((count + 1) * sizeof *folders);
    char       **names   = calloc(count + 1, sizeof *names);
    if (folders == NULL || names == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the names of %zu folders",
                       count);
        goto cleanup;
    }
    for (size_t j = 0; j < r->record_count; j++) folders[j] = r->records[j].folder;
    for (size_t j = 0; j < r->study_count; j++) folders[r->record_count + j] = r->studies[j].folder;
    LCSM_TRY(lcsm_names_of(names, folders, count, err));
    for (size_t j = 0; j < r->record_count; j++) r->records[j].name = names[j];
    for (size_t j = 0; j < r->study_count; j++) {
        lcsm_study *s    = &r->studies[j];
        char       *name = names[r->record_count + j];
        s->heading       = heading_of(r, s, name);
        if (s->heading == NULL)
            st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the heading of %s",
                           s->folder);
        free(name);
    }
cleanup:
    free(folders);
    free(names);
    return st;
}

/* ---- counts -------------------------------------------------------------------------------- */

static void count_record(lcsm_report_summary *out, const lcsm_record *r)
{
    out->runs++;
    out->done += r->state == LCSM_RECORD_DONE;
    out->failed += r->state == LCSM_RECORD_FAILED;
    out->missing += r->state == LCSM_RECORD_MISSING || r->state == LCSM_RECORD_UNFINISHED;
}

static void summarise(lcsm_report_summary *out, const report *r)
{
    *out = (lcsm_report_summary){.size = sizeof *out, .experiments = r->study_count};
    for (size_t j = 0; j < r->record_count; j++) count_record(out, &r->records[j]);
    for (size_t j = 0; j < r->study_count; j++)
        for (size_t k = 0; k < r->studies[j].run_count; k++)
            count_record(out, &r->studies[j].runs[k].record);
    for (size_t j = 0; j < r->doc.count; j++)
        out->figures += r->doc.blocks[j].kind == LCSM_BLOCK_FIGURE;
}

/* ---- files --------------------------------------------------------------------------------- */

static lcsm_status store(const char *path, lcsm_strbuf *text, lcsm_error *err)
{
    lcsm_status st = text->failed
                       ? lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", path)
                       : lcsm_file_write_atomic(path, lcsm_strbuf_text(text), text->size, err);
    lcsm_strbuf_free(text);
    return st;
}

static lcsm_status store_figures(const report *r, const char *folder, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_folder_make(folder, err));
    for (size_t j = 0; j < r->doc.count; j++) {
        const lcsm_block *b    = &r->doc.blocks[j];
        lcsm_strbuf       text = {0};
        char              name[sizeof b->name + 8], path[LCSM_PATH_MAX];
        if (b->kind != LCSM_BLOCK_FIGURE) continue;
        (void)snprintf(name, sizeof name, "%s.svg", b->name);
        LCSM_OR_RETURN(lcsm_path_join(path, folder, name, err));
        lcsm_svg_file(&text, b->more);
        LCSM_OR_RETURN(store(path, &text, err));
    }
    return LCSM_OK;
}

static lcsm_status store_csv(const report *r, const char *path, lcsm_error *err)
{
    lcsm_strbuf text = {0};
    lcsm_csv(&text, r->studies, r->study_count, r->records, r->record_count);
    return store(path, &text, err);
}

/* The bytes that two whole paths have in common, up to the end of a folder's name. */
static size_t common(const char *a, const char *b)
{
    size_t last = 0;
    for (size_t j = 0;; j++) {
        bool a_ends = a[j] == '\0' || a[j] == '/', b_ends = b[j] == '\0' || b[j] == '/';
        if (a_ends && b_ends) last = j;
        if (a[j] != b[j] || a[j] == '\0') return last;
    }
}

/* The folder of a file; the caller frees it. */
static char *folder_above(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash == NULL ? strdup(".") : strndup(file, (size_t)(slash - file) + 1);
}

/* The way from the folder of a file to another folder, "../figures/": both are there. */
static lcsm_status put_way(lcsm_strbuf *out, const char *file, const char *folder, lcsm_error *err)
{
    char       *above = folder_above(file);
    char       *from = above == NULL ? NULL : realpath(above, NULL), *to = realpath(folder, NULL);
    lcsm_status st = LCSM_OK;
    if (from == NULL || to == NULL) {
        st = lcsm_fail_io(err, from == NULL ? file : folder, "find the folder of");
        goto cleanup;
    }
    size_t same = common(from, to);
    for (const char *p = from + same; *p != '\0'; p++)
        if (*p == '/' && p[1] != '\0') lcsm_strbuf_add(out, "../");
    const char *rest = to + same + strspn(to + same, "/");
    lcsm_strbuf_printf(out, "%s%s", rest, *rest == '\0' ? "" : "/");
cleanup:
    free(above);
    free(from);
    free(to);
    return st;
}

static lcsm_status store_markdown(const report *r, const lcsm_report_options *o, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_strbuf text = {0}, way = {0};
    if (o->svg != NULL) LCSM_TRY(put_way(&way, o->markdown, o->svg, err));
    lcsm_doc_markdown(&r->doc, o->svg == NULL ? NULL : lcsm_strbuf_text(&way), &text);
    text.failed = text.failed || way.failed;
    st          = store(o->markdown, &text, err);
cleanup:
    lcsm_strbuf_free(&way);
    return st;
}

static lcsm_status write_files(const report *r, const lcsm_report_options *o, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_strbuf text = {0};
    if (o->html != NULL) {
        lcsm_doc_html(&r->doc, &text);
        LCSM_TRY(store(o->html, &text, err));
    }
    if (o->svg != NULL) LCSM_TRY(store_figures(r, o->svg, err));
    if (o->markdown != NULL) LCSM_TRY(store_markdown(r, o, err));
    if (o->csv != NULL) LCSM_TRY(store_csv(r, o->csv, err));
    if (o->text != NULL) {
        lcsm_doc_text(&r->doc, &text);
        o->text(o->user, lcsm_strbuf_text(&text));
    }
cleanup:
    lcsm_strbuf_free(&text);
    return st;
}

/* ---- outputs that meet --------------------------------------------------------------------- */

/* What is there twice is one file, if it is one that is replaced; what is not yet there is one if
 * its folder and its name are. */
static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    bool        there = stat(a, &x) == 0, too = stat(b, &y) == 0;
    const char *p = strrchr(a, '/'), *q = strrchr(b, '/');
    if (there && too) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    if (there || too || strcmp(p == NULL ? a : p + 1, q == NULL ? b : q + 1) != 0) return false;
    char *above = folder_above(a), *other = folder_above(b);
    bool  same = above != NULL && other != NULL && stat(above, &x) == 0 && stat(other, &y) == 0
             && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    free(above);
    free(other);
    return same;
}

static lcsm_status check_outputs(const lcsm_report_options *o, lcsm_error *err)
{
    const struct {
        const char *what, *path;
    } outputs[] = {
        {"the page", o->html}, {"Markdown", o->markdown}, {"CSV", o->csv}, {"figures", o->svg}};
    for (size_t j = 0; j < COUNT(outputs); j++)
        for (size_t k = 0; k < j; k++)
            if (outputs[j].path != NULL && outputs[k].path != NULL
                && is_same(outputs[j].path, outputs[k].path))
                return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                                 "%s and %s would both be written to %s; use different paths",
                                 outputs[k].what, outputs[j].what, outputs[j].path);
    return LCSM_OK;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static lcsm_status build(report *r, const lcsm_report_options *o, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    (void)snprintf(r->doc.title, sizeof r->doc.title, "%s",
                   o->title != NULL ? o->title : "Linear-complexity sequence models");
    for (size_t j = 0; j < o->count; j++) LCSM_OR_RETURN(add_folder(r, o->folders[j], err));
    LCSM_OR_RETURN(name_all(r, err));
    for (size_t j = 0; j < r->study_count; j++)
        LCSM_OR_RETURN(lcsm_section_study(&r->doc, &r->studies[j], j == 0, err));
    LCSM_OR_RETURN(lcsm_section_together(&r->doc, r->studies, r->study_count, err));
    if (r->record_count > 0)
        LCSM_OR_RETURN(lcsm_section_runs(&r->doc, r->records, r->record_count, err));
    if (r->doc.failed) st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the report");
    return st;
}

lcsm_status lcsm_report_write(const lcsm_report_options *options, lcsm_report_summary *out,
                              lcsm_error *err)
{
    lcsm_report_options own;
    lcsm_report_summary sum;
    report              r  = {.options = &own};
    lcsm_status         st = LCSM_OK;
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_report_options, user, &own, options, err));
    if (out != NULL) LCSM_OR_RETURN(LCSM_SIZED(lcsm_report_summary, figures, out, err));
    LCSM_TRY(check_outputs(&own, err));
    LCSM_TRY(build(&r, &own, err));
    LCSM_TRY(write_files(&r, &own, err));
    summarise(&sum, &r);
    if (out != NULL) lcsm_sized_fill(out, &sum, sizeof sum);
cleanup:
    for (size_t j = 0; j < r.study_count; j++) lcsm_study_free(&r.studies[j]);
    for (size_t j = 0; j < r.record_count; j++) lcsm_record_free(&r.records[j]);
    free(r.studies);
    free(r.records);
    free(r.seen);
    lcsm_doc_free(&r.doc);
    return st;
}
