"""Breaks a law: the output depends on how fast the host is."""

import migbsp


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps, self.seconds = steps, 0.0

    def superstep(self, ctx):
        ctx.charge(1000)
        self.seconds += ctx.elapsed
        if ctx.superstep == self.steps:
            return ctx.halt(self.seconds)


migbsp.main(Offender)
