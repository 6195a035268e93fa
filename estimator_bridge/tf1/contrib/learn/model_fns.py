"""The model_fns of the canned estimators of `tf.contrib.learn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.learn import model_parts as _parts
from estimator_bridge.tf1.contrib.learn.model_spec import ModeKeys

__all__ = ["combined_model_fn", "deep_model_fn", "linear_model_fn"]

_DEEP_LEARNING_RATE = 0.05


def _as_dict(features):
    return features if isinstance(features, dict) else {"": features}


def linear_model_fn(head, columns, optimizer, clip_norm, joint):
    """Returns the model_fn of a linear model.

    Args:
      head: head of the model.
      columns: feature columns.
      optimizer: tf.train.Optimizer, its name, a function that returns one, or None for Ftrl.
      clip_norm: number to which the global norm of gradients is clipped, or None.
      joint: whether the sparse columns share one variable.

    Returns:
      The model_fn.
    """
    columns = list(columns)

    def step(loss):
        # Only the weights of the columns, as in 1.x: a centered bias has a step of its own.
        variables = tf.get_collection(_parts.LINEAR)
        gradients = tf.gradients(loss, variables)
        if clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, clip_norm)
        built = _parts.make_optimizer(
            optimizer, tf.train.FtrlOptimizer, _parts.linear_learning_rate(columns)
        )
        return built.apply_gradients(
            zip(gradients, variables), global_step=tf.train.get_global_step()
        )

    def model_fn(features, labels, mode, config):
        features = _as_dict(features)
        with tf.variable_scope(
            _parts.LINEAR,
            values=tuple(features.values()),
            partitioner=_parts.make_partitioner(config, 64 << 20),
        ):
            logits = _parts.build_linear_logits(features, columns, head.logits_dimension, joint)
            return head.create_model_fn_ops(
                features=features, mode=mode, labels=labels, train_op_fn=step, logits=logits
            )

    return model_fn


def deep_model_fn(head, columns, network, optimizer, clip_norm, multipliers):
    """Returns the model_fn of a deep model.

    Args:
      head: head of the model.
      columns: list of feature columns.
      network: see `model_parts.build_deep_logits`.
      optimizer: tf.train.Optimizer, its name, a function that returns one, or None for Adagrad.
      clip_norm: number to which the global norm of gradients is clipped, or None.
      multipliers: {embedding column: factor of its gradients}, or None.

    Returns:
      The model_fn.

    Raises:
      ValueError: there are no columns.
    """
    if not columns:
        raise ValueError("feature_columns: expected at least one column")

    def step(loss):
        return layers.optimize_loss(
            loss=loss,
            global_step=tf.train.get_global_step(),
            learning_rate=_DEEP_LEARNING_RATE,
            optimizer=_parts.make_optimizer(
                optimizer, tf.train.AdagradOptimizer, _DEEP_LEARNING_RATE
            ),
            gradient_multipliers=_parts.embedding_multipliers(multipliers),
            clip_gradients=clip_norm,
            name=_parts.DEEP,
            summaries=[],
        )

    def model_fn(features, labels, mode, config):
        features = _as_dict(features)
        with tf.variable_scope(
            _parts.DEEP,
            values=tuple(features.values()),
            partitioner=_parts.make_partitioner(config),
        ):
            logits = _parts.build_deep_logits(
                features,
                columns,
                head.logits_dimension,
                network,
                form="{}_{}",
                config=config,
                train=mode == ModeKeys.TRAIN,
            )
            return head.create_model_fn_ops(
                features=features, mode=mode, labels=labels, train_op_fn=step, logits=logits
            )

    return model_fn


def combined_model_fn(head, linear, deep, clip_norm, fixed_step):
    """Returns the model_fn of a linear and a deep part.

    Args:
      head: head of the model.
      linear: (columns, optimizer, joint) of the linear part.
      deep: (columns, optimizer, network, multipliers) of the deep part.
      clip_norm: number, or None.
      fixed_step: whether a step counts once; otherwise once for each part, as in 1.x.

    Returns:
      The model_fn.

    Raises:
      ValueError: both parts have no columns.
    """
    linear_columns, linear_optimizer, joint = linear
    deep_columns, deep_optimizer, network, multipliers = deep
    if not linear_columns and not deep_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")

    def step(loss):
        shared = {"clip_gradients": clip_norm, "summaries": []}
        shared["increment_global_step"] = not fixed_step
        steps = []
        if deep_columns:
            steps.append(
                layers.optimize_loss(
                    loss=loss,
                    global_step=tf.train.get_global_step(),
                    learning_rate=_DEEP_LEARNING_RATE,
                    optimizer=_parts.make_optimizer(
                        deep_optimizer, tf.train.AdagradOptimizer, _DEEP_LEARNING_RATE
                    ),
                    gradient_multipliers=_parts.embedding_multipliers(multipliers),
                    variables=tf.get_collection(_parts.DEEP),
                    name=_parts.DEEP,
                    **shared,
                )
            )
        if linear_columns:
            rate = _parts.linear_learning_rate(linear_columns)
            steps.append(
                layers.optimize_loss(
                    loss=loss,
                    global_step=tf.train.get_global_step(),
                    learning_rate=rate,
                    optimizer=_parts.make_optimizer(linear_optimizer, tf.train.FtrlOptimizer, rate),
                    variables=tf.get_collection(_parts.LINEAR),
                    name=_parts.LINEAR,
                    **shared,
                )
            )
        done = tf.group(*steps)
        if not fixed_step:
            return done
        with tf.control_dependencies([done]):
            return tf.assign_add(tf.train.get_global_step(), 1).op

    def model_fn(features, labels, mode, config):
        features = _as_dict(features)
        values, logits = tuple(features.values()), []
        if deep_columns:
            partitioner = _parts.make_partitioner(config)
            with tf.variable_scope(_parts.DEEP, values=values, partitioner=partitioner):
                logits.append(
                    _parts.build_deep_logits(
                        features,
                        deep_columns,
                        head.logits_dimension,
                        network,
                        form="{}/{}",
                        config=config,
                        train=mode == ModeKeys.TRAIN,
                    )
                )
        if linear_columns:
            partitioner = _parts.make_partitioner(config, 64 << 20)
            with tf.variable_scope(_parts.LINEAR, values=values, partitioner=partitioner) as scope:
                logits.append(
                    _parts.build_linear_logits(
                        features, linear_columns, head.logits_dimension, joint
                    )
                )
                _parts.summarize("{}/{}", scope.name, logits[-1])
        return head.create_model_fn_ops(
            features=features, mode=mode, labels=labels, train_op_fn=step, logits=tf.add_n(logits)
        )

    return model_fn
