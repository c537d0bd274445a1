/* A server on lwIP's raw API that speaks iperf2: TCP and UDP, either way and both ways at once.
 *
 *   server IPV4 IPV6      the addresses of the stack, in networks of 24 and 64 bits
 *
 *   descriptor 0          a TAP device: frames
 *   descriptor 1          a socket: says "ready"; then for each line that comes, a line of counts; ends with it
 *
 * One thread, no operating system below lwIP: frames, timers and programs take turns in `main`. Nothing is counted that
 * opens or ends a test: its settings at the beginning of a TCP stream, its first and its last datagrams. */

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/init.h"
#include "lwip/memp.h"
#include "lwip/netif.h"
#include "lwip/stats.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"

#define PORT 5001
#define FRAMES 0
#define CONTROL 1

/* Frames and datagrams of one turn: enough to make a turn cheap, few enough for the others to have theirs. */
#define TURN 32
/* Most tests at once, of each transport. */
#define TESTS 64

/* Flags of an iperf2 header. */
#define CONNECT_BACK 0x80000000u
#define EXTEND 0x40000000u
#define NUMBERS_64 0x08000000u
#define VERSION_2 0x04000000u
#define HAS_LENGTH 0x00010000u
#define LENGTH 0x1feu
#define REVERSE 0x0400u
#define FULL_DUPLEX 0x0800u
/* Flag of an iperf2 report. */
#define VALID 0x80000000u

#define SHORT_HEADER 24
#define LONG_HEADER 64
/* Number and time of a datagram; a report after it. */
#define NUMBER 16
#define REPORT (NUMBER + 40)

typedef unsigned long long u64;

static struct netif interface;
/* What is sent: the content does not matter. */
static u8_t block[65536];

static struct {
    u64 tcp_received, tcp_sent;
    u64 udp_received, udp_sent, udp_received_datagrams, udp_sent_datagrams;
} counts;

static u64 micros(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
}

u32_t sys_now(void)
{
    return (u32_t)(micros() / 1000);
}

static u32_t word(const u8_t *at)
{
    return (u32_t)at[0] << 24 | (u32_t)at[1] << 16 | (u32_t)at[2] << 8 | at[3];
}

static void put(u8_t *at, u64 value)
{
    at[0] = (u8_t)(value >> 24);
    at[1] = (u8_t)(value >> 16);
    at[2] = (u8_t)(value >> 8);
    at[3] = (u8_t)value;
}

/* What a client asks for. */
struct request {
    int receives, sends, is_wide;
    /* Bit/s; 0 for as fast as it goes. */
    u64 rate;
    u64 micros;
    u32_t payload;
};

/* Reads the settings; those of a plain test ask this end to receive. */
static void read_request(struct request *request, const u8_t *header, u16_t length)
{
    u32_t flags = length >= SHORT_HEADER ? word(header) : 0;
    u32_t upper = 0, amount;

    memset(request, 0, sizeof *request);
    request->receives = 1;
    request->is_wide = (flags & NUMBERS_64) != 0;
    if (length < LONG_HEADER - 12 || (flags & (EXTEND | VERSION_2)) == 0) {
        return;
    }
    upper = word(header + 32) >> 16;
    request->sends = (upper & (REVERSE | FULL_DUPLEX)) != 0;
    request->receives = (upper & REVERSE) == 0;
    request->payload = word(header + 12);
    amount = word(header + 20);
    /* A negative number of 10 ms. */
    request->micros = (amount & 0x80000000u) ? (u64)(0u - amount) * 10000 : 10000000;
    if (length >= LONG_HEADER - 8) {
        request->rate = (u64)(word(header + 52) >> 8) << 32 | word(header + 48);
    }
}

/* When so many bytes are due that left since `began`. */
static u64 due(const struct request *request, u64 began, u64 bytes)
{
    return request->rate == 0 ? began : began + bytes * 8 * 1000000 / request->rate;
}

/* ---- TCP ---- */

struct stream {
    struct tcp_pcb *pcb;
    struct request request;
    u8_t header[LONG_HEADER];
    u16_t has, wants;
    int is_sending, peer_ended;
    u64 began, written;
};

static struct stream streams[TESTS];

