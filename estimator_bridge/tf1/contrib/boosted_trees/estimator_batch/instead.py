"""What to use in place of the names of `tf.contrib.boosted_trees` that are not supplied."""

__all__ = ["INSTEAD"]

_CORE = (
    "use BoostedTreesClassifier, BoostedTreesRegressor or BoostedTreesEstimator of tf.estimator, "
    "which take its feature columns and heads"
)
_QUANTILE = "use LightGBM with objective='quantile'"
_PARTS = "use the Estimators, of which it was a part"
_COMBINED = "use DNNBoostedTreeCombinedClassifier or DNNBoostedTreeCombinedRegressor"

# Name -> remedy.
INSTEAD = {
    "CoreDNNBoostedTreeCombinedEstimator": _COMBINED,
    "CoreGradientBoostedDecisionTreeEstimator": _CORE,
    "CoreGradientBoostedDecisionTreeQuantileRegressor": _QUANTILE,
    "CoreGradientBoostedDecisionTreeRanker": "use GradientBoostedDecisionTreeRanker",
    "CoreGradientBoostedDecisionTreeRegressor": _CORE,
    "DNNBoostedTreeCombinedEstimator": _COMBINED,
    "GradientBoostedDecisionTreeQuantileRegressor": _QUANTILE,
    "custom_export_strategy": "use export_savedmodel, or `estimator_bridge convert`",
    "custom_loss_head": "use GradientBoostedDecisionTreeEstimator with a head of your own",
    "distillation_loss": "train the trees without a loss of distillation",
    "estimator_utils": _PARTS,
    "lib": _PARTS,
    "model": _PARTS,
    "trainer_hooks": "the Estimators here end by themselves; leave out the hooks",
}
