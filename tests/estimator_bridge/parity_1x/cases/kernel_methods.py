"""Cases of tf.contrib.kernel_methods: random Fourier features, and the hinge loss of classes."""

import functools

import tensorflow as tf
import values

CASES = {}
kernels = tf.contrib.kernel_methods
layers = tf.contrib.layers
ROWS = 4


def mapped(shape=(ROWS, 2), **options):
    mapper = kernels.RandomFourierFeatureMapper(2, 5, **options)
    found = {"mapped": mapper.map(values.real(*shape))}
    if "name" in options:
        found["name"] = mapper.name
    return dict(found, sizes=f"{mapper.input_dim} {mapper.output_dim}")


for _name, _options in {
    "default": {},
    "width and seed": {"stddev": 0.5, "seed": 7, "name": "mine"},
    "three features": {"shape": (ROWS, 3)},
    "a vector": {"shape": (2,)},
}.items():
    CASES[f"RandomFourierFeatureMapper, {_name}"] = functools.partial(mapped, **_options)


def hinge(labels=(2, 0, 1, 2), logits=None, **options):
    logits = values.real(ROWS, 3, low=-2.0, high=2.0) if logits is None else logits()
    labels = tf.constant(labels)
    return {"loss": kernels.sparse_multiclass_hinge_loss(labels, logits, **options)}


for _name, _options in {
    "default": {},
    "a column of labels": {"labels": ((2,), (0,), (1,), (2,))},
    "weights": {"weights": (1.0, 0.0, 2.0, 0.5)},
    "a column of weights": {"weights": ((1.0,), (0.0,), (2.0,), (0.5,))},
    "one weight": {"weights": 2.0},
    "each row": {"reduction": "none", "scope": "mine"},
    "sum": {"reduction": "weighted_sum", "loss_collection": "mine"},
    "too few weights": {"weights": (1.0, 2.0)},
    "too few labels": {"labels": (1, 2)},
    "real labels": {"labels": (1.0, 2.0, 0.0, 1.0)},
    "a fourth class": {"labels": (1, 3, 0, 1)},
    "logits of one dimension": {"logits": lambda: values.real(ROWS)},
}.items():
    _weights = _options.pop("weights", None)

    def _case(weights=_weights, options=_options):
        more = {} if weights is None else {"weights": weights}
        if isinstance(weights, tuple):
            more = {"weights": tf.constant(weights)}
        return hinge(**dict(options, **more))

    CASES[f"sparse_multiclass_hinge_loss, {_name}"] = _case


def estimator(options):
    return lambda: {"type": type(kernels.KernelLinearClassifier(**options())).__name__}


def column():
    return layers.real_valued_column("y", dimension=2)


CASES.update(
    {
        "KernelLinearClassifier, nothing": estimator(lambda: {}),
        "KernelLinearClassifier, no columns": estimator(lambda: {"feature_columns": []}),
        "KernelLinearClassifier, one class": estimator(
            lambda: {"feature_columns": [column()], "n_classes": 1}
        ),
        "KernelLinearClassifier, no mapper": estimator(lambda: {"kernel_mappers": {column(): [1]}}),
        "KernelLinearClassifier, no list": estimator(lambda: {"kernel_mappers": {column(): 1}}),
    }
)
