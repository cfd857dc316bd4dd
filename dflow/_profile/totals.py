"""How often what ran, and how long: by category and name, as the tables and the JSON of MXNet's profiler show it."""

import json

BY = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}
MEMORY = "Device Storage"           # a category that has bytes, and no totals
HEADS = "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"
USES = "Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)"


class Total:
    """Of values: how many, their sum, the least and the greatest. total: what is shown instead of the sum."""

    __slots__ = ("count", "greatest", "least", "sum", "total")

    def __init__(self):
        self.count, self.sum, self.total = 0, 0.0, None
        self.least, self.greatest = float("inf"), float("-inf")

    def add(self, count, sum_, least, greatest):
        self.count += count
        self.sum += sum_
        self.least, self.greatest = min(self.least, least), max(self.greatest, greatest)

    def row(self):
        """As MXNet calls them."""
        return {"Count": self.count, "Total": self.sum if self.total is None else self.total, "Min": self.least,
                "Max": self.greatest, "Avg": self.sum / self.count}


class Totals:
    """{category: {name: Total}}: of durations in ms, of memory in kB, of counters what they count."""

    def __init__(self):
        self._totals = {}

    def clear(self):
        self._totals.clear()

    def category(self, name):
        """Its totals. It is shown from now on, though it may be empty."""
        return self._totals.setdefault(name, {})

    def add(self, category, name, values):
        """Some values, as an array."""
        if len(values):
            total = self.category(category).setdefault(name, Total())
            total.add(len(values), float(values.sum()), float(values.min()), float(values.max()))

    def add_one(self, category, name, value):
        self.category(category).setdefault(name, Total()).add(1, value, value, value)

    def count(self, category, name, value):
        """A counter has a new value: the last one is its total."""
        self.add_one(category, name, value)
        self._totals[category][name].total = value

    def rows(self, sort_by, ascending):
        """{category: {name: row}}, sorted: categories by name, those of memory, which have no totals, by the greatest
        where others are by their totals."""
        made = {}
        for category in sorted(self._totals):
            rows = {name: total.row() for name, total in self._totals[category].items()}
            memory = category == MEMORY
            key = BY["max" if memory and sort_by == "total" else sort_by]
            made[category] = dict(sorted(rows.items(), key=lambda item: item[1][key], reverse=not ascending))
            if memory:
                for row in rows.values():
                    del row["Total"]
        return made

    def json(self, sort_by, ascending):
        rows = self.rows(sort_by, ascending)
        memory = {category: rows.pop(category) for category in [MEMORY] if category in rows}
        return json.dumps({"Time": rows, "Memory": memory, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)

    def table(self, sort_by, ascending):
        parts = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
        for category, rows in self.rows(sort_by, ascending).items():
            heads = USES if category == MEMORY else HEADS
            width = max([25, *map(len, rows)])
            parts += [category, "=================", line(width, "Name", "Total Count", heads),
                      line(width, "----", "-----------", ["-" * (9 if head == HEADS[0] else 13) for head in heads])]
            parts += [line(width, name, row["Count"], [f"{value:.4f}" for key, value in row.items() if key != "Count"])
                      for name, row in rows.items()]
            parts.append("")
        return "\n".join([*parts, ""])


def line(width, name, count, cells):
    return f"{name:{width}}{count:>16} " + " ".join(f"{cell:>16}" for cell in cells)
