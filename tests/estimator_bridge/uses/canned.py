"""The canned Estimators, each through its whole life."""

import functools

from .api import columns, live, regression_head

_KINDS = {
    # What the name ends with -> (label, key of a prediction, key of the answer of an export)
    "Classifier": ("binary", "probabilities", "scores"),
    "Regressor": ("regression", "predictions", "outputs"),
    "Estimator": ("regression", "predictions", "outputs"),
}

_OPTIONS = {
    "Baseline": lambda: {},
    "Linear": lambda: {"feature_columns": columns()},
    "DNN": lambda: {"feature_columns": columns(), "hidden_units": [5, 3], "dropout": 0.1},
    "DNNLinearCombined": lambda: {
        "linear_feature_columns": columns(),
        "dnn_feature_columns": columns(),
        "dnn_hidden_units": [5, 3],
    },
}


def _use(family, kind, api):
    label, key, answer = _KINDS[kind]
    options = _OPTIONS[family]()
    if kind == "Estimator":
        options["head"] = regression_head(api)
    make = functools.partial(getattr(api.estimator, family + kind), **options)
    # The baselines of the v2 view ask for a batch before a Dataset's iterator is ready.
    live(api, make, label, (key, answer), tensors=family == "Baseline")
    if kind == "Classifier" and family == "Linear":
        several = functools.partial(make, n_classes=3)
        api.folder += "-several"
        live(api, several, "multiclass", (key, answer))


USES = {
    family + kind: functools.partial(_use, family, kind) for family in _OPTIONS for kind in _KINDS
}