static err_t end_stream(struct stream *stream)
{
    struct tcp_pcb *pcb = stream->pcb;
    stream->pcb = NULL;
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

/* Writes what there is room for and what is due. */
static void fill(struct stream *stream)
{
    struct tcp_pcb *pcb = stream->pcb;
    u64 now = micros();

    while (stream->is_sending) {
        u16_t length = (u16_t)LWIP_MIN(tcp_sndbuf(pcb), TCP_MSS);
        if (now >= stream->began + stream->request.micros) {
            stream->is_sending = 0;
            if (stream->peer_ended) {
                end_stream(stream);
            } else {
                tcp_shutdown(pcb, 0, 1);
            }
            return;
        }
        if (length == 0 || due(&stream->request, stream->began, stream->written) > now ||
            tcp_write(pcb, block, length, TCP_WRITE_FLAG_MORE) != ERR_OK) {
            break;
        }
        stream->written += length;
    }
    tcp_output(pcb);
}

/* How long the settings are that begin so; what is none is data. */
static u16_t header_length(u32_t flags)
{
    if (flags == 0) {
        return SHORT_HEADER;
    }
    if ((flags & (CONNECT_BACK | VERSION_2 | EXTEND)) == 0) {
        return 4;
    }
    if (flags & HAS_LENGTH) {
        return (u16_t)LWIP_MAX(4, LWIP_MIN((flags & LENGTH) >> 1, LONG_HEADER));
    }
    return (flags & (VERSION_2 | EXTEND)) ? LONG_HEADER : SHORT_HEADER;
}

static err_t stream_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    struct stream *stream = arg;
    u16_t at = 0;

    LWIP_UNUSED_ARG(error);
    if (p == NULL) {
        stream->peer_ended = 1;
        return stream->is_sending ? ERR_OK : end_stream(stream);
    }
    while (stream->has < stream->wants && at < p->tot_len) {
        stream->header[stream->has++] = pbuf_get_at(p, at++);
        if (stream->has == 4 && stream->wants == 4) {
            stream->wants = header_length(word(stream->header));
        }
        if (stream->has == stream->wants) {
            read_request(&stream->request, stream->header, stream->has);
            stream->is_sending = stream->request.sends;
            stream->began = micros();
        }
    }
    counts.tcp_received += p->tot_len - at;
    tcp_recved(pcb, p->tot_len);
    pbuf_free(p);
    return ERR_OK;
}

static err_t stream_acknowledged(void *arg, struct tcp_pcb *pcb, u16_t length)
{
    LWIP_UNUSED_ARG(arg);
    LWIP_UNUSED_ARG(pcb);
    counts.tcp_sent += length;
    return ERR_OK;
}

static void stream_failed(void *arg, err_t error)
{
    LWIP_UNUSED_ARG(error);
    ((struct stream *)arg)->pcb = NULL;
}

static err_t stream_opened(void *arg, struct tcp_pcb *pcb, err_t error)
{
    int i;

    LWIP_UNUSED_ARG(arg);
    for (i = 0; error == ERR_OK && i < TESTS; i++) {
        struct stream *stream = &streams[i];
        if (stream->pcb == NULL) {
            memset(stream, 0, sizeof *stream);
            stream->pcb = pcb;
            stream->wants = 4;
            tcp_arg(pcb, stream);
            tcp_recv(pcb, stream_received);
            tcp_sent(pcb, stream_acknowledged);
            tcp_err(pcb, stream_failed);
            return ERR_OK;
        }
    }
    return ERR_MEM;
}

/* ---- UDP ---- */

struct flow {
    int is_known, is_sending, is_over;
    ip_addr_t peer;
    u16_t port;
    struct request request;
    /* Received: number that comes next, datagrams, and those that came late; the first one opens the flow. */
    u64 next, received, late, bytes, opened;
    /* Sent. */
    u64 sent, began;
    /* Ends that were said, and when to say the next. */
    int ends;
    u64 next_end;
};

static struct udp_pcb *udp;
static struct flow flows[TESTS];

static int send_datagram(const struct flow *flow, const u8_t *head, u16_t head_length, u16_t length)
{
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, length, PBUF_RAM);
    err_t error;

    if (p == NULL) {
        return 0;
    }
    pbuf_take(p, block, length);
    pbuf_take(p, head, LWIP_MIN(head_length, length));
    error = udp_sendto(udp, p, &flow->peer, flow->port);
    pbuf_free(p);
    return error == ERR_OK;
}

/* A datagram with this number; a negative one ends the flow. */
static int send_numbered(const struct flow *flow, long long number)
{
    u8_t head[NUMBER];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    put(head, (u64)number);
    put(head + 4, (u64)now.tv_sec);
    put(head + 8, (u64)now.tv_nsec / 1000);
    put(head + 12, (u64)number >> 32);
    return send_datagram(flow, head, sizeof head, (u16_t)flow->request.payload);
}

