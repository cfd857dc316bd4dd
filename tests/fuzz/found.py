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
    # Where= that is not of booleans.
    (Settings(), "v0 = np.ones(1).any(where=np.ones(1))"),
    # Copyto() into an array of NumPy's.
    (
        Settings(),
        "v0 = numpy.arange(1)\n"
        "np.copyto(v0, v0)",
    ),
    # A scalar of NumPy's beyond the type of the array it is stored to.
    (
        Settings(),
        "v0 = np.ones(2, 'b')\n"
        "v0[...] = numpy.uint8(128)",
    ),
    # A sequence of more axes than where it is stored.
    (
        Settings(),
        "v0 = np.ones(3)\n"
        "v0[...] = [np.ones(3)]",
    ),
    # Casting= of logical functions.
    (Settings(), "v0 = np.logical_and([1], np.ones(1), casting='equiv')"),
    # Reduce() of a ufunc of mixed types.
    (Settings(), "v0 = np.ldexp.reduce([1])"),
    # Select() with a default outside the type.
    (
        Settings(),
        "v0 = np.ones(1, 'h')\n"
        "v1 = np.select([v0 > 1], [v0], 2**15)",
    ),
    # Putmask() into an array of NumPy's.
    (
        Settings(),
        "v0 = numpy.zeros(3)\n"
        "np.putmask(v0, v0, v0)",
    ),
    # Reduce() of one element where the identity changes it.
    (Settings(), "v0 = np.hypot.reduce(np.array([[-5.0]]), axis=1)"),
    # Float() of complex numbers.
    (Settings(), "v0 = [*map(float, np.ones(1, 'D'))]"),
    # Nanmean() of integers that are ready adds in another order than of those that are not.
    (
        Settings(),
        "v0 = np.array(numpy.frombuffer(numpy.random.RandomState(113).bytes(13208), 'l').copy())\n"
        "v1 = hold(v0)\n"
        "v2 = (np.nanmean(v0) == np.nanmean(v1)).item()",
    ),
    # An integer times an infinite complex number, in place.
    (
        Settings(),
        "v0 = np.ones(2, 'h')\n"
        "v0[1] *= inf - 0j",
    ),
    # Ravel('K') of an array that is broadcast: in the order of its strides of zero.
    (Settings(), "v0 = np.ravel(np.broadcast_to([1, 0], (2, 2)), 'K')"),
    # Which of two errors: where= of comparisons, that have no identity.
    (Settings(), "v0 = np.greater_equal.reduce((1,), where=[True])"),
    # Which of two errors: take() into out.
    (Settings(), "v0 = np.take(np.array([]), [0], out=np.array([]))"),
    # Casting='equiv' and 'no' of comparisons with Python's numbers.
    (Settings(), "v0 = np.equal(0, np.ones(1, 'L'), casting='equiv')"),
    # The sign of a zero beside a nan.
    (Settings(), "v0 = np.nanmax(complex(nan, -0.0))"),
    # Initial= and masks of ufuncs that no value stands for.
    (Settings(), "v0 = np.arctan2.reduce((0,), initial=numpy.True_, where=[False])"),
    # Initial= in the type of the array.
    (Settings(), "v0 = np.min(np.ones(1, 'h'), initial=1.5, where=(1,))"),
    # What a reduction starts from passes through the type of out.
    (
        Settings(),
        "v0 = np.ones(2, '?')\n"
        "v1 = np.bitwise_and.reduce(np.array([[0], [2]]), axis=1, out=v0)",
    ),
    # As above, from the first element.
    (Settings(), "v0 = np.subtract.reduce([[2.5, 1.2]], axis=1, out=np.ones(1, int))"),
    # A reduction of mixed types of what is ready.
    (Settings(), "v0 = np.ldexp.reduce(np.ones(1, 'l'))"),
    # Integers beyond the type, before casts.
    (Settings(), "v0 = np.fmod(np.ones(1), 2**15, dtype='h')"),
    # No elements to a negative power.
    (Settings(), "v0 = np.array([], 'l') ** -1"),
    # Round() of booleans.
    (Settings(), "v0 = np.round(np.array([], '?'), 1)"),
    # Choose() by numbers that are not safely int64.
    (Settings(), "v0 = np.choose(np.array([[0]], 'L'), [np.ones(1)])"),
    # Fill() of a scalar.
    (
        Settings(),
        "v0 = np.ones(1).min()\n"
        "v0.fill(0)",
    ),
    # Fill_diagonal() and others of NumPy's own array.
    (
        Settings(),
        "v0 = numpy.zeros((3, 3))\n"
        "np.fill_diagonal(v0, v0)",
    ),
    # Isin() of no axes is an array.
    (
        Settings(),
        "v0 = hold(np.ones(()))\n"
        "v1 = np.isin(np.ones(()), v0)",
    ),
    # Polyval() by rows.
    (Settings(), "v0 = np.polyval(np.ones((2, 2)), [1, 2])"),
    # Average() of no elements along another axis.
    (Settings(), "v0 = np.average(np.ones((1, 0)), axis=0)"),
    # Correlate() of scalars.
    (Settings(), "v0 = np.correlate(np.array(1.0), np.ones(3))"),
    # Put() into what is read-only.
    (
        Settings(),
        "v0 = np.broadcast_to((1,), (0,))\n"
        "np.put(v0, [1], v0)",
    ),
    # Partition() of no elements has no bounds.
    (
        Settings(),
        "v0 = hold(np.ones((0, 1)))\n"
        "v0.partition(1)",
    ),
    # A scalar of NumPy's under a mask is cast.
    (
        Settings(),
        "v0 = np.ones(2, 'l')\n"
        "v0[v0 != 0] = numpy.float64('nan')",
    ),
    # Several axes of what is not reorderable.
    (Settings(), "v0 = np.lcm.reduce(np.ones((2, 2), int), axis=None)"),
    # Python's integers are not cast to another type of the same kind.
    (Settings(), "v0 = np.bitwise_xor(np.array([], 'L'), 1, casting='equiv')"),
    # Which of two errors: of the integer, or of its cast.
    (Settings(), "v0 = np.lcm(np.array([], 'B'), 2**8, casting='equiv')"),
    # A reduction of mixed types with dtype=.
    (Settings(), "v0 = np.ldexp.reduce(np.ones(1, 'h'), dtype='d')"),
    # Place() into what is read-only.
    (
        Settings(),
        "v0 = np.broadcast_to((0,), (0,))\n"
        "np.place(v0, v0, [2**63])",
    ),
    # As above, putmask().
    (
        Settings(),
        "v0 = np.array([], 'L')\n"
        "v0.setflags(write=False)\n"
        "np.putmask(v0, v0, -1)",
    ),
    # Casts of floats to integers by casting='equiv'.
    (Settings(), "v0 = np.add(np.ones(1, 'l'), 2.5, dtype=int, casting='equiv')"),
    # Python's complex numbers in loops of integers.
    (Settings(), "v0 = np.bitwise_or(np.ones(1), 2j, dtype='h', casting='unsafe')"),
    # A number into the real parts of nothing.
    (
        Settings(),
        "v0 = np.array([], 'i')\n"
        "v0.real = 2**64",
    ),
    # Which of two errors: of indices, or of types.
    (Settings(), "v0 = np.logical_and.reduceat(numpy.arange(0), [0], dtype='g')"),
    # Nan_to_num() by numbers that the type has not.
    (Settings(), "v0 = np.nan_to_num(np.ones(1), nan=numpy.complex64(1j))"),
    # Median() with keepdims is an array.
    (Settings(), "v0 = np.median(numpy.arange(1).reshape(()), keepdims=True)"),
    # NumPy's AVX-512 loops of four functions leave results out that do not lie side by side, as short rows' here.
    (Settings(), "v0 = np.ones((448, 7))[-1:0:-1]\nv1 = np.isinf(v0) & (v0 > 0)\nnp.nan_to_num(v0, copy=False)"),
    # Of complex numbers that are all nan, NumPy's arrays have them as they are.
    (Settings(), "v0 = np.nanmax(numpy.array([complex(nan, inf)]))\nv1 = np.nanmin(numpy.array([complex(1, nan)]))"),
    # Which of two errors: of lists that have more axes than where they go, or of numbers that do not fit.
    (Settings(), "v0 = np.ones(1, 'H')\nv0[...] = [[-1]]"),
    # Copies of arrays without strides along an axis lie as NumPy's, so that reshape() copies again or makes a view.
    (
        Settings(),
        "v0 = np.broadcast_to(numpy.arange(2), (2, 2))\n"
        "v1 = v0.astype('l')\n"
        "v2 = v1.reshape(-1)\n"
        "v1 += v1",
    ),
    # NumPy's AVX-512 loop of negative() takes elements 16 or 64 bytes apart for neighbours where results lie apart.
    (
        Settings(inline_limit=0),
        "v0 = np.array(numpy.arange(128).reshape((32, 4)))\n"
        "v1 = v0[1::2]\n"
        "v2 = v1 * v1\n"
        "v3 = -v1",
    ),
    # Results of reductions with keepdims own their memory, and are scalars where they have no axes.
    (Settings(), "v0 = np.logical_or.reduce(np.ones(1), keepdims=True).flags.owndata"),
    (Settings(), "v0 = np.max(np.ones((1, 2)), 1, keepdims=True).base is None"),
    (Settings(), "v0 = np.isscalar(np.count_nonzero(np.ones(()), keepdims=True))"),
    (Settings(), "v0 = np.isscalar(np.max(np.ones(()), keepdims=True))\nv1 = np.isscalar(np.round(1))"),
    # A function on a worker sees the shape that an array without elements had.
    (
        Settings(hold="submit"),
        "v0 = np.ones((1, 1))\n"
        "v1 = v0[1:,]\n"
        "v2 = hold(v1)\n"
        "v1.shape = -1",
    ),
    # Which of two errors: of what is read-only, or of the value; of what has no elements, or of the value.
    (Settings(), "v0 = np.broadcast_to(1j, (1,))\nv0.fill(np.array([[1.0]]))"),
    (Settings(), "v0 = hold(np.array([], 'B'))\nv0.put([1], 2 ** 8)"),
    # What a reduction without an identity starts from is of the type of out.
    (
        Settings(),
        "v0 = numpy.frombuffer(numpy.random.RandomState(0).bytes(320), 'l').reshape((8, 5))\n"
        "v1 = np.ones(8, 'i')\n"
        "np.maximum.reduce(np.array(v0), axis=1, out=v1)",
    ),
    # Complex scalars are cast to real ones by interp().
    (Settings(inline_limit=0), "v0 = np.interp(hold(np.ones(1) * (1+2j)).sum(), [0, 1, 4], [0, 2, 3])"),
    # So are long doubles, which interp() refuses in arrays.
    (Settings(inline_limit=0), "v0 = np.interp(np.ones(2, 'g').sum(), [0, 1, 4], [0, 2, 3])"),
    # The parts of scalars are scalars.
    (Settings(), "v0 = np.ones(()) // np.ones(())\nv1 = v0.imag\nv2 = (np.ones(2) * 1j).sum()\nv3 = v2.imag\nv3 += 1"),
    # Masks of reductions: what they leave out changes nothing, not the sign either.
    (Settings(), "v0 = np.hypot.reduce(np.ones(1), initial=-1, where=np.zeros((), '?'))"),
    (Settings(), "v0 = np.gcd.reduce(np.ones(1, int), initial=-4, where=False)"),
    (Settings(), "v0 = np.add.reduce(np.ones(1), initial=-0.0, where=False)"),
]
