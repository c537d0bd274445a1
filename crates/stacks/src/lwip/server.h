/* What the servers on lwIP's interfaces to programs have in common.
 *
 *   iperf2.c            what iperf2 writes, and what was counted
 *   link.c              frames, and the addresses of the stack
 *   raw.c, socket.c     one of them: a server on that interface
 *
 *   server IPV4 IPV6    the addresses of the stack, in networks of 24 and 64 bits
 *
 *   descriptor 0        a TAP device: frames
 *   descriptor 1        a socket: says "ready"; then for each line that comes, a line of counts; ends with it */
#ifndef LINERATE_SERVER_H
#define LINERATE_SERVER_H

#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lwip/netif.h"
#include "lwip/stats.h"
#if LWIP_SOCKET
#include "lwip/sockets.h"
#endif

#define PORT 5001
#define FRAMES 0
#define CONTROL 1

/* Frames and datagrams of one turn: enough to make a turn cheap, few enough for the others to have theirs. */
#define TURN 32
/* Most tests at once, of each transport. */
#define TESTS 64

#define LONG_HEADER 64
/* Number and time of a datagram. */
#define NUMBER 16

typedef unsigned long long u64;

/* No moment. */
#define NEVER (~0ull)

/* What is sent: the content does not matter. */
extern const u8_t block[65536];

/* L4 payload between the stack and its program. Nothing is counted that opens or ends a test: its settings at the
 * beginning of a TCP stream, its first and its last datagrams. */
struct counts {
    _Atomic u64 tcp_received, tcp_sent;
    _Atomic u64 udp_received, udp_sent, udp_received_datagrams, udp_sent_datagrams;
};
extern struct counts counts;

/* What a client asks for. */
struct request {
    int receives, sends, is_wide;
    /* Bit/s; 0 for as fast as it goes. */
    u64 rate;
    u64 micros;
    u32_t payload;
};

struct stream {
    struct request request;
    u8_t header[LONG_HEADER];
    u16_t has, wants;
    int is_sending;
    u64 began, written;
};

/* Where a datagram came from. Bytes that are not used are 0, so that peers are compared by all of them. */
struct peer {
#if LWIP_SOCKET && LWIP_IPV6
    struct sockaddr_in6 address;
#elif LWIP_SOCKET
    struct sockaddr_in address;
#else
    ip_addr_t address;
    u16_t port;
#endif
};

struct flow {
    int is_known;
    struct peer peer;
    struct request request;
    /* Received: number that comes next, datagrams, and those that came late; the first one opens the flow. */
    u64 next, received, late, bytes, opened;
    int peer_ended;
    /* Sent. */
    int is_sending;
    u64 sent, began;
    /* Ends that were said, and when to say the next. */
    int ends;
    u64 next_end;
    /* Of two threads, where there are some: the client has answered an end; nothing more is sent. */
    _Atomic int is_answered, is_over;
};
extern struct flow flows[TESTS];

/* ---- iperf2.c ---- */

u64 micros(void);
/* When so many bytes are due that left since `began`. */
u64 due(const struct request *request, u64 began, u64 bytes);
/* Before the first byte of a stream. */
void open_stream(struct stream *stream);
/* How many of a stream's bytes are its settings; it may have to send once they are there. */
u16_t take_settings(struct stream *stream, const u8_t *bytes, u16_t length);
/* One datagram, of which `has` bytes are at hand. */
void take_datagram(const struct peer *peer, const u8_t *bytes, u16_t has, u16_t length);
/* Sends what is due, and not too much at a time; when to go on. */
u64 send_flow(struct flow *flow);
/* Streams came to their end, each way. */
void add_ended(int streams);
/* Waits until so many have, but not forever. */
void wait_for_ended(u64 streams);
void say_ready(void);
void say_counts(void);

/* ---- link.c ---- */

/* What is in the other's hands once this returns 1: the thread that is lwIP's. */
int start_interface(const char *address4, const char *address6, netif_input_fn input);
/* How many frames came; never more than a turn. */
int receive_frames(void);

/* ---- raw.c or socket.c ---- */

/* Sends a datagram that begins with `head`; whether there was room. */
int send_datagram(const struct peer *peer, const u8_t *head, u16_t head_length, u16_t length);
/* A flow begins in which this end sends. */
void start_sending(struct flow *flow);

#endif
