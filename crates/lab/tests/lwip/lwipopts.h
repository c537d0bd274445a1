/* lwIP as a small board has it: IPv4, TCP, one thread, frames of up to 1514 bytes. */
#ifndef LINERATE_LWIPOPTS_H
#define LINERATE_LWIPOPTS_H

#define NO_SYS 0
#define SYS_LIGHTWEIGHT_PROT 1
#define LWIP_TCPIP_CORE_LOCKING 1
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ICMP 1
#define LWIP_UDP 1
#define LWIP_TCP 1

#define MEM_ALIGNMENT 8
#define MEM_SIZE (256 * 1024)
#define MEMP_NUM_TCP_SEG 256
/* Frames that wait for lwIP's thread; the default loses all but 8 of a burst. */
#define MEMP_NUM_TCPIP_MSG_INPKT 128
#define PBUF_POOL_SIZE 128
/* The driver reads a whole frame into one buffer; the default holds 592 bytes. */
#define PBUF_POOL_BUFSIZE 1536

#define TCP_MSS 1460
#define TCP_WND (16 * TCP_MSS)
#define TCP_SND_BUF (16 * TCP_MSS)
#define TCP_SND_QUEUELEN (4 * (TCP_SND_BUF / TCP_MSS))

#define TCPIP_THREAD_STACKSIZE 0

#endif
