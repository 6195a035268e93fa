"""The parameters of a random forest."""

import math
import random

from estimator_bridge.tf1.unsupported import NotSuppliedError

__all__ = ["ForestHParams", "check_supplied"]

# Kinds of leaves -> the numbers of (leaves, candidates) in 1.x.
CLASSIFICATION_LEAF_MODEL_TYPES = {
    "all_dense": (0, 0),
    "all_sparse": (1, 1),
    "sparse_then_dense": (3, 3),
}
REGRESSION_MODEL_TYPE = (2, 2, 0)
FINISH_TYPES = {"basic": 0, "hoeffding": 2, "bootstrap": 3}
PRUNING_TYPES = {"none": 0, "half": 1, "quarter": 2, "10_percent": 3, "hoeffding": 4}
SPLIT_TYPES = {"less_or_equal": 0, "less": 1}


class ForestHParams:
    """Parameters of a random forest; `fill` derives the others.

    Args:
      num_trees: int.
      max_nodes: int, nodes of a tree from which on it does not grow.
      bagging_fraction: share of the rows that each tree sees.
      num_splits_to_consider: int, candidates of a leaf; 0 for the square root of the number of
        columns, at least 10.
      feature_bagging_fraction: share of the columns that each tree knows.
      max_fertile_nodes: int, without effect since 1.3.
      split_after_samples: rows after which a leaf is split.
      valid_leaf_threshold: without effect since 1.3.
      dominate_method: used if `split_finish_name` is not `basic`.
      dominate_fraction: used if `split_finish_name` is not `basic`.
      model_name: all_dense, all_sparse or sparse_then_dense.
      split_finish_name: basic; hoeffding and bootstrap are not supplied.
      split_pruning_name: none; the others are not supplied.
      prune_every_samples: int, used if candidates are pruned.
      early_finish_check_every_samples: int, used if `split_finish_name` is not `basic`.
      collate_examples: whether the rows of a batch that make candidates are counted alone.
      checkpoint_stats: whether checkpoints have the candidates and counts.
      use_running_stats_method: another way to compute the same.
      initialize_average_splits: not supplied.
      inference_tree_paths: not supplied.
      param_file: not supplied.
      split_name: less_or_equal or less.
      **kwargs: num_classes, num_features, regression, base_random_seed, and others.
    """

    def __init__(
        self,
        num_trees=100,
        max_nodes=10000,
        bagging_fraction=1.0,
        num_splits_to_consider=0,
        feature_bagging_fraction=1.0,
        max_fertile_nodes=0,
        split_after_samples=250,
        valid_leaf_threshold=1,
        dominate_method="bootstrap",
        dominate_fraction=0.99,
        model_name="all_dense",
        split_finish_name="basic",
        split_pruning_name="none",
        prune_every_samples=0,
        early_finish_check_every_samples=0,
        collate_examples=False,
        checkpoint_stats=False,
        use_running_stats_method=False,
        initialize_average_splits=False,
        inference_tree_paths=False,
        param_file=None,
        split_name="less_or_equal",
        **kwargs,
    ):
        given = {name: one for name, one in locals().items() if name not in ("self", "kwargs")}
        for name, one in {**given, **kwargs}.items():
            setattr(self, name, one)

    def values(self):
        """Returns the parameters as a dict."""
        return self.__dict__

    def fill(self):
        """Derives the parameters that were not given.

        Returns:
          This object.

        Raises:
          AttributeError: num_classes or num_features was not given.
          ValueError: a name is unknown.
        """
        self.base_random_seed = getattr(self, "base_random_seed", 0)
        self.bagged_num_features = self._share(self.num_features)
        self.bagged_features = None
        if self.feature_bagging_fraction < 1.0:
            columns = range(self.num_features)
            self.bagged_features = [
                random.sample(columns, self.bagged_num_features) for _ in range(self.num_trees)
            ]
        self.regression = getattr(self, "regression", False)
        # A forest of classes writes their counts and the sum.
        self.num_outputs = self.num_classes if self.regression else 1
        self.num_output_columns = self.num_classes + 1
        if self.regression:
            self.leaf_model_type, self.stats_model_type, _ = REGRESSION_MODEL_TYPE
        else:
            kinds = _number(CLASSIFICATION_LEAF_MODEL_TYPES, self.model_name, "model_name")
            self.leaf_model_type, self.stats_model_type = kinds
        self.split_type = _number(SPLIT_TYPES, self.split_name, "split_name")
        self.finish_type = _number(FINISH_TYPES, self.split_finish_name, "split_finish_name")
        self.pruning_type = _number(PRUNING_TYPES, self.split_pruning_name, "split_pruning_name")
        self.num_splits_to_consider = self.num_splits_to_consider or max(
            10, math.floor(math.sqrt(self.num_features))
        )
        return self

    def _share(self, number):
        return int(self.feature_bagging_fraction * number)


def _number(names, name, parameter):
    if name not in names:
        raise ValueError(f"{parameter}={name!r} is unknown; use one of {', '.join(names)}")
    return names[name]


def check_supplied(params):
    """Refuses what is not supplied.

    Args:
      params: ForestHParams.

    Raises:
      NotSuppliedError: a parameter needs what is not supplied.
    """
    remedies = {
        "split_finish_name": (params.finish_type != 0, "leave it at 'basic'"),
        "split_pruning_name": (params.pruning_type != 0, "leave it at 'none'"),
        "initialize_average_splits": (params.initialize_average_splits, "leave it at False"),
        "inference_tree_paths": (params.inference_tree_paths, "leave it at False"),
        "param_file": (params.param_file, "give the parameters to ForestHParams"),
    }
    for name, (given, remedy) in remedies.items():
        if given:
            value = getattr(params, name)
            raise NotSuppliedError(f"ForestHParams({name}={value!r}) is not supplied; {remedy}")
