/* The responder on lwIP's raw callbacks: a piece to take into a firmware as it is.
 *
 * Call both functions from lwIP's thread, or with its core locked. */
#ifndef LINERATE_LWIP_H
#define LINERATE_LWIP_H

#include "lwip/tcp.h"
#include "lwip/udp.h"
#include "responder.h"

/* Longest datagram that is taken and given. */
#define LINERATE_LWIP_DATAGRAM 1472
/* Bytes of the control connection that wait for lwIP. */
#define LINERATE_LWIP_CONTROL 256

struct linerate_lwip {
    linerate_responder *responder;
    uint64_t (*clock)(void);
    struct tcp_pcb *control;
    uint8_t out[LINERATE_LWIP_CONTROL];
    size_t out_length;
    /* To receive on, and to send from. */
    struct udp_pcb *datagrams[2];
    struct tcp_pcb *stream;
    size_t stream_unsent;
    uint8_t scratch[LINERATE_LWIP_DATAGRAM];
};

/* Opens the sockets of `responder`, which was made of `config`. `clock` gives the device's time in nanoseconds. */
err_t linerate_lwip_init(struct linerate_lwip *node, linerate_responder *responder,
                         const struct linerate_config *config, uint64_t (*clock)(void));

/* Sends what is due: call it after each round of the stack's input, and at linerate_deadline at the latest. */
void linerate_lwip_poll(struct linerate_lwip *node);

#endif
