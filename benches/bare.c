/* The least that a random read can cost: pread in a loop, nothing else.
 *
 *   cc -O2 -o bare bare.c -lpthread
 *   bare [-n THREADS] [-t SECONDS] [-s BYTES] [-b] [-c] FILE
 *
 * -b  through the page cache instead of O_DIRECT
 * -c  read the clock around each I/O and count it in a histogram of 8 ns steps below 1 ms
 *
 * Prints one line of JSON: I/Os, wall seconds and, with -c, the median in ns. CPU time is for the caller to
 * take from the system when the process has ended.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 125000 };
static int threads = 1, direct = O_DIRECT, clocked, seconds = 2, fd;
static size_t bytes = 8192;
static uint64_t blocks;
static volatile int stop;

struct lane {
    pthread_t thread;
    uint64_t seed, ios;
    uint32_t *buckets;
};

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Marsaglia's xorshift: good enough to leave no block in a cache. */
static uint64_t draw(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void *loop(void *arg) {
    struct lane *me = arg;
    void *buffer;
    if (posix_memalign(&buffer, 4096, bytes)) exit(1);
    memset(buffer, 1, bytes);
    while (!stop) {
        off_t at = (off_t)((unsigned __int128)draw(&me->seed) * blocks >> 64) * (off_t)bytes;
        uint64_t issued = clocked ? now() : 0;
        if (pread(fd, buffer, bytes, at) != (ssize_t)bytes) {
            perror("pread");
            exit(1);
        }
        if (clocked) {
            uint64_t bucket = (now() - issued) / 8;
            me->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        }
        me->ios++;
    }
    return NULL;
}

int main(int argc, char **argv) {
    for (int c; (c = getopt(argc, argv, "n:t:s:bc")) != -1;) {
        if (c == 'n') threads = atoi(optarg);
        else if (c == 't') seconds = atoi(optarg);
        else if (c == 's') bytes = (size_t)atol(optarg);
        else if (c == 'b') direct = 0;
        else if (c == 'c') clocked = 1;
        else return 2;
    }
    if (optind >= argc || (fd = open(argv[optind], O_RDONLY | direct)) < 0) {
        perror(optind < argc ? argv[optind] : "which file");
        return 2;
    }
    off_t size = lseek(fd, 0, SEEK_END);
    if (size > (off_t)1 << 30) size = (off_t)1 << 30;
    blocks = (uint64_t)size / bytes;
    struct lane *lanes = calloc((size_t)threads, sizeof *lanes);
    uint64_t began = now();
    for (int n = 0; n < threads; n++) {
        lanes[n].seed = 0x9e3779b97f4a7c15u * (uint64_t)(n + 1);
        lanes[n].buckets = clocked ? calloc(BUCKETS, sizeof(uint32_t)) : NULL;
        pthread_create(&lanes[n].thread, NULL, loop, &lanes[n]);
    }
    sleep((unsigned)seconds);
    stop = 1;
    uint64_t ios = 0;
    for (int n = 0; n < threads; n++) {
        pthread_join(lanes[n].thread, NULL);
        ios += lanes[n].ios;
    }
    double wall = (double)(now() - began) / 1e9;
    uint64_t seen = 0, median = 0;
    for (uint64_t b = 0; clocked && b < BUCKETS && seen * 2 < ios; b++) {
        for (int n = 0; n < threads; n++) seen += lanes[n].buckets[b];
        median = b * 8 + 7;
    }
    printf("{\"ios\": %lu, \"wall_s\": %.6f, \"p50_ns\": %lu}\n", (unsigned long)ios, wall, (unsigned long)median);
    return 0;
}
