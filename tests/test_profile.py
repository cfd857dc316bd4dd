"""What a profile says: of operations, lines, waits, workers, memory; its page, its pictures; python -m dflow."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy
import pytest
from engines import HANG, clean_environment, configured, in_threads

import dflow
import dflow.numpy as np
from dflow._profile import page, pictures
from dflow._profile.summary import Summary

N = 500


def line():
    return sys._getframe(1).f_lineno


def test_times_by_operation_and_by_line():
    x = np.array(numpy.eye(N))
    x.wait_to_read()
    with configured(workers=2, limit=0), dflow.engine.timeline() as timeline:
        for _ in range(4):
            y = x @ x
            first = line() - 1
            z = np.sort(y, axis=1)
        z.wait_to_read()
    s = Summary(timeline.record)
    operations = {row.name: row for row in s.operations}
    assert operations["matmul dd->d"].count == 4 and operations["matmul dd->d"].bytes == 4 * 8 * N * N
    lines = {row.name: row for row in s.lines}
    assert lines[f"{__file__}:{first}"].count == 4
    assert lines[f"{__file__}:{first}"].seconds == pytest.approx(operations["matmul dd->d"].seconds)
    assert sum(row.seconds for row in s.operations) == pytest.approx(s.work)
    assert sum(worker.seconds for worker in s.workers) == pytest.approx(s.work) and s.work <= 3 * s.seconds
    chain = [timeline.record.tasks[number].name for number in s.critical_path]
    assert "matmul" in chain and s.critical_seconds <= s.work
    assert s.bound(1 << 20) <= s.bound(4) <= s.bound(1) and s.bound(4) <= s.seconds * 1.01


def test_a_chain_is_told_from_work_that_may_go_side_by_side():
    with configured(workers=2, limit=0), dflow.engine.timeline() as timeline:
        chained = np.ones(3)
        for _ in range(4):
            chained = dflow.engine.sleep(chained, 0.02)
        chained.wait_to_read()
    s = Summary(timeline.record)
    assert [timeline.record.tasks[n].name for n in s.critical_path].count("sleep") == 4
    assert s.critical_seconds > 0.08 and any("one chain of tasks" in text for text in s.advice)
    with configured(workers=2, limit=0), dflow.engine.timeline() as timeline:
        apart = [dflow.engine.sleep(np.ones(3), 0.02) for _ in range(8)]
        dflow.waitall()
    s = Summary(timeline.record)
    assert len(apart) == 8 and s.critical_seconds < s.work / 4 and s.bound(8) < s.seconds / 2


def test_waits_in_a_loop_are_worth_a_word():
    with configured(workers=1, limit=0), dflow.engine.timeline() as timeline:
        x = np.ones(1000)
        for _ in range(100):
            x = dflow.engine.sleep(x, 1e-4)
            float(x[0])
            where = line() - 1
    s = Summary(timeline.record)
    place = f"{__file__}:{where}"
    (wait,) = [wait for wait in s.waits if wait.name == place]
    assert wait.count >= 90 and wait.longest <= wait.seconds and wait.reason.startswith(("sleep", "copy"))
    assert any(place in text and "read every tenth" in text for text in s.advice)


def test_host_tasks_and_failures_are_worth_a_word():
    with configured(limit=0), dflow.engine.timeline() as timeline:
        dflow.submit(len, np.ones(3)).result()
        here = line() - 1
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.inv(np.zeros((300, 300))).wait_to_read()
    said = "\n".join(Summary(timeline.record).advice)
    assert f"{__file__}:{here} runs as a Python function" in said and "inv at " in said and "failed once." in said


def test_memory_by_line_at_its_peak():
    with configured(workers=1), dflow.engine.timeline() as timeline:
        small = np.ones(10_000)
        large = np.ones(1_000_000)
        where = line() - 1
        dflow.waitall()
        del large
        other = np.ones(500_000)
        dflow.waitall()
    when, most, lines = Summary(timeline.record).peak
    assert 8_080_000 <= most < 8_200_000 and 0 < when < timeline.record.seconds
    assert lines[f"{__file__}:{where}"] == 8_000_000 and lines[f"{__file__}:{where - 1}"] == 80_000
    assert f"{__file__}:{where + 3}" not in lines and small.size + other.size == 510_000


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="this system does not tell names of threads")
def test_workers_have_names():
    with configured(workers=2, pools=[1], limit=0):
        np.sort(np.ones(N).to_device(dflow.cpu(1))).wait_to_read()
        names = []
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
    assert {"dflow cpu0.1", "dflow cpu0.2", "dflow cpu1.1", "dflow to cpu1"} <= set(names)


def test_nothing_is_a_record_too():
    with dflow.engine.timeline() as timeline:
        pass
    assert timeline.summary() and page.page(timeline.record, "nothing") and timeline._repr_svg_()
    assert Summary(timeline.record).peak[1] == 0


class Checker(HTMLParser):
    """Tags that are opened and closed, and what a page would load."""

    VOID = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.loads = [], set(), []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing():
    with configured(workers=2, limit=0), dflow.engine.timeline() as timeline:
        x = np.random.normal(size=(N, N))
        for _ in range(3):
            x = (x @ x) / N + 1
        float(x.sum())
    text = page.page(timeline.record, "<program> & 'co'")
    checker = Checker()
    checker.feed(text)
    assert checker.open == [] and checker.loads == [] and "http" not in re.sub(r'xmlns="[^"]*"', "", text)
    assert {"svg", "table", "rect", "polyline"} <= checker.seen and "&lt;program&gt; &amp; &#x27;co&#x27;" in text
    picture = ElementTree.fromstring(pictures.timeline_svg(timeline.record))
    bars = picture.findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == len(timeline) + len(timeline.record.waited)
    assert any("matmul" in bar[0].text and f"of {__file__}" in bar[0].text for bar in bars)
    assert timeline._repr_svg_() == pictures.timeline_svg(timeline.record)


def rows_below(text, heading):
    """Of a page: the texts of the cells of the table below that heading."""
    part = text.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0]
    body = part.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [re.findall("<td.*?</td>", row) for row in body.split("</tr>")[:-1]]
    return [[re.sub("<[^>]*>", "", cell) for cell in row] for row in rows]


def test_the_page_shows_lines_with_their_source():
    with configured(workers=1, limit=0), dflow.engine.timeline() as timeline:
        x = np.sort(np.ones(100_000))                       # this line
        where = line() - 1
        float(x[-1])
    text = page.page(timeline.record, "lines")
    by_line = rows_below(text, "By line")
    assert any(f"test_profile.py:{where}x = np.sort(np.ones(100_000))" in row[-1] and "# this line" in row[-1]
               for row in by_line)
    assert {"sort d-&gt;d"} <= {row[-1] for row in rows_below(text, "By operation")}
    assert [row[-1] for row in rows_below(text, "With more workers")][:2] == ["1, as it ran", "2"]
    assert any(f"test_profile.py:{where}" in row[-1] for row in rows_below(text, "Memory"))
    assert page.short(__file__ + ":3").endswith("test_profile.py:3") and page.short("?") == "?"
    assert page.source_of("?") == page.source_of(f"{__file__}:999999") == page.source_of("none.py:1") == ""


# ---- more workers: programs of which the answer is known -------------------------------------------------------------

def spans(record):
    """Its Summary, and what it foretells for 1, 2 and 4 workers, as parts of what it took."""
    s = Summary(record)
    return s, {n: s.forecast(n) / s.seconds for n in (1, 2, 4)}


def test_a_chain_gains_nothing():
    with configured(workers=1, limit=0), dflow.engine.timeline() as timeline:
        x = np.ones(3)
        for _ in range(6):
            x = dflow.engine.sleep(x, 0.02)
        x.wait_to_read()
    s, parts = spans(timeline.record)
    assert s.ran_with == 1 and parts == pytest.approx({1: 1, 2: 1, 4: 1}, abs=0.02)
    assert not any("times as fast" in text for text in s.advice)


def run_apart(workers, n=16):
    with configured(workers=workers, limit=0), dflow.engine.timeline() as timeline:
        apart = [dflow.engine.sleep(np.ones(3), 0.02) for _ in range(n)]
        dflow.waitall()
    assert len(apart) == n
    return timeline.record


def test_what_is_apart_gains_what_it_then_does():
    """Told from a run with one worker, and from one with two."""
    s, parts = spans(run_apart(1))
    assert 0.45 < parts[2] < 0.62 and 0.22 < parts[4] < 0.4
    assert any("With 2 workers" in text and "times as fast" in text for text in s.advice)
    _, parts = spans(run_apart(2))
    assert 1.6 < parts[1] < 2.3 and parts[2] == 1 and 0.4 < parts[4] < 0.75


def test_a_loop_that_reads_gains_nothing():
    """Though its work alone, shared, would take half of the time."""
    with configured(workers=1, limit=0), dflow.engine.timeline() as timeline:
        for _ in range(10):
            x = dflow.engine.sleep(np.ones(3), 0.01)
            x.wait_to_read()
    s, parts = spans(timeline.record)
    assert parts == pytest.approx({1: 1, 2: 1, 4: 1}, abs=0.05) and s.bound(4) < 0.6 * s.seconds


def test_threads_of_a_program_go_on_side_by_side():
    def work():
        x = np.ones(3)
        for _ in range(8):
            x = dflow.engine.sleep(x, 0.01)
        x.wait_to_read()

    with configured(workers=1, limit=0), dflow.engine.timeline() as timeline:
        in_threads(work, work)
    _, parts = spans(timeline.record)
    assert parts[2] < 0.8 and parts[4] == pytest.approx(parts[2], abs=0.05)


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    with configured(limit=0), dflow.engine.timeline() as timeline:
        np.sort(np.random.normal(size=N)).wait_to_read()
    axes = timeline.plot()
    assert len(axes.get_yticks()) == len({bar[0] for bar in pictures.bars(timeline.record)})
    assert timeline.plot(axes) is axes


# ---- python -m dflow -------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import dflow.numpy as np
from helper import twice

x = np.random.normal(size=(300, 300))
for _ in range(3):
    x = twice(x) @ x / 300
print(sys.argv[1:], __name__, float(x[0, 0]) < 1e300)
sys.exit(int(sys.argv[1]))
"""


