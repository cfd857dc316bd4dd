#define Py_BUILD_CORE 1      /* the layout of interpreter frames */
#include <Python.h>
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#include <opcode.h>
#include "_runtime/site.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* The sites, by what they say: open addressing, doubled at three quarters full. */
static Site **sites;
static size_t places, nsites;

/* The site of each instruction met: open addressing, too. For each code there is one more entry, ITSELF, with a
 * reference to it; when the table is full, code that nobody else has any more is forgotten. */
typedef struct Entry {
    PyCodeObject *code;
    int lasti;          /* byte offset of the instruction */
    int handled;        /* flags of Handled, once asked for */
    Site *site;
} Entry;

enum { ITSELF = INT_MIN };
enum { CALLERS = 8 };       /* frames that are asked whether they stand in a `try` */

static Entry *entries;
static size_t capacity, used;
static PyObject *package;

void site_set_package(PyObject *directory) { Py_XSETREF(package, Py_NewRef(directory)); }

static int is_internal(PyObject *file) {
    if (package == NULL || !PyUnicode_Check(file)) return 0;
    return PyUnicode_Tailmatch(file, package, 0, PY_SSIZE_T_MAX, -1) == 1;
}

static int same(PyObject *a, PyObject *b) { return a == b || PyUnicode_Compare(a, b) == 0; }

static size_t place_of(PyObject *file, PyObject *name, int line, Site *caller) {
    uint64_t h = (uint64_t)PyUnicode_Type.tp_hash(file) * 0x9E3779B97F4A7C15u
               + (uint64_t)PyUnicode_Type.tp_hash(name) * 0xC2B2AE3D27D4EB4Fu + (uint64_t)line * 0x165667B19E3779F9u
               + ((uint64_t)(uintptr_t)caller >> 4) * 0xD6E8FEB86659FD93u;
    size_t i = (size_t)(h >> 20) & (places - 1);
    while (sites[i] && !(sites[i]->line == line && sites[i]->caller == caller && same(sites[i]->file, file)
                         && same(sites[i]->name, name)))
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
        if (from[i]) sites[place_of(from[i]->file, from[i]->name, from[i]->line, from[i]->caller)] = from[i];
    free(from);
    return 0;
}

static Site *site_of(PyObject *file, PyObject *name, int line, Site *caller) {
    if (nsites * 4 >= places * 3 && more_places() < 0) return NULL;
    size_t i = place_of(file, name, line, caller);
    if (sites[i]) return sites[i];
    Site *s = malloc(sizeof *s);
    if (!s) return NULL;
    *s = (Site){Py_NewRef(file), Py_NewRef(name), line, is_internal(file), 0, caller};
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
    Site *s = site_of(code->co_filename, code->co_name, PyCode_Addr2Line(code, lasti), NULL);
    if (!s) return NULL;
    if ((used + 2) * 4 >= capacity * 3 && make_room() < 0) return s;
    e = entry_of(code, ITSELF);
    if (!e->code) {
        *e = (Entry){(PyCodeObject *)Py_NewRef((PyObject *)code), ITSELF, 0, NULL};
        used++;
    }
    *entry_of(code, lasti) = (Entry){code, lasti, 0, s};
    used++;
    return s;
}

/* ---- Whole stacks ---- */

enum { STACK = 64 };        /* frames, of those outside dflow the innermost */

static int stacks;

int site_set_stacks(int on) {
    int was = stacks;
    stacks = on;
    return was;
}

/* The Site of a stack: of the Sites of its lines, the innermost first. */
static Site *site_of_stack(Site **lines, int n) {
    Site *s = NULL;
    while (n-- > 0) {
        s = site_of(lines[n]->file, lines[n]->name, lines[n]->line, s);
        if (!s) return lines[0];            /* no memory: its line alone */
    }
    return s;
}

/* ---- Does an instruction stand in a `try`?
 *
 * The table of a code object says where an exception raised by an instruction goes on. What is there tells the clauses
 * apart: PUSH_EXC_INFO, then a type and CHECK_EXC_MATCH is `except T`; then POP_TOP, `except`; WITH_EXCEPT_START,
 * `with`; anything else is `finally`. What these two raise again goes on where the table says of them. */

