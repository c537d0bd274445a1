/* The least that a ping-pong costs, the best that a spinning sender paces, and the most that one
 * stream carries on this machine: sockets and the calls of a test, nothing else.
 *   floor pong ADDRESS PORT BYTES               answers until it is killed
 *   floor ping ADDRESS PORT BYTES SECONDS       prints median and p99 of the round trip in nanoseconds
 *   floor tcp-pong, floor tcp-ping              the same over TCP
 *   floor sink ADDRESS PORT BYTES               receives until it is killed
 *   floor pace ADDRESS PORT BYTES SECONDS RATE  sends RATE datagrams per second, each at its time
 *   floor fill ADDRESS PORT BYTES SECONDS       sends datagrams, BATCH a call; prints how many and nanoseconds
 *   floor fill-gso                              the same, as many a call as one buffer of GSO takes
 *   floor drain, drain-gro ADDRESS PORT BYTES   receives them until they stop; prints the same
 *   floor tcp-fill ADDRESS PORT BYTES SECONDS   writes BYTES a call
 *   floor tcp-fill-zero-copy                    the same with MSG_ZEROCOPY
 *   floor tcp-drain ADDRESS PORT BYTES          reads to the end; prints bytes and nanoseconds
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH_NS = 10, BUCKETS = 100000, MOST = 131072, BATCH = 64, GSO_MOST = 65507 };

/* Messages carry no number: an answer that came after this would be taken for the next one. */
#define PATIENCE_NS 10000000000u

/* What sockperf leaves out at the begin. */
#define WARM_UP_NS 400000000u

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Spins until `size` bytes are here; gives up after `patience_ns` (0: never), or when the far end has closed. */
static int receive(int fd, char *buffer, size_t size, uint64_t patience_ns)
{
    uint64_t start = patience_ns ? now() : 0;
    size_t have = 0;
    for (uint64_t spins = 1;; spins++) {
        ssize_t got = recv(fd, buffer + have, size - have, MSG_DONTWAIT);
        if (got == 0)
            return 0;
        if (got > 0 && (have += (size_t)got) == size)
            return 1;
        if (got < 0 && errno != EAGAIN)
            fail("recv");
        if (patience_ns && spins % 1024 == 0 && now() - start > patience_ns)
            return 0;
    }
}

/* Connects to whoever asks first: a connected socket needs no route per answer. */
static void pong(int fd, const struct sockaddr_in *own, char *buffer, size_t bytes)
{
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    if (bind(fd, (const struct sockaddr *)own, sizeof *own))
        fail("bind");
    if (recvfrom(fd, buffer, bytes, 0, (struct sockaddr *)&from, &length) < 0)
        fail("recvfrom");
    if (connect(fd, (const struct sockaddr *)&from, length))
        fail("connect");
    for (;;) {
        if (send(fd, buffer, bytes, 0) < 0)
            fail("send");
        receive(fd, buffer, bytes, 0);
    }
}

/* One connection; then waits to be killed. */
static void tcp_pong(int fd, const struct sockaddr_in *own, char *buffer, size_t bytes)
{
    int on = 1;
    if (bind(fd, (const struct sockaddr *)own, sizeof *own) || listen(fd, 1))
        fail("listen");
    if ((fd = accept(fd, NULL, NULL)) < 0)
        fail("accept");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (receive(fd, buffer, bytes, 0))
        if (send(fd, buffer, bytes, 0) < 0)
            fail("send");
    pause();
}

/* The bucket below which a share of all values lies, in the middle. */
static size_t quantile(const uint32_t *counts, uint64_t total, double share)
{
    uint64_t seen = 0;
    size_t bucket;
    for (bucket = 0; bucket < BUCKETS && (double)(seen += counts[bucket]) < share * (double)total; bucket++)
        ;
    return bucket * WIDTH_NS + WIDTH_NS / 2;
}

