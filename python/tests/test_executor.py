"""Executors as processes of the operating system, served by the runtime of the tests."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import runtime
from cg import CG
from heat import Heat
from pagerank import PageRank
from runtime import DONE, READY, SAVED, Executor, ExecutorEnded, Message, ProgramFailed, Runtime, hello, parts, step_body

import migbsp
from migbsp._values import OUTPUT, decode, encode

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "python"
KINDS: list[tuple[Any, str, dict[str, Any]]] = [
    (Heat, "heat.py", {"size": 24, "steps": 7}),
    (PageRank, "pagerank.py", {"vertices": 300, "degree": 4, "tolerance": 1e-4}),
    (CG, "cg.py", {"size": 9, "tolerance": 1e-3}),
]


def executor(folder: Path, source: str, name: str = "program.py", **environment: str) -> Executor:
    file = folder / name
    file.write_text(source)
    return Executor([sys.executable, str(file)], environment)


def program(body: str, head: str = "import migbsp", declaration: str = "migbsp.Program") -> str:
    indented = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return f"{head}\n\nclass P({declaration}):\n{indented}\n\nmigbsp.main(P)\n"


def started(folder: Path, body: str, *, parameters: dict[str, Any] | None = None, **more: Any) -> Executor:
    given = executor(folder, program(body, **more))
    given.welcome(hello(4, parameters))
    given.expect(READY, runtime.START, 0, bytes(16))
    return given


def step(given: Executor, superstep: int = 0, messages: list[Message] = [], handle: int = 0) -> runtime.Done:
    return runtime.read_done(0, given.expect(DONE, runtime.STEP, handle, step_body(superstep, 0.0, messages)))


@pytest.mark.parametrize(("kind", "file", "parameters"), KINDS)
@pytest.mark.parametrize(("processes", "shared"), [(1, False), (2, False), (3, False), (3, True), (7, True)])
def test_examples_give_the_same_wherever_they_move(
    kind: Any, file: str, parameters: dict[str, Any], processes: int, shared: bool
) -> None:
    here = migbsp.run_here(kind, processes=processes, seed=3, **parameters)
    moved = Runtime(
        [sys.executable, str(EXAMPLES / file)], processes, parameters, moves=True, shared=shared, seed=3
    ).run()
    assert moved.outputs == [bytes(encode(output, OUTPUT)) for output in here.outputs]
    assert (moved.supersteps, moved.charge) == (here.supersteps, here.instructions)
    assert moved.moves == processes * (moved.supersteps - 1)
    notes = [(superstep, name.encode(), note.sum) for superstep, noted in here.notes for name, note in noted.items()]
    assert moved.notes == notes


def test_welcome_and_verdict(tmp_path: Path) -> None:
    given = Executor([sys.executable, str(EXAMPLES / "pagerank.py")])
    flags, ends, description = given.welcome(hello(2, {"vertices": 10}))
    assert (flags, ends) == (7, (1, 0))
    assert (description["name"], description["language"]) == ("PageRank", "Python")
    assert len(description["digest"]) == 64
    assert description["packages"]["numpy"] == np.__version__

    def verdict(*outputs: Any) -> tuple[int, str]:
        encoded = [bytes(encode(output, OUTPUT)) for output in outputs]
        lengths = struct.pack(f"<{len(encoded)}Q", *map(len, encoded))
        body = parts(struct.pack("<QQ", len(encoded), 0), lengths, *encoded)
        answer = given.expect(runtime.VERDICT, runtime.VERIFY, runtime.ALL, body)
        number, length, zero = struct.unpack_from("<IIQ", answer)
        assert zero == 0
        return number, answer[16 : 16 + length].decode()

    assert verdict(np.full(5, 0.1), np.full(5, 0.1)) == (1, "the ranks sum to 1 within 0e+00")
    assert verdict(np.full(5, 0.1), np.full(5, 0.2)) == (3, "the ranks sum to 1.5, expected 1")
    assert given.end() == 0
    other = Executor([sys.executable, str(EXAMPLES / "heat.py")])
    assert other.welcome(hello(2))[0] == 3
    assert other.end() == 0


def test_the_digest_is_of_the_files_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("factor = 2\n")
    body = "def superstep(self, ctx):\n    ctx.halt(helper.factor)"
    digests = []
    for folder in ("one", "two", "three"):
        place = tmp_path / folder
        place.mkdir()
        (place / "helper.py").write_text(f"factor = {2 if folder != 'three' else 3}\n")
        given = executor(place, program(body, "import migbsp, helper"))
        digests.append(given.welcome(hello(1))[2]["digest"])
        given.end()
    assert digests[0] == digests[1] != digests[2]


def test_state_lengths_remaining_and_progress(tmp_path: Path) -> None:
    given = started(
        tmp_path,
        """
