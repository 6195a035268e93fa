"""Runs the replicas of a job on this machine, with the environment variables of the service.

Each replica is a process with the program, the flags and the AIP_* variables that it would have on
Vertex AI. CLUSTER_SPEC and TF_CONFIG contain loopback addresses. Machines, accelerators, image and
timing differ.
"""

import json
import signal
import sys
import time
from typing import Any, NamedTuple, Optional, TextIO

from estimator_bridge.command_line.current_folder import list_words
from trainer.cluster.processes import Processes, to_exit_status
from trainer.environment.cluster_spec import POOLS
from trainer.environment.variables import copy_environment
from trainer.errors import UserError
from trainer.vertex import program
from trainer.vertex.jobs import Job
from trainer.vertex.request import POOL_ROLES

# After a failure, the other replicas have STOP_SECS to end by themselves. Then they get SIGTERM, as
# on the service, and after GRACE_SECS SIGKILL.
STOP_SECS, GRACE_SECS = 5.0, 60.0
ROLE_OF_POOL = dict(zip(POOLS, POOL_ROLES))


class Replica(NamedTuple):
    """One process of a job.

    Attributes:
        name: chief-0, worker-1, ...
        command: program and arguments.
        environment: variables that the service sets.
    """

    name: str
    command: list[str]
    environment: dict[str, str]


def list_replicas(
    job: Job, addresses: list[str], more_flags: list[str], trial: Optional[str] = None
) -> list[Replica]:
    """Returns the processes of a job.

    Args:
        job: the rendered job.
        addresses: one "host:port" per replica.
        more_flags: flags of trainer.task to append to those of the job.
        trial: number of the trial of a tuning job.

    Raises:
        UserError: a pool is invalid or runs another program.
    """
    pools = job.job_spec["workerPoolSpecs"]
    counts = [int(pool.get("replicaCount", 1)) if pool else 0 for pool in pools]
    if len(pools) > len(POOL_ROLES) or not counts or counts[0] != 1:
        raise UserError(
            "job: workerPoolSpecs must have one to four pools, and the first pool one replica, the "
            "chief; render the job again"
        )
    rest = iter(addresses)
    spec = {pool: [next(rest) for _ in range(n)] for pool, n in zip(POOLS, counts) if n}
    common = _describe_output(job, trial)
    replicas = []
    for pool, addresses_of_pool in spec.items():
        for index in range(len(addresses_of_pool)):
            task: dict[str, Any] = {"type": pool, "index": index}
            if trial is not None:
                task["trial"] = trial
            place = {"cluster": spec, "environment": "cloud", "task": task}
            environment = {**common, "CLUSTER_SPEC": json.dumps(place)}
            if sum(counts) > 1:
                environment["TF_CONFIG"] = _to_tf_config(spec, pool, index)
            words = _find_words(pools[list(POOLS).index(pool)], pool)
            command = [sys.executable, *list_words(words[0]), *words[1:], *more_flags]
            replicas.append(Replica(f"{ROLE_OF_POOL[pool]}-{index}", command, environment))
    return replicas


def count_replicas(job: Job) -> int:
    """Returns the number of processes of a job.

    Args:
        job: the rendered job.
    """
    pools = job.job_spec["workerPoolSpecs"]
    return sum(int(pool.get("replicaCount", 1)) for pool in pools if pool)


def _to_tf_config(spec: dict[str, list[str]], pool: str, index: int) -> str:
    # The service's TF_CONFIG omits the evaluator from the cluster.
    cluster = {role: spec[pool] for pool, role in ROLE_OF_POOL.items() if pool in spec}
    cluster.pop("evaluator", None)
    task = {"type": ROLE_OF_POOL[pool], "index": index}
    return json.dumps({"cluster": cluster, "environment": "cloud", "task": task})


def _describe_output(job: Job, trial: Optional[str]) -> dict[str, str]:
    found = {"CLOUD_ML_TRIAL_ID": trial} if trial is not None else {}
    base = (job.job_spec.get("baseOutputDirectory") or {}).get("outputUriPrefix")
    if base:
        base = base.rstrip("/") + (f"/{trial}" if trial is not None else "")
        found.update(
            AIP_MODEL_DIR=f"{base}/model/",
            AIP_CHECKPOINT_DIR=f"{base}/checkpoints/",
            AIP_TENSORBOARD_LOG_DIR=f"{base}/logs/",
        )
    return found


def _find_words(pool: dict[str, Any], name: str) -> list[str]:
    found = program.find_flags(pool)
    if found is not None:
        return [*found[0], *found[1]]
    raise UserError(
        f"job: {name} does not run trainer.task, and rehearse runs nothing else; render the job "
        "again"
    )


class Rehearsal:
    """Runs replicas until all have ended.

    Args:
        replicas: the processes to start.
        more: environment variables for all replicas.
        stream: where their output is written.
    """

    def __init__(
        self,
        replicas: list[Replica],
        more: dict[str, str],
        stream: TextIO = sys.stderr,
    ):
        self._replicas = replicas
        self._more = more
        self._processes = Processes(stream)
        self._is_stopped = False

    def run(self) -> int:
        """Runs the replicas; returns 0, or the exit status of the first replica that fails."""
        for replica in self._replicas:
            environment = copy_environment({**self._more, **replica.environment})
            self._processes.start(replica.name, replica.command, environment)
            if self._is_stopped:
                # The signal arrived before this process was started.
                self._processes.send(signal.SIGTERM)
                break
        status, ended = 0, None
        while self._processes.running:
            for name, code in self._processes.take_ended():
                status = status or to_exit_status(code)
                ended = ended or (time.monotonic() if code or name == "chief-0" else None)
            secs = time.monotonic() - ended if ended is not None else 0.0
            if status and secs > STOP_SECS and not self._is_stopped:
                self._processes.log("rehearse", "a process has failed; stopping the others")
                self.stop()
            if secs > GRACE_SECS:
                late = ", ".join(self._processes.running)
                self._processes.log("rehearse", f"killing {late}, which did not end in time")
                self.stop(signal.SIGKILL)
            time.sleep(0.1)
        self._processes.finish_output("rehearse")
        return status

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Sends a signal to all running replicas.

        Args:
            number: the signal.
        """
        self._is_stopped = True
        self._processes.send(number)

    def close(self) -> None:
        """Kills all running replicas, and releases the resources of this object."""
        self._processes.close()