enum Handled { UNKNOWN = 0, ASKED = 1, IN_TRY = 2, IN_WITH = 4 };       /* flags; a `with` may catch, too */

typedef struct Code {       /* without what the interpreter writes into it */
    const unsigned char *ops;
    int units;              /* instructions, of two bytes, and their caches */
    PyObject *names;
} Code;

/* Errors that no operation on arrays raises: who waits for these only does not wait for ours. */
static const char *const of_others[] = {
    "AssertionError", "AttributeError", "BlockingIOError", "BrokenPipeError", "ConnectionError", "EOFError",
    "FileExistsError", "FileNotFoundError", "GeneratorExit", "IOError", "ImportError", "IsADirectoryError", "KeyError",
    "KeyboardInterrupt", "MemoryError", "ModuleNotFoundError", "NameError", "NotADirectoryError", "OSError",
    "PermissionError",
    "RecursionError", "StopAsyncIteration", "StopIteration", "SystemExit", "TimeoutError", "UnicodeDecodeError",
    "UnicodeEncodeError", "UnicodeError", NULL};

static int is_of_others(PyObject *name) {
    for (const char *const *p = of_others; *p; p++)
        if (PyUnicode_CompareWithASCIIString(name, *p) == 0) return 1;
    return 0;
}

static int varint(const unsigned char **p) {
    int value = **p & 63;
    while (*(*p)++ & 64) value = value << 6 | (**p & 63);
    return value;
}

/* Where an exception of the instruction at `unit` goes on, -1: nowhere. depth: how much of the stack stays. */
static int target_of(PyObject *table, int unit, int *depth) {
    const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(table), *end = p + PyBytes_GET_SIZE(table);
    while (p < end) {
        int start = varint(&p), length = varint(&p), target = varint(&p), how = varint(&p);
        if (start <= unit && unit < start + length) {
            *depth = how >> 1;
            return target;
        }
    }
    return -1;
}

/* Past the instruction at `unit`, and its caches. */
static int next_unit(const Code *c, int unit) {
    unit++;
    while (unit < c->units && c->ops[2 * unit] == CACHE) unit++;
    return unit;
}

/* Whether the clauses at `unit`, where a handler begins after PUSH_EXC_INFO, are `except`, for errors of ours. */
static int catches(const Code *c, int unit) {
    int first = unit, loads = 0, argument = 0;
    PyObject *name = NULL;          /* of the type, where that is a name alone */
    for (int n = 0; unit < c->units && n < 200; n++) {
        int op = c->ops[2 * unit];
        argument = argument << 8 | c->ops[2 * unit + 1];
        switch (op) {
        case EXTENDED_ARG: unit++; continue;
        case LOAD_GLOBAL: case LOAD_NAME:
            argument = op == LOAD_GLOBAL ? argument >> 1 : argument;
            name = argument < PyTuple_GET_SIZE(c->names) ? PyTuple_GET_ITEM(c->names, argument) : NULL;
            loads++;
            break;
        case POP_TOP: return unit == first;
        case CHECK_EG_MATCH: return 1;
        case CHECK_EXC_MATCH:
            if (loads != 1 || !name || !is_of_others(name)) return 1;
            unit = next_unit(c, unit);      /* the jump to the next clause */
            argument = 0;
            while (unit < c->units && c->ops[2 * unit] == EXTENDED_ARG)
                argument = argument << 8 | c->ops[2 * unit++ + 1];
            if (unit >= c->units) return 0;
            argument = argument << 8 | c->ops[2 * unit + 1];
            first = unit = next_unit(c, unit) + argument;
            loads = argument = 0;
            continue;
        case RERAISE: case WITH_EXCEPT_START: case STORE_FAST: case STORE_NAME: case STORE_GLOBAL: case STORE_ATTR:
        case RETURN_VALUE: return 0;
        default: loads += op != CACHE;      /* more than a name */
        }
        argument = 0;
        unit = next_unit(c, unit);
    }
    return 0;
}

