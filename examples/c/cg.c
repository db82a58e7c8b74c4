/* Conjugate gradients: the potential of two charges on a square grid, by strips of rows.

   An iteration is a round of two supersteps. Each needs a sum over all processes, which travels with the barrier. Such sums are exact and rounded
   once, so the result does not depend on where the processes are. */

#define MIGBSP_MAIN
#include "migbsp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cg {
    int64_t width, points;
    double tolerance, square, first_square;
    double *solution, *residual, *product;
    /* With a row of each neighbour at both ends. */
    double *direction;
};

static int64_t width(void)
{
    return bsp_parameter_int("size", 64);
}

static double tolerance(void)
{
    return bsp_parameter_double("tolerance", 1e-10);
}

static double charge(int64_t row, int64_t column)
{
    int64_t third = width() / 3;
    if (row == third && column == third)
        return 1;
    return row == width() - 1 - third && column == width() - 1 - third ? -1 : 0;
}

static struct cg *strip(int64_t *first)
{
    struct cg *cg = bsp_allocate(1, sizeof *cg);
    cg->width = width();
    cg->tolerance = tolerance();
    *first = cg->width * bsp_pid() / bsp_nprocs();
    cg->points = (cg->width * (bsp_pid() + 1) / bsp_nprocs() - *first) * cg->width;
    cg->solution = bsp_allocate((size_t)cg->points, sizeof(double));
    cg->residual = bsp_allocate((size_t)cg->points, sizeof(double));
    cg->product = bsp_allocate((size_t)cg->points, sizeof(double));
    cg->direction = bsp_allocate((size_t)(cg->points + 2 * cg->width), sizeof(double));
    cg->square = cg->first_square = INFINITY;
    return cg;
}

void bsp_setup(void)
{
    if (width() < bsp_nprocs() || width() > 1 << 20)
        bsp_refuse("invalid value `%lld` for `size`: must be from %d, a row for each process, to %d", (long long)width(), bsp_nprocs(), 1 << 20);
    if (!(0 < tolerance() && tolerance() < 1))
        bsp_refuse("invalid value `%g` for `tolerance`: must be between 0 and 1", tolerance());
    bsp_parameters_end();
    bsp_round(2, 0);
}

void *bsp_create(int argc, char **argv)
{
    int64_t first, point;
    struct cg *cg = strip(&first);
    (void)argc, (void)argv;
    for (point = 0; point < cg->points; point++)
        cg->residual[point] = charge(first + point / cg->width, point % cg->width);
    return cg;
}

static double dot(const double *one, const double *other, int64_t count)
{
    double sum = 0;
    int64_t number;
    for (number = 0; number < count; number++)
        sum += one[number] * other[number];
    return sum;
}

/* Four times each point less its four neighbours; u is zero beyond the grid. */
static void multiply(const struct cg *cg)
{
    int64_t point, size = cg->width;
    for (point = 0; point < cg->points; point++) {
        const double *at = cg->direction + size + point;
        double west = point % size > 0 ? at[-1] : 0, east = point % size < size - 1 ? at[1] : 0;
        cg->product[point] = 4 * at[0] - (at[-size] + at[size] + west + east);
    }
}

/* Sends the outermost rows of the residual to the neighbours, and contributes to its square. */
static void share(const struct cg *cg)
{
    size_t row = (size_t)cg->width * sizeof(double);
    if (bsp_pid() > 0)
        bsp_send(bsp_pid() - 1, cg->residual, row);
    if (bsp_pid() + 1 < bsp_nprocs())
        bsp_send(bsp_pid() + 1, cg->residual + cg->points - cg->width, row);
    bsp_reduce_double("square", BSP_SUM, dot(cg->residual, cg->residual, cg->points));
}

/* The direction becomes the residual, with a part of what it was, also in the rows of the neighbours. */
static void turn(struct cg *cg, double part)
{
    double *rows[2], *own = cg->direction + cg->width;
    int64_t point;
    const double *row;
    int from;
    rows[0] = cg->direction;
    rows[1] = own + cg->points;
    for (point = 0; point < cg->points; point++)
        own[point] = cg->residual[point] + part * own[point];
    while ((row = bsp_next(&from, NULL)) != NULL) {
        double *to = rows[from > bsp_pid()];
        for (point = 0; point < cg->width; point++)
            to[point] = row[point] + part * to[point];
    }
}

