"""Simulations, comparisons, explanations and errors, by the real command."""

import importlib.util
import functools
import json
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import migbsp
from migbsp import _toml, analysis

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = str(Path(analysis.__file__).parent.parent)
LBM = ROOT / "conf/lbm.toml"
SHORT = {"application.supersteps": 60}
HEAT = {
    "application": {"workload": "heat", "processes": 8, "supersteps": 20, "heat": {"width": 40, "height": 32, "mode": [1, 2]}},
    "platform": {"file": str(ROOT / "conf/platforms/local.toml")},
    "placement": {"per_host": 2},
    "scheduler": {"policy": "adaptive"},
}
numpy_is_there = importlib.util.find_spec("numpy") is not None


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    """Tables without pandas and polars, which need not be there."""
    monkeypatch.setattr(migbsp, "frames", "rows", raising=False)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return migbsp.simulate(LBM, tmp_path_factory.mktemp("lbm"), settings=SHORT, trace=True, frames="rows")


def test_a_simulation_has_a_record_for_each_scenario(runs):
    assert list(runs) == ["i", "ii", "iii"] and len(runs) == 3
    assert runs.record is runs["iii"]
    assert runs.summary["scenario"] == ["i", "ii", "iii"]
    assert runs.summary["seconds"] == [one["seconds"] for one in runs.data["runs"]]
    assert runs.summary["gain"][0] == 0
    assert runs.summary["migrations"] == [0, 0, len(runs["iii"].moves)] and len(runs["iii"].moves) > 0
    assert runs.summary.attrs["schema"] == "migbsp.simulate/1"
    assert runs["iii"].description["schema"] == "migbsp.run/1"


def test_tables_have_the_rows_of_the_record(runs):
    record = runs["iii"]
    assert len(record.supersteps) == 60
    assert len(record.traces) == 60 * 25
    assert len(record.calls) == runs.summary["calls"][2]
    assert len(record.candidates) >= len(record.calls)
    assert record.notes.columns == ["superstep", "note", "count", "sum", "min", "max"] and len(record.notes) == 0
    assert record.moves[0]["process"] == "p21"
    assert record.supersteps["ended"][-1] == pytest.approx(runs.summary["seconds"][2], rel=1e-3)


def test_a_temporary_folder_lasts_as_long_as_its_records():
    runs = migbsp.simulate(LBM, settings=SHORT, scenario="i")
    record, folder = runs["i"], runs.folder
    del runs
    assert folder.is_dir() and len(record.supersteps) == 60
    with pytest.raises(TypeError, match="out="):
        pickle.dumps(record)
    del record
    assert not folder.exists()


def test_a_record_in_a_folder_can_be_sent_to_another_process(runs):
    assert len(pickle.loads(pickle.dumps(runs))["iii"].supersteps) == 60


