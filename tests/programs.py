"""Random array programs that mean the same under NumPy and under dflow.

A program is a list of Python statements (so a failing one is printed as it ran) over a few small
arrays: views, writes, in-place operations, reductions, reads, copies, deletions. `generate(seed)`
makes one, running each statement with NumPy as it goes: that gives the shapes the next statement
needs, the values its guards look at, and the results every engine must reproduce bit for bit.

With devices, names say where arrays are: v3_1 is on cpu(1), v3 where nobody put it. Statements bring their operands to
one device; NumPy runs a move as the copy that it is.

`python programs.py SEED [DEVICES]` prints program SEED as a script.
"""

import itertools
import random
import re
import sys
import warnings
from dataclasses import dataclass, replace

import numpy

from dflow import cpu

DTYPES = ("float64", "int64", "float32", "complex128", "bool")
ARITHMETIC = ("+", "-", "*")
BINARY = ARITHMETIC + ("&", "|", "^", "==", "!=", "<", ">=")
BINARY_FUNCTIONS = ("np.maximum", "np.minimum", "np.add", "np.multiply", "np.logical_or")
UNARY = ("-{}", "abs({})", "~{}", "np.square({})", "np.sign({})", "{} / 4", "{} // 3", "{} % 5", "{} ** 2",
         "np.conjugate({})", "np.logical_not({})")
INPLACE_CONSTANT = ("+= 3", "-= 1", "*= 2", "*= -1", "//= 2", "%= 5", "/= 2", "&= 6", "|= 1", "**= 2")
REDUCTIONS = ("sum", "max", "min", "any", "all", "argmax", "prod")
LARGEST = 2 ** 16          # magnitudes that `settle` lets live: sums of them are exact, even in float32 when small
OPERAND = r"v\d+(?:_\d)?(?:\.T|\[[^][]*\])?"      # a variable, or a simple part of one


@dataclass(frozen=True)
class Program:
    seed: int
    setup: tuple            # the statements that make the first arrays
    steps: tuple            # the statements after them
    expected: dict          # variable -> its final value under NumPy: an array (0-d for a scalar) or a read's list

    def script(self, header=(), hold=None):
        """The program as a runnable script. `header`: lines to put first; `hold`: a format to wrap the first arrays."""
        lines = [f"# random program {self.seed}", *header, "from dflow import cpu, numpy as np", *self.setup]
        if hold is not None:
            lines += [f"{name} = {hold.format(name)}" for name in first_arrays(self)]
        lines += self.steps
        for name, value in self.expected.items():
            text = " ".join(repr(value[0] if isinstance(value, list) else value.tolist()).split())
            lines.append(f"print({name!r}, {name})    # NumPy: {text if len(text) < 200 else text[:200] + ' ...'}")
        return "\n".join(lines) + "\n"


def generate(seed, devices=0):
    """The program of this seed, over so many devices; the same on every machine."""
    return _Generator(seed, devices).program()


def execute(program, np, hold=None):
    """Run the program with `np`; returns its variables. `hold`, if given, maps each first array to the one to use."""
    variables = {"np": np, "cpu": cpu}
    filename = f"<random program {program.seed}>"    # tracebacks and a hang's stack dump then name the seed
    setup, steps = ("\n".join(map(_in_numpy, part) if np is numpy else part) for part in (program.setup, program.steps))
    exec(compile(setup, filename, "exec"), variables)
    if hold is not None:
        for name in first_arrays(program):
            variables[name] = hold(variables[name])
    exec(compile(steps, filename, "exec"), variables)
    return variables


def first_arrays(program):
    return [statement.split(" ", 1)[0] for statement in program.setup]


def device(name):
    """The number of the device that a variable is on, as text; empty if nobody put it somewhere."""
    return name.partition("_")[2]


def _in_numpy(statement):
    """The statement as NumPy runs it, where a move is a copy."""
    statement = re.sub(r"\.(as_in_ctx|to_device|copyto)\(cpu\(\d\)\)", ".copy()", statement)
    statement = re.sub(r", device=cpu\(\d\)", "", statement)
    return re.sub(r"^(.*)\.copyto\((v.*)\)$", r"\2 = \1", statement)