/* The next ends of a flow, with gaps of 10 to 250 ms: the client may answer none. */
static void say_end(struct flow *flow, u64 now)
{
    if (flow->ends < 10 && now >= flow->next_end) {
        send_numbered(flow, -(long long)(flow->sent + 1));
        flow->next_end = now + LWIP_MIN(10000u << flow->ends, 250000u);
        flow->ends++;
        flow->is_over = flow->ends == 10;
    }
}

/* Sends what is due, and not too much at a time. */
static void send_flow(struct flow *flow)
{
    u64 now = micros();
    int left;

    for (left = TURN; flow->is_sending && left > 0; left--) {
        if (now >= flow->began + flow->request.micros) {
            flow->is_sending = 0;
            flow->next_end = now;
            flow->ends = 0;
            break;
        }
        if (due(&flow->request, flow->began, flow->sent * flow->request.payload) > now ||
            !send_numbered(flow, (long long)flow->sent + 1)) {
            return;
        }
        flow->sent++;
        counts.udp_sent_datagrams++;
        counts.udp_sent += flow->request.payload;
    }
    if (!flow->is_sending && flow->request.sends) {
        say_end(flow, now);
    }
}

/* Answers the end of a flow with what came of it. */
static void answer(const struct flow *flow, u64 sent, u16_t room)
{
    u8_t report[REPORT] = {0};
    u64 time = micros() - flow->opened;
    u64 lost = sent > flow->received ? sent - flow->received : 0;

    if (room < REPORT) {
        return;
    }
    put(report + 16, VALID);
    put(report + 20, flow->bytes >> 32);
    put(report + 24, flow->bytes);
    put(report + 28, time / 1000000);
    put(report + 32, time % 1000000);
    put(report + 36, lost);
    put(report + 40, flow->late);
    put(report + 44, sent);
    send_datagram(flow, report, REPORT, REPORT);
}

static struct flow *flow_of(const ip_addr_t *from, u16_t port)
{
    struct flow *free = NULL;
    int i;

    for (i = 0; i < TESTS; i++) {
        struct flow *flow = &flows[i];
        if (flow->is_known && flow->port == port && ip_addr_cmp(&flow->peer, from)) {
            return flow;
        }
        if (free == NULL && (!flow->is_known || flow->is_over)) {
            free = flow;
        }
    }
    return free;
}

static void open_flow(struct flow *flow, const struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    u8_t header[LONG_HEADER];
    u16_t length = pbuf_copy_partial(p, header, sizeof header, NUMBER);

    memset(flow, 0, sizeof *flow);
    flow->is_known = 1;
    ip_addr_copy(flow->peer, *from);
    flow->port = port;
    read_request(&flow->request, header, length);
    if (flow->request.receives || flow->request.payload == 0) {
        flow->request.payload = p->tot_len;
    }
    flow->request.payload = LWIP_MAX(NUMBER, LWIP_MIN(flow->request.payload, 65507));
    flow->opened = flow->began = micros();
    flow->is_sending = flow->request.sends;
}

/* One datagram of traffic, or one that opens the flow, which is number 0 here. */
static void count(struct flow *flow, u64 number, u16_t length)
{
    if (number < flow->next) {
        flow->late++;
    } else {
        flow->next = number + 1;
    }
    flow->received++;
    flow->bytes += length;
    if (number > 0) {
        counts.udp_received_datagrams++;
        counts.udp_received += length;
    }
}

static void datagram_received(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    u8_t head[NUMBER + 4] = {0};
    struct flow *flow = flow_of(from, port);
    long long number;

    LWIP_UNUSED_ARG(arg);
    LWIP_UNUSED_ARG(pcb);
    if (pbuf_copy_partial(p, head, sizeof head, 0) < NUMBER || flow == NULL) {
        pbuf_free(p);
        return;
    }
    number = (int)word(head);
    if (number == 1 && (!flow->is_known || flow->is_over || !ip_addr_cmp(&flow->peer, from) || flow->port != port)) {
        open_flow(flow, p, from, port);
    }
    if (flow->is_known && flow->port == port && ip_addr_cmp(&flow->peer, from)) {
        if (flow->request.is_wide) {
            number = (long long)((u64)word(head + 12) << 32 | word(head));
        }
        if (number < 0) {
            flow->is_over = !flow->request.sends;
            answer(flow, (u64)-number - 1, p->tot_len);
        } else if (number == 0) {
            /* The client's answer to this end's last datagrams. */
            flow->ends = (word(head + NUMBER) & VALID) ? 10 : flow->ends;
            flow->is_over = flow->ends == 10;
        } else if (flow->request.receives) {
            count(flow, (u64)number - 1, p->tot_len);
        }
    }
    pbuf_free(p);
}

