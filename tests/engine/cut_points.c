/* Preloaded into the daemon: ends a connection of its socket at the n-th byte that it sends.
 *
 * The test arms it through a file that both map.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_file.h"

struct control {
    _Atomic int64_t left; /* bytes until the cut; below 0: none */
    _Atomic uint64_t sent;
};

static struct control *control;

__attribute__((constructor)) static void map_control(void)
{
    control = map_control_file("CUT_POINTS", sizeof *control);
}

static int is_daemon_socket(int fd)
{
    struct sockaddr_un name = {0};
    socklen_t length = sizeof name - 1;
    return control && getsockname(fd, (struct sockaddr *)&name, &length) == 0 &&
           name.sun_family == AF_UNIX && strstr(name.sun_path, "daemon.sock");
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (!is_daemon_socket(fd))
        return NEXT(sendmsg)(fd, message, flags);
    size_t length = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        length += message->msg_iov[i].iov_len;
    int64_t left = atomic_load(&control->left);
    if (left < 0 || (uint64_t)left >= length) {
        ssize_t sent = NEXT(sendmsg)(fd, message, flags);
        if (sent > 0) {
            atomic_fetch_add(&control->sent, (uint64_t)sent);
            if (left >= 0)
                atomic_store(&control->left, left - sent);
        }
        return sent;
    }
    atomic_store(&control->left, -1);
    for (size_t i = 0; i < message->msg_iovlen && left > 0; i++) {
        size_t part = message->msg_iov[i].iov_len;
        if (part > (size_t)left)
            part = (size_t)left;
        left -= NEXT(send)(fd, message->msg_iov[i].iov_base, part, MSG_NOSIGNAL);
    }
    shutdown(fd, SHUT_RDWR);
    errno = EPIPE;
    return -1;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
    struct iovec part = {(void *)bytes, length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return is_daemon_socket(fd) ? sendmsg(fd, &message, flags) : NEXT(send)(fd, bytes, length, flags);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    return is_daemon_socket(fd) ? send(fd, bytes, length, MSG_NOSIGNAL) : NEXT(write)(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
    return is_daemon_socket(fd) ? sendmsg(fd, &message, MSG_NOSIGNAL) : NEXT(writev)(fd, parts, count);
}
