"""Mutated frames end an executor with FAILED or an exit status, and never by a signal or a sanitizer's report."""

import os
import random
import struct

import pytest
import runtime
from conftest import SANITIZED
from runtime import DROP, HELLO, LOAD, SAVE, START, STEP, Ended, Executor, Failed, frame

# Mutated frames for each program; more are a matter of time.
FRAMES = int(os.environ.get("MUTATED_FRAMES", "100000"))
SEED = int(os.environ.get("MUTATED_SEED", "1"))


@pytest.mark.parametrize(("program", "part"), [("everything.c", 1), ("bsplib.c", 1), ("cg.c", 8), ("heat.c", 50)])
def test_mutated_frames_are_answered(build, program, part):
    """In one process: the channel is memory, and memory runs out."""
    import subprocess

    path = "../../../examples/c/" + program if program in ("cg.c", "heat.c") else program
    command = build("fuzz.c", *SANITIZED, f'-DPROGRAM="{path}"')
    # A stream has 1.6 mutated frames on average.
    fuzz = subprocess.run([*command, str(SEED), str(FRAMES // part * 5 // 8)], capture_output=True, text=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    assert fuzz.returncode == 0, fuzz.stderr[-4000:]
    frames, mutated, answers, failed = [int(word.split()[0]) for word in fuzz.stdout.split(",")]
    assert mutated > FRAMES // part * 9 // 10 and failed < mutated < frames and answers > failed


def mutated(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        choice = rng.randrange(4)
        if choice == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif choice == 1:
            struct.pack_into("<Q", data, at // 8 * 8, rng.choice([0, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1])) if len(data) >= at // 8 * 8 + 8 else None
        elif choice == 2:
            del data[at : at + rng.randint(1, 16)]
        else:
            data[at:at] = rng.randbytes(rng.randint(1, 16))
        if not data:
            break
    return bytes(data)


def test_executors_survive_no_mutation_by_a_signal(build):
    """With real channels, and the end of the stream after the mutated frame."""
    rng = random.Random(SEED)
    command = build("everything.c", *SANITIZED)
    items = [(1, 0, "sum", 0, bytes(8)), (4, 0, "and", 0, b"\1"), (6, 0, "values", 1, b"value")]
    step = runtime.step(1, messages=[(0, b"x" * 100), (1, 7), (1, b"")], standby=[0], items=items)
    for number in range(150):
        with Executor(command, 2, environment={"ASAN_OPTIONS": "detect_leaks=0"}) as executor:
            executor.start(0, 0)
            state = executor.save(0)
            requests = [
                frame(STEP, 0, step),
                frame(LOAD, 1, runtime.rank_body(1, state)),
                frame(START, 1, runtime.rank_body(1)),
                frame(HELLO, runtime.EXECUTOR, runtime.hello(2, {"a": 1})),
                frame(SAVE, 0),
                frame(DROP, 0),
            ]
            executor.send(mutated(rng, rng.choice(requests)))
            executor.socket.shutdown(1)
            try:
                while True:
                    kind, _ = executor.receive()
                    assert kind in (129, 130, 131, 133, 255)
            except Ended as ended:
                assert ended.status in (0, 1), (number, ended.log)
                assert "ERROR" not in ended.log and "runtime error" not in ended.log, (number, ended.log)
