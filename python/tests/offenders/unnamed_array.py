"""Breaks a law, as a script for MPI: an array that the loop changes is not named."""

import numpy as np

from migbsp import mpi as MPI

comm = MPI.COMM_WORLD
u = np.full(4, float(comm.rank))
state = comm.migratable(step=0)
while state.step < 3:
    u += comm.allreduce(float(u.sum()))
    state.step += 1
    comm.migrate()
print(u)
