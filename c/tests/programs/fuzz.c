/* Gives mutated frames to a program, PROGRAM, which is compiled into this file. The channel is memory, the end of the executor is a jump, and memory runs out
   at times. What the program answers must be frames.

       fuzz SEED STREAMS        prints the number of frames, of mutated ones and of FAILED */

#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHANNEL 1000000

static int harness_open(void);
static int harness_print(const char *format, ...) __attribute__((unused));
static int harness_print_to(FILE *file, const char *format, ...);
static ssize_t harness_read(int file, void *bytes, size_t length);
static ssize_t harness_writev(int file, const struct iovec *parts, int count);
static void harness_exit(int status) __attribute__((noreturn));
static void *harness_malloc(size_t size);
static void *harness_calloc(size_t count, size_t size);
static void *harness_realloc(void *memory, size_t size);
static int harness_memalign(void **memory, size_t alignment, size_t size);
static void harness_free(void *memory);

#define read harness_read
#define writev harness_writev
#define exit harness_exit
#define malloc harness_malloc
#define calloc harness_calloc
#define realloc harness_realloc
#define posix_memalign harness_memalign
#define free harness_free
#define open(path, flags) harness_open()
#define printf harness_print
#define fprintf harness_print_to
#define main program_main
#define dup2(from, to) (to)
#define fcntl(file, command, least) CHANNEL

#include PROGRAM

#undef read
#undef writev
#undef exit
#undef malloc
#undef calloc
#undef realloc
#undef posix_memalign
#undef free
#undef open
#undef printf
#undef fprintf
#undef main
#undef dup2
#undef fcntl

/* The file of which the digest is taken. */
static int harness_open(void)
{
    return open("/dev/null", O_RDONLY);
}

static int harness_print(const char *format, ...)
{
    (void)format;
    return 0;
}

static int harness_print_to(FILE *file, const char *format, ...)
{
    (void)file, (void)format;
    return 0;
}

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (state >> 11) % below : 0;
}

/* ---- Memory that runs out, and is freed after each stream ---- */

struct block {
    struct block *next, *before;
    size_t size;
    void *begin;
};

static struct block blocks = {&blocks, &blocks, 0, NULL};
static int memory_left;

static void *harness_malloc(size_t size)
{
    struct block *block;
    void *begin;
    if (size > (size_t)64 << 20 || (memory_left > 0 && --memory_left == 0))
        return NULL;
    begin = malloc(sizeof *block + 64 + size);
    block = (struct block *)(((uintptr_t)begin + sizeof *block + 63) / 64 * 64) - 1;
    block->begin = begin;
    block->size = size;
    block->next = blocks.next;
    block->before = &blocks;
    block->next->before = blocks.next = block;
    return block + 1;
}

static void harness_free(void *memory)
{
    struct block *block;
    if (memory == NULL)
        return;
    block = (struct block *)memory - 1;
    block->next->before = block->before;
    block->before->next = block->next;
    free(block->begin);
}

static void *harness_calloc(size_t count, size_t size)
{
    void *memory = size > 0 && count > SIZE_MAX / size ? NULL : harness_malloc(count * size);
    return memory == NULL ? NULL : memset(memory, 0, count * size);
}

static void *harness_realloc(void *memory, size_t size)
{
    void *new = harness_malloc(size);
    if (new != NULL && memory != NULL) {
        size_t old = ((struct block *)memory - 1)->size;
        memcpy(new, memory, old < size ? old : size);
        harness_free(memory);
    }
    return new;
}

static int harness_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = harness_malloc(size);
    return *memory == NULL || alignment > 64;
}

/* ---- The channel ---- */

static unsigned char stream[1 << 16], answers[1 << 20];
static size_t stream_length, stream_at, answers_length;
static jmp_buf the_end;

