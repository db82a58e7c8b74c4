"""Breaks a law: a process executes more supersteps than it says are left."""

import migbsp


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.left = steps

    def superstep(self, ctx):
        self.left -= 1
        if ctx.superstep == 4:
            return ctx.halt(ctx.rank)

    def remaining(self):
        return max(self.left - 1, 0)


migbsp.main(Offender)
