"""The canned Estimators: baseline, linear, dnn and wide_deep, with any head."""

from typing import Any

from estimator_bridge import estimator, tf
from trainer import config as config_lib
from trainer.features.columns import FeatureColumns
from trainer.models.optimizers import make_optimizer


def build_canned(
    model: config_lib.ModelConfig,
    train: config_lib.TrainConfig,
    head: Any,
    columns: FeatureColumns,
    run_config: Any,
    max_steps: int,
) -> Any:
    """Builds the canned Estimator of model.type.

    Args:
        model: type, hidden_units, activation, dropout and batch_norm.
        train: optimizers and learning rates.
        head: an estimator.Head.
        columns: feature columns of the wide and the deep part.
        run_config: an estimator.RunConfig with a model_dir.
        max_steps: length of the run, for learning-rate schedules.

    Returns:
        An Estimator.
    """
    wide = {
        "feature_columns": columns.wide,
        "optimizer": make_optimizer(train, max_steps, linear=True),
    }
    deep = {
        "feature_columns": columns.deep,
        "optimizer": make_optimizer(train, max_steps, linear=False),
        "hidden_units": list(model.hidden_units),
        "activation_fn": getattr(tf.nn, model.activation),
        "dropout": model.dropout or None,
    }
    options = {"head": head, "config": run_config}
    if model.type == "baseline":
        params = {"head": head, "make_optimizer": wide["optimizer"]}
        return estimator.Estimator(_baseline_model_fn, config=run_config, params=params)
    if model.type == "linear":
        return estimator.LinearEstimator(**wide, **options)
    options["batch_norm"] = model.batch_norm
    if model.type == "dnn":
        return estimator.DNNEstimator(**deep, **options)
    return estimator.DNNLinearCombinedEstimator(
        **{f"linear_{name}": value for name, value in wide.items()},
        **{f"dnn_{name}": value for name, value in deep.items()},
        **options,
    )


def _baseline_model_fn(
    features: dict[str, Any], labels: Any, mode: str, params: dict[str, Any]
) -> Any:
    """Builds a model of one bias per logit, with the same variable name as in BaselineEstimator.

    BaselineEstimator itself deadlocks on a dataset with two or more features. It creates its bias
    after an assertion on the batch sizes. The assertion needs a batch, and a batch is read only
    after the variables are initialised.
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
