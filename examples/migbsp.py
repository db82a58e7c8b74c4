"""The Python package of this repository for what is beside this file, without installing it: `python/README.md`."""

import sys
from pathlib import Path

# This module takes its own place in the list of modules.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python/src"))
del sys.modules[__name__]

import migbsp  # noqa: E402
from migbsp import analysis  # noqa: E402
from migbsp import frames  # noqa: E402

migbsp.call = analysis.call
migbsp.read_csv = frames.read_csv
