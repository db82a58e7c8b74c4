/* Supersteps that do nothing but exchange two messages of `bytes` bytes with the neighbours on a ring; without `bytes`, nothing at all. */

#define MIGBSP_MAIN
#include "migbsp.h"

#include <stdlib.h>

struct ring {
    size_t bytes;
    char *row;
};

void *bsp_create(int argc, char **argv)
{
    struct ring *ring = bsp_allocate(1, sizeof *ring);
    (void)argc, (void)argv;
    ring->bytes = (size_t)bsp_parameter_int("bytes", 0);
    ring->row = bsp_allocate(ring->bytes, 1);
    return ring;
}

int bsp_superstep(void *process)
{
    struct ring *ring = process;
    int pid = bsp_pid(), processes = bsp_nprocs();
    const char *message;
    while ((message = bsp_next(NULL, NULL)) != NULL)
        ring->row[0] = (char)(ring->row[0] + message[0]);
    bsp_charge(1);
    if (ring->bytes > 0) {
        bsp_send((pid + 1) % processes, ring->row, ring->bytes);
        bsp_send((pid + processes - 1) % processes, ring->row, ring->bytes);
    }
    return 0;
}

void bsp_destroy(void *process)
{
    struct ring *ring = process;
    free(ring->row);
    free(ring);
}

void bsp_save(void *process)
{
    struct ring *ring = process;
    bsp_write_array(ring->row, ring->bytes, 1);
}

void *bsp_load(int argc, char **argv)
{
    struct ring *ring = bsp_allocate(1, sizeof *ring);
    (void)argc, (void)argv;
    ring->row = bsp_read_array(&ring->bytes, 1);
    return ring;
}
