"""Where the command `migbsp` is."""

from __future__ import annotations

import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def find_binary() -> Path:
    """The path of the command `migbsp`.

    These places are searched, in this order: the variable `MIGBSP`; the folders for scripts of this environment, of the
    user and of the base installation; beside the package; `PATH`; `target/` of the repository that this package is in.

    Raises `FileNotFoundError` if it is in none of them, or if `MIGBSP` names a file that does not exist.
    """
    named = os.environ.get("MIGBSP")
    if named:
        if Path(named).is_file():
            return Path(named)
        raise FileNotFoundError(f"the variable MIGBSP names {named}, which is not a file")
    for place in _places():
        if place.is_file() and os.access(place, os.X_OK):
            return place
    raise FileNotFoundError(
        "no command migbsp: install the package with `pip install`, or build it with `cargo build --release` and name it "
        "with MIGBSP=FILE"
    )


def _places() -> Iterator[Path]:
    name = "migbsp" + (sysconfig.get_config_var("EXE") or "")
    yield Path(sysconfig.get_path("scripts")) / name
    try:
        yield Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) / name
    except (AttributeError, KeyError):
        yield Path(site.getuserbase()) / "bin" / name
    yield Path(sysconfig.get_path("scripts", vars={"base": sys.base_prefix})) / name
    package = Path(__file__).resolve().parent
    # `pip install --target FOLDER` has FOLDER/bin beside FOLDER/migbsp.
    yield package.parent / "bin" / name
    yield package / name
    found = shutil.which(name)
    if found is not None:
        yield Path(found)
    for folder in package.parents:
        if (folder / "cli" / "Cargo.toml").is_file():
            yield folder / "target" / "release" / name
            yield folder / "target" / "debug" / name
            return
