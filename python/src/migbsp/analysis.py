"""Runs migbsp and reads what it writes: records, tables, sweeps.

    import migbsp

    runs = migbsp.simulate("conf/lbm.toml", trace=True)
    runs.summary
    runs["iii"].moves

An experiment is the path of a file, the text of one (more than one line of TOML), a dictionary of its sections, or a class
of `migbsp.Program`. Paths in a text or a dictionary are relative to the current folder. Times and durations are in seconds,
sizes in bytes; `migbsp help export` lists the columns of tables. What the command refuses is a `MigbspError`, and what it
warns of is a warning.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import inspect
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from . import _toml
from . import frames as _frames
from ._attached import attached
from ._binary import find_binary
from ._program import Program
from ._values import decode
from .frames import Frame, Table

__all__ = [
    "CheckError",
    "Checked",
    "ClusterError",
    "Comparison",
    "Executor",
    "Experiment",
    "Explanation",
    "Frame",
    "InputError",
    "MigbspError",
    "Picture",
    "Record",
    "Run",
    "Simulation",
    "Table",
    "UsageError",
    "Verified",
    "call",
    "check",
    "compare",
    "explain",
    "heat_map",
    "record",
    "run",
    "simulate",
    "superstep_times",
    "sweep",
    "timeline",
    "verify",
]

Experiment: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | type[Any]"
Settings: TypeAlias = "Mapping[str, Any]"
Seeds: TypeAlias = "str | int | Iterable[int]"


class MigbspError(Exception):
    """migbsp has ended with another exit code than 0; the message is its own."""

    #: `migbsp help exit-codes`; negative: the signal that ended it.
    exit_code = 1
    #: What it had printed.
    output = ""

    def __init__(self, message: str, exit_code: int | None = None, output: str = "") -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code
        self.output = output

    @property
    def data(self) -> Any:
        """The result, if there was one in spite of the error: of `verify`, what differs; of `compare`, the runs."""
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(self.output)
        return None


class UsageError(MigbspError):
    """An argument or a setting is invalid."""

    exit_code = 2


class CheckError(MigbspError):
    """A verification, a claim or a law of programs does not hold."""

    exit_code = 3


class InputError(MigbspError):
    """A file is invalid, or an experiment cannot be run."""

    exit_code = 4


class ClusterError(MigbspError):
    """A cluster or one of its nodes failed."""

    exit_code = 5


def simulate(
    experiment: Experiment,
    out: str | os.PathLike[str] | None = None,
    *,
    processes: int | None = None,
    parameters: Settings | None = None,
    platform: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    policy: str | None = None,
    scenario: str | None = None,
    seed: int | None = None,
    settings: Settings | None = None,
    trace: bool = False,
    outputs: bool | None = None,
    jobs: int | None = None,
    frames: str | None = None,
) -> Simulation:
    """Simulates an experiment: a `Record` for each scenario.

    Records are kept in the folder `out`, whose records are replaced, or else as long as the result or one of its records is
    in use. `settings` has values by key (`{"scheduler.interval": 8}`), `parameters` those of the workload, and `platform`
    is a file or a dictionary. `outputs` keeps what the programs computed, by default for programs of your own.
    """
    given = _Given.of(experiment, processes)
    folder = _Folder.of(out)
    kept = OF_PROGRAMS if given.is_external else OF_WORKLOADS
    keeps_outputs = given.is_external if outputs is None else outputs
    arguments = ["simulate", given.name, "--format", "json", "--out", folder.path, "--force"]
    arguments += _options(given, processes, parameters, platform, policy, scenario, seed, settings)
    arguments += ["--trace"] if trace else []
    arguments += folder.outputs(kept) if keeps_outputs else []
    arguments += ["--jobs", jobs] if jobs else []
    data = json.loads(_succeed(arguments, text=given.text).out)
    return Simulation(data, folder, kept if keeps_outputs else None, frames)


def run(
    experiment: Experiment,
    out: str | os.PathLike[str] | None = None,
    *,
    cluster: str | os.PathLike[str] | None = None,
    identity: str | os.PathLike[str] | None = None,
    local: int | None = None,
    sets: int | None = None,
    slow: Mapping[int, float] | None = None,
    processes: int | None = None,
    parameters: Settings | None = None,
    policy: str | None = None,
    seed: int | None = None,
    settings: Settings | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    trace: bool = False,
    outputs: bool | None = None,
    force: bool = False,
    arguments: Sequence[str] = (),
    frames: str | None = None,
) -> Run:
    """Runs an experiment on hosts: those of the file `cluster`, or `local` nodes on this machine.

    Of local nodes, `sets` says in how many Sets they are and `slow` to which fraction of their speed some are held, as in
    `{4: 0.4}`. `arguments` are further ones of `migbsp run`. A record that is complete is replaced only with `force`.
    """
    given = _Given.of(experiment, processes)
    folder = _Folder.of(out)
    kept = OF_PROGRAMS if given.is_external else OF_WORKLOADS
    keeps_outputs = given.is_external if outputs is None else outputs
    command: list[Any] = []
    if local is not None:
        command += ["up", "--local", local]
        command += ["--sets", sets] if sets else []
        command += [part for node, speed in (slow or {}).items() for part in ("--slow", f"{node}:{speed}")]
        command += ["--"]
    elif sets or slow:
        raise UsageError("`sets` and `slow` are those of local nodes: how many are `local`?")
    command += ["run", given.name, "--format", "json", "--out", folder.path]
    command += ["--force"] if force else []
    command += ["--cluster", cluster] if cluster is not None else []
    command += ["--identity", identity] if identity is not None else []
    command += ["--checkpoint", checkpoint] if checkpoint is not None else []
    command += _options(given, processes, parameters, None, policy, None, seed, settings)
    command += ["--trace"] if trace else []
    command += folder.outputs(kept) if keeps_outputs else []
    data = json.loads(_succeed([*command, *arguments], text=given.text).out)
    return Run(data, folder, kept if keeps_outputs else None, frames)


def compare(
    experiments: Experiment | Sequence[Experiment],
    *,
    policies: Sequence[str] = (),
    seeds: Seeds = "1..5",
    against: str | None = None,
    claims: Sequence[str] = (),
    settings: Settings | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    frames: str | None = None,
) -> Comparison:
    """Compares policies on experiments with several seeds; `out` keeps the runs, from which the same call goes on.

    A claim is as `"adaptive <= none"`; one that does not hold is a `CheckError`. A run that fails is a warning, and has an
    `error` in `runs`.
    """
    names, text = _several(experiments)
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "gains.svg"
        arguments = ["compare", *names, "--format", "json", "--svg", picture, "--seeds", _seeds(seeds)]
        arguments += [part for policy in policies for part in ("--policy", policy)]
        arguments += ["--against", against] if against else []
        arguments += [part for claim in claims for part in ("--assert", claim)]
        arguments += _set(settings or {})
        arguments += ["--out", out] if out is not None else []
        arguments += ["--jobs", jobs] if jobs else []
        ended = _succeed(arguments, text=text, or_partly=True)
        drawn = Picture("gains", picture.read_text(encoding="utf-8")) if picture.exists() else None
    return Comparison(json.loads(ended.out), drawn, frames)


def sweep(
    experiments: Experiment | Sequence[Experiment],
    out: str | os.PathLike[str] | None = None,
    *,
    values: Mapping[str, Any] | None = None,
    policies: Sequence[str] = (),
    seeds: Seeds = "1..10",
    executor: Executor | None = None,
    parts: int | None = None,
    retry: bool = False,
    jobs: int | None = None,
    frames: str | None = None,
) -> Table:
    """Runs all combinations of `values`, and returns a row for each run.

    The values of a key are a list, or a range as text: `{"scheduler.interval": [2, 4, 8], "application.processes":
    "16..64:16"}`. What `out` has of the same sweep is not run again. A run that fails is a warning, and has an `error`.

    `executor` is one of `concurrent.futures` or of a library that has its `submit`: Dask (`client.get_executor()`),
    mpi4py.futures, submitit. It executes `parts` parts of the sweep, each on `jobs` threads (default 1); the workers need
    this package with the command, of one build, and are sent the experiments with the files that these name by relative
    paths. The result is the same, byte for byte. An interrupted sweep goes on from the parts in `OUT.parts`.
    """
    names, text = _several(experiments)
    options: list[str] = []
    for name, listed in (values or {}).items():
        options += ["--set", f"{name}={_listed(listed)}"]
    options += [part for policy in policies for part in ("--policy", policy)]
    options += ["--seeds", _seeds(seeds)]
    if executor is None:
        arguments: list[Any] = ["sweep", *names, *options, "--format", "csv"]
        arguments += ["--out", out] if out is not None else []
        arguments += ["--retry"] if retry else []
        arguments += ["--jobs", jobs] if jobs else []
        ended = _succeed(arguments, text=text, or_partly=True)
    else:
        divided = _Divided(names, text, options, values or {}, jobs or 1)
        ended = divided.execute(executor, parts, out, retry)
    return _frames.read_csv(ended.out, frames)


def explain(
    record: Record | Simulation | Run | str | os.PathLike[str],
    *,
    process: str | None = None,
    superstep: int | None = None,
    against: Record | str | os.PathLike[str] | None = None,
) -> Explanation:
    """Explains why processes moved or stayed: of the whole run, of a process (`"p21"`) or of the call after a superstep."""
    arguments: list[Any] = ["explain", _folder_of(record)]
    arguments += ["--process", process] if process is not None else []
    arguments += ["--superstep", superstep] if superstep is not None else []
    arguments += ["--against", _folder_of(against)] if against is not None else []
    data = json.loads(_succeed([*arguments, "--format", "json"]).out)
    # A record in a temporary folder lasts as long as what explains it.
    return Explanation(data, arguments, record)


def verify(record: Record | Simulation | Run | str | os.PathLike[str]) -> Verified:
    """Recomputes all decisions of a record. One that differs is a `CheckError`, whose `data` has the differences."""
    return Verified(json.loads(_succeed(["verify", _folder_of(record), "--format", "json"]).out))


def check(
    program: Experiment, *, processes: int | None = None, parameters: Settings | None = None, seed: int | None = None
) -> Checked:
    """Holds a program to the laws of programs: a broken one is a `CheckError` that names process and superstep."""
    given = _Given.of(program, processes)
    arguments = ["check", given.name, "--format", "json"]
    arguments += _options(given, processes, parameters, None, None, None, seed, None)
    return Checked(json.loads(_succeed(arguments, text=given.text).out))


def record(
    program: Experiment,
    out: str | os.PathLike[str],
    *,
    processes: int | None = None,
    parameters: Settings | None = None,
    seed: int | None = None,
) -> Path:
    """Executes a program once, and keeps what it does in a file, which simulations replay without it.

    Their experiments have `workload = "recorded"` and `recorded.file`.
    """
    given = _Given.of(program, processes)
    arguments = ["record", given.name, "--out", out]
    _succeed([*arguments, *_options(given, processes, parameters, None, None, None, seed, None)], text=given.text)
    return Path(out)


class Record:
    """The record of a run, as `simulate --out` and `run --out` write it: a folder with `events.jsonl` and `run.json`."""

    def __init__(self, folder: str | os.PathLike[str], frames: str | None = None, keeps: object = None) -> None:
        self.folder = Path(folder)
        self._frames = frames
        # A temporary folder, which is deleted with the last of its records.
        self._keeps = keeps

    def __repr__(self) -> str:
        return f"Record({str(self.folder)!r})"

    def __fspath__(self) -> str:
        return str(self.folder)

    @cached_property
    def description(self) -> dict[str, Any]:
        """`run.json`: configuration, provenance and result of the run; `docs/reference/schemas/run.json` describes it."""
        data: dict[str, Any] = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        return data

    def table(self, name: str, frames: str | None = None) -> Table:
        """A table of `migbsp export`: supersteps, calls, candidates, moves, notes or traces."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.csv"
            call("export", self.folder, "--format", "csv", "--table", name, "--out", file)
            return _frames.read_csv(file, frames or self._frames)

    @cached_property
    def supersteps(self) -> Table:
        """A row for each superstep."""
        return self.table("supersteps")

    @cached_property
    def calls(self) -> Table:
        """A row for each rescheduling call."""
        return self.table("calls")

    @cached_property
    def candidates(self) -> Table:
        """A row for each process in the list of each call."""
        return self.table("candidates")

    @cached_property
    def moves(self) -> Table:
        """A row for each process that moved."""
        return self.table("moves")

    @cached_property
    def notes(self) -> Table:
        """A row for each name under which the program noted something in a superstep."""
        return self.table("notes")

    @cached_property
    def traces(self) -> Table:
        """A row for each process and superstep, of a run with a trace."""
        return self.table("traces")

    def picture(self, name: str = "timeline") -> Picture:
        """A picture of `migbsp report --svg`: timeline, hosts, supersteps, notes, breakdown, load, sets or views."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.svg"
            call("report", self.folder, "--svg", name, "--output", file)
            return Picture(name, file.read_text(encoding="utf-8"))

    def report(self, file: str | os.PathLike[str]) -> Path:
        """Writes a page about the run, which needs no other files."""
        call("report", self.folder, "--output", file)
        return Path(file)

    def explain(self, *, process: str | None = None, superstep: int | None = None) -> Explanation:
        """As `migbsp.explain`."""
        return explain(self, process=process, superstep=superstep)

    def verify(self) -> Verified:
        """As `migbsp.verify`."""
        return verify(self)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{_image(self)}"


class _Outputs:
    """What the processes of a run computed."""

    def __init__(self, folder: _Folder, kept: Path | None) -> None:
        self._folder = folder
        self._kept = kept

    @cached_property
    def outputs(self) -> list[Any]:
        """The output of each process, p1 first. Lists of numbers are arrays if NumPy is installed."""
        file = self.output_files[OF_PROGRAMS.name if self._kept == OF_PROGRAMS else "outputs.json"]
        written = file.read_bytes()
        return [_array(output) for output in (json.loads if file.suffix == ".json" else decode)(written)]

    @cached_property
    def output_files(self) -> dict[str, Path]:
        """The files of the outputs by name: those of all processes, and what the workload makes, as `plate.npy` of `heat`."""
        if self._kept is None:
            raise AttributeError("the outputs were not kept: say outputs=True")
        path = self._folder.path / self._kept
        if self._kept == OF_PROGRAMS:
            return {path.name: path}
        provenance = json.loads((path / "provenance.json").read_text(encoding="utf-8"))
        return {name: path / name for name in provenance["files"]}


class Simulation(_Outputs, Mapping[str, Record]):
    """The records of a simulation by scenario: `i`, `ii`, `iii`."""

    def __init__(self, data: dict[str, Any], folder: _Folder, kept: Path | None, frames: str | None) -> None:
        super().__init__(folder, kept)
        #: What `migbsp simulate --format json` printed; `docs/reference/schemas/simulate.json` describes it.
        self.data = data
        #: The folder of the records.
        self.folder = folder.path
        self._frames = frames
        scenarios = [one["scenario"] for one in data["runs"]]
        self._records = {name: Record(folder.path / name, frames, folder) for name in scenarios}

    def __getitem__(self, scenario: str) -> Record:
        return self._records[scenario]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def record(self) -> Record:
        """The record of the last scenario."""
        return list(self._records.values())[-1]

    @cached_property
    def summary(self) -> Table:
        """A row for each scenario. The gain is the part of the makespan of scenario i that is saved."""
        return _summary(self.data["runs"], self.data, self._frames)

    def __repr__(self) -> str:
        head = "{workload}, {processes} processes on {hosts} hosts in {sets} Sets, seed {seed}".format(**self.data)
        return f"{head}\n{_summary(self.data['runs'], self.data, 'rows')[SHOWN]}"

    def _repr_html_(self) -> str:
        head = "{workload}, {processes} processes on {hosts} hosts in {sets} Sets, seed {seed}".format(**self.data)
        table = _summary(self.data["runs"], self.data, "rows")[SHOWN]._repr_html_()
        return f"<p>{html.escape(head)}</p>{table}{_image(self.record)}"


class Run(_Outputs):
    """A run on hosts."""

    def __init__(self, data: dict[str, Any], folder: _Folder, kept: Path | None, frames: str | None) -> None:
        super().__init__(folder, kept)
        #: What `migbsp run --format json` printed; `docs/reference/schemas/live.json` describes it.
        self.data = data
        self._frames = frames
        self._names = [view["record"] for view in data["views"] if view["record"]] or [data["run"]["scenario"]]
        #: The record.
        self.record = Record(folder.path / self._names[-1], frames, folder)

    @cached_property
    def summary(self) -> Table:
        """A row for the run."""
        return _summary([self.data["run"]], self.data, self._frames)

    @cached_property
    def moves(self) -> Table:
        """A row for each process that moved, with what its move took."""
        return _frames.from_rows(self.data["moves"], MOVES, _provenance(self.data), self._frames)

    def __repr__(self) -> str:
        return f"Run({str(self.record.folder)!r})\n{_summary([self.data['run']], self.data, 'rows')[SHOWN]}"

    def _repr_html_(self) -> str:
        table = _summary([self.data["run"]], self.data, "rows")[SHOWN]._repr_html_()
        return f"{table}{_image(self.record)}"


class Comparison:
    """What `compare` found."""

    def __init__(self, data: dict[str, Any], picture: Picture | None, frames: str | None) -> None:
        #: What `migbsp compare --format json` printed; `docs/reference/schemas/compare.json` describes it.
        self.data = data
        #: The gains with their intervals, if there are any.
        self.picture = picture
        self._frames = frames

    def _table(self, name: str, frames: str | None = None) -> Table:
        return _frames.from_rows(self.data[name], (), _provenance(self.data), frames or self._frames)

    @cached_property
    def runs(self) -> Table:
        """A row for each run."""
        return self._table("runs")

    @cached_property
    def summaries(self) -> Table:
        """A row for each experiment and policy, with means over seeds."""
        return self._table("summaries")

    @cached_property
    def overall(self) -> Table:
        """A row for each policy, over all experiments."""
        return self._table("overall")

    @cached_property
    def differences(self) -> Table:
        """A row for each pair of policies that was tested: over all experiments (without `experiment`), and on each."""
        return self._table("pairs")

    def __repr__(self) -> str:
        return repr(self._table("overall", "rows"))

    def _repr_html_(self) -> str:
        table: str = self._table("overall", "rows")._repr_html_()
        return table + (self.picture.image() if self.picture else "")


class Explanation:
    """What `explain` answers: `str()` is its text, and `data` the values."""

    def __init__(self, data: dict[str, Any], arguments: list[Any], keeps: object) -> None:
        #: What `migbsp explain --format json` printed; `docs/reference/schemas/explain.json` describes it.
        self.data = data
        self._arguments = arguments
        self._keeps = keeps

    @cached_property
    def text(self) -> str:
        """The answer in sentences and tables."""
        return _succeed(self._arguments, environment={"COLUMNS": "120"}).out

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Verified:
    """A record whose decisions are what the model computes."""

    #: What `migbsp verify --format json` printed; `docs/reference/schemas/verify.json` describes it.
    data: dict[str, Any] = field(repr=False)

    @property
    def calls(self) -> int:
        """Number of calls that were recomputed."""
        return len(self.data["calls"])

    @property
    def is_complete(self) -> bool:
        """Whether the run had ended."""
        return bool(self.data["complete"])

    def __str__(self) -> str:
        return f"{self.calls} calls verified" + ("" if self.is_complete else " of a run that did not end")


@dataclass(frozen=True)
class Checked:
    """A program that keeps the laws of programs."""

    #: What `migbsp check --format json` printed.
    data: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return "{processes} processes, {supersteps} supersteps, {moves} moves".format(**self.data)


@dataclass(frozen=True)
class Picture:
    """A picture as SVG, which notebooks show."""

    name: str
    svg: str = field(repr=False)

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Writes the picture."""
        Path(file).write_text(self.svg, encoding="utf-8")
        return Path(file)

    def image(self) -> str:
        """The picture as an element of a page, whose styles and names do not meet those of the page."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{html.escape(self.name)}" src="data:image/svg+xml;base64,{data}">'

    def _repr_svg_(self) -> str:
        return self.svg


def call(*arguments: Any) -> str:
    """What migbsp prints with these arguments."""
    return _succeed(arguments).out


def timeline(record: Record, axes: Any = None) -> Any:
    """Draws on which host each process was: a line for each process of the moves of `record`."""
    axes = axes or _axes(8, 3)
    moves = {name: _frames.column(record.moves, name) for name in ("process", "superstep", "from", "to")}
    end = _frames.column(record.supersteps, "superstep")[-1] + 1
    hosts: list[str] = []
    for process in dict.fromkeys(moves["process"]):
        own = [index for index, name in enumerate(moves["process"]) if name == process]
        path = [moves["from"][own[0]], *(moves["to"][index] for index in own)]
        hosts += [host for host in dict.fromkeys(path) if host not in hosts]
        places = [hosts.index(host) for host in path]
        supersteps = [moves["superstep"][index] for index in own]
        axes.step([0, *supersteps, end], [*places, places[-1]], where="post", label=process)
    axes.set_yticks(range(len(hosts)), hosts)
    axes.set_xlabel("superstep")
    axes.legend(title="process", loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def superstep_times(records: Mapping[str, Record], axes: Any = None) -> Any:
    """Draws how long each superstep took: a line for each of `records`, which have names."""
    axes = axes or _axes(8, 3)
    for name, record in records.items():
        started, ended = (_frames.column(record.supersteps, column) for column in ("started", "ended"))
        indices = [superstep + 1 for superstep in _frames.column(record.supersteps, "superstep")]
        axes.plot(indices, [end - start for start, end in zip(started, ended, strict=True)], label=name)
    axes.set(xscale="log", xlabel="superstep, from 1", ylabel="seconds", ylim=(0, 1.1 * axes.dataLim.ymax))
    axes.legend()
    return axes


def heat_map(runs: Table, row: str, column: str, value: str = "gain", axes: Any = None) -> Any:
    """Draws the mean of a column of `sweep` for each pair of values of two keys."""
    axes = axes or _axes(6, 4)
    cells: dict[tuple[Any, Any], list[float]] = {}
    of_rows, of_columns, values = (_frames.column(runs, name) for name in (row, column, value))
    for of_row, of_column, one in zip(of_rows, of_columns, values, strict=True):
        if one is not None and one == one:
            cells.setdefault((of_row, of_column), []).append(one)
    rows, columns = (sorted({pair[index] for pair in cells}) for index in (0, 1))
    means = [
        [sum(found) / len(found) if (found := cells.get((of_row, of_column))) else float("nan") for of_column in columns]
        for of_row in rows
    ]
    image = axes.imshow(means, origin="lower", aspect="auto", cmap="cividis")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlabel=column, ylabel=row)
    axes.figure.colorbar(image, label=value)
    return axes


@dataclass(frozen=True)
class _Given:
    """An experiment as it is given to the command."""

    #: The file, or `-` for stdin.
    name: str
    #: What stdin has.
    text: str | None

    #: What is to be closed with it: a class without a file is served by this interpreter.
    served: contextlib.ExitStack | None = None

    @classmethod
    def of(cls, experiment: Experiment, processes: int | None = None) -> _Given:
        if isinstance(experiment, type):
            if not issubclass(experiment, Program):
                raise UsageError(f"{experiment.__name__} is no `migbsp.Program`")
            file = _file_of(experiment)
            if file is not None:
                return cls("-", _toml.document(_of_program(experiment.__name__, file, processes)))
            served = contextlib.ExitStack()
            connect = served.enter_context(attached(experiment))
            given = cls("-", _toml.document(_of_program(experiment.__name__, None, processes, connect)), served)
            weakref.finalize(given, served.close)
            return given
        if isinstance(experiment, Mapping):
            return cls("-", _toml.document(experiment))
        name = os.fspath(experiment)
        if "\n" in name:
            return cls("-", name)
        if name.endswith(".py"):
            file = Path(name).absolute()
            return cls("-", _toml.document(_of_program(file.stem, file, processes)))
        return cls(name, None)

    @cached_property
    def workload(self) -> str | None:
        """The name of its workload, if it is in a line of its own. A file that cannot be read is the command's business."""
        text = self.text
        if text is None:
            try:
                text = Path(self.name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                return None
        found = re.search(r"""^\s*workload\s*=\s*["']([^"']*)["']""", text, re.MULTILINE)
        return found[1] if found else None

    @property
    def is_external(self) -> bool:
        """Whether it is a program of the user, or what one did."""
        return self.workload in (EXTERNAL, "recorded")

    def section(self) -> str:
        """The section of its workload's parameters."""
        if self.workload is None:
            raise UsageError(f"{self.name} names no workload, whose `parameters` are to be set: use `settings`")
        return f"application.{self.workload}" + (".parameters" if self.workload == EXTERNAL else "")


class _Folder:
    """The folder of a result: that of the user, or a temporary one, which is deleted with the last that refers to it."""

    def __init__(self, path: Path, is_temporary: bool = False) -> None:
        self.path = path
        self._is_temporary = is_temporary
        if is_temporary:
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)

    @classmethod
    def of(cls, out: str | os.PathLike[str] | None) -> _Folder:
        return cls(Path(tempfile.mkdtemp(prefix="migbsp-")), True) if out is None else cls(Path(out))

    def outputs(self, kept: Path) -> list[str]:
        """The options that have the outputs written, to a file or a folder."""
        path = str(self.path / kept)
        return ["--outputs", path if kept.suffix else os.path.join(path, "")]

    def __reduce__(self) -> Any:
        if self._is_temporary:
            raise TypeError("records in a temporary folder cannot be sent to another process: name a folder, out=")
        return (_Folder, (self.path,))


