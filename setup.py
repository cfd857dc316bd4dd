"""Builds the extensions: dflow/FOLDER/NAME.pyx becomes dflow.FOLDER.NAME. Everything else is said in pyproject.toml.

Two variables of the environment choose a build other than the release, each in a folder of its own under build/:

    DFLOW_DEBUG=1                       the invariants are asserted
    DFLOW_SANITIZE=address,undefined    the same, under these sanitizers of GCC
    DFLOW_SANITIZE=thread               the same, under ThreadSanitizer

DFLOW_LINK=1 builds nothing: an editable install then takes the extensions that are built in place.
"""

import os
import sys
import sysconfig
from glob import glob
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# C files compiled into an extension besides its own. Each belongs to one extension only: the symbols are hidden, and
# extensions are compiled at the same time.
HELPERS = {
    "dflow._functions.convolve": ["dflow/_kernels/c/conv.c"],
    "dflow._functions.random": ["dflow/_kernels/c/distributions.c"],
    "dflow._kernels.trig": ["dflow/_kernels/c/sincos.c"],
    "dflow._runtime.errors": ["dflow/_runtime/site.c"],
}

LIBRARIES = {
    "dflow._functions.random": ["m"],
    "dflow._kernels.casts": ["npymath"],  # NumPy's conversions of half precision
}

DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "embedsignature": False,
    # The checks that C does not make either. A typed list or tuple is then not checked, and not indexed from its end.
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}

SANITIZE = os.environ.get("DFLOW_SANITIZE", "")
DEBUG = bool(SANITIZE) or os.environ.get("DFLOW_DEBUG", "0") not in ("", "0")
VARIANT = "tsan" if SANITIZE == "thread" else "asan" if SANITIZE else "debug" if DEBUG else "release"

FLAGS = [
    "-fvisibility=hidden",
    "-ftls-model=initial-exec",  # a thread-local costs one load, not a call; only a few bytes may live there
    # Results equal NumPy's bit for bit: a * b + c stays two roundings on machines that could fuse it. Leaving errno
    # alone changes no result (sqrt becomes one instruction); -ffast-math and -march=native would change some.
    "-ffp-contract=off",
    "-fno-math-errno",
    # Of what Cython writes: an enum that a loop counts to, results that are not looked at, and a cast to ndarray after
    # the type is known, which GCC believes to be of None.
    "-Wno-sign-compare",
    "-Wno-unused-but-set-variable",
    "-Wno-array-bounds",
]
if DEBUG:
    # -g1: the lines of a backtrace; what a debugger shows of variables, -g, takes as long again as all else.
    FLAGS += ["-O1", "-g1", "-UNDEBUG", "-DDFLOW_DEBUG=1"]
else:
    FLAGS += ["-O3", "-g0"]  # -g0: many Pythons ask for -g, which doubles the time of the build
if SANITIZE:
    FLAGS += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer"]
if VARIANT == "asan":
    FLAGS += ["-DDFLOW_PLAIN_MALLOC=1"]  # each object an allocation of its own, which it can watch
if VARIANT == "tsan":
    FLAGS += ["-Wno-tsan"]  # it does not know fences; none of ours publishes anything (see _base/atomics.h)


def cores():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def module_name(source):
    """dflow._runtime.graph, of dflow/_runtime/graph.pyx."""
    return ".".join(Path(source).with_suffix("").parts)


def extensions(build_dir="build/c", force=None):
    """The extensions, their generated C brought up to date in build_dir, which all variants share."""
    sources = glob("dflow/**/*.pyx", recursive=True)
    modules = [
        Extension(
            name,
            [source, *HELPERS.get(name, [])],
            include_dirs=["dflow", numpy.get_include()],
            library_dirs=[str(Path(numpy.get_include()).parent / "lib")],
            libraries=LIBRARIES.get(name, []),
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            extra_compile_args=FLAGS,
            extra_link_args=[f"-fsanitize={SANITIZE}"] if SANITIZE else [],
        )
        for source in sorted(sources, key=os.path.getsize, reverse=True)  # largest first: cores finish together
        for name in [module_name(source)]
    ]
    modules = cythonize(
        modules,
        build_dir=build_dir,
        force=force,
        nthreads=cores(),
        quiet="-q" in sys.argv,
        compiler_directives=DIRECTIVES,
    )
    for module in modules:  # Cython has followed the .pyx and .pxd, but not what only C includes, nor the flags above
        module.depends = sorted({*module.depends, *glob("dflow/**/*.h", recursive=True), "setup.py"})
    return modules


class BuildExtensions(build_ext):
    """Removes extensions that no source makes any more: an import would find them beside those that are.

    And those of other Pythons, but in place, where each has its own: all that is in build_lib gets into the wheel.
    """

    def run(self):
        folder = Path("." if self.inplace else self.build_lib)
        wanted = {Path(self.get_ext_filename(module.name)) for module in self.extensions}
        suffix = Path(sysconfig.get_config_var("EXT_SUFFIX"))
        for path in folder.glob(f"dflow/**/*{suffix if self.inplace else suffix.suffix}"):
            if path.relative_to(folder) not in wanted:
                path.unlink()
        super().run()


if __name__ == "__main__":  # also because cythonize may start fresh processes, which import this file
    if VARIANT != "release" and "--inplace" in sys.argv:
        sys.exit(f"setup.py: only the release is built in place; run `setup.py build`, then use build/{VARIANT}/lib")
    setup(
        ext_modules=[] if os.environ.get("DFLOW_LINK") else extensions(),
        cmdclass={"build_ext": BuildExtensions},
        options={
            "build": {"build_base": f"build/{VARIANT}", "build_lib": f"build/{VARIANT}/lib"},
            "build_ext": {"parallel": cores()},
        },
    )
