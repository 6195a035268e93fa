"""`tensor_forest.RandomForestGraphs`: random forests in graphs."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.tensor_forest import hparams as _hparams
from estimator_bridge.tf1.contrib.tensor_forest.data_ops import (
    ParseDataTensorOrDict,
    ParseLabelTensorOrDict,
)
from estimator_bridge.tf1.contrib.tensor_forest.forest import Shape
from estimator_bridge.tf1.contrib.tensor_forest.growing import Rules
from estimator_bridge.tf1.contrib.tensor_forest.state import (
    FrozenForest,
    GrowingForest,
    is_frozen,
)
from estimator_bridge.tf1.unsupported import NotSuppliedError

__all__ = ["ForestHParams", "RandomForestGraphs", "RandomTreeGraphs"]

ForestHParams = _hparams.ForestHParams
CLASSIFICATION_LEAF_MODEL_TYPES = _hparams.CLASSIFICATION_LEAF_MODEL_TYPES
REGRESSION_MODEL_TYPE = _hparams.REGRESSION_MODEL_TYPE
FINISH_TYPES = _hparams.FINISH_TYPES
PRUNING_TYPES = _hparams.PRUNING_TYPES
SPLIT_TYPES = _hparams.SPLIT_TYPES


class RandomForestGraphs:
    """The operations that train and ask a random forest.

    Args:
      params: ForestHParams, filled.
      tree_configs: must be None.
      tree_stats: must be None.
      device_assigner: without effect: all trees grow in one operation.
      variables: the `variables` of another RandomForestGraphs whose trees to use, or None.
      tree_variables_class: without effect.
      tree_graphs: without effect.
      training: without effect.

    Raises:
      NotSuppliedError: params has what is not supplied.
    """

    def __init__(
        self,
        params,
        tree_configs=None,
        tree_stats=None,
        device_assigner=None,
        variables=None,
        tree_variables_class=None,
        tree_graphs=None,
        training=True,
    ):
        del device_assigner, tree_variables_class, tree_graphs, training
        if tree_configs is not None or tree_stats is not None:
            raise NotSuppliedError(
                "tree_configs and tree_stats are not supplied; restore a checkpoint of the trees"
            )
        _hparams.check_supplied(params)
        self.params = params
        self.variables = variables or _make_variables(params)
        self.trees = [
            RandomTreeGraphs(self.variables, params, tree) for tree in range(params.num_trees)
        ]

    def training_graph(self, input_data, input_labels, num_trainers=1, trainer_id=0, **tree_kwargs):
        """Returns the operation that trains by a batch.

        Args:
          input_data: float32 tensor [batch, columns], or {name: tensor}.
          input_labels: tensor [batch], or {name: tensor}.
          num_trainers: int, number of workers between which the trees are divided.
          trainer_id: int, the number of this one.
          **tree_kwargs: `input_weights`, float32 tensor [batch].
        """
        trees = list(range(self.params.num_trees))
        if num_trainers > 1:
            share = self.params.num_trees / num_trainers
            trees = list(range(int(share * trainer_id), int(share * (trainer_id + 1))))
        return _train(self, trees, input_data, input_labels, **tree_kwargs)

    def inference_graph(self, input_data, **inference_args):
        """Returns what the forest predicts.

        Args:
          input_data: float32 tensor [batch, columns], or {name: tensor}.
          **inference_args: without effect.

        Returns:
          The mean of the trees, a float32 tensor [batch, outputs]: of the classes' shares, or of
          the predicted numbers; empty texts in place of the trees' paths, [batch, trees]; and the
          variance of the trees, float32 [batch, outputs].
        """
        del inference_args
        data = ParseDataTensorOrDict(input_data)[0]
        found, count = self.variables.predict(data), float(self.params.num_trees)
        mean = tf.divide(tf.reduce_sum(found, 0), count, name="probabilities")
        squares = tf.divide(tf.reduce_sum(found * found, 0), count)
        variance = tf.maximum(0.0, squares - mean * mean)
        paths = tf.fill([tf.shape(data)[0], self.params.num_trees], "")
        return mean, paths, variance

    def average_size(self):
        """Returns the mean number of nodes of a tree, a float32 scalar tensor."""
        return tf.reduce_mean(tf.to_float(self.variables.sizes()))

    def training_loss(self, features, labels, name="training_loss"):
        """Returns the negative mean number of nodes, a float32 scalar tensor.

        Args:
          features: ignored.
          labels: ignored.
          name: name of the operation.
        """
        del features, labels
        return tf.negative(self.average_size(), name=name)

    def validation_loss(self, features, labels):
        """Returns the same as `training_loss`.

        Args:
          features: ignored.
          labels: ignored.
        """
        del features, labels
        return -self.average_size()

    def feature_importances(self):
        """Returns the share of the splits by each column, a float64 tensor [columns]."""
        counts = tf.reduce_sum(self.variables.usage(), 0)
        return counts / tf.reduce_sum(counts)

    def get_all_resource_handles(self):
        """Returns the resources of the forest."""
        return [self.variables.handle]


class RandomTreeGraphs:
    """The operations of one tree.

    Args:
      variables: the `variables` of a RandomForestGraphs.
      params: ForestHParams, filled.
      tree_num: int, number of the tree.
    """

    def __init__(self, variables, params, tree_num):
        self.variables, self.params, self.tree_num = variables, params, tree_num

    def training_graph(
        self,
        input_data,
        input_labels,
        random_seed,
        data_spec,
        sparse_features=None,
        input_weights=None,
    ):
        """Returns the operation that trains the tree by a batch.

        Args:
          input_data: float32 tensor [batch, columns].
          input_labels: tensor [batch].
          random_seed: ignored; ForestHParams has `base_random_seed`.
          data_spec: ignored.
          sparse_features: must be None.
          input_weights: float32 tensor [batch], or None.
        """
        del random_seed, data_spec
        _refuse_sparse(sparse_features)
        return _train(self, [self.tree_num], input_data, input_labels, input_weights)

    def inference_graph(self, input_data, data_spec, sparse_features=None):
        """Returns what the tree predicts, float32 [batch, outputs], and empty texts [batch].

        Args:
          input_data: float32 tensor [batch, columns].
          data_spec: ignored.
          sparse_features: must be None.
        """
        del data_spec
        _refuse_sparse(sparse_features)
        found = self.variables.predict(input_data)[self.tree_num]
        return found, tf.fill([tf.shape(input_data)[0]], "")

    def size(self):
        """Returns the number of nodes, an int32 scalar tensor."""
        return self.variables.sizes()[self.tree_num]

    def feature_usage_counts(self):
        """Returns how many nodes split by each column, an int32 tensor [columns]."""
        return self.variables.usage()[self.tree_num]


def _train(graphs, trees, input_data, input_labels, input_weights=None):
    """Returns the operation that lets some trees of a forest see a batch."""
    data = ParseDataTensorOrDict(input_data)[0]
    labels = tf.to_float(ParseLabelTensorOrDict(input_labels))
    if graphs.params.regression:
        labels = tf.reshape(labels, [tf.shape(data)[0], -1])
    if input_weights is None:
        weights = tf.ones([tf.shape(data)[0]])
    else:
        weights = tf.reshape(tf.to_float(input_weights), [-1])
    grow = graphs.variables.grow(data, labels, weights, trees)
    with tf.control_dependencies([grow]):
        return tf.no_op(name="train")


def _refuse_sparse(sparse_features):
    if sparse_features is not None:
        raise NotSuppliedError("sparse features of a forest are not supplied; make them dense")


def _make_variables(params):
    shape = Shape(
        trees=params.num_trees,
        outputs=params.num_outputs if params.regression else params.num_classes,
        width=params.num_features,
        columns=params.bagged_features,
        regression=params.regression,
        sparse=params.leaf_model_type == CLASSIFICATION_LEAF_MODEL_TYPES["all_sparse"][0],
        strict=params.split_type == SPLIT_TYPES["less"],
    )
    for tree in range(params.num_trees):
        # 1.x has one for each tree, so that a device assigner can place it.
        tf.get_variable(f"device_dummy_{tree}", [0])
    if is_frozen():
        return FrozenForest(shape)
    rules = Rules(
        candidates=int(params.num_splits_to_consider),
        split_after=float(params.split_after_samples),
        max_nodes=params.max_nodes,
        bagging=params.bagging_fraction,
        collate=params.collate_examples,
        keep_stats=params.checkpoint_stats,
        seed=params.base_random_seed,
    )
    return GrowingForest(shape, rules)
