"""Connections between simulated processes: bytes arrive late and in parts, and connections break.

The names of `socket` and `selectors` that `trainer.cluster.links` and `clients` use.
"""

import contextlib
import selectors
import socket
from collections import namedtuple
from unittest import mock

from simulation.kernel import FOREVER, current
from simulation.seams import _Proxy
from trainer.cluster import clients, links, servers

# Bytes that a connection holds before its sender has to wait.
ROOM = 400
# Longer than in the trainer, so that fewer looks at a listener are simulated.
RETRY_SECS = 1.0


class Network:
    """All connections of a World.

    Args:
        world: the World.
    """

    def __init__(self, world):
        self.world = world
        self.listeners = {}  # address -> the listener of the newest process
        self.ends = []

    def cut(self):
        """Breaks a connection, after any part of what is on its way has arrived."""
        alive = [end for end in self.ends if not end.is_closed and not end.peer.is_closed]
        if alive:
            end = self.world.random.choice(alive)
            self.world.note(f"the connection of {end.process.name} breaks")
            for each in (end, end.peer):
                each.is_broken = True

    def leave(self, process, is_silent):
        """Closes what a process has that has ended; a machine without power says nothing."""
        for end in self.ends:
            if end.process is process:
                end.is_closed = True
                if not is_silent:
                    end.peer.lose_later()
        self.ends = [end for end in self.ends if not (end.is_closed and end.peer.is_closed)]


class End:
    """One end of a connection, as a socket."""

    def __init__(self, network, process):
        self._network, self._world, self.process = network, network.world, process
        self.peer = None
        self._buffer = bytearray()
        self._on_way = []  # parts that have been sent
        self._arrives = 0.0
        self._timeout = self._limit = None
        self.is_closed = self.is_broken = self.has_ended = False
        network.ends.append(self)

    def settimeout(self, secs):
        self._timeout = secs

    def setsockopt(self, level, option, value):
        if self.is_broken or self.has_ended:
            # As on macOS.
            raise OSError(22, "Invalid argument")
        if option == socket.SO_RCVTIMEO:
            self._limit = links._LOOK_SECS

    def fileno(self):
        return -1 if self.is_closed else id(self)

    def can_read(self):
        return bool(self._buffer) or self.has_ended or self.is_broken or self.is_closed

    def can_write(self):
        return self.room() > 0 or self.is_broken or self.has_ended or self.is_closed

    def room(self):
        return ROOM - sum(map(len, self.peer._on_way)) - len(self.peer._buffer)

    def sendmsg(self, buffers, ancillary, flags):
        self._world.wait()
        if self.is_closed:
            raise OSError(9, "Bad file descriptor")
        if self.is_broken or self.has_ended:
            raise ConnectionResetError(104, "Connection reset by peer")
        data = b"".join(buffers)
        room = self.room()
        if room <= 0:
            raise BlockingIOError
        size = min(room, len(data))
        if self._world.random.random() < 0.3:
            size = self._world.random.randint(1, size)
        self.peer._deliver(data[:size])
        return size

    def sendall(self, data):
        while data:
            data = data[self.sendmsg([data], [], socket.MSG_DONTWAIT) :]

    def _deliver(self, data):
        random = self._world.random
        delay = random.choice((0.0, 0.001, 0.01, 0.01, 0.3)) * random.random()
        self._arrives = max(self._arrives, self._world.now + delay)
        self._on_way.append(data)

        def arrive():
            part = self._on_way.pop(0)
            if not self.is_broken:
                self._buffer += part

        self._world.call_later(self._arrives - self._world.now, arrive)

    def lose_later(self):
        """Ends after what is on its way has arrived."""
        self._world.call_later(
            max(0.0, self._arrives - self._world.now), lambda: setattr(self, "has_ended", True)
        )

    def recv_into(self, view, size, flags=0):
        if flags != socket.MSG_DONTWAIT:
            limit = self._timeout if self._timeout is not None else self._limit
            self._world.wait(FOREVER if limit is None else limit, self.can_read)
        if self.is_closed:
            raise OSError(9, "Bad file descriptor")
        size = min(len(view), len(self._buffer))
        if size > 1 and self._world.random.random() < 0.3:
            size = self._world.random.randint(1, size)
        view[:size] = self._buffer[:size]
        del self._buffer[:size]
        if not size and self.is_broken:
            raise ConnectionResetError(104, "Connection reset by peer")
        if not size and not self.has_ended:
            raise BlockingIOError
        return size

    def recv(self, size):
        data = bytearray(size)
        return bytes(data[: self.recv_into(memoryview(data), 0)])

    def shutdown(self, how):
        pass

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.peer.lose_later()


class Listener:
    """A socket that listens; that of a later process of the same address replaces it."""

    def __init__(self, network, address):
        self._network, self.process = network, current().process
        self.waiting, self._timeout = [], None
        network.listeners[address] = self

    def settimeout(self, secs):
        self._timeout = secs

    def accept(self):
        if not current().world.wait(self._timeout, lambda: bool(self.waiting)):
            raise TimeoutError
        return self.waiting.pop(0), None

    def close(self):
        for address, listener in list(self._network.listeners.items()):
            if listener is self:
                del self._network.listeners[address]


Key = namedtuple("Key", "fileobj events data")


class Selector:
    """Takes the place of DefaultSelector; what is registered is a Link."""

    def __init__(self):
        self._keys = {}

    def register(self, link, events, data=None):
        if link.fileno() < 0:
            raise ValueError("closed")
        self._keys[link] = Key(link, events, data)

    def modify(self, link, events, data=None):
        self._keys[link] = Key(link, events, data)

    def unregister(self, link):
        return self._keys.pop(link)

    def _find(self):
        for key in self._keys.values():
            end, events = key.fileobj._connection, 0
            if key.events & selectors.EVENT_READ and end.can_read():
                events = selectors.EVENT_READ
            if key.events & selectors.EVENT_WRITE and end.can_write():
                events |= selectors.EVENT_WRITE
            if events:
                yield key, events

    def select(self, timeout=None):
        secs = FOREVER if timeout is None else timeout
        current().world.wait(secs, lambda: next(self._find(), None) is not None)
        return list(self._find())

    def close(self):
        self._keys.clear()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


@contextlib.contextmanager
def connected(network):
    """Replaces sockets by those of a network, while a `with` statement runs."""

    def create_connection(address, timeout):
        network.world.wait()
        listener = network.listeners.get(address)
        if listener is None or not listener.process.is_alive:
            raise ConnectionRefusedError(111, "Connection refused")
        own, other = End(network, current().process), End(network, listener.process)
        own.peer, other.peer = other, own
        own.settimeout(timeout)
        listener.waiting.append(other)
        return own

    fake = _Proxy(
        socket,
        create_connection=create_connection,
        create_server=lambda address, **options: Listener(network, address),
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(links, "socket", fake))
        for module in (links, clients):
            one = _Proxy(selectors, DefaultSelector=Selector)
            stack.enter_context(mock.patch.object(module, "selectors", one))
        for module in (links, clients, servers):
            stack.enter_context(mock.patch.object(module, "RETRY_SECS", RETRY_SECS))
        yield
