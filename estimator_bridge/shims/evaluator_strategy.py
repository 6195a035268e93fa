"""Lets an evaluator task make a MultiWorkerMirroredStrategy. Broken in TensorFlow up to today.

The strategy takes the evaluator for a member of the training cluster: it asks the cluster for a
job "evaluator", which is not to be in it (KeyError), or starts a health check of its peers, of
which it has none (the strategy can then not be copied, which Estimators do). An evaluator works
alone, so the strategy is that of one machine there.
"""

from estimator_bridge.private_tf import collective_all_reduce_strategy

__all__ = ["apply"]


def apply() -> None:
    """Makes the strategy local in a process whose TF_CONFIG says that it is an evaluator."""
    extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
    original = extended._initialize_strategy
    if getattr(original, "_bridged", False):
        return

    def _initialize_strategy(self, cluster_resolver, devices):
        if cluster_resolver.task_type == "evaluator":
            return self._initialize_local(cluster_resolver, devices=devices)
        return original(self, cluster_resolver, devices)

    _initialize_strategy._bridged = True
    extended._initialize_strategy = _initialize_strategy
