"""The cluster of a job: TF_CONFIG and CLUSTER_SPEC, parsed and checked."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Optional

from trainer.environment import texts
from trainer.errors import UserError

TRAINERS = ("chief", "worker")
ROLES = ("chief", "worker", "ps", "evaluator")
# Worker pool of Vertex AI → the role of its processes.
POOLS = {
    "workerpool0": "chief",
    "workerpool1": "worker",
    "workerpool2": "ps",
    "workerpool3": "evaluator",
}

LOOPBACK = ("localhost", "127.", "[::1]", "::1")


@dataclass(frozen=True)
class Cluster:
    """The processes of a job, and which of them this process is.

    Attributes:
        spec: chief, worker, ps → addresses "host:port"; empty without a cluster.
        role: chief, worker, ps or evaluator; chief without a cluster.
        index: number of this process among those of its role.
        expects_evaluator: whether the environment lists an evaluator.
        trial: number of the tuning trial, as text; None outside tuning.
        notes: one line for each change to the cluster that the environment describes.
        run_id: identifies this run of the cluster; restarts have the same id. Our launcher sets it
            as "run" in TF_CONFIG. None if it is not set.
    """

    spec: dict[str, tuple[str, ...]]
    role: str = "chief"
    index: int = 0
    expects_evaluator: bool = False
    trial: Optional[str] = None
    notes: tuple[str, ...] = ()
    run_id: Optional[str] = None

    @property
    def is_distributed(self) -> bool:
        """Whether this process trains together with others."""
        return self.role != "evaluator" and len(self.names) > 1

    @property
    def has_others(self) -> bool:
        """Whether the job may have other processes, an evaluator included."""
        return bool(self.spec) or self.expects_evaluator

    @property
    def is_spread(self) -> bool:
        """Whether processes of the cluster are on other machines."""
        addresses = [address for role in self.spec.values() for address in role]
        return any(not address.startswith(LOOPBACK) for address in addresses)

    @property
    def name(self) -> str:
        """Name of this process: chief-0, worker-1, ..."""
        return f"{self.role}-{self.index}"

    @property
    def num_trainers(self) -> int:
        """Number of processes that train: the chief and the workers."""
        return len(self.trainers) or 1

    @property
    def trainers(self) -> list[str]:
        """Addresses of the processes that train, in the order of their `trainer_id`."""
        return [address for role in TRAINERS for address in self.spec.get(role, ())]

    @property
    def trainer_id(self) -> int:
        """Number of this process among those that train: 0 for the chief, i + 1 for worker i."""
        return self.index + (1 if self.role == "worker" else 0)

    @property
    def num_trainers_here(self) -> int:
        """Number of processes that train on the host of this one, which is one of them."""
        hosts = [address.rpartition(":")[0] for address in self.trainers]
        return hosts.count(hosts[self.trainer_id]) if hosts else 1

    @property
    def names(self) -> list[str]:
        """Names of all processes except the evaluator: chief-0, worker-0, ..., ps-0, ..."""
        return [
            f"{role}-{index}" for role in ROLES for index in range(len(self.spec.get(role, ())))
        ]

    def find_address(self, name: str) -> str:
        """Returns the address of a process.

        Args:
            name: of the process, one of `names`.
        """
        role, _, index = name.rpartition("-")
        return self.spec[role][int(index)]

    def to_tf_config(self) -> str:
        """Returns the cluster as JSON for TF_CONFIG."""
        return to_json(self.spec, self.role, self.index)


ALONE = Cluster({})


def read_cluster() -> Cluster:
    """Returns the cluster that the environment of this process describes.

    Raises:
        UserError: the description is invalid; see parse_cluster.
    """
    return parse_cluster(os.environ)


def parse_cluster(environ: Mapping[str, str]) -> Cluster:
    """Reads TF_CONFIG, or Vertex AI's CLUSTER_SPEC where TF_CONFIG is not set.

    A master becomes the chief. An evaluator is removed from the cluster spec. Without a chief,
    worker 0 becomes the chief, and the numbers of the other workers decrease by one.

    Args:
        environ: variable → text.

    Returns:
        The cluster; ALONE, with the trial's number, if the environment describes no cluster.

    Raises:
        UserError: the text is not JSON, or has an unknown role, an invalid index or address.
    """
    trial = texts.get_name(environ.get("CLOUD_ML_TRIAL_ID"), "CLOUD_ML_TRIAL_ID")
    vertex = texts.load_object(environ, "CLUSTER_SPEC")
    vertex_task = texts.get_object(vertex, "task", "CLUSTER_SPEC")
    trial = texts.get_name(vertex_task.get("trial"), "CLUSTER_SPEC: trial") or trial
    vertex_roles = _rename_pools(texts.get_object(vertex, "cluster", "CLUSTER_SPEC"))
    source = "TF_CONFIG" if environ.get("TF_CONFIG", "").strip() else "CLUSTER_SPEC"
    config = texts.load_object(environ, "TF_CONFIG") if source == "TF_CONFIG" else vertex
    cluster = texts.get_object(config, "cluster", source)
    task = texts.get_object(config, "task", source)
    if source == "CLUSTER_SPEC":
        cluster = vertex_roles
        pool = task.get("type")
        task = {**task, "type": POOLS.get(pool, pool) if isinstance(pool, str) else pool}
    # CLUSTER_SPEC lists every replica. A single replica does not form a cluster.
    roles = _check_roles(cluster, source)
    alone = source == "CLUSTER_SPEC" and sum(map(len, roles.values())) == 1
    if not cluster or alone:
        return replace(ALONE, trial=trial)
    parsed = _Parsed(source, roles, task, expects_evaluator="evaluator" in vertex_roles)
    run_id = texts.get_name(config.get("run"), f"{source}: run", texts.PRINTABLE)
    return replace(parsed.resolve(), trial=trial, run_id=run_id)


class _Parsed:
    """A cluster as the environment describes it; `resolve` converts it to a Cluster.

    Args:
        source: TF_CONFIG or CLUSTER_SPEC, for error messages.
        roles: role → addresses.
        task: "type" and "index" of this process.
        expects_evaluator: whether the environment lists an evaluator elsewhere.
    """

    def __init__(
        self,
        source: str,
        roles: dict[str, list[str]],
        task: dict[str, Any],
        expects_evaluator: bool,
    ):
        self.source = source
        self.roles = roles
        self.role, self.index = _check_task(task, source)
        self.expects_evaluator = expects_evaluator
        self.notes: list[str] = []

    def resolve(self) -> Cluster:
        """Returns the Cluster; raises a UserError if the description is invalid."""
        self._rename_master()
        self._remove_evaluator()
        self._promote_worker()
        self._check_place()
        return Cluster(
            {role: tuple(self.roles[role]) for role in ROLES if role in self.roles},
            self.role,
            self.index,
            self.expects_evaluator,
            notes=tuple(self.notes),
        )

    def _rename_master(self) -> None:
        if "master" in self.roles:
            if "chief" in self.roles:
                raise UserError(
                    f"{self.source}: cluster has both chief and master; they are the same role: "
                    "remove one"
                )
            self.roles["chief"] = self.roles.pop("master")
        if self.role == "master":
            self.role = "chief"

    def _remove_evaluator(self) -> None:
        evaluators = self.roles.pop("evaluator", None)
        if evaluators is None:
            return
        if len(evaluators) > 1:
            raise UserError(
                f"{self.source}: {len(evaluators)} evaluators; a job has at most one; remove the "
                "others"
            )
        self.expects_evaluator = True
        self.notes.append("the evaluator is removed from the cluster spec: no process waits for it")

    def _promote_worker(self) -> None:
        if "chief" in self.roles or self.role == "chief" and not self.roles.get("worker"):
            return
        workers = self.roles.get("worker")
        if not workers:
            raise UserError(f"{self.source}: cluster has neither a chief nor a worker; add a chief")
        self.roles["chief"], rest = workers[:1], workers[1:]
        self.roles.pop("worker")
        if rest:
            self.roles["worker"] = rest
        self.notes.append(
            "the cluster has no chief: worker 0 becomes the chief, worker 1 becomes worker 0, ..."
        )
        if self.role == "worker":
            self.role, self.index = ("chief", 0) if self.index == 0 else ("worker", self.index - 1)

    def _check_place(self) -> None:
        if self.role == "evaluator":
            self.expects_evaluator = True
            return
        if len(self.roles.get("chief", ())) > 1:
            raise UserError(
                f"{self.source}: {len(self.roles['chief'])} chiefs; a job has one; make the others "
                "workers"
            )
        count = len(self.roles.get(self.role, ()))
        if self.index >= count:
            raise UserError(
                f"{self.source}: task is {self.role} {self.index} but cluster lists {count} of "
                "them, counted from 0; correct task.index or the cluster"
            )


def _rename_pools(cluster: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in cluster if name not in POOLS]
    if unknown:
        raise UserError(
            f"CLUSTER_SPEC: unknown pool {texts.show(unknown[0])}; use {', '.join(POOLS)}"
        )
    # Vertex AI writes an empty pool to keep the positions of the others.
    return {POOLS[name]: addresses for name, addresses in cluster.items() if addresses}


def _check_roles(cluster: dict[str, Any], source: str) -> dict[str, list[str]]:
    roles: dict[str, list[str]] = {}
    for role, addresses in cluster.items():
        if role not in (*ROLES, "master"):
            raise UserError(
                f"{source}: unknown role {texts.show(role)}; use master, {', '.join(ROLES)}"
            )
        listed = texts.list_addresses(addresses, role, source)
        if listed:
            roles[role] = listed
    seen: set[str] = set()
    for address in (each for role in roles if role != "evaluator" for each in roles[role]):
        if address in seen:
            raise UserError(
                f"{source}: {address} is listed twice; each process needs its own address"
            )
        seen.add(address)
    return roles


def _check_task(task: dict[str, Any], source: str) -> tuple[str, int]:
    role, index = task.get("type"), task.get("index", 0)
    if role not in (*ROLES, "master"):
        raise UserError(
            f"{source}: task.type is {texts.show(role)}; it must be one of master, "
            f"{', '.join(ROLES)}"
        )
    number = texts.parse_number(index)
    if number is None:
        raise UserError(f"{source}: task.index is {texts.show(index)}; it must be a number from 0")
    return role, number


@contextmanager
def tf_config(cluster: Cluster) -> Iterator[None]:
    """Sets TF_CONFIG, which TensorFlow reads itself, while a `with` statement runs.

    Args:
        cluster: the cluster to set; a process that does not train with others has no TF_CONFIG.
    """
    before = os.environ.pop("TF_CONFIG", None)
    if cluster.is_distributed:
        os.environ["TF_CONFIG"] = cluster.to_tf_config()
    try:
        yield
    finally:
        os.environ.pop("TF_CONFIG", None)
        if before is not None:
            os.environ["TF_CONFIG"] = before


def to_json(spec: Mapping[str, Sequence[str]], role: str, index: int, **more: Any) -> str:
    """Returns the text of TF_CONFIG.

    Args:
        spec: role → addresses.
        role: role of the process.
        index: its number among those of its role.
        **more: other entries of the object.
    """
    return json.dumps({"cluster": spec, "task": {"type": role, "index": index}, **more})
