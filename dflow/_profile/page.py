"""A record as one HTML page, which loads nothing."""

import linecache
import os
from collections import Counter
from html import escape

from dflow._profile.pictures import legend, memory_svg, timeline_svg
from dflow._profile.summary import CORES, Summary

MOST = 100                  # rows of a table
SOURCE = 110                # characters of a line of the program that are shown

STYLE = """
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 1060px; padding: 0 1em; color: #222 }
h1 { font-size: 1.6em; overflow-wrap: anywhere } h2 { margin-top: 1.8em } p, li { overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% } .scroll { overflow-x: auto; max-width: 100% }
th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid #e4e4e4; font-variant-numeric: tabular-nums;
         vertical-align: top; white-space: nowrap }
th { cursor: pointer; background: #f5f5f5 } th:last-child, td:last-child { text-align: left; width: 99% }
td:last-child, .line, code { font-family: monospace; font-size: 13px; overflow-wrap: anywhere; white-space: normal }
td.line { text-align: left; min-width: 16em } .source { color: #666; display: block; white-space: pre-wrap }
.advice li { margin: .4em 0 } .facts { display: flex; flex-wrap: wrap; gap: .4em 2.2em; padding: 0 }
.facts div b { display: block; font-size: 1.35em; font-weight: 600 }
.key span { display: inline-block; margin-right: 1.2em; white-space: nowrap; font-size: 13px }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .35em }
@media (max-width: 600px) { body { margin: 1em auto } th, td { padding: .2em .35em; font-size: 13px } }
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


class Share(str):
    """A number's text, with its share of the whole: a bar behind it."""

    def __new__(cls, text, part):
        made = super().__new__(cls, text)
        made.part = min(max(part, 0.0), 1.0)
        return made


class Place(str):
    """A line of a program, "file:number", or a longer text that begins with one."""


def cell(value):
    if isinstance(value, Share):
        end = f"{100 * value.part:.1f}%"
        return f'<td style="background:linear-gradient(90deg,#d5e3fb {end},transparent {end})">{escape(value)}</td>'
    if isinstance(value, Place):
        source = source_of(value)
        below = f'<span class="source">{escape(source)}</span>' if source else ""
        return f'<td class="line" title="{escape(value)}">{escape(short(value))}{below}</td>'
    return f"<td>{escape(str(value))}</td>"


def short(place):
    """A file below the folder that we are in, from there; of another one the last two parts."""
    path, colon, number = place.rpartition(":")
    if not os.path.isabs(path):
        return place
    inside = os.path.relpath(path)
    if inside.startswith(os.pardir):
        inside = os.path.join("...", *path.split(os.sep)[-2:])
    return f"{inside}{colon}{number}"


def source_of(place):
    """The line itself, as it is now; "" where it cannot be read."""
    path, _, number = place.rpartition(":")
    text = linecache.getline(path, int(number)).strip() if number.isdigit() else ""
    return text if len(text) <= SOURCE else text[:SOURCE] + " ..."


def table(heads, rows):
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows[:MOST])
    more = f"<p>and {len(rows) - MOST:,} more</p>" if len(rows) > MOST else ""
    return (f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}'
            if rows else "<p>None.</p>")


def facts(*pairs):
    return '<div class="facts">' + "".join(f"<div><b>{escape(value)}</b>{escape(what)}</div>"
                                           for value, what in pairs) + "</div>"


