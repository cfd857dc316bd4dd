"""dflow.visualize(): the graph of what is pending, in each state of a task, as DOT and as our own picture."""

import os
import random
import re
import stat
import sys
import threading
from xml.etree import ElementTree

import numpy
import pytest
from engines import Gate, configured, in_threads, poll, queueing

import dflow
import dflow.numpy as np
from dflow._profile import graph, layered

HERE = os.path.basename(__file__)
SVG = "{http://www.w3.org/2000/svg}"

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def one_worker():
    with configured(workers=1):
        yield


@pytest.fixture
def gate():
    """Keeps the only worker in a Python function until it is opened."""
    gate = Gate()
    try:
        yield gate
    finally:
        gate.open()
        dflow.waitall()


@pytest.fixture
def no_dot(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


class Dot:
    """What a text in DOT has: labels and colours by node, edges, nodes by cluster."""

    def __init__(self, text):
        assert text.startswith("digraph pending {\n") and text.endswith("}\n")
        self.labels, self.colours, self.edges, self.clusters = {}, {}, [], {}
        inside = None
        for line in text.split("\n")[1:-2]:
            line = line.strip()
            if found := re.fullmatch(r"subgraph cluster_(\w+) {", line):
                inside = self.clusters.setdefault(found[1], [])
            elif line == "}":
                inside = None
            elif found := re.fullmatch(r"(\w+) -> (\w+)", line):
                self.edges.append((found[1], found[2]))
            elif found := re.fullmatch(r'(\w+) \[label="((?:[^"\\]|\\.)*)"(.*)\]', line):
                if found[1] in ("graph", "node"):
                    continue
                self.labels[found[1]] = found[2].replace('\\"', '"').split("\\n")
                self.colours[found[1]] = (re.findall(r'fillcolor="(#\w+)"', found[3]) or [None])[0]
                if inside is not None:
                    inside.append(found[1])
            else:
                assert re.match(r"(label|style)=|(graph|node) \[", line), line
        assert {key for edge in self.edges for key in edge} <= set(self.labels)

    def names(self):
        return sorted((self.labels[a][0], self.labels[b][0]) for a, b in self.edges)


def boxes_of(text):
    """Of our own picture: (x0, y0, x1, y1) of each node's box, and of each group's frame."""
    root = ElementTree.fromstring(text)

    def corners(rect):
        x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        return x, y, x + w, y + h

    nodes = {g.get("id"): corners(g.find(f"{SVG}rect")) for g in root.iter(f"{SVG}g") if g.get("class") == "node"}
    return nodes, {rect.get("id"): corners(rect) for rect in root.iter(f"{SVG}rect") if rect.get("class") == "group"}


def meet(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def check_picture(drawn):
    """One box a node; none lies over another; members are inside their frame, and nothing else is."""
    nodes, frames = boxes_of(drawn.own_svg)
    assert set(nodes) == {node.key for node in drawn.nodes} | ({"more"} if drawn.more else set())
    assert set(frames) == set(drawn.groups)
    keys = sorted(nodes)
    assert not [(a, b) for i, a in enumerate(keys) for b in keys[:i] if meet(nodes[a], nodes[b])]
    assert not [(a, b) for a in frames for b in frames if a < b and meet(frames[a], frames[b])]
    for group, frame in frames.items():
        for key, box in nodes.items():
            if key in drawn.groups[group]:
                assert frame[0] < box[0] and frame[1] < box[1] and box[2] < frame[2] and box[3] < frame[3]
            else:
                assert not meet(box, frame)
    for a, b in drawn.edges:
        assert nodes[a][3] < nodes[b][1], (a, b)
    return nodes, frames


def test_what_is_ready_is_one_node(no_dot):
    for x in (np.ones((2, 3)), np.ones(0), np.ones((), "f4")):
        drawn = dflow.visualize(x)
        (node,) = drawn.nodes
        assert node.state == "ready" and node.shape == x.shape and node.dtype == str(x.dtype) and drawn.edges == []
        assert Dot(drawn.dot).colours == {"a0": graph.COLOURS["ready"]} and len(check_picture(drawn)[0]) == 1
    assert graph.COLOURS["ready"] in drawn.svg and repr(drawn) == "<Graph of 0 pending tasks>"


def test_nothing_is_a_graph_too(no_dot):
    for drawn in (dflow.visualize(), dflow.visualize([])):
        assert drawn.nodes == drawn.edges == [] and Dot(drawn.dot).labels == {} and check_picture(drawn) == ({}, {})


@pytest.mark.leaves_errors
def test_what_failed_is_red_and_says_why():
    with queueing():
        x = np.linalg.inv(np.zeros((2, 2)))
    with pytest.raises(numpy.linalg.LinAlgError):
        dflow.waitall()
    dot = Dot(dflow.visualize(x).dot)
    assert dot.labels["a0"][0] == "LinAlgError: Singular matrix" and dot.labels["a0"][-1] == "failed"
    assert dot.colours == {"a0": graph.COLOURS["failed"]} and "LinAlgError" in dflow.visualize(x).own_svg


def test_a_diamond(gate):
    held = gate.hold(np.ones((30, 40)))
    left = np.sort(held, axis=1)
    right = held @ np.ones((40, 40))
    line = sys._getframe().f_lineno - 1
    both = left.T @ right
    before = dflow.engine.statistics()["pending"]
    drawn = dflow.visualize(both)
    assert dflow.engine.statistics()["pending"] == before and repr(drawn) == f"<Graph of {before} pending tasks>"
    dot = Dot(drawn.dot)
    assert dot.names() == sorted([("host task", "sort"), ("host task", "matmul"), ("sort", "matmul"),
                                  ("matmul", "matmul"), ("matmul", "array 0")])
    product = next(key for key, label in dot.labels.items() if label[0] == "matmul" and f"{HERE}:{line}" in label)
    assert dot.labels[product] == ["matmul", "float64 30 × 40 × 40", f"{HERE}:{line}", "waits"]
    assert {graph.COLOURS[state] for state in ("running", "waiting", "pending")} == set(dot.colours.values())
    nodes, _ = check_picture(drawn)
    assert len(nodes) == 5 and drawn.groups == {} and drawn.whole and drawn.more == 0
    assert drawn._repr_mimebundle_()["image/svg+xml"] == drawn._repr_svg_() == drawn.svg
    assert set(drawn._repr_mimebundle_(include=["text/plain"])) == {"text/plain"}
    assert set(drawn._repr_mimebundle_(exclude=["text/plain"])) == {"image/svg+xml"}
    gate.open()
    both.wait_to_read()
    assert [node.state for node in dflow.visualize(both).nodes] == ["ready"]
    assert Dot(drawn.dot).names() == dot.names()                                # as it was


def test_groups_are_clusters_and_states_are_colours(gate):
    held = gate.hold(np.ones(100_000))
    x = held + 1
    y = x * x
    drawn = dflow.visualize(y)
    dot = Dot(drawn.dot)
    ((group, members),) = dot.clusters.items()
    assert [dot.labels[key] for key in members] == [
        ["add", "float64 100,000 elements", f"{HERE}:{line_of('held + 1')}", "in the open group"],
        ["multiply", "float64 (100,000,)", f"{HERE}:{line_of('x * x')}", "in the open group"]]
    assert dot.names() == [("add", "multiply"), ("host task", "add"), ("multiply", "array 0")]
    assert {dot.colours[key] for key in members} == {graph.COLOURS["open"]}
    _, frames = check_picture(drawn)
    assert list(frames) == [group] and f"group of {len(members)}" in drawn.dot
    z = np.sort(y)                          # closes the group
    dot = Dot(dflow.visualize(z).dot)
    assert [node.state for node in dflow.visualize(z).nodes] == ["running", "waiting", "waiting", "waiting", "pending"]
    assert [len(members) for members in dot.clusters.values()] == [2] and ("multiply", "sort") in dot.names()
    other = np.linalg.inv(np.eye(40) * 2)
    assert Dot(dflow.visualize(other).dot).labels["a0"] == ["array 0", "float64 40 × 40", "pending"]
    (node,) = (node for node in dflow.visualize().nodes if node.name == "inv")
    assert (node.state, node.where) == ("queued", "cpu(0)") and graph.label(node)[-1] == "queued for cpu(0)"


def line_of(text):
    """Of the one line of this file that has it first."""
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if text in line)


def test_several_arrays_and_all_that_is_pending(gate):
    held = gate.hold(np.ones((20, 20)))
    a, b = np.sort(held, axis=0), held @ held
    unrelated = np.linalg.qr(held)[0]
    drawn = dflow.visualize([b, a, np.ones(2)])
    assert [node.name for node in drawn.nodes] == ["host task", "sort", "matmul", "array 0", "array 1", "array 2"]
    assert Dot(drawn.dot).names() == [("host task", "matmul"), ("host task", "sort"), ("matmul", "array 0"),
                                      ("sort", "array 1")]
    assert [node.state for node in drawn.nodes[-3:]] == ["pending", "pending", "ready"]
    everything = dflow.visualize()
    assert {node.name for node in everything.nodes} > {"host task", "sort", "matmul"}
    assert len(everything.nodes) == dflow.engine.statistics()["pending"] and not unrelated.is_ready()
    check_picture(everything)


def test_who_writes_waits_for_who_reads(gate):
    held = gate.hold(np.ones((4, 4)))
    x = np.eye(4)
    x.wait_to_read()
    read = x @ held
    np.matmul(held, held, out=x)
    names = Dot(dflow.visualize(x).dot)
    keys = [key for key, label in names.labels.items() if label[0] == "matmul"]
    assert len(keys) == 2 and ((keys[0], keys[1]) in names.edges) != ((keys[1], keys[0]) in names.edges)
    del read


def test_parts_of_an_array_have_their_own_writers(gate):
    held = gate.hold(np.ones(4))
    x = np.zeros(8)
    x.wait_to_read()
    x[:4] = held
    assert [node.state for node in dflow.visualize(x[4:]).nodes] == ["ready"]
    assert dflow.visualize(x[:4]).nodes[-1].state == "pending"


def test_many_writers(gate):
    held = gate.hold(np.ones((40, 2, 2)))
    x = np.zeros((40, 2, 2))
    x.wait_to_read()
    for i in range(40):
        np.matmul(held[i], held[i], out=x[i])
    drawn = dflow.visualize(x)
    assert sum(edge[1] == "a0" for edge in drawn.edges) == 40 and drawn.whole
    check_picture(drawn)


def test_shapes_are_the_programs_while_somebody_notes_them(gate):
    held = gate.hold(np.ones((30, 400)))
    with dflow.engine.bulk(0):
        blind = np.sort(held * 2, axis=0)
        assert [node.shape for node in dflow.visualize(blind).nodes if node.name == "multiply"] == [(12000,)]
    timeline = dflow.engine.timeline()
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    with timeline:
        opener.join()
        again = Gate()
        held = again.hold(np.ones((30, 400)))
        told = np.sort(held * 2, axis=0)
        nodes = {node.name: node for node in dflow.visualize(told).nodes}
        assert nodes["multiply"].shape == (30, 400) and nodes["multiply"].told
        assert graph.label(nodes["multiply"])[1] == "float64 30 × 400"
        again.open()


def test_a_limit(gate):
    held = gate.hold(np.ones((3, 3)))
    x = held
    for _ in range(1500):
        x = x @ held / 3
    pending = dflow.engine.statistics()["pending"]
    drawn = dflow.visualize(x, limit=50)
    dot = Dot(drawn.dot)
    assert len(drawn.nodes) == 51 and drawn.more == pending - 50
    assert dot.labels["more"] == [f"... {pending - 50:,} more"]
    assert any(edge[0] == "more" for edge in dot.edges) and not any(edge[1] == "more" for edge in dot.edges)
    check_picture(drawn)
    first = dflow.visualize(limit=50)
    assert first.nodes[0].state == "running" and first.more == pending - 50
    assert any(edge[1] == "more" for edge in first.edges) and not any(edge[0] == "more" for edge in first.edges)
    check_picture(first)
    assert len(dflow.visualize(x).nodes) == 201 and dflow.visualize(x, limit=5000).more == 0


def test_a_group_of_which_a_part_is_drawn(gate):
    held = gate.hold(np.ones(100_000))
    x = held
    for _ in range(9):
        x = x + 1
    drawn = dflow.visualize(x, limit=4)
    assert list(drawn.sizes.values()) == [9] and "group of 9, of which 4 are shown" in drawn.dot
    check_picture(drawn)


@pytest.mark.parametrize("x", [3, numpy.ones(2), [1.0], "ab", [None]], ids=repr)
def test_what_is_no_array(x):
    with pytest.raises(TypeError, match="x must (be an array|hold arrays) of dflow's, not "):
        dflow.visualize(x)


@pytest.mark.parametrize("limit", [0, -1, 2.0, None, True], ids=repr)
def test_what_is_no_limit(limit):
    with pytest.raises(ValueError, match=f"limit must be a number from 1 on, not {limit!r}"):
        dflow.visualize(None, limit)


def test_files(tmp_path, no_dot):
    drawn = dflow.visualize(np.ones(3))
    drawn.save(tmp_path / "a.dot")
    drawn.save(str(tmp_path / "a.svg"))
    assert (tmp_path / "a.dot").read_text() == drawn.dot and (tmp_path / "a.svg").read_text() == drawn.own_svg
    with pytest.raises(RuntimeError, match="a.png' needs graphviz: its program `dot` is not on the PATH"):
        drawn.save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"path must end in .dot, .gv, .svg, .png or .pdf, not 'a\.txt'"):
        drawn.save("a.txt")


