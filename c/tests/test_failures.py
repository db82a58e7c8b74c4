"""What a program does wrong ends its run with a message, and nothing else goes wrong."""

import json
import signal
import struct
import time

import pytest
import runtime
from runtime import DROP, EXECUTOR, HELLO, LOAD, SAVE, START, STEP, VERIFY, Ended, Executor, Failed, frame

INPUT, PROGRAM, PROTOCOL = 1, 2, 3


def failure(command, parameters, processes=2):
    """Executes four supersteps, with a move after each, and returns the fault and the message of the failure."""
    with Executor(command, greet=False) as executor:
        with pytest.raises(Failed) as failed:
            executor.greet(processes, parameters)
            executor.start(0, 0)
            items = []
            for index in range(4):
                done = executor.step(index, index, items=items)
                items = runtime.reduced([(0, item) for item in done.items])
                executor.load(index + 1, 0, executor.save(index))
                executor.drop(index)
        assert executor.wait()[0] == 1
    return failed.value.fault, str(failed.value)


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("setup", INPUT, "the parameters do not fit"),
        ("misspelt", INPUT, "the program has no parameter `value`"),
        ("int", INPUT, "invalid value `1.5` for the parameter `value`: must be an integer of 64 bits"),
        ("bool", INPUT, "invalid value `1.5` for the parameter `value`: must be true or false"),
        ("text", INPUT, "invalid value `1.5` for the parameter `value`: must be a text"),
        ("send in setup", PROGRAM, "bsp_send: called in bsp_setup"),
        ("round", PROGRAM, "bsp_round: the last superstep of a round is 0 to its length less 1"),
        ("create", PROGRAM, "no process 0"),
        ("null", PROGRAM, "bsp_create returned NULL"),
        ("fail", PROGRAM, "superstep 0 of this program"),
        ("receiver", PROGRAM, "bsp_send: there is no process 2: they are 0 to 1"),
        ("negative", PROGRAM, "bsp_send_sized: there is no process -1: they are 0 to 1"),
        ("read", PROGRAM, "bsp_read: called in bsp_superstep"),
        ("name", PROGRAM, "bsp_reduce_double: a name has 64 bytes at most: `" + 80 * "n" + "`"),
        ("note", PROGRAM, "bsp_note: a name has no control characters"),
        ("empty note", PROGRAM, "bsp_note: the name is empty"),
        ("snapshot name", PROGRAM, "bsp_snapshot: a name has 1 to 64 small letters, digits, `-` and `_`, the first a letter or a digit: `Field`"),
        ("snapshot twice", PROGRAM, "bsp_snapshot: `field` has been taken in this superstep"),
        ("snapshots", PROGRAM, "bsp_snapshot: `aq` is one too many: a process may take 16 in a superstep"),
        ("operation", PROGRAM, "bsp_reduce_double: the operation must be BSP_SUM, BSP_MIN or BSP_MAX"),
        ("absent", PROGRAM, "bsp_reduced_double: no process reduced `x` in the superstep before"),
        ("progress", PROGRAM, "bsp_progress: 1.5 is not between 0 and 1"),
        ("output", PROGRAM, "bsp_output: only in the superstep in which the process halts"),
        ("array type", PROGRAM, "bsp_output_array: `double` is no type of numbers such as `<f8`"),
        ("array length", PROGRAM, "bsp_output_array: an array has less than 4 GiB"),
        ("two outputs", PROGRAM, "bsp_output: the output is an array already"),
        ("other reduction", PROGRAM, "bsp_reduced_double: `x` was reduced as maximum of signed integers, not as sum of doubles"),
        ("count", PROGRAM, "bsp_reduced_doubles: `x` has 1 numbers, not 2"),
        ("memory", PROGRAM, "there is no memory for 9223372036854775807 times 1 bytes"),
        ("message memory", PROGRAM, "the messages of a superstep have less than 4 GiB together"),
        ("verify in superstep", PROGRAM, "bsp_verdict: called in bsp_superstep"),
        ("return", PROGRAM, "bsp_superstep returned -1: must be 0, to go on, or 1, to halt"),
        ("loads more", PROGRAM, "bsp_load reads beyond the state, which has 64 bytes"),
        ("loads less", PROGRAM, "bsp_load left 4 of 64 bytes of the state unread"),
        ("sends in save", PROGRAM, "bsp_send: called in bsp_save"),
        ("fails in save", PROGRAM, "this state cannot be saved"),
    ],
)
def test_faults_are_named(build, fault, kind, message):
    assert failure(build("faults.c"), {"fault": fault, "value": 1.5}) == (kind, message)


