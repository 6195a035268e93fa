"""From configuration and schema to an Estimator."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.features.columns import FeatureColumns, build_feature_columns
from trainer.features.parts import derive_features
from trainer.features.text import split_texts
from trainer.models.canned import build_canned
from trainer.models.code import HParams
from trainer.models.custom import build_custom, guard
from trainer.models.fused.engine import Engine, choose_engine
from trainer.models.fused.model import build_fused, build_model, build_predictor, build_rows
from trainer.models.fused.rows import Preparation
from trainer.models.heads import build_head, prepare_labels
from trainer.models.image import build_image
from trainer.models.memory import check_tables, measure_memory
from trainer.models.metrics import make_metric_fn
from trainer.models.optimizers import check_regularisation
from trainer.models.plugins import make_user_metric_fn
from trainer.models.recurrent import build_recurrent
from trainer.models.residual import build_residual
from trainer.schema import Schema, Statistics

# Which parts of the feature columns, and so which optimizers, a type of model uses.
WIDE_TYPES = ("linear", "wide_deep")
DEEP_TYPES = ("dnn", "wide_deep", "residual")
# The signature that trainer.predict and trainer.export.checker ask.
PREDICT = "predict"
# TensorFlow's name of the signature that is asked when none is named.
DEFAULT = "serving_default"


def build_estimator(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    run_config: Any,
    max_steps: int,
    engine: Optional[Engine] = None,
):
    """Builds the Estimator of a job, with our metrics and the key in its predictions.

    Args:
        config: the resolved configuration.
        schema: columns, label, weight and key.
        statistics: of the training data.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run.
        engine: trains and evaluates; unset: what choose_engine chooses.

    Raises:
        UserError: the options do not make a model, or the user's own code fails.
    """
    if config.model.type not in config_lib.MODEL_TYPES:
        with _seeded(run_config.tf_random_seed):
            built = build_custom(config, schema, statistics, run_config, max_steps)
        built = guard(built, f"model.type {config.model.type}")
        built = _frame(built, schema, config.export.receiver, ours=False)
    else:
        columns = build_feature_columns(schema, statistics)
        _check_options(config, schema, columns)
        head = build_head(schema, config.train.loss_reduction)
        if not run_config.num_ps_replicas:
            _check_memory(config.model.type, columns, head.logits_dimension)
        if config.model.type == "image":
            with _seeded(run_config.tf_random_seed):
                built = build_image(config, schema, head, run_config, max_steps)
        elif config.model.type == "residual":
            built = build_residual(config, head, columns.deep, run_config, max_steps)
        elif config.model.type == "rnn":
            built = build_recurrent(config, head, columns, run_config, max_steps)
        else:
            built = build_canned(config, head, columns, run_config, max_steps)
        engine = engine or choose_engine(config, schema, statistics, run_config)
        if engine.is_fused:
            units = head.logits_dimension
            model = build_model(config, schema, statistics, columns, units, max_steps)
            built = build_predictor(built, head, model)
        built = _frame(built, schema, config.export.receiver, ours=True)
        if engine.is_fused:
            built = build_fused(built, head, model)
    built = estimator.add_metrics(built, make_metric_fn(schema, config.eval.threshold))
    if config.eval.metric_fn:
        hparams = HParams(config, statistics, max_steps)
        metric_fn = make_user_metric_fn(config.eval.metric_fn, hparams, schema)
        built = estimator.add_metrics(built, metric_fn)
    return built


def build_preparation(
    config: config_lib.Config, schema: Schema, statistics: Statistics
) -> Preparation:
    """How the rows of many steps are made ready for the fused engine, which covers the model."""
    head = build_head(schema, config.train.loss_reduction)
    columns = build_feature_columns(schema, statistics)
    return build_rows(config, schema, statistics, columns, head.logits_dimension)


def _check_memory(kind: str, columns: FeatureColumns, units: int) -> None:
    wide = columns.wide if kind in WIDE_TYPES else []
    deep = columns.deep if kind in (*DEEP_TYPES, "rnn") else []
    check_tables(wide, deep, units, measure_memory(), "this machine")


def _check_options(config: config_lib.Config, schema: Schema, columns: FeatureColumns) -> None:
    kind = config.model.type
    images = [name for name in schema.used_features if schema.columns[name].image is not None]
    if images and kind != "image":
        raise UserError(
            f"model.type {kind}: column {images[0]} is an image, which it does not see; choose "
            "image, or give the column use: []"
        )
    parts = (("wide", WIDE_TYPES), ("deep", DEEP_TYPES), ("sequence", ("rnn",)))
    for part, kinds in parts:
        if kind in kinds and not getattr(columns, part):
            raise UserError(
                f"model.type {kind}: no column of the schema is used in the {part} part; "
                f"give one use: [{part}], or choose another model.type"
            )
    used = []
    if kind == "baseline" or kind in WIDE_TYPES:
        used.append(config.train.linear_optimizer)
    if kind in DEEP_TYPES or kind in ("rnn", "image"):
        used.append(config.train.optimizer)
    check_regularisation(config.train, used)


def _frame(inner: Any, schema: Schema, receiver: str, ours: bool):
    """Wraps an Estimator in what every model here has.

    Args:
        inner: any Estimator.
        schema: labels and key.
        receiver: example, json or csv: the input of an export's default signature.
        ours: whether it has a head of ours, and so wants labels as our heads do.

    Its random numbers come from the run's seed; every export has the signature "predict"; and
    predictions and predict signatures carry the key unchanged.

    Returns:
        an Estimator of the same model_dir, configuration and initial values.
    """

    build = inner.model_fn
    if ours:
        # Plain graph code, which AutoGraph would take half a second to look through.
        build = tf.autograph.experimental.do_not_convert(build)

    def model_fn(features, labels, mode, config):
        seen = features
        if ours and labels is not None:
            training = mode == estimator.ModeKeys.TRAIN
            seen, labels = prepare_labels(features, labels, schema, training)
        seen = derive_features(split_texts(seen, schema), schema)
        with _seeded(config.tf_random_seed):
            spec = build(seen, labels, mode, config)
        if mode != estimator.ModeKeys.PREDICT:
            return spec
        spec = _add_signatures(spec, receiver)
        return _forward_key(spec, schema.key, features[schema.key]) if schema.key else spec

    return estimator.Estimator(
        model_fn=model_fn, config=inner.config, warm_start_from=inner._warm_start_settings
    )


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Lets Keras' initializers and dropout follow the seed.

    An Estimator seeds its graph; Keras instead draws the seeds of its layers, when they are built,
    from Python's own generator. Outside, a user's own random numbers go on as if nothing had been.
    """
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


def _add_signatures(spec: Any, receiver: str):
    """Sees to it that an export has "predict", and a default signature for its receiver.

    A head exports "predict"; a model_fn that makes its own spec may have left it out. A head's
    default classifies or regresses, which TensorFlow has for tf.Example alone: an export for raw
    tensors would have no default at all.
    """
    predictions = spec.predictions
    if not isinstance(predictions, dict):
        predictions = {"predictions": predictions}
    outputs = dict(spec.export_outputs or {})
    if PREDICT not in outputs:
        outputs[PREDICT] = estimator.export.PredictOutput(predictions)
    if receiver != "example":
        outputs[DEFAULT] = outputs[PREDICT]
    return spec._replace(predictions=predictions, export_outputs=outputs)


def _forward_key(spec: Any, key: str, values: Any):
    outputs = {}
    for name, output in spec.export_outputs.items():
        if isinstance(output, estimator.export.PredictOutput):
            output = estimator.export.PredictOutput({**output.outputs, key: values})
        outputs[name] = output
    return spec._replace(predictions={**spec.predictions, key: values}, export_outputs=outputs)
