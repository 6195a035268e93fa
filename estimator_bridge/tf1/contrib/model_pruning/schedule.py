"""Gradual pruning: which weights the masks remove, and when (Zhu and Gupta, 2017)."""

import re

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.model_pruning.masks import get_masks, get_thresholds, get_weights
from estimator_bridge.tf1.contrib.training import HParams

__all__ = ["Pruning", "get_pruning_hparams"]


def get_pruning_hparams():
    """Returns the default hyperparameters of `Pruning`, an HParams.

    name: str, name of the scope of operations and summaries.
    begin_pruning_step, end_pruning_step: steps between which masks change; -1 for no end.
    weight_sparsity_map: list of "regular expression of a weight's name:target sparsity".
    block_dims_map: list of "regular expression of a weight's name:heightxwidth" of blocks.
    threshold_decay: decay of the moving average of the thresholds.
    pruning_frequency: steps between changes of masks.
    nbins: ignored.
    block_height, block_width: size of the blocks that are removed together; -1 for the whole axis.
    block_pooling_function: AVG or MAX of the absolute weights, which ranks blocks.
    initial_sparsity, target_sparsity: share of removed weights at the begin and at the end.
    sparsity_function_begin_step, sparsity_function_end_step: steps between which it grows.
    sparsity_function_exponent: with 1 it grows on a line, with more it grows fast at first.
    use_tpu: whether the step of the last change is a resource variable.
    """
    return HParams(
        name="model_pruning",
        begin_pruning_step=0,
        end_pruning_step=-1,
        weight_sparsity_map=[""],
        block_dims_map=[""],
        threshold_decay=0.0,
        pruning_frequency=10,
        nbins=256,
        block_height=1,
        block_width=1,
        block_pooling_function="AVG",
        initial_sparsity=0.0,
        target_sparsity=0.5,
        sparsity_function_begin_step=0,
        sparsity_function_end_step=100,
        sparsity_function_exponent=3.0,
        use_tpu=False,
    )


def _check(spec):
    """Raises ValueError if hyperparameters do not fit."""
    if spec.begin_pruning_step < 0:
        raise ValueError(f"begin_pruning_step: {spec.begin_pruning_step} is negative")
    if spec.end_pruning_step != -1 and spec.begin_pruning_step >= spec.end_pruning_step:
        raise ValueError(
            f"end_pruning_step: {spec.end_pruning_step} is not after begin_pruning_step, "
            f"{spec.begin_pruning_step}; -1 is no end"
        )
    begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
    if begin < 0:
        raise ValueError(f"sparsity_function_begin_step: {begin} is negative")
    if begin >= end:
        raise ValueError(f"sparsity_function_end_step: {end} is not after the begin, {begin}")
    for name in ("threshold_decay", "initial_sparsity", "target_sparsity"):
        if not 0.0 <= getattr(spec, name) < 1.0:
            raise ValueError(f"{name}: {getattr(spec, name)} is not in [0, 1)")


def _read_map(pairs, read):
    """Returns {regular expression: value} of texts "expression:value"."""
    found = {}
    for pair in filter(None, pairs):
        if pair.count(":") != 1:
            raise ValueError(f"{pair!r}: expected a name and a value, as name:value")
        pattern, value = pair.split(":")
        found[re.compile(pattern)] = read(value)
    return found


def _read_sparsity(text):
    if float(text) >= 1.0:
        raise ValueError(f"weight_sparsity_map: a sparsity of {text} is not below 1")
    return float(text)


def _read_dims(text):
    dims = text.split("x")
    if len(dims) != 2:
        raise ValueError(f"block_dims_map: expected heightxwidth, got {text!r}")
    return [int(dim) for dim in dims]


def _name_of(variable):
    """Returns the name of a variable, which may be in parts."""
    return variable.name.partition(":")[0]


def _assign(variable, value, name):
    """Returns an operation that assigns a tensor to a variable, or to the parts of one."""
    if not hasattr(variable, "as_tensor"):
        return tf.assign(variable, value, name=name)
    sizes = [part.shape.as_list() for part in variable]
    axis = next((i for i, n in enumerate(variable.shape.as_list()) if sizes[0][i] != n), 0)
    parts = tf.split(value, [size[axis] for size in sizes], axis)
    return tf.group(*(tf.assign(one, part) for one, part in zip(variable, parts)), name=name)


