"""Figures as SVG, without a plotting library."""

from __future__ import annotations

import html
import pathlib
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

COLOURS = ("#2266aa", "#cc6622", "#338844", "#884499", "#888811")


@dataclass
class Figure:
    """A drawing: shown by notebooks, saved by ``save``."""

    svg: str

    def save(self, path: Any) -> None:
        pathlib.Path(path).write_text(self.svg)

    def _repr_html_(self) -> str:
        return self.svg[self.svg.find("<svg"):] if "<svg" in self.svg else ""


def curve(series: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str,
          width: int = 560, height: int = 280) -> Figure:
    """Lines over a common pair of axes; empty where there is nothing to draw."""
    points = [p for line in series.values() for p in line]
    if len(points) < 2:
        return Figure("")
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    low, high = (min(xs), min(ys)), (max(xs), max(ys))

    def at(p: tuple[float, float]) -> str:
        x = 50 + (width - 70) * (p[0] - low[0]) / ((high[0] - low[0]) or 1)
        y = height - 40 - (height - 60) * (p[1] - low[1]) / ((high[1] - low[1]) or 1)
        return f"{x:.1f},{y:.1f}"

    parts = []
    for j, (name, line) in enumerate(series.items()):
        colour = COLOURS[j % len(COLOURS)]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{" ".join(map(at, line))}"/>'
                     f'<text x="{width - 20}" y="{20 + 16 * j}" text-anchor="end" fill="{colour}">{html.escape(name)}</text>')
    parts.append(f'<path d="M50 20V{height - 40}H{width - 20}" fill="none" stroke="currentColor"/>'
                 f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">{html.escape(x_label)}</text>'
                 f'<text x="50" y="{height - 24}">{low[0]:g}</text>'
                 f'<text x="{width - 20}" y="{height - 24}" text-anchor="end">{high[0]:g}</text>'
                 f'<text x="46" y="{height - 40}" text-anchor="end">{low[1]:.3g}</text>'
                 f'<text x="46" y="26" text-anchor="end">{high[1]:.3g}</text>'
                 f'<text x="54" y="16">{html.escape(y_label)}</text>')
    return Figure(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                  f'font-family="sans-serif" font-size="12" fill="currentColor">{"".join(parts)}</svg>')
