"""Breaks a law: two attributes are arrays that share memory, which they do not after a move."""

import numpy as np

import migbsp


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps = steps
        self.plate = np.zeros((6, 6))
        self.inner = self.plate[1:-1, 1:-1]

    def superstep(self, ctx):
        self.inner += 1
        if ctx.superstep == self.steps:
            return ctx.halt(self.plate)
        ctx.send((ctx.rank + 1) % ctx.size, self.plate)


migbsp.main(Offender)
