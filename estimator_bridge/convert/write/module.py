"""Writes a Plan as a Keras 3 module that does not import this package.

The Keras model is built by running the written module. A team therefore maintains the same code
that was verified.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..plan.columns import (
    Bucketized,
    Embedding,
    Indicator,
    Input,
    Numeric,
    SharedTable,
    layer_name,
    name_of,
    num_ids,
    quoted,
)
from ..plan.derived import is_from_text
from ..plan.model import Head, Network, Plan, is_lazy, model_inputs
from .columns import ColumnWriter, Table
from .sequences import write_recurrent
from .texts import alphabet_lines, characters_of
from .training import training_code
from .trees import write_trees

__all__ = ["Module", "model_lines", "write_module"]


class Module(NamedTuple):
    """The code of a model, and the names of its variables in the checkpoint.

    Attributes:
      code: source of a Python module with build_model(), compile_model(model) and main().
      tables: layer variables with their names in the checkpoint.
    """

    code: str
    tables: tuple[Table, ...]


def write_module(plan: Plan, origin: str) -> Module:
    """Returns the module of a model.

    Args:
      plan: the model.
      origin: name of the checkpoint, for the docstring of the module.
    """
    writer = ColumnWriter(plan.inputs, plan.derived)
    logits = _write_logits(plan, writer)
    outputs = _write_outputs(plan, writer, logits)
    helpers = list(writer.helpers_code())
    if any(map(is_from_text, plan.derived)):
        helpers = [*alphabet_lines(characters_of(plan)), "", *helpers]
    training = training_code(plan)
    code = "\n".join(
        [
            f'"""Keras model with its preprocessing, converted from {_in_docstring(origin)}.',
            "",
            "    python THIS_FILE --train=ROWS.csv --start=model.keras --output=trained.keras",
            '"""',
            "",
            *training.imports,
            "",
            *writer.constants,
            *helpers,
            *model_lines(writer, model_inputs(plan), outputs),
            *training.lines,
            "",
        ]
    )
    return Module(code, tuple(writer.tables))


def _in_docstring(text: str) -> str:
    """Returns a text that cannot end the docstring around it."""
    return ascii(text)[1:-1].replace('"', "'")


def model_lines(
    writer: ColumnWriter, inputs: Iterable[Input], outputs: Iterable[tuple[str, str]]
) -> list[str]:
    """Returns the lines of the function that builds the model.

    Args:
      writer: writer that has written the code between inputs and outputs.
      inputs: inputs of the model.
      outputs: (name, variable) of each output.
    """
    body = [
        "inputs = {",
        *(
            f"    {quoted(feature.name)}: keras.Input({feature.dimensions}, "
            f'name={quoted(layer_name(feature.name))}, dtype="{feature.dtype}"),'
            for feature in inputs
        ),
        "}",
        *writer.lines,
        "outputs = {",
        *(f"    {quoted(name)}: {value}," for name, value in outputs),
        "}",
        'return keras.Model(inputs, outputs, name="model")',
    ]
    return [
        "",
        "def build_model():",
        '    """Returns the model from raw features to the outputs of the serving signature."""',
        *(f"    {line}".rstrip() for line in body),
        "",
    ]


def _write_logits(plan: Plan, writer: ColumnWriter) -> str:
    parts: list[str] = []
    if plan.kind == "baseline":
        writer.lines += ["", "# Only the bias; the first input provides the number of rows."]
        parts.append(_bias(plan, writer, "baseline_bias", ("baseline/bias",)))
    if plan.recurrent is not None:
        writer.lines += ["", "# Recurrent part"]
        summed = not is_lazy(plan.deep_optimizer, False)
        context = _write_dense(plan.context, writer, summed, "context") if plan.context else ""
        parts.append(write_recurrent(plan, writer, context))
    elif plan.trees is not None:
        writer.lines += ["", "# Trees"]
        parts.append(write_trees(plan, writer))
    elif plan.deep:
        writer.lines += ["", "# Deep part"]
        parts.append(_write_deep(plan, writer))
    if plan.wide:
        writer.lines += ["", "# Wide part"]
        parts.append(_write_wide(plan, writer))
    writer.lines += ["", "# Predictions"]
    return writer.write("logits", parts[0] if len(parts) == 1 else f"ops.add({', '.join(parts)})")


