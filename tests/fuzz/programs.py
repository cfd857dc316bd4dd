"""Programs: making one from a seed, statement by statement beside NumPy, which says what comes next."""

import random
import re
from dataclasses import dataclass, replace

import numpy

from tests.fuzz import rules, values

NAME = re.compile(r"\bv\d+\b")
ASSIGNED = re.compile(r"(v\d+) = ")
FOREIGN = re.compile(r"v\d+ = \(*numpy\.(?!\w+\(.*\bv\d)")
EXACT, CLOSE, FREE = 0, 1, 2  # how a variable compares with NumPy's: same bits; nearly; dtype and shape not even


# What else the engine's thresholds may be: blocks of some elements, so that small arrays have many.
THRESHOLDS = {
    "L1_BYTES": (16, 200, 1000, 4096, 1 << 17),
    "MIN_BLOCK": (1, 2, 3, 5, 16, 100),
    "ALONE": (1, 7, 100, 4096),
    "STREAMED": (1, 100, 300, 1 << 14),
    "MANY_ROWS": (1, 2, 5, 1 << 20),
    "NARROW": (1, 3, 64, 1 << 20),
    "SPLIT_NS": (1, 100, 1e9),
    "GRAIN_NS": (1, 50, 1e6),
}


@dataclass(frozen=True)
class Settings:
    """The engine's, for one program. Results depend on none of them."""

    workers: int = 2
    bulk: int = 32
    inline_limit: float | None = None  # ns; None: as it is
    naive: bool = False
    hold: str = ""  # what `hold` does: "sleep", in a kernel, or "submit", in Python
    seconds: float = 3e-4  # for which
    thresholds: tuple = ()  # of the engine: pairs of name and value

    @classmethod
    def draw(cls, rng, workers):
        often = rng.choice((0, 0, 0.3, 0.8))
        return cls(
            workers,
            rng.choice((32, 32, 0, 1, 2, 5, 64)),
            rng.choice((None, None, 0, 0, 200, 10**6)),
            rng.random() < 0.06,
            rng.choice(("sleep", "sleep", "submit")),
            rng.choice((1e-4, 3e-4, 1e-3)),
            tuple((name, rng.choice(some)) for name, some in THRESHOLDS.items() if rng.random() < often),
        )


@dataclass(frozen=True)
class Program:
    seed: int
    settings: Settings
    statements: tuple

    def without(self, position):
        return replace(self, statements=self.statements[:position] + self.statements[position + 1 :])

    def instead(self, position, statement):
        return replace(self, statements=self.statements[:position] + (statement,) + self.statements[position + 1 :])


def namespace(np, hold):
    return {"np": np, "numpy": numpy, "nan": numpy.nan, "inf": numpy.inf, "hold": hold}


class Reference:
    """A program as NumPy runs it: the variables, what each statement raised, and how near dflow has to come."""

    def __init__(self):
        self.variables = namespace(numpy, lambda x: x.copy())
        self.levels = {}
        self.bounds = {}  # by how much those that are CLOSE may differ
        self.errors = []
        self.codes = []
        self.loose = set()  # names of what depends on what is ready: from rules.LOOSE, or two_zeros()
        self.failed = set()  # names in statements that raised, and in what used them later: dflow may raise there
        self.foreign = self.variables["foreign"] = []  # names of arrays that are NumPy's own in both runs

    def run(self, statement):
        """Run one statement. The type of what it raised, or None."""
        code = compile(statement, statement, "exec")
        names = NAME.findall(statement)
        level = FREE if any(self.levels.get(name) for name in names) else rules.level(statement, names, self.variables)
        error = None
        try:
            exec(code, self.variables)
        except Exception as caught:
            error = type(caught)
        target = ASSIGNED.match(statement)
        if target and target[1] in self.variables:
            if level == EXACT and rules.two_zeros(statement, self.variables[target[1]]):
                level = CLOSE
                self.loose.add(target[1])
            self.levels[target[1]] = level
            if level == CLOSE:
                self.bounds[target[1]] = rules.bound(statement, names, self.variables, self.variables[target[1]])
            if FOREIGN.match(statement) or "np." not in statement and all(name in self.foreign for name in names[1:]):
                self.foreign.append(target[1])
        if level == EXACT and (not target or "out=" in statement):
            if any(rules.two_zeros(statement, self.variables.get(name)) for name in names):
                level = CLOSE
                self.loose.update(names)
        if level and (rules.is_loose(statement, names, self.variables) or self.loose.intersection(names)):
            self.loose.update(names)
        if error or self.failed.intersection(names):
            self.failed.update(names)
        if error:
            self.loose.update(names)  # some functions of NumPy's write before they raise, and what they like
        if (level or error) and (not target or "out=" in statement):
            self.spread(names)  # what fails may have written a part before
        self.errors.append((error, level))
        self.codes.append(code)
        return error

    def refused(self, statement):
        """Whether the result is one of which README says that dflow has none: no numbers, or not aligned.

        Or a view of an array that is NumPy's own in dflow's run, too, and is copied there.
        """
        target = ASSIGNED.match(statement)
        value = self.variables.get(target[1]) if target else None
        if isinstance(value, (numpy.ndarray, numpy.generic)):
            if value.dtype.kind not in "biufc" or not value.flags.aligned:
                return True
        if FOREIGN.match(statement):
            return False
        if not isinstance(value, numpy.ndarray):
            return bool(self.foreign) and isinstance(value, (list, tuple))
        if not any(
            numpy.may_share_memory(value, self.variables[name]) for name in self.foreign if name in self.variables
        ):
            return False
        if "out=" not in statement:
            return True
        self.foreign.append(target[1])  # it is that very array
        return False

    def spread(self, names):
        """What was written with inexact values, and what shares its memory, is not compared."""
        arrays = [self.variables[name] for name in names if isinstance(self.variables.get(name), numpy.ndarray)]
        loose = self.loose.intersection(names)
        for name in self.levels:
            x = self.variables.get(name)
            if isinstance(x, numpy.ndarray) and any(may_show(x, y) for y in arrays):
                self.levels[name] = FREE
                if loose:
                    self.loose.add(name)

    def live(self):
        """The names of the program's variables that are alive, in the order of their numbers."""
        return [name for name in self.levels if name in self.variables]


