/* The heat equation on a plate, by horizontal strips: with MPI. heat.c is the same program for migbsp. */

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    long size = argc > 1 ? atol(argv[1]) : 512, steps = argc > 2 ? atol(argv[2]) : 100, first, rows, x, y, done;
    int rank, processes, above, below;
    double *plate, *next, *old, middle = size / 2.0, width = 0.01 * ((double)size * size), sum = 0, total;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank + 1 < processes ? rank + 1 : MPI_PROC_NULL;

    first = size * rank / processes;
    rows = size * (rank + 1) / processes - first;
    plate = malloc((rows + 2) * size * sizeof *plate);
    next = malloc((rows + 2) * size * sizeof *next);
    if (plate == NULL || next == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (y = 0; y < rows + 2; y++)
        for (x = 0; x < size; x++) {
            double right = x - middle, down = first - 1 + y - middle;
            plate[y * size + x] = exp(-(right * right + down * down) / width);
        }
    memcpy(next, plate, (rows + 2) * size * sizeof *plate);

    for (done = 0; done < steps; done++) {
        MPI_Sendrecv(plate + size, size, MPI_DOUBLE, above, 0, plate + (rows + 1) * size, size, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(plate + rows * size, size, MPI_DOUBLE, below, 0, plate, size, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memcpy(next, plate, size * sizeof *plate);
        memcpy(next + (rows + 1) * size, plate + (rows + 1) * size, size * sizeof *plate);
        for (y = 1; y <= rows; y++) {
            const double *row = plate + y * size;
            for (x = 1; x < size - 1; x++)
                next[y * size + x] = row[x] + 0.2 * (row[x - size] + row[x + size] + row[x - 1] + row[x + 1] - 4 * row[x]);
        }
        old = plate;
        plate = next;
        next = old;
    }

    for (y = 1; y <= rows; y++)
        for (x = 0; x < size; x++)
            sum += plate[y * size + x];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.12g\n", total);
    free(plate);
    free(next);
    MPI_Finalize();
    return 0;
}
