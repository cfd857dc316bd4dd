"""Boxes and arrows as SVG: layers by longest paths, ordered by barycentres; groups are boxes around their members."""

from html import escape
from typing import NamedTuple

CHARACTER, LINE, PAD = 6.7, 15, 8       # pixels: of text, and around it
ACROSS, DOWN, MARGIN = 18, 34, 10       # between boxes, layers, and around all
LANE = 6                                # of an arrow that passes a layer
ROW = 1400                              # width from which what hangs together starts a new row
SWEEPS = 8


class Box(NamedTuple):
    """What is drawn: its text, its colour, what is told of it, and whether its corners are square."""

    lines: list
    fill: str
    title: str
    square: bool

    @property
    def size(self):
        return max(map(len, self.lines)) * CHARACTER + 2 * PAD, len(self.lines) * LINE + 2 * PAD


def arrange(sizes, edges):
    """Where things of these sizes lie: {name: (x, y)}; {edge: points that it passes}; the size of all."""
    places, routes, x, y, width, high = {}, {}, 0, 0, 0, 0
    for names in components(sizes, edges):
        inside = [edge for edge in edges if edge[0] in names]
        found, passed, (w, h) = arrange_component({name: sizes[name] for name in names}, inside)
        if x and x + w > ROW:
            x, y, high = 0, y + high + DOWN, 0
        places.update({name: (x + at[0], y + at[1]) for name, at in found.items()})
        routes.update({edge: [(x + px, y + py) for px, py in points] for edge, points in passed.items()})
        x, width, high = x + w + ACROSS, max(width, x + w), max(high, h)
    return places, routes, (width, y + high)


def components(names, edges):
    """What hangs together, each as a dictionary, in the order of the names."""
    near = {name: [] for name in names}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    seen = set()
    for name in names:
        if name in seen:
            continue
        seen.add(name)
        found = [name]
        for some in found:
            found += [other for other in near[some] if other not in seen]
            seen.update(near[some])
        found = set(found)
        yield {some: None for some in names if some in found}


def depths(names, edges):
    """The layer of each: one below the lowest of those before it. Edges of a circle count as none."""
    after, missing = {name: [] for name in names}, dict.fromkeys(names, 0)
    for a, b in edges:
        after[a].append(b)
        missing[b] += 1
    depth, ready = dict.fromkeys(names, 0), [name for name in names if not missing[name]]
    for name in ready:
        for other in after[name]:
            depth[other] = max(depth[other], depth[name] + 1)
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    return depth


def arrange_component(sizes, edges):
    depth = depths(sizes, edges)
    sizes, links, chains = dict(sizes), [], {}
    rows = [[] for _ in range(max(depth.values()) + 1)]
    for name in depth:
        rows[depth[name]].append(name)
    for edge in dict.fromkeys(edges):           # what passes a layer has a narrow place in it
        chain = [edge[0], *((edge, k) for k in range(depth[edge[0]] + 1, depth[edge[1]])), edge[1]]
        for name in chain[1:-1]:
            sizes[name] = LANE, 0
            rows[name[1]].append(name)
        chains[edge] = chain
        links += zip(chain, chain[1:])
    above, below = {name: [] for name in sizes}, {name: [] for name in sizes}
    for a, b in links:
        above[b].append(a)
        below[a].append(b)
    order(rows, above, below)
    middle = centres(rows, sizes, above, below)
    left = min(middle[name] - sizes[name][0] / 2 for name in middle)
    places, passes, y = {}, {}, 0
    for row in rows:
        high = max(sizes[name][1] for name in row)
        for name in row:
            places[name] = middle[name] - sizes[name][0] / 2 - left, y + (high - sizes[name][1]) / 2
            passes[name] = [(middle[name] - left, y), (middle[name] - left, y + high)]
        y += high + DOWN
    routes = {edge: [point for name in chain[1:-1] for point in passes[name]] for edge, chain in chains.items()}
    width = max(places[name][0] + sizes[name][0] for name in places)
    return {name: places[name] for name in depth}, routes, (width, y - DOWN)


def order(rows, above, below):
    """Sort each row by the mean places of what its things hang on, down and up in turn."""
    at = {name: i for row in rows for i, name in enumerate(row)}
    for sweep in range(SWEEPS):
        near = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            row.sort(key=lambda name: sum(at[n] for n in near[name]) / len(near[name]) if near[name] else at[name])
            at.update({name: i for i, name in enumerate(row)})


def centres(rows, sizes, above, below):
    """The middle of each: near the mean of those that it hangs on, in the order of its row, and clear of the next."""
    middle = {}
    for row in rows:
        x = 0
        for name in row:
            middle[name] = x + sizes[name][0] / 2
            x += sizes[name][0] + ACROSS
    for sweep in range(SWEEPS):
        near = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = [sum(middle[n] for n in near[name]) / len(near[name]) if near[name] else middle[name]
                      for name in row]
            middle.update(zip(row, spread(wanted, [sizes[name][0] for name in row])))
    return middle


