"""The second half of the written module: losses, optimizers, rows from a CSV file, and a main()."""

from typing import NamedTuple

from ..plan.columns import Embedding, Indicator, Numeric, SharedTable, num_ids
from ..plan.derived import is_from_text
from ..plan.model import Head, Optimizer, Plan, is_lazy, model_inputs
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
    """Ftrl that touches, of a table, the rows of the batch only: as Estimators' optimizers do."""

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
    """SGD with momentum that moves, of a table, the rows of the batch only: as Estimators'
    optimizers do.
    """

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
    """RMSprop that touches, of a table, the rows of the batch only: as Estimators' optimizers
    do.
    """

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
    """KIND that adds up a row's gradients first: Keras' own squares that of each look-up singly."""

    def update_step(self, gradient, variable, learning_rate):
        if isinstance(gradient, tf.IndexedSlices):
            rows, total = rows_of(gradient)
            gradient = tf.IndexedSlices(total, rows, gradient.dense_shape)
        super().update_step(gradient, variable, learning_rate)
'''

_SWAP = '''
def rows_of(gradient):
    """The rows of a table that a gradient touches, each once, and the sum of what it says of
    each.
    """
    rows, where = tf.unique(gradient.indices)
    return rows, tf.math.unsorted_segment_sum(gradient.values, where, tf.size(rows))


def use_estimator_updates(model):
    """Gives a compiled model optimizers that leave rows of tables alone which a batch does not
    look up.

    State and rates go over. model.keras itself names Keras' own classes, so that it loads anywhere.
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
    model.compile(optimizer=new, loss=build_loss())
    return model
'''

_READ = '''
def read_rows(path):
    """A CSV file -> (name -> array [rows], output -> labels [rows, labels], weights [rows] or
    None).
    """
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file, delimiter=DELIMITER))
    header = COLUMNS
    if COLUMNS is None or sorted(lines[0]) == sorted(COLUMNS):
        header = [name.strip() for name in lines.pop(0)]
    columns = dict(zip(header, zip(*lines)))
    features = {}
    for name, dtype in TYPES.items():
        values = [DEFAULTS.get(name, "") if text in MISSING else text for text in columns[name]]
        features[name] = np.array(values, object if dtype == "string" else dtype)
    labels = {}
    for output, names in TARGETS.items():
        known = CLASS_NAMES.get(output)
        rows = zip(*(columns[name] for name in names))
        rows = [[known.index(text) if known else float(text) for text in row] for row in rows]
        labels[output] = np.array(rows, LABEL_TYPES[output])
    weights = np.array(columns[WEIGHT], np.float32) if WEIGHT else None
    return features, labels, weights


def make_dataset(features, labels, weights, batch_size, shuffle=True):
    """Batches of (features, labels, weights) as fit and evaluate take them.

    CLASS_WEIGHTS count where rows are shuffled, which is for training.
    """
    rows = [features, labels]
    if weights is not None or (CLASS_WEIGHTS and shuffle):
        rows.append({})
        for output, values in labels.items():
            each = np.ones(len(values), np.float32) if weights is None else weights
            if shuffle and output in CLASS_WEIGHTS:
                factors = np.array(CLASS_WEIGHTS[output], np.float32)
                each = each * factors[values[:, 0].astype("int64")]
            rows[-1][output] = each
    dataset = tf.data.Dataset.from_tensor_slices(tuple(rows))
    if shuffle:
        dataset = dataset.shuffle(len(next(iter(labels.values()))), seed=1)
    return dataset.batch(batch_size)


def main():
    """Trains from the converted weights and optimizer state, or from new ones, and saves the
    model.
    """
    parser = argparse.ArgumentParser(description="Trains the converted model.")
    parser.add_argument("--train", required=True, help="CSV file with the label")
    parser.add_argument("--eval", help="CSV file with the label")
    parser.add_argument("--start", help="model.keras to go on from; without it weights are new")
    parser.add_argument("--output", required=True, help="where the trained model is saved, *.keras")
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


class Training(NamedTuple):
    """Parts of the module.

    Attributes:
      imports: at its head.
      lines: after build_model().
    """

    imports: tuple[str, ...]
    lines: tuple[str, ...]


def loss_of(head: Head) -> str:
    """Keras code of the loss of a head that has one."""
    if head.task in ("regression", "poisson"):
        kind = "MeanSquaredError" if head.task == "regression" else "Poisson"
        return f'keras.losses.{kind}(reduction="{head.reduction}")'
    kind = "SparseCategoricalCrossentropy" if head.task == "multiclass" else "BinaryCrossentropy"
    return f'keras.losses.{kind}(from_logits=True, reduction="{head.reduction}")'


def _loss_weights(head: Head) -> dict[str, float]:
    """Output -> factor on its loss; empty where all are 1."""
    found = {}
    for one in head.single:
        # Keras averages over a row's labels where the Estimator adds them up.
        added = one.task == "regression" and one.reduction == "sum"
        found[one.target] = one.importance * (float(one.units) if added else 1.0)
    return {} if set(found.values()) == {1.0} else found


def _optimizer_code(optimizer: Optimizer) -> str:
    rate = optimizer.rate if isinstance(optimizer.rate, str) else repr(optimizer.rate)
    options = "".join(f", {name}={value!r}" for name, value in sorted(optimizer.options.items()))
    return f"keras.optimizers.{_CLASSES[optimizer.kind]}({rate}{options})"


def _table_sizes(plan, wide: bool):
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
    """Keras optimizer class -> prefix of the class that updates tables as the Estimator's does.

    Empty where Keras' own classes do, for the tables of the plan.
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