/* ---- Frames ---- */

static err_t send_frame(struct netif *netif, struct pbuf *p)
{
    static u8_t frame[65536];
    u16_t length = pbuf_copy_partial(p, frame, sizeof frame - 1, 0);

    LWIP_UNUSED_ARG(netif);
    if (write(FRAMES, frame, length) == length) {
        LINK_STATS_INC(link.xmit);
        return ERR_OK;
    }
    LINK_STATS_INC(link.drop);
    return ERR_IF;
}

/* How many came; never more than a turn. */
static int receive_frames(void)
{
    static u8_t frame[65536];
    int left;

    for (left = TURN; left > 0; left--) {
        ssize_t length = read(FRAMES, frame, sizeof frame);
        struct pbuf *p;
        if (length <= 0) {
            break;
        }
        p = pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_POOL);
        if (p == NULL) {
            LINK_STATS_INC(link.memerr);
            LINK_STATS_INC(link.drop);
            continue;
        }
        LINK_STATS_INC(link.recv);
        pbuf_take(p, frame, (u16_t)length);
        if (interface.input(p, &interface) != ERR_OK) {
            pbuf_free(p);
        }
    }
    return TURN - left;
}

static err_t start_interface(struct netif *netif)
{
    static const u8_t address[ETH_HWADDR_LEN] = {0x02, 0, 0, 0x4e, 0, 2};

    netif->name[0] = 't';
    netif->name[1] = 'p';
    netif->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(netif->hwaddr, address, sizeof address);
    netif->mtu = 1500;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_MLD6 |
                   NETIF_FLAG_LINK_UP;
    netif->linkoutput = send_frame;
#if LWIP_IPV4
    netif->output = etharp_output;
#endif
#if LWIP_IPV6
    netif->output_ip6 = ethip6_output;
#endif
    return ERR_OK;
}

static int start(const char *address4, const char *address6)
{
    struct tcp_pcb *listener;
#if LWIP_IPV4
    ip4_addr_t address, mask;

    IP4_ADDR(&mask, 255, 255, 255, 0);
    if (!ip4addr_aton(address4, &address) ||
        netif_add(&interface, &address, &mask, NULL, NULL, start_interface, ethernet_input) == NULL) {
        return 0;
    }
#else
    LWIP_UNUSED_ARG(address4);
    if (netif_add(&interface, NULL, start_interface, ethernet_input) == NULL) {
        return 0;
    }
#endif
    netif_set_default(&interface);
    netif_set_up(&interface);
#if LWIP_IPV6
    {
        ip6_addr_t address;
        if (!ip6addr_aton(address6, &address)) {
            return 0;
        }
        /* The first one is what neighbours are asked from. */
        netif_ip6_addr_set(&interface, 0, &address);
        netif_ip6_addr_set_state(&interface, 0, IP6_ADDR_PREFERRED);
    }
#else
    LWIP_UNUSED_ARG(address6);
#endif
    listener = tcp_new_ip_type(IPADDR_TYPE_ANY);
    udp = udp_new_ip_type(IPADDR_TYPE_ANY);
    if (listener == NULL || udp == NULL || tcp_bind(listener, IP_ANY_TYPE, PORT) != ERR_OK ||
        udp_bind(udp, IP_ANY_TYPE, PORT) != ERR_OK) {
        return 0;
    }
    listener = tcp_listen(listener);
    if (listener == NULL) {
        return 0;
    }
    tcp_accept(listener, stream_opened);
    udp_recv(udp, datagram_received, NULL);
    return 1;
}

/* ---- Counts ---- */

#if LINK_STATS || IP_STATS || IP6_STATS || TCP_STATS || UDP_STATS
static void print_layer(const char *name, const struct stats_proto *layer, const char *after)
{
    printf("\"%s\":{\"xmit\":%lu,\"recv\":%lu,\"drop\":%lu,\"chkerr\":%lu,\"lenerr\":%lu,\"memerr\":%lu,\"rterr\":%lu,"
           "\"proterr\":%lu,\"err\":%lu}%s",
           name, (unsigned long)layer->xmit, (unsigned long)layer->recv, (unsigned long)layer->drop,
           (unsigned long)layer->chkerr, (unsigned long)layer->lenerr, (unsigned long)layer->memerr,
           (unsigned long)layer->rterr, (unsigned long)layer->proterr, (unsigned long)layer->err, after);
}
#endif