def spread(wanted, widths):
    """Middles nearest to those wanted, by squares, without an overlap: of neighbours that would, blocks are made."""
    offsets = [0.0]                             # of each from the first, if all touch
    for i in range(1, len(wanted)):
        offsets.append(offsets[-1] + (widths[i - 1] + widths[i]) / 2 + ACROSS)
    blocks = []                                 # (sum of where the first would be, how many)
    for want, offset in zip(wanted, offsets):
        total, n = want - offset, 1
        while blocks and blocks[-1][0] * n >= total * blocks[-1][1]:
            before = blocks.pop()
            total, n = total + before[0], n + before[1]
        blocks.append((total, n))
    starts = [total / n for total, n in blocks for _ in range(n)]
    return [start + offset for start, offset in zip(starts, offsets)]


# ---- drawing ---------------------------------------------------------------------------------------------------------

def svg(boxes, groups, edges):
    """boxes: {name: Box}; groups: {name: (title, names of boxes)}; edges: pairs of names of boxes."""
    places, frames, routes, (width, height) = place(boxes, groups, edges)
    width, height = width + 2 * MARGIN, height + 2 * MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
             f'viewBox="{-MARGIN} {-MARGIN} {width:.1f} {height:.1f}" font-family="sans-serif" font-size="11" '
             'role="img" aria-label="pending tasks"><defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" '
             'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>']
    for name, (x, y, w, h) in frames.items():
        parts.append(f'<rect class="group" id="{escape(name)}" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" '
                     f'height="{h:.1f}" rx="8" fill="#fafafa" stroke="#888"/>'
                     f'<text x="{x + PAD:.1f}" y="{y + LINE:.1f}" fill="#555">{escape(groups[name][0])}</text>')
    for (a, b), passed in routes.items():
        parts.append(arrow([bottom(places[a], boxes[a]), *passed, top(places[b], boxes[b])]))
    for name, (x, y) in places.items():
        box = boxes[name]
        w, h = box.size
        stroke = "none" if box.fill == "none" else "#555"
        parts.append(f'<g class="node" id="{escape(name)}"><title>{escape(box.title)}</title><rect x="{x:.1f}" '
                     f'y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{0 if box.square else 6}" fill="{box.fill}" '
                     f'stroke="{stroke}"/><text text-anchor="middle">')
        parts += [f'<tspan x="{x + w / 2:.1f}" y="{y + PAD + LINE * (i + 0.75):.1f}">{escape(text)}</tspan>'
                  for i, text in enumerate(box.lines)]
        parts.append("</text></g>")
    return "".join([*parts, "</svg>"])


def place(boxes, groups, edges):
    """Where boxes and the frames of groups lie, and which points arrows between boxes pass."""
    group_of = {name: group for group, (_, names) in groups.items() for name in names}
    inner, sizes = {}, {}
    for name, box in boxes.items():
        group = group_of.get(name)
        if group is None:
            sizes[name] = box.size
        elif group not in inner:
            names = groups[group][1]
            inside = [edge for edge in edges if group_of.get(edge[0]) == group_of.get(edge[1]) == group]
            inner[group] = arrange({name: boxes[name].size for name in names}, inside)
            w, h = inner[group][2]
            sizes[group] = max(w, len(groups[group][0]) * CHARACTER) + 2 * PAD, h + 2 * PAD + LINE
    outer = {edge: tuple(group_of.get(name, name) for name in edge) for edge in edges}
    at, passed, size = arrange(sizes, [edge for edge in outer.values() if edge[0] != edge[1]])
    places, frames, routes = {}, {}, {}
    for name, (x, y) in at.items():
        if name not in inner:
            places[name] = x, y
            continue
        found, ways, _ = inner[name]
        x0, y0 = x + PAD, y + PAD + LINE
        frames[name] = x, y, *sizes[name]
        places.update({member: (x0 + dx, y0 + dy) for member, (dx, dy) in found.items()})
        routes.update({edge: [(x0 + px, y0 + py) for px, py in points] for edge, points in ways.items()})
    routes.update({edge: passed[ends] for edge, ends in outer.items() if ends[0] != ends[1]})
    return places, frames, routes, size


def bottom(at, box):
    return at[0] + box.size[0] / 2, at[1] + box.size[1]


def top(at, box):
    return at[0] + box.size[0] / 2, at[1]


def arrow(points):
    """A line that leaves and enters downwards."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in zip(points, points[1:]):
        half = (y + to_y) / 2
        path.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
    return f'<path d="{"".join(path)}" fill="none" stroke="#555" marker-end="url(#arrow)"/>'
