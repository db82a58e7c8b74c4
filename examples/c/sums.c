/* Prefix sums with BSPlib: one function that blocks in bsp_sync. Such a program is executed as it is; its processes cannot be moved. */

#define MIGBSP_BLOCKING
#define MIGBSP_MAIN
#include "migbsp.h"

#include <stdlib.h>

static void prefix_sums(void)
{
    int64_t sum, left = 0, distance;
    bsp_begin(bsp_nprocs());
    sum = bsp_pid() + 1;
    bsp_push_reg(&left, sizeof left);
    bsp_sync();
    for (distance = 1; distance < bsp_nprocs(); distance *= 2) {
        if (bsp_pid() + distance < bsp_nprocs())
            bsp_put((int)(bsp_pid() + distance), &sum, &left, 0, sizeof sum);
        bsp_charge(1000);
        bsp_sync();
        if (bsp_pid() >= distance)
            sum += left;
    }
    bsp_output(&sum, sizeof sum);
    bsp_end();
}

int main(int argc, char **argv)
{
    bsp_init(prefix_sums, argc, argv);
    prefix_sums();
    return EXIT_SUCCESS;
}
