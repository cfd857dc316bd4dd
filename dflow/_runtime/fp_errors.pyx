"""Floating point flags: np.errstate's policy, and the warnings that workers leave for the next sync."""

import os
import sys
import warnings
from types import FunctionType

import numpy as np
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from dflow._runtime.errors cimport Site
from dflow._base.atomics cimport cas_ptr, load_ptr, swap_ptr
from dflow._base.fpflags cimport FP_DIVIDE, FP_INVALID, FP_OVER, FP_UNDER, fp_clear, fp_flags
from dflow._base.allocator cimport memory_free, memory_new

cdef extern from "Python.h":
    int PyContextVar_Get(object, PyObject*, PyObject**) except -1
    PyObject* PyDict_GetItem(dict, object)      # borrowed; NULL: none, without an error
    bint PyList_CheckExact(object)
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)

# ---- policy ----------------------------------------------------------------------------------------------------------
#
# np.errstate is NumPy's own, and engine.check_finite() goes before it. What must only warn runs asynchronously; what
# must raise or call runs at its call.

cdef tuple fp_texts = ((FP_DIVIDE, "divide", "divide by zero"), (FP_OVER, "over", "overflow"),
                       (FP_UNDER, "under", "underflow"), (FP_INVALID, "invalid", "invalid value"))

cdef object fp_variable = np._core._multiarray_umath._extobj_contextvar
cdef PyObject* fp_seen = NULL       # owned: the state that the masks below are of

def modes():
    """np.geterr(), as it counts."""
    return np.geterr() | NOT_FINITE_RAISES if finite_checked else np.geterr()

cdef dict NOT_FINITE_RAISES = dict.fromkeys(("divide", "over", "invalid"), "raise")

def check_finite(on=None):
    """Whether what makes something that is not finite raises; `on`: from now on. What it was."""
    global finite_checked, fp_seen
    before = bool(finite_checked)
    if on is not None:
        finite_checked = bool(on)
        Py_XDECREF(fp_seen)
        fp_seen = NULL
    return before

cdef int read_fp_policy() except -1:
    global fp_seen, fp_warn, fp_strict
    cdef PyObject* state = NULL
    PyContextVar_Get(fp_variable, NULL, &state)
    if state == fp_seen:
        Py_XDECREF(state)
        return 0
    Py_XDECREF(fp_seen)
    fp_seen = state
    fp_warn = fp_strict = 0
    policy = modes()
    for bit, kind, text in fp_texts:
        if policy[kind] == "warn":
            fp_warn |= bit
        elif policy[kind] != "ignore":
            fp_strict |= bit
    return 0

cdef int raise_strict(int flags, str name, dict policy) except -1:
    """What NumPy does with flags whose mode is raise, call, print or log."""
    for bit, kind, text in fp_texts:
        if not flags & bit:
            continue
        mode = policy[kind]
        if mode == "raise":
            raise FloatingPointError(f"{text} encountered in {name}")
        if mode == "call":
            np.geterrcall()(text, flags)
        elif mode == "print":
            print(f"Warning: {text} encountered in {name}")
        elif mode == "log":
            np.geterrcall().write(f"Warning: {text} encountered in {name}\n")
    return 0

def clear_flags():
    fp_clear()

def raised_flags():
    """The floating point flags of this thread since clear_flags()."""
    return fp_flags()

def tell(int flags, str name, dict policy, warn):
    """What NumPy does when a ufunc of that name has raised flags, under errstate(**policy); warn(text) warns."""
    for bit, kind, text in fp_texts:
        if flags & bit and policy[kind] == "warn":
            warn(f"{text} encountered in {name}")
    raise_strict(flags, name, policy)

cdef int follow_policy(int flags, Kernel* k) except -1:
    read_fp_policy()
    if flags & fp_warn:
        report_fp(flags & fp_warn, NULL, k)
    if flags & fp_strict:
        raise_strict(flags & fp_strict, k.name.decode(), modes())
    return 0

# ---- warnings --------------------------------------------------------------------------------------------------------