def test_an_experiment_is_a_file_a_text_or_a_dictionary(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = _toml.document(HEAT)
    (tmp_path / "heat.toml").write_text(text)
    given = [tmp_path / "heat.toml", "heat.toml", text, HEAT]
    digests = [migbsp.simulate(one).data["runs"][-1]["outputs_sha256"] for one in given]
    assert len(set(digests)) == 1


def test_arguments_are_options_of_the_command():
    runs = migbsp.simulate(
        HEAT,
        processes=4,
        parameters={"width": 24},
        policy="migbsp",
        scenario="iii",
        seed=7,
        settings={"scheduler.interval": 5, "application.supersteps": 12},
        jobs=1,
    )
    described = runs["iii"].description
    assert (runs.data["processes"], runs.data["seed"], runs.data["policy"]) == (4, 7, "migbsp")
    assert described["configuration"]["application"]["heat"]["width"] == 24
    assert described["configuration"]["scheduler"]["interval"] == 5
    assert len(runs["iii"].supersteps) == 12


def test_a_platform_may_be_a_dictionary():
    platform = {"set": [{"name": "only", "hosts": 2, "speed": "2 Ginstr/s", "link": {"bandwidth": "1 Gbps", "latency": "50 us"}}]}
    settings = {"placement.per_host": 4}
    one, other = (migbsp.simulate(HEAT, platform=platform, settings=settings) for _ in range(2))
    assert one.data["hosts"] == 2
    assert one.data["configuration_sha256"] == other.data["configuration_sha256"]


def test_outputs_are_those_of_the_processes(tmp_path):
    runs = migbsp.simulate(HEAT, tmp_path / "runs", outputs=True)
    assert len(runs.outputs) == 8
    assert sorted(runs.output_files) == ["outputs.json", "plate.npy", "plate.pgm"]
    if numpy_is_there:
        import numpy

        plate = numpy.load(runs.output_files["plate.npy"])
        assert numpy.array_equal(numpy.concatenate(runs.outputs).reshape(plate.shape), plate)


def test_outputs_that_were_not_kept_are_an_error(runs):
    with pytest.raises(AttributeError, match="outputs=True"):
        _ = runs.outputs


def test_a_notebook_shows_a_table_and_a_timeline(runs):
    shown = runs._repr_html_()
    assert "lbm, 25 processes" in shown and "<table>" in shown
    assert 'src="data:image/svg+xml;base64,' in shown
    assert runs["iii"].picture("breakdown").svg.startswith("<svg")
    assert repr(runs["iii"].picture()) == "Picture(name='timeline')"


def test_an_explanation_is_text_and_data(runs):
    whole = migbsp.explain(runs)
    assert whole.data["schema"] == "migbsp.explain/1"
    assert whole.data["sentences"][0] in str(whole)
    process = runs["iii"].explain(process="p21")
    assert "p21" in str(process) and "p21" in process._repr_html_()


def test_a_changed_record_is_not_verified(runs, tmp_path):
    verified = migbsp.verify(runs)
    assert verified.calls == len(runs["iii"].calls) and verified.is_complete
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "run.json").write_bytes((runs["iii"].folder / "run.json").read_bytes())
    events = [json.loads(line) for line in (runs["iii"].folder / "events.jsonl").read_text().splitlines()]
    call = next(event for event in events if event["event"] == "call")
    call["interval"] += 1
    (changed / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    with pytest.raises(migbsp.CheckError) as caught:
        migbsp.verify(changed)
    assert any(one["differences"] for one in caught.value.data["calls"])


def test_a_comparison_has_runs_and_differences():
    settings = {"application.supersteps": 20}
    experiment = ROOT / "conf/dynamic/drift-few.toml"
    compared = migbsp.compare(experiment, policies=["none", "adaptive"], seeds=range(1, 4), settings=settings)
    assert len(compared.runs) == 2 * 3
    assert compared.overall["policy"] == ["none", "adaptive"]
    assert compared.differences["against"] == ["none", "none"]
    assert compared.summaries["runs"] == [3, 3]
    assert "<table>" in compared._repr_html_() and "image/svg+xml" in compared._repr_html_()
    with pytest.raises(migbsp.CheckError) as caught:
        migbsp.compare(experiment, policies=["none", "migbsp"], claims=["migbsp < 0.5 * none"], seeds=1, settings=settings)
    assert len(caught.value.data["runs"]) == 2


def test_errors_have_the_class_of_their_exit_code(tmp_path):
    with pytest.raises(migbsp.UsageError, match="often") as usage:
        migbsp.simulate(LBM, settings={"scheduler.interval": "often"})
    with pytest.raises(migbsp.InputError, match="cannot be read") as missing:
        migbsp.simulate(tmp_path / "nowhere.toml")
    assert analysis.ERRORS == {2: migbsp.UsageError, 3: migbsp.CheckError, 4: migbsp.InputError, 5: migbsp.ClusterError}
    assert (usage.value.exit_code, missing.value.exit_code) == (2, 4)
    copy = pickle.loads(pickle.dumps(usage.value))
    assert (type(copy), str(copy), copy.exit_code) == (migbsp.UsageError, str(usage.value), 2)


def test_a_warning_of_the_command_is_a_warning():
    script = [{"superstep": 5000, "process": "p1", "to": "aquario-1"}]
    with pytest.warns(UserWarning, match="the run is over after 60"):
        migbsp.simulate(LBM, settings={**SHORT, "scheduler.script": script, "scheduler.scenario": "iii"})


def test_a_lost_cluster_is_an_error_of_its_own(tmp_path):
    arguments = ("--kill", "all@5")
    with pytest.raises(migbsp.ClusterError) as caught:
        analysis.call("-q", "up", "--local", 2, *arguments, "--", "run", LBM, "--set", "application.supersteps=100000")
    assert caught.value.exit_code == 5


def test_a_class_that_is_no_program_is_refused():
    with pytest.raises(migbsp.UsageError, match=r"Heat is no `migbsp\.Program`"):
        migbsp.simulate(type("Heat", (), {"__module__": "nowhere"}))


NOTEBOOK = """
class Counter(migbsp.Program):
    def __init__(self, ctx, *, last=5):
        self.last, self.sum = last, 0

    def superstep(self, ctx):
        self.sum += ctx.rank
        ctx.charge(1000)
        if ctx.superstep == self.last:
            return ctx.halt(self.sum)
"""


def test_a_class_of_a_notebook_is_served_by_its_interpreter():
    cell = {"migbsp": migbsp, "__name__": "notebook"}
    exec(NOTEBOOK, cell)
    migbsp.check(cell["Counter"], processes=3)
    simulation = migbsp.simulate(cell["Counter"], processes=3, parameters={"last": 2})
    assert list(simulation.outputs) == [0, 3, 6]


@pytest.fixture
def long_run(tmp_path, monkeypatch):
    """A process that simulates for a long time, and the file that its record has until it ends."""
    script = tmp_path / "long.py"
    script.write_text(
        "import migbsp\n"
        f"settings = {{'application.supersteps': 900000, 'scheduler.scenario': 'iii'}}\n"
        f"migbsp.simulate({str(LBM)!r}, {str(tmp_path / 'runs')!r}, settings=settings)\n"
    )
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    # A shell has jobs in its background ignore interrupts, and so would the child.
    listens = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    child = subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True, preexec_fn=listens)
    partial = tmp_path / "runs/iii/run.json.partial"
    wait_for(partial.exists)
    assert child.poll() is None
    return child, partial


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupt_ends_the_command_in_its_own_way(long_run):
    child, partial = long_run
    child.send_signal(signal.SIGINT)
    _, stderr = child.communicate(timeout=60)
    assert child.returncode != 0 and "KeyboardInterrupt" in stderr
    assert "failure" in json.loads(partial.read_text())


