/* migbsp.h: programs for migbsp in C and C++.

   A program is a set of processes that compute in supersteps. This file makes a command of it, an executor, which migbsp starts, and to
   which it speaks the protocol of docs/reference/program-protocol.md, version 1. C99 or C++11, POSIX, little-endian; no library is needed. The guide is
   docs/guide/c.md, and examples/c has programs.

   One file of the program says

       #define MIGBSP_MAIN
       #include "migbsp.h"

   and has the definitions of all functions and of `main`. Other files include it without the macro. In strict C (-std=c99), include it
   before the headers of the system.

   Functions are called by one thread, and only inside the functions that the program has: sending in bsp_superstep, writing in bsp_save,
   and so on. A call elsewhere, or with a value that is not allowed, ends the run with a message, as bsp_fail does. */

#ifndef MIGBSP_H
#define MIGBSP_H

#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MIGBSP_NO_RETURN __attribute__((__noreturn__))
#define MIGBSP_FORMAT __attribute__((__format__(__printf__, 1, 2)))
#else
#error "migbsp.h needs gcc, clang or a compiler that has their attributes"
#endif

/* Functions that a program may leave out are weak: their address is null if no file defines them. So a program says nothing about which it
   has. Macros in their place could contradict what is there. Where object files are not ELF, all have to be defined. */
#if defined(__ELF__)
#define MIGBSP_OPTIONAL __attribute__((__weak__))
#else
#define MIGBSP_OPTIONAL
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MIGBSP_BLOCKING

/* ---- What the program defines ---- */

/* Makes process bsp_pid(). The arguments are those of the command, then `--name=value` for each parameter. NULL is a failure. */
void *bsp_create(int argc, char **argv);

/* Executes superstep bsp_index(). Returns 0 if the process goes on, and 1 if it halts. */
int bsp_superstep(void *process);

/* Frees the process. */
void bsp_destroy(void *process);

/* Optional, both or none: the state, by calls of bsp_write; and the process, made of it by the same calls of bsp_read. Without them, processes cannot
   be moved between hosts. bsp_save is also called after each superstep, to count: then bsp_write copies nothing. */
void bsp_save(void *process) MIGBSP_OPTIONAL;
void *bsp_load(int argc, char **argv) MIGBSP_OPTIONAL;

/* Optional. Called once, before processes are made: checks parameters, and may call bsp_round. */
void bsp_setup(void) MIGBSP_OPTIONAL;

/* Optional. Called once, after the end: bsp_next gives the outputs of all processes, by rank. Returns 1 if they are right, and 0 if not. */
int bsp_verify(void) MIGBSP_OPTIONAL;

/* In bsp_verify: a sentence about the outputs. */
void bsp_verdict(const char *format, ...) MIGBSP_FORMAT;

/* In bsp_setup: `length` supersteps belong together, and those with index `last` modulo `length` end them. */
void bsp_round(uint32_t length, uint32_t last);

/* ---- Messages ---- */

/* Sends a copy of the bytes. It is received in the next superstep, by a process that has not halted. */
void bsp_send(int to, const void *bytes, size_t length);

/* Sends a copy of the bytes to all other processes. */
void bsp_broadcast(const void *bytes, size_t length);

/* Sends a length without content, to occupy the network as such a message would. */
void bsp_send_sized(int to, uint64_t length);

/* The next message, by sender and as they were sent; NULL if there is none. The bytes begin at a multiple of 16, belong to the process and
   stay until the superstep ends. `from` and `length` may be NULL. */
void *bsp_next(int *from, size_t *length);

/* The next message that is only a length: 1, or 0 if there is none. */
int bsp_next_sized(int *from, uint64_t *length);

#else

/* ---- BSPlib: the program is one function, called by `main`, and has bsp_begin, bsp_end and between them bsp_sync ---- */

/* Nothing is needed before bsp_begin; bsp_init is for programs that have it. */
void bsp_init(void (*program)(void), int argc, char **argv);
void bsp_begin(int processes_max);
void bsp_end(void);
void bsp_sync(void);

/* Seconds since bsp_begin. What the program computes must not depend on it. */
double bsp_time(void);

/* Registration takes effect with the next bsp_sync. */
void bsp_push_reg(const void *area, int length);
void bsp_pop_reg(const void *area);

/* Puts write when all gets have read, in the next bsp_sync; the h versions do the same. */
void bsp_put(int to, const void *source, void *area, int offset, int length);
void bsp_hpput(int to, const void *source, void *area, int offset, int length);
void bsp_get(int from, const void *area, int offset, void *target, int length);
void bsp_hpget(int from, const void *area, int offset, void *target, int length);

void bsp_set_tagsize(int *length);
void bsp_send(int to, const void *tag, const void *bytes, int length);
void bsp_qsize(int *messages, int *bytes);
void bsp_get_tag(int *length, void *tag);
void bsp_move(void *bytes, int length_max);
int bsp_hpmove(void **tag, void **bytes);
void bsp_abort(const char *format, ...) MIGBSP_NO_RETURN MIGBSP_FORMAT;

#endif

/* ---- Where and when ---- */

/* The rank of this process, and how many there are. */
int bsp_pid(void);
int bsp_nprocs(void);

/* The superstep, from 0. */
uint64_t bsp_index(void);

/* The seed of the run, and the supersteps that the experiment gives (0: none). */
uint64_t bsp_seed(void);
uint64_t bsp_supersteps(void);

/* Seconds for which this process computed in the superstep before, and whether the host of a process has not joined yet. They may divide the
   work; outputs must not depend on them. */
double bsp_elapsed(void);
int bsp_is_standby(int rank);

/* ---- Work ---- */

/* Adds instructions that a simulated host takes time for. */
void bsp_charge(uint64_t instructions);

/* In bsp_create, bsp_load or a superstep: at most so many supersteps follow. Unknown where it is not called. */
void bsp_remaining(uint64_t supersteps);

/* In a superstep: the part of the whole computation that is done, from 0 to 1. */
void bsp_progress(double part);

/* ---- Outputs, notes and snapshots ---- */

/* Appends to the output, in the superstep in which the process halts. */
void bsp_output(const void *bytes, size_t length);

/* The output is an array, which --outputs writes as JSON or CSV. The type is NumPy's: "<f8", "<f4", "<i8", "<i4", "|u1". */
void bsp_output_array(const char *type, const void *values, int dimensions, const uint64_t *shape);

/* For people: the record has the number, sum, least and greatest of the values of all processes. */
void bsp_note(const char *name, double value);

/* Writes a file `snapshots/NAME/SUPERSTEP/PROCESS.bin`, or `.msgpack` for an array. */
void bsp_snapshot(const char *name, const void *bytes, size_t length);
void bsp_snapshot_array(const char *name, const char *type, const void *values, int dimensions, const uint64_t *shape);

/* ---- Reductions: values of all processes, combined; all have the result in the next superstep ---- */

enum bsp_operation { BSP_SUM = 1, BSP_MIN = 2, BSP_MAX = 3, BSP_AND = 4, BSP_OR = 5 };

/* Contributes a number, an array of numbers (element by element), or with BSP_AND and BSP_OR a condition. Sums of doubles are exact and rounded once. */
void bsp_reduce_double(const char *name, enum bsp_operation operation, double value);
void bsp_reduce_int64(const char *name, enum bsp_operation operation, int64_t value);
void bsp_reduce_uint64(const char *name, enum bsp_operation operation, uint64_t value);
void bsp_reduce_doubles(const char *name, enum bsp_operation operation, const double *values, size_t count);
void bsp_reduce_int64s(const char *name, enum bsp_operation operation, const int64_t *values, size_t count);
void bsp_reduce_uint64s(const char *name, enum bsp_operation operation, const uint64_t *values, size_t count);
void bsp_reduce_bool(const char *name, enum bsp_operation operation, int value);

/* The result of a reduction of the superstep before. It is a failure if there is none. */
double bsp_reduced_double(const char *name, enum bsp_operation operation);
int64_t bsp_reduced_int64(const char *name, enum bsp_operation operation);
uint64_t bsp_reduced_uint64(const char *name, enum bsp_operation operation);
void bsp_reduced_doubles(const char *name, enum bsp_operation operation, double *values, size_t count);
void bsp_reduced_int64s(const char *name, enum bsp_operation operation, int64_t *values, size_t count);
void bsp_reduced_uint64s(const char *name, enum bsp_operation operation, uint64_t *values, size_t count);
int bsp_reduced_bool(const char *name, enum bsp_operation operation);

/* Whether there is a result. */
int bsp_is_reduced(const char *name);

/* Gives bytes to all processes; the next of those that were given in the superstep before, by rank, or NULL. They stay until the superstep ends. */
void bsp_gather(const char *name, const void *bytes, size_t length);
void *bsp_next_gathered(const char *name, int *from, size_t *length);

#ifndef MIGBSP_BLOCKING

/* ---- State, in bsp_save and bsp_load ---- */

void bsp_write(const void *bytes, size_t length);
void bsp_read(void *bytes, size_t length);

/* An array with its length. The array that is read is new; `free` frees it. A length beyond the state is a failure before memory is taken. */
void bsp_write_array(const void *values, size_t count, size_t size);
void *bsp_read_array(size_t *count, size_t size);

#endif

/* ---- Parameters, anywhere: from the experiment's [application.external.parameters] ---- */

/* The value, or `otherwise` if the experiment has none. A value of another type ends the run: the input is at fault. Texts stay. */
int64_t bsp_parameter_int(const char *name, int64_t otherwise);
double bsp_parameter_double(const char *name, double otherwise);
int bsp_parameter_bool(const char *name, int otherwise);
const char *bsp_parameter_text(const char *name, const char *otherwise);

/* The JSON text of a parameter of any type, or NULL. */
const char *bsp_parameter_json(const char *name);

/* Ends the run if the experiment has a parameter that no call has asked for: it may be misspelt. */
void bsp_parameters_end(void);

/* ---- Failures and memory ---- */

/* End the run with a message, and the executor: the program is at fault, or the input is. */
void bsp_fail(const char *format, ...) MIGBSP_NO_RETURN MIGBSP_FORMAT;
void bsp_refuse(const char *format, ...) MIGBSP_NO_RETURN MIGBSP_FORMAT;
void bsp_fail_text(const char *text) MIGBSP_NO_RETURN;
void bsp_refuse_text(const char *text) MIGBSP_NO_RETURN;

