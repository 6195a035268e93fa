"""Moves this process into a network of its own, in which no other process can reach it."""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

from trainer.errors import UserError

# Constants of Linux: <linux/sched.h>, <linux/sockios.h>, <linux/if.h>.
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 0x1


def enter_private_network() -> None:
    """Moves this process, and those that it will start, into a new network namespace.

    It has a loopback interface only: these processes reach each other, no other process of this
    machine or of the network reaches them, and they reach nothing else. The process must have one
    thread.

    Raises:
        UserError: the system does not allow it.
    """
    try:
        _enter()
    except OSError as error:
        raise UserError(
            f"--private_network: this system does not allow a network namespace "
            f"({error.strerror or error}); remove the flag, or start the command in a container "
            "without a network"
        ) from error


def _enter() -> None:
    if sys.platform != "linux":
        raise OSError("it has no such namespaces")
    user, group = os.getuid(), os.getgid()
    try:
        _unshare(_NEW_NETWORK)
    except PermissionError:
        # In a user namespace of its own, a process without privileges may do it too.
        _unshare(_NEW_USER | _NEW_NETWORK)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as request:
        fcntl.ioctl(request, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))


def _unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
