"""Breaks a law: a process declares less memory than its state takes."""

import migbsp


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps, self.cells = steps, bytes(1000)

    def superstep(self, ctx):
        if ctx.superstep == self.steps:
            return ctx.halt(len(self.cells))

    def memory(self):
        return 100


migbsp.main(Offender)
