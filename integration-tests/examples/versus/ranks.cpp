// Heat and the Lattice Boltzmann method in strips, one a rank, for MPI: what the workloads `heat` and `lbm-kernel` compute, bit by bit.
//
//   ranks heat WIDTH HEIGHT STEPS RESULT SPEED...
//   ranks lbm-kernel WIDTH HEIGHT STEPS RESULT SPEED...
//
// A speed is the part of a processor that a rank has: after it has computed, it sleeps as long as a slower one would have computed
// in addition. Rank 0 prints the time from the common beginning to the last end, seconds, and writes the result.

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "cells.h"

using Numbers = std::vector<double>;

// Where a rank is, and which part it has.
struct Part {
    int rank, ranks;
    size_t first, count;

    explicit Part(size_t total) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        size_t each = total / ranks, longer = total % ranks, index = rank;
        first = index * each + (index < longer ? index : longer);
        count = each + (index < longer);
    }

    int before() const { return rank ? rank - 1 : MPI_PROC_NULL; }
    int after() const { return rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL; }
};

static double processor_time() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

static void rest(double busy, double speed) {
    double seconds = busy * (1.0 / speed - 1.0);
    if (seconds <= 0.0) return;
    timespec time;
    time.tv_sec = time_t(seconds);
    time.tv_nsec = long((seconds - double(time.tv_sec)) * 1e9);
    while (nanosleep(&time, &time)) {
    }
}

// Sends to both sides and receives from them.
static void exchange(const Part &part, const double *to_before, const double *to_after, double *from_before, double *from_after,
                     size_t count) {
    MPI_Request requests[4];
    int length = int(count);
    MPI_Irecv(from_before, length, MPI_DOUBLE, part.before(), 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(from_after, length, MPI_DOUBLE, part.after(), 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(to_before, length, MPI_DOUBLE, part.before(), 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(to_after, length, MPI_DOUBLE, part.after(), 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

// What all ranks have, in their order; at rank 0.
static Numbers gathered(const Part &part, const Numbers &own, size_t total, size_t each) {
    Numbers all(part.rank ? 0 : total * each);
    std::vector<int> counts(part.ranks), starts(part.ranks);
    int count = int(part.count * each), start = int(part.first * each);
    MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(&start, 1, MPI_INT, starts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return all;
}

// sin(pi n / d) by the operations of the workload, so that plates begin equal.
static double sine_of_pi(uint64_t numerator, uint64_t denominator) {
    uint64_t turn = numerator % (2 * denominator);
    if (denominator <= turn) return -sine_of_pi(turn - denominator, denominator);
    uint64_t acute = turn < denominator - turn ? turn : denominator - turn;
    if (2 * acute == denominator) return 1.0;
    double angle = 3.14159265358979323846 * (double(acute) / double(denominator));
    double square = angle * angle, sum = 1.0;
    for (int term = 11; 1 <= term; term--) sum = 1.0 - square / double(2 * term * (2 * term + 1)) * sum;
    return angle * sum;
}

static double heat(size_t width, size_t height, int steps, double speed, Numbers &result) {
    Part part(height);
    size_t stride = width + 2, rows = part.count;
    Numbers plate((rows + 2) * stride), next(plate.size());
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < width; x++)
            plate[(y + 1) * stride + x + 1] = sine_of_pi(x + 1, width + 1) * sine_of_pi(part.first + y + 1, height + 1);
    // Its pages are there before the time is taken.
    next = plate;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        double *first = &plate[stride], *last = &plate[rows * stride];
        exchange(part, first, last, first - stride, last + stride, stride);
        double busy = processor_time();
        for (size_t y = 1; y <= rows; y++) {
            const double *here = &plate[y * stride + 1];
            flow(width, 0.25, here - stride, here, here + stride, &next[y * stride + 1]);
        }
        plate.swap(next);
        rest(processor_time() - busy, speed);
    }
    double took = MPI_Wtime() - began;
    Numbers own;
    for (size_t y = 1; y <= rows; y++) own.insert(own.end(), &plate[y * stride + 1], &plate[y * stride + 1] + width);
    result = gathered(part, own, height, width);
    return took;
}

// The default cavity of the workload. Strips are columns.
static double cavity(size_t width, size_t height, int steps, double speed, Numbers &result) {
    Part part(width);
    double lid = 0.1;
    box box = {part.count, height, 0.5 + 3.0 * lid * double(height) / 100.0, 0.0, lid};
    size_t stride = height + 2, cells = (part.count + 2) * stride;
    std::vector<double> memory(2 * cells * 9);
    cell *lattice = reinterpret_cast<cell *>(memory.data()), *next = lattice + cells;
    for (size_t i = 0; i < 2 * cells; i++) std::memcpy(lattice[i], weights, sizeof weights);
    Numbers to[2], from[2];
    for (int side = 0; side < 2; side++) to[side].resize(3 * height), from[side].resize(3 * height);
    bool stable = true;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        cell *west = lattice, *east = lattice + (part.count + 1) * stride;
        for (size_t y = 0; y < height; y++)
            for (int i = 0; i < 3; i++) {
                to[0][3 * y + i] = west[stride + y + 1][westward[i]];
                to[1][3 * y + i] = (east - stride)[y + 1][eastward[i]];
            }
        exchange(part, to[0].data(), to[1].data(), from[0].data(), from[1].data(), 3 * height);
        double busy = processor_time();
        for (size_t y = 0; y < height; y++)
            for (int i = 0; i < 3; i++) {
                west[y + 1][eastward[i]] = from[0][3 * y + i];
                east[y + 1][westward[i]] = from[1][3 * y + i];
            }
        frame(&box, lattice, part.rank == 0, part.rank + 1 == part.ranks);
        stable &= collide(&box, lattice, next);
        cell *other = lattice;
        lattice = next;
        next = other;
        rest(processor_time() - busy, speed);
    }
    double took = MPI_Wtime() - began;
    if (!stable) {
        std::fprintf(stderr, "the flow became unstable\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    Numbers own;
    for (size_t x = 1; x <= part.count; x++)
        for (size_t y = 1; y <= height; y++) {
            double density, u, v;
            fields(box.force, lattice[x * stride + y], &density, &u, &v);
            own.insert(own.end(), {density, u, v});
        }
    Numbers all = gathered(part, own, width, 3 * height);
    // Rows from the floor up: densities, then velocities.
    for (size_t first : {0, 1})
        for (size_t y = 0; y < height && part.rank == 0; y++)
            for (size_t x = 0; x < width; x++) {
                const double *field = &all[3 * (x * height + y)];
                result.insert(result.end(), field + first, field + 1 + 2 * first);
            }
    return took;
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count != 6 + ranks) {
        std::fprintf(stderr, "%d words for %d ranks\n", count, ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    size_t width = std::strtoull(words[2], nullptr, 10), height = std::strtoull(words[3], nullptr, 10);
    int steps = std::atoi(words[4]);
    double speed = std::atof(words[6 + rank]), took, longest;
    Numbers result;
    bool is_heat = std::string(words[1]) == "heat";
    took = (is_heat ? heat : cavity)(width, height, steps, speed, result);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *file = std::fopen(words[5], "wb");
        if (!file || std::fwrite(result.data(), sizeof(double), result.size(), file) != result.size() || std::fclose(file)) {
            std::fprintf(stderr, "%s cannot be written\n", words[5]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        std::printf("%.9f\n", longest);
    }
    MPI_Finalize();
    return 0;
}
