/* Fails in the way that the parameter `fault` names. */

#define MIGBSP_MAIN
#include "migbsp.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *fault)
{
    return strcmp(bsp_parameter_text("fault", ""), fault) == 0;
}

void bsp_setup(void)
{
    if (is("setup"))
        bsp_refuse("the parameters do not fit");
    if (is("misspelt"))
        bsp_parameters_end();
    if (is("int"))
        bsp_parameter_int("value", 0);
    if (is("double"))
        bsp_parameter_double("value", 0);
    if (is("bool"))
        bsp_parameter_bool("value", 0);
    if (is("text"))
        bsp_parameter_text("value", "");
    if (is("send in setup"))
        bsp_send(0, "", 0);
    if (is("round"))
        bsp_round(2, 2);
}

void *bsp_create(int argc, char **argv)
{
    (void)argc, (void)argv;
    if (is("create"))
        bsp_fail("no process %d", bsp_pid());
    if (is("null"))
        return NULL;
    return bsp_allocate(64, 1);
}

static void compute(volatile char *process)
{
    static char long_name[100];
    static void *volatile memory;
    const uint64_t shape[2] = {1u << 31, 1u << 31};
    double values[2];
    memset(long_name, 'n', 99);
    if (is("fail"))
        bsp_fail("superstep %d of %s", (int)bsp_index(), "this program");
    if (is("long"))
        bsp_fail("%05000d", 7);
    if (is("segfault"))
        *(volatile char *)(uintptr_t)(is("segfault") - 1) = *process;
    if (is("abort"))
        abort();
    if (is("exit"))
        exit(7);
    if (is("print"))
        for (int line = 0; line < 1000; line++)
            printf("line %d\n", line);
    if (is("write"))
        values[0] = (double)(write(1, "written\n", 8) + read(0, long_name, 1));
    if (is("receiver"))
        bsp_send(bsp_nprocs(), "", 0);
    if (is("negative"))
        bsp_send_sized(-1, 1);
    if (is("read"))
        bsp_read(long_name, 1);
    if (is("name"))
        bsp_reduce_double(long_name, BSP_SUM, 1);
    if (is("note"))
        bsp_note("a\nb", 1);
    if (is("empty note"))
        bsp_note("", 1);
    if (is("snapshot name"))
        bsp_snapshot("Field", "", 0);
    if (is("snapshot twice"))
        bsp_snapshot("field", "", 0), bsp_snapshot("field", "", 0);
    if (is("snapshots"))
        for (int number = 0; number < 17; number++)
            long_name[2] = 0, long_name[0] = 'a', long_name[1] = (char)('a' + number), bsp_snapshot(long_name, "", 0);
    if (is("operation"))
        bsp_reduce_double("x", BSP_AND, 1);
    if (is("absent"))
        bsp_reduced_double("x", BSP_SUM);
    if (is("progress"))
        bsp_progress(1.5);
    if (is("output"))
        bsp_output("early", 5);
    if (is("array type"))
        bsp_output_array("double", values, 0, NULL);
    if (is("array length"))
        bsp_output_array("<f8", values, 2, shape);
    if (is("two outputs"))
        bsp_output_array("|u1", values, 0, NULL), bsp_output("", 0);
    if (is("other reduction") && bsp_index() == 0)
        bsp_reduce_int64("x", BSP_MAX, 1);
    if (is("other reduction") && bsp_index() == 1)
        bsp_reduced_double("x", BSP_SUM);
    if (is("count") && bsp_index() == 0)
        bsp_reduce_double("x", BSP_SUM, 1);
    if (is("count") && bsp_index() == 1)
        bsp_reduced_doubles("x", BSP_SUM, values, 2);
    if (is("memory"))
        memory = bsp_allocate(SIZE_MAX / 2, 1);
    free(memory);
    if (is("message memory"))
        bsp_send(0, long_name, (size_t)1 << 33);
    if (is("verify in superstep"))
        bsp_verdict("right");
    if (is("hang"))
        for (;;)
            pause();
}

int bsp_superstep(void *process)
{
    compute(process);
    return is("return") ? -1 : bsp_index() == 3;
}

void bsp_destroy(void *process)
{
    free(process);
}

void bsp_save(void *process)
{
    static int calls;
    bsp_write(process, 64);
    if (is("saves more") && calls++ % 2)
        bsp_write(process, 64);
    if (is("saves less") && calls++ % 2 == 0)
        bsp_write(process, 64);
    if (is("sends in save"))
        bsp_send(0, "", 0);
    if (is("fails in save") && calls++ >= 2)
        bsp_fail("this state cannot be saved");
}

void *bsp_load(int argc, char **argv)
{
    void *process = bsp_allocate(64, 1);
    (void)argc, (void)argv;
    bsp_read(process, is("loads less") ? 60 : is("loads more") ? 68 : 64);
    return process;
}
