"""How each public name of NumPy's runs in dflow: inline, fused, kernel, host task or blocking. Measured, not told.

Calls, samples of the table of operations or those of CALLS below, are evaluated with their arrays pending, by a task
on a worker, where whatever would wait raises an error at once instead. Of what returns, the engine tells what it has
queued, and whether that has opened a group; of the rest, when it has run, whether it ended one. They are evaluated
with their arrays ready too: do they queue anything then?

`make docs` writes what this finds to docs/sync.md; tests/test_sync_table.py compares it with what the rows say.
"""

import contextlib
import copy
import gc
import io
import pickle
import re
import sys
import warnings
from collections import Counter, namedtuple
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy
import scipy.special

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))
from engines import Gate, configured  # noqa: E402
from test_namespace import CASES, METHODS, SOURCES, call_of  # noqa: E402

import dflow  # noqa: E402
import dflow.numpy as np  # noqa: E402
from dflow import _engine  # noqa: E402
from dflow._functions import host_task  # noqa: E402

INLINE, FUSED, KERNEL, HOST, BOTH = "inline", "fused", "kernel", "host task", "kernel and host task"
BLOCKING, OWN, TYPE_ERROR, MISSING = "blocking", "NumPy's own", "TypeError", "missing"
MEANING = {
    INLINE: "done when the call returns, whether its arrays are there or not: views, shapes, what is made of numbers",
    FUSED: "returns at once; joins, or ends, the thread's open group, which runs block by block",
    KERNEL: "returns at once; a task, or several, of C code without the GIL",
    HOST: "returns at once; a Python function, NumPy's or SciPy's, on a worker",
    BOTH: "returns at once; kernels, and a Python function on a worker, as one that looks for a warning to give",
    BLOCKING: "waits for the arrays named in the last column, or for all of them",
    OWN: "the object of that name in NumPy",
    TYPE_ERROR: "deals in strings, dates, records or objects, which dflow's arrays do not hold",
    MISSING: "dflow has no such name",
}
WAITED = "a task would wait for another one"         # what the engine says to a wait in a task
LARGE = 100_000                                      # N in calls: of what makes arrays of numbers

