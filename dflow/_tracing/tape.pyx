"""The record of what was computed from arrays that have gradients, and the way back through it.

A node stands for one value: of an array that attach_grad() was called on (a Leaf), or one that was computed from such.
It holds the nodes that it was computed from, and of the arguments what its rule needs. The array holds the node, not
the node the array: so what nobody needs any more ends, with its part of the record, and there are no cycles. Nodes are
numbered as they are made, and the way back goes by descending number, without recursion.

A value is recorded, not a memory: what is written to since has another version than its node, which is an error where
it is used. All this needs the GIL. Gradients are computed by the functions of the public namespace, as other values
are: so they are asynchronous, fuse, and may be recorded themselves.
"""

from heapq import heappop, heappush

import numpy as np

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.string cimport memcpy
from dflow._runtime.errors cimport describe, here, Site
from dflow._base.atomics cimport load_int
from dflow._array.core cimport *, is_ours, be_array, be_like
from dflow._base.hooks cimport check_callables, check_hooks
from dflow._base.thread_state cimport captures, capturing, recorders, recording, set_recording, set_training, training
from dflow._kernels.dtypes cimport BOOL, DTYPES, is_integer, is_complex

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object)
    Py_ssize_t Py_REFCNT(object)

cdef dict rules = {}            # what was called: its Rule
cdef dict forms = {}            # what was called: a function of the same value, recorded as what that calls

cdef class GradientHooks:       # filled by gradients/__init__.py, without which nothing has a way back
    cdef public object conjugate        # (g)
    cdef public object ones_like        # (a): the gradient of a result
    cdef public object spread           # (g, own, whole): zeros like an array, but g in the place of a view: geometries
    cdef public object spread_part      # (g, own, whole, dtype): the same of a view of the real or imaginary part
    cdef public object sum_to           # (g, shape): over what was broadcast
    cdef public object zeros            # (shape, dtype)
cdef GradientHooks gradient_hooks = GradientHooks()

cdef long long made = 0         # nodes so far

# ---- rules -----------------------------------------------------------------------------------------------------

cdef class Rule:
    """How the gradients of a function's arguments follow from that of its result.

    `slots` names the arguments. `gradients` has for each a function, or None: of the result's gradient, and of those
    arguments that it names; "ans" is the result, and "x_shape" the shape of x, without that. `joint` is one function
    that gives the gradients of all slots, in their order, lists for lists. What it returns may have the wider shape
    that arguments were broadcast to.

    The gradient of a real number by a complex z is its derivative by Re z, and i times that by Im z. `over_complex`
    says what the functions are good for there: nothing; "own", for the gradient as it is; or "conjugate", for its
    conjugate, and they give conjugates: so those that are right for real numbers serve holomorphic functions.
    """
    def __init__(self, name, slots, gradients=(), joint=None, defaults=(), over_complex=None):
        self.name = name
        self.slots = tuple(slots)
        self.defaults = tuple(defaults)
        self.functions = tuple([None if f is None else (f, self.needs(f)) for f in gradients])
        self.joint = None if joint is None else (joint, self.needs(joint))
        self.over_complex = over_complex is not None
        self.conjugates = over_complex == "conjugate"

    def needs(self, function):
        """The slots that a gradient function takes, by their numbers; the result is the last."""
        code = function.__code__
        names = self.slots + ("ans",) + tuple([name + "_shape" for name in self.slots])
        return tuple([names.index(name) for name in code.co_varnames[1:code.co_argcount]])

    cdef object rest(self, Py_ssize_t given):
        """The slots that were not given by place: (name, default)."""
        return zip(self.slots[given:], self.defaults[given:])

    cdef tuple function(self, int slot):
        return self.functions[slot] if slot < PyTuple_GET_SIZE(self.functions) else None

def add_rule(key, Rule rule):
    rules[key] = rule

def add_form(function, form):
    """While what is computed from tracked arrays is recorded, form is called for function: the rest is constant."""
    forms[function] = form

