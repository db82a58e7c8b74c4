"""The notebook runs, and its outputs are those that it shows. MIGBSP_UPDATE=1 writes them."""

import os
import shutil
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"

# Pictures depend on the fonts of the machine.
COMPARED = ("text/plain", "text/html")


def test_the_notebook_shows_what_it_computes(tmp_path, monkeypatch):
    examples = tmp_path / "examples"
    examples.mkdir()
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python/src"))
    monkeypatch.setenv("MIGBSP", os.environ.get("MIGBSP", str(ROOT / "target/debug/migbsp")))
    shown = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    computed = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    client = NotebookClient(computed, timeout=300, resources={"metadata": {"path": str(examples)}}, record_timing=False)
    client.execute()
    if "MIGBSP_UPDATE" in os.environ:
        computed.metadata["language_info"] = {"name": "python"}
        nbformat.write(computed, EXAMPLES / "notebook.ipynb")
        shown = computed
    for should, is_now in zip(shown.cells, computed.cells, strict=True):
        assert texts(should) == texts(is_now), should.source


def texts(cell):
    """The outputs of a cell that are text."""
    outputs = cell.get("outputs", [])
    data = [output.get("data", {"text/plain": output.get("text")}) for output in outputs]
    return [{kind: text for kind, text in one.items() if kind in COMPARED and "<Figure" not in text} for one in data]
