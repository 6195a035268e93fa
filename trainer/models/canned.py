"""The canned Estimators: baseline, linear, dnn and wide_deep, for any head."""

from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.features.columns import FeatureColumns
from trainer.models.optimizers import make_optimizer


def build_canned(
    config: config_lib.Config, head: Any, columns: FeatureColumns, run_config: Any, max_steps: int
):
    """Builds the canned Estimator that config.model names.

    Args:
        config: model and optimizers.
        head: an estimator.Head.
        columns: feature columns of the wide and the deep part.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run, for decaying rates.
    """
    kind = config.model.type
    wide = {
        "feature_columns": columns.wide,
        "optimizer": make_optimizer(config.train, max_steps, linear=True),
    }
    deep = {
        "feature_columns": columns.deep,
        "optimizer": make_optimizer(config.train, max_steps, linear=False),
        "hidden_units": list(config.model.hidden_units),
        "activation_fn": getattr(tf.nn, config.model.activation),
        "dropout": config.model.dropout or None,
    }
    options = {"head": head, "config": run_config}
    if kind == "baseline":
        params = {"head": head, "make_optimizer": wide["optimizer"]}
        return estimator.Estimator(_baseline_model_fn, config=run_config, params=params)
    if kind == "linear":
        return estimator.LinearEstimator(**wide, **options)
    options["batch_norm"] = config.model.batch_norm
    if kind == "dnn":
        return estimator.DNNEstimator(**deep, **options)
    return estimator.DNNLinearCombinedEstimator(
        **{f"linear_{name}": value for name, value in wide.items()},
        **{f"dnn_{name}": value for name, value in deep.items()},
        **options,
    )


def _baseline_model_fn(features, labels, mode, params):
    """One bias for each logit, whatever the features, under the name that BaselineEstimator uses.

    That Estimator itself compares the sizes of all features before it creates its bias: fed by a
    dataset with two features, the bias waits for a batch and the batch for the bias.
    """
    head, optimizer = params["head"], None
    bias = tf.compat.v1.get_variable(
        "baseline/bias", [head.logits_dimension], initializer=tf.compat.v1.zeros_initializer()
    )
    num_rows = tf.shape(next(iter(features.values())))[0]
    if mode == estimator.ModeKeys.TRAIN:
        optimizer = params["make_optimizer"]()
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    return head.create_estimator_spec(
        features=features,
        mode=mode,
        logits=tf.ones([num_rows, 1]) * bias,
        labels=labels,
        optimizer=optimizer,
        trainable_variables=[bias],
    )