# Calls of what has no row with samples: their arrays are those of tests/test_namespace.py.
CALLS = {
    "np": """isscalar(s)  issubdtype(a.dtype, float)  mgrid[:2, :3]  ogrid[:2, :3]  r_[1:3, 5]  r_[v, 1.0]  c_[v, v]
        nditer(a)  vectorize(float)(v)
        empty_like(a)  put(a, [0, 1], v[:2])  put(v, j, a[0])  put_along_axis(a, j[None], 0.0, 1)  place(a, b, v)
        putmask(a, b, 0.0)  putmask(a, b, v[:3])  copyto(a, 2 * a)  copyto(a, 2 * a, where=b)  ndarray((2, 3))
        ufunc.__name__  nested_iters(a, [[0], [1]])  common_type(a, f)  diag_indices_from(m)  einsum_path('ij,j', a, v)
        mintypecode([a])  tril_indices_from(a)  triu_indices_from(a)
        compress(b[0], a, 1)  repeat(v, j)  delete(v, j[:2])
        percentile(a, v[:1])  quantile(a, v[:1])  nanpercentile(a, v[:1])  nanquantile(a, v[:1])""",
    "np.random": """seed(0)  get_state()  set_state(np.random.get_state())  rand(N)  randn(N)  randint(0, 9, N)
        random_sample(N)  ranf(N)  sample(N)  random(N)  standard_normal(N)  standard_exponential(N)  standard_cauchy(N)
        choice(9, N)  choice(v, N)  choice(9, N, p=np.full(9, 1 / 9))  choice(4, N, p=v / v / 4)  choice(N, N, False)
        shuffle(a)  permutation(a)  permutation(N)  bytes(9)  default_rng(0)  Generator(np.random.PCG64(0))
        RandomState(0)
        dirichlet([1.0, 2.0], N)  dirichlet(v[2:])  multinomial(9, [0.5, 0.5], N)  multinomial(j[0], [0.5, 0.5])
        multivariate_normal(v[:2], m[:2, :2], N)""",
    "np.random.default_rng(0)": """integers(9, size=N)  permuted(a)  permuted(a, axis=1)  spawn(2)  bit_generator.state
        multivariate_hypergeometric([3, 4], 5, N)  multivariate_hypergeometric(j[:2] * 0 + 3, 3)""",
    "i": """choose([a] * 12)""",
    "a.sum()": """as_integer_ratio()  is_integer()  hex()""",
    "i.sum()": """bit_count()  numerator  denominator""",
    "a": """T  mT  base  dtype  flags  flat  imag  itemsize  nbytes  ndim  real  shape  size  strides  device
        __array__()  tolist()  tobytes()  item(0)  asnumpy()  to_numpy()  wait_to_read()  is_ready()  dumps()
        matvec(a[0])  rmatvec(v[:3])  rmatmat(a)  to_device('cpu')  astype('f4')  astype('f8', copy=False)
        astype('f4', casting='same_value')  byteswap()  clip(0, 1)
        compress([True, False, True], 0)  compress(b[0], 1)  conj()  conjugate()  copy()  fill(2.0)  fill(v[0])
        flatten()  partition(1)  put([0, 1], v[:2])  put(j, v)  ravel()  repeat(j, 1)  reshape(2, 6)
        reshape(4, 3, order='F')  resize(4, 3, refcheck=False)  setflags(write=False)  sort()
        squeeze()  swapaxes(0, 1)  transpose()  transpose(1, 0)  view()  view('i8')  tofile('/dev/null')
        ctx  context  as_in_ctx('cpu')  as_in_context('cpu')  copyto('cpu')  copyto(i)
        attach_grad()  backward()  detach()  drop_grad()  grad  zero_grad()
        dump('/dev/null')  data  getfield('f4', 4)  setfield(2, 'f4')""",
}
# Each is called with a size, and with an array in place of its first parameter.
DISTRIBUTIONS = """beta(1.0, 2.0)  binomial(9, 0.5)  chisquare(3.0)  exponential(2.0)  f(3.0, 4.0)  gamma(2.0, 1.0)
    geometric(0.5)  gumbel(0.0, 1.0)  hypergeometric(5, 6, 7)  laplace(0.0, 1.0)  logistic(0.0, 1.0)
    lognormal(0.0, 1.0)  logseries(0.5)  negative_binomial(5, 0.5)  noncentral_chisquare(3.0, 1.0)
    noncentral_f(3.0, 4.0, 1.0)
    normal(0.0, 1.0)  pareto(3.0)  poisson(3.0)  power(3.0)  rayleigh(1.0)  standard_gamma(2.0)  standard_t(3.0)
    triangular(0.0, 1.0, 2.0)  uniform(0.0, 1.0)  vonmises(0.0, 1.0)  wald(1.0, 2.0)  weibull(2.0)  zipf(2.0)"""
EXPRESSIONS = """-a  abs(a)  ~b  a + 1  a + a  1 / a  a ** 2  divmod(a, 2.0)  a < 0  a == i  b & b  i << 1  a @ a.T
    a += 1  a @= m[:1, :1] * 0 + np.eye(4)  a[0]  a[0, 0]  a[1:, ::2]  a[None]  a[...]  a[j[:3]]  a[i % 3, 0]  a[[0, 2]]
    a[b]  v[v > 0]  a[0] = v  a[1:] = a[:-1]  a[j[:3]] = v  a[[0, 2]] = v  a[b] = 0.0  a[b] += 1  a[0, 0] += 1  len(a)
    float(s)  int(s)  bool(s)  complex(s)  'abc'[i[0, 1] % 2]  f'{s:.2f}'  str(a)  repr(a)  hash(s)  2.0 in a
    [x for x in a]  [x for x in v]  next(iter(a))  round(a, 1)  copy.copy(a)  copy.deepcopy(a)  pickle.dumps(a)
    numpy.asarray(a)  numpy.sin(a)  numpy.concatenate([a, a])  scipy.special.erf(a)  dflow.submit(numpy.sum, a)"""

