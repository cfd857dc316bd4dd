"""What holds for every test: it leaves the engine idle, nothing alive that it made, and no error that nobody saw."""

import gc
import os
import signal
import sys
import time

import pytest
from hypothesis import settings

import dflow
import dflow.nd  # what it gives arrays, all tests have
from dflow import _engine, npx
from dflow._runtime import events

settings.register_profile("dflow", deadline=None)  # how long an example takes depends on what else the workers do
settings.load_profile("dflow")


npx.reset_np()          # what it lets arrays take, only those have that ask for it


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:     # as in a job in the background: programs of tests inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header():
    """Says which build is tested."""
    return f"dflow: {os.path.dirname(dflow.__file__)}"


def pytest_collection_finish():
    """What pytest has made by now stays: `check_clean` need not look through it, which took a fifth of all time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def stays():
    """So does what a file of tests has imported: pandas, Numba and the like are millions of objects."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request):
    """Waits for the engine after the test, then compares what is alive with what was before it.

    An error that surfaces here was never read by the test. It fails the test unless that is marked `leaves_errors`.
    """
    before, watchers = _engine.live(), events.watchers()
    yield
    try:
        dflow.waitall()
    except Exception:
        if request.node.get_closest_marker("leaves_errors") is None:
            raise
    finally:
        check_clean(before)
        until = time.monotonic() + 5        # the thread of a bar may end a moment after its loop
        while events.watchers() > watchers and time.monotonic() < until:
            time.sleep(0.01)
        assert events.watchers() <= watchers, "the test left somebody who watches"


def check_clean(before):
    """Asserts that the engine is idle and that as many storages, tasks and bytes are alive as in `before`."""
    if _engine.live() != before:
        # Garbage in cycles may hold arrays, and so may the frames of a failed test, which pytest keeps in sys.last_*.
        for name in ("last_exc", "last_type", "last_value", "last_traceback"):
            vars(sys).pop(name, None)
        gc.collect()
        until = time.monotonic() + 2
        while _engine.live() != before and time.monotonic() < until:
            time.sleep(0.01)        # threads of other libraries (zarr's event loop) let go when they come to it
            gc.collect()
    _engine.check_idle()
    after = _engine.live()
    assert after == before, f"the test left a leak: alive before {before}, after {after}"
