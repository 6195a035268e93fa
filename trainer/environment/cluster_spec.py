"""TF_CONFIG and CLUSTER_SPEC, read once into a checked description; alone reads os.environ."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer.errors import UserError

TRAINERS = ("chief", "worker")
ROLES = ("chief", "worker", "ps", "evaluator")
# Vertex AI's worker pools, by position.
POOLS = {
    "workerpool0": "chief",
    "workerpool1": "worker",
    "workerpool2": "ps",
    "workerpool3": "evaluator",
}
# File descriptor of a pipe that is closed when the process that started this one ends.
LIFELINE = "TRAINER_LIFELINE"
AIP_DATA = ("AIP_TRAINING_DATA_URI", "AIP_VALIDATION_DATA_URI", "AIP_TEST_DATA_URI")
AIP_NAMES = ("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "AIP_TENSORBOARD_LOG_DIR", *AIP_DATA)


class Cluster(NamedTuple):
    """Who runs a job, and who of them this process is.

    Attributes:
        spec: chief, worker, ps → addresses "host:port"; empty where nothing was said.
        role: chief, worker, ps or evaluator; chief where nothing was said.
        index: number of this process among those of its role.
        expects_evaluator: whether the cluster was said to have one.
        trial: number of the tuning trial, as text; None outside tuning.
        notes: what was changed in what the environment said, a line each.
        run_id: what the launcher calls this run of the cluster, its restarts included: TF_CONFIG's
            "run"; None where it says nothing.
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
        """Whether there may be other processes, if only an evaluator."""
        return bool(self.spec) or self.expects_evaluator

    @property
    def name(self) -> str:
        """This process: chief-0, worker-1, ..."""
        return f"{self.role}-{self.index}"

    @property
    def num_trainers(self) -> int:
        """Processes that train: the chief and the workers."""
        return sum(len(self.spec.get(role, ())) for role in TRAINERS) or 1

    @property
    def trainer_id(self) -> int:
        """This process among those that train: the chief 0, worker i i + 1."""
        return self.index + (1 if self.role == "worker" else 0)

    @property
    def names(self) -> list[str]:
        """Every process but the evaluator: chief-0, worker-0, ..., ps-0, ..."""
        return [
            f"{role}-{index}" for role in ROLES for index in range(len(self.spec.get(role, ())))
        ]

    def to_tf_config(self) -> str:
        """The same as TensorFlow reads it: JSON for TF_CONFIG."""
        return _to_json(self.spec, self.role, self.index)


ALONE = Cluster({})


class Service(NamedTuple):
    """What Vertex AI tells a job besides its cluster; None or empty where it says nothing.

    Attributes:
        model_dir: where the exported model belongs, flat.
        checkpoint_dir: where the job is kept.
        log_dir: where TensorBoard looks for event files.
        train_data, eval_data: of a managed data set.
        metric_file: where a tuning trial's metrics are read.
    """

    model_dir: Optional[str] = None
    checkpoint_dir: Optional[str] = None
    log_dir: Optional[str] = None
    train_data: tuple[str, ...] = ()
    eval_data: tuple[str, ...] = ()
    metric_file: str = "/tmp/hypertune/output.metrics"


def read_service() -> Service:
    """What the environment of this process says of Vertex AI's folders and data.

    Raises:
        UserError: the data set is of a kind that is not read.
    """
    return parse_service(os.environ)


def parse_service(environ: Mapping[str, str]) -> Service:
    """Reads the AIP_* variables; see read_service.

    Args:
        environ: variable → text.
    """
    said = {name: environ.get(name, "").strip() for name in AIP_NAMES}
    data = {name: tuple(said[name].split(",")) if said[name] else () for name in AIP_DATA}
    strange = [uri for uris in data.values() for uri in uris if uri.startswith("bq://")]
    if strange:
        raise UserError(
            f"AIP_TRAINING_DATA_URI: {strange[0]} is a BigQuery table; export it to gs:// as CSV "
            "and name the files in --train_data and --eval_data"
        )
    default = Service()
    return Service(
        said["AIP_MODEL_DIR"] or None,
        said["AIP_CHECKPOINT_DIR"] or None,
        said["AIP_TENSORBOARD_LOG_DIR"] or None,
        data["AIP_TRAINING_DATA_URI"],
        data["AIP_VALIDATION_DATA_URI"] or data["AIP_TEST_DATA_URI"],
        environ.get("CLOUD_ML_HP_METRIC_FILE") or default.metric_file,
    )


