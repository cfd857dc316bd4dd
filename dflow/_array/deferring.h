/* NumPy's scalars and arrays leave operators beside our arrays to these, as Python's numbers do.
 *
 * By itself theirs * ours would be ours, too, but as a call of NumPy's ufunc, which has tuples made, and asks both
 * operands' types for __array_ufunc__: 0.9 microseconds. So each operator of NumPy's types first looks at the right
 * operand, and goes on as before, a nanosecond later, unless that is ours. What is written to NumPy's array, and what
 * is chosen from it, is NumPy's: theirs += ours is done by into_numpys(), and else of ours NumPy sees what
 * seen_by_numpy() gives. Where these do nothing, NumPy asks as before.
 */
#ifndef DFLOW_DEFERRING_H
#define DFLOW_DEFERRING_H

#include <Python.h>

enum { NUMPYS_ARRAY = 18, DEFERRING };                 /* types, by code, and numpy.ndarray */

static PyTypeObject *types_of_ours[2];                 /* that arrays' and elements' types are of */
static PyTypeObject *numpys_array;
static PyNumberMethods operators_before[DEFERRING];
static richcmpfunc comparisons_before[DEFERRING];
static PyObject *(*seen_by_numpy)(PyObject *);         /* NULL, without an error: NumPy is to ask it */
static int (*into_numpys)(int, PyObject *, PyObject *); /* 1: theirs op= ours is done, 0: it is not, -1: an error */
static PyObject *(*taken_of_numpys)(PyObject *, PyObject *);        /* theirs[ours]; NULL as for seen_by_numpy */
static int (*put_into_numpys)(PyObject *, PyObject *, PyObject *);  /* theirs[ours] = value; as into_numpys */
static objobjargproc store_before;
static binaryfunc choose_before;

static inline int is_one_of_ours(PyObject *x) {
    PyTypeObject *kind = Py_TYPE(Py_TYPE(x));
    return kind == types_of_ours[0] || kind == types_of_ours[1];
}

static inline int is_element(PyObject *x) { return Py_TYPE(Py_TYPE(x)) == types_of_ours[1]; }

/* An array of a subclass knows best. */
static inline int leave_it(int n, PyObject *a, PyObject *b) {
    return is_one_of_ours(b) && (n < NUMPYS_ARRAY || Py_TYPE(a) == numpys_array);
}

#define DEFER_BINARY(n, operator)                                                                                      \
    static PyObject *operator##_##n(PyObject *a, PyObject *b) {                                                        \
        if (leave_it(n, a, b)) Py_RETURN_NOTIMPLEMENTED;                                                               \
        return operators_before[n].operator(a, b);                                                                     \
    }

#define DEFER(n)                                                                                                       \
    DEFER_BINARY(n, nb_add) DEFER_BINARY(n, nb_subtract) DEFER_BINARY(n, nb_multiply)                                  \
    DEFER_BINARY(n, nb_true_divide) DEFER_BINARY(n, nb_floor_divide) DEFER_BINARY(n, nb_remainder)                     \
    DEFER_BINARY(n, nb_divmod) DEFER_BINARY(n, nb_lshift) DEFER_BINARY(n, nb_rshift)                                   \
    DEFER_BINARY(n, nb_and) DEFER_BINARY(n, nb_or) DEFER_BINARY(n, nb_xor)                                             \
    static PyObject *nb_power_##n(PyObject *a, PyObject *b, PyObject *modulo) {                                        \
        if (leave_it(n, a, b)) Py_RETURN_NOTIMPLEMENTED;                                                               \
        return operators_before[n].nb_power(a, b, modulo);                                                             \
    }                                                                                                                  \
    static PyObject *compare_##n(PyObject *a, PyObject *b, int how) {                                                  \
        if (leave_it(n, a, b)) Py_RETURN_NOTIMPLEMENTED;                                                               \
        return comparisons_before[n](a, b, how);                                                                       \
    }

DEFER(0) DEFER(1) DEFER(2) DEFER(3) DEFER(4) DEFER(5) DEFER(6)
DEFER(7) DEFER(8) DEFER(9) DEFER(10) DEFER(11) DEFER(12) DEFER(13)
DEFER(14) DEFER(15) DEFER(16) DEFER(17) DEFER(NUMPYS_ARRAY)
DEFER_BINARY(NUMPYS_ARRAY, nb_matrix_multiply)

/* x as NumPy is to see it, a new reference; NULL with an error set. */
static inline PyObject *as_seen(PyObject *x) {
    PyObject *seen = x != NULL && is_one_of_ours(x) ? seen_by_numpy(x) : NULL;
    return seen != NULL || PyErr_Occurred() ? seen : Py_XNewRef(x);
}

