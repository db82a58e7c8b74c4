"""Breaks a law: `save` forgets an attribute, so moving changes what the process computes."""

import migbsp


class Offender(migbsp.Program):
    factor = 1

    def __init__(self, ctx, *, steps=4):
        self.steps, self.value, self.factor = steps, ctx.rank + 1, 3

    def superstep(self, ctx):
        self.value = self.value * self.factor + sum(value for _, value in ctx.messages)
        if ctx.superstep == self.steps:
            return ctx.halt(self.value)
        ctx.send((ctx.rank + 1) % ctx.size, self.value)

    def save(self):
        return [self.steps, self.value]

    def load(self, state):
        self.steps, self.value = state


migbsp.main(Offender)
