/* Calls each function of migbsp.h once or more; the test knows what is to come of it. */

#define MIGBSP_MAIN
#include "migbsp.h"

#include <stdlib.h>
#include <string.h>

struct everything {
    uint32_t supersteps;
    size_t length;
    unsigned char *bytes;
};

void bsp_setup(void)
{
    int64_t round = bsp_parameter_int("round", 1);
    bsp_round((uint32_t)round, (uint32_t)round - 1);
}

static struct everything *make(void)
{
    struct everything *everything = bsp_allocate(1, sizeof *everything);
    everything->supersteps = (uint32_t)bsp_parameter_int("supersteps", 3);
    bsp_remaining(everything->supersteps);
    return everything;
}

void *bsp_create(int argc, char **argv)
{
    struct everything *everything = make();
    int argument;
    everything->length = (size_t)bsp_parameter_int("state", 3);
    everything->bytes = bsp_allocate(everything->length, 1);
    memset(everything->bytes, 'a' + bsp_pid(), everything->length);
    for (argument = 1; argument < argc; argument++)
        if (strcmp(argv[argument], "--double=0.5") == 0)
            everything->bytes[0] = 'D';
    return everything;
}

static void first(struct everything *everything)
{
    const double doubles[2] = {1.5 + bsp_pid(), -1};
    const int64_t signs[2] = {-5 - bsp_pid(), 7};
    const uint64_t naturals[1] = {UINT64_MAX - 2 + (uint64_t)bsp_pid()};
    const float floats[3] = {1, 2, 3};
    uint64_t shape[2] = {1, 3};
    int pid = bsp_pid(), processes = bsp_nprocs();
    (void)everything;
    bsp_send((pid + 1) % processes, "to the right", 12);
    bsp_send(pid, "", 0);
    bsp_send_sized((pid + 1) % processes, (uint64_t)1 << 40);
    bsp_broadcast("to all", 6);
    bsp_charge(UINT64_MAX);
    bsp_charge(1);
    bsp_progress(0.25);
    bsp_note("a note", 0.5 * pid);
    bsp_snapshot("bytes", "snapshot", 8);
    bsp_snapshot_array("array", "<f4", floats, 2, shape);
    bsp_reduce_double("sum", BSP_SUM, 0.1);
    bsp_reduce_int64("int", BSP_MIN, -pid);
    bsp_reduce_uint64("uint", BSP_MAX, (uint64_t)pid);
    bsp_reduce_doubles("sums", BSP_SUM, doubles, 2);
    bsp_reduce_int64s("ints", BSP_SUM, signs, 2);
    bsp_reduce_uint64s("uints", BSP_MIN, naturals, 1);
    bsp_reduce_bool("and", BSP_AND, pid == 0);
    bsp_reduce_bool("or", BSP_OR, pid == 0);
    if (pid == 0)
        bsp_reduce_double("conflict", BSP_SUM, 1);
    else
        bsp_reduce_int64("conflict", BSP_SUM, 1);
    bsp_gather("values", &pid, sizeof pid);
    bsp_gather("values", "more", (size_t)pid % 4);
}

/* Writes what it received as text. */
static void second(void)
{
    double doubles[2];
    int64_t signs[2];
    uint64_t naturals[1], sized;
    size_t length;
    const char *bytes;
    int from;
    while ((bytes = bsp_next(&from, &length)) != NULL) {
        if ((uintptr_t)bytes % 16 != 0)
            bsp_fail("a message is not aligned");
        printf("%d: message from %d: %.*s\n", bsp_pid(), from, (int)length, bytes);
    }
    while (bsp_next_sized(&from, &sized))
        printf("%d: %llu bytes from %d\n", bsp_pid(), (unsigned long long)sized, from);
    while ((bytes = bsp_next_gathered("values", &from, &length)) != NULL)
        printf("%d: gathered %d from %d\n", bsp_pid(), (int)length, from);
    bsp_reduced_doubles("sums", BSP_SUM, doubles, 2);
    bsp_reduced_int64s("ints", BSP_SUM, signs, 2);
    bsp_reduced_uint64s("uints", BSP_MIN, naturals, 1);
    printf("%d: sum %.17g int %lld uint %llu sums %g %g ints %lld %lld uints %llu and %d or %d\n", bsp_pid(), bsp_reduced_double("sum", BSP_SUM),
           (long long)bsp_reduced_int64("int", BSP_MIN), (unsigned long long)bsp_reduced_uint64("uint", BSP_MAX), doubles[0], doubles[1], (long long)signs[0],
           (long long)signs[1], (unsigned long long)naturals[0], bsp_reduced_bool("and", BSP_AND), bsp_reduced_bool("or", BSP_OR));
    printf("%d: conflict %d absent %d elapsed %g standby %d %d seed %llu supersteps %llu\n", bsp_pid(), bsp_is_reduced("conflict"), bsp_is_reduced("absent"),
           bsp_elapsed(), bsp_is_standby(0), bsp_is_standby(1), (unsigned long long)bsp_seed(), (unsigned long long)bsp_supersteps());
    printf("%d: double %g bool %d text %s json %s none %s\n", bsp_pid(), bsp_parameter_double("double", 0), bsp_parameter_bool("bool", 0),
           bsp_parameter_text("text", "?"), bsp_parameter_json("list"), bsp_parameter_text("none", "otherwise"));
}

int bsp_superstep(void *process)
{
    struct everything *everything = process;
    if (bsp_index() == 0)
        first(everything);
    if (bsp_index() == 1)
        second();
    bsp_remaining(everything->supersteps - 1 - bsp_index());
    if (bsp_index() + 1 < everything->supersteps)
        return 0;
    bsp_output(everything->bytes, everything->length);
    bsp_output("!", 1);
    return 1;
}

void bsp_destroy(void *process)
{
    struct everything *everything = process;
    free(everything->bytes);
    free(everything);
}

void bsp_save(void *process)
{
    struct everything *everything = process;
    bsp_write(&everything->supersteps, sizeof everything->supersteps);
    bsp_write_array(everything->bytes, everything->length, 1);
}

void *bsp_load(int argc, char **argv)
{
    struct everything *everything = make();
    (void)argc, (void)argv;
    bsp_read(&everything->supersteps, sizeof everything->supersteps);
    everything->bytes = bsp_read_array(&everything->length, 1);
    bsp_remaining(everything->supersteps);
    return everything;
}

int bsp_verify(void)
{
    size_t length;
    int from, count = 0;
    const char *output;
    while ((output = bsp_next(&from, &length)) != NULL)
        count += length > 0 && output[length - 1] == '!' && from == count;
    bsp_verdict("%d outputs end with `!`", count);
    return count == bsp_nprocs();
}
