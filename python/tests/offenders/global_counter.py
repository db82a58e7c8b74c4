"""Breaks a law: a global variable matters, which all processes of an executor share, and which stays behind in a move."""

import migbsp

count = 0


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps, self.heard = steps, []

    def superstep(self, ctx):
        global count
        count += 1
        self.heard += [number for _, number in ctx.messages]
        if ctx.superstep == self.steps:
            return ctx.halt(self.heard)
        ctx.send((ctx.rank + 1) % ctx.size, count)


migbsp.main(Offender)
