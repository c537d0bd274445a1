/* What lwIP asks of a compiler and of the host below it. */
#ifndef LINERATE_CC_H
#define LINERATE_CC_H

#include <stdio.h>
#include <stdlib.h>

#define LWIP_RAND() ((u32_t)random())
#define LWIP_PLATFORM_DIAG(x) do { } while (0)
#define LWIP_PLATFORM_ASSERT(x) do { fprintf(stderr, "lwIP: %s\n", x); abort(); } while (0)

#if LINERATE_SOCKETS
/* The host's errors, times and byte orders. */
#include <sys/time.h>
#define LWIP_ERRNO_STDINCLUDE 1
#define LWIP_TIMEVAL_PRIVATE 0
#define LWIP_DONT_PROVIDE_BYTEORDER_FUNCTIONS

typedef unsigned int sys_prot_t;

struct sys_sem;
struct sys_sem **own_semaphore(void);
#define LWIP_NETCONN_THREAD_SEM_GET() own_semaphore()
#define LWIP_NETCONN_THREAD_SEM_ALLOC()
#define LWIP_NETCONN_THREAD_SEM_FREE() do { sys_sem_free(own_semaphore()); *own_semaphore() = NULL; } while (0)
#endif

#endif
