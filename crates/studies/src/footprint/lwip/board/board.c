/* A program around lwIP that a linker can keep all of the data path of: an interface, lwiperf's TCP server, and UDP echo.
 * It is linked to be measured; its driver moves no frame. */
#include "lwip/apps/lwiperf.h"
#include "lwip/dhcp.h"
#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"

extern unsigned int board_data_begin[], board_data_end[], board_data_load[], board_bss_begin[], board_bss_end[];

static volatile unsigned int ticks;
static volatile unsigned int frame_ready;
static unsigned char frame[1536];

u32_t sys_now(void) { return ticks; }

unsigned int linerate_random(void)
{
  static unsigned int state = 1;
  state = state * 1664525u + 1013904223u;
  return state;
}

static err_t send_frame(struct netif *netif, struct pbuf *p)
{
  LWIP_UNUSED_ARG(netif);
  pbuf_copy_partial(p, frame, p->tot_len, 0);
  frame_ready = p->tot_len;
  return ERR_OK;
}

static err_t start_interface(struct netif *netif)
{
  netif->hwaddr_len = 6;
  netif->mtu = 1500;
  netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_MLD6;
  netif->linkoutput = send_frame;
#if LWIP_IPV4
  netif->output = etharp_output;
#endif
#if LWIP_IPV6
  netif->output_ip6 = ethip6_output;
  netif_create_ip6_linklocal_address(netif, 1);
#endif
  return ERR_OK;
}

static void echo(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
  LWIP_UNUSED_ARG(arg);
  udp_sendto(pcb, p, from, port);
  pbuf_free(p);
}

int main(void)
{
  static struct netif netif;
  struct udp_pcb *pcb;
  lwip_init();
  netif_add_noaddr(&netif, NULL, start_interface, ethernet_input);
  netif_set_default(&netif);
  netif_set_up(&netif);
#if LWIP_IPV4
  dhcp_start(&netif);
#endif
  lwiperf_start_tcp_server_default(NULL, NULL);
  pcb = udp_new();
  udp_bind(pcb, IP_ANY_TYPE, 7);
  udp_recv(pcb, echo, NULL);
  for (;;) {
    if (frame_ready) {
      struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)frame_ready, PBUF_POOL);
      frame_ready = 0;
      if (p != NULL) {
        pbuf_take(p, frame, p->tot_len);
        if (netif.input(p, &netif) != ERR_OK) {
          pbuf_free(p);
        }
      }
    }
    sys_check_timeouts();
  }
}

void board_reset(void)
{
  unsigned int *to, *from = board_data_load;
  for (to = board_data_begin; to < board_data_end; to++) {
    *to = *from++;
  }
  for (to = board_bss_begin; to < board_bss_end; to++) {
    *to = 0;
  }
  main();
}

static void tick(void) { ticks++; }
static void stop(void) { for (;;) { } }

extern unsigned int board_stack_end[];

/* Armv7-M vector table: initial stack pointer, reset, NMI to PendSV, SysTick. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
  board_stack_end, board_reset, stop, stop, stop, stop, stop, 0, 0, 0, 0, stop, stop, 0, stop, tick,
};
