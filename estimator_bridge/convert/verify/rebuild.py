"""The canned Estimator of a Plan, for comparing a converted model with where only a job_dir is."""

from typing import Any

from ..plan.columns import (
    Bucketized,
    Crossed,
    Hashed,
    Identity,
    Indicator,
    Numeric,
    Raw,
    SequenceNumeric,
    SharedTable,
    Vocabulary,
    Weighted,
    name_of,
)
from ..plan.model import Head, Plan
from .derive import add_derived
from .rebuild_parts import build_recurrent, shared_table

__all__ = ["build_columns", "build_estimator"]


def build_estimator(plan: Plan, model_dir: str, seed: int = 1) -> Any:
    """Builds the Estimator with tf.estimator's own columns, head and optimizers.

    Its labels are those of the rows of a comparison: of several heads a dict by their names.

    Args:
      plan: of a v2 Estimator.
      model_dir: where its checkpoint is, or will be.
      seed: of initial values and dropout.
    """
    from estimator_bridge import estimator, tf

    config = estimator.RunConfig(model_dir=model_dir, tf_random_seed=seed)
    inner = _build_inner(plan, {"config": config, "head": _head(plan.head, estimator, tf)})
    weighted = [head for head in plan.head.single if head.class_weights]
    if not plan.derived and not weighted:
        return inner

    def model_fn(features, labels, mode, config):
        features = add_derived(features, plan.derived)
        for head in weighted:
            weight = tf.ones(tf.shape(next(iter(features.values())))[:1])
            if head.weight:
                weight = tf.reshape(tf.cast(features[head.weight], tf.float32), [-1])
            if mode == estimator.ModeKeys.TRAIN:
                own = labels[head.name] if head.name else labels
                weight *= _factors(own, head, tf)
            features[_weight_name(head)] = weight
        return inner.model_fn(features, labels, mode, config)

    return estimator.Estimator(model_fn, config=config)


def _weight_name(head: Head):
    return f"{head.name}/class_weight" if head.class_weights else head.weight


def _factors(labels, head, tf):
    """Factors on the weights of rows, float32 [batch], of labels: text or numbers."""
    labels = tf.reshape(labels, [-1])
    if head.classes is None:
        return tf.gather(tf.constant(head.class_weights), tf.cast(labels, tf.int64))
    known = tf.equal(labels[:, None], tf.constant(head.classes)[None, :])
    return tf.linalg.matvec(tf.cast(known, tf.float32), tf.constant(head.class_weights))


def _build_inner(plan, options):
    from estimator_bridge import estimator, tf

    columns = _Columns(tf)
    network = plan.network
    wide_optimizer = _make_optimizer(plan.wide_optimizer, tf)
    deep_optimizer = _make_optimizer(plan.deep_optimizer, tf)
    if plan.kind == "baseline":
        return estimator.BaselineEstimator(optimizer=wide_optimizer, **options)
    if plan.kind == "rnn":
        return build_recurrent(
            plan,
            [_Columns(tf, "sequence_").build(column) for column in plan.deep],
            [columns.build(column) for column in plan.context],
            deep_optimizer,
            options,
        )
    if plan.kind == "linear":
        return estimator.LinearEstimator(
            feature_columns=[columns.build(column) for column in plan.wide],
            optimizer=wide_optimizer,
            sparse_combiner=plan.wide_combiner,
            **options,
        )
    deep = [columns.build(column) for column in plan.deep]
    activation = {"silu": "swish"}.get(network.activation, network.activation)
    activation = getattr(tf.nn, activation, None) or getattr(tf.keras.activations, activation)
    if plan.kind == "dnn":
        return estimator.DNNEstimator(
            feature_columns=deep,
            hidden_units=list(network.hidden_units),
            optimizer=deep_optimizer,
            activation_fn=activation,
            dropout=network.dropout or None,
            batch_norm=network.batch_norm,
            **options,
        )
    return estimator.DNNLinearCombinedEstimator(
        linear_feature_columns=[columns.build(column) for column in plan.wide],
        linear_optimizer=wide_optimizer,
        dnn_feature_columns=deep,
        dnn_optimizer=deep_optimizer,
        dnn_hidden_units=list(network.hidden_units),
        dnn_activation_fn=activation,
        dnn_dropout=network.dropout or None,
        batch_norm=network.batch_norm,
        linear_sparse_combiner=plan.wide_combiner,
        **options,
    )


def build_columns(columns) -> list[Any]:
    """tf.feature_columns of plan columns; embeddings of one table share it."""
    from estimator_bridge import tf

    builder = _Columns(tf)
    return [builder.build(column) for column in columns]


