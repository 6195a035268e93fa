"""The wide-and-deep model."""

from trainer import columns
from trainer.compat import est


def build(config):
    wide, deep = columns.build()
    return est.DNNLinearCombinedClassifier(
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[64, 32],
        config=config,
    )