#define INTO(code, operator, more, given)                                                                              \
    static PyObject *operator##_NUMPYS_ARRAY(PyObject *a, PyObject *b more) {                                          \
        PyObject *seen, *result;                                                                                       \
        int done;                                                                                                      \
        if (!is_one_of_ours(b)) return operators_before[NUMPYS_ARRAY].operator(a, b given);                            \
        done = Py_TYPE(a) == numpys_array ? into_numpys(code, a, b) : 0;                                               \
        if (done) return done < 0 ? NULL : Py_NewRef(a);                                                               \
        seen = as_seen(b);                                                                                             \
        if (seen == NULL) return NULL;                                                                                 \
        result = operators_before[NUMPYS_ARRAY].operator(a, seen given);                                               \
        Py_DECREF(seen);                                                                                               \
        return result;                                                                                                 \
    }
#define COMMA ,

/* The codes are those of _array/core.pxd. */
INTO(0, nb_inplace_add,,) INTO(1, nb_inplace_subtract,,) INTO(2, nb_inplace_multiply,,)
INTO(3, nb_inplace_true_divide,,) INTO(4, nb_inplace_floor_divide,,) INTO(5, nb_inplace_remainder,,)
INTO(6, nb_inplace_power, COMMA PyObject *modulo, COMMA modulo) INTO(7, nb_inplace_lshift,,)
INTO(8, nb_inplace_rshift,,) INTO(9, nb_inplace_and,,) INTO(10, nb_inplace_or,,) INTO(11, nb_inplace_xor,,)

static inline int is_array(PyObject *x) { return is_one_of_ours(x) && !is_element(x); }

/* Whether NumPy would have to ask for what is in an index. */
static inline int asks_for(PyObject *key) {
    Py_ssize_t i;
    if (!PyTuple_CheckExact(key)) return is_array(key);
    for (i = 0; i < PyTuple_GET_SIZE(key); i++)
        if (is_array(PyTuple_GET_ITEM(key, i))) return 1;
    return 0;
}

/* An index as NumPy is to see it, a new reference; NULL with an error set. */
static PyObject *key_as_seen(PyObject *key) {
    PyObject *seen, *item;
    Py_ssize_t i;
    if (!asks_for(key)) return Py_NewRef(key);
    if (!PyTuple_CheckExact(key)) return as_seen(key);
    seen = PyTuple_New(PyTuple_GET_SIZE(key));
    for (i = 0; seen != NULL && i < PyTuple_GET_SIZE(key); i++) {
        item = PyTuple_GET_ITEM(key, i);
        item = is_array(item) ? as_seen(item) : Py_NewRef(item);
        if (item == NULL) Py_CLEAR(seen);
        else PyTuple_SET_ITEM(seen, i, item);
    }
    return seen;
}

static PyObject *choose(PyObject *a, PyObject *key) {
    PyObject *seen, *result;
    if (!asks_for(key)) return choose_before(a, key);
    if (Py_TYPE(a) == numpys_array) {
        result = taken_of_numpys(a, key);
        if (result != NULL || PyErr_Occurred()) return result;
    }
    seen = key_as_seen(key);
    if (seen == NULL) return NULL;
    result = choose_before(a, seen);
    Py_DECREF(seen);
    return result;
}

static int store(PyObject *a, PyObject *key, PyObject *value) {
    PyObject *seen_key, *seen = NULL;
    int result = -1;
    if (value == NULL || (!asks_for(key) && !is_one_of_ours(value))) return store_before(a, key, value);
    if (Py_TYPE(a) == numpys_array && asks_for(key)) {
        int done = put_into_numpys(a, key, value);
        if (done) return done < 0 ? -1 : 0;
    }
    seen_key = key_as_seen(key);
    if (seen_key != NULL) seen = as_seen(value);
    if (seen != NULL) result = store_before(a, seen_key, seen);
    Py_XDECREF(seen_key);
    Py_XDECREF(seen);
    return result;
}

