/* For what Cython writes, where memory runs out.
 *
 * A list comprehension of Cython 3.3.0 and 3.3.1 whose append fails releases the item twice, in
 * __Pyx_ListComp_AppendAndDecref() and after it: so that one's append takes a reference more. Before 3.3, an except
 * clause ends the process when there is no memory for the traceback.
 */
#ifndef DFLOW_CYTHON_H
#define DFLOW_CYTHON_H

#if defined(CYTHON_HEX_VERSION) && CYTHON_HEX_VERSION < 0x030302F0

#include <string.h>

static inline int append_for(const char *caller, PyObject *list, PyObject *x) {
    int failed = PyList_Append(list, x);
    if (failed && strcmp(caller, "__Pyx_ListComp_AppendAndDecref") == 0) Py_INCREF(x);
    return failed;
}

#define PyList_Append(list, x) append_for(__func__, list, x)

#endif
#endif
