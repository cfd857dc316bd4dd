/* Where in the user's program an operation was submitted.
 *
 * A Site is one instruction of one code object, kept once for the life of the process, so that a pending task
 * holds a plain pointer and workers touch no reference count.  All calls need the GIL.
 */
#ifndef DFLOW_SITE_H
#define DFLOW_SITE_H

#include <Python.h>

typedef struct Site {
    PyObject *code;     /* owned */
    int lasti;          /* byte offset of the instruction */
    int internal;       /* the code is dflow's own */
    long waits;         /* how often a thread blocked here */
} Site;

void site_set_package(PyObject *directory);   /* code from files under it is skipped */
Site *site_here(void);                        /* the innermost frame outside dflow; NULL when there is none */
int site_line(Site *site);
Py_ssize_t site_count(void);
Site *site_at(Py_ssize_t index);              /* for statistics: NULL where the table is empty */

#endif