def test_types_of_parameters_are_checked(build):
    assert failure(build("faults.c"), {"fault": "double", "value": "1.5"}) == (INPUT, "invalid value `1.5` for the parameter `value`: must be a number")
    for value in [2**63, -(2**63) - 1, 1e3, "7", True]:
        kind, message = failure(build("faults.c"), {"fault": "int", "value": value})
        assert kind == INPUT and message.endswith("must be an integer of 64 bits")


def test_long_messages_are_cut(build):
    kind, message = failure(build("faults.c"), {"fault": "long"})
    assert kind == PROGRAM and message == "0" * 4095


@pytest.mark.parametrize(
    ("fault", "status", "log"),
    [
        ("segfault", -signal.SIGSEGV, ""),
        ("abort", -signal.SIGABRT, ""),
        ("exit", 7, ""),
        ("saves more", 1, "bsp_save wrote more than 64 bytes, the number that it wrote when they were counted\n"),
        ("saves less", 1, "bsp_save wrote 64 bytes less than when they were counted\n"),
    ],
)
def test_ends_are_seen_by_the_runtime(build, fault, status, log):
    with Executor(build("faults.c"), 1, {"fault": fault}) as executor:
        with pytest.raises(Ended) as ended:
            executor.start(0, 0)
            executor.step(0, 0)
            executor.save(0)
    assert (ended.value.status, ended.value.log) == (status, log)


def test_a_hang_is_ended_by_a_kill(build):
    with Executor(build("faults.c"), 1, {"fault": "hang"}) as executor:
        executor.start(0, 0)
        executor.send(frame(STEP, 0, runtime.step(0)))
        time.sleep(0.2)
        assert not executor.has_input()
        executor.process.kill()
        with pytest.raises(Ended) as ended:
            executor.receive()
    assert ended.value.status == -signal.SIGKILL


def test_what_is_printed_is_in_the_log(build):
    run = runtime.run(build("faults.c"), 2, {"fault": "print"}, shared=True)
    assert run.log == "".join(f"line {line}\n" for line in range(1000)) * 2 * 4
    assert runtime.run(build("faults.c"), 1, {"fault": "write"}).log == "written\n" * 4


def test_exceptions_are_failures(build):
    command = build("exceptions.cpp", "-std=c++11", "-O2", "-Wall", "-Wextra", "-Werror", compiler="c++")
    assert failure(command, {"fault": "throw"}) == (PROGRAM, "an exception was not caught: thrown in p0")
    assert failure(command, {"fault": "int"}) == (PROGRAM, "an exception was not caught")
    kind, message = failure(command, {"fault": "at"})
    assert kind == PROGRAM and "vector" in message


def test_faults_of_bsplib_programs_are_named(build):
    with pytest.raises(Failed, match="the program has 1 processes at most, not 2") as failed:
        runtime.run(build("bsplib.c"), 2, {"most": 1}, moves=False)
    assert failed.value.fault == INPUT
    with pytest.raises(Failed, match="process 0 puts 4 bytes at 1 of an area that has 4 bytes"):
        runtime.run(build("bsplib.c"), 1, {"beyond": True}, moves=False)
    with Executor(build("sums.c")) as executor:
        executor.start(3, 0)
        with pytest.raises(Failed, match="holds one process, once, and cannot save"):
            executor.save(3)


def test_a_program_by_hand_says_what_it_is(build):
    import subprocess

    program = subprocess.run(build("heat.c"), capture_output=True, text=True, env={})
    assert program.returncode == 2
    assert program.stderr.endswith("heat is executed by migbsp: name it as `command` in [application.external] of an experiment\n")