cdef object record_row(function, PyObject** args, Py_ssize_t nargs, PyObject* names):
    """The call of a function, recorded as one, if it has a rule; else what it calls is."""
    cdef Rule rule = rules.get(function)
    cdef Py_ssize_t i, count = 0 if names == NULL else PyTuple_GET_SIZE(<object>names)
    given = tuple([<object>args[i] for i in range(nargs)])
    keywords = {name: <object>args[nargs + i] for i, name in enumerate(<tuple><object>names)} if count else {}
    if not varies(given) and not varies(tuple(keywords.values())):
        return of_constants(function, given, keywords)
    if rule is None:
        form = forms.get(function)
        return (noticed(function, given, keywords, function(*given, **keywords)) if form is None
                else form(*given, **keywords))
    return record(function, given + tuple([keywords.get(name, default) for name, default in rule.rest(nargs)]),
                  function, given, keywords)

# ---- nodes -----------------------------------------------------------------------------------------------------

cdef class Node:
    """A value that was computed."""
    cdef Rule rule              # None once the way back has been gone, and the rest is freed
    cdef tuple parents          # of each tracked argument: (its node, its slot, its place in the slot's list or -1)
    cdef list values            # by slot, then the result, then shapes by slot: what the rule needs
    cdef list versions          # of the arrays among them
    cdef long long order
    cdef unsigned int version   # of the storage, as the value was written
    cdef bint written           # as a write through a view begins: the version is that of the storage
    cdef bint constant          # its gradients are zero: whole numbers, and what is computed from nothing else
    cdef tuple shape
    cdef int code
    cdef Site* site
    cdef Leaf asked             # where its gradient is kept, if attach_grad() was called on what was computed

cdef class Leaf(Node):
    """An array whose gradient is kept."""
    cdef public object grad     # an array; None for the request "null"
    cdef public str request     # "write", "add" or "null"
    cdef public bint fresh      # written to by the last way back, and not yet used

cdef class View(Node):
    """A view, by its geometry: (shape, strides, offset), and its parent's. Its own is known when it is complete."""
    cdef tuple own, whole

cdef class Missing(Node):
    """What was computed by a function without a gradient."""
    cdef str name

cdef class Pick(Node):
    """One of several results."""
    cdef int place

cdef bint ever_kept = False

cdef bint gradients_kept() noexcept:
    return ever_kept

cdef tuple geometry(ndarray a):
    return (shape_tuple(a), tuple([strides_of(a)[i] for i in range(a.ndim)]), a.offset)

cdef int describe_value(Node n, ndarray a) except -1:
    global made
    made += 1
    n.order = made
    n.shape = shape_tuple(a)
    n.code = a.code
    n.version = a.st.version
    n.site = here()
    return 0

cdef void hold(ndarray a, Node n):
    """Make n the node of a."""
    cdef PyObject* before = a.node
    Py_INCREF(n)
    a.node = <PyObject*>n
    Py_XDECREF(before)

cdef Node node_of(ndarray a):
    """The node of a tracked array. ValueError where it was written to since."""
    cdef Node n = <Node>a.node
    if type(n) is View and (<View>n).own is None:
        describe_view(<View>n, a)
    if n.version != a.st.version and type(n) is not Leaf and not n.constant:
        raise ValueError(f"this array was written to since it was recorded{at(n)}: its value is not the recorded one")
    return n

cdef int describe_view(View n, ndarray a) except -1:
    n.own = geometry(a)
    n.shape = n.own[0]
    n.code = a.code
    return 0

cdef str at(Node n):
    return f", at {describe(n.site)}" if n.site != NULL else ""

cdef int note_view(ndarray a, ndarray v) except -1:
    """A view of a tracked array is one, too; it is not complete yet."""
    cdef Node parent = node_of(a)
    cdef View n = View.__new__(View)
    describe_value(n, a)
    n.rule = view_rule
    n.constant = parent.constant
    n.parents = ((parent, 0, -1),)
    n.whole = geometry(a)
    hold(v, n)
    return 0

cdef Rule view_rule = Rule("view", ("a",))

# ---- recording -------------------------------------------------------------------------------------------------

cdef bint any_tracked(object x) noexcept:
    if is_ours(x):
        return (<ndarray>x).node != NULL
    if type(x) is list:
        for item in <list>x:
            if tracked(item):
                return True
    elif type(x) is tuple:
        for item in <tuple>x:
            if tracked(item):
                return True
    return False