def differences(program, variables, to_numpy):
    """Names and values that differ from NumPy's, each as a line of text; empty when all agree."""
    lines = []
    for name, expected in program.expected.items():
        if isinstance(expected, list):              # a value read while the program ran
            if repr(variables[name]) != repr(expected[0]):
                lines.append(f"{name}: read {variables[name]!r}, NumPy {expected[0]!r}")
            continue
        actual = to_numpy(variables[name])
        if (actual.dtype, actual.shape, actual.tobytes()) != (expected.dtype, expected.shape, expected.tobytes()):
            lines.append(f"{name}: got {actual!r} {actual.dtype}, NumPy {expected!r} {expected.dtype}")
    return lines


def without(program, position):
    """The program less one statement, with NumPy's new results; None where the rest no longer runs."""
    statements = program.setup + program.steps
    statements = statements[:position] + statements[position + 1:]
    first = len(program.setup) - (position < len(program.setup))
    smaller = Program(program.seed, statements[:first], statements[first:], {})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")          # a warning here means values outside what the guards allow
            return replace(smaller, expected=_results(execute(smaller, numpy)))
    except Exception:
        return None


def shrink(program, fails, attempts=200):
    """A smaller program for which `fails(program)` still holds: drop statements one by one, while any can go."""
    shrunk = True
    while shrunk and attempts > 0:
        shrunk = False
        for position in reversed(range(len(program.setup + program.steps))):
            smaller = without(program, position)
            attempts -= 1
            if smaller is not None and fails(smaller):
                program, shrunk = smaller, True
    return program


def _results(variables):
    """Final values: reads (named r...) boxed in a list, arrays copied so that sharing memory does not matter."""
    results = {}
    for name, value in variables.items():
        if name.startswith("r"):
            results[name] = [value]
        elif name.startswith("v"):
            results[name] = numpy.array(value)
    return results


def _has_negative_zero(x):
    x = numpy.asarray(x)
    if x.dtype.kind == "c":
        return _has_negative_zero(x.real) or _has_negative_zero(x.imag)
    return x.dtype.kind == "f" and bool((numpy.signbit(x) & (x == 0)).any())


def _sums_exactly(x):
    """Whether any order of adding up x gives the same bits: whole numbers with a small total, no -0.0 among them."""
    x = numpy.asarray(x)
    if x.dtype.kind in "bi":
        return True
    if x.dtype.kind == "c":
        return _sums_exactly(x.real) and _sums_exactly(x.imag)
    return not _has_negative_zero(x) and bool((x == numpy.rint(x)).all() and numpy.abs(x).sum() < 2 ** 22)


def _multiplies_exactly(x):
    """Whether products of x's elements are exact in any order: few and tiny integers."""
    return _sums_exactly(x) and numpy.size(x) <= 20 and bool((numpy.abs(x) <= 2).all())


def _numpy_mixes_up(target, source):
    """Whether `target[...] = source` goes wrong in NumPy 2.4: it copies overlapping vectors of unlike strides in place.

    With v = np.arange(5), v[::2] = v[:3] gives v[4] == 1, the new v[2].
    """
    if not (isinstance(target, numpy.ndarray) and isinstance(source, numpy.ndarray)):
        return False
    return target.ndim == 1 and source.strides[-1:] != target.strides and numpy.shares_memory(target, source)


def _devices(text):
    """The devices of the variables in it."""
    return sorted({device(name) for name in re.findall(r"v\d+_\d", text)})


