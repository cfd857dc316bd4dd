"""Rows as a table on the terminal and as JSON."""
import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

_COLUMNS = "{:<46} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9} {:<5} {}"
_WIDTH = len(_COLUMNS.format(*[""] * 9))
# What one column of a row says beside NumPy: whom, the ratio, its limit and the verdict.
_BESIDE = "{:<17} {:>7} {:>7} {:<5}"


def seconds(value):
    """A time in the unit that suits it; nothing for None."""
    if value is None:
        return ""
    if value < 0.5e-9:
        return "0 ns"
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if value * scale < 999.5:
            return f"{value * scale:.3g} {unit}"
    return f"{value:.3g} s"


def quantity(value, unit):
    """A measured value or a limit in its unit; nothing for None."""
    if value is None:
        return ""
    if unit == "bytes" and abs(value) >= 1e6:
        return f"{value / 1e6:.0f} MB"
    if unit == "x" and value < 100:
        return f"{value:.2f} x"
    return f"{value:.0f} {unit}"


def heading(columns=()):
    """`columns` are the titles of those that some rows have beside the usual ones."""
    titles = _COLUMNS.format("per statement", "numpy", "dflow", "submit", "wait", "measured", "limit", "", "").rstrip()
    if columns:
        titles = f"{titles:<{_WIDTH}}" + "".join(_BESIDE.format(name, "ratio", "limit", "") for name in columns)
    return f"{titles.rstrip()}\n{'-' * len(titles.rstrip())}"


def line(row, columns=()):
    beside = {one.column: one for one in row.beside}
    cells = "".join(_beside(beside.get(column)) for column in columns if beside)
    return _COLUMNS.format(row.label, seconds(row.base), seconds(row.dflow), seconds(row.submit), seconds(row.wait),
                           quantity(row.measured, row.unit), quantity(row.limit, row.unit), row.verdict,
                           cells + (row.error or row.note)).rstrip()


def _beside(one):
    if one is None:
        return _BESIDE.format(*[""] * 4)
    return _BESIDE.format(f"{one.name} {seconds(one.base)}", quantity(one.measured, "x"), quantity(one.limit, "x"),
                          one.verdict)


def summary(rows):
    limited = [(row.label, row) for row in rows if row.limit is not None and not row.error]
    limited += [(f"{row.label}, beside {one.name}", one) for row in rows for one in row.beside if one.limit is not None]
    over = [(label, one) for label, one in limited if one.verdict == "over"]
    failed = [row for row in rows if row.error]
    lines = [f"{len(limited) - len(over)} of {len(limited)} limits reached"]
    lines += [f"  over: {label}, {one.measured / one.limit:.2f} x its limit" for label, one in over]
    lines += [f"  failed: {row.experiment}, {row.error}" for row in failed]
    return "\n".join(lines)


def write_json(rows, machine, paths):
    """One document, to each of `paths`."""
    document = {
        "format": 1,
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine,
        "rows": [_document(row) for row in rows],
    }
    text = json.dumps(document, indent=1) + "\n"
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _document(row):
    return _short({**asdict(row), "beside": [{**asdict(one), "verdict": one.verdict} for one in row.beside],
                   "verdict": row.verdict})


def _short(value):
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
