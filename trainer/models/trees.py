"""Boosted trees: the Estimator of TensorFlow 1.x and 2.8, which grows a layer at a time."""

from typing import Any

from estimator_bridge import estimator
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.features.tree_columns import build_tree_columns
from trainer.schema import Schema, Statistics


def build_trees(
    config: config_lib.Config, schema: Schema, statistics: Statistics, head: Any, run_config: Any
) -> Any:
    """Builds the Estimator of model.type boosted_trees.

    Args:
        config: model.n_trees and the other options of trees; train.learning_rate, l1, l2 and
            batch_size.
        schema: its columns.
        statistics: of the training data; the number of rows.
        head: an estimator.Head.
        run_config: an estimator.RunConfig with a model_dir.

    Returns:
        An Estimator.

    Raises:
        UserError: the options do not make a model.
    """
    model, train = config.model, config.train
    if train.loss_reduction == "sum":
        raise UserError(
            "train.loss_reduction: model.type boosted_trees takes the mean; leave it out"
        )
    if train.l1 and head.logits_dimension > 1:
        raise UserError(
            "train.l1: model.type boosted_trees has one only for two classes or one number; set "
            "it to 0, or use l2"
        )
    return estimator.BoostedTreesEstimator(
        build_tree_columns(schema),
        config.count_batches_per_layer(statistics.num_rows),
        head,
        config=run_config,
        n_trees=model.n_trees,
        max_depth=model.max_depth,
        learning_rate=train.learning_rate,
        l1_regularization=train.l1,
        l2_regularization=train.l2,
        tree_complexity=model.tree_complexity,
        min_node_weight=model.min_node_weight,
        pruning_mode=model.pruning,
        quantile_sketch_epsilon=1.0 / model.max_buckets,
    )