def read_cluster() -> Cluster:
    """The cluster that this process's environment describes.

    Raises:
        UserError: as parse_cluster.
    """
    return parse_cluster(os.environ)


def find_cache_home() -> Path:
    """The folder for what a user's programs may keep: XDG_CACHE_HOME, or else ~/.cache.

    A user without a home has it among temporary files.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return Path(tempfile.gettempdir())


def parse_cluster(environ: Mapping[str, str]) -> Cluster:
    """Reads TF_CONFIG, or Vertex AI's CLUSTER_SPEC where there is no TF_CONFIG.

    A master becomes the chief; an evaluator is taken out of the cluster; where there is no chief,
    worker 0 is promoted and the others move up.

    Args:
        environ: variable → text.

    Raises:
        UserError: not JSON, an unknown role, an index or an address that cannot be.
    """
    trial = environ.get("CLOUD_ML_TRIAL_ID") or None
    vertex = _load(environ, "CLUSTER_SPEC")
    trial = str(_mapping(vertex, "task", "CLUSTER_SPEC").get("trial") or trial or "") or None
    vertex_roles = _rename_pools(_mapping(vertex, "cluster", "CLUSTER_SPEC"))
    source = "TF_CONFIG" if environ.get("TF_CONFIG", "").strip() else "CLUSTER_SPEC"
    config = _load(environ, "TF_CONFIG") if source == "TF_CONFIG" else vertex
    cluster = _mapping(config, "cluster", source)
    task = _mapping(config, "task", source)
    if source == "CLUSTER_SPEC":
        cluster = vertex_roles
        task = {**task, "type": POOLS.get(task.get("type"), task.get("type"))}
    # There every replica is in its list: one alone will stay alone.
    alone = source == "CLUSTER_SPEC" and sum(map(len, cluster.values())) == 1
    if not cluster or alone:
        return ALONE._replace(trial=trial)
    parsed = _Parsed(source, _check_roles(cluster, source), task)
    if "evaluator" in vertex_roles:
        parsed.expects_evaluator = True
    run_id = str(config.get("run") or "") or None
    return parsed.resolve()._replace(trial=trial, run_id=run_id)


class _Parsed:
    """A cluster as it was said, on its way to one as we want it."""

    def __init__(self, source: str, roles: dict[str, list[str]], task: dict[str, Any]):
        self.source = source
        self.roles = roles
        self.role, self.index = _check_task(task, source)
        self.expects_evaluator = False
        self.notes: list[str] = []

    def resolve(self) -> Cluster:
        self._rename_master()
        self._take_evaluator_out()
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

    def _take_evaluator_out(self) -> None:
        evaluators = self.roles.pop("evaluator", None)
        if evaluators is None:
            return
        if len(evaluators) > 1:
            raise UserError(
                f"{self.source}: {len(evaluators)} evaluators; a job has one at most: remove the "
                "others"
            )
        self.expects_evaluator = True
        self.notes.append("the evaluator is taken out of the cluster: nobody waits for it")

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
        self.notes.append("there is no chief: worker 0 is the chief, the others move up by one")
        if self.role == "worker":
            self.role, self.index = ("chief", 0) if self.index == 0 else ("worker", self.index - 1)

    def _check_place(self) -> None:
        if self.role == "evaluator":
            self.expects_evaluator = True
            return
        if len(self.roles.get("chief", ())) > 1:
            raise UserError(
                f"{self.source}: {len(self.roles['chief'])} chiefs; there is one: make the others "
                "workers"
            )
        count = len(self.roles.get(self.role, ()))
        if self.index >= count:
            raise UserError(
                f"{self.source}: task is {self.role} {self.index} and cluster lists {count} of "
                "them, counted from 0; mend task.index or the cluster"
            )


def _load(environ: Mapping[str, str], name: str) -> dict[str, Any]:
    text = environ.get(name, "").strip()
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"{name}: not JSON: {error}; it says {text[:60]!r}") from error
    if not isinstance(value, dict):
        raise UserError(f"{name}: expected an object, found {text[:60]!r}")
    return value


def _mapping(config: dict[str, Any], key: str, source: str) -> dict[str, Any]:
    value = config.get(key) or {}
    if not isinstance(value, dict):
        raise UserError(f"{source}: {key}: expected an object, found {value!r:.60}")
    return value


def _rename_pools(cluster: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in cluster if name not in POOLS]
    if unknown:
        raise UserError(f"CLUSTER_SPEC: unknown pool {unknown[0]!r}; there are {', '.join(POOLS)}")
    # An empty pool keeps a position and means nobody.
    return {POOLS[name]: addresses for name, addresses in cluster.items() if addresses}


def _check_roles(cluster: dict[str, Any], source: str) -> dict[str, list[str]]:
    roles: dict[str, list[str]] = {}
    for role, addresses in cluster.items():
        if role not in (*ROLES, "master"):
            raise UserError(
                f"{source}: unknown role {role!r}; there are master, {', '.join(ROLES)}"
            )
        if isinstance(addresses, dict):
            # TensorFlow also takes index → address.
            addresses = [addresses[key] for key in sorted(addresses, key=int)]
        if not isinstance(addresses, list):
            raise UserError(f"{source}: {role}: expected a list of host:port, found {addresses!r}")
        for address in addresses:
            _check_address(address, role, source)
        if addresses:
            roles[role] = list(addresses)
    listed = [address for role in roles if role != "evaluator" for address in roles[role]]
    twice = next((address for address in listed if listed.count(address) > 1), None)
    if twice:
        raise UserError(f"{source}: {twice} is listed twice; each process needs its own address")
    return roles


def _check_address(address: Any, role: str, source: str) -> None:
    host, colon, port = str(address).rpartition(":")
    if not (isinstance(address, str) and host and colon and port.isdigit()):
        raise UserError(f"{source}: {role}: {address!r} is not host:port")
    if not 0 < int(port) < 65536:
        raise UserError(f"{source}: {role}: {address!r}: the port must lie between 1 and 65535")


def _check_task(task: dict[str, Any], source: str) -> tuple[str, int]:
    role, index = task.get("type"), task.get("index", 0)
    if role not in (*ROLES, "master"):
        raise UserError(
            f"{source}: task.type is {role!r}; it must be one of master, {', '.join(ROLES)}"
        )
    try:
        number = int(index)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise UserError(f"{source}: task.index is {index!r}; it must be a number from 0")
    return role, number


@contextmanager
def tf_config(cluster: Cluster):
    """Lets TensorFlow, which reads TF_CONFIG itself, see the cluster as we understand it."""
    before = os.environ.pop("TF_CONFIG", None)
    if cluster.is_distributed:
        os.environ["TF_CONFIG"] = cluster.to_tf_config()
    try:
        yield
    finally:
        os.environ.pop("TF_CONFIG", None)
        if before is not None:
            os.environ["TF_CONFIG"] = before


def make_environment(
    spec: dict[str, list[str]], role: str, index: int, run_id: str
) -> dict[str, str]:
    """The environment of one process of a cluster: this process's own, and TF_CONFIG."""
    config = _to_json(spec, role, index, run=run_id)
    return {**os.environ, "TF_CONFIG": config}


def copy_environment(more: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with other variables, and without what it says of a cluster."""
    ours = ("TF_CONFIG", "CLUSTER_SPEC", "CLOUD_ML_TRIAL_ID", *AIP_NAMES)
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, **more}


def take_lifeline() -> Optional[int]:
    """What LIFELINE says, for this process alone; None where it says nothing."""
    text = os.environ.pop(LIFELINE, "")
    return int(text) if text.isdigit() else None


@contextmanager
def set_variable(name: str, value: str):
    """Sets a variable of the environment for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def _to_json(spec: Mapping[str, Sequence[str]], role: str, index: int, **more: Any) -> str:
    return json.dumps({"cluster": spec, "task": {"type": role, "index": index}, **more})
