"""Runs migbsp and reads what it writes as data frames of pandas.

    import migbsp

    runs = migbsp.simulate("conf/lbm.toml", "runs/lbm", trace=True)
    runs["iii"].moves
    migbsp.timeline(runs["iii"])

The program is the one that the variable MIGBSP names, else `migbsp` in PATH, else what `cargo build` made in this
repository. Times and durations are in seconds, sizes in bytes; `migbsp help export` lists the columns of the tables.
"""

import json
import os
import shutil
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd


class MigbspError(Exception):
    """migbsp has ended with another exit code than 0; the message is its own."""

    def __init__(self, exit_code, message):
        super().__init__(message)
        self.exit_code = exit_code


def program():
    """The path of the program."""
    target = Path(__file__).resolve().parent.parent / "target"
    builds = [target / profile / "migbsp" for profile in ("release", "debug")]
    found = os.environ.get("MIGBSP") or shutil.which("migbsp") or next(filter(Path.is_file, builds), None)
    if found is None:
        raise FileNotFoundError("no migbsp in PATH: build it with `cargo build --release`, or name it with MIGBSP=FILE")
    return Path(found)


def call(*arguments):
    """What migbsp prints with these arguments."""
    ended = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise MigbspError(ended.returncode, ended.stderr.strip())
    return ended.stdout


class Record:
    """The record of a run, as `simulate --out` and `run --out` write it: a folder with `events.jsonl` and `run.json`."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __repr__(self):
        return f"Record({str(self.folder)!r})"

    @cached_property
    def description(self):
        """`run.json`: configuration, provenance and result of the run; `docs/schemas/run.json` describes it."""
        return json.loads((self.folder / "run.json").read_text(encoding="utf-8"))

    def table(self, name):
        """A table of `migbsp export`: supersteps, calls, candidates, moves, notes or traces."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.csv"
            call("export", self.folder, "--format", "csv", "--table", name, "-o", file)
            return read_csv(file)

    @cached_property
    def supersteps(self):
        """A row for each superstep."""
        return self.table("supersteps")

    @cached_property
    def calls(self):
        """A row for each rescheduling call."""
        return self.table("calls")

    @cached_property
    def candidates(self):
        """A row for each process in the list of each call."""
        return self.table("candidates")

    @cached_property
    def moves(self):
        """A row for each process that moved."""
        return self.table("moves")

    @cached_property
    def notes(self):
        """A row for each name under which the program noted something in a superstep."""
        return self.table("notes")

    @cached_property
    def traces(self):
        """A row for each process and superstep, of a run with a trace."""
        return self.table("traces")

    def picture(self, name):
        """A picture of `migbsp report --svg`, for a notebook: timeline, hosts, supersteps, notes, breakdown, load or
        sets."""
        from IPython.display import SVG

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.svg"
            call("report", self.folder, "--svg", name, "-o", file)
            return SVG(filename=str(file))


def simulate(experiment, folder, *, policy=None, trace=False, settings=None):
    """Simulates an experiment and keeps the records in `folder`, which is made anew: a `Record` by scenario.

    `settings` has values by key: `{"scheduler.interval": 8}`.
    """
    arguments = ["simulate", experiment, "--out", folder, "--force"]
    arguments += ["--policy", policy] if policy else []
    arguments += ["--trace"] if trace else []
    for key, value in (settings or {}).items():
        arguments += ["--set", f"{key}={value}"]
    call(*arguments)
    return {path.name: Record(path) for path in sorted(Path(folder).iterdir()) if path.is_dir()}


def sweep(experiments, folder, *, values, policies=(), seeds="1..10"):
    """Runs all combinations of `values`, a list or a range by key, and returns a row for each run.

    What `folder` has of the same sweep is not run again.
    """
    arguments = ["sweep", *([experiments] if isinstance(experiments, (str, Path)) else experiments)]
    for key, listed in values.items():
        text = listed if isinstance(listed, str) else ",".join(map(str, listed))
        arguments += ["--set", f"{key}={text}"]
    for policy in policies:
        arguments += ["--policy", policy]
    call(*arguments, "--seeds", seeds, "--out", folder)
    return read_csv(Path(folder) / "runs.csv")


def read_csv(file):
    """A table that migbsp wrote; what made it is in `.attrs`, as its comments say it."""
    with open(file, encoding="utf-8") as lines:
        comments = [line[2:].split(": ", 1) for line in lines if line.startswith("# ")]
    frame = pd.read_csv(file, comment="#")
    frame.attrs = {key: json.loads(value) for key, value in comments}
    return frame


def timeline(record, axes=None):
    """Draws on which host each process was: a line for each process of the moves of `record`."""
    axes = axes or plt.subplots(figsize=(8, 3), layout="constrained")[1]
    end = record.supersteps["superstep"].iloc[-1] + 1
    hosts = []
    for process, moves in record.moves.groupby("process", sort=False):
        path = [moves["from"].iloc[0], *moves["to"]]
        hosts += [host for host in path if host not in hosts]
        places = [hosts.index(host) for host in path]
        axes.step([0, *moves["superstep"], end], [*places, places[-1]], where="post", label=process)
    axes.set_yticks(range(len(hosts)), hosts)
    axes.set_xlabel("superstep")
    axes.legend(title="process", loc="center left", bbox_to_anchor=(1, 0.5))
    return axes


def superstep_times(records, axes=None):
    """Draws how long each superstep took: a line for each of `records`, which have names."""
    axes = axes or plt.subplots(figsize=(8, 3), layout="constrained")[1]
    for name, record in records.items():
        axes.plot(record.supersteps["superstep"] + 1, record.supersteps["ended"] - record.supersteps["started"], label=name)
    axes.set(xscale="log", xlabel="superstep, from 1", ylabel="seconds", ylim=(0, 1.1 * axes.dataLim.ymax))
    axes.legend()
    return axes


def heat_map(runs, row, column, value="gain", axes=None):
    """Draws the mean of a column of `sweep` for each pair of values of two keys."""
    axes = axes or plt.subplots(figsize=(6, 4), layout="constrained")[1]
    means = runs.pivot_table(index=row, columns=column, values=value, aggfunc="mean", sort=True)
    image = axes.imshow(means, origin="lower", aspect="auto", cmap="cividis")
    axes.set_xticks(range(len(means.columns)), means.columns)
    axes.set_yticks(range(len(means.index)), means.index)
    axes.set(xlabel=column, ylabel=row)
    axes.figure.colorbar(image, label=value)
    return axes
