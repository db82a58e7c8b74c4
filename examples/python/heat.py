"""The heat equation on a square plate, by horizontal strips of rows."""

import numpy as np

import migbsp


class Heat(migbsp.Program):
    """The heat equation on a square plate, by horizontal strips of rows."""

    def __init__(self, ctx, *, size=512, steps=100):
        rows = migbsp.share(size, ctx.rank, ctx.size)
        y, x = np.mgrid[rows.start - 1 : rows.stop + 1, 0:size]
        self.plate = np.exp(-((x - size / 2) ** 2 + (y - size / 2) ** 2) / (0.01 * size**2))
        self.steps, self.done = steps, 0

    def superstep(self, ctx):
        u = self.plate
        for sender, row in ctx.messages:
            u[0 if sender < ctx.rank else -1] = row
        if ctx.superstep:
            beside = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            u[1:-1, 1:-1] += 0.2 * (beside - 4 * u[1:-1, 1:-1])
            ctx.charge(10 * u[1:-1].size)
        self.done = ctx.superstep + 1
        if ctx.superstep == self.steps:
            return ctx.halt(u[1:-1])
        if ctx.left is not None:
            ctx.send(ctx.left, u[1])
        if ctx.right is not None:
            ctx.send(ctx.right, u[-2])

    def remaining(self):
        return self.steps + 1 - self.done


if __name__ == "__main__":
    migbsp.main(Heat)