static void ping(int fd, const struct sockaddr_in *far, char *buffer, size_t bytes, double seconds)
{
    static uint32_t counts[BUCKETS];
    uint64_t begin, end, total = 0;
    size_t bucket;
    if (connect(fd, (const struct sockaddr *)far, sizeof *far))
        fail("connect");
    begin = now() + WARM_UP_NS;
    end = begin + (uint64_t)(seconds * 1e9);
    for (uint64_t sent = now(); sent < end; sent = now()) {
        if (send(fd, buffer, bytes, 0) < 0)
            fail("send");
        if (!receive(fd, buffer, bytes, PATIENCE_NS) || sent < begin)
            continue;
        bucket = (size_t)((now() - sent) / WIDTH_NS);
        counts[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        total++;
    }
    printf("%zu %zu %llu\n", quantile(counts, total, 0.5), quantile(counts, total, 0.99),
           (unsigned long long)total);
}

static void sink(int fd, const struct sockaddr_in *own, char *buffer, size_t bytes)
{
    if (bind(fd, (const struct sockaddr *)own, sizeof *own))
        fail("bind");
    for (;;)
        if (recv(fd, buffer, bytes, 0) < 0)
            fail("recv");
}

static void pace(int fd, const struct sockaddr_in *far, char *buffer, size_t bytes, double seconds,
                 double rate)
{
    uint64_t begin = now(), count = (uint64_t)(seconds * rate);
    if (connect(fd, (const struct sockaddr *)far, sizeof *far))
        fail("connect");
    for (uint64_t k = 0; k < count; k++) {
        uint64_t due = begin + (uint64_t)((double)k * 1e9 / rate);
        while (now() < due)
            ;
        if (send(fd, buffer, bytes, 0) < 0)
            fail("send");
    }
}

/* One connection, read to its end. */
static void tcp_drain(int fd, const struct sockaddr_in *own, char *buffer)
{
    uint64_t begin, total = 0;
    ssize_t got;
    if (bind(fd, (const struct sockaddr *)own, sizeof *own) || listen(fd, 1))
        fail("listen");
    if ((fd = accept(fd, NULL, NULL)) < 0)
        fail("accept");
    begin = now();
    while ((got = recv(fd, buffer, MOST, 0)) > 0)
        total += (uint64_t)got;
    if (got < 0)
        fail("recv");
    printf("%llu %llu\n", (unsigned long long)total, (unsigned long long)(now() - begin));
}

/* Takes what the kernel says of buffers that it no longer uses. */
static void take_completions(int fd)
{
    char control[256];
    struct msghdr message;
    do {
        memset(&message, 0, sizeof message);
        message.msg_control = control;
        message.msg_controllen = sizeof control;
    } while (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

static void tcp_fill(int fd, const struct sockaddr_in *far, char *buffer, size_t bytes, double seconds,
                     int is_zero_copy)
{
    int on = 1, flags = is_zero_copy ? MSG_ZEROCOPY : 0;
    uint64_t end = now() + (uint64_t)(seconds * 1e9);
    if (is_zero_copy && setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on))
        fail("SO_ZEROCOPY");
    if (connect(fd, (const struct sockaddr *)far, sizeof *far))
        fail("connect");
    for (uint64_t calls = 1; now() < end; calls++) {
        if (send(fd, buffer, bytes, flags) < 0 && !(is_zero_copy && errno == ENOBUFS))
            fail("send");
        if (is_zero_copy && calls % BATCH == 0)
            take_completions(fd);
    }
}

/* Until nothing came for a second. */
static void drain(int fd, const struct sockaddr_in *own, char *buffer, size_t bytes, int is_gro)
{
    static char slots[BATCH][2048];
    static struct mmsghdr messages[BATCH];
    static struct iovec parts[BATCH];
    struct timeval patience = {.tv_sec = 10}, silence = {.tv_sec = 1};
    uint64_t begin = 0, last = 0, total = 0;
    int on = 1;
    for (int i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){slots[i], sizeof slots[i]};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    if (is_gro && setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on))
        fail("UDP_GRO");
    if (bind(fd, (const struct sockaddr *)own, sizeof *own))
        fail("bind");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (;;) {
        ssize_t got = is_gro ? recv(fd, buffer, MOST, 0) : recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
        if (got < 0 && errno == EAGAIN)
            break;
        if (got < 0)
            fail("recv");
        last = now();
        if (!begin) {
            begin = last;
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
        }
        total += is_gro ? ((uint64_t)got + bytes - 1) / bytes : (uint64_t)got;
    }
    printf("%llu %llu\n", (unsigned long long)total, (unsigned long long)(last - begin));
}

static void fill(int fd, const struct sockaddr_in *far, char *buffer, size_t bytes, double seconds, int is_gso)
{
    static struct mmsghdr messages[BATCH];
    struct iovec part = {buffer, bytes};
    int segment = (int)bytes;
    size_t segments = GSO_MOST / bytes;
    uint64_t begin = now(), end = begin + (uint64_t)(seconds * 1e9), total = 0;
    for (int i = 0; i < BATCH; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
    if (is_gso && setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment))
        fail("UDP_SEGMENT");
    if (connect(fd, (const struct sockaddr *)far, sizeof *far))
        fail("connect");
    while (now() < end) {
        ssize_t sent = is_gso ? send(fd, buffer, segments * bytes, 0) : sendmmsg(fd, messages, BATCH, 0);
        if (sent < 0)
            fail("send");
        total += is_gso ? segments : (uint64_t)sent;
    }
    printf("%llu %llu\n", (unsigned long long)total, (unsigned long long)(now() - begin));
}

int main(int count, char **words)
{
    static char buffer[MOST];
    struct sockaddr_in address = {.sin_family = AF_INET};
    int is_tcp = count > 1 && !strncmp(words[1], "tcp-", 4), on = 1;
    int fd = socket(AF_INET, is_tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
    if (count < 5 || inet_pton(AF_INET, words[2], &address.sin_addr) != 1)
        return 2;
    address.sin_port = htons((uint16_t)atoi(words[3]));
    size_t bytes = (size_t)atoi(words[4]);
    if (fd < 0 || bytes < 1 || bytes > MOST)
        return 2;
    if (is_tcp)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* Pages that nobody wrote are all one, which stays in the nearest cache. */
    memset(buffer, 0x5a, sizeof buffer);
    if (!strcmp(words[1], "tcp-pong"))
        tcp_pong(fd, &address, buffer, bytes);
    if (!strcmp(words[1], "pong"))
        pong(fd, &address, buffer, bytes);
    if (!strcmp(words[1], "sink"))
        sink(fd, &address, buffer, bytes);
    if (count == 5 && !strcmp(words[1], "tcp-drain"))
        tcp_drain(fd, &address, buffer);
    else if (count == 5 && !strncmp(words[1], "drain", 5))
        drain(fd, &address, buffer, bytes, !strcmp(words[1], "drain-gro"));
    else if (count == 6 && !strncmp(words[1], "tcp-fill", 8))
        tcp_fill(fd, &address, buffer, bytes, atof(words[5]), !strcmp(words[1], "tcp-fill-zero-copy"));
    else if (count == 6 && !strncmp(words[1], "fill", 4))
        fill(fd, &address, buffer, bytes, atof(words[5]), !strcmp(words[1], "fill-gso"));
    else if ((!strcmp(words[1], "ping") || !strcmp(words[1], "tcp-ping")) && count == 6)
        ping(fd, &address, buffer, bytes, atof(words[5]));
    else if (!strcmp(words[1], "pace") && count == 7)
        pace(fd, &address, buffer, bytes, atof(words[5]), atof(words[6]));
    else
        return 2;
    return 0;
}
