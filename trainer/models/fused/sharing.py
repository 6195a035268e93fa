"""How the variables of a fused model are shared among parameter servers.

A table whose gradient is sent as rows is divided by rows: row r is on server r modulo the number of
servers. Every other variable is on one server, the one that has the least before it.
"""

import json
import secrets
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Protocol

import numpy as np

from trainer import config as config_lib
from trainer.models.fused.layout import Layout, Table
from trainer.models.fused.updates import DEEP_PART, KINDS, LINEAR_PART
from trainer.models.fused.variables import Stored, Variables

# How the gradient of a variable is sent: as a whole; as a whole with the number of times that each
# row is touched; or as the rows that are touched.
WHOLE, COUNTED, ROWS = "whole", "counted", "rows"
# Kinds of messages. GREET tells a server what it serves; SET and GET transfer the value of a
# variable; CHECK lists those that are not finite; READY ends the setting of all; PULL reads, PUSH
# updates and reads; STEP reads the step.
GREET, SET, GET, CHECK, READY, PULL, PUSH, STEP = range(8)


class Servers(Protocol):
    """The connections to the parameter servers.

    Attributes:
        count: number of servers.
        loads: whether this process gives the servers the values of the variables.
        is_new: whether no message has been sent since the servers were connected.
        num_steps: the steps of this process that the servers have accepted.
    """

    count: int
    loads: bool
    is_new: bool
    num_steps: int

    def ask(
        self, kind: int, arrays: Sequence[Sequence[np.ndarray]], copies: bool = True
    ) -> list[list[np.ndarray]]:
        """Sends a message to each server; returns the arrays of their answers, uint8.

        Args:
            kind: of the messages.
            arrays: those for each server.
            copies: whether the answers are copied; else their memory is used again by the message
                after the next one, of any thread.
        """


class Shared(NamedTuple):
    """A trained variable on parameter servers.

    Attributes:
        name: in the graph.
        shape: of the whole.
        part: DEEP_PART or LINEAR_PART.
        form: WHOLE, COUNTED or ROWS.
    """

    name: str
    shape: tuple[int, ...]
    part: str
    form: str

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape))

    def shape_on(self, server: int, count: int) -> list[int]:
        """Returns the shape of the variable on a server that has a part of it.

        Args:
            server: number of the server.
            count: number of servers.
        """
        if self.form != ROWS:
            return list(self.shape)
        return [len(range(server, self.shape[0], count)), *self.shape[1:]]


class Sharing(NamedTuple):
    """What the parameter servers of a job serve.

    Attributes:
        variables: the trained variables.
        optimizers: part → name of its optimizer.
        train: optimizers, learning rates and schedule.
        max_steps: global step at which training ends.
    """

    variables: tuple[Shared, ...]
    optimizers: dict[str, str]
    train: config_lib.TrainConfig
    max_steps: int

    def to_json(self) -> str:
        """Returns all of it as JSON."""
        train = self.train.model_dump(mode="json")
        return json.dumps([self.variables, self.optimizers, train, self.max_steps])

    @classmethod
    def from_json(cls, text: str) -> "Sharing":
        """Returns what to_json has written.

        Args:
            text: the JSON.
        """
        variables, optimizers, train, max_steps = json.loads(text)
        return cls(
            tuple(Shared(name, tuple(shape), *more) for name, shape, *more in variables),
            optimizers,
            config_lib.TrainConfig.model_validate(train),
            max_steps,
        )

    @property
    def tables(self) -> list[Shared]:
        """The variables that are sent as rows."""
        return [one for one in self.variables if one.form == ROWS]

    @property
    def others(self) -> list[Shared]:
        """The variables that are sent as a whole."""
        return [one for one in self.variables if one.form != ROWS]

    def find_homes(self, count: int) -> dict[str, int]:
        """Returns the server of each variable that is sent as a whole: name → number.

        Args:
            count: number of servers.
        """
        loads, homes = [0] * count, {}
        for one in sorted(self.others, key=lambda each: -each.size):
            homes[one.name] = min(range(count), key=loads.__getitem__)
            loads[homes[one.name]] += one.size
        return homes

    def find_owner(self, name: str) -> Optional[Shared]:
        """Returns the trained variable that a variable is, or whose slot it is; None for others.

        Args:
            name: of a variable of the graph.
        """
        for one in self.variables:
            if name == one.name or f"/{one.name}/" in name:
                return one
        return None


