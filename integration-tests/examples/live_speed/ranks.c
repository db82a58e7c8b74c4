/* Medians of a barrier, of a ring of 100 KB with a barrier, and of the sum of 1 MiB of doubles: seconds, on one line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words) {
    enum { LENGTH = 100000, NUMBERS = 131072 };
    int rank, size, rounds = count > 1 ? atoi(words[1]) : 1000;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *out = calloc(LENGTH, 1), *in = calloc(LENGTH, 1);
    double *took = malloc(rounds * sizeof *took), medians[3];
    double *numbers = calloc(NUMBERS, sizeof *numbers), *sums = calloc(NUMBERS, sizeof *sums);
    for (int what = 0; what < 3; what++) {
        int count = what == 2 ? rounds / 20 + 1 : rounds;
        for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            double began = MPI_Wtime();
            if (what == 1)
                MPI_Sendrecv(out, LENGTH, MPI_BYTE, (rank + 1) % size, 0, in, LENGTH, MPI_BYTE,
                             (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (what == 2)
                MPI_Allreduce(numbers, sums, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            else
                MPI_Barrier(MPI_COMM_WORLD);
            took[i] = MPI_Wtime() - began;
        }
        qsort(took, count, sizeof *took, order);
        medians[what] = took[count / 2];
    }
    if (rank == 0) printf("%.9f %.9f %.9f\n", medians[0], medians[1], medians[2]);
    MPI_Finalize();
    return 0;
}
