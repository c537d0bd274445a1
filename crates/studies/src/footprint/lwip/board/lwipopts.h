/* lwIP with TCP, UDP and what IP needs beside them, without an operating system. The levels of the configuration are given
 * on the command line: LINERATE_IPV4, LINERATE_IPV6, LINERATE_LARGE_BUFFERS. */
#ifndef LINERATE_LWIPOPTS_H
#define LINERATE_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define MEM_ALIGNMENT 4

#define LWIP_IPV4 LINERATE_IPV4
#define LWIP_IPV6 LINERATE_IPV6
#define LWIP_ETHERNET 1
#define LWIP_ARP LINERATE_IPV4
#define LWIP_DHCP LINERATE_IPV4
#define LWIP_ICMP LINERATE_IPV4
#define LWIP_DNS 1
#define LWIP_UDP 1
#define LWIP_TCP 1
#define LWIP_STATS 1

#define TCP_MSS 1460
#define PBUF_POOL_BUFSIZE 1536
#if LINERATE_LARGE_BUFFERS
#define MEM_SIZE (64 * 1024)
#define PBUF_POOL_SIZE 48
#define TCP_WND (16 * TCP_MSS)
#define TCP_SND_BUF (16 * TCP_MSS)
#define MEMP_NUM_TCP_SEG 64
#else
#define MEM_SIZE (16 * 1024)
#define PBUF_POOL_SIZE 16
#define TCP_WND (4 * TCP_MSS)
#define TCP_SND_BUF (4 * TCP_MSS)
#define MEMP_NUM_TCP_SEG 16
#endif
#define TCP_SND_QUEUELEN (4 * (TCP_SND_BUF / TCP_MSS))

#endif
