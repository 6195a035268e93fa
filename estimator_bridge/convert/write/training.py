"""Writes the training part of a module: losses, optimizers, reading of CSV files, and main()."""

from collections.abc import Iterator
from typing import NamedTuple

from ..plan.columns import Embedding, Indicator, Numeric, SharedTable, num_ids, quoted
from ..plan.derived import is_from_text
from ..plan.model import BY_USED_ROWS, Head, Optimizer, Plan, Schedule, is_lazy, model_inputs
from .column_functions import MAX_WHOLE_TABLE

__all__ = ["Training", "loss_of", "own_updates", "training_code"]

_CLASSES = {
    "adagrad": "Adagrad",
    "adam": "Adam",
    "ftrl": "Ftrl",
    "momentum": "SGD",
    "rmsprop": "RMSprop",
    "sgd": "SGD",
}

_SPARSE_STEPS = {
    "Ftrl": '''
class SparseFtrl(keras.optimizers.Ftrl):
    """Ftrl that updates only the table rows of the batch, as the optimizers of Estimators do."""

    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices):
            return super().update_step(gradient, variable, learning_rate)
        rows, total = rows_of(gradient)
        index = self._get_variable_index(variable)
        accumulator, linear = self._accumulators[index], self._linears[index]
        weights, before = tf.gather(variable, rows), tf.gather(accumulator.value, rows)
        after, power = before + tf.square(total), -self.learning_rate_power
        shrunk = total + 2 * self.l2_shrinkage_regularization_strength * weights
        moved = (after**power - before**power) / learning_rate * weights
        state = tf.gather(linear.value, rows) + shrunk - moved
        size = self.l1_regularization_strength
        l2 = self.l2_regularization_strength + self.beta / (2.0 * learning_rate)
        divisor = after**power / learning_rate + 2 * l2
        self.assign(accumulator, tf.IndexedSlices(after, rows))
        self.assign(linear, tf.IndexedSlices(state, rows))
        new = (tf.clip_by_value(state, -size, size) - state) / divisor
        self.assign(variable, tf.IndexedSlices(new, rows))
''',
    "SGD": '''
class SparseSGD(keras.optimizers.SGD):
    """SGD with momentum that updates only the table rows of the batch, as in Estimators."""

    def update_step(self, gradient, variable, learning_rate):
        if not self.momentum or not isinstance(gradient, tf.IndexedSlices):
            return super().update_step(gradient, variable, learning_rate)
        rows, total = rows_of(gradient)
        step = learning_rate * total
        momentum = self.momentums[self._get_variable_index(variable)]
        moved = tf.gather(momentum.value, rows) * self.momentum - step
        self.assign(momentum, tf.IndexedSlices(moved, rows))
        change = moved * self.momentum - step if self.nesterov else moved
        self.assign_add(variable, tf.IndexedSlices(change, rows))
''',
    "RMSprop": '''
class SparseRMSprop(keras.optimizers.RMSprop):
    """RMSprop that updates only the table rows of the batch, as in Estimators."""

    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices):
            return super().update_step(gradient, variable, learning_rate)
        rows, total = rows_of(gradient)
        index = self._get_variable_index(variable)

        def updated(slot, share, value):
            new = tf.gather(slot.value, rows) * share + value
            self.assign(slot, tf.IndexedSlices(new, rows))
            return new

        size = updated(self._velocities[index], self.rho, (1 - self.rho) * tf.square(total))
        if self.centered:
            mean = updated(self._average_gradients[index], self.rho, (1 - self.rho) * total)
            size -= tf.square(mean)
        change = learning_rate * total / tf.sqrt(size + self.epsilon)
        if self.momentum > 0:
            change = updated(self._momentums[index], self.momentum, change)
        self.assign_sub(variable, tf.IndexedSlices(change, rows))
''',
}

_SUMMED = '''
class SummedKIND(keras.optimizers.KIND):
    """KIND that adds up the gradients of a row first; Keras squares that of each lookup."""

    def update_step(self, gradient, variable, learning_rate):
        if isinstance(gradient, tf.IndexedSlices):
            rows, total = rows_of(gradient)
            gradient = tf.IndexedSlices(total, rows, gradient.dense_shape)
        super().update_step(gradient, variable, learning_rate)
'''