def __init__(self, ctx, *, steps):
    self.steps, self.grows = steps, []
def superstep(self, ctx):
    self.steps -= 1
    self.grows.append(0.5)
    ctx.charge(7)
def remaining(self):
    return self.steps
def progress(self):
    return 0.25
""",
        parameters={"steps": 5},
    )
    for superstep in range(12):
        if superstep == 5:
            with pytest.raises(ProgramFailed, match="`remaining` returns -1"):
                for _ in range(2):
                    step(given, superstep)
            break
        done = step(given, superstep)
        saved = given.expect(SAVED, runtime.SAVE, 0)
        assert (done.state, done.remaining, done.progress, done.charge) == (len(saved), 4 - superstep, 0.25, 7)
    given.end()


def test_a_process_declares_its_memory(tmp_path: Path) -> None:
    given = started(tmp_path, "def superstep(self, ctx):\n    pass\ndef memory(self):\n    return 12345")
    assert step(given).state == 12345
    given.end()


def test_programs_with_save_and_load(tmp_path: Path) -> None:
    body = """
def __init__(self, ctx):
    self.members = {3, 1, 2}
def superstep(self, ctx):
    self.members.add(ctx.superstep + 10)
    if ctx.superstep == 3:
        ctx.halt(sorted(self.members))
def save(self):
    return sorted(self.members)
def load(self, state):
    self.members = set(state)
"""
    (tmp_path / "program.py").write_text(program(body))
    outcome = Runtime([sys.executable, str(tmp_path / "program.py")], 3, moves=True).run()
    assert [decode(output) for output in outcome.outputs] == [[1, 2, 3, 10, 11, 12, 13]] * 3


def test_rounds_are_announced(tmp_path: Path) -> None:
    given = executor(tmp_path, program("ROUND = migbsp.Round(length=3, last=2)\ndef superstep(self, ctx):\n    ctx.halt()"))
    assert given.welcome(hello(1))[1] == (3, 2)
    given.end()


def test_an_exception_arrives_with_its_traceback(tmp_path: Path) -> None:
    body = """
def superstep(self, ctx):
    self.broken()
def broken(self):
    try:
        self.missing
    except AttributeError:
        raise ValueError("it is broken")
