/* The server on lwIP's sockets, with the operating system's threads below lwIP: one for frames, lwIP's own, one that
 * accepts, one that receives datagrams, and for each stream and flow one that receives and one that sends. */

#define _GNU_SOURCE
#include "server.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lwip/sys.h"
#include "lwip/tcpip.h"

/* What a program reads at once. */
#define PIECE 16384

static int listener, udp;
static const char *const *addresses;
static int is_started;

/* lwIP asks for a semaphore of each thread that uses sockets. */
sys_sem_t *own_semaphore(void)
{
    static _Thread_local sys_sem_t own;

    if (own == NULL) {
        sys_sem_new(&own, 0);
    }
    return &own;
}

static void start_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, arg) != 0) {
        fprintf(stderr, "a thread does not start\n");
        exit(1);
    }
    pthread_detach(thread);
}

static void sleep_until(u64 at)
{
    struct timespec time = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000};

    while (micros() < at) {
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    }
}

/* ---- TCP ---- */

struct connection {
    int socket;
    struct stream stream;
};

static void *send_stream(void *arg)
{
    struct connection *connection = arg;
    struct stream *stream = &connection->stream;
    u64 end = stream->began + stream->request.micros, now;
    size_t piece = stream->request.rate == 0 ? LWIP_MIN(TCP_SND_BUF, sizeof block) : TCP_MSS;

    while ((now = micros()) < end) {
        u64 at = due(&stream->request, stream->began, stream->written);
        ssize_t length;
        if (at > now) {
            sleep_until(LWIP_MIN(at, end));
            continue;
        }
        length = lwip_send(connection->socket, block, piece, 0);
        if (length <= 0) {
            break;
        }
        stream->written += (u64)length;
        counts.tcp_sent += (u64)length;
    }
    lwip_shutdown(connection->socket, SHUT_WR);
    lwip_socket_thread_cleanup();
    return NULL;
}

static void *serve_connection(void *arg)
{
    struct connection *connection = arg;
    struct stream *stream = &connection->stream;
    u8_t bytes[PIECE];
    pthread_t sender;
    int has_sender = 0;
    ssize_t length;

    while ((length = lwip_recv(connection->socket, bytes, sizeof bytes, 0)) > 0) {
        counts.tcp_received += (u64)length - take_settings(stream, bytes, (u16_t)length);
        if (stream->is_sending && !has_sender) {
            has_sender = pthread_create(&sender, NULL, send_stream, connection) == 0;
            stream->is_sending = 0;
        }
    }
    if (has_sender) {
        pthread_join(sender, NULL);
    }
    add_ended(stream->request.receives + stream->request.sends);
    lwip_close(connection->socket);
    lwip_socket_thread_cleanup();
    free(connection);
    return NULL;
}

static void *accept_connections(void *arg)
{
    LWIP_UNUSED_ARG(arg);
    for (;;) {
        int accepted = lwip_accept(listener, NULL, NULL);
        struct connection *connection = accepted < 0 ? NULL : malloc(sizeof *connection);
        if (connection != NULL) {
            open_stream(&connection->stream);
            connection->socket = accepted;
            start_thread(serve_connection, connection);
        } else {
            /* Whoever holds the memory needs a turn. */
            sched_yield();
        }
    }
}

/* ---- UDP ---- */

int send_datagram(const struct peer *peer, const u8_t *head, u16_t head_length, u16_t length)
{
    static _Thread_local u8_t datagram[65536];

    memcpy(datagram, head, LWIP_MIN(head_length, length));
    if (lwip_sendto(udp, datagram, length, 0, (const struct sockaddr *)&peer->address, sizeof peer->address) == length) {
        return 1;
    }
    /* Whoever holds the memory needs a turn. */
    sched_yield();
    return 0;
}

static void *send_datagrams(void *arg)
{
    u64 at;

    while ((at = send_flow(arg)) != NEVER) {
        sleep_until(at);
    }
    lwip_socket_thread_cleanup();
    return NULL;
}

void start_sending(struct flow *flow)
{
    start_thread(send_datagrams, flow);
}

static void *receive_datagrams(void *arg)
{
    static u8_t bytes[65536];

    LWIP_UNUSED_ARG(arg);
    for (;;) {
        struct peer peer;
        socklen_t size = sizeof peer.address;
        ssize_t length;
        memset(&peer, 0, sizeof peer);
        length = lwip_recvfrom(udp, bytes, sizeof bytes, 0, (struct sockaddr *)&peer.address, &size);
        if (length > 0) {
            take_datagram(&peer, bytes, (u16_t)length, (u16_t)length);
        }
    }
}

/* ---- The stack ---- */

static void *serve_frames(void *arg)
{
    struct pollfd frames = {FRAMES, POLLIN, 0};

    LWIP_UNUSED_ARG(arg);
    for (;;) {
        if (poll(&frames, 1, -1) > 0) {
            receive_frames();
        }
    }
}

/* A socket of every address of the stack. */
static int open_socket(int kind)
{
    struct peer any;
#if LWIP_IPV6
    int opened = lwip_socket(AF_INET6, kind, 0);

    memset(&any, 0, sizeof any);
    any.address.sin6_family = AF_INET6;
    any.address.sin6_port = lwip_htons(PORT);
#else
    int opened = lwip_socket(AF_INET, kind, 0);

    memset(&any, 0, sizeof any);
    any.address.sin_family = AF_INET;
    any.address.sin_port = lwip_htons(PORT);
#endif
    if (opened < 0 || lwip_bind(opened, (const struct sockaddr *)&any.address, sizeof any.address) < 0) {
        return -1;
    }
    return opened;
}

/* In lwIP's thread. */
static void start_stack(void *begun)
{
    is_started = start_interface(addresses[0], addresses[1], tcpip_input);
    sys_sem_signal(begun);
}

static int start(void)
{
    sys_sem_t begun;

    sys_sem_new(&begun, 0);
    tcpip_init(start_stack, &begun);
    sys_arch_sem_wait(&begun, 0);
    if (!is_started) {
        return 0;
    }
    listener = open_socket(SOCK_STREAM);
    udp = open_socket(SOCK_DGRAM);
    if (listener < 0 || udp < 0 || lwip_listen(listener, TESTS) < 0) {
        return 0;
    }
    start_thread(serve_frames, NULL);
    start_thread(accept_connections, NULL);
    start_thread(receive_datagrams, NULL);
    return 1;
}

int main(int argc, char **argv)
{
    char said[64];
    ssize_t length;

    if (argc != 3) {
        fprintf(stderr, "server IPV4 IPV6\n");
        return 2;
    }
    addresses = (const char *const *)argv + 1;
    if (!start()) {
        fprintf(stderr, "lwIP does not start with %s and %s\n", argv[1], argv[2]);
        return 1;
    }
    say_ready();
    /* "counts" and a number, in one piece. */
    while ((length = read(CONTROL, said, sizeof said - 1)) > 0) {
        said[length] = '\0';
        wait_for_ended(strtoull(said + strcspn(said, "0123456789"), NULL, 10));
        say_counts();
    }
    return 0;
}