def _optimizer_lines(plan) -> list[str]:
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
        return ["    return change(keras.optimizers.Adagrad(0.05))"]
    return [f"    return change({_optimizer_code(one)})"]


def training_code(plan: Plan) -> Training:
    """The module's imports and everything after build_model()."""
    head, data = plan.head, plan.data
    factors = _loss_weights(head)
    factors = f", loss_weights={factors!r}" if factors else ""
    lines = [
        "",
        "def build_optimizer(change=lambda optimizer: optimizer):",
        '    """The optimizer, or one for each part of the model; `change` may replace each."""',
        *_optimizer_lines(plan),
        "",
        "",
        "def build_loss():",
        '    """Output -> loss."""',
        "    return {",
        *(f'        "{one.target}": {loss_of(one)},' for one in head.single),
        "    }",
        "",
        "",
        "def compile_model(model):",
        '    """Compiles for training as the Estimator trained; returns the model."""',
        f"    model.compile(optimizer=build_optimizer(), loss=build_loss(){factors})",
        "    return model",
        "",
    ]
    kinds = own_updates(plan)
    for kind, prefix in kinds.items():
        code = _SPARSE_STEPS[kind] if prefix == "Sparse" else _SUMMED.replace("KIND", kind)
        lines += code.splitlines()
    if kinds:
        mapped = ", ".join(
            f"keras.optimizers.{kind}: {prefix}{kind}" for kind, prefix in kinds.items()
        )
        lines += ["", "", f"OWN_UPDATES = {{{mapped}}}", *_SWAP.splitlines()]
    imports = ["import argparse", "import csv", "", "import keras", "import numpy as np"]
    imports += ["import tensorflow as tf", "from keras import layers, ops", ""]
    if any(map(is_from_text, plan.derived)):
        imports[1:2] = ["import csv", "import unicodedata"]
    labels = data.labels if data else tuple((one.name or "label",) for one in head.single)
    targets = {one.target: list(names) for one, names in zip(head.single, labels)}
    types = {one.target: "int64" if one.task == "multiclass" else "float32" for one in head.single}
    # Of several answers the classes are columns: their labels are 0 and 1.
    classes = {
        one.target: list(one.classes)
        for one in head.single
        if one.classes and one.task != "multilabel"
    }
    factors = {one.target: list(one.class_weights) for one in head.single if one.class_weights}
    imports += [
        f"COLUMNS = {list(data.columns)!r}" if data and data.columns else "COLUMNS = None",
        f"TYPES = {{{', '.join(f'{i.name!r}: {i.dtype!r}' for i in model_inputs(plan))}}}",
        "# Output of the model -> columns of its labels, their type, their classes in order.",
        f"TARGETS = {targets!r}",
        f"LABEL_TYPES = {types!r}",
        f"CLASS_NAMES = {classes!r}",
        f"CLASS_WEIGHTS = {factors!r}",
        f"WEIGHT = {head.single[0].weight!r}",
        f"DELIMITER = {(data.delimiter if data else ',')!r}",
        f"MISSING = {list(data.missing) if data else ['']!r}",
        f"DEFAULTS = {dict(data.defaults) if data else {}!r}",
    ]
    prepare = "use_estimator_updates(model)" if kinds else ""
    lines += _READ.replace("    PREPARE\n", f"    {prepare}\n" if prepare else "").splitlines()
    return Training(tuple(imports), tuple(lines))
