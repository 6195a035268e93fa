"""The flags of the commands that render pods."""

from absl import flags

from trainer.kubernetes.request import Request


def define_pod(values: flags.FlagValues) -> None:
    """Defines the flags of a job and of its machines, and --output.

    Args:
        values: where to define them.
    """
    for name, meaning in (
        ("name", "name of the job; lower-case letters, digits and hyphens, at most 45"),
        ("image", "container image of the pods, with this package"),
        ("namespace", "namespace of the objects; unset: the one that kubectl uses"),
        ("cpu", "CPUs that each pod requests, such as 4 or 500m; unset: no request"),
        (
            "memory",
            "memory of each pod, such as 8Gi; it is both the request and the limit; unset: neither",
        ),
        (
            "disk",
            "local disk of each pod, such as 50Gi, both the request and the limit; it holds the "
            "copies of gs:// files; unset: neither",
        ),
        ("service_account", "ServiceAccount of the pods; unset: the namespace's default"),
        (
            "volume",
            "CLAIM:/PATH, a PersistentVolumeClaim (ReadWriteMany) to mount at this path in each "
            "pod; parameter servers need one",
        ),
        ("output", "file for the manifests; unset: standard output"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    for name, meaning in (
        ("node_selector", "KEY=VALUE, a label that the nodes must have"),
        ("toleration", "KEY[=VALUE][:EFFECT], a taint of nodes that the pods tolerate"),
    ):
        flags.DEFINE_multi_string(name, [], meaning, flag_values=values)
    text = "number of GPUs of each pod, except parameter servers and the evaluator"
    flags.DEFINE_integer("gpus", 0, text, 0, flag_values=values)
    text = "maximum number of restarts of failed pods; in a cluster, for each role"
    flags.DEFINE_integer("backoff_limit", 6, text, 0, flag_values=values)
    for name, meaning in (
        ("deadline_secs", "time limit of the job, seconds; unset: none"),
        ("ttl_secs", "seconds after which the finished job and its logs are deleted; unset: never"),
    ):
        flags.DEFINE_integer(name, None, meaning, 1, flag_values=values)


def read_request(
    values: flags.FlagValues, counts: dict[str, int], task_flags: list[str]
) -> Request:
    """Returns the request that the flags describe.

    Args:
        values: the flags of define_pod, and perhaps --secret.
        counts: role → number of replicas.
        task_flags: flags of trainer.task.
    """
    given = values.flag_values_dict()
    named = {name: given[name] for name in Request._fields if name in given}
    return Request(counts=counts, task_flags=task_flags, **named)