class Pruning:
    """Updates the masks so that more and more of the smallest weights are removed.

    At step t the share of removed weights is target + (initial - target) (1 - p)^exponent, where p
    grows from 0 to 1 between two steps. The source is Zhu and Gupta (2017), "To prune, or not to
    prune: exploring the efficacy of pruning for model compression".

    Args:
      spec: HParams as in `get_pruning_hparams`, or None for the defaults.
      global_step: integer variable or scalar tensor; None for the global step of the graph.
      sparsity: float32 scalar tensor or variable, the share of removed weights; None for that of
        the hyperparameters.

    Raises:
      ValueError: hyperparameters do not fit, or there is no global step.
    """

    def __init__(self, spec=None, global_step=None, sparsity=None):
        self._spec = spec = spec or get_pruning_hparams()
        _check(spec)
        step = tf.train.get_global_step() if global_step is None else global_step
        if step is None:
            raise ValueError("global_step: the graph has no global step")
        self._global_step = tf.cast(step, tf.int32)
        self._sparsity = self._find_sparsity() if sparsity is None else sparsity
        with tf.variable_scope(spec.name, use_resource=spec.use_tpu):
            self._last_update_step = tf.get_variable(
                "last_mask_update_step",
                [],
                tf.int32,
                tf.zeros_initializer(),
                trainable=False,
            )
        self._block_dims_map = _read_map(spec.block_dims_map, _read_dims)
        self._weight_sparsity_map = _read_map(spec.weight_sparsity_map, _read_sparsity)

    def _find_sparsity(self):
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with tf.name_scope(spec.name):
            passed = tf.cast(self._global_step - begin, tf.float32) / float(end - begin)
            remaining = 1.0 - tf.minimum(1.0, tf.maximum(0.0, passed))
            power = tf.pow(remaining, spec.sparsity_function_exponent)
            change = spec.initial_sparsity - spec.target_sparsity
            return tf.add(change * power, spec.target_sparsity, name="sparsity")

    def _look_up(self, name, pairs, default):
        """Returns the value of the regular expression that occurs in the name of a weight."""
        found = [value for pattern, value in pairs.items() if pattern.search(name)]
        if len(found) > 1:
            raise ValueError(f"{name}: several names of a map match it")
        return found[0] if found else default

    def _sparsity_of(self, name):
        target = self._look_up(name, self._weight_sparsity_map, None)
        if target is None:
            return self._sparsity
        return self._sparsity * (target / self._spec.target_sparsity)

    def _update(self, values, threshold, name):
        """Returns the new threshold, and the mask of values [n] or of any shape."""
        size = tf.size(values)
        kept = tf.round(tf.cast(size, tf.float32) * (1.0 - self._sparsity_of(name)))
        ordered, _ = tf.nn.top_k(tf.reshape(values, [-1]), k=size)
        smallest = tf.gather(ordered, tf.cast(kept, tf.int32) - 1)
        decay = self._spec.threshold_decay
        smoothed = (1.0 - decay) * smallest + decay * threshold
        return smoothed, tf.cast(tf.greater_equal(values, smoothed), tf.float32)

    def _update_weights(self, weights, threshold, name):
        """Returns the new threshold, and the mask of the weights, whose blocks are ranked."""
        default = [self._spec.block_height, self._spec.block_width]
        dims = self._look_up(name, self._block_dims_map, default)
        matrix = tf.squeeze(weights)
        values = tf.abs(weights)
        if matrix.shape.ndims != 2 or dims == [1, 1]:
            return self._update(values, threshold, name)
        height, width = matrix.shape.as_list()
        dims = [size if dim == -1 else dim for dim, size in zip(dims, (height, width))]
        pooled = tf.nn.pool(
            tf.reshape(values, [1, height, width, 1]),
            *(dims, self._spec.block_pooling_function, "SAME"),
            strides=dims,
        )
        smoothed, mask = self._update(pooled[0, :, :, 0], threshold, name)
        mask = tf.repeat(tf.repeat(mask, dims[0], axis=0), dims[1], axis=1)
        return smoothed, tf.reshape(mask[:height, :width], weights.shape)

    def mask_update_op(self):
        """Returns an operation that updates all thresholds and masks.

        Raises:
          ValueError: several entries of a map match a weight.
        """
        with tf.name_scope(self._spec.name):
            done = [
                tf.assign(
                    self._last_update_step, self._global_step, name="last_mask_update_step_assign"
                )
            ]
            for mask, weights, threshold in zip(get_masks(), get_weights(), get_thresholds()):
                name = _name_of(weights)
                with tf.name_scope(name + "_pruning_ops"):
                    smoothed, new_mask = self._update_weights(
                        tf.convert_to_tensor(weights), threshold, name
                    )
                for variable, value in ((threshold, smoothed), (mask, new_mask)):
                    value = tf.cast(value, variable.dtype.base_dtype)
                    done.append(_assign(variable, value, _name_of(variable) + "_assign"))
            return tf.group(*done, name="mask_update")

    def conditional_mask_update_op(self):
        """Returns an operation that updates the masks at the steps that the hyperparameters say.

        Returns:
          Boolean scalar tensor.
        """
        spec, step = self._spec, self._global_step
        with tf.name_scope(spec.name):
            unended = tf.logical_or(
                tf.less_equal(step, spec.end_pruning_step), tf.less(spec.end_pruning_step, 0)
            )
            within = tf.logical_and(tf.greater_equal(step, spec.begin_pruning_step), unended)
            due = tf.less_equal(self._last_update_step + spec.pruning_frequency, step)
            now = tf.logical_and(within, due)
        return tf.cond(now, self.mask_update_op, tf.no_op)

    def add_pruning_summaries(self):
        """Adds scalar summaries of the sparsity, the last update, the masks and the thresholds."""
        with tf.name_scope(self._spec.name + "_summaries"):
            tf.summary.scalar("sparsity", self._sparsity)
            tf.summary.scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(get_masks(), get_thresholds()):
                tf.summary.scalar(_name_of(mask) + "/sparsity", tf.nn.zero_fraction(mask))
                tf.summary.scalar(_name_of(threshold) + "/threshold", threshold)

    def print_hparams(self):
        """Writes the hyperparameters as JSON to the log."""
        tf.logging.info(self._spec.to_json())