def share(
    layout: Layout,
    stored: Variables,
    distinct: Sequence[Table],
    train: config_lib.TrainConfig,
    max_steps: int,
) -> Sharing:
    """Returns what the parameter servers of a model serve.

    Args:
        layout: of the model.
        stored: its variables.
        distinct: the tables whose gradients are sent as rows.
        train: optimizers, learning rates and schedule.
        max_steps: global step at which training ends.
    """
    as_rows = {table.name for table in distinct}
    optimizers: dict[str, str] = {LINEAR_PART: train.linear_optimizer} if layout.wide else {}
    if layout.deep is not None:
        optimizers[DEEP_PART] = train.optimizer

    def describe(one: Stored, part: str, is_table: bool) -> Shared:
        form = WHOLE
        if is_table and one.name in as_rows:
            form = ROWS
        elif is_table and KINDS[optimizers[part]].moves_all:
            form = COUNTED
        name, shape = one.variable.op.name, one.variable.shape.as_list()
        return Shared(name, tuple(shape), part, form)

    plain = [*stored.kernels, *stored.biases]
    numbers = [] if stored.wide_numbers is None else [stored.wide_numbers]
    variables = [
        *(describe(one, LINEAR_PART, True) for one in stored.wide),
        *(describe(one, LINEAR_PART, False) for one in numbers),
        *(describe(one, DEEP_PART, True) for one in stored.embeddings),
        *(describe(one, DEEP_PART, False) for one in plain),
    ]
    return Sharing(tuple(variables), optimizers, train, max_steps)


class Pulled(NamedTuple):
    """What the servers answer.

    Attributes:
        step: the global step.
        whole: float32, the values of the variables that are sent as a whole, one after another;
            empty if they were not requested.
        rows: the values of the requested rows of each table, float32 [rows, dimension].
    """

    step: int
    whole: np.ndarray
    rows: list[np.ndarray]


