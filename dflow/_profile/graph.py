"""What is pending, as a graph of tasks: DOT, SVG, and files that graphviz draws."""

import math
import os
import shutil
import subprocess
from collections import deque
from functools import cached_property
from typing import NamedTuple

import numpy

from dflow._functions import host_task
from dflow._kernels.dtypes import dtypes
from dflow._profile import layered
from dflow._profile.record import EVENT, SUBMITTED, name_of, types_of
from dflow._runtime import events, story
from dflow._runtime.queues import lane_name

# As _runtime/story.pyx has them.
SEEN = numpy.dtype([
    ("number", "u4"), ("node", "i4"), ("state", "i2"), ("lane", "i2"), ("worker", "i2"), ("ndim", "i2"),
    ("ncore", "i2"), ("nops", "i2"), ("writes", "i4"), ("kernel", "u8"), ("site", "u8"), ("dims", "i8", (5,)),
    ("operands", "u8", (6,))])
PAIR = numpy.dtype([("before", "i4"), ("after", "i4")])
STATES = "waiting", "open", "queued", "held back", "running"        # as enum State of _runtime/survey.pxd

COLOURS = {"waiting": "#e6e6e6", "open": "#fff0b3", "queued": "#c5dbf7", "held back": "#dccdf2", "running": "#ffcc99",
           "pending": "#ffffff", "ready": "#bfe6bf", "failed": "#f5b5b0"}
PROGRAM_FORMATS = ".pdf", ".png"                                     # that only graphviz writes
ERROR = 200                                                          # characters of an error that are shown


class Node(NamedTuple):
    """A task that has not ended, or an array that was asked for."""

    key: str                    # "t7": the task by its order of submission; "a0": the array by its place
    name: str
    state: str                  # of COLOURS
    shape: tuple | None         # of a task, what its loops go over; a product's or reduction's has the inner axes, too
    dtype: str                  # of what it writes; "": not known
    site: tuple | None          # file, line, function
    where: str                  # of a running or queued one: its worker, or its device
    group: str | None           # "g3"; None: it runs for itself
    told: bool = True           # its shape is the program's. Else loops over contiguous arrays have one axis


