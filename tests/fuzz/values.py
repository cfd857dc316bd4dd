"""Drawing what statements are made of: sizes, shapes, types, contents, scalars and indices. All of it is text."""

import math

LARGEST = 1 << 21  # elements of a program's arrays, at most about
DTYPES = "?bBhHiIlLefdgFDG"
WEIGHTS = (6, 3, 4, 3, 2, 5, 2, 8, 3, 4, 8, 12, 2, 3, 5, 1)
KINDS = {"f": "fdfdfdeg", "i": "ilhbBHlil", "b": "?", "c": "DDFDG", "x": DTYPES}
SCALARS = (
    "0",
    "1",
    "2",
    "-1",
    "3",
    "7",
    "True",
    "False",
    "0.5",
    "-2.0",
    "1e300",
    "1e-320",
    "2j",
    "-1.5+0.25j",
    "127",
    "128",
    "255",
    "-129",
    "300",
    "65536",
    "2**31",
    "2**40",
    "-2**40",
    "2**63",
    "2**64",
    "2**70",
    "-2**63",
    "-2**70",
    "numpy.nan",
    "numpy.inf",
    "-numpy.inf",
    "-0.0",
    "numpy.float32(1.5)",
    "numpy.int8(-3)",
    "numpy.uint64(2**63)",
    "numpy.float64('nan')",
    "numpy.longdouble(2) / 3",
    "numpy.complex64(1j)",
    "numpy.True_",
    "numpy.float16(6e4)",
    "numpy.uint8(200)",
)
SPECIAL = {
    "b": ["True", "False"],
    "i": ["0", "1", "-1", "2", "-3", "7", "100", "{min}", "{max}", "{max} - 1", "{min} + 1"],
    "u": ["0", "1", "2", "3", "7", "100", "{max}", "{max} - 1"],
    "f": [
        "0.0",
        "-0.0",
        "1.0",
        "-1.0",
        "0.5",
        "2.0",
        "-3.25",
        "1e3",
        "6e4",
        "1e-4",
        "inf",
        "-inf",
        "nan",
        "0.1",
        "{max}",
        "-{max}",
        "{tiny}",
        "{tiny} / 4",
        "-{tiny} / 2",
    ],
    "c": [
        "0",
        "1",
        "-1",
        "1j",
        "2-3j",
        "complex(inf, 0)",
        "complex(0, nan)",
        "0.5+0.25j",
        "complex(-0.0, 1)",
        "complex(nan, inf)",
        "complex(-inf, -0.0)",
        "1e30j",
    ],
}
KIND = {
    **dict.fromkeys("bhilq", "i"),
    **dict.fromkeys("BHILQ", "u"),
    **dict.fromkeys("efdg", "f"),
    **dict.fromkeys("FDG", "c"),
    "?": "b",
}


def logarithmic(random, low, high):
    """An integer of [low, high], evenly in logarithm."""
    return min(int(math.exp(random.uniform(math.log(low), math.log(high + 1)))), high)


