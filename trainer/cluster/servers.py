"""The connections of a process that trains to the parameter servers."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Optional

import numpy as np

from trainer.cluster.attempts import Attempts
from trainer.cluster.links import RETRY_SECS, Ended, Link, Lost, greet, swap
from trainer.cluster.messages import REFUSAL, pack, unpack
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError


class Servers:
    """The connections of this process to all parameter servers.

    Args:
        cluster: the cluster, and which process of it this is.

    Attributes:
        count: number of servers.
        loads: whether this process gives the servers the values of the variables.
        is_new: whether no message has been sent since the servers were connected.
        error: why a connection is lost; None while all are open.
        num_steps: the steps of this process that the servers have accepted.
        refusal: why a server has refused a message; None if none has.
    """

    def __init__(self, cluster: Cluster):
        self._addresses = cluster.spec["ps"]
        self.count = len(self._addresses)
        self.loads = cluster.role == "chief"
        self._own = self.count + cluster.trainer_id
        self._find: Callable[[str], Optional[str]] = lambda name: None
        self._is_over: Callable[[], bool] = lambda: False
        self._attempts = Attempts()
        self._links: list[Link] = []
        # The incarnations of the servers that are connected.
        self._secrets: list[str] = []
        self._number = 0
        # The operations of a session run in several threads.
        self._lock = threading.RLock()
        self.is_new = False
        self.num_steps = 0
        self.error: Optional[str] = None
        self.refusal: Optional[str] = None

    def find_by(
        self,
        find: Callable[[str], Optional[str]],
        is_over: Callable[[], bool],
        attempts: Optional[Attempts] = None,
    ) -> None:
        """Sets what connections need.

        Args:
            find: returns the incarnation of a server, given its name; None before its start.
            is_over: whether training is over, so that the servers may have left.
            attempts: receives the attempts to connect that fail; None: they are repeated silently.
        """
        self._find, self._is_over = find, is_over
        self._attempts = attempts or Attempts()

    def connect(self) -> None:
        """Connects this process to all servers; waits until they listen, or training is over.

        Raises:
            JobEnded: a server could not be reached for too long.
        """
        names = [f"ps-{number}" for number in range(self.count)]
        found: dict[int, Link] = {}
        self._attempts.start_over()
        self._secrets = [""] * self.count
        while len(found) < self.count and not self._is_over():
            for number, address in enumerate(self._addresses):
                secret = self._find(names[number])
                if number in found or secret is None:
                    continue
                connection = greet(address, secret.encode(), number, self._own)
                if isinstance(connection, str):
                    failed = (names[number], secret.encode(), address, connection)
                    self._attempts.note_failure(*failed)
                    continue
                found[number] = Link(names[number], connection)
                self._secrets[number] = secret
            if len(found) < self.count:
                time.sleep(RETRY_SECS)
        if len(found) == self.count:
            self._links = [found[number] for number in range(self.count)]
            self._number, self.error, self.is_new = 0, None, True

    def ask(
        self, kind: int, arrays: Sequence[Sequence[np.ndarray]], copies: bool = True
    ) -> list[list[np.ndarray]]:
        """Sends a message to each server; returns the arrays of their answers, uint8.

        Args:
            kind: of the messages.
            arrays: those for each server.
            copies: whether the answers are copied; else their memory is used again by the message
                after the next one, of any thread.

        Raises:
            ConnectionError: a server has ended.
            UserError: a server refuses the message.
        """
        with self._lock:
            if not self._links:
                self.error = self.error or "no parameter server is connected"
                raise ConnectionError(self.error)
            self.is_new = False
            self._number = (self._number + 1) % (1 << 32)
            try:
                for link, each in zip(self._links, arrays):
                    link.begin(self._number, pack(kind, each), None)
                swap(self._links, self._look)
            except (Lost, Ended) as error:
                self.close()
                self.error = str(error) or "a parameter server has ended"
                raise ConnectionError(self.error) from error
            messages = [link.take(np.uint8) for link in self._links]
            answers = [unpack(each.copy() if copies else each) for each in messages]
            for status, parts in answers:
                if status == REFUSAL:
                    self.refusal = parts[0].tobytes().decode()
                    raise UserError(self.refusal)
            return [parts for _, parts in answers]

    def _look(self) -> None:
        """Gives up a server that has been started again: what hangs may answer much later."""
        for link, secret in zip(self._links, self._secrets):
            if self._find(link.name) not in (None, secret):
                raise Lost(f"{link.name}: it has been started again")

    def close(self) -> None:
        """Closes all connections."""
        for link in self._links:
            link.close()
        self._links = []
