"""Programs that were finds, made smaller, and are mended: each must give NumPy's results from now on."""

from tests.fuzz.programs import Settings

FOUND = [
    # The results of several rows were folded into one.
    (Settings(), "v0 = np.array(numpy.arange(6000).reshape(6, 1000))\nv1 = hold(v0)\nv2 = (v1 > 3000).any(axis=1)"),
    (
        Settings(),
        "v0 = np.array((numpy.arange(40000) % 7919).astype('h').reshape(50, 800))\n"
        "v1 = (v0 + numpy.int16(0)).max(axis=1)",
    ),
    # Python integers beyond int64 are arrays of objects, where no operator takes them.
    (Settings(), "v0 = np.searchsorted((0,), 2**64)"),
    # An array of no axes as an index of one axis, by which NumPy copies, makes a view.
    (
        Settings(),
        "v0 = np.zeros((1, 1))\n"
        "v1 = v0[np.array(0)]\n"
        "v0[...] = 1",
    ),
    # As above, by a variable.
    (
        Settings(),
        "v0 = np.zeros((1, 1))\n"
        "v2 = np.array(0)\n"
        "v1 = v0[v2]\n"
        "v0[...] = 1",
    ),
    # Copies, of which NumPy makes views.
    (
        Settings(),
        "v0 = np.ones(1)\n"
        "v1 = np.trim_zeros(v0)\n"
        "v0[...] = 2",
    ),
    # Logical reductions with dtype=.
    (Settings(), "v0 = np.logical_and.reduce((0,), dtype='l')"),
    # Nan and others to integers, unsafely.
    (
        Settings(),
        "v0 = np.ones(1, 'l')\n"
        "v0.real = numpy.nan",
    ),
    # Put() of numbers outside the type.
    (
        Settings(),
        "v0 = np.ones(3, 'b')\n"
        "v1 = hold(v0)\n"
        "np.put(v1, [0, 1], 2**40, mode='wrap')",
    ),
    # Comparisons with numbers outside the type, and out=.
    (Settings(), "v0 = np.less(np.ones(1, 'i'), -2**32, out=np.ones(1))"),
    # Which of two errors.
    (Settings(), "v0 = np.ones(2, 'B') ** -1"),
    # Several axes of a reduction that has an order.
    (Settings(), "v0 = np.mod.reduce(np.ones((2, 2)), axis=None)"),
    # Take() and compress() along an axis of an array of none: SIGFPE.
    (Settings(), "v0 = np.take(np.array(3.0), 0, axis=0)"),
    # Interp() of long doubles.
    (Settings(), "v0 = np.interp(np.arange(2).astype('g'), [0, 1, 2], [0, 0, 0])"),
    # Flat of what is pending takes numbers that it refuses when it is ready.
    (
        Settings(),
        "v0 = np.ones(3, 'l')\n"
        "v1 = hold(v0)\n"
        "v1.flat[1:] = -1.5+0.25j",
    ),
    # Which of two errors: of reductions at one position of an array of no axes.
    (Settings(), "v0 = np.minimum.reduceat(np.array(1.0), [0])"),
    # Round() of complex numbers.
    (Settings(), "v0 = np.round(np.array([numpy.inf + 1.26j]), 1)"),
    # At() with numbers outside the type.
    (
        Settings(),
        "v0 = np.ones(3, 'b')\n"
        "v1 = hold(v0)\n"
        "np.fmax.at(v1, [0, 1, 1], -129)",
    ),
    # Initial= of another type than the array's.
    (
        Settings(),
        "v0 = np.ones(3)\n"
        "v1 = np.sum(np.ones((3, 2), 'l'), axis=1, initial=0.5, out=v0)",
    ),
]
