/* The kernels of the crate as one writes them in C for one core: the same operations on the same numbers in the same
 * order, so that results are the same, bit by bit.
 *
 *   kernels KERNEL INPUT OUTPUT NUMBER...
 *
 * For each line at the standard input, a kernel is executed from the beginning, and the processor time that it took is
 * printed, seconds. The first time its results are written to OUTPUT. Files have numbers as they lie in memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cells.h"

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *memory(size_t bytes) {
    void *new = calloc(bytes ? bytes : 1, 1);
    if (!new) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return new;
}

/* The heat equation: two plates with a border. Input and output: the plate, row after row. */

static size_t width, height, steps;
static double diffusion;

static double heat(const void *input, void *output) {
    size_t stride = width + 2, cells = stride * (height + 2);
    double *plate = memory(cells * sizeof *plate), *next = memory(cells * sizeof *next);
    for (size_t y = 0; y < height; y++)
        memcpy(plate + (y + 1) * stride + 1, (const double *)input + y * width, width * sizeof *plate);
    /* Its pages are there before the time is taken. */
    memcpy(next, plate, cells * sizeof *next);
    double began = seconds();
    for (size_t step = 0; step < steps; step++) {
        for (size_t y = 1; y <= height; y++) {
            const double *here = plate + y * stride + 1;
            flow(width, diffusion, here - stride, here, here + stride, next + y * stride + 1);
        }
        double *other = plate;
        plate = next;
        next = other;
    }
    double took = seconds() - began;
    for (size_t y = 0; y < height; y++)
        memcpy((double *)output + y * width, plate + (y + 1) * stride + 1, width * sizeof *plate);
    free(plate);
    free(next);
    return took;
}

/* The Lattice Boltzmann method in a cavity: two lattices with a frame. Output: density and velocity of each cell, column
 * after column. */

static double tau, lid;

static double lbm(const void *input, void *output) {
    (void)input;
    box box = {width, height, tau, 0.0, lid};
    size_t stride = height + 2, cells = (width + 2) * stride;
    cell *lattice = memory(cells * sizeof *lattice), *next = memory(cells * sizeof *next);
    for (size_t i = 0; i < cells; i++) memcpy(lattice[i], weights, sizeof weights);
    memcpy(next, lattice, cells * sizeof *next);
    int stable = 1;
    double began = seconds();
    for (size_t step = 0; step < steps; step++) {
        frame(&box, lattice, 1, 1);
        stable &= collide(&box, lattice, next);
        cell *other = lattice;
        lattice = next;
        next = other;
    }
    double took = seconds() - began;
    if (!stable) {
        fprintf(stderr, "the flow became unstable\n");
        exit(1);
    }
    double *field = output;
    for (size_t x = 1; x <= width; x++)
        for (size_t y = 1; y <= height; y++) {
            fields(box.force, lattice[x * stride + y], field, field + 1, field + 2);
            field += 3;
        }
    free(lattice);
    free(next);
    return took;
}

/* Local alignment with affine gaps. Input: the codes of the query and of the subject, and what 24 x 24 pairs of them score.
 * Output: the score, the rows and columns before the alignment, and its operations backwards, `=XID`. */

static size_t rows, columns;
static int64_t gap_open, gap_extend;

typedef struct {
    int64_t score, row, column;
    char operations[];
} alignment;

static double smith_waterman(const void *input, void *output) {
    const uint8_t *query = input, *subject = query + rows;
    const int8_t(*scores)[24] = (const int8_t(*)[24])(subject + columns);
    int64_t *heights = memory(columns * sizeof *heights), *gaps = memory(columns * sizeof *gaps);
    uint8_t *origins = memory(rows * columns);
    memset(origins, 1, rows * columns);
    int64_t best = 0;
    size_t best_row = 0, best_column = 0;
    double began = seconds();
    for (size_t j = 0; j < columns; j++) {
        heights[j] = 0;
        gaps[j] = -gap_open;
    }
    for (size_t i = 0; i < rows; i++) {
        const int8_t *pairs = scores[query[i]];
        uint8_t *origin = origins + i * columns;
        int64_t diagonal = 0, left = 0, query_gap = -gap_open;
        for (size_t j = 0; j < columns; j++) {
            int64_t opened = left - gap_open;
            uint8_t how = (uint8_t)((opened < query_gap) << 2);
            query_gap = (opened < query_gap ? query_gap : opened) - gap_extend;
            opened = heights[j] - gap_open;
            how |= (uint8_t)((opened < gaps[j]) << 3);
            int64_t subject_gap = (opened < gaps[j] ? gaps[j] : opened) - gap_extend;
            int64_t pair = diagonal + pairs[subject[j]], score = 0;
            uint8_t reached = 0;
            if (score < pair) score = pair, reached = 1;
            if (score < query_gap) score = query_gap, reached = 2;
            if (score < subject_gap) score = subject_gap, reached = 3;
            diagonal = heights[j];
            heights[j] = left = score;
            gaps[j] = subject_gap;
            origin[j] = how | reached;
            if (best < score) best = score, best_row = i, best_column = j;
        }
    }
    alignment *found = output;
    char *next = found->operations;
    size_t i = best_row + 1, j = best_column + 1;
    for (int layer = 1; best && i && j;) {
        uint8_t origin = origins[(i - 1) * columns + j - 1];
        if (layer == 1) {
            layer = origin & 3;
            if (!layer) break;
            if (layer == 1) {
                *next++ = query[i - 1] == subject[j - 1] ? '=' : 'X';
                i--, j--;
            }
        } else if (layer == 2) {
            *next++ = 'D';
            j--;
            layer = origin & 4 ? 2 : 1;
        } else {
            *next++ = 'I';
            i--;
            layer = origin & 8 ? 3 : 1;
        }
    }
    double took = seconds() - began;
    *found = (alignment){best, (int64_t)i, (int64_t)j};
    free(heights);
    free(gaps);
    free(origins);
    return took;
}

