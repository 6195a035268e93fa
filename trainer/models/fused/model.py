"""The fused engine: the canned linear, dnn and wide_deep models with fewer operations per step.

It has the same mathematics, initial values and checkpoints as the canned models. Therefore a job
can change its engine at any checkpoint. The exports of both engines have the same variables and
signatures.
"""

from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.features import encoding as encoding_lib
from trainer.features.columns import FeatureColumns
from trainer.features.encoding import ENCODED, IDS, build_encoding
from trainer.features.parts import derive_features
from trainer.models.fused.growing import find_held
from trainer.models.fused.layout import MAX_SMALL, Table, build_layout, unsupported_column
from trainer.models.fused.network import run_forward
from trainer.models.fused.rows import Preparation, prepare_rows
from trainer.models.fused.served import build_served_training
from trainer.models.fused.training import FusedModel, build_training
from trainer.models.fused.updates import KINDS as OPTIMIZERS
from trainer.models.fused.variables import Stored, build_saver, restore_variables
from trainer.models.heads import prepare_labels
from trainer.schema import Schema, Statistics

KINDS = ("linear", "dnn", "wide_deep")
# Its processes exchange the gradients themselves.
IN_STEP = "multi_worker_mirrored"
# Its processes read and update variables on parameter servers.
SERVED = "parameter_server"
# Under other strategies TensorFlow must place the variables and sum their gradients.
STRATEGIES = ("none", IN_STEP, SERVED)


def unsupported_reason(
    model: config_lib.ModelConfig,
    strategy: str,
    schema: Schema,
    columns: FeatureColumns,
    statistics: Statistics,
) -> Optional[str]:
    """Returns why the fused engine does not support a model; None if it does.

    Args:
        model: type and batch_norm.
        strategy: cluster.strategy.
        schema: resolved schema.
        columns: its feature columns.
        statistics: of the training data.
    """
    if model.type not in KINDS:
        return f"model.type {model.type}"
    if model.batch_norm and model.type != "linear":
        return "model.batch_norm"
    if strategy not in STRATEGIES:
        return f"cluster.strategy {strategy}"
    reason = encoding_lib.unsupported_reason(schema)
    if reason is not None:
        return reason
    encoding = build_encoding(schema, statistics)
    name = unsupported_column([*columns.wide, *columns.deep], encoding)
    return f"column {name}" if name else None


def build_row_preparation(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    columns: FeatureColumns,
    units: int,
) -> Preparation:
    """Builds the preparation of rows for a model that the fused engine supports.

    Args:
        config: model.type, which is linear, dnn or wide_deep; train's optimizers and batch sizes;
            cluster.strategy.
        schema: columns, label and weight.
        statistics: of the training data.
        columns: feature columns of the schema.
        units: number of logits.
    """
    encoding, kind, train = build_encoding(schema, statistics), config.model.type, config.train
    layout = build_layout(columns, encoding, units, wide=kind != "dnn", deep=kind != "linear")
    updated = [(table, train.linear_optimizer) for table in layout.wide]
    updated += [(table, train.optimizer) for table in (layout.deep.tables if layout.deep else ())]
    if config.cluster.strategy in (IN_STEP, SERVED):
        rows = max(train.batch_size, *train.batch_growth_sizes, 0)
        distinct = [table for table, _ in updated if _is_sent_as_rows(table, rows)]
    else:
        distinct = [
            table for table, name in updated if table.is_large and not OPTIMIZERS[name].needs_all
        ]
    return Preparation(schema, encoding, layout, tuple(distinct))


def _is_sent_as_rows(table: Table, batch: int) -> bool:
    """Returns whether a process sends the gradient of a table as rows, not as a whole.

    It saves bytes if the rows are fewer, and takes a search for the distinct rows.
    """
    is_longer = table.num_rows > batch * len(table.fields)
    return table.is_large or is_longer and table.num_rows * table.dimension > MAX_SMALL


def build_predictor(canned: Any, head: Any, model: FusedModel) -> Any:
    """Builds an Estimator that predicts and exports with the forward pass of the fused engine.

    Args:
        canned: the canned Estimator, which trains and evaluates. It also predicts if the receiver
            of a user provides features other than one number or string per row.
        head: head of the canned Estimator.
        model: the fused model.

    Returns:
        An Estimator of the same model_dir, configuration and initial values.
    """

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
        encoding = model.preparation.encoding
        if mode != estimator.ModeKeys.PREDICT or not encoding.can_encode(features):
            if model.schema.growing:
                raise UserError(
                    f"columns.{model.schema.growing[0]}.growing: a serving receiver must provide "
                    "one value per row of each feature; use hash_buckets"
                )
            return canned.model_fn(features, labels, mode, config)
        encoded = {
            name: tf.identity(tensor, ENCODED + name)
            for name, tensor in encoding.encode(features).items()
        }
        return _build_spec(model, head, features, encoded, mode)

    return estimator.Estimator(
        model_fn=model_fn, config=canned.config, warm_start_from=canned._warm_start_settings
    )


def build_fused(predictor: Any, head: Any, model: FusedModel) -> Any:
    """Builds the Estimator that trains and evaluates with the fused engine.

    Args:
        predictor: the Estimator that predicts and exports.
        head: its head.
        model: the fused model.

    Returns:
        An Estimator of the same model_dir and configuration. Its input is raw rows, or encoded rows
        (see features.encoding) with weight and further labels by name. In training, it may also
        have the shape [steps, batch] for several steps in one run of the session, or be a result of
        the function that Preparation.begin returns.
    """

    def model_fn(features: dict[str, Any], labels: Any, mode: str, config: Any) -> Any:
        if mode == estimator.ModeKeys.PREDICT:
            return predictor.model_fn(features, labels, mode, config)
        if mode == estimator.ModeKeys.TRAIN:
            build = build_training if model.servers is None else build_served_training
            return build(model, features, labels, config)
        return _build_evaluation(model, head, features, labels)

    return estimator.Estimator(
        model_fn=model_fn, config=predictor.config, warm_start_from=predictor._warm_start_settings
    )


def _build_evaluation(model: FusedModel, head: Any, features: dict[str, Any], labels: Any) -> Any:
    schema, encoding = model.schema, model.preparation.encoding
    prepared, labels = prepare_labels(features, labels, schema, training=False)
    encoded = (
        prepared
        if IDS in prepared
        else encoding.encode(derive_features(prepared, schema, encoding.statistics))
    )
    return _build_spec(model, head, prepared, encoded, estimator.ModeKeys.EVAL, labels)


def _build_spec(
    model: FusedModel,
    head: Any,
    features: dict[str, Any],
    encoded: dict[str, Any],
    mode: str,
    labels: Any = None,
) -> Any:
    """Builds the EstimatorSpec of an evaluation or a prediction."""
    step = Stored(tf.compat.v1.train.get_or_create_global_step(), "global_step")
    encoded, held = find_held(encoded, model.preparation.encoding, step.variable.read_value())
    rows = prepare_rows(model.layout, encoded)
    rows[IDS] = tf.linalg.matrix_transpose(encoded[IDS])
    variables, stored = restore_variables(model.layout, model.options.hidden_units, model.units)
    done = run_forward(model.layout, rows, variables, model.activation)
    spec = head.create_estimator_spec(
        features=features, mode=mode, logits=done.logits, labels=labels
    )
    saver = build_saver([step, *stored, *held])
    return spec._replace(scaffold=tf.compat.v1.train.Scaffold(saver=saver))
