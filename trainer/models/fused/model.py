"""The fused engine: the canned linear, dnn and wide_deep models with few operations a step.

The mathematics, the initial values and the checkpoints are the canned models': a job may change
its engine at any checkpoint, and what either engine exports has the same variables and signatures.
"""

from typing import Any, Optional

from estimator_bridge import estimator
from trainer import config as config_lib
from trainer.features import encoding as encoding_lib
from trainer.features.columns import FeatureColumns
from trainer.features.encoding import IDS, build_encoding
from trainer.features.parts import derive_features
from trainer.models.fused.layout import build_layout, unsupported_column
from trainer.models.fused.network import run_forward
from trainer.models.fused.rows import Preparation, prepare_rows
from trainer.models.fused.training import Model, build_training
from trainer.models.fused.variables import read_variables
from trainer.models.heads import prepare_labels
from trainer.schema import Schema, Statistics

KINDS = ("linear", "dnn", "wide_deep")
# Strategies under which variables and their updates are TensorFlow's to place and to sum.
STRATEGIES = ("none",)


def unsupported_reason(
    config: config_lib.Config, schema: Schema, columns: FeatureColumns, statistics: Statistics
) -> Optional[str]:
    """Why the fused engine does not cover a model; None where it does.

    Args:
        config: resolved configuration.
        schema: resolved schema.
        columns: its feature columns.
        statistics: of the training data.
    """
    kind = config.model.type
    if kind not in KINDS:
        return f"model.type {kind}"
    if config.model.batch_norm and kind != "linear":
        return "model.batch_norm"
    if config.cluster.strategy not in STRATEGIES:
        return f"cluster.strategy {config.cluster.strategy}"
    reason = encoding_lib.unsupported_reason(schema)
    if reason is not None:
        return reason
    encoding = build_encoding(schema, statistics)
    name = unsupported_column([*columns.wide, *columns.deep], encoding)
    return f"column {name}" if name else None


def build_model(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    columns: FeatureColumns,
    units: int,
    max_steps: int,
) -> Model:
    """What the fused engine of a model that it covers is made of.

    Args:
        config, schema, statistics, columns: as the canned model's.
        units: number of logits.
        max_steps: length of the run, for decaying rates.
    """
    rows = build_rows(config, schema, statistics, columns, units)
    return Model(config, rows, units, max_steps)


def build_predictor(canned: Any, head: Any, model: Model):
    """Builds an Estimator that predicts, and is exported, with the fused engine's forward pass.

    Args:
        canned: the canned Estimator; it does the rest, and predicts where a receiver of the user's
            own gives other than a number or text for each row.
        head: its head.
        model: what the fused engine is made of.
    """

    def model_fn(features, labels, mode, config):
        encoding = model.preparation.encoding
        if mode != estimator.ModeKeys.PREDICT or not encoding.can_encode(features):
            return canned.model_fn(features, labels, mode, config)
        return _build_forward(model, head, features, encoding.encode(features), mode)

    return estimator.Estimator(
        model_fn=model_fn, config=canned.config, warm_start_from=canned._warm_start_settings
    )


def build_fused(predictor: Any, head: Any, model: Model):
    """Builds the fused engine of a canned model that it covers.

    Args:
        predictor: the Estimator that predicts and is exported.
        head: its head.
        model: what the fused engine is made of.

    Returns:
        an Estimator of the same folder and configuration. It takes raw rows, or encoded ones as
        features.encoding says with weight and other labels by name; in training also [steps, batch]
        of them, for so many steps in one run of the session, which build_rows may have prepared.
    """

    def model_fn(features, labels, mode, config):
        if mode == estimator.ModeKeys.PREDICT:
            return predictor.model_fn(features, labels, mode, config)
        if mode == estimator.ModeKeys.TRAIN:
            return build_training(model, features, labels, config)
        return _build_evaluation(model, head, features, labels)

    return estimator.Estimator(
        model_fn=model_fn, config=predictor.config, warm_start_from=predictor._warm_start_settings
    )


def build_rows(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    columns: FeatureColumns,
    units: int,
) -> Preparation:
    """What the rows of a model that the fused engine covers become; units: number of logits."""
    kind, encoding = config.model.type, build_encoding(schema, statistics)
    layout = build_layout(columns, encoding, units, wide=kind != "dnn", deep=kind != "linear")
    return Preparation(schema, encoding, layout)


def _build_evaluation(model: Model, head: Any, features: dict[str, Any], labels: Any):
    schema = model.preparation.schema
    seen, labels = prepare_labels(features, labels, schema, training=False)
    encoded = (
        seen if IDS in seen else model.preparation.encoding.encode(derive_features(seen, schema))
    )
    return _build_forward(model, head, seen, encoded, estimator.ModeKeys.EVAL, labels)


def _build_forward(
    model: Model, head: Any, features: dict, encoded: dict, mode: Any, labels: Any = None
):
    rows = prepare_rows(model.layout, encoded)
    variables = read_variables(model.layout, model.config.model.hidden_units, model.units)
    done = run_forward(model.layout, rows, variables, model.activation)
    return head.create_estimator_spec(
        features=features, mode=mode, logits=done.logits, labels=labels
    )