/* Calls found(depth, context) for each `with` around an instruction; stops when that is true. */
static int look(PyCodeObject *code, int lasti, int (*found)(int, void *), void *context) {
    PyObject *table = code->co_exceptiontable, *text;
    int depth, unit, result = ASKED;
    if (!table || !PyBytes_Check(table) || !PyBytes_GET_SIZE(table)) return result;
    if (!(text = PyCode_GetCode(code))) {
        PyErr_Clear();
        return result;
    }
    Code c = {(const unsigned char *)PyBytes_AS_STRING(text), (int)(PyBytes_GET_SIZE(text) / 2), code->co_names};
    unit = target_of(table, lasti / 2, &depth);
    for (int n = 0; n < 40 && 0 <= unit && unit + 1 < c.units; n++) {
        if (c.ops[2 * unit] == PUSH_EXC_INFO) {
            int next = next_unit(&c, unit);
            if (c.ops[2 * next] == WITH_EXCEPT_START) {
                result |= IN_WITH;
                if (found && found(depth, context)) break;
            } else if (catches(&c, next)) result |= IN_TRY;
        }
        unit = target_of(table, unit, &depth);
    }
    Py_DECREF(text);
    return result;
}

static int handled(PyCodeObject *code, int lasti) {
    Entry *e = capacity ? entry_of(code, lasti) : NULL;
    if (!e || !e->code) return look(code, lasti, NULL, NULL);
    if (e->handled == UNKNOWN) e->handled = look(code, lasti, NULL, NULL);
    return e->handled;
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

/* Context managers, by a part of the names of their types, which are Python's: of those that catch errors which their
 * block raises; of those that show the program its warnings, `warnings.catch_warnings` where it records them. */
static const char *const catching[] = {"suppress", "RaisesContext", "RaisesExc", "AssertRaisesContext", NULL};
static const char *const recording[] = {"catch_warnings", "WarningsRecorder", "WarningsChecker", "AssertWarnsContext",
                                        "suppress_warnings", NULL};

static int is_one_of(const char *const *names, PyObject *manager) {
    const char *const *p = names;
    while (*p && !strstr(Py_TYPE(manager)->tp_name, *p)) p++;
    if (!*p || names != recording) return *p != NULL;
    PyObject *records = PyObject_GetAttrString(manager, "_record");     /* catch_warnings's */
    if (!records) PyErr_Clear();
    Py_XDECREF(records);
    return records != Py_False;
}

typedef struct Blocks {     /* the question, and the answer */
    _PyInterpreterFrame *frame;
    PyCodeObject *code;
    const char *const *names;
    int tries;              /* a `try` counts */
    int deep;               /* managers within managers */
    int found;
} Blocks;

static int stands_in(_PyInterpreterFrame *f, const char *const *names, int tries, int deep);

/* contextlib.contextmanager's: its block runs where the generator has yielded. */
static int stands_in_generator(PyObject *manager, const Blocks *b) {
    if (b->deep > 3 || strcmp(Py_TYPE(manager)->tp_name, "_GeneratorContextManager")) return 0;
    PyObject *gen = PyObject_GetAttrString(manager, "gen");
    int found = 0;
    if (!gen) PyErr_Clear();
    else if (PyGen_CheckExact(gen)) {
        PyGenObject *g = (PyGenObject *)gen;
        if (g->gi_frame_state < FRAME_EXECUTING && g->gi_frame_state != FRAME_CREATED)
            found = stands_in((_PyInterpreterFrame *)g->gi_iframe, b->names, b->tries, b->deep + 1);
    }
    Py_XDECREF(gen);
    return found;
}

/* While a block of a `with` runs, the __exit__ of its manager is what stays of the stack last. */
static int note_block(int depth, void *context) {
    Blocks *b = context;
    PyObject *exit = depth > 0 ? b->frame->localsplus[b->code->co_nlocalsplus + depth - 1] : NULL;
    if (!exit || !PyMethod_Check(exit)) return 0;
    PyObject *manager = PyMethod_GET_SELF(exit);
    b->found = is_one_of(b->names, manager) || stands_in_generator(manager, b);
    return b->found;
}

/* Whether a frame is within a block of such a manager, or, where that counts, in a `try`. */
static int stands_in(_PyInterpreterFrame *f, const char *const *names, int tries, int deep) {
    PyCodeObject *code = code_of(f);
    if (!code) return 0;
    int lasti = _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT), how = handled(code, lasti);
    if (tries && how & IN_TRY) return 1;
    if (!(how & IN_WITH)) return 0;
    Blocks blocks = {f, code, names, tries, deep, 0};
    look(code, lasti, note_block, &blocks);
    return blocks.found;
}

