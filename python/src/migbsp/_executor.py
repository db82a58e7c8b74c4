"""The executor: serves the processes of a program to the runtime."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterable
from time import process_time_ns
from typing import Any

from . import _frames as frames
from ._frames import Buffer, Channel, Item, ProtocolError, read_step
from ._program import Failure, Program, Send, Start, Superstep
from ._values import MESSAGE, PICKLED, PICKLED_MESSAGE, PLAIN, decode, decode_state, decode_view, encode_state, measure


class Executor:
    """Processes of a program, and the replies to what the runtime asks of them.

    `answer` has the reply to one request; it reads and writes nothing itself.
    """

    def __init__(self, program: type[Program]) -> None:
        self.program = program
        self.parameters: dict[str, Any] = {}
        self._hello: frames.Hello | None = None
        self._processes: dict[int, _Process] = {}

    def answer(self, kind: int, handle: int, body: memoryview) -> list[Buffer]:
        """The reply to a request, as the pieces of a frame.

        Raises `ProtocolError` if the runtime breaks a rule. Faults of the program and of its input are replies.
        """
        if kind == frames.STEP:
            process = self._processes.get(handle)
            if process is None:
                raise ProtocolError(f"STEP for process {handle}, which does not exist")
            try:
                return process.step(handle, body)
            except ProtocolError:
                raise
            except BaseException as error:  # also what ends a program, such as `sys.exit`
                return reply(frames.FAILED, handle, describe(error))
        try:
            return reply(*self._answer(kind, handle, body))
        except ProtocolError:
            raise
        except BaseException as error:
            return reply(frames.FAILED, handle, describe(error))

    def _answer(self, kind: int, handle: int, body: memoryview) -> tuple[int, int, list[Buffer]]:
        if kind == frames.HELLO:
            return frames.WELCOME, handle, self._welcome(body)
        if self._hello is None:
            raise ProtocolError(f"a request of kind {kind} before HELLO")
        if kind == frames.START or kind == frames.LOAD:
            if handle in self._processes:
                raise ProtocolError(f"process {handle} exists")
            process = self._made(kind, body)
            self._processes[handle] = process
            return frames.READY, handle, [frames.READY_BODY.pack(process.state_length(), process.remaining())]
        if kind == frames.SAVE:
            return frames.SAVED, handle, [self._process(handle).save()]
        if kind == frames.DROP:
            self._process(handle)
            del self._processes[handle]
            return frames.OK, handle, []
        if kind == frames.VERIFY:
            verdict, text = self._verdict(frames.read_outputs(body))
            encoded = text.encode("utf-8", "replace")
            return frames.VERDICT, handle, [frames.VERDICT_BODY.pack(verdict, len(encoded), 0), *frames.part(encoded)]
        raise ProtocolError(f"no request has the kind {kind}")

    def _process(self, handle: int) -> _Process:
        process = self._processes.get(handle)
        if process is None:
            raise ProtocolError(f"process {handle} does not exist")
        return process

    def _welcome(self, body: memoryview) -> list[Buffer]:
        hello = frames.read_hello(body)
        self.parameters = parameters_of(hello)
        self._hello = hello
        program = self.program
        flags = frames.CAN_SAVE | frames.HOLDS_MANY
        if is_own(program, "verify"):
            flags |= frames.VERIFIES
        return welcome(flags, program.ROUND, program.__name__, program_files(program))

    def _made(self, kind: int, body: memoryview) -> _Process:
        hello = self._hello
        assert hello is not None
        rank = frames.read_rank(body)
        if rank >= hello.processes:
            raise ProtocolError(f"rank {rank} of {hello.processes} processes")
        start = Start(rank, hello.processes, hello.seed, hello.supersteps or None)
        if kind == frames.START:
            if len(body) != 16:
                raise ProtocolError(f"START has {len(body)} bytes, expected 16")
            return _Process(made(self.program, start, self.parameters), start)
        return _Process(loaded(self.program, body[16:]), start)

    def _verdict(self, outputs: list[memoryview]) -> tuple[int, str]:
        if not is_own(self.program, "verify"):
            return 0, ""
        try:
            sentence = self.program.verify([decode(output) for output in outputs], **self.parameters)
        except Failure as error:
            return 2, str(error)
        except (ValueError, AssertionError) as error:
            return 3, str(error) or last_line(error)
        return 1, sentence or ""


class _Process:
    """A process, and what its superstep is called with."""

    __slots__ = ("_ctx", "_declares_memory", "_decoding", "_encoding", "_has_progress", "_has_remaining", "_program", "_saves")

    def __init__(self, program: Program, start: Start) -> None:
        self._program = program
        self._ctx = Superstep(start, program.allows_pickle)
        self._decoding = PICKLED if program.allows_pickle else PLAIN
        self._encoding = PICKLED_MESSAGE if program.allows_pickle else MESSAGE
        kind = type(program)
        self._has_remaining = is_own(kind, "remaining")
        self._has_progress = is_own(kind, "progress")
        self._declares_memory = is_own(kind, "memory")
        self._saves = is_own(kind, "save")

    def step(self, handle: int, body: memoryview) -> list[Buffer]:
        """Executes a superstep; returns the frame DONE."""
        started = process_time_ns()
        ctx, program = self._ctx, self._program
        if ctx._has_halted:
            raise ProtocolError(f"STEP for process {handle}, which has halted")
        step = read_step(body)
        ctx.superstep, ctx._elapsed, messages, ctx.sized, ctx._standby, items = step
        ctx.messages = self._decoded(messages) if messages else []
        ctx._reduced = by_name(items) if items else {}
        ctx._has_looked = False
        ctx._work = 0
        sends: list[Send] = []
        ctx._sends = sends
        if ctx._items:
            ctx._items, ctx._snapshots = [], {}
        returned = program.superstep(ctx)  # type: ignore[func-returns-value]
        if returned is not None:
            refuse_returned(returned)
        flags = frames.HALTS | frames.IS_MESSAGEPACK if ctx._has_halted else 0
        if ctx._has_looked:
            flags |= frames.LOOKED
        output = ctx._output
        pieces: list[Buffer] = [b""]
        size = 64
        if sends or ctx._items or output:
            size += add_parts(pieces, sends, ctx._items, output)
        if ctx._work > frames.UNKNOWN:
            raise ValueError(f"{ctx._work} instructions are charged in a superstep")
        pieces[0] = _PACK_DONE(
            frames.DONE,
            0,
            frames.MAGIC,
            handle,
            size,
            flags,
            len(sends),
            len(ctx._items),
            0,
            ctx._work,
            process_time_ns() - started,
            self.state_length(),
            self.remaining() if self._has_remaining else frames.UNKNOWN,
            self._progress() if self._has_progress else _NAN,
            len(output),
        )
        return pieces

    def _decoded(self, messages: list[tuple[int, memoryview]]) -> list[tuple[int, Any]]:
        sender, decoding = 0, self._decoding
        decoded = []
        try:
            for sender, content in messages:
                decoded.append((sender, decode_view(content, decoding)))
        except ProtocolError as error:
            raise Failure(f"the message of p{sender + 1} cannot be decoded: {error}") from None
        return decoded

    def save(self) -> bytearray:
        """The state, encoded."""
        return saved(self._program)

    def state_length(self) -> int:
        """The length of the state, or the memory that the program declares."""
        program = self._program
        if self._declares_memory:
            declared = program.memory()
            if declared is not None:
                return declared
        try:
            return measure(program.save() if self._saves else program.__dict__, self._encoding)
        except TypeError as error:
            raise _of_state(error, program) from None

    def remaining(self) -> int:
        """The supersteps that the process says are left."""
        remaining = self._program.remaining()
        if remaining is None:
            return frames.UNKNOWN
        if not 0 <= remaining < frames.UNKNOWN:
            raise ValueError(f"`remaining` returns {remaining}")
        return int(remaining)

    def _progress(self) -> float:
        progress = self._program.progress()
        return _NAN if progress is None else float(progress)


def serve(program: type[Program]) -> None:
    """Serves a program on the channel of this executor until the runtime ends it."""
    try:
        answer_all(program, Channel(channel()))
    except ProtocolError as error:
        sys.exit(f"migbsp: {error}")


def serve_on(program: type[Program], stream: socket.socket) -> None:
    """Serves a program on another stream until it ends."""
    with stream, contextlib.suppress(ProtocolError, OSError):
        answer_all(program, Channel(stream))


def answer_all(program: type[Program], channel: Channel) -> None:
    """Answers all requests. A `ProtocolError` is raised after it has been answered."""
    executor = Executor(program)
    handle = frames.EXECUTOR
    try:
        while (request := read(channel)) is not None:
            kind, handle, body = request
            if kind == frames.BYE:
                break
            channel.write(executor.answer(kind, handle, body))
    except ProtocolError as error:
        channel.write(reply(frames.FAILED, handle, frames.failed(frames.PROTOCOL, str(error))))
        raise


def read(channel: Channel) -> tuple[int, int, memoryview] | None:
    """The next request; `None` if the runtime is gone."""
    try:
        return channel.read()
    except ConnectionError:
        return None


def is_executor() -> bool:
    """Whether migbsp has started this process to execute processes of a program."""
    return _taken is not None


def channel() -> socket.socket:
    """The stream between runtime and executor."""
    assert _taken is not None, "this process is an executor"
    return _taken


def take_channel() -> None:
    """Takes the channel off descriptors 0 and 1, so that what the program prints is in the log and not in it.

    This is done when the package is imported, before other modules print.
    """
    global _taken
    if os.environ.pop("MIGBSP_EXECUTOR", None) != "1" or not stat.S_ISSOCK(os.fstat(0).st_mode):
        return
    _taken = socket.socket(fileno=os.dup(0))
    _taken.set_inheritable(False)
    _taken.setblocking(True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        _taken.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BUFFER)
    # An interrupt at the terminal is for the runtime, which ends its executors.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# What executors have in common


def reply(kind: int, handle: int, body: list[Buffer]) -> list[Buffer]:
    """The pieces of a frame."""
    length = sum(map(len, body))
    return [frames.FRAME.pack(kind, 0, frames.MAGIC, handle, length), *body]


def welcome(flags: int, ends: tuple[int, int], name: str, files: list[str]) -> list[Buffer]:
    """The body of WELCOME."""
    description = {"name": name, "language": "Python", "digest": digest(files), "packages": packages()}
    text = json.dumps(description).encode()
    return [frames.WELCOME_BODY.pack(frames.VERSION, flags, *ends, len(text)), *frames.part(text)]


def parameters_of(hello: frames.Hello) -> dict[str, Any]:
    """The parameters in HELLO."""
    if not hello.lowest <= frames.VERSION <= hello.highest:
        raise ProtocolError(
            f"the runtime speaks versions {hello.lowest} to {hello.highest} of the protocol, this package speaks "
            f"{frames.VERSION}: install the package that belongs to the runtime"
        )
    try:
        parameters = json.loads(hello.text)["parameters"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProtocolError(f"the text of HELLO: {error!r}") from None
    if not isinstance(parameters, dict) or hello.processes == 0:
        raise ProtocolError("HELLO without parameters or processes")
    return parameters


def add_parts(
    pieces: list[Buffer], sends: list[Send], items: Iterable[tuple[int, int, bytes, Buffer]], output: Buffer
) -> int:
    """Adds what follows the first 64 bytes of DONE, and returns its length."""
    record, zeros = frames.RECORD.pack, frames.ZEROS
    size = 16 * len(sends)
    pieces += [record(to, 0 if content is not None else frames.ONLY_SIZE, length) for to, content, length in sends]
    for each in items:
        parts = frames.item(*each)
        pieces += parts
        size += sum(map(len, parts))
    for _, content, length in sends:
        if content is None:
            continue
        if type(content) is list:
            pieces += content
        else:
            pieces.append(content)  # type: ignore[arg-type]
        rest = -length & 15
        if rest:
            pieces.append(zeros[rest])
        size += length + rest
    if output:
        pieces += frames.part(output)
        size += frames.padded(len(output))
    return size


def by_name(items: list[tuple[bytes, Item]]) -> dict[bytes, list[Item]]:
    """Results of reductions, by name."""
    named: dict[bytes, list[Item]] = {}
    for name, item in items:
        named.setdefault(name, []).append(item)
    return named


def made(program: type[Program], start: Start, parameters: dict[str, Any]) -> Program:
    """A process at its start."""
    _check_parameters(program, parameters)
    return program(start, **parameters)


def saved(program: Program) -> bytearray:
    """The encoded state of a process."""
    try:
        return encode_state(program.save(), allows_pickle=program.allows_pickle)
    except TypeError as error:
        raise _of_state(error, program) from None


def loaded(kind: type[Program], state: Buffer) -> Program:
    """The process with an encoded state."""
    try:
        decoded = decode_state(state, allows_pickle=kind.allows_pickle)
    except ProtocolError as error:
        raise Failure(f"the state cannot be decoded: {error}") from None
    program = kind.__new__(kind)
    program.load(decoded)
    return program


def is_own(program: type[Program], name: str) -> bool:
    """Whether a program has a method of its own."""
    own = getattr(program, name)
    return getattr(own, "__func__", own) is not getattr(getattr(Program, name), "__func__", getattr(Program, name))


def refuse_returned(returned: object) -> None:
    """A superstep has returned something: the output, probably."""
    name = type(returned).__name__
    if name in ("generator", "coroutine", "async_generator"):
        raise TypeError(f"`superstep` is a {name}: it must not have `yield` or `async`")
    raise TypeError(f"`superstep` returns a {name}: a process ends with `return ctx.halt(output)`")


def describe(error: BaseException) -> list[Buffer]:
    """The body of FAILED: the error, and its traceback without the functions of this package."""
    if isinstance(error, Failure):
        return frames.failed(frames.INPUT, str(error))
    if isinstance(error, SystemExit):
        return frames.failed(frames.PROGRAM, f"the program calls sys.exit({error.code!r})", traceback_of(error))
    message = last_line(error)
    if isinstance(error, MemoryError):
        message += ": the executor has no more memory"
    return frames.failed(frames.PROGRAM, message, traceback_of(error))


def last_line(error: BaseException) -> str:
    """An error as tracebacks end with it."""
    import traceback

    return "".join(traceback.format_exception_only(type(error), error)).strip()


def traceback_of(error: BaseException) -> str:
    """The traceback of an error without the functions of this package."""
    import traceback

    report = traceback.TracebackException.from_exception(error)
    reports: list[traceback.TracebackException | None] = [report]
    while reports:
        each = reports.pop()
        if each is None:
            continue
        each.stack = traceback.StackSummary.from_list(
            [frame for frame in each.stack if not frame.filename.startswith((_PACKAGE, "<frozen runpy>"))]
        )
        reports += [each.__cause__, each.__context__]
    return "".join(report.format())


def program_files(program: type[Program]) -> list[str]:
    """The files of a program: that of its class, and modules that have been imported from the same folder."""
    main = sys.modules.get(program.__module__)
    return files_beside(getattr(main, "__file__", None))


def files_beside(main: str | None) -> list[str]:
    """A file, and those of modules that have been imported from its folder and the folders in it, but not installed."""
    if main is None or not os.path.isfile(main):
        return []
    folders = tuple({os.path.dirname(path(main)) + os.sep for path in (os.path.abspath, os.path.realpath)})
    files = {os.path.realpath(main)}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(folders) and file.endswith(".py"):
            if not file.startswith(_PACKAGE) and "site-packages" not in file and "dist-packages" not in file:
                files.add(os.path.realpath(file))
    return sorted(files)


def digest(files: list[str]) -> str:
    """What a program consists of, as a digest: the names of its files, and what is in them."""
    from hashlib import sha256

    whole = sha256()
    folder = os.path.commonpath([os.path.dirname(file) for file in files]) if files else ""
    for file in files:
        with open(file, "rb") as content:
            name = os.path.relpath(file, folder).encode()
            whole.update(b"%d %s %s" % (len(name), name, sha256(content.read()).digest()))
    return whole.hexdigest()


def packages() -> dict[str, str]:
    """Versions of what is installed and imported."""
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name, module in sorted(sys.modules.items()):
        if "." not in name and not name.startswith("_") and name not in sys.stdlib_module_names:
            version = vars(module).get("__version__")
            if isinstance(version, str):
                versions[name] = version
    return versions


def _check_parameters(program: type[Program], parameters: dict[str, Any]) -> None:
    """Refuses parameters that the program does not have, and misses those that it needs."""
    import inspect

    name = program.__name__
    own = list(inspect.signature(program.__init__).parameters.values())[2:]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in own)
    named = {each.name: each for each in own if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    for parameter in parameters:
        if parameter not in named and not takes_any:
            has = f"it has {', '.join(named)}" if named else "it has none"
            raise Failure(f"{name} has no parameter `{parameter}`: {has}")
    for each in named.values():
        if each.default is each.empty and each.name not in parameters:
            raise Failure(f"{name} needs the parameter `{each.name}`")


def _of_state(error: TypeError, program: Program) -> TypeError:
    """An error of a state, with the name of the attribute."""
    text = str(error)
    head, place, tail = text.rpartition(", at ['")
    if place and not is_own(type(program), "save"):
        attribute, _, rest = tail.partition("']")
        text = f"{head}, at self.{attribute}{rest}"
    return TypeError(f"the state of {type(program).__name__} cannot be saved: {text}")


_taken: socket.socket | None = None
_PACKAGE = os.path.dirname(os.path.realpath(__file__)) + os.sep
_PACK_DONE = frames.DONE_FRAME.pack
_NAN = float("nan")
_SOCKET_BUFFER = 1 << 20
