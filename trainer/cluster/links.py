"""Connections between the processes of a cluster that carry arrays and nothing else.

Both ends of a connection show at first that they know a secret, which is written in job_dir.
"""

import contextlib
import hashlib
import hmac
import json
import selectors
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

import numpy as np

from trainer.environment.cluster_spec import LOOPBACK
from trainer.environment.variables import shares_port
from trainer.errors import UserError

# What precedes an array: its kind, its number, and its bytes.
_HEADER = struct.Struct("<4sIQ")
_ARRAY, _END = b"data", b"end."
# Seconds that a new connection may take to show what it knows; that the others may take to read the
# end; and between two attempts to connect.
_GREETING_SECS, _END_SECS, RETRY_SECS = 5.0, 1.0, 0.05
# Seconds after which a wait for another process looks whether it should go on.
_LOOK_SECS = 1


class Ended(Exception):
    """Another process has ended the exchange as planned."""


class Lost(ConnectionError):
    """A connection to another process is lost; the message names the process."""


class Link:
    """A connection to another process.

    Args:
        name: of the process.
        connection: to it, result of `greet` or `accept`.
    """

    def __init__(self, name: str, connection: socket.socket):
        self.name = name
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
            number: of both.
            values: what is sent, contiguous.
            size: bytes that are received; None: any number.
        """
        self.begin_sending(number, values)
        self.begin_receiving(number, size)

    def begin_sending(self, number: int, values: np.ndarray) -> None:
        """Begins to send an array.

        Args:
            number: of the array.
            values: the array, contiguous.
        """
        header = _HEADER.pack(_ARRAY, number, values.nbytes)
        payload = memoryview(values.reshape(-1)).cast("B") if values.size else memoryview(b"")
        self._unsent = [memoryview(header), payload]

    def begin_receiving(self, number: int, size: Optional[int] = None) -> None:
        """Begins to receive an array.

        Args:
            number: of the array.
            size: its bytes; None: any number.
        """
        self._number, self._size = number, size
        self._missing = memoryview(self._header)
        self._received: Optional[np.ndarray] = None

    def send(self) -> bool:
        """Sends what the system accepts at once; returns whether that is the rest.

        Raises:
            Lost: the connection fails.
        """
        while any(self._unsent):
            try:
                sent = self._connection.sendmsg(self._unsent, [], socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except ConnectionError:
                # What the other process has sent before is still to be received.
                self._unsent = []
                return True
            except OSError as error:
                raise self._lost(error) from error
            for place, part in enumerate(self._unsent):
                self._unsent[place] = part[sent:]
                sent -= min(sent, len(part))
        return True

    def receive(self, flags: int = 0) -> bool:
        """Receives what is there, or waits for all, a second for each part; returns whether that is
        the rest.

        Args:
            flags: MSG_DONTWAIT: does not wait.

        Raises:
            Ended: the other process has ended the exchange.
            Lost: the connection is closed or fails, or the other process sends something else.
        """
        while self._missing:
            try:
                count = self._connection.recv_into(self._missing, 0, flags)
            except BlockingIOError:
                return False
            except OSError as error:
                raise self._lost(error) from error
            if not count:
                raise self._lost("the connection is closed")
            self._missing = self._missing[count:]
            if not self._missing and self._received is None:
                self._received = self._open()
                self._missing = memoryview(self._received)
        return True

    def _open(self) -> np.ndarray:
        """Returns an array for what follows the header."""
        kind, number, size = _HEADER.unpack(self._header)
        if kind == _END:
            raise Ended
        wanted = size if self._size is None else self._size
        if (kind, number, size) != (_ARRAY, self._number, wanted):
            raise self._lost(
                f"it sends {size:,} bytes in exchange {number:,}, not {wanted:,} in "
                f"{self._number:,}; its model or its input differs"
            )
        self._buffers.reverse()
        if len(self._buffers[0]) < size:
            self._buffers[0] = np.empty(size, np.uint8)
        return self._buffers[0][:size]

    def _lost(self, cause: object) -> Lost:
        return Lost(f"{self.name}: {cause}")

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


def swap(links: Sequence[Link], look: Callable[[], None] = lambda: None) -> None:
    """Sends and receives what has been begun on several connections.

    Args:
        links: the connections.
        look: called every second while others do not answer; it may raise an exception.

    Raises:
        Lost: a connection is closed, or its other end sends something else.
        Ended: another process has ended the exchange.
    """
    if not all([link.send() for link in links]):
        _send_and_receive(links, look)
    for link in links:
        while not link.receive():
            look()


def _send_and_receive(links: Sequence[Link], look: Callable[[], None]) -> None:
    """Sends everything; receives meanwhile, because others may wait for that."""
    both = selectors.EVENT_READ | selectors.EVENT_WRITE
    with selectors.DefaultSelector() as selector:
        for link in links:
            selector.register(link, both)
        unsent = set(links)
        while unsent:
            found = selector.select(_LOOK_SECS)
            if not found:
                look()
            for key, events in found:
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


def listen(address: str, name: str) -> socket.socket:
    """Listens on the port of an address: of this machine alone if it is a loopback address.

    Args:
        address: "host:port".
        name: of this process.

    Raises:
        UserError: the address cannot be used.
    """
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


def greet(address: str, secret: bytes, number: int, own: int) -> Union[socket.socket, str]:
    """Connects to a process; returns why not if it does not listen yet or is another one.

    Args:
        address: of the process, "host:port".
        secret: that both know.
        number: of the process.
        own: number of this process, larger than that.
    """
    connection, reason = None, "another process listens there"
    try:
        connection = socket.create_connection(_split(address), _GREETING_SECS)
        connection.sendall(struct.pack("<I", own) + _sign(secret, own, number))
        answer = _receive(connection, hashlib.sha256().digest_size)
        if hmac.compare_digest(answer, _sign(secret, number, own, 1)):
            _prepare(connection)
            return connection
    except OSError as error:
        reason = error.strerror or str(error)
    if connection is not None:
        connection.close()
    return reason


def accept(listener: socket.socket, secret: bytes, own: int) -> dict[int, socket.socket]:
    """Waits shortly for a connection; returns number of the process → connection; {} for none.

    Args:
        listener: listens on the address of this process.
        secret: that both know.
        own: number of this process.
    """
    listener.settimeout(RETRY_SECS)
    connection = None
    try:
        connection, _ = listener.accept()
        connection.settimeout(_GREETING_SECS)
        greeting = _receive(connection, 4 + hashlib.sha256().digest_size)
        (number,) = struct.unpack("<I", greeting[:4])
        if number > own and hmac.compare_digest(greeting[4:], _sign(secret, number, own)):
            connection.sendall(_sign(secret, own, number, 1))
            _prepare(connection)
            return {number: connection}
    except OSError:
        pass
    if connection is not None:
        connection.close()
    return {}


def _prepare(connection: socket.socket) -> None:
    """Sets the options of a connection; macOS refuses that if the other end is closed."""
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Unlike the timeout of a Python socket, this one costs no system call.
    limit = struct.pack("ll", _LOOK_SECS, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("the connection is closed")
        received += part
    return received