class Executor(Protocol):
    """What executes the parts of a sweep: an executor of `concurrent.futures`, or of another library with its `submit`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        """Has a worker call `fn`; the future that is returned has `result`."""


@dataclass(frozen=True)
class _Part:
    """A part of a sweep, as it is sent to a worker."""

    #: Contents of files by their absolute path, and whether they can be executed.
    files: dict[str, tuple[bytes, bool]]
    #: The current folder.
    folder: str
    names: list[str]
    text: str | None
    options: list[str]
    #: Variables of the environment that set keys.
    environment: dict[str, str]
    shard: str
    jobs: int


def _execute_part(part: _Part) -> dict[str, bytes]:
    """Executes a part of a sweep on a worker, and returns the files of its folder.

    The files are below a temporary folder at the same paths as on the machine of the caller, so that relative paths mean
    the same. What is returned has the paths of the caller.
    """
    with tempfile.TemporaryDirectory(prefix="migbsp-") as temporary:
        root = os.path.realpath(temporary)
        for name, (content, is_executable) in part.files.items():
            file = Path(root + name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o700 if is_executable else 0o600)
        folder = Path(root + part.folder)
        folder.mkdir(parents=True, exist_ok=True)
        names = [root + name if os.path.isabs(name) else name for name in part.names]
        out = Path(root) / "shard"
        arguments = ["sweep", *names, *part.options, "--shard", part.shard, "--jobs", part.jobs, "--out", out]
        others = {name: None for name in os.environ if name.startswith(VARIABLES)}
        try:
            _succeed(
                [*arguments, "--format", "csv"],
                text=part.text,
                folder=folder,
                environment={**others, **part.environment},
                or_partly=True,
                is_silent=True,
            )
        except MigbspError as error:
            raise type(error)(str(error).replace(root, ""), error.exit_code) from None
        own = json.dumps(root)[1:-1].encode()
        return {name: (out / name).read_bytes().replace(own, b"") for name in SHARD}


class _Divided:
    """A sweep that an executor executes."""

    def __init__(
        self, names: list[str], text: str | None, options: list[str], values: Mapping[str, Any], jobs: int
    ) -> None:
        self._names, self._text, self._options = names, text, options
        self._values, self._jobs = values, jobs

    def execute(
        self, executor: Executor, parts: int | None, out: str | os.PathLike[str] | None, retry: bool
    ) -> _Ended:
        """The same as the command without parts."""
        whole = ["sweep", *self._names, *self._options]
        plan = json.loads(_succeed([*whole, "--dry-run", "--format", "json"], text=self._text).out)
        if out is None:
            with tempfile.TemporaryDirectory(prefix="migbsp-") as temporary:
                return self._merge(executor, plan, parts, Path(temporary) / "parts", Path(temporary) / "whole")
        if not retry and _is_same(plan, Path(out)) and (Path(out) / "runs.csv").exists():
            # All runs are there: nothing is run.
            return _succeed([*whole, "--format", "csv", "--out", out], text=self._text, or_partly=True)
        kept = Path(f"{os.fspath(out)}.parts")
        ended = self._merge(executor, plan, parts, kept, Path(out))
        shutil.rmtree(kept)
        return ended

    def _merge(
        self, executor: Executor, plan: dict[str, Any], parts: int | None, folder: Path, out: Path
    ) -> _Ended:
        """Executes the parts that are not in `folder`, and joins all of them in `out`."""
        for name in _numbers(folder):
            if not _is_same(plan, folder / name):
                shutil.rmtree(folder / name)
        counts = {name.rpartition("-of-")[2] for name in _numbers(folder)}
        count = int(counts.pop()) if len(counts) == 1 and parts is None else parts or _parts(executor, plan)
        numbers = [f"{number}-of-{count}" for number in range(1, count + 1)]
        files = _named_files(self._names, self._text, self._values)
        environment = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        futures: dict[str, Any] = {}
        try:
            for name in numbers:
                if not (folder / name).exists():
                    shard = name.replace("-of-", "/")
                    part = _Part(
                        files, os.getcwd(), self._names, self._text, self._options, environment, shard, self._jobs
                    )
                    futures[name] = executor.submit(_execute_part, part)
            for name, future in futures.items():
                _keep(folder / name, future.result())
                if not _is_same(plan, folder / name):
                    shutil.rmtree(folder / name)
                    names = ", ".join(self._names)
                    raise InputError(
                        f"a worker computed another sweep of {names}: are all files that it names relative to it, "
                        "and is the command of the workers the same build?"
                    )
        except BaseException:
            # Not all libraries can take a part back.
            for future in futures.values():
                getattr(future, "cancel", lambda: None)()
            raise
        shards = [folder / name for name in numbers]
        return _succeed(["sweep", "merge", *shards, "--format", "csv", "--out", out], or_partly=True)


def _parts(executor: Executor, plan: dict[str, Any]) -> int:
    """The number of parts: some for each worker, because some take longer, and not more than there are."""
    units = len(plan["experiments"]) * len(plan["seeds"])
    for parameter in plan["parameters"]:
        units *= len(parameter["values"])
    workers = getattr(executor, "_max_workers", None)
    return max(1, min(units, 4 * workers if isinstance(workers, int) else 32))


def _named_files(
    names: Sequence[str], text: str | None, values: Mapping[str, Any]
) -> dict[str, tuple[bytes, bool]]:
    """Experiments and the files that they name by relative paths, and those that platforms name, by absolute path.

    A file is named by any text in quotes: which keys have files is the business of workloads.
    """
    here = os.getcwd()
    # A file to open, and its path in which `..` is resolved by name, as it is where there are no links.
    pending = [_Named(name, _resolved(here, name)) for name in names if name != "-"]
    # Names among the values are relative to an experiment or to the current folder.
    folders = [named.folder() for named in pending] + [_Named("", here)]
    for one in dict.fromkeys([*_quoted(text or ""), *_quoted(_toml.value(dict(values))), *_listed_texts(values)]):
        pending += [folder.inner(one) for folder in folders]
    found: dict[str, tuple[bytes, bool]] = {}
    while pending:
        named = pending.pop()
        if named.path in found or not os.path.isfile(named.file):
            continue
        content = Path(named.file).read_bytes()
        found[named.path] = (content, os.access(named.file, os.X_OK))
        if not named.file.endswith(NAMING) and named.file not in names:
            continue
        with contextlib.suppress(UnicodeDecodeError):
            pending += [named.folder().inner(one) for one in _quoted(content.decode())]
    return found


@dataclass(frozen=True)
class _Named:
    """A file or a folder by two paths."""

    #: As the operating system opens it.
    file: str
    #: Absolute, without `..`.
    path: str

    def folder(self) -> _Named:
        return _Named(os.path.dirname(self.file), os.path.dirname(self.path))

    def inner(self, name: str) -> _Named:
        return _Named(os.path.join(self.file, name), _resolved(self.path, name))


def _resolved(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))


def _listed_texts(values: Mapping[str, Any]) -> list[str]:
    """The values of a sweep that are written without quotes, and relative."""
    texts = [value for value in values.values() if isinstance(value, str)]
    return [one for text in texts for one in text.split(",") if not os.path.isabs(one)]


def _quoted(text: str) -> list[str]:
    """The texts in quotes that may be relative paths."""
    found = (double or single for double, single in re.findall(r""""([^"\n\0]{1,4096})"|'([^'\n\0]{1,4096})'""", text))
    return [one for one in dict.fromkeys(found) if not os.path.isabs(one)]