@pytest.mark.skipif(not analysis._leash(), reason="setpriv of util-linux is not there")
def test_the_command_ends_with_the_process_that_called_it(long_run):
    child, partial = long_run
    child.kill()
    child.communicate(timeout=60)
    wait_for(lambda: '"failure"' in partial.read_text())


PROGRAM = """
import migbsp


class Ring(migbsp.Program):
    def __init__(self, ctx, *, rounds=1):
        self.sum, self.number, self.rounds = 0.0, ctx.rank, rounds

    def superstep(self, ctx):
        for _, self.number in ctx.messages:
            self.sum += self.number
        ctx.charge(1_000_000)
        if ctx.superstep == self.rounds * ctx.size:
            return ctx.halt([self.sum, float("inf")])
        ctx.send((ctx.rank + 1) % ctx.size, self.number)
"""
has_external = "external:" in analysis.call("help", "workloads")
has_check = "[FILE]" in analysis.call("check", "--help")


@pytest.fixture
def ring(tmp_path, monkeypatch):
    """The class of a program in a file."""
    (tmp_path / "ring_of_processes.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    yield importlib.import_module("ring_of_processes").Ring
    del sys.modules["ring_of_processes"]


@pytest.mark.skipif(not has_external, reason="this migbsp has no external programs")
def test_an_experiment_may_be_a_class_or_its_file(ring, tmp_path):
    parameters = {"rounds": 3}
    by_class = migbsp.simulate(ring, processes=5, parameters=parameters)
    by_file = migbsp.simulate(tmp_path / "ring_of_processes.py", processes=5, parameters=parameters)
    outputs = [[float(one) for one in output] for output in by_class.outputs]
    assert outputs == [[30.0, float("inf")]] * 5
    assert list(by_class) == ["i", "ii", "iii"]
    assert by_class.data["runs"][0]["outputs_sha256"] == by_file.data["runs"][0]["outputs_sha256"]
    assert by_class["i"].description["configuration"]["application"]["external"]["charge"] == "declared"


@pytest.mark.skipif(not has_external, reason="this migbsp has no external programs")
def test_a_class_runs_on_local_nodes(ring):
    ended = migbsp.run(ring, processes=4, local=2, policy="none")
    assert [float(output[0]) for output in ended.outputs] == [6.0] * 4


@pytest.mark.skipif(not has_external, reason="this migbsp has no external programs")
def test_a_failure_of_a_program_has_its_traceback(ring, tmp_path):
    (tmp_path / "broken.py").write_text(PROGRAM.replace("ctx.charge(1_000_000)", "1 / (2 - ctx.superstep)"))
    with pytest.raises(migbsp.MigbspError, match="ZeroDivisionError") as caught:
        migbsp.simulate(tmp_path / "broken.py", processes=3)
    assert caught.value.exit_code == 1


@pytest.mark.skipif(not has_check, reason="this migbsp checks no programs")
def test_a_program_is_checked_and_recorded(ring, tmp_path):
    assert migbsp.check(ring, processes=3).data["moves"] > 0
    assert "3 processes" in str(migbsp.check(ring, processes=3))
    trace = migbsp.record(ring, tmp_path / "ring.trace", processes=3)
    application = {"workload": "recorded", "processes": 3, "recorded": {"file": str(trace)}}
    replayed = migbsp.simulate({**HEAT, "application": application})
    simulated = migbsp.simulate(ring, processes=3)
    assert replayed.data["runs"][-1]["outputs_sha256"] == simulated.data["runs"][-1]["outputs_sha256"]
    assert [float(output[0]) for output in replayed.outputs] == [3.0] * 3


@pytest.mark.skipif(not has_check, reason="this migbsp checks no programs")
def test_a_program_that_breaks_a_law_is_an_error(ring, tmp_path):
    counted = PROGRAM.replace("import migbsp\n", "import migbsp\n\ncalls = []\n")
    counted = counted.replace("self.sum += self.number", "calls.append(1)\n            self.sum += len(calls)")
    (tmp_path / "counted.py").write_text(counted)
    with pytest.raises(migbsp.CheckError):
        migbsp.check(tmp_path / "counted.py", processes=3)


def test_a_run_on_local_nodes_has_a_record(tmp_path):
    ended = migbsp.run(HEAT, tmp_path / "live", local=2, sets=2, slow={2: 0.5}, outputs=True, settings={"placement.per_host": 4})
    assert ended.data["schema"] == "migbsp.live/1"
    assert ended.summary["supersteps"] == [20]
    assert len(ended.record.supersteps) == 20
    assert len(ended.outputs) == 8
    assert len(ended.moves) == len(ended.record.moves)
    simulated = migbsp.simulate(HEAT, scenario="i")
    assert ended.data["run"]["outputs_sha256"] == simulated.data["runs"][0]["outputs_sha256"]
    assert "image/svg+xml" in ended._repr_html_()
    with pytest.raises(migbsp.UsageError, match="--force"):
        migbsp.run(HEAT, tmp_path / "live", local=2)
    with pytest.raises(migbsp.UsageError, match="local"):
        migbsp.run(HEAT, slow={1: 0.5})


def test_dictionaries_are_written_as_toml():
    tomllib = pytest.importorskip("tomllib", reason="the standard library reads TOML from Python 3.11 on")
    values = {
        "text": 'a "quoted"\\ \n\t\x7f text, é',
        "numbers": [1, -2, 1e16, 1e-7, 0.1, 2**62],
        "truth": True,
        "mixed": [{"a": 1}, 2],
        "empty": [],
        "table": {"key with spaces": "x", "é": 1, "inner": {"deep": [[1, 2], [3]]}, "none": {}},
        "tables": [{"name": "a", "link": {"latency": "5 us"}}, {"name": "b"}],
        "path": "a/b",
    }
    assert tomllib.loads(_toml.document(values)) == values
    assert tomllib.loads(_toml.document({"left": 1, "out": None})) == {"left": 1}
    inline = {name: value for name, value in values.items()}
    assert tomllib.loads(f"it = {_toml.value(inline)}")["it"] == values
    assert _toml.value(Path("a/b")) == '"a/b"'
    if numpy_is_there:
        import numpy

        assert _toml.value([numpy.float64(0.5), numpy.int32(3), numpy.arange(2)]) == "[0.5, 3, [0, 1]]"
    with pytest.raises(TypeError):
        _toml.value(object())
