"""A record as one HTML page, which loads nothing."""

from html import escape

from dflow._profile.pictures import memory_svg, timeline_svg
from dflow._profile.summary import CORES, Summary

MOST = 100                  # rows of a table

STYLE = """
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 1060px; padding: 0 1em; color: #222 }
h2 { margin-top: 1.8em } table { border-collapse: collapse; width: 100% }
th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid #e4e4e4; font-variant-numeric: tabular-nums }
th { cursor: pointer; background: #f5f5f5 } th:last-child, td:last-child { text-align: left }
td:last-child { font-family: monospace; overflow-wrap: anywhere } .scroll { overflow-x: auto }
.advice li { margin: .4em 0 } .bar { background: #36c; height: .8em; display: inline-block }
"""

SORT = """
for (const head of document.querySelectorAll("th")) head.addEventListener("click", () => {
  const body = head.closest("table").tBodies[0], at = head.cellIndex;
  const text = row => row.cells[at].textContent.replaceAll(",", "").replace("%", "");
  const value = row => isNaN(text(row)) ? text(row) : +text(row);
  const rows = [...body.rows].sort((a, b) => value(a) < value(b) ? 1 : -1);
  if (head.dataset.down) rows.reverse();
  head.dataset.down = head.dataset.down ? "" : "1";
  body.append(...rows);
});
"""


def table(heads, rows):
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows[:MOST])
    more = f"<p>and {len(rows) - MOST:,} more</p>" if len(rows) > MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def page(record, title):
    """The text of the page."""
    s = Summary(record)
    when, most, lines = s.peak
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{s.seconds:.3f} s, {len(record.tasks):,} tasks, {s.work:.3f} s of work. The longest chain of tasks took "
        f"{s.critical_seconds:.3f} s. For {s.submitting:.3f} s no thread of the program waited.</p>",
        '<ul class="advice">' + "".join(f"<li>{escape(text)}</li>" for text in s.advice) + "</ul>",
        "<h2>What ran, and who waited</h2><div class=scroll>" + timeline_svg(record) + "</div>",
        table(["busy", "tasks", "worker"],
              [(f"{w.seconds / s.seconds:.0%}", f"{w.tasks:,}", w.name) for w in s.workers]),
        "<h2>With more workers</h2><p>The program takes at least this long: for what it submits, for its longest chain "
        "of tasks, for its work.</p>",
        table(["seconds at least", "workers"],
              [(f"{s.bound(n):.4f}", "any number" if n == CORES[-1] else n) for n in CORES]),
        "<h2>By operation</h2>",
        table(["seconds", "count", "MB written", "operation"],
              [(f"{r.seconds:.4f}", f"{r.count:,}", f"{r.bytes / 1e6:.1f}", r.name) for r in s.operations]),
        "<h2>By line</h2>",
        table(["seconds", "count", "MB written", "line"],
              [(f"{r.seconds:.4f}", f"{r.count:,}", f"{r.bytes / 1e6:.1f}", r.name) for r in s.lines]),
        "<h2>Waits</h2>",
        table(["seconds", "count", "longest", "mostly for", "line"],
              [(f"{w.seconds:.4f}", f"{w.count:,}", f"{w.longest:.4f}", w.reason, w.name) for w in s.waits]),
        f"<h2>The longest chain of tasks</h2>{table(['ms', 'operation', 'line'], chain(s))}",
        "<h2>Memory</h2><div class=scroll>" + memory_svg(record) + "</div>"
        f"<p>Most of what was made meanwhile was held after {when:.3f} s: {most / 1e6:.1f} MB, by line:</p>",
        table(["MB", "line"], [(f"{nbytes / 1e6:.1f}", name) for name, nbytes in lines.most_common()]),
    ]
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{STYLE}</style></head><body>{''.join(parts)}<script>{SORT}</script></body></html>\n")


def chain(s):
    rows = []
    for number in s.critical_path:
        task = s.record.tasks.get(number)
        if task is not None:
            more = len(s.record.members.get(number, ()))
            name = f"{task.name} and {more} more" if more else task.name
            rows.append((f"{1e3 * s.run_seconds(number):.3f}", name,
                         "?" if task.site is None else f"{task.site[0]}:{task.site[1]}"))
    return rows
