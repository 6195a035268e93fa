"""Restricts a TensorFlow server to connections of this machine.

TensorFlow's servers listen on all network interfaces, without a password, and have no option for
either. On Linux, sockets that share a port form a group, and a small program chooses the socket of
each new connection. The guard is a socket that enters the group before the server: the program
gives it all connections that do not come from this machine, and it drops them. Nothing here needs a
privilege, and the process can still connect to the network.
"""

import ctypes
import socket
import struct
import sys

from trainer.environment.cluster_spec import Cluster
from trainer.environment.variables import guards_port

# Options of <asm-generic/socket.h>, for which Python's socket module has no names.
_ATTACH_FILTER, _ATTACH_CHOICE = 26, 51
# Instructions of classic BPF: load a word or a byte, mask, jump if equal, return.
_WORD, _BYTE, _AND, _IF_EQUAL, _RETURN = 0x20, 0x30, 0x54, 0x15, 0x06
# Offset of the IP header, whatever the position of the packet's data.
_IP_HEADER = 0xFFF00000
# The guard is the first socket of its group, the server the second.
_GUARD, _SERVER = 0, 1
_DROP = ((_RETURN, 0, 0, 0),)
# Returns _SERVER for packets from 127.0.0.0/8 and ::1. An instruction is (code, jump if true, jump
# if false, value); a jump is the number of instructions to skip.
_CHOOSE = (
    (_BYTE, 0, 0, _IP_HEADER),
    (_AND, 0, 0, 0xF0),
    (_IF_EQUAL, 0, 3, 0x40),
    (_WORD, 0, 0, _IP_HEADER + 12),
    (_AND, 0, 0, 0xFF000000),
    (_IF_EQUAL, 8, 9, 0x7F000000),
    (_WORD, 0, 0, _IP_HEADER + 8),
    (_IF_EQUAL, 0, 7, 0),
    (_WORD, 0, 0, _IP_HEADER + 12),
    (_IF_EQUAL, 0, 5, 0),
    (_WORD, 0, 0, _IP_HEADER + 16),
    (_IF_EQUAL, 0, 3, 0),
    (_WORD, 0, 0, _IP_HEADER + 20),
    (_IF_EQUAL, 0, 1, 1),
    (_RETURN, 0, 0, _SERVER),
    (_RETURN, 0, 0, _GUARD),
)
# Port → guard, of this process; they stay open as long as it runs.
_guards: dict[int, socket.socket] = {}


def guard_server(cluster: Cluster) -> None:
    """Lets only this machine connect to the server that this process will start.

    Call it shortly before the server is started: until then, connections to its port wait. It does
    nothing in a process that a launcher has not started with GUARDS_PORT.

    Args:
        cluster: the cluster, and which process of it this is.

    Raises:
        OSError: this system cannot do it.
    """
    if guards_port() and cluster.is_distributed:
        port = int(cluster.spec[cluster.role][cluster.index].rpartition(":")[2])
        if port not in _guards:
            _guards[port] = _open_guard(port)


def is_supported() -> bool:
    """Returns whether this system can guard ports."""
    try:
        _open_guard(0).close()
    except OSError:
        return False
    return True


def _open_guard(port: int) -> socket.socket:
    if sys.platform != "linux":
        raise OSError("ports can be guarded on Linux only")
    guard = _open_socket()
    try:
        guard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        guard.bind(("", port))
        _attach(guard, _ATTACH_FILTER, _DROP)
        guard.listen(1)
        _attach(guard, _ATTACH_CHOICE, _CHOOSE)
    except BaseException:
        guard.close()
        raise
    return guard


def _open_socket() -> socket.socket:
    """Returns a socket of the kind that gRPC opens: for IPv6 and IPv4, if there is IPv6."""
    try:
        opened = socket.socket(socket.AF_INET6)
    except OSError:
        return socket.socket(socket.AF_INET)
    opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    return opened


def _attach(target: socket.socket, option: int, program: tuple[tuple[int, ...], ...]) -> None:
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    memory = ctypes.create_string_buffer(code, len(code))
    description = struct.pack("HL", len(program), ctypes.addressof(memory))
    target.setsockopt(socket.SOL_SOCKET, option, description)
