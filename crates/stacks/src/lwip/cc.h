/* What lwIP asks of a compiler and of the host below it. */
#ifndef LINERATE_CC_H
#define LINERATE_CC_H

#include <stdio.h>
#include <stdlib.h>

#define LWIP_RAND() ((u32_t)random())
#define LWIP_PLATFORM_DIAG(x) do { } while (0)
#define LWIP_PLATFORM_ASSERT(x) do { fprintf(stderr, "lwIP: %s\n", x); abort(); } while (0)

#endif
