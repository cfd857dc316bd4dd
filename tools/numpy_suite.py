"""NumPy's own tests over dflow: `python tools/numpy_suite.py test_numeric test_umath ...`, or `make numpy-suite`.

The test modules installed with NumPy are copied into a folder thrown away, with `numpy` replaced by `dflow.numpy` in
their imports, and run by pytest, each in a process of its own, which survives a crash. What fails is run once more over
NumPy itself: only what passes there counts. A failure is put into a class by the last line of its error, see CLASSES,
or has a reason of its own in numpy_expected.py.
"""

import argparse
import faulthandler
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from collections import Counter, defaultdict
from pathlib import Path

from numpy_expected import EXPECTED

ROOT = Path(__file__).resolve().parent.parent
MODULES = """test_numeric test_umath test_ufunc test_multiarray test_indexing test_indexerrors test_shape_base
    test_einsum test_item_selection test_getlimits test_finfo test_function_base test_scalarmath
    test_scalar_methods test_scalar_ctors test_nditer test_overrides test_print test_arrayprint test_half
    test_longdouble test_conversion_utils test_mem_overlap test_nep50_promotions test_errstate
    test_array_coercion test_casting_floatingpoint_errors test_casting_unittests test_umath_complex
    test_umath_accuracy test_dtype test_numerictypes test_regression test_abc test_argparse test_api
    test_arrayobject test_protocols test_deprecations""".split()

# dflow's documented limits, in the order of trying: class; what the error looks like; what the test's name looks like,
# where that is enough. Any other failure is to be looked at.
CLASSES = [
    ("objects, strings, records",
     r"dflow arrays hold numbers|of references|ACTUAL: <class 'numpy\.ndarray'> DESIRED: <class 'dflow\.ndarray'>",
     r"object|string|struct|record|void|datetime|timedelta|unicode|subarray|field|TestWhere::test_exotic"),
    ("byte order", r"machine's byte order|isnative|newbyteorder|>[iufc]\d", None),
    ("0-d arrays for scalars", r"np\.generic|(is|isinstance\(.*) *np\.(float|int|bool|complex)|"
     r"\.dtype\.type\)|<class 'numpy\.\w+'> == <class 'dflow|dflow\.ndarray'> DESIRED: <class 'numpy\.(?!nd)\w+'>|"
     r"type\(res\) is np\.dtype\(dt\)\.type|is np\.False_|abc\.Hashable", r"TestBool::test_test_interning"),
    ("NumPy's arrays only", r"inputs must be NumPy arrays|argument \d must be numpy.ndarray|output must be an array$",
     None),
    ("internals", r"numpy\._core|has no attribute '_[a-z]|dflow arrays are of one class",
     r"refcount|refleak|subclass|warn_?on_?write|import_entry_point|malloc_fails|WritebackIfCopy|buffer_info_is_corrupted|"
     r"method_signatures\[__(array_finalize|setstate)__|test_c_func_dispatcher|test_add_newdoc_function_signature"),
    # incref_elide() hands its argument, unseen, to PyArray_NewCopy(): it crashes on what is no ndarray of NumPy's.
    ("NumPy's C code for tests", r"iterators\.c:\d+: bad argument", r"test_extension_incref_elide$"),
    ("what pickles hold out of band, and __array_interface__ and its kin say, is copied",
     r"Unable to avoid copy while creating",
     r"set_stridesattr|interface_nullptr|TestNewBufferProtocol::test_roundtrip$|readonly_flag_protocols\[writeable|"
     r"writeable_pickle|buffercallback|TestPickling::test_non_contiguous_array"),
    ("what __array__ gives is copied, whatever copy= it was asked with", None, r"CopyArgument::test___array__"),
    ("resize() leaves views what they see: refcheck= has no meaning", None, r"TestResize::test_check_"),
    ("shapes of a few axes lie in the array itself", None, r"TestSizeOf::test_reshape"),
    ("other words: all products are matmul", "encountered in matmul", None),
    ("NumPy's operator asks other libraries' objects", None, r"test_ufunc_binop_interaction"),
    ("x.flat has no limit of 32 axes", None, r"TestFlat::test_maxdims"),
    ("unaligned memory", r"bytes cannot be seen as", r"unaligned|non_aligned|misaligned"),
    ("other libraries' arrays", r"MyArray", r"TestArrayLike"),
]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", default=MODULES, help="names in numpy/_core/tests, or paths below numpy/")
    parser.add_argument("--source", type=Path, help="a folder like numpy/ with the tests, instead of the one installed")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one test")
    parser.add_argument("-k", metavar="EXPRESSION", help="only the tests that pytest's -k chooses")
    parser.add_argument("--objects", action="store_true", help="where dflow refuses objects, go on with NumPy's arrays")
    parser.add_argument("--all", action="store_true", help="list the failures that are by design, too")
    return parser.parse_args()


