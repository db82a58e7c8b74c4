"""The readers of other projects read what `migbsp export` writes, and find in it what the record has."""

import json
import subprocess
import sys
from pathlib import Path

import pandas
import polars
import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1 import trace_pb2

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python/src"))

import migbsp  # noqa: E402
from migbsp.analysis import call  # noqa: E402
from migbsp.frames import read_csv  # noqa: E402

SUPERSTEPS = 200
PROCESSES = 25
TABLES = ["supersteps", "calls", "candidates", "moves", "traces"]


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    settings = {"application.supersteps": SUPERSTEPS}
    return migbsp.simulate(ROOT / "conf/lbm.toml", folder, trace=True, settings=settings)["iii"]


def export(record, kind, file):
    call("export", record.folder, "--format", kind, "-o", file)
    return file


def events(record, kind):
    lines = (record.folder / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


@pytest.mark.parametrize("table", TABLES)
def test_pandas_and_polars_read_the_same_types(record, table, tmp_path):
    file = export(record, "csv", tmp_path) / f"{table}.csv"
    by_pandas = read_csv(file)
    by_polars = polars.read_csv(file, comment_prefix="#")
    assert by_pandas["superstep"].dtype == "int64"
    assert polars.Int64 == by_polars.schema["superstep"]
    for column in by_polars.columns:
        if by_polars.schema[column].is_numeric():
            pandas.testing.assert_series_equal(
                pandas.Series(by_polars[column].to_list(), name=column), by_pandas[column], check_dtype=False
            )
    for times in {"started", "at", "potential"} & set(by_polars.columns):
        assert by_polars.schema[times] == polars.Float64


def test_tables_have_the_rows_and_sums_of_the_record(record):
    assert len(record.supersteps) == len(events(record, "superstep")) == SUPERSTEPS
    calls = events(record, "call")
    assert len(record.calls) == len(calls)
    assert record.candidates.groupby("superstep").size().sum() == sum(len(call["list"]) for call in calls)
    assert len(record.moves) == len(events(record, "moved")) > 0
    assert len(record.traces) == SUPERSTEPS * PROCESSES
    assert record.traces["sent"].sum() == record.traces["received"].sum() > 0
    slowest = record.traces.groupby("superstep")["computation"].max()
    assert (slowest - record.supersteps["computation"]).abs().max() < 1e-9
    messages = sum(event["messages"] for event in events(record, "superstep"))
    assert record.supersteps["messages"].sum() == messages


def test_pj_dump_reads_paje(record, tmp_path):
    file = export(record, "paje", tmp_path / "run.paje")
    dumped = subprocess.run(["pj_dump", file], capture_output=True, text=True, check=True).stdout
    rows = [line.split(", ") for line in dumped.splitlines()]
    states = pandas.DataFrame([row for row in rows if row[0] == "State"]).rename(columns={2: "kind", 5: "took", 7: "name"})
    states["took"] = states["took"].astype(float)
    activities = states[states["kind"] == "Activity"].groupby("name")["took"].agg(["size", "sum"])
    for name, column in [("compute", "computation"), ("exchange", "exchange"), ("wait", "waiting")]:
        assert activities.loc[name, "size"] == len(record.traces)
        # pj_dump prints microseconds.
        assert activities.loc[name, "sum"] == pytest.approx(record.traces[column].sum(), abs=1e-6 * len(record.traces))
    assert activities.loc["move", "size"] == len(record.moves)
    phases = states[states["kind"] == "Phase"].groupby("name").size()
    assert phases["superstep"] == SUPERSTEPS
    assert phases["call"] == len(record.calls)


def test_opentelemetry_reads_spans(record, tmp_path):
    text = export(record, "otlp", tmp_path / "run.json").read_text()
    traces = json_format.Parse(text, trace_pb2.TracesData())
    spans = [span for resource in traces.resource_spans for scope in resource.scope_spans for span in scope.spans]
    names = pandas.Series([span.name for span in spans]).value_counts()
    assert names["superstep"] == SUPERSTEPS
    assert names["compute"] == (record.traces["computation"] > 0).sum()
    took = sum(span.end_time_unix_nano - span.start_time_unix_nano for span in spans if span.name == "compute")
    assert took == pytest.approx(1e9 * record.traces["computation"].sum(), rel=1e-6)
    identifiers = {span.span_id for span in spans}
    assert len(identifiers) == len(spans)
    assert all(span.parent_span_id in identifiers for span in spans if span.parent_span_id)


def test_trace_events_are_complete(record, tmp_path):
    """The form is that of the Trace Event Format of Chrome, which Perfetto reads."""
    document = json.loads(export(record, "perfetto", tmp_path / "run.json").read_text())
    slices = pandas.DataFrame([event for event in document["traceEvents"] if event["ph"] == "X"])
    assert (slices["dur"] >= 0).all()
    assert {event["ph"] for event in document["traceEvents"]} <= {"X", "M", "i", "s", "f"}
    took = slices.groupby("name")["dur"].agg(["size", "sum"])
    assert took.loc["compute", "size"] == (record.traces["computation"] > 0).sum()
    assert took.loc["compute", "sum"] == pytest.approx(1e6 * record.traces["computation"].sum(), rel=1e-6)
    # Slices of a track do not overlap, except that they enclose each other.
    processes = slices[slices["pid"] == 2].sort_values(["tid", "ts"])
    ends = (processes["ts"] + processes["dur"]).groupby(processes["tid"]).shift()
    assert (processes["ts"] - ends).min() > -1e-3


def test_the_table_of_a_sweep_has_the_types_of_its_values(tmp_path):
    settings = ["--set", "scheduler.interval=2,4", "--set", "scheduler.tolerance=0.25,0.5"]
    settings += ["--set", 'application.synthetic.memory="1 MB","8 MB"', "--set", "application.supersteps=20"]
    experiment = ROOT / "conf/dynamic/drift-few.toml"
    call("sweep", experiment, *settings, "--seeds", "1..2", "-o", tmp_path / "sweep")
    csv = read_csv(tmp_path / "sweep/runs.csv")
    by_polars = polars.read_csv(tmp_path / "sweep/runs.csv", comment_prefix="#")
    types = {"scheduler.interval": polars.Int64, "scheduler.tolerance": polars.Float64, "policy": polars.String}
    types |= {"application.synthetic.memory": polars.String, "seed": polars.Int64, "gain": polars.Float64}
    assert {name: by_polars.schema[name] for name in types} == types
    assert len(csv) == 2 * 2 * 2 * 3 * 2
