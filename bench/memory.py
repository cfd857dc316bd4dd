"""The memory of this process, as the system sees it."""
import os
import threading

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident():
    """Bytes of this process that are in memory now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * PAGE


class PeakResident:
    """Inside the `with` block a thread samples `resident()`; `.increase` is the peak less the value at entry."""

    def __init__(self, every=0.002):
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self):
        self._start = self._peak = resident()
        self._thread.start()
        return self

    def _sample(self):
        while not self._stop.wait(self._every):
            self._peak = max(self._peak, resident())

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()
        self._peak = max(self._peak, resident())

    @property
    def increase(self):
        return self._peak - self._start