# ---- one module, in a process of its own -------------------------------------------------------------------------

# What is imported from: the rest (numpy._core, numpy.exceptions, ...) stays NumPy's, which takes our arrays.
_OURS = r"numpy(?:\.(?:testing|linalg|fft|random|polynomial(?:\.\w+)?|lib(?= import stride_tricks)))?"
_REPLACED = [(rf"^(\s*)import ({_OURS}) as ", r"\1import dflow.\2 as "),
             (r"^(\s*)import numpy$", r"\1import dflow.numpy as numpy"),
             (rf"^(\s*)from ({_OURS}) import ", r"\1from dflow.\2 import ")]


def over_dflow(source):
    """The text of a test module with NumPy's imports replaced."""
    for pattern, replacement in _REPLACED:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


class Recorder:
    """A pytest plugin that writes a line for each thing that happens, at once, and stops a test that takes too long."""

    def __init__(self, path, timeout, done, chosen):
        self.file = open(path, "a", buffering=1, encoding="utf-8")
        self.timeout = timeout
        self.done = done
        self.chosen = chosen

    def write(self, *words):
        print(*[str(word).replace("\n", " ").replace("\t", " ") for word in words], sep="\t", file=self.file)

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid not in self.done and (
            not self.chosen or {item.nodeid, item.nodeid.split("::")[0]} & self.chosen)]

    def pytest_runtest_logstart(self, nodeid):
        self.write("started", nodeid)
        signal.alarm(self.timeout)
        faulthandler.dump_traceback_later(2 * self.timeout, exit=True)      # where no signal handler gets to run

    def pytest_runtest_logfinish(self, nodeid):
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            outcome = "error" if report.failed and report.when != "call" else report.outcome
            self.write(outcome, report.nodeid, last_line(report) if report.failed else "")

    def pytest_collectreport(self, report):
        if report.failed:
            self.write("error", report.nodeid, last_line(report))


