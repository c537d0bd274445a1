/* Stands for an accelerated stack: takes the place of the C library's send and recv in the program that loads
 * it, and counts the calls that came to it in the file COUNTED, two numbers of 64 bits: however the program
 * ends, they are there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t *calls;
static ssize_t (*next_send)(int, const void *, size_t, int);
static ssize_t (*next_recv)(int, void *, size_t, int);

__attribute__((constructor)) static void begin(void)
{
    size_t size = 2 * sizeof *calls;
    int file = open(getenv("COUNTED"), O_RDWR);
    if (file < 0 || ftruncate(file, (off_t)size))
        abort();
    calls = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (calls == MAP_FAILED)
        abort();
    close(file);
    *(void **)&next_send = dlsym(RTLD_NEXT, "send");
    *(void **)&next_recv = dlsym(RTLD_NEXT, "recv");
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    __atomic_add_fetch(&calls[0], 1, __ATOMIC_RELAXED);
    return next_send(fd, bytes, length, flags);
}

ssize_t recv(int fd, void *room, size_t length, int flags)
{
    __atomic_add_fetch(&calls[1], 1, __ATOMIC_RELAXED);
    return next_recv(fd, room, length, flags);
}
