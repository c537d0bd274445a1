/* The server on lwIP's raw API: one thread, no operating system below lwIP; frames, timers and programs take turns in
 * `main`. */

#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <stdio.h>

#include "lwip/init.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"

u32_t sys_now(void)
{
    return (u32_t)(micros() / 1000);
}

/* ---- TCP ---- */

struct connection {
    struct tcp_pcb *pcb;
    int peer_ended;
    struct stream stream;
};

static struct connection connections[TESTS];

static err_t end_connection(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    connection->pcb = NULL;
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    if (tcp_close(pcb) != ERR_OK) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    return ERR_OK;
}

/* Writes what there is room for and what is due; when to go on: without a rate with room, which frames make, or at its
 * end. */
static u64 fill(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    struct stream *stream = &connection->stream;
    u64 now = micros(), end = stream->began + stream->request.micros, at;

    for (;;) {
        u16_t length = (u16_t)LWIP_MIN(tcp_sndbuf(pcb), TCP_MSS);
        if (now >= end) {
            stream->is_sending = 0;
            if (connection->peer_ended) {
                end_connection(connection);
            } else {
                tcp_shutdown(pcb, 0, 1);
            }
            return NEVER;
        }
        at = due(&stream->request, stream->began, stream->written);
        if (length == 0 || at > now || tcp_write(pcb, block, length, TCP_WRITE_FLAG_MORE) != ERR_OK) {
            break;
        }
        stream->written += length;
    }
    tcp_output(pcb);
    return stream->request.rate == 0 ? end : LWIP_MIN(at, end);
}

static err_t connection_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    struct connection *connection = arg;
    const struct pbuf *part;
    u16_t settings = 0;

    LWIP_UNUSED_ARG(error);
    if (p == NULL) {
        connection->peer_ended = 1;
        return connection->stream.is_sending ? ERR_OK : end_connection(connection);
    }
    for (part = p; part != NULL; part = part->next) {
        settings += take_settings(&connection->stream, part->payload, part->len);
    }
    counts.tcp_received += p->tot_len - settings;
    tcp_recved(pcb, p->tot_len);
    pbuf_free(p);
    return ERR_OK;
}

static err_t connection_acknowledged(void *arg, struct tcp_pcb *pcb, u16_t length)
{
    LWIP_UNUSED_ARG(arg);
    LWIP_UNUSED_ARG(pcb);
    counts.tcp_sent += length;
    return ERR_OK;
}

static void connection_failed(void *arg, err_t error)
{
    LWIP_UNUSED_ARG(error);
    ((struct connection *)arg)->pcb = NULL;
}

static err_t connection_opened(void *arg, struct tcp_pcb *pcb, err_t error)
{
    int i;

    LWIP_UNUSED_ARG(arg);
    for (i = 0; error == ERR_OK && i < TESTS; i++) {
        struct connection *connection = &connections[i];
        if (connection->pcb == NULL) {
            open_stream(&connection->stream);
            connection->pcb = pcb;
            connection->peer_ended = 0;
            tcp_arg(pcb, connection);
            tcp_recv(pcb, connection_received);
            tcp_sent(pcb, connection_acknowledged);
            tcp_err(pcb, connection_failed);
            return ERR_OK;
        }
    }
    return ERR_MEM;
}

/* ---- UDP ---- */

static struct udp_pcb *udp;

int send_datagram(const struct peer *peer, const u8_t *head, u16_t head_length, u16_t length)
{
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, length, PBUF_RAM);
    err_t error;

    if (p == NULL) {
        return 0;
    }
    pbuf_take(p, block, length);
    pbuf_take(p, head, LWIP_MIN(head_length, length));
    error = udp_sendto(udp, p, &peer->address, peer->port);
    pbuf_free(p);
    return error == ERR_OK;
}

void start_sending(struct flow *flow)
{
    /* It has its turn in `main`. */
    LWIP_UNUSED_ARG(flow);
}

static void datagram_received(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    u8_t bytes[NUMBER + LONG_HEADER];
    struct peer peer;

    LWIP_UNUSED_ARG(arg);
    LWIP_UNUSED_ARG(pcb);
    memset(&peer, 0, sizeof peer);
    ip_addr_copy(peer.address, *from);
    peer.port = port;
    take_datagram(&peer, bytes, pbuf_copy_partial(p, bytes, sizeof bytes, 0), p->tot_len);
    pbuf_free(p);
}

/* ---- Turns ---- */

static int start(void)
{
    struct tcp_pcb *listener = tcp_new_ip_type(IPADDR_TYPE_ANY);

    udp = udp_new_ip_type(IPADDR_TYPE_ANY);
    if (listener == NULL || udp == NULL || tcp_bind(listener, IP_ANY_TYPE, PORT) != ERR_OK ||
        udp_bind(udp, IP_ANY_TYPE, PORT) != ERR_OK) {
        return 0;
    }
    listener = tcp_listen(listener);
    if (listener == NULL) {
        return 0;
    }
    tcp_accept(listener, connection_opened);
    udp_recv(udp, datagram_received, NULL);
    return 1;
}

/* Lets every program send; how long until one of them would go on by itself, in microseconds. */
static u64 send_all(void)
{
    u64 now = micros(), next = now + (u64)LWIP_MIN(sys_timeouts_sleeptime(), 1000) * 1000;
    int i;

    for (i = 0; i < TESTS; i++) {
        if (connections[i].pcb != NULL && connections[i].stream.is_sending) {
            u64 at = fill(&connections[i]);
            next = LWIP_MIN(next, at);
        }
        if (flows[i].is_known && flows[i].request.sends) {
            u64 at = send_flow(&flows[i]);
            next = LWIP_MIN(next, at);
        }
    }
    now = micros();
    return next > now ? next - now : 0;
}

/* Whether somebody still listens. */
static int hear(void)
{
    char said[256];
    ssize_t length = read(CONTROL, said, sizeof said);

    /* What came before the question is in the counts. */
    while (receive_frames() == TURN) {
    }
    if (length > 0) {
        say_counts();
    }
    return length > 0;
}

int main(int argc, char **argv)
{
    struct pollfd both[] = {{FRAMES, POLLIN, 0}, {CONTROL, POLLIN, 0}};

    if (argc != 3) {
        fprintf(stderr, "server IPV4 IPV6\n");
        return 2;
    }
    lwip_init();
    if (!start_interface(argv[1], argv[2], ethernet_input) || !start()) {
        fprintf(stderr, "lwIP does not start with %s and %s\n", argv[1], argv[2]);
        return 1;
    }
    say_ready();
    for (;;) {
        u64 wait = send_all();
        struct timespec time = {(time_t)(wait / 1000000), (long)(wait % 1000000) * 1000};
        if (ppoll(both, 2, &time, NULL) < 0 && errno != EINTR) {
            return 1;
        }
        if (both[0].revents) {
            receive_frames();
        }
        if (both[1].revents && !hear()) {
            return 0;
        }
        sys_check_timeouts();
    }
}
