"""A ring for benchmarks: each process sends BYTES to its neighbours and does nothing else. Python's own library, with arrays if there is NumPy."""

import migbsp


class Ring(migbsp.Program):
    def __init__(self, ctx, *, bytes=0, state=0):
        self.message = b"x" * bytes if bytes else None
        self.state = b"s" * state

    def superstep(self, ctx):
        if self.message is not None:
            ctx.send((ctx.rank + 1) % ctx.size, self.message)
            ctx.send((ctx.rank - 1) % ctx.size, self.message)
        ctx.charge(1)


migbsp.main(Ring)