"""
    given = started(tmp_path, body)
    with pytest.raises(ProgramFailed) as failed:
        step(given)
    assert (failed.value.kind, failed.value.message) == (2, "ValueError: it is broken")
    details = failed.value.details
    assert 'program.py", line 10, in broken' in details and "self.missing" in details
    assert "During handling of the above exception" in details
    assert "_executor.py" not in details
    given.end()


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("ctx.fail('the matrix is singular')", 1, "the matrix is singular"),
        ("raise migbsp.Failure('no file')", 1, "no file"),
        ("ctx.send(9, 1)", 2, "ValueError: p1 sends to rank 9, but the ranks are 0 to 3"),
        ("ctx.halt(); ctx.halt()", 2, "RuntimeError: p1 halts twice in superstep 0"),
        ("ctx.send(1, {1})", 2, "TypeError: a set cannot be encoded, because its order differs from process to process"),
        ("ctx.send(1, complex)", 2, "TypeError: a type cannot be encoded"),
        ("return 5", 2, "TypeError: `superstep` returns a int: a process ends with `return ctx.halt(output)`"),
        ("raise SystemExit(3)", 2, "the program calls sys.exit(3)"),
        ("import sys; sys.exit('bye')", 2, "the program calls sys.exit('bye')"),
        ("raise KeyboardInterrupt", 2, "KeyboardInterrupt"),
        ("raise MemoryError", 2, "MemoryError: the executor has no more memory"),
        ("def f(): f()\n    f()", 2, "RecursionError: maximum recursion depth exceeded"),
        ("ctx.charge(1 << 64)", 2, "ValueError: 18446744073709551616 instructions are charged in a superstep"),
        ("raise ValueError('x' * 200_000)", 2, "ValueError: xxxxx"),
        ("ctx.halt(object())", 2, "TypeError: an object cannot be in an output: give plain data"),
        ("self.queue = {1: {1}}", 2, "TypeError: the state of P cannot be saved: a set cannot be encoded, because"),
    ],
)
def test_failures(tmp_path: Path, body: str, kind: int, message: str) -> None:
    given = started(tmp_path, f"def superstep(self, ctx):\n    {body}")
    with pytest.raises(ProgramFailed) as failed:
        step(given)
    assert failed.value.kind == kind
    assert failed.value.message.startswith(message)
    # The executor goes on.
    given.expect(READY, runtime.START, 1, bytes(16))
    assert given.end() == 0


def test_the_attribute_that_cannot_be_saved_is_named(tmp_path: Path) -> None:
    given = executor(tmp_path, program("def __init__(self, ctx):\n    self.queue = [1, {2: {3}}]"))
    given.welcome(hello(1))
    with pytest.raises(ProgramFailed, match=r"give sorted\(...\) of it, at self.queue\[1\]\[2\]"):
        given.request(runtime.START, 0, bytes(16))
    given.end()


def test_failures_in_the_constructor(tmp_path: Path) -> None:
    body = "def __init__(self, ctx, *, size):\n    if size < 0: ctx.fail('invalid value for `size`')\n    1 // size"
    given = executor(tmp_path, program(body))
    for parameters, kind, message in [
        ({"size": -1}, 1, "invalid value for `size`"),
        ({"size": 0}, 2, "ZeroDivisionError: integer"),
        ({}, 1, "P needs the parameter `size`"),
        ({"size": 1, "sise": 1}, 1, "P has no parameter `sise`: it has size"),
    ]:
        given.welcome(hello(1, parameters))
        with pytest.raises(ProgramFailed, match=message) as failed:
            given.request(runtime.START, 0, bytes(16))
        assert failed.value.kind == kind
    given.end()


def test_prints_are_in_the_log(tmp_path: Path) -> None:
    source = "print('before', flush=False)\n" + program(
        "def superstep(self, ctx):\n    print('within', ctx.superstep); os.system('echo of a child; cat')\n    ctx.halt(input)",
        "import os, migbsp\nprint('at import')",
    ).replace("ctx.halt(input)", "ctx.halt()")
    given = executor(tmp_path, source)
    given.welcome(hello(1))
    given.expect(READY, runtime.START, 0, bytes(16))
    step(given)
    assert given.end() == 0
    # The first line has been printed before the package was imported, and was in the buffer.
    assert sorted(given.errors().split("\n")) == ["", "at import", "before", "of a child", "within 0"]


def test_children_do_not_take_the_channel(tmp_path: Path) -> None:
    body = (
        "def superstep(self, ctx):\n"
        "    ended = subprocess.run([sys.executable, '-c', 'import migbsp; print(5)'], capture_output=True)\n"
        "    ctx.halt(ended.stdout.decode())"
    )
    given = started(tmp_path, body, head="import subprocess, sys, migbsp")
    assert decode(step(given).output) == "5\n"
    given.end()


@pytest.mark.parametrize(("call", "code"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", -9), ("os.abort()", -6)])
def test_an_executor_that_ends(tmp_path: Path, call: str, code: int) -> None:
    given = started(tmp_path, f"def superstep(self, ctx):\n    {call}", head="import os, migbsp")
    with pytest.raises(ExecutorEnded, match=f"exit code {code}"):
        step(given)
    given.close()


def test_an_import_that_fails(tmp_path: Path) -> None:
    given = executor(tmp_path, "import migbsp, does_not_exist")
    with pytest.raises(ExecutorEnded):
        given.welcome(hello(1))
    assert "No module named 'does_not_exist'" in given.errors()
    given.close()


def test_an_executor_ends_with_its_runtime(tmp_path: Path) -> None:
    given = started(tmp_path, "def superstep(self, ctx):\n    pass")
    os.kill(given.process.pid, signal.SIGINT)
    step(given)
    given.stream.close()
    assert given.process.wait(10) == 0
    assert given.errors() == ""


def test_garbage_is_refused_and_ends_the_executor(tmp_path: Path) -> None:
    given = started(tmp_path, "def superstep(self, ctx):\n    ctx.halt()")
    given.stream.sendall(b"no frame at all...")
    with pytest.raises(ProgramFailed, match="is not the header of a frame") as failed:
        given.read()
    assert failed.value.kind == 3
    assert given.process.wait(10) == 1
    assert "is not the header of a frame" in given.errors()
    given.close()


def test_another_version_is_refused(tmp_path: Path) -> None:
    given = executor(tmp_path, program("pass"))
    with pytest.raises(ProgramFailed, match="the runtime speaks versions 7 to 7 of the protocol, this package speaks 1") as failed:
        given.welcome(hello(1, version=7))
    assert failed.value.kind == 3
    given.close()


def test_requests_may_be_written_before_replies_are_read(tmp_path: Path) -> None:
    given = executor(tmp_path, program("def superstep(self, ctx):\n    ctx.send(0, bytes(30_000))"))
    given.welcome(hello(4))
    given.stream.sendall(b"".join(runtime.frame(runtime.START, rank, struct.pack("<I12x", rank)) for rank in range(4)))
    given.stream.sendall(b"".join(runtime.frame(runtime.STEP, rank, step_body(0, 0.0, [])) for rank in range(4)))
    assert [given.read()[:2] for _ in range(8)] == [(READY, rank) for rank in range(4)] + [(DONE, rank) for rank in range(4)]
    given.end()


def test_pickles_are_refused_by_default(tmp_path: Path) -> None:
    body = """
