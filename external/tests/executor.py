"""An executor for tests, which speaks the protocol without a library: each process passes its number round a ring."""

import json
import os
import signal
import socket
import struct
import sys
import time

if os.environ.get("RING_PRINTS"):
    os.write(1, b"printed before anything\n")
channel = socket.socket(fileno=os.dup(0))
stream = channel.makefile("rb")
processes = {}


def padded(data):
    return data + b"\0" * (-len(data) % 16)


def reply(kind, handle, body=b""):
    channel.sendall(struct.pack("<BBHIQ", kind, 0, 0x5342, handle, len(body)) + body)


def failed(handle, at_fault, message, details=""):
    message, details = message.encode(), details.encode()
    head = struct.pack("<IIQ", at_fault, len(message), len(details))
    reply(255, handle, head + padded(message) + padded(details))


def item(kind, number, name, content):
    name = name.encode()
    return struct.pack("<BBHIQ", kind, number, len(name), 0, len(content)) + padded(name) + padded(content)


def step(handle, body, hello):
    process = processes[handle]
    superstep, elapsed, messages, standby, items, _ = struct.unpack_from("<QdIIII", body)
    at, records = 32, []
    for _ in range(messages):
        records.append(struct.unpack_from("<IIQ", body, at))
        at += 16
    at += -(-standby * 4 // 16) * 16
    results = {}
    for _ in range(items):
        kind, number, length, rank, size = struct.unpack_from("<BBHIQ", body, at)
        name = body[at + 16 : at + 16 + length].decode()
        at += 16 + -(-length // 16) * 16
        results[name] = body[at : at + size]
        at += -(-size // 16) * 16
    began = time.process_time()
    while time.process_time() - began < hello["parameters"].get("work", 0):
        pass
    heard = []
    for sender, flags, length in records:
        heard.append((sender, None if flags else body[at : at + length]))
        at += 0 if flags else -(-length // 16) * 16
    mode, last = hello["parameters"].get("mode", "ring"), hello["parameters"].get("last", 4)
    if process["rank"] == 1 and superstep == 2:
        if mode == "raise":
            return failed(handle, 2, "no such plate", "Traceback: line 7")
        if mode == "crash":
            print("about to crash", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if mode == "exit":
            sys.exit(3)
        if mode == "hang":
            time.sleep(1000)
        if mode == "garbage":
            channel.sendall(b"Hello from a lib")
            time.sleep(1000)
        if mode == "contradiction":
            return reply(130, handle, struct.pack("<IIIIQQQQdQ", 0, 1, 0, 0, 0, 0, 0, 0, 0.0, 0))
    for _, content in heard:
        if content is not None:
            process["sum"] += int(content)
    process["seen"] = superstep
    size = hello["processes"]
    if superstep == last:
        value = b"\x92\xcd" + process["sum"].to_bytes(2, "big") + b"\xcb" + struct.pack(">d", struct.unpack("<d", results["total"])[0])
        head = struct.pack("<IIIIQQQQdQ", 1 | 2, 0, 0, 0, 10, 2000, 0, 0, 1.0, len(value))
        return reply(130, handle, head + padded(value))
    contents = [str(process["rank"]).encode(), b"x" * 100000]
    records = struct.pack("<IIQ", (process["rank"] + 1) % size, 0, len(contents[0]))
    parts = padded(contents[0])
    if superstep == 0:
        records += struct.pack("<IIQ", (process["rank"] + 1) % size, 1, 1000)
    items = item(1, 0, "total", struct.pack("<d", process["rank"] + superstep))
    items += item(7, 0, "rank", struct.pack("<d", process["rank"]))
    state = len(json.dumps(process))
    head = struct.pack("<IIIIQQQQdQ", 0, len(records) // 16, 2, 0, 1000, int(1e9 * (time.process_time() - began)) + 5000, state, last - superstep, superstep / (last + 1), 0)
    reply(130, handle, head + records + items + parts)


hello = None
while True:
    head = stream.read(16)
    if len(head) < 16:
        break
    kind, _, mark, handle, length = struct.unpack("<BBHIQ", head)
    body = stream.read(length)
    if kind == 1:
        size = struct.unpack_from("<I", body, 28)[0]
        hello = json.loads(body[32 : 32 + size])
        hello["processes"] = struct.unpack_from("<I", body, 4)[0]
        mode = hello["parameters"].get("mode", "ring")
        if "log" in hello["parameters"]:
            with open(hello["parameters"]["log"], "a") as log:
                log.write("hello\n")
        if mode == "refuse":
            failed(handle, 1, "no module named numpy")
            break
        version = os.environ.get("RING_VERSION", "01")
        about = json.dumps({"name": "ring", "language": "Python", "digest": version}).encode()
        flags = {"nosave": 2, "single": 1}.get(mode, 3)
        reply(128, handle, struct.pack("<HHIII", 1, flags, 1, 0, len(about)) + padded(about))
    elif kind == 2:
        processes[handle] = {"rank": struct.unpack_from("<I", body)[0], "sum": 0, "seen": -1}
        reply(129, handle, struct.pack("<QQ", 0, hello["parameters"].get("last", 4) + 1))
    elif kind == 3:
        step(handle, body, hello)
    elif kind == 4:
        reply(131, handle, json.dumps(processes[handle]).encode())
    elif kind == 5:
        processes[handle] = json.loads(body[16:])
        if hello["parameters"].get("mode") == "forget":
            processes[handle]["sum"] = 0
        reply(129, handle, struct.pack("<QQ", length - 16, 2**64 - 1))
    elif kind == 6:
        del processes[handle]
        reply(133, handle)
    elif kind == 8:
        break
