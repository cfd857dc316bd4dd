#define Py_BUILD_CORE 1      /* the layout of interpreter frames */
#include <Python.h>
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#include "_runtime/site.h"

#include <limits.h>
#include <stdint.h>

/* The sites, by what they say: open addressing, doubled at three quarters full. */
static Site **sites;
static size_t places, nsites;

/* The site of each instruction met: open addressing, too. For each code there is one more entry, ITSELF, with a
 * reference to it; when the table is full, code that nobody else has any more is forgotten. */
typedef struct Entry {
    PyCodeObject *code;
    int lasti;          /* byte offset of the instruction */
    Site *site;
} Entry;

enum { ITSELF = INT_MIN };

static Entry *entries;
static size_t capacity, used;
static PyObject *package;

void site_set_package(PyObject *directory) { Py_XSETREF(package, Py_NewRef(directory)); }

static int is_internal(PyCodeObject *code) {
    if (package == NULL || !PyUnicode_Check(code->co_filename)) return 0;
    return PyUnicode_Tailmatch(code->co_filename, package, 0, PY_SSIZE_T_MAX, -1) == 1;
}

static int same(PyObject *a, PyObject *b) { return a == b || PyUnicode_Compare(a, b) == 0; }

static size_t place_of(PyObject *file, PyObject *name, int line) {
    uint64_t h = (uint64_t)PyUnicode_Type.tp_hash(file) * 0x9E3779B97F4A7C15u
               + (uint64_t)PyUnicode_Type.tp_hash(name) * 0xC2B2AE3D27D4EB4Fu + (uint64_t)line * 0x165667B19E3779F9u;
    size_t i = (size_t)(h >> 20) & (places - 1);
    while (sites[i] && !(sites[i]->line == line && same(sites[i]->file, file) && same(sites[i]->name, name)))
        i = (i + 1) & (places - 1);
    return i;
}

static int more_places(void) {
    size_t old = places;
    Site **from = sites, **to = calloc(old ? old * 2 : 1024, sizeof *to);
    if (!to) return -1;
    sites = to;
    places = old ? old * 2 : 1024;
    for (size_t i = 0; i < old; i++)
        if (from[i]) sites[place_of(from[i]->file, from[i]->name, from[i]->line)] = from[i];
    free(from);
    return 0;
}

static Site *site_of(PyCodeObject *code, int lasti) {
    if (nsites * 4 >= places * 3 && more_places() < 0) return NULL;
    int line = PyCode_Addr2Line(code, lasti);
    size_t i = place_of(code->co_filename, code->co_name, line);
    if (sites[i]) return sites[i];
    Site *s = malloc(sizeof *s);
    if (!s) return NULL;
    s->file = Py_NewRef(code->co_filename);
    s->name = Py_NewRef(code->co_name);
    s->line = line;
    s->internal = is_internal(code);
    s->waits = 0;
    nsites++;
    return sites[i] = s;
}

static Entry *entry_of(PyCodeObject *code, int lasti) {
    uint64_t h = ((uint64_t)(uintptr_t)code >> 4) * 0x9E3779B97F4A7C15u + (uint64_t)lasti * 0xC2B2AE3D27D4EB4Fu;
    size_t i = (size_t)(h >> 20) & (capacity - 1);
    while (entries[i].code && (entries[i].code != code || entries[i].lasti != lasti)) i = (i + 1) & (capacity - 1);
    return &entries[i];
}

/* A weak reference may have a callback, which must not run amid a submission: such code stays. */
static int is_alive(PyCodeObject *code) { return Py_REFCNT(code) > 1 || code->co_weakreflist != NULL; }

/* Forget code that has ended; twice the room, unless that gave half of it. */
static int make_room(void) {
    size_t old = capacity, alive = 0, ended = 0;
    Entry *from = entries;
    for (size_t i = 0; i < old; i++) alive += from[i].code != NULL && is_alive(from[i].code);
    size_t room = !old ? 1024 : alive * 2 < old ? old : old * 2;
    Entry *to = calloc(room, sizeof *to);
    if (!to) return -1;
    entries = to;
    capacity = room;
    used = alive;
    for (size_t i = 0; i < old; i++) {
        Entry e = from[i];
        if (e.code == NULL) continue;
        if (is_alive(e.code)) *entry_of(e.code, e.lasti) = e;
        else if (e.lasti == ITSELF) from[ended++].code = e.code;
    }
    for (size_t i = 0; i < ended; i++) Py_DECREF(from[i].code);
    free(from);
    return 0;
}

static Site *intern(PyCodeObject *code, int lasti) {
    Entry *e = capacity ? entry_of(code, lasti) : NULL;
    if (e && e->code) return e->site;
    Site *s = site_of(code, lasti);
    if (!s) return NULL;
    if ((used + 2) * 4 >= capacity * 3 && make_room() < 0) return s;
    e = entry_of(code, ITSELF);
    if (!e->code) {
        *e = (Entry){(PyCodeObject *)Py_NewRef((PyObject *)code), ITSELF, NULL};
        used++;
    }
    *entry_of(code, lasti) = (Entry){code, lasti, s};
    used++;
    return s;
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

Py_ssize_t site_count(void) { return (Py_ssize_t)places; }
Site *site_at(Py_ssize_t index) { return sites[index]; }
