/* The heat equation on a plate, by horizontal strips.

   The plate begins with a hill of heat in its middle, and its border keeps the heat that it begins with. A superstep is a time step: the rows
   beside the strip arrive, each point is computed, and the outermost rows leave. The same bits come of any number of processes. */

#define MIGBSP_MAIN
#include "migbsp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct heat {
    int64_t size, steps, rows;
    /* rows + 2 rows of points: the first and the last are those of the neighbours, or the border. */
    double *plate;
    /* The plate after the step that is being computed. */
    double *next;
};

/* A strip without values. */
static struct heat *strip(int64_t *first)
{
    struct heat *heat = bsp_allocate(1, sizeof *heat);
    heat->size = bsp_parameter_int("size", 512);
    heat->steps = bsp_parameter_int("steps", 100);
    *first = heat->size * bsp_pid() / bsp_nprocs();
    heat->rows = heat->size * (bsp_pid() + 1) / bsp_nprocs() - *first;
    heat->plate = bsp_allocate((size_t)((heat->rows + 2) * heat->size), sizeof *heat->plate);
    heat->next = bsp_allocate((size_t)((heat->rows + 2) * heat->size), sizeof *heat->next);
    return heat;
}

static size_t bytes(const struct heat *heat)
{
    return (size_t)((heat->rows + 2) * heat->size) * sizeof *heat->plate;
}

void bsp_setup(void)
{
    int64_t size = bsp_parameter_int("size", 512), steps = bsp_parameter_int("steps", 100);
    if (size < bsp_nprocs() || size > 1 << 20)
        bsp_refuse("invalid value `%lld` for `size`: must be from %d, a row for each process, to %d", (long long)size, bsp_nprocs(), 1 << 20);
    if (steps < 0)
        bsp_refuse("invalid value `%lld` for `steps`: must be at least 0", (long long)steps);
    bsp_parameters_end();
}

void *bsp_create(int argc, char **argv)
{
    int64_t first, x, y;
    struct heat *heat = strip(&first);
    double middle = heat->size / 2.0, width = 0.01 * ((double)heat->size * heat->size);
    (void)argc, (void)argv;
    for (y = 0; y < heat->rows + 2; y++)
        for (x = 0; x < heat->size; x++) {
            double right = x - middle, down = first - 1 + y - middle;
            heat->plate[y * heat->size + x] = exp(-(right * right + down * down) / width);
        }
    memcpy(heat->next, heat->plate, bytes(heat));
    bsp_remaining(heat->steps + 1);
    return heat;
}

static void step(struct heat *heat)
{
    int64_t size = heat->size, x, y;
    double *old;
    for (y = 1; y <= heat->rows; y++) {
        const double *row = heat->plate + y * size;
        double *next = heat->next + y * size;
        for (x = 1; x < size - 1; x++)
            next[x] = row[x] + 0.2 * (row[x - size] + row[x + size] + row[x - 1] + row[x + 1] - 4 * row[x]);
    }
    old = heat->plate;
    heat->plate = heat->next;
    heat->next = old;
}

int bsp_superstep(void *process)
{
    struct heat *heat = process;
    size_t row = (size_t)heat->size * sizeof *heat->plate, length;
    const void *message;
    int from;
    while ((message = bsp_next(&from, &length)) != NULL) {
        if (length != row)
            bsp_fail("a row has %zu bytes, not %zu", row, length);
        memcpy(heat->plate + (from < bsp_pid() ? 0 : (heat->rows + 1) * heat->size), message, length);
    }
    if (bsp_index() > 0) {
        /* The rows of the neighbours and the border change only by messages. */
        memcpy(heat->next, heat->plate, row);
        memcpy(heat->next + (heat->rows + 1) * heat->size, heat->plate + (heat->rows + 1) * heat->size, row);
        step(heat);
        bsp_charge((uint64_t)(10 * heat->rows * heat->size));
    }
    bsp_remaining((uint64_t)heat->steps - bsp_index());
    if (bsp_index() == (uint64_t)heat->steps) {
        uint64_t shape[2];
        shape[0] = (uint64_t)heat->rows;
        shape[1] = (uint64_t)heat->size;
        bsp_output_array("<f8", heat->plate + heat->size, 2, shape);
        return 1;
    }
    if (bsp_pid() > 0)
        bsp_send(bsp_pid() - 1, heat->plate + heat->size, row);
    if (bsp_pid() + 1 < bsp_nprocs())
        bsp_send(bsp_pid() + 1, heat->plate + heat->rows * heat->size, row);
    return 0;
}

void bsp_destroy(void *process)
{
    struct heat *heat = process;
    free(heat->plate);
    free(heat->next);
    free(heat);
}

void bsp_save(void *process)
{
    struct heat *heat = process;
    bsp_write(heat->plate, bytes(heat));
}

void *bsp_load(int argc, char **argv)
{
    int64_t first;
    struct heat *heat = strip(&first);
    (void)argc, (void)argv;
    bsp_read(heat->plate, bytes(heat));
    memcpy(heat->next, heat->plate, bytes(heat));
    return heat;
}
