"""`tf.contrib.estimator.forward_features` and `clip_gradients_by_norm`."""

import tensorflow.compat.v1 as tf

__all__ = ["clip_gradients_by_norm", "forward_features"]

_DEFAULT_SIGNATURE = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class _TransformedGradients(tf.train.Optimizer):
    """An optimizer whose gradients pass through a function first; slot names do not change."""

    def __init__(self, optimizer, transform, name):
        super().__init__(use_locking=False, name=name)
        self._optimizer = optimizer
        self._transform = transform

    def compute_gradients(self, *args, **kwargs):
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return self._optimizer.apply_gradients(
            self._transform(grads_and_vars), global_step=global_step, name=name
        )

    def get_slot(self, *args, **kwargs):
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer, clip_norm):
    """Returns an optimizer that clips the gradients to a global norm.

    Args:
      optimizer: a tf.train.Optimizer.
      clip_norm: scalar float, maximum global norm.

    Returns:
      tf.train.Optimizer.
    """

    def clip(grads_and_vars):
        gradients, variables = zip(*grads_and_vars)
        clipped, _ = tf.clip_by_global_norm(gradients, clip_norm)
        return list(zip(clipped, variables))

    return _TransformedGradients(optimizer, clip, f"ClipByNorm{optimizer.get_name()}")


def forward_features(estimator, keys=None, sparse_default_values=None):
    """Returns an Estimator that adds input features to its predictions and its predict signature.

    Args:
      estimator: tf.estimator.Estimator whose predictions are a dict.
      keys: name of a feature, list of names, or None for all features.
      sparse_default_values: {name: fill value} for sparse features, which become dense, or None.

    Returns:
      tf.estimator.Estimator.

    Raises:
      ValueError: a key is not a string; or, in predict and export, a key is not a feature, is in
        the predictions already, or is sparse without a fill value.
    """
    if isinstance(keys, str):
        keys = [keys]
    for key in keys or ():
        if not isinstance(key, str):
            raise ValueError(f"keys: expected strings, got {key!r}")
    defaults = sparse_default_values or {}

    def model_fn(features, labels, mode, config):
        unknown = sorted(set(keys or ()) - set(features))
        if unknown:
            raise ValueError(f"keys: there is no feature {unknown[0]!r} among {sorted(features)}")
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != tf.estimator.ModeKeys.PREDICT:
            return spec
        if not isinstance(spec.predictions, dict):
            raise ValueError(
                "forward_features: predictions must be a dict, got "
                f"{type(spec.predictions).__name__}"
            )
        predictions = dict(spec.predictions)
        forwarded = {}
        for key in keys or features:
            if key in predictions:
                raise ValueError(f"keys: the predictions already contain {key!r}")
            forwarded[key] = _dense(key, features[key], defaults)
        predictions.update(forwarded)
        outputs = dict(spec.export_outputs or {})
        for name in ("predict", _DEFAULT_SIGNATURE):
            output = outputs.get(name)
            if isinstance(output, tf.estimator.export.PredictOutput):
                outputs[name] = tf.estimator.export.PredictOutput({**output.outputs, **forwarded})
        return spec._replace(predictions=predictions, export_outputs=outputs)

    return tf.estimator.Estimator(
        model_fn=model_fn, model_dir=estimator.model_dir, config=estimator.config
    )


def _dense(key, feature, defaults):
    feature = tf.convert_to_tensor_or_sparse_tensor(feature)
    if not isinstance(feature, tf.SparseTensor):
        return feature
    if key not in defaults:
        raise ValueError(
            f"forward_features: feature {key!r} is sparse; give sparse_default_values={{{key!r}: "
            "...}}"
        )
    return tf.sparse_tensor_to_dense(feature, default_value=defaults[key])