def _is_same(plan: dict[str, Any], folder: Path) -> bool:
    """Whether a folder has the sweep of this plan, or a part of it."""
    try:
        there = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return False
    return all(there.get(key) == value for key, value in plan.items() if key not in ("shard", "runs"))


def _numbers(folder: Path) -> list[str]:
    """The names of the parts in a folder."""
    return sorted(path.name for path in folder.glob("*-of-*")) if folder.is_dir() else []


def _keep(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes the folder of a part, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        whole = Path(temporary) / folder.name
        whole.mkdir()
        for name, content in files.items():
            (whole / name).write_bytes(content)
        whole.rename(folder)


@dataclass(frozen=True)
class _Ended:
    """What a command has printed."""

    exit_code: int
    out: str
    err: str


def _succeed(
    arguments: Iterable[Any],
    *,
    text: str | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str | None] | None = None,
    or_partly: bool = False,
    is_silent: bool = False,
) -> _Ended:
    """Executes a command that has to succeed. With `or_partly`, results some runs of which failed are results, too.

    What it warns of is a warning here, unless the caller says it: `is_silent`.
    """
    ended = _execute([str(one) for one in arguments], text, folder, environment or {})
    message = ended.err.strip()
    if ended.exit_code == 0 or (or_partly and ended.exit_code == 1 and ended.out.strip()):
        # Other lines say what was done, as `DIR/iii was set aside`.
        for one in [] if is_silent else re.findall(r"^(?: WARN |warning: |error: ).*(?:\n {2,}\S.*)*", ended.err, re.MULTILINE):
            warnings.warn(one.strip().removeprefix("WARN "), stacklevel=3)
        return ended
    kind = ERRORS.get(ended.exit_code, MigbspError)
    if ended.exit_code < 0:
        message = f"{message}\nmigbsp was ended by {signal.Signals(-ended.exit_code).name}".strip()
    raise kind(message, ended.exit_code, ended.out)


