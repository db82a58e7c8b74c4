"""Tests import the package from `src`, and the examples of the repository."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT.parent / "examples" / "python"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(EXAMPLES)]
# Executors of the tests import the same.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))


@pytest.fixture(autouse=True)
def environment():
    """What libraries set, no later test has: dask gives all texts of all interpreters one hash."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
