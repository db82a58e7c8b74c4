"""Breaks a law: a clock matters."""

import time

import migbsp


class Offender(migbsp.Program):
    def __init__(self, ctx, *, steps=4):
        self.steps = steps

    def superstep(self, ctx):
        if ctx.superstep == self.steps:
            return ctx.halt(time.time_ns())


migbsp.main(Offender)
