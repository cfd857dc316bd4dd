"""The picture of a run: every limit and what was measured, every seed ratio, and where the time of the first went."""
from .report import quantity, seconds

GOOD, BAD, SUBMIT, WAIT = "#2a7f62", "#c8553d", "#e0a458", "#4a6fa5"


# These have hundreds of rows: a picture of their own, or none.
LARGE = ("namespace", "sweep", "scheduling", "cluster")


def draw(rows, machine, folder):
    """Writes PNGs into `folder`. Returns their names: none without matplotlib, or when there is nothing to draw."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return []
    rows = [row for row in rows if not row.error]
    pictures = {"latest.png": (_overview, [row for row in rows if row.experiment not in LARGE]),
                "sweep.png": (_sweep, [row for row in rows if row.experiment == "sweep"]),
                "scheduling.png": (_scheduling, [row for row in rows if row.experiment == "scheduling"]),
                "cluster.png": (_cluster, [row for row in rows if row.experiment == "cluster" and not row.events]),
                "ranks.png": (_lanes, [row for row in rows if row.experiment == "cluster" and row.events]),
                "devices.png": (_lanes, [row for row in rows if row.experiment != "cluster" and row.events])}
    drawn = []
    for name, (draw_it, some) in pictures.items():
        figure = draw_it(some) if some else None
        if figure is not None:
            figure.suptitle(f"dflow {machine['dflow']}, NumPy {machine['numpy']}, Python {machine['python']}, "
                            f"{machine['cores']} cores, {machine['cpu']}", fontsize=10)
            figure.savefig(folder / name, dpi=110)
            drawn.append(name)
    return drawn


def _figure(width, height):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _overview(rows):
    limited = [row for row in rows if row.limit is not None and row.measured > 0]
    seed = [row for row in rows if row.limit is None and row.unit == "x" and row.measured > 0]
    split = [row for row in rows if row.experiment in ("asynchrony", "footprint") and row.submit is not None]
    panels = [(draw_panel, some) for draw_panel, some in
              ((_limits, limited), (_ratios, seed), (_submit_wait, split)) if some]
    if not panels:
        return None
    heights = [1.2 + 0.3 * len(some) * (2 if draw_panel is _submit_wait else 1) for draw_panel, some in panels]
    figure = _figure(11, sum(heights) + 0.6)
    axes = figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axis, (draw_panel, some) in zip(axes, panels, strict=True):
        draw_panel(axis, some)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _limits(axis, rows):
    values = [row.measured / row.limit for row in rows]
    colors = [GOOD if value <= 1 else BAD for value in values]
    words = [f"{quantity(row.measured, row.unit)} of {quantity(row.limit, row.unit)}" for row in rows]
    _bars(axis, rows, values, colors, words)
    axis.set_title("measured / limit: left of the line is within the limit", fontsize=10, loc="left")


def _ratios(axis, rows):
    values = [row.measured for row in rows]
    colors = [GOOD if value <= 1 else BAD for value in values]
    _bars(axis, rows, values, colors, [quantity(row.measured, row.unit) for row in rows])
    axis.set_title("seed experiments, dflow / NumPy (or / the base named in the table): left of the line is faster",
                   fontsize=10, loc="left")


def _bars(axis, rows, values, colors, words):
    """Bars from 1 to each value on a log scale, with quartiles where known, and words in a column at the right."""
    places = range(len(rows))
    axis.set_xscale("log")
    low, high = min(values + [0.5]) / 1.5, max(values + [2.0]) * 1.5
    axis.set_xlim(low, high)
    axis.barh(places, [value - 1 for value in values], left=1, color=colors, height=0.7)
    for place, row, value in zip(places, rows, values, strict=True):
        if row.low:
            axis.plot([row.low * value / row.measured, row.high * value / row.measured], [place, place],
                      color="black", linewidth=1)
    axis.axvline(1, color="black", linewidth=1)
    ticks = [digit * 10.0 ** power for power in range(-4, 5) for digit in (1, 2, 5)]
    axis.set_xticks([tick for tick in ticks if low <= tick <= high])
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter("{x:g}")
    for place, word in zip(places, words, strict=True):
        axis.text(1.01, place, word, fontsize=8, va="center", transform=axis.get_yaxis_transform())
    _labels(axis, [row.label for row in rows])


def _submit_wait(axis, rows):
    """NumPy's time and dflow's two parts, one pair of bars a row."""
    labels = []
    for row in rows:
        place = len(labels)
        axis.barh(place, row.base, color="#9a9a9a", height=0.7, label="NumPy" if not place else None)
        axis.barh(place + 1, row.submit, color=SUBMIT, height=0.7, label="dflow: submit" if not place else None)
        axis.barh(place + 1, row.wait, left=row.submit, color=WAIT, height=0.7,
                  label="dflow: wait" if not place else None)
        words = f"{seconds(row.submit)} + {seconds(row.wait)} = {seconds(row.dflow)}"
        for at, word in ((place, seconds(row.base)), (place + 1, words)):
            axis.text(1.01, at, word, fontsize=8, va="center", transform=axis.get_yaxis_transform())
        labels += [f"{row.label}: NumPy", "dflow"]
    _labels(axis, labels)
    axis.set_xlabel("seconds", fontsize=8)
    axis.set_title("where the time goes: to submit, then to wait", fontsize=10, loc="left")
    axis.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.8, 1.0), ncols=3, frameon=False)


def _labels(axis, labels):
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    axis.tick_params(axis="x", labelsize=8)


def _sweep(rows):
    """The ratio over the size, a line for each kind of work."""
    figure = _figure(9, 5)
    axis = figure.subplots()
    for kind in dict.fromkeys(row.label.split(",")[0] for row in rows):
        mine = [row for row in rows if row.label.split(",")[0] == kind]
        sizes = [row.size for row in mine]
        (line,) = axis.plot(sizes, [row.measured for row in mine], marker="o", markersize=3, label=kind)
        axis.fill_between(sizes, [row.low for row in mine], [row.high for row in mine],
                          color=line.get_color(), alpha=0.15, linewidth=0)
    axis.set_xscale("log")
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.axhline(1, color="black", linewidth=1)
    ticks = [digit * power for power in (0.01, 0.1, 1, 10) for digit in (1, 2, 5)]
    axis.set_yticks([tick for tick in ticks if low <= tick <= high])
    axis.set_yticks([], minor=True)
    axis.yaxis.set_major_formatter("{x:g}")
    axis.set_xlabel("elements", fontsize=8)
    axis.set_ylabel("time, dflow / NumPy", fontsize=8)
    axis.set_title("below the line dflow is faster; bands: quartiles", fontsize=10, loc="left")
    axis.grid(axis="y", linewidth=0.3)
    axis.legend(fontsize=8, frameon=False)
    return figure


def _scheduling(rows):
    """Measured over possible, for each shape of graph and length of a task, over the workers."""
    shapes = list(dict.fromkeys(row.label.split(",")[0] for row in rows))
    figure = _figure(3.2 * len(shapes), 4)
    axes = figure.subplots(1, len(shapes), sharey=True, squeeze=False)[0]
    for axis, shape in zip(axes, shapes, strict=True):
        mine = [row for row in rows if row.label.split(",")[0] == shape]
        for length in dict.fromkeys(row.label.split(",")[1] for row in mine):
            some = [row for row in mine if row.label.split(",")[1] == length]
            axis.plot([row.size for row in some], [100 / row.measured for row in some], marker="o", markersize=3,
                      label=length.strip())
        axis.set_xscale("log", base=2)
        axis.set_xticks([row.size for row in some], [str(row.size) for row in some], fontsize=8)
        axis.axhline(100, color="black", linewidth=1)
        axis.set_ylim(bottom=0)
        axis.set_title(shape, fontsize=10, loc="left")
        axis.set_xlabel("workers", fontsize=8)
    axes[0].set_ylabel("efficiency, % of max(critical path, total / workers)", fontsize=8)
    axes[-1].legend(fontsize=8, frameon=False)
    return figure


def _cluster(rows):
    """Times by size: measured, beside the model of this machine; and computed, of others."""
    kinds = {}
    for row in rows:
        kind, _, ranks = row.note.rpartition(" ")
        kinds.setdefault(kind, {}).setdefault(int(ranks), []).append(row)
    here, there = kinds.pop("measured", {}), kinds
    figure = _figure(12, 5.2)
    axes = figure.subplots(1, 2, sharey=True)
    colors = {2: GOOD, 4: SUBMIT, 8: BAD, 64: SUBMIT, 1024: WAIT}
    for ranks, some in here.items():
        axes[0].plot([row.size for row in some], [1e3 * row.dflow for row in some], "o", color=colors[ranks],
                     label=f"{ranks} processes, measured")
        axes[0].plot([row.size for row in some], [1e3 * row.base for row in some], "-", color=colors[ranks],
                     label=f"{ranks} processes, the model")
    for kind, by_ranks in sorted(there.items()):
        for ranks, some in by_ranks.items():
            style = {"chosen": "-", "played": "x"}.get(kind, ":")
            label = {"-": f"{ranks} ranks, the chosen way", "x": f"{ranks} ranks, played"}.get(style)
            axes[1].plot([row.size for row in some], [1e3 * row.dflow for row in some], style, color=colors[ranks],
                         label=label, linewidth=1 if style == ":" else 2)
    for axis, title in zip(axes, ("measured: processes of one machine, which share its cores",
                                  "computed: hosts of 8 ranks, a network of 10 Gb/s (dotted: the other ways)")):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("bytes of the array")
        axis.set_title(title, fontsize=9, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
        if axis.lines:
            axis.legend(fontsize=8, frameon=False)
    axes[0].set_ylabel("ms for a sum")
    return figure


def _lanes(rows):
    """What ran when in one run of each row: a line for each worker of each lane, a bar for each task."""
    lines = [sorted({(event.lane.startswith("to "), event.lane, event.worker or 257) for event in row.events})
             for row in rows]
    heights = [0.9 + 0.3 * len(some) for some in lines]
    figure = _figure(9, sum(heights) + 0.3)
    axes = figure.subplots(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axis, row, some in zip(axes, rows, lines, strict=True):
        span = max(event.stop for event in row.events)
        for place, (copies, lane, worker) in enumerate(some):
            events = [event for event in row.events if (event.lane, event.worker or 257) == (lane, worker)]
            for i, event in enumerate(events):
                length = event.stop - event.start
                # Two shades by turns, as edges would hide the shortest.
                axis.barh(place, 1e3 * length, left=1e3 * event.start, height=0.8, color=SUBMIT if copies else WAIT,
                          alpha=1 - 0.3 * (i % 2), linewidth=0)
                if length > 0.009 * len(event.name) * span:
                    axis.text(1e3 * (event.start + length / 2), place, event.name, fontsize=7, ha="center", va="center")
        _labels(axis, [f"{lane}, {'a thread that waits' if worker == 257 else f'worker {worker}'}"
                       for _, lane, worker in some])
        axis.set_xlim(0, 1e3 * span)
        axis.set_title(row.label, fontsize=9, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("ms", fontsize=8)
    return figure
