"""Writes values as TOML, which the standard library only reads."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any


def document(table: Mapping[str, Any]) -> str:
    """A table as a TOML document. A key whose value is `None` is left out."""
    return "\n".join(_section((), table)).lstrip("\n") + "\n"


def value(it: Any) -> str:
    """A value in one line, as it stands behind `key = `: arrays and tables are inline."""
    if isinstance(it, bool):
        return "true" if it else "false"
    if isinstance(it, (int, float)):
        # Subclasses, such as enumerations of integers, have a `repr` of their own.
        return float.__repr__(it) if isinstance(it, float) else int.__repr__(it)
    if isinstance(it, str):
        return json.dumps(str(it), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(it, os.PathLike):
        return value(os.fspath(it))
    if isinstance(it, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(of)}" for name, of in it.items() if of is not None) + " }"
    if isinstance(it, (list, tuple, range)):
        return "[" + ", ".join(map(value, it)) + "]"
    if hasattr(it, "tolist"):  # arrays and scalars of NumPy
        return value(it.tolist())
    raise TypeError(f"{type(it).__name__} has no form in TOML: {it!r}")


def key(name: str) -> str:
    """A key, in quotes if it has other characters than letters, digits, `_` and `-`."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(str(name))


def _section(path: tuple[str, ...], table: Mapping[str, Any]) -> list[str]:
    """The lines of a table: its values, then the tables in it."""
    present = {name: of for name, of in table.items() if of is not None}
    lines = [f"{key(name)} = {value(of)}" for name, of in present.items() if not _is_section(of)]
    for name, of in present.items():
        inner = (*path, name)
        header = ".".join(map(key, inner))
        if isinstance(of, Mapping):
            lines += ["", f"[{header}]", *_section(inner, of)]
        elif _is_section(of):
            for one in of:
                lines += ["", f"[[{header}]]", *_section(inner, one)]
    return lines


def _is_section(it: Any) -> bool:
    """Whether a value has a header: a table, or an array of tables alone."""
    if isinstance(it, (list, tuple)):
        return len(it) > 0 and all(isinstance(one, Mapping) for one in it)
    return isinstance(it, Mapping)