BROKEN = [
    ("no frame", b"GET / HTTP/1.1\r\n\r\n", "what arrived is no request"),
    ("kind", frame(9, 0), "what arrived is no request"),
    ("a reply", frame(130, 0), "what arrived is no request"),
    ("second HELLO", frame(HELLO, EXECUTOR, runtime.hello(2)), "HELLO is the first request, and no other"),
    ("START of the executor", frame(START, EXECUTOR, runtime.rank_body(0)), "a request has a handle that it cannot have"),
    ("handle in use", frame(START, 0, runtime.rank_body(0)), "there is a process with the handle 0 already"),
    ("rank", frame(START, 1, runtime.rank_body(2)), "there is no process 2"),
    ("START too short", frame(START, 1, b""), "START has 16 bytes"),
    ("unknown handle", frame(STEP, 5, runtime.step(0)), "there is no process with the handle 5"),
    ("SAVE with a body", frame(SAVE, 0, bytes(16)), "a request has a body, and should not"),
    ("DROP of another", frame(DROP, 1), "there is no process with the handle 1"),
    ("state too short", frame(LOAD, 1, runtime.rank_body(0, b"x")), "bsp_load reads beyond the state, which has 1 bytes"),
    ("state with a long array", frame(LOAD, 1, runtime.rank_body(0, struct.pack("<IQ", 0, 2**63))), "bsp_load reads 9223372036854775808 values of 1 bytes, beyond the state"),
    ("STEP too short", frame(STEP, 0, bytes(16)), "a body has 16 bytes"),
    ("STEP too long", struct.pack("<BBHIQ", STEP, 0, 0x5342, 0, 2**32 + 16), "a body has 4294967312 bytes"),
    ("STEP not padded", frame(STEP, 0, runtime.step(0) + b"x"), "a body has 33 bytes"),
    ("STEP with a rest", frame(STEP, 0, runtime.step(0) + bytes(16)), "the lengths in a request contradict its length"),
    ("records beyond", frame(STEP, 0, struct.pack("<QdIIII", 0, 0, 5, 0, 0, 0) + bytes(64)), "the lengths in a request contradict its length"),
    ("too many messages", frame(STEP, 0, struct.pack("<QdIIII", 0, 0, 2**24 + 1, 0, 0, 0)), "STEP has 16777217 messages"),
    ("content beyond", frame(STEP, 0, struct.pack("<QdIIIIIIQ", 0, 0, 1, 0, 0, 0, 0, 0, 2**64 - 1)), "the lengths in a request contradict its length"),
    ("senders", frame(STEP, 0, runtime.step(0, messages=[(1, b""), (0, b"")])), "a message in STEP is none"),
    ("sender", frame(STEP, 0, runtime.step(0, messages=[(2, b"")])), "a message in STEP is none"),
    ("standby", frame(STEP, 0, runtime.step(0, standby=[1, 0])), "the processes on standby do not ascend"),
    ("items beyond", frame(STEP, 0, struct.pack("<QdIIII", 0, 0, 0, 0, 2**32 - 1, 0)), "the lengths in a request contradict its length"),
    ("item", frame(STEP, 0, runtime.step(0, items=[(7, 0, "x", 0, bytes(8))])), "an item in STEP is none"),
    ("type of an item", frame(STEP, 0, runtime.step(0, items=[(1, 3, "x", 0, bytes(8))])), "an item in STEP is none"),
    ("length of a sum", frame(STEP, 0, runtime.step(0, items=[(1, 0, "x", 0, bytes(7))])), "an item in STEP contradicts its kind"),
    ("boolean", frame(STEP, 0, runtime.step(0, items=[(4, 0, "x", 0, b"\2")])), "an item in STEP contradicts its kind"),
    ("too few outputs", frame(VERIFY, EXECUTOR, struct.pack("<QQQQ", 1, 0, 0, 0)), "VERIFY has not an output for each process"),
    ("outputs beyond", frame(VERIFY, EXECUTOR, struct.pack("<QQQQ", 2, 0, 2**64 - 1, 0)), "the lengths in a request contradict its length"),
]