def _head(head: Head, estimator, tf):
    if head.parts:
        heads = [_head(part, estimator, tf) for part in head.parts]
        return estimator.MultiHead(heads, [part.importance for part in head.parts])
    reductions = {"sum": "SUM", "sum_over_batch_size": "SUM_OVER_BATCH_SIZE"}
    options = {
        "weight_column": _weight_name(head),
        "name": head.name or None,
        "loss_reduction": getattr(tf.losses.Reduction, reductions[head.reduction]),
    }
    if head.task == "binary":
        return estimator.BinaryClassHead(label_vocabulary=head.classes, **options)
    if head.task == "multiclass":
        return estimator.MultiClassHead(head.units, label_vocabulary=head.classes, **options)
    if head.task == "multilabel":
        return estimator.MultiLabelHead(head.units, label_vocabulary=head.classes, **options)
    kinds = {
        "regression": estimator.RegressionHead,
        "poisson": estimator.PoissonRegressionHead,
        "logistic": estimator.LogisticRegressionHead,
    }
    if head.task == "logistic":
        return kinds[head.task](**options)
    return kinds[head.task](label_dimension=head.units, **options)


class _Columns:
    """Builds feature columns; those of one shared table together."""

    def __init__(self, tf, prefix=""):
        self._tf = tf
        self._fc = tf.feature_column
        self._prefix = f"{prefix}categorical_column_with_"

    def _categorical(self, kind):
        return getattr(self._fc, self._prefix + kind)

    def build(self, column: Any) -> Any:
        """The feature column of a plan column."""
        fc, tf = self._fc, self._tf
        if isinstance(column, Raw):
            return column.key
        if isinstance(column, Numeric):
            function = column.normalizer.function if column.normalizer else None
            return fc.numeric_column(
                column.key,
                shape=column.shape or (column.width,),
                dtype=tf.as_dtype(column.dtype),
                normalizer_fn=function,
            )
        if isinstance(column, SequenceNumeric):
            return self._sequence_numbers(column)
        if isinstance(column, SharedTable):
            sources = tuple(self.build(source) for source in column.sources)
            return shared_table(sources, column.dimension, name_of(column))
        if isinstance(column, Bucketized):
            return fc.bucketized_column(self.build(column.source), list(column.boundaries))
        if isinstance(column, Vocabulary):
            return self._categorical("vocabulary_list")(
                column.key,
                list(column.values),
                dtype=tf.as_dtype(column.dtype),
                default_value=column.default,
                num_oov_buckets=column.oov_buckets,
            )
        if isinstance(column, Hashed):
            return self._categorical("hash_bucket")(
                column.key, column.buckets, dtype=tf.as_dtype(column.dtype)
            )
        if isinstance(column, Identity):
            return self._categorical("identity")(
                column.key, column.buckets, default_value=column.default
            )
        if isinstance(column, Crossed):
            parts = [self.build(part) for part in column.keys]
            return fc.crossed_column(parts, column.buckets, hash_key=column.hash_key)
        source = self.build(column.source)
        if isinstance(column, Weighted):
            return fc.weighted_categorical_column(source, column.weight_key)
        if isinstance(column, Indicator):
            return fc.indicator_column(source)
        return fc.embedding_column(
            source, column.dimension, combiner=column.combiner, max_norm=column.max_norm
        )

    def _sequence_numbers(self, column):
        function = column.normalizer.function if column.normalizer else None

        def normalize(given):
            return self._tf.SparseTensor(given.indices, function(given.values), given.dense_shape)

        return self._fc.sequence_numeric_column(
            column.key,
            shape=(column.width,),
            default_value=column.default,
            normalizer_fn=normalize if function else None,
        )


def _make_optimizer(optimizer, tf):
    """A function that builds the Keras 2 optimizer inside the graph, as the Estimators want it."""
    if optimizer is None:
        return lambda: tf.keras.optimizers.legacy.Adagrad(0.05)
    kinds = tf.keras.optimizers.legacy
    options, rate = dict(optimizer.options), optimizer.rate

    def build():
        # A number would become a variable, which not every checkpoint has.
        chosen = lambda: rate  # noqa: E731
        if isinstance(rate, str):
            # The schedule's code names Keras; Keras 2 has the same schedules.
            chosen = eval(rate, {"keras": tf.keras})
        if optimizer.kind == "adagrad":
            start = options["initial_accumulator_value"]
            epsilon = options["epsilon"] ** 0.5
            return kinds.Adagrad(chosen, initial_accumulator_value=start, epsilon=epsilon)
        if optimizer.kind == "adam":
            return kinds.Adam(chosen, **options)
        if optimizer.kind == "rmsprop":
            epsilon = options["epsilon"] if options["momentum"] else options["epsilon"] ** 0.5
            return kinds.RMSprop(chosen, **{**options, "epsilon": epsilon})
        if optimizer.kind == "ftrl":
            return kinds.Ftrl(chosen, **options)
        return kinds.SGD(chosen, **options)

    return build
