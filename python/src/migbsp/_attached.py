"""Programs of this interpreter, such as those of a notebook or in a debugger, as executors of simulations."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator

from ._executor import serve_on
from ._program import Program


@contextlib.contextmanager
def attached(program: type[Program]) -> Iterator[str]:
    """Serves a program in a thread of this interpreter, and gives the socket at which simulations and checks connect to it.

        with migbsp.attached(Heat) as connect:
            external = {"connect": connect, "parameters": {"size": 64}}
            migbsp.simulate({"application": {"workload": "external", "processes": 4, "external": external}, ...})
    """
    folder = tempfile.mkdtemp(prefix="migbsp-")
    path = os.path.join(folder, "executor")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            connected.append(stream)
            threading.Thread(target=serve_on, args=(program, stream), daemon=True).start()

    try:
        listener.bind(path)
        listener.listen()
        threading.Thread(target=accept, daemon=True).start()
        yield path
    finally:
        # `close` alone would leave `accept` waiting.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for stream in connected:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)
        shutil.rmtree(folder, ignore_errors=True)