class _Generator:
    def __init__(self, seed, devices):
        self.seed, self.devices = seed, devices
        self.random = random.Random(seed)
        self.variables = {"np": numpy}
        self.counter = itertools.count()
        self.setup, self.steps = [], []
        # Most programs are tiny; one in twenty has arrays of thousands of elements, so that work is split in blocks.
        self.longest = 80 if seed % 20 == 0 else 6

    def program(self):
        for _ in range(self.random.randint(2, 4)):
            self.create()
        kinds, weights = zip(*STEPS)
        wanted = self.random.randint(5, 30)
        for _ in range(3 * wanted):                 # some attempts are refused
            if len(self.steps) >= wanted:
                break
            statement = self.random.choices(kinds, weights)[0](self)
            if statement:
                self.perform(statement, self.steps)
        return Program(self.seed, tuple(self.setup), tuple(self.steps), _results(self.variables))

    # -- performing statements -------------------------------------------------------------------

    def perform(self, statement, into):
        """Run the statement with NumPy and keep it; one that NumPy refuses (a dtype, a warning) is dropped."""
        statement = self.placed(statement)
        if statement is None:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(_in_numpy(statement), self.variables)
        except (TypeError, ValueError, RuntimeWarning, numpy.exceptions.ComplexWarning):
            return
        into.append(statement)
        self.settle(into)

    def settle(self, into):
        """Bring arrays whose values grew large back to small ones, so that later sums stay exact."""
        for name in self.names():
            x = self.variables[name]
            if x.dtype.kind == "b" or not x.size or abs(x).max() <= LARGEST:
                continue
            if isinstance(x, numpy.generic):
                statement = f"{name} = {name} * 0"
            else:
                statement = f"{name}[...] = 1" if x.dtype.kind == "c" else f"{name} %= 7"
            exec(statement, self.variables)
            into.append(statement)

    def value(self, expression):
        return eval(expression, self.variables)

    # -- devices ---------------------------------------------------------------------------------

    def placed(self, statement):
        """The statement with its operands brought to one device; its result is moved to where the name says."""
        name, _, expression = statement.partition(" = ")
        if not self.devices or re.fullmatch(r"v\w+", name) is None:
            return self.written(statement)
        at = self.random.choice(_devices(expression) or [""])
        if not device(name) and (at or name not in self.variables):
            there = self.random.choice((at, at, *map(str, range(self.devices))))
            name += f"_{there}" * bool(there)
        there = device(name)
        if at and self.random.random() < 0.5:
            at = there
        expression = self.brought(expression, at)
        if at == there:
            return f"{name} = {expression}"
        if expression.startswith(("np.zeros(", "np.ones(")):
            return f"{name} = {expression[:-1]}, device=cpu({there}))"
        return f"{name} = ({expression}){self.move(at, there)}"

    def written(self, statement):
        """As `placed`, of a statement that binds no variable. None where it would put a loose array somewhere."""
        copied = re.fullmatch(f"({OPERAND}) = ({OPERAND})", statement)
        if copied and len(_devices(statement)) == 2 and isinstance(self.value(copied[1]), numpy.ndarray):
            return f"{copied[2]}.copyto({copied[1]})"
        target = re.search(r"^v\w+|(?<=out=)v\w+", statement)
        if target is None or not _devices(statement):
            return statement
        return self.brought(statement, device(target[0])) if device(target[0]) else None

    def brought(self, text, to):
        """Python code with all its operands on a device. What nobody put somewhere goes along."""
        def bring(operand):
            at = _devices(operand[0])
            return operand[0] if at in ([], [to]) else operand[0] + self.move(*at, to)
        return re.sub(OPERAND, bring, text)

    def move(self, at, to):
        """A call that copies for sure: as_in_ctx() gives an array that nobody put somewhere itself on cpu(0)."""
        return f".{self.random.choice(('as_in_ctx', 'to_device', 'copyto')) if at else 'copyto'}(cpu({to}))"

    # -- choosing --------------------------------------------------------------------------------

    def names(self):
        return [name for name in self.variables if name.startswith("v")]

    def any_name(self):
        return self.random.choice(self.names())

    def array_name(self):
        """A variable that is an array with elements: NumPy's scalars have no views and no writes."""
        names = [n for n in self.names() if isinstance(self.variables[n], numpy.ndarray) and self.variables[n].size]
        return self.random.choice(names) if names else None

    def target(self):
        """The variable that a result gets: mostly new, sometimes one whose old array loses this handle."""
        if self.random.random() < 0.25 or len(self.names()) > 10:
            return self.any_name()
        return f"v{next(self.counter)}"

    def shape(self):
        ndim = self.random.choices((0, 1, 2, 3), (1, 6, 10, 2))[0]
        longest = min(self.longest, 9) if ndim == 3 else self.longest
        return tuple(self.random.randint(1, longest) for _ in range(ndim))

    def constant(self):
        return self.random.choice(("0", "1", "2", "-3", "4.0", "True", "2j"))

    def slice(self, length):
        """A random slice that keeps at least one element of an axis, as text."""
        low = self.random.randrange(length)
        high = self.random.randint(low + 1, length)
        step = self.random.choice((1, 1, 1, 2, 3))
        form = self.random.randrange(5)
        if form == 0:
            return ":"
        if form == 1:
            return "::-1" if step == 1 else f"::-{step}"
        if form == 2:
            return f"{high - 1}:{low - 1 if low else ''}:-{step}"
        if form == 3:
            return f"{low - length}:{high - length if high < length else ''}"
        return f"{low}:{high}" if step == 1 else f"{low}:{high}:{step}"

    def index(self, shape, integers=0.2):
        """A basic index into this shape, as text: slices, steps, integers, an ellipsis, a new axis."""
        parts = [str(self.random.randrange(-n, n)) if self.random.random() < integers else self.slice(n) for n in shape]
        if not parts or self.random.random() < 0.05:
            return "..."
        if self.random.random() < 0.2:
            parts = parts[:self.random.randint(1, len(parts))]
        if self.random.random() < 0.1:
            parts.insert(self.random.randint(0, len(parts)), "None")
        if self.random.random() < 0.1:
            parts.append("...")
        return ", ".join(parts)

    def window(self, name, shape):
        """A same-shaped window of an array at least this large: often one that overlaps the array being written."""
        parts = []
        for length, n in zip(self.variables[name].shape, shape):
            low = self.random.randint(0, length - n)
            backwards = f"{low + n - 1}:{low - 1 if low else ''}:-1"
            parts.append(backwards if n and self.random.random() < 0.25 else f"{low}:{low + n}")
        return f"{name}[{', '.join(parts)}]"

    def operand(self, shape):
        """An expression that broadcasts to this shape: a constant, an array, a window, a row or a transpose."""
        choices = [self.constant()]
        for name in self.names():
            x = self.variables[name]
            if _broadcasts(x.shape, shape):
                choices += [name, name]
            if isinstance(x, numpy.ndarray) and x.ndim and _broadcasts(x.shape[::-1], shape):
                choices.append(f"{name}.T")
            if x.ndim == len(shape) > 0 and all(a >= b for a, b in zip(x.shape, shape)):
                choices.append(self.window(name, shape))
            if x.size and x.ndim == len(shape) + 1 and _broadcasts(x.shape[1:], shape):
                choices.append(f"{name}[{self.random.randrange(x.shape[0])}]")
            if x.size and x.ndim == 2 and _broadcasts(x.shape[:1], shape):
                choices.append(f"{name}[:, {self.random.randrange(x.shape[1])}]")
        return self.random.choice(choices)

    def axis(self, ndim):
        """The text of an axis argument: all, one (perhaps negative), or several."""
        if not ndim or self.random.random() < 0.3:
            return "None"
        if self.random.random() < 0.3:
            return str(tuple(sorted(self.random.sample(range(ndim), self.random.randint(1, ndim)))))
        return str(self.random.randrange(-ndim, ndim))

    # -- the statements: each returns its text, or None where none fits ---------------------------

    def create(self):
        shape, dtype = self.shape(), self.random.choice(DTYPES)
        size = int(numpy.prod(shape))
        name = f"v{next(self.counter)}"
        if size <= 12:
            values = numpy.reshape([self.random.randint(-3, 4) for _ in range(size)], shape).tolist()
            statement = f"{name} = np.array({values}, dtype='{dtype}')"
        else:
            factor = self.random.randint(1, 9)
            statement = f"{name} = (np.arange({size}) * {factor} % 11 - 4).astype('{dtype}').reshape({shape})"
        self.perform(statement, self.setup)

    def fresh(self):
        shape, dtype = self.shape(), self.random.choice(DTYPES)
        return f"{self.target()} = np.{self.random.choice(('zeros', 'ones'))}({shape}, dtype='{dtype}')"

    def view(self):
        name = self.array_name()
        if name is None:
            return None
        x = self.variables[name]
        form = self.random.randrange(10)
        if form == 0:
            expression = f"{name}.T"
        elif form == 1:
            expression = f"{name}.reshape(-1)"
        elif form == 2 and x.ndim == 2:
            expression = f"{name}.reshape({x.shape[1]}, {x.shape[0]})"
        elif form == 3 and x.ndim > 1:
            expression = f"np.swapaxes({name}, 0, -1)"
        elif form == 4 and x.dtype.kind == "c":
            expression = f"{name}.{self.random.choice(('real', 'imag'))}"
        else:
            expression = f"{name}[{self.index(x.shape)}]"
        return f"{self.target()} = {expression}"

    def write(self):
        name = self.array_name()
        if name is None:
            return None
        place = f"{name}[{self.index(self.variables[name].shape)}]"
        shape = numpy.shape(self.value(place))
        operator, source = self.random.choice(("", "", "", "+", "-", "*")), self.operand(shape)
        if not operator and _numpy_mixes_up(self.value(place), self.value(source)):
            return None
        return f"{place} {operator}= {source}"

    def inplace(self):
        name = self.array_name()
        if name is None:
            return None
        if self.random.random() < 0.5:
            return f"{name} {self.random.choice(INPLACE_CONSTANT)}"
        operator = self.random.choice(ARITHMETIC + ("&", "|", "^"))
        return f"{name} {operator}= {self.operand(self.variables[name].shape)}"

    def out(self):
        name = self.array_name()
        if name is None:
            return None
        shape = self.variables[name].shape
        left, right = self.operand(shape), self.operand(shape)
        function = self.random.choice(("np.add", "np.subtract", "np.multiply"))
        where = f", where={self.operand(shape)} != 1" if self.random.random() < 0.3 else ""
        if where:
            mask = self.value(where[len(", where="):])
            if not isinstance(mask, (bool, numpy.bool, numpy.ndarray)):
                return None
        return f"{function}({left}, {right}, out={name}{where})"

    def overlap(self):
        """Writes whose source overlaps their target at another place: each must see the old values."""
        name = self.array_name()
        if name is None or not self.variables[name].ndim:
            return None
        x = self.variables[name]
        forms = [f"{name}[1:] += {name}[:-1]", f"{name}[:-1] -= {name}[1:]", f"{name}[:] = {name}[::-1]",
                 f"{name}[1:] = {name}[:-1]", f"{name}[:-1] = {name}[1:]", f"{name} += {name}[::-1]",
                 f"{name}[::-1] += {name}", f"{name} += {name}[0]", f"{name}[...] = {name}[-1]"]
        if x.ndim == 2 and x.shape[0] == x.shape[1]:
            forms += [f"{name}[...] = {name}.T", f"{name} += {name}.T", f"{name}.T[1:] -= {name}[:-1]"] * 3
        return self.random.choice(forms)

    def loop(self):
        """Row after row, each from its neighbour: many small dependent views of one array."""
        name = self.array_name()
        if name is None or not self.variables[name].ndim:
            return None
        length = self.variables[name].shape[0]
        body = self.random.choice(("{0}[i] += {0}[i - 1]", "{0}[i] = {0}[-i]", "{0}[i:] += 1", "{0}[i - 1] -= {0}[i]",
                                   "{0}[:i] *= {0}[i]"))
        return f"for i in range(1, {min(length, 6)}): " + body.format(name)

    def binary(self):
        name = self.any_name()
        other = self.operand(self.variables[name].shape)
        if self.random.random() < 0.3:
            function = self.random.choice(BINARY_FUNCTIONS)
            # Which of 0.0 and -0.0 is the larger is not specified.
            if "imum" in function and any(map(_has_negative_zero, (self.variables[name], self.value(other)))):
                return None
            return f"{self.target()} = {function}({name}, {other})"
        left, right = (name, other) if self.random.random() < 0.7 else (other, name)
        if isinstance(self.variables[name], numpy.generic):
            left, right = name, other           # Python computes 2j * numpy.float64(1) itself
        return f"{self.target()} = {left} {self.random.choice(BINARY)} {right}"

    def unary(self):
        return f"{self.target()} = {self.random.choice(UNARY).format(self.any_name())}"

    def chain(self):
        """Several elementwise operations whose temporaries have no name."""
        name = self.any_name()
        first, second = self.operand(self.variables[name].shape), self.operand(self.variables[name].shape)
        return f"{self.target()} = ({name} + {first}) * 2 - {second}"

    def choose(self):
        name = self.any_name()
        shape = self.variables[name].shape
        return f"{self.target()} = np.where({name} == {self.constant()}, {self.operand(shape)}, {self.operand(shape)})"

    def copy(self):
        name = self.any_name()
        dtype = self.random.choice(DTYPES)
        forms = (f"{name}.copy()", f"np.array({name})", f"{name}.astype('{dtype}')", f"{name} + 0", f"np.copy({name})")
        return f"{self.target()} = {self.random.choice(forms)}"

    def reduction(self):
        name = self.array_name()
        if name is None:
            return None
        x = self.variables[name]
        function = self.random.choice(REDUCTIONS)
        exact = {"sum": _sums_exactly, "prod": _multiplies_exactly}.get(function, lambda x: not _has_negative_zero(x))
        if not exact(x):
            return None
        axis = self.axis(x.ndim)
        if function == "argmax" and axis.startswith("("):
            axis = "None"
        return f"{self.target()} = {name}.{function}(axis={axis}, keepdims={self.random.random() < 0.3})"

    def scan(self):
        name = self.array_name()
        if name is None or not _sums_exactly(self.variables[name]):
            return None
        axis = self.random.choice(("None", *range(-1, self.variables[name].ndim)))
        return f"{self.target()} = np.cumsum({name}, axis={axis})"

    def product(self):
        """A matrix product; `+ 0` because the sign of a zero in it depends on the order of its sums."""
        name, other = self.array_name(), self.array_name()
        if name is None:
            return None
        x, y = self.variables[name], self.variables[other]
        if not (x.ndim and y.ndim and x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0]):
            return None
        if not all(_sums_exactly(v) and numpy.abs(v).max() < 100 for v in (x, y)):
            return None
        return f"{self.target()} = {name} @ {other} + 0"

    def fancy_read(self):
        name = self.array_name()
        if name is None or not self.variables[name].ndim:
            return None
        n = self.variables[name].shape[0]
        picks = [self.random.randrange(-n, n) for _ in range(self.random.randint(1, 4))]
        return f"{self.target()} = {name}[{picks}]"

    def fancy_write(self):
        name = self.array_name()
        if name is None or not self.variables[name].ndim:
            return None
        n = self.variables[name].shape[0]
        picks = self.random.sample(range(n), self.random.randint(1, min(n, 3)))
        shape = (len(picks),) + self.variables[name].shape[1:]
        return f"{name}[{picks}] {self.random.choice(('', '+', '-'))}= {self.operand(shape)}"

    def mask(self):
        name = self.array_name()
        if name is None:
            return None
        constant = self.random.choice(("0", "1", "2"))
        return self.random.choice((f"{name}[{name} == {constant}] = {self.constant()}",
                                   f"{name}[{name} != {constant}] += 1",
                                   f"{self.target()} = {name}[{name} == {constant}]"))

    def join(self):
        name = self.array_name()
        if name is None or not self.variables[name].ndim:
            return None
        return f"{self.target()} = np.concatenate([{name}, {name}[::-1], {name}[:1]])[:{self.longest}]"

    def read(self):
        # Text, not ==: the reads of -0.0 and of 0.0 differ, as do those of 1 and True.
        return f"r{next(self.counter)} = {self.any_name()}.tolist()"

    def drop(self):
        return f"del {self.any_name()}" if len(self.names()) > 2 else None


def _broadcasts(shape, to):
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))


STEPS = ((_Generator.view, 16), (_Generator.write, 18), (_Generator.inplace, 12), (_Generator.out, 5),
         (_Generator.overlap, 8), (_Generator.loop, 4), (_Generator.binary, 10), (_Generator.unary, 6),
         (_Generator.chain, 4), (_Generator.choose, 3), (_Generator.copy, 4), (_Generator.reduction, 6),
         (_Generator.scan, 2), (_Generator.product, 3), (_Generator.fancy_read, 3), (_Generator.fancy_write, 4),
         (_Generator.mask, 4), (_Generator.join, 2), (_Generator.read, 3), (_Generator.drop, 5), (_Generator.fresh, 2))


if __name__ == "__main__":
    print(generate(*map(int, sys.argv[1:])).script(), end="")