def run(*arguments, cwd):
    env = {name: value for name, value in clean_environment().items() if name != "PYTHONSAFEPATH"}
    return subprocess.run([sys.executable, "-m", "dflow", *map(str, arguments)], env=env, cwd=cwd, capture_output=True,
                          text=True, timeout=HANG)


@pytest.mark.parametrize("status", [0, 3])
def test_a_program_is_profiled(tmp_path, status):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "program.py").write_text(PROGRAM)
    (tmp_path / "there" / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    done = run("profile", "there/program.py", status, "-x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, f"['{status}', '-x'] __main__ True\n"), done.stderr
    assert "program.py:8" in done.stderr and "matmul dd->d" in done.stderr
    assert "helper.py:2" in (tmp_path / "program.html").read_text()
    names = {e["name"] for e in json.loads((tmp_path / "program.json").read_text())["traceEvents"]}
    assert "matmul" in names
    done = run("profile", "-o", "other", "--functions", "-m", "program", 0, cwd=tmp_path / "there")
    assert done.returncode == 0, done.stderr
    functions = [e["name"] for e in json.loads((tmp_path / "there" / "other.json").read_text())["traceEvents"]
                 if e.get("cat") == "python"]
    assert functions.count("twice") == 3


def test_a_program_that_fails_is_profiled(tmp_path):
    program = "import dflow.numpy as np\nprint((np.ones(100000) * 2).sum())\nraise KeyError(7)\n"
    (tmp_path / "bad.py").write_text(program)
    done = run("profile", "bad.py", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == "200000.0\n" and "KeyError: 7" in done.stderr
    assert (tmp_path / "bad.html").exists() and (tmp_path / "bad.json").exists()


def test_what_else_the_command_does(tmp_path):
    done = run("profile", "none.py", cwd=tmp_path)
    assert done.returncode == 2 and "there is no file 'none.py'" in done.stderr
    done = run("info", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(f"dflow {dflow.__version__}") and "workers" in done.stdout
    assert run(cwd=tmp_path).returncode == 2


# ---- in a browser ----------------------------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on the PATH: an optional program")
@pytest.mark.parametrize("width", [1100, 500])
def test_a_browser_shows_the_page(tmp_path, width):
    """Its script runs without an error, tables have rows and sort, and nothing is wider than the window."""
    (tmp_path / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("profile", "program.py", 0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # what the test adds at the page's end: it clicks on a head, and tells what there is then
    probe = """<script>
const tables = [...document.querySelectorAll("table")];
const column = t => [...t.tBodies[0].rows].map(r => r.cells[0].textContent);
const byLine = tables.find(t => t.tHead.textContent.endsWith("MB writtenline"));
byLine.tHead.rows[0].cells[0].click(); byLine.tHead.rows[0].cells[0].click();
console.log("PROBE " + JSON.stringify({rows: tables.map(t => t.tBodies[0].rows.length),
  seconds: column(byLine).map(Number), bars: document.querySelectorAll("svg rect").length,
  wide: document.documentElement.scrollWidth, window: innerWidth}));
</script></body>"""
    text = (tmp_path / "program.html").read_text(encoding="utf-8")
    (tmp_path / "probed.html").write_text(text.replace("</body>", probe), encoding="utf-8")
    shown = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--no-first-run",
         f"--user-data-dir={tmp_path / 'browser'}", f"--window-size={width},900", "--dump-dom",
         (tmp_path / "probed.html").as_uri()], capture_output=True, text=True, timeout=2 * HANG)
    assert shown.returncode == 0 and "<h2>By line</h2>" in shown.stdout, shown.stderr
    said = re.findall(r'CONSOLE[:(].*?\] "(.*)", source', shown.stderr)
    assert len(said) == 1 and said[0].startswith("PROBE "), shown.stderr       # and no error
    seen = json.loads(said[0][6:].replace('\\"', '"'))
    assert len(seen["rows"]) == 7 and all(seen["rows"]) and seen["bars"] > 3
    assert seen["seconds"] == sorted(seen["seconds"]) and len(seen["seconds"]) >= 3
    assert seen["wide"] <= seen["window"], seen
