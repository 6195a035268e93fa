"""Rebuilds the canned Estimator of a Plan, for a comparison when only a job_dir exists."""

from collections.abc import Iterable
from typing import Any, Callable, Optional, Union

from ...scaled_regression import scaled_regression_head
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
from ..plan.model import Head, Network, Optimizer, Plan, Schedule
from .derive import add_derived
from .rebuild_parts import build_recurrent, shared_table

__all__ = ["build_columns", "build_estimator"]


def build_estimator(plan: Plan, model_dir: str, seed: int = 1) -> Any:
    """Returns the Estimator with the columns, head and optimizers of tf.estimator.

    It expects labels as in Rows: a dict by head names if there are several heads.

    Args:
      plan: plan of a v2 Estimator.
      model_dir: folder of its checkpoints.
      seed: seed of initial values and dropout.
    """
    from estimator_bridge import estimator, tf

    config = estimator.RunConfig(model_dir=model_dir, tf_random_seed=seed)
    inner = _build_inner(plan, {"config": config, "head": _head(plan.head, estimator, tf)})
    weighted = [head for head in plan.head.single if head.class_weights]
    if not plan.derived and not weighted:
        return inner

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
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


def _weight_name(head: Head) -> Any:
    return f"{head.name}/class_weight" if head.class_weights else head.weight


def _factors(labels: Any, head: Head, tf: Any) -> Any:
    """Returns the factors on the weights of rows, float32 [batch], for text or numeric labels."""
    labels = tf.reshape(labels, [-1])
    if head.classes is None:
        return tf.gather(tf.constant(head.class_weights), tf.cast(labels, tf.int64))
    known = tf.equal(labels[:, None], tf.constant(head.classes)[None, :])
    return tf.linalg.matvec(tf.cast(known, tf.float32), tf.constant(head.class_weights))


