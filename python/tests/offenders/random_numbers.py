"""Breaks a law: random numbers come from a generator that is not part of the state."""

import random

import migbsp


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps, self.sum = steps, 0.0

    def superstep(self, ctx):
        self.sum += sum(number for _, number in ctx.messages)
        if ctx.superstep == self.steps:
            return ctx.halt(self.sum)
        ctx.send((ctx.rank + 1) % ctx.size, random.random())


migbsp.main(Offender)