def _bias(plan: Plan, writer: ColumnWriter, layer: str, names: tuple[str, ...]) -> str:
    first = f"inputs[{quoted(plan.inputs[0].name)}]"
    first = f"layers.Flatten()({first})" if plan.inputs[0].shape else first
    zeros = f'ops.zeros_like({first}, dtype="float32")'
    row = writer.write("one", f"ops.add(ops.sum({zeros}, axis=1, keepdims=True), 1.0)")
    writer.tables.append(Table(layer, "kernel", names))
    return writer.write(
        layer, f'layers.Dense({plan.head.units}, use_bias=False, name="{layer}")({row})'
    )


def _write_wide(plan: Plan, writer: ColumnWriter) -> str:
    units, terms = plan.head.units, []
    for column in plan.wide:
        name = name_of(column)
        layer = f"linear_{writer.fresh(name)}"
        names = (f"linear/linear_model/{name}/weights", f"/{name}/weights")
        if isinstance(column, (Numeric, Indicator, Embedding)):
            writer.tables.append(Table(layer, "kernel", names))
            value = dense(writer, column, summed=True)
            code = f'layers.Dense({units}, use_bias=False, name="{layer}")({value})'
        else:
            ids, weights = writer.ids(column)
            writer.tables.append(Table(layer, "embeddings", names))
            size = num_ids(column)
            table = f'layers.Embedding({size}, {units}, "zeros", name="{layer}")'
            if not is_lazy(plan.wide_optimizer, True):
                table = writer.summed_table(table, size * units, ids)
            more = "" if plan.wide_combiner == "sum" else f', "{plan.wide_combiner}"'
            more += "" if weights is None else f", weights={weights}"
            code = f"{writer.use('combine')}({table}, {ids}{more})"
        terms.append(writer.write(layer, code))
    names = ("linear/linear_model/bias_weights", "/bias_weights")
    terms.append(_bias(plan, writer, "linear_bias", names))
    return writer.write("wide_logits", f"layers.Add()([{', '.join(terms)}])")


def _write_dense(columns: Iterable[Any], writer: ColumnWriter, summed: bool, name: str) -> str:
    """Writes the concatenation of dense columns, sorted by name as in TensorFlow."""
    values = [dense(writer, column, summed) for column in sorted(columns, key=name_of)]
    net = values[0] if len(values) == 1 else f"layers.Concatenate()([{', '.join(values)}])"
    return writer.write(name, net)


def _write_deep(plan: Plan, writer: ColumnWriter) -> str:
    summed = not is_lazy(plan.deep_optimizer, False)
    net = _write_dense(plan.deep, writer, summed, "deep_input")
    if plan.network is not None:
        for index in range(len(plan.network.hidden_units)):
            net = _write_hidden(plan.network, index, writer, net)
    _add_dense(writer, "dnn_logits", "dnn/logits")
    return writer.write("deep_logits", f'layers.Dense({plan.head.units}, name="dnn_logits")({net})')


def _write_hidden(network: Network, index: int, writer: ColumnWriter, net: str) -> str:
    """Writes one hidden layer with dropout and batch normalization; returns its variable."""
    layer, scope = f"dnn_hidden_{index}", f"dnn/hiddenlayer_{index}"
    is_named = network.activation.isidentifier()
    activation = f', "{network.activation}"' if is_named else ""
    units = network.hidden_units[index]
    net = writer.write(layer, f'layers.Dense({units}{activation}, name="{layer}")({net})')
    if not is_named:
        code = re.sub(r"\bx\b", net, network.activation)
        net = writer.write(f"{layer}_active", code)
    _add_dense(writer, layer, scope)
    if network.dropout:
        net = writer.write(f"{layer}_dropout", f"layers.Dropout({network.dropout!r})({net})")
    if network.batch_norm:
        norm = f"dnn_batchnorm_{index}"
        code = f'layers.BatchNormalization(momentum=0.999, name="{norm}")({net})'
        net = writer.write(norm, code)
        for attribute in ("gamma", "beta", "moving_mean", "moving_variance"):
            ending = f"/batchnorm_{index}/{attribute}"
            writer.tables.append(Table(norm, attribute, (f"{scope}{ending}", ending)))
    return net


def _add_dense(writer: ColumnWriter, layer: str, scope: str) -> None:
    writer.tables += [
        Table(layer, "kernel", (f"{scope}/kernel",)),
        Table(layer, "bias", (f"{scope}/bias",)),
    ]