Outcome = namedtuple("Outcome", "text kind waits queues")      # waits: for which arrays; queues: when they are ready


class Waits(Exception):
    """The call waits for an array that is pending."""


# -- the calls of one name -------------------------------------------------------------------------

HOST_TASKS = []
READY_LIMIT = dflow.engine.inline_limit()


@contextlib.contextmanager
def measuring():
    """While everything is queued, by an engine of three workers, each host task that is submitted is in HOST_TASKS."""
    def host(payload, *args, **keywords):
        HOST_TASKS.append(payload)
        return real(payload, *args, **keywords)

    real = host_task.host
    users = [m for name, m in sys.modules.items() if name.startswith("dflow") and getattr(m, "host", None) is real]
    for module in users:
        module.host = host
    try:
        with configured(limit=0, workers=3), numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(io.StringIO()):
                yield
    finally:
        for module in users:
            module.host = real
        HOST_TASKS.clear()
        gc.collect()            # errors hold frames, and those arrays


@cache
def code_of(text):
    try:
        return compile(text, text, "eval"), eval
    except SyntaxError:
        return compile(text, text, "exec"), exec


def evaluate(text, arrays, n=10):
    """Its result; None of a statement."""
    names = {"np": np, "numpy": numpy, "dflow": dflow, "scipy": scipy, "copy": copy, "pickle": pickle, "N": n, **arrays}
    code, run = code_of(text)
    if ".backward(" in text:                # of what has a gradient
        arrays["a"].attach_grad()
    return run(code, names)


def arrays_of(text):
    """The names of SOURCES in a call."""
    return tuple(name for name in SOURCES if re.search(rf"(?<![.\w'{{]){name}\b(?!['=]\w|=[^=])|{{{name}\b", text))


def copies(names):
    return {name: np.array(SOURCES[name]) for name in names}


def counters():
    statistics = dflow.engine.statistics()
    return Counter(queued=statistics["queued"], fused=statistics["fused"], host=len(HOST_TASKS))


def group_is_open():
    try:
        _engine.check_idle()
    except AssertionError as error:
        return "a group is open" in str(error)
    return False


def queues_when_ready(text):
    """Whether it queues anything with its arrays there and small. Raises what the call raises."""
    limit = dflow.engine.inline_limit()
    dflow.engine.inline_limit(READY_LIMIT)
    try:
        arrays, before = copies(arrays_of(text)), counters()["queued"]
        evaluate(text, arrays)
        return counters()["queued"] > before
    finally:
        dflow.engine.inline_limit(limit)


def behind(start, x):
    """A copy of x that is pending as long as start is."""
    return dflow.submit(lambda _, x: x, start, x, shape=x.shape, dtype=x.dtype)


class Asked:
    """What calls do while arrays of theirs are pending; all of them before the gate opens."""

    def __init__(self, texts):
        self.kept = []          # arrays and results: what nobody can see any more is not run
        self.found = {}         # text: how often it queued what, or for which arrays it waits
        before = counters()
        with Gate() as gate:
            self.start = gate.hold()
            dflow.submit(lambda: [self.ask(text) for text in texts if arrays_of(text)]).result()
            assert not gate.opened.is_set()
            with Gate() as second, Gate() as third:     # no worker is left to take a group that waits for nothing
                self.kept += [second.hold(), third.hold()]
                for text in texts:
                    if not arrays_of(text):
                        self.found[text] = self.queued(text, (), ())
            gate.open()
            settle()
        self.fused = (counters() - before)["fused"]
        self.kept.clear()

    def ask(self, text):
        """In a task, where a wait is an error."""
        names = arrays_of(text)
        try:
            self.found[text] = self.queued(text, names, names)
        except Waits:
            self.found[text] = [name for name in names if self.waits(text, names, name)]

    def waits(self, text, names, name):
        """Whether it waits for this one of its arrays, the others being there."""
        try:
            self.queued(text, names, [name])
        except Waits:
            return True
        return False

    def queued(self, text, names, held):
        """What the call queues while the arrays in `held` are pending."""
        before, arrays = counters(), copies(names)
        for name in held:       # behind the gate, and in an open group, which the call may join
            arrays[name] = behind(self.start, arrays[name]).copy()
        self.call(text, arrays)
        found = counters() - before - Counter(queued=2 * len(held), host=len(held))     # no group is open any more
        arrays = {name: behind(self.start, x) if name in held else x for name, x in copies(names).items()}
        self.call(text, arrays)
        return found + Counter(opens=group_is_open())

    def call(self, text, arrays):
        self.kept.append(arrays)
        try:
            self.kept.append(evaluate(text, arrays, LARGE))
        except RuntimeError as error:
            raise (Waits if WAITED in str(error) else error) from None


