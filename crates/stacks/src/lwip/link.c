/* Frames of the TAP device, and the addresses of the stack on it. */

#include "server.h"

#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/sys.h"

static struct netif interface;

/* Of more than one thread, where there are some. */
#define COUNT(counter) SYS_ARCH_INC(lwip_stats.link.counter, 1)

static err_t send_frame(struct netif *netif, struct pbuf *p)
{
    static u8_t frame[65536];
    u16_t length = pbuf_copy_partial(p, frame, sizeof frame - 1, 0);

    LWIP_UNUSED_ARG(netif);
    if (write(FRAMES, frame, length) == length) {
        COUNT(xmit);
        return ERR_OK;
    }
    COUNT(drop);
    return ERR_IF;
}

int receive_frames(void)
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
            COUNT(memerr);
            COUNT(drop);
            continue;
        }
        COUNT(recv);
        pbuf_take(p, frame, (u16_t)length);
        if (interface.input(p, &interface) != ERR_OK) {
            COUNT(memerr);
            COUNT(drop);
            pbuf_free(p);
        }
    }
    return TURN - left;
}

static err_t set_up(struct netif *netif)
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

int start_interface(const char *address4, const char *address6, netif_input_fn input)
{
#if LWIP_IPV4
    ip4_addr_t address, mask;

    IP4_ADDR(&mask, 255, 255, 255, 0);
    if (!ip4addr_aton(address4, &address) ||
        netif_add(&interface, &address, &mask, NULL, NULL, set_up, input) == NULL) {
        return 0;
    }
#else
    LWIP_UNUSED_ARG(address4);
    if (netif_add(&interface, NULL, set_up, input) == NULL) {
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
    return 1;
}