class World:
    """The shapes of one program, so that its arrays fit each other: by letter, as samples of the table name arrays.

    Small ones are the most, as they are run by the hundred a second, but every power of two to LARGEST comes up.
    """

    def __init__(self, random, largest=LARGEST):
        self.random = random
        size = int(2 ** (math.log2(largest) * random.random() ** 5))
        rows = random.random()
        if size > 4096 and rows < 0.25:  # few rows that are longer than a block of a fold
            q = logarithmic(random, 500, 2200)
        elif rows < 0.35:
            q = random.choice((1, 2, 3, 5, 7, 13, 31, 64, 127, 257))
        else:
            q = logarithmic(random, 1, size)
        q = max(1, min(q, size))
        p = max(1, size // q)
        if random.random() < 0.3:
            p, q = p | 1, q | 1  # odd
        layers = random.choice((1, 2, 2, 3, 3, 5, 8))
        r = min(p, q, 40)
        empty = random.choice(((0, q), (p, 0), (0,), (0, 3, q)))
        self.size, self.dims = size, (layers, p, q)
        inner = max(1, p // layers)
        self.shapes = {
            "a": (p, q),
            "f": (layers, inner, q),
            "e": empty,
            "m": (r, r),
            "s": (),
            "v": (q,),
            "column": (p, 1),
            "one": (1,),
            "row": (1, q),
            "swapped": (q, p),
            "u": (p,),
        }
        for letter in ("b", "c", "c64", "h", "i", "n"):
            self.shapes[letter] = (p, q)
        self.shapes["j"] = (q,)
        self.shapes["deep"] = self.deep()

    def deep(self):
        """Of many axes, short ones and ones of length 1."""
        random = self.random
        shape, size = [], 1
        for _ in range(random.choice((4, 5, 7, 9, 17, 32))):
            n = random.choice((1, 1, 1, 2, 2, 3))
            n = n if size * n <= 5000 else 1
            size *= n
            shape.append(n)
        return tuple(shape)

    def shape(self):
        letters = ("a", "a", "a", "a", "v", "v", "f", "s", "column", "row", "u", "m", "one", "swapped", "deep", "e")
        return self.shapes[self.random.choice(letters)]


ROLES = {
    "a": "f",
    "b": "b",
    "c": "c",
    "c64": "c",
    "e": "f",
    "f": "f",
    "h": "f",
    "i": "i",
    "j": "j",
    "m": "m",
    "n": "f",
    "s": "f",
    "v": "f",
}  # what samples of the table mean by their names: kinds of values


def dtype(random, kind="x"):
    if kind in KINDS and kind != "x":
        return random.choice(KINDS[kind])
    return random.choices(DTYPES, WEIGHTS)[0]


def literal(random, code, n):
    """n values of the type as the text of a list, special ones among them."""
    kind = KIND[code]
    if kind in "iu":
        bits = {"b": 8, "h": 16, "i": 32, "l": 64}[code.lower()]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind == "i" else (0, (1 << bits) - 1)
        limits = {"min": f"({low})", "max": str(high)}
    else:
        high, tiny = {"e": ("65504.0", "6e-5"), "f": ("3.4e38", "1e-38"), "F": ("3.4e38", "1e-38")}.get(
            code, ("1.7e308", "2e-308")
        )
        limits = {"max": high, "tiny": tiny}
    return "[" + ", ".join(random.choice(SPECIAL[kind]).format(**limits) for _ in range(n)) + "]"


def contents(random, code, shape):
    """An expression for a NumPy array of this type and shape."""
    n = math.prod(shape)
    kind, form = KIND[code], random.random()
    if form < 0.3 or n < 3 and form < 0.6:  # special values, over and over
        period = min(n, random.choice((1, 2, 3, 5, 7, 13)))
        text = f"numpy.array({literal(random, code, max(period, 1))}, '{code}')"
        if not n:
            return f"numpy.zeros({shape}, '{code}')"
        return f"{text}.reshape({shape})" if period == n else f"{text}[numpy.arange({n}) % {period}].reshape({shape})"
    if form < 0.4 and code not in "gG":  # any bits
        seed = random.randrange(1000)
        itemsize = f"numpy.dtype('{code}').itemsize"
        if code == "?":
            return f"(numpy.frombuffer(numpy.random.RandomState({seed}).bytes({n}), 'B') > 99).reshape({shape})"
        return (
            f"numpy.frombuffer(numpy.random.RandomState({seed}).bytes({n} * {itemsize}), '{code}')"
            f".reshape({shape}){' * 1' if kind == 'f' else '.copy()'}"  # no nan that signals: casts quiet it or not
        )
    if form < 0.55:  # rare ones among ordinary ones
        period = logarithmic(random, 1, max(2 * n, 2))
        at = random.randrange(period)
        rare = literal(random, code, 1)[1:-1]
        usual = "0" if random.random() < 0.7 else random.choice(("1", "0.5", "3"))
        return (
            f"numpy.where(numpy.arange({n}) % {period} == {at}, numpy.array({rare}, '{code}'), "
            f"numpy.array({usual}).astype('{code}')).reshape({shape})"
        )
    # Small integers, of which sums are exact, or parts of them: other ones at each place.
    period = random.choice((2, 7, 11, 101, logarithmic(random, 2, max(2 * n, 3))))
    least = 0 if kind in "bu" else random.choice((0, 1, period // 2, 4))
    factor = random.choice((1, 1, 7, 7919))
    text = f"(numpy.arange({n}) * {factor} % {period} - {least})"
    if kind in "fc" and random.random() < 0.4:
        text = f"({text} / {random.choice((2, 4, 3, 7, 10))})"
    if kind == "c":
        text = f"({text} * {random.choice(('1j', '(1+2j)', '(0.5-1j)'))})"
    return f"{text}.astype('{code}').reshape({shape})"


def matrix(random, n):
    """A matrix that is not near a singular one."""
    code = random.choice("ddfdFD")
    extra = f" + 0.5j * numpy.eye({n})" if code in "FD" else ""
    factor = random.choice((3, 5, 7))
    small = f"(numpy.arange({n * n}) * {factor} % 11).reshape({n}, {n}) / 4"
    return f"({small} + {3 * n} * numpy.eye({n}){extra}).astype('{code}')"


def indices(random, shape, limit):
    """An expression for a NumPy array of indices in [0, limit)."""
    n = math.prod(shape)
    factor = random.choice((1, 3, 7, 0))
    return f"(numpy.arange({n}) * {factor} % {max(limit, 1)}).reshape({shape})"


# -- indices ---------------------------------------------------------------------------------------


def axis(random, ndim, several=True):
    """An axis as text: None, a number, a tuple; now and then outside."""
    if ndim == 0:
        return random.choice(("None", "None", "()", "0", "-1") if several else ("None", "None", "0"))
    form = random.random()
    if form < 0.15:
        return "None"
    if form < 0.75 or not several:
        return str(random.randrange(-ndim, ndim)) if random.random() < 0.97 else str(ndim)
    chosen = random.sample(range(ndim), random.randint(0, min(ndim, 3)))
    return str(tuple(k - ndim if random.random() < 0.3 else k for k in chosen))


def slice_text(random, n):
    form = random.randrange(9)
    a, b = random.randint(0, n), random.randint(-n - 1, n + 1)
    k = random.choice((2, 3, 2, 7))
    return (
        ":",
        f"{a}:",
        f":{b}",
        f"{min(a, b)}:{max(a, b)}",
        f"::{k}",
        "::-1",
        f"{a}::-{k}",
        f"{b}:{a}:{k}",
        f":{a}:-1",
    )[form]


def index(random, shape, kinds="basic", name=None):
    """What stands between the brackets. kinds: "basic"; "any": arrays too."""
    items, axes, advanced = [], list(shape), False
    length = random.randint(0, len(shape)) if random.random() < 0.3 else len(shape)
    ellipsis = random.random() < 0.15
    if ellipsis:
        items.append("...")
        length = random.randint(0, length)
        axes = axes[len(axes) - length :]
    for n in axes[:length]:
        if random.random() < 0.07:
            items.append(random.choice(("None", "numpy.newaxis")))
        form = random.random()
        if form < 0.35:
            limit = n if random.random() < 0.98 else n + 1
            number = str(random.randrange(-limit, limit)) if limit else "0"
            items.append(
                number
                if form > 0.03
                else random.choice((f"np.array({number})", f"numpy.int64({number})", f"numpy.array({number})"))
            )
        elif form < 0.75 or kinds == "basic" or n == 0:
            items.append(slice_text(random, n))
        else:
            count = random.choice((1, 2, 3, 3, 5)) if advanced is False else advanced
            advanced = count
            picks = [random.randrange(-n, n) for _ in range(count)]
            items.append(
                random.choice(
                    (
                        f"{picks}",
                        f"np.array({picks})",
                        f"numpy.array({picks})",
                        f"np.array({picks}, 'i1')" if n < 100 else f"{picks}",
                        f"np.arange({n}) % 3 == 0",
                        f"numpy.arange({n}) % 2 == 1",
                        f"np.array([{picks[0]}] * {count})[:, None]",
                    )
                )
            )
    if kinds == "any" and random.random() < 0.12:
        return random.choice(("True", "False", "[]", "np.array(True)", "None", "...", "()", "1.0", "[True]"))
    return ", ".join(items) if items else "..."