_SWAP = '''
def rows_of(gradient):
    """Returns the distinct table rows of a gradient, and the sum of the gradients of each."""
    rows, where = tf.unique(gradient.indices)
    return rows, tf.math.unsorted_segment_sum(gradient.values, where, tf.size(rows))


def use_estimator_updates(model):
    """Compiles a model again with optimizers that update table rows as the Estimator's do.

    State and learning rates are kept. model.keras uses only classes of Keras, so that it loads
    anywhere.
    """
    def exact(optimizer):
        return OWN_UPDATES.get(type(optimizer), type(optimizer)).from_config(optimizer.get_config())

    old = model.optimizer
    if isinstance(old, keras.optimizers.MultiOptimizer):
        new = build_optimizer(exact)
    else:
        new = exact(old)
    new.build(model.trainable_variables)
    new.set_weights([variable.numpy() for variable in old.variables])
    model.compile(optimizer=new, loss=build_loss()LOSS_WEIGHTS)
    return model

'''

_READ = '''
def read_rows(path):
    """Reads a CSV file.

    Returns name -> array [rows, 1], output -> labels [rows, labels], output -> weights [rows].
    """
    with open(path, newline="", encoding=ENCODING) as file:
        lines = list(csv.reader(file, delimiter=DELIMITER))
    header = COLUMNS
    if COLUMNS is None or sorted(lines[0]) == sorted(COLUMNS):
        header = [name.strip() for name in lines.pop(0)]
    columns = dict(zip(header, zip(*lines)))
    features = {}
    for name, dtype in TYPES.items():
        values = [DEFAULTS.get(name, "") if text in MISSING else text for text in columns[name]]
        features[name] = np.array(values, object if dtype == "string" else dtype)[:, np.newaxis]
    labels = {}
    for output, names in TARGETS.items():
        known = CLASS_NAMES.get(output)
        rows = zip(*(columns[name] for name in names))
        rows = [[known.index(text) if known else float(text) for text in row] for row in rows]
        labels[output] = np.array(rows, LABEL_TYPES[output])
    weights = {name: np.array(columns[key], np.float32) for name, key in WEIGHTS.items()}
    return features, labels, weights


def make_dataset(features, labels, weights, batch_size, shuffle=True):
    """Returns batches of (features, labels, weights) for fit and evaluate.

    CLASS_WEIGHTS apply to shuffled rows only, which are for training.
    """
    rows = [features, labels]
    if weights or (CLASS_WEIGHTS and shuffle):
        rows.append({})
        for output, values in labels.items():
            each = weights.get(output, np.ones(len(values), np.float32))
            if shuffle and output in CLASS_WEIGHTS:
                factors = np.array(CLASS_WEIGHTS[output], np.float32)
                each = each * factors[values[:, 0].astype("int64")]
            rows[-1][output] = each
    dataset = tf.data.Dataset.from_tensor_slices(tuple(rows))
    if shuffle:
        dataset = dataset.shuffle(len(next(iter(labels.values()))), seed=1)
    return dataset.batch(batch_size)DIVIDE


def main():
    """Trains from the converted weights and optimizer state, or from new ones; saves the model."""
    parser = argparse.ArgumentParser(description="Trains the converted model.")
    parser.add_argument("--train", required=True, help="CSV file with the label")
    parser.add_argument("--eval", help="CSV file with the label")
    parser.add_argument("--start", help="model.keras to continue from; default: new weights")
    parser.add_argument("--output", required=True, help="file of the trained model, *.keras")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch_size", type=int, default=128)
    options = parser.parse_args()
    if options.start:
        model = keras.saving.load_model(options.start)
    else:
        model = compile_model(build_model())
    PREPARE
    rows = read_rows(options.train)
    model.fit(make_dataset(*rows, options.batch_size), epochs=options.epochs, verbose=2)
    if options.eval:
        rows = read_rows(options.eval)
        model.evaluate(make_dataset(*rows, options.batch_size, shuffle=False), verbose=2)
    model.save(options.output)


if __name__ == "__main__":
    main()
'''


