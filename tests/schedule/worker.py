"""What the process of a run does: a program, under its seed, and then what holds after each."""

import faulthandler
import gc
import importlib
import os
import random
import sys
import traceback

import dflow
import dflow.numpy as np
from dflow import _engine
from schedule import control
from schedule.scenarios import SCENARIOS, WRONG

MAY_STALL = {"interrupts", "exits"}     # Ctrl-C waits for the end of a slice; nobody is woken for the process's end


def warm_up():
    """What is done once in a process, in the one that all others are forked from. Starts no thread."""
    for module in "asyncio", "scipy.special", "dflow._tracing.cuda_graph", "dflow._tracing.trace":
        importlib.import_module(module)
    dflow.engine.naive(True)
    x = np.array([[2.0, 1], [1, 3]])
    for value in (np.sin(x), x @ x, np.linalg.inv(x), np.sort(x), np.cumsum(x), x.sum(axis=0), np.linalg.eigvalsh(x)):
        value.wait_to_read()
    dflow.engine.naive(False)
    gc.collect()
    gc.freeze()


def work(name, seed, policy, report, of_forks):
    """Does not return."""
    faulthandler.enable()
    status = 1
    try:
        control.begin(seed, policy, report, of_forks)
        before = _engine.live()
        draw = random.Random(seed)
        sys.setswitchinterval(draw.choice((5e-3, 1e-4, 1e-6)))
        (SCENARIOS | WRONG)[name](draw)
        dflow.waitall()
        _engine.check_idle()
        gc.collect()
        after = _engine.live()
        assert after == before, f"a leak: alive before {before}, after {after}"
        control.end()
        status = 0
    except SystemExit:
        raise                           # the interpreter's own end is what is tested
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(status)


warm_up()