/* The first part of the module's name that a frame's globals have; NULL: they have none. Borrowed. */
static PyObject *module_of(_PyInterpreterFrame *f) {
    PyObject *name = f->f_globals ? PyDict_GetItemString(f->f_globals, "__name__") : NULL;
    return name && PyUnicode_Check(name) ? name : NULL;
}

static int same_package(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    if (!a || !b) return 0;
    Py_ssize_t i = PyUnicode_FindChar(a, '.', 0, PyUnicode_GET_LENGTH(a), 1);
    Py_ssize_t j = PyUnicode_FindChar(b, '.', 0, PyUnicode_GET_LENGTH(b), 1);
    i = i < 0 ? PyUnicode_GET_LENGTH(a) : i;
    j = j < 0 ? PyUnicode_GET_LENGTH(b) : j;
    if (i != j) return 0;
    for (Py_ssize_t k = 0; k < i; k++)
        if (PyUnicode_READ_CHAR(a, k) != PyUnicode_READ_CHAR(b, k)) return 0;
    return 1;
}

static int program_stands_in(const char *const *names, int tries) {
    PyObject *module = NULL;
    int frames = 0;
    for (_PyInterpreterFrame *f = top_frame(PyThreadState_Get()); f && frames < CALLERS; f = f->previous) {
        PyCodeObject *code = code_of(f);
        if (!code) continue;
        Site *s = intern(code, _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT));
        if (!s) return 0;
        if (s->internal) continue;
        if (!frames++) module = module_of(f);
        else if (!same_package(module, module_of(f))) return stands_in(f, names, 0, 0);    /* raises(error, function) */
        if (stands_in(f, names, tries, 0)) return 1;
    }
    return 0;
}

int site_in_try(void) { return program_stands_in(catching, 1); }
int site_in_record(void) { return program_stands_in(recording, 0); }

Site *site_here(void) {
    Site *last = NULL, *lines[STACK];
    int n = 0, most = stacks ? STACK : 1;
    for (_PyInterpreterFrame *f = top_frame(PyThreadState_Get()); f && n < most; f = f->previous) {
        PyCodeObject *code = code_of(f);
        if (!code) continue;
        last = intern(code, _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT));
        if (!last) break;
        if (!last->internal) lines[n++] = last;
    }
    return n > 1 ? site_of_stack(lines, n) : n ? lines[0] : last;
}
#else
int site_in_try(void) {          /* of the line alone */
    PyFrameObject *f = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    int how = ASKED;
    while (f) {
        PyCodeObject *code = PyFrame_GetCode(f);
        int lasti = PyFrame_GetLasti(f);
        Site *s = intern(code, lasti);
        PyFrameObject *back = s && s->internal ? PyFrame_GetBack(f) : NULL;
        if (s && !s->internal) how = handled(code, lasti);
        Py_DECREF(code);
        Py_DECREF(f);
        f = back;
    }
    return (how & IN_TRY) != 0;
}

int site_in_record(void) { return 0; }

Site *site_here(void) {          /* a slower way that needs no internal layout */
    Site *last = NULL, *lines[STACK];
    int n = 0, most = stacks ? STACK : 1;
    PyFrameObject *f = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (f) {
        PyCodeObject *code = PyFrame_GetCode(f);
        last = intern(code, PyFrame_GetLasti(f));
        Py_DECREF(code);
        if (last && !last->internal) lines[n++] = last;
        PyFrameObject *back = last && n < most ? PyFrame_GetBack(f) : NULL;
        Py_DECREF(f);
        f = back;
    }
    return n > 1 ? site_of_stack(lines, n) : n ? lines[0] : last;
}
#endif

Py_ssize_t site_count(void) { return (Py_ssize_t)places; }
Site *site_at(Py_ssize_t index) { return sites[index]; }