#define DEFERRED(n)                                                                                                    \
    {.nb_add = nb_add_##n, .nb_subtract = nb_subtract_##n, .nb_multiply = nb_multiply_##n,                             \
     .nb_true_divide = nb_true_divide_##n, .nb_floor_divide = nb_floor_divide_##n, .nb_remainder = nb_remainder_##n,   \
     .nb_divmod = nb_divmod_##n, .nb_lshift = nb_lshift_##n, .nb_rshift = nb_rshift_##n, .nb_and = nb_and_##n,         \
     .nb_or = nb_or_##n, .nb_xor = nb_xor_##n, .nb_power = nb_power_##n
#define ALONE(operator) .operator = operator##_NUMPYS_ARRAY

static const PyNumberMethods operators_now[DEFERRING] = {
    DEFERRED(0)}, DEFERRED(1)}, DEFERRED(2)}, DEFERRED(3)}, DEFERRED(4)}, DEFERRED(5)}, DEFERRED(6)},
    DEFERRED(7)}, DEFERRED(8)}, DEFERRED(9)}, DEFERRED(10)}, DEFERRED(11)}, DEFERRED(12)}, DEFERRED(13)},
    DEFERRED(14)}, DEFERRED(15)}, DEFERRED(16)}, DEFERRED(17)},
    DEFERRED(NUMPYS_ARRAY), ALONE(nb_matrix_multiply), ALONE(nb_inplace_add), ALONE(nb_inplace_subtract),
     ALONE(nb_inplace_multiply), ALONE(nb_inplace_true_divide), ALONE(nb_inplace_floor_divide),
     ALONE(nb_inplace_remainder), ALONE(nb_inplace_lshift), ALONE(nb_inplace_rshift), ALONE(nb_inplace_and),
     ALONE(nb_inplace_or), ALONE(nb_inplace_xor), ALONE(nb_inplace_power)}};

static const richcmpfunc comparisons_now[DEFERRING] = {
    compare_0, compare_1, compare_2, compare_3, compare_4, compare_5, compare_6,
    compare_7, compare_8, compare_9, compare_10, compare_11, compare_12, compare_13,
    compare_14, compare_15, compare_16, compare_17, compare_NUMPYS_ARRAY};

/* theirs.dot(ours), too, as theirs @ ours. A method is called by way of its definition. */
typedef PyObject *(*method)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
static method dot_before;
static PyObject *dot_of_ours;

static PyObject *dot(PyObject *a, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    if (n != 1 || names != NULL || !is_one_of_ours(args[0]) || Py_TYPE(a) != numpys_array)
        return dot_before(a, args, n, names);
    return PyObject_CallFunctionObjArgs(dot_of_ours, a, args[0], NULL);
}

static int let_dot_defer(PyObject *function) {
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)numpys_array, "dot");
    PyMethodDef *definition;
    if (descriptor == NULL) return -1;
    Py_XSETREF(dot_of_ours, Py_NewRef(function));
    if (Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) {
        definition = ((PyMethodDescrObject *)descriptor)->d_method;
        if (definition->ml_flags == (METH_FASTCALL | METH_KEYWORDS) && dot_before == NULL) {
            dot_before = (method)(void (*)(void))definition->ml_meth;
            definition->ml_meth = (PyCFunction)(void (*)(void))dot;
        }
    }
    Py_DECREF(descriptor);
    return 0;
}

#define TAKE_OVER(slot) if (theirs->slot && operators_now[n].slot) theirs->slot = operators_now[n].slot

/* Of the type of a code, once. */
static void let_defer(int n, PyTypeObject *type) {
    PyNumberMethods *theirs = type->tp_as_number;
    if (theirs->nb_add == operators_now[n].nb_add) return;
    if (n == NUMPYS_ARRAY) numpys_array = type;
    operators_before[n] = *theirs;
    comparisons_before[n] = type->tp_richcompare;
    if (n == NUMPYS_ARRAY) {
        choose_before = type->tp_as_mapping->mp_subscript;
        store_before = type->tp_as_mapping->mp_ass_subscript;
        type->tp_as_mapping->mp_subscript = choose;
        type->tp_as_mapping->mp_ass_subscript = store;
    }
    TAKE_OVER(nb_add);
    TAKE_OVER(nb_subtract);
    TAKE_OVER(nb_multiply);
    TAKE_OVER(nb_true_divide);
    TAKE_OVER(nb_floor_divide);
    TAKE_OVER(nb_remainder);
    TAKE_OVER(nb_divmod);
    TAKE_OVER(nb_lshift);
    TAKE_OVER(nb_rshift);
    TAKE_OVER(nb_and);
    TAKE_OVER(nb_or);
    TAKE_OVER(nb_xor);
    TAKE_OVER(nb_power);
    TAKE_OVER(nb_matrix_multiply);
    TAKE_OVER(nb_inplace_add);
    TAKE_OVER(nb_inplace_subtract);
    TAKE_OVER(nb_inplace_multiply);
    TAKE_OVER(nb_inplace_true_divide);
    TAKE_OVER(nb_inplace_floor_divide);
    TAKE_OVER(nb_inplace_remainder);
    TAKE_OVER(nb_inplace_lshift);
    TAKE_OVER(nb_inplace_rshift);
    TAKE_OVER(nb_inplace_and);
    TAKE_OVER(nb_inplace_or);
    TAKE_OVER(nb_inplace_xor);
    TAKE_OVER(nb_inplace_power);
    type->tp_richcompare = comparisons_now[n];
}

#endif