def page(record, title):
    """The text of the page."""
    s = Summary(record)
    when, most, lines = s.peak
    whole = max(s.seconds, 1e-9)
    parts = [
        f"<h1>{escape(title)}</h1>",
        facts((f"{s.seconds:.3f} s", "in all"), (f"{len(record.tasks):,}", "tasks"),
              (f"{s.work:.3f} s", "of work, by all threads"),
              (f"{s.critical_seconds:.3f} s", "the longest chain of tasks"),
              (f"{s.submitting:.3f} s", "no thread of the program waited"), (f"{most / 1e6:.1f} MB", "held at most")),
        '<ul class="advice">' + "".join(f"<li>{escape(text)}</li>" for text in s.advice) + "</ul>",
        '<h2>What ran, and who waited</h2><div class="scroll">' + timeline_svg(record) + "</div>"
        f'<p class="key">{legend(record)}</p>',
        table(["busy", "seconds", "tasks", "of others' queues", "worker"],
              [(Share(f"{w.seconds / whole:.0%}", w.seconds / whole), f"{w.seconds:.3f}", f"{w.tasks:,}",
                f"{w.stolen:,}", w.name)
               for w in s.workers]),
        "<h2>By line</h2>",
        work_table(s, "line", [(row, Place(row.name)) for row in s.lines]),
        "<h2>By operation</h2>",
        work_table(s, "operation", [(row, row.name) for row in s.operations]),
        "<h2>Where the program waited</h2>",
        table(["seconds", "of the time", "count", "longest", "mostly for", "line"],
              [(Share(f"{w.seconds:.4f}", w.seconds / whole), f"{w.seconds / whole:.0%}", f"{w.count:,}",
                f"{w.longest:.4f}", reason(w), Place(w.name)) for w in s.waits]),
        f"<h2>The longest chain of tasks</h2><p>Each waited for the one before it: {s.critical_seconds:.3f} s in all, "
        f"{s.critical_seconds / whole:.0%} of the time. With any number of workers the program takes at least that "
        "long.</p>",
        table(["ms", "of it", "count", "operation", "line"], chain(s)),
        "<h2>With more workers</h2><p>At least: for what the program submits, for its longest chain of tasks, for its "
        f"work. About: as it ran, with {s.ran_with} worker{'' if s.ran_with == 1 else 's'}, played again with others, "
        "on as many cores; what several threads shared is taken to be shared among all that are free.</p>",
        table(["about seconds", "times as fast", "at least", "workers"], [gain(s, n) for n in CORES]),
        '<h2>Memory</h2><div class="scroll">' + memory_svg(record, when if most else None) + "</div>"
        f"<p>Most of what was made meanwhile was held after {when:.3f} s: {most / 1e6:.1f} MB, by line:</p>",
        table(["MB", "of it", "line"],
              [(Share(f"{nbytes / 1e6:.1f}", nbytes / most), f"{nbytes / most:.0%}", Place(name))
               for name, nbytes in lines.most_common()]),
    ]
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
            f"<style>{STYLE}</style></head><body>{''.join(parts)}<script>{SORT}</script></body></html>\n")


def work_table(s, what, rows):
    whole = max(s.work, 1e-9)
    return table(["seconds", "of the work", "count", "us each", "MB written", what],
                 [(Share(f"{row.seconds:.4f}", row.seconds / whole), f"{row.seconds / whole:.0%}", f"{row.count:,}",
                   f"{1e6 * row.seconds / row.count:.1f}", f"{row.bytes / 1e6:.1f}", name) for row, name in rows])


def reason(wait):
    name, comma, place = wait.reason.partition(", line ")
    return f"{name}{comma}{short(place)}" if comma else name


def gain(s, workers):
    if workers == CORES[-1]:
        return "", "", f"{s.bound(workers):.4f}", "any number"
    then = s.forecast(workers)
    about = ("?", "?") if then is None else (f"{then:.4f}", f"{s.seconds / max(then, 1e-9):.2f}")
    return *about, f"{s.bound(workers):.4f}", f"{workers}, as it ran" if workers == s.ran_with else workers


def chain(s):
    """What the longest chain is made of, by operation and line, what takes longest first."""
    spent, counts, most = Counter(), Counter(), max(s.critical_seconds, 1e-9)
    for number in s.critical_path:
        task = s.record.tasks.get(number)
        if task is not None:
            more = len(s.record.members.get(number, ()))
            what = (f"{task.name} and {more} more" if more else task.name,
                    "?" if task.site is None else Place(f"{task.site[0]}:{task.site[1]}"))
            spent[what] += s.run_seconds(number)
            counts[what] += 1
    return [(Share(f"{1e3 * seconds:.3f}", seconds / most), f"{seconds / most:.0%}", f"{counts[what]:,}", *what)
            for what, seconds in spent.most_common()]
