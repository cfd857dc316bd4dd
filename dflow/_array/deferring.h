/* NumPy's scalars leave operators beside our arrays to these, as Python's numbers do.
 *
 * By itself number * array would be ours, too, but as a call of NumPy's ufunc, which has tuples made, and asks both
 * operands' types for __array_ufunc__: 0.9 microseconds. So each operator of NumPy's types first looks at the right
 * operand, and goes on as before, a nanosecond later, unless that is ours.
 */
#ifndef DFLOW_DEFERRING_H
#define DFLOW_DEFERRING_H

#include <Python.h>

enum { DEFERRING = 18 };                               /* types, by code */

static PyTypeObject *types_of_ours[2];                 /* that arrays' and elements' types are of */
static PyNumberMethods operators_before[DEFERRING];
static richcmpfunc comparisons_before[DEFERRING];

static inline int leave_it(PyObject *x) {
    PyTypeObject *kind = Py_TYPE(Py_TYPE(x));
    return kind == types_of_ours[0] || kind == types_of_ours[1];
}

#define DEFER_BINARY(n, operator)                                                                                      \
    static PyObject *operator##_##n(PyObject *a, PyObject *b) {                                                        \
        if (leave_it(b)) Py_RETURN_NOTIMPLEMENTED;                                                                     \
        return operators_before[n].operator(a, b);                                                                     \
    }

#define DEFER(n)                                                                                                       \
    DEFER_BINARY(n, nb_add) DEFER_BINARY(n, nb_subtract) DEFER_BINARY(n, nb_multiply)                                  \
    DEFER_BINARY(n, nb_true_divide) DEFER_BINARY(n, nb_floor_divide) DEFER_BINARY(n, nb_remainder)                     \
    DEFER_BINARY(n, nb_divmod) DEFER_BINARY(n, nb_lshift) DEFER_BINARY(n, nb_rshift)                                   \
    DEFER_BINARY(n, nb_and) DEFER_BINARY(n, nb_or) DEFER_BINARY(n, nb_xor)                                             \
    static PyObject *nb_power_##n(PyObject *a, PyObject *b, PyObject *modulo) {                                        \
        if (leave_it(b)) Py_RETURN_NOTIMPLEMENTED;                                                                     \
        return operators_before[n].nb_power(a, b, modulo);                                                             \
    }                                                                                                                  \
    static PyObject *compare_##n(PyObject *a, PyObject *b, int how) {                                                  \
        if (leave_it(b)) Py_RETURN_NOTIMPLEMENTED;                                                                     \
        return comparisons_before[n](a, b, how);                                                                       \
    }

DEFER(0) DEFER(1) DEFER(2) DEFER(3) DEFER(4) DEFER(5) DEFER(6)
DEFER(7) DEFER(8) DEFER(9) DEFER(10) DEFER(11) DEFER(12) DEFER(13)
DEFER(14) DEFER(15) DEFER(16) DEFER(17)

#define DEFERRED(n)                                                                                                    \
    {.nb_add = nb_add_##n, .nb_subtract = nb_subtract_##n, .nb_multiply = nb_multiply_##n,                             \
     .nb_true_divide = nb_true_divide_##n, .nb_floor_divide = nb_floor_divide_##n, .nb_remainder = nb_remainder_##n,   \
     .nb_divmod = nb_divmod_##n, .nb_lshift = nb_lshift_##n, .nb_rshift = nb_rshift_##n, .nb_and = nb_and_##n,         \
     .nb_or = nb_or_##n, .nb_xor = nb_xor_##n, .nb_power = nb_power_##n}

static const PyNumberMethods operators_now[DEFERRING] = {
    DEFERRED(0), DEFERRED(1), DEFERRED(2), DEFERRED(3), DEFERRED(4), DEFERRED(5), DEFERRED(6),
    DEFERRED(7), DEFERRED(8), DEFERRED(9), DEFERRED(10), DEFERRED(11), DEFERRED(12), DEFERRED(13),
    DEFERRED(14), DEFERRED(15), DEFERRED(16), DEFERRED(17)};

static const richcmpfunc comparisons_now[DEFERRING] = {
    compare_0, compare_1, compare_2, compare_3, compare_4, compare_5, compare_6,
    compare_7, compare_8, compare_9, compare_10, compare_11, compare_12, compare_13,
    compare_14, compare_15, compare_16, compare_17};

#define TAKE_OVER(slot) if (theirs->slot) theirs->slot = operators_now[n].slot

/* Of the type of a code, once. */
static void let_defer(int n, PyTypeObject *type) {
    PyNumberMethods *theirs = type->tp_as_number;
    if (theirs->nb_add == operators_now[n].nb_add) return;
    operators_before[n] = *theirs;
    comparisons_before[n] = type->tp_richcompare;
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
    type->tp_richcompare = comparisons_now[n];
}

#endif
