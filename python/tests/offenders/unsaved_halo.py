"""Breaks a law: what a process has received is kept outside of its state."""

import numpy as np

import migbsp

halo = {}


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps, self.cells = steps, np.arange(4.0) + ctx.rank

    def superstep(self, ctx):
        for _, cell in ctx.messages:
            halo[ctx.rank] = cell
        self.cells += halo.get(ctx.rank, 0.0)
        if ctx.superstep == self.steps:
            return ctx.halt(self.cells)
        if ctx.superstep == 0:
            ctx.send((ctx.rank + 1) % ctx.size, float(self.cells[-1]))


migbsp.main(Offender)