class Graph:
    """What leads to some arrays, or all that was pending, at one moment.

    nodes: of the tasks that are drawn and of the arrays; edges: pairs of keys, what is before and what waits for it;
    groups: for each, the keys of its members that are drawn; sizes: how many it has; more: how many tasks are left out;
    whole: False, if not all were looked at.
    """

    def __init__(self, nodes, edges, groups, sizes, more, whole):
        self.nodes, self.edges, self.groups, self.sizes = nodes, edges, groups, sizes
        self.more, self.whole = more, whole

    def __repr__(self):
        tasks = sum(node.key[0] == "t" for node in self.nodes) + self.more
        return f"<Graph of {tasks:,} pending task{'' if tasks == 1 else 's'}>"

    @cached_property
    def dot(self):
        """As text in the language of graphviz."""
        by_key = {node.key: node for node in self.nodes}
        lines = ["digraph pending {", '    graph [compound=true, fontname="sans-serif", fontsize=11]',
                 '    node [shape=box, style="filled,rounded", fontname="sans-serif", fontsize=11]']
        for group, keys in self.groups.items():
            lines += [f"    subgraph cluster_{group} {{", f"        label={quoted(self._title(group))}",
                      '        style="rounded"; color="#888888"']
            lines += [f"        {dot_node(by_key[key])}" for key in keys]
            lines.append("    }")
        lines += [f"    {dot_node(node)}" for node in self.nodes if node.group is None]
        if self.more:
            lines.append(f"    more [label={quoted(self._more_text)}, shape=plaintext, style=solid]")
        lines += [f"    {before} -> {after}" for before, after in self.edges]
        return "\n".join([*lines, "}"]) + "\n"

    @cached_property
    def svg(self):
        """As text: graphviz's picture where its program `dot` is installed, else our own."""
        program = shutil.which("dot")
        if program is not None:
            done = subprocess.run([program, "-Tsvg"], input=self.dot.encode(), capture_output=True)
            if done.returncode == 0:
                return done.stdout.decode()
        return self.own_svg

    @cached_property
    def own_svg(self):
        """Our own picture, which needs nothing else."""
        boxes = {node.key: layered.Box(label(node), COLOURS[node.state], title(node), node.key[0] == "a")
                 for node in self.nodes}
        if self.more:
            boxes["more"] = layered.Box([self._more_text], "none", self._more_text, False)
        groups = {group: (self._title(group), keys) for group, keys in self.groups.items()}
        return layered.svg(boxes, groups, self.edges)

    def _title(self, group):
        shown, size = len(self.groups[group]), self.sizes[group]
        return f"group of {size:,}" if shown == size else f"group of {size:,}, of which {shown:,} are shown"

    @property
    def _more_text(self):
        return f"... {self.more:,} more"

    def _repr_svg_(self):
        return self.svg

    def _repr_mimebundle_(self, include=None, exclude=None):
        """For notebooks."""
        made = {"image/svg+xml": self.svg, "text/plain": repr(self)}
        return {kind: text for kind, text in made.items()
                if (include is None or kind in include) and (exclude is None or kind not in exclude)}

    def save(self, path):
        """Write it to a file: .dot (or .gv), .svg; .png and .pdf by graphviz, whose program `dot` must be there."""
        path = os.fspath(path)
        suffix = os.path.splitext(path)[1].lower()
        if suffix in (".dot", ".gv", ".svg"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.svg if suffix == ".svg" else self.dot)
            return
        if suffix not in PROGRAM_FORMATS:
            raise ValueError(f"path must end in .dot, .gv, .svg, .png or .pdf, not {path!r}")
        program = shutil.which("dot")
        if program is None:
            raise RuntimeError(f"{path!r} needs graphviz: its program `dot` is not on the PATH. "
                               ".svg and .dot do without")
        done = subprocess.run([program, f"-T{suffix[1:]}", "-o", path], input=self.dot.encode(), capture_output=True)
        if done.returncode:
            raise RuntimeError(f"dot could not write {path!r}: {done.stderr.decode(errors='replace').strip()}")


