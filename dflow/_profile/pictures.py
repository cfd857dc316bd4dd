"""A record as pictures: SVG that we draw, and matplotlib's."""

import zlib
from collections import Counter
from html import escape

from dflow._profile.record import PART, RAN
from dflow._runtime.queues import lane_name

ROW, LEFT = 22, 150         # pixels: of a row, and of its name
MOST = 4000                 # bars: of more, the longest


def colour(name):
    """One of a few dozen, by name."""
    return f"hsl({zlib.crc32(name.encode()) % 36 * 10}, 55%, 60%)"


def bars(record):
    """(row, name, start, stop, text) of what ran and who waited, times in seconds, the longest first."""
    tasks, made = record.tasks, []
    for run in record.of(RAN, PART):
        row = f"{lane_name(int(run['lane']))} worker {run['worker']}" if run["worker"] else f"thread {run['thread']}"
        task = tasks.get(int(run["task"]))
        name = task.name if task else record.kernel(run["kernel"])[0] if run["kernel"] else "part of a task"
        more = int(run["members"]) - 1
        about = f"{name} and {more} more" if more > 0 else name
        if task is not None and task.site is not None:
            about += f", line {task.site[1]} of {task.site[0]}"
        made.append((row, name, int(run["start"]) / 1e9, int(run["stop"]) / 1e9, about))
    for wait in record.waited:
        site = record.site(wait["site"])
        about = "waits" if site is None else f"waits at line {site[1]} of {site[0]}"
        made.append((f"thread {wait['thread']}", "", int(wait["start"]) / 1e9, int(wait["stop"]) / 1e9, about))
    return sorted(made, key=lambda bar: bar[2] - bar[3])


def rows_of(made):
    """Workers first."""
    return sorted({bar[0] for bar in made}, key=lambda row: (row.startswith("thread"), row))


def timeline_svg(record, width=1000):
    """A row a worker, and one a thread that waited (grey), as the text of an SVG picture."""
    made = bars(record)
    rows = rows_of(made)
    scale = (width - LEFT - 10) / max(record.seconds, 1e-9)
    height = ROW * len(rows) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             f'font-size="12" role="img" aria-label="timeline">']
    for i, row in enumerate(rows):
        parts.append(f'<text x="4" y="{ROW * i + 15}">{escape(row)}</text>'
                     f'<line x1="{LEFT}" x2="{width - 10}" y1="{ROW * i + ROW - 2}" y2="{ROW * i + ROW - 2}" '
                     'stroke="#ddd"/>')
    for row, name, start, stop, about in sorted(made[:MOST], key=lambda bar: bool(bar[1])):     # waits lie behind
        y, high = ROW * rows.index(row) + 2, ROW - 6
        fill = colour(name) if name else "#ccc"
        parts.append(f'<rect x="{LEFT + start * scale:.2f}" y="{y}" width="{max((stop - start) * scale, 0.3):.2f}" '
                     f'height="{high}" fill="{fill}">'
                     f'<title>{escape(about)}: {1e3 * (stop - start):.3f} ms</title></rect>')
    return "".join([*parts, times(record, scale, height), "</svg>"])


def legend(record, most=10):
    """The colours of what took longest in timeline_svg(), as HTML."""
    took = Counter()
    for _, name, start, stop, _ in bars(record):
        took[name] += stop - start
    fills = [(name or "waits", colour(name) if name else "#ccc") for name, _ in took.most_common(most)]
    return "".join(f'<span><i style="background:{fill}"></i>{escape(name)}</span>' for name, fill in fills)


def memory_svg(record, peak=None, width=1000, height=140):
    """Bytes of arrays that are allocated or promised, over time; a mark at `peak`, in seconds."""
    points = [(int(e["start"]) / 1e9, int(e["live"])) for e in record.submitted]
    points += [(int(e["stop"]) / 1e9, int(e["live"])) for e in record.ran]
    points.sort()
    n = max(len(points) // MOST, 1)             # the highest of so many at a time
    points = [max(points[i:i + n], key=lambda point: point[1]) for i in range(0, len(points), n)]
    most = max((nbytes for _, nbytes in points), default=0) or 1
    scale = (width - LEFT - 10) / max(record.seconds, 1e-9)
    base, high = height - 24, height - 44

    def at(time, nbytes):
        return f"{LEFT + time * scale:.1f},{base - nbytes / most * high:.1f}"

    path = " ".join(at(*point) for point in points)
    if points:
        path = f"{at(points[0][0], 0)} {path} {at(points[-1][0], 0)}"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             f'font-size="12" role="img" aria-label="memory">']
    for k in range(3):
        y = base - k / 2 * high
        parts.append(f'<line x1="{LEFT}" x2="{width - 10}" y1="{y}" y2="{y}" stroke="#ddd"/><text x="{LEFT - 8}" '
                     f'y="{y + 4}" text-anchor="end">{k / 2 * most / 1e6:.1f} MB</text>')
    parts.append(f'<polyline points="{path}" fill="#d5e3fb" stroke="#36c"/>')
    if peak is not None:
        x = LEFT + peak * scale
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{base}" stroke="#c33" stroke-dasharray="3 3">'
                     f"<title>most of what was made meanwhile, after {peak:.3f} s</title></line>")
    return "".join([*parts, times(record, scale, height), "</svg>"])


def times(record, scale, height):
    """The axis below."""
    return "".join(f'<text x="{LEFT + k / 4 * record.seconds * scale:.1f}" y="{height - 6}" text-anchor="'
                   f'{"end" if k == 4 else "middle"}" fill="#555">{1e3 * k / 4 * record.seconds:.4g} ms</text>'
                   for k in range(5))


def plot(record, axes=None):
    """Draw the timeline with matplotlib, on the axes given or on new ones, which it returns."""
    from matplotlib import pyplot

    made = bars(record)[:MOST]
    rows = rows_of(made)
    if axes is None:
        _, axes = pyplot.subplots(figsize=(10, 1 + 0.35 * len(rows)), layout="constrained")
    named = sorted({name for _, name, *_ in made if name})
    colours = {name: f"C{i % 10}" for i, name in enumerate(named)}
    for i, row in enumerate(rows):
        mine = sorted((bar for bar in made if bar[0] == row), key=lambda bar: bool(bar[1]))
        axes.broken_barh([(start, stop - start) for _, _, start, stop, _ in mine], (i - 0.4, 0.8),
                         facecolors=[colours.get(name, "0.85") for _, name, *_ in mine])
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("seconds")
    return axes
