/* consumer.c - a program that knows lcsm only as it is installed. It is C and C++; TOOLS says which
 * of the two tiers it is for. */
#include <stdio.h>
#include <string.h>

#ifdef TOOLS
#include <lcsm/tools.h>
#else
#include <lcsm/lcsm.h>
#endif

#ifdef TOOLS
static void count(void *user, const lcsm_experiment_info *info)
{
    if (info->runs[0] > 0) ++*(int *)user;
}

static lcsm_status use(const lcsm_context *ctx, lcsm_error *err)
{
    int         n  = 0;
    lcsm_status st = lcsm_experiment_list(count, &n, err);
    (void)ctx;
    if (st == LCSM_OK) printf("tools.h: %d experiments\n", n);
    return st;
}
#else
static lcsm_status use(const lcsm_context *ctx, lcsm_error *err)
{
    lcsm_eos_desc desc;
    lcsm_eos     *op = NULL;
    lcsm_status   st;
    memset(&desc, 0, sizeof desc);
    desc.size = sizeof desc;
    lcsm_eos_desc_init(&desc, 1, 4, 1, 2, 3);
    desc.i = lcsm_eos_axes(LCSM_AXIS_T | LCSM_AXIS_D);
    desc.e = lcsm_eos_axes(LCSM_AXIS_T | LCSM_AXIS_K);
    desc.s = lcsm_eos_axes(LCSM_AXIS_T | LCSM_AXIS_K);
    st     = lcsm_eos_create(&op, ctx, &desc, err);
    if (st == LCSM_OK) printf("lcsm.h: %s\n", lcsm_eos_form_name(lcsm_eos_chosen_form(op)));
    lcsm_eos_free(op);
    return st;
}
#endif

int main(void)
{
    lcsm_context        *ctx = NULL;
    lcsm_context_options options;
    lcsm_error           err;
    memset(&options, 0, sizeof options);
    options.size    = sizeof options;
    options.threads = 1;
    if (lcsm_context_create(&ctx, &options, &err) != LCSM_OK || use(ctx, &err) != LCSM_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("lcsm %s, %s\n", lcsm_version(), lcsm_context_isa_name(ctx));
    lcsm_context_free(ctx);
    return strcmp(lcsm_version(), LCSM_VERSION) != 0;
}
