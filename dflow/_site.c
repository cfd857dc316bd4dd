#define Py_BUILD_CORE 1      /* the layout of interpreter frames */
#include <Python.h>
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#include "_site.h"

#include <stdint.h>

/* Open addressing; grown at three quarters full, never shrunk. */
static Site **table;
static size_t capacity, used;
static PyObject *package;

void site_set_package(PyObject *directory) { Py_XSETREF(package, Py_NewRef(directory)); }

static int is_internal(PyCodeObject *code) {
    if (package == NULL || !PyUnicode_Check(code->co_filename)) return 0;
    return PyUnicode_Tailmatch(code->co_filename, package, 0, PY_SSIZE_T_MAX, -1) == 1;
}

static size_t slot_of(PyObject *code, int lasti) {
    uint64_t h = ((uint64_t)(uintptr_t)code >> 4) * 0x9E3779B97F4A7C15u + (uint64_t)lasti * 0xC2B2AE3D27D4EB4Fu;
    size_t i = (size_t)(h >> 20) & (capacity - 1);
    while (table[i] && (table[i]->code != code || table[i]->lasti != lasti)) i = (i + 1) & (capacity - 1);
    return i;
}

static int grow(void) {
    size_t old = capacity;
    Site **from = table;
    Site **to = calloc(old ? old * 2 : 1024, sizeof *to);
    if (!to) return -1;
    table = to;
    capacity = old ? old * 2 : 1024;
    for (size_t i = 0; i < old; i++)
        if (from[i]) table[slot_of(from[i]->code, from[i]->lasti)] = from[i];
    free(from);
    return 0;
}

static Site *intern(PyCodeObject *code, int lasti) {
    if (used * 4 >= capacity * 3 && grow() < 0) return NULL;
    size_t i = slot_of((PyObject *)code, lasti);
    if (table[i]) return table[i];
    Site *s = malloc(sizeof *s);
    if (!s) return NULL;
    s->code = Py_NewRef((PyObject *)code);
    s->lasti = lasti;
    s->internal = is_internal(code);
    s->waits = 0;
    used++;
    return table[i] = s;
}

#if PY_VERSION_HEX < 0x030E0000
static _PyInterpreterFrame *top_frame(PyThreadState *ts) {
#if PY_VERSION_HEX >= 0x030D0000
    return ts->current_frame;
#else
    return ts->cframe ? ts->cframe->current_frame : NULL;
#endif
}

static PyCodeObject *code_of(_PyInterpreterFrame *f) {
#if PY_VERSION_HEX >= 0x030C0000
    if (f->owner == FRAME_OWNED_BY_CSTACK) return NULL;   /* the shim under a call from C */
#endif
#if PY_VERSION_HEX >= 0x030D0000
    return PyCode_Check(f->f_executable) ? (PyCodeObject *)f->f_executable : NULL;
#else
    return f->f_code;
#endif
}

Site *site_here(void) {
    Site *last = NULL;
    for (_PyInterpreterFrame *f = top_frame(PyThreadState_Get()); f; f = f->previous) {
        PyCodeObject *code = code_of(f);
        if (!code) continue;
        last = intern(code, _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT));
        if (!last || !last->internal) break;
    }
    return last;
}
#else
Site *site_here(void) {          /* a slower way that needs no internal layout */
    Site *last = NULL;
    PyFrameObject *f = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (f) {
        PyCodeObject *code = PyFrame_GetCode(f);
        last = intern(code, PyFrame_GetLasti(f));
        Py_DECREF(code);
        PyFrameObject *back = last && last->internal ? PyFrame_GetBack(f) : NULL;
        Py_DECREF(f);
        f = back;
    }
    return last;
}
#endif

int site_line(Site *site) { return PyCode_Addr2Line((PyCodeObject *)site->code, site->lasti); }
Py_ssize_t site_count(void) { return (Py_ssize_t)capacity; }
Site *site_at(Py_ssize_t index) { return table[index]; }
