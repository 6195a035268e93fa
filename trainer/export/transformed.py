"""Serving input receivers of models that were trained on the output of TFX's Transform."""

from typing import Any, Callable, Optional

from estimator_bridge import estimator, tf
from trainer.errors import UserError
from trainer.features.multivalent import join_values
from trainer.features.raw_inputs import fill_missing, list_inputs, raw_dtype
from trainer.schema import Column, Schema, Statistics, resolve_defaults

OPTION = "tfx.transform_output"
# How Transform's own examples name the transformed column of a raw one.
SUFFIX = "_xf"


def make_transformed_receiver_fn(
    schema: Schema, statistics: Statistics, transform_output: str, raw_label: Optional[str]
) -> Callable[[], Any]:
    """Makes the serving_input_receiver_fn that applies the transform graph to raw examples.

    A server receives what the Transform component received. So the export contains the graph of
    that component, and a request cannot be transformed otherwise than the training data.

    Args:
        schema: the transformed columns.
        statistics: of the training data, for the defaults of missing values.
        transform_output: folder that Transform has written: its graph and both schemas.
        raw_label: raw column that the label is computed from, which a request lacks; None: the
            name of the label's column, without "_xf" at its end.

    Returns:
        A function without arguments that returns a ServingInputReceiver. Its features are the
        transformed columns, name → tensor [batch]; its input is "examples", string [batch]:
        tf.Example records of raw columns.

    Raises:
        UserError: tensorflow_transform is not installed, the folder cannot be read, or a column of
            the model cannot be computed without the label.
    """
    output = _open(transform_output)
    spec = dict(output.raw_feature_spec())
    for name in _find_raw_labels(spec, schema, raw_label):
        del spec[name]

    def serving_input_receiver_fn() -> Any:
        examples = tf.compat.v1.placeholder(tf.string, [None], name="examples")
        given = output.transform_raw_features(tf.io.parse_example(examples, spec))
        defaults = resolve_defaults(schema, statistics)
        columns = {}
        for name in list_inputs(schema):
            if name not in given:
                raise UserError(
                    f"{OPTION}: the transform graph does not compute column {name} from "
                    f"{', '.join(spec)}; set use: [] in the schema, or correct tfx.raw_label"
                )
            columns[name] = _to_column(given[name], schema.columns[name], defaults.get(name))
        features = fill_missing(columns, schema, statistics)
        return estimator.export.ServingInputReceiver(features, {"examples": examples})

    return serving_input_receiver_fn


def _open(folder: str) -> Any:
    try:
        import tensorflow_transform
    except ImportError as error:
        raise UserError(
            f"{OPTION}: the transform graph needs tensorflow_transform ({error}); pip install "
            "tensorflow-transform"
        ) from error
    output = tensorflow_transform.TFTransformOutput(folder)
    try:
        output.raw_feature_spec()
    except (OSError, ValueError, tf.errors.OpError) as error:
        message = " ".join(str(error).split())[:150]
        raise UserError(
            f"{OPTION}: {folder} is not what the Transform component writes: {message}"
        ) from error
    return output


def _find_raw_labels(
    spec: dict[str, Any], schema: Schema, raw_label: Optional[str]
) -> dict[str, None]:
    """Returns the raw columns that a request lacks: those of the labels."""
    if raw_label is not None:
        if raw_label not in spec:
            raise UserError(
                f"tfx.raw_label: no raw column {raw_label!r}; there are {', '.join(spec)}"
            )
        return {raw_label: None}
    found: dict[str, None] = {}
    for label in schema.label_columns:
        names = [name for name in (label, label.removesuffix(SUFFIX)) if name in spec]
        if not names:
            raise UserError(
                f"tfx.raw_label: not given; name the raw column that {label} is computed from "
                f"({', '.join(spec)})"
            )
        found[names[0]] = None
    return found


def _to_column(values: Any, column: Column, default: Any) -> Any:
    """Returns a transformed column as a tensor [batch] of the raw type.

    Args:
        values: dense [batch], [batch, n], sparse or ragged.
        column: its column of the schema.
        default: stands for a missing value; None: none.
    """
    if isinstance(values, tf.SparseTensor):
        values = tf.RaggedTensor.from_sparse(values)
    elif not isinstance(values, tf.RaggedTensor):
        size = tf.shape(values)[0]
        if column.separator is None:
            return tf.cast(tf.reshape(values, [size]), raw_dtype(column))
        values = tf.RaggedTensor.from_tensor(tf.reshape(values, [size, -1]))
    if column.separator is not None:
        return join_values(values, column.separator)
    dtype = raw_dtype(column)
    if default is None:
        default = float("nan") if dtype.is_floating else "" if dtype == tf.string else -1
    first = values.to_tensor(tf.constant(default, values.dtype), shape=[None, 1])
    return tf.cast(first[:, 0], dtype)
