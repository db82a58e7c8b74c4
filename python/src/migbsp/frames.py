"""Tables as data frames: of pandas if it is installed, else of polars, else a `Frame`, which needs neither.

`migbsp.frames = "polars"` chooses for all tables, and an argument `frames` for one; `"rows"` is a `Frame`.
"""

from __future__ import annotations

import csv
import html
import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, overload

KINDS = ("pandas", "polars", "rows")

Table: TypeAlias = Any
"""A `pandas.DataFrame`, a `polars.DataFrame` or a `Frame`."""


class Frame(Sequence[dict[str, Any]]):
    """A table without pandas and polars: a sequence of rows, which are dictionaries.

    `frame["seconds"]` is the list of a column, `frame[0]` a row, `frame[["policy", "seconds"]]` a frame of these columns.
    A value that is missing is `None`. `attrs` says what made the table.
    """

    def __init__(
        self, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = (), attrs: Mapping[str, Any] | None = None
    ) -> None:
        listed = [dict(row) for row in rows]
        self.columns = list(columns) or list(dict.fromkeys(name for row in listed for name in row))
        self.rows = [{name: row.get(name) for name in self.columns} for row in listed]
        self.attrs = dict(attrs or {})

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: slice | list[str]) -> Frame: ...
    def __getitem__(self, key: int | str | slice | list[str]) -> dict[str, Any] | list[Any] | Frame:
        if isinstance(key, str):
            self._check([key])
            return [row[key] for row in self.rows]
        if isinstance(key, slice):
            return Frame(self.rows[key], self.columns, self.attrs)
        if isinstance(key, list):
            self._check(key)
            return Frame(self.rows, key, self.attrs)
        return self.rows[key]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and (self.columns, self.rows) == (other.columns, other.rows)

    def __repr__(self) -> str:
        shown = [self.columns, *([_text(row[name]) for name in self.columns] for row in self.rows[:SHOWN])]
        widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in shown]
        return "\n".join([*lines, *self._rest()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = ("".join(_cell(row[name]) for name in self.columns) for row in self.rows[:SHOWN])
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _rest(self) -> list[str]:
        return [f"{len(self.rows)} rows, of which {SHOWN} are shown"] if len(self.rows) > SHOWN else []

    def _check(self, names: list[str]) -> None:
        for name in names:
            if name not in self.columns:
                raise KeyError(f"no column {name!r}: there are {', '.join(self.columns)}")


def kind(chosen: str | None = None) -> str:
    """Which frames are made: what is `chosen`, else what `migbsp.frames` says, else what is installed."""
    # The attribute of the package is this module until the user sets it, perhaps before this module is imported.
    package, this = vars(sys.modules[__package__]), sys.modules[__name__]
    by_package = package.get("frames", this)
    said = chosen or (_said_before if by_package is this else by_package)
    if said is None:
        return next(name for name in KINDS if name == "rows" or importlib.util.find_spec(name))
    if said not in KINDS:
        raise ValueError(f"no frames are called {said!r}: there are {', '.join(KINDS)}")
    return said


def from_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] = (),
    attrs: Mapping[str, Any] | None = None,
    frames: str | None = None,
) -> Table:
    """A table of rows. `columns` are needed if there may be no row."""
    frame = Frame(rows, columns, attrs)
    chosen = kind(frames)
    if chosen == "pandas":
        import pandas

        table = pandas.DataFrame(frame.rows, columns=frame.columns)
        table.attrs = frame.attrs
        return table
    if chosen == "polars":
        import polars

        return polars.DataFrame(
            {name: frame[name] for name in frame.columns}, schema=frame.columns, strict=False
        )
    return frame


def read_csv(source: str | os.PathLike[str], frames: str | None = None) -> Table:
    """A table that migbsp wrote: a file, or the text itself. What made it is in `attrs`, but for polars, which has none."""
    is_text = isinstance(source, str) and "\n" in source
    text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
    attrs = {}
    while text.startswith("# "):
        comment, _, text = text[2:].partition("\n")
        name, _, written = comment.partition(": ")
        attrs[name] = json.loads(written)
    chosen = kind(frames)
    if chosen == "pandas":
        import pandas

        # A host may be called `NA`.
        table = pandas.read_csv(io.StringIO(text), keep_default_na=False, na_values=["", "NaN"])
        table.attrs = attrs
        return table
    if chosen == "polars":
        import polars

        return polars.read_csv(io.StringIO(text), infer_schema_length=None)
    header, *lines = csv.reader(io.StringIO(text))
    columns = [_typed(list(cells)) for cells in zip(*lines, strict=True)]
    return Frame([dict(zip(header, row, strict=True)) for row in zip(*columns, strict=True)], header, attrs)


def column(table: Table, name: str) -> list[Any]:
    """A column of any table as a list."""
    values: Any = table[name]
    return list(values if isinstance(values, list) else values.to_list())


def _typed(cells: list[str]) -> list[Any]:
    """The cells of a column in the first type that all of them have: integer, number, truth value, text."""

    def truth(cell: str) -> bool:
        return {"true": True, "false": False}[cell]

    types: list[Callable[[str], Any]] = [int, float, truth]
    for of in types:
        try:
            return [of(cell) if cell else None for cell in cells]
        except (ValueError, KeyError):
            pass
    return [cell or None for cell in cells]


def _text(it: Any) -> str:
    """A cell as it is shown."""
    if it is None:
        return ""
    return f"{it:.6g}" if isinstance(it, float) else str(it)


def _cell(it: Any) -> str:
    """A cell of a table in HTML: numbers are on the right."""
    side = "right" if isinstance(it, (int, float)) else "left"
    return f'<td style="text-align: {side}">{html.escape(_text(it))}</td>'


# What the user chose before this module was imported, which replaces that attribute of the package.
_said_before = vars(sys.modules[__package__]).get("frames")

# Number of rows of a `Frame` that are shown.
SHOWN = 60
