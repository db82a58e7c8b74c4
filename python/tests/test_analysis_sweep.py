"""A sweep that an executor executes in parts is the sweep that the command makes alone, byte for byte."""

import multiprocessing
import os
import shutil
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import migbsp
from migbsp import analysis

ROOT = Path(__file__).resolve().parent.parent.parent
VALUES = {"scheduler.interval": [2, 4], "application.supersteps": [20], "application.synthetic.memory": ["1 MB", "2 MB"]}
LBM = {"application.lbm-kernel.width": 32, "application.lbm-kernel.height": 32, "application.supersteps": 300}

PROGRAM = """
import migbsp


class Sum(migbsp.Program):
    def __init__(self, ctx):
        self.sum = ctx.rank

    def superstep(self, ctx):
        ctx.charge(1000)
        if ctx.superstep == 3:
            return ctx.halt(self.sum)
        self.sum += sum(number for _, number in ctx.messages)
        ctx.send((ctx.rank + 1) % ctx.size, self.sum)


migbsp.main(Sum)
"""


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    monkeypatch.setattr(migbsp, "frames", "rows", raising=False)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder of experiments, one of which is behind a link, and the current folder in it."""
    shutil.copytree(ROOT / "conf", tmp_path / "project/conf")
    (tmp_path / "project/link").symlink_to(tmp_path / "project/conf/dynamic")
    (tmp_path / "project/notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "project/notebooks")
    return tmp_path / "project"


def assert_same(one, other):
    """Both folders have the same sweep. Runs are lines in the order in which they were done."""
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in other.iterdir())
    for name in ("plan.json", "runs.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    lines = [sorted((folder / "runs.jsonl").read_bytes().splitlines()) for folder in (one, other)]
    assert lines[0] == lines[1]


class Elsewhere(Executor):
    """Executes while the project is at another place, as if on a machine that does not have it."""

    def __init__(self, project, fail_at=None):
        self.project, self.fail_at, self.submitted = project, fail_at, 0

    def submit(self, function, /, *arguments):
        self.submitted += 1
        future = Future()
        if self.submitted == self.fail_at:
            future.set_exception(KeyboardInterrupt())
            return future
        away, here = self.project.with_name("away"), os.getcwd()
        self.project.rename(away)
        try:
            os.chdir("/")
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)
        finally:
            away.rename(self.project)
            os.chdir(here)
        return future


@pytest.mark.parametrize("how", ["relative", "absolute", "link", "text"])
def test_workers_are_sent_all_files(how, project, tmp_path):
    text = (project / "conf/dynamic/drift-few.toml").read_text().replace("../platforms", "../conf/platforms")
    experiments = {
        "relative": ["../conf/dynamic/drift-few.toml", "../conf/dynamic/hotspot-few.toml"],
        "absolute": project / "conf/dynamic/drift-few.toml",
        "link": "../link/drift-few.toml",
        "text": text,
    }[how]
    local = migbsp.sweep(experiments, tmp_path / "local", values=VALUES, policies=["none", "migbsp"], seeds="1..2")
    executor = Elsewhere(project)
    divided = migbsp.sweep(
        experiments, tmp_path / "divided", values=VALUES, policies=["none", "migbsp"], seeds="1..2", executor=executor, parts=3
    )
    assert executor.submitted == 3
    assert divided == local and divided.attrs == local.attrs
    assert_same(tmp_path / "divided", tmp_path / "local")
    assert not (tmp_path / "divided.parts").exists()


def test_platforms_among_the_values_are_sent(project, tmp_path):
    values = {"platform.file": ["../platforms/five.toml", "../conf/platforms/testbed.toml"], "application.supersteps": 10}
    arguments = {"values": values, "policies": ["none"], "seeds": 1}
    local = migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "local", **arguments)
    migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "divided", executor=Elsewhere(project), **arguments)
    assert len(local) == 2
    assert_same(tmp_path / "divided", tmp_path / "local")


@pytest.mark.skipif("external:" not in analysis.call("help", "workloads"), reason="this migbsp has no external programs")
def test_programs_are_sent(project, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(analysis.__file__).parent.parent))
    (project / "notebooks/sum.py").write_text(PROGRAM)
    external = {"command": [sys.executable, "sum.py"]}
    experiment = {
        "application": {"workload": "external", "processes": 4, "external": external},
        "platform": {"file": "../conf/platforms/local.toml"},
    }
    arguments = {"values": {"application.processes": [2, 3]}, "policies": ["none"], "seeds": 1}
    local = migbsp.sweep(experiment, tmp_path / "local", **arguments)
    executor = Elsewhere(project)
    assert migbsp.sweep(experiment, tmp_path / "divided", executor=executor, **arguments) == local
    assert executor.submitted == 2
    assert_same(tmp_path / "divided", tmp_path / "local")


def test_variables_of_the_caller_are_those_of_the_workers(project, monkeypatch, tmp_path):
    monkeypatch.setenv("MIGBSP__SCHEDULER__TOLERANCE", "0.25")
    arguments = {"values": {"application.supersteps": 20}, "policies": ["migbsp"], "seeds": "1..2"}
    local = migbsp.sweep("../conf/dynamic/drift-few.toml", **arguments)

    class Other(Elsewhere):
        def submit(self, function, /, *parts):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("MIGBSP__SCHEDULER__TOLERANCE", "0.75")
                patch.setenv("MIGBSP__RUN__TRACE", "true")
                return super().submit(function, *parts)

    assert migbsp.sweep("../conf/dynamic/drift-few.toml", executor=Other(project), **arguments) == local
    assert "MIGBSP__SCHEDULER__TOLERANCE" in local.attrs["overrides"][0]["from"]


def test_a_pool_of_processes_makes_the_same_sweep(project, tmp_path):
    arguments = {"values": VALUES, "seeds": range(1, 3)}
    migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "local", **arguments)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "divided", executor=executor, **arguments)
    assert_same(tmp_path / "divided", tmp_path / "local")


def test_a_cluster_of_dask_makes_the_same_sweep(project, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    arguments = {"values": VALUES, "seeds": range(1, 3)}
    migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "local", **arguments)
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "divided", executor=client.get_executor(), **arguments)
    assert_same(tmp_path / "divided", tmp_path / "local")


def test_a_sweep_goes_on_from_its_parts(project, tmp_path):
    arguments = {"values": VALUES, "policies": ["none"], "seeds": "1..2"}
    local = migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "local", **arguments)
    interrupted = Elsewhere(project, fail_at=4)
    with pytest.raises(KeyboardInterrupt):
        migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "divided", executor=interrupted, parts=5, **arguments)
    kept = tmp_path / "divided.parts"
    assert sorted(path.name for path in kept.iterdir()) == ["1-of-5", "2-of-5", "3-of-5"]
    (kept / "2-of-5/plan.json").write_text("{}")
    again = Elsewhere(project)
    assert migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "divided", executor=again, **arguments) == local
    assert again.submitted == 3
    assert_same(tmp_path / "divided", tmp_path / "local")
    nothing = Elsewhere(project)
    assert migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "divided", executor=nothing, **arguments) == local
    assert nothing.submitted == 0


def test_a_run_that_fails_is_a_warning_and_a_row(tmp_path):
    values = {**LBM, "application.lbm-kernel.reynolds": [100, 100_000]}
    arguments = {"values": values, "policies": ["none"], "seeds": 1}
    with pytest.warns(UserWarning, match="the flow became unstable"):
        local = migbsp.sweep(ROOT / "conf/lbm-cavity.toml", tmp_path / "local", **arguments)
    with pytest.warns(UserWarning, match="the flow became unstable"), ThreadPoolExecutor(2) as executor:
        divided = migbsp.sweep(ROOT / "conf/lbm-cavity.toml", tmp_path / "divided", executor=executor, **arguments)
    assert local["error"][0] is None and "unstable" in local["error"][1]
    assert divided == local
    assert_same(tmp_path / "divided", tmp_path / "local")


def test_what_a_sweep_refuses_is_refused_before_parts_are_submitted(project):
    executor = Elsewhere(project)
    with pytest.raises(migbsp.UsageError, match="must be at least 1"):
        migbsp.sweep("../conf/lbm.toml", values={"application.processes": [25, 0]}, executor=executor)
    assert executor.submitted == 0


def test_a_part_of_another_sweep_is_refused(project, tmp_path):
    class Forgetful(Elsewhere):
        def submit(self, function, /, part):
            return super().submit(function, analysis._Part(**{**vars(part), "options": [*part.options[:-1], "5"]}))

    with pytest.raises(migbsp.InputError, match="another sweep"):
        migbsp.sweep("../conf/dynamic/drift-few.toml", tmp_path / "divided", values=VALUES, seeds=1, executor=Forgetful(project))


def test_errors_of_workers_have_the_paths_of_the_caller(project):
    class Lossy(Elsewhere):
        def submit(self, function, /, part):
            files = {name: file for name, file in part.files.items() if "platforms" not in name}
            return super().submit(function, analysis._Part(**{**vars(part), "files": files}))

    file = project / "conf/dynamic/drift-few.toml"
    with pytest.raises(migbsp.InputError, match=f"^error: {project}/conf/.*cannot be read"):
        migbsp.sweep(file, values=VALUES, seeds=1, executor=Lossy(project))
