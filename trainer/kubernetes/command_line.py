"""The flags of commands that render pods."""

from absl import flags

from trainer.kubernetes.request import Request


def define_pod(values: flags.FlagValues) -> None:
    """Defines the flags of a job and of its machines, and --output.

    Args:
        values: where to define them.
    """
    for name, meaning in (
        ("name", "name of the job"),
        ("image", "container image"),
        ("namespace", "namespace; unset: that of kubectl"),
        ("cpu", "CPU request of each pod: 4, 500m"),
        ("memory", "memory of each pod, requested and at most: 8Gi"),
        ("disk", "local disk of each pod, requested and at most: 50Gi"),
        ("service_account", "service account of the pods"),
        ("volume", "CLAIM:/PATH, a ReadWriteMany claim to mount in each pod"),
        ("output", "file to write; unset: standard output"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    for name, meaning in (
        ("node_selector", "KEY=VALUE, a label of the nodes; may be given several times"),
        ("toleration", "KEY[=VALUE][:EFFECT], a tolerated taint; may be given several times"),
    ):
        flags.DEFINE_multi_string(name, [], meaning, flag_values=values)
    flags.DEFINE_integer("gpus", 0, "GPUs of each pod that trains", 0, flag_values=values)
    flags.DEFINE_integer("backoff_limit", 6, "restarts of failed pods", 0, flag_values=values)
    for name, meaning in (
        ("deadline_secs", "longest time of the job"),
        ("ttl_secs", "delete the finished job after this time"),
    ):
        flags.DEFINE_integer(name, None, meaning, 1, flag_values=values)


def read_request(
    values: flags.FlagValues, counts: dict[str, int], task_flags: list[str]
) -> Request:
    """Returns what these flags ask for.

    Args:
        values: from define_pod; --secret may be among them.
        counts: role → number of replicas.
        task_flags: flags of trainer.task.
    """
    given = values.flag_values_dict()
    named = {name: given[name] for name in Request._fields if name in given}
    return Request(counts=counts, task_flags=task_flags, **named)