def may_show(x, y):
    """Whether reading x may show what was written to y, or the error of it: no elements show that, too."""
    whole, other = (a if a.base is None else a.base for a in (x, y))
    return numpy.may_share_memory(x, y) or not x.size and whole is other


class Generator:
    """Makes one program. `families`: of tests.fuzz.statements, with their weights."""

    def __init__(self, seed, families, workers, largest=values.LARGEST):
        self.random = random.Random(seed)
        self.seed = seed
        self.settings = Settings.draw(self.random, workers)
        self.world = values.World(self.random, largest)
        self.reference = Reference()
        self.variables = self.reference.variables
        self.statements = []
        self.arrays = {}  # name: array, of what operands may be
        self.counter = 0
        self.families, self.weights = zip(*families)
        self.pending = self.random.choice((0, 0, 0.3, 1))

    def program(self):
        few = self.world.size >> 14  # what is large takes time
        for _ in range(self.random.choice((1, 2) if few > 8 else (1, 2, 3, 4) if few else (1, 2, 3, 4, 6, 8, 10))):
            for _ in range(3):
                if self.attempt(self.random.choices(self.families, self.weights)[0]):
                    break
        self.poke()
        return Program(self.seed, self.settings, tuple(self.statements)), self.reference

    def attempt(self, family):
        """A statement of the family, unless NumPy refuses it; some of those stay, as dflow must refuse them, too."""
        statement = family(self)
        if statement is None or rules.avoided(statement, self.variables):
            return False
        before = set(self.variables)
        error = self.perform(statement)
        if (
            error is not None
            and self.random.random() < 0.85
            or error is MemoryError
            or self.reference.refused(statement)
        ):
            self.forget(before)
            return False
        return True

    def forget(self, before):
        self.statements.pop()
        self.reference.errors.pop()
        self.reference.codes.pop()
        for name in set(self.variables) - before:
            del self.variables[name]
            self.reference.levels.pop(name, None)
            self.arrays.pop(name, None)

    def perform(self, statement):
        error = self.reference.run(statement)
        self.statements.append(statement)
        target = ASSIGNED.match(statement)
        if target and error is None:
            value = self.variables[target[1]]
            if isinstance(value, (numpy.ndarray, numpy.generic)) and numpy.size(value) <= 2 * self.world.size + 5000:
                if value.dtype.char in values.DTYPES + "qQ":
                    self.arrays[target[1]] = value
        return error

    def must(self, statement):
        """A statement that fails only where memory is short."""
        error = self.perform(statement)
        if error:
            raise MemoryError(statement) if issubclass(error, MemoryError) else error(statement)

    def poke(self):
        """Writes at the end, so that what shares memory with what shows."""
        if self.random.random() < 0.5:
            return
        for name in self.random.sample(list(self.arrays), min(len(self.arrays), 4)):
            x = self.variables.get(name)
            if (
                isinstance(x, numpy.ndarray)
                and x.size
                and x.flags.writeable
                and self.reference.levels.get(name) != FREE
            ):
                form = self.random.choice(("{0}[...] = {1}", "{0} += {0}", "{0}[..., :1] = {1}", "{0}.fill({1})"))
                statement = form.format(name, self.random.choice((0, 1, 5)))
                if not rules.avoided(statement, self.variables):
                    self.perform(statement)

    # -- operands --------------------------------------------------------------------------------

    def target(self):
        self.counter += 1
        return f"v{self.counter - 1}"

    def pick(self, fits):
        names = [name for name, x in self.arrays.items() if name in self.variables and fits(x)]
        return self.random.choice(names) if names else None

    def array(self, kind="x", shape=None, fresh=0.4, owned=False):
        """The name of an array of this shape (None: any), if possible of this kind. owned: dflow's, and writeable."""
        shape = self.world.shape() if shape is None else shape
        if self.random.random() > fresh:
            name = self.pick(
                lambda x: (
                    x.shape == shape
                    and (not owned or isinstance(x, numpy.ndarray))
                    and (kind == "x" or x.dtype.char in values.KINDS.get(kind, ""))
                )
            )
            if name:
                return name
        return self.make(kind, shape, owned)

    def make(self, kind, shape, owned=False):
        """A new array, by one statement or several."""
        rng = self.random
        if kind == "m":
            text, code = values.matrix(rng, shape[0]), "m"
        elif kind == "j":
            text, code = values.indices(rng, shape, min(self.world.dims[1:])), "j"
        else:
            code = values.dtype(rng, kind)
            layout = rng.random()
            if layout < 0.15 and shape:  # part of a larger one
                larger = tuple(n * 2 if rng.random() < 0.5 else n + 1 for n in shape)
                if len(shape) > 6:
                    larger = (shape[0] + 1, *shape[1:])
                base = self.target()
                self.must(f"{base} = np.array({values.contents(rng, code, larger)})")
                steps = ", ".join(
                    rng.choice((f"-1:{-n - 1}:-1", f":{n}", f"{m - n}:"))
                    if m != 2 * n
                    else rng.choice(("::2", "1::2", "::-2", f":{n}"))
                    for n, m in zip(shape, larger)
                )
                name = self.target()
                self.must(f"{name} = {base}[{steps}]")
                return self.held(name)
            if layout < 0.25 and len(shape) > 1:
                name = self.target()
                self.must(f"{name} = np.array({values.contents(rng, code, shape[::-1])}).T")
                return self.held(name)
            if layout < 0.3 and len(shape) > 1 and not owned:
                name = self.target()
                self.must(f"{name} = np.broadcast_to(np.array({values.contents(rng, code, shape[-1:])}), {shape})")
                return name
            text = values.contents(rng, code, shape)
        name = self.target()
        if rng.random() < 0.08 and not owned:  # NumPy's own, in both
            self.must(f"{name} = {text}")
            return name
        self.must(f"{name} = np.array({text})")
        return self.held(name)

    def held(self, name):
        if self.random.random() < self.pending:
            new = self.target()
            self.must(f"{new} = hold({name})")
            return new
        return name

    def operand(self, shape, kind="x"):
        """What broadcasts to the shape: an array, a part or a row of one, a number, rarely a list."""
        rng = self.random
        form = rng.random()
        if form < 0.2:
            return rng.choice(values.SCALARS)
        if form < 0.6 or not shape:
            return self.view(self.array(kind, shape))
        if form < 0.9:
            shape = tuple(n if rng.random() < 0.6 else 1 for n in shape)
            return self.array(kind, shape[rng.randint(0, len(shape) - 1) :] if rng.random() < 0.5 else shape)
        if form < 0.95:
            return self.array(kind, ())
        name = self.pick(lambda x: x.shape == shape and x.size < 50)
        return f"{name}.tolist()" if name else self.array(kind, shape)

    def view(self, name):
        """Another array of the same shape, mostly the array itself."""
        form = self.random.random()
        ndim = self.variables[name].ndim
        if form < 0.85 or not ndim:
            return name
        return self.random.choice(
            (
                f"{name}[::-1]",
                f"{name}[..., ::-1]",
                f"-{name}",
                f"{name}.copy()",
                f"({name} + 1)",
                f"{name}.T.copy().T",
                f"{name}.astype('{values.dtype(self.random)}')",
            )
        )