@pytest.mark.skipif(os.name != "posix", reason="its `dot` is a script")
def test_graphviz_is_asked(tmp_path, monkeypatch):
    """By a program in its place, which tells what it was given; one that fails."""
    program = tmp_path / "dot"
    program.write_text(f"#!{sys.executable}\nimport sys\n"
                       "out = open(sys.argv[3], 'w') if '-o' in sys.argv else sys.stdout\n"
                       "out.write(sys.argv[1] + sys.stdin.read())\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(tmp_path))
    drawn = dflow.visualize(np.ones(3))
    assert drawn.svg == "-Tsvg" + drawn.dot
    for suffix in ("png", "pdf"):
        drawn.save(tmp_path / f"a.{suffix}")
        assert (tmp_path / f"a.{suffix}").read_text() == f"-T{suffix}" + drawn.dot
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no such format')\n")
    drawn = dflow.visualize(np.ones(3))
    assert drawn.svg == drawn.own_svg
    with pytest.raises(RuntimeError, match="dot could not write .*a.png': no such format"):
        drawn.save(tmp_path / "a.png")


def test_while_others_submit_and_run():
    """Whatever is seen is drawn, while tasks come and go; nobody waits for anybody."""
    stop = threading.Event()

    def submit():
        x = np.ones((4, 4))
        while not stop.is_set():
            for _ in range(20):
                x = (x @ x) / 4
            x[:2] = np.sort(x[2:], 0)
            float(x[0, 0])

    def draw():
        try:
            y = np.ones((50, 50))
            for i in range(150):
                y = y @ y / 50
                for drawn in (dflow.visualize(y), dflow.visualize()):
                    Dot(drawn.dot)
                    if i % 10 == 0:
                        check_picture(drawn)
                    assert all(node.name for node in drawn.nodes)
            assert float(y[0, 0]) == 1
        finally:
            stop.set()

    with configured(workers=3):
        in_threads(draw, submit, submit)


def test_a_thread_that_waits_runs_what_it_needs(gate):
    gate.hold(np.ones(3))
    x = dflow.engine.sleep(np.ones(3), 0.3)
    thread = threading.Thread(target=x.wait_to_read)
    thread.start()
    assert poll(lambda: any(node.where == "a thread that waits of cpu(0)" for node in dflow.visualize(x).nodes))
    thread.join()


# ---- our own layout --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(30))
def test_nothing_overlaps(seed):
    """Of random graphs: boxes of all sizes in groups and without, edges that pass layers."""
    generator = random.Random(seed)
    n = generator.randrange(1, 60)
    names = [f"n{i}" for i in range(n)]
    edges = sorted({(names[i], names[j]) for _ in range(generator.randrange(3 * n))
                    for i, j in [sorted((generator.randrange(n), generator.randrange(n)))] if i != j})
    groups, i = {}, 0
    while i < n:                            # runs of names: groups that do not wait for each other in a circle
        size = generator.choice([1, 1, 1, 2, 5])
        if size > 1:
            groups[f"g{i}"] = names[i:i + size]
        i += size
    boxes = {name: layered.Box(["x" * generator.randrange(1, 30)] * generator.randrange(1, 5), "#fff", name, False)
             for name in names}
    text = layered.svg(boxes, {group: ("a group", members) for group, members in groups.items()}, edges)
    nodes, frames = boxes_of(text)
    assert set(nodes) == set(names) and set(frames) == set(groups)
    assert not [(a, b) for a in names for b in names if a < b and meet(nodes[a], nodes[b])]
    grouped = {name: group for group, members in groups.items() for name in members}
    for group, frame in frames.items():
        assert all(meet(frame, nodes[name]) == (grouped.get(name) == group) for name in names)
        assert not any(meet(frame, other) for name, other in frames.items() if name != group)
    assert all(nodes[a][3] < nodes[b][1] for a, b in edges)
    assert len(re.findall("marker-end", text)) == len(edges)
    root = ElementTree.fromstring(text)
    left, top, width, height = map(float, root.get("viewBox").split())
    assert all(left <= x0 and top <= y0 and x1 <= left + width + 0.2 and y1 <= top + height + 0.2
               for x0, y0, x1, y1 in nodes.values())


def test_middles_are_as_near_as_can_be():
    assert layered.spread([0, 100], [10, 10]) == [0, 100]
    gap = 10 + layered.ACROSS
    assert layered.spread([50, 50], [10, 10]) == [50 - gap / 2, 50 + gap / 2]
    assert layered.spread([50, 50, 500], [10, 10, 10]) == [50 - gap / 2, 50 + gap / 2, 500]
    assert layered.depths("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("c", "c")])["c"] >= 1
