"""Tables of all kinds have the same values."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import migbsp
from migbsp import frames

CSV = """\
# schema: "migbsp.sweep/1"
# overrides: [{"key": "a", "value": "# no comment"}]
experiment,host,is_drawn,count,seconds,error
"# one.toml",NA,true,1,0.5,
b#.toml,null,false,,inf,"failed: a, ""b""
in two lines"
c.toml,007,true,3,NaN,
"""
FAILED = 'failed: a, "b"\nin two lines'
ROWS = [
    {"experiment": "# one.toml", "host": "NA", "is_drawn": True, "count": 1, "seconds": 0.5, "error": None},
    {"experiment": "b#.toml", "host": "null", "is_drawn": False, "count": None, "seconds": math.inf, "error": FAILED},
    {"experiment": "c.toml", "host": "007", "is_drawn": True, "count": 3, "seconds": math.nan, "error": None},
]


@pytest.fixture(params=frames.KINDS)
def kind(request):
    if request.param != "rows":
        pytest.importorskip(request.param)
    return request.param


def listed(table, name):
    """A column with `None` for all that is missing."""
    return [None if value is None or value != value else value for value in frames.column(table, name)]


def test_a_table_has_the_values_of_the_file(kind, tmp_path):
    file = tmp_path / "table.csv"
    file.write_text(CSV)
    for table in (frames.read_csv(file, kind), frames.read_csv(CSV, kind)):
        assert list(table.columns) == list(ROWS[0])
        for name in ROWS[0]:
            assert listed(table, name) == [None if value != value else value for value in (row[name] for row in ROWS)]
        if kind != "polars":
            assert table.attrs["schema"] == "migbsp.sweep/1"
            assert table.attrs["overrides"][0]["value"] == "# no comment"


def test_a_table_is_made_of_rows(kind):
    table = frames.from_rows(ROWS, attrs={"seed": 1}, frames=kind)
    for name in ROWS[0]:
        assert listed(table, name) == [None if value != value else value for value in (row[name] for row in ROWS)]


def test_a_table_without_rows_has_its_columns(kind):
    assert list(frames.from_rows([], ["a", "b"], frames=kind).columns) == ["a", "b"]
    assert list(frames.read_csv("a,b\n", kind).columns) == ["a", "b"]


def test_the_package_chooses_frames_and_an_argument_goes_before(monkeypatch):
    monkeypatch.setattr(migbsp, "frames", "rows", raising=False)
    assert isinstance(frames.from_rows(ROWS), migbsp.Frame)
    pytest.importorskip("polars")
    assert type(frames.from_rows(ROWS, frames="polars")).__module__.startswith("polars")


def test_a_choice_before_the_first_table_counts():
    code = "import migbsp; migbsp.frames = 'rows'; from migbsp import analysis; import migbsp.frames as module"
    code += "; import sys; print(sys.modules['migbsp.frames'].kind())"
    environment = {**os.environ, "PYTHONPATH": str(Path(frames.__file__).parent.parent)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout == "rows\n"


def test_unknown_frames_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="there are pandas, polars, rows"):
        frames.kind("arrow")


def test_a_frame_is_a_sequence_of_rows():
    frame = migbsp.Frame(ROWS, attrs={"seed": 1})
    assert len(frame) == 3 and frame[0]["host"] == "NA" and [row["count"] for row in frame] == [1, None, 3]
    assert frame["count"] == [1, None, 3]
    assert frame[1:].columns == frame.columns and len(frame[1:]) == 2
    assert frame[["host", "count"]].rows == [{"host": row["host"], "count": row["count"]} for row in ROWS]
    assert frame[["host"]].attrs == {"seed": 1}
    with pytest.raises(KeyError, match="no column 'hosts': there are experiment, host"):
        _ = frame["hosts"]
    assert repr(frame[["host", "count"]]) == "host  count\n  NA      1\nnull\n 007      3"
    assert "b#.toml" in frame._repr_html_()
    assert "100 rows, of which 60 are shown" in repr(migbsp.Frame([{"a": index} for index in range(100)]))
