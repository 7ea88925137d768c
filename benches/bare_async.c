/* The least that one asynchronous I/O at a time can take: the system calls of io_uring or of Linux AIO in a loop, two
 * readings of the clock and a histogram. Random reads of the file's first GiB. Prints JSON: I/Os and the median of the
 * times from before the submission to after the answer.
 *
 *   bare_async -e uring|aio [-t seconds] [-s bytes] FILE
 *
 * The ring is set up as Brunt's: one issuer, deferred work, registered file, buffer and ring; one io_uring_enter per I/O. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 1 << 20 };
static uint32_t buckets[BUCKETS];
static size_t bytes = 8192;
static void *buffer;
static int fd;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Marsaglia's xorshift. */
static uint64_t draw(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void give_up(const char *what) {
    perror(what);
    exit(1);
}

static aio_context_t context;

static void aio_open(void) {
    if (syscall(SYS_io_setup, 1, &context)) give_up("io_setup");
}

static int64_t aio_read(off_t at) {
    struct iocb cb = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (uint32_t)fd, .aio_buf = (uintptr_t)buffer,
                      .aio_nbytes = bytes, .aio_offset = at};
    struct iocb *list[] = {&cb};
    struct io_event event;
    if (syscall(SYS_io_submit, context, 1, list) != 1) give_up("io_submit");
    if (syscall(SYS_io_getevents, context, 1, 1, &event, NULL) != 1) give_up("io_getevents");
    return event.res;
}

static int ring;
static unsigned *sq_tail, *cq_head, *cq_tail, sq_mask, cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;

static void uring_open(void) {
    struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    if ((ring = (int)syscall(SYS_io_uring_setup, 4, &p)) < 0) give_up("io_uring_setup");
    size_t len = p.sq_off.array + p.sq_entries * sizeof(unsigned);
    size_t both = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    char *lists = mmap(NULL, len > both ? len : both, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    sqes = mmap(NULL, p.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (lists == MAP_FAILED || sqes == MAP_FAILED) give_up("mmap");
    sq_tail = (unsigned *)(lists + p.sq_off.tail);
    cq_head = (unsigned *)(lists + p.cq_off.head);
    cq_tail = (unsigned *)(lists + p.cq_off.tail);
    sq_mask = *(unsigned *)(lists + p.sq_off.ring_mask);
    cq_mask = *(unsigned *)(lists + p.cq_off.ring_mask);
    cqes = (struct io_uring_cqe *)(lists + p.cq_off.cqes);
    unsigned *array = (unsigned *)(lists + p.sq_off.array);
    for (unsigned n = 0; n < p.sq_entries; n++) array[n] = n;
    struct iovec all = {buffer, bytes};
    struct io_uring_rsrc_update own = {.offset = -1U, .data = (uint64_t)ring};
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &all, 1)) give_up("register buffer");
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1)) give_up("register file");
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_RING_FDS, &own, 1) != 1) give_up("register ring");
    ring = (int)own.offset;
}

static int64_t uring_read(off_t at) {
    unsigned tail = *sq_tail;
    struct io_uring_sqe *sqe = &sqes[tail & sq_mask];
    *sqe = (struct io_uring_sqe){.opcode = IORING_OP_READ_FIXED, .flags = IOSQE_FIXED_FILE, .off = (uint64_t)at,
                                 .addr = (uintptr_t)buffer, .len = (uint32_t)bytes};
    __atomic_store_n(sq_tail, tail + 1, __ATOMIC_RELEASE);
    unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_REGISTERED_RING;
    if (syscall(SYS_io_uring_enter, ring, 1, 1, flags, NULL, 0) < 0) give_up("io_uring_enter");
    unsigned head = *cq_head;
    if (head == __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE)) return -1;
    int64_t result = cqes[head & cq_mask].res;
    __atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
    return result;
}

int main(int argc, char **argv) {
    int seconds = 2, with_ring = 1;
    for (int c; (c = getopt(argc, argv, "e:t:s:")) != -1;) {
        if (c == 'e') with_ring = !strcmp(optarg, "uring");
        else if (c == 't') seconds = atoi(optarg);
        else if (c == 's') bytes = (size_t)atol(optarg);
        else return 2;
    }
    if (optind >= argc || (fd = open(argv[optind], O_RDONLY | O_DIRECT)) < 0) give_up("which file");
    off_t size = lseek(fd, 0, SEEK_END);
    uint64_t blocks = (uint64_t)(size > (off_t)1 << 30 ? (off_t)1 << 30 : size) / bytes;
    if (posix_memalign(&buffer, 4096, bytes)) return 1;
    memset(buffer, 1, bytes);
    with_ring ? uring_open() : aio_open();
    uint64_t seed = 0x9e3779b97f4a7c15u, ios = 0, end = now() + (uint64_t)seconds * 1000000000u, done = 0;
    while (done < end) {
        off_t at = (off_t)((unsigned __int128)draw(&seed) * blocks >> 64) * (off_t)bytes;
        uint64_t issued = now();
        if ((with_ring ? uring_read(at) : aio_read(at)) != (int64_t)bytes) give_up("read");
        done = now();
        uint64_t bucket = (done - issued) / 8;
        buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        ios++;
    }
    uint64_t seen = 0, median = 0;
    for (uint64_t b = 0; b < BUCKETS && seen * 2 < ios; b++) {
        seen += buckets[b];
        median = b * 8 + 7;
    }
    printf("{\"ios\": %lu, \"p50_ns\": %lu}\n", (unsigned long)ios, (unsigned long)median);
    return 0;
}