def visualize(x=None, limit=200):
    """The tasks that lead to x, an array of dflow's or a list of some, as a graph; None: all that is pending.

    Each has its name, dtype and shape, the line that submitted it, and its state, which is its colour; groups are boxes
    around their members. Waits for nothing. At most `limit` tasks are drawn, those nearest to x, or of all that is
    pending, the first: one more node says how many are left out. Loops over contiguous arrays know the number of their
    elements alone: within dflow.profile() or engine.timeline() all shapes are the program's.

    Parameters
    ----------
    x : ndarray or list of ndarray, optional
        None: all that is pending.
    limit : int
        How many tasks are drawn at most.

    Returns
    -------
    Graph
        What a notebook's cell shows as a picture; with `nodes`, `edges`, `dot` and `svg`, texts, and save("graph.svg").

    Raises
    ------
    ValueError
        For a limit below 1.

    Examples
    --------
    >>> x = engine.sleep(np.ones(3), 0.2)
    >>> graph = dflow.visualize(x + 1)
    >>> graph.nodes[0].name, graph.dot.startswith("digraph")
    ('sleep', True)
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit must be a number from 1 on, not {limit!r}")
    arrays = None if x is None else list(x) if isinstance(x, (list, tuple)) else [x]
    seen, writers = look(arrays)
    tasks, pairs, whole = (numpy.zeros(0, SEEN), numpy.zeros(0, PAIR), True) if seen is None else (
        numpy.frombuffer(seen[0], SEEN), numpy.frombuffer(seen[1], PAIR), not seen[3])
    before = dependencies(tasks, pairs)
    index = {int(number): i for i, number in enumerate(tasks["number"])}
    if arrays is None:
        order = sorted(range(len(tasks)), key=lambda i: int(tasks["number"][i]))
    else:
        order = nearest([index[number] for numbers in writers for number in numbers if number in index], before)
    drawn = sorted(order[:limit], key=lambda i: int(tasks["number"][i]))
    nodes = task_nodes(tasks, drawn, arrays or [], writers)
    kept, lost = set(drawn), set(order[limit:])
    edges = [(f"t{tasks['number'][j]}", f"t{tasks['number'][i]}") for i in drawn for j in before[i] if j in kept]
    if arrays is None:
        edges += [(f"t{tasks['number'][j]}", "more") for j in drawn if any(j in before[i] for i in lost)]
    else:
        edges += [("more", f"t{tasks['number'][i]}") for i in drawn if not lost.isdisjoint(before[i])]
    for k, (a, numbers) in enumerate(zip(arrays or [], writers)):
        keys = [f"t{number}" for number in numbers if number in index]
        nodes.append(array_node(k, a, bool(keys)))
        edges += [(key if index[int(key[1:])] in kept else "more", f"a{k}") for key in keys]
    groups = {}
    for node in nodes:
        if node.group is not None:
            groups.setdefault(node.group, []).append(node.key)
    members = numpy.bincount(tasks["node"]) if len(tasks) else []
    sizes = {group: int(members[int(group[1:])]) for group in groups}
    return Graph(nodes, list(dict.fromkeys(edges)), groups, sizes, len(lost), whole)


def look(arrays):
    """What is seen of all that is pending, or None; and for each array the numbers of the tasks that write to it."""
    if arrays is None:
        return story.seen_by(host_task.explain, None), []
    seen, writers = None, []
    for a in arrays:
        if a is None:
            raise TypeError("x must hold arrays of dflow's, not None")
        last = story.seen_by(host_task.explain, a)
        seen = last or seen                     # of the last look: what has ended since is ready
        writers.append([] if last is None else numpy.frombuffer(last[2], "u4").tolist())
    return seen, writers


def dependencies(tasks, pairs):
    """For each task, those that it waits for: groups wait for each other, and what their members use tells which."""
    nodes = {}
    for i, node in enumerate(tasks["node"].tolist()):
        nodes.setdefault(node, []).append(i)
    before = [{} for _ in range(len(tasks))]
    operands = list(zip(tasks["operands"].tolist(), tasks["nops"].tolist(), tasks["writes"].tolist()))
    uses = {node: Uses(operands, members, before) for node, members in nodes.items()}
    for first, second in numpy.unique(pairs).tolist():
        if first not in nodes or second not in nodes or first == second:
            continue
        found = {(j, i) for i, storage, writes in uses[second].outside for j in uses[first].last(storage, writes)}
        for j, i in sorted(found or {(nodes[first][0], nodes[second][0])}):     # else by an operand that is not told
            before[i][j] = None
    return [list(some) for some in before]


class Uses:
    """Who of a group uses which storage: within it, that is whom its members wait for.

    outside: what a member finds as the group did, as (task, storage, whether it writes).
    """

    def __init__(self, operands, members, before):
        self._wrote, self._read, self.outside = {}, {}, []
        for i in members:
            storages, n, bits = operands[i]
            used = [(storages[k], bits >> k & 1) for k in range(n)]
            for storage, written in used:
                before[i].update(dict.fromkeys(self.last(storage, written)))
                if storage not in self._wrote:
                    self.outside.append((i, storage, written))
            for storage, written in used:
                if written:
                    self._wrote[storage], self._read[storage] = i, []
                else:
                    self._read.setdefault(storage, []).append(i)
            before[i].pop(i, None)

    def last(self, storage, writes):
        """Whom the next one waits for that uses it: the last that wrote it, and if it writes, who read it since."""
        wrote = [self._wrote[storage]] if storage in self._wrote else []
        return wrote + self._read.get(storage, []) if writes else wrote


def nearest(targets, before):
    """These and all that they wait for, by distance."""
    seen, queue = dict.fromkeys(targets), deque(dict.fromkeys(targets))
    while queue:
        for j in before[queue.popleft()]:
            if j not in seen:
                seen[j] = None
                queue.append(j)
    return list(seen)


def task_nodes(tasks, drawn, arrays, writers):
    sizes = numpy.bincount(tasks["node"]).tolist() if len(tasks) else []
    results = {numbers[0]: a for a, numbers in zip(arrays, writers) if len(numbers) == 1}
    shapes = noted_shapes(tasks[drawn])
    return [task_node(task, sizes[task["node"]] > 1, shapes.get(int(task["number"])),
                      results.get(int(task["number"]))) for task in tasks[drawn]]


def task_node(task, grouped, noted, result):
    """noted: its shape, if somebody noted it; result: the array that it alone writes, if that was asked for."""
    state, lane = STATES[task["state"]], lane_name(int(task["lane"]))
    name, key = events.kernel_key(int(task["kernel"]))
    letters = types_of(key).rpartition("->")[2]
    dtype = ", ".join(numpy.dtype(letter).name for letter in letters if letter in CODES)
    shape = tuple(task["dims"][:int(task["ndim"]) + int(task["ncore"])].tolist())
    if task["ncore"] and task["ndim"] == 1 and shape[0] == 1:
        shape = shape[1:]                       # there is a loop in any case
    told = len(shape) > 1 or bool(task["ncore"])
    if name == "host task":
        shape, told = None, False
    elif noted is not None and math.prod(noted) == math.prod(shape):
        shape, told = noted, True
    if result is not None:
        dtype = dtype or result.dtype.name
        if shape is None or not told and result.size == shape[0]:
            shape, told = result.shape, True
    worker = f"worker {task['worker']}" if task["worker"] else "a thread that waits"
    where = {"running": f"{worker} of {lane}", "queued": lane}.get(state, "")
    return Node(f"t{task['number']}", name_of(key) or name, state, shape, dtype,
                events.site_of(int(task["site"])), where, f"g{task['node']}" if grouped else None, told)


CODES = {dtype.char for dtype in dtypes}


LATEST = 1 << 12            # events of each thread that are looked through: to copy all takes a tenth of a second


def noted_shapes(tasks):
    """The shapes of those that were submitted lately, by number, while somebody watches."""
    wanted, shapes = {int(task["number"]): task for task in tasks}, {}
    for data in events.latest(LATEST) if wanted and events.watchers() else ():
        table = numpy.frombuffer(data, EVENT)
        for e in table[(table["what"] == SUBMITTED) & numpy.isin(table["task"], tasks["number"])]:
            task = wanted[int(e["task"])]
            if e["kernel"] == task["kernel"] and e["site"] == task["site"]:       # else of a number long ago
                shapes[int(e["task"])] = tuple(e["dims"][:max(int(e["ndim"]), 0)].tolist())
    return shapes


def array_node(k, a, pending):
    """The one of the array at place k."""
    error = None if pending else host_task.failure(a)
    state = "pending" if pending else "ready" if error is None else "failed"
    name = f"array {k}" if error is None else f"{type(error).__name__}: {error}"
    return Node(f"a{k}", name[:ERROR], state, a.shape, str(a.dtype), None, "", None)


# ---- words -----------------------------------------------------------------------------------------------------------

def label(node):
    """The lines of a node's text."""
    shape = " × ".join(f"{n:,}" for n in node.shape or ())
    if node.shape is None:
        shape = ""
    elif not node.told:
        shape += " element" if node.shape == (1,) else " elements"
    elif len(node.shape) == 1:
        shape = f"({shape},)"
    else:
        shape = shape or "()"
    lines = [*(line.strip() for line in node.name.splitlines()[:3]), f"{node.dtype} {shape}".strip()]
    lines = [line for line in lines if line]
    if node.site is not None:
        lines.append(f"{os.path.basename(node.site[0])}:{node.site[1]}")
    state = {"waiting": "waits", "open": "in the open group", "held back": "waits for NumPy's BLAS"}
    how = state.get(node.state, node.state)
    return [*lines, f"{how}{' on' if node.state == 'running' else ' for' if node.where else ''} {node.where}".rstrip()]


def title(node):
    """What is told of it where the pointer rests."""
    site = "" if node.site is None else f", submitted at {node.site[0]}:{node.site[1]} in {node.site[2]}"
    return f"{node.name}{site}: {label(node)[-1]}"


def quoted(text):
    """As a string of DOT."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def dot_node(node):
    shape = ', shape=box, style="filled"' if node.key[0] == "a" else ""
    return (f"{node.key} [label={quoted(chr(10).join(label(node)))}, fillcolor={quoted(COLOURS[node.state])}, "
            f"tooltip={quoted(title(node))}{shape}]")
