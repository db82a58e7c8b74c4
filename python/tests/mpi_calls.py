"""Calls of MPI, and what they give: a script for migbsp and for mpi4py. It prints what process 0 has gathered."""

import sys

import numpy as np

try:
    from mpi4py import MPI
except ImportError:
    from migbsp import mpi as MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
results = []


def note(name, value):
    if isinstance(value, np.ndarray):
        value = [str(value.dtype), value.tolist()]
    elif isinstance(value, np.generic):
        value = value.item()
    results.append((name, value))


# Objects.
comm.send({"from": rank, "list": [1, (2, None)]}, dest=right, tag=5)
status = MPI.Status()
note("recv", comm.recv(source=left, tag=5, status=status))
note("status", [status.Get_source(), status.Get_tag()])
note("sendrecv", comm.sendrecv(rank, right, 3, source=left, recvtag=3))
requests = [comm.irecv(source=left, tag=tag) for tag in (2, 1)]
for tag in (1, 2):
    comm.isend([rank, tag], right, tag).wait()
note("waitall", MPI.Request.waitall(requests))
note("bcast", comm.bcast(("from root", rank), root=size - 1))
note("scatter", comm.scatter([f"to {each}" for each in range(size)] if rank == 0 else None, root=0))
note("gather", comm.gather(rank * rank, root=size - 1))
note("allgather", comm.allgather([rank]))
note("alltoall", comm.alltoall([(rank, to) for to in range(size)]))
note("reduce", comm.reduce(rank + 1, op=MPI.PROD, root=0))
note("allreduce", comm.allreduce(0.5 * rank))
note("max", comm.allreduce(rank, op=MPI.MAX))
note("min", comm.allreduce(-rank, MPI.MIN))
note("maxloc", comm.allreduce((rank % 2, rank), op=MPI.MAXLOC))
note("minloc", comm.allreduce((rank % 2, rank), op=MPI.MINLOC))
note("land", [comm.allreduce(rank > 0, op=op) for op in (MPI.LAND, MPI.LOR, MPI.LXOR)])
note("band", [comm.allreduce(6 + rank, op=op) for op in (MPI.BAND, MPI.BOR, MPI.BXOR)])
note("lists", comm.allreduce([rank]))
comm.barrier()

# Arrays.
numbers = np.arange(4.0) + 10 * rank
into = np.zeros(4)
comm.Send(numbers, dest=right, tag=1)
comm.Recv(into, source=left, tag=1, status=status)
note("Recv", into)
note("Get_count", status.Get_count(MPI.DOUBLE))
longer = np.full(6, -1.0)
comm.Send([numbers, 3, MPI.DOUBLE], right)
comm.Recv([longer, MPI.DOUBLE], left)
note("Recv of fewer", longer)
grid = np.asfortranarray(np.arange(6.0).reshape(2, 3) + rank)
other = np.zeros((2, 3), order="F")
comm.Sendrecv(grid, right, recvbuf=other, source=left)
note("Sendrecv", other)
requests = [comm.Irecv(into, source=left), comm.Isend(numbers * 2, dest=right)]
MPI.Request.Waitall(requests)
note("Irecv", into)
values = np.arange(3) if rank == 0 else np.zeros(3, int)
comm.Bcast(values, root=0)
note("Bcast", values)
part = np.zeros(2, "f4")
comm.Scatter(np.arange(2 * size, dtype="f4") if rank == 0 else None, part, root=0)
note("Scatter", part)
whole = np.zeros(2 * size, "f4") if rank == 0 else None
comm.Gather(part + 1, whole, root=0)
note("Gather", whole)
everything = np.zeros((size, 2), "i4")
comm.Allgather(np.full(2, rank, "i4"), everything)
note("Allgather", everything)
swapped = np.zeros((size, 1), "i8")
comm.Alltoall(np.arange(size) + 100 * rank, swapped)
note("Alltoall", swapped)
total = np.zeros(4)
comm.Reduce(numbers, total, op=MPI.SUM, root=0)
note("Reduce", total if rank == 0 else None)
comm.Allreduce(numbers, total, op=MPI.MAX)
note("Allreduce", total)
comm.Allreduce(MPI.IN_PLACE, numbers)
note("in place", numbers)
long = np.arange(20_000) * (rank + 1)
sums = np.zeros_like(long)
comm.Allreduce(long, sums)
note("long", [int(sums.sum()), int(sums[-1])])
comm.Allreduce(long.astype(np.int32) % 7, sums := np.zeros(20_000, np.int32), op=MPI.MAX)
note("long maximum", int(sums.sum()))
comm.Barrier()

# No process, and any process.
note("nowhere", comm.sendrecv("lost", MPI.PROC_NULL, source=MPI.PROC_NULL))
if rank == 0:
    received = sorted((comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG) for _ in range(size - 1)), key=str)
    note("any", received)
else:
    comm.send([rank, "to the first"], 0, tag=rank)
comm.barrier()
request = comm.irecv(source=left, tag=9)
comm.send(rank, right, 9)
while not (found := request.test())[0]:
    pass
note("test", found[1])

gathered = comm.gather(results, root=0)
if rank == 0:
    for index, each in enumerate(gathered):
        for name, value in each:
            print(index, name, value)
    sys.stdout.flush()
