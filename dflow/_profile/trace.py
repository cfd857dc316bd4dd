"""A record as a trace for Perfetto's UI (https://ui.perfetto.dev) and chrome://tracing.

The format is Chrome's: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMh4h6I0nSsKchNAySU. Times are in
microseconds. There is a row for each worker, and one for each Python thread, with what it waited for; lines of the
memory that is allocated or promised, and of how many tasks are pending; an arrow from each task to those that waited
for it.
"""

import json
import os
import threading

import numpy

from dflow._profile.record import COPIED, FAILED, NEVER_RUN, PART, RAN, STOLEN, SUBMITTED, WOKE
from dflow._runtime.queues import lane_name

PER_LANE = 1000             # rows: more than a lane has workers


def write(record, file, functions=()):
    """The trace of a record, to a path or an open text file. functions: calls of Python functions, as rows() of
    _profile/functions.py gives them."""
    _write([*events(record), *functions], file, record.lost)


def write_merged(traces, file):
    """One of several processes: for each when it began, in microseconds, its name, its events, and how many were lost.
    Numbers of processes are those of their places, as those of the system may be the same on two hosts."""
    made = []
    for pid, (began, name, process, _) in enumerate(traces):
        for event in process:
            event = {**event, "pid": pid}
            if "ts" in event:
                event["ts"] += began
            if "id" in event:
                event["id"] = f"{pid}.{event['id']}"
            if event["name"] == "process_name":
                event["args"] = {"name": name}
            made.append(event)
    _write(made, file, sum(lost for *_, lost in traces))


def _write(made, file, lost):
    trace = {"traceEvents": made, "displayTimeUnit": "ns", "otherData": {"lost events": lost}}
    if hasattr(file, "write"):
        json.dump(trace, file)
    else:
        with open(file, "w", encoding="utf-8") as opened:
            json.dump(trace, opened)


class File:
    """A trace that grows: it is whole after each time that something is appended, which costs what that is alone."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.lost = 0
        self._end = 0               # where the last event ends
        self._named = set()         # rows, and what of them

    def append(self, made, lost=0):
        """Write more events; lost: how many more there are none of."""
        if not os.path.exists(self.path):
            self._end, self._named = 0, set()       # or somebody took it away
        named, some = set(), bool(self._end)
        with open(self.path, "r+b" if some else "wb") as file:
            file.seek(self._end)
            for event in self._once(made, named):
                file.write(b",\n" if some else b'{"traceEvents": [\n')
                file.write(json.dumps(event).encode())
                some = True
            end = file.tell() if some else 0
            file.write(b"" if some else b'{"traceEvents": [')
            file.write(b'\n], "displayTimeUnit": "ns", "otherData": {"lost events": %d}}\n' % (self.lost + lost))
            file.truncate()
        self._end, self.lost, self._named = end, self.lost + lost, self._named | named

    def _once(self, made, named):
        """The same without what is known of rows by now."""
        for event in made:
            if event["ph"] == "M":
                key = event["name"], event["tid"]
                if key in self._named or key in named:
                    continue
                named.add(key)
            yield event


def events(record, arrow=0):
    """The events of a trace, as dictionaries. arrow: how many arrows the trace has already."""
    pid = os.getpid()
    tasks = record.tasks
    yield metadata(pid, 0, "process_name", "dflow")
    yield from rows(record, pid)
    for run in record.of(RAN, PART):
        yield ran(record, run, tasks, pid)
    for wait in record.waited:
        yield waited(record, wait, tasks, pid)
    for woke in record.of(WOKE):
        yield {"ph": "i", "name": "woken", "cat": "wake", "s": "t", "ts": woke["start"] / 1e3, "pid": pid,
               "tid": row(woke)}
    for theft in record.of(STOLEN):
        yield {"ph": "i", "name": f"from worker {theft['other']}", "cat": "steal", "s": "t", "ts": theft["start"] / 1e3,
               "pid": pid, "tid": row(theft), "args": {"task": int(theft["task"])}}
    yield from copies(record, pid)
    yield from arrows(record, pid, arrow)
    yield from counters(record, pid)


def copies(record, pid):
    """To and from GPUs, where the thread is shown that made them: as a worker's, if it is one."""
    rows = {int(run["thread"]): row(run) for run in record.of(RAN, PART)}
    for copy in record.of(COPIED):
        device = lane_name(int(copy["lane"]))
        yield {"ph": "X", "name": f"copy from {device}" if copy["other"] else f"copy to {device}", "cat": "copy",
               "ts": copy["start"] / 1e3, "dur": (copy["stop"] - copy["start"]) / 1e3, "pid": pid,
               "tid": rows.get(int(copy["thread"]), thread_row(copy["thread"])), "args": {"bytes": int(copy["bytes"])}}


