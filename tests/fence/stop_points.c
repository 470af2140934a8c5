/* Preloaded into the daemon: stops its process at the n-th step of a transfer, or fails its loads.
 *
 * A step is the moment before or after a call that the fence orders: a copy between processes, or a
 * read or write of a grant word. The test arms it through a file that both map.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../engine/control_file.h"

struct control {
    _Atomic uint64_t stop_at; /* 0: only count */
    _Atomic uint64_t seen;
    _Atomic uint64_t fails; /* copies into engines fail with EIO */
};

static struct control *control;

__attribute__((constructor)) static void map_control(void)
{
    control = map_control_file("STOP_POINTS", sizeof *control);
}

static void step(void)
{
    if (control && atomic_fetch_add(&control->seen, 1) + 1 == atomic_load(&control->stop_at))
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), SIGSTOP);
}

static int is_grant_file(int fd)
{
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return strstr(path, ".grants/") != NULL;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
                         const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
    step();
    ssize_t result = NEXT(process_vm_readv)(pid, local, locals, remote, remotes, flags);
    step();
    return result;
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long locals,
                          const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
    step();
    if (control && atomic_load(&control->fails)) {
        errno = EIO;
        return -1;
    }
    ssize_t result = NEXT(process_vm_writev)(pid, local, locals, remote, remotes, flags);
    step();
    return result;
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset)
{
    int counts = is_grant_file(fd);
    if (counts)
        step();
    ssize_t result = NEXT(pread64)(fd, bytes, length, offset);
    if (counts)
        step();
    return result;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset)
{
    int counts = is_grant_file(fd);
    if (counts)
        step();
    ssize_t result = NEXT(pwrite64)(fd, bytes, length, offset);
    if (counts)
        step();
    return result;
}
