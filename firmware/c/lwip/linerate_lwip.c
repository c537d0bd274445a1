#include "linerate_lwip.h"

#include <string.h>

/* Datagrams of one round: a sender without a pace must not keep the stack from its input. */
#define BURST 16

/* What a TCP stream is made of; lwIP sends it from where it is. */
static const uint8_t zeros[1460];

static struct linerate_address address_of(const ip_addr_t *ip, u16_t port)
{
    struct linerate_address address;

    memset(&address, 0, sizeof address);
    address.port = port;
#if LWIP_IPV6
    if (IP_IS_V6(ip)) {
        address.length = 16;
        memcpy(address.bytes, ip_2_ip6(ip)->addr, 16);
        return address;
    }
#endif
    address.length = 4;
    memcpy(address.bytes, &ip_2_ip4(ip)->addr, 4);
    return address;
}

static void ip_of(const struct linerate_address *address, ip_addr_t *ip)
{
    ip_addr_set_zero(ip);
#if LWIP_IPV6
    if (address->length == 16) {
        IP_SET_TYPE(ip, IPADDR_TYPE_V6);
        memcpy(ip_2_ip6(ip)->addr, address->bytes, 16);
        return;
    }
    IP_SET_TYPE(ip, IPADDR_TYPE_V4);
#endif
    memcpy(&ip_2_ip4(ip)->addr, address->bytes, 4);
}

/* Takes a connection from its callbacks and closes it. */
static void leave(struct tcp_pcb *pcb)
{
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    if (tcp_close(pcb) != ERR_OK) {
        tcp_abort(pcb);
    }
}

/* The control connection. */

static void say(struct linerate_lwip *node)
{
    while (node->control != NULL) {
        if (node->out_length == 0) {
            node->out_length = linerate_control_output(node->responder, node->out, sizeof node->out);
        }
        /* Without room in lwIP the rest waits for its next round. */
        if (node->out_length == 0 || tcp_sndbuf(node->control) < node->out_length ||
            tcp_write(node->control, node->out, (u16_t)node->out_length, TCP_WRITE_FLAG_COPY) != ERR_OK) {
            break;
        }
        node->out_length = 0;
    }
    if (node->control != NULL) {
        tcp_output(node->control);
        if (node->out_length == 0 && linerate_control_wants_close(node->responder)) {
            leave(node->control);
            node->control = NULL;
            linerate_control_closed(node->responder, node->clock());
        }
    }
}

static void control_failed(void *arg, err_t error)
{
    struct linerate_lwip *node = arg;

    LWIP_UNUSED_ARG(error);
    node->control = NULL;
    linerate_control_closed(node->responder, node->clock());
}

static err_t control_received(void *arg, struct tcp_pcb *pcb, struct pbuf *chain, err_t error)
{
    struct linerate_lwip *node = arg;
    const struct pbuf *part;

    LWIP_UNUSED_ARG(error);
    if (chain == NULL) {
        node->control = NULL;
        linerate_control_closed(node->responder, node->clock());
        leave(pcb);
        return ERR_OK;
    }
    for (part = chain; part != NULL; part = part->next) {
        linerate_control_received(node->responder, node->clock(), part->payload, part->len);
    }
    tcp_recved(pcb, chain->tot_len);
    pbuf_free(chain);
    say(node);
    return ERR_OK;
}

static err_t control_accepted(void *arg, struct tcp_pcb *pcb, err_t error)
{
    struct linerate_lwip *node = arg;
    struct linerate_address client;

    if (error != ERR_OK || pcb == NULL) {
        return ERR_VAL;
    }
    if (node->control != NULL) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    node->control = pcb;
    node->out_length = 0;
    tcp_arg(pcb, node);
    tcp_recv(pcb, control_received);
    tcp_err(pcb, control_failed);
    tcp_nagle_disable(pcb);
    client = address_of(&pcb->remote_ip, pcb->remote_port);
    linerate_control_opened(node->responder, node->clock(), &client);
    return ERR_OK;
}

/* Datagrams. */

static void datagram_received(void *arg, struct udp_pcb *pcb, struct pbuf *chain, const ip_addr_t *from, u16_t port)
{
    struct linerate_lwip *node = arg;
    enum linerate_port to = pcb == node->datagrams[0] ? LINERATE_RECEIVE : LINERATE_SEND;
    struct linerate_address address = address_of(from, port);

    /* In one piece; without memory for that it is lost, as on any full queue. */
    chain = pbuf_coalesce(chain, PBUF_TRANSPORT);
    if (chain->next == NULL && linerate_datagram_received(node->responder, node->clock(), to, &address,
                                                           chain->payload, chain->len)) {
        udp_sendto(pcb, chain, from, port);
    }
    pbuf_free(chain);
}

static void send_datagrams(struct linerate_lwip *node)
{
    struct linerate_address address;
    struct pbuf *packet;
    ip_addr_t to;
    size_t length;
    int sent;

    for (sent = 0; sent < BURST; sent++) {
        length = linerate_datagram_output(node->responder, node->clock(), node->scratch, sizeof node->scratch, &address);
        if (length == 0) {
            break;
        }
        packet = pbuf_alloc(PBUF_TRANSPORT, (u16_t)length, PBUF_RAM);
        if (packet == NULL) {
            break;
        }
        pbuf_take(packet, node->scratch, (u16_t)length);
        ip_of(&address, &to);
        udp_sendto(node->datagrams[1], packet, &to, address.port);
        pbuf_free(packet);
    }
}

