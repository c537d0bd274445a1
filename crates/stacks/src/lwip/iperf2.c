/* What iperf2 writes, and what was counted. Knows neither of lwIP's interfaces to programs. */

#include "server.h"

#include <pthread.h>
#include <stdio.h>

#include "lwip/init.h"
#include "lwip/memp.h"
#include "lwip/tcp.h"

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
/* A report after number and time. */
#define REPORT (NUMBER + 40)

/* Ends of a flow that are said at most: the client may answer none. */
#define ENDS 10
/* Longest wait for the server's part of the end of streams, which takes milliseconds on an idle host. */
#define ENDING_SECONDS 10

const u8_t block[65536];
struct counts counts;
struct flow flows[TESTS];

static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static u64 ended;

u64 micros(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
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

u64 due(const struct request *request, u64 began, u64 bytes)
{
    return request->rate == 0 ? began : began + bytes * 8 * 1000000 / request->rate;
}

/* ---- TCP ---- */

void open_stream(struct stream *stream)
{
    memset(stream, 0, sizeof *stream);
    stream->wants = 4;
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

u16_t take_settings(struct stream *stream, const u8_t *bytes, u16_t length)
{
    u16_t at = 0;

    while (stream->has < stream->wants && at < length) {
        stream->header[stream->has++] = bytes[at++];
        if (stream->has == 4 && stream->wants == 4) {
            stream->wants = header_length(word(stream->header));
        }
        if (stream->has == stream->wants) {
            read_request(&stream->request, stream->header, stream->has);
            stream->is_sending = stream->request.sends;
            stream->began = micros();
        }
    }
    return at;
}

/* ---- UDP ---- */

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
    return send_datagram(&flow->peer, head, sizeof head, (u16_t)flow->request.payload);
}

/* The next end of a flow, with gaps of 10 to 250 ms. */
static u64 say_end(struct flow *flow, u64 now)
{
    if (flow->is_over) {
        return NEVER;
    }
    if (flow->is_answered || flow->ends == ENDS) {
        add_ended(1);
        flow->is_over = 1;
        return NEVER;
    }
    if (now >= flow->next_end) {
        send_numbered(flow, -(long long)(flow->sent + 1));
        flow->next_end = now + LWIP_MIN(10000u << flow->ends, 250000u);
        flow->ends++;
    }
    return flow->next_end;
}

u64 send_flow(struct flow *flow)
{
    u64 now = micros(), end = flow->began + flow->request.micros;
    int left;

    for (left = TURN; flow->is_sending; left--) {
        u64 at = due(&flow->request, flow->began, flow->sent * flow->request.payload);
        if (now >= end) {
            flow->is_sending = 0;
            flow->next_end = now;
            break;
        }
        if (at > now) {
            return LWIP_MIN(at, end);
        }
        if (left == 0 || !send_numbered(flow, (long long)flow->sent + 1)) {
            return now;
        }
        flow->sent++;
        counts.udp_sent_datagrams++;
        counts.udp_sent += flow->request.payload;
    }
    return say_end(flow, now);
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
    send_datagram(&flow->peer, report, REPORT, REPORT);
}

static int is_of(const struct flow *flow, const struct peer *peer)
{
    return flow->is_known && memcmp(&flow->peer, peer, sizeof *peer) == 0;
}

/* The flow of this peer, or a free one. */
static struct flow *flow_of(const struct peer *peer)
{
    struct flow *free = NULL;
    int i;

    for (i = 0; i < TESTS; i++) {
        struct flow *flow = &flows[i];
        if (is_of(flow, peer)) {
            return flow;
        }
        if (free == NULL && (!flow->is_known || flow->is_over)) {
            free = flow;
        }
    }
    return free;
}

static void open_flow(struct flow *flow, const struct peer *peer, const u8_t *bytes, u16_t has, u16_t length)
{
    memset(flow, 0, sizeof *flow);
    flow->peer = *peer;
    read_request(&flow->request, bytes + NUMBER, (u16_t)LWIP_MIN(has - NUMBER, LONG_HEADER));
    if (flow->request.receives || flow->request.payload == 0) {
        flow->request.payload = length;
    }
    flow->request.payload = LWIP_MAX(NUMBER, LWIP_MIN(flow->request.payload, 65507));
    flow->opened = flow->began = micros();
    flow->is_sending = flow->request.sends;
    flow->is_known = 1;
    if (flow->is_sending) {
        start_sending(flow);
    }
}

/* The client ends what it sends. */
static void peer_ends(struct flow *flow)
{
    if (!flow->peer_ended) {
        flow->peer_ended = 1;
        add_ended(flow->request.receives);
    }
    if (!flow->request.sends) {
        flow->is_over = 1;
    }
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

void take_datagram(const struct peer *peer, const u8_t *bytes, u16_t has, u16_t length)
{
    struct flow *flow = flow_of(peer);
    long long number;

    if (has < NUMBER || flow == NULL) {
        return;
    }
    number = (int)word(bytes);
    if (number == 1 && (!is_of(flow, peer) || flow->is_over)) {
        open_flow(flow, peer, bytes, has, length);
    }
    if (!is_of(flow, peer)) {
        return;
    }
    if (flow->request.is_wide) {
        number = (long long)((u64)word(bytes + 12) << 32 | word(bytes));
    }
    if (number < 0) {
        peer_ends(flow);
        answer(flow, (u64)-number - 1, length);
    } else if (number == 0) {
        /* The client's answer to this end's last datagrams. */
        if (has >= NUMBER + 4 && (word(bytes + NUMBER) & VALID)) {
            flow->is_answered = 1;
        }
    } else if (flow->request.receives) {
        count(flow, (u64)number - 1, length);
    }
}

/* ---- Ends ---- */

void add_ended(int streams)
{
    pthread_mutex_lock(&ending);
    ended += (u64)streams;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&ending);
}

void wait_for_ended(u64 streams)
{
    struct timespec last;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &last);
    last.tv_sec += ENDING_SECONDS;
    pthread_mutex_lock(&ending);
    while (ended < streams && error == 0) {
        error = pthread_cond_timedwait(&changed, &ending, &last);
    }
    pthread_mutex_unlock(&ending);
}

