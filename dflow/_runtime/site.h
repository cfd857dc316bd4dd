/* Where in the user's program an operation was submitted.
 *
 * A Site is a line of a function, by its names, kept once for the life of the process, so that a pending task holds a
 * plain pointer and workers touch no reference count. Code is not kept: what evaluates texts makes new code for ever.
 * With whole stacks a Site is a line and the lines that called it: one for each stack that was met.
 * All calls need the GIL.
 */
#ifndef DFLOW_SITE_H
#define DFLOW_SITE_H

#include <Python.h>

typedef struct Site {
    PyObject *file;     /* owned, as the next: the code's co_filename and co_name */
    PyObject *name;
    int line;
    int internal;       /* the code is dflow's own */
    long waits;         /* how often a thread blocked here */
    struct Site *caller;    /* outside dflow; NULL: none, or stacks were not asked for */
} Site;

void site_set_package(PyObject *directory);   /* code from files under it is skipped */
int site_set_stacks(int on);                  /* from now on, with callers; what it was */
Site *site_here(void);                        /* the innermost frame outside dflow; NULL when there is none */
/* Whether an error raised here would be caught by the program, in the innermost frame outside dflow or in its callers
 * of the same package: it is in a `try` with an `except` for it, or in a `with` like contextlib.suppress's, which may
 * be the next caller's, too. */
int site_in_try(void);
int site_in_record(void);                     /* the same of a warning: it is in a `with` that records warnings */
Py_ssize_t site_count(void);                  /* places in the table of them */
Site *site_at(Py_ssize_t index);              /* for statistics: NULL where the table is empty */

#endif
