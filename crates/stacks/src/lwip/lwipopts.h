/* lwIP as a microcontroller has it, with all of its counters: without an operating system for the raw API, with threads for
 * sockets. What a plan gives comes from the command line and goes before what stands here. */
#ifndef LINERATE_LWIPOPTS_H
#define LINERATE_LWIPOPTS_H

/* What the server relies on. */
#define NO_SYS (!LINERATE_SOCKETS)
#define SYS_LIGHTWEIGHT_PROT LINERATE_SOCKETS
#define LWIP_NETCONN LINERATE_SOCKETS
#define LWIP_SOCKET LINERATE_SOCKETS
/* Addresses are those of the host, whose sockets have the names that lwIP's would have. */
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_SOCKET_EXTERNAL_HEADERS LINERATE_SOCKETS
#define LWIP_SOCKET_EXTERNAL_HEADER_SOCKETS_H "posix/sockets.h"
#define LWIP_SOCKET_EXTERNAL_HEADER_INET_H "posix/inet.h"
#define LWIP_SOCKET_SELECT 0
#define LWIP_SOCKET_POLL 0
/* One thread receives from a socket while another sends. */
#define LWIP_NETCONN_FULLDUPLEX LINERATE_SOCKETS
#define LWIP_NETCONN_SEM_PER_THREAD LINERATE_SOCKETS
#define LWIP_ETHERNET 1
#define LWIP_UDP 1
#define LWIP_TCP 1
#define LWIP_STATS 1
#define LWIP_STATS_LARGE 1
#define LWIP_STATS_DISPLAY 1
#define MEM_ALIGNMENT 8
/* Pointers of 64 bits do not fit where lwIP keeps them in a fragment. */
#define IPV6_FRAG_COPYHEADER 1
/* One address of each version, given. */
#define LWIP_IPV6_AUTOCONFIG 0
#define LWIP_IPV6_SEND_ROUTER_SOLICIT 0

#ifndef LWIP_IPV4
#define LWIP_IPV4 1
#endif
#ifndef LWIP_IPV6
#define LWIP_IPV6 1
#endif
#ifndef TCP_MSS
#define TCP_MSS 1460
#endif
#ifndef PBUF_POOL_BUFSIZE
/* A whole frame. */
#define PBUF_POOL_BUFSIZE 1536
#endif

#if LINERATE_LARGE_BUFFERS
#define LINERATE_SEGMENTS 16
#else
#define LINERATE_SEGMENTS 4
#endif
#ifndef MEM_SIZE
#define MEM_SIZE (LINERATE_SEGMENTS * 4096)
#endif
#ifndef PBUF_POOL_SIZE
#if LINERATE_LARGE_BUFFERS
#define PBUF_POOL_SIZE 48
#else
#define PBUF_POOL_SIZE 16
#endif
#endif
#ifndef TCP_WND
#define TCP_WND (LINERATE_SEGMENTS * TCP_MSS)
#endif
#ifndef TCP_SND_BUF
#define TCP_SND_BUF (LINERATE_SEGMENTS * TCP_MSS)
#endif
#ifndef TCP_SND_QUEUELEN
#define TCP_SND_QUEUELEN (4 * (TCP_SND_BUF / TCP_MSS))
#endif
#ifndef MEMP_NUM_TCP_SEG
#define MEMP_NUM_TCP_SEG TCP_SND_QUEUELEN
#endif
#ifndef MEMP_NUM_PBUF
/* What is sent is referred to, a buffer each. */
#define MEMP_NUM_PBUF (TCP_SND_QUEUELEN + 16)
#endif
#if LINERATE_SOCKETS
#ifndef MEMP_NUM_NETCONN
/* One that listens, one for datagrams, and as many as there are connections. */
#define MEMP_NUM_NETCONN 8
#endif
/* Packet buffers are what limits, as without sockets, not the notes that go from thread to thread with them. */
#ifndef MEMP_NUM_NETBUF
#define MEMP_NUM_NETBUF PBUF_POOL_SIZE
#endif
#ifndef MEMP_NUM_TCPIP_MSG_INPKT
#define MEMP_NUM_TCPIP_MSG_INPKT PBUF_POOL_SIZE
#endif
#endif
/* A window beyond 64 KiB has to be scaled. */
#if TCP_WND > 0xffff && !defined(LWIP_WND_SCALE)
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 7
#endif

#endif
