/* Two supersteps, without a state that could be saved. */

#define MIGBSP_MAIN
#include "migbsp.h"

static int process;

void *bsp_create(int argc, char **argv)
{
    (void)argc, (void)argv;
    return &process;
}

int bsp_superstep(void *state)
{
    (void)state;
    if (bsp_index() == 0) {
        bsp_send(1, "abc", 3);
        bsp_send_sized(0, 5);
        bsp_broadcast("seventeen letters", 17);
        bsp_reduce_double("x", BSP_SUM, 1.0);
        bsp_charge(258);
        bsp_remaining(1);
        bsp_progress(0.5);
        return 0;
    }
    bsp_output("out", 3);
    return 1;
}

void bsp_destroy(void *state)
{
    (void)state;
}
