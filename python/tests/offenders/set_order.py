"""Breaks a law: the order of a set of texts matters, which each interpreter has for itself."""

import migbsp


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps, self.heard = steps, []

    def superstep(self, ctx):
        self.heard += [name for _, names in ctx.messages for name in names]
        if ctx.superstep == self.steps:
            return ctx.halt(self.heard)
        names = {f"{name}-{ctx.rank}" for name in ("north", "east", "south", "west", "up", "down")}
        ctx.send((ctx.rank + 1) % ctx.size, list(names))


migbsp.main(Offender)