/* LU decomposition with partial pivoting. Input: a square matrix, row after row. Output: the factors in its place, and as
 * numbers which row of the matrix each row was. */

static size_t order;

static double lu(const void *input, void *output) {
    double *a = output, *permutation = a + order * order;
    memcpy(a, input, order * order * sizeof *a);
    for (size_t i = 0; i < order; i++) permutation[i] = (double)i;
    double began = seconds();
    for (size_t k = 0; k < order; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < order; i++)
            if (fabs(a[pivot * order + k]) < fabs(a[i * order + k])) pivot = i;
        if (pivot != k) {
            for (size_t j = 0; j < order; j++) {
                double other = a[k * order + j];
                a[k * order + j] = a[pivot * order + j];
                a[pivot * order + j] = other;
            }
            double other = permutation[k];
            permutation[k] = permutation[pivot];
            permutation[pivot] = other;
        }
        const double *restrict row = a + k * order;
        for (size_t i = k + 1; i < order; i++) {
            double *restrict elements = a + i * order;
            double multiplier = elements[k] /= row[k];
            for (size_t j = k + 1; j < order; j++) elements[j] -= multiplier * row[j];
        }
    }
    return seconds() - began;
}

/* The product of two square matrices, by blocks of rows of the second one that stay in a cache. Input: both. */

static double product(const void *input, void *output) {
    enum { BLOCK = 32 };
    const double *a = input, *b = a + order * order;
    double *c = output;
    double began = seconds();
    memset(c, 0, order * order * sizeof *c);
    for (size_t first = 0; first < order; first += BLOCK) {
        size_t end = first + BLOCK < order ? first + BLOCK : order;
        for (size_t i = 0; i < order; i++) {
            double *restrict sums = c + i * order;
            for (size_t k = first; k < end; k++) {
                const double *restrict line = b + k * order;
                double element = a[i * order + k];
                for (size_t j = 0; j < order; j++) sums[j] += element * line[j];
            }
        }
    }
    return seconds() - began;
}

static size_t whole(const char *word) { return strtoull(word, NULL, 10); }

int main(int count, char **words) {
    if (count < 5) return 2;
    double (*kernel)(const void *, void *);
    size_t bytes;
    if (!strcmp(words[1], "heat") && count == 8) {
        kernel = heat;
        width = whole(words[4]), height = whole(words[5]), steps = whole(words[6]), diffusion = strtod(words[7], NULL);
        bytes = width * height * sizeof(double);
    } else if (!strcmp(words[1], "lbm") && count == 9) {
        kernel = lbm;
        width = whole(words[4]), height = whole(words[5]), steps = whole(words[6]);
        tau = strtod(words[7], NULL), lid = strtod(words[8], NULL);
        bytes = width * height * 3 * sizeof(double);
    } else if (!strcmp(words[1], "smith-waterman") && count == 8) {
        kernel = smith_waterman;
        rows = whole(words[4]), columns = whole(words[5]);
        gap_open = (int64_t)whole(words[6]), gap_extend = (int64_t)whole(words[7]);
        bytes = sizeof(alignment) + rows + columns;
    } else if (!strcmp(words[1], "lu") && count == 5) {
        kernel = lu;
        order = whole(words[4]);
        bytes = (order * order + order) * sizeof(double);
    } else if (!strcmp(words[1], "product") && count == 5) {
        kernel = product;
        order = whole(words[4]);
        bytes = order * order * sizeof(double);
    } else {
        return 2;
    }
    FILE *file = fopen(words[2], "rb");
    if (!file || fseek(file, 0, SEEK_END)) return 1;
    size_t length = (size_t)ftell(file);
    rewind(file);
    void *input = memory(length), *output = memory(bytes);
    if (fread(input, 1, length, file) != length) return 1;
    fclose(file);
    for (int round = 0, c; (c = getchar()) != EOF;) {
        if (c != '\n') continue;
        double took = kernel(input, output);
        if (!round++) {
            file = fopen(words[3], "wb");
            if (!file || fwrite(output, 1, bytes, file) != bytes || fclose(file)) return 1;
        }
        printf("%.9f\n", took);
        fflush(stdout);
    }
    return 0;
}
