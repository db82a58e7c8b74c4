"""PageRank of a random graph, whose processes agree when to end."""

import numpy as np

import migbsp


class PageRank(migbsp.Program):
    """PageRank of a random graph, whose processes agree when to end."""

    def __init__(self, ctx, *, vertices=20_000, degree=16, damping=0.85, tolerance=1e-9):
        self.n, self.degree, self.damping, self.tolerance = vertices, degree, damping, tolerance
        count = len(migbsp.share(vertices, ctx.rank, ctx.size))
        random = np.random.default_rng([ctx.seed, ctx.rank])
        self.targets = random.zipf(1.5, count * degree) % vertices
        self.ranks = np.full(count, 1 / vertices)

    def superstep(self, ctx):
        if ctx.superstep > 1:
            change = ctx.reduced("change")
            if ctx.rank == 0:
                ctx.note("change", change)
            if change < self.tolerance:
                return ctx.halt(self.ranks)
        if ctx.superstep > 0:
            received = np.zeros_like(self.ranks)
            for _, sums in ctx.messages:
                received += sums
            new = (1 - self.damping) / self.n + self.damping * received
            ctx.reduce("change", migbsp.Sum(np.abs(new - self.ranks).sum()))
            self.ranks = new
        shares = np.repeat(self.ranks / self.degree, self.degree)
        sums = np.bincount(self.targets, weights=shares, minlength=self.n)
        ctx.charge(4 * self.targets.size + 2 * self.n)
        for to in range(ctx.size):
            part = migbsp.share(self.n, to, ctx.size)
            ctx.send(to, sums[part.start : part.stop])

    @classmethod
    def verify(cls, outputs, *, tolerance=1e-9, **_):
        total = sum(ranks.sum() for ranks in outputs)
        if abs(total - 1) > 1e-6 + tolerance:
            raise ValueError(f"the ranks sum to {total}, expected 1")
        return f"the ranks sum to 1 within {abs(total - 1):.0e}"


if __name__ == "__main__":
    migbsp.main(PageRank)
