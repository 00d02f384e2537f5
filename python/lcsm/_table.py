"""Tables that print as text, show as HTML in a notebook, and become pandas where it is installed."""

from __future__ import annotations

import html
from typing import Any, Iterator, Mapping, Optional, Sequence


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.6g}"


def html_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """An HTML table; everything in it is escaped."""
    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(f"<{tag}>{html.escape(_text(v))}</{tag}>" for v in values)
    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table>{top}<thead><tr>{cells('th', columns)}</tr></thead><tbody>{body}</tbody></table>"


class Table(Sequence[Mapping[str, Any]]):
    """Rows with named columns: a sequence of dicts."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""):
        self.columns, self.caption = list(columns), caption
        self._rows = [list(row) for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            at = self.columns.index(index)
            return [row[at] for row in self._rows]
        if isinstance(index, slice):
            return Table(self.columns, self._rows[index], self.caption)
        return dict(zip(self.columns, self._rows[index]))

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return (dict(zip(self.columns, row)) for row in self._rows)

    def __repr__(self) -> str:
        lines = [self.columns] + [[_text(v) for v in row] for row in self._rows]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.columns))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return html_table(self.columns, self._rows, self.caption)

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        import pandas
        return pandas.DataFrame(self._rows, columns=self.columns)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "",
          pandas: Optional[bool] = None) -> Any:
    """A DataFrame where pandas is installed, otherwise a Table; True or False force one of them."""
    own = Table(columns, rows, caption)
    if pandas is False:
        return own
    try:
        return own.to_pandas()
    except ImportError:
        if pandas:
            raise
        return own