static void print_pool(const char *name, const struct stats_mem *pool, size_t unit, const char *after)
{
    printf("{\"name\":\"%s\",\"peak\":%lu,\"capacity\":%lu,\"unit_bytes\":%lu,\"failures\":%lu}%s", name,
           (unsigned long)pool->max, (unsigned long)pool->avail, (unsigned long)unit, (unsigned long)pool->err, after);
}

static void print_counts(void)
{
    int i;

    printf("{\"tcp\":{\"received_bytes\":%llu,\"sent_bytes\":%llu},", counts.tcp_received, counts.tcp_sent);
    printf("\"udp\":{\"received_bytes\":%llu,\"sent_bytes\":%llu,\"received_packets\":%llu,\"sent_packets\":%llu},",
           counts.udp_received, counts.udp_sent, counts.udp_received_datagrams, counts.udp_sent_datagrams);
    printf("\"version\":\"%s\",\"settings\":{\"TCP_MSS\":%lu,\"TCP_WND\":%lu,\"TCP_SND_BUF\":%lu,\"PBUF_POOL_SIZE\":%lu,"
           "\"PBUF_POOL_BUFSIZE\":%lu,\"MEM_SIZE\":%lu,\"MEMP_NUM_TCP_SEG\":%lu,\"LWIP_IPV4\":%d,\"LWIP_IPV6\":%d},",
           LWIP_VERSION_STRING, (unsigned long)TCP_MSS, (unsigned long)TCP_WND, (unsigned long)TCP_SND_BUF,
           (unsigned long)PBUF_POOL_SIZE, (unsigned long)PBUF_POOL_BUFSIZE, (unsigned long)MEM_SIZE,
           (unsigned long)MEMP_NUM_TCP_SEG, LWIP_IPV4, LWIP_IPV6);
    printf("\"counters\":{");
    print_layer("link", &lwip_stats.link, ",");
#if LWIP_IPV4
    print_layer("ip4", &lwip_stats.ip, ",");
    print_layer("etharp", &lwip_stats.etharp, ",");
#endif
#if LWIP_IPV6
    print_layer("ip6", &lwip_stats.ip6, ",");
    print_layer("nd6", &lwip_stats.nd6, ",");
#endif
    print_layer("udp", &lwip_stats.udp, ",");
    print_layer("tcp", &lwip_stats.tcp, "},");
    printf("\"pools\":[");
    print_pool("heap", &lwip_stats.mem, 1, "");
    for (i = 0; i < MEMP_MAX; i++) {
        printf(",");
        print_pool(memp_pools[i]->desc, memp_pools[i]->stats, memp_pools[i]->size, "");
    }
    printf("]}\n");
    fflush(stdout);
}

/* ---- Turns ---- */

/* Lets every program send; how long until one of them would go on by itself, in microseconds. */
static u64 send_all(void)
{
    u64 now, next = (u64)LWIP_MIN(sys_timeouts_sleeptime(), 1000) * 1000;
    int i;

    for (i = 0; i < TESTS; i++) {
        struct stream *stream = &streams[i];
        struct flow *flow = &flows[i];
        u64 at = ~0ull;
        if (stream->pcb != NULL && stream->is_sending) {
            fill(stream);
        }
        if (flow->is_known && flow->request.sends) {
            send_flow(flow);
        }
        now = micros();
        if (stream->pcb != NULL && stream->is_sending) {
            /* Without a rate it waits for room, which frames make, and for its end. */
            u64 end = stream->began + stream->request.micros;
            u64 data = due(&stream->request, stream->began, stream->written);
            at = stream->request.rate == 0 ? end : LWIP_MIN(data, end);
        }
        if (flow->is_known && flow->is_sending) {
            at = LWIP_MIN(at, due(&flow->request, flow->began, flow->sent * flow->request.payload));
        } else if (flow->is_known && flow->request.sends && !flow->is_over) {
            at = LWIP_MIN(at, flow->next_end);
        }
        if (at != ~0ull) {
            next = LWIP_MIN(next, at > now ? at - now : 0);
        }
    }
    return next;
}

/* Whether somebody still listens. */
static int hear(void)
{
    char said[256];
    ssize_t length = read(CONTROL, said, sizeof said);
    ssize_t i;

    /* What came before the question is in the counts. */
    while (receive_frames() == TURN) {
    }
    for (i = 0; i < length; i++) {
        if (said[i] == '\n') {
            print_counts();
        }
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
    if (!start(argv[1], argv[2])) {
        fprintf(stderr, "lwIP does not start with %s and %s\n", argv[1], argv[2]);
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
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