_DIVIDE = '''
def divide_by_used(features, labels, weights):
    """Scales weights: the Estimator divides the loss by the number of those that are not 0."""
    weights = dict(weights)
    for output in OUTPUTS:
        used = tf.math.count_nonzero(weights[output], dtype="float32")
        weights[output] *= tf.cast(tf.size(weights[output]), "float32") / tf.maximum(used, 1.0)
    return features, labels, weights

'''


class Training(NamedTuple):
    """The training part of a module.

    Attributes:
      imports: lines of imports and constants, at the beginning.
      lines: lines after build_model().
    """

    imports: tuple[str, ...]
    lines: tuple[str, ...]


def loss_of(head: Head) -> str:
    """Returns the Keras code of the loss of a single head.

    Args:
      head: a head other than a multihead.
    """
    reduction = "sum_over_batch_size" if head.reduction == BY_USED_ROWS else head.reduction
    if head.task in ("regression", "poisson"):
        kind = "MeanSquaredError" if head.task == "regression" else "Poisson"
        return f'keras.losses.{kind}(reduction="{reduction}")'
    kind = "SparseCategoricalCrossentropy" if head.task == "multiclass" else "BinaryCrossentropy"
    return f'keras.losses.{kind}(from_logits=True, reduction="{reduction}")'


def _loss_weights(head: Head) -> str:
    """Returns the argument loss_weights of compile(); "" if all factors are 1."""
    found = {}
    for one in head.single:
        # Keras averages over the labels of a row; the Estimator adds them up.
        added = one.task in ("regression", "poisson") and one.reduction == "sum"
        # The trainer's gradients are those of the loss in normalised units.
        scale = one.moments[1] ** -2 if one.moments else 1.0
        found[one.target] = one.importance * scale * (float(one.units) if added else 1.0)
    return "" if set(found.values()) == {1.0} else f", loss_weights={found!r}"


def _optimizer_code(optimizer: Optimizer) -> str:
    rate = optimizer.rate.code if isinstance(optimizer.rate, Schedule) else repr(optimizer.rate)
    options = "".join(f", {name}={value!r}" for name, value in sorted(optimizer.options.items()))
    return f"keras.optimizers.{_CLASSES[optimizer.kind]}({rate}{options})"


def _table_sizes(plan: Plan, wide: bool) -> Iterator[int]:
    if wide:
        for column in plan.wide:
            if not isinstance(column, (Numeric, Indicator, Embedding)):
                yield num_ids(column) * plan.head.units
    else:
        for column in (*plan.deep, *plan.context):
            if isinstance(column, Embedding):
                yield num_ids(column.source) * column.dimension
            elif isinstance(column, SharedTable):
                yield num_ids(column.sources[0]) * column.dimension


def own_updates(plan: Plan) -> dict[str, str]:
    """Returns {Keras optimizer class: prefix of the written subclass that replaces the class}.

    Args:
      plan: the model.

    Returns:
      Only classes that update the tables of the plan in another way than the Estimator does. The
      prefix is "Sparse" or "Summed".
    """
    found = {}
    for optimizer, wide in ((plan.wide_optimizer, True), (plan.deep_optimizer, False)):
        sizes = list(_table_sizes(plan, wide))
        if optimizer is None or not sizes or optimizer.kind == "sgd":
            continue
        if is_lazy(optimizer, wide):
            found[_CLASSES[optimizer.kind]] = "Sparse"
        elif max(sizes) > MAX_WHOLE_TABLE:
            found.setdefault(_CLASSES[optimizer.kind], "Summed")
    return found


def _optimizer_lines(plan: Plan) -> list[str]:
    wide, deep = plan.wide_optimizer, plan.deep_optimizer
    if wide is not None and deep is not None:
        return [
            "    wide = " + _optimizer_code(wide),
            "    deep = " + _optimizer_code(deep),
            '    parts = {"linear_.*": change(wide)}',
            "    return keras.optimizers.MultiOptimizer(",
            "        keras.optimizers.OptimizerMap(change(deep), parts)",
            "    )",
        ]
    one = wide or deep
    if one is None:
        return [
            "    raise NotImplementedError(",
            '        "the optimizer was not converted: build_optimizer has to return one"',
            "    )",
        ]
    return [f"    return change({_optimizer_code(one)})"]