cdef struct FpEvent:        # floating point flags to warn of at the next sync
    FpEvent* next
    Site* site
    Kernel* kernel
    int flags

cdef FpEvent* warnings_pending = NULL   # atomic stack

cdef void warn_later(int flags, Site* site, Kernel* k) noexcept nogil:
    cdef FpEvent* w = <FpEvent*>memory_new(sizeof(FpEvent))
    if w == NULL:
        return
    w.flags = flags
    w.site = site
    w.kernel = k
    while True:
        w.next = <FpEvent*>load_ptr(&warnings_pending)
        if cas_ptr(&warnings_pending, w.next, w):
            return

cdef bint warnings_wait() noexcept nogil:
    return load_ptr(&warnings_pending) != NULL

cdef dict warnings_module = vars(warnings)
cdef object filters_seen = None, first_seen = None          # those that the answer below is of
cdef Given given = SHOWN

cdef Given warnings_go() noexcept:
    """By the filter of RuntimeWarning, whatever its text. Filters are put in front, as a rule, and who records has a
    list of them of its own."""
    global filters_seen, first_seen
    cdef PyObject* filters = PyDict_GetItem(warnings_module, "filters")
    cdef PyObject* first
    if filters == NULL or not PyList_CheckExact(<object>filters) or len(<list><object>filters) == 0:
        return SHOWN
    first = PyList_GET_ITEM(<object>filters, 0)
    if filters != <PyObject*>filters_seen or first != <PyObject*>first_seen:
        filters_seen, first_seen = <object>filters, <object>first
        look_at_filters()
    return given

cdef int look_at_filters() except -1:
    global given
    show = warnings_module.get
    given = SHOWN if (isinstance(show("_showwarnmsg_impl"), FunctionType)
                      and show("showwarning") is show("_showwarning_orig")) else RECORDED
    for action, message, category, module, line in filters_seen:
        if message is None and module is None and not line and issubclass(RuntimeWarning, category):
            given = RAISED if action == "error" else IGNORED if action == "ignore" else given
            break
    return 0

cdef dict warning_registries = {}           # file name: what the warnings module has shown of it

cdef str PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

cdef int warn_user(str message, object category) except -1:
    """Warn at the running line of the user's program: the innermost frame outside dflow."""
    level = 1
    try:                        # not by f_back: see _caller() in ops/warn.py
        while sys._getframe(level - 1).f_code.co_filename.startswith(PACKAGE):
            level += 1
    except ValueError:
        pass
    warnings.warn(message, category, stacklevel=level)
    return 0

cdef int report_fp(int flags, Site* site, Kernel* kernel) except -1:
    """RuntimeWarnings for floating point flags; at a site, or, when it is NULL, at the running line."""
    if flags == LOOP_DIFFERS:
        warn_user(f"a loop of machine code that dflow wrote, of {kernel.name.decode()} and others, did not compute "
                  "what NumPy's loops do, whose results these are; it is not used again. Please report it, with "
                  "dflow.show_config()", RuntimeWarning)
    for bit, kind, text in fp_texts:
        if not flags & bit:
            continue
        message = f"{text} encountered in {kernel.name.decode()}"
        if site == NULL:
            warn_user(message, RuntimeWarning)
        else:
            file = <object>site.file
            registry = warning_registries.setdefault(file, {})
            warnings.warn_explicit(message, RuntimeWarning, file, site.line, registry=registry)
    return 0

cdef int give_warnings() except -1:
    """Give workers' warnings, oldest first. A filter may turn one into an error: the rest is given nevertheless."""
    cdef FpEvent* w = <FpEvent*>swap_ptr(&warnings_pending, NULL)
    cdef FpEvent* following
    cdef FpEvent* ordered = NULL
    while w != NULL:
        following = w.next
        w.next = ordered
        ordered = w
        w = following
    error = None
    while ordered != NULL:
        w = ordered
        ordered = w.next
        try:
            report_fp(w.flags, w.site, w.kernel)
        except Exception as e:
            error = error or e
        memory_free(w)
    if error is not None:
        raise error
    return 0
