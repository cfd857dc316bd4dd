"""The scheduler's oracle: 4,000 random programs give NumPy's results, bit for bit, in every engine configuration.

Seeds are spread over the configurations: each program runs in one of them.
"""

import itertools
from dataclasses import dataclass

import programs
import pytest
from engines import configured

import dflow
import dflow.numpy as np

pytestmark = [pytest.mark.core, pytest.mark.slow]

PROGRAMS = 4_000
CHUNK = 200                                 # programs a test, so that a failure names a small range of seeds


@dataclass(frozen=True)
class Configuration:
    naive: bool = False
    workers: int | None = None              # None: as many as the machine has cores
    limit: int | None = None                # inline limit in ns; 0 queues everything, None leaves the default
    delays: int = 0                         # longest random delay before a task, in microseconds
    hold: float = 0.0                       # seconds the first arrays stay pending, so that the whole program piles up
    bulk: int | None = None                 # most members of a group; 0: no fusion
    devices: int = 0                        # how many devices arrays are put on
    pools: tuple[int, ...] = ()             # workers of cpu(1), cpu(2), ... of their own

    def header(self, seed):
        """The statements that set this configuration up, for a printed script."""
        lines = ["import dflow"]
        if self.naive:
            lines.append("dflow.engine.naive(True)")
        if self.workers is not None:
            lines.append(f"dflow.engine.set_num_workers({self.workers})")
        lines += [f"dflow.engine.set_num_workers({n}, dflow.cpu({i}))" for i, n in enumerate(self.pools, 1)]
        if self.limit is not None:
            lines.append(f"dflow.engine.inline_limit({self.limit})")
        if self.bulk is not None:
            lines.append(f"dflow.engine.bulk({self.bulk})")
        if self.delays:
            lines.append(f"dflow._engine.set_delays({seed + 1}, {self.delays})")
        return lines

    def script(self, program):
        hold = f"dflow.engine.sleep({{}}, {self.hold})" if self.hold else None
        return program.script(self.header(program.seed), hold)


CONFIGURATIONS = {
    "naive": Configuration(naive=True),
    "default": Configuration(),
    "default-delays": Configuration(delays=50),
    "one": Configuration(workers=1),
    "one-queued": Configuration(workers=1, limit=0),
    "two-queued": Configuration(workers=2, limit=0),
    "two-queued-delays": Configuration(workers=2, limit=0, delays=50),
    "two-held": Configuration(workers=2, hold=3e-4),
    "eight": Configuration(workers=8),
    "eight-queued": Configuration(workers=8, limit=0),
    "eight-queued-delays": Configuration(workers=8, limit=0, delays=50),
    "eight-held": Configuration(workers=8, limit=0, hold=3e-4),
    "eight-held-delays": Configuration(workers=8, limit=0, delays=50, hold=3e-4),
    "one-unfused": Configuration(workers=1, limit=0, bulk=0),
    "two-unfused-held": Configuration(workers=2, limit=0, bulk=0, hold=3e-4),
    "one-pairs": Configuration(workers=1, limit=0, bulk=2),
    "four-pairs-delays": Configuration(workers=4, limit=0, bulk=2, delays=50),
    "three-long": Configuration(workers=3, limit=0, bulk=64, hold=3e-4),
    "sixteen-queued": Configuration(workers=16, limit=0),
    "sixteen-long-delays": Configuration(workers=16, limit=0, bulk=64, delays=50),
    "devices": Configuration(devices=3),
    "devices-queued-delays": Configuration(workers=4, limit=0, delays=50, devices=3),
    "devices-held": Configuration(workers=2, limit=0, hold=3e-4, devices=3),
    "devices-unfused-held-delays": Configuration(workers=8, limit=0, bulk=0, delays=50, hold=3e-4, devices=3),
    "pools": Configuration(devices=3, pools=(1, 1)),
    "pools-queued": Configuration(workers=1, limit=0, devices=3, pools=(1, 1)),
    "pools-held-delays": Configuration(workers=2, limit=0, delays=50, hold=3e-4, devices=3, pools=(2, 2)),
}


def run(program, configuration):
    """What differs from NumPy, as lines of text; an exception is a difference too."""
    if configuration.delays:
        dflow._engine.set_delays(program.seed + 1, configuration.delays)     # seed 0 would turn them off
    hold = (lambda x: dflow.engine.sleep(x, configuration.hold)) if configuration.hold else None
    try:
        variables = programs.execute(program, np, hold)
        return programs.differences(program, variables, to_numpy) + misplaced(program, variables)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def to_numpy(x):
    return x.asnumpy()


def misplaced(program, variables):
    """Arrays that are not on the device that their names say, as lines of text."""
    lines = []
    for name in program.expected:
        if name.startswith("r"):
            continue
        x, place = variables[name], programs.cpu(int(programs.device(name) or 0))
        if (x.ctx, x.device) != (place, place if place != dflow.cpu(0) else "cpu"):
            lines.append(f"{name}: on {x.ctx}, its device is {x.device}")
    return lines


def explain(program, lines, configuration):
    """The failing program, and a shorter one that fails alike, as scripts."""
    def fails(smaller):
        return any(run(smaller, configuration) for _ in range(3))       # an order bug does not show every time
    shorter = programs.shrink(program, fails)
    return "\n".join([f"program {program.seed} differs from NumPy:", *lines,
                      "", "shrunk:", configuration.script(shorter), *run(shorter, configuration),
                      "", "in full:", configuration.script(program)])


def check(configuration, seeds):
    """Run the programs of these seeds; the first that differs from NumPy fails the test."""
    with configured(configuration.naive, configuration.workers, configuration.limit, configuration.bulk,
                    pools=configuration.pools):
        try:
            for seed in seeds:
                program = programs.generate(seed, configuration.devices)
                lines = run(program, configuration)
                if lines:
                    pytest.fail(explain(program, lines, configuration), pytrace=False)
        finally:
            dflow._engine.set_delays(0, 0)


def spread():
    """(configuration's name, first seed) of each test: all seeds once, chunk after chunk over the configurations."""
    names = itertools.cycle(CONFIGURATIONS)
    return [(next(names), first) for first in range(0, PROGRAMS, CHUNK)]


@pytest.mark.parametrize("name, first", spread())
def test_random_programs_give_numpys_results(name, first):
    check(CONFIGURATIONS[name], range(first, first + CHUNK))


@pytest.mark.parametrize("devices", [0, 3])
def test_the_generator_repeats_itself(devices):
    first, again = programs.generate(20, devices), programs.generate(20, devices)
    assert first.script() == again.script()


@pytest.mark.parametrize("devices", [0, 3])
def test_the_oracle_notices_lost_steps(devices):
    """An engine that loses one step must show as a difference, or the oracle sees nothing."""
    noticed = lost = 0
    for seed in range(1, 20):
        program = programs.generate(seed, devices)
        for position in range(len(program.setup), len(program.setup + program.steps)):
            smaller = programs.without(program, position)
            if smaller is not None and set(smaller.expected) == set(program.expected):
                lost += 1
                noticed += bool(programs.differences(program, programs.execute(smaller, np), to_numpy))
    assert noticed > lost / 2 > 0       # the others change what is overwritten or deleted later
