/* lab/oracle_binding.h - what each tensor or number of a lab stands for; of the lab's files. */
#ifndef LCSM_LAB_ORACLE_BINDING_H
#define LCSM_LAB_ORACLE_BINDING_H
#include "lab/oracle_lab.h"

enum { MAX_BINDINGS = 1024 };

typedef enum {
    INPUT,      /* of the file, as a tensor */
    CONSTANT,   /* made by the builder: numbers */
    OUTPUT,     /* a tensor that the file has */
    DERIVATIVE, /* an output that is the gradient of an input: of = the output it belongs to */
    NUMBERS,    /* an output that was made without a graph */
    STATE_IN,   /* an input that the carried state starts from */
    STATE_OUT,  /* an output that the carried state ends as */
} lab_kind;

struct lab_binding {
    lab_kind                 kind;
    const lcsm_oracle_array *array; /* of the file, or NULL */
    lcsm_tensor             *t, *of;
    lab_layout               layout;
    double                   factor; /* of numbers that go into a parameter; 0 means 1 */
    size_t                   to;     /* where they start there */
    size_t                   first;  /* number of the array where a part starts */
    double                  *numbers;
    size_t                   count; /* numbers */
};

typedef struct lab_binding binding;

/* Frees what lcsm_lab_take gave. */
void lcsm_lab_give_back(lcsm_lab *lab);

#endif
