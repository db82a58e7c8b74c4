/* Medians of a barrier, and of a ring of 100 KB with a barrier: seconds, on one line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words) {
    enum { LENGTH = 100000 };
    int rank, size, rounds = count > 1 ? atoi(words[1]) : 1000;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *out = calloc(LENGTH, 1), *in = calloc(LENGTH, 1);
    double *took = malloc(rounds * sizeof *took), medians[2];
    for (int is_ring = 0; is_ring < 2; is_ring++) {
        for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < rounds; i++) {
            double began = MPI_Wtime();
            if (is_ring)
                MPI_Sendrecv(out, LENGTH, MPI_BYTE, (rank + 1) % size, 0, in, LENGTH, MPI_BYTE,
                             (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
            took[i] = MPI_Wtime() - began;
        }
        qsort(took, rounds, sizeof *took, order);
        medians[is_ring] = took[rounds / 2];
    }
    if (rank == 0) printf("%.9f %.9f\n", medians[0], medians[1]);
    MPI_Finalize();
    return 0;
}