def _execute(
    arguments: list[str], text: str | None, folder: Path | None, environment: Mapping[str, str | None]
) -> _Ended:
    """Executes a command. An interrupt is passed on to it first, so that it ends in its own way; a third one kills it."""
    variables = {**os.environ, **environment}
    # A session of its own: Ctrl-C on a terminal reaches the command once, through this process.
    child = subprocess.Popen(
        [*_leash(), os.fspath(find_binary()), *arguments],
        stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=folder,
        env={name: value for name, value in variables.items() if value is not None},
        start_new_session=True,
    )
    interrupts = 0
    with child:
        while True:
            try:
                # What was not yet written or read is kept from one attempt to the next.
                out, err = child.communicate(None if interrupts else text)
                break
            except KeyboardInterrupt:
                interrupts += 1
                child.send_signal(signal.SIGINT if interrupts < 3 else signal.SIGKILL)
            except BaseException:
                child.kill()
                raise
    if interrupts:
        raise KeyboardInterrupt
    return _Ended(child.returncode, out, err)


@cache
def _leash() -> list[str]:
    """What comes before a command that ends with this process, however that ends: as far as the system has it."""
    leash = ["setpriv", "--pdeathsig", "TERM", "--"]
    try:
        tried = subprocess.run([*leash, "true"], capture_output=True, check=False)
    except OSError:
        return []
    return leash if tried.returncode == 0 else []


