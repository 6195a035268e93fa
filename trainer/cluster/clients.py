"""A parameter server's connections to the processes that train."""

import contextlib
import selectors
import socket
import threading
from collections import deque
from collections.abc import Sequence
from typing import Optional, Protocol

import numpy as np

from trainer.cluster.links import RETRY_SECS, Ended, Link, Lost, accept, listen
from trainer.cluster.messages import ANSWER, REFUSAL, pack, pack_text, unpack
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError


class Service(Protocol):
    """What a server does with the messages of the processes that train."""

    def answer(
        self, trainer: int, kind: int, arrays: Sequence[np.ndarray]
    ) -> Optional[list[np.ndarray]]:
        """Returns the answer to a message; None if it must wait for a later message.

        Args:
            trainer: number of the process that has sent it, `trainer_id` of its cluster.
            kind: of the message.
            arrays: of the message, uint8.

        Raises:
            UserError: the message is refused; the process that has sent it receives the text.
        """


class _Client:
    """A connection to a process that trains: it receives a message, then sends the answer."""

    def __init__(self, trainer: int, link: Link):
        self.trainer = trainer
        self.link = link
        self.number = 1
        link.begin_receiving(self.number)


class Clients:
    """The connections of a parameter server to all processes that train.

    Each message is answered as it comes; no process waits for another one.

    A process that stops in the middle of a message holds up nobody.

    Args:
        cluster: the cluster; this process is one of its parameter servers.
        incarnation: of this process, which those that train read in job_dir.

    Raises:
        UserError: the address of this process cannot be used.
    """

    def __init__(self, cluster: Cluster, incarnation: str):
        self._number = cluster.index
        self._first = len(cluster.spec["ps"])
        self._names = [name for name in cluster.names if not name.startswith("ps-")]
        self._secret = incarnation.encode()
        self._listener = listen(cluster.spec["ps"][cluster.index], cluster.name)
        self._clients: dict[int, _Client] = {}
        self._new: deque[_Client] = deque()
        self._waiting: list[_Client] = []
        self._ended = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._accepting = threading.Thread(target=self._accept, name="accept", daemon=True)

    def run(self, service: Service) -> None:
        """Answers messages until `end` is called.

        Args:
            service: answers them.
        """
        self._accepting.start()
        try:
            while not self._ended.is_set():
                self._serve(service)
        finally:
            self._ended.set()
            self._accepting.join()
            self._listener.close()
            for client in [*self._clients.values(), *self._new]:
                client.link.close()
            self._selector.close()

    def end(self) -> None:
        """Makes `run` return, in another thread."""
        self._ended.set()

    def _accept(self) -> None:
        while not self._ended.is_set():
            for number, connection in accept(self._listener, self._secret, self._number).items():
                trainer = number - self._first
                if trainer < len(self._names):
                    self._new.append(_Client(trainer, Link(self._names[trainer], connection)))
                else:
                    connection.close()

    def _serve(self, service: Service) -> None:
        for key, _ in self._selector.select(RETRY_SECS):
            client = key.data
            try:
                if key.events == selectors.EVENT_WRITE:
                    if client.link.send():
                        self._selector.modify(client.link, selectors.EVENT_READ, client)
                elif client.link.receive(socket.MSG_DONTWAIT):
                    self._selector.unregister(client.link)
                    self._waiting.append(client)
            except (Lost, Ended):
                self._drop(client)
        while self._new:
            # The last connection of a process counts.
            client = self._new.popleft()
            if client.trainer in self._clients:
                self._drop(self._clients[client.trainer])
            self._clients[client.trainer] = client
            self._selector.register(client.link, selectors.EVENT_READ, client)
        waiting, self._waiting = self._waiting, []
        for client in waiting:
            self._answer(service, client)

    def _answer(self, service: Service, client: _Client) -> None:
        kind, arrays = unpack(client.link.take(np.uint8))
        try:
            answer = service.answer(client.trainer, kind, arrays)
            if answer is None:
                self._waiting.append(client)
                return
            message = pack(ANSWER, answer)
        except UserError as error:
            message = pack(REFUSAL, [pack_text(str(error))])
        client.link.begin_sending(client.number, message)
        client.number = (client.number + 1) % (1 << 32)
        client.link.begin_receiving(client.number)
        try:
            is_sent = client.link.send()
        except Lost:
            self._drop(client)
            return
        events = selectors.EVENT_READ if is_sent else selectors.EVENT_WRITE
        self._selector.register(client.link, events, client)

    def _drop(self, client: _Client) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.link)
        self._waiting = [other for other in self._waiting if other is not client]
        if self._clients.get(client.trainer) is client:
            del self._clients[client.trainer]
        client.link.close()
