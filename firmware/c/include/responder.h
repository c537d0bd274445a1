/* linerate's responder for microcontrollers: the peer of `linerate udp HOST`, `latency HOST` and `tcp HOST`.
 *
 * It keeps no memory but what it is given, does no input or output and reads no clock: whoever owns the network
 * stack hands it what came, sends what it gives, and calls linerate_poll after each round. Not for several threads
 * at once: call everything from the thread of the stack.
 *
 * Times are nanoseconds on a monotonic clock of the device. */
#ifndef LINERATE_RESPONDER_H
#define LINERATE_RESPONDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The TCP port of the control connection. */
#define LINERATE_CONTROL_PORT 5301
/* Bytes of memory that a responder takes, aligned to 8. */
#define LINERATE_RESPONDER_SIZE 12288

typedef struct linerate_responder linerate_responder;

/* What a device says of itself, and where it listens. Texts must live as long as the responder; NULL says nothing. */
struct linerate_config {
    const char *board;
    const char *processor;
    /* The network stack and the system below it, with their versions. */
    const char *stack;
    /* The machine that an emulator pretends to be, and the emulator; NULL of a real one. */
    const char *emulated;
    /* UDP and TCP port that traffic comes to, and that it is sent from; the two after the control port. */
    uint16_t receive_port;
    uint16_t send_port;
    /* Longest UDP payload that the stack takes and gives: 1472 of IPv4 in one Ethernet frame. */
    uint16_t max_datagram;
    /* Bits that nobody else can guess, such as of a noise source. */
    uint64_t random;
};

/* An IP address, 4 or 16 bytes long in network order, and a port in the device's order. */
struct linerate_address {
    uint8_t bytes[16];
    uint8_t length;
    uint16_t port;
};

/* Counters of the device, cumulative since it started. Those that are never told are reported as unknown. */
enum linerate_signal {
    LINERATE_CPU_IDLE_NS,
    LINERATE_NIC_RX_PACKETS,
    LINERATE_NIC_RX_BYTES,
    LINERATE_NIC_RX_DROPPED,
    LINERATE_NIC_RX_ERRORS,
    LINERATE_NIC_TX_PACKETS,
    LINERATE_NIC_TX_BYTES,
    LINERATE_NIC_TX_DROPPED,
    /* Frames dropped between the interface and the stack. */
    LINERATE_QUEUE_DROPPED,
    /* Datagrams dropped because a socket had no room. */
    LINERATE_UDP_DROPPED,
    LINERATE_UDP_CHECKSUM_ERRORS
};

/* The port that a datagram came to. */
enum linerate_port { LINERATE_RECEIVE, LINERATE_SEND };

/* Makes a responder in `memory` of `size` bytes; NULL if it is too small or not aligned to 8. */
linerate_responder *linerate_responder_init(void *memory, size_t size, const struct linerate_config *config);

/* Says what time it is, after each round of what came and went, and at linerate_deadline at the latest. */
void linerate_poll(linerate_responder *responder, uint64_t now);
/* When linerate_poll wants to be called if nothing comes before. A device that can sleep may sleep until then. */
uint64_t linerate_deadline(linerate_responder *responder, uint64_t now);
/* Notes the reading of a counter. */
void linerate_count(linerate_responder *responder, enum linerate_signal signal, uint64_t value);

/* The control connection: one client at a time; refuse another while there is one. */
void linerate_control_opened(linerate_responder *responder, uint64_t now, const struct linerate_address *client);
void linerate_control_received(linerate_responder *responder, uint64_t now, const void *bytes, size_t length);
/* Writes up to `room` bytes that are to be sent; how many. They count as sent. */
size_t linerate_control_output(linerate_responder *responder, void *bytes, size_t room);
/* Whether all is said and this end is to close the connection. */
int linerate_control_wants_close(const linerate_responder *responder);
void linerate_control_closed(linerate_responder *responder, uint64_t now);

/* A datagram came; not 0 if it is to be sent back, from the port it came to and as it now is. */
int linerate_datagram_received(linerate_responder *responder, uint64_t now, enum linerate_port port,
                               const struct linerate_address *from, void *bytes, size_t length);
/* Writes the next datagram that is due, which goes from the sending port to `to`; its length, 0 if none is due. After
   at most 64 of them none is, until the next linerate_poll. */
size_t linerate_datagram_output(linerate_responder *responder, uint64_t now, void *bytes, size_t room,
                                struct linerate_address *to);

/* The data connection of a test over TCP, to either port; not 0 if it is wanted. */
int linerate_stream_opened(linerate_responder *responder, const struct linerate_address *from);
/* Bytes came; not 0 if they are to be sent back as they now are. Hand in no more than can be sent. */
int linerate_stream_received(linerate_responder *responder, uint64_t now, void *bytes, size_t length);
/* How many bytes of any value are to be sent now, if there is room for `room`. They count as sent. 0 after at
   most 64 calls, until the next linerate_poll. */
size_t linerate_stream_output(linerate_responder *responder, uint64_t now, size_t room);
/* The client sends no more. */
void linerate_stream_ended(linerate_responder *responder);
/* Whether this end is to close the connection that there is. */
int linerate_stream_wants_close(const linerate_responder *responder);
void linerate_stream_closed(linerate_responder *responder);

#ifdef __cplusplus
}
#endif

#endif
