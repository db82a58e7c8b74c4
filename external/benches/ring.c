/* A ring for benchmarks: each process sends BYTES to both neighbours and does nothing else. */
#define MIGBSP_MAIN
#include "migbsp.h"

struct ring {
    size_t length, state;
    char *message, *kept;
};

static struct ring *make(void)
{
    struct ring *ring = (struct ring *)malloc(sizeof *ring);
    ring->length = (size_t)bsp_parameter_int("bytes", 0);
    ring->state = (size_t)bsp_parameter_int("state", 0);
    ring->message = (char *)calloc(ring->length + 1, 1);
    ring->kept = (char *)calloc(ring->state + 1, 1);
    return ring;
}

void *bsp_create(int argc, char **argv)
{
    (void)argc, (void)argv;
    return make();
}

int bsp_superstep(void *process)
{
    struct ring *ring = (struct ring *)process;
    if (ring->length > 0) {
        bsp_send((bsp_pid() + 1) % bsp_nprocs(), ring->message, ring->length);
        bsp_send((bsp_pid() + bsp_nprocs() - 1) % bsp_nprocs(), ring->message, ring->length);
    }
    bsp_charge(1);
    return 0;
}

void bsp_destroy(void *process)
{
    struct ring *ring = (struct ring *)process;
    free(ring->message);
    free(ring->kept);
    free(ring);
}

void bsp_save(void *process)
{
    struct ring *ring = (struct ring *)process;
    bsp_write(ring->kept, ring->state);
}

void *bsp_load(int argc, char **argv)
{
    struct ring *ring = make();
    (void)argc, (void)argv;
    bsp_read(ring->kept, ring->state);
    return ring;
}
