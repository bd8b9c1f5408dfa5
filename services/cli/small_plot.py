"""A plot of a few lines for a terminal: measured points, and what a model makes of them."""

from collections.abc import Callable, Sequence

WIDTH, HEIGHT = 60, 12
POINT, CURVE, BOTH = "•", "─", "┼"


def plot(
    points: Sequence[tuple[float, float]],
    curve: Callable[[float], float] | None = None,
    *,
    until: float | None = None,
    x_unit: str,
    y_unit: str,
) -> list[str]:
    """Lines of text; none without points. The curve goes on up to `until`, beyond the points if need be."""
    if not points:
        return []
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low_x, high_x = min(xs), max(*xs, xs[0] if until is None else until)
    step = (high_x - low_x) / (WIDTH - 1) or 1.0
    told = [curve(low_x + column * step) for column in range(WIDTH)] if curve is not None else []
    high_y = max(*ys, *told, 0.0) or 1.0
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]

    def row_of(y: float) -> int:
        return HEIGHT - 1 - round(min(max(y / high_y, 0.0), 1.0) * (HEIGHT - 1))

    for column, y in enumerate(told):
        cells[row_of(y)][column] = CURVE
    for x, y in points:
        row, column = row_of(y), round((x - low_x) / step)
        cells[row][column] = BOTH if cells[row][column] == CURVE else POINT
    labels = {0: f"{high_y:.4g}", HEIGHT - 1: "0"}
    margin = max(len(label) for label in labels.values())
    lines = [f"{labels.get(row, ''):>{margin}} │{''.join(line).rstrip()}" for row, line in enumerate(cells)]
    ends = f"{low_x:.4g}", f"{high_x:.4g} {x_unit}"
    gap = " " * max(1, WIDTH - len(ends[0]) - len(ends[1]))
    return [f"{y_unit:>{margin}}", *lines, f"{'':>{margin}} └{'─' * WIDTH}", f"{'':>{margin}}  {ends[0]}{gap}{ends[1]}"]
