"""Who can connect to a server of this machine."""

import contextlib
import os
import socket
from pathlib import Path


def find_own_address():
    """Returns an address of this machine that others know; None if it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return asking.getsockname()[0]


def can_connect(host, port, secs=0.3):
    try:
        socket.create_connection((host, port), timeout=secs).close()
    except OSError:
        return False
    return True


def list_listening(pid):
    """Returns the ports of all listening sockets of a process on Linux, sorted."""
    folder = Path(f"/proc/{pid}")
    inodes = set()
    for path in (folder / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            inodes.add(os.readlink(path)[len("socket:[") : -1])
    ports = []
    for table in ("tcp", "tcp6"):
        for line in (folder / "net" / table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                ports.append(int(words[1].rpartition(":")[2], 16))
    return sorted(ports)
