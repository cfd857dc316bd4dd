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
]