def last_line(report):
    """The exception as one line; where it says nothing, the test's line that it comes from."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr).strip().split("\n")[-1]
    text = " ".join(text.split() if text.lower().startswith("assert") else text.split("\n")[:1])[:300]
    if text != "AssertionError":
        return text
    entries = report.longrepr.reprtraceback.reprentries
    lines = [entry.lines[0].strip() for entry in entries if not Path(entry.reprfileloc.path).is_absolute()]
    return f"{text}: {lines[-1]}" if lines else text


class NumbersOnly:
    """A pytest plugin: while tests are collected, or throughout, what dflow refuses to hold is an array of NumPy's.

    Modules make such arrays as parameters of tests, beside numbers: without this, nothing of them would run.
    """

    def __init__(self, throughout):
        import dflow.numpy
        from dflow._array.core import attach

        self.throughout = throughout
        self.namespace = vars(dflow.numpy)
        self.attach = attach
        names = "array asarray asanyarray empty zeros ones full arange".split()
        self.own = {name: self.namespace[name] for name in names}
        self.methods = {name: getattr(dflow.numpy.ndarray, name) for name in ("astype", "view")}
        self.namespace.update({name: self.lenient(function) for name, function in self.own.items()})
        for name, method in self.methods.items():
            attach(name, self.lenient(method, method=True))

    def lenient(self, ours, method=False):
        import numpy

        @functools.wraps(ours)
        def function(*args, **keywords):
            try:
                return ours(*args, **keywords)
            except (TypeError, ValueError) as error:
                if "dflow arrays " not in str(error):
                    raise
            if method:
                return getattr(args[0].asnumpy(), ours.__name__)(*args[1:], **keywords)
            return getattr(numpy, ours.__name__)(*args, **keywords)

        if method:
            return function
        return functools.update_wrapper(functools.partial(function), ours)          # which does not bind, as NumPy's

    def pytest_collection_finish(self, session):
        for name, method in self.methods.items():
            self.attach(name, method)
        if self.throughout:
            return
        self.namespace.update(self.own)
        for item in session.items:
            params = item.callspec.params if hasattr(item, "callspec") else {}
            own = {key: getattr(x, "__wrapped__", None) for key, x in params.items()}
            params.update({key: x for key, x in own.items() if x in self.own.values()})


_LENT = ("_CopyMode", "__array_namespace_info__")


def lend_internals():
    """NumPy's private names, which its tests use, ufuncs among them as ours; our arrays count as NumPy's there."""
    import numpy
    import numpy.ma.testutils

    import dflow.numpy
    from dflow._functions.ufunc import wrap_ufunc

    core, umath = types.ModuleType("_core"), types.ModuleType("umath")
    for name, x in vars(numpy._core.umath).items():
        setattr(umath, name, wrap_ufunc(x) if isinstance(x, numpy.ufunc) else x)
    vars(core).update(vars(numpy._core) | {"umath": umath})
    for name, x in (vars(numpy) | {"_core": core}).items():
        if name.startswith("_") and (not callable(x) or name in _LENT):
            vars(dflow.numpy).setdefault(name, x)
    numpy.ma.testutils.ndarray = numpy.ndarray, dflow.numpy.ndarray     # as what isinstance() asks for


def run_here(path, record, timeout, over, names):
    """In a child process: pytest over one file. `names`: what to run, or what is done already, each behind a + or -."""
    import pytest

    def too_long(_signal, _frame):
        raise TimeoutError(f"longer than {timeout} seconds")

    signal.signal(signal.SIGALRM, too_long)
    plugins = []
    if over == "dflow":
        lend_internals()
        plugins.append(NumbersOnly(bool(os.environ.get("NUMPY_SUITE_OBJECTS"))))
    done = {name[1:] for name in names if name[0] == "-"}
    plugins.append(Recorder(record, timeout, done, {name[1:] for name in names if name[0] == "+"}))
    extra = os.environ.get("NUMPY_SUITE_K")
    options = "-q --tb=short -p no:cacheprovider --rootdir . -W error -W ignore::pytest.PytestWarning".split()
    options += ["-W", "ignore:the matrix subclass:PendingDeprecationWarning", "-c"]         # as NumPy's own settings
    options += [os.devnull, "--continue-on-collection-errors", *(["-k", extra] if extra else []), path]
    return pytest.main(options, plugins)


# ---- all of them -------------------------------------------------------------------------------------------------

def copy_tests(source, target, change):
    """The package's folders of tests below `target`, as they are laid out in NumPy."""
    for folder in (source, *(p for p in source.rglob("tests") if p.is_dir())):
        to = target / folder.relative_to(source)
        if folder == source:
            to.mkdir(parents=True)
            shutil.copy(source / "conftest.py", to)
            continue
        shutil.copytree(folder, to, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        for path in to.glob("*.py"):
            path.write_text(change(path.read_text()))


def outcomes(folder, path, timeout, over, names=()):
    """Test: (outcome, line) of one file. A test in which the process died counts as crashed; the others still run."""
    results, names = {}, list(names)
    record, given = folder.parent / f"{over}.record", folder.parent / f"{over}.names"
    while True:
        record.write_text("")
        given.write_text("\n".join([*names, *(f"-{name}" for name in results)]))
        command = [sys.executable, __file__, "--child", path, str(record), str(timeout), over, str(given)]
        log = folder.parent / f"{over}.log"
        with open(log, "w") as output:
            subprocess.run(command, cwd=folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                           env=os.environ | {"PYTHONPATH": str(ROOT)})
        if not record.stat().st_size and not results and not names:
            sys.exit(f"{path}: nothing was run\n{log.read_text()[-2000:]}")
        running = None
        for line in record.read_text().splitlines():
            outcome, name, *rest = line.split("\t")
            if outcome == "started":
                running = name
                continue
            if results.get(name, ("passed",))[0] in ("passed", "skipped"):
                results[name] = outcome, "".join(rest)
            running = None if running == name else running
        if running is None or running in results:
            return results
        results[running] = "crashed", "the process died, or hung"


def file_of(source, name):
    """The test module that a name on the command line means, relative to the package."""
    for path in (name, f"{name}.py", f"_core/tests/{name}.py", f"lib/tests/{name}.py", f"{name}/tests"):
        if (source / path).exists():
            return path
    sys.exit(f"there is no {name} in {source}")


def of_numpy(name):
    """A test's name over NumPy: a module among its parameters has another name there."""
    return name.replace("dflow.numpy", "numpy")


def class_of(name, line):
    for title, text, test in CLASSES:
        if text and re.search(text, line) or test and re.search(test, name.split("::", 1)[-1], re.IGNORECASE):
            return title
    return reason_of(name, line)


def reason_of(name, line):
    """Why that test is expected to fail, or None."""
    file, _, test = name.partition("::")
    reasons = EXPECTED.get(file, {}).items()
    return next((reason for reason, tests in reasons if re.search(tests, f"{test}: {line}")), None)


def stale(results):
    """The reasons, of the files that were run, that no test has which failed, or was skipped for want of memory."""
    found = {(name.partition("::")[0], reason_of(name, line)) for name, (outcome, line) in results.items()
             if outcome != "passed"}
    files = {name.partition("::")[0] for name in results}
    return [(file, reason) for file in files for reason in EXPECTED.get(file, {}) if (file, reason) not in found]


def cause(line):
    """An error's line without its numbers and names, to count alike ones together."""
    return re.sub(r"0x[0-9a-f]+|\d+", "#", line)[:110]


def main():
    arguments = parse()
    os.environ["NUMPY_SUITE_K"] = arguments.k or ""
    os.environ["NUMPY_SUITE_OBJECTS"] = "1" if arguments.objects else ""
    import numpy
    source = arguments.source or Path(numpy.__file__).parent
    totals, left = Counter(), defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "dflow" / "suite", Path(folder) / "numpy" / "suite"
        copy_tests(source, ours, over_dflow)
        copy_tests(source, theirs, str)
        for name in arguments.modules:
            path = file_of(source, name)
            results = outcomes(ours, path, arguments.timeout, "dflow")
            failed = {test: result for test, result in results.items() if result[0] not in ("passed", "skipped")}
            again = [f"+{of_numpy(test)}" for test in failed]
            numpys = outcomes(theirs, path, arguments.timeout, "numpy", again) if failed else {}
            counts = Counter(outcome for outcome, _ in results.values() if outcome in ("passed", "skipped"))
            for test, (outcome, line) in failed.items():
                if numpys.get(of_numpy(test), ("missing",))[0] not in ("passed", "missing"):
                    counts["NumPy's too"] += 1
                    continue
                title = class_of(test, line)
                counts["expected" if title in EXPECTED.get(test.partition("::")[0], {}) else title or outcome] += 1
                left[title or "to look at"].append((test, line))
            totals += counts
            print(f"{path}: " + ", ".join(f"{n} {word}" for word, n in counts.most_common()), flush=True)
            if not arguments.k:
                for file, reason in stale(results):
                    print(f"    {file}: no test fails any more by this: {reason}")
    report(totals, left, arguments.all)
    return bool(left["to look at"])


def report(totals, left, everything):
    """The failures by cause, the most frequent first."""
    print("all: " + ", ".join(f"{n} {word}" for word, n in totals.most_common()))
    for title in left if everything else ["to look at"]:
        groups = defaultdict(list)
        for test, line in left[title]:
            groups[cause(line)].append((test, line))
        print(f"\n==== {title}: {len(left[title])}")
        for tests in sorted(groups.values(), key=len, reverse=True):
            print(f"{len(tests):5} {tests[0][1]}")
            for test, _ in tests if everything else tests[:12]:
                print(f"          {test}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        path, record, timeout, over, given = sys.argv[2:]
        sys.exit(run_here(path, record, int(timeout), over, Path(given).read_text().splitlines()))
    sys.exit(main())
