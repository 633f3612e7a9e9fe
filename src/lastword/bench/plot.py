"""The comparison of topics as a picture: storage over time, and what a restore takes (SVG)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, log10

from lastword.bench.topics import TopicResult

WIDTH, HEIGHT = 980, 430
COLOURS = {"compact": "#2563eb", "compact,delete": "#059669", "delete": "#d97706"}
# Where nothing expires, both compacted topics store the same: one must not hide the other.
_DASHES = {"compact,delete": ' stroke-dasharray="7 5"'}
INK, FAINT, GRID = "#1f2937", "#6b7280", "#e5e7eb"

_PLOT = (72, 84, 500, 280)  # x, y, width, height of the curves
_BARS = (680, 84, 210)  # x, y, width of the longest bar
_MIB = 1 << 20


def svg(title: str, results: Sequence[TopicResult]) -> str:
    """One picture, light and self-contained, for a page or a browser."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(24, 34, title, size=17, weight=600),
        *_legend(results),
        *_curves(results),
        *_bars(results),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    colour: str = INK,
    size: int = 13,
    weight: int = 400,
    turned: bool = False,
) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" '
        f'font-weight="{weight}"{turn}>{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 4"' if dashed else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashes}/>'
    )


def _legend(results: Sequence[TopicResult]) -> Iterator[str]:
    x = 24.0
    for each in results:
        colour = COLOURS[each.policy]
        yield f'<rect x="{x:.1f}" y="50" width="14" height="14" rx="3" fill="{colour}"/>'
        yield _text(x + 20, 62, f"cleanup.policy={each.policy}", colour=FAINT)
        x += 46 + 7.4 * len(f"cleanup.policy={each.policy}")


def _curves(results: Sequence[TopicResult]) -> Iterator[str]:
    left, top, width, height = _PLOT
    end_s = max((sample.at_s for each in results for sample in each.samples), default=1.0) or 1.0
    most = max((s.size_bytes for each in results for s in each.samples), default=0) / _MIB
    written_s = max(each.written_s for each in results)
    step = _step(most or 1.0)
    roof = step * max(1, ceil(most / step))

    def x(at_s: float) -> float:
        return left + width * at_s / end_s

    def y(mib: float) -> float:
        return top + height * (1 - mib / roof)

    for i in range(round(roof / step) + 1):
        yield _line(left, y(i * step), left + width, y(i * step), GRID)
        yield _text(left - 8, y(i * step) + 4, f"{i * step:g}", anchor="end", colour=FAINT)
    time_step = _step(end_s)
    for i in range(floor(end_s / time_step) + 1):
        yield _text(
            x(i * time_step), top + height + 20, f"{i * time_step:g}", anchor="middle", colour=FAINT
        )
    if written_s < end_s:
        yield _line(x(written_s), top, x(written_s), top + height, FAINT, dashed=True)
        yield _text(x(written_s) + 6, top + height / 2, "writing ends", colour=FAINT, size=12)
    for each in results:
        points = " ".join(f"{x(s.at_s):.1f},{y(s.size_bytes / _MIB):.1f}" for s in each.samples)
        yield (
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[each.policy]}" '
            f'stroke-width="2.5" stroke-linejoin="round"{_DASHES.get(each.policy, "")}/>'
        )
    yield _text(
        left + width / 2, top + height + 44, "seconds since the first record", anchor="middle"
    )
    yield _text(26, top + height / 2, "stored, MiB", anchor="middle", turned=True)


def _bars(results: Sequence[TopicResult]) -> Iterator[str]:
    left, top, width = _BARS
    groups = (
        ("time to restore, ms", [each.restore_s * 1000 for each in results]),
        ("records read by it, thousands", [each.records_read / 1000 for each in results]),
    )
    y = float(top)
    for heading, figures in groups:
        yield _text(left, y + 4, heading, weight=600)
        y += 20
        longest = max(figures) or 1.0
        for each, figure in zip(results, figures, strict=True):
            length = max(2.0, width * figure / longest)
            yield (
                f'<rect x="{left}" y="{y:.1f}" width="{length:.1f}" height="24" rx="3" '
                f'fill="{COLOURS[each.policy]}"/>'
            )
            yield _text(
                left + length + 8, y + 17, f"{figure:,.0f}" if figure >= 10 else f"{figure:.2g}"
            )
            y += 34
        y += 36


def _step(most: float) -> float:
    """A round distance between grid lines: about five of them."""
    rough = most / 5
    size = 10.0 ** floor(log10(rough))
    return next(size * nice for nice in (1, 2, 5, 10) if size * nice >= rough)
