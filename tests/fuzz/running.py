"""Running a program with dflow, and comparing it with NumPy's run and with other settings of the engine."""

import time
import warnings
from dataclasses import replace

import numpy
from compare import same_bits

import dflow
import dflow.numpy as np
from dflow._runtime import executor, fusion_plan
from tests.fuzz import programs, rules, statements

ABSENT = object()


def generate(seed, only=None, largest=None):
    """(program, NumPy's run of it) of a seed. only: the names of the families that statements are of."""
    families = [family for name, family in statements.FAMILIES.items() if not only or name in only]
    options = {} if largest is None else {"largest": largest}
    with quiet():
        return programs.Generator(seed, families, workers(seed), **options).program()


def workers(seed):
    """Started for 64 programs at a time, as it costs more than most of them."""
    return (2, 1, 3, 16, 2)[seed // 64 % 5]


def quiet():
    """No warnings, and no floating point errors."""
    context = warnings.catch_warnings()
    context.__enter__()
    warnings.simplefilter("ignore")
    return _Quiet(context, numpy.errstate(all="ignore"))


class _Quiet:
    def __init__(self, context, state):
        self.context, self.state = context, state

    def __enter__(self):
        self.state.__enter__()

    def __exit__(self, *error):
        self.state.__exit__(*error)
        self.context.__exit__(*error)


def reference(program, strict=True):
    """NumPy's run of a program; None if it has statements that are not asked, unless they are here."""
    run = programs.Reference()
    with quiet():
        for statement in program.statements:
            if strict and rules.avoided(statement, run.variables):
                return None
            run.run(statement)
            if strict and run.refused(statement):
                return None
    return run


def apply(settings):
    """Set the engine up. Nothing is pending."""
    engine = dflow.engine
    if engine.num_workers() != settings.workers:
        engine.set_num_workers(settings.workers)
    engine.bulk(settings.bulk)
    engine.inline_limit(DEFAULT_LIMIT if settings.inline_limit is None else settings.inline_limit)
    engine.naive(settings.naive)
    set_thresholds(dict(settings.thresholds))


def set_thresholds(chosen):
    """Set those of `programs.THRESHOLDS`; the others are as they were at first."""
    for name, value in BLOCKS.items():
        fusion_plan.set_threshold(name, chosen.get(name, value))
    executor.set_split(chosen.get("SPLIT_NS", SPLIT[0]), chosen.get("GRAIN_NS", SPLIT[1]))


BLOCKS = {name: fusion_plan.set_threshold(name, 64) for name in programs.THRESHOLDS if not name.endswith("NS")}
SPLIT = executor.set_split(1, 1)
set_thresholds({})
DEFAULT_LIMIT = dflow.engine.inline_limit()


def holding(settings):
    if settings.hold == "submit":

        def later(x):
            time.sleep(settings.seconds)
            return x

        return lambda x: dflow.submit(later, x, shape=x.shape, dtype=x.dtype)
    return lambda x: dflow.engine.sleep(x, settings.seconds)


def run(program, run_of_numpy, settings=None):
    """dflow's run: what each statement raised, and the variables that are alive at the end."""
    settings = settings or program.settings
    apply(settings)
    variables = programs.namespace(np, holding(settings))
    errors = []
    for statement, code, (error, level) in zip(program.statements, run_of_numpy.codes, run_of_numpy.errors):
        try:
            exec(code, variables)
            if error is not None:  # what NumPy raises at once may show when it is read
                read(statement, variables)
        except Exception as caught:
            errors.append(caught)
        else:
            errors.append(None)
        if error is not None and level == 0:
            target = programs.ASSIGNED.match(statement)
            if target:
                variables.pop(target[1], None)
    return errors, variables


def read(statement, variables):
    for name in programs.NAME.findall(statement):
        if name in variables:
            plain(variables[name])


def plain(x):
    """What a variable holds, with NumPy's arrays for ours."""
    if hasattr(x, "asnumpy"):
        return x.asnumpy()
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    return x


def different(program, run_of_numpy):
    """What differs: None, or a line of text that begins with the number of a statement."""
    with quiet():
        ours, variables = run(program, run_of_numpy)
        line = compared(program, run_of_numpy, ours, variables)
        if line is None and (any(run_of_numpy.levels.values()) or program.seed % 8 == 0):
            line = otherwise(program, run_of_numpy, ours, variables)
        try:
            dflow.waitall()  # errors that nobody read
        except Exception as error:
            if isinstance(error, ExceptionGroup):
                error = error.split(MemoryError)[1]  # the fuzzer's process has little
            if error is None or isinstance(error, MemoryError):
                return line
            if line is None and not any(kind for kind, _ in run_of_numpy.errors) and not any(ours):
                line = f"{len(program.statements)}: nobody saw {type(error).__name__}: {error}"
    return line


def compared(program, run_of_numpy, errors, variables):
    if any(isinstance(error, MemoryError) for error in errors):
        return None  # the fuzzer's process has little
    for i, (statement, ours, (theirs, level)) in enumerate(zip(program.statements, errors, run_of_numpy.errors)):
        if (
            level == 0
            and type(ours) is not theirs
            and not (ours is None and theirs is None)
            and not rules.same_error(statement, ours, theirs)
        ):
            return f"{i}: dflow: {describe(ours)}, NumPy: {theirs.__name__ if theirs else 'no error'}"
    for name in run_of_numpy.live():
        level, theirs = run_of_numpy.levels[name], run_of_numpy.variables[name]
        at = position(program, name)
        if name not in variables:
            if level == programs.FREE:
                continue
            return f"{at}: dflow has no {name}"
        if level == programs.FREE:
            continue
        try:
            ours = plain(variables[name])
        except MemoryError:
            return None
        except Exception as error:
            return f"{at}: reading {name} raises {describe(error)}"
        line = apart(ours, theirs, level, run_of_numpy.bounds.get(name))
        if line:
            return f"{at}: {name}: {line}"
        line = rules.flags_differ(variables[name], theirs)
        if line:
            return f"{at}: {name}: {line}"
    return None


def position(program, name):
    """The number of the statement that made a variable."""
    return next((i for i, text in enumerate(program.statements) if text.startswith(f"{name} = ")), 0)


def apart(ours, theirs, level, bound=None):
    """How two values differ, or None. bound: by how much they may, where they need not be the same."""
    if isinstance(theirs, (list, tuple)):
        if not isinstance(ours, (list, tuple)) or len(ours) != len(theirs):
            return f"dflow: {short(ours)}, NumPy: {short(theirs)}"
        return next((line for x, y in zip(ours, theirs) if (line := apart(x, y, level, bound))), None)
    if isinstance(theirs, (numpy.ndarray, numpy.generic)):
        theirs = numpy.asarray(theirs)
        if not isinstance(ours, (numpy.ndarray, numpy.generic)):
            return f"dflow: {short(ours)}, NumPy: {short(theirs)}"
        ours = numpy.asarray(ours)
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            return f"dflow: {ours.dtype} {ours.shape}, NumPy: {theirs.dtype} {theirs.shape}"
        if level == programs.CLOSE:
            return beyond(ours, theirs, bound)
        if ours.tobytes() == theirs.tobytes() or same_bits(ours, theirs):
            return None
        return f"dflow: {short(ours)}, NumPy: {short(theirs)}{where(ours, theirs)}"
    if isinstance(theirs, complex) and isinstance(ours, numpy.ndarray) and not ours.ndim:
        ours = ours.item()  # what Python's complex numbers make of NumPy's scalars, which are such numbers
    if level == programs.EXACT and repr(ours) != repr(theirs):
        return f"dflow: {short(ours)}, NumPy: {short(theirs)}"
    return None


def beyond(ours, theirs, bound):
    """How two arrays differ by more than the bound, or None."""
    if bound is None or theirs.dtype.kind not in "fc":
        return None
    with numpy.errstate(all="ignore"):
        distance = numpy.abs(ours - theirs)
        wrong = numpy.where(numpy.isfinite(theirs), ~(distance <= bound), numpy.isfinite(ours))
    if not wrong.any():
        return None
    at = tuple(int(k) for k in numpy.argwhere(wrong)[0])
    return (
        f"dflow: {short(ours)}, NumPy: {short(theirs)}, at {at}: {ours[at]!r}, NumPy: {theirs[at]!r}, bound {bound:g}"
    )


def where(ours, theirs):
    """The first place at which two arrays differ."""
    if not ours.ndim or ours.size < 8:
        return ""
    for at in numpy.ndindex(ours.shape):
        if not same_bits(numpy.asarray(ours[at]), numpy.asarray(theirs[at])):
            return f", at {at}: {ours[at]!r}, NumPy: {theirs[at]!r}"
    return ""


def short(x):
    with numpy.printoptions(threshold=12, edgeitems=3, linewidth=1000):
        text = " ".join(repr(x).split())
    return text if len(text) < 200 else text[:200] + " ..."


def describe(error):
    return f"{type(error).__name__}: {str(error)[:150]}" if error is not None else "no error"


def otherwise(program, run_of_numpy, errors, variables):
    """The same program with other settings: the same bits, whatever they are."""
    other = replace(
        program.settings,
        bulk=0 if program.settings.bulk else 32,
        naive=not program.settings.naive and program.seed % 3 == 0,
        thresholds=(),
        inline_limit=None if program.settings.inline_limit is not None else 0,
    )
    settle()
    again, those = run(program, run_of_numpy, other)
    if any(isinstance(error, MemoryError) for error in again):
        return None
    for i, (first, second) in enumerate(zip(errors, again)):
        if run_of_numpy.failed.intersection(programs.NAME.findall(program.statements[i])):
            continue  # an error shows where it is read
        if type(first) is not type(second) and run_of_numpy.errors[i][1]:
            return f"{i}: with other settings: {describe(second)}, not {describe(first)}"
    for name in run_of_numpy.live():
        if name in variables and name in those:
            first, second = outcome(variables[name]), outcome(those[name])
            line = None if name in run_of_numpy.loose else apart(second, first, programs.EXACT)
            if line and not isinstance(first, str) and not isinstance(second, str):  # an error poisons what was pending
                return f"{position(program, name)}: {name}: with other settings: {line}"
    return None


def settle():
    """Wait for all; errors are seen where they are read."""
    try:
        dflow.waitall()
    except Exception:
        pass


def outcome(x):
    try:
        return plain(x)
    except Exception as error:
        return type(error).__name__