def training_code(plan: Plan) -> Training:
    """Returns the imports, constants and training functions of a module.

    Args:
      plan: the model.
    """
    updates = own_updates(plan)
    lines = [*_compile_lines(plan), *_update_lines(updates, _loss_weights(plan.head))]
    read = _READ.replace("    PREPARE\n", "    use_estimator_updates(model)\n" if updates else "")
    divided = [one.target for one in plan.head.single if one.reduction == BY_USED_ROWS]
    lines += _DIVIDE.replace("OUTPUTS:", f"{divided}:").splitlines() if divided else []
    lines += read.replace("DIVIDE", ".map(divide_by_used)" if divided else "").splitlines()
    imports = ["import argparse", "import csv", "", "import keras", "import numpy as np"]
    imports += ["import tensorflow as tf", "from keras import layers, ops", ""]
    if any(map(is_from_text, plan.derived)):
        imports[1:2] = ["import csv", "import unicodedata"]
    return Training((*imports, *_data_lines(plan)), tuple(lines))


def _compile_lines(plan: Plan) -> list[str]:
    """Returns the lines of build_optimizer, build_loss and compile_model."""
    weights = _loss_weights(plan.head)
    return [
        "",
        "def build_optimizer(change=lambda optimizer: optimizer):",
        '    """Returns the optimizer; `change` may replace that of each part of the model."""',
        *_optimizer_lines(plan),
        "",
        "",
        "def build_loss():",
        '    """Returns output -> loss."""',
        "    return {",
        *(f"        {quoted(one.target)}: {loss_of(one)}," for one in plan.head.single),
        "    }",
        "",
        "",
        "def compile_model(model):",
        '    """Compiles the model to train as the Estimator did; returns it."""',
        f"    model.compile(optimizer=build_optimizer(), loss=build_loss(){weights})",
        "    return model",
        "",
    ]


def _update_lines(updates: dict[str, str], loss_weights: str) -> list[str]:
    """Returns the lines of the optimizer classes that update tables as the Estimator's do."""
    lines: list[str] = []
    for kind, prefix in updates.items():
        code = _SPARSE_STEPS[kind] if prefix == "Sparse" else _SUMMED.replace("KIND", kind)
        lines += code.splitlines()
    if updates:
        mapped = ", ".join(
            f"keras.optimizers.{kind}: {prefix}{kind}" for kind, prefix in updates.items()
        )
        swap = _SWAP.replace("LOSS_WEIGHTS", loss_weights)
        lines += ["", "", f"OWN_UPDATES = {{{mapped}}}", *swap.splitlines()]
    return lines


def _data_lines(plan: Plan) -> list[str]:
    """Returns the lines of the constants that describe the data files."""
    heads, data = plan.head.single, plan.data
    labels = data.labels if data else tuple((one.name or "label",) for one in heads)
    targets = {one.target: list(names) for one, names in zip(heads, labels)}
    types = {one.target: "int64" if one.task == "multiclass" else "float32" for one in heads}
    # Each class of a multilabel head is a column with the labels 0 and 1.
    classes = {
        one.target: list(one.classes) for one in heads if one.classes and one.task != "multilabel"
    }
    factors = {one.target: list(one.class_weights) for one in heads if one.class_weights}
    # NaN has no literal.
    defaults = [
        f"{name!r}: {'np.nan' if value != value else repr(value)}"
        for name, value in (data.defaults if data else {}).items()
    ]
    return [
        f"COLUMNS = {list(data.columns)!r}" if data and data.columns else "COLUMNS = None",
        f"TYPES = {{{', '.join(f'{i.name!r}: {i.dtype!r}' for i in model_inputs(plan))}}}",
        "# Output of the model -> columns, dtype and classes of its labels, and class weights.",
        f"TARGETS = {targets!r}",
        f"LABEL_TYPES = {types!r}",
        f"CLASS_NAMES = {classes!r}",
        f"CLASS_WEIGHTS = {factors!r}",
        f"WEIGHTS = { ({one.target: one.weight for one in heads if one.weight})!r}",
        f"DELIMITER = {(data.delimiter if data else ',')!r}",
        f"ENCODING = {(data.encoding if data else 'utf-8')!r}",
        f"MISSING = {list(data.missing) if data else ['']!r}",
        f"DEFAULTS = {{{', '.join(defaults)}}}",
    ]
