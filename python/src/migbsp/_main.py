"""The commands of a program's own file: `python heat.py simulate -n 8`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _executor
from ._program import Program

if TYPE_CHECKING:
    import inspect

HELP = """\
{about}Usage: {usage} COMMAND [OPTIONS]

Commands:
  check     Hold the program to the laws: it is moved between all supersteps, and nothing may change
  simulate  Run it on a simulated platform: alone, watched, and rescheduled
  compare   Compare policies by simulations
  sweep     Simulate it with several values
  record    Run it once, and keep what it charges and sends in a file
  up        Run it on nodes that are started on this machine, and move its processes
  run       Run it on the nodes of a cluster

Options:
  -n, --np N                 Number of processes [default: {processes}]
  -p, --parameter NAME=VALUE Parameter of the program; can be given several times
      --supersteps N         Number of supersteps, for programs that ask for it (`ctx.supersteps`)
      --platform FILE        Platform of simulations [default: two Sets of two hosts, of which one is slower]
      --charge KIND          `declared`: what the program charges; `measured`: the processor time that it takes
                             [default: {charge}]
      --conf FILE            Experiment file, for all other values; command and parameters are those of this program
      --print-experiment     Show the experiment that is made of these options instead of running it
  -h, --help                 Print help

All other options are those of the command: `migbsp help COMMAND`. Options of `up` and of the run on its nodes may be
mixed; what stands behind `--` is for the run.
{parameters}
Examples:
  {usage} check -n 4
  {usage} simulate -n 8{example}
  {usage} up --local 4 --slow 4:0.4 -n 8
  {usage} compare -n 8 --policy none --policy adaptive
  {usage} run --cluster hosts -n 16 --out runs/{name}