static ssize_t harness_read(int file, void *bytes, size_t length)
{
    size_t left = stream_length - stream_at;
    if (file != CHANNEL)
        return read(file, bytes, length);
    if (length > left)
        length = left;
    if (length > 1 && draw(4) == 0)
        length = 1 + (size_t)draw(length);
    memcpy(bytes, stream + stream_at, length);
    stream_at += length;
    return (ssize_t)length;
}

static ssize_t harness_writev(int file, const struct iovec *parts, int count)
{
    ssize_t sum = 0;
    for (; count > 0 && file == CHANNEL; parts++, count--) {
        size_t length = parts->iov_len, room = sizeof answers - answers_length;
        if (length == 0)
            continue;
        if (draw(8) == 0)
            length = 1 + (size_t)draw(length);
        /* Answers beyond the room are not looked at. */
        memcpy(answers + answers_length, parts->iov_base, length < room ? length : room);
        answers_length += length < room ? length : room;
        sum += (ssize_t)length;
        if (length < parts->iov_len)
            break;
    }
    return sum;
}

static void harness_exit(int status)
{
    longjmp(the_end, status + 1);
}

/* ---- Streams ---- */

static size_t frame_begins[64];
static int frame_count;

static void put(const void *bytes, size_t length)
{
    if (length > sizeof stream - stream_length)
        length = sizeof stream - stream_length;
    if (length > 0)
        memcpy(stream + stream_length, bytes, length);
    stream_length += length;
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_u64(uint64_t value)
{
    put(&value, sizeof value);
}

static void pad(void)
{
    static const unsigned char zeros[16];
    put(zeros, (16 - (stream_length - frame_begins[frame_count - 1]) % 16) % 16);
}

static void begin_frame(int kind, uint32_t handle)
{
    frame_begins[frame_count++] = stream_length;
    put_u32((uint32_t)kind | 0x53420000u);
    put_u32(handle);
    put_u64(0);
}

static void end_frame(void)
{
    size_t begin = frame_begins[frame_count - 1];
    uint64_t length = stream_length - begin - 16;
    memcpy(stream + begin + 8, &length, sizeof length);
}

static void put_content(size_t length)
{
    static unsigned char bytes[512];
#ifdef MIGBSP_BLOCKING
    size_t part;
    for (part = 0; part < 1 + length % 3; part++) {
        put_u32(1 + (uint32_t)draw(4));
        put_u32((uint32_t)draw(3));
        put_u64(draw(3) * 4);
        put_u64(draw(3) * 8);
        put_u64(draw(2) * 8);
        put(bytes, 16 * (size_t)draw(3));
    }
    (void)length;
#else
    memset(bytes, (int)draw(256), sizeof bytes);
    put(bytes, length);
#endif
}

static void put_step(uint32_t handle, uint64_t index, uint32_t processes)
{
    static const char *const names[] = {"sum", "int", "uint", "sums", "ints", "uints", "and", "or", "values", "square", "curvature", "bsp_get"};
    static const unsigned char kinds[] = {1, 2, 3, 1, 1, 2, 4, 5, 6, 1, 1, 5}, types[] = {0, 1, 2, 0, 1, 2, 0, 0, 0, 0, 0, 0};
    static const unsigned char counts[] = {1, 1, 1, 2, 2, 1};
    uint32_t messages = (uint32_t)draw(4), items = draw(2) ? 12 : 0, standby = (uint32_t)draw(2), number, from = 0;
    uint64_t lengths[4], flags[4];
    size_t before;
    begin_frame(3, handle);
    put_u64(index);
    put_u64(0x3fe0000000000000u);
    put_u32(messages);
    put_u32(standby);
    put_u32(items);
    put_u32(0);
    for (number = 0; number < messages; number++) {
        from += (uint32_t)draw(processes - from);
        flags[number] = draw(4) == 0;
        lengths[number] = draw(3) == 0 ? 128 : draw(200);
        put_u32(from);
        put_u32((uint32_t)flags[number]);
        put_u64(lengths[number]);
    }
    if (standby)
        put_u32((uint32_t)draw(processes));
    pad();
    for (number = 0; number < items; number++) {
        uint32_t length = number < 6 ? 8u * counts[number] : number < 8 || number == 11 ? 1 : number == 8 ? 4 : 8;
        put_u32((uint32_t)(kinds[number] | types[number] << 8 | strlen(names[number]) << 16));
        put_u32(0);
        put_u64(length);
        put(names[number], strlen(names[number]));
        pad();
        put("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", length);
        pad();
    }
    for (number = 0; number < messages; number++) {
        if (flags[number])
            continue;
        before = stream_length;
        put_content((size_t)lengths[number]);
        pad();
#ifdef MIGBSP_BLOCKING
        lengths[number] = stream_length - before;
        memcpy(stream + frame_begins[frame_count - 1] + 16 + 32 + 16 * number + 8, &lengths[number], 8);
#else
        (void)before;
#endif
    }
    end_frame();
}

static void make_stream(void)
{
    static const char *const texts[] = {"{\"parameters\": {}}", "{\"parameters\": {\"size\": 9, \"steps\": 3, \"state\": 40, \"supersteps\": 3}}",
                                        "{\"parameters\": {\"text\": \"\\u00e4\\ud83d\\ude00\", \"list\": [1, {\"a\": null}], \"bool\": true, \"double\": 1e-3}, \"x\": []}"};
    const char *text = texts[draw(3)];
    uint32_t processes = 1 + (uint32_t)draw(3), handle;
    uint64_t index;
    frame_count = 0;
    stream_length = stream_at = answers_length = 0;
    begin_frame(1, 0xffffffffu);
    put_u32(0x10001);
    put_u32(processes);
    put_u64(7);
    put_u64(0);
    put_u32(2);
    put_u32((uint32_t)strlen(text));
    put(text, strlen(text));
    pad();
    end_frame();
    for (handle = 0; handle < 2; handle++) {
        begin_frame(handle && draw(2) ? 5 : 2, handle);
        put_u32((uint32_t)draw(processes));
        put_u32(0);
        put_u64(0);
        if (stream[frame_begins[frame_count - 1]] == 5) {
            put_u32(3);
            put_u64(40);
            put_content(40);
        }
        end_frame();
#ifdef MIGBSP_BLOCKING
        break;
#endif
    }
    for (index = 0; index < 1 + draw(5); index++) {
        put_step((uint32_t)draw(8) == 0, index, processes);
#ifndef MIGBSP_BLOCKING
        if (draw(2)) {
            begin_frame(4, (uint32_t)draw(2));
            end_frame();
        }
#endif
    }
    if (draw(2)) {
        begin_frame(6, (uint32_t)draw(2));
        end_frame();
    }
    if (draw(2)) {
        uint32_t number;
        begin_frame(7, 0xffffffffu);
        put_u64(processes);
        put_u64(0);
        for (number = 0; number < processes; number++)
            put_u64(10 * number);
        pad();
        for (number = 0; number < processes; number++) {
            put("!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!", 10 * number);
            pad();
        }
        end_frame();
    }
    begin_frame(8, 0xffffffffu);
    end_frame();
}

static void mutate(size_t begin, size_t end)
{
    static const uint64_t values[] = {0, 1, 15, 16, 0x7fffffff, 0x80000000u, 0xffffffffu, 0x100000000u, 0x400000000u, 0x7fffffffffffffffu, 0xfffffffffffffff0u, UINT64_MAX};
    size_t at = begin + (size_t)draw(end - begin), length;
    uint64_t value = values[draw(sizeof values / sizeof *values)];
    switch (draw(8)) {
    case 0:
    case 1:
        stream[at] ^= (unsigned char)(1 << draw(8));
        break;
    case 2:
        stream[at] = (unsigned char)draw(256);
        break;
    case 3:
    case 4:
        at = begin + (at - begin) / 4 * 4;
        length = draw(2) ? 4 : 8;
        if (at + length <= stream_length)
            memcpy(stream + at, &value, length);
        break;
    case 5:
        at = begin + (at - begin) / 4 * 4;
        if (at < stream_length)
            stream[at] = (unsigned char)(stream[at] + (draw(2) ? 1 : -1));
        break;
    case 6:
        length = 1 + (size_t)draw(32);
        if (length > stream_length - at)
            length = stream_length - at;
        memmove(stream + at, stream + at + length, stream_length - at - length);
        stream_length -= length;
        break;
    default:
        length = 1 + (size_t)draw(32);
        if (stream_length + length < sizeof stream) {
            memmove(stream + at + length, stream + at, stream_length - at);
            memset(stream + at, (int)draw(256), length);
            stream_length += length;
        }
    }
}

/* Checks that the answers are frames; the last one may be cut if a state was being sent. Returns how many are FAILED. */
static uint64_t check_answers(uint64_t *frames)
{
    size_t at = 0;
    uint64_t failed = 0, length;
    while (at < answers_length && answers_length < sizeof answers) {
        const unsigned char *head = answers + at;
        int kind = answers_length - at < 16 ? 0 : head[0];
        if (kind == 0 || head[1] != 0 || head[2] != 0x42 || head[3] != 0x53 || !((128 <= kind && kind <= 133) || kind == 255)) {
            fprintf(stderr, "an answer is no frame\n");
            abort();
        }
        memcpy(&length, head + 8, sizeof length);
        if (length > answers_length - at - 16) {
            if (kind != 131) {
                fprintf(stderr, "an answer is too short\n");
                abort();
            }
            break;
        }
        if (kind != 131 && length % 16 != 0) {
            fprintf(stderr, "an answer is not padded\n");
            abort();
        }
        failed += kind == 255;
        ++*frames;
        at += 16 + (size_t)length;
    }
    return failed;
}

static void execute(void)
{
    static char *argv[] = {(char *)(uintptr_t) "program", NULL};
    memset(&migbsp_self, 0, sizeof migbsp_self);
#ifdef MIGBSP_BLOCKING
    memset(&migbsp_lib, 0, sizeof migbsp_lib);
    if (setjmp(the_end) == 0)
        program_main(1, argv);
#else
    migbsp_self.channel = CHANNEL;
    migbsp_self.argc = 1;
    migbsp_self.argv = argv;
    migbsp_self.round_length = 1;
    if (setjmp(the_end) == 0)
        for (;;)
            migbsp_answer(migbsp_next_request());
#endif
    while (blocks.next != &blocks)
        harness_free(blocks.next + 1);
}

int main(int argc, char **argv)
{
    uint64_t streams = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000, number, frames = 0, mutated = 0, failed = 0, answered = 0;
    state += argc > 1 ? strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u : 0;
    state += state == 0;
    if (setenv("MIGBSP_EXECUTOR", "1", 1) != 0)
        return 1;
    for (number = 0; number < streams; number++) {
        int mutation, mutations = number % 16 == 0 ? 0 : 1 + (int)draw(3), last;
        make_stream();
        frames += (uint64_t)frame_count;
        last = frame_count;
        for (mutation = 0; mutation < mutations; mutation++) {
            /* From the end, so that what has moved is not looked at again. */
            last = (int)draw((uint64_t)last);
            mutate(frame_begins[last], last + 1 < frame_count ? frame_begins[last + 1] : stream_length);
            mutated++;
            if (last == 0)
                break;
        }
        memory_left = draw(8) == 0 ? 1 + (int)draw(60) : 0;
        execute();
        failed += check_answers(&answered);
    }
    printf("%llu frames, %llu mutated, %llu answers, %llu failed\n", (unsigned long long)frames, (unsigned long long)mutated, (unsigned long long)answered,
           (unsigned long long)failed);
    return 0;
}
