"""Exchanges arrays among the processes that train in step, over connections of their own.

Each process has a connection to each other one. The secret of the connections is made of the
incarnations of all processes, which are written in job_dir.
"""

import hashlib
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Optional

import numpy as np

from trainer.cluster.attempts import Attempts
from trainer.cluster.links import RETRY_SECS, Ended, Link, Lost, accept, greet, listen, swap
from trainer.environment.cluster_spec import Cluster


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
        self._links: dict[int, Link] = {}
        self._exchanges = 0
        self.error: Optional[str] = None
        self.has_ended = False

    def connect(
        self,
        lineup: Mapping[str, str],
        is_over: Callable[[], bool],
        attempts: Optional[Attempts] = None,
    ) -> None:
        """Connects this process to all others; waits until they listen.

        Args:
            lineup: name → incarnation of each process that trains.
            is_over: whether training is over, so that the others may have left.
            attempts: receives the attempts to connect that fail; None: they are repeated silently.

        Raises:
            UserError: the address of this process cannot be used.
            JobEnded: another process could not be reached for too long.
        """
        attempts, names = attempts or Attempts(), self._cluster.names
        secret = hashlib.sha256(json.dumps(dict(lineup), sort_keys=True).encode()).digest()
        addresses = self._cluster.trainers
        with listen(addresses[self.number], self._cluster.name) as listener:
            found: dict[int, socket.socket] = {}
            while len(found) + 1 < self.count and not is_over():
                for number in range(self.number):
                    if number in found:
                        continue
                    address = addresses[number]
                    connection = greet(address, secret, number, self.number)
                    if isinstance(connection, str):
                        attempts.note_failure(names[number], secret, address, connection)
                    else:
                        found[number] = connection
                if any(number not in found for number in range(self.number + 1, self.count)):
                    found.update(accept(listener, secret, self.number))
                elif len(found) + 1 < self.count:
                    time.sleep(RETRY_SECS)
        self._links = {number: Link(names[number], found[number]) for number in sorted(found)}

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
        try:
            if len(self._links) + 1 < self.count:
                raise Lost(f"{self._cluster.name}: not all processes are connected")
            links = list(self._links.values())
            for link, values, size in zip(links, sent, sizes):
                link.begin(self._exchanges, values, size)
            swap(links)
        except Ended:
            self.has_ended = True
            raise ConnectionError("the exchange has ended") from None
        except Lost as error:
            self.error = str(error)
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