/* Memory with zeros, for `free`. It never returns NULL: without memory, the run ends. */
void *bsp_allocate(size_t count, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* MIGBSP_H */

#if defined(MIGBSP_MAIN) && !defined(MIGBSP_HAS_MAIN)
#define MIGBSP_HAS_MAIN

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#if !defined(CLOCK_PROCESS_CPUTIME_ID) || !defined(F_DUPFD_CLOEXEC)
#error "include migbsp.h before the headers of the system, or compile with -std=gnu99"
#endif

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "migbsp.h is for little-endian machines"
#endif

#ifndef MIGBSP_LANGUAGE
#ifdef __cplusplus
#define MIGBSP_LANGUAGE "C++"
#else
#define MIGBSP_LANGUAGE "C"
#endif
#endif

#if defined(__cplusplus) && (defined(__cpp_exceptions) || defined(__EXCEPTIONS))
#define MIGBSP_EXCEPTIONS
#include <exception>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The protocol. */
#define MIGBSP_VERSION 1u
#define MIGBSP_MARK 0x5342u
#define MIGBSP_EXECUTOR_HANDLE 0xffffffffu
#define MIGBSP_ALL_OTHERS 0xffffffffu
#define MIGBSP_UNKNOWN UINT64_MAX
#define MIGBSP_STEP_MAX ((uint64_t)1 << 32)
#define MIGBSP_STATE_MAX ((uint64_t)1 << 34)
#define MIGBSP_JSON_MAX ((uint64_t)1 << 20)
#define MIGBSP_MESSAGES_MAX ((uint32_t)1 << 24)
#define MIGBSP_MESSAGE_MAX (((uint64_t)1 << 32) - 1)
#define MIGBSP_NAME_MAX 64
#define MIGBSP_SNAPSHOTS_MAX 16
#define MIGBSP_JSON_DEPTH_MAX 64

enum {
    MIGBSP_HELLO = 1,
    MIGBSP_START = 2,
    MIGBSP_STEP = 3,
    MIGBSP_SAVE = 4,
    MIGBSP_LOAD = 5,
    MIGBSP_DROP = 6,
    MIGBSP_VERIFY = 7,
    MIGBSP_BYE = 8,
    MIGBSP_WELCOME = 128,
    MIGBSP_READY = 129,
    MIGBSP_DONE = 130,
    MIGBSP_SAVED = 131,
    MIGBSP_VERDICT = 132,
    MIGBSP_OK = 133,
    MIGBSP_FAILED = 255
};

enum { MIGBSP_CAN_SAVE = 1, MIGBSP_HOLDS_MANY = 2, MIGBSP_VERIFIES = 4 };
enum { MIGBSP_HALTS = 1, MIGBSP_IS_MESSAGE_PACK = 2, MIGBSP_HAS_LOOKED = 4 };
enum { MIGBSP_NO_RESULT = 0, MIGBSP_GATHERED = 6, MIGBSP_NOTE = 7, MIGBSP_SNAPSHOT = 8 };
enum { MIGBSP_DOUBLE = 0, MIGBSP_INT64 = 1, MIGBSP_UINT64 = 2 };
enum { MIGBSP_INPUT_FAULT = 1, MIGBSP_PROGRAM_FAULT = 2, MIGBSP_PROTOCOL_FAULT = 3 };

/* The functions of the program, one bit each: which of them is being called. */
enum {
    MIGBSP_IN_NONE = 0,
    MIGBSP_IN_SETUP = 1,
    MIGBSP_IN_CREATE = 2,
    MIGBSP_IN_SUPERSTEP = 4,
    MIGBSP_IN_SAVE = 8,
    MIGBSP_IN_LOAD = 16,
    MIGBSP_IN_DESTROY = 32,
    MIGBSP_IN_VERIFY = 64
};

/* Bytes that grow. Invariant: they begin at a multiple of 16. */
struct migbsp_bytes {
    unsigned char *at;
    size_t length, capacity;
};

struct migbsp_process {
    uint32_t handle, rank;
    void *state;
    int has_halted;
};

/* The result of a reduction, or a gathered value; it points into the body. */
struct migbsp_item {
    int kind, type, was_taken;
    uint32_t rank;
    const unsigned char *name;
    size_t name_length;
    unsigned char *content;
    size_t length;
};

/* Kinds: 's' a text, 'n' a number, 'b' a boolean, 'j' any other JSON. The text is decoded if it is one, else as it was. */
struct migbsp_parameter {
    char *name, *text;
    char kind;
    double number;
    int was_asked;
};

/* What a process has received: records, items and contents are in the body. */
struct migbsp_inbox {
    struct migbsp_bytes body;
    uint32_t record_count, next_record, next_sized_record, standby_count;
    size_t next_content;
    const unsigned char *records, *standby;
    struct migbsp_item *items;
    size_t item_count, item_capacity, next_item;
};

static struct {
    /* The channel, and what has been read of it. */
    int channel;
    size_t input_begin, input_end;

    /* The request that is being answered. */
    int is_answering;
    uint32_t handle;
    uint64_t body_left;

    /* What HELLO said, and the program. */
    int has_greeted;
    uint32_t processes, round_length, round_last;
    uint64_t seed, supersteps;
    int argc;
    char **argv, **scratch_argv;
    struct migbsp_parameter *parameters;
    size_t parameter_count;

    /* The processes, ascending by handle. */
    struct migbsp_process *held;
    size_t held_count, held_capacity;
    uint32_t held_handle;

    /* The call of a function of the program. */
    int call;
    uint32_t rank;
    uint64_t index;
    double elapsed;

    struct migbsp_inbox inbox;

    /* What it did. */
    uint32_t sent_count, contributed_count, snapshot_count;
    struct migbsp_bytes sent_records, contributed, sent_contents, output;
    size_t snapshots[MIGBSP_SNAPSHOTS_MAX];
    uint64_t charged, remaining;
    double progress;
    int has_looked, is_message_pack;

    /* States: what has been counted, written or is left to read. */
    int is_counting;
    uint64_t state_length, state_left;
    size_t pending;

    char text[4096];
} migbsp_self;

static union {
    unsigned char bytes[65536];
    uint64_t aligned;
} migbsp_input, migbsp_pending;

/* ---- Failures ---- */

static void migbsp_send_all(struct iovec *parts, int count);

static void migbsp_fault(int fault, const char *format, va_list arguments) MIGBSP_NO_RETURN;

static void migbsp_protocol_fault(const char *format, ...) MIGBSP_NO_RETURN MIGBSP_FORMAT;

static void migbsp_store_u16(unsigned char *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

static void migbsp_store_u32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void migbsp_store_u64(unsigned char *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static uint16_t migbsp_u16(const unsigned char *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t migbsp_u32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t migbsp_u64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t migbsp_padded(uint64_t length)
{
    return (length + 15) & ~(uint64_t)15;
}

static void migbsp_frame(unsigned char *at, int kind, uint64_t length)
{
    at[0] = (unsigned char)kind;
    at[1] = 0;
    migbsp_store_u16(at + 2, MIGBSP_MARK);
    migbsp_store_u32(at + 4, migbsp_self.handle);
    migbsp_store_u64(at + 8, length);
}

static void migbsp_part(struct iovec *part, const void *bytes, size_t length)
{
    part->iov_base = (void *)(uintptr_t)bytes;
    part->iov_len = length;
}

/* The executor ends: a process that has failed has no state that others may rely on, and leaving frames of C++ or Fortran by longjmp is undefined. */
static void migbsp_fault(int fault, const char *format, va_list arguments)
{
    static const unsigned char zeros[16] = {0};
    unsigned char head[32];
    struct iovec parts[3];
    int length = vsnprintf(migbsp_self.text, sizeof migbsp_self.text, format, arguments);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof migbsp_self.text)
        length = (int)sizeof migbsp_self.text - 1;
    if (!migbsp_self.is_answering) {
        fprintf(stderr, "%.*s\n", length, migbsp_self.text);
        exit(EXIT_FAILURE);
    }
    migbsp_frame(head, MIGBSP_FAILED, 16 + migbsp_padded((uint64_t)length));
    migbsp_store_u32(head + 16, (uint32_t)fault);
    migbsp_store_u32(head + 20, (uint32_t)length);
    migbsp_store_u64(head + 24, 0);
    migbsp_part(&parts[0], head, sizeof head);
    migbsp_part(&parts[1], migbsp_self.text, (size_t)length);
    migbsp_part(&parts[2], zeros, (size_t)migbsp_padded((uint64_t)length) - (size_t)length);
    migbsp_self.is_answering = 0;
    migbsp_send_all(parts, 3);
    exit(EXIT_FAILURE);
}

static void migbsp_protocol_fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    migbsp_fault(MIGBSP_PROTOCOL_FAULT, format, arguments);
}

void bsp_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    migbsp_fault(MIGBSP_PROGRAM_FAULT, format, arguments);
}

void bsp_refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    migbsp_fault(MIGBSP_INPUT_FAULT, format, arguments);
}

void bsp_fail_text(const char *text)
{
    bsp_fail("%s", text);
}

void bsp_refuse_text(const char *text)
{
    bsp_refuse("%s", text);
}

/* Ends the run if a function may not be called now: `calls` are those in which it may. */
static void migbsp_allow(const char *function, int calls)
{
#ifdef MIGBSP_BLOCKING
    if (!(migbsp_self.call & calls))
        bsp_fail("%s: called before bsp_begin or after bsp_end", function);
#else
    static const char *const names[] = {"bsp_setup", "bsp_create", "bsp_superstep", "bsp_save", "bsp_load", "bsp_destroy", "bsp_verify"};
    size_t number = 0;
    if (migbsp_self.call & calls)
        return;
    while (number < 6 && migbsp_self.call != 1 << number)
        number++;
    bsp_fail("%s: called %s %s", function, migbsp_self.call ? "in" : "outside", migbsp_self.call ? names[number] : "the functions of the program");
#endif
}

/* ---- Memory ---- */

static void migbsp_reserve(struct migbsp_bytes *bytes, uint64_t more)
{
    uint64_t needed = bytes->length + more, capacity = bytes->capacity;
    void *at;
    if (needed <= capacity)
        return;
    capacity = capacity < 2048 ? 4096 : 2 * capacity;
    if (capacity < needed)
        capacity = needed;
    if (capacity > SIZE_MAX / 2 || posix_memalign(&at, 64, (size_t)capacity) != 0)
        bsp_fail("there is no memory for %llu bytes", (unsigned long long)capacity);
    if (bytes->length > 0)
        memcpy(at, bytes->at, bytes->length);
    free(bytes->at);
    bytes->at = (unsigned char *)at;
    bytes->capacity = (size_t)capacity;
}

/* Appends a part, with the zeros after it. */
static void migbsp_append(struct migbsp_bytes *bytes, const void *part, size_t length)
{
    size_t padded = (size_t)migbsp_padded(length);
    if (padded == 0)
        return;
    migbsp_reserve(bytes, padded);
    if (length > 0)
        memcpy(bytes->at + bytes->length, part, length);
    memset(bytes->at + bytes->length + length, 0, padded - length);
    bytes->length += padded;
}

void *bsp_allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    if (memory == NULL)
        bsp_fail("there is no memory for %llu times %llu bytes", (unsigned long long)count, (unsigned long long)size);
    return memory;
}

/* ---- The channel ---- */

static void migbsp_end(int status) MIGBSP_NO_RETURN;

static void migbsp_end(int status)
{
    exit(status);
}