/* ---- Counts ---- */

static void print_layer(const char *name, const struct stats_proto *layer, const char *after)
{
    printf("\"%s\":{\"xmit\":%lu,\"recv\":%lu,\"drop\":%lu,\"chkerr\":%lu,\"lenerr\":%lu,\"memerr\":%lu,\"rterr\":%lu,"
           "\"proterr\":%lu,\"err\":%lu}%s",
           name, (unsigned long)layer->xmit, (unsigned long)layer->recv, (unsigned long)layer->drop,
           (unsigned long)layer->chkerr, (unsigned long)layer->lenerr, (unsigned long)layer->memerr,
           (unsigned long)layer->rterr, (unsigned long)layer->proterr, (unsigned long)layer->err, after);
}

static void print_pool(const char *name, const struct stats_mem *pool, size_t unit)
{
    printf("{\"name\":\"%s\",\"peak\":%lu,\"capacity\":%lu,\"unit_bytes\":%lu,\"failures\":%lu}", name,
           (unsigned long)pool->max, (unsigned long)pool->avail, (unsigned long)unit, (unsigned long)pool->err);
}

void say_ready(void)
{
    printf("ready\n");
    fflush(stdout);
}

void say_counts(void)
{
    int i;

    printf("{\"tcp\":{\"received_bytes\":%llu,\"sent_bytes\":%llu},", counts.tcp_received, counts.tcp_sent);
    printf("\"udp\":{\"received_bytes\":%llu,\"sent_bytes\":%llu,\"received_packets\":%llu,\"sent_packets\":%llu},",
           counts.udp_received, counts.udp_sent, counts.udp_received_datagrams, counts.udp_sent_datagrams);
    printf("\"version\":\"%s\",\"settings\":{\"TCP_MSS\":%lu,\"TCP_WND\":%lu,\"TCP_SND_BUF\":%lu,\"PBUF_POOL_SIZE\":%lu,"
           "\"PBUF_POOL_BUFSIZE\":%lu,\"MEM_SIZE\":%lu,\"MEMP_NUM_TCP_SEG\":%lu,\"LWIP_IPV4\":%d,\"LWIP_IPV6\":%d,"
           "\"LWIP_SOCKET\":%d,\"LWIP_TCPIP_CORE_LOCKING\":%d},",
           LWIP_VERSION_STRING, (unsigned long)TCP_MSS, (unsigned long)TCP_WND, (unsigned long)TCP_SND_BUF,
           (unsigned long)PBUF_POOL_SIZE, (unsigned long)PBUF_POOL_BUFSIZE, (unsigned long)MEM_SIZE,
           (unsigned long)MEMP_NUM_TCP_SEG, LWIP_IPV4, LWIP_IPV6, LWIP_SOCKET, LWIP_SOCKET && LWIP_TCPIP_CORE_LOCKING);
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
    print_pool("heap", &lwip_stats.mem, 1);
    for (i = 0; i < MEMP_MAX; i++) {
        printf(",");
        print_pool(memp_pools[i]->desc, memp_pools[i]->stats, memp_pools[i]->size);
    }
    printf("]}\n");
    fflush(stdout);
}
