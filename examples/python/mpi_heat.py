"""The heat equation on a square plate, written for MPI.

Its argument is the number of steps. The line that imports `MPI` would be `from mpi4py import MPI`. `migratable` and `migrate` are there so that processes may move.
"""

import sys

import numpy as np

from migbsp import mpi as MPI

SIZE, STEPS = 128, int(sys.argv[1]) if len(sys.argv) > 1 else 20

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
above = rank - 1 if rank > 0 else MPI.PROC_NULL
below = rank + 1 if rank + 1 < size else MPI.PROC_NULL

begin, end = SIZE * rank // size, SIZE * (rank + 1) // size
y, x = np.mgrid[begin - 1 : end + 1, 0:SIZE]
plate = np.exp(-((x - SIZE / 2) ** 2 + (y - SIZE / 2) ** 2) / (0.01 * SIZE**2))

state = comm.migratable(step=0, plate=plate)
while state.step < STEPS:
    u = state.plate
    comm.Sendrecv(u[1], above, recvbuf=u[-1], source=below)
    comm.Sendrecv(u[-2], below, recvbuf=u[0], source=above)
    beside = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    u[1:-1, 1:-1] += 0.2 * (beside - 4 * u[1:-1, 1:-1])
    state.step += 1
    if state.step % 10 == 0:
        heat = comm.allreduce(float(u[1:-1].sum()))
        if rank == 0:
            print(f"step {state.step}: {heat:.12f}")
    comm.migrate()