def __init__(self, ctx):
    self.day = None
def superstep(self, ctx):
    self.day = [day for _, day in ctx.messages]
    if ctx.superstep == 1:
        return ctx.halt([str(day) for day in self.day])
    ctx.send(ctx.rank, datetime.date(2024, 1, 2))
"""
    given = started(tmp_path, body, head="import datetime, migbsp")
    with pytest.raises(ProgramFailed, match="a date cannot be encoded.*class P.migbsp.Program, pickle=True"):
        step(given)
    given.end()
    (tmp_path / "trusting.py").write_text(program(body, "import datetime, migbsp", "migbsp.Program, pickle=True"))
    outcome = Runtime([sys.executable, str(tmp_path / "trusting.py")], 1, moves=True, keeps=True).run()
    assert decode(outcome.outputs[0]) == ["2024-01-02"]
    sent = outcome.dones[0][0].sends[0][1]
    given = started(tmp_path, body, head="import datetime, migbsp")
    with pytest.raises(ProgramFailed, match="the message of p1 cannot be decoded: a value is pickled, and unpickling may") as failed:
        step(given, 0, [sent])
    assert failed.value.kind == 1
    state = bytes(16) + bytes(encode({"day": None}))[:-1] + sent.content  # type: ignore[operator]
    with pytest.raises(ProgramFailed, match="the state cannot be decoded: a value is pickled"):
        given.request(runtime.LOAD, 5, state)
    given.end()


def test_one_executor_holds_a_process_and_its_copy(tmp_path: Path) -> None:
    body = """
def __init__(self, ctx):
    self.cells = [ctx.rank]
def superstep(self, ctx):
    self.cells.append(ctx.superstep)
    if ctx.superstep == 2:
        ctx.halt([ctx.rank, self.cells])
"""
    given = started(tmp_path, body)
    step(given, 0)
    state = given.expect(SAVED, runtime.SAVE, 0)
    given.expect(READY, runtime.LOAD, 1, struct.pack("<I12x", 3) + state)
    step(given, 1)
    assert decode(step(given, 2).output) == [0, [0, 0, 1, 2]]
    assert decode(step(given, 2, handle=1).output) == [3, [0, 0, 2]]
    assert given.expect(SAVED, runtime.SAVE, 1) is not None
    given.expect(runtime.OK, runtime.DROP, 0)
    with pytest.raises(ProgramFailed, match="STEP for process 0, which does not exist"):
        step(given, 3)
    given.close()


def test_messages_of_all_kinds_are_written_in_order(tmp_path: Path) -> None:
    body = """
def superstep(self, ctx):
    numbers = np.arange(3000.0)
    ctx.send(1, numbers, copy=False)
    ctx.send(0, "small")
    ctx.send_sized(2, 99)
    ctx.broadcast([numbers, 1], copy=False)
    ctx.send(3, numbers[::2])
    ctx.reduce("sum", migbsp.Sum(2.5))
    ctx.halt(b"end")