def dense(writer: ColumnWriter, column: Any, summed: bool) -> str:
    """Writes a dense column; returns its variable, float32 [batch, numbers].

    Args:
      writer: writer of the module.
      column: dense column.
      summed: whether the gradients of tables are summed per row.
    """
    if isinstance(column, Numeric):
        return writer.numeric(column)
    if isinstance(column, SharedTable):
        return _shared(writer, column, summed)
    if isinstance(column, Bucketized):
        return writer.write(
            name_of(column),
            f"{writer.use('count_ids')}({writer.ids(column).ids}, {num_ids(column)})",
        )
    ids, weights = writer.ids(column.source)
    more = "" if weights is None else f", weights={weights}"
    if isinstance(column, Indicator):
        code = f"{writer.use('count_ids')}({ids}, {num_ids(column.source)}{more})"
        return writer.write(name_of(column), code)
    table = writer.table(column, ids, summed)
    more += "" if column.max_norm is None else f", max_norm={column.max_norm!r}"
    code = f'{writer.use("combine")}({table}, {ids}, "{column.combiner}"{more})'
    return writer.write(name_of(column), code)


def _shared(writer: ColumnWriter, column: SharedTable, summed: bool) -> str:
    name, parts = name_of(column), []
    for source in column.sources:
        ids, weights = writer.ids(source)
        one = Embedding(source, column.dimension, "mean", None, name, False)
        more = "" if weights is None else f", weights={weights}"
        code = f'{writer.use("combine")}({writer.table(one, ids, summed)}, {ids}, "mean"{more})'
        parts.append(writer.write(f"{name_of(source)}_embedding", code))
    return writer.write(name, f"layers.Concatenate()([{', '.join(parts)}])")


def _write_outputs(plan: Plan, writer: ColumnWriter, logits: str) -> list[tuple[str, str]]:
    outputs: list[tuple[str, str]] = []
    first = 0
    for head in plan.head.single:
        own = logits
        if plan.head.parts:
            code = f"{logits}[:, {first} : {first + head.units}]"
            own, first = writer.write(f"{head.name}_logits", code), first + head.units
        found = _outputs_of(head, writer, own)
        outputs += [(head.output(name), value) for name, value in found]
    return [*outputs, *((key.name, f"inputs[{quoted(key.name)}]") for key in plan.keys)]


def _outputs_of(head: Head, writer: ColumnWriter, logits: str) -> list[tuple[str, str]]:
    if head.task in ("regression", "poisson", "logistic"):
        return _regression_outputs(head, writer, logits)
    if head.task == "multilabel":
        outputs = [("logits", logits), ("probabilities", f"ops.sigmoid({logits})")]
        every, names = _all_classes(head, writer, logits, head.units)
        return [*outputs, ("classes", f"{names}({every})")]
    return _class_outputs(head, writer, logits)


def _regression_outputs(head: Head, writer: ColumnWriter, logits: str) -> list[tuple[str, str]]:
    if head.moments is not None:
        mean, std = head.moments
        scaled = f"layers.Rescaling({std!r}, offset={mean!r})({logits})"
        return [("predictions", writer.write("predictions", scaled))]
    if head.task == "regression":
        return [("predictions", logits)]
    link = "ops.exp" if head.task == "poisson" else "ops.sigmoid"
    return [("predictions", writer.write("predictions", f"{link}({logits})")), ("logits", logits)]


def _class_outputs(head: Head, writer: ColumnWriter, logits: str) -> list[tuple[str, str]]:
    outputs = [("logits", logits)]
    num_classes = head.units
    scores = logits
    if head.task == "binary":
        num_classes = 2
        outputs.append(("logistic", f"ops.sigmoid({logits})"))
        scores = writer.write(
            "two_logits", f"ops.concatenate([ops.zeros_like({logits}), {logits}], axis=-1)"
        )
    outputs.append(("probabilities", f"ops.softmax({scores})"))
    best = writer.write(
        "class_ids", f'ops.cast(ops.expand_dims(ops.argmax({scores}, axis=-1), -1), "int64")'
    )
    every, names = _all_classes(head, writer, scores, num_classes)
    return [
        *outputs,
        ("class_ids", best),
        ("classes", f"{names}({best})"),
        ("all_class_ids", every),
        ("all_classes", f"{names}({every})"),
    ]


def _all_classes(
    head: Head, writer: ColumnWriter, scores: str, num_classes: int
) -> tuple[str, str]:
    """Writes the ids of all classes for each row, and the layer that maps ids to class names."""
    zeros = f'ops.zeros_like({scores}, dtype="int32")'
    every = writer.write(
        "all_class_ids", f'ops.add({zeros}, np.arange({num_classes}, dtype="int32"))'
    )
    classes = head.classes or tuple(str(index) for index in range(num_classes))
    constant = writer.constant("classes", classes)
    names = writer.write(
        "class_names",
        f"layers.StringLookup(vocabulary={constant}, num_oov_indices=0, mask_token=None, "
        "invert=True)",
    )
    return every, names