def settle():
    """Wait for everything; errors are the calls' own affair."""
    with contextlib.suppress(Exception):
        dflow.waitall()


def outcomes_of(texts):
    """Of the calls that do not fail, as some samples should; or of the name, if they fail for their types."""
    queues, error = {}, None
    for text in texts:
        try:
            queues[text] = queues_when_ready(text)
        except Exception as problem:
            error = problem
    if not queues:
        return [Outcome(texts[0], TYPE_ERROR, [], False)] if isinstance(error, TypeError) else []
    found = Asked(queues).found
    # What opens no group may still end one, as a sum does. Single tasks of one array: more may be a group of their own.
    others = [text for text, count in found.items() if isinstance(count, Counter) and not count["opens"]
              and count["queued"] == 1 and not count["host"] and len(arrays_of(text)) == 1]
    ends = bool(others) and Asked(others).fused >= len(others)
    return [Outcome(text, BLOCKING, count, queues[text]) if isinstance(count, list) else
            Outcome(text, kind_of(count, count["opens"] or ends), [], queues[text]) for text, count in found.items()]


def kind_of(count, fused):
    """The word for what a call has queued."""
    if count["host"]:
        return HOST if count["host"] == count["queued"] else BOTH
    return INLINE if not count["queued"] else FUSED if fused else KERNEL


# -- all names -------------------------------------------------------------------------------------

def words(text):
    return [word for line in text.split("\n") for word in line.strip().split("  ") if word]


def calls():
    """(section, name): its calls."""
    found = {}
    for row, sample in CASES:
        if not sample.startswith("?"):
            found.setdefault((row.module.replace("numpy", "np", 1), row.name), []).append(call_of(row, sample))
    for row, array, rest in METHODS:
        found.setdefault(("a", row.name), []).append(f"{array}.{row.name}({rest or ''})")
    for section, text in CALLS.items():
        for call in words(text):
            name = re.match(r"\w+", call)[0]
            found.setdefault((section if section.startswith("np") else "a", name), []).append(f"{section}.{call}")
    for call in words(DISTRIBUTIONS):
        name, first, rest = re.match(r"(\w+)\(([^,)]*)(.*)\)", call).groups()
        found["np.random", name] = [f"np.random.{name}({parameters})"
                                    for parameters in (f"{first}{rest}, N", f"j[0] * 0 + {first}{rest}")]
    return found


def public(module):
    return sorted(name for name in module.__all__ if name[0] != "_")


def members(thing):
    return sorted(name for name in dir(thing) if name[0] != "_")


def sections():
    """Title, expression, names."""
    yield "numpy", "np", public(numpy)
    for name in ("linalg", "fft", "random"):
        yield f"numpy.{name}", f"np.{name}", public(getattr(numpy, name))
    for name, thing in (("Generator", numpy.random.default_rng), ("RandomState", numpy.random.RandomState)):
        yield f"numpy.random.{name}", f"np.random.{thing.__name__}(0)", members(thing())
    yield "numpy.ndarray", "a", sorted({*members(numpy.ndarray), *members(np.ndarray)})


