"""How long something takes, with all that it leaves to workers."""

import gc
import itertools
import math
import sys
import time
from operator import index

from dflow import _engine
from dflow._array.core import is_array

ENOUGH = 0.2                    # seconds that a run is to take, where `number` is not said
HELD = 16                       # results that are kept until they are there, as a program that uses them would
AT_ONCE = 64                    # loops without a look at that, while nothing is pending

# What is timed is put in here: what it computes is kept in lists for a while.
EXPRESSION = """
def inner(_chunks, _repeat):
    for _n in _chunks:
        _chunks.results = [None for _ in _repeat(None, _n)]
"""
STATEMENTS = """
def inner(_chunks, _repeat):
    for _n in _chunks:
        _results = _chunks.results = []
        for _ in _repeat(None, _n):
            _results.append(())
"""


class TimeitResult:
    """What timeit() has measured, in seconds.

    all_runs: of each run; timings: the same, a loop; best, worst, average, stdev of these; loops in a run; repeat, how
    many runs.
    """

    def __init__(self, all_runs, loops, precision=3):
        self.all_runs, self.loops, self.repeat = list(all_runs), loops, len(all_runs)
        self.timings = [seconds / loops for seconds in all_runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = math.fsum(self.timings) / self.repeat
        self.stdev = math.sqrt(math.fsum((t - self.average) ** 2 for t in self.timings) / self.repeat)
        self._precision = precision

    def __str__(self):
        plus = "±" if _can_show("±") else "+-"
        return (f"{duration(self.average, self._precision)} {plus} {duration(self.stdev, self._precision)} per loop "
                f"(mean {plus} std. dev. of {self.repeat} run{'s' if self.repeat != 1 else ''}, "
                f"{self.loops:,} loop{'s' if self.loops != 1 else ''} each)")

    def __repr__(self):
        return f"<TimeitResult : {self}>"

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))


def timeit(f, *args, number=None, repeat=5, setup="pass", globals=None):
    """How long f(*args) takes, or a statement: with all that it submits. A TimeitResult, which prints itself.

    f is called `number` times in a row, and then everything is waited for; that `repeat` times. None: so often that a
    run takes 0.2 seconds. So it tells how long one call takes among many, which is less than what it takes alone, where
    Python submits the next one meanwhile, or workers do several at a time. What f returns, or a statement leaves in its
    variables, is there before it is dropped: what nobody can read may be computed without being stored, or not at all.

    Parameters
    ----------
    f : callable or str
        A function, or a statement.
    *args
        Of the function.
    number : int, optional
        Calls in a row. None: as many as take 0.2 seconds.
    repeat : int
        Runs.
    setup : str
        Runs before each run, untimed.
    globals : dict, optional
        Where a statement finds its names.

    Returns
    -------
    TimeitResult
        `best`, `worst`, `average`, `stdev`: seconds for a call; `timings`, of each run; `loops`, `repeat`.

    Raises
    ------
    Exception
        Errors of what is timed, also those that nobody has read yet.

    Examples
    --------
    >>> x = np.ones((300, 300))
    >>> result = dflow.timeit("x @ x", number=3, repeat=2, globals={"x": x})
    >>> result.loops, len(result.timings)
    (3, 2)
    """
    for name, value in (("number", number), ("repeat", repeat)):
        if value is not None and index(value) < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if repeat is None:
        raise TypeError("repeat must be an int, not None")
    run = compiled(f, args, setup, globals)
    if number is None:
        for number in (n * 10**k for k in itertools.count() for n in (1, 2, 5)):
            if seconds_of(run, number) >= ENOUGH:
                break
    return TimeitResult([seconds_of(run, number) for _ in range(repeat)], number)


def compiled(f, args=(), setup="pass", globals=None):
    """A function for seconds_of()."""
    import ast  # slow to load

    if callable(f):
        namespace = {"_f": f, "_args": args}
        f, globals = ("_f(*_args)" if args else "_f()"), namespace
    elif args:
        raise TypeError("args are those of a function, not of a statement")
    elif not isinstance(f, str):
        raise TypeError(f"f must be callable or a statement, not {f!r}")
    before = ast.parse(setup, "<setup>").body
    body = ast.parse(f, "<timeit>").body
    if not body:
        raise ValueError(f"f must be a statement, not {f!r}")
    module = ast.parse(EXPRESSION if len(body) == 1 and isinstance(body[0], ast.Expr) else STATEMENTS)
    function = module.body[0]
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        function.body[0].body[0].value.elt = body[0].value
    else:
        function.body[0].body[1].body = _kept(body, function.body[0].body[1].body[0])
    function.body[:0] = before
    ast.fix_missing_locations(module)
    namespace = {} if globals is None else dict(globals)
    exec(compile(module, "<timeit>", "exec"), namespace)
    return namespace["inner"]


def _kept(body, append):
    """body, and that what it leaves in variables is kept."""
    import ast

    if isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Assign([ast.Name("_last", ast.Store())], body[-1].value), body[-1])
    names = {target.id for node in body if isinstance(node, ast.Assign)
             for target in ast.walk(node) if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)}
    if not names or any(isinstance(node, ast.Delete) for node in body):
        return body
    append.value.args[0].elts = [ast.Name(name, ast.Load()) for name in sorted(names)]
    return [*body, append]


def seconds_of(run, number):
    chunks = _Chunks(number)
    collects = gc.isenabled()
    gc.disable()
    try:
        run(chunks, itertools.repeat)
    finally:
        if collects:
            gc.enable()
    return chunks.seconds


class _Chunks:
    """How many loops to do next: between the first of these and the end, the clock runs."""

    def __init__(self, number):
        self.number = number
        self.results = None

    def __iter__(self):
        _engine.waitall()
        start = time.perf_counter()
        left, most, before = self.number, HELD, ()
        while left:
            n = min(left, most)
            left -= n
            yield n
            most = AT_ONCE
            if _engine.live()["tasks"]:
                most = HELD
                for x in itertools.chain.from_iterable(map(_arrays, before)):
                    x.wait_to_read()    # or Python would run ahead for as long as there is memory for results
            before, self.results = self.results, None
        del before
        _engine.waitall()
        self.seconds = time.perf_counter() - start


def _arrays(result):
    if is_array(result):
        return (result,)
    return filter(is_array, result) if isinstance(result, (tuple, list)) else ()


def duration(seconds, precision=3):
    """0.0000724 is 72.4 μs."""
    if seconds >= 60:
        whole, text = round(seconds), []
        for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
            count, whole = divmod(whole, size)
            if count:
                text.append(f"{count}{unit}")
        return " ".join(text)
    units = ("s", "ms", "μs" if _can_show("μ") else "us", "ns")
    at = min(max(-math.floor(math.log10(seconds) / 3), 0), 3) if seconds > 0 else 3
    return f"{seconds * 1000**at:.{precision}g} {units[at]}"


def _can_show(text):
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
