"""Makes MultiWorkerMirroredStrategy work in an evaluator task. Broken in all TensorFlow versions.

The strategy treats the evaluator as a member of the training cluster. It then does one of two
things. It reads the job "evaluator" from the cluster, which must not contain this job (KeyError).
Or it starts a health check of its peers, although there are none; Estimators cannot copy a strategy
with a running health check. An evaluator works alone, so this shim makes its strategy local.
"""

from estimator_bridge.private_tf import collective_all_reduce_strategy

__all__ = ["apply"]


def apply() -> None:
    """Makes the strategy local in processes whose TF_CONFIG names the task type evaluator."""
    extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
    original = extended._initialize_strategy
    if getattr(original, "_bridged", False):
        return

    def _initialize_strategy(self, cluster_resolver, devices):
        if cluster_resolver.task_type == "evaluator":
            return self._initialize_local(cluster_resolver, devices=devices)
        return original(self, cluster_resolver, devices)

    vars(_initialize_strategy)["_bridged"] = True
    extended._initialize_strategy = _initialize_strategy