def _options(
    given: _Given,
    processes: int | None,
    parameters: Settings | None,
    platform: str | os.PathLike[str] | Mapping[str, Any] | None,
    policy: str | None,
    scenario: str | None,
    seed: int | None,
    settings: Settings | None,
) -> list[Any]:
    """The options of a command that runs an experiment."""
    options: list[Any] = ["--np", processes] if processes is not None else []
    options += ["--seed", seed] if seed is not None else []
    options += ["--policy", policy] if policy is not None else []
    values: dict[str, Any] = {}
    if parameters:
        values = {f"{given.section()}.{_toml.key(name)}": value for name, value in parameters.items()}
    if isinstance(platform, Mapping):
        platform = _kept(_toml.document(platform))
    if platform is not None:
        values["platform.file"] = os.fspath(platform)
    if scenario is not None:
        values["scheduler.scenario"] = scenario
    return [*options, *_set({**values, **(settings or {})})]


def _set(settings: Settings) -> list[str]:
    """`--set` for each value."""
    return [part for name, value in settings.items() for part in ("--set", f"{name}={_toml.value(value)}")]


def _listed(values: Any) -> str:
    """The values of a key as `sweep` reads them: a text is one already."""
    if isinstance(values, str):
        return values
    listed = values.tolist() if hasattr(values, "tolist") else values
    return ",".join(map(_toml.value, listed if isinstance(listed, Iterable) else [listed]))


