"""Exchanges arrays among the processes that train in step, over connections of their own.

Each process has a connection to each other one. A connection carries arrays only, and both ends
show at first that they know the incarnations of all processes, which are written in job_dir.
"""

import contextlib
import hashlib
import hmac
import json
import selectors
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import numpy as np

from trainer.environment.cluster_spec import LOOPBACK, Cluster
from trainer.environment.variables import shares_port
from trainer.errors import UserError

# What precedes an array: its kind, the number of the exchange, and its bytes.
_HEADER = struct.Struct("<4sIQ")
_ARRAY, _END = b"data", b"end."
# Seconds that a new connection may take to show what it knows; that the others may take to read the
# end; and between two attempts to connect.
_GREETING_SECS, _END_SECS, _RETRY_SECS = 5.0, 1.0, 0.05


class _Ended(Exception):
    """Another process has ended the exchange as planned."""


class _Link:
    """A connection to another process.

    Args:
        name: of the process.
        connection: to it.
    """

    def __init__(self, name: str, connection: socket.socket):
        self.name = name
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._connection = connection
        self._header = bytearray(_HEADER.size)
        self._unsent: list[memoryview] = []
        # Memory of received arrays, which take turns: new memory would take most of the time.
        self._buffers = [np.empty(0, np.uint8), np.empty(0, np.uint8)]

    def fileno(self) -> int:
        """Returns the descriptor of the connection."""
        return self._connection.fileno()

    def begin(self, number: int, values: np.ndarray, size: Optional[int]) -> None:
        """Begins to send an array, and to receive one.

        Args:
            number: of the exchange.
            values: what is sent, contiguous.
            size: bytes that are received; None: any number.
        """
        header = _HEADER.pack(_ARRAY, number, values.nbytes)
        payload = memoryview(values.reshape(-1)).cast("B") if values.size else memoryview(b"")
        self._unsent = [memoryview(header), payload]
        self._number, self._size = number, size
        self._missing = memoryview(self._header)
        self._received: Optional[np.ndarray] = None

    def send(self) -> bool:
        """Sends what the system accepts at once; returns whether that is the rest."""
        while any(self._unsent):
            try:
                sent = self._connection.sendmsg(self._unsent, [], socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except ConnectionError:
                # What the other process has sent before is still to be received.
                self._unsent = []
                return True
            for place, part in enumerate(self._unsent):
                self._unsent[place] = part[sent:]
                sent -= min(sent, len(part))
        return True

    def receive(self, flags: int = 0) -> bool:
        """Receives what is there, or waits for all; returns whether that is the rest.

        Args:
            flags: MSG_DONTWAIT: does not wait.

        Raises:
            _Ended: the other process has ended the exchange.
            OSError: the connection is closed, or the other process sends something else.
        """
        while self._missing:
            try:
                count = self._connection.recv_into(self._missing, 0, flags)
            except BlockingIOError:
                return False
            if not count:
                raise ConnectionError("the connection is closed")
            self._missing = self._missing[count:]
            if not self._missing and self._received is None:
                self._received = self._open()
                self._missing = memoryview(self._received)
        return True

    def _open(self) -> np.ndarray:
        """Returns an array for what follows the header."""
        kind, number, size = _HEADER.unpack(self._header)
        if kind == _END:
            raise _Ended
        wanted = size if self._size is None else self._size
        if (kind, number, size) != (_ARRAY, self._number, wanted):
            raise ConnectionError(
                f"it sends {size:,} bytes in exchange {number:,}, not {wanted:,} in "
                f"{self._number:,}; its model or its input differs"
            )
        self._buffers.reverse()
        if len(self._buffers[0]) < size:
            self._buffers[0] = np.empty(size, np.uint8)
        return self._buffers[0][:size]

    def take(self, dtype: Any) -> np.ndarray:
        """Returns the received array.

        Args:
            dtype: of its values.
        """
        assert self._received is not None
        return self._received.view(dtype)

    def end(self) -> None:
        """Tells the other process that the exchange ends."""
        with contextlib.suppress(OSError):
            self._connection.settimeout(_END_SECS)
            self._connection.sendall(_HEADER.pack(_END, 0, 0))
            self._connection.shutdown(socket.SHUT_WR)
            # A connection that is closed before all is read may lose what was sent.
            while self._connection.recv(1 << 16):
                pass

    def close(self) -> None:
        """Closes the connection; a wait for it in another thread ends."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class Exchange:
    """The connections of this process to all others that train.

    All processes call the same methods in the same order.

    Args:
        cluster: the cluster, and which process of it this is.

    Attributes:
        count: number of processes that train.
        number: of this process among them, from 0 on.
        error: why an exchange has failed; None if none has.
        has_ended: whether another process has ended the exchange as planned.
    """

    def __init__(self, cluster: Cluster):
        self._cluster = cluster
        self.count = cluster.num_trainers
        self.number = cluster.trainer_id
        # Number of a process → connection, in the order of the numbers.
        self._links: dict[int, _Link] = {}
        self._exchanges = 0
        self.error: Optional[str] = None
        self.has_ended = False

    def connect(self, lineup: Mapping[str, str], is_over: Callable[[], bool]) -> None:
        """Connects this process to all others; waits until they listen.

        Args:
            lineup: name → incarnation of each process that trains.
            is_over: whether training is over, so that the others may have left.

        Raises:
            UserError: the address of this process cannot be used.
        """
        secret = hashlib.sha256(json.dumps(dict(lineup), sort_keys=True).encode()).digest()
        addresses = self._cluster.trainers
        with _listen(addresses[self.number], self._cluster.name) as listener:
            found: dict[int, socket.socket] = {}
            while len(found) + 1 < self.count and not is_over():
                for number in range(self.number):
                    if number not in found:
                        connection = _greet(addresses[number], secret, number, self.number)
                        found.update({number: connection} if connection else {})
                if any(number not in found for number in range(self.number + 1, self.count)):
                    found.update(_accept(listener, secret, self.number))
                elif len(found) + 1 < self.count:
                    time.sleep(_RETRY_SECS)
        names = self._cluster.names
        self._links = {number: _Link(names[number], found[number]) for number in sorted(found)}

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """Returns the arrays of all processes, in the order of the processes.

        Their memory is used again by the exchange after the next one.

        Args:
            values: of this process, contiguous, [numbers]; each process may have another number.

        Raises:
            ConnectionError: another process has ended, or its exchange differs.
        """
        return self._swap(values, [values] * (self.count - 1), [None] * (self.count - 1))

    def add(self, values: np.ndarray) -> np.ndarray:
        """Returns the sum of the arrays of all processes; all processes get the same bits.

        Its memory is used again by the exchange after the next one.

        Args:
            values: of this process, contiguous, [numbers]; all processes have the same number.

        Raises:
            ConnectionError: another process has ended, or its exchange differs.
        """
        if self.count == 2:
            received = self._swap(values, [values], [values.nbytes])[1 - self.number]
            np.add(values, received, out=received)
            return received
        # Each process sums a part, and sends the sum to all.
        parts = np.array_split(values, self.count)
        own = parts[self.number]
        others = [part for number, part in enumerate(parts) if number != self.number]
        total = np.sum(self._swap(own, others, [own.nbytes] * len(others)), axis=0)
        sums = self._swap(total, [total] * len(others), [part.nbytes for part in others])
        return np.concatenate(sums)

    def _swap(
        self, own: np.ndarray, sent: Sequence[np.ndarray], sizes: Sequence[Optional[int]]
    ) -> list[np.ndarray]:
        """Sends an array to each other process; returns their arrays, with `own` in its place."""
        self._exchanges = (self._exchanges + 1) % (1 << 32)
        link = None
        try:
            if len(self._links) + 1 < self.count:
                raise ConnectionError("not all processes are connected")
            links = list(self._links.values())
            for link, values, size in zip(links, sent, sizes):
                link.begin(self._exchanges, values, size)
            if not all([link.send() for link in links]):
                _send_and_receive(links)
            for link in links:
                link.receive()
        except _Ended:
            self.has_ended = True
            raise ConnectionError("the exchange has ended") from None
        except OSError as error:
            self.error = f"{link.name if link else self._cluster.name}: {error}"
            raise
        received = [link.take(own.dtype) for link in links]
        received.insert(self.number, own)
        return received

    def end(self) -> None:
        """Tells the other processes that the exchange ends as planned."""
        for link in self._links.values():
            link.end()

    def close(self) -> None:
        """Closes all connections."""
        for link in self._links.values():
            link.close()
        self._links = {}


def _send_and_receive(links: Sequence[_Link]) -> None:
    """Sends everything; receives meanwhile, because others may wait for that."""
    both = selectors.EVENT_READ | selectors.EVENT_WRITE
    with selectors.DefaultSelector() as selector:
        for link in links:
            selector.register(link, both)
        unsent = set(links)
        while unsent:
            for key, events in selector.select():
                ready: Any = key.fileobj
                waits = key.events
                if events & selectors.EVENT_WRITE and ready.send():
                    unsent.discard(ready)
                    waits &= ~selectors.EVENT_WRITE
                if events & selectors.EVENT_READ and ready.receive(socket.MSG_DONTWAIT):
                    waits &= ~selectors.EVENT_READ
                if not waits:
                    selector.unregister(ready)
                elif waits != key.events:
                    selector.modify(ready, waits)


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _listen(address: str, name: str) -> socket.socket:
    """Listens on the port of an address: of this machine alone if it is a loopback address."""
    host, port = _split(address)
    options: dict[str, Any] = {"reuse_port": shares_port()}
    if not address.startswith(LOOPBACK):
        host = ""
        if socket.has_dualstack_ipv6():
            options.update(family=socket.AF_INET6, dualstack_ipv6=True)
    elif ":" in host:
        options.update(family=socket.AF_INET6)
    try:
        return socket.create_server((host, port), **options)
    except OSError as error:
        raise UserError(
            f"TF_CONFIG: {name} cannot listen on {address}: {error.strerror or error}; is another "
            "process using that port?"
        ) from error


def _sign(secret: bytes, *numbers: int) -> bytes:
    return hmac.new(secret, bytes(json.dumps(numbers), "ascii"), hashlib.sha256).digest()


def _greet(address: str, secret: bytes, number: int, own: int) -> Optional[socket.socket]:
    """Connects to a process; returns None if it does not listen yet or is another one."""
    connection = None
    try:
        connection = socket.create_connection(_split(address), _GREETING_SECS)
        connection.sendall(struct.pack("<I", own) + _sign(secret, own, number))
        answer = _receive(connection, hashlib.sha256().digest_size)
        if hmac.compare_digest(answer, _sign(secret, number, own, 1)):
            return connection
    except OSError:
        pass
    if connection is not None:
        connection.close()
    return None


def _accept(listener: socket.socket, secret: bytes, own: int) -> dict[int, socket.socket]:
    """Waits shortly for a connection; returns number of the process → connection; {} for none."""
    listener.settimeout(_RETRY_SECS)
    connection = None
    try:
        connection, _ = listener.accept()
        connection.settimeout(_GREETING_SECS)
        greeting = _receive(connection, 4 + hashlib.sha256().digest_size)
        (number,) = struct.unpack("<I", greeting[:4])
        if number > own and hmac.compare_digest(greeting[4:], _sign(secret, number, own)):
            connection.sendall(_sign(secret, own, number, 1))
            return {number: connection}
    except OSError:
        pass
    if connection is not None:
        connection.close()
    return {}


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the connection is closed")
        received += part
    return received
