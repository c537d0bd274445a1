/* linerate's responder on lwIP, on the TAP device that PRECONFIGURED_TAPIF names.
 *
 *   responder LOCAL
 *
 * Prints "ready" when it listens. Ends when it is killed. */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "linerate_lwip.h"
#include "lwip/sys.h"
#include "lwip/tcpip.h"
#include "netif/tapif.h"

static struct netif board;
static ip4_addr_t local;
static uint64_t memory[LINERATE_RESPONDER_SIZE / 8];
static struct linerate_lwip node;

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void start(void *arg)
{
    static const struct linerate_config config = {
        .board = "a TAP device",
        .stack = "lwIP of Debian",
        .receive_port = LINERATE_CONTROL_PORT + 1,
        .send_port = LINERATE_CONTROL_PORT + 2,
        .max_datagram = 1472,
        .random = 0x5eed,
    };
    ip4_addr_t mask, gateway;
    linerate_responder *responder = linerate_responder_init(memory, sizeof memory, &config);

    IP4_ADDR(&mask, 255, 255, 255, 0);
    ip4_addr_set_zero(&gateway);
    if (netif_add(&board, &local, &mask, &gateway, NULL, tapif_init, tcpip_input) == NULL) {
        fprintf(stderr, "no interface\n");
        exit(1);
    }
    netif_set_default(&board);
    netif_set_up(&board);
    netif_set_link_up(&board);
    if (responder == NULL || linerate_lwip_init(&node, responder, &config, now) != ERR_OK) {
        fprintf(stderr, "the responder does not start\n");
        exit(1);
    }
    sys_sem_signal((sys_sem_t *)arg);
}

int main(int argc, char **argv)
{
    sys_sem_t up;

    if (argc != 2 || !ip4addr_aton(argv[1], &local)) {
        fprintf(stderr, "responder LOCAL\n");
        return 2;
    }
    if (sys_sem_new(&up, 0) != ERR_OK) {
        return 1;
    }
    tcpip_init(start, &up);
    sys_arch_sem_wait(&up, 0);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        LOCK_TCPIP_CORE();
        linerate_lwip_poll(&node);
        UNLOCK_TCPIP_CORE();
        sys_msleep(1);
    }
}