"""
    done = step(started(tmp_path, body, head="import numpy as np, migbsp"))
    receivers = [to for to, _ in done.sends]
    assert receivers == [1, 0, 2, runtime.ALL, 3]
    contents = [message.content for _, message in done.sends]
    assert decode(contents[0]).tolist() == list(range(3000))  # type: ignore[arg-type]
    assert decode(contents[1]) == "small"  # type: ignore[arg-type]
    assert contents[2] is None and done.sends[2][1].length == 99
    assert decode(contents[3])[0][7] == 7  # type: ignore[arg-type]
    assert decode(contents[4]).tolist() == list(range(0, 3000, 2))  # type: ignore[arg-type]
    assert done.items == [(1, 0, b"sum", struct.pack("<d", 2.5))]
    assert (done.flags, decode(done.output)) == (3, b"end")


def test_looking_at_seconds_or_standby_is_told(tmp_path: Path) -> None:
    for look in ("ctx.elapsed", "ctx.standby"):
        given = started(tmp_path, f"def superstep(self, ctx):\n    if ctx.superstep == 1: {look}")
        assert [step(given, superstep).flags for superstep in range(3)] == [0, 4, 0]
        given.end()


def test_processor_time_is_that_of_the_superstep(tmp_path: Path) -> None:
    body = """
def superstep(self, ctx):
    end = time.process_time() + 0.05
    while ctx.superstep and time.process_time() < end:
        pass
    time.sleep(0.02)
"""
    given = started(tmp_path, body, head="import time, migbsp")
    assert step(given, 0).seconds < 0.01
    assert 0.05 <= step(given, 1).seconds < 0.06
    given.end()


def test_an_executor_without_numpy(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('there is no NumPy here')\n")
    body = """
def __init__(self, ctx):
    self.cells = [0.5] * 20
def superstep(self, ctx):
    if ctx.superstep == 0:
        ctx.reduce("cells", migbsp.Sum(self.cells))
        ctx.reduce("count", migbsp.Sum(1))
    else:
        ctx.halt([ctx.reduced("cells"), ctx.reduced("count")])
"""
    (tmp_path / "program.py").write_text(program(body))
    outcome = Runtime([sys.executable, str(tmp_path / "program.py")], 2, moves=True).run()
    assert decode(outcome.outputs[0]) == [[1.0] * 20, 2]


def test_a_file_without_main_and_a_file_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(program("def superstep(self, ctx):\n    ctx.halt(5)").replace("migbsp.main(P)", ""))
    outcome = Runtime([sys.executable, "-m", "migbsp", str(tmp_path / "program.py")], 2).run()
    assert [decode(output) for output in outcome.outputs] == [5, 5]


def test_a_large_state_is_saved_and_loaded_quickly(tmp_path: Path) -> None:
    body = "def __init__(self, ctx):\n    self.cells = np.ones(12_500_000)\ndef superstep(self, ctx):\n    ctx.halt(self.cells[-1])"
    given = started(tmp_path, body, head="import numpy as np, migbsp")
    begun = time.perf_counter()
    state = given.expect(SAVED, runtime.SAVE, 0)
    given.expect(READY, runtime.LOAD, 1, bytes(16) + state)
    assert time.perf_counter() - begun < 10
    assert decode(step(given, 0, handle=1).output) == 1.0
    given.end()


def test_a_class_of_this_interpreter_is_served_on_a_socket() -> None:
    class Local(migbsp.Program):
        def __init__(self, ctx: migbsp.Start, *, size: int) -> None:
            self.size = size

        def superstep(self, ctx: migbsp.Superstep) -> None:
            ctx.halt([self.size, ctx.rank])

    with migbsp.attached(Local) as path:
        streams = []
        for rank in range(2):
            given = object.__new__(Executor)
            given.stream = socket.socket(socket.AF_UNIX)
            given.stream.connect(path)
            assert given.welcome(hello(2, {"size": 5}))[0] == 3
            given.expect(READY, runtime.START, 0, struct.pack("<I12x", rank))
            streams.append(given)
        assert [decode(step(given).output) for given in streams] == [[5, 0], [5, 1]]
        streams[0].write(runtime.BYE, runtime.ALL)
        streams[1].stream.sendall(b"what is not a frame")
        with pytest.raises(ProgramFailed, match="is not the header of a frame"):
            streams[1].read()
        for given in streams:
            assert given.stream.recv(1) == b""
            given.stream.close()
    assert not os.path.exists(path)


def test_the_package_does_not_import_what_takes_long() -> None:
    slow = ["numpy", "inspect", "pathlib", "asyncio", "subprocess", "tempfile", "typing_extensions", "importlib.metadata", "ast", "hashlib"]
    check = f"import migbsp, sys; sys.exit(' '.join(name for name in {slow} if name in sys.modules))"
    ended = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert ended.stderr.strip() == ""
