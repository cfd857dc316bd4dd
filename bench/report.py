"""Rows as a table on the terminal and as JSON."""
import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

_COLUMNS = "{:<46} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9} {:<5} {}"


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


def heading():
    titles = _COLUMNS.format("per statement", "numpy", "dflow", "submit", "wait", "measured", "limit", "", "").rstrip()
    return f"{titles}\n{'-' * len(titles)}"


def line(row):
    return _COLUMNS.format(row.label, seconds(row.base), seconds(row.dflow), seconds(row.submit), seconds(row.wait),
                           quantity(row.measured, row.unit), quantity(row.limit, row.unit), row.verdict,
                           row.error or row.note).rstrip()


def summary(rows):
    limited = [row for row in rows if row.limit is not None and not row.error]
    over = [row for row in limited if row.verdict == "over"]
    failed = [row for row in rows if row.error]
    lines = [f"{len(limited) - len(over)} of {len(limited)} limits reached"]
    lines += [f"  over: {row.label}, {row.measured / row.limit:.2f} x its limit" for row in over]
    lines += [f"  failed: {row.experiment}, {row.error}" for row in failed]
    return "\n".join(lines)


def write_json(rows, machine, paths):
    """One document, to each of `paths`."""
    document = {
        "format": 1,
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine,
        "rows": [{**{key: _short(value) for key, value in asdict(row).items()}, "verdict": row.verdict}
                 for row in rows],
    }
    text = json.dumps(document, indent=1) + "\n"
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _short(value):
    return float(f"{value:.6g}") if isinstance(value, float) else value