def _build_inner(plan: Plan, options: dict[str, Any]) -> Any:
    from estimator_bridge import estimator, tf

    columns = _Columns(tf)
    wide_optimizer = _make_optimizer(plan.wide_optimizer, tf)
    deep_optimizer = _make_optimizer(plan.deep_optimizer, tf)
    if plan.kind == "baseline":
        return estimator.BaselineEstimator(optimizer=wide_optimizer, **options)
    if plan.kind == "rnn":
        return build_recurrent(
            () if plan.recurrent is None else plan.recurrent.cells,
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
    if plan.kind == "boosted_trees":
        return estimator.BoostedTreesEstimator(deep, 1, **options)
    network = plan.network or Network((), "linear", 0.0, False)
    activation = {"silu": "swish"}.get(network.activation, network.activation)
    function = getattr(tf.nn, activation, None) or getattr(tf.keras.activations, activation)
    dropout = network.dropout or None
    if plan.kind == "dnn":
        return estimator.DNNEstimator(
            feature_columns=deep,
            hidden_units=list(network.hidden_units),
            optimizer=deep_optimizer,
            activation_fn=function,
            dropout=dropout,
            batch_norm=network.batch_norm,
            **options,
        )
    return estimator.DNNLinearCombinedEstimator(
        linear_feature_columns=[columns.build(column) for column in plan.wide],
        linear_optimizer=wide_optimizer,
        dnn_feature_columns=deep,
        dnn_optimizer=deep_optimizer,
        dnn_hidden_units=list(network.hidden_units),
        dnn_activation_fn=function,
        dnn_dropout=dropout,
        batch_norm=network.batch_norm,
        linear_sparse_combiner=plan.wide_combiner,
        **options,
    )


def build_columns(columns: Iterable[Any]) -> list[Any]:
    """Returns the tf.feature_columns of plan columns.

    Args:
      columns: plan columns.
    """
    from estimator_bridge import tf

    builder = _Columns(tf)
    return [builder.build(column) for column in columns]


def _head(head: Head, estimator: Any, tf: Any) -> Any:
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
    if head.moments is not None:
        # The Keras model is trained with the loss in normalised units.
        return scaled_regression_head(*head.moments, normalized_loss=True, **options)
    if head.task == "logistic":
        return kinds[head.task](**options)
    return kinds[head.task](label_dimension=head.units, **options)


class _Columns:
    """Builds feature columns.

    Args:
      tf: TensorFlow.
      prefix: "sequence_" for sequence columns, else "".
    """

    def __init__(self, tf: Any, prefix: str = ""):
        self._tf = tf
        self._fc = tf.feature_column
        self._prefix = f"{prefix}categorical_column_with_"

    def _categorical(self, kind: str) -> Any:
        return getattr(self._fc, self._prefix + kind)

    def build(self, column: Any) -> Any:
        """Returns the feature column of a plan column.

        Args:
          column: the plan column.
        """
        fc = self._fc
        if isinstance(column, Raw):
            return column.key
        if isinstance(column, Numeric):
            return self._numeric(column)
        if isinstance(column, SequenceNumeric):
            return self._sequence_numbers(column)
        if isinstance(column, SharedTable):
            sources = tuple(self.build(source) for source in column.sources)
            return shared_table(sources, column.dimension, name_of(column))
        if isinstance(column, Bucketized):
            return fc.bucketized_column(self.build(column.source), list(column.boundaries))
        if isinstance(column, (Vocabulary, Hashed, Identity)):
            return self._ids(column)
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

    def _numeric(self, column: Numeric) -> Any:
        return self._fc.numeric_column(
            column.key,
            shape=column.shape or (column.width,),
            dtype=self._tf.as_dtype(column.dtype),
            normalizer_fn=column.normalizer.function if column.normalizer else None,
        )

    def _ids(self, column: Union[Vocabulary, Hashed, Identity]) -> Any:
        if isinstance(column, Identity):
            return self._categorical("identity")(
                column.key, column.buckets, default_value=column.default
            )
        dtype = self._tf.as_dtype(column.dtype)
        if isinstance(column, Hashed):
            return self._categorical("hash_bucket")(column.key, column.buckets, dtype=dtype)
        return self._categorical("vocabulary_list")(
            column.key,
            list(column.values),
            dtype=dtype,
            default_value=column.default,
            num_oov_buckets=column.oov_buckets,
        )

    def _sequence_numbers(self, column: SequenceNumeric) -> Any:
        normalize = None
        if column.normalizer is not None:
            function = column.normalizer.function

            def normalize(tensor: Any) -> Any:
                values = function(tensor.values)
                return self._tf.SparseTensor(tensor.indices, values, tensor.dense_shape)

        return self._fc.sequence_numeric_column(
            column.key,
            shape=(column.width,),
            default_value=column.default,
            normalizer_fn=normalize,
        )


def _make_optimizer(optimizer: Optional[Optimizer], tf: Any) -> Callable[[], Any]:
    """Returns a function that builds the Keras 2 optimizer inside the graph of an Estimator."""
    if optimizer is None:
        # The Estimator requires one, and is not trained.
        return lambda: tf.keras.optimizers.legacy.SGD(0.0)
    kinds = tf.keras.optimizers.legacy
    options, rate, kind = dict(optimizer.options), optimizer.rate, optimizer.kind

    def learning_rate() -> Any:
        return rate

    def build() -> Any:
        # The rate is passed as a function, because a number would become a variable, which some
        # checkpoints lack.
        chosen = learning_rate
        if isinstance(rate, Schedule):
            chosen = rate.build(tf.keras.optimizers.schedules)
        if kind == "adagrad":
            start = options["initial_accumulator_value"]
            epsilon = options["epsilon"] ** 0.5
            return kinds.Adagrad(chosen, initial_accumulator_value=start, epsilon=epsilon)
        if kind == "adam":
            return kinds.Adam(chosen, **options)
        if kind == "rmsprop":
            epsilon = options["epsilon"] if options["momentum"] else options["epsilon"] ** 0.5
            return kinds.RMSprop(chosen, **{**options, "epsilon": epsilon})
        if kind == "ftrl":
            return kinds.Ftrl(chosen, **options)
        return kinds.SGD(chosen, **options)

    return build
