/* Kernels that fill an array with random numbers. Operands: the index of an element (the pointer itself; there is no
   memory behind it), a Draw, the output. Element i of a draw depends on the draw and on i alone. */
#ifndef DFLOW_DISTRIBUTIONS_H
#define DFLOW_DISTRIBUTIONS_H

#include <stddef.h>
#include "_kernels/c/philox.h"

typedef struct {                    /* one call of a distribution: a constant operand of at most 64 bytes */
    Stream stream;
    union {
        double p[5];
        struct { uint64_t low, range, threshold; } i;       /* integers: see bounded_product in _kernels/c/source.h */
    } u;
} Draw;

typedef struct {
    const char *name;
    void (*fill)(const Draw *d, uint64_t first, int n, void *out);  /* elements first .. first + n, at most CHUNK */
    int group;                      /* of so many elements one makes the bits together: first is a multiple of it */
    int itemsize;
    float cost;                     /* nanoseconds an element */
} Distribution;

extern const Distribution distributions[];      /* the last has no name */

void random_loop(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *distribution);
void random_setup(void);            /* makes the tables, and chooses the instructions; before anything else, once */
/* The ziggurat's: layers, of the type for so many bits, their number, and densities, of which there is one more; r:
   where the tail begins. */
int random_tables(int is_normal, int bits, const void **layers, const double **densities, double *r);
int random_sets(void);              /* how many sets of instructions this machine has; the last is in use, */
void random_use(int set);           /* until a test chooses another */

#endif