def without_calls(section, name):
    """The outcome of a name without calls: NumPy's own object, a TypeError, or NumPy's function on copies."""
    text = f"{section}.{name}"
    try:
        ours = evaluate(text, copies("a"))
    except TypeError:
        return Outcome(text, TYPE_ERROR, [], False)
    except AttributeError:
        return Outcome(text, MISSING, [], False)
    theirs = eval(text, {"np": numpy, "a": SOURCES["a"]})
    if ours is theirs or isinstance(theirs, ModuleType):
        return Outcome(text, OWN, [], False)
    try:
        found = Asked([f"{text}(a)"]).found[f"{text}(a)"]       # right or wrong, the array is waited for first
    except TypeError as error:
        if "ndarray" not in str(error):         # of dflow.ndarray, as most Pythons say
            raise
        return Outcome(text, TYPE_ERROR, [], False)
    if isinstance(found, Counter):
        raise LookupError(f"{text} needs a call in tools/sync_table.py")
    return Outcome(f"{text}(a)", BLOCKING, ["a"], False)


def measure(only=None, most=None):
    """{title: {name: outcomes}}; `only`: of these names, `most`: by so many calls each."""
    table, known = {}, calls()
    with measuring():
        for title, section, names in sections():
            table[title] = entries = {}
            for name in names if only is None else filter(only.__contains__, names):
                texts = known.get((section, name), [])
                if not texts and section.startswith("np.random."):
                    texts = [text.replace("np.random", section, 1) for text in known.get(("np.random", name), ())]
                entries[name] = outcomes_of(texts[:most]) or [without_calls(section, name)]
        if only is None:
            table["expressions"] = {text: outcomes_of([text]) for text in words(EXPRESSIONS)}
    return table


# -- the page --------------------------------------------------------------------------------------

def kinds(outcomes):
    """How a name runs: the usual kind first; of the others those of every fourth call at least, and waiting always."""
    telling = [o for o in outcomes if arrays_of(o.text) and "e" not in arrays_of(o.text)] or outcomes
    count = Counter(o.kind for o in telling)
    return [kind for kind, n in count.most_common() if 4 * n >= len(telling) or kind == BLOCKING]


def _line(name, outcomes):
    queues = {o.queues for o in outcomes}
    ready = "in the caller" if queues == {False} else "queued" if queues == {True} else "either"
    if outcomes[0].kind in (OWN, TYPE_ERROR, MISSING):
        ready = ""
    waiting = sorted((o for o in outcomes if o.kind == BLOCKING), key=lambda o: len(o.text))
    note = ""
    if waiting and waiting[0].text != name:
        note = f"`{waiting[0].text}`" + (f": `{'`, `'.join(waiting[0].waits)}`" if waiting[0].waits else "")
    cells = (f"`{name}`", ", ".join(kinds(outcomes)), ready, note)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def page(table):
    """The table as Markdown."""
    lines = [
        "# What waits: the sync table", "",
        f"Made by `make docs` from measurements with NumPy {numpy.__version__}: each name is called with its arrays"
        " pending. See [waiting.md](waiting.md) for what the words mean to a program.", "",
        "| how it runs | |", "|---|---|", *(f"| {kind} | {text} |" for kind, text in MEANING.items()), "",
        "Several words: it depends on the arguments; the usual way comes first. *When ready*: what a call does when its"
        " arrays are there and small. *Waits in*: such a call, and which of its arrays it waits for. `a`, `f`,"
        " `h`, `m`, `n`, `v` are arrays of floats, `b` of booleans, `i`, `j` of integers, `c` of complex numbers,"
        " `s` has no axes.", ""]
    for title, entries in table.items():
        count = Counter(kinds(outcomes)[0] for outcomes in entries.values())
        lines += [f"## {title}", "", ", ".join(f"{kind} {n}" for kind, n in count.most_common()), "",
                  "| name | how it runs | when ready | waits in |", "|---|---|---|---|",
                  *(_line(*entry) for entry in entries.items()), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "sync.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(measure()))
    print(target)