def row(event):
    """The row of what a worker did; where a thread waited that did it, that thread's."""
    if not event["worker"]:
        return thread_row(event["thread"])
    return (int(event["lane"]) + 1) * PER_LANE + int(event["worker"])


def thread_row(thread):
    return 1 << 20 | int(thread)


def metadata(pid, tid, what, name):
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def rows(record, pid):
    """Names of rows: workers first."""
    seen = {}
    for e in record.of(RAN, PART, WOKE, STOLEN):
        if e["worker"]:
            seen[row(e)] = f"{lane_name(int(e['lane']))} worker {e['worker']}"
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    for e in numpy.concatenate([record.submitted, record.waited, record.of(RAN, PART, STOLEN, COPIED)]):
        if not e["worker"]:
            seen[thread_row(e["thread"])] = names.get(int(e["thread"]), f"thread {e['thread']}")
    for tid, name in sorted(seen.items()):
        yield metadata(pid, tid, "thread_name", name)
        yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def place(site):
    return None if site is None else f"{site[0]}:{site[1]} in {site[2]}"


def stack(callers):
    return {"called from": [place(site) for site in callers]} if callers else {}


def text(record, task):
    """A task in a word or two: its name and its shape."""
    return f"{task.name} {'x'.join(map(str, task.shape))}".rstrip()


def ran(record, run, tasks, pid):
    task = tasks.get(int(run["task"]))
    name = task.name if task else record.kernel(run["kernel"])[0] if run["kernel"] else "part of a task"
    about = {"task": int(run["task"])}
    if task is not None:
        about |= {"line": place(task.site), "shape": list(task.shape), "types": task.types, "bytes": task.bytes,
                  "submitted": task.submitted / 1e3, "ready": task.ready / 1e3} | stack(task.callers)
    if run["what"] == RAN:
        others = [tasks[m] for m in record.members.get(int(run["task"]), ()) if m in tasks]
        if others:
            name += f" and {len(others)} more"
            about["with"] = [f"{text(record, m)}: {place(m.site)}" for m in others]
        if run["natives"] == FAILED:
            about["failed"] = True
        elif run["natives"] == NEVER_RUN:
            about["never_run"] = "nobody could have seen its result any more"
        elif run["natives"]:
            about["natively"] = int(run["natives"])
    else:
        name += " (part)"
    return {"ph": "X", "name": name, "cat": "task" if run["what"] == RAN else "part", "ts": run["start"] / 1e3,
            "dur": (run["stop"] - run["start"]) / 1e3, "pid": pid, "tid": row(run), "args": about}


def waited(record, wait, tasks, pid):
    task = tasks.get(int(wait["task"]))
    site = record.site(wait["site"])
    name = "waits" if site is None else f"waits, line {site[1]}"
    return {"ph": "X", "name": name, "cat": "wait", "ts": wait["start"] / 1e3,
            "dur": (wait["stop"] - wait["start"]) / 1e3, "pid": pid, "tid": thread_row(wait["thread"]),
            "args": {"line": place(site), "for": None if task is None else text(record, task)}
            | stack(record.callers(wait["site"]))}


def arrows(record, pid, arrow=0):
    """From the end of each predecessor to the beginning of what it kept waiting."""
    runs = {int(run["task"]): run for run in record.ran}
    for task, before in record.before.items():
        target = runs.get(task)
        for other in before:
            source = runs.get(other)
            if source is None or target is None:
                continue
            arrow += 1
            common = {"name": "before", "cat": "dependency", "id": arrow, "pid": pid}
            yield {"ph": "s", "ts": (source["start"] + source["stop"]) / 2e3, "tid": row(source), **common}
            yield {"ph": "f", "bp": "e", "ts": target["start"] / 1e3, "tid": row(target), **common}


def counters(record, pid):
    pending = int((record.pending["what"] == SUBMITTED).sum())
    for e in numpy.sort(numpy.concatenate([
            record.submitted, moved(record.ran)]), order="start", kind="stable"):
        pending += 1 if e["what"] == SUBMITTED else -int(e["members"])
        common = {"ph": "C", "ts": e["start"] / 1e3, "pid": pid, "tid": 0}
        yield {"name": "pending tasks", "args": {"tasks": max(pending, 0)}, **common}
        yield {"name": "memory", "args": {"bytes": int(e["live"])}, **common}


def moved(runs):
    """Each at its end."""
    runs = runs.copy()
    runs["start"] = runs["stop"]
    return runs
