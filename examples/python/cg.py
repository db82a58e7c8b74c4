"""Conjugate gradients for the potential of two charges on a square grid: the example `poisson` in Python.

Sums over a strip are made from left to right, and those over processes are exact and rounded once. So residuals and
solution are those of the example in Rust, to the last bit.
"""

import math

import numpy as np

import migbsp


class CG(migbsp.Program):
    """Conjugate gradients for the potential of two charges on a square grid, by strips of rows."""

    def __init__(self, ctx, *, size=64, tolerance=1e-10, instructions_per_point=20):
        if not ctx.size <= size:
            ctx.fail(f"invalid value `{size}` for `size`: must be {ctx.size} or more, a row for each process")
        rows = migbsp.share(size, ctx.rank, ctx.size)
        charges = np.zeros((size, size))
        charges[size // 4, size // 3] = 1
        charges[size * 3 // 4, size // 2] = -1
        self.tolerance = tolerance
        self.work = instructions_per_point * size * len(rows)
        self.residual = charges[rows.start : rows.stop].copy()
        self.solution = np.zeros_like(self.residual)
        # With a row of each neighbour, and a column of zeros beside the first and the last one.
        self.direction = np.zeros((len(rows) + 2, size + 2))
        self.product = np.zeros_like(self.residual)
        self.square = self.first_square = np.inf

    def superstep(self, ctx):
        ctx.charge(self.work)
        if ctx.superstep == 0:
            self.share(ctx)
        elif ctx.superstep % 2 == 1:
            square = ctx.reduced("square")
            if ctx.superstep == 1:
                self.first_square = square
            if ctx.rank == 0:
                ctx.note("residual", math.sqrt(square))
            if square <= self.tolerance * self.tolerance * self.first_square:
                return ctx.halt(self.solution)
            rows = {sender - ctx.rank: row for sender, row in ctx.messages}
            none = np.zeros_like(self.residual[:1])
            residual = np.concatenate([rows.get(-1, none), self.residual, rows.get(1, none)])
            d = self.direction
            d[:, 1:-1] = residual + square / self.square * d[:, 1:-1]
            self.square = square
            beside = d[:-2, 1:-1] + d[2:, 1:-1] + d[1:-1, :-2] + d[1:-1, 2:]
            self.product = 4.0 * d[1:-1, 1:-1] - beside
            ctx.reduce("curvature", migbsp.Sum(dot(d[1:-1, 1:-1], self.product)))
        else:
            curvature = ctx.reduced("curvature")
            if curvature <= 0:
                ctx.fail("the matrix is not positive definite")
            length = self.square / curvature
            self.solution += length * self.direction[1:-1, 1:-1]
            self.residual -= length * self.product
            self.share(ctx)

    def share(self, ctx):
        if ctx.left is not None:
            ctx.send(ctx.left, self.residual[:1])
        if ctx.right is not None:
            ctx.send(ctx.right, self.residual[-1:])
        ctx.reduce("square", migbsp.Sum(dot(self.residual, self.residual)))


def dot(one, other):
    """The sum of the products, from left to right; that of NumPy is made in another order."""
    return np.cumsum(one * other)[-1]


if __name__ == "__main__":
    migbsp.main(CG)