"""


def main(program: type[Program], arguments: Sequence[str] | None = None) -> None:
    """Makes the file of a program its command, at the end of the file:

        if __name__ == "__main__":
            migbsp.main(Heat)

    Where migbsp has started the file as an executor, this serves the program. It does not return.
    """
    if _executor.is_executor():
        _executor.serve(program)
        sys.exit()
    import inspect

    file = os.path.abspath(inspect.getfile(program))
    sys.exit(command(Target.of_class(program, [sys.executable, file]), sys.argv[1:] if arguments is None else arguments))


class Target:
    """A program as it is known to the command line."""

    def __init__(self, name: str, usage: str, command: list[str]) -> None:
        self.name = name
        self.usage = usage
        self.command = command
        self.about = ""
        self.parameters: list[inspect.Parameter] = []
        self.charge = "measured"
        #: What stands behind `--` is for the program.
        self.takes_arguments = False

    @classmethod
    def of_class(cls, program: type[Program], command: list[str]) -> Target:
        """The target of a class."""
        import inspect

        target = cls(program.__name__.lower(), f"python {os.path.basename(sys.argv[0])}", command)
        if program.__doc__ and program.__doc__ != Program.__doc__:
            target.about = inspect.cleandoc(program.__doc__) + "\n\n"
        own = list(inspect.signature(program.__init__).parameters.values())[2:]
        target.parameters = [each for each in own if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
        try:
            charges = ".charge(" in inspect.getsource(sys.modules[program.__module__])
        except (OSError, TypeError, KeyError):
            charges = True
        target.charge = "declared" if charges else "measured"
        return target

    def help(self) -> str:
        """The text of `--help`."""
        listed = ""
        if self.parameters:
            width = max(len(each.name) for each in self.parameters) + 2
            lines = [
                f"  {each.name:{width}}[{'required' if each.default is each.empty else f'default: {each.default}'}]"
                for each in self.parameters
            ]
            listed = "\nParameters (-p):\n" + "\n".join(lines) + "\n"
        numbers = [each for each in self.parameters if type(each.default) in (int, float)]
        example = f" -p {numbers[0].name}={numbers[0].default}" if numbers else ""
        return HELP.format(
            about=self.about,
            usage=self.usage,
            processes=PROCESSES,
            charge=self.charge,
            parameters=listed,
            name=self.name,
            example=example,
        )


class Options:
    """What the command line says of the experiment; the rest is for the command."""

    def __init__(self) -> None:
        self.processes: int | None = None
        self.parameters: dict[str, Any] = {}
        self.supersteps: int | None = None
        self.platform: str | None = None
        self.charge: str | None = None
        self.conf: str | None = None
        self.per_executor: int | None = None
        self.is_printed = False
        self.wants_help = False
        self.rest: list[str] = []
        self.behind: list[str] = []

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> Options:
        """Parses what stands behind the command."""
        options, left = cls(), list(arguments)
        while left:
            argument = left.pop(0)
            if argument == "--":
                options.behind = left
                break
            name, has_value, value = argument.partition("=") if argument.startswith("--") else (argument, "", "")
            if name[:2] in ("-n", "-p") and len(name) > 2:
                name, has_value, value = name[:2], "=", name[2:].removeprefix("=")
            if name in ("-h", "--help"):
                options.wants_help = True
            elif name == "--print-experiment":
                options.is_printed = True
            elif name in _OWN:
                if not has_value:
                    if not left:
                        raise Misuse(f"a value is required for `{name}`")
                    value = left.pop(0)
                options._set(_OWN[name], name, value)
            else:
                options.rest.append(argument)
        return options

    def _set(self, key: str, name: str, value: str) -> None:
        if key == "parameters":
            parameter, has_value, text = value.partition("=")
            if not has_value or not parameter:
                raise Misuse(f"invalid value `{value}` for `{name}`: expected NAME=VALUE")
            self.parameters[parameter.strip()] = literal(text)
        elif key in ("processes", "supersteps"):
            if not value.isdecimal() or int(value) == 0:
                raise Misuse(f"invalid value `{value}` for `{name}`: expected a number from 1 on")
            setattr(self, key, int(value))
        elif key == "charge" and value not in ("declared", "measured"):
            raise Misuse(f"invalid value `{value}` for `{name}`: expected `declared` or `measured`")
        else:
            setattr(self, key, value)


class Misuse(Exception):
    """The command line is at fault."""


def command(target: Target, arguments: Sequence[str]) -> int:
    """Executes a command line; returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(target.help(), end="")
        return 0 if arguments else 2
    name = arguments[0]
    try:
        if name not in _COMMANDS:
            raise Misuse(f"unrecognized command `{name}`: expected {', '.join(_COMMANDS)}")
        options = Options.parse(arguments[1:])
        _check_parameters(target, options)
        if options.wants_help:
            print(target.help(), end="", flush=True)
            return 0
        if target.takes_arguments:
            target.command = [*target.command, *options.behind]
            options.behind = []
        if name == "check":
            # Measured charges differ each time. What interpreters do not share shows if each execution has one of its own.
            options.charge = options.charge or "declared"
            options.per_executor = options.processes or PROCESSES
        if options.is_printed:
            print(experiment(target, options), end="")
            return 0
        return _call(target, name, options)
    except Misuse as error:
        print(f"error: {error}\n\nFor more information, try `{target.usage} --help`.", file=sys.stderr)
        return 2
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def experiment(target: Target, options: Options) -> str:
    """The experiment of a program, TOML."""
    from ._toml import document
    from .analysis import PLATFORM_HOSTS

    count = options.processes or PROCESSES
    platform = options.platform and os.path.abspath(options.platform)
    return document(
        {
            "application": {
                "workload": "external",
                "processes": count,
                "supersteps": options.supersteps,
                "external": {
                    "program": target.name,
                    "command": target.command,
                    "charge": options.charge or target.charge,
                    "per_executor": options.per_executor,
                    "parameters": options.parameters or None,
                },
            },
            "platform": {"file": platform or _PLATFORM_NAME},
            "placement": None if platform else {"per_host": -(-count // PLATFORM_HOSTS)},
        }
    )


def literal(text: str) -> Any:
    """A value on the command line: a number, `true`, `false`, a list, or else a text."""
    import json

    try:
        return json.loads(text, parse_constant=str)
    except ValueError:
        return text


def _check_parameters(target: Target, options: Options) -> None:
    named = [each.name for each in target.parameters]
    for name in options.parameters:
        if target.parameters and name not in named:
            raise Misuse(f"no parameter `{name}`: there are {', '.join(named)}")


def _call(target: Target, name: str, options: Options) -> int:
    """Calls the command `migbsp` with an experiment in a temporary folder."""
    import subprocess
    import tempfile
    from pathlib import Path

    from ._binary import find_binary
    from ._toml import value
    from .analysis import PLATFORM

    binary = find_binary()
    with tempfile.TemporaryDirectory(prefix="migbsp-") as folder:
        if options.conf is not None:
            if not os.path.isfile(options.conf):
                raise FileNotFoundError(f"no file {options.conf}")
            file = options.conf
            settings: dict[str, Any] = {
                "application.workload": "external",
                "application.external.program": target.name,
                "application.external.command": target.command,
            }
            if options.charge is not None:
                settings["application.external.charge"] = options.charge
            if options.per_executor is not None:
                settings["application.external.per_executor"] = options.per_executor
            if options.processes is not None:
                settings["application.processes"] = options.processes
            if options.supersteps is not None:
                settings["application.supersteps"] = options.supersteps
            if options.platform is not None:
                settings["platform.file"] = os.path.abspath(options.platform)
            for parameter, given in options.parameters.items():
                settings[f"application.external.parameters.{parameter}"] = given
            sets = [part for key, given in settings.items() for part in ("--set", f"{key}={value(given)}")]
        else:
            file = os.path.join(folder, f"{target.name}.toml")
            Path(file).write_text(experiment(target, options), encoding="utf-8")
            Path(folder, _PLATFORM_NAME).write_text(PLATFORM, encoding="utf-8")
            sets = []
        if name == "up":
            of_up, of_run = _divided(options.rest)
            line = ["up", *of_up, "--", "run", file, *sets, *of_run, *options.behind]
        else:
            line = [name, file, *sets, *options.rest, *options.behind]
        process = subprocess.Popen([str(binary), *line])
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The command has been interrupted, too, and ends what it has started.
                pass


def _divided(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Arguments of `up`, and those of the run on its nodes."""
    of_up: list[str] = []
    of_run: list[str] = []
    part = of_run
    for argument in arguments:
        if argument.startswith("-"):
            part = of_up if argument.partition("=")[0] in _OF_UP else of_run
        part.append(argument)
    return of_up, of_run


PROCESSES = 4
_COMMANDS = ("check", "simulate", "compare", "sweep", "record", "up", "run")
_OWN = {
    "-n": "processes",
    "--np": "processes",
    "--processes": "processes",
    "-p": "parameters",
    "--parameter": "parameters",
    "--supersteps": "supersteps",
    "--platform": "platform",
    "--charge": "charge",
    "--conf": "conf",
}
# `--seed` and `--outputs` are those of the run, which has both, too.
_OF_UP = {
    "--local",
    "--hosts",
    "--node-data",
    "--node-outputs",
    "--node-port",
    "--start-within",
    "--shell",
    "--sets",
    "--slow",
    "--kill",
    "--stop",
    "--drain",
    "--join",
    "--between",
    "--level",
    "--dwell",
    "--play",
    "--data",
}
_PLATFORM_NAME = "two-sets.toml"
