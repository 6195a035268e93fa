"""What training chooses at random: features that may be split, and trees that are left out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import ensemble as trees

__all__ = ["Tuner"]


class Tuner:
    """Chooses features and trees, and the weights of trees.

    TensorFlow's random numbers are others, so the choices are others too; their shares are equal.

    Args:
      config: the LearnerConfig, with all that was left open filled in.
    """

    def __init__(self, config: Any):
        self._config = config

    def drop(self, ensemble: Any, center_bias: bool) -> list[int]:
        """Returns the trees that are left out while the next one grows.

        Args:
          ensemble: the message of the trees.
          center_bias: whether the first tree starts from a bias, and is kept.
        """
        tuner = self._config.learning_rate_tuner
        if tuner.WhichOneof("tuner") != "dropout":
            return []
        ended = len(ensemble.trees) - trees.is_growing(ensemble)
        # The same trees as long as one tree grows.
        random = np.random.default_rng([ended, 7])
        if random.random() < tuner.dropout.probability_of_skipping_dropout:
            return []
        chance = random.random(ended) < tuner.dropout.dropout_probability
        return [number for number in np.flatnonzero(chance).tolist() if number or not center_bias]

    def choose_features(self, ensemble: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns which features may be split in this layer, and which in the next.

        Args:
          ensemble: the message of the trees.
          size: the number of features.

        Returns:
          bool [size], twice.
        """
        config, growing = self._config, ensemble.growing_metadata
        now = later = np.ones(size, bool)
        kind = config.WhichOneof("feature_fraction")
        if kind == "feature_fraction_per_tree":
            tree = len(ensemble.trees) - trees.is_growing(ensemble)
            now = later = _draw(tree, size, config.feature_fraction_per_tree)
        elif kind == "feature_fraction_per_level":
            layer = growing.num_layers_attempted
            now, later = (
                _draw(layer + ahead, size, config.feature_fraction_per_level) for ahead in (0, 1)
            )
        most = config.constraints.max_number_of_unique_feature_columns
        if 0 < most <= len(growing.used_handler_ids):
            used = np.isin(np.arange(size), list(growing.used_handler_ids))
            now, later = now & used, later & used
        return now, later

    def grow(
        self, ensemble: Any, layers: Sequence[Any], max_depth: int, dropped: Sequence[int]
    ) -> None:
        """Adds a layer, and weighs the trees when one has ended.

        Args:
          ensemble: the message of the trees, which is changed.
          layers: the best splits of each feature.
          max_depth: the number of layers of a tree.
          dropped: the trees that were left out.
        """
        tuner = self._config.learning_rate_tuner
        rate = getattr(tuner, tuner.WhichOneof("tuner")).learning_rate
        ended = trees.grow(ensemble, layers, self._config, max_depth, rate)
        if ended and dropped:
            total = sum(ensemble.tree_weights[number] for number in dropped)
            share = len(dropped) + 1
            for number in dropped:
                ensemble.tree_weights[number] *= len(dropped) / share
                ensemble.tree_metadata[number].num_tree_weight_updates += 1
            ensemble.tree_weights[-1] = total / share
            ensemble.tree_metadata[-1].num_tree_weight_updates += 1


def _draw(seed: int, size: int, fraction: float) -> np.ndarray:
    chosen = np.random.default_rng([seed, 11]).random(size) < fraction
    return chosen if chosen.any() else np.arange(size) == seed % size
