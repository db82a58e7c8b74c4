/* Puts, gets, tagged messages and registrations of BSPlib; what it computes, it checks. */

#define MIGBSP_BLOCKING
#define MIGBSP_MAIN
#include "migbsp.h"

#include <string.h>

static void expect(int is_right, const char *what)
{
    if (!is_right)
        bsp_abort("process %d, superstep %llu: %s", bsp_pid(), (unsigned long long)bsp_index(), what);
}

static void puts_and_gets(void)
{
    int pid = bsp_pid(), processes = bsp_nprocs(), right = (pid + 1) % processes, left = (pid + processes - 1) % processes;
    int own[4], copy[4] = {0, 0, 0, 0}, number, aside[2] = {0, 0};
    for (number = 0; number < 4; number++)
        own[number] = 10 * pid + number;
    bsp_push_reg(own, sizeof own);
    bsp_push_reg(pid == 0 ? (void *)aside : NULL, pid == 0 ? (int)sizeof aside : 0);
    bsp_sync();
    /* The get reads before the put writes. */
    bsp_get(right, own, 4, copy, 8);
    number = 100 + pid;
    bsp_put(right, &number, own, 4, 4);
    number = -1;
    bsp_reduce_int64("kept", BSP_SUM, 1);
    bsp_sync();
    expect(copy[0] == 10 * right + 1 && copy[1] == 10 * right + 2, "a get gives other values");
    expect(own[1] == 100 + left && own[2] == 10 * pid + 2, "a put gives other values");
    expect(bsp_reduced_int64("kept", BSP_SUM) == processes, "a reduction beside a get is lost");
    bsp_hpget(pid, own, 0, copy, (int)sizeof copy);
    bsp_sync();
    expect(memcmp(own, copy, sizeof own) == 0, "a process cannot get from itself");
    if (pid == 0)
        bsp_hpput(0, copy, aside, 4, 4);
    bsp_pop_reg(own);
    bsp_sync();
    expect(pid != 0 || (aside[0] == 0 && aside[1] == copy[0]), "a put to one process alone");
}

static void messages(void)
{
    int pid = bsp_pid(), processes = bsp_nprocs(), tag_length = 4, count, bytes, length, to;
    char tag[4], text[16];
    void *the_tag, *the_bytes;
    bsp_set_tagsize(&tag_length);
    expect(tag_length == 0, "tags had a length before");
    bsp_sync();
    for (to = 0; to < processes; to++) {
        memcpy(tag, &pid, 4);
        bsp_send(to, tag, "a text and more", 6 + to % 3);
    }
    tag_length = 0;
    bsp_set_tagsize(&tag_length);
    expect(tag_length == 4, "tags had another length");
    bsp_sync();
    bsp_qsize(&count, &bytes);
    expect(count == processes && bytes == processes * (6 + pid % 3), "the queue has another length");
    for (to = 0; to < processes; to++) {
        int from = -1;
        if (to == 0) {
            bsp_get_tag(&length, &from);
            bsp_move(text, sizeof text);
            expect(length == 6 + pid % 3 && memcmp(text, "a text and more", (size_t)length) == 0, "bsp_move gives another message");
        } else {
            length = bsp_hpmove(&the_tag, &the_bytes);
            memcpy(&from, the_tag, 4);
            expect((uintptr_t)the_bytes % 16 == 0 && memcmp(the_bytes, "a text", 6) == 0, "bsp_hpmove gives another message");
        }
        expect(from == to, "messages are not in the order of senders");
    }
    bsp_get_tag(&length, tag);
    expect(length == -1 && bsp_hpmove(&the_tag, &the_bytes) == -1, "the queue does not end");
}

int main(int argc, char **argv)
{
    bsp_init(NULL, argc, argv);
    bsp_begin((int)bsp_parameter_int("most", 1000));
    puts_and_gets();
    messages();
    expect(bsp_time() >= 0, "time goes back");
    if (bsp_parameter_bool("beyond", 0)) {
        int area = 0;
        bsp_push_reg(&area, sizeof area);
        bsp_sync();
        bsp_put(0, &area, &area, 1, 4);
        bsp_sync();
    }
    bsp_output("right", 5);
    bsp_end();
    puts("after the end");
    return 0;
}
