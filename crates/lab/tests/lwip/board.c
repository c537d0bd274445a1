/* A board on lwIP with its lwiperf application, on the TAP device that PRECONFIGURED_TAPIF names.
 *
 *   board server LOCAL             waits on port 5001
 *   board client LOCAL REMOTE      sends to port 5001 of REMOTE for as long as lwiperf does (10 s)
 *
 * Prints "ready", then a line "report KIND BYTES MILLISECONDS" per connection. Ends with its input. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lwip/apps/lwiperf.h"
#include "lwip/ip_addr.h"
#include "lwip/netif.h"
#include "lwip/sys.h"
#include "lwip/tcpip.h"
#include "netif/tapif.h"

static struct netif board;
static ip4_addr_t local;
static ip_addr_t remote;
static int sends;

static const char *kind_of(enum lwiperf_report_type type)
{
    switch (type) {
    case LWIPERF_TCP_DONE_SERVER:
        return "received";
    case LWIPERF_TCP_DONE_CLIENT:
        return "sent";
    default:
        return "aborted";
    }
}

static void report(void *arg, enum lwiperf_report_type type, const ip_addr_t *here, u16_t here_port,
                   const ip_addr_t *there, u16_t there_port, u32_t bytes, u32_t ms, u32_t kbits)
{
    LWIP_UNUSED_ARG(arg);
    LWIP_UNUSED_ARG(here);
    LWIP_UNUSED_ARG(here_port);
    LWIP_UNUSED_ARG(there);
    LWIP_UNUSED_ARG(there_port);
    LWIP_UNUSED_ARG(kbits);
    printf("report %s %lu %lu\n", kind_of(type), (unsigned long)bytes, (unsigned long)ms);
    fflush(stdout);
}

static void start(void *arg)
{
    ip4_addr_t mask, gateway;
    void *session;

    IP4_ADDR(&mask, 255, 255, 255, 0);
    ip4_addr_set_zero(&gateway);
    if (netif_add(&board, &local, &mask, &gateway, NULL, tapif_init, tcpip_input) == NULL) {
        fprintf(stderr, "no interface\n");
        exit(1);
    }
    netif_set_default(&board);
    netif_set_up(&board);
    netif_set_link_up(&board);
    if (sends) {
        session = lwiperf_start_tcp_client_default(&remote, report, NULL);
    } else {
        session = lwiperf_start_tcp_server_default(report, NULL);
    }
    if (session == NULL) {
        fprintf(stderr, "lwiperf does not start\n");
        exit(1);
    }
    sys_sem_signal((sys_sem_t *)arg);
}

int main(int argc, char **argv)
{
    sys_sem_t up;

    sends = argc == 4 && strcmp(argv[1], "client") == 0;
    if (!sends && !(argc == 3 && strcmp(argv[1], "server") == 0)) {
        fprintf(stderr, "board server LOCAL | client LOCAL REMOTE\n");
        return 2;
    }
    if (!ip4addr_aton(argv[2], &local) || (sends && !ipaddr_aton(argv[3], &remote))) {
        fprintf(stderr, "not an address\n");
        return 2;
    }
    if (sys_sem_new(&up, 0) != ERR_OK) {
        return 1;
    }
    tcpip_init(start, &up);
    sys_arch_sem_wait(&up, 0);
    printf("ready\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
