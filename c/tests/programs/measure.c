/* Measures supersteps of an executor of ring.c, from outside: the time from the first request to the last reply, one process after the other.

       measure COMMAND BYTES PROCESSES EXECUTORS SUPERSTEPS */

#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void write_all(int file, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written < 0)
            fail("write");
        bytes += written;
        length -= (size_t)written;
    }
}

static void read_all(int file, unsigned char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count = read(file, bytes, length);
        if (count <= 0)
            fail("read");
        bytes += count;
        length -= (size_t)count;
    }
}

static void head(unsigned char *at, int kind, uint32_t handle, uint64_t length)
{
    at[0] = (unsigned char)kind;
    at[1] = 0;
    at[2] = 0x42;
    at[3] = 0x53;
    memcpy(at + 4, &handle, 4);
    memcpy(at + 8, &length, 8);
}

/* Reads a reply, mostly by one call, and returns the length of its body. */
static uint64_t reply(int file, unsigned char *bytes, size_t room, int kind)
{
    uint64_t length;
    ssize_t count = read(file, bytes, room);
    if (count < 16)
        fail("read");
    memcpy(&length, bytes + 8, 8);
    if (bytes[0] != kind || 16 + length > room) {
        fprintf(stderr, "reply %d: %.200s\n", bytes[0], bytes + 32);
        exit(1);
    }
    read_all(file, bytes + count, 16 + (size_t)length - (size_t)count);
    return length;
}

static int start(const char *command)
{
    int sockets[2];
    pid_t child;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        fail("socketpair");
    child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        dup2(sockets[1], 0);
        dup2(sockets[1], 1);
        close(sockets[0]);
        close(sockets[1]);
        execl(command, command, (char *)NULL);
        _exit(127);
    }
    close(sockets[1]);
    return sockets[0];
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static double processor(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, padded = (bytes + 15) / 16 * 16, room = 4096 + 2 * padded, length;
    uint32_t processes = argc > 3 ? (uint32_t)atoi(argv[3]) : 8, executors = argc > 4 ? (uint32_t)atoi(argv[4]) : processes, rank, number, zero = 0;
    int supersteps = argc > 5 ? atoi(argv[5]) : 5000, superstep, *files = calloc(executors, sizeof *files);
    unsigned char *request = calloc(1, room), *answer = calloc(1, room);
    double *times = calloc((size_t)supersteps, sizeof *times), before;
    uint64_t word;
    char text[100];
    if (argc < 2 || files == NULL || request == NULL || answer == NULL || times == NULL || setenv("MIGBSP_EXECUTOR", "1", 1) != 0)
        return 2;
    for (number = 0; number < executors; number++) {
        files[number] = start(argv[1]);
        snprintf(text, sizeof text, "{\"parameters\":{\"bytes\":%lu}}", (unsigned long)bytes);
        length = (strlen(text) + 15) / 16 * 16;
        memset(request, 0, room);
        head(request, 1, 0xffffffffu, 32 + length);
        memcpy(request + 16, "\1\0\1\0", 4);
        memcpy(request + 20, &processes, 4);
        word = strlen(text);
        memcpy(request + 44, &word, 4);
        memcpy(request + 48, text, strlen(text));
        write_all(files[number], request, 48 + length);
        reply(files[number], answer, room, 128);
    }
    for (rank = 0; rank < processes; rank++) {
        memset(request, 0, room);
        head(request, 2, rank, 16);
        memcpy(request + 16, &rank, 4);
        write_all(files[rank % executors], request, 32);
        reply(files[rank % executors], answer, room, 129);
    }
    before = processor(RUSAGE_SELF);
    for (superstep = 0; superstep < supersteps; superstep++) {
        uint32_t messages = superstep > 0 && bytes > 0 ? 2 : 0;
        double begin = now();
        for (rank = 0; rank < processes; rank++) {
            length = 32 + messages * (16 + padded);
            head(request, 3, rank, length);
            word = (uint64_t)superstep;
            memcpy(request + 16, &word, 8);
            memset(request + 24, 0, 24);
            memcpy(request + 32, &messages, 4);
            for (number = 0; number < messages; number++) {
                unsigned char *record = request + 48 + 16 * number;
                word = bytes;
                memcpy(record, number ? &rank : &zero, 4);
                memset(record + 4, 0, 4);
                memcpy(record + 8, &word, 8);
            }
            write_all(files[rank % executors], request, 16 + length);
            reply(files[rank % executors], answer, room, 130);
        }
        times[superstep] = now() - begin;
    }
    before = processor(RUSAGE_SELF) - before;
    for (number = 0; number < executors; number++) {
        head(request, 8, 0xffffffffu, 0);
        write_all(files[number], request, 16);
        wait(NULL);
    }
    qsort(times, (size_t)supersteps, sizeof *times, compare);
    printf("%lu bytes, %lu processes, %lu executors: per process and superstep %.1f us (least %.1f, median %.1f), CPU %.1f us of the runtime, %.1f of executors\n",
           (unsigned long)bytes, (unsigned long)processes, (unsigned long)executors, times[supersteps / 10] / processes, times[0] / processes,
           times[supersteps / 2] / processes, before / supersteps / processes, processor(RUSAGE_CHILDREN) / supersteps / processes);
    return 0;
}
