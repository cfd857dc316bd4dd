"""Numba: functions that it compiles take our arrays, as NumPy's over the same memory; `np` in them is NumPy."""

from types import ModuleType

import numpy

from dflow._array.core import ndarray

NAMESPACE = "dflow.numpy"


def numpys(name, found=numpy):
    """What NumPy has by a name below dflow.numpy."""
    for part in name.split(".")[2:]:
        found = getattr(found, part)
    return found


def register():
    """Tell Numba, which has been imported."""
    _know_types()
    _take_arrays()


def _know_types():
    """Arrays have the types of NumPy's, and so have functions and modules of the namespace."""
    from numba.core import types
    from numba.core.registry import cpu_target
    from numba.core.typing.typeof import typeof_impl
    from numba.np.numpy_support import from_dtype, map_layout

    from dflow import numpy as namespace

    @typeof_impl.register(ndarray)
    def type_of_array(x, context):
        """NumPy's, so that what was compiled for these serves both; without axes, that of a number. Does not wait."""
        kind = from_dtype(x.dtype)
        return types.Array(kind, x.ndim, map_layout(x), readonly=not x.flags.writeable) if x.ndim else kind

    @typeof_impl.register(ModuleType)
    def type_of_module(module, context):
        inside = module.__name__ == NAMESPACE or module.__name__.startswith(f"{NAMESPACE}.")
        return types.Module(numpys(module.__name__)) if inside else None

    def type_of_function(function, context):
        """Of one that a program has imported from the namespace by its name."""
        home = NAMESPACE if function.__module__ == "numpy" else function.__module__
        return cpu_target.typing_context.resolve_value_type(numpys(f"{home}.{function.__name__}"))

    for function in (namespace.sin, namespace.dot, namespace.zeros):         # one of each kind
        typeof_impl.register(type(function), type_of_function)


def _take_arrays():
    """What Numba does with an argument that shall be an array or a complex number, done with what ours gives."""
    from numba.core import boxing, cgutils, types
    from numba.core.pythonapi import _unboxers
    from numba.extending import NativeValue

    def array_of_ours(typ, obj, c):
        """Numba's way with NumPy's arrays; where that fails, with what the object's __array__ gives."""
        first = boxing.unbox_array(typ, obj, c)
        value = cgutils.alloca_once_value(c.builder, first.value)
        failed = cgutils.alloca_once_value(c.builder, first.is_error)
        with c.builder.if_then(first.is_error, likely=False):
            c.pyapi.err_clear()
            theirs = c.pyapi.call_method(obj, "__array__")
            with c.builder.if_then(cgutils.is_not_null(c.builder, theirs)):
                second = boxing.unbox_array(typ, theirs, c)
                c.builder.store(second.value, value)
                c.builder.store(second.is_error, failed)
                c.pyapi.decref(theirs)
        return NativeValue(c.builder.load(value), is_error=c.builder.load(failed))

    def complex_of_ours(typ, obj, c):
        """Of an element, whose own number Numba would take without its imaginary part."""
        number = c.pyapi.call_method(obj, "item")
        given = cgutils.alloca_once_value(c.builder, number)
        with c.builder.if_then(cgutils.is_null(c.builder, number)):         # one of Python's
            c.pyapi.err_clear()
            c.pyapi.incref(obj)
            c.builder.store(obj, given)
        result = boxing.unbox_complex(typ, c.builder.load(given), c)
        c.pyapi.decref(c.builder.load(given))
        return result

    _unboxers.functions[types.Array] = array_of_ours
    _unboxers.functions[types.Complex] = complex_of_ours