/* The data connection. */

static void send_stream(struct linerate_lwip *node)
{
    size_t room;

    while (node->stream != NULL) {
        room = LWIP_MIN(tcp_sndbuf(node->stream), sizeof zeros);
        if (node->stream_unsent == 0) {
            node->stream_unsent = linerate_stream_output(node->responder, node->clock(), room);
        }
        if (node->stream_unsent == 0 || room < node->stream_unsent ||
            tcp_write(node->stream, zeros, (u16_t)node->stream_unsent, 0) != ERR_OK) {
            break;
        }
        node->stream_unsent = 0;
    }
    if (node->stream != NULL) {
        tcp_output(node->stream);
        if (node->stream_unsent == 0 && linerate_stream_wants_close(node->responder)) {
            leave(node->stream);
            node->stream = NULL;
            linerate_stream_closed(node->responder);
        }
    }
}

static void stream_failed(void *arg, err_t error)
{
    struct linerate_lwip *node = arg;

    LWIP_UNUSED_ARG(error);
    node->stream = NULL;
    linerate_stream_ended(node->responder);
}

static err_t stream_received(void *arg, struct tcp_pcb *pcb, struct pbuf *chain, err_t error)
{
    struct linerate_lwip *node = arg;
    struct pbuf *part;

    LWIP_UNUSED_ARG(error);
    if (chain == NULL) {
        linerate_stream_ended(node->responder);
        return ERR_OK;
    }
    /* Each piece may have to go back; lwIP keeps what is refused and offers it again. */
    if (tcp_sndbuf(pcb) < chain->tot_len || tcp_sndqueuelen(pcb) + 2 * pbuf_clen(chain) > TCP_SND_QUEUELEN) {
        return ERR_MEM;
    }
    for (part = chain; part != NULL; part = part->next) {
        if (linerate_stream_received(node->responder, node->clock(), part->payload, part->len)) {
            tcp_write(pcb, part->payload, part->len, TCP_WRITE_FLAG_COPY);
        }
    }
    tcp_recved(pcb, chain->tot_len);
    pbuf_free(chain);
    tcp_output(pcb);
    return ERR_OK;
}

static err_t stream_sent(void *arg, struct tcp_pcb *pcb, u16_t length)
{
    LWIP_UNUSED_ARG(pcb);
    LWIP_UNUSED_ARG(length);
    send_stream(arg);
    return ERR_OK;
}

static err_t stream_accepted(void *arg, struct tcp_pcb *pcb, err_t error)
{
    struct linerate_lwip *node = arg;
    struct linerate_address from;

    if (error != ERR_OK || pcb == NULL) {
        return ERR_VAL;
    }
    from = address_of(&pcb->remote_ip, pcb->remote_port);
    if (node->stream != NULL || !linerate_stream_opened(node->responder, &from)) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    node->stream = pcb;
    node->stream_unsent = 0;
    tcp_arg(pcb, node);
    tcp_recv(pcb, stream_received);
    tcp_sent(pcb, stream_sent);
    tcp_err(pcb, stream_failed);
    tcp_nagle_disable(pcb);
    return ERR_OK;
}

static err_t listen_at(struct linerate_lwip *node, u16_t port, tcp_accept_fn accepted)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
    struct tcp_pcb *listener;
    err_t error;

    if (pcb == NULL) {
        return ERR_MEM;
    }
    error = tcp_bind(pcb, IP_ANY_TYPE, port);
    if (error != ERR_OK) {
        tcp_close(pcb);
        return error;
    }
    listener = tcp_listen(pcb);
    if (listener == NULL) {
        tcp_close(pcb);
        return ERR_MEM;
    }
    tcp_arg(listener, node);
    tcp_accept(listener, accepted);
    return ERR_OK;
}

err_t linerate_lwip_init(struct linerate_lwip *node, linerate_responder *responder,
                         const struct linerate_config *config, uint64_t (*clock)(void))
{
    const u16_t ports[2] = {config->receive_port, config->send_port};
    err_t error;
    int at;

    memset(node, 0, sizeof *node);
    node->responder = responder;
    node->clock = clock;
    error = listen_at(node, LINERATE_CONTROL_PORT, control_accepted);
    for (at = 0; at < 2 && error == ERR_OK; at++) {
        error = listen_at(node, ports[at], stream_accepted);
        node->datagrams[at] = udp_new_ip_type(IPADDR_TYPE_ANY);
        if (node->datagrams[at] == NULL) {
            return ERR_MEM;
        }
        if (error == ERR_OK) {
            error = udp_bind(node->datagrams[at], IP_ANY_TYPE, ports[at]);
        }
        udp_recv(node->datagrams[at], datagram_received, node);
    }
    return error;
}

void linerate_lwip_poll(struct linerate_lwip *node)
{
    send_datagrams(node);
    send_stream(node);
    linerate_poll(node->responder, node->clock());
    say(node);
}