class SharedVariables:
    """The variables on the parameter servers, as a process that trains sees them.

    Args:
        servers: the connections.
        sharing: what they serve.
    """

    def __init__(self, servers: Servers, sharing: Sharing):
        self._servers, self._sharing = servers, sharing
        self._count = servers.count
        homes = sharing.find_homes(servers.count)
        # Of each server: where its variables are in the values of all, and in the gradients, where
        # the counts follow the values.
        values: list[list[np.ndarray]] = [[] for _ in range(servers.count)]
        counts: list[list[np.ndarray]] = [[] for _ in range(servers.count)]
        start = 0
        for one in sharing.others:
            values[homes[one.name]].append(np.arange(start, start + one.size))
            start += one.size
        for one in sharing.others:
            if one.form == COUNTED:
                counts[homes[one.name]].append(np.arange(start, start + one.shape[0]))
                start += one.shape[0]
        none = [np.empty(0, np.int64)]
        self._places = [np.concatenate(none + each) for each in values]
        self._sent = [np.concatenate(none + a + b) for a, b in zip(values, counts)]
        self._homes = homes
        # Which setting of the variables has been read last.
        self._load = 0
        # The operations of a session run in several threads.
        self._lock = threading.Lock()

    def read_step(self) -> int:
        """Returns the global step."""
        return int(self._send(STEP, [[]] * self._count)[0][0].view(np.int64)[0])

    def start(self, step: int) -> None:
        """Lets all processes train, after all variables have been set.

        Args:
            step: the global step.
        """
        self._send(READY, [[np.array([step], np.int64)]] * self._count)

    def pull(self, ids: Sequence[np.ndarray]) -> Pulled:
        """Reads the variables that are sent as a whole, and rows of the tables.

        Args:
            ids: of the rows of each table, int32.
        """
        return self._ask(PULL, [[] for _ in range(self._count)], ids, True)

    def push(
        self,
        grads: np.ndarray,
        ids: Sequence[np.ndarray],
        rows: Sequence[np.ndarray],
        following: Optional[Sequence[np.ndarray]],
    ) -> Pulled:
        """Updates the variables, and reads what the next step needs.

        Args:
            grads: of the variables that are sent as a whole, float32, one after another; then how
                often each row of each COUNTED variable is touched.
            ids: the distinct rows of each table that are touched, int32.
            rows: their gradients, float32 [rows, dimension].
            following: the rows of each table that the next step needs; None: nothing is read.
        """
        parts = [grads] if self._count == 1 else [grads[each] for each in self._sent]
        sent = [[each] for each in parts]
        for some, values in zip(ids, rows):
            for server, places in enumerate(self._find_places(some)):
                sent[server] += [some[places] // self._count, values[places]]
        is_read = following is not None
        nothing = [np.empty(0, np.int32)] * len(ids)
        return self._ask(PUSH, sent, following if following is not None else nothing, is_read)

    def set(self, name: str, value: np.ndarray) -> None:
        """Sets a variable on all servers that have it.

        Args:
            name: of the variable.
            value: float32 or int64.
        """
        owner, key = self._sharing.find_owner(name), np.frombuffer(name.encode(), np.uint8)
        nothing: list[np.ndarray] = []
        if owner is None:
            sent = [[key, np.ascontiguousarray(value)]] * self._count
        elif owner.form == ROWS:
            parts = [value[server :: self._count] for server in range(self._count)]
            sent = [[key, np.ascontiguousarray(part)] for part in parts]
        else:
            sent = [nothing] * self._count
            sent[self._homes[owner.name]] = [key, np.ascontiguousarray(value)]
        self._send(SET, sent)

    def get(self, name: str, dtype: Any) -> np.ndarray:
        """Returns the values of a variable, flat.

        Args:
            name: of the variable.
            dtype: of its values.
        """
        owner, key = self._sharing.find_owner(name), np.frombuffer(name.encode(), np.uint8)
        asked: list[list[np.ndarray]] = [[] for _ in range(self._count)]
        if owner is None or owner.form != ROWS:
            home = 0 if owner is None else self._homes[owner.name]
            asked[home] = [key]
            whole: np.ndarray = self._send(GET, asked)[home][0].view(dtype)
            return whole
        answers = self._send(GET, [[key]] * self._count)
        value = np.empty(owner.shape, dtype)
        for server, (part,) in enumerate(answers):
            value[server :: self._count] = part.view(dtype).reshape(-1, *owner.shape[1:])
        return value.reshape(-1)

    def list_wrong(self) -> list[str]:
        """Returns the names of variables with NaN, and of trained ones that are not finite."""
        answers = self._send(CHECK, [[]] * self._count)
        return sorted({name for each in answers for name in each[0].tobytes().decode().split()})

    def _send(
        self, kind: int, arrays: Sequence[Sequence[np.ndarray]], copies: bool = True
    ) -> list[list[np.ndarray]]:
        """Like `Servers.ask`; tells servers that have just been connected what they serve."""
        with self._lock:
            if self._servers.is_new:
                text = np.frombuffer(self._sharing.to_json().encode(), np.uint8)
                # A number that no earlier setting of the variables has; 0: it sets none.
                load = 1 + secrets.randbits(62) if self._servers.loads else 0
                self._servers.ask(GREET, [[text, np.array([load], np.int64)]] * self._count)
        return self._servers.ask(kind, arrays, copies)

    def _find_places(self, ids: np.ndarray) -> list[Any]:
        """Returns where the ids of the rows of each server are."""
        if self._count == 1:
            return [slice(None)]
        owner = ids % self._count
        return [np.flatnonzero(owner == server) for server in range(self._count)]

    def _ask(
        self,
        kind: int,
        sent: list[list[np.ndarray]],
        ids: Sequence[np.ndarray],
        reads_whole: bool,
    ) -> Pulled:
        places = [self._find_places(each) for each in ids]
        asked = [
            [
                np.array([reads_whole, self._load], np.int64),
                *(each[found[server]] // self._count for each, found in zip(ids, places)),
            ]
            for server in range(self._count)
        ]
        # Nothing else is sent before the next step has read what an update returns.
        messages = [[*first, *rest] for first, rest in zip(sent, asked)]
        answers = self._send(kind, messages, copies=kind != PUSH)
        while len({int(each[0].view(np.int64)[2]) for each in answers}) > 1:
            # The chief sets the variables again, and has not reached all servers. Those that it has
            # reached have refused an update, and the others are about to lose it.
            answers = self._send(PULL, asked)
        step, is_accepted, self._load = map(int, answers[0][0].view(np.int64))
        self._servers.num_steps += is_accepted
        tables = self._sharing.tables
        if self._count == 1:
            whole = answers[0][1].view(np.float32)
            rows = [
                values.view(np.float32).reshape(-1, *one.shape[1:])
                for one, values in zip(tables, answers[0][2:])
            ]
            return Pulled(step, whole, rows)
        whole = np.empty(0, np.float32)
        if reads_whole:
            whole = np.empty(sum(map(len, self._places)), np.float32)
            for answer, where in zip(answers, self._places):
                whole[where] = answer[1].view(np.float32)
        rows = []
        for number, (one, each, found) in enumerate(zip(tables, ids, places)):
            joined = np.empty((len(each), *one.shape[1:]), np.float32)
            for server, answer in enumerate(answers):
                part = answer[2 + number].view(np.float32)
                joined[found[server]] = part.reshape(-1, *one.shape[1:])
            rows.append(joined)
        return Pulled(step, whole, rows)
