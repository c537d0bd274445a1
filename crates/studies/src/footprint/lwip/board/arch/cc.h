/* What lwIP asks of a compiler, for a bare board: no console, no operating system. */
#ifndef LINERATE_CC_H
#define LINERATE_CC_H

extern unsigned int linerate_random(void);

#define LWIP_RAND() linerate_random()
#define LWIP_PLATFORM_DIAG(x) do { } while (0)
#define LWIP_PLATFORM_ASSERT(x) do { for (;;) { } } while (0)

#endif
