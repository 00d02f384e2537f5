/* consumer.c - a program that knows lcsm only as it is installed. */
#include <stdio.h>
#include <string.h>

#include <lcsm/lcsm.h>

int main(void)
{
    lcsm_context *ctx = NULL;
    lcsm_error    err;
    if (lcsm_context_create(&ctx, NULL, &err) != LCSM_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("lcsm %s, %s\n", lcsm_version(), lcsm_context_isa_name(ctx));
    lcsm_context_free(ctx);
    return strcmp(lcsm_version(), LCSM_VERSION) != 0;
}
