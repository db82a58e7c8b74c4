"""Breaks a law: an attribute of the class is no state of a process."""

import migbsp


class Offender(migbsp.Program):
    total = 0

    def __init__(self, ctx, *, steps=4):
        self.steps = steps

    def superstep(self, ctx):
        Offender.total += ctx.rank + 1
        if ctx.superstep == self.steps:
            return ctx.halt(Offender.total)
        ctx.send((ctx.rank + 1) % ctx.size, Offender.total)


migbsp.main(Offender)
