/* Sine and cosine of float64, several at a time, with the bits of glibc's, which NumPy's loops call one by one. */

#ifndef DFLOW_SINCOS_H
#define DFLOW_SINCOS_H

#include <stddef.h>

typedef void (*SincosLoop)(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *data);

/* The `data` of these loops: NumPy's loop, for what they leave to it. */
typedef struct {
    SincosLoop loop;
    void *data;
} Theirs;

void sin_loop(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *theirs);
void cos_loop(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *theirs);

/* Rows k: sin(k/128) and cos(k/128), each as the nearest double and what is left; rows 128 + k: cos and -sin. */
#define SINCOS_ROWS 110
extern double sincos_table[256][4];

/* How many ways this machine has to compute them, the first being NumPy's loop; and which one is to be used. The others
   need the table. */
int sincos_ways(void);
void sincos_use(int way);

#endif