int bsp_superstep(void *process)
{
    struct cg *cg = process;
    int64_t point;
    bsp_charge((uint64_t)(20 * cg->points));
    if (bsp_index() == 0) {
        share(cg);
    } else if (bsp_index() % 2 == 1) {
        double square = bsp_reduced_double("square", BSP_SUM);
        if (bsp_index() == 1)
            cg->first_square = square;
        if (bsp_pid() == 0)
            bsp_note("residual", sqrt(square));
        if (square <= cg->tolerance * cg->tolerance * cg->first_square) {
            bsp_output(cg->solution, (size_t)cg->points * sizeof(double));
            return 1;
        }
        turn(cg, bsp_index() == 1 ? 0 : square / cg->square);
        cg->square = square;
        multiply(cg);
        bsp_reduce_double("curvature", BSP_SUM, dot(cg->direction + cg->width, cg->product, cg->points));
    } else {
        double curvature = bsp_reduced_double("curvature", BSP_SUM), length = cg->square / curvature;
        if (!(curvature > 0))
            bsp_fail("the matrix is not positive definite");
        for (point = 0; point < cg->points; point++) {
            cg->solution[point] += length * cg->direction[cg->width + point];
            cg->residual[point] -= length * cg->product[point];
        }
        share(cg);
    }
    return 0;
}

void bsp_destroy(void *process)
{
    struct cg *cg = process;
    free(cg->solution);
    free(cg->residual);
    free(cg->product);
    free(cg->direction);
    free(cg);
}

void bsp_save(void *process)
{
    struct cg *cg = process;
    size_t bytes = (size_t)cg->points * sizeof(double);
    bsp_write(&cg->square, sizeof cg->square);
    bsp_write(&cg->first_square, sizeof cg->first_square);
    bsp_write(cg->solution, bytes);
    bsp_write(cg->residual, bytes);
    bsp_write(cg->product, bytes);
    bsp_write(cg->direction, bytes + 2 * (size_t)cg->width * sizeof(double));
}

void *bsp_load(int argc, char **argv)
{
    int64_t first;
    struct cg *cg = strip(&first);
    size_t bytes = (size_t)cg->points * sizeof(double);
    (void)argc, (void)argv;
    bsp_read(&cg->square, sizeof cg->square);
    bsp_read(&cg->first_square, sizeof cg->first_square);
    bsp_read(cg->solution, bytes);
    bsp_read(cg->residual, bytes);
    bsp_read(cg->product, bytes);
    bsp_read(cg->direction, bytes + 2 * (size_t)cg->width * sizeof(double));
    return cg;
}

/* Recomputes the residual of the whole solution. */
int bsp_verify(void)
{
    int64_t size = width(), points = 0, point;
    double *all = bsp_allocate((size_t)(size * size), sizeof *all), left = 0, right = 0;
    size_t length;
    const void *output;
    while ((output = bsp_next(NULL, &length)) != NULL) {
        if (length % sizeof *all != 0 || (int64_t)(length / sizeof *all) > size * size - points)
            return 0;
        memcpy(all + points, output, length);
        points += (int64_t)(length / sizeof *all);
    }
    for (point = 0; point < points; point++) {
        int64_t row = point / size, column = point % size;
        double beside = (row > 0 ? all[point - size] : 0) + (row + 1 < size ? all[point + size] : 0) + (column > 0 ? all[point - 1] : 0) +
                        (column + 1 < size ? all[point + 1] : 0);
        double wanted = charge(row, column), rest = wanted - (4 * all[point] - beside);
        left += rest * rest;
        right += wanted * wanted;
    }
    free(all);
    bsp_verdict("the residual is %.1e of the charges", sqrt(left / right));
    return points == size * size && sqrt(left) <= 2 * tolerance() * sqrt(right);
}