/* Writes all of the parts, which it changes. */
static void migbsp_send_all(struct iovec *parts, int count)
{
    for (;;) {
        ssize_t written;
        while (count > 0 && parts->iov_len == 0) {
            parts++;
            count--;
        }
        if (count == 0)
            return;
        written = writev(migbsp_self.channel, parts, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            migbsp_end(EXIT_FAILURE);
        while (count > 0 && (size_t)written >= parts->iov_len) {
            written -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
}

/* Reads some bytes; at the end of the stream, the executor ends. */
static size_t migbsp_receive_some(void *bytes, size_t length)
{
    const size_t most = (size_t)1 << 30;
    for (;;) {
        ssize_t received = read(migbsp_self.channel, bytes, length < most ? length : most);
        if (received > 0)
            return (size_t)received;
        if (received == 0)
            migbsp_end(migbsp_self.is_answering ? EXIT_FAILURE : EXIT_SUCCESS);
        if (errno != EINTR)
            migbsp_end(EXIT_FAILURE);
    }
}

static void migbsp_receive(void *bytes, size_t length)
{
    unsigned char *at = (unsigned char *)bytes;
    while (length > 0) {
        size_t here = migbsp_self.input_end - migbsp_self.input_begin;
        if (here == 0 && length >= sizeof migbsp_input.bytes) {
            here = migbsp_receive_some(at, length);
        } else {
            if (here == 0) {
                migbsp_self.input_begin = 0;
                migbsp_self.input_end = here = migbsp_receive_some(migbsp_input.bytes, sizeof migbsp_input.bytes);
            }
            if (here > length)
                here = length;
            memcpy(at, migbsp_input.bytes + migbsp_self.input_begin, here);
            migbsp_self.input_begin += here;
        }
        at += here;
        length -= here;
    }
}

/* Reads a part of the body that is being received. */
static void migbsp_receive_body(void *bytes, size_t length)
{
    if (length > migbsp_self.body_left)
        migbsp_protocol_fault("a body is too short");
    migbsp_receive(bytes, length);
    migbsp_self.body_left -= length;
}

/* Reads the whole body; memory is taken as bytes arrive. */
static void migbsp_receive_whole(uint64_t least, uint64_t most)
{
    const uint64_t first = (uint64_t)1 << 20;
    struct migbsp_bytes *body = &migbsp_self.inbox.body;
    uint64_t length = migbsp_self.body_left;
    if (length < least || most < length || length % 16 != 0)
        migbsp_protocol_fault("a body has %llu bytes", (unsigned long long)length);
    body->length = 0;
    while (body->length < length) {
        uint64_t more = length - body->length, room;
        if (body->length == body->capacity)
            migbsp_reserve(body, body->length > 0 && more > body->length ? body->length : more < first ? more : first);
        room = body->capacity - body->length;
        if (more > room)
            more = room;
        migbsp_receive_body(body->at + body->length, (size_t)more);
        body->length += (size_t)more;
    }
}

static void migbsp_reply(int kind, const void *body, size_t length)
{
    unsigned char head[16];
    struct iovec parts[2];
    migbsp_frame(head, kind, length);
    migbsp_part(&parts[0], head, sizeof head);
    migbsp_part(&parts[1], body, length);
    migbsp_self.is_answering = 0;
    migbsp_send_all(parts, 2);
}

/* ---- The parameters: JSON ---- */

struct migbsp_json {
    const char *at, *end;
    int depth;
};

static void migbsp_json_fault(void) MIGBSP_NO_RETURN;

static void migbsp_json_fault(void)
{
    migbsp_protocol_fault("the parameters are not JSON");
}

/* The next character that is no space, which it leaves; 0 at the end. */
static int migbsp_json_peek(struct migbsp_json *json)
{
    while (json->at < json->end && (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r'))
        json->at++;
    return json->at < json->end ? (unsigned char)*json->at : 0;
}

static int migbsp_json_takes(struct migbsp_json *json, int character)
{
    if (migbsp_json_peek(json) != character)
        return 0;
    json->at++;
    return 1;
}

static void migbsp_json_expect(struct migbsp_json *json, int character)
{
    if (!migbsp_json_takes(json, character))
        migbsp_json_fault();
}

static unsigned migbsp_json_hexadecimal(struct migbsp_json *json)
{
    unsigned value = 0;
    int digits;
    for (digits = 0; digits < 4; digits++) {
        int digit = json->at < json->end ? (unsigned char)*json->at++ : 0;
        if ('0' <= digit && digit <= '9')
            value = 16 * value + (unsigned)(digit - '0');
        else if ('a' <= digit && digit <= 'f')
            value = 16 * value + (unsigned)(digit - 'a' + 10);
        else if ('A' <= digit && digit <= 'F')
            value = 16 * value + (unsigned)(digit - 'A' + 10);
        else
            migbsp_json_fault();
    }
    return value;
}

static char *migbsp_utf8(char *at, unsigned character)
{
    if (character < 0x80) {
        *at++ = (char)character;
    } else if (character < 0x800) {
        *at++ = (char)(0xc0 | (character >> 6));
        *at++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *at++ = (char)(0xe0 | (character >> 12));
        *at++ = (char)(0x80 | ((character >> 6) & 0x3f));
        *at++ = (char)(0x80 | (character & 0x3f));
    } else {
        *at++ = (char)(0xf0 | (character >> 18));
        *at++ = (char)(0x80 | ((character >> 12) & 0x3f));
        *at++ = (char)(0x80 | ((character >> 6) & 0x3f));
        *at++ = (char)(0x80 | (character & 0x3f));
    }
    return at;
}

/* A string, decoded: never longer than its source. */
static char *migbsp_json_string(struct migbsp_json *json)
{
    const char *last;
    char *text, *at;
    migbsp_json_expect(json, '"');
    for (last = json->at; last < json->end && *last != '"'; last++)
        last += *last == '\\' && json->end - last > 1;
    text = at = (char *)bsp_allocate((size_t)(last - json->at) + 1, 1);
    for (;;) {
        int character = json->at < json->end ? (unsigned char)*json->at++ : 0;
        if (character == '"')
            break;
        if (character < 0x20)
            migbsp_json_fault();
        if (character != '\\') {
            *at++ = (char)character;
            continue;
        }
        character = json->at < json->end ? (unsigned char)*json->at++ : 0;
        switch (character) {
        case '"':
        case '\\':
        case '/':
            *at++ = (char)character;
            break;
        case 'b':
            *at++ = '\b';
            break;
        case 'f':
            *at++ = '\f';
            break;
        case 'n':
            *at++ = '\n';
            break;
        case 'r':
            *at++ = '\r';
            break;
        case 't':
            *at++ = '\t';
            break;
        case 'u': {
            unsigned code = migbsp_json_hexadecimal(json);
            if (0xd800 <= code && code < 0xdc00) {
                unsigned low;
                if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
                    migbsp_json_fault();
                json->at += 2;
                low = migbsp_json_hexadecimal(json);
                if (low < 0xdc00 || 0xdfff < low)
                    migbsp_json_fault();
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            } else if (code == 0 || (0xdc00 <= code && code < 0xe000)) {
                migbsp_json_fault();
            }
            at = migbsp_utf8(at, code);
            break;
        }
        default:
            migbsp_json_fault();
        }
    }
    *at = 0;
    return text;
}

static int migbsp_json_digits(struct migbsp_json *json)
{
    const char *begin = json->at;
    while (json->at < json->end && '0' <= *json->at && *json->at <= '9')
        json->at++;
    return json->at > begin;
}

static void migbsp_json_number(struct migbsp_json *json)
{
    if (json->at < json->end && *json->at == '-')
        json->at++;
    if (json->at < json->end && *json->at == '0')
        json->at++;
    else if (!migbsp_json_digits(json))
        migbsp_json_fault();
    if (json->at < json->end && *json->at == '.') {
        json->at++;
        if (!migbsp_json_digits(json))
            migbsp_json_fault();
    }
    if (json->at < json->end && (*json->at == 'e' || *json->at == 'E')) {
        json->at++;
        if (json->at < json->end && (*json->at == '+' || *json->at == '-'))
            json->at++;
        if (!migbsp_json_digits(json))
            migbsp_json_fault();
    }
}

static void migbsp_json_word(struct migbsp_json *json, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0)
        migbsp_json_fault();
    json->at += length;
}

/* Skips a value, and returns its kind. */
static char migbsp_json_skip(struct migbsp_json *json)
{
    int first = migbsp_json_peek(json), last = first == '{' ? '}' : ']';
    switch (first) {
    case '"':
        free(migbsp_json_string(json));
        return 's';
    case 't':
        migbsp_json_word(json, "true");
        return 'b';
    case 'f':
        migbsp_json_word(json, "false");
        return 'b';
    case 'n':
        migbsp_json_word(json, "null");
        return 'j';
    case '{':
    case '[':
        if (++json->depth > MIGBSP_JSON_DEPTH_MAX)
            migbsp_json_fault();
        json->at++;
        if (!migbsp_json_takes(json, last)) {
            do {
                if (first == '{') {
                    free(migbsp_json_string(json));
                    migbsp_json_expect(json, ':');
                }
                migbsp_json_skip(json);
            } while (migbsp_json_takes(json, ','));
            migbsp_json_expect(json, last);
        }
        json->depth--;
        return 'j';
    default:
        migbsp_json_number(json);
        return 'n';
    }
}

static void migbsp_read_parameter(struct migbsp_json *json)
{
    struct migbsp_parameter *parameters, *parameter;
    size_t count = migbsp_self.parameter_count, length;
    const char *begin;
    if (migbsp_json_peek(json) != '"')
        migbsp_json_fault();
    if ((count & (count + 1)) == 0) {
        parameters = (struct migbsp_parameter *)realloc(migbsp_self.parameters, 2 * (count + 1) * sizeof *parameters);
        if (parameters == NULL)
            bsp_fail("there is no memory for the parameters");
        migbsp_self.parameters = parameters;
    }
    parameter = &migbsp_self.parameters[count];
    memset(parameter, 0, sizeof *parameter);
    parameter->name = migbsp_json_string(json);
    migbsp_json_expect(json, ':');
    migbsp_json_peek(json);
    begin = json->at;
    parameter->kind = migbsp_json_skip(json);
    if (parameter->kind == 's') {
        json->at = begin;
        parameter->text = migbsp_json_string(json);
    } else {
        length = (size_t)(json->at - begin);
        parameter->text = (char *)bsp_allocate(length + 1, 1);
        memcpy(parameter->text, begin, length);
    }
    /* Before the program can have set another locale. */
    if (parameter->kind == 'n')
        parameter->number = strtod(parameter->text, NULL);
    migbsp_self.parameter_count = count + 1;
}

/* Reads {"parameters": {…}}. */
static void migbsp_read_parameters(const char *text, size_t length)
{
    struct migbsp_json json;
    json.at = text;
    json.end = text + length;
    json.depth = 0;
    migbsp_json_expect(&json, '{');
    if (!migbsp_json_takes(&json, '}')) {
        do {
            char *key;
            if (migbsp_json_peek(&json) != '"')
                migbsp_json_fault();
            key = migbsp_json_string(&json);
            migbsp_json_expect(&json, ':');
            if (strcmp(key, "parameters") != 0) {
                migbsp_json_skip(&json);
            } else {
                migbsp_json_expect(&json, '{');
                if (!migbsp_json_takes(&json, '}')) {
                    do
                        migbsp_read_parameter(&json);
                    while (migbsp_json_takes(&json, ','));
                    migbsp_json_expect(&json, '}');
                }
            }
            free(key);
        } while (migbsp_json_takes(&json, ','));
        migbsp_json_expect(&json, '}');
    }
    if (migbsp_json_peek(&json) != 0 || json.at < json.end)
        migbsp_json_fault();
}

/* The arguments of the command, and after them the parameters. */
static void migbsp_extend_arguments(void)
{
    size_t count = (size_t)migbsp_self.argc, number;
    char **argv = (char **)bsp_allocate(count + migbsp_self.parameter_count + 1, sizeof *argv);
    if (count > 0)
        memcpy(argv, migbsp_self.argv, count * sizeof *argv);
    for (number = 0; number < migbsp_self.parameter_count; number++) {
        const struct migbsp_parameter *parameter = &migbsp_self.parameters[number];
        size_t length = strlen(parameter->name) + strlen(parameter->text) + 4;
        argv[count] = (char *)bsp_allocate(length, 1);
        snprintf(argv[count++], length, "--%s=%s", parameter->name, parameter->text);
    }
    migbsp_self.argc = (int)count;
    migbsp_self.argv = argv;
    migbsp_self.scratch_argv = (char **)bsp_allocate(count + 1, sizeof *argv);
}

#ifndef MIGBSP_BLOCKING
/* The arguments for a call: functions such as getopt order them. */
static char **migbsp_arguments(void)
{
    memcpy(migbsp_self.scratch_argv, migbsp_self.argv, ((size_t)migbsp_self.argc + 1) * sizeof *migbsp_self.argv);
    return migbsp_self.scratch_argv;
}
#endif

static void migbsp_greet(void);

static struct migbsp_parameter *migbsp_find_parameter(const char *name)
{
    size_t number;
    migbsp_greet();
    for (number = migbsp_self.parameter_count; number-- > 0;) {
        struct migbsp_parameter *parameter = &migbsp_self.parameters[number];
        if (strcmp(parameter->name, name) == 0) {
            parameter->was_asked = 1;
            return parameter;
        }
    }
    return NULL;
}

static void migbsp_refuse_parameter(const struct migbsp_parameter *parameter, const char *type) MIGBSP_NO_RETURN;

static void migbsp_refuse_parameter(const struct migbsp_parameter *parameter, const char *type)
{
    bsp_refuse("invalid value `%.60s` for the parameter `%.60s`: must be %s", parameter->text, parameter->name, type);
}

int64_t bsp_parameter_int(const char *name, int64_t otherwise)
{
    const struct migbsp_parameter *parameter = migbsp_find_parameter(name);
    long long value;
    char *end;
    if (parameter == NULL)
        return otherwise;
    errno = 0;
    value = strtoll(parameter->text, &end, 10);
    if (parameter->kind != 'n' || *end != 0 || errno != 0)
        migbsp_refuse_parameter(parameter, "an integer of 64 bits");
    return value;
}

double bsp_parameter_double(const char *name, double otherwise)
{
    const struct migbsp_parameter *parameter = migbsp_find_parameter(name);
    if (parameter == NULL)
        return otherwise;
    if (parameter->kind != 'n')
        migbsp_refuse_parameter(parameter, "a number");
    return parameter->number;
}

int bsp_parameter_bool(const char *name, int otherwise)
{
    const struct migbsp_parameter *parameter = migbsp_find_parameter(name);
    if (parameter == NULL)
        return otherwise;
    if (parameter->kind != 'b')
        migbsp_refuse_parameter(parameter, "true or false");
    return parameter->text[0] == 't';
}

const char *bsp_parameter_text(const char *name, const char *otherwise)
{
    const struct migbsp_parameter *parameter = migbsp_find_parameter(name);
    if (parameter == NULL)
        return otherwise;
    if (parameter->kind != 's')
        migbsp_refuse_parameter(parameter, "a text");
    return parameter->text;
}

const char *bsp_parameter_json(const char *name)
{
    const struct migbsp_parameter *parameter = migbsp_find_parameter(name);
    if (parameter == NULL)
        return NULL;
    if (parameter->kind == 's')
        bsp_fail("bsp_parameter_json: the parameter `%.60s` is a text", name);
    return parameter->text;
}

void bsp_parameters_end(void)
{
    size_t number;
    migbsp_greet();
    for (number = 0; number < migbsp_self.parameter_count; number++)
        if (!migbsp_self.parameters[number].was_asked)
            bsp_refuse("the program has no parameter `%.60s`", migbsp_self.parameters[number].name);
}

/* ---- The digest: SHA-256 of the executable file, as sha256sum prints it ---- */

struct migbsp_sha256 {
    uint32_t state[8];
    unsigned char block[64];
    uint64_t length;
};

static uint32_t migbsp_rotated(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

static void migbsp_sha256_block(struct migbsp_sha256 *sha)
{
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t words[64], state[8];
    int number;
    for (number = 0; number < 16; number++) {
        const unsigned char *at = sha->block + 4 * number;
        words[number] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (number = 16; number < 64; number++) {
        uint32_t early = words[number - 15], late = words[number - 2];
        early = migbsp_rotated(early, 7) ^ migbsp_rotated(early, 18) ^ early >> 3;
        late = migbsp_rotated(late, 17) ^ migbsp_rotated(late, 19) ^ late >> 10;
        words[number] = words[number - 16] + early + words[number - 7] + late;
    }
    memcpy(state, sha->state, sizeof state);
    for (number = 0; number < 64; number++) {
        uint32_t e = state[4], a = state[0];
        uint32_t one = state[7] + (migbsp_rotated(e, 6) ^ migbsp_rotated(e, 11) ^ migbsp_rotated(e, 25)) + ((e & state[5]) ^ (~e & state[6])) +
                       constants[number] + words[number];
        uint32_t two = (migbsp_rotated(a, 2) ^ migbsp_rotated(a, 13) ^ migbsp_rotated(a, 22)) + ((a & state[1]) ^ (a & state[2]) ^ (state[1] & state[2]));
        memmove(state + 1, state, 7 * sizeof *state);
        state[4] += one;
        state[0] = one + two;
    }
    for (number = 0; number < 8; number++)
        sha->state[number] += state[number];
}

static void migbsp_sha256_add(struct migbsp_sha256 *sha, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        size_t place = (size_t)(sha->length % 64), here = 64 - place;
        if (here > length)
            here = length;
        memcpy(sha->block + place, bytes, here);
        sha->length += here;
        bytes += here;
        length -= here;
        if (place + here == 64)
            migbsp_sha256_block(sha);
    }
}

static int migbsp_executable(void)
{
    const char *name = migbsp_self.argc > 0 ? migbsp_self.argv[0] : "", *path = getenv("PATH");
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file >= 0)
        return file;
    if (strchr(name, '/') != NULL)
        return open(name, O_RDONLY | O_CLOEXEC);
    while (path != NULL && *path != 0) {
        size_t length = strcspn(path, ":");
        snprintf(migbsp_self.text, sizeof migbsp_self.text, "%.*s/%s", (int)length, path, name);
        if (access(migbsp_self.text, X_OK) == 0)
            return open(migbsp_self.text, O_RDONLY | O_CLOEXEC);
        path += length;
        path += *path == ':';
    }
    return -1;
}

/* Writes 64 digits and a zero. */
static void migbsp_digest(char *digits)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    static const unsigned char padding[64] = {0x80};
    struct migbsp_sha256 sha;
    unsigned char length[8], *buffer = migbsp_pending.bytes;
    int file = migbsp_executable(), number;
    ssize_t count = file < 0 ? -1 : 1;
    memset(&sha, 0, sizeof sha);
    memcpy(sha.state, start, sizeof start);
    while (count > 0) {
        do
            count = read(file, buffer, sizeof migbsp_pending.bytes);
        while (count < 0 && errno == EINTR);
        if (count > 0)
            migbsp_sha256_add(&sha, buffer, (size_t)count);
    }
    if (count < 0)
        bsp_fail("the file of the program cannot be read: %s", strerror(errno));
    close(file);
    for (number = 0; number < 8; number++)
        length[number] = (unsigned char)(8 * sha.length >> (56 - 8 * number));
    migbsp_sha256_add(&sha, padding, 1 + (size_t)((119 - sha.length % 64) % 64));
    migbsp_sha256_add(&sha, length, sizeof length);
    for (number = 0; number < 8; number++)
        snprintf(digits + 8 * number, 9, "%08x", (unsigned)sha.state[number]);
}

/* ---- The state ---- */

static uint64_t migbsp_processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#ifndef MIGBSP_BLOCKING

static void migbsp_flush_state(const void *bytes, size_t length)
{
    struct iovec parts[2];
    migbsp_part(&parts[0], migbsp_pending.bytes, migbsp_self.pending);
    migbsp_part(&parts[1], bytes, length);
    migbsp_self.pending = 0;
    migbsp_send_all(parts, 2);
}

void bsp_write(const void *bytes, size_t length)
{
    migbsp_allow("bsp_write", MIGBSP_IN_SAVE);
    if (migbsp_self.is_counting) {
        migbsp_self.state_length += length;
        return;
    }
    if (length > migbsp_self.state_left)
        bsp_fail("bsp_save wrote more than %llu bytes, the number that it wrote when they were counted", (unsigned long long)migbsp_self.state_length);
    migbsp_self.state_left -= length;
    if (migbsp_self.pending + length > sizeof migbsp_pending.bytes) {
        migbsp_flush_state(bytes, length);
    } else if (length > 0) {
        memcpy(migbsp_pending.bytes + migbsp_self.pending, bytes, length);
        migbsp_self.pending += length;
    }
}

void bsp_read(void *bytes, size_t length)
{
    migbsp_allow("bsp_read", MIGBSP_IN_LOAD);
    if (length > migbsp_self.body_left)
        bsp_fail("bsp_load reads beyond the state, which has %llu bytes", (unsigned long long)migbsp_self.state_length);
    migbsp_receive_body(bytes, length);
}

void bsp_write_array(const void *values, size_t count, size_t size)
{
    uint64_t length = count;
    bsp_write(&length, sizeof length);
    bsp_write(values, count * size);
}

void *bsp_read_array(size_t *count, size_t size)
{
    uint64_t length;
    void *values;
    bsp_read(&length, sizeof length);
    if (size > 0 && (length > migbsp_self.body_left / size || length > SIZE_MAX / size))
        bsp_fail("bsp_load reads %llu values of %llu bytes, beyond the state", (unsigned long long)length, (unsigned long long)size);
    *count = (size_t)length;
    values = malloc(length > 0 ? *count * size : 1);
    if (values == NULL)
        bsp_fail("there is no memory for %llu values of %llu bytes", (unsigned long long)length, (unsigned long long)size);
    bsp_read(values, *count * size);
    return values;
}

#endif

/* ---- What a superstep receives ---- */

/* Where a part of the body begins; the offset goes behind it. Bodies have a multiple of 16 bytes, so the zeros fit where the part does. */
static size_t migbsp_skip_part(size_t *offset, uint64_t length)
{
    size_t begin = *offset;
    if (length > migbsp_self.inbox.body.length - begin)
        migbsp_protocol_fault("the lengths in a request contradict its length");
    *offset += (size_t)migbsp_padded(length);
    return begin;
}

static void migbsp_read_item(struct migbsp_item *item, size_t *offset)
{
    static const int types[] = {1, 3, 3, 3, 1, 1, 1};
    const unsigned char *head = migbsp_self.inbox.body.at + migbsp_skip_part(offset, 16);
    uint64_t length = migbsp_u64(head + 8);
    item->kind = head[0];
    item->type = head[1];
    item->name_length = migbsp_u16(head + 2);
    item->rank = migbsp_u32(head + 4);
    item->was_taken = 0;
    item->name = migbsp_self.inbox.body.at + migbsp_skip_part(offset, item->name_length);
    item->content = migbsp_self.inbox.body.at + migbsp_skip_part(offset, length);
    item->length = (size_t)length;
    if (item->kind > MIGBSP_GATHERED || item->type >= types[item->kind] || item->rank >= migbsp_self.processes)
        migbsp_protocol_fault("an item in STEP is none");
    if ((1 <= item->kind && item->kind <= 3 && length % 8 != 0) || ((item->kind == 4 || item->kind == 5) && (length != 1 || item->content[0] > 1)))
        migbsp_protocol_fault("an item in STEP contradicts its kind");
}

/* Reads the body of STEP, and checks all of it. */
static void migbsp_read_step(void)
{
    size_t offset = 32, number;
    uint32_t items, record, before = 0;
    const unsigned char *body;
    migbsp_receive_whole(32, MIGBSP_STEP_MAX);
    body = migbsp_self.inbox.body.at;
    migbsp_self.index = migbsp_u64(body);
    memcpy(&migbsp_self.elapsed, body + 8, sizeof migbsp_self.elapsed);
    migbsp_self.inbox.record_count = migbsp_u32(body + 16);
    migbsp_self.inbox.standby_count = migbsp_u32(body + 20);
    items = migbsp_u32(body + 24);
    if (migbsp_self.inbox.record_count > MIGBSP_MESSAGES_MAX)
        migbsp_protocol_fault("STEP has %lu messages", (unsigned long)migbsp_self.inbox.record_count);
    migbsp_self.inbox.records = body + migbsp_skip_part(&offset, 16 * (uint64_t)migbsp_self.inbox.record_count);
    migbsp_self.inbox.standby = body + migbsp_skip_part(&offset, 4 * (uint64_t)migbsp_self.inbox.standby_count);
    for (record = 0; record < migbsp_self.inbox.standby_count; record++) {
        uint32_t rank = migbsp_u32(migbsp_self.inbox.standby + 4 * record);
        if (rank >= migbsp_self.processes || (record > 0 && rank <= before))
            migbsp_protocol_fault("the processes on standby do not ascend");
        before = rank;
    }
    /* Each takes 16 bytes at least, so what has arrived bounds the memory for all. */
    if (items > (migbsp_self.inbox.body.length - offset) / 16)
        migbsp_protocol_fault("the lengths in a request contradict its length");
    if (items > migbsp_self.inbox.item_capacity) {
        free(migbsp_self.inbox.items);
        migbsp_self.inbox.items = (struct migbsp_item *)malloc(items * sizeof *migbsp_self.inbox.items);
        migbsp_self.inbox.item_capacity = migbsp_self.inbox.items != NULL ? items : 0;
        if (migbsp_self.inbox.items == NULL)
            bsp_fail("there is no memory for %lu results of reductions", (unsigned long)items);
    }
    for (number = 0; number < items; number++)
        migbsp_read_item(&migbsp_self.inbox.items[number], &offset);
    migbsp_self.inbox.item_count = items;
    migbsp_self.inbox.next_item = 0;
    migbsp_self.inbox.next_content = offset;
    migbsp_self.inbox.next_record = migbsp_self.inbox.next_sized_record = 0;
    for (record = 0, before = 0; record < migbsp_self.inbox.record_count; record++) {
        const unsigned char *at = migbsp_self.inbox.records + 16 * (size_t)record;
        uint32_t from = migbsp_u32(at), flags = migbsp_u32(at + 4);
        if (from >= migbsp_self.processes || from < before || flags > 1)
            migbsp_protocol_fault("a message in STEP is none");
        if (flags == 0)
            migbsp_skip_part(&offset, migbsp_u64(at + 8));
        before = from;
    }
    if (offset != migbsp_self.inbox.body.length)
        migbsp_protocol_fault("the lengths in a request contradict its length");
}

/* The next message with a content; NULL if there is none. */
static void *migbsp_next_message(int *from, size_t *length)
{
    while (migbsp_self.inbox.next_record < migbsp_self.inbox.record_count) {
        const unsigned char *record = migbsp_self.inbox.records + 16 * (size_t)migbsp_self.inbox.next_record++;
        if (migbsp_u32(record + 4) == 0) {
            uint64_t bytes = migbsp_u64(record + 8);
            void *content = migbsp_self.inbox.body.at + migbsp_self.inbox.next_content;
            migbsp_self.inbox.next_content += (size_t)migbsp_padded(bytes);
            if (from != NULL)
                *from = (int)migbsp_u32(record);
            if (length != NULL)
                *length = (size_t)bytes;
            return content;
        }
    }
    return NULL;
}

int bsp_pid(void)
{
    const int calls = MIGBSP_IN_CREATE | MIGBSP_IN_SUPERSTEP | MIGBSP_IN_SAVE | MIGBSP_IN_LOAD | MIGBSP_IN_DESTROY;
    migbsp_allow("bsp_pid", calls);
    return (int)migbsp_self.rank;
}

int bsp_nprocs(void)
{
    migbsp_greet();
    return (int)migbsp_self.processes;
}

uint64_t bsp_index(void)
{
    migbsp_allow("bsp_index", MIGBSP_IN_SUPERSTEP);
    return migbsp_self.index;
}

uint64_t bsp_seed(void)
{
    migbsp_greet();
    return migbsp_self.seed;
}

uint64_t bsp_supersteps(void)
{
    migbsp_greet();
    return migbsp_self.supersteps;
}

double bsp_elapsed(void)
{
    migbsp_allow("bsp_elapsed", MIGBSP_IN_SUPERSTEP);
    migbsp_self.has_looked = 1;
    return migbsp_self.elapsed;
}

int bsp_is_standby(int rank)
{
    uint32_t from = 0, to;
    migbsp_allow("bsp_is_standby", MIGBSP_IN_SUPERSTEP);
    migbsp_self.has_looked = 1;
    to = migbsp_self.inbox.standby_count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int64_t found = migbsp_u32(migbsp_self.inbox.standby + 4 * (size_t)middle);
        if (found == rank)
            return 1;
        if (found < rank)
            from = middle + 1;
        else
            to = middle;
    }
    return 0;
}

/* ---- What a superstep does ---- */

static void migbsp_begin_superstep(void)
{
    migbsp_self.sent_count = migbsp_self.contributed_count = migbsp_self.snapshot_count = 0;
    migbsp_self.sent_records.length = migbsp_self.contributed.length = 0;
    migbsp_self.sent_contents.length = migbsp_self.output.length = 0;
    migbsp_self.charged = 0;
    migbsp_self.remaining = MIGBSP_UNKNOWN;
    /* Not a number, without the header of mathematics. */
    memset(&migbsp_self.progress, 0xff, sizeof migbsp_self.progress);
    migbsp_self.has_looked = migbsp_self.is_message_pack = 0;
}

static void migbsp_add_record(uint32_t to, uint32_t flags, uint64_t length)
{
    unsigned char record[16];
    if (migbsp_self.sent_count == MIGBSP_MESSAGES_MAX)
        bsp_fail("a superstep sends %lu messages at most", (unsigned long)MIGBSP_MESSAGES_MAX);
    migbsp_store_u32(record, to);
    migbsp_store_u32(record + 4, flags);
    migbsp_store_u64(record + 8, length);
    migbsp_append(&migbsp_self.sent_records, record, sizeof record);
    migbsp_self.sent_count++;
}

static void migbsp_add_message(uint32_t to, const void *bytes, size_t length)
{
    if (length > MIGBSP_MESSAGE_MAX || migbsp_self.sent_contents.length > MIGBSP_STEP_MAX - length)
        bsp_fail("the messages of a superstep have less than 4 GiB together");
    migbsp_add_record(to, 0, length);
    migbsp_append(&migbsp_self.sent_contents, bytes, length);
}

static void migbsp_check_receiver(const char *function, int to)
{
    if (to < 0 || (uint32_t)to >= migbsp_self.processes)
        bsp_fail("%s: there is no process %d: they are 0 to %ld", function, to, (long)migbsp_self.processes - 1);
}

void bsp_charge(uint64_t instructions)
{
    migbsp_allow("bsp_charge", MIGBSP_IN_SUPERSTEP);
    migbsp_self.charged = instructions > UINT64_MAX - migbsp_self.charged ? UINT64_MAX : migbsp_self.charged + instructions;
}

void bsp_remaining(uint64_t supersteps)
{
    migbsp_allow("bsp_remaining", MIGBSP_IN_CREATE | MIGBSP_IN_LOAD | MIGBSP_IN_SUPERSTEP);
    migbsp_self.remaining = supersteps;
}

void bsp_progress(double part)
{
    migbsp_allow("bsp_progress", MIGBSP_IN_SUPERSTEP);
    if (!(0 <= part && part <= 1))
        bsp_fail("bsp_progress: %g is not between 0 and 1", part);
    migbsp_self.progress = part;
}

/* Appends a number of bytes without zeros after them. */
static void migbsp_append_bytes(struct migbsp_bytes *bytes, const void *part, size_t length)
{
    if (length == 0)
        return;
    migbsp_reserve(bytes, length);
    memcpy(bytes->at + bytes->length, part, length);
    bytes->length += length;
}

void bsp_output(const void *bytes, size_t length)
{
    migbsp_allow("bsp_output", MIGBSP_IN_SUPERSTEP);
    if (migbsp_self.is_message_pack)
        bsp_fail("bsp_output: the output is an array already");
    if (migbsp_self.output.length + (uint64_t)length > MIGBSP_STEP_MAX)
        bsp_fail("bsp_output: an output has less than 4 GiB");
    migbsp_append_bytes(&migbsp_self.output, bytes, length);
}

/* The head of a MessagePack array (extension 1) for these values, whose number of bytes it gives. Returns the length of the head. */
static size_t migbsp_array_head(const char *function, unsigned char head[512], const char *type, int dimensions, const uint64_t *shape, size_t *bytes)
{
    size_t type_length = strlen(type), plain, zeros, number;
    unsigned long size = type_length > 2 ? strtoul(type + 2, NULL, 10) : 0;
    uint64_t length = size, body;
    if (type_length < 3 || type_length > 8 || strchr("<|", type[0]) == NULL || strchr("biufc", type[1]) == NULL || size < 1 || size > 16)
        bsp_fail("%s: `%.20s` is no type of numbers such as `<f8`", function, type);
    if (dimensions < 0 || dimensions > 32)
        bsp_fail("%s: an array has 0 to 32 dimensions, not %d", function, dimensions);
    for (number = 0; number < (size_t)dimensions; number++) {
        if (shape[number] != 0 && length > MIGBSP_MESSAGE_MAX / shape[number])
            bsp_fail("%s: an array has less than 4 GiB", function);
        length *= shape[number];
    }
    plain = 6 + 3 + type_length + 8 * (size_t)dimensions;
    zeros = (size_t)migbsp_padded(plain) - plain;
    body = plain - 6 + zeros + length;
    if (body > MIGBSP_MESSAGE_MAX)
        bsp_fail("%s: an array has less than 4 GiB", function);
    memset(head, 0, plain + zeros);
    head[0] = 0xc9;
    for (number = 0; number < 4; number++)
        head[1 + number] = (unsigned char)(body >> (24 - 8 * number));
    head[5] = 1;
    head[6] = (unsigned char)zeros;
    head[7] = (unsigned char)dimensions;
    head[8] = (unsigned char)type_length;
    memcpy(head + 9, type, type_length);
    for (number = 0; number < (size_t)dimensions; number++)
        migbsp_store_u64(head + 9 + type_length + 8 * number, shape[number]);
    *bytes = (size_t)length;
    return plain + zeros;
}

void bsp_output_array(const char *type, const void *values, int dimensions, const uint64_t *shape)
{
    unsigned char head[512];
    size_t length, bytes;
    migbsp_allow("bsp_output_array", MIGBSP_IN_SUPERSTEP);
    if (migbsp_self.output.length > 0)
        bsp_fail("bsp_output_array: there is an output already");
    length = migbsp_array_head("bsp_output_array", head, type, dimensions, shape, &bytes);
    migbsp_append_bytes(&migbsp_self.output, head, length);
    migbsp_append_bytes(&migbsp_self.output, values, bytes);
    migbsp_self.is_message_pack = 1;
}

/* Adds the head of an item, and its name. The content, `length` bytes, is to follow. */
static void migbsp_add_item(int kind, int type, const char *name, uint64_t length)
{
    unsigned char head[16];
    size_t name_length = strlen(name);
    if (migbsp_self.contributed.length + length > MIGBSP_STEP_MAX)
        bsp_fail("the reductions and snapshots of a superstep have less than 4 GiB");
    memset(head, 0, sizeof head);
    head[0] = (unsigned char)kind;
    head[1] = (unsigned char)type;
    migbsp_store_u16(head + 2, (uint16_t)name_length);
    migbsp_store_u64(head + 8, length);
    migbsp_append(&migbsp_self.contributed, head, sizeof head);
    migbsp_append(&migbsp_self.contributed, name, name_length);
    migbsp_self.contributed_count++;
}

static void migbsp_check_name(const char *function, const char *name)
{
    if (strlen(name) > MIGBSP_NAME_MAX)
        bsp_fail("%s: a name has %d bytes at most: `%.80s`", function, MIGBSP_NAME_MAX, name);
}

void bsp_note(const char *name, double value)
{
    const char *at;
    migbsp_allow("bsp_note", MIGBSP_IN_SUPERSTEP);
    migbsp_check_name("bsp_note", name);
    for (at = name; *at != 0; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            bsp_fail("bsp_note: a name has no control characters");
    if (at == name)
        bsp_fail("bsp_note: the name is empty");
    migbsp_add_item(MIGBSP_NOTE, 0, name, sizeof value);
    migbsp_append(&migbsp_self.contributed, &value, sizeof value);
}

/* Checks the name of a snapshot, and adds its head. */
static void migbsp_add_snapshot(const char *function, int type, const char *name, uint64_t length)
{
    size_t name_length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_"), number;
    if (name_length == 0 || name_length > MIGBSP_NAME_MAX || name[name_length] != 0 || name[0] == '-' || name[0] == '_')
        bsp_fail("%s: a name has 1 to 64 small letters, digits, `-` and `_`, the first a letter or a digit: `%.80s`", function, name);
    if (migbsp_self.snapshot_count == MIGBSP_SNAPSHOTS_MAX)
        bsp_fail("%s: `%s` is one too many: a process may take %d in a superstep", function, name, MIGBSP_SNAPSHOTS_MAX);
    for (number = 0; number < migbsp_self.snapshot_count; number++) {
        const unsigned char *item = migbsp_self.contributed.at + migbsp_self.snapshots[number];
        if (migbsp_u16(item + 2) == name_length && memcmp(item + 16, name, name_length) == 0)
            bsp_fail("%s: `%s` has been taken in this superstep", function, name);
    }
    migbsp_self.snapshots[migbsp_self.snapshot_count++] = migbsp_self.contributed.length;
    migbsp_add_item(MIGBSP_SNAPSHOT, type, name, length);
}

void bsp_snapshot(const char *name, const void *bytes, size_t length)
{
    migbsp_allow("bsp_snapshot", MIGBSP_IN_SUPERSTEP);
    migbsp_add_snapshot("bsp_snapshot", 0, name, length);
    migbsp_append(&migbsp_self.contributed, bytes, length);
}

void bsp_snapshot_array(const char *name, const char *type, const void *values, int dimensions, const uint64_t *shape)
{
    unsigned char head[512];
    size_t length, bytes;
    migbsp_allow("bsp_snapshot_array", MIGBSP_IN_SUPERSTEP);
    length = migbsp_array_head("bsp_snapshot_array", head, type, dimensions, shape, &bytes);
    migbsp_add_snapshot("bsp_snapshot_array", 1, name, (uint64_t)length + bytes);
    migbsp_append(&migbsp_self.contributed, head, length);
    migbsp_append(&migbsp_self.contributed, values, bytes);
}

/* ---- Reductions ---- */

static const char *migbsp_operation_name(int kind, int type)
{
    static const char *const operations[] = {"nothing", "sum", "minimum", "maximum", "`and`", "`or`", "gathered values"};
    static const char *const types[] = {"doubles", "signed integers", "unsigned integers"};
    static char texts[2][64];
    static int number;
    char *text = texts[number = !number];
    if (1 <= kind && kind <= 3)
        snprintf(text, sizeof texts[0], "%s of %s", operations[kind], types[type]);
    else
        snprintf(text, sizeof texts[0], "%s", operations[kind]);
    return text;
}

static void migbsp_reduce(const char *function, const char *name, int operation, int type, const void *values, size_t count)
{
    migbsp_allow(function, MIGBSP_IN_SUPERSTEP);
    migbsp_check_name(function, name);
    if (operation < BSP_SUM || operation > BSP_MAX)
        bsp_fail("%s: the operation must be BSP_SUM, BSP_MIN or BSP_MAX", function);
    if (count > MIGBSP_STEP_MAX / 8)
        bsp_fail("%s: `%s` has too many numbers", function, name);
    migbsp_add_item(operation, type, name, 8 * (uint64_t)count);
    migbsp_append(&migbsp_self.contributed, values, 8 * count);
}

static int migbsp_has_name(const struct migbsp_item *item, const char *name, size_t length)
{
    return item->name_length == length && memcmp(item->name, name, length) == 0;
}

static const struct migbsp_item *migbsp_find_item(const char *name)
{
    size_t number, length = strlen(name);
    for (number = 0; number < migbsp_self.inbox.item_count; number++)
        if (migbsp_has_name(&migbsp_self.inbox.items[number], name, length))
            return &migbsp_self.inbox.items[number];
    return NULL;
}

static void migbsp_fail_without_result(const struct migbsp_item *item) MIGBSP_NO_RETURN;

static void migbsp_fail_without_result(const struct migbsp_item *item)
{
    bsp_fail("%.*s", (int)(item->length < 2000 ? item->length : 2000), (const char *)item->content);
}

static const struct migbsp_item *migbsp_result(const char *function, const char *name, int operation, int type)
{
    const struct migbsp_item *item;
    migbsp_allow(function, MIGBSP_IN_SUPERSTEP);
    if (operation < BSP_SUM || operation > BSP_OR)
        bsp_fail("%s: %d is no operation", function, operation);
    item = migbsp_find_item(name);
    if (item == NULL)
        bsp_fail("%s: no process reduced `%.80s` in the superstep before", function, name);
    if (item->kind == MIGBSP_NO_RESULT)
        migbsp_fail_without_result(item);
    if (item->kind != operation || item->type != type)
        bsp_fail("%s: `%.80s` was reduced as %s, not as %s", function, name, migbsp_operation_name(item->kind, item->type),
                 migbsp_operation_name(operation, type));
    return item;
}

static void migbsp_reduced(const char *function, const char *name, int operation, int type, void *values, size_t count)
{
    const struct migbsp_item *item = migbsp_result(function, name, operation, type);
    if (operation > BSP_MAX)
        bsp_fail("%s: the operation must be BSP_SUM, BSP_MIN or BSP_MAX", function);
    if (item->length / 8 != count)
        bsp_fail("%s: `%.80s` has %llu numbers, not %llu", function, name, (unsigned long long)item->length / 8, (unsigned long long)count);
    if (count > 0)
        memcpy(values, item->content, item->length);
}

void bsp_reduce_double(const char *name, enum bsp_operation operation, double value)
{
    migbsp_reduce("bsp_reduce_double", name, operation, MIGBSP_DOUBLE, &value, 1);
}

void bsp_reduce_int64(const char *name, enum bsp_operation operation, int64_t value)
{
    migbsp_reduce("bsp_reduce_int64", name, operation, MIGBSP_INT64, &value, 1);
}

void bsp_reduce_uint64(const char *name, enum bsp_operation operation, uint64_t value)
{
    migbsp_reduce("bsp_reduce_uint64", name, operation, MIGBSP_UINT64, &value, 1);
}

void bsp_reduce_doubles(const char *name, enum bsp_operation operation, const double *values, size_t count)
{
    migbsp_reduce("bsp_reduce_doubles", name, operation, MIGBSP_DOUBLE, values, count);
}

void bsp_reduce_int64s(const char *name, enum bsp_operation operation, const int64_t *values, size_t count)
{
    migbsp_reduce("bsp_reduce_int64s", name, operation, MIGBSP_INT64, values, count);
}

void bsp_reduce_uint64s(const char *name, enum bsp_operation operation, const uint64_t *values, size_t count)
{
    migbsp_reduce("bsp_reduce_uint64s", name, operation, MIGBSP_UINT64, values, count);
}

void bsp_reduce_bool(const char *name, enum bsp_operation operation, int value)
{
    unsigned char byte = value != 0;
    migbsp_allow("bsp_reduce_bool", MIGBSP_IN_SUPERSTEP);
    migbsp_check_name("bsp_reduce_bool", name);
    if (operation != BSP_AND && operation != BSP_OR)
        bsp_fail("bsp_reduce_bool: the operation must be BSP_AND or BSP_OR");
    migbsp_add_item(operation, 0, name, 1);
    migbsp_append(&migbsp_self.contributed, &byte, 1);
}

double bsp_reduced_double(const char *name, enum bsp_operation operation)
{
    double value = 0;
    migbsp_reduced("bsp_reduced_double", name, operation, MIGBSP_DOUBLE, &value, 1);
    return value;
}

int64_t bsp_reduced_int64(const char *name, enum bsp_operation operation)
{
    int64_t value = 0;
    migbsp_reduced("bsp_reduced_int64", name, operation, MIGBSP_INT64, &value, 1);
    return value;
}

uint64_t bsp_reduced_uint64(const char *name, enum bsp_operation operation)
{
    uint64_t value = 0;
    migbsp_reduced("bsp_reduced_uint64", name, operation, MIGBSP_UINT64, &value, 1);
    return value;
}

void bsp_reduced_doubles(const char *name, enum bsp_operation operation, double *values, size_t count)
{
    migbsp_reduced("bsp_reduced_doubles", name, operation, MIGBSP_DOUBLE, values, count);
}

void bsp_reduced_int64s(const char *name, enum bsp_operation operation, int64_t *values, size_t count)
{
    migbsp_reduced("bsp_reduced_int64s", name, operation, MIGBSP_INT64, values, count);
}

void bsp_reduced_uint64s(const char *name, enum bsp_operation operation, uint64_t *values, size_t count)
{
    migbsp_reduced("bsp_reduced_uint64s", name, operation, MIGBSP_UINT64, values, count);
}

int bsp_reduced_bool(const char *name, enum bsp_operation operation)
{
    return migbsp_result("bsp_reduced_bool", name, operation, 0)->content[0];
}

int bsp_is_reduced(const char *name)
{
    const struct migbsp_item *item;
    migbsp_allow("bsp_is_reduced", MIGBSP_IN_SUPERSTEP);
    item = migbsp_find_item(name);
    return item != NULL && item->kind != MIGBSP_NO_RESULT;
}

void bsp_gather(const char *name, const void *bytes, size_t length)
{
    migbsp_allow("bsp_gather", MIGBSP_IN_SUPERSTEP);
    migbsp_check_name("bsp_gather", name);
    migbsp_add_item(MIGBSP_GATHERED, 0, name, length);
    migbsp_append(&migbsp_self.contributed, bytes, length);
}

void *bsp_next_gathered(const char *name, int *from, size_t *length)
{
    size_t name_length = strlen(name), count, seen;
    migbsp_allow("bsp_next_gathered", MIGBSP_IN_SUPERSTEP);
    count = migbsp_self.inbox.item_count;
    /* The values of one name are side by side, so the next one is mostly where the last one ended. */
    for (seen = 0; seen < count; seen++) {
        size_t number = (migbsp_self.inbox.next_item + seen) % count;
        struct migbsp_item *item = &migbsp_self.inbox.items[number];
        if (item->was_taken || !migbsp_has_name(item, name, name_length))
            continue;
        if (item->kind == MIGBSP_NO_RESULT)
            migbsp_fail_without_result(item);
        if (item->kind != MIGBSP_GATHERED)
            bsp_fail("bsp_next_gathered: `%.80s` was reduced as %s, not gathered", name, migbsp_operation_name(item->kind, item->type));
        item->was_taken = 1;
        migbsp_self.inbox.next_item = number + 1;
        if (from != NULL)
            *from = (int)item->rank;
        if (length != NULL)
            *length = item->length;
        return item->content;
    }
    return NULL;
}

/* ---- Requests ---- */

/* Sends DONE. */
static void migbsp_reply_done(int halts, uint64_t nanoseconds, uint64_t state_length)
{
    unsigned char head[16 + 64];
    struct iovec parts[5];
    uint32_t flags = (halts ? MIGBSP_HALTS : 0) | (migbsp_self.is_message_pack ? MIGBSP_IS_MESSAGE_PACK : 0) | (migbsp_self.has_looked ? MIGBSP_HAS_LOOKED : 0);
    uint64_t output_length = migbsp_self.output.length, length;
    if (!halts && output_length > 0)
        bsp_fail("bsp_output: only in the superstep in which the process halts");
    migbsp_append_bytes(&migbsp_self.output, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", (size_t)(migbsp_padded(output_length) - output_length));
    length = 64 + (uint64_t)migbsp_self.sent_records.length + migbsp_self.contributed.length + migbsp_self.sent_contents.length + migbsp_self.output.length;
    if (length > MIGBSP_STEP_MAX)
        bsp_fail("what a superstep sends has less than 4 GiB together");
    migbsp_frame(head, MIGBSP_DONE, length);
    migbsp_store_u32(head + 16, flags);
    migbsp_store_u32(head + 20, migbsp_self.sent_count);
    migbsp_store_u32(head + 24, migbsp_self.contributed_count);
    migbsp_store_u32(head + 28, 0);
    migbsp_store_u64(head + 32, migbsp_self.charged);
    migbsp_store_u64(head + 40, nanoseconds);
    migbsp_store_u64(head + 48, state_length);
    migbsp_store_u64(head + 56, migbsp_self.remaining);
    memcpy(head + 64, &migbsp_self.progress, sizeof migbsp_self.progress);
    migbsp_store_u64(head + 72, output_length);
    migbsp_part(&parts[0], head, sizeof head);
    migbsp_part(&parts[1], migbsp_self.sent_records.at, migbsp_self.sent_records.length);
    migbsp_part(&parts[2], migbsp_self.contributed.at, migbsp_self.contributed.length);
    migbsp_part(&parts[3], migbsp_self.sent_contents.at, migbsp_self.sent_contents.length);
    migbsp_part(&parts[4], migbsp_self.output.at, migbsp_self.output.length);
    migbsp_self.is_answering = 0;
    migbsp_send_all(parts, 5);
}

static void migbsp_append_json(struct migbsp_bytes *json, const char *text)
{
    migbsp_append_bytes(json, "\"", 1);
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\')
            migbsp_append_bytes(json, "\\", 1);
        migbsp_append_bytes(json, (unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e ? "?" : text, 1);
    }
    migbsp_append_bytes(json, "\"", 1);
}

static void migbsp_welcome(int flags)
{
    const char *path = migbsp_self.argc > 0 ? migbsp_self.argv[0] : "", *name = strrchr(path, '/');
    struct migbsp_bytes *welcome = &migbsp_self.output;
    unsigned char head[16];
    char digest[65];
    size_t length;
    memset(head, 0, sizeof head);
    welcome->length = 0;
    migbsp_append_bytes(welcome, head, sizeof head);
    migbsp_append_bytes(welcome, "{\"name\":", 8);
    migbsp_append_json(welcome, name != NULL ? name + 1 : path);
    migbsp_append_bytes(welcome, ",\"language\":", 12);
    migbsp_append_json(welcome, MIGBSP_LANGUAGE);
    migbsp_digest(digest);
    migbsp_append_bytes(welcome, ",\"digest\":", 10);
    migbsp_append_json(welcome, digest);
#ifdef __clang__
    migbsp_append_bytes(welcome, ",\"packages\":{\"clang\":", 21);
#else
    migbsp_append_bytes(welcome, ",\"packages\":{\"gcc\":", 19);
#endif
    migbsp_append_json(welcome, __VERSION__);
    migbsp_append_bytes(welcome, "}}", 2);
    length = welcome->length;
    migbsp_append_bytes(welcome, head, (size_t)migbsp_padded(length) - length);
    migbsp_store_u16(welcome->at, MIGBSP_VERSION);
    migbsp_store_u16(welcome->at + 2, (uint16_t)flags);
    migbsp_store_u32(welcome->at + 4, migbsp_self.round_length);
    migbsp_store_u32(welcome->at + 8, migbsp_self.round_last);
    migbsp_store_u32(welcome->at + 12, (uint32_t)(length - 16));
    migbsp_reply(MIGBSP_WELCOME, welcome->at, welcome->length);
}

/* Reads HELLO. The reply is still to be sent. */
static void migbsp_read_hello(void)
{
    const unsigned char *body;
    uint32_t text;
    migbsp_receive_whole(32, 32 + MIGBSP_JSON_MAX);
    body = migbsp_self.inbox.body.at;
    if (MIGBSP_VERSION < migbsp_u16(body) || migbsp_u16(body + 2) < MIGBSP_VERSION)
        migbsp_protocol_fault("this program speaks version %u of the protocol, and the runtime versions %u to %u", MIGBSP_VERSION, (unsigned)migbsp_u16(body),
                              (unsigned)migbsp_u16(body + 2));
    migbsp_self.processes = migbsp_u32(body + 4);
    migbsp_self.seed = migbsp_u64(body + 8);
    migbsp_self.supersteps = migbsp_u64(body + 16);
    text = migbsp_u32(body + 28);
    if (migbsp_self.processes < 1 || migbsp_self.processes > INT_MAX)
        migbsp_protocol_fault("there are %lu processes", (unsigned long)migbsp_self.processes);
    if (32 + migbsp_padded(text) != migbsp_self.inbox.body.length)
        migbsp_protocol_fault("the length of the parameters contradicts that of HELLO");
    migbsp_read_parameters((const char *)body + 32, text);
    migbsp_extend_arguments();
    migbsp_self.has_greeted = 1;
}

/* Reads the head of the next request, and returns its kind. */
static int migbsp_next_request(void)
{
    unsigned char head[16];
    int kind, is_for_executor;
    migbsp_self.is_answering = 0;
    migbsp_receive(head, sizeof head);
    migbsp_self.is_answering = 1;
    kind = head[0];
    migbsp_self.handle = migbsp_u32(head + 4);
    migbsp_self.body_left = migbsp_u64(head + 8);
    if (head[1] != 0 || migbsp_u16(head + 2) != MIGBSP_MARK || kind < MIGBSP_HELLO || MIGBSP_BYE < kind)
        migbsp_protocol_fault("what arrived is no request");
    is_for_executor = kind == MIGBSP_HELLO || kind == MIGBSP_VERIFY || kind == MIGBSP_BYE;
    if (is_for_executor != (migbsp_self.handle == MIGBSP_EXECUTOR_HANDLE))
        migbsp_protocol_fault("a request has a handle that it cannot have");
    if ((kind == MIGBSP_SAVE || kind == MIGBSP_DROP || kind == MIGBSP_BYE) && migbsp_self.body_left != 0)
        migbsp_protocol_fault("a request has a body, and should not");
    if (kind != MIGBSP_BYE && (kind == MIGBSP_HELLO) == migbsp_self.has_greeted)
        migbsp_protocol_fault("HELLO is the first request, and no other");
    return kind;
}

/* Takes the channel from descriptor 0, so that what the program prints or reads cannot damage it. */
static void migbsp_open_channel(int argc, char **argv)
{
    int nowhere;
    migbsp_self.argc = argc;
    migbsp_self.argv = argv;
    if (getenv("MIGBSP_EXECUTOR") == NULL) {
        fprintf(stderr, "%s is executed by migbsp: name it as `command` in [application.external] of an experiment\n", argc > 0 ? argv[0] : "this program");
        exit(2);
    }
    migbsp_self.channel = fcntl(0, F_DUPFD_CLOEXEC, 3);
    nowhere = open("/dev/null", O_RDONLY);
    if (migbsp_self.channel < 0 || nowhere < 0 || dup2(nowhere, 0) < 0 || dup2(2, 1) < 0) {
        fprintf(stderr, "the channel cannot be opened: %s\n", strerror(errno));
        exit(2);
    }
    if (nowhere > 2)
        close(nowhere);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    migbsp_self.round_length = 1;
}

/* Reads the rank with which START and LOAD begin. */
static void migbsp_read_rank(void)
{
    unsigned char head[16];
    migbsp_receive_body(head, sizeof head);
    migbsp_self.rank = migbsp_u32(head);
    if (migbsp_self.rank >= migbsp_self.processes)
        migbsp_protocol_fault("there is no process %lu", (unsigned long)migbsp_self.rank);
}

static void migbsp_reply_ready(uint64_t state_length)
{
    unsigned char ready[16];
    migbsp_store_u64(ready, state_length);
    migbsp_store_u64(ready + 8, migbsp_self.remaining);
    migbsp_reply(MIGBSP_READY, ready, sizeof ready);
}

#ifndef MIGBSP_BLOCKING

static int migbsp_can_save(void)
{
    return bsp_save != NULL && bsp_load != NULL;
}

void bsp_send(int to, const void *bytes, size_t length)
{
    migbsp_allow("bsp_send", MIGBSP_IN_SUPERSTEP);
    migbsp_check_receiver("bsp_send", to);
    migbsp_add_message((uint32_t)to, bytes, length);
}

void bsp_broadcast(const void *bytes, size_t length)
{
    migbsp_allow("bsp_broadcast", MIGBSP_IN_SUPERSTEP);
    if (migbsp_self.processes > 1)
        migbsp_add_message(MIGBSP_ALL_OTHERS, bytes, length);
}

void bsp_send_sized(int to, uint64_t length)
{
    migbsp_allow("bsp_send_sized", MIGBSP_IN_SUPERSTEP);
    migbsp_check_receiver("bsp_send_sized", to);
    migbsp_add_record((uint32_t)to, 1, length);
}

void *bsp_next(int *from, size_t *length)
{
    migbsp_allow("bsp_next", MIGBSP_IN_SUPERSTEP | MIGBSP_IN_VERIFY);
    if (migbsp_self.call == MIGBSP_IN_VERIFY) {
        uint32_t rank = migbsp_self.inbox.next_record;
        uint64_t bytes;
        void *output;
        if (rank == migbsp_self.processes)
            return NULL;
        bytes = migbsp_u64(migbsp_self.inbox.body.at + 16 + 8 * (size_t)rank);
        output = migbsp_self.inbox.body.at + migbsp_self.inbox.next_content;
        migbsp_self.inbox.next_record++;
        migbsp_self.inbox.next_content += (size_t)migbsp_padded(bytes);
        if (from != NULL)
            *from = (int)rank;
        if (length != NULL)
            *length = (size_t)bytes;
        return output;
    }
    return migbsp_next_message(from, length);
}

int bsp_next_sized(int *from, uint64_t *length)
{
    migbsp_allow("bsp_next_sized", MIGBSP_IN_SUPERSTEP);
    while (migbsp_self.inbox.next_sized_record < migbsp_self.inbox.record_count) {
        const unsigned char *record = migbsp_self.inbox.records + 16 * (size_t)migbsp_self.inbox.next_sized_record++;
        if (migbsp_u32(record + 4) == 1) {
            if (from != NULL)
                *from = (int)migbsp_u32(record);
            if (length != NULL)
                *length = migbsp_u64(record + 8);
            return 1;
        }
    }
    return 0;
}

void bsp_round(uint32_t length, uint32_t last)
{
    migbsp_allow("bsp_round", MIGBSP_IN_SETUP);
    if (length == 0 || last >= length)
        bsp_fail("bsp_round: the last superstep of a round is 0 to its length less 1");
    migbsp_self.round_length = length;
    migbsp_self.round_last = last;
}

void bsp_verdict(const char *format, ...)
{
    va_list arguments;
    migbsp_allow("bsp_verdict", MIGBSP_IN_VERIFY);
    va_start(arguments, format);
    if (vsnprintf(migbsp_self.text, sizeof migbsp_self.text, format, arguments) < 0)
        migbsp_self.text[0] = 0;
    va_end(arguments);
}

static void migbsp_greet(void)
{
}

static void migbsp_hello(void)
{
    migbsp_read_hello();
    if ((bsp_save != NULL) != (bsp_load != NULL))
        bsp_fail("the program has one of bsp_save and bsp_load: both are needed");
    if (bsp_setup != NULL) {
        migbsp_self.call = MIGBSP_IN_SETUP;
        bsp_setup();
        migbsp_self.call = MIGBSP_IN_NONE;
    }
    migbsp_welcome((migbsp_can_save() ? MIGBSP_CAN_SAVE : 0) | MIGBSP_HOLDS_MANY | (bsp_verify != NULL ? MIGBSP_VERIFIES : 0));
}

/* Where the process with the handle of the request is, or would be. */
static size_t migbsp_place(void)
{
    size_t from = 0, to = migbsp_self.held_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (migbsp_self.held[middle].handle < migbsp_self.handle)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct migbsp_process *migbsp_held(void)
{
    size_t place = migbsp_place();
    if (place == migbsp_self.held_count || migbsp_self.held[place].handle != migbsp_self.handle)
        migbsp_protocol_fault("there is no process with the handle %lu", (unsigned long)migbsp_self.handle);
    return &migbsp_self.held[place];
}

static void migbsp_hold(void *state)
{
    size_t place = migbsp_place(), count = migbsp_self.held_count;
    struct migbsp_process *held = migbsp_self.held;
    if (count == migbsp_self.held_capacity) {
        held = (struct migbsp_process *)realloc(held, (2 * count + 1) * sizeof *held);
        if (held == NULL)
            bsp_fail("there is no memory for another process");
        migbsp_self.held = held;
        migbsp_self.held_capacity = 2 * count + 1;
    }
    memmove(held + place + 1, held + place, (count - place) * sizeof *held);
    held[place].handle = migbsp_self.handle;
    held[place].rank = migbsp_self.rank;
    held[place].state = state;
    held[place].has_halted = 0;
    migbsp_self.held_count++;
}

/* The length of the state; 0 if the program cannot save it. */
static uint64_t migbsp_count_state(void *state)
{
    if (!migbsp_can_save())
        return 0;
    migbsp_self.call = MIGBSP_IN_SAVE;
    migbsp_self.is_counting = 1;
    migbsp_self.state_length = 0;
    bsp_save(state);
    migbsp_self.call = MIGBSP_IN_NONE;
    return migbsp_self.state_length;
}

static void migbsp_make(int call)
{
    size_t place = migbsp_place();
    void *state;
    if (place < migbsp_self.held_count && migbsp_self.held[place].handle == migbsp_self.handle)
        migbsp_protocol_fault("there is a process with the handle %lu already", (unsigned long)migbsp_self.handle);
    if (call == MIGBSP_IN_CREATE && migbsp_self.body_left != 16)
        migbsp_protocol_fault("START has 16 bytes");
    if (call == MIGBSP_IN_LOAD && !migbsp_can_save())
        migbsp_protocol_fault("this program cannot load states: it has no bsp_load");
    if (migbsp_self.body_left > 16 + MIGBSP_STATE_MAX)
        migbsp_protocol_fault("a state has 16 GiB at most");
    migbsp_read_rank();
    migbsp_self.remaining = MIGBSP_UNKNOWN;
    migbsp_self.state_length = migbsp_self.body_left;
    migbsp_self.call = call;
    state = call == MIGBSP_IN_CREATE ? bsp_create(migbsp_self.argc, migbsp_arguments()) : bsp_load(migbsp_self.argc, migbsp_arguments());
    migbsp_self.call = MIGBSP_IN_NONE;
    if (state == NULL)
        bsp_fail("%s returned NULL", call == MIGBSP_IN_CREATE ? "bsp_create" : "bsp_load");
    if (migbsp_self.body_left > 0)
        bsp_fail("bsp_load left %llu of %llu bytes of the state unread", (unsigned long long)migbsp_self.body_left, (unsigned long long)migbsp_self.state_length);
    migbsp_hold(state);
    migbsp_reply_ready(migbsp_count_state(state));
}

static void migbsp_step(void)
{
    struct migbsp_process *process = migbsp_held();
    uint64_t time;
    int halts;
    if (process->has_halted)
        migbsp_protocol_fault("process %lu has halted", (unsigned long)process->rank);
    migbsp_read_step();
    migbsp_begin_superstep();
    migbsp_self.rank = process->rank;
    time = migbsp_processor_time();
    migbsp_self.call = MIGBSP_IN_SUPERSTEP;
    halts = bsp_superstep(process->state);
    migbsp_self.call = MIGBSP_IN_NONE;
    time = migbsp_processor_time() - time;
    if (halts != 0 && halts != 1)
        bsp_fail("bsp_superstep returned %d: must be 0, to go on, or 1, to halt", halts);
    process->has_halted = halts;
    migbsp_reply_done(halts, time, migbsp_count_state(process->state));
}

static void migbsp_save(void)
{
    struct migbsp_process *process = migbsp_held();
    unsigned char head[16];
    uint64_t length;
    if (!migbsp_can_save())
        migbsp_protocol_fault("this program cannot save states: it has no bsp_save");
    migbsp_self.rank = process->rank;
    length = migbsp_count_state(process->state);
    if (length > MIGBSP_STATE_MAX)
        bsp_fail("a state has 16 GiB at most");
    migbsp_frame(head, MIGBSP_SAVED, length);
    memcpy(migbsp_pending.bytes, head, sizeof head);
    migbsp_self.pending = sizeof head;
    migbsp_self.state_left = length;
    migbsp_self.is_counting = 0;
    /* From here on, a failure cannot be a frame. */
    migbsp_self.is_answering = 0;
    migbsp_self.call = MIGBSP_IN_SAVE;
    bsp_save(process->state);
    migbsp_self.call = MIGBSP_IN_NONE;
    if (migbsp_self.state_left > 0)
        bsp_fail("bsp_save wrote %llu bytes less than when they were counted", (unsigned long long)migbsp_self.state_left);
    migbsp_flush_state(NULL, 0);
}

static void migbsp_drop(void)
{
    struct migbsp_process *process = migbsp_held();
    size_t place = (size_t)(process - migbsp_self.held);
    migbsp_self.rank = process->rank;
    migbsp_self.call = MIGBSP_IN_DESTROY;
    bsp_destroy(process->state);
    migbsp_self.call = MIGBSP_IN_NONE;
    memmove(process, process + 1, (migbsp_self.held_count - place - 1) * sizeof *process);
    migbsp_self.held_count--;
    migbsp_reply(MIGBSP_OK, NULL, 0);
}

static void migbsp_verify(void)
{
    struct migbsp_bytes *verdict = &migbsp_self.output;
    unsigned char head[16];
    size_t offset = 16, number, length;
    const unsigned char *lengths;
    migbsp_receive_whole(16, MIGBSP_STATE_MAX);
    if (migbsp_u64(migbsp_self.inbox.body.at) != migbsp_self.processes)
        migbsp_protocol_fault("VERIFY has not an output for each process");
    lengths = migbsp_self.inbox.body.at + migbsp_skip_part(&offset, 8 * (uint64_t)migbsp_self.processes);
    migbsp_self.inbox.next_content = offset;
    for (number = 0; number < migbsp_self.processes; number++)
        migbsp_skip_part(&offset, migbsp_u64(lengths + 8 * number));
    if (offset != migbsp_self.inbox.body.length)
        migbsp_protocol_fault("the lengths in a request contradict its length");
    memset(head, 0, sizeof head);
    migbsp_self.inbox.next_record = 0;
    migbsp_self.text[0] = 0;
    if (bsp_verify != NULL) {
        int is_right;
        migbsp_self.call = MIGBSP_IN_VERIFY;
        is_right = bsp_verify();
        migbsp_self.call = MIGBSP_IN_NONE;
        head[0] = is_right ? 1 : 3;
    }
    length = strlen(migbsp_self.text);
    migbsp_store_u32(head + 4, (uint32_t)length);
    verdict->length = 0;
    migbsp_append(verdict, head, sizeof head);
    migbsp_append(verdict, migbsp_self.text, length);
    migbsp_reply(MIGBSP_VERDICT, verdict->at, verdict->length);
}

static void migbsp_answer(int kind)
{
    switch (kind) {
    case MIGBSP_HELLO:
        migbsp_hello();
        break;
    case MIGBSP_START:
        migbsp_make(MIGBSP_IN_CREATE);
        break;
    case MIGBSP_STEP:
        migbsp_step();
        break;
    case MIGBSP_SAVE:
        migbsp_save();
        break;
    case MIGBSP_LOAD:
        migbsp_make(MIGBSP_IN_LOAD);
        break;
    case MIGBSP_DROP:
        migbsp_drop();
        break;
    case MIGBSP_VERIFY:
        migbsp_verify();
        break;
    default:
        migbsp_end(EXIT_SUCCESS);
    }
}

#ifdef __cplusplus
}
#endif

int main(int argc, char **argv)
{
    migbsp_open_channel(argc, argv);
    for (;;) {
        int kind = migbsp_next_request();
#ifdef MIGBSP_EXCEPTIONS
        try {
            migbsp_answer(kind);
        } catch (const std::exception &error) {
            bsp_fail("an exception was not caught: %s", error.what());
        } catch (...) {
            bsp_fail("an exception was not caught");
        }
#else
        migbsp_answer(kind);
#endif
    }
}

#else
/* ---- BSPlib on messages ---- */

/* What one process wants of another travels as one message of parts: a head of 32 bytes (u32 kind, u32 number, u64 offset, u64 length, u64 length of
   the tag), the tag and the bytes, each padded to 16. Where a process gets, all learn it by a reduction, and a superstep with the answers follows. */
enum { MIGBSP_LIB_SEND = 1, MIGBSP_LIB_PUT = 2, MIGBSP_LIB_GET = 3, MIGBSP_LIB_ANSWER = 4 };

static const char *const migbsp_lib_gets = "bsp_get";

/* Memory that processes may put to and get from. Its number is the same in all processes. */
struct migbsp_area {
    const void *at;
    uint32_t number;
    int length;
    int is_registered, is_popped;
};

struct migbsp_wanted {
    void *target;
    int from, length;
};

struct migbsp_queued {
    const unsigned char *tag;
    unsigned char *bytes;
    int length;
};

struct migbsp_lib_part {
    uint32_t kind, number;
    uint64_t offset, length, tag_length;
    const unsigned char *tag;
    unsigned char *bytes;
    int from;
};

static struct {
    int has_started, has_begun, was_dropped, tag_length, next_tag_length, received_tag_length;
    uint64_t time;
    struct timespec begin;
    struct migbsp_bytes *sent;
    struct migbsp_area *areas;
    size_t area_count, area_capacity;
    uint32_t area_number;
    struct migbsp_wanted *wanted;
    size_t wanted_count, wanted_capacity;
    struct migbsp_queued *queue;
    size_t queue_begin, queue_end, queue_capacity;
    struct migbsp_inbox held;
} migbsp_lib;

/* Makes room for one more element. */
static void *migbsp_lib_room(void *elements, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return elements;
    *capacity = 2 * count + 16;
    elements = realloc(elements, *capacity * size);
    if (elements == NULL)
        bsp_fail("there is no memory for %llu times %llu bytes", (unsigned long long)*capacity, (unsigned long long)size);
    return elements;
}

/* Says HELLO, which programs need before bsp_begin for bsp_nprocs and parameters. */
static void migbsp_greet(void)
{
    if (migbsp_self.has_greeted)
        return;
    migbsp_open_channel(migbsp_self.argc, migbsp_self.argv);
    if (migbsp_next_request() != MIGBSP_HELLO)
        migbsp_end(EXIT_SUCCESS);
    migbsp_read_hello();
    migbsp_welcome(0);
}

/* Answers requests until the next superstep: 1, or 0 if there is none. */
static int migbsp_lib_next_step(void)
{
    for (;;) {
        int kind = migbsp_next_request();
        if (kind == MIGBSP_BYE)
            return 0;
        if (kind == MIGBSP_START && !migbsp_lib.has_started) {
            if (migbsp_self.body_left != 16)
                migbsp_protocol_fault("START has 16 bytes");
            migbsp_read_rank();
            migbsp_self.held_handle = migbsp_self.handle;
            migbsp_lib.has_started = 1;
            migbsp_self.remaining = MIGBSP_UNKNOWN;
            migbsp_reply_ready(0);
            continue;
        }
        if ((kind != MIGBSP_STEP && kind != MIGBSP_DROP) || !migbsp_lib.has_started || migbsp_lib.was_dropped || migbsp_self.handle != migbsp_self.held_handle)
            migbsp_protocol_fault("an executor with bsp_sync holds one process, once, and cannot save, load or verify");
        if (kind == MIGBSP_DROP) {
            migbsp_lib.was_dropped = 1;
            migbsp_reply(MIGBSP_OK, NULL, 0);
            continue;
        }
        migbsp_read_step();
        migbsp_begin_superstep();
        migbsp_lib.time = migbsp_processor_time();
        return 1;
    }
}

void bsp_init(void (*program)(void), int argc, char **argv)
{
    (void)program;
    if (!migbsp_self.has_greeted) {
        migbsp_self.argc = argc;
        migbsp_self.argv = argv;
    }
}

void bsp_begin(int processes_max)
{
    migbsp_greet();
    if (migbsp_lib.has_begun)
        bsp_fail("bsp_begin: only once");
    if (!migbsp_lib_next_step())
        migbsp_end(EXIT_SUCCESS);
    if (migbsp_self.processes > (uint32_t)(processes_max < 0 ? 0 : processes_max))
        bsp_refuse("the program has %d processes at most, not %lu", processes_max, (unsigned long)migbsp_self.processes);
    migbsp_lib.has_begun = 1;
    migbsp_self.call = MIGBSP_IN_SUPERSTEP;
    migbsp_lib.sent = (struct migbsp_bytes *)bsp_allocate(migbsp_self.processes, sizeof *migbsp_lib.sent);
    clock_gettime(CLOCK_MONOTONIC, &migbsp_lib.begin);
}

/* Sends DONE. */
static void migbsp_lib_reply(int halts)
{
    uint32_t to;
    for (to = 0; to < migbsp_self.processes; to++) {
        struct migbsp_bytes *sent = &migbsp_lib.sent[to];
        if (sent->length > 0)
            migbsp_add_message(to, sent->at, sent->length);
        sent->length = 0;
    }
    migbsp_reply_done(halts, migbsp_processor_time() - migbsp_lib.time, 0);
}

void bsp_end(void)
{
    migbsp_allow("bsp_end", MIGBSP_IN_SUPERSTEP);
    migbsp_lib_reply(1);
    migbsp_self.call = MIGBSP_IN_NONE;
    if (migbsp_lib_next_step())
        migbsp_protocol_fault("the process has halted");
}

double bsp_time(void)
{
    struct timespec now;
    migbsp_allow("bsp_time", MIGBSP_IN_SUPERSTEP);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - migbsp_lib.begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - migbsp_lib.begin.tv_nsec);
}

/* Adds a part to what goes to a process. */
static void migbsp_lib_add(int to, uint32_t kind, uint32_t number, uint64_t offset, const void *tag, size_t tag_length, const void *bytes, uint64_t length)
{
    struct migbsp_bytes *sent = &migbsp_lib.sent[to];
    unsigned char head[32];
    migbsp_store_u32(head, kind);
    migbsp_store_u32(head + 4, number);
    migbsp_store_u64(head + 8, offset);
    migbsp_store_u64(head + 16, length);
    migbsp_store_u64(head + 24, tag_length);
    migbsp_append(sent, head, sizeof head);
    migbsp_append(sent, tag, tag_length);
    if (kind != MIGBSP_LIB_GET)
        migbsp_append(sent, bytes, (size_t)length);
}

static void migbsp_lib_fault(int from) MIGBSP_NO_RETURN;

static void migbsp_lib_fault(int from)
{
    bsp_fail("a message of process %d is none that bsp_sync sends", from);
}

/* The next part of a message; 0 at its end. */
static int migbsp_lib_next_part(unsigned char **at, size_t *left, struct migbsp_lib_part *part)
{
    uint64_t length;
    if (*left == 0)
        return 0;
    if (*left < 32)
        migbsp_lib_fault(part->from);
    part->kind = migbsp_u32(*at);
    part->number = migbsp_u32(*at + 4);
    part->offset = migbsp_u64(*at + 8);
    part->length = migbsp_u64(*at + 16);
    part->tag_length = migbsp_u64(*at + 24);
    length = part->kind == MIGBSP_LIB_GET ? 0 : part->length;
    *left -= 32;
    if (part->kind < MIGBSP_LIB_SEND || MIGBSP_LIB_ANSWER < part->kind || part->tag_length > *left || length > *left || part->length > INT_MAX)
        migbsp_lib_fault(part->from);
    part->tag = *at + 32;
    part->bytes = *at + 32 + migbsp_padded(part->tag_length);
    length = migbsp_padded(part->tag_length) + migbsp_padded(length);
    if (length > *left)
        migbsp_lib_fault(part->from);
    *left -= (size_t)length;
    *at += 32 + length;
    return 1;
}

/* The bytes of a registered area that a process asks for or puts to. */
static unsigned char *migbsp_lib_area(const struct migbsp_lib_part *part)
{
    size_t number;
    for (number = 0; number < migbsp_lib.area_count; number++) {
        const struct migbsp_area *area = &migbsp_lib.areas[number];
        if (!area->is_registered || area->number != part->number)
            continue;
        if (part->offset > (uint64_t)area->length || part->length > (uint64_t)area->length - part->offset)
            bsp_fail("process %d %s %llu bytes at %llu of an area that has %d bytes", part->from, part->kind == MIGBSP_LIB_PUT ? "puts" : "gets",
                     (unsigned long long)part->length, (unsigned long long)part->offset, area->length);
        return part->length > 0 ? (unsigned char *)(uintptr_t)area->at + part->offset : NULL;
    }
    migbsp_lib_fault(part->from);
}

/* Calls a function for all parts of all messages. */
static void migbsp_lib_for_parts(void (*take)(const struct migbsp_lib_part *part))
{
    struct migbsp_lib_part part;
    unsigned char *at;
    size_t left;
    while ((at = (unsigned char *)migbsp_next_message(&part.from, &left)) != NULL)
        while (migbsp_lib_next_part(&at, &left, &part))
            take(&part);
}

static void migbsp_lib_answer(const struct migbsp_lib_part *part)
{
    if (part->kind != MIGBSP_LIB_GET)
        return;
    /* The tag is the number of the request. */
    if (part->tag_length != 8)
        migbsp_lib_fault(part->from);
    migbsp_lib_add(part->from, MIGBSP_LIB_ANSWER, (uint32_t)migbsp_u64(part->tag), 0, NULL, 0, migbsp_lib_area(part), part->length);
}

static void migbsp_lib_take_answer(const struct migbsp_lib_part *part)
{
    const struct migbsp_wanted *wanted;
    if (part->kind != MIGBSP_LIB_ANSWER || part->number >= migbsp_lib.wanted_count)
        migbsp_lib_fault(part->from);
    wanted = &migbsp_lib.wanted[part->number];
    if (wanted->from != part->from || (uint64_t)wanted->length != part->length)
        migbsp_lib_fault(part->from);
    if (part->length > 0)
        memcpy(wanted->target, part->bytes, (size_t)part->length);
}

static void migbsp_lib_take(const struct migbsp_lib_part *part)
{
    struct migbsp_queued *queued;
    if (part->kind == MIGBSP_LIB_PUT && part->length > 0)
        memcpy(migbsp_lib_area(part), part->bytes, (size_t)part->length);
    if (part->kind == MIGBSP_LIB_ANSWER)
        migbsp_lib_fault(part->from);
    if (part->kind != MIGBSP_LIB_SEND)
        return;
    if (part->tag_length != (uint64_t)migbsp_lib.tag_length)
        bsp_fail("a tag of process %d has %llu bytes, and those of this process have %d", part->from, (unsigned long long)part->tag_length, migbsp_lib.tag_length);
    migbsp_lib.queue =
        (struct migbsp_queued *)migbsp_lib_room(migbsp_lib.queue, migbsp_lib.queue_end, &migbsp_lib.queue_capacity, sizeof *migbsp_lib.queue);
    queued = &migbsp_lib.queue[migbsp_lib.queue_end++];
    queued->tag = part->tag;
    queued->bytes = part->bytes;
    queued->length = (int)part->length;
}

static void migbsp_lib_swap_inboxes(void)
{
    struct migbsp_inbox inbox = migbsp_self.inbox;
    migbsp_self.inbox = migbsp_lib.held;
    migbsp_lib.held = inbox;
}

/* Forgets what was popped, and registers what was pushed. */
static void migbsp_lib_register(void)
{
    size_t number, count = 0;
    for (number = 0; number < migbsp_lib.area_count; number++) {
        struct migbsp_area area = migbsp_lib.areas[number];
        area.is_registered = 1;
        if (!area.is_popped)
            migbsp_lib.areas[count++] = area;
    }
    migbsp_lib.area_count = count;
}

static void migbsp_lib_continue(void)
{
    migbsp_lib_reply(0);
    if (!migbsp_lib_next_step())
        migbsp_end(EXIT_SUCCESS);
}

void bsp_sync(void)
{
    const struct migbsp_item *gets;
    uint32_t first;
    size_t content;
    migbsp_allow("bsp_sync", MIGBSP_IN_SUPERSTEP);
    if (migbsp_lib.wanted_count > 0)
        bsp_reduce_bool(migbsp_lib_gets, BSP_OR, 1);
    migbsp_lib_continue();
    gets = migbsp_find_item(migbsp_lib_gets);
    first = migbsp_self.inbox.next_record;
    content = migbsp_self.inbox.next_content;
    if (gets != NULL && gets->kind == BSP_OR) {
        migbsp_lib_for_parts(migbsp_lib_answer);
        migbsp_lib_swap_inboxes();
        migbsp_lib_continue();
        migbsp_lib_for_parts(migbsp_lib_take_answer);
        migbsp_lib_swap_inboxes();
        migbsp_self.inbox.next_record = first;
        migbsp_self.inbox.next_content = content;
    }
    migbsp_lib.wanted_count = 0;
    migbsp_lib.queue_begin = migbsp_lib.queue_end = 0;
    migbsp_lib_for_parts(migbsp_lib_take);
    migbsp_lib_register();
    migbsp_lib.received_tag_length = migbsp_lib.tag_length;
    migbsp_lib.tag_length = migbsp_lib.next_tag_length;
}

void bsp_push_reg(const void *area, int length)
{
    struct migbsp_area *pushed;
    migbsp_allow("bsp_push_reg", MIGBSP_IN_SUPERSTEP);
    if (length < 0 || (area == NULL && length > 0))
        bsp_fail("bsp_push_reg: the length is %d", length);
    migbsp_lib.areas = (struct migbsp_area *)migbsp_lib_room(migbsp_lib.areas, migbsp_lib.area_count, &migbsp_lib.area_capacity, sizeof *migbsp_lib.areas);
    pushed = &migbsp_lib.areas[migbsp_lib.area_count++];
    pushed->at = area;
    pushed->number = migbsp_lib.area_number++;
    pushed->length = length;
    pushed->is_registered = pushed->is_popped = 0;
}

/* The latest registration of this memory. */
static struct migbsp_area *migbsp_lib_find_area(const char *function, const void *at, int is_pop)
{
    size_t number;
    for (number = migbsp_lib.area_count; number-- > 0;) {
        struct migbsp_area *area = &migbsp_lib.areas[number];
        if (area->at == at && area->is_registered && !(is_pop && area->is_popped))
            return area;
    }
    bsp_fail("%s: the memory is not registered", function);
}

void bsp_pop_reg(const void *area)
{
    migbsp_allow("bsp_pop_reg", MIGBSP_IN_SUPERSTEP);
    migbsp_lib_find_area("bsp_pop_reg", area, 1)->is_popped = 1;
}

static void migbsp_lib_check(const char *function, int process, int offset, int length)
{
    migbsp_allow(function, MIGBSP_IN_SUPERSTEP);
    migbsp_check_receiver(function, process);
    if (offset < 0 || length < 0)
        bsp_fail("%s: the offset is %d, and the length %d", function, offset, length);
}

void bsp_put(int to, const void *source, void *area, int offset, int length)
{
    migbsp_lib_check("bsp_put", to, offset, length);
    migbsp_lib_add(to, MIGBSP_LIB_PUT, migbsp_lib_find_area("bsp_put", area, 0)->number, (uint64_t)offset, NULL, 0, source, (uint64_t)length);
}

void bsp_hpput(int to, const void *source, void *area, int offset, int length)
{
    bsp_put(to, source, area, offset, length);
}

void bsp_get(int from, const void *area, int offset, void *target, int length)
{
    struct migbsp_wanted *wanted;
    uint64_t request = migbsp_lib.wanted_count;
    migbsp_lib_check("bsp_get", from, offset, length);
    migbsp_lib_add(from, MIGBSP_LIB_GET, migbsp_lib_find_area("bsp_get", area, 0)->number, (uint64_t)offset, &request, sizeof request, NULL, (uint64_t)length);
    migbsp_lib.wanted =
        (struct migbsp_wanted *)migbsp_lib_room(migbsp_lib.wanted, migbsp_lib.wanted_count, &migbsp_lib.wanted_capacity, sizeof *migbsp_lib.wanted);
    wanted = &migbsp_lib.wanted[migbsp_lib.wanted_count++];
    wanted->target = target;
    wanted->from = from;
    wanted->length = length;
}

void bsp_hpget(int from, const void *area, int offset, void *target, int length)
{
    bsp_get(from, area, offset, target, length);
}

void bsp_set_tagsize(int *length)
{
    int before = migbsp_lib.next_tag_length;
    migbsp_allow("bsp_set_tagsize", MIGBSP_IN_SUPERSTEP);
    if (*length < 0)
        bsp_fail("bsp_set_tagsize: the length is %d", *length);
    migbsp_lib.next_tag_length = *length;
    *length = before;
}

void bsp_send(int to, const void *tag, const void *bytes, int length)
{
    migbsp_lib_check("bsp_send", to, 0, length);
    migbsp_lib_add(to, MIGBSP_LIB_SEND, 0, 0, tag, (size_t)migbsp_lib.tag_length, bytes, (uint64_t)length);
}

void bsp_qsize(int *messages, int *bytes)
{
    size_t number;
    long long sum = 0;
    migbsp_allow("bsp_qsize", MIGBSP_IN_SUPERSTEP);
    for (number = migbsp_lib.queue_begin; number < migbsp_lib.queue_end; number++)
        sum += migbsp_lib.queue[number].length;
    *messages = (int)(migbsp_lib.queue_end - migbsp_lib.queue_begin);
    if (bytes != NULL)
        *bytes = sum < INT_MAX ? (int)sum : INT_MAX;
}

void bsp_get_tag(int *length, void *tag)
{
    const struct migbsp_queued *queued = &migbsp_lib.queue[migbsp_lib.queue_begin];
    migbsp_allow("bsp_get_tag", MIGBSP_IN_SUPERSTEP);
    *length = -1;
    if (migbsp_lib.queue_begin == migbsp_lib.queue_end)
        return;
    *length = queued->length;
    if (migbsp_lib.received_tag_length > 0)
        memcpy(tag, queued->tag, (size_t)migbsp_lib.received_tag_length);
}

void bsp_move(void *bytes, int length_max)
{
    const struct migbsp_queued *queued = &migbsp_lib.queue[migbsp_lib.queue_begin];
    migbsp_allow("bsp_move", MIGBSP_IN_SUPERSTEP);
    if (migbsp_lib.queue_begin == migbsp_lib.queue_end)
        bsp_fail("bsp_move: there is no message");
    migbsp_lib.queue_begin++;
    if (length_max > queued->length)
        length_max = queued->length;
    if (length_max > 0)
        memcpy(bytes, queued->bytes, (size_t)length_max);
}

int bsp_hpmove(void **tag, void **bytes)
{
    const struct migbsp_queued *queued = &migbsp_lib.queue[migbsp_lib.queue_begin];
    migbsp_allow("bsp_hpmove", MIGBSP_IN_SUPERSTEP);
    if (migbsp_lib.queue_begin == migbsp_lib.queue_end)
        return -1;
    migbsp_lib.queue_begin++;
    *tag = (void *)(uintptr_t)queued->tag;
    *bytes = queued->bytes;
    return queued->length;
}

void bsp_abort(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    migbsp_fault(MIGBSP_PROGRAM_FAULT, format, arguments);
}

#ifdef __cplusplus
}
#endif

#endif

#endif
