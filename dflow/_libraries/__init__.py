"""Other libraries that ask for numpy.ndarray itself, in C or by isinstance(): what of them is given NumPy's arrays.

Nothing here imports a library. In one that the program imports, before dflow or after, the functions named below are
changed: where an array of ours is among their arguments, they get NumPy's over the same memory, or NumPy's number.
"""

import importlib
import sys
from types import FunctionType

from dflow._functions.given import given_numpys

ARITHMETIC = "add sub mul truediv floordiv mod pow and or xor matmul"
OPERATORS = [f"__{name}__" for name in "lt le eq ne ge gt".split()] + [
    f"__{side}{name}__" for name in ARITHMETIC.split() for side in ("", "r")]
ITEMS = "__init__ __getitem__ __setitem__"

# By module: a class, and which of its methods; `*` stands for all public ones. A class without a name stands for the
# functions of the module, `Series().loc` for the class of that attribute of an object.
GIVEN = {
    "pandas": {"": "*", "Series": f"* {ITEMS}", "DataFrame": f"* {ITEMS}", "Index": "* __getitem__ __new__",
               "RangeIndex": "* __getitem__ __new__", "IntervalIndex": "*", "MultiIndex": "*",
               "Categorical": "* __init__",
               "Series().loc": ITEMS, "Series().iloc": ITEMS, "Series().at": ITEMS, "Series().iat": ITEMS},
    "pandas.api.types": {"": "*"},
    "polars": {"": "*", "Series": f"* {ITEMS} __array_ufunc__ {' '.join(OPERATORS)}",
               "DataFrame": f"* {ITEMS} {' '.join(OPERATORS)}", "LazyFrame": f"* {ITEMS}",
               "Expr": f"* {' '.join(OPERATORS)}"},
    "pyarrow": {"": "array scalar table record_batch chunked_array"},
    "pyarrow.compute": {"": "*"},
    "zarr": {"": "*", "Array": f"* {ITEMS}", "Group": f"* {ITEMS}"},
    "h5py": {"Dataset": f"read_direct write_direct {ITEMS}"},
    "sklearn.model_selection._search": {"ParameterGrid": "__init__", "ParameterSampler": "__init__"},
    "sklearn.utils._param_validation": {"_InstancesOf": "is_satisfied_by"},
    "matplotlib.axes": {"Axes": "errorbar"},
    "networkx": {"": "to_networkx_graph"},
    "networkx.convert": {"": "to_networkx_graph"},
    "statsmodels.base.data": {"": "handle_data handle_data_class_factory"},
    "pytest": {"": "approx"},
    "xarray": dict.fromkeys(("DataArray", "Dataset"), "isel sel interp __getitem__ __setitem__"),
}

COMPILED = ("builtin_function_or_method", "cython_function_or_method")


def _adapted(attribute):
    """A function or method that is given NumPy's arrays; None for what is none, or is so already."""
    if isinstance(attribute, (classmethod, staticmethod)):
        inner = _adapted(attribute.__func__)
        return inner and type(attribute)(inner)
    function = isinstance(attribute, FunctionType) or type(attribute).__name__ in COMPILED
    return given_numpys(attribute) if function and not hasattr(attribute, "__given__") else None


def _place(module, path):
    """What `path` names in GIVEN."""
    name, _, attribute = path.partition("().")
    found = getattr(module, name) if name else module
    return type(getattr(found(dtype=float), attribute)) if attribute else found


def _adapt(module):
    """What GIVEN says of a module. What a version of a library has not, stays away."""
    library = module.__name__.partition(".")[0]
    for path, names in GIVEN[module.__name__].items():
        try:
            place = _place(module, path)
        except AttributeError:
            continue
        for kind in place.__mro__ if isinstance(place, type) else (place,):
            if getattr(kind, "__module__", module.__name__).partition(".")[0] == library:
                _adapt_names(kind, names.split())


def _adapt_names(place, names):
    public = [name for name in vars(place) if name[0] != "_"] if "*" in names else []
    for name in {*public, *names} & {*vars(place)}:
        adapted = _adapted(vars(place)[name])
        if adapted is not None:
            setattr(place, name, adapted)


def _teach_pandas(module):
    importlib.import_module("dflow._libraries.inference").teach(module)


def _teach_numba(module):
    importlib.import_module("dflow._libraries.compiled").register()


def _teach_dask(module):
    importlib.import_module("dflow._libraries.dask")


def _teach_dask_array(module):
    importlib.import_module("dflow.dask")


def _teach_distributed(module):
    importlib.import_module("dflow.distributed")


def _teach_mpi(module):
    importlib.import_module("dflow._libraries.mpi4py").teach(module)


# What is done when a module has been imported.
ARRIVED = {**dict.fromkeys(GIVEN, _adapt), "dask": _teach_dask, "dask.array": _teach_dask_array,
           "distributed": _teach_distributed, "mpi4py.MPI": _teach_mpi, "numba": _teach_numba,
           **dict.fromkeys(("pandas._libs.lib", "pandas.core.dtypes.cast"), _teach_pandas)}


class Finder:
    """Asked first: for a module in ARRIVED it asks the others, and is called when that has run."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in ARRIVED:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if not isinstance(finder, Finder) else None
            if spec is not None:
                break
        else:
            return None
        if hasattr(spec.loader, "exec_module"):
            run = spec.loader.exec_module

            def exec_module(module):
                del spec.loader.exec_module         # the loader is again what it was
                run(module)
                ARRIVED[name](module)

            spec.loader.exec_module = exec_module
        return spec


def install():
    """Adapts what is there, and what will come."""
    for name, arrived in ARRIVED.items():
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            arrived(module)
    sys.meta_path.insert(0, Finder())