cdef bint any_records(PyObject** args, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    if recorders == 0:
        return False
    for i in range(n):
        if any_tracked(<object>args[i]):
            return recording()
    return False

cdef bint varies(object x) noexcept:
    """Whether an array, or one of several, has a gradient that need not be zero."""
    if type(x) is tuple or type(x) is list:
        for item in x:
            if varies(item):
                return True
        return False
    return tracked(x) and not (<Node>(<ndarray>x).node).constant

cdef object record(object key, tuple slots, function, tuple args, dict keywords):
    """function(*args, **keywords), and its node, of the arguments in `slots`."""
    cdef bint before = set_recording(False)
    try:
        result = function(*args, **keywords)
    finally:
        set_recording(before)
    if not is_ours(result):
        check_place(result)
    return recorded(key, slots, result)

cdef int check_place(object result) except -1:
    """What is computed in another process is not recorded, and no later error would tell: its gradient is zero."""
    cdef object why = getattr(type(result), "no_gradient", None)
    if why is not None:
        raise NotImplementedError(f"an array with a gradient meets {type(result).__name__}: {why}")
    return 0

cdef object of_constants(function, tuple given, dict keywords):
    """The call of a function none of whose arguments varies: as if it were not recorded, but that results are known."""
    cdef bint before = set_recording(False)
    cdef tuple slots = given + tuple(keywords.values())
    try:
        result = function(*given, **keywords)
    finally:
        set_recording(before)
    for x in result if isinstance(result, (tuple, list)) else (result,):
        if is_ours(x) and (<ndarray>x).node == NULL:
            hold_constant(parents_of(slots), <ndarray>x)
    return result

cdef object noticed(function, tuple given, dict keywords, object result):
    """The result of a function that was recorded as what it calls. Where that is out of sight, it has no gradient."""
    cdef tuple slots = given + tuple(keywords.values())
    if result is None and varies(slots):
        check_target(function, given[0] if given else None)
    for x in result if type(result) is tuple or type(result) is list else (result,):
        if is_ours(x) and (<ndarray>x).node == NULL:
            recorded(function, slots, x)
        elif is_ours(x) and (<ndarray>x).node != NULL and type(<object>(<ndarray>x).node) is Missing:
            (<Missing>(<ndarray>x).node).name = name_of(function)       # rather than of what that calls
        elif not is_ours(x) and varies(slots):
            check_place(x)
    return result

def note_lost(function, args, result):
    """What NumPy computed has no gradient, if arrays among the arguments have one, and it is recorded."""
    if recorders and recording() and result is not None:
        tracked_ones = tuple([x for x in args if any_tracked(x)])
        if tracked_ones:
            noticed((name_of(function),), tracked_ones, {}, result)     # no key of a rule
    return result

cdef int check_target(function, target) except -1:
    """Of a function that writes into its first argument, whether that stands for what it is now."""
    if is_ours(target) and ((<ndarray>target).node == NULL or (
            (<Node>(<ndarray>target).node).version != (<ndarray>target).st.version)):
        raise NotImplementedError(f"{name_of(function)}() is not recorded: there is no gradient of what it writes. "
                                  "x[...] = y is")
    return 0

cdef tuple parents_of(tuple slots):
    cdef list parents = []
    cdef Py_ssize_t i, k
    for i in range(PyTuple_GET_SIZE(slots)):
        x = slots[i]
        if is_ours(x):
            if (<ndarray>x).node != NULL:
                parents.append((node_of(<ndarray>x), i, -1))
        elif type(x) is list or type(x) is tuple:
            for k, item in enumerate(x):
                if tracked(item):
                    parents.append((node_of(<ndarray>item), i, k))
    return tuple(parents)

cdef object recorded(object key, tuple slots, object result):
    for x in slots:
        if x is result:
            return result                   # an argument, as it was: it has its node
    return joined(key, slots, parents_of(slots), result)

cdef object joined(object key, tuple slots, tuple parents, object result):
    cdef Rule rule = rules.get(key)
    cdef tuple varying = tuple([parent for parent in parents if not (<Node>(<tuple>parent)[0]).constant])
    cdef Node n
    cdef ndarray out
    cdef int i
    cdef int whole = wholeness(varying) if mxnet_rules else 0
    if (not varying or rule is not None and not rule.functions and rule.joint is None     # constant, but for jumps
            or is_ours(result) and stays_constant((<ndarray>result).code, whole) or whole and rule is None):
        for out in (result,) if is_ours(result) else result:
            hold_constant(parents, out)
        return result
    parents = varying
    if rule is not None and not rule.over_complex and any_complex(parents, result):
        rule = None
    n = Node.__new__(Node) if rule is not None else Missing.__new__(Missing)
    n.parents = parents
    n.rule = rule
    if rule is None:
        (<Missing>n).name = name_of(key)
        n.rule = view_rule                  # for it is not freed
    if is_ours(result):
        describe_value(n, <ndarray>result)
        keep(n, slots, result)
        hold(<ndarray>result, n)
        return result
    for out in result:
        if not stays_constant(out.code, whole):
            describe_value(n, out)
            break
    keep(n, slots, result)
    for i, out in enumerate(result):
        if stays_constant(out.code, whole):
            hold_constant(parents, out)
        else:
            hold(out, pick_of(n, i, len(result), out))
    return result

cdef int hold_constant(tuple parents, ndarray out) except -1:
    """Make out what has zero gradients by these; of those that are such themselves, by what they were computed from.

    So a sum that goes on for ever, as of hits, holds no record of its steps.
    """
    cdef Node n = Node.__new__(Node), parent
    cdef dict behind = {}
    for parent, _, _ in parents:
        if parent.constant and type(parent) is not Leaf:
            behind.update([(further[0], None) for further in parent.parents])
        else:
            behind[parent] = None
    describe_value(n, out)
    n.constant = True
    n.rule = view_rule
    n.parents = tuple([(parent, 0, -1) for parent in behind if parent.rule is not None])
    hold(out, n)
    return 0

cdef Pick pick_of(Node n, int i, count, ndarray out):
    """The node of one of n's results."""
    cdef Pick pick = Pick.__new__(Pick)
    describe_value(pick, out)
    pick.rule = view_rule
    pick.parents = ((n, i, count),)
    return pick

cdef bint any_complex(tuple parents, object result) except -1:
    """Whether complex numbers went into a result, or came out."""
    for parent in parents:
        if is_complex((<Node>(<tuple>parent)[0]).code):
            return True
    if is_ours(result):
        return is_complex((<ndarray>result).code)
    for x in result:
        if is_complex((<ndarray>x).code):
            return True
    return False

cdef str name_of(object key):
    return " of ".join(map(name_of, reversed(key))) if type(key) is tuple else getattr(key, "__name__", str(key))

cdef inline bint has_no_gradient(int code):
    return is_integer(code)                 # booleans are

cdef enum:
    WHOLE = 1
    BOOLEAN = 2

cdef inline bint stays_constant(int code, int whole):
    """Whether what is computed from arrays is constant, by its type; `whole`: what all of these are, or 0.

    By MXNet's rules whole numbers have gradients of their own kind, through what keeps it, and so do booleans.
    """
    return has_no_gradient(code) and not (whole == BOOLEAN or whole and code != BOOL)

cdef int wholeness(tuple parents) except -1:
    cdef int whole = BOOLEAN
    for parent, _, _ in parents:
        if not has_no_gradient((<Node>parent).code):
            return 0
        if (<Node>parent).code != BOOL:
            whole = WHOLE
    return whole

cdef int keep(Node n, tuple slots, object result) except -1:
    """What the rule needs of the arguments in these slots, for those that have gradients."""
    cdef int slot, last = <int>len(n.rule.slots), given = <int>PyTuple_GET_SIZE(slots)
    cdef list values = [None] * (2 * last + 1)
    cdef tuple entry
    for parent in n.parents:
        if n.rule.joint is not None:
            entry = n.rule.joint
        else:
            entry = n.rule.function(<int>(<tuple>parent)[1])
        if entry is None:
            continue
        for slot in <tuple>entry[1]:
            if slot > last:
                values[slot] = shapes(slots[slot - last - 1])
            else:
                values[slot] = apart(result if slot == last else slots[slot] if slot < given else None)
    n.values = values
    n.versions = [version_of(x) for x in values]
    return 0

cdef object shapes(object x):
    return (shape_tuple(<ndarray>x) if is_ours(x) else [shapes(item) for item in x] if type(x) is list
            else np.shape(x))

cdef object apart(object x):
    """An array as a node holds it: without its own node, and without its base. These hold the node, by now or later."""
    cdef ndarray v
    if is_ours(x):
        v = alias(<ndarray>x, None)
        v.flags |= READONLY
        return v
    if type(x) is list:
        return [apart(item) for item in x]
    return tuple([apart(item) for item in x]) if isinstance(x, tuple) else x

cdef ndarray alias(ndarray a, Node n):
    cdef bint before = set_recording(False)
    cdef ndarray v = owned(broadcast_same(a))           # no reference to a, which holds the node that holds this
    set_recording(before)
    v.flags |= ALIAS
    be_like(v, a)
    if n is not None:
        hold(v, n)
    return v

cdef object version_of(object x):
    if is_ours(x):
        return (<ndarray>x).st.version
    if type(x) is list or type(x) is tuple:
        return [version_of(item) for item in x]
    return 0

# ---- writing ---------------------------------------------------------------------------------------------------

cdef bint is_asked_for(ndarray a):
    """Whether an array's own gradient is asked for, or that of what it stands in for."""
    return a.node != NULL and (type(<object>a.node) is Leaf or (<Node>a.node).rule is leaf_rule)

cdef tuple before_write(ndarray a, tuple slots):
    """The parents of what an array will be. ValueError for one whose own gradient is asked for."""
    cdef ndarray whole = a if viewed(a) == NULL else <ndarray>viewed(a)
    if is_asked_for(whole) or is_asked_for(a):
        raise ValueError("an array with a gradient cannot be written to while autograd.record() is on")
    if whole is not a and whole.node != NULL:
        (<Node>whole.node).written = (<Node>whole.node).version == a.st.version
    return parents_of(slots)

cdef int after_write(object key, tuple slots, tuple parents, ndarray a) except -1:
    joined(key, slots, parents, a)
    return write_through(a)

cdef int write_through(ndarray a) except -1:
    """What a view was written to, the array of the memory stands for, too. Other views do not: they are out of date."""
    cdef ndarray whole
    cdef Node n
    if a.node == NULL or viewed(a) == NULL:
        return 0
    whole = <ndarray>viewed(a)
    if whole.node != NULL:
        n = <Node>whole.node
        if not n.written:
            return 0                        # it was out of date before this write
        n.version = a.st.version
    key = "write through" if whole.code == a.code else "writing to a part of complex numbers"
    joined(key, (whole, a, geometry(a), geometry(whole)), parents_of((whole, a)), whole)
    return 0

cdef int confirm_inplace(ndarray a, object part, ndarray value) except -1:
    """Before a part of a is written to. `a[1:] += x` has written to that, as a view, which it now puts in its place."""
    cdef Node n = <Node>a.node
    if is_ours(part) and (<ndarray>part).st == value.st and same_elements(<ndarray>part, value) and (
            (<Node>value.node).version == a.st.version):
        n.version = a.st.version
    return 0

cdef ndarray earlier(ndarray a):
    cdef bint before = set_recording(False)
    cdef ndarray old
    try:
        old = copy_of(a)
        be_like(old, a)
    finally:
        set_recording(before)
    before_write(a, ())
    if a.node != NULL:
        note_copy(a, old)
    return old

cdef int stand_for(ndarray a, ndarray value) except -1:
    cdef Node n
    if value.node == NULL:
        return 0
    n = <Node>value.node
    n.version = a.st.version
    hold(a, n)
    return write_through(a)

# ---- the way back ----------------------------------------------------------------------------------------------

cdef object argument(Node n, int slot, bint again):
    """A value that a rule takes; again: with the node that it had, as the gradient is recorded."""
    x = n.values[slot]
    if version_of(x) != n.versions[slot]:
        raise ValueError(f"an array that the gradient of {n.rule.name}{at(n)} needs was written to since")
    if not again:
        return x
    if slot > len(n.rule.slots):
        return x
    if slot == len(n.rule.slots):
        if is_ours(x):
            return alias(<ndarray>x, n)
        return tuple([out if stays_constant((<ndarray>out).code, wholeness(n.parents) if mxnet_rules else 0)
                      else alias(<ndarray>out, pick_of(n, i, len(x), <ndarray>out)) for i, out in enumerate(x)])
    for node, its, place in n.parents:
        if its == slot:
            if place < 0:
                return alias(<ndarray>x, node)
            x = list(x) if type(x) is tuple else x[:]
            x[place] = alias(<ndarray>x[place], node)
    return x

cdef object apply(Node n, tuple entry, object g, bint again):
    return entry[0](g, *[argument(n, slot, again) for slot in <tuple>entry[1]])

cdef class Way:
    """One way back: the gradients that have arrived at nodes, and the nodes to go on from, the newest first."""
    cdef dict arrived           # by node
    cdef list heap
    cdef bint again             # gradients are recorded
    cdef bint keeps             # the record is not freed
    cdef set wanted             # nodes whose gradients the caller asked for; None: those of leaves are kept
    cdef dict found
    cdef long long floor        # nodes up to this number are not gone back from: their gradients are found

    cdef int arrive(self, Node n, object g) except -1:
        """g is part of the gradient of n."""
        if g is None:
            return 0
        g = fitted(n, g)
        before = self.arrived.get(n)
        if before is None:
            self.reach(n)
        self.arrived[n] = g if before is None else before + g
        return 0

    cdef int reach(self, Node n) except -1:
        """A part of the gradient of n is zero."""
        if n not in self.arrived:
            self.arrived[n] = None
            heappush(self.heap, (-n.order, n))
        return 0

    cdef int go(self) except -1:
        cdef Node n
        while self.heap:
            n = heappop(self.heap)[1]
            g = self.arrived.pop(n)
            if self.wanted is not None and n in self.wanted or n.order <= self.floor:
                self.found[n] = zeros_for(n) if g is None else g
            if n.order <= self.floor:
                continue
            if self.wanted is None and (type(n) is Leaf or n.asked is not None):
                keep_gradient(<Leaf>n if type(n) is Leaf else n.asked, g)
            if type(n) is Leaf:
                continue
            self.pass_on(n, g)
            if not self.keeps and type(n) is not View:
                n.rule = None
                n.values = n.versions = None
                n.parents = ()
        return 0

    cdef int pass_on(self, Node n, object g) except -1:
        """The gradients of what n was computed from."""
        cdef tuple entry
        cdef list parts
        cdef bint turned
        if n.rule is None:
            raise ValueError(f"the record of this value{at(n)} was freed by an earlier backward(): retain_graph=True "
                             "keeps it")
        if n.constant or g is None:
            for parent, _, _ in n.parents:
                self.reach(parent)
        elif type(n) is View:
            parent = n.parents[0][0]
            if (<Node>parent).code == n.code:
                g = gradient_hooks.spread(g, (<View>n).own, (<View>n).whole)
            else:
                g = gradient_hooks.spread_part(g, (<View>n).own, (<View>n).whole, DTYPES[(<Node>parent).code])
            self.arrive(parent, g)
        elif type(n) is Pick:
            parent, place, count = n.parents[0]
            parts = self.arrived.get(parent)
            if parts is None:
                self.reach(parent)
                parts = self.arrived[parent] = [None] * <int>count
            parts[place] = g if parts[place] is None else parts[place] + g
        elif type(n) is Missing:
            raise NotImplementedError(f"{(<Missing>n).name}{at(n)} has no gradient")
        elif n.rule.joint is not None:
            gradients = apply(n, n.rule.joint, g, self.again)
            for parent, slot, place in n.parents:
                self.arrive(parent, gradients[slot] if place < 0 else gradients[slot][place])
        else:
            turned = n.rule.conjugates and is_complex(n.code)
            g = gradient_hooks.conjugate(g) if turned else g
            for parent, slot, place in n.parents:
                entry = n.rule.function(slot)
                if entry is not None:
                    x = apply(n, entry, g, self.again)
                    if turned and is_complex((<Node>parent).code):
                        x = gradient_hooks.conjugate(x)
                    self.arrive(parent, x)
        return 0

cdef object fitted(Node n, object g):
    """A gradient in the shape and type of its value."""
    cdef ndarray a = as_array(g)
    if shape_tuple(a) != n.shape:
        a = gradient_hooks.sum_to(a, n.shape)
    if a.code != n.code:
        a = a.real if is_complex(a.code) and not is_complex(n.code) else a
        a = a.astype(DTYPES[n.code])
    return a

cdef object zeros_for(Node n):
    return gradient_hooks.zeros(n.shape, DTYPES[n.code])

cdef int keep_gradient(Leaf n, object g) except -1:
    """g, or zeros for None, into the array of the gradient, as it asks for."""
    n.fresh = True
    if g is None and n.request == "write":
        return put_gradient(n, zeros_for(n))
    return 0 if g is None or n.request == "null" else put_gradient(n, g)

cdef int put_gradient(Leaf n, ndarray g) except -1:
    """g into the array of the gradient: as its memory, if nobody else has either."""
    cdef ndarray kept = n.grad
    if noted_leaves is not None and capturing():
        noted_leaves.append(n)
    if n.request == "add":
        g = kept + g
    if (Py_REFCNT(kept) == 2 and Py_REFCNT(g) <= 2 and g.base == NULL and g.node == NULL and g.offset == 0
            and g.flags & C_CONTIGUOUS and not g.flags & (ALIAS | READONLY) and not host_task_may_have(kept)
            and load_int(&kept.st.refs) == 1 and not captures):  # or a program writes to it, or this is to be one
        become(kept, g)
        be_array(kept)
    else:
        assign(kept, g)
    return 0

def backward(list heads, list gradients, bint retain=False, bint again=False, variables=None):
    """Carry the gradients of heads back, to the arrays with gradients; or return those of `variables`.

    heads, gradients: arrays; None stands for ones. again: so that gradients of gradients can be computed.
    """
    cdef Way way = Way.__new__(Way)
    cdef ndarray head
    cdef bint before
    way.arrived = {}
    way.heap = []
    way.again = again
    way.keeps = retain or again
    nodes = None if variables is None else [node_of(<ndarray?>x) if tracked(x) else None for x in variables]
    way.wanted = None if nodes is None else set(nodes)
    way.found = {}
    for head in heads:
        if head.node == NULL:
            raise ValueError("this array was not computed from arrays with gradients while autograd.record() was on")
    before = set_recording(False)
    try:
        for head, g in zip(heads, gradients):
            way.arrive(node_of(head), gradient_hooks.ones_like(head) if g is None else alias(as_array(g), None))
        set_recording(again)
        way.go()
    finally:
        set_recording(before)
    if nodes is None:
        return None
    found = [way.found.get(n) for n in nodes]
    if again:
        for g in found:
            if g is not None and (<ndarray>g).node == NULL:         # of what is linear: its own gradients are zero
                hold_constant(tuple([(n, 0, -1) for n in nodes if n is not None]), <ndarray>g)
    return found

# ---- for programs (_tracing/trace.pyx) -------------------------------------------------------------------------------

cdef list noted_leaves = None

cdef int set_noted_leaves(list leaves) except -1:
    """Where to list the leaves whose gradients are written; None: nowhere."""
    global noted_leaves
    noted_leaves = leaves
    return 0

cdef long long newest_node() noexcept:
    return made

cdef long long replaced = 0     # leaves whose arrays have another one now: a program knows leaves, not arrays

cdef long long leaves_replaced() noexcept:
    return replaced

cdef ndarray stand_in(ndarray a):
    """The same value, which is recorded as one that came after it;
    without a record, what is written to is not a's affair."""
    cdef ndarray v = alias(a, None)
    if a.node != NULL:
        recorded(leaf_rule if type(<object>a.node) is Leaf else copy_rule, (a,), v)
    return v

cdef int return_to(ndarray a, ndarray v) except -1:
    """A stand-in was written to: so was a."""
    if v.node != NULL and (<Node>v.node).version != (<Node>a.node).version:
        hold(a, <Node>v.node)
    return 0

cdef dict back_to(list heads, list gradients, long long floor, bint again):
    """The gradients of recorded arrays by the nodes up to this number; the record stays. again: they are recorded."""
    cdef Way way = Way.__new__(Way)
    cdef bint before = set_recording(again)
    cdef ndarray head
    way.arrived = {}
    way.heap = []
    way.again = again
    way.keeps = True
    way.found = {}
    way.floor = floor
    try:
        for head, g in zip(heads, gradients):
            way.arrive(node_of(head), g)
        way.go()
    finally:
        set_recording(before)
    return way.found

cdef bint is_leaf(object n) noexcept:
    return type(n) is Leaf

cdef bint is_constant(object n) noexcept:
    return (<Node>n).constant

cdef object node_at(ndarray a):
    return node_of(a)

cdef int record_heads(Rule rule, object held, tuple parents, list heads) except -1:
    """What a program returned, as computed from these nodes: `held` knows how to go back."""
    cdef Node n = Node.__new__(Node)
    cdef ndarray head
    cdef int i
    n.rule = rule
    n.parents = parents
    n.values = [held, None, None, None, None]
    n.versions = [0, 0, 0, 0, 0]
    for head in heads:
        describe_value(n, head)
        if len(heads) == 1:
            hold(head, n)
            return 0
    for i, head in enumerate(heads):
        hold(head, pick_of(n, i, len(heads), head))
    return 0

# ---- for dflow.autograd ------------------------------------------------------------------------------------------

def attach_leaf(ndarray a, grad, str request):
    """Make a an array with a gradient, which is kept in `grad`."""
    global replaced, ever_kept
    if a.flags & SCALAR and a.flags & READONLY:
        raise ValueError(f"a gradient of {a!r}, which comparisons of elements share: copy() has one of its own")
    ever_kept = True
    cdef Leaf n = Leaf.__new__(Leaf)
    describe_value(n, a)
    n.rule = view_rule
    n.grad = grad
    n.request = request
    n.constant = stays_constant(a.code, BOOLEAN if mxnet_rules else 0)
    if a.node != NULL and type(<object>a.node) is not Leaf and (<Node>a.node).rule is not None and (
            node_of(a) is not None):
        (<Node>a.node).asked = n
        return
    if leaf_of(a) is not None:
        replaced += 1
    hold(a, n)

def drop_leaf(ndarray a):
    """Keep the gradient of an array no more. What was recorded of it stays."""
    cdef Leaf n = leaf_of(a)
    if n is None:
        return
    n.grad = None
    n.request = "null"
    if <PyObject*>n != a.node:
        (<Node>a.node).asked = None

def leaf_of(ndarray a):
    """The leaf that an array is, or that was put at what it was computed as; or None."""
    if a.node == NULL:
        return None
    return <Leaf>a.node if type(<object>a.node) is Leaf else (<Node>a.node).asked

def is_tracked(ndarray a):
    """Whether an array stands for a recorded value."""
    return a.node != NULL

def detach(ndarray a):
    """The same memory, without what was recorded."""
    return alias(a, None)

def is_recording():
    return recording()

def is_training():
    return training()

def switch_training(bint on):
    """Be in training mode in this thread, or not; whether it was before."""
    return set_training(on)

def switch_recording(bint on):
    """Record in this thread, or not; what it was before."""
    return set_recording(on)

def record_custom(result, arguments, Rule rule):
    """The results of a function with a rule of its own, which is used once."""
    key = object()
    rules[key] = rule
    try:
        return recorded(key, tuple(arguments), result)
    finally:
        del rules[key]

def table():
    """The hooks that are Python callables, to be set."""
    return gradient_hooks

def check_table():
    check_callables("_tracing.tape", gradient_hooks)

cdef int note_copy(ndarray a, ndarray out) except -1:
    """out is a copy of a tracked array, or a cast."""
    recorded(copy_rule, (a,), out)
    return 0

def _itself(g):
    return g

cdef Rule copy_rule = Rule("copy", ("a",), (_itself,), over_complex="own")
cdef Rule leaf_rule = Rule("copy", ("a",), (_itself,), over_complex="own")       # of what stands in for a leaf
rules[copy_rule] = copy_rule
rules[leaf_rule] = leaf_rule

record_hooks.record_view = note_view
record_hooks.record_copy = note_copy

def check():
    check_hooks("_array.core", &record_hooks, sizeof(RecordHooks), "record_view record_copy")

check()