def _seeds(seeds: Seeds) -> str:
    return str(seeds) if isinstance(seeds, (str, int)) else ",".join(str(int(seed)) for seed in seeds)


def _several(experiments: Experiment | Sequence[Experiment]) -> tuple[list[str], str | None]:
    """The names of experiments, and the text of the one that is no file."""
    if isinstance(experiments, (str, os.PathLike, Mapping, type)):
        experiments = [experiments]
    given = [_Given.of(one) for one in experiments]
    texts = [one.text for one in given if one.text is not None]
    if len(texts) > 1:
        raise UsageError("one experiment of several may be a text, a dictionary or a program: write the others to files")
    return [one.name for one in given], texts[0] if texts else None


def _folder_of(record: Record | Simulation | Run | str | os.PathLike[str]) -> str:
    if isinstance(record, (Simulation, Run)):
        record = record.record
    return os.fspath(record)


def _of_program(name: str, file: Path | None, processes: int | None, connect: str = "") -> dict[str, Any]:
    """The experiment of a program in a file of Python, or at a socket, on two Sets, one of which is slower."""
    from ._main import PROCESSES

    count = processes or PROCESSES
    external: dict[str, Any] = {"program": name.lower()}
    if file is None:
        external["connect"] = connect
    else:
        external["command"] = [sys.executable, "-m", __package__, str(file)]
        # A program that charges nothing is measured.
        external["charge"] = "declared" if ".charge(" in file.read_text(encoding="utf-8") else "measured"
    return {
        "application": {"workload": EXTERNAL, "processes": count, EXTERNAL: external},
        "platform": {"file": _kept(PLATFORM)},
        "placement": {"per_host": -(-count // PLATFORM_HOSTS)},
        "scheduler": {"scenario": "all"},
    }


def _file_of(program: type[Any]) -> Path | None:
    """The file of a class, which is its command; `None` for a class of a notebook."""
    try:
        file = Path(inspect.getfile(program)).absolute()
    except (TypeError, OSError):
        return None
    return file if file.is_file() and "ipykernel" not in file.parent.name else None


def _kept(text: str) -> str:
    """A platform in a file, whose name says what is in it: equal experiments have equal digests."""
    folder = Path(tempfile.gettempdir()) / f"migbsp-platforms-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is not a folder of this user")
    file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.toml"
    if not file.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as written:
            written.write(text)
        os.replace(written.name, file)
    return str(file)


def _summary(runs: Sequence[Mapping[str, Any]], data: Mapping[str, Any], frames: str | None) -> Table:
    """A row for each run of a result."""
    alone = next((one["seconds"] for one in runs if one["scenario"] == "i"), None)
    rows = []
    for one in runs:
        moved = {"calls": len(one["calls"]), "migrations": sum(len(held["migrations"]) for held in one["calls"])}
        gain = 1 - one["seconds"] / alone if alone else None
        rows.append({**one, **moved, "gain": gain})
    return _frames.from_rows(rows, SUMMARY, _provenance(data), frames)


def _provenance(data: Mapping[str, Any]) -> dict[str, Any]:
    """What made a result."""
    return {key: data[key] for key in PROVENANCE if key in data}


def _image(record: Record) -> str:
    """The timeline of a record as an element of a page; nothing if it is gone."""
    try:
        return record.picture("timeline").image()
    except MigbspError:
        return ""


def _array(it: Any) -> Any:
    """A value of JSON with arrays in place of lists of numbers, if NumPy is installed. What is no number there is NaN."""
    if isinstance(it, dict):
        return {name: _array(value) for name, value in it.items()}
    if not isinstance(it, list):
        return it
    try:
        import numpy
    except ImportError:
        return it
    try:
        array = numpy.array(it)
        if array.dtype.kind == "O" and any(isinstance(one, (int, float)) for one in array.flat):
            array = array.astype(float)
    except (ValueError, TypeError):
        array = numpy.array(None)
    return array if array.size > 0 and array.dtype.kind in "biuf" else [_array(value) for value in it]


def _axes(width: float, height: float) -> Any:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


ERRORS = {kind.exit_code: kind for kind in (UsageError, CheckError, InputError, ClusterError)}

# Variables of the environment that set keys of experiments begin with it.
VARIABLES = "MIGBSP__"

# Endings of experiments and platforms, which name other files.
NAMING = (".toml", ".xml")

# The files of a part of a sweep.
SHARD = ("plan.json", "runs.jsonl", "runs.csv")

# The workload of programs of the user.
EXTERNAL = "external"

# Where outputs are, beside the folders of the records: of a workload with the files that it makes; of a program with all numbers,
# also those that JSON does not have.
OF_WORKLOADS = Path("outputs")
OF_PROGRAMS = Path("outputs.msgpack")

PROVENANCE = ("schema", "version", "build", "configuration_sha256", "platform_sha256", "policy", "overrides", "seed")

SUMMARY = [
    "scenario",
    "seconds",
    "gain",
    "supersteps",
    "calls",
    "migrations",
    "moved_bytes",
    "messages",
    "bytes",
    "attainable_seconds",
    "imbalance_seconds",
    "outputs_sha256",
]

# The columns of it that are shown beside a picture.
SHOWN = ["scenario", "seconds", "gain", "supersteps", "calls", "migrations", "moved_bytes"]

MOVES = ["superstep", "process", "from", "to", "predicted_seconds", "took_seconds", "frozen_seconds", "bytes"]

# The platform on which a program is simulated.
PLATFORM_HOSTS = 4
PLATFORM = """\
# Two Sets of two hosts; those of the second have half the speed.

[[set]]
name = "fast"
hosts = 2
cores = 1
speed = "2 Ginstr/s"
link = { bandwidth = "1 Gbps", latency = "50 us" }

[[set]]
name = "slow"
hosts = 2
cores = 1
speed = "1 Ginstr/s"
link = { bandwidth = "1 Gbps", latency = "50 us" }

[[link]]
name = "between"
bandwidth = "1 Gbps"
latency = "200 us"
duplex = "split"
between = ["fast", "slow"]
"""