@pytest.mark.parametrize(("request_bytes", "message"), [broken[1:] for broken in BROKEN], ids=[broken[0] for broken in BROKEN])
def test_requests_that_break_the_protocol_are_refused(build, request_bytes, message):
    with Executor(build("everything.c"), 2) as executor:
        executor.start(0, 0)
        executor.send(request_bytes)
        kind, body = executor.receive()
        fault, length = struct.unpack_from("<II", body)
        assert (kind, body[16 : 16 + length].decode()) == (255, message)
        assert fault == (PROGRAM if "bsp_load" in message else PROTOCOL)
        assert executor.wait()[0] == 1


def test_a_halted_process_computes_no_more(build):
    with Executor(build("everything.c"), 1, {"supersteps": 1}) as executor:
        executor.start(0, 0)
        assert executor.step(0, 0).halts
        executor.save(0)
        with pytest.raises(Failed, match="process 0 has halted"):
            executor.step(0, 1)


def test_a_program_without_states_refuses_to_save(build):
    with Executor(build("pinned.c"), 3) as executor:
        executor.start(0, 0)
        with pytest.raises(Failed, match="this program cannot save states: it has no bsp_save"):
            executor.save(0)
    with Executor(build("pinned.c"), 3) as executor:
        with pytest.raises(Failed, match="this program cannot load states: it has no bsp_load"):
            executor.load(0, 0, b"")


def deep(depth):
    return '{"parameters": {"list": ' + "[" * depth + "]" * depth + "}}"


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("{}", True),
        ('{"parameters":{}}', True),
        (' {"x" : [ ] , "parameters" : { "a" : -0.5e+3 , "b" : null, "c":{"d":[true,false]} } } ', True),
        (json.dumps({"parameters": {"text": "".join(map(chr, range(1, 0x300))) + "\U0001F600"}}), True),
        (json.dumps({"parameters": {str(number): number for number in range(5000)}}), True),
        (deep(60), True),
        ("", False),
        ("[]", False),
        ("{", False),
        ('{"parameters":[]}', False),
        ('{"parameters":{"a"}}', False),
        ('{"parameters":{"a":1,}}', False),
        ('{"parameters":{"a":01}}', False),
        ('{"parameters":{"a":+1}}', False),
        ('{"parameters":{"a":1.}}', False),
        ('{"parameters":{"a":.5}}', False),
        ('{"parameters":{"a":1e}}', False),
        ('{"parameters":{"a":nan}}', False),
        ('{"parameters":{"a":tru}}', False),
        ('{"parameters":{"a":"\\ud800"}}', False),
        ('{"parameters":{"a":"\\udc00"}}', False),
        ('{"parameters":{"a":"\\u0000"}}', False),
        ('{"parameters":{"a":"\\x"}}', False),
        ('{"parameters":{"a":"\n"}}', False),
        ('{"parameters":{"a":"open}}', False),
        ('{"parameters":{"a":"\\', False),
        ("{} {}", False),
        (deep(100_000), False),
    ],
    ids=range(28),
)
def test_parameters_are_json(build, text, is_right):
    if is_right:
        with Executor(build("everything.c"), text=text.encode()) as executor:
            executor.start(0, 0)
    else:
        with pytest.raises(Failed, match="the parameters are not JSON"):
            Executor(build("everything.c"), text=text.encode())


def test_memory_is_taken_as_bytes_arrive(build):
    with Executor(build("ring.c"), 2) as executor:
        executor.start(0, 0)
        executor.send(struct.pack("<BBHIQ", STEP, 0, 0x5342, 0, 2**32) + bytes(100_000))
        time.sleep(0.3)
        with open(f"/proc/{executor.process.pid}/status") as status:
            [peak] = [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
        assert peak < 16_000, f"{peak} KiB"


def test_a_failure_in_a_long_request_is_read(build):
    with Executor(build("everything.c"), 2) as executor:
        state = struct.pack("<IQ", 3, 2**40) + bytes(20_000_000)
        with pytest.raises(Failed, match="beyond the state"):
            executor.load(0, 0, state)
