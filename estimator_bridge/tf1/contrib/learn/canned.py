"""The canned estimators of `tf.contrib.learn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.fitting import FitMixin

__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "LinearClassifier",
    "LinearRegressor",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
]

# tf.contrib.learn averaged the loss; tf.estimator's v1 classes sum it.
_MEAN = tf.losses.Reduction.SUM_OVER_BATCH_SIZE

_UNSUPPORTED = (
    "enable_centered_bias",
    "embedding_lr_multipliers",
    "fix_global_step_increment_bug",
    "gradient_clip_norm",
    "joint_linear_weights",
    "joint_weights",
    "_joint_weight",
    "_joint_linear_weights",
    "feature_engineering_fn",
    "input_layer_min_slice_size",
    "input_layer_partitioner",
)

# Arguments that do not affect the result: the bug is fixed, and joint weights are only another
# layout of the variables.
_WITHOUT_EFFECT = {
    "fix_global_step_increment_bug",
    "joint_linear_weights",
    "_joint_linear_weights",
    "joint_weights",
    "_joint_weight",
    "input_layer_min_slice_size",
}


def _convert_arguments(name, kwargs):
    """Renames old arguments, drops those without effect and rejects unsupported ones."""
    kept = {}
    for key, value in kwargs.items():
        if key in _UNSUPPORTED:
            if key not in _WITHOUT_EFFECT and value:
                raise ValueError(
                    f"tf.contrib.learn.{name}: {key} is not supported; use tf.estimator.{name} "
                    "or an argument of the optimizer"
                )
            continue
        key = {"weight_column_name": "weight_column", "label_keys": "label_vocabulary"}.get(
            key, key
        )
        kept[key] = value
    for key in ("linear_optimizer", "dnn_optimizer", "optimizer", "weight_column"):
        if kept.get(key, 0) is None:
            del kept[key]
    for key in ("feature_columns", "linear_feature_columns", "dnn_feature_columns"):
        if key in kept and kept[key] is not None:
            kept[key] = list(kept[key])
    kept.setdefault("loss_reduction", _MEAN)
    return kept


def _accept_single_tensor(model_fn):
    """Returns a model_fn that also accepts a single tensor as features, under the name ""."""

    def wrapped(features, labels, mode, config):
        if not isinstance(features, dict):
            features = {"": features}
        return model_fn(features=features, labels=labels, mode=mode, config=config)

    return wrapped


def _with_old_arguments(base, positional):
    """Returns a subclass of an estimator with the old order of arguments and `fit`."""

    def __init__(self, *args, **kwargs):
        if len(args) > len(positional):
            raise TypeError(
                f"tf.contrib.learn.{base.__name__}: expected at most the positional arguments "
                f"{positional}, got {len(args)} values"
            )
        kwargs.update(zip(positional, args))
        super(cls, self).__init__(**_convert_arguments(base.__name__, kwargs))
        self._model_fn = _accept_single_tensor(self._model_fn)

    body = {
        "__init__": __init__,
        "__doc__": (
            f"tf.estimator.{base.__name__} with the arguments and methods of tf.contrib.learn."
        ),
        "__module__": __name__,
    }
    cls = type(base.__name__, (FitMixin, base), body)
    return cls


DNNClassifier = _with_old_arguments(
    tf.estimator.DNNClassifier, ("hidden_units", "feature_columns", "model_dir", "n_classes")
)
DNNRegressor = _with_old_arguments(
    tf.estimator.DNNRegressor, ("hidden_units", "feature_columns", "model_dir")
)
LinearClassifier = _with_old_arguments(
    tf.estimator.LinearClassifier, ("feature_columns", "model_dir", "n_classes")
)
LinearRegressor = _with_old_arguments(
    tf.estimator.LinearRegressor, ("feature_columns", "model_dir")
)
DNNLinearCombinedClassifier = _with_old_arguments(
    tf.estimator.DNNLinearCombinedClassifier, ("model_dir", "n_classes")
)
DNNLinearCombinedRegressor = _with_old_arguments(
    tf.estimator.DNNLinearCombinedRegressor, ("model_dir",)
)


def infer_real_valued_columns_from_input_fn(input_fn):
    """Returns a numeric column for each feature of an input_fn.

    Args:
      input_fn: function that returns (features, labels); a single tensor gets the name "".

    Returns:
      List of numeric columns, sorted by name.
    """
    with tf.Graph().as_default():
        features, _ = input_fn()
        if not isinstance(features, dict):
            features = {"": features}
        return [
            tf.feature_column.numeric_column(
                name, shape=[int(dim) for dim in tensor.shape[1:]] or (1,), dtype=tensor.dtype
            )
            for name, tensor in sorted(features.items())
        ]


def infer_real_valued_columns_from_input(x):
    """Returns a numeric column for the columns of an array.

    Args:
      x: array [rows, columns].

    Returns:
      List of one numeric column, named "".
    """
    return [tf.feature_column.numeric_column("", shape=x.shape[1:] or (1,))]
