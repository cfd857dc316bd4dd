/* Sums of products of windows that slide over up to three axes of space: a convolution, and the gradient of its
   weights. Both take the windows from where they lie; nothing is copied into columns.

   The loops have a gufunc's signature, of float and double. All of `x` must be spaced by one element along its last
   axis; so must `out` of a convolution, and the weights' gradient lies in C order.

       convolve    (c,z,y,x),(o,c,i,j,k),(o)->(o,z,y,x)
                   dims: samples, o, c, z, y, x, i, j, k. A step in x for each of c, z, y, x, i, j, k; then one for each
                   axis of the weights, of the bias, and of the result.
       correlate   (s,c,z,y,x),(s,o,z,y,x)->(o,c,i,j,k), over the samples s
                   dims: parts, s, o, c, z, y, x, i, j, k. A step in x for each of s, c, z, y, x, i, j, k; then in g. */

#ifndef DFLOW_WINDOWS_H
#define DFLOW_WINDOWS_H

#include <stddef.h>

int conv_sets(void);         /* how many sets of instructions there are for them on this CPU */
void conv_use(int way);      /* one of those; 0, which needs none, before the first call */

typedef void convolve_loop(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *data);

convolve_loop convolve_float, convolve_double, correlate_float, correlate_double;

#endif
