"""`docs/guide/python.md` shows the examples."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_code_in_the_guide_is_that_of_the_examples() -> None:
    guide = (ROOT / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    files = {file.name: file.read_text() for file in (ROOT / "examples" / "python").glob("*.py")}
    shown = None
    blocks = 0
    for part in re.split(r"```python\n(.*?)```\n", guide, flags=re.DOTALL):
        names = re.findall(r"`examples/python/(\w+\.py)`", part)
        if names:
            shown = names[-1]
        elif re.search(r"^(import|class|def|    |state)", part):
            assert shown is not None
            assert part in files[shown], f"no longer in {shown}:\n{part}"
            blocks += 1
    assert blocks == 5


def test_the_guide_shows_the_whole_of_the_first_program() -> None:
    guide = (ROOT / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```\n", guide, flags=re.DOTALL)
    assert code is not None
    heat = (ROOT / "examples" / "python" / "heat.py").read_text()
    assert heat == '"""The heat equation on a square plate, by horizontal strips of rows."""\n\n' + code[1]
